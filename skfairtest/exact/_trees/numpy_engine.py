"""The branch and bound without numba: lists of possible pairs, filtered by NumPy.

Every open box keeps the pairs of leaves that are possible in it, tree by tree, best first. The
lists of a part are those of the box it was cut from, filtered by the one copy that was cut, so they
shrink with the boxes, and their first pairs make the bound. Where there are too many pairs, the
lists are coarse at first, and are made anew in boxes that are small enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest import _clock
from skfairtest._typing import Bools, Floats, Ints, Words
from skfairtest.exact._best_first import BestFirst
from skfairtest.exact._trees.leaf_pairs import advance, is_finished
from skfairtest.exact._trees.line_search import LineSearch
from skfairtest.exact._trees.link_bounds import interpreted_bound, sum_enough
from skfairtest.exact._trees.problem import Forest, Problem, leaves_of
from skfairtest.exact._trees.self_composition import CellBox
from skfairtest.exact._trees.split_choice import VALUE_GAP, VALUE_TURN, by_differences
from skfairtest.exact._trees.tree_search import SETTINGS, TreeSearch, TreeSearchSettings
from skfairtest.exact._verifier import SolverLimits
from skfairtest.workers._compiled import plain

Cells32 = NDArray[np.int32]


class Pairs(NamedTuple):
    """Possible pairs of leaves; sorted by tree, and in a tree by falling difference."""

    start: Ints  # (n_trees + 1,)
    one: Floats  # (n_pairs,) value of the first twin's leaf; of a subtree the largest one
    two: Floats  # of the second twin's; of a subtree the smallest one
    difference: Floats  # no pair below differs by more
    coarse: Bools  # pairs of subtrees
    # Boxes, a column a pair to look at one copy of all pairs, and a row a pair.
    low: Cells32  # (n_ordered, n_pairs)
    high: Cells32
    low_rows: Cells32  # (n_pairs, n_ordered)
    high_rows: Cells32
    words: Words  # (n_words, n_pairs)


class _Front(NamedTuple):
    """Pairs of nodes that still have to be expanded."""

    tree: Ints
    one: Ints
    two: Ints
    low: Cells32  # (n, n_ordered)
    high: Cells32
    words: Words  # (n, n_words)

    def take(self, which: NDArray[np.generic]) -> _Front:
        return _Front(*(array[which] for array in self))


def list_pairs(
    forest: Forest, whole: CellBox, least: Floats, most: int, deadline: float = np.inf
) -> Pairs:
    """Return all possible pairs of leaves of each tree in a box.

    - `whole`: the box.
    - `least` (n_trees,): pairs with a smaller difference are left out.
    - `most`: with more pairs than this, pairs of subtrees are not taken apart any further; not much
      more than twice as many are returned.
    """
    n_trees = len(forest.roots)
    front = _Front(
        np.arange(n_trees),
        forest.roots.copy(),
        forest.roots.copy(),
        np.repeat(whole.low[None], n_trees, axis=0),
        np.repeat(whole.high[None], n_trees, axis=0),
        np.repeat(whole.words[None], n_trees, axis=0),
    )
    done, n_done = [front.take(np.empty(0, dtype=np.intp))], 0
    while len(front.tree):
        hopeful = forest.high[front.one] - forest.low[front.two] >= least[front.tree]
        front = front.take(hopeful)
        over = plain(is_finished)(forest, front.one, front.two)
        done.append(front.take(over))
        front, n_done = front.take(~over), n_done + len(done[-1].tree)
        if n_done + len(front.tree) > most or _clock.now() >= deadline:
            break
        front = _advance(forest, front)
    return _sorted(forest, done, front)


def _advance(forest: Forest, front: _Front) -> _Front:
    """Advance each pair by one test; return what is left of both sides."""
    node, place, a1, b1, a2, b2 = plain(advance)(forest, front.one, front.two)
    is_ordered = forest.ordered[forest.attribute[node]]
    parts = []
    for side, (one, two) in enumerate(((a1, b1), (a2, b2))):
        moved = front._replace(
            one=one,
            two=two,
            low=front.low.copy(),
            high=front.high.copy(),
            words=front.words.copy(),
        )
        parts.append(moved.take(_restrict(forest, moved, node, place, is_ordered, side)))
    return _Front(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _restrict(
    forest: Forest,
    front: _Front,
    node: Ints,
    place: Ints,
    is_ordered: Ints,
    side: int,
) -> Bools:
    """Cut the boxes by the tests in place; return which boxes are not empty."""
    kept = np.ones(len(node), dtype=bool)
    rows = np.flatnonzero(is_ordered)
    at = place[rows]
    cut = forest.cut[node[rows]].astype(np.int32)
    if side == 0:
        front.high[rows, at] = np.minimum(front.high[rows, at], cut)
    else:
        front.low[rows, at] = np.maximum(front.low[rows, at], cut)
    kept[rows] = front.low[rows, at] < front.high[rows, at]
    rows = np.flatnonzero(is_ordered == 0)
    for copy in np.unique(place[rows]):
        own = rows[place[rows] == copy]
        words = slice(forest.word_start[copy], forest.word_start[copy + 1])
        sets = forest.sets[forest.cut[node[own]], : words.stop - words.start]
        left = front.words[own, words] & (sets if side == 0 else ~sets)
        front.words[own, words] = left
        kept[own] = left.any(axis=1)
    return kept


def _sorted(forest: Forest, done: list[_Front], left: _Front) -> Pairs:
    """Put pairs of all trees in order: those of leaves, and those of subtrees that are left."""
    n = sum(len(front.tree) for front in done)
    tree, a, b, low, high, words = (
        np.concatenate(arrays) for arrays in zip(*done, left, strict=True)
    )
    coarse = np.arange(len(tree)) >= n
    one, two = forest.high[a], forest.low[b]
    # Twins in one subtree that nothing takes them apart in get the same output.
    difference = np.where((a == b) & ~forest.splits[a], 0.0, one - two)
    order = np.lexsort((-difference, tree))
    low, high = low[order], high[order]
    return Pairs(
        np.searchsorted(tree[order], np.arange(len(forest.roots) + 1)),
        one[order],
        two[order],
        difference[order],
        coarse[order],
        np.ascontiguousarray(low.T),
        np.ascontiguousarray(high.T),
        low,
        high,
        np.ascontiguousarray(words[order].T),
    )


def _split_score(a: Floats, b: Floats) -> Floats:
    """Score of cuts that take the weights a and b from their children, as in `split_choice`."""
    return a * b / np.maximum(a + b, 1e-300) + 0.1 * np.maximum(a, b)


class _PairTable:
    """Pairs that the lists of some open boxes point to."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.users = 0
        self.size = sum(array.nbytes for array in pairs) // 8
        self.is_coarse = bool(pairs.coarse.any())


class _Open(NamedTuple):
    """An open box with its pairs; None where there is no memory for these."""

    box: CellBox
    table: _PairTable | None
    listed: Ints | None


class _BestPairs(NamedTuple):
    """The best pair of each tree in a box, (n_trees,), and their boxes, (n_trees, n_ordered)."""

    pairs: Ints
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    difference: Floats
    weight: Floats


class ListSearch(TreeSearch):
    """The branch and bound on one output of a model of trees, with NumPy.

    - `incumbent`: a difference that is attained; only larger ones are looked for.
    - `deadline`: when to be content with coarse lists, by `_clock.now`.
    - `n_outputs`: outputs of the model, whose searches share the memory.
    - `settings`: how much memory there is.

    - `queue`: open boxes, and what is known of the whole.
    """

    library = "numpy"

    def __init__(
        self,
        problem: Problem,
        incumbent: float,
        deadline: float = np.inf,
        n_outputs: int = 1,
        settings: TreeSearchSettings = SETTINGS,
    ) -> None:
        super().__init__(problem, incumbent)
        self.queue: BestFirst[_Open] = BestFirst(incumbent, SolverLimits(deadline, 0.0))
        self.links = problem.links
        self.by_value = problem.forest.by_value
        self.mixed = not plain(by_differences)(problem.links)
        self.lines = LineSearch(problem)
        self.n_listed, self._most_listed = 0, settings.box_bytes // 8 // n_outputs
        self._most_of_box = max(settings.box_pairs, 4 * len(problem.forest.roots))
        whole = problem.layout.whole
        self._keep_all(whole, self._list(whole, settings.domain_pairs // n_outputs), np.inf)

    @property
    def upper(self) -> float:
        return max(self.incumbent, self.queue.upper)

    @property
    def n_boxes(self) -> int:
        return self.queue.n_boxes

    def is_done(self, limits: SolverLimits) -> bool:
        self.queue.limits = limits
        self.queue.incumbent = max(self.queue.incumbent, self.incumbent)
        return self.queue.top <= self._enough

    @property
    def is_full(self) -> bool:
        return self.queue.is_full

    def look(self, limits: SolverLimits) -> None:
        if self.lines.is_due(limits.deadline):
            self.lines.step()
            if self.lines.value > self.incumbent:
                self._try(self.lines.box())

    def step(self, limits: SolverLimits) -> None:
        self.queue.incumbent = max(self.queue.incumbent, self.incumbent)
        self.queue.step(self._cut)

    @property
    def _enough(self) -> float:
        """Bound below which boxes do not matter, as they cannot raise what was fathomed either."""
        return max(self.queue.enough, self.queue.fathomed)

    def _cut(self, taken: list[_Open], uppers: list[float]) -> None:
        (box, table, listed), bound = taken[0], uppers[0]
        if table is None or listed is None:
            table = self._list(box, self._most_of_box)
            listed = np.arange(len(table.pairs.one))
            # A finer list may show that there is nothing to look for.
            bound = min(bound, self._bound(table.pairs, listed, table.pairs.start[:-1]))
            if bound <= self.queue.incumbent:
                return
        else:
            self._release(table, listed)
        self.queue.n_boxes += 1
        self._take_apart(box, table, listed, bound)

    def _take_apart(self, box: CellBox, table: _PairTable, listed: Ints, bound: float) -> None:
        pairs = table.pairs
        at = np.searchsorted(listed, pairs.start)
        turn = self.by_value and (self.mixed or self.queue.n_boxes % VALUE_TURN == 0)
        best = self._best_pairs(pairs, listed, at, turn)
        if table.is_coarse and 4 * len(listed) <= self._most_of_box:
            self._look_closer(box, best, bound)
            return
        point = self._common(box, pairs, best)
        cut = None
        if point is not None and pairs.coarse[best.pairs].any():
            self._try(point)
            cut = self._undecided(box, pairs, best)
            if cut is None:
                self._look_closer(box, best, bound)
                return
        elif point is not None:
            value = limit = bound
            if self.by_value:
                value, limit = self._value(pairs.one[best.pairs], pairs.two[best.pairs])
            self._improve(value, point)
            if bound <= limit + 1e-13 * abs(limit):
                self.queue.fathom(bound)
                return
            if self.by_value and not turn and bound > value + VALUE_GAP * abs(value):
                cut = self._choose(box, pairs, self._extreme_pairs(pairs, listed, at, best))
        cut = cut or self._choose(box, pairs, best)
        if cut is None:
            self.queue.fathom(bound)
            return  # the best pairs fill the box: it was fathomed exactly
        loss = self._loss_allowed(best)
        for first in (True, False):
            part, kept = self._part(box, pairs, listed, cut, first)
            at = np.searchsorted(kept, pairs.start)
            if (at[1:] == at[:-1]).any():
                continue  # only pairs that cannot beat what is known were left
            if np.isfinite(loss):
                differences = pairs.difference[kept]
                least = np.repeat(differences[at[:-1]] - loss, np.diff(at))
                good = np.flatnonzero(differences >= least)
                kept, at = kept[good], np.searchsorted(good, at)
            self._keep(part, table, kept, at, bound)

    def _loss_allowed(self, best: _BestPairs) -> float:
        """How far the sum of the best differences may fall and still beat what is known."""
        if len(self.links.base) > 1:
            return np.inf
        enough = plain(sum_enough)(self.links, self.queue.incumbent)
        return float(best.difference.sum() - enough)

    def _keep_all(self, box: CellBox, table: _PairTable, most: float) -> None:
        """Keep a box with all pairs of a table."""
        self._keep(box, table, np.arange(len(table.pairs.one)), table.pairs.start, most)

    def _keep(self, box: CellBox, table: _PairTable, listed: Ints, at: Ints, most: float) -> None:
        """Bound a box and keep it as open if it may hold more than is known."""
        bound = min(most, self._bound(table.pairs, listed, at[:-1]))
        if bound <= self._enough:
            self.queue.fathom(bound)
            return
        size = len(listed) + (0 if table.users else table.size)
        if self.n_listed + size > self._most_listed:
            self.queue.push(bound, _Open(box, None, None))
            return
        self.n_listed += size
        table.users += 1
        self.queue.push(bound, _Open(box, table, listed))

    def _release(self, table: _PairTable, listed: Ints) -> None:
        table.users -= 1
        self.n_listed -= len(listed) + (0 if table.users else table.size)

    def _list(self, box: CellBox, most: int, least: Floats | None = None) -> _PairTable:
        """Return all pairs that meet a box."""
        forest = self.problem.forest
        if least is None:
            least = np.full(len(forest.roots), -np.inf)
        return _PairTable(list_pairs(forest, box, least, most, self.queue.limits.deadline))

    def _look_closer(self, box: CellBox, best: _BestPairs, bound: float) -> None:
        """List the pairs of a box again, expanded further."""
        loss = self._loss_allowed(best)
        least = best.difference - loss if np.isfinite(loss) else None
        table = self._list(box, self._most_of_box, least)
        at = table.pairs.start
        if (at[1:] > at[:-1]).all():  # else only pairs that cannot beat what is known were left
            self._keep_all(box, table, bound)

    def _best_pairs(self, pairs: Pairs, listed: Ints, at: Ints, by_levels: bool) -> _BestPairs:
        best = listed[at[:-1]]
        difference = pairs.difference[best]
        weight = np.abs(difference) + 1e-12
        if by_levels and len(best):
            weight += np.maximum.reduceat(pairs.one[listed], at[:-1]) - pairs.one[best]
            weight += pairs.two[best] - np.minimum.reduceat(pairs.two[listed], at[:-1])
        return _BestPairs(best, pairs.low_rows[best], pairs.high_rows[best], difference, weight)

    def _extreme_pairs(self, pairs: Pairs, listed: Ints, at: Ints, best: _BestPairs) -> _BestPairs:
        """Return the pairs that keep one twin's sum, the one that limits the bound, at its extreme.

        As `best_first.propose_level`.
        """
        sums = [self.links.base.copy() for _ in range(4)]
        part, starts = self.links.part, at[:-1]
        one, two = pairs.one[listed], pairs.two[listed]
        tops, bottoms = np.maximum.reduceat(one, starts), np.minimum.reduceat(two, starts)
        own = (pairs.one[best.pairs], pairs.two[best.pairs])
        for total, values in zip(sums, (*own, tops, bottoms), strict=True):
            np.add.at(total, part, values)
        U, V, high, low = sums
        D = np.zeros_like(U)
        np.add.at(D, part, best.difference)
        first = interpreted_bound(self.links, D, U, low) < interpreted_bound(self.links, D, high, V)
        values, extremes, mine = (one, tops, own[0]) if first else (two, bottoms, own[1])
        extreme = np.flatnonzero(values == np.repeat(extremes, np.diff(at)))
        found = listed[extreme[np.searchsorted(extreme, starts)]]
        weight = np.abs(extremes - mine) + 1e-12
        rows = pairs.low_rows[found], pairs.high_rows[found]
        return _BestPairs(found, *rows, best.difference, weight)

    def _bound(self, pairs: Pairs, listed: Ints, at: Ints) -> float:
        part, base = self.links.part, self.links.base
        U, V = base.copy(), base.copy()
        D = np.bincount(part, pairs.difference[listed[at]], len(base))
        if self.by_value and len(at):
            U += np.bincount(part, np.maximum.reduceat(pairs.one[listed], at), len(base))
            V += np.bincount(part, np.minimum.reduceat(pairs.two[listed], at), len(base))
        return float(interpreted_bound(self.links, D, U, V))

    def _try(self, point: CellBox) -> None:
        """Evaluate the twins at the first cells of a box."""
        forest, layout = self.problem.forest, self.problem.layout
        one, two = forest.low[leaves_of(forest, layout.first_cells(point))]
        self._improve(self._value(one, two)[0], point)

    def _improve(self, value: float, point: CellBox) -> None:
        super()._improve(value, point)
        self.queue.incumbent = max(self.queue.incumbent, value)

    def _undecided(self, box: CellBox, pairs: Pairs, best: _BestPairs) -> Cut | None:
        """Return a test that goes both ways in a box, of the heaviest tree that is coarse there."""
        for tree in np.argsort(-best.weight, kind="stable"):
            if pairs.coarse[best.pairs[tree]]:
                cut = first_undecided(self.problem.forest, box, int(tree))
                if cut is not None:
                    return cut
        return None

    def _words(self, place: int) -> slice:
        return slice(*(int(w) for w in self.problem.forest.word_start[place : place + 2]))

    def _common(self, box: CellBox, pairs: Pairs, best: _BestPairs) -> CellBox | None:
        """Return the part of a box that all best pairs share."""
        low = np.maximum(box.low, best.low.max(axis=0, initial=0))
        high = box.high.copy()
        if len(best.pairs):
            high = np.minimum(high, best.high.min(axis=0))
        words = box.words & np.bitwise_and.reduce(pairs.words[:, best.pairs], axis=1)
        sets = [words[self._words(m)] for m in range(len(self.problem.forest.word_start) - 1)]
        if (low < high).all() and all(s.any() for s in sets):
            return CellBox(low, high, words)
        return None

    # Cutting -------------------------------------------------------------------------------

    def _choose(self, box: CellBox, pairs: Pairs, best: _BestPairs) -> Cut | None:
        """Return the cut that takes most weight of best pairs from the part that loses less."""
        top = np.argsort(-best.weight, kind="stable")
        # The best pairs of 30 trees propose cuts; where these have none, those of 30 others.
        for proposers in np.split(top, range(30, len(top), 30)):
            cuts = [*self._ordered(box, best, proposers)]
            cuts += [*self._sets(box, pairs, best, proposers)]
            if cuts:
                return max(cuts, key=lambda pair: pair[0])[1]
        return None

    def _ordered(self, box: CellBox, best: _BestPairs, proposers: Ints) -> list[tuple[float, Cut]]:
        low, high = np.ascontiguousarray(best.low.T), np.ascontiguousarray(best.high.T)
        cells = np.concatenate([low[:, proposers], high[:, proposers]], axis=1)
        inside = (cells > box.low[:, None]) & (cells < box.high[:, None])
        if not inside.any():
            return []
        # Single precision, and no more: a cut may be any.
        weight = best.weight.astype(np.float32)
        place, at = np.nonzero(inside)
        own = cells[place, at][:, None]
        below = (low[place] >= own).astype(np.float32) @ weight
        above = (high[place] <= own).astype(np.float32) @ weight
        score = _split_score(below.astype(np.float64), above.astype(np.float64))
        k = int(score.argmax())
        cut = Cut(True, int(place[k]), int(own[k, 0]), np.empty(0, dtype=np.uint64))
        return [(float(score[k]), cut)]

    def _sets(
        self, box: CellBox, pairs: Pairs, best: _BestPairs, proposers: Ints
    ) -> list[tuple[float, Cut]]:
        found = []
        weight = best.weight.astype(np.float32)
        own = pairs.words[:, best.pairs] & box.words[:, None]  # (n_words, n_trees)
        for m in range(len(self.problem.forest.word_start) - 1):
            words = self._words(m)
            mine, whole = np.ascontiguousarray(own[words].T), box.words[words]
            # Of the boxes of pairs most are alike; numpy.unique takes far longer to see that.
            distinct = dict.fromkeys(row.tobytes() for row in mine[proposers])
            distinct.pop(whole.tobytes(), None)
            if not distinct:
                continue
            sets = np.frombuffer(b"".join(distinct), dtype=np.uint64).reshape(-1, len(whole))
            inside, outside = (
                (~(mine & chosen[:, None]).any(axis=2)).astype(np.float32) @ weight
                for chosen in (sets, ~sets)
            )
            score = _split_score(inside.astype(np.float64), outside.astype(np.float64))
            k = int(score.argmax())
            found.append((float(score[k]), Cut(False, m, 0, sets[k])))
        return found

    def _part(
        self, box: CellBox, pairs: Pairs, listed: Ints, cut: Cut, first: bool
    ) -> tuple[CellBox, Ints]:
        """Return one of the two parts of a box, and the pairs that are left in it."""
        part = CellBox(box.low.copy(), box.high.copy(), box.words.copy())
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


class Cut(NamedTuple):
    """A copy, and the cells of it that make the first part."""

    is_ordered: bool
    place: int
    cell: int
    words: NDArray[np.uint64]


def first_undecided(forest: Forest, box: CellBox, tree: int) -> Cut | None:
    """Return the first test of a tree that goes both ways in a box, for either twin."""
    is_ordered, places = forest.ordered, (forest.place_one, forest.place_two)
    nothing = np.empty(0, dtype=np.uint64)
    for place in places:
        node = int(forest.roots[tree])
        while (j := int(forest.attribute[node])) >= 0:
            own, cut = int(place[j]), int(forest.cut[node])
            if is_ordered[j]:
                some, others = bool(box.low[own] < cut), bool(box.high[own] > cut)
            else:
                words = box.words[forest.word_start[own] : forest.word_start[own + 1]]
                sets = forest.sets[cut, : len(words)]
                some, others = bool((words & sets).any()), bool((words & ~sets).any())
            if some and others:
                return Cut(True, own, cut, nothing) if is_ordered[j] else Cut(False, own, 0, sets)
            node = int(forest.first[node] if some else forest.second[node])
    return None
