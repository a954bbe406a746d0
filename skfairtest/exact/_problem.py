"""One output of a model of trees as a problem on the doubled domain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._space import InputSpace
from skfairtest.exact._grid import CutNodes, Grid
from skfairtest.exact._layout import Layout
from skfairtest.exact._nodes import IDENTITY, SOFTMAX, Nodes, Output
from skfairtest.exact._pairs import Forest

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Sums(NamedTuple):
    """How the sums of trees make the output: groups of parts, and the part of each tree."""

    part: Ints  # (n_trees,)
    base: Floats  # (n_parts,)
    group_start: Ints  # (n_groups + 1,) first part of each group
    link: list[str]  # of each group
    weight: Floats  # of each group

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
        wanted = {key: np.zeros(len(nodes.left), dtype=bool) for key, nodes in distinct.items()}
        for nodes, _, _, _, roots in kept:
            wanted[id(nodes)] |= _of_trees(nodes, roots) & (nodes.left >= 0)
        keys = list(distinct)
        self.grid = Grid(
            space, [distinct[k] for k in keys], [np.flatnonzero(wanted[k]) for k in keys]
        )
        self.layout = Layout(self.grid)
        cut = dict(zip(keys, self.grid.nodes, strict=True))
        self.forest, part = _forest(space, self.grid, [
            (nodes, cut[id(nodes)], column, factor, part, roots)
            for nodes, column, factor, part, roots in kept
        ])  # fmt: skip
        self.sums = Sums(part, *groups)


def _entries(output: Output):  # type: ignore[no-untyped-def]
    entries, bases, starts, links, weights = [], [], [0], [], []
    for group in output:
        for p, part in enumerate(group.parts):
            # Other classes of a softmax work against the output: their sums are turned round.
            sign = -1.0 if group.link == SOFTMAX and p else 1.0
            for nodes, column, factor in part.trees:
                entries.append((nodes, column, sign * factor, len(bases)))
            bases.append(sign * part.base)
        starts.append(len(bases))
        links.append(group.link)
        weights.append(group.weight)
    return entries, (np.array(bases), np.array(starts), links, np.array(weights))


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


def _forest(space: InputSpace, grid: Grid, kept: list):  # type: ignore[no-untyped-def,type-arg]
    most_words = max([s.shape[1] for s in grid.sets.values()], default=1)
    sets, set_start = [np.zeros((0, most_words), dtype=np.uint64)], {}
    n_sets = 0
    for j, words in grid.sets.items():
        set_start[j] = n_sets
        n_sets += len(words)
        sets.append(np.pad(words, ((0, 0), (0, most_words - words.shape[1]))))
    fields: list[list[NDArray]] = [[] for _ in range(6)]  # type: ignore[type-arg]
    parts = []
    offset = 0
    for nodes, cut, column, factor, part, roots in kept:
        of = _of_trees(nodes, roots)
        number = np.cumsum(of) - 1 + offset
        attribute = cut.attribute[of]
        shift = np.zeros(space.n_features + 1, dtype=np.intp)
        for j, start in set_start.items():
            shift[j] = start
        first, second = _skip(cut), None
        first, second = first
        fields[0].append(attribute)
        fields[1].append(cut.cut[of] + shift[attribute])
        fields[2].append(np.where(first[of] >= 0, number[first[of]], -1))
        fields[3].append(np.where(second[of] >= 0, number[second[of]], -1))
        fields[4].append(factor * nodes.value[of, column])
        starts = _skip_roots(cut, nodes.roots[roots])
        fields[5].append(number[starts])
        parts.append(np.full(len(roots), part, dtype=np.intp))
        offset += int(of.sum())
    arrays = [np.concatenate(f) if f else np.empty(0, dtype=np.intp) for f in fields]
    attribute, cuts, first, second, value, roots = arrays
    part = np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)
    depth, splits, low, high = _summaries(space, attribute, first, second, value, roots)
    return Forest(
        attribute, cuts, first, second, value.astype(np.float64), roots, np.concatenate(sets),
        depth, splits, low, high,
    ), part  # fmt: skip


def _skip(cut: CutNodes) -> tuple[Ints, Ints]:
    """Children behind the nodes whose test always has one outcome."""
    return _skip_roots(cut, cut.first), _skip_roots(cut, cut.second)


def _skip_roots(cut: CutNodes, nodes: Ints) -> Ints:
    nodes = nodes.copy()
    while True:
        idle = (nodes >= 0) & (cut.attribute[nodes] < 0) & (cut.first[nodes] >= 0)
        if not idle.any():
            return nodes
        nodes[idle] = cut.first[nodes[idle]]


def _summaries(space, attribute, first, second, value, roots):  # type: ignore[no-untyped-def]
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
    low, high = value.astype(np.float64).copy(), value.astype(np.float64).copy()
    splits = np.zeros(n, dtype=bool)
    for here in reversed(levels):
        inner = here[attribute[here] >= 0]
        a, b = first[inner], second[inner]
        low[inner], high[inner] = np.minimum(low[a], low[b]), np.maximum(high[a], high[b])
        splits[inner] = splits[a] | splits[b] | np.isin(attribute[inner], space.sensitive)
    return depth, splits, low, high
