"""Twin trees: one tree of a model, asked about both twins at once, grown where it is asked.

A twin tree is a decision tree on the doubled domain. Its leaves are the pairs of leaves that two
twins can reach together, and each node bounds the difference below it, so that the best pair in a
box is found by a descent that turns aside only where that promises more. Of a deep tree there are
very many pairs, few of which ever matter: a node stays *folded*, with a bound from the values below
the two nodes that it stands for, until a descent arrives at it.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.compiled import njit
from skfairtest.exact._trees.descend import outcomes, promise

#: Marks leaves and folded nodes among the places.
LEAF, FOLDED = 2**15 - 1, 2**15 - 2


#: A node of a twin tree. All that a descent asks of it stands together, and of two children side by
#: side, since the time of a descent is that of fetching nodes from memory.
NODE = np.dtype(
    [
        ("best", np.float64),  # bound of the difference at or below the node
        ("cut", np.int32),  # cell or number of a set
        ("first", np.int32),  # child; where there is none, the first twin's node in the tree
        ("second", np.int32),  # child; where there is none, the second twin's node
        ("parent", np.int32),
        ("place", np.int32),  # ordered copy; -1 - place of another one; LEAF or FOLDED
        ("padding", np.int32),
    ]
)


class TwinTrees(NamedTuple):
    """Nodes of twin trees; the first ones are the roots, the others come as they are grown."""

    node: NDArray[np.void]
    size: NDArray[np.int64]  # (1,) nodes so far


@njit
def plant(woods, twins):
    """Put a folded root for each tree."""
    for t in range(len(woods.roots)):
        fold(woods, twins, t, woods.roots[t], woods.roots[t], -1)
    # Pairs of children begin at even places.
    twins.size[0] = len(woods.roots) + len(woods.roots) % 2


@njit
def fold(woods, twins, node, a, b, parent):
    """A node for the pair of nodes a and b, folded unless it is a leaf."""
    nodes = twins.node
    nodes[node]["first"], nodes[node]["second"], nodes[node]["parent"] = a, b, parent
    both = woods.attribute[a] < 0 and woods.attribute[b] < 0
    end = both or (a == b and not woods.splits[a] and not woods.levels)
    nodes[node]["place"] = LEAF if end else FOLDED
    nodes[node]["best"] = promise(woods, a, b)


@njit
def open_ends(woods, boxes, a, b, copy, ordered, words):
    """Cells of one copy that the paths to a and b leave: low and high, or written to `words`."""
    if ordered:
        low, high = 0, 2**31 - 1
        if boxes.twin_ordered[copy] != 1:
            low, high = boxes.low[a, copy], boxes.high[a, copy]
        if boxes.twin_ordered[copy] != 0:
            own = boxes.first_ordered[copy]
            low, high = max(low, boxes.low[b, own]), min(high, boxes.high[b, own])
        return low, high
    for w in range(woods.word_start[copy], woods.word_start[copy + 1]):
        words[w] = ~np.uint64(0)
        if boxes.twin_word[w] != 1:
            words[w] = boxes.words[a, w]
        if boxes.twin_word[w] != 0:
            words[w] &= boxes.words[b, boxes.first_word[w]]
    return 0, 0


@njit
def unfold(woods, twins, boxes, node, stack):
    """Grow a folded node: a leaf, or a test with two children; bounds above it are renewed."""
    nodes = twins.node
    a, b = np.int64(nodes[node]["first"]), np.int64(nodes[node]["second"])
    low, high, words = stack.low[0], stack.high[0], stack.words[0]
    while True:
        leaf_a, leaf_b = woods.attribute[a] < 0, woods.attribute[b] < 0
        if (leaf_a and leaf_b) or (a == b and not woods.splits[a] and not woods.levels):
            fold(woods, twins, node, a, b, nodes[node]["parent"])
            break
        # The shallower one goes first, so that twins who part at a node can meet again below it.
        by_first = not leaf_a and (leaf_b or woods.depth[a] <= woods.depth[b])
        test = a if by_first else b
        j = woods.attribute[test]
        copy = woods.place_one[j] if by_first else woods.place_two[j]
        together = a == b and woods.place_one[j] == woods.place_two[j]
        ends = open_ends(woods, boxes, a, b, copy, woods.ordered[j] == 1, words)
        if woods.ordered[j]:
            low[copy], high[copy] = ends
        some = outcomes(woods, test, copy, low, high, words)
        one, two = woods.first[test], woods.second[test]
        a1, b1 = one if by_first else a, one if not by_first or together else b
        a2, b2 = two if by_first else a, two if not by_first or together else b
        if some == 1:
            a, b = a1, b1
        elif some == 2:
            a, b = a2, b2
        else:
            n = twins.size[0]
            twins.size[0] = n + 2
            fold(woods, twins, n, a1, b1, node)
            fold(woods, twins, n + 1, a2, b2, node)
            nodes[node]["place"] = copy if woods.ordered[j] else -1 - copy
            nodes[node]["cut"] = woods.cut[test]
            nodes[node]["first"], nodes[node]["second"] = n, n + 1
            best = max(nodes[n]["best"], nodes[n + 1]["best"])
            nodes[node]["best"] = min(nodes[node]["best"], best)
            break
    up = nodes[node]["parent"]
    while up >= 0:
        best = max(nodes[nodes[up]["first"]]["best"], nodes[nodes[up]["second"]]["best"])
        if best >= nodes[up]["best"]:
            break
        nodes[up]["best"] = best
        up = nodes[up]["parent"]


@njit
def meets_sets(leaf_words, twin_word, first_word, a, b, words, word_start):
    """Whether a pair of nodes meets the sets of a box."""
    for m in range(len(word_start) - 1):
        some = False
        for w in range(word_start[m], word_start[m + 1]):
            word = words[w]
            if twin_word[w] != 1:
                word &= leaf_words[a, w]
            if twin_word[w] != 0:
                word &= leaf_words[b, first_word[w]]
            some = some or word != 0
        if not some:
            return False
    return True


@njit
def best_twins(
    nodes, waiting, root, low, high, words, word_start, sets, leaf_words, twin_word, first_word,
    ceiling,
):  # fmt: skip
    """Largest difference in a box, the leaves that show it, and -1; stops at `ceiling`.

    Ends with the number of a folded node where it arrives at one: unfold it, and ask again. Takes
    arrays by themselves, since handing on tuples of them costs more than the descent does.
    """
    best, best_a, best_b = -np.inf, np.int64(-1), np.int64(-1)
    waiting[0] = root
    top = 0
    while top >= 0:
        at = waiting[top]
        top -= 1
        while nodes[at]["best"] > best:
            place, cut = nodes[at]["place"], nodes[at]["cut"]
            one, two = np.int64(nodes[at]["first"]), np.int64(nodes[at]["second"])
            if place >= FOLDED:
                # Sets may each meet a box of which they share no cell.
                if len(words) and not meets_sets(
                    leaf_words, twin_word, first_word, one, two, words, word_start
                ):
                    break
                if place == FOLDED:
                    return best, one, two, at
                best, best_a, best_b = nodes[at]["best"], one, two
                break
            if place >= 0:
                first, second = low[place] < cut, high[place] > cut
            else:
                first, second = False, False
                start = word_start[-1 - place]
                for w in range(start, word_start[-place]):
                    chosen = sets[cut, w - start]
                    first = first or (words[w] & chosen) != 0
                    second = second or (words[w] & ~chosen) != 0
            if first and second:
                if nodes[one]["best"] < nodes[two]["best"]:
                    one, two = two, one
                if nodes[two]["best"] > best:
                    top += 1
                    waiting[top] = two
                at = one
            else:
                at = one if first else two
        if best >= ceiling:
            break
    return best, best_a, best_b, np.int64(-1)
