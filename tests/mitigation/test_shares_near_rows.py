"""Intervals of shares near rows are about the rows, however many inputs are made of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample, some

from skfairtest import (
    FairnessRetrainer,
    RandomAuditor,
    compare_mitigations,
    estimate_discrimination,
)
from skfairtest._statistics import effective_rows, share_of_rows
from skfairtest.mitigation._shares import Judged, together


class Splits(ClassifierMixin, BaseEstimator):
    """Treats the sexes differently where `a` is in a range."""

    def __init__(self, at=1.0, wide=0.6):
        self.at, self.wide = at, wide

    def fit(self, X, y=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        inside = (X["a"] - self.at).abs() < self.wide
        return np.where(inside, X["sex"] == "m", X["b"] > 0).astype(int)


def table(n, seed):
    rng = np.random.default_rng((n, seed))
    common = rng.normal(size=n)
    columns = {name: 0.7 * common + rng.normal(size=n) for name in "abcd"}
    return pd.DataFrame({"sex": rng.choice(["f", "m"], n), **columns})


def estimate(X, n_samples=2000, model=None, **more):
    return estimate_discrimination(
        model or Splits().fit(X), X, sensitive_features="sex", near="data", n_samples=n_samples,
        random_state=0, **more,
    )  # fmt: skip


@slow_sample
def test_the_interval_knows_how_many_rows_there_are():
    """It was .016 wide for 50, 200 or 1,000 rows."""
    widths = {n: (found := estimate(table(n, 0))).high - found.low for n in (50, 200, 1000)}
    assert widths[50] > 0.15 and widths[50] > 1.5 * widths[200] > 2 * widths[1000]
    more = estimate(table(50, 0), n_samples=8000)
    assert more.high - more.low == pytest.approx(widths[50], rel=0.2)


@pytest.mark.parametrize("n, n_tables", some([(50, 20), (200, 60), (1000, 30)], 0))
def test_it_holds_for_other_samples_of_rows(n, n_tables):
    """In 92 to 98% of 60 to 200 tables, by share and rows; Wilson's of all inputs in 3 to 72%."""
    found = [estimate(table(n, seed), 500) for seed in range(n_tables)]
    true = np.mean([one.rate for one in found])
    assert 0.1 < true < 0.4
    holds = np.mean([one.low <= true <= one.high for one in found])
    assert holds >= 0.9


def test_shares_of_nothing_and_of_everything():
    X = table(40, 0)
    for model, rate in ((Splits(wide=0.0), 0.0), (Splits(wide=1e9), 1.0)):
        found = estimate(X, model=model.fit(X))
        assert found.rate == rate and found.high - found.low == pytest.approx(
            1 - 0.025 ** (1 / 40), abs=1e-9
        )
        assert 0 <= found.low <= found.rate <= found.high <= 1


def test_uniform_inputs_and_rows_are_independent():
    X = table(50, 0)
    settings = {"sensitive_features": "sex", "n_samples": 2000, "random_state": 0}
    uniform = estimate_discrimination(Splits().fit(X), X, **settings)
    assert uniform.high - uniform.low < 0.06


@pytest.mark.parametrize(
    "values, rows, least, most",
    [
        ([1, 0, 0, 1], [0, 0, 0, 0], 1, 1),  # one row
        ([0, 0, 0, 0], [5, 5, 9, 9], 2, 2),  # nothing varies
        ([1, 1, 0, 0] * 50, [0, 0, 1, 1] * 50, 0, 2),  # rows decide
        ([1, 0] * 500, np.repeat(np.arange(500), 2), 495, 500),  # never more than the rows
        (np.r_[1.0, np.zeros(99)], np.arange(100), 90, 100),
    ],
)
def test_effective_rows(values, rows, least, most):
    size = effective_rows(values, np.asarray(rows), 0.95)
    assert least <= size <= most + 1e-9
    low, high = share_of_rows(np.asarray(values) > 0, np.asarray(rows), 0.95)
    assert 0 <= low <= np.mean(np.asarray(values) > 0) <= high <= 1


def test_unequal_rows_tell_less():
    """One row has half of the inputs."""
    rows = np.r_[np.zeros(100, dtype=int), np.arange(1, 101)]
    values = np.r_[np.ones(100), np.arange(100) % 2]
    assert effective_rows(values, rows, 0.95) < 15


def test_rows_of_different_folds_are_different_rows():
    fold = Judged(np.array([True, False]), np.zeros(2), np.array([0, 1]))
    both = together([fold, fold])
    assert both.cluster_ids.tolist() == [0, 1, 2, 3]
    assert together([fold, fold._replace(cluster_ids=None)]).cluster_ids is None


@slow_sample
def test_the_retrainer_and_the_comparison_are_about_rows_too():
    X = table(120, 1)
    y = (X["a"] + (X["sex"] == "m") > 0.3).astype(int)
    X["sex"] = (X["sex"] == "m").astype(int)
    retrained = FairnessRetrainer(
        LogisticRegression(), RandomAuditor(sensitive_features="sex", max_queries=200),
        max_rounds=1, cv=3, random_state=0,
    ).fit(X, y)  # fmt: skip
    near = retrained.before_["near"]
    wide, p = near["high"] - near["low"], near["value"]
    assert 0 < p < 1 and wide > 2 * np.sqrt(p * (1 - p) / 120)
    compared = compare_mitigations(
        LogisticRegression(), X, y, sensitive_features="sex", methods=["drop"], cv=2,
        random_state=0, progress=False,
    )  # fmt: skip
    row = compared.table.loc["original"]
    wide = row["share_near_high"] - row["share_near_low"]
    p = row["share_near"]
    assert wide > 2 * np.sqrt(p * (1 - p) / 120)


@pytest.mark.parametrize(
    "change, error, words",
    [
        (lambda X: {"X": X[:1]}, ValueError, "one value only"),
        (lambda X: {"X": X[:0]}, ValueError, "0 sample"),
        (lambda X: {"X": X.assign(sex="m")}, ValueError, "one value only"),
        (lambda X: {"X": X.set_axis([*X.columns[:-2], "a", "a"], axis=1)}, ValueError, "differ"),
        (
            lambda X: {"X": X, "sensitive_features": X["sex"].set_axis(X.index + 5)},
            ValueError,
            "must name columns of X here",
        ),
    ],
)
def test_tables_of_which_nothing_can_be_estimated(change, error, words):
    X = table(30, 0)
    settings = {"sensitive_features": "sex", "n_samples": 50} | change(X)
    with pytest.raises(error, match=words):
        estimate_discrimination(Splits().fit(X), **settings)


def test_a_constant_model_has_an_estimate_of_nothing_with_an_interval():
    X = table(30, 0)
    model = DummyClassifier().fit(X, np.arange(30) % 2)
    found = estimate_discrimination(model, X, sensitive_features="sex", n_samples=50)
    assert found.rate == found.low == found.degree == 0 < found.high
