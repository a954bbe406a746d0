"""Workers: each takes the open boxes of its own pool apart, on a thread of its own."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.best_first import Heads, NodeBoxes, dive, start
from skfairtest.exact._trees.descend import Stack, Woods
from skfairtest.exact._trees.doubled_domain import Box
from skfairtest.exact._trees.heap import Pool, hand_over, push
from skfairtest.exact._trees.leaf_pairs import NODE, TwinTrees, plant
from skfairtest.exact._trees.link_bounds import Links

Floats = NDArray[np.float64]

#: Memory for the open boxes of all workers, in bytes.
MEMORY = 2_500_000_000
#: Nodes of all twin trees of all workers, 32 bytes each. When they are used up, trees are descended
#: twin by twin.
MOST_TWIN_NODES = 40_000_000
#: Bytes in a line of the processor's cache.
LINE = 64
#: Seconds that one call of the compiled code should take, so that the clock is looked at.
PATIENCE = 0.2
#: Most boxes that are handed from one worker to another at a time.
MOST_HANDED = 512


class Worker:
    """Open boxes, and what it takes to take them apart.

    Parameters
    ----------
    woods, links, boxes : named tuples
        The trees, how they make the output, and the nodes' boxes; read by all workers.
    whole : Box
        The whole domain.
    depth : int
        Depth of the deepest tree.
    known : float
        A difference that is attained.
    n_workers : int
        How many share the memory.

    Attributes
    ----------
    state : ndarray of shape (6,)
        That of `_dive.dive`.
    """

    def __init__(
        self,
        woods: Woods,
        links: Links,
        boxes: NodeBoxes,
        whole: Box,
        depth: int,
        known: float,
        n_workers: int,
    ) -> None:
        self.woods, self.links, self.boxes = woods, links, boxes
        n_trees, size = len(woods.roots), 4 * depth + 8
        self.stack = Stack(
            np.empty(size, np.int64),
            np.empty(size, np.int64),
            np.empty((size, len(whole.low)), np.int32),
            np.empty((size, len(whole.low)), np.int32),
            np.empty((size, len(whole.words)), np.uint64),
        )
        self.heads = Heads(
            np.empty((len(whole.low), n_trees), np.int32),
            np.empty((len(whole.low), n_trees), np.int32),
            np.empty((len(whole.words), n_trees), np.uint64),
        )
        self.twins = _twin_trees(woods, n_workers)
        self.pool = _room(n_trees, whole, woods.levels, n_workers)
        # The last two places are no boxes.
        self.state = np.array([known, known, 0.0, 0.0, 0.0, len(self.pool.bound) - 2.0])
        self.most = 16.0

    @property
    def n_open(self) -> int:
        """How many boxes are open."""
        return int(self.state[4])

    @property
    def top(self) -> float:
        """Largest bound of an open box; minus infinity if there is none."""
        return float(self.pool.bound[self.pool.heap[0]]) if self.n_open else -np.inf

    def begin(self, whole: Box) -> None:
        """Open the whole domain, which stands in the first place."""
        self.pool.low[0], self.pool.high[0], self.pool.words[0] = whole
        start(self.woods, self.twins, self.links, self.boxes, self.pool, self.stack)
        push(self.pool.heap, 0, self.pool.bound, 0)
        # The first place is the last of the spare ones.
        self.state[4], self.state[5] = 1, self.state[5] - 1

    def dive(self, rtol: float) -> None:
        """Take boxes apart for a while."""
        began = time.perf_counter()
        dive(
            self.woods, self.twins, self.links, self.boxes, self.pool, self.heads, self.state,
            np.array([self.most, rtol]), self.stack,
        )  # fmt: skip
        took = time.perf_counter() - began
        self.most = max(16.0, self.most * min(4.0, PATIENCE / max(took, 1e-9)))

    def best(self) -> Box:
        """The best point that this worker has found."""
        return self._box(len(self.pool.bound) - 2)

    def top_box(self) -> Box:
        """The open box with the largest bound."""
        return self._box(int(self.pool.heap[0]))

    def _box(self, place: int) -> Box:
        pool = self.pool
        return Box(pool.low[place].copy(), pool.high[place].copy(), pool.words[place].copy())

    def share(self, other: Worker) -> None:
        """Hand every second of the boxes that are ahead of another worker's to it."""
        if self.n_open > 1 and other.state[5] > MOST_HANDED:
            hand_over(
                self.pool, self.state, other.pool, other.state, MOST_HANDED, self.woods.levels
            )


def _twin_trees(woods: Woods, n_workers: int) -> TwinTrees:
    """Twin trees of all trees, folded up; memory is taken as they are grown."""
    n = max(MOST_TWIN_NODES // n_workers, len(woods.roots))
    # Two children stand side by side: they share a line of the cache where pairs begin with one.
    room = np.empty(n * NODE.itemsize + LINE, dtype=np.uint8)
    start = -room.ctypes.data % LINE
    nodes = room[start : start + n * NODE.itemsize].view(NODE)
    twins = TwinTrees(nodes, np.zeros(1, dtype=np.int64))
    plant(woods, twins)
    return twins


def _room(n_trees: int, whole: Box, levels: bool, n_workers: int) -> Pool:
    n_heads = n_trees if levels else 1
    size = 8 * len(whole.low) + 8 * len(whole.words) + 8 * (n_trees + n_heads) + 24
    n = max(64, min(4_000_000, MEMORY // size) // n_workers)
    return Pool(
        np.empty((n, len(whole.low)), dtype=np.int32),
        np.empty((n, len(whole.low)), dtype=np.int32),
        np.empty((n, len(whole.words)), dtype=np.uint64),
        np.empty(n),
        np.empty((n, n_trees), dtype=np.int32),
        np.empty((n, n_trees), dtype=np.int32),
        np.empty((n if levels else 1, n_heads), dtype=np.int32),
        np.empty((n if levels else 1, n_heads), dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.arange(n - 3, -1, -1, dtype=np.int64),  # the first place is taken first
    )
