"""Trees on cells: every test of a node as a cut of the cells of one attribute."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.threshold_cells import (
    Cells,
    Tests,
    cut_finite,
    cut_wide,
    goes_left,
    misplaced,
)
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features, attribute_grid, wide_attributes
from skfairtest.whitebox._tree_model import Nodes

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Words = NDArray[np.uint64]

WORD = 64


class CutNodes(NamedTuple):
    """Nodes of trees whose tests are cuts of cells; arrays of length n_nodes.

    Of an attribute with ordered cells, a row goes `first` when its cell is below `cut`; of one
    with unordered cells, when its cell is in the set number `cut` of the attribute's sets.
    """

    attribute: Ints  # -1 at a leaf
    cut: Ints
    first: Ints
    second: Ints


class Grid:
    """The cells of all attributes for one or several sets of nodes.

    Attributes
    ----------
    cells : dict of int to Cells
        Cells of each attribute that is tested at all.
    sets : dict of int to ndarray of uint64 of shape (n_sets, n_words)
        Sets of cells, for attributes with unordered ones.
    nodes : list of CutNodes
        One for each given set of nodes.
    """

    def __init__(self, space: InputSpace, everything: list[Nodes], needed: list[Ints]) -> None:
        self.space = space
        self.cells: dict[int, Cells] = {}
        self.sets: dict[int, Words] = {}
        self.nodes = [_undecided(nodes) for nodes in everything]
        wide = wide_attributes(space)
        for j in range(space.n_features):
            views = self._views(j, everything, needed)
            if not any(len(which) for _, _, which in views):
                continue
            if wide[j]:
                self._cut_wide(j, views, exact=False)
            else:
                self._cut_finite(j, views)
        self._check_wide(everything, needed, wide)
        for nodes, wanted, cut in zip(everything, needed, self.nodes, strict=True):
            _decide_constant(nodes, wanted, cut, self.cells)

    def _check_wide(
        self, everything: list[Nodes], needed: list[Ints], wide: NDArray[np.bool_]
    ) -> None:
        """Look at both sides of all cuts through the steps; cut anew what is not in its place."""
        again: set[int] = set()
        for nodes, wanted, cut in zip(everything, needed, self.nodes, strict=True):
            source = nodes.features.source[nodes.tests.feature[wanted]]
            which = wanted[(source >= 0) & wide[np.maximum(source, 0)]]
            attribute = cut.attribute[which]
            key = np.column_stack([nodes.tests.feature[which], nodes.tests.threshold[which]])
            first = np.unique(key, axis=0, return_index=True)[1] if len(which) else which
            which, attribute = which[first], attribute[first]
            below, above = np.empty(len(which)), np.empty(len(which))
            for j in np.unique(attribute):
                own, cells = attribute == j, self.cells[int(j)]
                place = cut.cut[which[own]]
                below[own] = cells.high[np.maximum(place - 1, 0)]
                above[own] = cells.low[np.minimum(place, len(cells.low) - 1)]
                below[own] = np.where(place > 0, below[own], np.nan)
                above[own] = np.where(place < len(cells.low), above[own], np.nan)
            wrong = misplaced(below, above, nodes.features, nodes.tests, which)
            again |= {int(j) for j in attribute[wrong]}
        for j in again:
            self._cut_wide(j, self._views(j, everything, needed), exact=True)

    @staticmethod
    def _views(
        j: int, everything: list[Nodes], needed: list[Ints]
    ) -> list[tuple[Features, Tests, Ints]]:
        views = []
        for nodes, wanted in zip(everything, needed, strict=True):
            tested = nodes.features.source[nodes.tests.feature[wanted]] == j
            views.append((nodes.features, nodes.tests, wanted[tested]))
        return views

    def _cut_wide(self, j: int, views: list[tuple[Features, Tests, Ints]], *, exact: bool) -> None:
        self.cells[j], cuts = cut_wide(self.space, j, views, exact=exact)
        for nodes, (_, _, which), cut in zip(self.nodes, views, cuts, strict=True):
            nodes.attribute[which] = j
            nodes.cut[which] = cut

    def _cut_finite(self, j: int, views: list[tuple[Features, Tests, Ints]]) -> None:
        cells, outcomes = cut_finite(attribute_grid(self.space, j), views)
        self.cells[j] = cells
        if not cells.ordered:
            packed = [as_words(left) for left in outcomes]
            self.sets[j], place = np.unique(np.concatenate(packed), axis=0, return_inverse=True)
            place = place.ravel()
        start = 0
        for nodes, (_, _, which), left in zip(self.nodes, views, outcomes, strict=True):
            nodes.attribute[which] = j
            if cells.ordered:
                # A set that lacks the first cell is its complement with the children exchanged.
                turned = ~left[:, 0] & left.any(axis=1)
                nodes.cut[which] = np.where(turned, (~left).sum(axis=1), left.sum(axis=1))
                swap = which[turned]
                nodes.first[swap], nodes.second[swap] = nodes.second[swap], nodes.first[swap]
            else:
                nodes.cut[which] = place[start : start + len(which)]
            start += len(which)

    def n_cells(self, attribute: int) -> int:
        """How many cells an attribute has."""
        return len(self.cells[attribute].low)

    def codes(self, attribute: int, cells: Ints, share: float = 0.5) -> Floats:
        """A code inside each of the cells; `share` says how far from its low end."""
        own = self.cells[attribute]
        low, high = own.low[cells], own.high[cells]
        codes = low + share * (high - low)
        if self.space.discrete[attribute]:
            codes = np.floor(codes)
        if self.space.single[attribute]:
            codes = codes.astype(np.float32).astype(np.float64)
        return np.clip(codes, low, high)


def _undecided(nodes: Nodes) -> CutNodes:
    n = len(nodes.left)
    nothing = np.full(n, -1, dtype=np.intp)
    return CutNodes(nothing, np.zeros(n, dtype=np.intp), nodes.left.copy(), nodes.right.copy())


def _decide_constant(nodes: Nodes, wanted: Ints, cut: CutNodes, cells: dict[int, Cells]) -> None:
    """Tests of features that never change lead one way: both children are that one."""
    source = nodes.features.source[nodes.tests.feature[wanted]]
    constant = wanted[(source < 0) & (nodes.left[wanted] >= 0)]
    if not len(constant):
        return
    left = goes_left(nodes.features.origin[nodes.tests.feature[constant]], nodes.tests, constant)
    child = np.where(left, nodes.left[constant], nodes.right[constant])
    cut.first[constant] = cut.second[constant] = child


def as_words(sets: NDArray[np.bool_]) -> Words:
    """Sets of cells as words of 64 bits, (n_sets, n_words)."""
    n_words = max(1, -(-sets.shape[1] // WORD))
    padded = np.zeros((len(sets), n_words * WORD), dtype=bool)
    padded[:, : sets.shape[1]] = sets
    octets = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(octets).view("<u8").reshape(len(sets), n_words).astype(np.uint64)


def first_cell(words: Words) -> int:
    """The lowest cell of a set; -1 for the empty one."""
    for w, word in enumerate(words):
        if word:
            return w * WORD + (int(word) & -int(word)).bit_length() - 1
    return -1
