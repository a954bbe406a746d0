"""Bound moved twins whose columns are moved by ranks among rows with equal values of some columns.

Within one part of these columns, which do not move themselves, each column is moved by itself. So
the domain is cut into such parts, and the largest of their bounds is the bound of the whole.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._bracket import Attained, Bracket, Family, Limits, Twins, unattained
from skfairtest.exact._constrained import narrowed
from skfairtest.space._space import InputSpace
from skfairtest.transports._quantile import ALL_ROWS, QuantileTransport, _key
from skfairtest.whitebox._code_order import CodeOrder
from skfairtest.whitebox._unsupported import Unsupported

#: Parts that a domain is cut into at most, as the model is read for each.
MOST_PARTS = 64


class MovedParts(Family):
    """Model as it was read, with one family for each part of the domain.

    Parameters
    ----------
    base : Family
        The model, read out for the whole domain.
    parts : list of Family
        The model with the moved twins of each part.
    """

    def __init__(self, base: Family, parts: list[Family]) -> None:
        self.base, self.rounding = base, base.rounding
        self.parts = sorted(parts, key=lambda part: -part.root_bound())
        self.quick = all(part.quick for part in parts)
        self.first_queries = base.first_queries

    def single_room(self, top: float) -> float:
        return self.base.single_room(top)

    def evaluate(self, Z: Floats) -> Floats:
        return self.base.evaluate(Z)

    def root_bound(self) -> float:
        """Return the largest bound of the parts."""
        return self.parts[0].root_bound()

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        """Bound one part after another, those with the largest bounds first."""
        lower, upper, n_boxes = incumbent, incumbent, 0
        twins: Twins | None = None
        reason = "closed"
        roots = [part.root_bound() for part in self.parts]
        for k, (part, root) in enumerate(zip(self.parts, roots, strict=True)):
            if root <= lower or (k and limits.is_late):
                upper = max(upper, root)  # and so are those of all that follow
                reason = "closed" if root <= lower else "time"
                break
            rest = max([upper, *roots[k + 1 : k + 2]])

            def note(
                low: float, high: float, n: int, twins: Attained = unattained, /,
                rest: float = rest, lower: float = lower, before: int = n_boxes,
            ) -> None:  # fmt: skip
                limits.note(lower, max(high, rest), before + n)

            until = limits.by(1 / (len(self.parts) - k))
            found = part.solve(lower, Limits(until, limits.rtol, note))
            n_boxes += found.n_boxes
            if found.twins is not None:
                lower, twins = found.lower, found.twins
            if found.upper > upper:
                upper, reason = found.upper, found.reason
        return Bracket(lower, max(upper, lower), twins, n_boxes, reason)


def parts_of(space: InputSpace) -> list[InputSpace]:
    """Return the parts of a domain in which each column is moved by itself; one without `by`.

    Raises
    ------
    Unsupported
        If there are too many.
    """
    moved = space.twins_.moved
    assert moved is not None
    transport = moved.transport
    if not len(transport.by_):
        return [space]
    cells = [
        list(_cells(space, int(j), cuts))
        for j, cuts in zip(transport.by_, transport.cuts_, strict=True)
    ]
    n = int(np.prod([len(own) for own in cells]))
    if n > MOST_PARTS:
        raise Unsupported(
            f"The columns in by= have {n} parts, for each of which the model is read; more than "
            f"{MOST_PARTS} are too many.",
            "Name fewer columns in by=.",
        )
    found = []
    for cell in itertools.product(*cells):
        low, high = space.domain.low.copy(), space.domain.high.copy()
        for j, (first, last) in zip(transport.by_, cell, strict=True):
            low[j], high[j] = first, last
        part = narrowed(space, low, high)
        part.twins_.moved = part.twins_.dependents = copy.copy(moved)
        part.twins_.moved.transport = _within(transport, low)
        found.append(part)
    return found


def _cells(space: InputSpace, j: int, cuts: Floats) -> Iterator[tuple[float, float]]:
    """Yield the first and last codes of the parts of a column; a cut belongs to that below it."""
    order = CodeOrder(space, j)
    cuts = cuts[(order.low <= cuts) & (cuts < order.high)]
    at = order.code(order.rank(cuts))
    above = np.where(at > cuts, at, order.code(order.rank(at) + 1))
    starts = np.unique(np.append(order.low, above[above <= order.high]))
    ends = np.append(order.code(order.rank(starts[1:]) - 1), order.high)
    yield from zip(starts.tolist(), ends.tolist(), strict=True)


def _within(transport: QuantileTransport, z: Floats) -> QuantileTransport:
    """Return the transport of rows whose values of `by` are in the same part as those of a row."""
    key = _key(transport._cells(z[None])[0])
    alone = copy.copy(transport)
    alone.maps_ = {ALL_ROWS: transport.maps_.get(key, transport.maps_[ALL_ROWS])}
    alone.by_, alone.cuts_, alone._curves = transport.by_[:0], [], {}
    return alone
