"""Public names are exported, documented with an example, and on the page that docs/ builds."""

import runpy
from pathlib import Path

import pytest

import skfairtest

TOP = Path(skfairtest.__file__).parent.parent
#: Made by the package, never by a user.
RESULT_TYPES = {"AuditorComparison", "DiscriminationEstimate", "FoundPairs", "RowsAudit"}


@pytest.fixture(scope="module")
def make_api():
    return runpy.run_path(str(TOP / "docs" / "make_api.py"))


def test_public_names_are_on_the_page(make_api):
    page = make_api["page"]()
    missing = [
        name
        for name in skfairtest.__all__
        if f".{name}`" not in page and name not in ("datasets", "io")
    ]
    assert missing == []
    assert "| `causal_interval_` | Its confidence interval. |" in page  # from a docstring
    assert "| `audit_rows()` | Flip every given row" in page
    assert "|  |" not in page  # nothing without a description


def test_no_page_is_kept_that_could_go_stale():
    ignored = (TOP / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "/docs/api.md" in ignored


@pytest.mark.parametrize("name", skfairtest.__all__)
def test_public_names_exist_and_have_examples(name):
    value = getattr(skfairtest, name)
    if isinstance(value, type) and value.__name__ not in RESULT_TYPES:
        assert "Examples" in (value.__doc__ or "")
        assert "{parameters}" not in value.__doc__
