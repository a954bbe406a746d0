"""Convert thresholds to cells: the finite grid on which a model of trees is constant.

Every test of a node, "feature <= threshold" or "category in set", cuts the values of one attribute
in two. All tests together cut it into *cells*, whose values no tree tells apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._clock import check_time
from skfairtest._typing import Bools, Floats, Ints, Words
from skfairtest.exact._trees.piecewise_cells import close_changes, piece_starts
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features, attribute_grid, continuous_attributes
from skfairtest.whitebox._value_order import ValueOrder
from skfairtest.whitebox.graph import Nodes, Tests, goes_left


class ColumnCells(NamedTuple):
    """ColumnCells of one attribute.

    Ordered cells: a test sends the cells below a cut to one side. Unordered: any set of them.
    """

    low: Floats  # (n_cells,) smallest value of a cell, or one of its values where it is finite
    high: Floats  # (n_cells,) largest value of a cell, or the same one
    ordered: bool
    member: Ints  # (n_values,) the cell of each value; empty for a continuous attribute


def cut_finite(
    grid: Floats,
    views: list[tuple[Features, Tests, Ints]],
    piecewise: int | None = None,
    deadline: float = np.inf,
) -> tuple[ColumnCells, list[Bools]]:
    """ColumnCells of an attribute of finitely many values.

    - `grid` (n_values,): the encoded values.
    - `views`: for each set of features: the numbers of the tests that look at this attribute.
    - `piecewise`: the attribute, if it has more values: these stand for its cells.
    - `cells`: sorted so that tests are cuts, where such an order exists.
    - `left` (n_tests, n_cells): which cells go left, for each set of features.
    """
    outcomes = []
    for features, tests, which in views:
        left = np.empty((len(which), len(grid)), dtype=bool)
        along = None if piecewise is None else features.along(piecewise, grid)
        for t in np.unique(tests.feature[which]):
            of_feature = np.flatnonzero(tests.feature[which] == t)
            values = features.table(int(t)) if along is None else along[:, t]
            rows = max(1, 1_000_000 // len(grid))  # outcomes that are held in memory
            for k in range(0, len(of_feature), rows):
                check_time(deadline)
                some = of_feature[k : k + rows]
                asked = np.repeat(which[some], len(grid))
                outcome = goes_left(np.tile(values, len(some)), tests, asked)
                left[some] = outcome.reshape(len(some), len(grid))
        outcomes.append(left)
    check_time(deadline)
    everything = np.concatenate(outcomes) if outcomes else np.empty((0, len(grid)), dtype=bool)
    distinct = everything[_distinct_rows(everything)[0]]
    check_time(deadline)
    first, member = _distinct_rows(distinct.T)
    # Turned so that they hold the same value, sets that are cuts of one order form a chain.
    turned = distinct[:, first] == distinct[:, first[:1]] if len(distinct) else distinct[:, first]
    order = np.argsort(-turned.sum(axis=0), kind="stable")
    chained = turned[:, order]
    ordered = bool((chained[:, :-1] >= chained[:, 1:]).all())
    check_time(deadline)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    encoded = grid[first[order]]
    cells = ColumnCells(encoded, encoded, ordered, rank[member])
    return cells, [left[:, first[order]] for left in outcomes]


def _distinct_rows(flags: Bools) -> tuple[Ints, Ints]:
    """Place of the first of each distinct row of booleans, in their order, and which each row is.

    As `numpy.unique` along the rows, with each row packed into one string of bytes.
    """
    if not flags.size:
        _, first, member = np.unique(flags, axis=0, return_index=True, return_inverse=True)
        return first, member.ravel()
    packed = np.ascontiguousarray(np.packbits(flags, axis=1))
    words = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, member = np.unique(words, return_index=True, return_inverse=True)
    return first, member.ravel()


def cut_continuous(
    space: InputSpace,
    attribute: int,
    views: list[tuple[Features, Tests, Ints]],
    deadline: float = np.inf,
) -> tuple[ColumnCells, list[Ints]]:
    """ColumnCells of an attribute whose features are nondecreasing.

    - `cells`: in the order of the encoded values.
    - `cuts` (n_tests,): how many cells go left, for each set of features.
    """
    low, high = _domain_bounds(space, attribute)
    lasts = []
    for features, tests, which in views:
        lasts.append(_last_left(space, attribute, features, tests, which, (low, high), deadline))
    # A border is the last value of a cell.
    borders = np.unique(np.concatenate([*lasts, [high]]))
    borders = borders[(borders >= low) & (borders <= high)]
    starts = np.concatenate([[low], _next_value(space, attribute, borders[:-1])])
    cells = ColumnCells(starts, borders, True, np.empty(0, dtype=np.intp))
    return cells, [np.searchsorted(borders, last, side="right") for last in lasts]


def _domain_bounds(space: InputSpace, attribute: int) -> tuple[float, float]:
    bounds = np.array([space.domain.low[attribute], space.domain.high[attribute]])
    if space.domain.single[attribute]:
        # Inputs are rounded to float32 after they were clipped.
        bounds = bounds.astype(np.float32).astype(np.float64)
    return float(bounds[0]), float(bounds[1])


def _next_value(space: InputSpace, attribute: int, encoded: Floats) -> Floats:
    if space.domain.discrete[attribute]:
        return encoded + 1
    if space.domain.single[attribute]:
        return np.nextafter(encoded.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    return np.nextafter(encoded, np.inf)


def _last_left(
    space: InputSpace,
    attribute: int,
    features: Features,
    tests: Tests,
    which: Ints,
    bounds: tuple[float, float],
    deadline: float,
) -> Floats:
    """Return the largest value that goes left, for each test; -inf where none does."""
    if (tests.category[which] >= 0).any():
        raise ValueError(
            f"The model splits column {space.feature_names[attribute]!r} by category, but it has "
            "too many values for a table. Declare them by InputSpace(categories=...), or narrow "
            "its domain by InputSpace(bounds=...)."
        )
    # Tests with equal threshold and feature have equal borders: ask once.
    first, back = _distinct_tests(tests, which)
    tried = which[first]
    order = ValueOrder(space, attribute)
    result = np.empty(len(tried))
    for t in np.unique(tests.feature[tried]):

        def values(encoded: Floats, t: int = int(t)) -> Floats:
            return features.evaluate(np.full(len(encoded), t), encoded)

        own = tests.feature[tried] == t
        result[own] = _last_at_most(order, bounds, values, tests.threshold[tried[own]], deadline)
    return result[back]


def _last_at_most(
    order: ValueOrder,
    bounds: tuple[float, float],
    values: Callable[[Floats], Floats],
    thresholds: Floats,
    deadline: float,
) -> Floats:
    """Return the largest value at which a nondecreasing function is at most each threshold.

    It is known at more and more values, between two neighbours of which each border lies. The next
    value is where a straight line between them meets the threshold, or half-way.
    """
    known = order.rank(np.array(bounds))
    seen = values(order.value(known))
    last = np.where(seen[-1] <= thresholds, bounds[1], -np.inf)
    open_ = np.flatnonzero((seen[0] <= thresholds) & (thresholds < seen[-1]))
    for turn in itertools.count():
        # Beyond a number that is too large all are, whatever rounding takes back of what rises.
        right = np.searchsorted(np.maximum.accumulate(seen), thresholds[open_], side="right")
        done = known[right] - known[right - 1] == 1
        last[open_[done]] = order.value(known[right[done] - 1])
        open_, right = open_[~done], right[~done]
        if not len(open_):
            return last
        check_time(deadline)
        a, b = known[right - 1], known[right]
        new = (a >> 1) + (b >> 1) + (a & b & 1)  # their difference may not fit into 64 bits
        if turn % 4 < 3:
            low, high = order.value(a), order.value(b)
            with np.errstate(all="ignore"):
                share = (thresholds[open_] - seen[right - 1]) / (seen[right] - seen[right - 1])
                place = low + np.clip(np.nan_to_num(share, nan=0.5), 0.0, 1.0) * (high - low)
            # What is straight but for its rounding ends beside the last place.
            step = np.minimum(1 << min(turn, 60), new - a)
            new = np.clip(order.rank(np.where(np.isfinite(place), place, low)), a + step, b - step)
        kept = np.unique(np.append(right, right - 1))
        new = np.unique(new)
        both = np.concatenate([known[kept], new])
        sort = np.argsort(both, kind="stable")
        seen = np.concatenate([seen[kept], values(order.value(new))])[sort]
        known = both[sort]
    raise AssertionError("a search without an end")


def _distinct_tests(tests: Tests, which: Ints) -> tuple[Ints, Ints]:
    """Place of the first of each distinct pair of feature and threshold, and which each one is."""
    feature, threshold = tests.feature[which], tests.threshold[which]
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1])
    back = np.empty(len(order), dtype=np.intp)
    back[order] = np.cumsum(new) - 1
    return order[new], back


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


class CellGrid:
    """The cells of all attributes for one or several sets of nodes.

    - `cells`: cells of each attribute that is tested at all.
    - `sets` (n_sets, n_words): sets of cells, for attributes with unordered ones.
    - `nodes`: one for each given set of nodes.
    """

    def __init__(
        self,
        space: InputSpace,
        everything: list[Nodes],
        needed: list[Ints],
        deadline: float = np.inf,
    ) -> None:
        self.space, self.deadline = space, deadline
        self.cells: dict[int, ColumnCells] = {}
        self.sets: dict[int, Words] = {}
        self.nodes = [_undecided(nodes) for nodes in everything]
        continuous = continuous_attributes(space)
        piecewise = sorted({j for nodes in everything for j in nodes.features.pieces})
        continuous[piecewise] = False
        views = self._views(piecewise, everything, needed)
        tested: set[int] = set()
        for features, tests, which in views:
            tested.update(features.source[tests.feature[which]].tolist())
        #: First values of the pieces of a piecewise monotone attribute; several may be one cell.
        self.starts = piece_starts(space, sorted(tested), views, deadline)
        for j in range(space.n_features):
            check_time(deadline)
            views = self._views([j], everything, needed)
            if not any(len(which) for _, _, which in views):
                continue
            if continuous[j]:
                self._cut_continuous(j, views)
                rounded = any(j in features.rounded for features, _, _ in views)
                if rounded and self._flickers(j, views):
                    self.starts |= piece_starts(space, [j], views, deadline)
                    self._cut_finite(j, views)
            else:
                self._cut_finite(j, views)
        for nodes, wanted, cut in zip(everything, needed, self.nodes, strict=True):
            _decide_constant(nodes, wanted, cut, self.cells)

    def _flickers(self, j: int, views: list[tuple[Features, Tests, Ints]]) -> bool:
        """Whether cuts of several features of an attribute are next to each other.

        Features rise up to rounding alone: there tests may have outcomes that no cell has.
        """
        cells, ranks, looks_at, n_before = self.cells[j], [], [], 0
        for nodes, (features, tests, which) in zip(self.nodes, views, strict=True):
            place = nodes.cut[which]
            inner = (place > 0) & (place < len(cells.high))
            ranks.append(ValueOrder(self.space, j).rank(cells.high[place[inner] - 1]))
            looks_at.append(tests.feature[which[inner]] + n_before)
            n_before += len(features.source)
        return bool(close_changes(np.concatenate(ranks), np.concatenate(looks_at))[0].any())

    @staticmethod
    def _views(
        attributes: list[int], everything: list[Nodes], needed: list[Ints]
    ) -> list[tuple[Features, Tests, Ints]]:
        views = []
        for nodes, wanted in zip(everything, needed, strict=True):
            tested = np.isin(nodes.features.source[nodes.tests.feature[wanted]], attributes)
            views.append((nodes.features, nodes.tests, wanted[tested]))
        return views

    def _cut_continuous(self, j: int, views: list[tuple[Features, Tests, Ints]]) -> None:
        self.cells[j], cuts = cut_continuous(self.space, j, views, self.deadline)
        for nodes, (_, _, which), cut in zip(self.nodes, views, cuts, strict=True):
            nodes.attribute[which] = j
            nodes.cut[which] = cut

    def _cut_finite(self, j: int, views: list[tuple[Features, Tests, Ints]]) -> None:
        if j in self.starts:
            cells, outcomes = cut_finite(self.starts[j], views, j, self.deadline)
        else:
            cells, outcomes = cut_finite(
                attribute_grid(self.space, j), views, deadline=self.deadline
            )
        self.cells[j] = cells
        check_time(self.deadline)
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
        """Return how many cells an attribute has."""
        return len(self.cells[attribute].low)

    def cell_of(self, attribute: int, encoded: Floats) -> Ints:
        """Return the cell that each of some encoded values of the domain lies in."""
        own = self.cells[attribute]
        if attribute in self.starts:
            return own.member[np.searchsorted(self.starts[attribute][1:], encoded, side="right")]
        if len(own.member):
            place = (encoded - self.space.domain.low[attribute]).astype(np.intp)
            return own.member[np.clip(place, 0, len(own.member) - 1)]
        if self.space.domain.single[attribute]:
            encoded = encoded.astype(np.float32).astype(np.float64)
        return np.minimum(np.searchsorted(own.high, encoded), len(own.high) - 1)

    def encoded(self, attribute: int, cells: Ints, share: float = 0.5) -> Floats:
        """Return a value inside each of the cells; `share` says how far from its low end."""
        own = self.cells[attribute]
        low, high = own.low[cells], own.high[cells]
        encoded = low + share * (high - low)
        if self.space.domain.discrete[attribute]:
            encoded = np.floor(encoded)
        if self.space.domain.single[attribute]:
            encoded = encoded.astype(np.float32).astype(np.float64)
        return np.clip(encoded, low, high)


def _undecided(nodes: Nodes) -> CutNodes:
    n = len(nodes.left)
    nothing = np.full(n, -1, dtype=np.intp)
    return CutNodes(nothing, np.zeros(n, dtype=np.intp), nodes.left.copy(), nodes.right.copy())


def _decide_constant(
    nodes: Nodes, wanted: Ints, cut: CutNodes, cells: dict[int, ColumnCells]
) -> None:
    """Make tests of constant features lead one way, so that both children are the same."""
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
    """Return the lowest cell of a set; -1 for the empty one."""
    for w, word in enumerate(words):
        if word:
            return w * WORD + (int(word) & -int(word)).bit_length() - 1
    return -1
