"""Certify models of trees for moved twins, as plain twins of other trees.

The classes of each column (`_moved_cells`) say which cells of the model a value of a row and the
values that it is moved to lie in, one in each group. On a space of one whole number a column, which
counts its classes, and of one sensitive attribute, the group, trees that test the group first and
then look up the cell of the class are the model at rows and at their moved twins. So plain twins of
these trees differ by exactly as much, and the search for them is the one there is.

A row of one group and its moved twin in another are nearly always also a row of the other group
and its moved twin. So the classes of all groups that rows may be moved from are thrown together
first, and bound all rows at once. That may be too much: a row takes the classes of its own group
only. Where the bound is that of a mixture, each group gets columns and outputs of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._clock import OutOfTime, check_time
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exact._bracket import Attained, Bracket, Family, Limits, unattained
from skfairtest.exact._moved_cells import RANKS, Classes, ColumnClasses, Segments
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.exact._trees.problem import range_bound
from skfairtest.exact._trees.threshold_cells import WORD, CutNodes, Grid
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import MOST_TABLE_ROWS, Chain, Features
from skfairtest.whitebox._tree_model import Group, Nodes, Output, Part, Tests, all_nodes
from skfairtest.whitebox._unsupported import Unsupported

#: Rows of a pair's classes that are tried, as their ranks are those of the seed.
N_TRIED = 2_000
#: Classes below which all of them are listed.
FEW = 64
#: Classes of a column that sets tell apart as soon as thresholds do; sets of more are slow.
MOST_IN_SETS = 2 * WORD


class _Lookup(NamedTuple):
    """Tests of the cells of one attribute: which cells go first, of each different cut."""

    first: Bools  # (n_cuts, n_cells)
    cut_of: Ints  # (n_nodes,) row of `first` for each node that tests the attribute, else -1


class _Composed(NamedTuple):
    """Trees on classes of columns.

    Attributes
    ----------
    family : TreeFamily
        Outputs of one set of classes follow those of another.
    sides : list of dict
        Sets of classes: by attribute the cells of each class, (n_classes, n_groups).
    places : list of dict
        Which column has the classes of an attribute in a set; none has those of a single class.
    """

    family: TreeFamily
    sides: list[dict[int, Ints]]
    places: list[dict[int, int]]


class MovedTrees(Family):
    """Model of trees as it was read, and rows that a transport moves.

    Parameters
    ----------
    base : TreeFamily
        The model, read out for the whole domain.
    space : InputSpace
        The inputs that exist, whose twins are moved column by column.

    Attributes
    ----------
    grid : Grid
        The cells of the model.
    classes : list of dict
        Classes of each attribute in each group that rows are moved from.
    composed : _Composed or None
        The trees on classes: those of all groups together, if they can be put in one order; None
        where there was no time to make them.
    """

    first_queries = TreeFamily.first_queries

    def __init__(self, base: TreeFamily, space: InputSpace) -> None:
        self.base, self.space = base, space
        self.rounding = base.rounding
        self.classes: list[dict[int, Classes]] = []
        self.composed: _Composed | None = None
        deadline = base.settings[-1]
        try:
            self._find_classes(deadline)
            joined = _joined(self._apart, self.grid)
            self.composed = self._compose([joined] if joined else self._apart, deadline)
        except OutOfTime:
            self.composed = None

    def single_room(self, top: float) -> float:
        return self.base.single_room(top)

    def evaluate(self, Z: Floats) -> Floats:
        return self.base.evaluate(Z)

    def root_bound(self) -> float:
        """Return a bound from the ranges of the trees alone."""
        if self.composed is not None:
            return self.composed.family.root_bound()
        every = (range_bound(self.space, output, whole=True) for output in self.base.outputs)
        return max(every, default=0.0)

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        if self.composed is None:
            return Bracket(incumbent, max(incumbent, self.root_bound()), None, 0, "time")
        found, is_mixed = self._solve(self.composed, incumbent, limits)
        if not (is_mixed and found.reason == RANKS):
            return found
        try:
            apart = self._compose(self._apart, limits.deadline)
        except OutOfTime:
            return found._replace(reason="time")
        again, _ = self._solve(apart, found.lower, limits)
        return Bracket(
            again.lower,
            max(again.lower, min(found.upper, again.upper)),
            found.twins if again.twins is None else again.twins,
            found.n_boxes + again.n_boxes,
            again.reason,
        )

    def _solve(self, composed: _Composed, incumbent: float, limits: Limits) -> tuple[Bracket, bool]:
        """Return the bracket, and whether its bound is that of classes which no group has all."""

        def note(lower: float, upper: float, n: int, twins: Attained = unattained, /) -> None:
            # What the classes attain, the ranks of the seed need not.
            limits.note(incumbent, upper, n)

        found = composed.family.solve(incumbent, limits._replace(note=note))
        lower, twins, reason, is_mixed = incumbent, None, found.reason, False
        if found.twins is not None:
            lower, twins, is_mixed = self._attained(composed, np.stack(found.twins), incumbent)
        if reason == "closed" and found.upper * (1 - limits.rtol) > lower:
            reason = RANKS
        bracket = Bracket(lower, max(lower, found.upper), twins, found.n_boxes, reason)
        return bracket, is_mixed

    def _attained(
        self, composed: _Composed, both: Floats, incumbent: float
    ) -> tuple[float, tuple[Floats, ...] | None, bool]:
        """Return the difference of rows of two twins' classes, and their codes with the input's.

        And whether no group has all of these classes: those next to them are taken then.
        """
        assert self.space.twins_.moved is not None
        said = composed.family.evaluate(both)
        # Outputs of all sets of classes follow one another, those of one model at a time.
        side = int(np.abs(said[0] - said[1]).argmax()) // len(self.base.outputs)
        cells = {}
        for j, every in composed.sides[side].items():
            place = composed.places[side].get(j)
            cells[j] = every[0 if place is None else min(int(both[0, place]), len(every) - 1)]
        codes, groups = self.space.twins_.moved.codes, both[:, -1].astype(np.intp)
        lower, best, is_mixed = incumbent, None, True
        for own in range(len(codes)):
            Z, has_all = self._rows_of(own, cells, np.random.default_rng(0))
            is_mixed = is_mixed and not has_all
            twins = [self.space.twins_.with_sensitive(Z, codes[g]) for g in groups]
            gaps = np.abs(self.evaluate(twins[0]) - self.evaluate(twins[1])).max(axis=1)
            k = int(gaps.argmax())
            if gaps[k] > lower:
                lower, best = float(gaps[k]), (twins[0][k], twins[1][k], Z[k])
        return lower, best, is_mixed

    def _rows_of(
        self, own: int, cells: dict[int, Ints], rng: np.random.Generator
    ) -> tuple[Floats, bool]:
        """Return rows of a group in the classes with these cells, and whether it has all of them.

        Other codes of the same classes have other ranks.
        """
        space, has_all = self.space, True
        Z = space.domain.draw(N_TRIED, rng)
        for j, wanted in cells.items():
            found = self.classes[own][j]
            away = np.abs(found.cells - wanted).sum(axis=1)
            k = int(away.argmin())
            has_all = has_all and away[k] == 0
            low, high = found.low[k], found.high[k]
            codes = low + rng.random(N_TRIED) * (high - low)
            codes[:2] = low, high
            if space.domain.discrete[j]:
                codes = np.rint(codes)
            Z[:, j] = np.clip(space.domain.round_to_dtype(codes, j), low, high)
        Z[:, space.sensitive] = self._moved_codes[own]
        return space.domain.clip(Z), bool(has_all)

    # Trees on classes -------------------------------------------------------------------------

    def _find_classes(self, deadline: float) -> None:
        """Find the cells of the model, and the classes of each attribute and group."""
        space, nodes = self.space, all_nodes(self.base.outputs)
        tested = [np.flatnonzero(one.left >= 0) for one in nodes]
        self.grid = grid = Grid(space, nodes, tested, deadline)
        finder = ColumnClasses(space, deadline)
        free = [j for j in grid.cells if j not in space.sensitive]
        segments = {j: Segments(grid, j) for j in free}
        self.classes = [
            {j: finder.of(j, own, segments[j]) for j in free} for own in range(finder.n_groups)
        ]

    @property
    def _apart(self) -> list[dict[int, Ints]]:
        """The cells of the classes of each group."""
        return [{j: found.cells for j, found in own.items()} for own in self.classes]

    def _compose(self, sides: list[dict[int, Ints]], deadline: float) -> _Composed:
        """Return trees on sets of classes, each with columns and outputs of its own."""
        outputs, grid = self.base.outputs, self.grid
        nodes = all_nodes(outputs)
        places: list[dict[int, int]] = []
        sizes: list[int] = []
        for side in sides:
            several = [j for j, cells in side.items() if len(cells) > 1]
            places.append({j: len(sizes) + k for k, j in enumerate(several)})
            sizes += [len(side[j]) for j in several]
        lookups = [{j: _lookup(grid, cut, j) for j in grid.cells} for cut in grid.nodes]
        tests: list[list[_ClassTests]] = []
        for side, own_places in zip(sides, places, strict=True):
            check_time(deadline)
            every = zip(nodes, grid.nodes, lookups, strict=True)
            tests.append([self._tests_of(*each, side, own_places) for each in every])
        in_sets = {place for side in tests for found in side for place in found.in_sets}
        space = _space_of(sizes, in_sets, len(self._moved_codes))
        features = Chain(space).features
        of_sides: list[Output] = []
        for own_tests in tests:
            made = {}
            for one, cut, found in zip(nodes, grid.nodes, own_tests, strict=True):
                check_time(deadline)
                made[id(one)] = _composed_nodes(one, cut, found, features)
            of_sides += [_with_nodes(output, made) for output in outputs]
        compiled, n_jobs, _ = self.base.settings
        family = TreeFamily(None, space, "", compiled, n_jobs, deadline, outputs=of_sides)
        return _Composed(family, sides, places)

    def _tests_of(
        self, nodes: Nodes, cut: CutNodes, lookup: dict[int, _Lookup], side: dict[int, Ints],
        places: dict[int, int],
    ) -> _ClassTests:  # fmt: skip
        """Return the tests of nodes by a set of classes."""
        moved, n_groups = self.space.twins_.moved, len(self._moved_codes)
        assert moved is not None
        tests = _ClassTests(len(nodes.left), n_groups)
        # A test whose children are the same is none.
        tests.always[:, (nodes.left >= 0) & (cut.attribute < 0)] = 1
        for j, own_lookup in lookup.items():
            if j in side:
                cells = side[j]
            else:
                column = moved.sensitive.tolist().index(j)
                cells = self.grid.cell_of(j, moved.codes[:, column])[None]
            for g in range(n_groups):
                tests.add(g, places.get(j, -1), own_lookup, cells[:, g])
        return tests

    @property
    def _moved_codes(self) -> Floats:
        assert self.space.twins_.moved is not None
        return self.space.twins_.moved.codes


def _joined(sides: list[dict[int, Ints]], grid: Grid) -> dict[int, Ints] | None:
    """Return the classes of all groups together; None if many of a column are in no one order."""
    joined = {}
    for j in sides[0]:
        cells = np.unique(np.concatenate([side[j] for side in sides]), axis=0)
        # Thresholds tell classes apart that rise in all groups.
        rises = grid.cells[j].ordered and (np.diff(cells, axis=0) >= 0).all()
        if len(cells) > MOST_IN_SETS and not rises:
            return None
        joined[j] = cells
    return joined


class _ClassTests:
    """Tests of nodes by classes, for each group; arrays of shape (n_groups, n_nodes).

    Attributes
    ----------
    always : ndarray of int
        1 where all classes go left, -1 where all go right, 0 else.
    feature, threshold : ndarray
        Classes up to the threshold go left.
    category : ndarray of int
        Number of the set of classes that go left, where no threshold tells them; else -1.
    turned : ndarray of bool
        Where the children are exchanged.
    """

    def __init__(self, n: int, n_groups: int) -> None:
        self.always = np.zeros((n_groups, n), dtype=np.intp)
        self.feature = np.zeros((n_groups, n), dtype=np.intp)
        self.threshold = np.zeros((n_groups, n))
        self.category = np.full((n_groups, n), -1, dtype=np.intp)
        self.turned = np.zeros((n_groups, n), dtype=bool)
        self.sets: dict[bytes, tuple[int, Bools]] = {}
        #: Columns of which some tests are sets.
        self.in_sets: set[int] = set()

    def add(self, g: int, place: int, lookup: _Lookup, cells: Ints) -> None:
        """Add the tests of one attribute in a group, whose classes lie in these cells."""
        which = np.flatnonzero(lookup.cut_of >= 0)
        of = lookup.cut_of[which]
        left = lookup.first[:, cells]  # (n_cuts, n_classes)
        n_left = left.sum(axis=1)
        # A test that begins with what goes right has its children exchanged.
        turned = ~left[:, 0] & (n_left > 0)
        going = np.where(turned[:, None], ~left, left)
        n_going = going.sum(axis=1)
        is_cut = ~(going[:, 1:] & ~going[:, :-1]).any(axis=1)
        always = np.where(n_left == left.shape[1], 1, np.where(n_left == 0, -1, 0))
        category = np.full(len(left), -1, dtype=np.intp)
        for k in np.flatnonzero(~is_cut & (always == 0)):
            category[k] = self.sets.setdefault(going[k].tobytes(), (len(self.sets), going[k]))[0]
        if (category >= 0).any() and left.shape[1] > MOST_TABLE_ROWS:
            raise Unsupported(
                f"A column whose numbers a step bends has {left.shape[1]} classes of numbers and "
                "moved ones, which are too many.",
                "Narrow its domain by InputSpace(bounds=...), or name it in keep=.",
            )
        if (category >= 0).any():
            self.in_sets.add(place)
        self.always[g, which] = always[of]
        self.feature[g, which] = place
        self.threshold[g, which] = n_going[of] - 0.5
        self.category[g, which] = category[of]
        self.turned[g, which] = turned[of] & (always[of] == 0)

    def alike(self) -> Bools:
        """Return which nodes have the same test in all groups, shape (n_nodes,)."""
        same = (self.always == 0).all(axis=0)
        for part in (self.feature, self.threshold, self.category, self.turned):
            same &= (part == part[0]).all(axis=0)
        return same

    def left_sets(self) -> Bools:
        """Return all sets, shape (n_sets, most classes)."""
        most = max((len(own) for _, own in self.sets.values()), default=0)
        found = np.zeros((len(self.sets), most), dtype=bool)
        for number, own in self.sets.values():
            found[number, : len(own)] = own
        return found


class _States(NamedTuple):
    """Nodes of trees with a copy for each group, before those that none reaches are left out.

    Of n nodes first those that all groups share, then a copy for each group, then the tests of the
    group that are in place of a node.
    """

    of: Ints  # the node that each is a copy of
    left: Ints  # children; -1 at a leaf
    right: Ints
    feature: Ints
    threshold: Floats
    category: Ints
    roots: Ints

    def reached(self) -> Ints:
        """Return the states that some row reaches."""
        found = np.zeros(len(self.of), dtype=bool)
        here = self.roots
        while len(here):
            found[here] = True
            here = np.concatenate([self.left[here], self.right[here]])
            here = np.unique(here[here >= 0])
            here = here[~found[here]]
        return np.flatnonzero(found)


def _composed_nodes(nodes: Nodes, cut: CutNodes, tests: _ClassTests, features: Features) -> Nodes:
    """Return trees with a copy of each tree for each group, below a test of the group.

    As long as all groups' tests are the same, the group is not tested yet.
    """
    states = _states_of(nodes, cut, tests, group=len(features.source) - 1)
    kept = states.reached()
    tree = np.searchsorted(nodes.roots, states.of[kept], side="right") - 1
    # A tree's first node is its root.
    kept = kept[np.lexsort((~np.isin(kept, states.roots), tree))]
    number = np.full(len(states.of) + 1, -1, dtype=np.intp)  # the last one is that of no child
    number[kept] = np.arange(len(kept))
    leaves = states.left[kept] < 0
    return Nodes(
        features,
        Tests(
            np.where(leaves, 0, states.feature[kept]),
            states.threshold[kept],
            np.zeros(len(kept), dtype=bool),
            np.where(leaves, -1, states.category[kept]),
            tests.left_sets(),
        ),
        number[states.left[kept]],
        number[states.right[kept]],
        nodes.value[states.of[kept]],
        number[states.roots],
    )


def _states_of(nodes: Nodes, cut: CutNodes, tests: _ClassTests, group: int) -> _States:
    """Return all states; `group` is the feature that says the group."""
    turned = tests.turned
    left = np.where(turned, cut.second, cut.first)
    right = np.where(turned, cut.first, cut.second)
    n_groups, n = turned.shape
    jump = np.stack([_jumps(tests.always[g], left[g], right[g]) for g in range(n_groups)])
    leaf = nodes.left < 0
    # What all groups share: a leaf, or a test with the same outcome whatever the group.
    same = (jump == jump[0]).all(axis=0)
    shared = np.where(same, (leaf | tests.alike())[jump[0]], False)
    base = n * (1 + n_groups)
    every = np.arange(n)

    def entered(places: Ints) -> Ints:
        return np.where(shared[places], jump[0][places], base + places)

    def copies(g: int, places: Ints) -> Ints:
        return n * (1 + g) + jump[g][places]

    # Leaves have children of -1, which are put right below.
    to_left = [entered(left[0])] + [copies(g, left[g]) for g in range(n_groups)]
    to_right = [entered(right[0])] + [copies(g, right[g]) for g in range(n_groups)]
    for g in range(n_groups - 1):
        to_left.append(copies(g, every))
        later = base + n * (g + 1) + every
        to_right.append(copies(n_groups - 1, every) if g == n_groups - 2 else later)
    n_split = n * (n_groups - 1)
    is_leaf = np.append(np.tile(leaf, 1 + n_groups), np.zeros(n_split, dtype=bool))
    tested = [0, *range(n_groups)]
    borders = np.repeat(np.arange(n_groups - 1), n) + 0.5
    return _States(
        np.tile(every, 2 * n_groups),
        np.where(is_leaf, -1, np.concatenate(to_left)),
        np.where(is_leaf, -1, np.concatenate(to_right)),
        np.append(tests.feature[tested].ravel(), np.full(n_split, group)),
        np.append(tests.threshold[tested].ravel(), borders),
        np.append(tests.category[tested].ravel(), np.full(n_split, -1)),
        entered(nodes.roots),
    )


def _jumps(always: Ints, left: Ints, right: Ints) -> Ints:
    """Return the node that stands for each, behind tests that always have one outcome."""
    jump = np.arange(len(always))
    jump = np.where(always > 0, left, np.where(always < 0, right, jump))
    while True:
        further = jump[jump]
        if np.array_equal(further, jump):
            return jump
        jump = further


def _lookup(grid: Grid, cut: CutNodes, j: int) -> _Lookup:
    """Return which cells of an attribute go first, of each different cut."""
    which = np.flatnonzero(cut.attribute == j)
    cut_of = np.full(len(cut.attribute), -1, dtype=np.intp)
    cuts, cut_of[which] = np.unique(cut.cut[which], return_inverse=True)
    cells = np.arange(grid.n_cells(j))
    if grid.cells[j].ordered:
        return _Lookup(cells[None] < cuts[:, None], cut_of)
    words = grid.sets[j][cuts]
    bits = (words[:, cells // WORD] >> (cells % WORD).astype(np.uint64)) & np.uint64(1)
    return _Lookup(bits.astype(bool), cut_of)


def _space_of(sizes: list[int], in_sets: set[int], n_groups: int) -> InputSpace:
    """Return a space of whole numbers below some sizes, and of the group as the last column.

    Numbers beyond the last class are like it, as they are above all thresholds. There are so many
    of them that columns are cut at thresholds, which is sooner done than to list all numbers;
    but not in columns `in_sets`, some of whose tests are sets.
    """
    ends = [
        n - 1 if k in in_sets or n < FEW else max(n - 1, MOST_TABLE_ROWS)
        for k, n in enumerate(sizes)
    ]
    ends = ends or [1]  # a space has a column beside the sensitive one
    table = np.array([[0] * (len(ends) + 1), [*ends, n_groups - 1]])
    bounds = {j: (0, int(high)) for j, high in enumerate(table[1])}
    steps = dict.fromkeys(bounds, 1)
    described = InputSpace(bounds=bounds, steps=steps, one_hot=None)
    return described.fit(table, [len(ends)])


def _with_nodes(output: Output, made: dict[int, Nodes]) -> Output:
    """Return an output that is made of other trees with the same leaves."""
    return [
        Group(
            group.link,
            group.weight,
            [
                Part(
                    part.base,
                    [(made[id(nodes)], column, factor) for nodes, column, factor in part.trees],
                    part.rounding,
                )
                for part in group.parts
            ],
            group.rounding,
        )
        for group in output
    ]
