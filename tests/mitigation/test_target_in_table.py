"""A target that was left in X is named, wherever targets are given."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample

from skfairtest import (
    FairnessRetrainer,
    RandomAuditor,
    SubgroupAuditor,
    TestSGDAuditor,
    audit,
    compare_mitigations,
)
from skfairtest._validation import warn_of_target

WARNING = "X seems to hold the target"
QUICK = RandomAuditor(max_queries=100, random_state=0)


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 60), "x": rng.normal(size=60)})
    y = pd.Series(np.where(X["x"] + rng.normal(size=60) > 0, 1, 0), name="approved")
    return X, y


def told(X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_target(X, y)
    return [str(warning.message) for warning in caught]


WAYS = {
    "audit": lambda X, y: audit(
        LogisticRegression().fit(X, y), X, y, sensitive_features=["sex"], auditor=QUICK,
        favourable=1, progress=False, random_state=0, max_time=None,
        moved=False,
    ),
    "auditor": lambda X, y: RandomAuditor(
        LogisticRegression(), sensitive_features=["sex"], max_queries=100, random_state=0
    ).fit(X, y),
    "TestSGDAuditor": lambda X, y: TestSGDAuditor(
        LogisticRegression(), sensitive_features=["sex"], max_queries=500, favourable=1,
        random_state=0,
    ).fit(X, y),
    "SubgroupAuditor": lambda X, y: SubgroupAuditor(
        LogisticRegression(), sensitive_features=["sex"], favourable=1
    ).fit(X, y),
    "retrainer": lambda X, y: FairnessRetrainer(
        LogisticRegression(), RandomAuditor(sensitive_features=["sex"], max_queries=50),
        max_rounds=1, random_state=0,
    ).fit(X, y),
    "comparison": lambda X, y: compare_mitigations(
        LogisticRegression(), X, y, sensitive_features=["sex"], methods=["drop"], favourable=1,
        random_state=0, progress=False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")
@slow_sample
def test_a_target_in_the_table_is_named_once(case, way):
    X, y = case
    with pytest.warns(UserWarning, match=WARNING) as caught:
        WAYS[way](X.assign(label=y), y)
    said = [str(warning.message) for warning in caught if WARNING in str(warning.message)]
    assert len(said) == 1 and "'label' (it is equal to y)" in said[0]
    assert [w.filename for w in caught if WARNING in str(w.message)] == [__file__]


def test_a_column_of_the_name_of_the_target_is_named(case):
    X, y = case
    (said,) = told(X.assign(approved=X["x"] > 1), y)
    assert "'approved' (it has the name of y)" in said
    (said,) = told(X.assign(approved=1), y.to_frame())
    assert "'approved' (it has the name of y)" in said


@pytest.mark.parametrize("kind", ["words", "truth values", "array", "polars", "floats", "objects"])
def test_equal_values_of_any_kind_are_seen(case, kind):
    X, y = case
    y = y.rename(None)
    if kind == "words":
        y = y.map({0: "no", 1: "yes"})
    X = X.assign(label=y.astype(bool) if kind == "truth values" else y)
    if kind == "array":
        X = X.to_numpy()
    if kind == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    if kind == "floats":
        y = y.astype(float)
    if kind == "objects":
        X = X.astype(object)
    (said,) = told(X, y)
    assert ("2 (it" if kind == "array" else "'label' (it") in said


def test_what_is_equal_by_chance_or_alike_only_is_not_named(case):
    X, y = case
    few = X.assign(label=y)[:19]
    assert not told(few, y[:19].rename(None))
    rare = pd.Series(np.arange(60) < 4).astype(int)
    assert not told(X.assign(label=rare), rare)
    assert not told(X.assign(label=1 - y), y)  # other values
    assert not told(X.assign(label=y.where(y.index != 5, 1 - y)), y)
    assert not told(X, y) and not told(X, None)
    assert not told(pd.DataFrame({0: X["x"], 1: X["sex"]}), y.rename(0))
