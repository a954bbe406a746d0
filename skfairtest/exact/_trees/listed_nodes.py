"""List the nodes that stand for all of a tree in a box, and what they demand of a point.

A tree has very many leaves, few of which matter. A dozen nodes stand for it: those that are largest
less the prices that they pay (see `prices`) are looked into, and all others bound the leaves below
them. More nodes bound a box hardly better and take longer; of a small tree all leaves are listed.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.heap import pop, push
from skfairtest.exact._trees.leaf_pairs import (
    FOLDED,
    LEAF,
    SPARE_NODES,
    Thresholds,
    meets_sets,
    unfold,
)
from skfairtest.exact._trees.link_bounds import CODES, Links
from skfairtest.exact._trees.problem import Forest
from skfairtest.whitebox.graph import SOFTMAX
from skfairtest.workers._compiled import inner

#: Nodes that stand for a tree, at most: for a deep one, and for one that has no more leaves.
MOST_NODES, MOST_LEAVES = 12, 48
#: Sides that a node pays for, at most: what it demands beside them is free.
MOST_SIDES = 32


class Summands(NamedTuple):
    """The trees of each sum that is bounded, one after another; some are in several sums."""

    tree: NDArray[np.int64]  # (n_summands,)
    sum: NDArray[np.int64]  # (n_summands,)
    shift: NDArray[np.int64]  # (n_summands,) from the number of a tree's test to that of its own
    start: NDArray[np.int64]  # (n_summands * n_copies + 1,), as of `Thresholds`
    cut: NDArray[np.int64]


def summands_of(links: Links, thresholds: Thresholds, n_copies: int) -> Summands:
    """Return the sums that prices bound: of a softmax those of two classes, see `join_classes`."""
    parts = [[p] for p in range(len(links.base))]
    for a, b, link in zip(links.group_start[:-1], links.group_start[1:], links.link, strict=True):
        if link == CODES[SOFTMAX]:
            parts[a:b] = [], *([a, p] for p in range(a + 1, b))
    trees = [np.flatnonzero(np.isin(links.part, own)) for own in parts]
    tree = np.concatenate(trees)
    ends = thresholds.start[n_copies * np.arange(len(links.part) + 1)]
    sizes = np.diff(ends)[tree]
    shift = np.cumsum(sizes) - sizes - ends[tree]
    starts = thresholds.start[tree[:, None] * n_copies + np.arange(n_copies)] + shift[:, None]
    numbers = np.arange(sizes.sum()) - np.repeat(shift, sizes)
    return Summands(
        tree, np.repeat(np.arange(len(trees)), [len(own) for own in trees]), shift,
        np.append(starts.ravel(), sizes.sum()), thresholds.cut[numbers],
    )  # fmt: skip


class Listed(NamedTuple):
    """Nodes that stand for all of a tree in a box, and the sides that they demand."""

    start: NDArray[np.int64]  # (n_summands + 1,) first node of each tree
    rest: NDArray[
        np.float64
    ]  # (n_summands,) the most of a tree that is not listed, and pays nothing
    value: NDArray[np.float64]  # (n_nodes,)
    node: NDArray[np.int64]
    charge: NDArray[np.float64]
    n_sides: NDArray[np.int64]
    side: NDArray[np.int32]  # (n_nodes, MOST_SIDES) threshold, twice, plus 1 if above; then sides
    place: NDArray[np.int32]  # (n_nodes, MOST_SIDES) that a stricter demand has as well
    most: NDArray[np.int64]  # (n_summands,) nodes that may stand for a tree
    left: NDArray[np.float64]  # value less charges
    heap: NDArray[np.int64]  # of one tree: nodes to look into, the most that is left first
    price: NDArray[np.float64]  # (2 * n_thresholds,) with which to begin
    charges: NDArray[np.float64]


def listed_for(forest: Forest, summands: Summands) -> Listed:
    """Return room for the nodes that stand for the trees of a forest."""
    n_trees, n_sides = len(summands.tree), 2 * len(summands.cut)
    ends = np.append(forest.roots[1:], len(forest.attribute))
    n_leaves = [np.sum(forest.attribute[a:b] < 0) for a, b in zip(forest.roots, ends, strict=True)]
    most = np.where(np.array(n_leaves) <= MOST_LEAVES, MOST_LEAVES, MOST_NODES)[summands.tree]
    n = int(most.sum())
    return Listed(
        np.zeros(n_trees + 1, np.int64), np.zeros(n_trees), np.empty(n), np.empty(n, np.int64),
        np.empty(n), np.zeros(n, np.int64), np.empty((n, MOST_SIDES), np.int32),
        np.empty((n, MOST_SIDES), np.int32), most, np.empty(n), np.empty(MOST_LEAVES, np.int64),
        np.zeros(n_sides), np.zeros(n_sides),
    )  # fmt: skip


@inner
def sides_in_box(forest, place, cut, low, high, words):
    """Whether a box has cells on the first side of a test, and on the second."""
    if place >= 0:
        first, second = low[place] < cut, high[place] > cut
    else:
        first, second = False, False
        start = forest.word_start[-1 - place]
        for w in range(start, forest.word_start[-place]):
            chosen = forest.sets[cut, w - start]
            first = first or (words[w] & chosen) != 0
            second = second or (words[w] & ~chosen) != 0
    return first, second


@inner
def demand_side(listed, k, place, threshold, above):
    """Let a listed node demand a side, in place of a weaker one."""
    side, n = 2 * threshold + above, listed.n_sides[k]
    # No demand of a set follows from that of another one.
    at = 2 * place + above if place >= 0 else -1 - side
    q = 0
    while q < n and listed.place[k, q] != at:
        q += 1
    if q < n:
        listed.charge[k] -= listed.charges[listed.side[k, q]]
    if q < MOST_SIDES:
        listed.side[k, q], listed.place[k, q] = side, at
        listed.charge[k] += listed.charges[side]
        listed.n_sides[k] = max(n, q + 1)


@inner
def copy_node(listed, k, other):
    """Write a listed node to another place."""
    listed.charge[other], listed.n_sides[other] = listed.charge[k], listed.n_sides[k]
    for q in range(listed.n_sides[k]):
        listed.side[other, q], listed.place[other, q] = listed.side[k, q], listed.place[k, q]


@inner
def parts_box(forest, n_ordered, c, cut, low, high, words):
    """Whether a box has cells on either side of a test of a copy."""
    if c < n_ordered:
        first, second = low[c] < cut, cut < high[c]
    else:
        first, second = sides_in_box(forest, -1 - (c - n_ordered), cut, low, high, words)
    return first and second


@inner
def charge_tree(forest, summands, listed, t, low, high, words):
    """Add up what is paid for each side of a tree at the prices with which to begin."""
    n_ordered, price, charge, cut = len(low), listed.price, listed.charges, summands.cut
    n_copies = n_ordered + len(forest.word_start) - 1
    for c in range(n_copies):
        one, two = summands.start[t * n_copies + c], summands.start[t * n_copies + c + 1]
        if c >= n_ordered:
            for side in range(2 * one, 2 * two):
                charge[side] = price[side]
            continue
        total = 0.0
        for i in range(one, two):
            if low[c] < cut[i] < high[c]:
                total += price[2 * i + 1]
                charge[2 * i + 1] = total
        total = 0.0
        for i in range(two - 1, one - 1, -1):
            if low[c] < cut[i] < high[c]:
                total += price[2 * i]
                charge[2 * i] = total


@inner
def list_nodes(forest, pairs, boxes, summands, listed, t, low, high, words):
    """List nodes that stand for all of a tree in a box: those that count most at the prices."""
    charge_tree(forest, summands, listed, t, low, high, words)
    nodes, heap, left = pairs.node, listed.heap, listed.left
    first, n_heap = listed.start[t], np.int64(1)
    n = first + 1
    listed.node[first], listed.charge[first], listed.n_sides[first] = summands.tree[t], 0.0, 0
    shift = summands.shift[t]
    heap[0] = first
    while n_heap and n < first + listed.most[t]:
        n_heap = pop(heap, n_heap, left)
        k = heap[n_heap]
        at = listed.node[k]
        while True:
            place, cut = nodes[at]["place"], nodes[at]["cut"]
            if place == LEAF or nodes[at]["bound"] <= 0:
                break
            if place == FOLDED:
                if pairs.size[0] + SPARE_NODES >= len(nodes):
                    break
                unfold(forest, pairs, boxes, at)
                continue
            one, two = np.int64(nodes[at]["first"]), np.int64(nodes[at]["second"])
            is_first, is_second = sides_in_box(forest, place, cut, low, high, words)
            is_side = is_first and is_second
            is_first = is_first and nodes[one]["bound"] > 0
            is_second = is_second and nodes[two]["bound"] > 0
            place, threshold = np.int64(place), nodes[at]["threshold"] + shift
            if is_first and is_second:
                copy_node(listed, k, n)
                if is_side:
                    demand_side(listed, n, place, threshold, 1)
                listed.node[n], left[n] = two, nodes[two]["bound"] - listed.charge[n]
                n_heap = push(heap, n_heap, left, n)
                n += 1
            if is_first or is_second:
                if is_side:
                    demand_side(listed, k, place, threshold, 0 if is_first else 1)
                at = one if is_first else two
                if is_second and is_first:
                    left[k] = nodes[at]["bound"] - listed.charge[k]
                    n_heap = push(heap, n_heap, left, k)
                    break
            else:
                at = np.int64(-1)
                break
        listed.node[k] = at
    close_list(listed, nodes, boxes, forest.word_start, t, n, words)


@inner
def close_list(listed, nodes, boxes, word_start, t, n, words):
    """Keep the nodes that demand a side and may have a positive value; the others pay nothing."""
    kept = listed.start[t]
    for k in range(listed.start[t], n):
        at = listed.node[k]
        bound = nodes[at]["bound"] if at >= 0 else 0.0
        # Sets may each meet a box of which they share no cell.
        if bound > 0 and len(words) and nodes[at]["place"] >= FOLDED:
            one, two = np.int64(nodes[at]["first"]), np.int64(nodes[at]["second"])
            if not meets_sets(
                boxes.words, boxes.twin_word, boxes.first_word, one, two, words, word_start
            ):
                bound = 0.0
        if bound > 0 and listed.n_sides[k] == 0:
            listed.rest[t] = max(listed.rest[t], bound)
        elif bound > 0:
            if k > kept:
                copy_node(listed, k, kept)
            listed.node[kept], listed.value[kept] = at, bound
            kept += 1
    listed.start[t + 1] = kept
