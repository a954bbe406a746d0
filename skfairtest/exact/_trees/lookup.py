"""What trees say at a point of the doubled domain, and where a box leaves them undecided."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.doubled_domain import Box, Layout
from skfairtest.exact._trees.grid import first_cell
from skfairtest.exact._trees.pairs import Forest

Ints = NDArray[np.intp]


class Cut(NamedTuple):
    """A copy, and the cells of it that make the first part."""

    is_ordered: bool
    place: int
    cell: int
    words: NDArray[np.uint64]


def leaves_at(forest: Forest, layout: Layout, box: Box, twin: int) -> Ints:
    """The leaf of every tree that a twin (0 or 1) reaches from a box's first cells, (n_trees,)."""
    is_ordered, *places = layout.tables()
    starts = layout.word_start
    sets = [first_cell(box.words[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    node = forest.roots.copy()
    while len(inner := np.flatnonzero(forest.attribute[node] >= 0)):
        at = node[inner]
        j, cut = forest.attribute[at], forest.cut[at]
        place = places[twin][j]
        first = np.zeros(len(at), dtype=bool)
        rows = np.flatnonzero(is_ordered[j])
        first[rows] = box.low[place[rows]] < cut[rows]
        for k in np.flatnonzero(is_ordered[j] == 0):
            word, bit = divmod(sets[place[k]], 64)
            first[k] = bool(forest.sets[cut[k], word] >> np.uint64(bit) & np.uint64(1))
        node[inner] = np.where(first, forest.first[at], forest.second[at])
    return node


def first_undecided(forest: Forest, layout: Layout, box: Box, tree: int) -> Cut | None:
    """The first test of a tree that goes both ways in a box, for either twin."""
    is_ordered, *places = layout.tables()
    nothing = np.empty(0, dtype=np.uint64)
    for place in places:
        node = int(forest.roots[tree])
        while (j := int(forest.attribute[node])) >= 0:
            own, cut = int(place[j]), int(forest.cut[node])
            if is_ordered[j]:
                some, others = bool(box.low[own] < cut), bool(box.high[own] > cut)
            else:
                words = box.words[layout.word_start[own] : layout.word_start[own + 1]]
                sets = forest.sets[cut, : len(words)]
                some, others = bool((words & sets).any()), bool((words & ~sets).any())
            if some and others:
                return Cut(True, own, cut, nothing) if is_ordered[j] else Cut(False, own, 0, sets)
            node = int(forest.first[node] if some else forest.second[node])
    return None
