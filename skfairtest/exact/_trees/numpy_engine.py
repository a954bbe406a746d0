"""The branch and bound without numba: lists of possible pairs, filtered by NumPy.

Every open box keeps the pairs of leaves that are possible in it, tree by tree, best first. The
lists of a part are those of the box it was cut from, filtered by the one copy that was cut, so they
shrink with the boxes, and the heads of the lists make the bound. Where there are too many pairs,
the lists are coarse at first, and are made anew in boxes that are small enough.
"""

from __future__ import annotations

import heapq
import itertools
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._bracket import Bracket, make_links
from skfairtest.exact._trees.doubled_domain import Box
from skfairtest.exact._trees.link_bounds import bound_of_sums, gap_of_sums, loss_allowed
from skfairtest.exact._trees.lookup import Cut, first_undecided, leaves_at
from skfairtest.exact._trees.pairs import Pairs, list_pairs
from skfairtest.exact._trees.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Entries of eight bytes in the lists of all open boxes together, and in what they point to; boxes
#: beyond list their pairs anew when it is their turn.
MOST_LISTED = 200_000_000
#: Pairs that are listed for the whole domain, and for one box (or a few for every tree); more are
#: listed coarsely. Boxes with a quarter of that left list them anew, by which they become finer.
MOST_PAIRS, MOST_OF_BOX = 1_000_000, 20_000
#: Trees whose heads propose cuts.
PROPOSERS = 30


def _worth(a: Floats, b: Floats) -> Floats:
    """Score of cuts that take the weights a and b from their children, as in `_kernels.worth`."""
    return a * b / np.maximum(a + b, 1e-300) + 0.1 * np.maximum(a, b)


class _Table:
    """Pairs that the lists of some open boxes point to."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.users = 0
        self.size = sum(array.nbytes for array in pairs) // 8
        self.is_coarse = bool(pairs.coarse.any())


class _Open(NamedTuple):
    """An open box with its pairs; heaps compare the first two."""

    bound: float  # negative
    number: int
    box: Box
    table: _Table | None
    listed: Ints | None


class _Heads(NamedTuple):
    """The best pair of each tree in a box, (n_trees,), and their boxes, (n_trees, n_ordered)."""

    pairs: Ints
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    difference: Floats
    weight: Floats


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
        self.best: Box | None = None
        self.count = itertools.count()
        self.n_boxes = self.n_listed = 0
        self.heap: list[_Open] = []
        self._most_of_box = max(MOST_OF_BOX, 4 * len(problem.forest.roots))
        whole = problem.layout.whole
        table = self._list(whole, MOST_PAIRS)
        listed = np.arange(len(table.pairs.one))
        self._keep(whole, table, listed, table.pairs.start, np.inf)

    def run(self, deadline: float, rtol: float) -> Bracket:
        """Search until the bracket is closed to `rtol` or the clock shows `deadline`."""
        reason = "closed"
        while self.heap:
            if -self.heap[0].bound <= self._enough(rtol):
                self.dropped = max(self.dropped, -self.heap[0].bound)
                self.heap.clear()
                break
            if time.perf_counter() >= deadline:
                reason = "time"
                break
            least, _, box, table, listed = heapq.heappop(self.heap)
            bound = -least
            if table is None or listed is None:
                table = self._list(box, self._most_of_box)
                listed = np.arange(len(table.pairs.one))
                # A finer list may show that there is nothing to look for.
                bound = min(bound, self._bound(table.pairs, listed, table.pairs.start[:-1]))
                if bound <= self.known:
                    continue
            else:
                self._release(table, listed)
            self.n_boxes += 1
            self._take_apart(box, table, listed, bound, rtol)
        upper = max([self.known, self.dropped] + [-entry.bound for entry in self.heap[:1]])
        twins = None if self.best is None else self.problem.layout.codes(self.best)
        return Bracket(self.known, upper, twins, self.n_boxes, reason)

    def _take_apart(self, box: Box, table: _Table, listed: Ints, bound: float, rtol: float) -> None:
        pairs = table.pairs
        at = np.searchsorted(listed, pairs.start)
        heads = self._heads(pairs, listed, at)
        if table.is_coarse and 4 * len(listed) <= self._most_of_box:
            self._look_closer(box, heads, bound, rtol)
            return
        point = self._common(box, pairs, heads)
        cut = None
        if point is not None and pairs.coarse[heads.pairs].any():
            self._try(point)
            cut = self._undecided(box, pairs, heads)
            if cut is None:
                self._look_closer(box, heads, bound, rtol)
                return
        elif point is not None:
            value = limit = bound
            if self.levels:
                value, limit = self._value(pairs.one[heads.pairs], pairs.two[heads.pairs])
            if value > self.known:
                self.known, self.best = value, point
            if bound <= limit + 1e-13 * abs(limit):
                self.dropped = max(self.dropped, bound)
                return
        cut = cut or self._choose(box, pairs, heads)
        if cut is None:
            self.dropped = max(self.dropped, bound)
            return  # the heads fill the box: it was settled exactly
        loss = loss_allowed(self.links, float(heads.difference.sum()), self.known)
        for first in (True, False):
            part, kept = self._part(box, pairs, listed, cut, first)
            at = np.searchsorted(kept, pairs.start)
            if (at[1:] == at[:-1]).any():
                continue  # only pairs that cannot beat what is known were left
            if np.isfinite(loss):
                differences = pairs.difference[kept]
                floor = np.repeat(differences[at[:-1]] - loss, np.diff(at))
                good = np.flatnonzero(differences >= floor)
                kept, at = kept[good], np.searchsorted(good, at)
            self._keep(part, table, kept, at, bound, rtol)

    def _keep(
        self, box: Box, table: _Table, listed: Ints, at: Ints, most: float, rtol: float = 0.0
    ) -> None:
        """Bound a box and put it among the open ones, if it may hold more than is known."""
        bound = min(most, self._bound(table.pairs, listed, at[:-1]))
        if bound <= self._enough(rtol):
            self.dropped = max(self.dropped, bound)
            return
        size = len(listed) + (0 if table.users else table.size)
        if self.n_listed + size > MOST_LISTED:
            heapq.heappush(self.heap, _Open(-bound, next(self.count), box, None, None))
            return
        self.n_listed += size
        table.users += 1
        heapq.heappush(self.heap, _Open(-bound, next(self.count), box, table, listed))

    def _release(self, table: _Table, listed: Ints) -> None:
        table.users -= 1
        self.n_listed -= len(listed) + (0 if table.users else table.size)

    def _list(self, box: Box, most: int, floor: Floats | None = None) -> _Table:
        """All pairs that meet a box."""
        forest, layout = self.problem.forest, self.problem.layout
        if floor is None:
            floor = np.full(len(forest.roots), -np.inf)
        return _Table(list_pairs(forest, layout, box, floor, self.levels, most))

    def _look_closer(self, box: Box, heads: _Heads, bound: float, rtol: float) -> None:
        """List the pairs of a box anew, taken apart further."""
        loss = loss_allowed(self.links, float(heads.difference.sum()), self.known)
        floor = heads.difference - loss if np.isfinite(loss) else None
        table = self._list(box, self._most_of_box, floor)
        at = table.pairs.start
        if (at[1:] > at[:-1]).all():  # else only pairs that cannot beat what is known were left
            self._keep(box, table, np.arange(len(table.pairs.one)), at, bound, rtol)

    def _heads(self, pairs: Pairs, listed: Ints, at: Ints) -> _Heads:
        heads = listed[at[:-1]]
        difference = pairs.difference[heads]
        weight = np.abs(difference) + 1e-12
        if self.levels and len(heads):
            weight += np.maximum.reduceat(pairs.one[listed], at[:-1]) - pairs.one[heads]
            weight += pairs.two[heads] - np.minimum.reduceat(pairs.two[listed], at[:-1])
        return _Heads(heads, pairs.low_rows[heads], pairs.high_rows[heads], difference, weight)

    def _bound(self, pairs: Pairs, listed: Ints, at: Ints) -> float:
        n = len(self.links.base)
        D, U, V = np.zeros(n), self.links.base.copy(), self.links.base.copy()
        np.add.at(D, self.links.part, pairs.difference[listed[at]])
        if self.levels and len(at):
            np.add.at(U, self.links.part, np.maximum.reduceat(pairs.one[listed], at))
            np.add.at(V, self.links.part, np.minimum.reduceat(pairs.two[listed], at))
        return float(bound_of_sums(self.links, D, U, V))

    def _enough(self, rtol: float) -> float:
        """Boxes with a smaller bound change nothing: they cannot raise what was dropped either."""
        return max(self.known + rtol * abs(self.known), self.dropped)

    def _value(self, one: Floats, two: Floats) -> tuple[float, float]:
        """The output's difference where the trees give the twins these values, (n_trees,).

        And its bound with the rounding of the model's own sums.
        """
        U, V = self.links.base.copy(), self.links.base.copy()
        np.add.at(U, self.links.part, one)
        np.add.at(V, self.links.part, two)
        sums = (self.links, U - V, U, V)
        return float(gap_of_sums(*sums)), float(bound_of_sums(*sums))

    def _try(self, point: Box) -> None:
        """See what the twins at the first cells of a box get."""
        forest, layout = self.problem.forest, self.problem.layout
        one, two = (forest.value[leaves_at(forest, layout, point, twin)] for twin in (0, 1))
        value, _ = self._value(one, two)
        if value > self.known:
            self.known, self.best = value, point

    def _undecided(self, box: Box, pairs: Pairs, heads: _Heads) -> Cut | None:
        """A test that goes both ways in a box, of the heaviest tree that is coarse there."""
        for tree in np.argsort(-heads.weight, kind="stable"):
            if pairs.coarse[heads.pairs[tree]]:
                cut = first_undecided(self.problem.forest, self.problem.layout, box, int(tree))
                if cut is not None:
                    return cut
        return None

    def _words(self, place: int) -> slice:
        return slice(*(int(w) for w in self.problem.layout.word_start[place : place + 2]))

    def _common(self, box: Box, pairs: Pairs, heads: _Heads) -> Box | None:
        """The part of a box that all heads share."""
        low = np.maximum(box.low, heads.low.max(axis=0, initial=0))
        high = box.high.copy()
        if len(heads.pairs):
            high = np.minimum(high, heads.high.min(axis=0))
        words = box.words & np.bitwise_and.reduce(pairs.words[:, heads.pairs], axis=1)
        sets = [words[self._words(m)] for m in range(len(self.problem.layout.word_start) - 1)]
        if (low < high).all() and all(s.any() for s in sets):
            return Box(low, high, words)
        return None

    # Cutting -------------------------------------------------------------------------------

    def _choose(self, box: Box, pairs: Pairs, heads: _Heads) -> Cut | None:
        """The cut that takes most weight of heads from the part that loses less."""
        top = np.argsort(-heads.weight, kind="stable")
        for proposers in (top[:PROPOSERS], top):
            cuts = [*self._ordered(box, heads, proposers)]
            cuts += [*self._sets(box, pairs, heads, proposers)]
            if cuts:
                return max(cuts, key=lambda pair: pair[0])[1]
        return None

    def _ordered(self, box: Box, heads: _Heads, proposers: Ints) -> list[tuple[float, Cut]]:
        low, high = np.ascontiguousarray(heads.low.T), np.ascontiguousarray(heads.high.T)
        cells = np.concatenate([low[:, proposers], high[:, proposers]], axis=1)
        inside = (cells > box.low[:, None]) & (cells < box.high[:, None])
        if not inside.any():
            return []
        # Single precision, and no more: a cut may be any.
        weight = heads.weight.astype(np.float32)
        place, k = np.nonzero(inside)
        own = cells[place, k][:, None]
        below = (low[place] >= own).astype(np.float32) @ weight
        above = (high[place] <= own).astype(np.float32) @ weight
        score = _worth(below.astype(np.float64), above.astype(np.float64))
        best = int(score.argmax())
        cut = Cut(True, int(place[best]), int(own[best, 0]), np.empty(0, dtype=np.uint64))
        return [(float(score[best]), cut)]

    def _sets(
        self, box: Box, pairs: Pairs, heads: _Heads, proposers: Ints
    ) -> list[tuple[float, Cut]]:
        found = []
        weights = heads.weight
        for m in range(len(self.problem.layout.word_start) - 1):
            words = self._words(m)
            own = pairs.words[words, :][:, heads.pairs].T & box.words[words]
            sets = np.unique(own[proposers], axis=0)
            sets = sets[(sets != box.words[words]).any(axis=1)]
            for chosen in sets:
                inside = float(weights[~(own & chosen).any(axis=1)].sum())
                outside = float(weights[~(own & ~chosen).any(axis=1)].sum())
                score = _worth(np.array([inside]), np.array([outside]))
                found.append((float(score[0]), Cut(False, m, 0, chosen)))
        return found

    def _part(
        self, box: Box, pairs: Pairs, listed: Ints, cut: Cut, first: bool
    ) -> tuple[Box, Ints]:
        """One of the two parts of a box, and the pairs that are left in it."""
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
