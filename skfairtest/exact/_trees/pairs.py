"""Pairs of leaves that two twins can reach together, as boxes of the doubled domain.

A tree gives the two twins the leaves a and b; the pair (a, b) is possible where the paths to both
agree in the attributes that twins share. All possible pairs of a tree are boxes that divide the
doubled domain, and the tree's part in the difference of the answers is constant in each. Where they
are too many to be listed, pairs of subtrees stand for all pairs of leaves below them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.doubled_domain import Box, Layout
from skfairtest.exact._trees.grid import Words

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
    """Pairs of nodes still to be taken apart."""

    tree: Ints
    one: Ints
    two: Ints
    low: Cells32  # (n, n_ordered)
    high: Cells32
    words: Words  # (n, n_words)

    def take(self, which: NDArray[np.generic]) -> _Front:
        return _Front(*(array[which] for array in self))


def list_pairs(
    forest: Forest, layout: Layout, whole: Box, floor: Floats, whole_paths: bool, most: int
) -> Pairs:
    """All possible pairs of leaves of each tree in a box.

    Parameters
    ----------
    forest : Forest
        The trees.
    layout : Layout
        Where the copies stand in a box.
    whole : Box
        The box.
    floor : ndarray of shape (n_trees,)
        Pairs with a smaller difference are left out.
    whole_paths : bool
        Whether the leaves' own values matter. Where only differences do, both twins in a subtree
        without a sensitive split are one pair of difference 0.
    most : int
        With more pairs than this, pairs of subtrees are not taken apart any further; not much more
        than twice as many are returned.

    Returns
    -------
    Pairs
        Sorted.
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
        hopeful = forest.high[front.one] - forest.low[front.two] >= floor[front.tree]
        front = front.take(hopeful)
        over = _finished(forest, front, whole_paths)
        done.append(front.take(over))
        front, n_done = front.take(~over), n_done + len(done[-1].tree)
        if n_done + len(front.tree) > most:
            break
        front = _advance(forest, layout, front)
    return _sorted(forest, done, front)


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


def _sorted(forest: Forest, done: list[_Front], left: _Front) -> Pairs:
    """Put pairs of all trees in order: those of leaves, and those of subtrees that are left."""
    n = sum(len(front.tree) for front in done)
    tree, a, b, low, high, words = (
        np.concatenate(arrays) for arrays in zip(*done, left, strict=True)
    )
    coarse = np.arange(len(tree)) >= n
    one = np.where(coarse, forest.high[a], forest.value[a])
    two = np.where(coarse, forest.low[b], forest.value[b])
    # Twins in one subtree that nothing takes them apart in get the same answer.
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
