"""Counts rows by groups: sums, effective sizes, means and variances, for groups of any kind."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skfairtest._statistics import Shape, Sides, moments, wilson
from skfairtest._typing import Bools, Floats, Ints

# Groups that may overlap -------------------------------------------------------------------------


class Summed(Protocol):
    """Sets of rows that can be summed over."""

    def sums(self, values: Any, /) -> Floats:
        """Sums of columns, (n_rows, k), over the rows inside each; shape (n_rules, k).

        Truth values are counted.
        """


class RowSets(Summed, Protocol):
    """Sets of rows that are known one by one."""

    @property
    def n_rules(self) -> int:
        """How many there are."""

    def inside(self, rule: int, /) -> Bools:
        """Which rows are inside of one; shape (n_rows,)."""

    def among(self, rows: Ints, /) -> RowSets:
        """The same rules of some of the rows."""


class GivenRowSets:
    """Holds a few sets of rows that are known already.

    Parameters
    ----------
    held : ndarray of bool of shape (n_rules, n_rows)
        Which rows each holds.
    """

    def __init__(self, held: Bools) -> None:
        self.held = held

    @property
    def n_rules(self) -> int:
        """How many there are."""
        return len(self.held)

    @property
    def support(self) -> Floats:
        """Share of the rows that each holds."""
        return self.held.mean(axis=1)

    def sums(self, values: NDArray[Any]) -> Floats:
        """Sum of each column over the rows of each."""
        return self.held.astype(np.float64) @ values.astype(np.float64)

    def among(self, rows: Ints) -> GivenRowSets:
        """The same sets of some of the rows."""
        return GivenRowSets(self.held[:, rows])

    def inside(self, rule: int) -> Bools:
        """Which rows one holds."""
        held: Bools = self.held[rule]
        return held


def rule_sides(
    rules: Summed,
    values: Floats,
    counts: Bools,
    weights: Floats | None = None,
    *,
    binary: bool,
) -> Sides:
    """Means inside and outside of each rule, over the rows that count.

    With weights the sizes are effective ones (Kish): the sum of weights, squared, over the sum of
    squared weights.

    Parameters
    ----------
    rules : Summed
        Of n_rows rows.
    values, counts : ndarray of shape (n_rows,)
        One value a row, and whether it counts.
    weights : ndarray of shape (n_rows,), optional
        None counts each row once.
    binary : bool
        Whether values are 0 or 1.

    Returns
    -------
    Sides
        Arrays of shape (n_rules,).
    """
    middle, shape = 0.0, None
    if binary and weights is None:  # truth values are counted faster than numbers are added up
        table = np.column_stack([counts, counts & (values == 1)])
        columns = [0, 1, 1, 0]
    else:
        w = counts.astype(float) if weights is None else np.where(counts, weights, 0.0)
        if not binary:  # sums of squares of large numbers lose the small ones
            middle = float(np.average(values[counts], weights=w[counts]))
            shape = shape_of(values[counts])
        centred = np.where(counts, values - middle, 0.0)
        made = [w, w * centred]
        made += [] if binary else [w * centred**2]
        made += [] if weights is None else [w**2]
        table = np.column_stack(made)
        columns = [0, 1, 1 if binary else 2, 0 if weights is None else len(made) - 1]
    inside = rules.sums(table)
    outside = table.sum(axis=0) - inside
    first, second = (moments(side.T[columns], binary) for side in (inside, outside))
    sides = Sides(*first, *second, binary, shape)
    return sides._replace(mean=sides.mean + middle, mean_out=sides.mean_out + middle)


def rows_that_count(rules: RowSets, counts: Bools) -> tuple[Ints, Ints]:
    """Count the rows inside and outside of each rule that count."""
    inside = rules.sums(counts[:, None])[:, 0].astype(np.int64)
    return inside, int(counts.sum()) - inside


def shape_of(values: Floats) -> Shape:
    """Skewness and kurtosis of the rows, without weights: permutations leave them as they are."""
    centred = values - values.mean()
    largest = float(np.abs(centred).max(initial=0.0))
    if not largest:
        return Shape(0.0, 3.0)
    centred = centred / largest  # fourth powers of large numbers are none
    second = float((centred**2).mean())
    return Shape(
        float((centred**3).mean()) / second**1.5, max(1.0, float((centred**4).mean()) / second**2)
    )


# Groups that do not overlap ----------------------------------------------------------------------


class Means(NamedTuple):
    """Mean of each group; arrays of shape (n_groups,).

    `size` is the number of rows that a mean is as good as: `n` without weights, and with them
    Kish's effective sample size. `variance` is that of single rows of the population. NaN where
    there are no rows.
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
            error = np.sqrt(self.variance / self.size)
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
    within : dict of str to ndarray
        By the name of a rate: weighted sums of squares about the mean of each cell's rows.
    """

    n: Any
    weight: Any
    square: Any
    within: dict[str, Any]


class GroupRows:
    """The rows of groups of which each row belongs to one.

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

    Attributes
    ----------
    n : ndarray of int of shape (n_groups,)
        Rows of each group.
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
        if repeats is None:
            weight = np.ones(len(codes)) if weights is None else weights
            repeats = Repeats(np.ones(len(codes)), weight, weight**2, {})
        self.repeats = repeats
        self.n: Ints = np.rint(self._sum(repeats.n)).astype(np.int64)

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self.codes, values, self.n_groups).astype(np.float64, copy=False)

    def weight(self, counts: Bools) -> Floats:
        """Sum of the weights of the rows that count in each group."""
        return self._sum(np.where(counts, self.repeats.weight, 0.0))

    def mean(self, values: Floats, counts: Bools, rate: str = "") -> Means:
        """Mean of the values in each group, of the rows that count.

        `rate` is the name under which `repeats` knows the spread within its cells.
        """
        n, w, squared, within = self.repeats
        w = np.where(counts, w, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self._sum(w * values) / self._sum(w)
            # Not E(v^2) - E(v)^2, which rounding eats up.
            around = np.where(counts, values - mean[self.codes], 0.0)
            spread = w * around**2 + np.where(counts, within.get(rate, 0.0), 0.0)
        sums = (w, w * around, spread, np.where(counts, squared, 0.0))
        size, _, variance = moments(np.array([self._sum(column) for column in sums]), False)
        n_rows = np.rint(self._sum(np.where(counts, n, 0))).astype(np.int64)
        return Means(mean, n_rows, size, variance)
