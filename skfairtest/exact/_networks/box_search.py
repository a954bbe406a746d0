"""Best-first splitting of boxes of the doubled domain."""

from __future__ import annotations

import heapq
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._networks.relaxation import Boxes

Floats = NDArray[np.float64]

#: Boxes bounded in one go.
BATCH = 64
#: Open boxes beyond which the search ends with the bracket so far.
MOST_OPEN = 200_000


class BoxSearch:
    """Open boxes, those with the largest bounds first.

    Parameters
    ----------
    family : NetworkFamily
        Bounds boxes, splits them and tries their corners.
    known : float
        A difference that is attained.

    Attributes
    ----------
    known : float
        The largest difference known; may be raised from outside.
    twins : tuple of ndarray or None
        Codes of a pair that attains it, if this search found it.
    n_boxes : int
        Boxes bounded so far.
    """

    def __init__(self, family: Any, known: float) -> None:
        self.family, self.known = family, known
        self.twins: tuple[Floats, Floats] | None = None
        self.n_boxes = 1
        self._number = itertools.count()
        self._dropped = known
        boxes = family.whole()
        self._heap = [(-float(family.bounds(boxes)[0]), next(self._number), boxes)]

    @property
    def top(self) -> float:
        """The largest bound of an open box."""
        return -self._heap[0][0] if self._heap else -np.inf

    @property
    def upper(self) -> float:
        """No difference is larger."""
        return max(self.known, self._dropped, self.top)

    @property
    def full(self) -> bool:
        """Whether there is no more room for open boxes."""
        return len(self._heap) > MOST_OPEN

    def step(self) -> None:
        """Split the boxes of the largest bounds."""
        heap = self._heap
        taken = [heapq.heappop(heap) for _ in range(min(BATCH, len(heap)))]
        if not taken:
            return
        parents = Boxes(*(np.concatenate(a) for a in zip(*(t[2] for t in taken), strict=True)))
        most = np.array([-t[0] for t in taken])
        parts, origin = self.family.split(parents)
        single = np.setdiff1d(np.arange(len(most)), origin)
        # Where nothing is left to split, the bound stands.
        self._dropped = max([self._dropped, *most[single]])
        if not len(origin):
            return
        bounds = np.minimum(self.family.bounds(parts), most[origin])
        self.n_boxes += len(bounds)
        value, pair = self.family.try_corners(parts)
        if value > self.known:
            self.known, self.twins = value, pair
        for i in np.flatnonzero(bounds > self.known):
            entry = (-float(bounds[i]), next(self._number), parts.take(np.array([i])))
            heapq.heappush(heap, entry)
