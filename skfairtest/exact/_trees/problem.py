"""One output of a model of trees as a problem on the doubled domain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.doubled_domain import Layout
from skfairtest.exact._trees.grid import CutNodes, Grid, Words
from skfairtest.exact._trees.pairs import Forest
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._tree_model import (
    EPS,
    EXPONENTIAL,
    IDENTITY,
    SOFTMAX,
    Nodes,
    Output,
    sum_rounding,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Sums(NamedTuple):
    """How the sums of trees make the output: groups of parts, and the part of each tree."""

    part: Ints  # (n_trees,)
    base: Floats  # (n_parts,)
    group_start: Ints  # (n_groups + 1,) first part of each group
    link: list[str]  # of each group
    weight: Floats  # of each group
    slack: Floats  # (n_parts,) rounding of a sum that stands in an exponent

    @property
    def plain(self) -> bool:
        """Whether the output is a sum of trees and nothing else."""
        return self.link == [IDENTITY]


class Problem:
    """What the branch and bound works on.

    Attributes
    ----------
    forest : Forest
        The trees that matter: where differences alone count, those that test a sensitive attribute.
    sums : Sums
        How they make the output.
    layout : Layout
        The doubled domain.
    """

    def __init__(self, space: InputSpace, output: Output) -> None:
        self.space = space
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
        self.grid = Grid(
            space, [distinct[k] for k in keys], [np.flatnonzero(mask[k]) for k in keys]
        )
        self.layout = Layout(self.grid)
        cut = dict(zip(keys, self.grid.nodes, strict=True))
        with_cuts = [
            (nodes, cut[id(nodes)], column, factor, part, roots)
            for nodes, column, factor, part, roots in kept
        ]
        self.forest, part_of = _forest(space, self.grid, with_cuts)
        self.sums = Sums(part_of, *groups)


#: Nodes, the column of their values, what it is multiplied with, and the part that it adds to.
Entry = tuple[Nodes, int, float, int]
#: The same, with the nodes' cuts and the trees that matter.
Kept = tuple[Nodes, CutNodes, int, float, int, Ints]


def _entries(output: Output) -> tuple[list[Entry], tuple[Floats, Ints, list[str], Floats, Floats]]:
    """The sums of trees that an output is made of, and how it is made of them."""
    entries: list[Entry] = []
    bases: list[float] = []
    slack: list[float] = []
    starts, links, weights = [0], [], []
    for group in output:
        for p, part in enumerate(group.parts):
            # Other classes of a softmax work against the output: their sums are turned round.
            sign = -1.0 if group.link == SOFTMAX and p else 1.0
            for nodes, column, factor in part.trees:
                entries.append((nodes, column, sign * factor, len(bases)))
            bases.append(sign * part.base)
            in_exponent = group.link == EXPONENTIAL
            slack.append(sum_rounding(part) + 8 * EPS if in_exponent else 0.0)
        starts.append(len(bases))
        links.append(group.link)
        weights.append(group.weight)
    sums = (np.array(bases), np.array(starts), links, np.array(weights), np.array(slack))
    return entries, sums


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


def _joined_sets(grid: Grid) -> tuple[Words, Ints]:
    """The sets of all attributes one below the other, and where each attribute's begin."""
    most = max([s.shape[1] for s in grid.sets.values()], default=1)
    sets = [np.zeros((0, most), dtype=np.uint64)]
    start = np.zeros(grid.space.n_features + 1, dtype=np.intp)
    n = 0
    for j, words in grid.sets.items():
        start[j] = n
        n += len(words)
        sets.append(np.pad(words, ((0, 0), (0, most - words.shape[1]))))
    return np.concatenate(sets), start


def _forest(space: InputSpace, grid: Grid, kept: list[Kept]) -> tuple[Forest, Ints]:
    """All trees that matter, one after another, and the part that each adds to."""
    sets, set_start = _joined_sets(grid)
    whole: list[list[Ints]] = [[] for _ in range(6)]
    values: list[Floats] = [np.empty(0)]
    offset = 0
    for nodes, cut, column, factor, part, roots in kept:
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
            field.append(array.astype(np.intp))
        values.append(factor * nodes.value[of, column])
        offset += int(of.sum())
    attribute, cuts, first, second, roots, part_of = (
        np.concatenate(field) if field else np.empty(0, dtype=np.intp) for field in whole
    )
    value = np.concatenate(values)
    depth, splits, low, high = _summaries(space, attribute, first, second, value, roots)
    forest = Forest(attribute, cuts, first, second, value, roots, sets, depth, splits, low, high)
    return forest, part_of


def _skip(nodes: Ints, cut: CutNodes) -> Ints:
    """The nodes, or those behind them where a test always has one outcome."""
    nodes = nodes.copy()
    while True:
        idle = (nodes >= 0) & (cut.attribute[nodes] < 0) & (cut.first[nodes] >= 0)
        if not idle.any():
            return nodes
        nodes[idle] = cut.first[nodes[idle]]


def _summaries(
    space: InputSpace, attribute: Ints, first: Ints, second: Ints, value: Floats, roots: Ints
) -> tuple[Ints, NDArray[np.bool_], Floats, Floats]:
    """Depth of each node, whether twins can part below it, smallest and largest value below it."""
    n = len(attribute)
    depth = np.zeros(n, dtype=np.intp)
    levels = [roots]
    while True:
        here = levels[-1]
        inner = here[attribute[here] >= 0]
        if not len(inner):
            break
        children = np.concatenate([first[inner], second[inner]])
        depth[children] = len(levels)
        levels.append(children)
    low, high = value.copy(), value.copy()
    splits = np.zeros(n, dtype=bool)
    for here in reversed(levels):
        inner = here[attribute[here] >= 0]
        a, b = first[inner], second[inner]
        low[inner], high[inner] = np.minimum(low[a], low[b]), np.maximum(high[a], high[b])
        splits[inner] = splits[a] | splits[b] | np.isin(attribute[inner], space.sensitive)
    return depth, splits, low, high
