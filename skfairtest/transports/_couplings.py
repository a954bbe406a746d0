"""Maps of one column between two groups: ranks of numbers, and shares of categories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats, Ints

#: Different values of a group that are kept of a column; of more, evenly spaced ranks.
MOST_VALUES = 4096
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
    def learn(cls, codes: Floats, discrete: bool) -> Quantiles:
        """Learn the distribution of some numbers, none of them missing."""
        values, counts = np.unique(codes, return_counts=True)
        if not len(values):
            return cls(values, np.empty(0), np.empty(0))
        high = np.cumsum(counts) / len(codes)
        low = np.concatenate([[0.0], high[:-1]])
        if not discrete:
            once = counts == 1
            middle = (low + high) / 2
            low, high = np.where(once, middle, low), np.where(once, middle, high)
        if len(values) > MOST_VALUES:
            even = np.linspace(0, len(values) - 1, MOST_VALUES).round().astype(np.intp)
            # Values that many rows share are no points of a curve.
            kept = np.union1d(even, np.flatnonzero(counts > len(codes) / MOST_VALUES))
            values, low, high = values[kept], low[kept], high[kept]
            if discrete:
                low = np.concatenate([[0.0], high[:-1]])
        return cls(values, low, high)

    def ranks(self, codes: Floats, uniform: Floats) -> Floats:
        """Return the ranks of numbers, the same share `uniform` of the way through intervals."""
        at = np.minimum(np.searchsorted(self.values, codes), len(self.values) - 1)
        # Rounding must not carry ranks past those of the next value: certificates rest on a map
        # that never falls, to the last bit.
        inside = self.low[at] + uniform * (self.high[at] - self.low[at])
        inside = np.minimum(inside, self.high[at])
        before = np.maximum(at - 1, 0)
        gap = self.values[at] - self.values[before]
        share = np.where(gap > 0, (codes - self.values[before]) / np.where(gap > 0, gap, 1), 1.0)
        between = self.high[before] + share * (self.low[at] - self.high[before])
        between = np.clip(between, self.high[before], np.maximum(self.low[at], self.high[before]))
        outside = np.where(codes < self.values[0], self.low[0], self.high[-1])
        is_out = (codes < self.values[0]) | (codes > self.values[-1])
        ranks = np.where(codes == self.values[at], inside, between)
        return np.where(is_out, outside, ranks)

    def at(self, ranks: Floats) -> Floats:
        """Return the numbers at some ranks; beyond the first and last rank these are the ends."""
        at = np.minimum(np.searchsorted(self.high, ranks - RANK_STEP), len(self.values) - 1)
        before = np.maximum(at - 1, 0)
        gap = self.low[at] - self.high[before]
        share = np.where(gap > 0, (ranks - self.high[before]) / np.where(gap > 0, gap, 1), 1.0)
        share = np.clip(share, 0.0, 1.0)
        # Of two equal ends, arithmetic may leave a number beside both.
        between = self.values[before] + share * (self.values[at] - self.values[before])
        between = np.clip(between, self.values[before], self.values[at])
        between = np.where(share < 1, between, self.values[at])
        return np.where(
            (ranks >= self.low[at] - RANK_STEP) | (at == before), self.values[at], between
        )

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the largest number."""
        return float(self.values[0]), float(self.values[-1])


def shares_of(codes: Ints, n: int) -> Floats:
    """Return the shares of n categories among some rows; the rows may be none."""
    return np.bincount(codes, minlength=n) / max(1, len(codes))


def coupling(own: Floats, other: Floats) -> Floats:
    """Return where each category goes so that as few rows as possible change theirs.

    Parameters
    ----------
    own, other : ndarray of shape (..., n_categories)
        Shares of the categories in both groups.

    Returns
    -------
    ndarray of shape (..., n_categories, n_categories)
        In row c, the shares of the categories that rows of category c get; each row sums to 1.
    """
    n = own.shape[-1]
    stay = np.minimum(1.0, np.divide(other, own, out=np.ones_like(own), where=own > 0))
    # A category that the other group lacks, or one that this group has too often, hands over.
    excess = np.maximum(other - own, 0.0)
    total = excess.sum(axis=-1, keepdims=True)
    spread = np.divide(excess, total, out=np.full_like(excess, np.nan), where=total > 0)
    spread = np.where(total > 0, spread, np.eye(n)[np.argmax(other, axis=-1)])
    stay = np.where((other == 0) & (own == 0), 0.0, stay)
    moved = (1 - stay)[..., :, None] * spread[..., None, :]
    return moved + stay[..., :, None] * np.eye(n)


def drawn(shares: Floats, own: Ints, uniform: Floats) -> Ints:
    """Return the category that each row gets: its own one first, then the others in their order.

    `shares` has shape (n_rows, n_categories), and `uniform` the rank of each row in its category.
    """
    rows = np.arange(len(own))
    stay = shares[rows, own]
    stays: Bools = uniform < stay
    others = shares.copy()
    others[rows, own] = 0.0
    ends = np.cumsum(others, axis=1)
    wanted = uniform - stay
    # Sums of shares may end just below what is wanted.
    after = (ends <= wanted[:, None]).sum(axis=1)
    last = others.shape[1] - 1 - np.argmax(others[:, ::-1] > 0, axis=1)
    return np.where(stays | (others.sum(axis=1) <= 0), own, np.minimum(after, last))
