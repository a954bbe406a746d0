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
from skfairtest._progress import tell
from skfairtest._statistics import ROUNDING, Sides
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._inference.counting import RowSets, rule_sides, shape_of
from skfairtest.group._inference.pivot import Simultaneous, interval_at, known, signed_root

#: Entries of one table of sums over rules and resamples: 16 MB each of counts.
MAX_ENTRIES = 2**22
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
    observed = signed_root(sides)
    # All at once are known no better than one by itself, also where permutations change nothing.
    alone = float(stats.norm.isf((1 - confidence) / 2))
    counted = values[counts]
    if counted.min() == counted.max():
        return Resampled(observed, np.zeros(len(observed), dtype=bool), alone)
    rows = _enough_rows(sides, values, counts, weights, rng)
    compared = _Comparison(sides, rules, values, counts, weights)
    if len(rows) < len(values):
        compared = compared.among(rows)
    kinds = [compared.permuted] if sides.binary else [compared.permuted, compared.multiplied]
    differs, critical = np.ones(len(observed), dtype=bool), alone
    for k, kind in enumerate(kinds):
        left = (len(kinds) - k) * n_resamples
        began = rng.bit_generator.state
        for nearest in (0.75, 0.5, 0.0):
            steps = _StepDown(observed, 1 - confidence, nearest)
            blocks = kind(rng, n_resamples, steps)
            found = steps.down(_in_time(blocks, left, deadline, gives_up), n_largest)
            if found is not None:
                break
            rng.bit_generator.state = began
        assert found is not None, "where no rule is near, all are looked at"
        differs &= found[0]
        critical = max(critical, found[1])
    return Resampled(observed, differs, critical)


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
    """

    observed: Floats
    differs: Bools
    critical: float

    def intervals(self, sides: Sides, places: Any = slice(None)) -> Simultaneous:
        """Intervals of the differences of some of the rules, which have these sides.

        They are searched for, which takes a while for each rule: those that nobody is shown need
        none.
        """
        observed, differs, critical = self
        observed, differs = observed[places], differs[places]
        low, high = interval_at(sides, critical)
        low = np.where(differs & (observed > 0), np.maximum(low, 0.0), low)
        high = np.where(differs & (observed < 0), np.minimum(high, 0.0), high)
        return Simultaneous(low, high, differs, critical)


class Block(NamedTuple):
    """What some resamples say of all rules.

    Attributes
    ----------
    first : ndarray of shape (n_resamples,)
        The largest distance that stays in the maximum at each step; 0 where none is far.
    resample, place : ndarray of int
        The resample and the rule, by its place from 1 on, of each root that is far from 0 in the
        direction that was observed.
    root : ndarray
        These roots, as distances.
    """

    first: Floats
    resample: Ints
    place: Ints
    root: Floats


def _in_time(
    blocks: Iterator[Block], n_resamples: int, deadline: float, gives_up: bool
) -> Iterator[Block]:
    """The same blocks, as long as so many resamples can be looked at in time."""
    began, done = _clock.now(), 0
    for block in blocks:
        yield block
        done += len(block[0])
        tell(done / n_resamples, "permutations")
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
    """Compares what was observed with maxima of resamples, from the most distant rule on.

    Rules that are near 0 are hardly ever refuted, and nearly all roots of resamples are nearer
    than the maximum of each: only roots that are further away are looked at.

    Attributes
    ----------
    least : float
        How far these are, at least.
    place : ndarray of int of shape (n_rules,)
        0 for a rule near 0, and 1, 2, ... for the others, the most distant last: the steps go down
        from the end.
    sign : ndarray of shape (n_rules,)
        Directions of the differences.
    """

    def __init__(self, observed: Floats, error: float, nearest: float) -> None:
        distance = np.abs(observed)
        order = np.argsort(distance, kind="stable")
        # The maximum over so many rules is rarely smaller than three quarters of Bonferroni's.
        numbers = np.arange(1, len(order) + 1)
        least = nearest * stats.norm.isf(error / 2 / numbers)
        self.n_near = 0
        if nearest:
            self.n_near = int(numbers[distance[order] <= least].max(initial=0))
        self.least = float(least[max(self.n_near, 1) - 1]) if len(least) else 0.0
        self.far = order[self.n_near :]
        self.place = np.zeros(len(order), dtype=np.intp)
        self.place[self.far] = np.arange(1, len(self.far) + 1)
        self.sign = np.where(observed < 0, -1.0, 1.0)
        self.distance = distance[self.far] - ROUNDING

    def block(self, roots: Floats) -> Block:
        """What matters of the roots of all rules in some resamples, a column each."""
        rule, resample = np.nonzero(np.abs(roots) >= self.least)
        return self.distant(roots.shape[1], rule, resample, roots[rule, resample])

    def distant(self, n_resamples: int, rule: Ints, resample: Ints, root: Floats) -> Block:
        """Order the roots that are so far from 0."""
        place, leading = self.place[rule], self.sign[rule] * root
        # The claims "not the other way round" are never refuted, and stay in each maximum.
        stays = (place == 0) | (leading < 0)
        first = np.zeros(n_resamples)
        np.maximum.at(first, resample[stays], np.abs(root[stays]))
        resample, place, leading = resample[~stays], place[~stays], leading[~stays]
        order = np.lexsort((place, resample))
        return Block(first, resample[order], place[order], leading[order])

    def down(self, blocks: Iterator[Block], n_largest: int) -> tuple[Bools, float] | None:
        """Which rules differ, and the maximum that few resamples exceed.

        None where rules that are near 0 might differ, too.
        """
        n_far = len(self.far)
        change = np.zeros(n_far + 2, dtype=np.intp)
        first, last = [], []
        for block in blocks:
            resample, place, maxima = _maxima(block)
            # A maximum stays from its place to that of the next root; it exceeds the nearest rules.
            upto = np.append(np.where(np.diff(resample), n_far + 1, place[1:]), n_far + 1)
            upto = np.minimum(upto, np.searchsorted(self.distance, maxima, side="right") + 1)
            place, exceeds = np.maximum(place, 1), upto > np.maximum(place, 1)
            change += np.bincount(place[exceeds], minlength=n_far + 2)
            change -= np.bincount(upto[exceeds], minlength=n_far + 2)
            first.append(block.first)
            last.append(maxima[np.append(np.diff(resample), 1) > 0])
        exceeded = np.cumsum(change)[1:-1]
        if self.n_near and (np.concatenate(first) >= self.least).sum() < n_largest:
            return None
        # Of all that are further away, none may be exceeded by too many.
        refuted = np.minimum.accumulate((exceeded < n_largest)[::-1])[::-1]
        differs = np.zeros(len(self.sign), dtype=bool)
        differs[self.far] = refuted
        return differs, float(np.sort(np.concatenate(last))[-n_largest])


def _maxima(block: Block) -> tuple[Ints, Ints, Floats]:
    """For each root, and at place 0 of each resample, the largest one up to there."""
    n, starts = len(block.first), np.searchsorted(block.resample, np.arange(len(block.first)))
    resample = np.insert(block.resample, starts, np.arange(n))
    place = np.insert(block.place, starts, 0)
    root = np.insert(block.root, starts, block.first)
    order = np.argsort(root, kind="stable")
    rank = np.empty(len(root), dtype=np.int64)
    rank[order] = np.arange(len(root))
    # Later resamples have larger numbers, so that each begins anew.
    largest = np.maximum.accumulate(resample * len(root) + rank) - resample * len(root)
    return resample, place, root[order[largest]]


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

    def permuted(
        self, rng: np.random.Generator, n_resamples: int, steps: _StepDown
    ) -> Iterator[Block]:
        """Signed roots of permuted values."""
        if self.sides.binary and self.weights is None:
            return self._counted(rng, n_resamples, steps)
        return map(steps.block, self._permuted(rng, n_resamples))

    def _counted(
        self, rng: np.random.Generator, n_resamples: int, steps: _StepDown
    ) -> Iterator[Block]:
        """Those of rows that each weigh 1, and have a case or not."""
        n_cases = int(np.rint(self.values[self.counts].sum()))
        table = _RootTable(self.sides, int(self.counts.sum()), n_cases, steps)
        for here in self._blocks(n_resamples):
            yield table.block(self.rules.sums(self._cases(rng, here).T))

    def _cases(self, rng: np.random.Generator, n_resamples: int) -> Bools:
        """Who has a case in permutations, a row each: to draw a few is quicker than to deal."""
        places = np.flatnonzero(self.counts)
        n_cases = int(np.rint(self.values[places].sum()))
        few = min(n_cases, len(places) - n_cases)
        cases = np.full((n_resamples, len(self.values)), few < n_cases)
        cases[:, ~self.counts] = False
        for resample in cases:
            drawn = rng.choice(len(places), few, replace=False, shuffle=False)
            resample[places[drawn]] = few == n_cases
        return cases

    def _blocks(self, n_resamples: int, n_columns: int = 1) -> list[int]:
        """How many resamples are looked at at a time."""
        size = max(1, MAX_ENTRIES // (n_columns * max(len(self.values), self.rules.n_rules)))
        return [min(size, n_resamples - start) for start in range(0, n_resamples, size)]

    def _permuted(self, rng: np.random.Generator, n_resamples: int) -> Iterator[Floats]:
        sides, rules, values, counts, weights = self
        n_rows, n_columns = len(values), 1 if sides.binary else 2
        places = np.flatnonzero(counts)
        w = np.ones(len(places)) if weights is None else weights[places]
        dealt = values[places] - (0.0 if sides.binary else np.average(values[places], weights=w))
        # Sums of weights; the sizes of `sides` are effective ones.
        column = np.zeros((n_rows, 1))
        column[places, 0] = w
        inside = rules.sums(column)
        outside = w.sum() - inside
        n, n_out = sides.n[:, None], sides.n_out[:, None]
        for here in self._blocks(n_resamples, n_columns):
            if sides.binary:
                drawn = self._cases(rng, here)[:, places].T
            else:
                drawn = rng.permuted(np.broadcast_to(dealt, (here, len(dealt))), axis=1).T
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

    def multiplied(
        self, rng: np.random.Generator, n_resamples: int, steps: _StepDown
    ) -> Iterator[Block]:
        """Differences of values times normal numbers, each rule's with variance 1."""
        sides, rules, values, counts, weights = self
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
        for here in self._blocks(n_resamples):
            drawn = rng.standard_normal((here, len(values))).T * moved[:, None]
            sums = rules.sums(drawn)
            yield steps.block(share * sums - share_out * (drawn.sum(axis=0) - sums))


def _spread(squares: Floats, mean: Floats, n: Floats) -> Floats:
    return np.clip(squares - mean**2, 0, None) * n / (n - 1)


class _RootTable:
    """Signed roots of counts, whose logarithms are looked up: permutations are many."""

    def __init__(self, sides: Sides, n_rows: int, n_cases: int, steps: _StepDown) -> None:
        numbers = np.arange(1, n_rows + 1, dtype=float)
        self.terms = np.concatenate([[0.0], numbers * np.log(numbers)])
        self.n_cases, self.n_rows, self.steps = n_cases, n_rows, steps
        self.constant = self.terms[n_rows] - self.terms[[n_cases, n_rows - n_cases]].sum()
        n, n_out = (np.rint(side).astype(np.int64) for side in (sides.n, sides.n_out))
        # A side that was set to 0 or is empty has no roots.
        self.n = np.where((n > 0) & (n_out > 0), n, 0)
        different, which = np.unique(self.n, return_inverse=True)
        self.low, self.high = (
            self._first_at(different, end)[which, None] for end in (-steps.least, steps.least)
        )
        self.high[self.n == 0] = n_rows

    def _first_at(self, n: Ints, least: float) -> Ints:
        """The fewest cases whose root is so large, which more cases make larger."""
        low = np.maximum(0, n - (self.n_rows - self.n_cases))
        high = np.minimum(n, self.n_cases) + 1
        while (low < high).any():
            middle = (low + high) // 2
            enough = self.roots(middle, n) >= least
            high = np.where(enough & (low < high), middle, high)
            low = np.where(~enough & (low < high), middle + 1, low)
        return low

    def block(self, sums: Floats) -> Block:
        """What matters of the roots of all rules with so many cases inside."""
        low, high = self.low.astype(sums.dtype), self.high.astype(sums.dtype)
        rule, resample = np.nonzero((sums < low) | (sums >= high))
        root = self.roots(np.rint(sums[rule, resample]).astype(np.int64), self.n[rule])
        return self.steps.distant(sums.shape[1], rule, resample, root)

    def roots(self, x: Ints, n: Ints) -> Floats:
        """Signed roots of so many cases among so many rows."""
        x = np.where(n > 0, x, 0)
        n_out, cases = np.where(n, self.n_rows - n, self.n_cases), self.n_cases
        half = self.terms[x] + self.constant - self.terms[n] - self.terms[self.n_rows - n]
        for places in (n - x, cases - x, x + (n_out - cases)):
            half += self.terms[places]
        root = np.sqrt(2 * np.clip(half, 0, None))
        smaller = x * float(self.n_rows) <= n * float(cases)
        return np.where(n > 0, np.where(smaller, -root, root), 0.0)
