"""Pairs of leaves that two twins can reach together, as boxes of the doubled domain.

A tree gives the two twins the leaves a and b; the pair (a, b) is possible where the paths to both
agree in the attributes that twins share. All possible pairs of a tree are boxes that divide the
doubled domain, and the tree's part in the difference of the answers is constant in each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._grid import Words
from skfairtest.exact._layout import Layout

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Cells32 = NDArray[np.int32]


class Forest(NamedTuple):
    """Trees of one output on cells; nodes of all trees one after another."""

    attribute: Ints  # -1 at a leaf
    cut: Ints  # number of a cell, or a row of `sets`
    first: Ints
    second: Ints
    value: Floats
    roots: Ints
    sets: Words  # (n_sets, most words)
    depth: Ints
    splits: Bools  # whether a sensitive attribute is tested at the node or below
    low: Floats  # smallest value of a leaf below the node
    high: Floats  # largest one


class Pairs(NamedTuple):
    """Possible pairs of leaves; sorted by tree, and in a tree by falling difference."""

    tree: Ints  # (n_pairs,)
    start: Ints  # (n_trees + 1,)
    one: Floats  # (n_pairs,) value of the first twin's leaf
    two: Floats
    low: Cells32  # (n_ordered, n_pairs)
    high: Cells32
    words: Words  # (n_words, n_pairs)

    @property
    def difference(self) -> Floats:
        """First twin's value less the second's."""
        return self.one - self.two


class _Front(NamedTuple):
    """Pairs of nodes still to be taken apart."""

    tree: Ints
    one: Ints
    two: Ints
    low: Cells32  # (n, n_ordered)
    high: Cells32
    words: Words  # (n, n_words)

    def take(self, which: NDArray[np.generic]) -> _Front:
        return _Front(*(array[which] for array in self))


def list_pairs(forest: Forest, layout: Layout, floor: Floats, whole_paths: bool) -> Pairs:
    """All possible pairs of leaves of each tree.

    Parameters
    ----------
    forest : Forest
        The trees.
    layout : Layout
        Where the copies stand in a box.
    floor : ndarray of shape (n_trees,)
        Pairs with a smaller difference are left out.
    whole_paths : bool
        Whether the leaves' own values matter. Where only differences do, both twins in a subtree
        without a sensitive split are one pair of difference 0.

    Returns
    -------
    Pairs
        Sorted.
    """
    n_trees = len(forest.roots)
    whole = layout.whole
    front = _Front(
        np.arange(n_trees),
        forest.roots.copy(),
        forest.roots.copy(),
        np.repeat(whole.low[None], n_trees, axis=0),
        np.repeat(whole.high[None], n_trees, axis=0),
        np.repeat(whole.words[None], n_trees, axis=0),
    )
    done: list[_Front] = []
    while len(front.tree):
        hopeful = forest.high[front.one] - forest.low[front.two] >= floor[front.tree]
        front = front.take(hopeful)
        over = _finished(forest, front, whole_paths)
        done.append(front.take(over))
        front = _advance(forest, layout, front.take(~over))
    return sort_pairs(forest, done)


def _finished(forest: Forest, front: _Front, whole_paths: bool) -> Bools:
    leaves = (forest.attribute[front.one] < 0) & (forest.attribute[front.two] < 0)
    if whole_paths:
        return leaves
    return leaves | ((front.one == front.two) & ~forest.splits[front.one])


def _advance(forest: Forest, layout: Layout, front: _Front) -> _Front:
    """Take one node of each pair apart: both at once where they are one and twins agree."""
    is_ordered, place_one, place_two = layout.tables()
    # The shallower one goes first, so that twins who part at a node can meet again below it.
    inner_one, inner_two = forest.attribute[front.one] >= 0, forest.attribute[front.two] >= 0
    by_first = inner_one & (~inner_two | (forest.depth[front.one] <= forest.depth[front.two]))
    node = np.where(by_first, front.one, front.two)
    attribute = forest.attribute[node]
    place = np.where(by_first, place_one[attribute], place_two[attribute])
    together = (front.one == front.two) & (place_one[attribute] == place_two[attribute])
    parts = []
    for side, children in enumerate((forest.first, forest.second)):
        child = children[node]
        moved = front._replace(
            one=np.where(by_first, child, front.one),
            two=np.where(~by_first | together, child, front.two),
            low=front.low.copy(),
            high=front.high.copy(),
            words=front.words.copy(),
        )
        parts.append(
            moved.take(_restrict(forest, layout, moved, node, place, is_ordered[attribute], side))
        )
    return _Front(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _restrict(
    forest: Forest,
    layout: Layout,
    front: _Front,
    node: Ints,
    place: Ints,
    is_ordered: Ints,
    side: int,
) -> Bools:
    """Cut the boxes by the tests in place; which are left with anything."""
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
        words = slice(layout.word_start[copy], layout.word_start[copy + 1])
        sets = forest.sets[forest.cut[node[own]], : words.stop - words.start]
        left = front.words[own, words] & (sets if side == 0 else ~sets)
        front.words[own, words] = left
        kept[own] = left.any(axis=1)
    return kept


def sort_pairs(forest: Forest, done: list[_Front]) -> Pairs:
    """Put pairs of all trees in order."""
    tree, one, two, low, high, words = (
        np.concatenate(arrays) for arrays in zip(*done, strict=True)
    )
    values = forest.value[one], forest.value[two]
    order = np.lexsort((values[1] - values[0], tree))
    start = np.searchsorted(tree[order], np.arange(len(forest.roots) + 1))
    return Pairs(
        tree[order],
        start,
        values[0][order],
        values[1][order],
        np.ascontiguousarray(low[order].T),
        np.ascontiguousarray(high[order].T),
        np.ascontiguousarray(words[order].T),
    )
