"""Twin trees: one tree of a model, asked about both twins at once.

A twin tree is a decision tree on the doubled domain. Its leaves are the pairs of leaves that two
twins can reach together, and each node knows the largest difference below it, so that the best pair
in a box is found by a descent that turns aside only where that promises more.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._compiled import njit
from skfairtest.exact._descend import restrict

#: Marks a leaf among the places.
LEAF = 2**15 - 1


class TwinTrees(NamedTuple):
    """Nodes of twin trees, in preorder: the first child stands right behind its parent."""

    place: NDArray[np.int16]  # ordered copy; -1 - place of another one; LEAF
    cut: NDArray[np.int32]  # cell or number of a set; at a leaf, the first twin's leaf
    other: NDArray[np.int32]  # second child; at a leaf, the second twin's leaf
    best: NDArray[np.float64]  # largest difference at or below the node
    roots: NDArray[np.int64]  # -1 for a tree whose twin tree would be too large


@njit
def room_for(array, n):
    """The array, or a copy of twice the size, so that place n exists."""
    if n < len(array):
        return array
    new = np.empty(2 * n, array.dtype)
    new[: len(array)] = array
    return new


@njit
def grow(woods, t, low, high, words, stack, most):
    """Twin tree of the tree t, numbered from 0; its size is -1 where it exceeds `most` nodes."""
    place, cut = np.empty(256, np.int16), np.empty(256, np.int32)
    other, best = np.empty(256, np.int32), np.empty(256)
    parents = np.empty(len(stack.one), np.int64)
    stack.one[0], stack.two[0], parents[0] = woods.roots[t], woods.roots[t], -1
    stack.low[0], stack.high[0], stack.words[0] = low, high, words
    n, top = 0, 0
    while top >= 0:
        a, b, parent = stack.one[top], stack.two[top], parents[top]
        while True:
            if n > most:
                return place, cut, other, best, -1
            place, cut = room_for(place, n), room_for(cut, n)
            other, best = room_for(other, n), room_for(best, n)
            leaf_a, leaf_b = woods.attribute[a] < 0, woods.attribute[b] < 0
            if (leaf_a and leaf_b) or (a == b and not woods.splits[a] and not woods.levels):
                place[n], cut[n], other[n] = LEAF, a, b
                best[n] = woods.low[a] - woods.low[b] if a != b else 0.0
                if parent >= 0:
                    other[parent] = n
                n += 1
                break
            by_first = not leaf_a and (leaf_b or woods.depth[a] <= woods.depth[b])
            node = a if by_first else b
            j = woods.attribute[node]
            copy = woods.place_one[j] if by_first else woods.place_two[j]
            together = a == b and woods.place_one[j] == woods.place_two[j]
            first, second = woods.first[node], woods.second[node]
            a1, b1 = first if by_first else a, first if not by_first or together else b
            a2, b2 = second if by_first else a, second if not by_first or together else b
            some = step(woods, node, copy, stack, top)
            if some == 1:
                a, b = a1, b1
                continue
            if some == 2:
                a, b = a2, b2
                continue
            place[n] = copy if woods.ordered[j] else -1 - copy
            cut[n] = woods.cut[node]
            if parent >= 0:
                other[parent] = n
            # The second child waits; the first one is taken up at once, so that it stands next.
            stack.one[top], stack.two[top], parents[top] = a2, b2, n
            a, b, parent = a1, b1, -1
            top += 1
            n += 1
        top -= 1
    for i in range(n - 1, -1, -1):
        if place[i] != LEAF:
            best[i] = max(best[i + 1], best[other[i]])
    return place[:n], cut[:n], other[:n], best[:n], n


@njit
def step(woods, node, copy, stack, top):
    """Which children a box allows; where both, the box of the first goes above that of the second.

    1 the first, 2 the second, 3 both.
    """
    up = top + 1
    stack.low[up], stack.high[up] = stack.low[top], stack.high[top]
    stack.words[up] = stack.words[top]
    restrict(woods, node, copy, 1, stack.low[up], stack.high[up], stack.words[up])
    if woods.ordered[woods.attribute[node]]:
        cell = woods.cut[node]
        if stack.high[top, copy] <= cell:
            return 1
        if stack.low[top, copy] >= cell:
            return 2
    else:
        some = 0
        for w in range(woods.word_start[copy], woods.word_start[copy + 1]):
            some |= 1 if stack.words[up, w] else 0
            some |= 2 if stack.words[top, w] & ~stack.words[up, w] else 0
        if some != 3:
            return some
    restrict(woods, node, copy, 2, stack.low[top], stack.high[top], stack.words[top])
    return 3


@njit
def meets_sets(boxes, a, b, words, word_start):
    """Whether a pair of leaves meets the sets of a box."""
    for m in range(len(word_start) - 1):
        some = False
        for w in range(word_start[m], word_start[m + 1]):
            word = words[w]
            if boxes.twin_word[w] != 1:
                word &= boxes.words[a, w]
            if boxes.twin_word[w] != 0:
                word &= boxes.words[b, boxes.first_word[w]]
            some = some or word != 0
        if not some:
            return False
    return True


@njit
def best_twins(twins, woods, boxes, root, low, high, words, ceiling, stack):
    """Largest difference in a box, and the leaves that show it; stops at `ceiling`."""
    best, best_a, best_b = -np.inf, -1, -1
    stack[0] = root
    top = 0
    while top >= 0:
        node = stack[top]
        top -= 1
        while twins.best[node] > best:
            place = twins.place[node]
            if place == LEAF:
                a, b = twins.cut[node], twins.other[node]
                # Sets may each meet a box of which they share no cell.
                if len(words) == 0 or meets_sets(boxes, a, b, words, woods.word_start):
                    best, best_a, best_b = twins.best[node], a, b
                break
            first, second = True, True
            if place >= 0:
                first, second = low[place] < twins.cut[node], high[place] > twins.cut[node]
            else:
                first, second = False, False
                start = woods.word_start[-1 - place]
                for w in range(start, woods.word_start[-place]):
                    chosen = woods.sets[twins.cut[node], w - start]
                    first = first or (words[w] & chosen) != 0
                    second = second or (words[w] & ~chosen) != 0
            if first and second:
                one, two = node + 1, np.int64(twins.other[node])
                if twins.best[one] < twins.best[two]:
                    one, two = two, one
                if twins.best[two] > best:
                    top += 1
                    stack[top] = two
                node = one
            elif first:
                node += 1
            else:
                node = np.int64(twins.other[node])
        if best >= ceiling:
            break
    return best, best_a, best_b
