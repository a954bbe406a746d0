"""Local search on cells: quick search for better pairs of twins while the bound is worked out.

The bound of a box is met the sooner, the better the best pair that is known. This primal heuristic
changes one copy at a time. Along the line of all its cells each tree is a step function with few
steps: a test of the copy on the way to the tree's leaf, and what lies on the test's other side. So
the values on all lines through a point follow from one descent of its trees, and of the parts that
lie beside their paths. The walk takes the best of all cells. Where no line leads up, some copies
are changed at random and it starts again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest import _clock
from skfairtest._typing import Bools, Floats, Ints, Words
from skfairtest.exact._trees.link_bounds import signs
from skfairtest.exact._trees.problem import Problem
from skfairtest.exact._trees.self_composition import CellBox
from skfairtest.exact._trees.threshold_cells import WORD
from skfairtest.whitebox.graph import IDENTITY, link_value


class _OffPathParts(NamedTuple):
    """Parts of trees beside the paths of points: what lies behind the other side of a test."""

    path: Ints  # (n,) number of the path
    copy: Ints  # whose line leads there
    node: Ints
    low: Ints  # cells of an ordered copy from which the part can be reached
    high: Ints
    words: Words  # (n, n_words) the same of another one

    def take(self, which: Bools) -> _OffPathParts:
        # To look for the true ones once, and not for each array, takes half the time.
        at = np.flatnonzero(which)
        path, copy, node, low, high = (array.take(at) for array in self[:5])
        return _OffPathParts(path, copy, node, low, high, self.words.take(at, axis=0))


class LineSearch:
    """Pairs of twins that search locally while boxes are split.

    - `problem`: one output of a model of trees.

    - `value`, `point`: of the pair that differs the most.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, layout = problem, problem.layout
        self.forest, self.part = problem.forest, problem.links.part
        self.n_ordered = len(layout.whole.low)
        self.sizes = np.concatenate([layout.whole.high, layout.set_sizes()]).astype(np.intp)
        n_copies = len(self.sizes)
        #: Each line has one place more than cells, where what its steps add up to ends.
        self.start = np.concatenate([[0], np.cumsum(self.sizes + 1)])
        self.n_words = self.forest.sets.shape[1]
        ordered, *places = layout.tables()
        behind = np.where(ordered == 1, 0, self.n_ordered)
        self.copy_of = np.stack([places[0] + behind, places[1] + behind])
        self.is_plain = all(group.link == IDENTITY for group in problem.output)
        self.n_sums = 1 if self.is_plain else 2 * len(problem.links.base)
        # All lines of the points that walk at the same time hold half a million numbers at most.
        affordable = 500_000 // max(1, self.n_sums * int(self.start[-1]))
        self.n_walkers = int(min(8, max(1, affordable)))
        # Fixed: the certificate of a model does not depend on a seed.
        self.rng = np.random.default_rng(0)
        self.cells = np.stack([self._draw() for _ in range(self.n_walkers)])
        self.best_cells = self.cells.copy()
        self.best_values = np.full(self.n_walkers, -np.inf)
        self.value, self.point = -np.inf, np.zeros(n_copies, dtype=np.intp)
        self.began, self.took = _clock.now(), 0.0
        self.n_steps = self.improved_at = 0

    def is_due(self, deadline: float) -> bool:
        """Return whether local search has taken less than its share of the time before it is up."""
        now = _clock.now()
        since = now - self.began
        # A fifth of the time, and twice that in the first ten seconds; half of that once it has
        # found nothing better for longer than it took to find the best.
        share = 0.2 * min(since, 10.0) + 0.2 * since
        if self.n_steps > 2 * self.improved_at + 100:
            share /= 2
        return now < deadline and self.took <= share and len(self.sizes) > 0

    def box(self) -> CellBox:
        """Return the best point as a box of one cell of each copy."""
        layout = self.problem.layout
        low = self.point[: self.n_ordered].astype(np.int32)
        words = np.zeros(len(layout.whole.words), dtype=np.uint64)
        for m, cell in enumerate(self.point[self.n_ordered :]):
            words[layout.word_start[m] + cell // WORD] = np.uint64(1) << np.uint64(cell % WORD)
        return CellBox(low, low + np.int32(1), words)

    def step(self) -> None:
        """Move each pair once."""
        began = _clock.now()
        self.n_steps += 1
        values, lines = self._lines()
        best = lines.max(axis=1)
        for b in range(self.n_walkers):
            if values[b] > self.value:
                self.value, self.point = float(values[b]), self.cells[b].copy()
                self.improved_at = self.n_steps
            slack = 1e-12 * abs(best[b])
            if best[b] > values[b] + 2 * slack:
                place = int(self.rng.choice(np.flatnonzero(lines[b] >= best[b] - slack)))
                copy = int(np.searchsorted(self.start, place, side="right")) - 1
                self.cells[b, copy] = place - self.start[copy]
            else:
                self._start_again(b, float(values[b]))
        self.took += _clock.now() - began

    def _start_again(self, b: int, value: float) -> None:
        """Begin anew where no line leads up: near the best place so far of this pair, or another's.

        One local maximum alone is not worth all pairs.
        """
        if value >= self.best_values[b]:
            self.best_cells[b], self.best_values[b] = self.cells[b], value
        elif b == int(self.best_values.argmin()) and self.rng.random() < 0.1:
            self.best_values[b] = -np.inf
            if self.rng.random() < 0.5:
                self.cells[b] = self._draw()
                return
            self.best_cells[b] = self.best_cells[int(self.best_values.argmax())]
        self.cells[b] = self.best_cells[b]
        # One to four copies are changed before a walk starts again.
        for k in self.rng.integers(len(self.sizes), size=1 + self.rng.integers(4)):
            n = int(self.sizes[k])
            if k >= self.n_ordered or self.rng.random() < 0.5:
                self.cells[b, k] = self.rng.integers(n)
            else:
                far = 1 + self.rng.integers(1 << self.rng.integers(1, 11))
                there = self.cells[b, k] + (far if self.rng.random() < 0.5 else -far)
                self.cells[b, k] = min(max(there, 0), n - 1)

    def _draw(self) -> Ints:
        """Return a random row of data with the sensitive cells of two twins."""
        problem, space = self.problem, self.problem.space
        row = space.domain.clip(space.data[[self.rng.integers(len(space.data))]])
        cells = self.rng.integers(self.sizes)
        for j, (one, two) in problem.layout.place.items():
            if one == two:
                cells[self.copy_of[0, j]] = problem.grid.cell_of(j, row[:, j])[0]
        return np.asarray(cells)

    # Values on lines -----------------------------------------------------------------------

    def _lines(self) -> tuple[Floats, Floats]:
        """Return the values of all pairs, and those on all lines through them, one after another.

        At the ends of lines there is minus infinity.
        """
        forest, n, n_trees = self.forest, self.n_walkers, len(self.forest.roots)
        leaves, off_path = self._descend()
        own = forest.low[leaves]
        part = self.part[np.arange(len(leaves)) % n_trees]
        twin = np.arange(len(leaves)) // n_trees % 2
        walker = np.arange(len(leaves)) // (2 * n_trees)
        weight = np.ones(len(leaves))
        which = twin * len(self.problem.links.base) + part
        if self.is_plain:
            weights = np.abs(self.problem.links.weight)
            weight, which = np.where(twin == 0, 1.0, -1.0) * weights[part], 0 * which
        sums: Floats = np.bincount(which * n + walker, weight * own, self.n_sums * n).astype(
            np.float64
        )
        size = int(self.start[-1])
        at, steps = self._steps(off_path)
        path = off_path.path[at[0]]
        steps = steps * weight[path] * (forest.low[off_path.node[at[0]]] - own[path])
        place = (which[path] * n + walker[path]) * size + self.start[off_path.copy[at[0]]] + at[1]
        added = np.bincount(place, steps, self.n_sums * n * size).reshape(-1, size)
        lines = self._values(sums[:, None] + np.cumsum(added, axis=1, dtype=np.float64))
        values = self._values(sums[:, None])[:, 0]
        lines[:, self.start[1:] - 1] = -np.inf
        return values, lines

    def _values(self, sums: Floats) -> Floats:
        """Return the differences of the output, (n_walkers, ...), from sums of trees."""
        sums = sums.reshape(self.n_sums, self.n_walkers, -1)
        if self.is_plain:
            return sums[0]
        base = self.problem.links.base[:, None, None]
        high, low = (base + half for half in np.split(sums, 2))
        return self._output(high) - self._output(low)

    def _output(self, sums: Floats) -> Floats:
        total, start = np.zeros(sums.shape[1:]), 0
        for group in self.problem.output:
            turned = np.array(signs(group))[:, None, None]
            with np.errstate(over="ignore"):
                value = link_value(group.link, turned * sums[start : start + len(group.parts)])
            total += group.weight * value
            start += len(group.parts)
        return total

    def _steps(self, parts: _OffPathParts) -> tuple[tuple[Ints, Ints], Floats]:
        """Return the steps of lines: which part, at which cell, up (1) or down (-1)."""
        ordered = np.flatnonzero(parts.copy < self.n_ordered)
        others = np.flatnonzero(parts.copy >= self.n_ordered)
        octets = parts.words[others].astype("<u8").view(np.uint8)
        row, cell = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
        which = np.concatenate([ordered, ordered, others[row], others[row]])
        at = np.concatenate([parts.low[ordered], parts.high[ordered], cell, cell + 1])
        up = np.repeat([1.0, -1.0, 1.0, -1.0], [len(ordered)] * 2 + [len(row)] * 2)
        return (which, at), up

    def _descend(self) -> tuple[Ints, _OffPathParts]:
        """Return the leaf of each path, by pair, twin and tree, and the leaves beside the paths."""
        forest, n_copies = self.forest, len(self.sizes)
        n_trees, n = len(forest.roots), 2 * self.n_walkers * len(forest.roots)
        twin, walker = np.arange(n) // n_trees % 2, np.arange(n) // (2 * n_trees)
        node = np.tile(forest.roots, 2 * self.n_walkers)
        low = np.zeros((n, self.n_ordered), dtype=np.intp)
        high = np.repeat(self.sizes[None, : self.n_ordered], n, axis=0)
        full = np.full((n, n_copies - self.n_ordered, self.n_words), ~np.uint64(0))
        for m, size in enumerate(self.sizes[self.n_ordered :]):
            full[:, m] = _first_bits(int(size), self.n_words)
        found = []
        on = np.flatnonzero(forest.attribute[node] >= 0)
        while len(on):
            here = node[on]
            j, cut = forest.attribute[here], forest.cut[here]
            copy = self.copy_of[twin[on], j]
            first = self._goes_first(self.cells[walker[on], copy], j, cut)
            node[on] = np.where(first, forest.first[here], forest.second[here])
            off_path = np.where(first, forest.second[here], forest.first[here])
            lows, highs = np.zeros_like(on), np.zeros_like(on)
            words = np.zeros((len(on), self.n_words), dtype=np.uint64)
            o = np.flatnonzero(copy < self.n_ordered)
            at, own = (on[o], copy[o]), cut[o]
            lows[o] = np.where(first[o], np.maximum(low[at], own), low[at])
            highs[o] = np.where(first[o], high[at], np.minimum(high[at], own))
            low[at] = np.where(first[o], low[at], np.maximum(low[at], own))
            high[at] = np.where(first[o], np.minimum(high[at], own), high[at])
            s = np.flatnonzero(copy >= self.n_ordered)
            if len(s):
                at, sets = (on[s], copy[s] - self.n_ordered), forest.sets[cut[s]]
                inside = np.where(first[s, None], sets, ~sets)
                words[s] = full[at] & ~inside
                full[at] &= inside
            parts = _OffPathParts(on, copy, off_path, lows, highs, words)
            found.append(parts.take((lows < highs) | words.any(axis=1)))
            on = on[forest.attribute[node[on]] >= 0]
        return node, self._follow(_joined(found, self.n_words), twin, walker)

    def _follow(self, parts: _OffPathParts, twin: Ints, walker: Ints) -> _OffPathParts:
        """Take the parts beside paths apart along their lines, down to leaves."""
        forest = self.forest
        done = []
        while len(parts.node):
            is_leaf = forest.attribute[parts.node] < 0
            done.append(parts.take(is_leaf))
            parts = parts.take(~is_leaf)
            j, cut = forest.attribute[parts.node], forest.cut[parts.node]
            copy = self.copy_of[twin[parts.path], j]
            first = self._goes_first(self.cells[walker[parts.path], copy], j, cut)
            node = np.where(first, forest.first[parts.node], forest.second[parts.node])
            both = copy == parts.copy
            others = parts._replace(node=node).take(~both)
            split, cut = parts.take(both), cut[both]
            sets = np.zeros((len(cut), self.n_words), dtype=np.uint64)
            of_sets = split.copy >= self.n_ordered
            sets[of_sets] = forest.sets[cut[of_sets]]
            one = split._replace(
                node=forest.first[split.node],
                high=np.minimum(split.high, cut),
                words=split.words & sets,
            )
            two = split._replace(
                node=forest.second[split.node],
                low=np.maximum(split.low, cut),
                words=split.words & ~sets,
            )
            halves = [half.take(self._is_there(half)) for half in (one, two)]
            parts = _joined([others, *halves], self.n_words)
        return _joined(done, self.n_words)

    def _is_there(self, parts: _OffPathParts) -> NDArray[np.bool_]:
        ordered = parts.copy < self.n_ordered
        return np.where(ordered, parts.low < parts.high, parts.words.any(axis=1))

    def _goes_first(self, cell: Ints, j: Ints, cut: Ints) -> NDArray[np.bool_]:
        first = cell < cut
        others = np.flatnonzero(self.forest.ordered[j] == 0)
        if len(others):
            words = self.forest.sets[cut[others], cell[others] // WORD]
            bits = words >> (cell[others] % WORD).astype(np.uint64)
            first[others] = (bits & np.uint64(1)).astype(bool)
        return first


def _first_bits(n: int, n_words: int) -> Words:
    words = np.zeros(n_words, dtype=np.uint64)
    for cell in range(n):
        words[cell // WORD] |= np.uint64(1) << np.uint64(cell % WORD)
    return words


def _joined(parts: list[_OffPathParts], n_words: int) -> _OffPathParts:
    if not parts:
        nothing = np.empty(0, dtype=np.intp)
        return _OffPathParts(*(nothing,) * 5, np.empty((0, n_words), dtype=np.uint64))
    return _OffPathParts(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
