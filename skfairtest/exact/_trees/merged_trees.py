"""Bound the sum of trees in a box by merging trees: what several of them have at one point.

The best leaves of all trees, each taken for itself, bound their sum, but they need not share a
point. Two trees are merged by going through the pairs of their leaves that meet: the merged tree
has one leaf for each, and its best one is often worse than the two trees' best leaves together.
Merged trees are merged in their turn. What a group of trees has at best in a box bounds it in all
parts of the box, too, so that the parts of a box inherit its groups.

Of each tree only the best leaves are listed. All that is not listed has at most the value `rest`,
which counts as a leaf that fills the box.

References
----------
.. [1] Chen, H., Zhang, H., Si, S., Li, Y., Boning, D., Hsieh, C.-J. (2019). Robustness verification
   of tree-based models. Advances in Neural Information Processing Systems, 32.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.leaf_pairs import FOLDED, LEAF, SPARE_NODES, meets_sets, unfold
from skfairtest.exact._trees.link_bounds import loss_allowed
from skfairtest.exact._trees.split_choice import heaviest
from skfairtest.workers._compiled import inlined, njit

#: Most leaves in a list, and most trees of a box that are listed.
MOST_LEAVES, MOST_LISTS = 48, 128
#: Nodes that may wait while the best leaves of a tree are looked for.
MOST_WAITING = 20_000
#: Differences below are rounding.
TINY = 1e-12


class Leaves(NamedTuple):
    """Best leaves of trees in a box, a list each, best first; the last list is scratch room."""

    n_leaves: NDArray[np.int64]  # (n_lists,)
    rest: NDArray[np.float64]  # (n_lists,) the most that is not listed
    value: NDArray[np.float64]  # (n_lists, MOST_LEAVES)
    low: NDArray[np.int32]  # (n_lists, MOST_LEAVES, n_ordered) cells low <= cell < high
    high: NDArray[np.int32]
    words: NDArray[np.uint64]  # (n_lists, MOST_LEAVES, n_words)
    narrow: NDArray[np.int32]  # (n_lists, MOST_LEAVES, n_ordered) copies of which cells are missing
    n_narrow: NDArray[np.int64]  # (n_lists, MOST_LEAVES)


class Merging(NamedTuple):
    """Scratch room to merge trees."""

    tree: NDArray[np.int64]  # (n_lists,) first tree of a list
    alive: NDArray[np.int64]  # (n_lists,) 0 once a list is part of another one
    gain: NDArray[np.float64]  # (n_lists, n_lists) how much lower two lists are together
    partners: NDArray[np.int64]  # (n_lists,) others with which a list gains
    pair: NDArray[np.int64]  # (MOST_LEAVES, 2) leaves that are merged; -1 is all that is not listed
    group: NDArray[np.int64]  # (n_trees,) first tree of those that a tree is merged with
    heap: NDArray[np.int64]  # nodes that wait, the largest bound first
    key: NDArray[np.float64]


def leaves_and_merging(n_trees: int, n_ordered: int, n_words: int) -> tuple[Leaves, Merging]:
    """Return room for the leaves of a box and to merge them."""
    n = min(n_trees, MOST_LISTS) + 1
    ordered = n, MOST_LEAVES, n_ordered
    leaves = Leaves(
        np.zeros(n, np.int64), np.zeros(n), np.zeros((n, MOST_LEAVES)), np.zeros(ordered, np.int32),
        np.zeros(ordered, np.int32), np.zeros((n, MOST_LEAVES, n_words), np.uint64),
        np.zeros(ordered, np.int32), np.zeros((n, MOST_LEAVES), np.int64),
    )  # fmt: skip
    merging = Merging(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((n, n)), np.zeros(n, np.int64),
        np.zeros((MOST_LEAVES, 2), np.int64), np.zeros(n_trees, np.int64),
        np.zeros(MOST_WAITING, np.int64), np.zeros(MOST_WAITING),
    )  # fmt: skip
    return leaves, merging


@njit
def add_waiting(heap, key, n, node, bound):
    """Add a node to n that wait; return how many there are then."""
    i = n
    while i > 0:
        up = (i - 1) // 2
        if key[up] >= bound:
            break
        heap[i], key[i] = heap[up], key[up]
        i = up
    heap[i], key[i] = node, bound
    return n + 1


@njit
def drop_first(heap, key, n):
    """Drop the node with the largest bound of n that wait; return how many there are then."""
    n -= 1
    node, bound = heap[n], key[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and key[child + 1] > key[child]:
            child += 1
        if bound >= key[child]:
            break
        heap[i], key[i] = heap[child], key[child]
        i = child
    heap[i], key[i] = node, bound
    return n


@njit
def list_leaves(forest, pairs, boxes, leaves, merging, i, t, low, high, words):
    """List the best leaves of a tree with a positive value in a box as list i."""
    nodes, heap, key = pairs.node, merging.heap, merging.key
    leaves.n_leaves[i], leaves.rest[i] = 0, 0.0
    n = add_waiting(heap, key, np.int64(0), np.int64(t), nodes[t]["bound"])
    while n and key[0] > 0:
        at, bound, k = heap[0], key[0], leaves.n_leaves[i]
        place, cut = nodes[at]["place"], nodes[at]["cut"]
        one, two = np.int64(nodes[at]["first"]), np.int64(nodes[at]["second"])
        no_nodes = place == FOLDED and pairs.size[0] + SPARE_NODES >= len(nodes)
        if k == MOST_LEAVES or n + 2 > len(heap) or no_nodes:
            leaves.rest[i] = bound
            break
        n = drop_first(heap, key, n)
        if place == FOLDED:
            unfold(forest, pairs, boxes, at)
            n = add_waiting(heap, key, n, at, nodes[at]["bound"])
        elif place == LEAF:
            # Sets may each meet a box of which they share no cell.
            if not len(words) or meets_sets(
                boxes.words, boxes.twin_word, boxes.first_word, one, two, words, forest.word_start
            ):
                leaves.value[i, k] = bound
                write_cells(boxes, leaves, i, k, one, two, low, high, words)
                leaves.n_leaves[i] = k + 1
        else:
            first, second = sides_in_box(forest, place, cut, low, high, words)
            if first and nodes[one]["bound"] > 0:
                n = add_waiting(heap, key, n, one, nodes[one]["bound"])
            if second and nodes[two]["bound"] > 0:
                n = add_waiting(heap, key, n, two, nodes[two]["bound"])


@njit
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


@njit
def write_cells(boxes, leaves, i, k, a, b, low, high, words):
    """Write the cells of a box that a pair of leaves has as leaf k of list i."""
    n = 0
    for c in range(len(low)):
        least, most = low[c], high[c]
        if boxes.twin_ordered[c] != 1:
            least, most = max(least, boxes.low[a, c]), min(most, boxes.high[a, c])
        if boxes.twin_ordered[c] != 0:
            own = boxes.first_ordered[c]
            least, most = max(least, boxes.low[b, own]), min(most, boxes.high[b, own])
        leaves.low[i, k, c], leaves.high[i, k, c] = least, most
        if least > low[c] or most < high[c]:
            leaves.narrow[i, k, n] = c
            n += 1
    leaves.n_narrow[i, k] = n
    for w in range(len(words)):
        word = words[w]
        if boxes.twin_word[w] != 1:
            word &= boxes.words[a, w]
        if boxes.twin_word[w] != 0:
            word &= boxes.words[b, boxes.first_word[w]]
        leaves.words[i, k, w] = word


@inlined
def meet(leaves, word_start, i, a, j, b):
    """Whether leaf a of list i meets leaf b of list j."""
    meets = True
    for m in range(leaves.n_narrow[i, a]):
        c = leaves.narrow[i, a, m]
        least, most = leaves.low[j, b, c], leaves.high[j, b, c]
        if leaves.low[i, a, c] >= most or least >= leaves.high[i, a, c]:
            meets = False
            break
    for m in range(len(word_start) - 1 if meets else 0):
        some = False
        for w in range(word_start[m], word_start[m + 1]):
            some = some or (leaves.words[i, a, w] & leaves.words[j, b, w]) != 0
        meets = meets and some
    return meets


@inlined
def most_of(leaves, i):
    """The largest value of a list."""
    return leaves.value[i, 0] if leaves.n_leaves[i] else leaves.rest[i]


@njit
def gain_of(leaves, merging, part, word_start, i, j):
    """How much less two lists have at one point than each by itself; 0 for different sums."""
    if part[merging.tree[i]] != part[merging.tree[j]]:
        return 0.0
    one, two = most_of(leaves, i), most_of(leaves, j)
    best = max(one + leaves.rest[j], leaves.rest[i] + two)
    for a in range(leaves.n_leaves[i]):
        if leaves.value[i, a] + two <= best:
            break
        for b in range(leaves.n_leaves[j]):
            if leaves.value[i, a] + leaves.value[j, b] <= best:
                break
            if meet(leaves, word_start, i, a, j, b):
                best = leaves.value[i, a] + leaves.value[j, b]
                break
    return one + two - best


@njit
def note_pair(leaves, merging, n, value, a, b):
    """Insert a pair of leaves among n by falling values; return how many there are then."""
    if n == MOST_LEAVES:
        n -= 1
        leaves.rest[-1] = max(leaves.rest[-1], leaves.value[-1, n])
    k = n
    while k > 0 and leaves.value[-1, k - 1] < value:
        leaves.value[-1, k] = leaves.value[-1, k - 1]
        merging.pair[k, 0], merging.pair[k, 1] = merging.pair[k - 1, 0], merging.pair[k - 1, 1]
        k -= 1
    leaves.value[-1, k], merging.pair[k, 0], merging.pair[k, 1] = value, a, b
    return n + 1


@njit
def pair_leaves(leaves, merging, word_start, i, j):
    """Write the best pairs of leaves of two lists that meet; return how many these are."""
    n = 0
    leaves.rest[-1] = leaves.rest[i] + leaves.rest[j]
    for a in range(-1, leaves.n_leaves[i]):
        one = leaves.rest[i] if a < 0 else leaves.value[i, a]
        for b in range(-1, leaves.n_leaves[j]):
            value = one + (leaves.rest[j] if b < 0 else leaves.value[j, b])
            is_full = n == MOST_LEAVES and value <= leaves.value[-1, n - 1]
            if is_full:
                # Nothing of what follows is looked at, and this is the most of it.
                leaves.rest[-1] = max(leaves.rest[-1], value)
            if is_full or value <= leaves.rest[-1]:
                if b >= 0:
                    break
            elif a < 0 or b < 0 or meet(leaves, word_start, i, a, j, b):
                n = note_pair(leaves, merging, n, value, a, b)
    while n and leaves.value[-1, n - 1] <= leaves.rest[-1]:
        n -= 1
    return n


@njit
def write_pair(leaves, i, a, j, b, k):
    """Write what two leaves share as leaf k of the scratch list."""
    s, m = len(leaves.n_leaves) - 1, 0
    # Of what is not listed the other leaf alone counts.
    own, leaf = (j, b) if a < 0 else (i, a)
    for c in range(leaves.low.shape[2]):
        leaves.low[s, k, c], leaves.high[s, k, c] = (
            leaves.low[own, leaf, c],
            leaves.high[own, leaf, c],
        )
    for q in range(leaves.n_narrow[j, b] if a >= 0 and b >= 0 else 0):
        c = leaves.narrow[j, b, q]
        leaves.low[s, k, c] = max(leaves.low[s, k, c], leaves.low[j, b, c])
        leaves.high[s, k, c] = min(leaves.high[s, k, c], leaves.high[j, b, c])
    for side in range(2):
        own, leaf = (i, a) if side == 0 else (j, b)
        before = m
        for q in range(leaves.n_narrow[own, leaf] if leaf >= 0 else 0):
            c, is_known = leaves.narrow[own, leaf, q], False
            for r in range(before):
                is_known = is_known or leaves.narrow[s, k, r] == c
            if not is_known:
                leaves.narrow[s, k, m] = c
                m += 1
    leaves.n_narrow[s, k] = m
    for w in range(leaves.words.shape[2]):
        word = ~np.uint64(0)
        if a >= 0:
            word &= leaves.words[i, a, w]
        if b >= 0:
            word &= leaves.words[j, b, w]
        leaves.words[s, k, w] = word


@njit
def merge_lists(leaves, merging, word_start, i, j):
    """Merge list j into list i."""
    s, n = len(leaves.n_leaves) - 1, pair_leaves(leaves, merging, word_start, i, j)
    for k in range(n):
        write_pair(leaves, i, merging.pair[k, 0], j, merging.pair[k, 1], k)
    leaves.n_leaves[i], leaves.rest[i] = n, leaves.rest[s]
    for k in range(n):
        leaves.value[i, k], leaves.n_narrow[i, k] = leaves.value[s, k], leaves.n_narrow[s, k]
        for c in range(leaves.low.shape[2]):
            leaves.low[i, k, c], leaves.high[i, k, c] = leaves.low[s, k, c], leaves.high[s, k, c]
        for m in range(leaves.n_narrow[s, k]):
            leaves.narrow[i, k, m] = leaves.narrow[s, k, m]
        for w in range(leaves.words.shape[2]):
            leaves.words[i, k, w] = leaves.words[s, k, w]
    one, two = merging.tree[i], merging.tree[j]
    for t in range(len(merging.group)):
        if merging.group[t] == two:
            merging.group[t] = one
    merging.alive[j] = 0


@njit
def choose_pair(merging, n):
    """The two lists with the largest gain; of equal ones those that gain with the fewest others."""
    alive, gain, partners = merging.alive, merging.gain, merging.partners
    best, one, two, fewest = TINY, -1, -1, 0
    for i in range(n):
        partners[i] = 0
        for j in range(n if alive[i] else 0):
            if alive[j] and gain[max(i, j), min(i, j)] > TINY:
                partners[i] += 1
    for i in range(n):
        for j in range(i if alive[i] and partners[i] else 0):
            if not alive[j] or gain[i, j] < best * (1 - 1e-6):
                continue
            number = partners[i] + partners[j]
            if gain[i, j] > best * (1 + 1e-6) or (one >= 0 and number < fewest):
                best, one, two, fewest = gain[i, j], i, j, number
    return best, one, two


@njit
def merge_all(leaves, merging, part, word_start, n, enough):
    """Merge n lists until they have lost enough, or no two of them lose anything together."""
    lost = 0.0
    for i in range(n):
        for j in range(i):
            merging.gain[i, j] = gain_of(leaves, merging, part, word_start, i, j)
    while lost < enough:
        gain, one, two = choose_pair(merging, n)
        if one < 0:
            break
        lost += gain
        merge_lists(leaves, merging, word_start, one, two)
        for j in range(n):
            if merging.alive[j] and j != one:
                gain = gain_of(leaves, merging, part, word_start, one, j)
                merging.gain[max(one, j), min(one, j)] = gain


@njit
def merge_trees(forest, pairs, links, boxes, leaves, merging, differences, low, high, words, value):
    """Merge the trees in a box until its bound is at most a value, or as far as it goes.

    - `differences` (n_trees,): the best difference of each tree.
    - `low`, `high`, `words`: the box.
    - `n_lists`: trees that were listed. The lists are those of merged trees afterwards.
    - `n_short`: of how many not all leaves with a positive value are listed.
    """
    # As no constant: for one, two of the functions below would be compiled once more.
    total, n, n_short = 0.0, np.int64(0), 0
    for t in range(len(differences)):
        merging.group[t] = t
        total += differences[t]
    for t in heaviest(differences, np.int64(len(leaves.n_leaves) - 1)):
        if differences[t] > TINY:
            list_leaves(forest, pairs, boxes, leaves, merging, n, t, low, high, words)
            merging.tree[n], merging.alive[n] = t, 1
            n_short += 1 if leaves.rest[n] > 0 else 0
            n += 1
    enough = loss_allowed(links, total, value)
    merge_all(leaves, merging, links.part, forest.word_start, n, enough + TINY * (1 + abs(enough)))
    return n, n_short


class Groups(NamedTuple):
    """Groups of merged trees and their bounds, kept once for all boxes that inherit them."""

    first: NDArray[np.int32]  # (n_kept, n_trees) first tree of the group of a tree
    most: NDArray[np.float64]  # (n_kept, n_trees) what a group has at best, at its first tree
    n_boxes: NDArray[np.int64]  # (n_kept,) how many boxes they are for
    spare: NDArray[np.int64]  # places that are free
    n_spare: NDArray[np.int64]  # (1,)


def groups_for(n_trees: int, n: int) -> Groups:
    """Return room for n times the groups of all trees."""
    return Groups(
        np.empty((n, n_trees), np.int32), np.empty((n, n_trees)), np.zeros(n, np.int64),
        np.arange(n), np.array([n]),
    )  # fmt: skip


@inlined
def leave_groups(groups, place):
    """Note that a box needs some groups no longer; -1 is none."""
    if place >= 0:
        groups.n_boxes[place] -= 1
        if groups.n_boxes[place] == 0:
            groups.spare[groups.n_spare[0]] = place
            groups.n_spare[0] += 1


@inlined
def new_groups(groups):
    """Take a place for the groups of one box."""
    groups.n_spare[0] -= 1
    place = groups.spare[groups.n_spare[0]]
    groups.n_boxes[place] = 1
    return place


@njit
def keep_groups(groups, leaves, merging, n_lists):
    """Keep the groups that were just made; return their place."""
    place = new_groups(groups)
    for t in range(len(merging.group)):
        groups.first[place, t], groups.most[place, t] = merging.group[t], np.inf
    for i in range(n_lists):
        if merging.alive[i]:
            # Sums of the same numbers in another order.
            groups.most[place, merging.tree[i]] = most_of(leaves, i) * (1 + 1e-14)
    return place


@njit
def copy_groups(groups, place, other):
    """Copy groups to where others are kept; return their place there, or -1 if there is no room."""
    if place < 0 or other.n_spare[0] == 0:
        return np.int64(-1)
    copy = new_groups(other)
    for t in range(groups.first.shape[1]):
        other.first[copy, t], other.most[copy, t] = groups.first[place, t], groups.most[place, t]
    return copy
