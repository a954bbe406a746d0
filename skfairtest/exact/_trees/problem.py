"""One output of a model of trees as a problem on the self-composition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._clock import check_time
from skfairtest._typing import Bools, Floats, Ints, Words
from skfairtest.exact._trees.link_bounds import (
    CODES,
    Links,
    gap_of_sums,
    interpreted_bound,
    signs,
)
from skfairtest.exact._trees.self_composition import CompositionLayout
from skfairtest.exact._trees.threshold_cells import WORD, CellGrid, CutNodes
from skfairtest.space._space import InputSpace
from skfairtest.whitebox.graph import (
    EPS,
    EXPONENTIAL,
    IDENTITY,
    SOFTMAX,
    Nodes,
    Output,
    sum_rounding,
)
from skfairtest.workers._compiled import plain

Ints64 = NDArray[np.int64]


class Forest(NamedTuple):
    """Trees of one output on cells, nodes of all trees one after another: the forest arrays."""

    attribute: Ints64  # -1 at a leaf
    cut: Ints64  # number of a cell, or a row of `sets`
    first: Ints64
    second: Ints64
    roots: Ints64
    sets: Words  # (n_sets, most words)
    depth: Ints64
    splits: Bools  # whether a sensitive attribute is tested at the node or below
    low: Floats  # smallest value of a leaf at or below the node
    high: Floats  # largest one
    most: Floats  # no two leaves at or below the node that twins reach differ by more
    ordered: Ints64  # by attribute: 1 where its cells are ordered
    place_one: Ints64  # by attribute: where the first twin's copy stands
    place_two: Ints64
    word_start: Ints64  # first word of each unordered copy, and the end
    by_value: bool  # whether the leaves' own values matter, and not their differences alone


def range_bound(space: InputSpace, output: Output) -> float:
    """A bound of an output from the ranges of its trees, before anything is cut into cells."""
    entries, groups = _entries(output)
    base = groups[0]
    D, U, V = np.zeros(len(base)), base.copy(), base.copy()
    for nodes, column, factor, part in entries:
        low, high = nodes.ranges(column, factor)
        U[part] += high.sum()
        V[part] += low.sum()
        D[part] += (high - low)[_sensitive_trees(space, nodes)].sum()
    links = Links(np.empty(0, dtype=np.int64), *groups, np.zeros(len(base)), False)
    return _bound_of_ranges(links, D, U, V)


def _bound_of_ranges(links: Links, D: Floats, U: Floats, V: Floats) -> float:
    if plain(gap_of_sums)(links, D, U, V) <= 0:
        return 0.0  # nothing takes twins apart: their outputs are the same to the last bit
    return float(interpreted_bound(links, D, U, V))


class Problem:
    """What the branch and bound works on.

    - `forest`: the trees that matter: where differences alone count, those that test a sensitive
      attribute.
    - `links`: how they make the output.
    - `output`: the same as it was read.
    - `layout`: the self-composition.
    - `node_boxes`: where each node is, once a search has worked it out.
    """

    def __init__(self, space: InputSpace, output: Output, deadline: float = np.inf) -> None:
        self.space, self.output = space, output
        self.node_boxes: Any = None
        plain = all(group.link == IDENTITY for group in output)
        entries, groups = _entries(output)
        kept = []
        for nodes, column, factor, part in entries:
            roots = np.arange(len(nodes.roots))
            if plain:
                roots = roots[_sensitive_trees(space, nodes)]
            kept.append((nodes, column, factor, part, roots))
        distinct: dict[int, Nodes] = {id(nodes): nodes for nodes, *_ in kept}
        mask = {key: np.zeros(len(nodes.left), dtype=bool) for key, nodes in distinct.items()}
        for nodes, _, _, _, roots in kept:
            mask[id(nodes)] |= _of_trees(nodes, roots) & (nodes.left >= 0)
        keys = list(distinct)
        self.grid = CellGrid(
            space, [distinct[k] for k in keys], [np.flatnonzero(mask[k]) for k in keys], deadline
        )
        check_time(deadline)
        self.layout = CompositionLayout(self.grid)
        cut = dict(zip(keys, self.grid.nodes, strict=True))
        with_cuts = [
            (nodes, cut[id(nodes)], column, factor, part, roots)
            for nodes, column, factor, part, roots in kept
        ]
        by_value = not plain
        self.forest, part_of = _forest(self.layout, with_cuts, by_value, deadline)
        units = _units(self.forest, part_of, len(groups[0]))
        # Of a softmax the sums of two classes count, which need not be multiples of one number.
        units[np.repeat(groups[2] == CODES[SOFTMAX], np.diff(groups[1]))] = 0.0
        self.links = Links(part_of, *groups, units, plain)

    def root_bound(self) -> float:
        """Return a bound from the ranges of the trees alone."""
        forest, links = self.forest, self.links
        n = len(links.base)
        D, U, V = np.zeros(n), links.base.copy(), links.base.copy()
        high, low = forest.high[forest.roots], forest.low[forest.roots]
        np.add.at(U, links.part, high)
        np.add.at(V, links.part, low)
        np.add.at(D, links.part, np.where(forest.splits[forest.roots], high - low, 0.0))
        return _bound_of_ranges(links, D, U, V)


#: Nodes, the column of their values, what it is multiplied with, and the part that it adds to.
Entry = tuple[Nodes, int, float, int]
#: The same, with the nodes' cuts and the trees that matter.
KeptTree = tuple[Nodes, CutNodes, int, float, int, Ints]


def _entries(output: Output) -> tuple[list[Entry], tuple[Floats, Ints64, Ints64, Floats, Floats]]:
    """Return the sums of trees that an output is made of, and how it is made of them."""
    entries: list[Entry] = []
    bases: list[float] = []
    slack: list[float] = []
    starts, links, weights = [0], [], []
    for group in output:
        for sign, part in zip(signs(group), group.parts, strict=True):
            for nodes, column, factor in part.trees:
                entries.append((nodes, column, sign * factor, len(bases)))
            bases.append(sign * part.base)
            in_exponent = group.link == EXPONENTIAL
            slack.append(sum_rounding(part) + 8 * EPS if in_exponent else 0.0)
        starts.append(len(bases))
        links.append(CODES[group.link])
        weights.append(group.weight)
    whole = (np.array(numbers, dtype=np.int64) for numbers in (starts, links))
    real = (np.array(numbers, dtype=np.float64) for numbers in (bases, weights, slack))
    group_start, link = whole
    base, weight, rounding = real
    return entries, (base, group_start, link, weight, rounding)


def _tree_of(nodes: Nodes) -> Ints:
    return np.searchsorted(nodes.roots, np.arange(len(nodes.left)), side="right") - 1


def _of_trees(nodes: Nodes, trees: Ints) -> NDArray[np.bool_]:
    return np.isin(_tree_of(nodes), trees)


def _sensitive_trees(space: InputSpace, nodes: Nodes) -> Ints:
    """Trees that test a sensitive attribute anywhere; the others cancel."""
    inner = nodes.left >= 0
    source = nodes.features.source[nodes.tests.feature]
    tests = inner & np.isin(source, space.sensitive)
    return np.unique(_tree_of(nodes)[tests])


def _joined_sets(grid: CellGrid) -> tuple[Words, Ints]:
    """Return the sets of all attributes one below the other, and where each attribute's begin."""
    most = max([s.shape[1] for s in grid.sets.values()], default=1)
    sets = [np.zeros((0, most), dtype=np.uint64)]
    start = np.zeros(grid.space.n_features + 1, dtype=np.intp)
    n = 0
    for j, words in grid.sets.items():
        start[j] = n
        n += len(words)
        sets.append(np.pad(words, ((0, 0), (0, most - words.shape[1]))))
    return np.concatenate(sets), start


def _forest(
    layout: CompositionLayout, kept: list[KeptTree], by_value: bool, deadline: float
) -> tuple[Forest, Ints64]:
    """Return all trees that matter, one after another, and the part that each adds to."""
    sets, set_start = _joined_sets(layout.grid)
    whole: list[list[Ints64]] = [[] for _ in range(6)]
    values: list[Floats] = [np.empty(0)]
    offset = 0
    for nodes, cut, column, factor, part, roots in kept:
        check_time(deadline)
        of = _of_trees(nodes, roots)
        number = np.cumsum(of) - 1 + offset
        attribute = cut.attribute[of]
        first, second = _skip(cut.first, cut)[of], _skip(cut.second, cut)[of]
        for field, array in zip(
            whole,
            (
                attribute,
                cut.cut[of] + set_start[attribute],
                np.where(first >= 0, number[first], -1),
                np.where(second >= 0, number[second], -1),
                number[_skip(nodes.roots[roots], cut)],
                np.full(len(roots), part),
            ),
            strict=True,
        ):
            field.append(array.astype(np.int64))
        values.append(factor * nodes.value[of, column])
        offset += int(of.sum())
    attribute, cuts, first, second, roots, part_of = (
        np.concatenate(field) if field else np.empty(0, dtype=np.int64) for field in whole
    )
    value = np.concatenate(values)
    places = [table.astype(np.int64) for table in layout.tables()]
    sensitive = places[1] != places[2]
    summaries = _summaries(sensitive, attribute, first, second, value, roots, deadline)
    starts = layout.word_start.astype(np.int64)
    tests = (attribute, cuts, first, second, roots, sets)
    copies = (places[0], places[1], places[2], starts)
    return Forest(*tests, *summaries, *copies, by_value), part_of


def _units(forest: Forest, part_of: Ints64, n_parts: int) -> Floats:
    """Return the number of which all values of a part's trees are multiples; 0 if there is none.

    Sums of leaves that say yes or no are whole numbers of votes, and so are their differences.
    """
    units = np.zeros(n_parts)
    for p in range(n_parts):
        roots = forest.roots[part_of == p]
        nodes = np.concatenate(levels_of(forest.attribute, forest.first, forest.second, roots))
        values = np.abs(forest.low[nodes[forest.attribute[nodes] < 0]])
        least = values[values > 0].min(initial=np.inf)
        shares = values / least
        if np.all(np.abs(shares - np.round(shares)) <= 1e-9) and np.isfinite(least):
            units[p] = least
    return units


def _skip(nodes: Ints, cut: CutNodes) -> Ints:
    """Return the nodes, or those behind them where a test always has one outcome."""
    nodes = nodes.copy()
    while True:
        idle = (nodes >= 0) & (cut.attribute[nodes] < 0) & (cut.first[nodes] >= 0)
        if not idle.any():
            return nodes
        nodes[idle] = cut.first[nodes[idle]]


def leaves_of(forest: Forest, cells: Ints) -> Ints:
    """Return the leaf of each tree that rows on cells reach, (n, n_trees).

    - `cells` (n, n_features): the cell of each attribute, of a row that is one twin.
    """
    n_trees = len(forest.roots)
    at = np.tile(forest.roots, len(cells))
    on = np.flatnonzero(forest.attribute[at] >= 0)
    while len(on):
        here = at[on]
        tested, cut = forest.attribute[here], forest.cut[here]
        cell = cells[on // n_trees, tested]
        goes = cell < cut
        other = np.flatnonzero(forest.ordered[tested] == 0)
        if len(other):
            words = forest.sets[cut[other], cell[other] // WORD]
            bits = words >> (cell[other] % WORD).astype(np.uint64)
            goes[other] = (bits & np.uint64(1)).astype(bool)
        at[on] = np.where(goes, forest.first[here], forest.second[here])
        on = on[forest.attribute[at[on]] >= 0]
    return at.reshape(len(cells), n_trees)


def levels_of(attribute: Ints64, first: Ints64, second: Ints64, roots: Ints64) -> list[Ints64]:
    """Return the nodes of all trees by their depth, the roots first."""
    levels = [roots]
    while True:
        inner = levels[-1][attribute[levels[-1]] >= 0]
        if not len(inner):
            return levels
        levels.append(np.concatenate([first[inner], second[inner]]))


def _summaries(
    sensitive: Bools,
    attribute: Ints64,
    first: Ints64,
    second: Ints64,
    value: Floats,
    roots: Ints64,
    deadline: float,
) -> tuple[Ints64, Bools, Floats, Floats, Floats]:
    """Return what the fields `depth`, `splits`, `low`, `high` and `most` of `Forest` say."""
    n = len(attribute)
    depth = np.zeros(n, dtype=np.int64)
    low, high = value.copy(), value.copy()
    splits, most = np.zeros(n, dtype=bool), np.zeros(n)
    levels = levels_of(attribute, first, second, roots)
    for k, here in enumerate(levels):
        depth[here] = k
    for here in reversed(levels):
        check_time(deadline)
        inner = here[attribute[here] >= 0]
        a, b = first[inner], second[inner]
        low[inner], high[inner] = np.minimum(low[a], low[b]), np.maximum(high[a], high[b])
        parts = sensitive[attribute[inner]]
        splits[inner] = splits[a] | splits[b] | parts
        # Twins who reach a node together part at a sensitive test below it, if at all.
        most[inner] = np.where(parts, high[inner] - low[inner], np.maximum(most[a], most[b]))
    return depth, splits, low, high, most
