"""What a comparison recommends, and how it says so: only what the intervals allow."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skfairtest.mitigation import MitigationComparison

SETTINGS = {
    "model": "Tree", "sensitive_features": ["sex"], "n_rows": 1000, "n_folds": 3,
    "n_inputs": {"rows": 1000, "near": 5000, "uniform": 5000}, "score": "accuracy",
    "favourable": "yes", "threshold": None, "is_mean": False, "confidence": 0.95,
}  # fmt: skip


def comparison(methods, original=(0.2, 0.18, 0.22), **settings):
    """Of methods with the share that each leaves and the change of accuracy, with their ends."""
    settings = SETTINGS | settings
    kind = "difference" if settings["is_mean"] else "share"
    nothing = (np.nan,) * 3
    rows = {}
    for name, (left, change) in {"original": (original, (0.0, 0.0, 0.0)), **methods}.items():
        row = {settings["score"]: 0.8 + change[0] if change else np.nan}
        for measure, values in (
            (f"{settings['score']}_change", change), (f"{kind}_rows", left), (f"{kind}_near", left),
        ):  # fmt: skip
            ends = zip(("", "_low", "_high"), values or nothing, strict=True)
            row |= {f"{measure}{end}": value for end, value in ends}
        paid = name not in ("original", "later")
        row |= {
            "degree_bound": 0.0 if left and not left[0] else np.nan,
            "demographic_parity_ratio": 0.5, "fit_seconds": 0.1,
            "losing_group": "sex = f" if paid else "",
            "losing_group_change": -0.031 if paid else np.nan,
            "losing_group_change_low": -0.05 if paid else np.nan,
            "losing_group_change_high": -0.01 if paid else np.nan,
            "note": "" if change else "no time was left of max_time=9 s",
        }  # fmt: skip
        rows[name] = row
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    return MitigationComparison(table, pd.DataFrame(), {}, {}, settings)


NOTHING, LITTLE, SOME = (0.0, 0.0, 0.004), (0.03, 0.02, 0.04), (0.19, 0.17, 0.21)
CHEAP, DEAR, UNKNOWN = (-0.004, -0.014, 0.006), (-0.05, -0.06, -0.04), (-0.004, -0.04, 0.03)


@pytest.mark.parametrize(
    "methods, recommended",
    [
        ({"drop": (NOTHING, CHEAP)}, "drop"),
        ({"drop": (SOME, CHEAP)}, None),  # its interval meets the original's
        ({"drop": (NOTHING, DEAR)}, None),
        ({"drop": (NOTHING, UNKNOWN)}, None),
        ({"drop": (NOTHING, (-0.004, np.nan, np.nan))}, None),
        ({"drop": (None, None)}, None),
        ({}, None),
        # What leaves least, of what is known to cost little.
        ({"drop": (NOTHING, DEAR), "retrain twins": (LITTLE, CHEAP)}, "retrain twins"),
        ({"retrain twins": (LITTLE, CHEAP), "drop": (NOTHING, CHEAP)}, "drop"),
        # Where intervals tell nothing apart, the cheapest, whatever came first.
        ({"marginalize": (NOTHING, (0.01, -0.01, 0.03)), "drop": (NOTHING, CHEAP)}, "drop"),
        ({"drop": (NOTHING, CHEAP), "marginalize": (NOTHING, (0.03, 0.02, 0.04))}, "marginalize"),
        ({"mine": (NOTHING, CHEAP), "yours": (NOTHING, CHEAP)}, "mine"),
    ],
)
def test_only_what_the_intervals_allow_is_recommended(methods, recommended):
    method, sentence, reason = comparison(methods).recommend()
    assert method == recommended
    assert sentence.startswith(f"{method} is" if method else "No method is recommended: ")
    assert reason.endswith(".")


def test_the_limit_of_the_cost_is_the_readers():
    held = comparison({"drop": (NOTHING, DEAR)})
    assert held.recommend(0.06).method == "drop"
    assert "may cost too much" in held.recommend(0.059).sentence
    told = held.recommend(0.039)
    assert told.method is None and "less costs too much" in told.sentence
    assert "allows 3.9 points of accuracy" in told.reason
    unsure = comparison({"drop": (NOTHING, UNKNOWN)}).recommend()
    assert "may cost too much" in unsure.sentence and "more rows" in unsure.reason
    for wrong in (-0.1, np.nan, "much"):
        with pytest.raises(ValueError, match="max_score_drop must be a number of at least 0; got"):
            held.recommend(wrong)


def test_sentences_say_what_is_left_what_it_costs_and_who_pays():
    told = comparison({"drop": (NOTHING, CHEAP), "marginalize": (NOTHING, CHEAP)}).recommend()
    assert told.sentence == (
        "drop is recommended: it leaves nobody treated differently, by construction, and costs 0.4 "
        "points of accuracy (-0.6 to 1.4)"
    )
    assert told.reason == (
        "With the original 20.0% of the people (18.0 to 22.0) would get another decision if only "
        "sex were changed. marginalize leaves as little at about the same score, as far as the "
        "intervals tell; drop is the simplest. f pays most: its rate of yes falls by 3.1 points "
        "(1.0 to 5.0)."
    )
    gain = comparison({"mine": (LITTLE, (0.004, -0.006, 0.014))}).recommend().sentence
    assert gain.endswith(
        "3.0% of the people treated differently (2.0 to 4.0), and gains 0.4 points of accuracy "
        "(-0.6 to 1.4)"
    )
    proven = comparison({"mine": (NOTHING, CHEAP)}).recommend().sentence
    assert "nobody treated differently (proven for all inputs)" in proven
    trained = comparison({"retrain twins": (NOTHING, CHEAP)}).recommend().sentence
    assert "nobody treated differently (proven for all inputs)" in trained
    none = comparison({"drop": (NOTHING, CHEAP)}, original=(0.0, 0.0, 0.004)).recommend()
    assert none.method is None and "at most 0.4% of people like them" in none.reason
    beside = comparison({"drop": (None, None)}, n_inputs={}).recommend()
    assert beside.sentence.endswith("the model does not take sex")
    means = comparison(
        {"drop": ((0.0, 0.0, 0.0), CHEAP)}, original=(3.0, 2.9, 3.1), is_mean=True, score="r2",
        favourable="",
    ).recommend()  # fmt: skip
    assert means.sentence.endswith("and costs 0.00400 of r2 (-0.00600 to 0.0140)")
    assert means.reason.startswith("With the original twins differ by 3.00 on average")


ALL = {
    "drop": (NOTHING, CHEAP), "exponentiated parity": (LITTLE, DEAR), "later": (None, None),
}  # fmt: skip


def test_text_fits_a_terminal_and_lists_what_was_not_run():
    held = comparison(ALL)
    text = str(held)
    assert max(map(len, text.splitlines())) <= 100
    assert text.startswith("Drop is recommended")
    assert "later, not compared: no time was left of max_time=9 s." in text
    (line,) = re.findall(r"^drop .*", text, re.M)
    assert re.split(r"\s{2,}", line) == [
        "drop", "79.6%", "-0.4 (-1.4 to 0.6)", "0%", "0%", "0.50", "0.10", "-3.1 f",
    ]  # fmt: skip
    assert not re.search(r"^later  ", text, re.M)
    assert "proxies" in text
    long = held.table.assign(losing_group="x" * 60).rename(index={"drop": "m" * 60})
    text = str(replace(held, table=long))
    assert re.search("^m{23}… .* -3.1 xxx", text, re.M)
    assert max(len(line) for line in text.splitlines() if "mmm" not in line[:60]) <= 100


def test_card_marks_the_recommended_row_and_escapes_names():
    html = comparison(ALL | {"<b>mine</b>": (SOME, CHEAP)})._repr_html_()
    rows = re.findall(r"<tr[^>]*>.*?</tr>", html)
    marked = [row for row in rows if "skft-changed" in row]
    assert len(marked) == 1 and "drop" in marked[0]
    assert "<b>mine" not in html and "&lt;b&gt;mine" in html
    assert "no time was left of max_time=9 s" in html
    assert "skft-changed" not in "".join(
        re.findall(r"<tr[^>]*>", comparison({"drop": (SOME, CHEAP)})._repr_html_())
    )
