"""Values of an attribute as consecutive whole numbers: halving them ends at two neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skfairtest._typing import Bools, Floats, Ints, Ints64
from skfairtest.space._resolution import of_ranks, ranks
from skfairtest.space._space import InputSpace

#: Ranges that are searched together; each may need a row of a table of its own.
MOST_TOGETHER = 200_000


class ValueOrder:
    """Encoded values of an attribute as consecutive whole numbers, in their order, and back."""

    def __init__(self, space: InputSpace, attribute: int) -> None:
        self.low, self.high = (
            float(space.domain.low[attribute]),
            float(space.domain.high[attribute]),
        )
        self.whole = bool(space.domain.discrete[attribute])
        self.single = bool(space.domain.single[attribute])

    def bounds(self) -> tuple[int, int]:
        """Ranks of the bounds of the domain."""
        low, high = self.rank(np.array([self.low, self.high]))
        return int(low), int(high)

    def rank(self, encoded: Floats) -> Ints64:
        """Ranks of encoded values."""
        if self.whole:
            return encoded.astype(np.int64)
        if self.single:
            bits = (encoded.astype(np.float32) + np.float32(0)).view(np.int32).astype(np.int64)
            return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
        return ranks(encoded)

    def value(self, places: Ints64) -> Floats:
        """Encoded values of ranks."""
        if self.whole:
            return places.astype(np.float64)
        if self.single:
            size = np.abs(places).astype(np.int32).view(np.float32).astype(np.float64)
            return np.where(places < 0, -size, size)
        return of_ranks(places)


def values_of_ranks(space: InputSpace, attributes: Ints, places: Ints64) -> Floats:
    """Encoded values of ranks of one attribute each."""
    encoded = np.empty(len(places))
    for j in np.unique(attributes):
        own = attributes == j
        encoded[own] = ValueOrder(space, int(j)).value(places[own])
    return encoded


def first_changed(
    low: Ints64, high: Ints64, outcome: Callable[[Ints64, Ints], Bools]
) -> tuple[Ints, Ints64]:
    """Search for the first rank with another outcome, in many ranges of ranks at once.

    - `low`, `high` (n,): bounds of the ranges. In each of them the outcome changes at most once.
    - `outcome`: given ranks, and the range that each is of.
    - the result: the ranges in which it changes, and the first rank with the new outcome.
    """
    low, high = low.copy(), high.copy()
    changing = [np.empty(0, dtype=np.intp)]
    for start in range(0, len(low), MOST_TOGETHER):
        some = np.arange(start, min(start + MOST_TOGETHER, len(low)))
        before = outcome(low[some], some)
        open_ = some[before != outcome(high[some], some)]
        changing.append(open_)
        while len(open_):
            a, b = low[open_], high[open_]
            middle = (a >> 1) + (b >> 1) + (a & b & 1)  # their difference may not fit into 64 bits
            same = outcome(middle, open_) == before[open_ - start]
            low[open_[same]], high[open_[~same]] = middle[same], middle[~same]
            open_ = open_[high[open_] > low[open_] + 1]
    which = np.concatenate(changing)
    return which, high[which]
