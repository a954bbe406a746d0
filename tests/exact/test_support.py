"""The page that says what can be certified: it is what its script says, cell by cell."""

from __future__ import annotations

import runpy

import pytest
from places import TOP

from skfairtest import CertifiedAuditor

MADE = runpy.run_path(str(TOP / "docs" / "make_support.py"))
CASES = {case.key: case for case in MADE["cases"]()}
#: One of each kind, for the fast run.
SAMPLE = [
    "alone, a number | linear",
    "alone, several classes | forest",
    '`CalibratedClassifierCV(method="isotonic")` | histogram boosting',
    "`StackingClassifier` with a scaler on top | linear",
    '`KBinsDiscretizer(encode="onehot")`, real | forest',
    "`SplineTransformer`, real | linear",
    "`PolynomialFeatures`, finite | linear",
    "`OneHotEncoder`, real | linear",
    "`Normalizer`, finite | network",
    "`PCA`, real | network",
    '`SVC(kernel="rbf")`',
    "alone, two classes | XGBoost",
    "alone, a number | LightGBM",
]


@pytest.fixture(scope="module")
def stored():
    return MADE["read"]()["answers"]


def test_the_page_is_what_is_stored():
    stored = MADE["read"]()
    assert MADE["PAGE"].read_text("utf-8") == MADE["page"](stored)
    assert set(stored["answers"]) == set(CASES), "run python docs/make_support.py"
    assert set(stored["timed"]) == set(MADE["AT_DEFAULTS"]), "run python docs/make_support.py"


def of_library(key, *marks):
    """A cell, marked where what it needs may be missing."""
    others = set(CASES[key].needs) - {"sklearn"}
    if others:
        marks = [*marks, pytest.mark.services(*sorted(others))]
    return pytest.param(key, marks=marks)


def check_cell(key, stored):
    case = CASES[key]
    found = MADE["measure"](case)
    assert found["answer"] == stored[key]["answer"], "run python docs/make_support.py"
    if found["answer"] == "no":
        # Names of places in other libraries, and their lists, change from version to version.
        assert found["reason"].split()[:4] == stored[key]["reason"].split()[:4]
        assert found["nearest"]


@pytest.mark.parametrize("key", map(of_library, SAMPLE))
def test_some_cells(key, stored):
    check_cell(key, stored)


@pytest.mark.parametrize("key", [of_library(key, pytest.mark.slow) for key in CASES])
def test_every_cell(key, stored):
    check_cell(key, stored)


def test_every_refusal_says_why_and_what_is_nearest(stored):
    refused = {key: found for key, found in stored.items() if found["answer"] == "no"}
    assert refused
    for key, found in refused.items():
        assert found["reason"].endswith("."), key
        assert found["nearest"], key


def test_what_is_refused_before_it_is_fitted_is_refused_after(stored):
    for key in SAMPLE:
        if stored[key]["answer"] == "no" and "real" not in key:
            model, _ = CASES[key].make()
            support = CertifiedAuditor.supports(model)
            assert not support
            assert support.reason == stored[key]["reason"]
            assert support.nearest
