"""Rates and means of groups of rows, and the ratio of each to the highest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skfairtest._statistics import ratio_interval, wilson
from skfairtest._typing import Bools, Floats, Ints

#: Pairs of groups that are compared in one go.
MOST_PAIRS = 2_000_000


class Means(NamedTuple):
    """Mean of each group; arrays of shape (n_groups,).

    `size` is the number of rows that a mean is as good as: `n` without weights, and with them
    Kish's effective sample size. `variance` is that of single rows. NaN where there are no rows.
    """

    value: Floats
    n: Ints
    size: Floats
    variance: Floats

    def share_interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Wilson's interval, where the means are shares."""
        z = float(stats.norm.isf((1 - confidence) / 2))
        low, high = wilson(self.value, self.size, z)
        known = np.isfinite(self.value)
        return np.where(known, low, np.nan), np.where(known, high, np.nan)

    def mean_interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Student's interval of a mean; NaN where a group has fewer than two rows."""
        with np.errstate(invalid="ignore", divide="ignore"):
            freedom = np.where(self.size > 1, self.size - 1, np.nan)
            # The variance is that of the rows at hand; the population's is a little larger.
            error = np.sqrt(self.variance / freedom)
        half = stats.t.isf((1 - confidence) / 2, freedom) * error
        return self.value - half, self.value + half


class Repeats(NamedTuple):
    """How many rows each of several cells stands for; arrays of shape (n_cells,).

    Attributes
    ----------
    n : ndarray of int
        Rows.
    weight, square : ndarray of float
        Sums of their weights, and of the squares of these.
    is_weighted : bool
        Whether rows have other weights than 1.
    within : dict of str to ndarray
        By the name of a rate: weighted sums of squares about the mean of each cell's rows.
    """

    n: Any
    weight: Any
    square: Any
    is_weighted: bool
    within: dict[str, Any]


class GroupSums:
    """Sums over the rows of each group.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        The number of each row's group.
    n_groups : int
        Number of groups.
    weights : ndarray of shape (n_rows,), or None
        Weights of the rows.
    repeats : Repeats, default=None
        How many rows each row stands for, and their weights.

    References
    ----------
    .. [1] Kish, L. (1965). Survey Sampling. Wiley. (Effective sample size: the squared sum of the
       weights over the sum of their squares.)
    """

    def __init__(
        self,
        codes: Ints,
        n_groups: int,
        weights: Floats | None = None,
        repeats: Repeats | None = None,
    ) -> None:
        self.codes = codes
        self.n_groups = n_groups
        self.weights = weights
        self.repeats = repeats
        self.n: Ints = self._rows(codes, None)

    def _rows(self, codes: Ints, among: Bools | None) -> Ints:
        """How many rows each group has."""
        if self.repeats is None:
            return np.bincount(codes, minlength=self.n_groups)
        n = self.repeats.n if among is None else self.repeats.n[among]
        return np.rint(np.bincount(codes, n, self.n_groups)).astype(np.int64)

    def mean(self, values: Any, among: Bools | None = None, rate: str = "") -> Means:
        """Mean of the values in each group, of all rows or among some.

        `rate` is the name under which `repeats` knows the spread within its cells.
        """
        codes, weights = self.codes, self.weights
        among = None if among is None or among.all() else among
        squares = within = None
        if self.repeats is not None:
            weights, squares = self.repeats.weight, self.repeats.square
            within = self.repeats.within.get(rate)
        values = np.asarray(values, dtype=np.float64)
        if among is not None:
            codes, values = codes[among], values[among]
            weights = None if weights is None else weights[among]
            squares = None if squares is None else squares[among]
        n = self.n if among is None else self._rows(codes, among)
        total = size = n.astype(np.float64)
        if weights is not None and (self.repeats is None or self.repeats.is_weighted):
            total = self._sum(codes, weights)
            squares = weights**2 if squares is None else squares
            with np.errstate(invalid="ignore", divide="ignore"):
                size = np.where(total > 0, total**2 / self._sum(codes, squares), 0.0)
        weighted = values if weights is None else values * weights
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self._sum(codes, weighted) / total
            around = (values - mean[codes]) ** 2  # not E(v^2) - E(v)^2, which rounding eats up
            around = around if weights is None else around * weights
            around = around if within is None else around + within
            variance = self._sum(codes, around) / total
        return Means(mean, n, size, variance)

    def _sum(self, codes: Ints, values: Floats) -> Floats:
        sums: Floats = np.bincount(codes, values, self.n_groups).astype(np.float64, copy=False)
        return sums


class Ratios(NamedTuple):
    """Ratios of each group's rate to the highest, with intervals; NaN where there is none."""

    value: Floats
    low: Floats
    high: Floats


def ratios_to_highest(rates: Means, compared: Bools, confidence: float) -> Ratios:
    """Divide each rate by the highest one among the groups that are compared.

    The interval is of the ratio to the group whose rate is highest in truth. The data may show
    another one as the highest, and the highest of many observed rates is likely to be one that
    chance raised. Both are allowed for: with p[1], ..., p[k] the true rates, the ratio of group i
    is the least of all p[i] / p[j].

    - Its lower end is the least of the lower ends of all p[i] / p[j]. The one of the highest group
      is among them, so this misses no more often than a single interval does.
    - Its upper end is the least of their upper ends, where any of the k - 1 may miss, so that each
      of them misses k - 1 times more seldom (Bonferroni).

    So the ratio of the group with the highest observed rate is 1, and its lower end may be less.

    Parameters
    ----------
    rates : Means
        The groups' rates.
    compared : ndarray of bool of shape (n_groups,)
        Groups that have a ratio, and of which one is the highest.
    confidence : float
        Confidence of each interval by itself.
    """
    result = Ratios(*(np.full(len(compared), np.nan) for _ in range(3)))
    chosen = np.flatnonzero(compared)
    if not len(chosen) or not rates.value[chosen].max() > 0:
        return result
    share, size = rates.value[chosen], rates.size[chosen]
    result.value[chosen] = share / share.max()
    if len(chosen) == 1:
        result.low[chosen] = result.high[chosen] = 1.0
        return result
    alpha = (1 - confidence) / 2
    z_low, z_high = (float(stats.norm.isf(a)) for a in (alpha, alpha / (len(chosen) - 1)))
    step = max(1, MOST_PAIRS // len(chosen))
    for start in range(0, len(chosen), step):
        part = np.arange(start, min(len(chosen), start + step))
        first = share[part, None], size[part, None]
        low, _ = ratio_interval(*first, share, size, z_low)
        _, high = ratio_interval(*first, share, size, z_high)
        for ends in (low, high):  # a group's ratio to itself is 1, whatever chance does
            ends[np.arange(len(part)), part] = 1.0
        result.low[chosen[part]] = low.min(axis=1)
        result.high[chosen[part]] = high.min(axis=1)
    # The ends of some other pair of groups must not exclude what was observed.
    np.fmin(result.low, result.value, out=result.low)
    np.fmax(result.high, result.value, out=result.high)
    return result
