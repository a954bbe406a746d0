"""Maps of one column between two groups: ranks of numbers, and shares of categories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.transports._settings import SETTINGS

#: Ranks are told apart down to this: below it rounding decides.
RANK_STEP = 1e-12


class Quantiles(NamedTuple):
    """Distribution of the numbers of one group: its values, and the ranks that each stands for.

    A value that occurs once stands for one rank, and there are numbers between it and the next
    one. A value that occurs more often, or one of a column in steps, stands for an interval.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        In increasing order.
    low, high : ndarray of shape (n_values,)
        First and last rank of each value, in [0, 1].
    """

    values: Floats
    low: Floats
    high: Floats

    @classmethod
    def learn(cls, encoded: Floats, discrete: bool) -> Quantiles:
        """Learn the distribution of some numbers, none of them missing."""
        if not discrete and len(encoded) > SETTINGS.n_values:
            encoded = np.sort(encoded)
            if (
                encoded[1:] > encoded[:-1]
            ).all():  # so most often, and then nothing need be counted
                kept = _even(len(encoded))
                middle = (kept + 0.5) / len(encoded)
                return cls(encoded[kept], middle, middle)
        values, counts = _counted(encoded, discrete)
        if not len(values):
            return cls(values, np.empty(0), np.empty(0))
        high = np.cumsum(counts) / len(encoded)
        low = np.concatenate([[0.0], high[:-1]])
        if not discrete:
            once = counts == 1
            middle = (low + high) / 2
            low, high = np.where(once, middle, low), np.where(once, middle, high)
        if len(values) > SETTINGS.n_values:
            # Values that many rows share are no points of a curve.
            often = counts > max(1.0, len(encoded) / SETTINGS.n_values)
            kept = np.union1d(_even(len(values)), np.flatnonzero(often))
            values, low, high = values[kept], low[kept], high[kept]
            if discrete:
                low = np.concatenate([[0.0], high[:-1]])
        return cls(values, low, high)

    def ranks(self, encoded: Floats, uniform: Floats) -> Floats:
        """Return the ranks of numbers, the same share `uniform` of the way through intervals."""
        at = np.minimum(_places(self.values, encoded), len(self.values) - 1)
        # Rounding must not carry ranks past those of the next value: the map never falls.
        inside = self.low[at] + uniform * (self.high[at] - self.low[at])
        inside = np.minimum(inside, self.high[at])
        before = np.maximum(at - 1, 0)
        gap = self.values[at] - self.values[before]
        share = np.where(gap > 0, (encoded - self.values[before]) / np.where(gap > 0, gap, 1), 1.0)
        between = self.high[before] + share * (self.low[at] - self.high[before])
        between = np.clip(between, self.high[before], np.maximum(self.low[at], self.high[before]))
        outside = np.where(encoded < self.values[0], self.low[0], self.high[-1])
        is_out = (encoded < self.values[0]) | (encoded > self.values[-1])
        ranks = np.where(encoded == self.values[at], inside, between)
        return np.where(is_out, outside, ranks)

    def at(self, ranks: Floats) -> Floats:
        """Return the numbers at some ranks; beyond all known ones, the first or the last one."""
        at = np.minimum(_places(self.high, ranks - RANK_STEP), len(self.values) - 1)
        return self.between(ranks, at, np.maximum(at - 1, 0))

    def between(self, ranks: Floats, at: Ints, before: Ints) -> Floats:
        """Return the numbers at some ranks, which lie between those of two values each."""
        gap = self.low[at] - self.high[before]
        share = np.where(gap > 0, (ranks - self.high[before]) / np.where(gap > 0, gap, 1), 1.0)
        share = np.clip(share, 0.0, 1.0)
        # Between two equal values, arithmetic may leave a number outside of both.
        between = self.values[before] + share * (self.values[at] - self.values[before])
        between = np.clip(between, self.values[before], self.values[at])
        between = np.where(share < 1, between, self.values[at])
        return np.where(
            (ranks >= self.low[at] - RANK_STEP) | (at == before), self.values[at], between
        )

    @property
    def is_curve(self) -> bool:
        """Whether each value stands for one rank, so that ranks follow from numbers alone."""
        return len(self.values) > 1 and bool((self.low == self.high).all())


class MonotoneMap(NamedTuple):
    """A function that never falls: straight lines from point to point, and level outside of them.

    Attributes
    ----------
    x, y, slope : ndarray of shape (n_points,)
        The points, and how steep the line to the next one is.
    end : ndarray of shape (n_points,)
        The y of the next point.
    cells : ndarray of shape (n_cells,) or (0,)
        Last point before each of many equal parts of the range; none where too many points lie in
        one of them.
    most : int
        Points in such a part, at most.
    """

    x: Floats
    y: Floats
    slope: Floats
    end: Floats
    cells: NDArray[np.int32]
    most: int

    @classmethod
    def between(cls, own: Quantiles, other: Quantiles) -> MonotoneMap:
        """Return the map of numbers of one group, a curve, to those with equal ranks in another."""
        knots = np.interp(np.concatenate([other.low, other.high]), own.low, own.values)
        x = np.unique(np.concatenate([own.values, knots]))
        # Of points closer together than numbers can tell, steepness is nothing but rounding.
        apart = np.diff(x, prepend=-np.inf) > RANK_STEP * (x[-1] - x[0])
        x = x[apart]
        y = np.maximum.accumulate(other.at(own.ranks(x, np.zeros(len(x)))))
        with np.errstate(over="ignore"):
            slope = np.append(np.diff(y) / np.diff(x), 0.0)
        # A line too steep for a number is a step.
        slope[~np.isfinite(slope)] = 0.0
        end = np.append(y[1:], y[-1])
        counts = np.bincount(_cells(x, x))
        cells = (np.cumsum(counts) - counts - 1).astype(np.int32)
        if counts.max() > 12:  # then halving is quicker than going through the points of a part
            cells = cells[:0]
        return cls(x, y, slope, end, cells, int(counts.max()))

    def at(self, numbers: Floats) -> Floats:
        """Return the function at some numbers, none of them missing."""
        inside = np.clip(numbers, self.x[0], self.x[-1])
        if len(self.cells):
            # Far quicker than halving: a number's part of the range says nearly where it lies.
            at = self.cells.take(_cells(self.x, inside)).astype(np.intp)
            # What comes after each point, and at -1, which is the last, what comes after none.
            after = np.append(self.x[1:], [np.inf, self.x[0]])
            for _ in range(self.most):
                at += after.take(at, mode="wrap") <= inside
        else:
            at = np.searchsorted(self.x, inside, side="right") - 1
        moved: Floats = inside - self.x.take(at)
        moved *= self.slope.take(at)
        moved += self.y.take(at)
        # Rounding must not carry it past the next point.
        return np.minimum(moved, self.end.take(at), out=moved)


def _even(n: int) -> Ints:
    """Return so many evenly spaced positions among n as are kept of a column."""
    return np.linspace(0, n - 1, SETTINGS.n_values).round().astype(np.intp)


def _cells(x: Floats, inside: Floats) -> NDArray[np.int32]:
    """Return which of 2**15 parts of the range of x numbers lie in; the last has the largest x."""
    return ((inside - x[0]) / (x[-1] - x[0]) * (2**15 - 1)).astype(np.int32)


def _places(values: Floats, numbers: Floats) -> NDArray[np.intp]:
    """Return what `numpy.searchsorted` does, sooner where there are many numbers.

    A number's part of the range says nearly where it lies: values in parts before its own are
    smaller, as parts rise with numbers, and few are in the same one.
    """
    spread = values[-1] - values[0] if len(values) else 0.0
    if len(numbers) < SETTINGS.n_to_look_up or not 0 < spread < np.inf:
        return np.searchsorted(values, numbers)
    counts = np.bincount(_cells(values, values))
    most = int(counts.max())
    if most > 6:  # then halving is quicker than going through the values of a part
        return np.searchsorted(values, numbers)
    before = np.cumsum(counts) - counts
    at = before.take(_cells(values, np.clip(numbers, values[0], values[-1])))
    after = np.append(values, np.inf)
    for _ in range(most):
        at += after.take(at) < numbers
    return at.astype(np.intp, copy=False)


def _counted(encoded: Floats, discrete: bool) -> tuple[Floats, Floats]:
    """Return the different numbers, whole ones of a column in steps, and how often each occurs."""
    if discrete:
        encoded = np.rint(encoded)
        if len(encoded) and np.ptp(encoded) < len(encoded):  # counting is quicker than sorting
            least = encoded.min()
            counts = np.bincount((encoded - least).astype(np.intp))
            there = np.flatnonzero(counts)
            return least + there, counts[there].astype(np.float64)
    values, counts = np.unique(encoded, return_counts=True)
    return values, counts.astype(np.float64)


def shares_of(encoded: Ints, n: int) -> Floats:
    """Return the shares of n categories among some rows; the rows may be none."""
    return np.bincount(encoded, minlength=n) / max(1, len(encoded))


def recategorized(own: Floats, other: Floats, here: Ints, uniform: Floats) -> Ints:
    """Return the category that each row gets, so that as few rows as possible change theirs.

    A row keeps its category with the probability other / own, at most 1, and one that the own group
    was not seen with in any case; those that lose it are spread over the categories that the other
    group has more often, by what these lack.

    Parameters
    ----------
    own, other : ndarray of shape (n_categories,) or (n_rows, n_categories)
        Shares of the categories in both groups, for all rows or for each.
    here : ndarray of int of shape (n_rows,)
        The category of each row.
    uniform : ndarray of shape (n_rows,)
        The rank of each row in its category, in [0, 1).

    Returns
    -------
    ndarray of int of shape (n_rows,)
        Categories.
    """
    mine, theirs = _at(own, here), _at(other, here)
    stay = np.minimum(1.0, np.divide(theirs, mine, out=np.ones(len(here)), where=mine > 0))
    goes = np.flatnonzero(uniform >= stay)
    there = here.copy()
    if not len(goes):
        return there
    wanted = (uniform[goes] - stay[goes]) / (1 - stay[goes])
    excess = np.maximum(other - own, 0.0)
    if excess.ndim == 1:
        total = excess.sum()
        # Equal shares lack nothing; then a category without rows goes to the commonest.
        if total <= 0:
            there[goes] = int(np.argmax(other))
            return there
        upto = np.cumsum(excess) / total
        last = int(np.flatnonzero(excess)[-1])
        there[goes] = np.minimum(np.searchsorted(upto, wanted, side="right"), last)
        return there
    excess, total = excess[goes], excess[goes].sum(axis=1)
    upto = np.cumsum(excess, axis=1)
    # Sums of shares may end just below what is wanted.
    after = (upto <= (wanted * total)[:, None]).sum(axis=1)
    last = excess.shape[1] - 1 - np.argmax(excess[:, ::-1] > 0, axis=1)
    there[goes] = np.where(total > 0, np.minimum(after, last), np.argmax(other[goes], axis=1))
    return there


def _at(shares: Floats, here: Ints) -> Floats:
    return shares[here] if shares.ndim == 1 else shares[np.arange(len(here)), here]
