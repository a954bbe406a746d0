"""Simultaneous intervals by permutation: against loops, and how often they hold the truth."""

from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from clocks import CLOCK
from dense_rules import DenseRules
from hypothesis import given
from hypothesis import strategies as st
from other_intervals import simultaneous
from scipy import optimize, stats
from tiers import slow_sample, some

from skfairtest._clock import OutOfTime
from skfairtest._statistics import Shape, Sides
from skfairtest.group._inference import resampled as _resampled
from skfairtest.group._inference.counting import rule_sides
from skfairtest.group._inference.pivot import all_at_once, interval_at, signed_root
from skfairtest.group._inference.resampled import resampled


def shares(x, n, x_out, n_out):
    x, n, x_out, n_out = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, n, x_out, n_out))
    with np.errstate(invalid="ignore", divide="ignore"):
        p, q = x / n, x_out / n_out
    return Sides(n, p, p * (1 - p), n_out, q, q * (1 - q), True)


# The distance from 0, and its interval -----------------------------------------------------------


def test_the_signed_root_is_that_of_the_g_test():
    counts = [(5, 30, 40, 400), (0, 25, 30, 300), (25, 25, 100, 300), (3, 200, 900, 20_000)]
    roots = signed_root(shares(*np.transpose(counts)))
    for (x, n, y, m), root in zip(counts, roots, strict=True):
        table = [[x, n - x], [y, m - y]]
        g = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
        assert root == pytest.approx(np.sign(x / n - y / m) * np.sqrt(g))


def test_an_interval_of_shares_ends_where_the_likelihood_does():
    x, n, y, m = 7, 40, 90, 700
    low, high = interval_at(shares(x, n, y, m), 3.0)

    def loss(q, d):
        p = q + d
        return -(stats.binom.logpmf(x, n, p) + stats.binom.logpmf(y, m, q))

    best = loss(y / m, x / n - y / m)
    for d in (low[0], high[0]):
        least = optimize.minimize_scalar(
            loss, bounds=(max(0, -d), min(1, 1 - d)), args=(d,), method="bounded",
            options={"xatol": 1e-10},
        ).fun  # fmt: skip
        assert 2 * (least - best) == pytest.approx(9.0, abs=1e-4)


@given(
    st.floats(-5, 5), st.floats(0, 9), st.floats(0, 9), st.integers(2, 90), st.integers(2, 900),
    st.floats(-30, 30), st.floats(1, 6),
)  # fmt: skip
def test_interval_and_distance_of_means_agree(mean, spread, other, n, n_out, skewness, critical):
    shape = Shape(skewness, 1.5 * skewness**2 + 3)
    sides = Sides(*(np.array([float(v)]) for v in (n, mean, spread, n_out, 0, other)), False, shape)
    low, high = interval_at(sides, critical)
    assert low[0] <= mean <= high[0]
    # Moved by an end of its interval, a difference lies as far away as the interval reaches.
    for end, distance in ((low, critical), (high, -critical)):
        if np.isfinite(end[0]):
            moved = sides._replace(mean=sides.mean - end)
            assert signed_root(moved)[0] == pytest.approx(distance, abs=1e-4)


@given(st.lists(st.tuples(*[st.integers(0, 40)] * 4), min_size=1, max_size=8), st.floats(1, 6))
def test_interval_and_distance_agree(tables, critical):
    a, b, c, d = np.array(tables).T
    sides = shares(a, a + b, c, c + d)
    low, high = interval_at(sides, critical)
    root = signed_root(sides)
    empty = (a + b == 0) | (c + d == 0)
    assert (low[empty] == -1).all() and (high[empty] == 1).all()
    assert (low >= -1).all() and (high <= 1).all() and (low <= high).all()
    difference = np.where(empty, 0, sides.difference)
    assert (low <= difference + 1e-7).all() and (difference <= high + 1e-7).all()
    clear = np.abs(np.abs(root) - critical) > 1e-3
    assert (((low > 0) | (high < 0)) == (np.abs(root) > critical))[clear].all()


def test_means_have_welchs_interval():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 2, 12), rng.normal(0, 1, 60)
    each = [(np.array([float(len(v))]), np.array([v.mean()]), np.array([v.var(ddof=1)]))
            for v in (a, b)]  # fmt: skip
    sides = Sides(*each[0], *each[1], False)
    test = stats.ttest_ind(a, b, equal_var=False)
    expected = test.confidence_interval(0.99)
    low, high = interval_at(sides, stats.norm.isf(0.005))
    # Wallace's formula is good to three digits.
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), rel=5e-3)
    assert signed_root(sides)[0] == pytest.approx(stats.norm.isf(test.pvalue / 2), rel=5e-3)


# Sides and permutations against loops ------------------------------------------------------------


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_sides_are_those_of_a_loop(seed, binary, weighted):
    rng = np.random.default_rng(seed)
    rules = DenseRules(rng.integers(0, 3, (40, 3)))
    values = rng.integers(0, 2, 40).astype(float) if binary else rng.normal(1e3, 1, 40)
    counts = rng.random(40) < 0.8
    weights = rng.uniform(0.1, 3, 40) if weighted else None
    sides = rule_sides(rules, values, counts, weights, binary=binary)
    w = np.ones(40) if weights is None else weights
    for g in range(rules.n_rules):
        for rows, n, mean, variance in (
            (rules.inside(g) & counts, sides.n, sides.mean, sides.variance),
            (~rules.inside(g) & counts, sides.n_out, sides.mean_out, sides.variance_out),
        ):
            if not rows.any():
                assert n[g] == 0 and np.isnan(mean[g])
                continue
            size = w[rows].sum() ** 2 / (w[rows] ** 2).sum()
            assert n[g] == pytest.approx(size)
            m = np.average(values[rows], weights=w[rows])
            assert mean[g] == pytest.approx(m)
            if binary:
                assert variance[g] == pytest.approx(m * (1 - m))
            elif rows.sum() > 1:
                v = np.average((values[rows] - m) ** 2, weights=w[rows]) * size / (size - 1)
                assert variance[g] == pytest.approx(v, abs=1e-6)


def permuted_roots(rules, values, counts, weights, binary, rng):
    moved = values.copy()
    if binary:  # the few are drawn
        few = min(int(values[counts].sum()), int((1 - values[counts]).sum()))
        rare = float(values[counts].sum() <= few)
        moved[counts] = 1 - rare
        drawn = rng.choice(int(counts.sum()), few, replace=False, shuffle=False)
        moved[np.flatnonzero(counts)[drawn]] = rare
    else:
        moved[counts] = rng.permuted(values[counts])
    return signed_root(rule_sides(rules, moved, counts, weights, binary=binary))


def multiplied_roots(rules, values, counts, weights, rng):
    """Distances from the mean times normal numbers; the difference by its standard deviation."""
    normal = np.zeros(len(values))
    normal[counts] = rng.standard_normal(counts.sum())
    w = np.ones(len(values)) if weights is None else weights
    middle = np.average(values[counts], weights=w[counts])
    roots = []
    for g in range(rules.n_rules):
        moved, variance = [], 0.0
        for rows in (rules.inside(g) & counts, ~rules.inside(g) & counts):
            share = w[rows] / w[rows].sum()
            residuals = values[rows] - middle
            moved.append((share * residuals) @ normal[rows])
            variance += ((share * residuals) ** 2).sum()
        roots.append((moved[0] - moved[1]) / np.sqrt(variance))
    return np.array(roots)


def naive(observed, draw, n_resamples, error):
    """Step-down by claims, each resample and step in a loop of its own."""
    claims = np.concatenate([observed, -observed])
    dealt = []
    for _ in range(n_resamples):
        root = draw()
        dealt.append(np.concatenate([root, -root]))
    dealt = np.array(dealt)
    critical = np.sort(dealt.max(axis=1))[-int(error * (n_resamples + 1) + 1e-9)]
    open_, p_values, last = np.ones(len(claims), dtype=bool), np.ones(len(claims)), 0.0
    for place in np.argsort(-claims, kind="stable"):
        if claims[place] <= 0:
            break
        exceeded = (dealt[:, open_].max(axis=1) >= claims[place] - 1e-9).sum()
        last = max(last, (1 + exceeded) / (n_resamples + 1))
        p_values[place] = last
        open_[place] = False
    return critical, np.minimum(p_values[: len(observed)], p_values[len(observed) :])


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("error", some([0.1, 0.3, 0.7]))
@pytest.mark.parametrize("seed", some(range(3)))
def test_resampled_is_the_textbooks_loop(binary, weighted, seed, error, monkeypatch):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (80, 3))
    rules = DenseRules(codes, min_support=0.05, most=2)
    effect = 0.35 * (codes[:, 0] == 1)
    values = (rng.random(80) < 0.2 + effect).astype(float) if binary else rng.normal(3 * effect, 1)
    counts = rng.random(80) < 0.9
    weights = rng.uniform(0.5, 2, 80) if weighted else None
    sides = rule_sides(rules, values, counts, weights, binary=binary)
    arguments = (sides, rules, values, counts, weights)

    def run():
        rng = np.random.default_rng(1)
        return resampled(*arguments, confidence=1 - error, n_resamples=59, rng=rng)

    found = run()
    first, observed = np.random.default_rng(1), signed_root(sides)
    critical, p_value = naive(
        observed,
        lambda: permuted_roots(rules, values, counts, weights, binary, first),
        59,
        error,
    )
    if not binary:  # shares have equal distributions where they have equal means
        other, p_other = naive(
            observed, lambda: multiplied_roots(rules, values, counts, weights, first), 59, error
        )
        critical, p_value = max(critical, other), np.maximum(p_value, p_other)
    critical = max(critical, stats.norm.isf(error / 2))
    assert found.critical == pytest.approx(critical)
    assert (found.differs == (p_value <= error + 1e-9)).all()
    distance = np.abs(signed_root(sides))
    far, clear = distance > found.critical, np.abs(distance - found.critical) > 1e-6
    intervals = found.intervals(sides)
    apart = (intervals.low > 0) | (intervals.high < 0)
    assert (far <= found.differs)[clear].all() and (apart == far)[clear].all()
    # However the permutations are cut into blocks.
    monkeypatch.setattr(_resampled, "MAX_ENTRIES", 7 * 80)
    assert run().critical == pytest.approx(found.critical)


def test_weights_of_one_are_no_weights():
    rng = np.random.default_rng(0)
    rules = DenseRules(rng.integers(0, 3, (60, 3)), min_support=0.05)
    values, counts = rng.integers(0, 2, 60).astype(float), rng.random(60) < 0.7
    found = []
    for weights in (None, np.ones(60)):
        sides = rule_sides(rules, values, counts, weights, binary=True)
        found.append(
            resampled(
                sides, rules, values, counts, weights,
                confidence=0.9, n_resamples=39, rng=np.random.default_rng(2),
            )
        )  # fmt: skip
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other)


def reported(kind, runs):
    """Share of tables without effect and with rare outcomes in which Bonferroni says "differs"."""
    rng = np.random.default_rng(0)
    rules = DenseRules(rng.integers(0, 3, (600, 4)), min_support=0.02)
    wrong = 0
    for _ in range(runs):
        values = (rng.random(600) < 0.05).astype(float)
        sides = rule_sides(rules, values, np.ones(600, dtype=bool), binary=True)
        shared = {"confidence": 0.95, "n_rules": rules.n_rules}
        if kind == "root":
            differs = all_at_once(sides, **shared).differs
        else:
            differs = simultaneous(sides, kind=kind, **shared)[2]
        wrong += differs.any()
    return wrong / runs


@slow_sample
def test_with_rare_outcomes_the_signed_root_reports_nothing_and_newcombe_does():
    assert reported("root", 60) <= 0.05 < 0.1 < reported("newcombe", 60)


def test_rules_that_are_left_out_say_nothing_and_cost_nothing():
    rng = np.random.default_rng(0)
    rules = DenseRules(rng.integers(0, 3, (90, 3)), min_support=0.02)
    values, counts = rng.integers(0, 2, 90).astype(float), np.ones(90, dtype=bool)
    sides = rule_sides(rules, values, counts, binary=True)
    kept = rules.support > 0.2
    sides_of_few = sides._replace(n=np.where(kept, sides.n, 0.0))
    few = resampled(
        sides_of_few, rules, values, counts,
        confidence=0.95, n_resamples=99, rng=np.random.default_rng(0),
    )  # fmt: skip
    every = resampled(
        sides, rules, values, counts,
        confidence=0.95, n_resamples=99, rng=np.random.default_rng(0),
    )  # fmt: skip
    low, high, *_ = few.intervals(sides_of_few)
    assert (low[~kept] == -1).all() and (high[~kept] == 1).all()
    assert not few.differs[~kept].any() and few.critical < every.critical


@pytest.mark.parametrize("binary", [True, False])
def test_of_many_rows_some_are_permuted(binary, monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (4000, 3))
    rules = DenseRules(codes, most=1)
    values = (rng.random(4000) < 0.4 + 0.1 * codes[:, 0]).astype(float)
    if not binary:
        values = 5 * values + rng.normal(size=4000)
    counts = rng.random(4000) < 0.9
    sides = rule_sides(rules, values, counts, binary=binary)
    n_rows, among = [], DenseRules.among

    def noted(self, rows):
        n_rows.append(len(rows))
        return among(self, rows)

    monkeypatch.setattr(DenseRules, "among", noted)
    found = []
    for least in (400, 10**9):
        monkeypatch.setattr(_resampled, "LEAST_ROWS", least)
        found.append(
            resampled(sides, rules, values, counts, confidence=0.95, rng=rng, n_resamples=199)
        )
    assert n_rows[0] < 1000 < n_rows[1] == counts.sum()
    few, every = found
    assert few.critical == pytest.approx(every.critical, abs=0.4)
    # Rows that were not drawn are in the sides all the same.
    assert few.differs.tolist() == every.differs.tolist() == [True, True] + 4 * [False]


@pytest.mark.parametrize("value", [0.0, 1.0, 2.5])
def test_where_nothing_varies_nothing_is_permuted(value):
    rules = DenseRules(np.random.default_rng(0).integers(0, 3, (90, 3)))
    values, counts = np.full(90, value), np.arange(90) < 80
    sides = rule_sides(rules, values, counts, binary=value != 2.5)
    found = resampled(sides, rules, values, counts, confidence=0.95, rng=None)
    assert not found.observed.any() and not found.differs.any()
    assert found.critical == pytest.approx(stats.norm.isf(0.025))


def test_too_few_permutations_are_refused():
    rng = np.random.default_rng(0)
    rules = DenseRules(rng.integers(0, 2, (20, 2)))
    values, counts = rng.integers(0, 2, 20).astype(float), np.ones(20, dtype=bool)
    sides = rule_sides(rules, values, counts, binary=True)
    with pytest.raises(ValueError, match=r"at least 19\. Raise n_resamples, or lower"):
        resampled(sides, rules, values, counts, confidence=0.95, n_resamples=18, rng=rng)


def test_where_rules_overlap_the_price_is_less_than_bonferronis():
    rng = np.random.default_rng(0)
    # Six attributes, of which five say nearly the same, as names of one thing do.
    codes = rng.integers(0, 3, (400, 6))
    for j in range(1, 5):
        codes[:, j] = np.where(rng.random(400) < 0.95, codes[:, 0], codes[:, j])
    rules = DenseRules(codes, min_support=0.1)
    values, counts = (rng.random(400) < 0.3).astype(float), np.ones(400, dtype=bool)
    sides = rule_sides(rules, values, counts, binary=True)
    found = resampled(sides, rules, values, counts, confidence=0.95, rng=rng, n_resamples=199)
    assert found.critical < stats.norm.isf(0.025 / rules.n_rules) - 0.5


# Coverage ----------------------------------------------------------------------------------------

#: Name: mean by codes, standard deviation by codes (None for shares), shape of the errors.
CASES = {
    "no effect, rare": (lambda c: np.full(len(c), 0.05), None, None),
    "no effect, common": (lambda c: np.full(len(c), 0.3), None, None),
    "one attribute": (lambda c: np.where(c[:, 0] == 0, 0.3, 0.1), None, None),
    "strong": (lambda c: np.where(c[:, 0] == 0, 0.5, 0.03), None, None),
    "pairs only": (lambda c: np.where((c[:, 0] == 0) == (c[:, 1] == 0), 0.35, 0.1), None, None),
    "normal": (lambda c: 1.0 * (c[:, 0] == 0), lambda c: 1.0, "normal"),
    "other variance": (
        lambda c: np.zeros(len(c)), lambda c: np.where(c[:, 0] == 0, 5.0, 1.0), "normal"
    ),
    "skewed, no effect": (lambda c: np.zeros(len(c)), lambda c: 1.0, "exponential"),
}  # fmt: skip


def simulated(case, runs, correction, *, n_rows=600, n_resamples=199):
    """Shares of the runs in which all intervals hold, and in which no equal group is refuted."""
    mean, scale, shape = CASES[case]
    rng = np.random.default_rng(0)
    grid = np.array(list(product(range(3), repeat=4)))
    held, quiet = 0, 0
    for _ in range(runs):
        codes = rng.integers(0, 3, (n_rows, 4))
        rules = DenseRules(codes, min_support=0.02)
        inside = ((rules.conditions[:, None] < 0) | (rules.conditions[:, None] == grid)).all(axis=2)
        truth = mean(grid)
        true = inside @ truth / inside.sum(axis=1) - ~inside @ truth / (~inside).sum(axis=1)
        if scale is None:
            values = (rng.random(n_rows) < mean(codes)).astype(float)
        else:
            noise = rng.normal(size=n_rows) if shape == "normal" else rng.exponential(size=n_rows)
            values = mean(codes) + scale(codes) * (noise - (shape == "exponential"))
        counts = np.ones(n_rows, dtype=bool)
        sides = rule_sides(rules, values, counts, binary=scale is None)
        if correction == "resampling":
            low, high, differs = resampled(
                sides, rules, values, counts,
                confidence=0.95, rng=rng, n_resamples=n_resamples,
            ).intervals(sides)[:3]  # fmt: skip
        else:
            low, high, differs = simultaneous(sides, confidence=0.95, kind="newcombe")
        held += bool(((low <= true + 1e-9) & (true <= high + 1e-9)).all())
        quiet += not (differs & (np.abs(true) < 1e-12)).any()
    return held / runs, quiet / runs


def check(case, runs):
    held, quiet = simulated(case, runs, "resampling")
    # What 95% would fall below in one of 10,000 tries; where no rule is spared, permutations
    # are approximate, and half a percent is allowed for it.
    least = stats.binom.ppf(1e-4, runs, 0.95 if "no effect" in case else 0.945) / runs
    assert held >= least and quiet >= least, (held, quiet)


@slow_sample
@pytest.mark.parametrize("case", ["no effect, rare", "skewed, no effect"])
def test_coverage_sample(case):
    check(case, 40)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_coverage_over_500_repetitions(case):
    check(case, 500)


@slow_sample
def test_intervals_by_themselves_do_not_hold_all_at_once():
    # Why the simultaneous ones are needed: the check above can fail, and here it does.
    held, quiet = simulated("no effect, common", 40, "none")
    assert held < 0.7 and quiet < 0.7


@pytest.mark.parametrize(
    ("seconds", "gives_up", "n_blocks"), [(99, True, 10), (50, True, 1), (50, False, 6)]
)
def test_resamples_that_will_not_be_done_in_time_are_given_up(seconds, gives_up, n_blocks):
    seen = []

    def blocks():
        for _ in range(10):
            CLOCK.sleep(9)
            yield np.zeros(10), np.zeros((3, 10))

    with nullcontext() if seconds > 90 else pytest.raises(OutOfTime):
        for block in _resampled._in_time(blocks(), 100, CLOCK.now() + seconds, gives_up):
            seen.append(block)
    assert len(seen) == n_blocks
