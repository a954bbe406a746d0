"""Rows that pass every test of every tree both ways, on which trees that were read are compared.

Random rows never reach most leaves: of a tree that is read wrongly below a rare test they show
nothing. So rows are put into the boxes of the leaves, of several trees at a time as far as these
meet, until every leaf of every tree was reached, or there are as many rows as are worth asking
about. On the way to a leaf all outcomes of the tests before it are passed. A zero is what libraries
may take for a missing value: it is put to every test whose node it can reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest import _clock
from skfairtest._clock import OutOfTime, check_time
from skfairtest._typing import Bools, Floats, Ints, Words
from skfairtest.exact._trees.leaf_pairs import node_boxes_of
from skfairtest.exact._trees.problem import Problem, leaves_of, levels_of
from skfairtest.exact._trees.threshold_cells import WORD, CellGrid
from skfairtest.space._columns import Column
from skfairtest.whitebox._value_order import ValueOrder


class _Targets(NamedTuple):
    """Boxes in which rows are wanted: boxes of leaves, and of tests that should see a zero."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    words: Words
    leaf: Ints  # the leaf; -1 where it is a test
    zero: Ints  # the attribute that is to be zero; -1 where it is a leaf

    def pick(self, which: Ints) -> _Targets:
        """Return some of the targets."""
        return _Targets._make(field[which] for field in self)


def covering_rows(
    problems: list[Problem], rng: np.random.Generator, until: float = np.inf
) -> Floats:
    """Return encoded rows that reach all leaves of the trees of some outputs.

    - `problems`: one an output.
    - `until`: when to be content with the rows so far, by `_clock.now`.
    - the result (n, n_features): as few as is easily done, and no more than are worth it: of many
      large trees there are leaves that no row is in. Trees that never take twins apart have been
      left out.
    """
    space = problems[0].space
    n_trees = sum(len(problem.forest.roots) for problem in problems)
    # All trees take at most a million rows together.
    most = int(np.clip(1_000_000 // max(1, n_trees), 256, 4_096))
    Z = np.empty((0, space.n_features))
    for problem in problems:
        # The boxes of all nodes would take too much memory.
        if problem.forest.attribute.size * (len(problem.layout.whole.low) + 1) > 20_000_000:
            continue
        try:
            Z = np.concatenate([Z, _Cover(problem, rng, until).rows(Z, most - len(Z))])
        except OutOfTime:
            break
    return Z


class _Cover:
    """Rows for the trees of one output."""

    def __init__(self, problem: Problem, rng: np.random.Generator, until: float) -> None:
        self.forest, self.layout, self.grid = problem.forest, problem.layout, problem.layout.grid
        self.space, self.rng, self.until = problem.space, rng, until
        self.boxes = node_boxes_of(problem, until)
        self.ordered = [j for j in self.layout.attributes if self.layout.is_ordered[j]]
        self.others = [j for j in self.layout.attributes if not self.layout.is_ordered[j]]
        #: Where the first twin's copies stand: a row is one twin.
        self.places = np.array([self.layout.place[j][0] for j in self.ordered], dtype=np.intp)
        self.spans = [
            slice(*self.layout.word_start[self.layout.place[j][0] :][:2]) for j in self.others
        ]
        self.zeros = np.array([_zero_of(column) for column in self.space.domain.columns])

    def rows(self, known: Floats, most: int) -> Floats:
        """Return rows that reach the leaves that the known ones do not."""
        if not len(self.layout.attributes):
            return np.empty((0, self.space.n_features))  # nothing is tested
        targets = self._targets()
        covered = np.zeros(len(self.forest.attribute), dtype=bool)
        if len(known):
            cells = {j: self.grid.cell_of(j, known[:, j]) for j in map(int, self.layout.attributes)}
            covered[self._leaves(cells)] = True
        open_ = targets.pick(self.rng.permutation(len(targets.leaf)))
        open_ = open_.pick(np.flatnonzero((open_.leaf < 0) | ~covered[open_.leaf]))
        found = [np.empty((0, self.space.n_features))]
        while len(open_.leaf) and most > 0 and _clock.now() < self.until:
            n = min(len(open_.leaf), 256, most)
            box, hit, zero = self._joined(open_, n)
            cells = self._cells(box)
            found.append(self._encoded(cells, zero))
            most -= n
            covered[self._leaves(cells)] = True
            hit[open_.leaf >= 0] = covered[open_.leaf[open_.leaf >= 0]]
            open_ = open_.pick(np.flatnonzero(~hit))
        return np.concatenate(found)

    def _targets(self) -> _Targets:
        forest, boxes = self.forest, self.boxes
        reached = np.concatenate(
            levels_of(forest.attribute, forest.first, forest.second, forest.roots)
        )
        leaves = reached[forest.attribute[reached] < 0]
        found = [_Targets(
            boxes.low[leaves], boxes.high[leaves], boxes.words[leaves], leaves,
            np.full(len(leaves), -1),
        )]  # fmt: skip
        for j in map(int, self.layout.attributes):
            check_time(self.until)
            if np.isnan(self.zeros[j]):  # encoded values may hold 0 where the values do not
                continue
            tests = reached[forest.attribute[reached] == j]
            own = _Targets(
                boxes.low[tests], boxes.high[tests], boxes.words[tests], np.full(len(tests), -1),
                np.full(len(tests), j),
            )  # fmt: skip
            found.append(self._with_zero(own, j))
        joined = _Targets._make(np.concatenate(field) for field in zip(*found, strict=True))
        return joined.pick(np.flatnonzero(self._some(joined)))

    def _with_zero(self, targets: _Targets, j: int) -> _Targets:
        """Return the parts of boxes in which an attribute is zero."""
        cell, place = int(self.grid.cell_of(j, self.zeros[[j]])[0]), self.layout.place[j][0]
        if self.layout.is_ordered[j]:
            targets.low[:, place] = np.maximum(targets.low[:, place], cell)
            targets.high[:, place] = np.minimum(targets.high[:, place], cell + 1)
        else:
            own = self.spans[self.others.index(j)]
            only = np.zeros(own.stop - own.start, dtype=np.uint64)
            only[cell // WORD] = np.uint64(1) << np.uint64(cell % WORD)
            targets.words[:, own] &= only
        return targets

    def _some(self, targets: _Targets) -> Bools:
        """Return whether rows can be in the boxes."""
        some = (targets.low < targets.high)[:, self.places].all(axis=1)
        for span in self.spans:
            some &= targets.words[:, span].any(axis=1)
        return np.asarray(some)

    def _joined(self, targets: _Targets, n: int) -> tuple[_Targets, Bools, Bools]:
        """Boxes that are in several targets each, the first ones among them.

        Also which targets are hit, and which attributes are to be zero, (n, n_features).
        """
        box, hit = targets.pick(np.arange(n)), np.zeros(len(targets.leaf), dtype=bool)
        zero = np.zeros((n, self.space.n_features), dtype=bool)
        hit[:n] = True
        zero[np.flatnonzero(box.zero >= 0), box.zero[box.zero >= 0]] = True
        for _ in range(48):  # targets that each row is tried to hit together with its own
            which = self.rng.integers(len(targets.leaf), size=n)
            more = targets.pick(which)
            both = box._replace(
                low=np.maximum(box.low, more.low), high=np.minimum(box.high, more.high),
                words=box.words & more.words,
            )  # fmt: skip
            fits = self._some(both)
            box = box._replace(
                low=np.where(fits[:, None], both.low, box.low),
                high=np.where(fits[:, None], both.high, box.high),
                words=np.where(fits[:, None], both.words, box.words),
            )
            hit[which[fits]] = True
            own = np.flatnonzero(fits & (more.zero >= 0))
            zero[own, more.zero[own]] = True
        return box, hit, zero

    def _cells(self, box: _Targets) -> dict[int, Ints]:
        """Return a cell of each attribute in each box: at an end as often as not."""
        found, n = {}, len(box.leaf)
        for j, place in zip(self.ordered, self.places, strict=True):
            low, high = box.low[:, place], box.high[:, place]
            inside = low + np.floor(self.rng.random(n) * (high - low)).astype(np.intp)
            side = self.rng.integers(3, size=n)
            found[int(j)] = np.choose(side, [low, high - 1, inside]).astype(np.intp)
        for j, span in zip(self.others, self.spans, strict=True):
            octets = np.ascontiguousarray(box.words[:, span]).astype("<u8").view(np.uint8)
            may = np.unpackbits(octets, axis=1, bitorder="little")[:, : self.grid.n_cells(int(j))]
            found[int(j)] = (may * self.rng.uniform(0.1, 1.0, may.shape)).argmax(axis=1)
        return found

    def _encoded(self, cells: dict[int, Ints], zero: Bools) -> Floats:
        """Return encoded rows in these cells."""
        Z = self.space.domain.draw(len(zero), self.rng)
        for j, own in cells.items():
            Z[:, j] = _encoded_in(self.grid, j, own, self.rng)
        return np.where(zero, self.zeros, Z)

    def _leaves(self, cells: dict[int, Ints]) -> Ints:
        """Return the leaves that rows on cells reach."""
        table = np.zeros(
            (len(next(iter(cells.values()), ())), self.space.n_features), dtype=np.intp
        )
        for j, own in cells.items():
            table[:, j] = own
        return leaves_of(self.forest, table)


def _zero_of(column: Column) -> float:
    """Return encoded zero in a column of numbers; NaN where it is not in the domain."""
    return column.encode_number(0.0) if column.high > column.low else np.nan


def _encoded_in(grid: CellGrid, j: int, cells: Ints, rng: np.random.Generator) -> Floats:
    """Return a value in each of some cells: any value of few, and mostly an end of many."""
    own, space = grid.cells[j], grid.space
    if not len(own.member):
        share = rng.choice([0.0, 1.0, 0.5], size=len(cells))
        return np.choose((2 * share).astype(np.intp), [
            grid.encoded(j, cells, 0.0), grid.encoded(j, cells, 0.5), grid.encoded(j, cells, 1.0)
        ])  # fmt: skip
    # Values, or parts of a piecewise monotone column, of which a cell may have several.
    order = np.argsort(own.member, kind="stable")
    count = np.bincount(own.member, minlength=len(own.low))
    start = np.cumsum(count) - count
    place = order[start[cells] + np.floor(rng.random(len(cells)) * count[cells]).astype(np.intp)]
    if j not in grid.starts:
        return np.asarray(space.domain.low[j] + place)
    first, ranks = grid.starts[j], ValueOrder(space, j)
    last = np.append(ranks.value(ranks.rank(first[1:]) - 1), space.domain.high[j])
    return np.where(rng.random(len(cells)) < 0.5, first[place], last[place])
