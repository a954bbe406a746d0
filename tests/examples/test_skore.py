"""The example with skore: our finding among its checks, and our scorer among its metrics."""

from __future__ import annotations

import runpy
from importlib.util import find_spec

import pytest
from places import TOP
from tiers import slow_sample

pytest.importorskip("matplotlib").use("agg")

EXAMPLE = TOP / "examples" / "08_gate" / "plot_skore_check.py"


@pytest.mark.skipif(find_spec("skore") is None, reason="skore is not installed (0.28.0 is known)")
@pytest.mark.filterwarnings("ignore")  # skore's own, on what it depends on
def test_the_finding_is_among_the_checks_of_skore(capsys):
    import skore

    found = runpy.run_path(str(EXAMPLE))
    assert isinstance(found["check"], skore.Check)
    tips = found["report"].checks.summarize().frame(section="tip").set_index("code")
    assert "Two inputs that differ only in community" in tips.loc["SFT001", "explanation"]
    metrics = found["report"].metrics.summarize().frame()
    assert -1 <= metrics["neg_fairness_degree_community"] < 0
    # Within its limit the check has passed, and says nothing.
    again = type(found["check"])(skfairtest_limits(), **found["check"].options)
    assert again.check_function(found["report"]) is None


def skfairtest_limits():
    from skfairtest import Limits

    return Limits(max_degree=0.99)


@slow_sample
def test_without_skore_the_example_says_so(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = runpy.run_path(str(EXAMPLE))
    assert "skore is not installed" in capsys.readouterr().out
    assert found["found"].fairness_degree > 0.1
