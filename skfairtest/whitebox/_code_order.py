"""Codes of an attribute as consecutive whole numbers: halving them ends at two neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.space._resolution import of_ranks, ranks
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._monotone_pieces import Breakpoints


class CodeOrder:
    """Codes of an attribute as consecutive whole numbers, in their order, and back."""

    def __init__(self, space: InputSpace, attribute: int) -> None:
        self.low, self.high = (
            float(space.domain.low[attribute]),
            float(space.domain.high[attribute]),
        )
        self.whole = bool(space.domain.discrete[attribute])
        self.single = bool(space.domain.single[attribute])

    def ends(self) -> tuple[int, int]:
        """Ranks of the ends of the domain."""
        low, high = self.rank(np.array([self.low, self.high]))
        return int(low), int(high)

    def rank(self, codes: Floats) -> NDArray[np.int64]:
        """Ranks of codes."""
        if self.whole:
            return codes.astype(np.int64)
        if self.single:
            bits = (codes.astype(np.float32) + np.float32(0)).view(np.int32).astype(np.int64)
            return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
        return ranks(codes)

    def code(self, places: NDArray[np.int64]) -> Floats:
        """Codes of ranks."""
        if self.whole:
            return places.astype(np.float64)
        if self.single:
            size = np.abs(places).astype(np.int32).view(np.float32).astype(np.float64)
            return np.where(places < 0, -size, size)
        return of_ranks(places)


def first_codes(
    space: InputSpace,
    attribute: int,
    starts: Floats,
    breakpoints: Breakpoints,
    values: Callable[[Floats], Floats],
) -> Floats:
    """First codes of the pieces of an attribute, where a column made of it changes direction.

    - `attribute`: one that the column is a function of.
    - `starts`: first codes of the pieces so far, in each of which the column never falls, or never
      rises.
    - `breakpoints`: where the column changes direction, in its own numbers.
    - `values`: the column at codes of the attribute.
    """
    order = CodeOrder(space, attribute)
    end = order.ends()[1]
    first = order.rank(starts)
    last = np.append(first[1:] - 1, end)
    n = len(breakpoints.at) + len(breakpoints.after)
    number = np.concatenate([breakpoints.at, breakpoints.after])
    strictly = np.arange(n) >= len(breakpoints.at)
    # Each number in each piece: where the column gets from one side of it to the other.
    low, high = np.repeat(first, n), np.repeat(last, n)
    number, strictly = np.tile(number, len(first)), np.tile(strictly, len(first))

    def beyond(ranks: NDArray[np.int64], of: NDArray[np.intp]) -> NDArray[np.bool_]:
        seen = values(order.code(ranks)).astype(breakpoints.rounded).astype(np.float64)
        return np.where(strictly[of], seen > number[of], seen >= number[of])

    everyone = np.arange(len(low))
    sides = beyond(low, everyone), beyond(high, everyone)
    changing = np.flatnonzero(sides[0] != sides[1])
    open_ = changing
    while len(open_):
        a, b = low[open_], high[open_]
        middle = (a >> 1) + (b >> 1) + (a & b & 1)  # their difference may not fit into 64 bits
        same = beyond(middle, open_) == sides[0][open_]
        low[open_[same]], high[open_[~same]] = middle[same], middle[~same]
        open_ = open_[high[open_] > low[open_] + 1]
    return order.code(np.unique(np.concatenate([first, high[changing]])))
