"""The best pair of leaves of one tree in a box of the doubled domain, by descent of both twins.

Both twins start at the root. At a test that the box leaves open both children are tried, the more
promising first; a pair of nodes is given up when the best that can stand below it, highest value
less lowest value, is no better than what was found.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.compiled import njit


class Woods(NamedTuple):
    """Trees of one output, and where their attributes stand in a box."""

    attribute: NDArray[np.int64]  # -1 at a leaf
    cut: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    roots: NDArray[np.int64]
    sets: NDArray[np.uint64]
    depth: NDArray[np.int64]
    splits: NDArray[np.bool_]
    low: NDArray[np.float64]  # smallest leaf value below a node
    high: NDArray[np.float64]
    most: NDArray[np.float64]  # largest difference of a pair of leaves below a node
    ordered: NDArray[np.int64]  # by attribute
    place_one: NDArray[np.int64]
    place_two: NDArray[np.int64]
    word_start: NDArray[np.int64]
    levels: bool  # whether leaves without a sensitive test on their path matter


class Stack(NamedTuple):
    """Pairs of nodes put aside, with their boxes."""

    one: NDArray[np.int64]
    two: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    words: NDArray[np.uint64]


@njit
def outcomes(woods, node, copy, low, high, words):
    """Which children of a node the cells of a copy lead to: 1 the first, 2 the second, 3 both."""
    if woods.ordered[woods.attribute[node]]:
        cut = woods.cut[node]
        if high[copy] <= cut:
            return 1
        return 2 if low[copy] >= cut else 3
    some = 0
    start = woods.word_start[copy]
    for w in range(start, woods.word_start[copy + 1]):
        chosen = woods.sets[woods.cut[node], w - start]
        if words[w] & chosen:
            some |= 1
        if words[w] & ~chosen:
            some |= 2
    return some


@njit
def restrict(woods, node, copy, side, low, high, words):
    """Cut a box down to the cells that lead to one child."""
    if woods.ordered[woods.attribute[node]]:
        if side == 1:
            high[copy] = woods.cut[node]
        else:
            low[copy] = woods.cut[node]
        return
    start = woods.word_start[copy]
    for w in range(start, woods.word_start[copy + 1]):
        chosen = woods.sets[woods.cut[node], w - start]
        words[w] &= chosen if side == 1 else ~chosen


@njit
def promise(woods, a, b):
    """No pair of leaves below the nodes a and b differs by more."""
    return woods.most[a] if a == b else woods.high[a] - woods.low[b]


@njit
def best_pair(woods, a, b, low, high, words, ceiling, stack):
    """Largest difference below a pair of nodes in a box, and the nodes that show it.

    `ceiling` is a bound that is known already: the search ends where it is reached.
    """
    best, best_a, best_b = -np.inf, a, b
    top = 0
    stack.low[0], stack.high[0], stack.words[0] = low, high, words
    while True:
        while promise(woods, a, b) > best:
            leaf_a, leaf_b = woods.attribute[a] < 0, woods.attribute[b] < 0
            if (leaf_a and leaf_b) or (a == b and not woods.splits[a] and not woods.levels):
                best, best_a, best_b = promise(woods, a, b), a, b
                break
            by_first = not leaf_a and (leaf_b or woods.depth[a] <= woods.depth[b])
            node = a if by_first else b
            j = woods.attribute[node]
            copy = woods.place_one[j] if by_first else woods.place_two[j]
            together = a == b and woods.place_one[j] == woods.place_two[j]
            some = outcomes(
                woods, node, copy, stack.low[top], stack.high[top], stack.words[top]
            )  # fmt: skip
            first, second = woods.first[node], woods.second[node]
            a1, b1 = first if by_first else a, first if not by_first or together else b
            a2, b2 = second if by_first else a, second if not by_first or together else b
            if some == 1:
                a, b = a1, b1
            elif some == 2:
                a, b = a2, b2
            else:
                # The less promising child waits in this place, the other one goes on above it.
                up = top + 1
                stack.low[up], stack.high[up] = stack.low[top], stack.high[top]
                stack.words[up] = stack.words[top]
                side = 1 if promise(woods, a1, b1) >= promise(woods, a2, b2) else 2
                restrict(woods, node, copy, side, stack.low[up], stack.high[up], stack.words[up])
                restrict(
                    woods, node, copy, 3 - side, stack.low[top], stack.high[top], stack.words[top]
                )
                if side == 1:
                    stack.one[top], stack.two[top] = a2, b2
                    a, b = a1, b1
                else:
                    stack.one[top], stack.two[top] = a1, b1
                    a, b = a2, b2
                top = up
        top -= 1
        if top < 0 or best >= ceiling:
            return best, best_a, best_b
        a, b = stack.one[top], stack.two[top]


@njit
def best_leaf(woods, root, twin, low, high, words, stack):
    """Largest value of a leaf that the first twin can reach; smallest, negated, of the second."""
    best, leaf = -np.inf, root
    top = 0
    stack.one[0] = root
    while top >= 0:
        # The box itself decides; a path that tests an attribute twice only loosens the bound.
        node = stack.one[top]
        top -= 1
        value = woods.high[node] if twin == 0 else -woods.low[node]
        if value <= best:
            continue
        if woods.attribute[node] < 0:
            best, leaf = value, node
            continue
        j = woods.attribute[node]
        copy = woods.place_one[j] if twin == 0 else woods.place_two[j]
        some = outcomes(woods, node, copy, low, high, words)
        if some & 2:
            top += 1
            stack.one[top] = woods.second[node]
        if some & 1:
            top += 1
            stack.one[top] = woods.first[node]
    return best, leaf


@njit
def node_boxes(woods, low, high, words, lows, highs, sets):
    """Box of each node as the first twin sees it; written into the last three."""
    for t in range(len(woods.roots)):
        root = woods.roots[t]
        lows[root], highs[root], sets[root] = low, high, words
    # Children stand behind their parents.
    for node in range(len(woods.attribute)):
        if woods.attribute[node] < 0:
            continue
        copy = woods.place_one[woods.attribute[node]]
        for side in (1, 2):
            child = woods.first[node] if side == 1 else woods.second[node]
            lows[child], highs[child], sets[child] = lows[node], highs[node], sets[node]
            restrict(woods, node, copy, side, lows[child], highs[child], sets[child])


@njit
def fill_most(woods):
    """Bounds of the difference of a pair of leaves below each node; written into ``woods.most``.

    Twins who reach a node together part at a sensitive test below it, if at all.
    """
    for node in range(len(woods.attribute) - 1, -1, -1):
        j = woods.attribute[node]
        if j < 0 or not woods.splits[node]:
            woods.most[node] = 0.0
        elif woods.place_one[j] != woods.place_two[j]:
            woods.most[node] = woods.high[node] - woods.low[node]
        else:
            woods.most[node] = max(woods.most[woods.first[node]], woods.most[woods.second[node]])
