"""The branch and bound without numba: lists of possible pairs, filtered by NumPy.

Every open box keeps the pairs of leaves that are possible in it, tree by tree, best first. The
lists of a part are those of the box it was cut from, filtered by the one copy that was cut, so they
shrink with the boxes, and the heads of the lists make the bound.
"""

from __future__ import annotations

import heapq
import itertools
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._bracket import Bracket, make_links
from skfairtest.exact._layout import Box
from skfairtest.exact._links import gap_of_sums, loss_allowed
from skfairtest.exact._pairs import list_pairs
from skfairtest.exact._problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

#: Pairs in the lists of all open boxes together; boxes beyond list theirs anew when it is their
#: turn.
MOST_LISTED = 200_000_000
#: Trees whose heads propose cuts.
PROPOSERS = 30


class _Cut(NamedTuple):
    """A copy, and the cells of it that make the first part."""

    is_ordered: bool
    place: int
    cell: int
    words: NDArray[np.uint64]


def _worth(a: Floats, b: Floats) -> Floats:
    """Score of cuts that take the weights a and b from their children, as in `_kernels.worth`."""
    return a * b / np.maximum(a + b, 1e-300) + 0.1 * np.maximum(a, b)


class ListSearch:
    """The branch and bound on one output of a model of trees.

    Parameters
    ----------
    problem : Problem
        The trees on cells.
    known : float
        A difference that is attained; only larger ones are looked for.
    """

    def __init__(self, problem: Problem, known: float) -> None:
        self.problem, self.known, self.dropped = problem, known, known
        self.links = make_links(problem.sums)
        self.levels = not problem.sums.plain
        n_trees = len(problem.forest.roots)
        self.pairs = list_pairs(
            problem.forest, problem.layout, np.full(n_trees, -np.inf), self.levels
        )
        self.difference = self.pairs.difference
        self.best: Box | None = None
        self.count = itertools.count()
        self.n_boxes = self.n_listed = 0
        everything = np.arange(len(self.pairs.tree))
        whole = problem.layout.whole
        self.heap: list[tuple[float, int, Box, Ints | None]] = []
        self._keep(whole, everything, np.inf)

    def run(self, deadline: float, rtol: float) -> Bracket:
        """Search until the bracket is closed to `rtol` or the clock shows `deadline`."""
        reason = "closed"
        while self.heap:
            if -self.heap[0][0] <= self.known + rtol * abs(self.known):
                self.dropped = max(self.dropped, -self.heap[0][0])
                self.heap.clear()
                break
            if time.perf_counter() >= deadline:
                reason = "time"
                break
            bound, _, box, listed = heapq.heappop(self.heap)
            if listed is None:
                listed = self._list(box)
            else:
                self.n_listed -= len(listed)
            self.n_boxes += 1
            self._take_apart(box, listed, -bound, rtol)
        upper = max([self.known, self.dropped] + [-entry[0] for entry in self.heap[:1]])
        twins = None if self.best is None else self.problem.layout.codes(self.best)
        return Bracket(self.known, upper, twins, self.n_boxes, reason)

    def _take_apart(self, box: Box, listed: Ints, bound: float, rtol: float) -> None:
        heads = listed[np.searchsorted(listed, self.pairs.start[:-1])]
        point = self._common(box, heads)
        if point is not None:
            value = self._value(heads) if self.levels else bound
            if value > self.known:
                self.known, self.best = value, point
            if not self.levels or bound <= value + 1e-13 * abs(value):
                self.dropped = max(self.dropped, bound)
                return
        cut = self._choose(box, listed, heads)
        if cut is None:
            self.dropped = max(self.dropped, bound)
            return  # the heads fill the box: it was settled exactly
        total = float(self.difference[heads].sum())
        loss = loss_allowed(self.links, total, self.known)
        for first in (True, False):
            part, kept = self._part(box, listed, cut, first)
            places = np.searchsorted(kept, self.pairs.start)
            if (np.diff(places) == 0).any():
                continue  # only pairs that cannot beat what is known were left
            if np.isfinite(loss):
                floor = self.difference[kept[places[:-1]]] - loss
                kept = kept[self.difference[kept] >= floor[self.pairs.tree[kept]]]
            self._keep(part, kept, bound, rtol)

    def _keep(self, box: Box, listed: Ints, most: float, rtol: float = 0.0) -> None:
        """Bound a box and put it among the open ones, if it may hold more than is known."""
        bound = min(most, self._bound(listed))
        if bound <= self.known + rtol * abs(self.known):
            self.dropped = max(self.dropped, bound)
            return
        kept = listed if self.n_listed + len(listed) <= MOST_LISTED else None
        self.n_listed += 0 if kept is None else len(kept)
        heapq.heappush(self.heap, (-bound, next(self.count), box, kept))

    def _bound(self, listed: Ints) -> float:
        at = np.searchsorted(listed, self.pairs.start[:-1])
        n = len(self.links.base)
        D, U, V = np.zeros(n), self.links.base.copy(), self.links.base.copy()
        np.add.at(D, self.links.part, self.difference[listed[at]])
        if self.levels and len(at):
            np.add.at(U, self.links.part, np.maximum.reduceat(self.pairs.one[listed], at))
            np.add.at(V, self.links.part, np.minimum.reduceat(self.pairs.two[listed], at))
        return float(gap_of_sums(self.links, D, U, V))

    def _value(self, heads: Ints) -> float:
        """The output's difference where every tree has its head."""
        U, V = self.links.base.copy(), self.links.base.copy()
        np.add.at(U, self.links.part, self.pairs.one[heads])
        np.add.at(V, self.links.part, self.pairs.two[heads])
        return float(gap_of_sums(self.links, U - V, U, V))

    def _list(self, box: Box) -> Ints:
        """All pairs that meet a box."""
        pairs = self.pairs
        listed = np.arange(len(pairs.tree))
        for c in range(len(box.low)):
            meets = (pairs.low[c, listed] < box.high[c]) & (pairs.high[c, listed] > box.low[c])
            listed = listed[meets]
        for m in range(len(self.problem.layout.word_start) - 1):
            words = self._words(m)
            listed = listed[(pairs.words[words, :][:, listed].T & box.words[words]).any(axis=1)]
        return listed

    def _words(self, place: int) -> slice:
        return slice(*(int(w) for w in self.problem.layout.word_start[place : place + 2]))

    def _common(self, box: Box, heads: Ints) -> Box | None:
        """The part of a box that all heads share."""
        pairs = self.pairs
        low = np.maximum(box.low, pairs.low[:, heads].max(axis=1, initial=0))
        high = box.high.copy()
        if len(heads):
            high = np.minimum(high, pairs.high[:, heads].min(axis=1))
        words = box.words & np.bitwise_and.reduce(pairs.words[:, heads], axis=1)
        sets = [words[self._words(m)] for m in range(len(self.problem.layout.word_start) - 1)]
        if (low < high).all() and all(s.any() for s in sets):
            return Box(low, high, words)
        return None

    # Cutting -------------------------------------------------------------------------------

    def _choose(self, box: Box, listed: Ints, heads: Ints) -> _Cut | None:
        """The cut that takes most weight of heads from the part that loses less."""
        weights = np.abs(self.difference[heads]) + 1e-12
        if self.levels:
            at = np.searchsorted(listed, self.pairs.start[:-1])
            weights += np.maximum.reduceat(self.pairs.one[listed], at) - self.pairs.one[heads]
            weights += self.pairs.two[heads] - np.minimum.reduceat(self.pairs.two[listed], at)
        top = np.argsort(-weights, kind="stable")
        for proposers in (top[:PROPOSERS], top):
            cuts = [*self._ordered(box, heads, weights, proposers)]
            cuts += [*self._sets(box, heads, weights, proposers)]
            if cuts:
                return max(cuts, key=lambda pair: pair[0])[1]
        return None

    def _ordered(
        self, box: Box, heads: Ints, weights: Floats, proposers: Ints
    ) -> list[tuple[float, _Cut]]:
        low, high = self.pairs.low[:, heads], self.pairs.high[:, heads]
        cells = np.concatenate([low[:, proposers], high[:, proposers]], axis=1)
        inside = (cells > box.low[:, None]) & (cells < box.high[:, None])
        if not inside.any():
            return []
        below = (low[:, None, :] >= cells[:, :, None]) @ weights
        above = (high[:, None, :] <= cells[:, :, None]) @ weights
        score = _worth(below, above)
        place, k = np.unravel_index(np.where(inside, score, -1.0).argmax(), score.shape)
        none = np.empty(0, dtype=np.uint64)
        cut = _Cut(True, int(place), int(cells[place, k]), none)
        return [(float(score[place, k]), cut)]

    def _sets(
        self, box: Box, heads: Ints, weights: Floats, proposers: Ints
    ) -> list[tuple[float, _Cut]]:
        found = []
        for m in range(len(self.problem.layout.word_start) - 1):
            words = self._words(m)
            own = self.pairs.words[words, :][:, heads].T & box.words[words]
            sets = np.unique(own[proposers], axis=0)
            sets = sets[(sets != box.words[words]).any(axis=1)]
            for chosen in sets:
                inside = float(weights[~(own & chosen).any(axis=1)].sum())
                outside = float(weights[~(own & ~chosen).any(axis=1)].sum())
                score = _worth(np.array([inside]), np.array([outside]))
                found.append((float(score[0]), _Cut(False, m, 0, chosen)))
        return found

    def _part(self, box: Box, listed: Ints, cut: _Cut, first: bool) -> tuple[Box, Ints]:
        """One of the two parts of a box, and the pairs that are left in it."""
        pairs = self.pairs
        part = Box(box.low.copy(), box.high.copy(), box.words.copy())
        if cut.is_ordered:
            if first:
                part.high[cut.place] = cut.cell
                return part, listed[pairs.low[cut.place, listed] < cut.cell]
            part.low[cut.place] = cut.cell
            return part, listed[pairs.high[cut.place, listed] > cut.cell]
        words = self._words(cut.place)
        part.words[words] &= cut.words if first else ~cut.words
        meets = (pairs.words[words, :][:, listed].T & part.words[words]).any(axis=1)
        return part, listed[meets]
