"""Intervals of scores: known values, and how often they hold the truth."""

import numpy as np
import pandas as pd
import pytest
from other_intervals import difference_interval, paper_error
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from tiers import slow_sample

from skfairtest import TestSGDAuditor
from skfairtest._statistics import (
    Sides,
    n_needed,
    score_interval,
    wilson,
)
from skfairtest.group._inference.counting import GivenRowSets, GroupRows, Repeats, rule_sides
from skfairtest.group._inference.pivot import all_at_once

Z = 1.959963984540054


def shares(x, n, x_out, n_out):
    x, n, x_out, n_out = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, n, x_out, n_out))
    with np.errstate(invalid="ignore"):
        p, q = x / n, x_out / n_out
    return Sides(n, p, p * (1 - p), n_out, q, q * (1 - q), True)


def test_wilson_as_published():
    # Newcombe (1998), Statistics in Medicine 17, 857-872, Table I.
    low, high = wilson(np.array([81 / 263, 15 / 148, 0.0, 1 / 29]), np.array([263, 148, 20, 29]), Z)
    assert np.round(low, 4).tolist() == [0.2553, 0.0624, 0.0, 0.0061]
    assert np.round(high, 4).tolist() == [0.3662, 0.1605, 0.1611, 0.1718]


def test_newcombe_as_published():
    # Newcombe (1998), Statistics in Medicine 17, 873-890, Table II, method 10.
    sides = shares([56, 9, 6, 5, 10], [70, 10, 7, 56, 10], [48, 3, 2, 0, 0], [80, 10, 7, 29, 10])
    low, high = difference_interval(sides, 0.05, "newcombe")
    assert np.round(low, 4).tolist() == [0.0524, 0.1705, 0.0582, -0.0381, 0.6075]
    assert np.round(high, 4).tolist() == [0.3339, 0.8090, 0.8062, 0.1926, 1.0]


def test_the_papers_example():
    # Zhang et al. (2022), section 4.2: 28.3% and 9.1% of 1,000 rows have errors 0.028 and 0.018.
    sides = shares(283, 1000, 91, 1000)
    assert paper_error(sides, 1.96)[0] == pytest.approx(0.046, abs=5e-4)
    low, high = difference_interval(sides, 0.05, "paper")
    assert (high - low)[0] / 2 == pytest.approx(0.046, abs=5e-4)
    # Added up, errors are larger than those of a difference.
    newcombe = difference_interval(sides, 0.05, "newcombe")
    assert newcombe[1] - newcombe[0] < high - low


def test_where_nobody_was_favoured_the_papers_interval_vanishes_and_the_others_do_not():
    sides = shares(0, 30, 0, 500)
    assert difference_interval(sides, 0.05, "paper")[1] == 0
    for kind in ("newcombe", "wilson"):
        assert difference_interval(sides, 0.05, kind)[1] > 0.05


def test_an_empty_side_says_nothing():
    low, high = difference_interval(shares([0, 5], [0, 10], [5, 0], [10, 0]), 0.05, "newcombe")
    assert low.tolist() == [-1, -1] and high.tolist() == [1, 1]


def test_welch_agrees_with_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 2, 25), rng.normal(0, 1, 60)
    each = [(np.array([float(len(v))]), np.array([v.mean()]), np.array([v.var(ddof=1)]))
            for v in (a, b)]  # fmt: skip
    low, high = difference_interval(Sides(*each[0], *each[1], False), 0.05, "newcombe")
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))


def test_score_interval_folds_at_zero():
    low, high = score_interval(np.array([-0.1, 0.2, -0.5]), np.array([0.3, 0.4, -0.2]))
    assert low.tolist() == [0, 0.2, 0.2] and high.tolist() == [0.3, 0.4, 0.5]


def test_the_planned_pool_keeps_its_promise():
    rng = np.random.default_rng(0)
    for smallest, alpha in ((0.05, 0.05), (0.05, 0.05 / 13_282), (0.3, 0.01)):
        n = n_needed(smallest, n_side=1000, error=0.05, alpha=alpha)
        inside = rng.binomial(n, smallest, size=200).min()  # the least of many rules
        assert inside >= 1000
        sides = shares(inside / 2, inside, (n - inside) / 2, n - inside)
        low, high = difference_interval(sides, alpha, "newcombe")
        assert (high - low)[0] / 2 <= 0.05


def test_thirteen_thousand_rules_need_less_than_fifty_thousand_rows():
    n = n_needed(0.05, n_side=1000, error=0.05, alpha=0.05 / 13_282)
    assert 40_000 < n <= 50_000


# Coverage ---------------------------------------------------------------------------------------


class Votes(ClassifierMixin, BaseEstimator):
    classes_ = np.array([0, 1])

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return (merit(X) > 20).astype(int)


class Amounts(RegressorMixin, BaseEstimator):
    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return merit(X)


def merit(X):
    a, b, c, sex, age = np.asarray(X, dtype=float).T
    return a * b / 3 + 7 * np.sin(3 * c) + 3 * sex + (age > 4) * 2


def small_table():
    rng = np.random.default_rng(5)
    n = 150
    return pd.DataFrame({
        "a": rng.integers(0, 12, n), "b": rng.integers(0, 9, n), "c": rng.integers(0, 5, n),
        "sex": rng.integers(0, 2, n), "age": rng.integers(0, 9, n),
    })  # fmt: skip


def perturbed_population(X, free):
    """Every row, each free attribute moved by one step up and down, within the data's range."""
    parts, seeds = [], []
    for name in free:
        for step in (-1, 1):
            moved = X.copy()
            moved[name] = (moved[name] + step).clip(X[name].min(), X[name].max())
            parts.append(moved)
            seeds.append(np.arange(len(X)))
    return pd.concat(parts), np.concatenate(seeds)


def coverage(model, correction, repetitions):
    """For each repetition, which of the rules' intervals hold the true score."""
    X = small_table()
    population, seeds = perturbed_population(X, ["a", "b", "c"])
    answers = model.predict(population)
    truth, held = {}, []
    for seed in range(repetitions):
        auditor = TestSGDAuditor(
            model, sensitive_features=["sex", "age"], n_bins=4,
            error_threshold=0.2, correction=correction, random_state=seed,
        ).fit(X)  # fmt: skip
        rules = auditor.rules_
        if not truth:
            for rule in rules["rule"]:
                inside = auditor.matches(X, rule)[seeds]
                truth[rule] = abs(answers[inside].mean() - answers[~inside].mean())
        true = rules["rule"].map(truth)
        good = (rules["low"] <= true + 1e-12) & (true <= rules["high"] + 1e-12)
        held.append(dict(zip(rules["rule"], good, strict=True)))
    return pd.DataFrame(held)


CASES = [
    (Votes(), "none"),
    (Votes(), "bonferroni"),
    (Amounts(), "none"),
    (Amounts(), "bonferroni"),
]


def check_coverage(model, correction, repetitions):
    held = coverage(model, correction, repetitions)
    assert held.shape == (repetitions, held.shape[1]) and held.shape[1] > 20
    # What 95% would fall below in one of 10,000 tries.
    least = stats.binom.ppf(1e-4, repetitions, 0.95)
    if correction == "none":
        assert (held.sum() >= least).all(), held.mean().min()
    else:
        assert held.all(axis=1).sum() >= least, held.all(axis=1).mean()
    return held


@pytest.mark.slow
@pytest.mark.parametrize(("model", "correction"), CASES)
def test_coverage_over_500_repetitions(model, correction):
    check_coverage(model, correction, 500)


@slow_sample
@pytest.mark.parametrize(
    ("model", "correction"),
    [
        (Votes(), "none"),
        (Votes(), "bonferroni"),
        (Amounts(), "bonferroni"),
    ],
)
def test_coverage_sample(model, correction):
    check_coverage(model, correction, 40)


@slow_sample
def test_single_intervals_do_not_hold_all_at_once():
    # Why the simultaneous ones are needed: the check above can fail, and here it does.
    held = coverage(Votes(), "none", 40)
    assert held.all(axis=1).mean() < 0.8


# Counting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binary", [False, True])
def test_groups_are_counted_alike_whether_they_overlap_or_not(binary, weighted):
    rng = np.random.default_rng(0)
    codes, counts = rng.integers(0, 5, 400), rng.random(400) < 0.7
    values = (rng.random(400) < 0.3) * 1.0 if binary else 1e6 + rng.exponential(size=400)
    weights = rng.exponential(size=400) * (rng.random(400) < 0.9) if weighted else None
    sets = GivenRowSets(codes == np.arange(6)[:, None])  # the last one has no rows
    sides = rule_sides(sets, values, counts, weights, binary=binary)
    means = GroupRows(codes, 6, weights).mean(values, counts)
    assert means.size == pytest.approx(sides.n) and means.n[5] == 0
    assert means.value == pytest.approx(sides.mean, nan_ok=True, rel=1e-12)
    if not binary:  # the variance of shares is that of the share
        assert means.variance == pytest.approx(sides.variance, nan_ok=True, rel=1e-9)
    # And as a loop over the groups counts them.
    for group in range(5):
        inside = counts & (codes == group)
        w = np.ones(400) if weights is None else weights
        assert means.value[group] == pytest.approx(np.average(values[inside], weights=w[inside]))
        assert sides.mean_out[group] == pytest.approx(
            np.average(values[counts & (codes != group)], weights=w[counts & (codes != group)])
        )
        assert means.size[group] == pytest.approx(w[inside].sum() ** 2 / (w[inside] ** 2).sum())


def test_a_repeated_row_counts_as_the_rows_that_it_stands_for():
    rng = np.random.default_rng(0)
    codes, values, times = rng.integers(0, 3, 50), rng.normal(size=50), rng.integers(1, 9, 50)
    every = GroupRows(np.repeat(codes, times), 3).mean(
        np.repeat(values, times), np.ones(times.sum(), dtype=bool)
    )
    repeats = Repeats(times, times.astype(float), times.astype(float), {})
    once = GroupRows(codes, 3, repeats=repeats).mean(values, np.ones(50, dtype=bool))
    for one, other in zip(every, once, strict=True):
        assert one == pytest.approx(other)


def test_bonferroni_divides_the_error_by_the_rules():
    sides = shares([30, 10], [100, 100], [10, 10], [100, 100])
    alone, together = (all_at_once(sides, confidence=0.95, n_rules=n) for n in (1, 1000))
    assert alone.differs.tolist() == [True, False] and not together.differs.any()
    assert together.critical == pytest.approx(stats.norm.isf(0.025 / 1000))
    assert (together.low < alone.low).all() and (together.high > alone.high).all()
