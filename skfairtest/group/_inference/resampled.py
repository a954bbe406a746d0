"""Tests and intervals for all rules at once, which allow for the overlap of the rules.

Bonferroni pays for 10,000 rules as if they were 10,000 experiments. Most of them share most of
their rows, and a maximum over overlapping rules is smaller. How small, permutations say: the
values are dealt anew to the rows that count, and the largest distance from 0 over all rules is
noted each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skfairtest import _clock
from skfairtest._statistics import ROUNDING, Sides
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._inference.counting import RowSets, rule_sides, shape_of
from skfairtest.group._inference.pivot import Simultaneous, interval_at, known, signed_root

#: Entries of one table of sums over rules and resamples: 16 MB each.
MAX_ENTRIES = 2**21
#: Rows that the smallest group has, at least, in a sample of the rows that is permuted.
LEAST_ROWS = 400


def resampled(
    sides: Sides,
    rules: RowSets,
    values: Floats,
    counts: Bools,
    weights: Floats | None = None,
    *,
    confidence: float,
    rng: np.random.Generator,
    n_resamples: int = 999,
    deadline: float = math.inf,
    gives_up: bool = True,
) -> Resampled:
    """Tests of equality for all rules at once, and intervals that hold for all, by resampling.

    Each permutation deals the values anew to the rows that count; attributes, weights and who
    counts stay with the rows. Distances from 0 are those of `signed_root`, so that small rules
    with rare events do not decide alone what is far. The intervals reach as far as the largest
    distance of all rules does in `confidence` of the permutations. Tests step down: what was
    refuted is left out of the maximum for the others, each direction by itself (Westfall and
    Young; Romano and Wolf). Where the steps refute more than the interval does, the interval ends
    at 0.

    What is promised: where values do not depend on the attributes among the rows that count, any
    rule at all is said to differ with a probability of at most 1 less the confidence, exactly,
    in tables of any size whose rows are all permuted. Where some rules differ and others do not,
    tests and intervals are approximate: permutations take all rules to have one distribution.
    For shares, that only touches the correlations between rules. Means may be equal where
    variances are not, and permuted values have the same variance everywhere; roots of means hardly
    depend on it, but how they go together does. So for means a second null distribution is drawn
    (distances from the mean times normal numbers, the multiplier bootstrap of Chernozhukov,
    Chetverikov and Kato, which has the variances right and the shape wrong where that is skewed),
    and the larger of both p-values and of both distances is taken. Small groups of rare large
    values that are larger than everybody else's remain the weak spot. Simulations:
    tests/group/test_resampled.py and test_group_means.py. With weights, values and weights are
    taken to be independent inside of each rule, as in Kish's effective size.

    In large tables a sample of the rows is permuted, see `_enough_rows`.

    Parameters
    ----------
    sides : Sides
        What `rule_sides` gives for the same arguments. Rules whose `n` is set to 0 are left
        out: their intervals say nothing.
    rules, values, counts, weights
        As for `rule_sides`.
    confidence : float
        Of all intervals, and of all tests.
    rng : numpy.random.Generator
        For the permutations.
    n_resamples : int
        Permutations; 1 / (n_resamples + 1) is the smallest p-value.
    deadline : float, default=inf
        When they have to be done, by `_clock.now`.
    gives_up : bool, default=True
        Whether to end as soon as the pace so far shows that they will not be done in time, or only
        when the time is over.

    Returns
    -------
    Resampled
        The tests, in the rules' order, from which the intervals follow.

    Raises
    ------
    OutOfTime
        If the permutations are not done in time.

    References
    ----------
    .. [1] Westfall, P. H., & Young, S. S. (1993). Resampling-based multiple testing. Wiley.
    .. [2] Romano, J. P., & Wolf, M. (2005). Exact and approximate stepdown methods for multiple
       hypothesis testing. JASA 100, 94-108.
    .. [3] Chung, E., & Romano, J. P. (2013). Exact and asymptotically robust permutation tests.
       Annals of Statistics 41, 484-507.
    .. [4] Chernozhukov, V., Chetverikov, D., & Kato, K. (2013). Gaussian approximations and
       multiplier bootstrap for maxima of sums of high-dimensional random vectors. Annals of
       Statistics 41, 2786-2819.
    """
    n_largest = int(np.floor((1 - confidence) * (n_resamples + 1) + ROUNDING))
    if n_largest < 1:
        raise ValueError(
            f"n_resamples={n_resamples} is too small for a confidence of {confidence:g}: "
            f"expected at least {int(np.ceil(1 / (1 - confidence))) - 1}. Raise n_resamples, or "
            "lower confidence."
        )
    steps = _StepDown(signed_root(sides), n_largest)
    rows = _enough_rows(sides, values, counts, weights, rng)
    compared = _Comparison(sides, rules, values, counts, weights)
    if len(rows) < len(values):
        compared = compared.among(rows)
    draws = [compared.permuted(rng, n_resamples)]
    if not sides.binary:
        draws.append(compared.multiplied(rng, n_resamples))
    outcomes = [
        steps.down(_in_time(roots, (len(draws) - k) * n_resamples, deadline, gives_up))
        for k, roots in enumerate(draws)
    ]
    p_value = np.max([p for p, _ in outcomes], axis=0)
    # All at once are known no better than one by itself, also where permutations change nothing.
    alone = float(stats.norm.isf((1 - confidence) / 2))
    critical = max(alone, *(c for _, c in outcomes))
    differs = p_value <= 1 - confidence + ROUNDING
    return Resampled(steps.observed, differs, critical, p_value)


class Resampled(NamedTuple):
    """What permutations tell of rules; arrays of shape (n_rules,).

    Attributes
    ----------
    observed : ndarray
        Signed roots of the differences.
    differs : ndarray of bool
        Where equality is refuted.
    critical : float
        How far all intervals reach, as a distance of a root from 0.
    p_value : ndarray
        The least family-wise error at which equality is refuted.
    """

    observed: Floats
    differs: Bools
    critical: float
    p_value: Floats

    def intervals(self, sides: Sides, places: Any = slice(None)) -> Simultaneous:
        """Intervals of the differences of some of the rules, which have these sides.

        They are searched for, which takes a while for each rule: those that nobody is shown need
        none.
        """
        observed, differs, critical, p_value = self
        observed, differs = observed[places], differs[places]
        low, high = interval_at(sides, critical)
        low = np.where(differs & (observed > 0), np.maximum(low, 0.0), low)
        high = np.where(differs & (observed < 0), np.minimum(high, 0.0), high)
        return Simultaneous(low, high, differs, critical, p_value[places])


def _in_time(
    blocks: Iterator[Floats], n_resamples: int, deadline: float, gives_up: bool
) -> Iterator[Floats]:
    """The same blocks, as long as so many resamples can be looked at in time."""
    began, done = _clock.now(), 0
    for block in blocks:
        yield block
        done += block.shape[1]
        now = _clock.now()
        needed = (now - began) * (n_resamples - done) / done if gives_up else 0.0
        if now + needed > deadline:
            raise _clock.OutOfTime


def _enough_rows(
    sides: Sides, values: Floats, counts: Bools, weights: Floats | None, rng: np.random.Generator
) -> Ints:
    """The rows that count, or some of them where no group needs all.

    Roots of large groups are normal numbers, however large the groups are; all that permutations
    tell of them is how they go together, which a sample of the rows tells as well.
    """
    everyone = np.flatnonzero(counts)
    seen = known(sides)
    if not seen.any():
        return everyone
    centred = values[everyone] - values[everyone].mean()
    kurtosis = shape_of(centred if weights is None else weights[everyone] * centred).kurtosis
    smallest = np.minimum(sides.n, sides.n_out)[seen].min()
    # In a mean of 50 times as many rows as the kurtosis, skewness hardly shows.
    needed = max(LEAST_ROWS, 50 * kurtosis) / smallest * len(everyone)
    if needed >= len(everyone):
        return everyone
    return np.sort(rng.choice(everyone, int(np.ceil(needed)), replace=False))


class _StepDown:
    """Compares what was observed with maxima of resamples, from the most distant rule on."""

    def __init__(self, observed: Floats, n_largest: int) -> None:
        self.observed = observed
        self.n_largest = n_largest
        self.order = np.argsort(np.abs(observed), kind="stable")  # the steps go down from the end
        self.sign = np.where(observed[self.order] < 0, -1.0, 1.0)[:, None]
        self.distance = np.abs(observed[self.order])[:, None] - ROUNDING

    def down(self, blocks: Iterator[Floats]) -> tuple[Floats, float]:
        """Adjusted p-values, and the maximum that few resamples exceed."""
        exceeded = np.zeros(len(self.order), dtype=np.intp)
        largest = []
        for block in blocks:
            leading = self.sign * block[self.order]
            # The claims "not the other way round" are never refuted, and stay in each maximum.
            opposite = (-leading).max(axis=0, initial=0.0)
            maxima = np.maximum(np.maximum.accumulate(leading, axis=0), opposite)
            exceeded += (maxima >= self.distance).sum(axis=1)
            largest.append(maxima[-1] if len(maxima) else opposite)
        every = np.sort(np.concatenate(largest))
        steps = (1 + exceeded) / (len(every) + 1)
        p_value = np.empty(len(self.order))
        p_value[self.order] = np.maximum.accumulate(steps[::-1])[::-1]
        return np.where(self.observed == 0, 1.0, p_value), float(every[-self.n_largest])


class _Comparison(NamedTuple):
    """Rules, the values of their rows, and which of these count, as `resampled` is given them."""

    sides: Sides
    rules: RowSets
    values: Floats
    counts: Bools
    weights: Floats | None

    def among(self, rows: Ints) -> _Comparison:
        """Return the same of some of the rows; rules that were left out stay so."""
        rules, values, counts = self.rules.among(rows), self.values[rows], self.counts[rows]
        weights = None if self.weights is None else self.weights[rows]
        sides = rule_sides(rules, values, counts, weights, binary=self.sides.binary)
        sides = sides._replace(n=np.where(self.sides.n > 0, sides.n, 0.0))
        return _Comparison(sides, rules, values, counts, weights)

    def permuted(self, rng: np.random.Generator, n_resamples: int) -> Iterator[Floats]:
        """Signed roots of permuted values, in blocks of shape (n_rules, k)."""
        sides, rules, values, counts, weights = self
        n_rows, n_rules = len(values), rules.n_rules
        n_columns = 1 if sides.binary else 2
        k = max(1, MAX_ENTRIES // (n_columns * max(n_rows, n_rules)))
        places = np.flatnonzero(counts)
        w = np.ones(len(places)) if weights is None else weights[places]
        dealt = values[places] - (0.0 if sides.binary else np.average(values[places], weights=w))
        # Sums of weights; the sizes of `sides` are effective ones.
        column = np.zeros((n_rows, 1))
        column[places, 0] = w
        inside = rules.sums(column)
        outside = w.sum() - inside
        n, n_out = sides.n[:, None], sides.n_out[:, None]
        table = _RootTable(sides, values[places]) if sides.binary and weights is None else None
        for start in range(0, n_resamples, k):
            here = min(k, n_resamples - start)
            drawn = rng.permuted(np.broadcast_to(dealt, (here, len(dealt))), axis=1).T
            if table is not None:
                events = np.zeros((n_rows, here), dtype=bool)  # truth values are counted fast
                events[places] = drawn == 1
                yield table.roots(rules.sums(events))
                continue
            columns = np.zeros((n_rows, n_columns * here))
            columns[places, :here] = w[:, None] * drawn
            if not sides.binary:
                columns[places, here:] = w[:, None] * drawn**2
            sums = rules.sums(columns)
            everyone = columns.sum(axis=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = sums[:, :here] / inside
                mean_out = (everyone[:here] - sums[:, :here]) / outside
                if sides.binary:
                    mean, mean_out = np.clip(mean, 0, 1), np.clip(mean_out, 0, 1)
                    spread, spread_out = mean, mean_out  # not looked at
                else:
                    spread = _spread(sums[:, here:] / inside, mean, n)
                    squares_out = (everyone[here:] - sums[:, here:]) / outside
                    spread_out = _spread(squares_out, mean_out, n_out)
            inner, outer = (n, mean, spread), (n_out, mean_out, spread_out)
            yield signed_root(Sides(*inner, *outer, sides.binary, sides.shape))

    def multiplied(self, rng: np.random.Generator, n_resamples: int) -> Iterator[Floats]:
        """Differences of values times normal numbers, each rule's with variance 1."""
        sides, rules, values, counts, weights = self
        n_rows, n_rules = len(values), rules.n_rules
        k = max(1, MAX_ENTRIES // max(n_rows, n_rules))
        w = counts.astype(float) if weights is None else np.where(counts, weights, 0.0)
        middle = float(np.average(values[counts], weights=w[counts]))
        moved = np.where(counts, w * (values - middle), 0.0)
        fixed = np.column_stack([w, moved**2])
        inside = rules.sums(fixed)
        size, squares = inside.T
        size_out, squares_out = (fixed.sum(axis=0) - inside).T
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = squares / size**2 + squares_out / size_out**2
        used = known(sides) & (variance > 0)
        # Sides that are left out get finite numbers, times 0.
        scale = np.where(used, 1 / np.sqrt(np.where(used, variance, 1.0)), 0.0)
        share, share_out = (
            (scale / np.where(used, side, 1.0))[:, None] for side in (size, size_out)
        )
        for start in range(0, n_resamples, k):
            here = min(k, n_resamples - start)
            drawn = rng.standard_normal((here, n_rows)).T * moved[:, None]
            sums = rules.sums(drawn)
            yield share * sums - share_out * (drawn.sum(axis=0) - sums)


def _spread(squares: Floats, mean: Floats, n: Floats) -> Floats:
    return np.clip(squares - mean**2, 0, None) * n / (n - 1)


class _RootTable:
    """Signed roots of counts, whose logarithms are looked up: permutations are many."""

    def __init__(self, sides: Sides, values: Floats) -> None:
        numbers = np.arange(1, len(values) + 1, dtype=float)
        self.terms = np.concatenate([[0.0], numbers * np.log(numbers)])
        self.n_events = int(np.rint(values.sum()))
        self.n = np.rint(sides.n).astype(np.intp)[:, None]
        self.n_out = np.rint(sides.n_out).astype(np.intp)[:, None]
        n_others = len(values) - self.n_events
        rows, events, others = self.terms[[len(values), self.n_events, n_others]]
        self.constant = rows - events - others - self.terms[self.n] - self.terms[self.n_out]
        # A side that was set to 0 or is empty has no roots.
        self.held = (self.n > 0) & (self.n_out > 0)

    def roots(self, sums: Floats) -> Floats:
        x = np.rint(sums).astype(np.intp)
        # Where a side is left out, its sums lie outside the table.
        x = np.where(self.held, x, 0)
        n = np.where(self.held, self.n, 0)
        n_out = np.where(self.held, self.n_out, self.n_events)
        half = (
            self.terms[x]
            + self.terms[n - x]
            + self.terms[self.n_events - x]
            + self.terms[n_out - self.n_events + x]
            + self.constant
        )
        larger = x * n_out > (self.n_events - x) * n
        root = np.sqrt(2 * np.clip(half, 0, None))
        return np.where(self.held, np.where(larger, root, -root), 0.0)
