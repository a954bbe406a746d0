"""List the nodes that stand for all of a tree in a box, and their constraints on a point.

A tree has very many leaves, few of which matter. A dozen nodes stand for it: those that are largest
less their penalties (see `multipliers`) are looked into, and all others bound the leaves below
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
#: Constraints of a node, at most: others have no multiplier.
MOST_CONSTRAINTS = 32


class Summands(NamedTuple):
    """The trees of each sum that is bounded, one after another; some are in several sums."""

    tree: NDArray[np.int64]  # (n_summands,)
    sum: NDArray[np.int64]  # (n_summands,)
    shift: NDArray[np.int64]  # (n_summands,) from the number of a tree's test to that of its own
    start: NDArray[np.int64]  # (n_summands * n_copies + 1,), as of `Thresholds`
    cut: NDArray[np.int64]


def summands_of(links: Links, thresholds: Thresholds, n_copies: int) -> Summands:
    """Return the sums to bound: of a softmax those of two classes, see `join_classes`."""
    parts = [[p] for p in range(len(links.base))]
    for a, b, link in zip(links.group_start[:-1], links.group_start[1:], links.link, strict=True):
        if link == CODES[SOFTMAX]:
            parts[a:b] = [], *([a, p] for p in range(a + 1, b))
    trees = [np.flatnonzero(np.isin(links.part, own)) for own in parts]
    tree = np.concatenate(trees)
    stops = thresholds.start[n_copies * np.arange(len(links.part) + 1)]
    sizes = np.diff(stops)[tree]
    shift = np.cumsum(sizes) - sizes - stops[tree]
    starts = thresholds.start[tree[:, None] * n_copies + np.arange(n_copies)] + shift[:, None]
    numbers = np.arange(sizes.sum()) - np.repeat(shift, sizes)
    return Summands(
        tree, np.repeat(np.arange(len(trees)), [len(own) for own in trees]), shift,
        np.append(starts.ravel(), sizes.sum()), thresholds.cut[numbers],
    )  # fmt: skip


class Listed(NamedTuple):
    """Nodes that stand for all of a tree in a box, and their constraints."""

    start: NDArray[np.int64]  # (n_summands + 1,) first node of each tree
    rest: NDArray[np.float64]  # (n_summands,) the most of a tree without penalties
    value: NDArray[np.float64]  # (n_nodes,)
    node: NDArray[np.int64]
    penalty: NDArray[np.float64]
    n_constraints: NDArray[np.int64]
    constraint: NDArray[
        np.int32
    ]  # (n_nodes, MOST_CONSTRAINTS) twice the threshold, plus 1 if above
    place: NDArray[np.int32]  # (n_nodes, MOST_CONSTRAINTS) that a stricter constraint shares
    most: NDArray[np.int64]  # (n_summands,) nodes that may stand for a tree
    left: NDArray[np.float64]  # value less penalties
    heap: NDArray[np.int64]  # of one tree: nodes to look into, the most that is left first
    multiplier: NDArray[np.float64]  # (2 * n_thresholds,) with which to begin
    penalties: NDArray[np.float64]


def listed_for(forest: Forest, summands: Summands) -> Listed:
    """Return memory for the nodes that stand for the trees of a forest."""
    n_trees, n_constraints = len(summands.tree), 2 * len(summands.cut)
    stops = np.append(forest.roots[1:], len(forest.attribute))
    n_leaves = [np.sum(forest.attribute[a:b] < 0) for a, b in zip(forest.roots, stops, strict=True)]
    most = np.where(np.array(n_leaves) <= MOST_LEAVES, MOST_LEAVES, MOST_NODES)[summands.tree]
    n = int(most.sum())
    return Listed(
        np.zeros(n_trees + 1, np.int64), np.zeros(n_trees), np.empty(n), np.empty(n, np.int64),
        np.empty(n), np.zeros(n, np.int64), np.empty((n, MOST_CONSTRAINTS), np.int32),
        np.empty((n, MOST_CONSTRAINTS), np.int32), most, np.empty(n),
        np.empty(MOST_LEAVES, np.int64), np.zeros(n_constraints), np.zeros(n_constraints),
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
def add_constraint(listed, k, place, threshold, above):
    """Give a listed node a constraint, in place of a weaker one."""
    constraint, n = 2 * threshold + above, listed.n_constraints[k]
    # No constraint of a set follows from that of another one.
    at = 2 * place + above if place >= 0 else -1 - constraint
    q = 0
    while q < n and listed.place[k, q] != at:
        q += 1
    if q < n:
        listed.penalty[k] -= listed.penalties[listed.constraint[k, q]]
    if q < MOST_CONSTRAINTS:
        listed.constraint[k, q], listed.place[k, q] = constraint, at
        listed.penalty[k] += listed.penalties[constraint]
        listed.n_constraints[k] = max(n, q + 1)


@inner
def copy_node(listed, k, other):
    """Write a listed node to another place."""
    listed.penalty[other], listed.n_constraints[other] = listed.penalty[k], listed.n_constraints[k]
    for q in range(listed.n_constraints[k]):
        listed.constraint[other, q], listed.place[other, q] = (
            listed.constraint[k, q],
            listed.place[k, q],
        )


@inner
def parts_box(forest, n_ordered, c, cut, low, high, words):
    """Whether a box has cells on either side of a test of a copy."""
    if c < n_ordered:
        first, second = low[c] < cut, cut < high[c]
    else:
        first, second = sides_in_box(forest, -1 - (c - n_ordered), cut, low, high, words)
    return first and second


@inner
def sum_tree_penalties(forest, summands, listed, t, low, high, words):
    """Add up the penalty of each constraint of a tree at the first multipliers."""
    n_ordered, multiplier, penalty, cut = (
        len(low),
        listed.multiplier,
        listed.penalties,
        summands.cut,
    )
    n_copies = n_ordered + len(forest.word_start) - 1
    for c in range(n_copies):
        one, two = summands.start[t * n_copies + c], summands.start[t * n_copies + c + 1]
        if c >= n_ordered:
            for constraint in range(2 * one, 2 * two):
                penalty[constraint] = multiplier[constraint]
            continue
        total = 0.0
        for i in range(one, two):
            if low[c] < cut[i] < high[c]:
                total += multiplier[2 * i + 1]
                penalty[2 * i + 1] = total
        total = 0.0
        for i in range(two - 1, one - 1, -1):
            if low[c] < cut[i] < high[c]:
                total += multiplier[2 * i]
                penalty[2 * i] = total


@inner
def list_nodes(forest, pairs, boxes, summands, listed, t, low, high, words):
    """List nodes that stand for all of a tree in a box: those of largest reduced value."""
    sum_tree_penalties(forest, summands, listed, t, low, high, words)
    nodes, heap, left = pairs.node, listed.heap, listed.left
    first, n_heap = listed.start[t], np.int64(1)
    n = first + 1
    listed.node[first], listed.penalty[first], listed.n_constraints[first] = (
        summands.tree[t],
        0.0,
        0,
    )
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
            is_constrained = is_first and is_second
            is_first = is_first and nodes[one]["bound"] > 0
            is_second = is_second and nodes[two]["bound"] > 0
            place, threshold = np.int64(place), nodes[at]["threshold"] + shift
            if is_first and is_second:
                copy_node(listed, k, n)
                if is_constrained:
                    add_constraint(listed, n, place, threshold, 1)
                listed.node[n], left[n] = two, nodes[two]["bound"] - listed.penalty[n]
                n_heap = push(heap, n_heap, left, n)
                n += 1
            if is_first or is_second:
                if is_constrained:
                    add_constraint(listed, k, place, threshold, 0 if is_first else 1)
                at = one if is_first else two
                if is_second and is_first:
                    left[k] = nodes[at]["bound"] - listed.penalty[k]
                    n_heap = push(heap, n_heap, left, k)
                    break
            else:
                at = np.int64(-1)
                break
        listed.node[k] = at
    close_list(listed, nodes, boxes, forest.word_start, t, n, words)


@inner
def close_list(listed, nodes, boxes, word_start, t, n, words):
    """Keep the nodes that have constraints and may have a positive value."""
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
        if bound > 0 and listed.n_constraints[k] == 0:
            listed.rest[t] = max(listed.rest[t], bound)
        elif bound > 0:
            if k > kept:
                copy_node(listed, k, kept)
            listed.node[kept], listed.value[kept] = at, bound
            kept += 1
    listed.start[t + 1] = kept
