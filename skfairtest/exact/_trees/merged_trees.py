"""Bound the sum of trees in a box by merging trees: what several of them can have at one point.

The best leaves of all trees, each taken for itself, bound their sum, but they need not share a
point. Two trees are merged by going through the pairs of their leaves that meet: the merged tree has
one leaf for each, and its best one is often worse than the best leaves of the two together. Merged
trees are merged in their turn. What a group of trees has at best in a box bounds it in all parts of
the box, too, so that parts inherit the groups.

Of each tree only the best leaves are listed. Whatever lies elsewhere has at most the `rest`, which
counts as a leaf that fills the box.

References
----------
.. [1] Chen, H., Zhang, H., Si, S., Li, Y., Boning, D., Hsieh, C.-J. (2019). Robustness verification
   of tree-based models. Advances in Neural Information Processing Systems 32.
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

#: Most leaves that are listed of a tree, and most trees that are merged.
MOST_LEAVES, MOST_LISTS = 48, 128
MOST_CUTS = 12


class Lists(NamedTuple):
    """The best leaves of trees in a box, best first; the last list is scratch."""

    count: NDArray[np.int64]  # (n_lists,)
    rest: NDArray[np.float64]  # (n_lists,)
    value: NDArray[np.float64]  # (n_lists, MOST_LEAVES)
    low: NDArray[np.int32]  # (n_lists, MOST_LEAVES, n_ordered)
    high: NDArray[np.int32]
    words: NDArray[np.uint64]  # (n_lists, MOST_LEAVES, n_words)
    n_narrow: NDArray[np.int64]  # (n_lists, MOST_LEAVES) ordered copies of which a leaf lacks cells
    narrow: NDArray[np.int32]  # (n_lists, MOST_LEAVES, n_ordered) which ones
    size: NDArray[np.int64]  # (n_lists,) leaves of the tree itself
    tree: NDArray[np.int64]  # (n_lists,) a tree of the list
    alive: NDArray[np.int64]  # (n_lists,)
    degree: NDArray[np.int64]
    gain: NDArray[np.float64]  # (n_lists, n_lists)
    group: NDArray[np.int64]  # (n_trees,) first tree of the group
    pair: NDArray[np.int64]  # (MOST_LEAVES, 2)
    number: NDArray[np.int64]  # (n_trees,) list of the group of which a tree is first
    heap: NDArray[np.int64]
    key: NDArray[np.float64]


class CutRoom(NamedTuple):
    """Scratch room to choose a cut."""

    cells: NDArray[np.int64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    n_below: NDArray[np.int64]
    n_above: NDArray[np.int64]


def cut_room():
    n = 2 * MOST_LISTS + 2
    return CutRoom(np.zeros(n, np.int64), np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64))


def lists_for(n_trees, n_ordered, n_words):
    n = min(n_trees, MOST_LISTS) + 1
    return Lists(
        np.zeros(n, np.int64), np.zeros(n), np.zeros((n, MOST_LEAVES)),
        np.zeros((n, MOST_LEAVES, n_ordered), np.int32), np.zeros((n, MOST_LEAVES, n_ordered), np.int32),
        np.zeros((n, MOST_LEAVES, n_words), np.uint64), np.zeros((n, MOST_LEAVES), np.int64), np.zeros((n, MOST_LEAVES, n_ordered), np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.zeros((n, n)), np.zeros(n_trees, np.int64), np.zeros((MOST_LEAVES, 2), np.int64), np.zeros(n_trees, np.int64), np.zeros(100_000, np.int64), np.zeros(100_000),
    )


@njit
def put(heap, key, n, node, bound):
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
def take(heap, key, n):
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
def list_leaves(forest, pairs, boxes, lists, i, t, low, high, words, floor):
    """List the best leaves of a tree in a box that are above a floor, as list i."""
    nodes, heap, key = pairs.node, lists.heap, lists.key
    lists.count[i], lists.rest[i], lists.tree[i], lists.alive[i] = 0, floor, t, 1
    n = put(heap, key, 0, np.int64(t), nodes[t]["bound"])
    while n:
        at, bound = heap[0], key[0]
        if bound <= floor:
            break
        n = take(heap, key, n)
        k = lists.count[i]
        if k == MOST_LEAVES or n + 4 > len(heap):
            lists.rest[i] = bound
            break
        place, cut = nodes[at]["place"], nodes[at]["cut"]
        one, two = np.int64(nodes[at]["first"]), np.int64(nodes[at]["second"])
        if place == FOLDED:
            if pairs.size[0] + SPARE_NODES >= len(nodes):
                lists.rest[i] = bound
                break
            unfold(forest, pairs, boxes, at)
            n = put(heap, key, n, at, nodes[at]["bound"])
        elif place == LEAF:
            if len(words) and not meets_sets(
                boxes.words, boxes.twin_word, boxes.first_word, one, two, words, forest.word_start
            ):
                continue
            lists.value[i, k] = bound
            write_cell(boxes, lists, i, k, one, two, low, high, words)
            lists.count[i] = k + 1
        else:
            if place >= 0:
                first, second = low[place] < cut, high[place] > cut
            else:
                first, second = False, False
                start = forest.word_start[-1 - place]
                for w in range(start, forest.word_start[-place]):
                    chosen = forest.sets[cut, w - start]
                    first = first or (words[w] & chosen) != 0
                    second = second or (words[w] & ~chosen) != 0
            if first and nodes[one]["bound"] > floor:
                n = put(heap, key, n, one, nodes[one]["bound"])
            if second and nodes[two]["bound"] > floor:
                n = put(heap, key, n, two, nodes[two]["bound"])


@njit
def write_cell(boxes, lists, i, k, a, b, low, high, words):
    n = 0
    for c in range(len(low)):
        least, most = low[c], high[c]
        if boxes.twin_ordered[c] != 1:
            least, most = max(least, boxes.low[a, c]), min(most, boxes.high[a, c])
        if boxes.twin_ordered[c] != 0:
            own = boxes.first_ordered[c]
            least, most = max(least, boxes.low[b, own]), min(most, boxes.high[b, own])
        lists.low[i, k, c], lists.high[i, k, c] = least, most
        if least > low[c] or most < high[c]:
            lists.narrow[i, k, n] = c
            n += 1
    lists.n_narrow[i, k] = n
    for w in range(len(words)):
        word = words[w]
        if boxes.twin_word[w] != 1:
            word &= boxes.words[a, w]
        if boxes.twin_word[w] != 0:
            word &= boxes.words[b, boxes.first_word[w]]
        lists.words[i, k, w] = word


@inlined
def meet(lists, word_start, i, a, j, b):
    """Whether two leaves meet."""
    meets = True
    for m in range(lists.n_narrow[i, a]):
        c = lists.narrow[i, a, m]
        if lists.low[i, a, c] >= lists.high[j, b, c] or lists.low[j, b, c] >= lists.high[i, a, c]:
            meets = False
            break
    for m in range(len(word_start) - 1 if meets else 0):
        some = False
        for w in range(word_start[m], word_start[m + 1]):
            some = some or (lists.words[i, a, w] & lists.words[j, b, w]) != 0
        meets = meets and some
    return meets


@njit
def top(lists, i):
    return lists.value[i, 0] if lists.count[i] else lists.rest[i]


@njit
def best_together(lists, word_start, i, j):
    """Largest sum of two lists."""
    top_one, top_two = top(lists, i), top(lists, j)
    best = max(top_one + lists.rest[j], lists.rest[i] + top_two)
    for a in range(lists.count[i]):
        if lists.value[i, a] + top_two <= best:
            break
        for b in range(lists.count[j]):
            total = lists.value[i, a] + lists.value[j, b]
            if total <= best:
                break
            if meet(lists, word_start, i, a, j, b):
                best = total
                break
    return best


@njit
def note_pair(lists, k, value, a, b):
    """Note a pair of leaves by falling values among k so far; return how many there are then."""
    if k == MOST_LEAVES:
        k -= 1
        lists.rest[-1] = max(lists.rest[-1], lists.value[-1, k])
    i = k
    while i > 0 and lists.value[-1, i - 1] < value:
        lists.value[-1, i] = lists.value[-1, i - 1]
        lists.pair[i, 0], lists.pair[i, 1] = lists.pair[i - 1, 0], lists.pair[i - 1, 1]
        i -= 1
    lists.value[-1, i], lists.pair[i, 0], lists.pair[i, 1] = value, a, b
    return k + 1


@njit
def note_pairs(lists, word_start, i, j):
    """Note the best pairs of leaves of two lists that meet; return how many these are.

    Number -1 stands for what is not listed.
    """
    k = 0
    lists.rest[-1] = lists.rest[i] + lists.rest[j]
    for a in range(-1, lists.count[i]):
        one = lists.rest[i] if a < 0 else lists.value[i, a]
        for b in range(-1, lists.count[j]):
            value = one + (lists.rest[j] if b < 0 else lists.value[j, b])
            if k == MOST_LEAVES and value <= lists.value[-1, k - 1]:
                # The largest of those that nothing looks at.
                lists.rest[-1] = max(lists.rest[-1], value)
                if b >= 0:
                    break
                continue
            if value <= lists.rest[-1]:
                if b >= 0:
                    break
                continue
            if a < 0 or b < 0 or meet(lists, word_start, i, a, j, b):
                k = note_pair(lists, k, value, a, b)
    while k and lists.value[-1, k - 1] <= lists.rest[-1]:
        k -= 1
    return k


@njit
def merge(lists, word_start, i, j):
    """Write the merged list of i and j to i."""
    s = len(lists.count) - 1
    n = note_pairs(lists, word_start, i, j)
    for k in range(n):
        a, b = lists.pair[k, 0], lists.pair[k, 1]
        m = 0
        if a >= 0:
            for q in range(lists.n_narrow[i, a]):
                lists.narrow[s, k, m] = lists.narrow[i, a, q]
                m += 1
        own = m
        if b >= 0:
            for q in range(lists.n_narrow[j, b]):
                c, known = lists.narrow[j, b, q], False
                for r in range(own):
                    known = known or lists.narrow[s, k, r] == c
                if not known:
                    lists.narrow[s, k, m] = c
                    m += 1
        lists.n_narrow[s, k] = m
        for c in range(lists.low.shape[2]):
            if a < 0:
                least, most = lists.low[j, b, c], lists.high[j, b, c]
            elif b < 0:
                least, most = lists.low[i, a, c], lists.high[i, a, c]
            else:
                least = max(lists.low[i, a, c], lists.low[j, b, c])
                most = min(lists.high[i, a, c], lists.high[j, b, c])
            lists.low[s, k, c], lists.high[s, k, c] = least, most
        for w in range(lists.words.shape[2]):
            word = ~np.uint64(0)
            if a >= 0:
                word &= lists.words[i, a, w]
            if b >= 0:
                word &= lists.words[j, b, w]
            lists.words[s, k, w] = word
    lists.count[i], lists.rest[i] = n, lists.rest[s]
    for k in range(n):
        lists.value[i, k] = lists.value[s, k]
        for c in range(lists.low.shape[2]):
            lists.low[i, k, c], lists.high[i, k, c] = lists.low[s, k, c], lists.high[s, k, c]
        lists.n_narrow[i, k] = lists.n_narrow[s, k]
        for m in range(lists.n_narrow[s, k]):
            lists.narrow[i, k, m] = lists.narrow[s, k, m]
        for w in range(lists.words.shape[2]):
            lists.words[i, k, w] = lists.words[s, k, w]


@njit
def merge_trees(forest, pairs, links, boxes, pool, lists, node, weights, enough):
    """Merge trees in a box, and keep the groups with what they have at best."""
    values, low, high, words = forest.low, pool.low[node], pool.high[node], pool.words[node]
    n_trees, total = len(weights), 0.0
    for t in range(n_trees):
        a, b = pool.one[node, t], pool.two[node, t]
        weights[t] = values[a] - values[b] if a != b else 0.0
        lists.group[t] = t
        total += weights[t]
    gap = loss_allowed(links, total, enough) * (1 + 1e-9) + 1e-12
    first = heaviest(weights, np.int64(len(lists.count) - 1))
    n = 0
    for t in first:
        if weights[t] > 1e-12:
            list_leaves(forest, pairs, boxes, lists, n, t, low, high, words, 0.0)
            lists.size[n] = lists.count[n]
            n += 1
    gain = merge_all(lists, links.part, forest.word_start, n, gap)
    for t in range(n_trees):
        pool.group[node, t], pool.joint[node, t] = lists.group[t], np.inf
        lists.number[t] = -1
    for i in range(n):
        if lists.alive[i]:
            lists.number[lists.tree[i]] = i
            pool.joint[node, lists.tree[i]] = top(lists, i) * (1 + 1e-14)
    return n


@inlined
def loss(lists, i, n_left):
    """What a part of the box costs a list of which some leaves are left."""
    share = 1.0 - n_left / lists.count[i]
    return (lists.value[i, 0] - lists.rest[i]) * share * share


@inlined
def offer(below, above, place, is_ordered, cell, cut):
    """Take a cut that costs both parts more."""
    if below + above > 0:
        score = below * above / (below + above)
        if score > cut[0]:
            cut[0], cut[1], cut[2], cut[3] = score, is_ordered, place, cell


@njit
def offer_cells(lists, n, c, low, high, room, cut):
    """Offer cuts of an ordered copy, at ends of the lists' best leaves."""
    m = 0
    for i in range(n):
        for side in range(2 if lists.alive[i] and lists.count[i] else 0):
            cell = lists.low[i, 0, c] if side == 0 else lists.high[i, 0, c]
            if not low[c] < cell < high[c]:
                continue
            k = m
            while k > 0 and room.cells[k - 1] > cell:
                k -= 1
            if k > 0 and room.cells[k - 1] == cell:
                continue
            for q in range(m, k, -1):
                room.cells[q] = room.cells[q - 1]
            room.cells[k] = cell
            m += 1
    if m > MOST_CUTS:
        for k in range(MOST_CUTS):
            room.cells[k] = room.cells[(2 * k + 1) * m // (2 * MOST_CUTS)]
        m = MOST_CUTS
    for k in range(m):
        room.below[k], room.above[k] = 0.0, 0.0
    for i in range(n if m else 0):
        if not lists.alive[i] or lists.count[i] == 0:
            continue
        for k in range(m):
            room.n_below[k], room.n_above[k] = 0, 0
        for a in range(lists.count[i]):
            least, most = lists.low[i, a, c], lists.high[i, a, c]
            k = 0
            while k < m and room.cells[k] <= least:
                k += 1
            # From here on the leaf reaches below the cut.
            if k < m:
                room.n_below[k] += 1
            k = m - 1
            while k >= 0 and room.cells[k] >= most:
                k -= 1
            if k >= 0:
                room.n_above[k] += 1
        number = 0
        for k in range(m):
            number += room.n_below[k]
            room.below[k] += loss(lists, i, number)
        number = 0
        for k in range(m - 1, -1, -1):
            number += room.n_above[k]
            room.above[k] += loss(lists, i, number)
    for k in range(m):
        offer(room.below[k], room.above[k], c, 1, room.cells[k], cut)


@njit
def offer_sets(lists, n, m, word_start, words, chosen, cut):
    """Offer cuts of an unordered copy into the set of a best leaf and all others."""
    start, end, tried = word_start[m], word_start[m + 1], 0
    for j in range(n):
        if not lists.alive[j] or lists.count[j] == 0 or tried == MOST_CUTS:
            continue
        strict = False
        for w in range(start, end):
            strict = strict or (words[w] & ~lists.words[j, 0, w]) != 0
        if not strict:
            continue
        tried += 1
        inside, outside = 0.0, 0.0
        for i in range(n):
            if not lists.alive[i] or lists.count[i] == 0:
                continue
            n_in, n_out = 0, 0
            for a in range(lists.count[i]):
                some_in, some_out = False, False
                for w in range(start, end):
                    some_in = some_in or (lists.words[i, a, w] & lists.words[j, 0, w]) != 0
                    some_out = some_out or (lists.words[i, a, w] & ~lists.words[j, 0, w]) != 0
                n_in += 1 if some_in else 0
                n_out += 1 if some_out else 0
            inside += loss(lists, i, n_in)
            outside += loss(lists, i, n_out)
        before = cut[0]
        offer(inside, outside, m, 0, 0, cut)
        if cut[0] > before:
            for w in range(start, end):
                chosen[w] = lists.words[j, 0, w]


@njit
def cut_lists(lists, n, room, word_start, low, high, words, chosen, cut):
    """Write the cut that takes most of the lists from both parts; return whether there is one."""
    cut[0] = -1.0
    for c in range(len(low)):
        if high[c] - low[c] > 1:
            offer_cells(lists, n, np.int64(c), low, high, room, cut)
    for m in range(len(word_start) - 1):
        offer_sets(lists, n, np.int64(m), word_start, words, chosen, cut)
    return cut[0] >= 0


@njit
def gain_of(lists, part, word_start, i, j):
    """How much less two lists have together than each by itself."""
    if part[lists.tree[i]] != part[lists.tree[j]]:
        return 0.0
    return top(lists, i) + top(lists, j) - best_together(lists, word_start, i, j)


@njit
def best_pair(lists, n):
    """The two lists with the largest gain; of equal ones, those that gain with the fewest others."""
    tiny, best, one, two, fewest = 1e-9, 0.0, -1, -1, 0
    for i in range(n):
        lists.degree[i] = 0
        for j in range(n if lists.alive[i] else 0):
            if lists.alive[j] and lists.gain[max(i, j), min(i, j)] > tiny:
                lists.degree[i] += 1
    for i in range(n):
        for j in range(i if lists.alive[i] and lists.degree[i] else 0):
            gain = lists.gain[i, j]
            if not lists.alive[j] or gain <= tiny or gain < best * (1 - 1e-6):
                continue
            degree = lists.degree[i] + lists.degree[j]
            if gain > best * (1 + 1e-6) or degree < fewest:
                best, one, two, fewest = gain, i, j, degree
    return best, one, two


@njit
def merge_all(lists, part, word_start, n, gap):
    """Merge pairs of lists with the largest gain until the gap is closed; return the gain."""
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            lists.gain[i, j] = gain_of(lists, part, word_start, i, j) if i != j else 0.0
    while total < gap:
        gain, one, two = best_pair(lists, n)
        if one < 0:
            break
        total += gain
        merge(lists, word_start, one, two)
        lists.alive[two] = 0
        a, b = lists.tree[one], lists.tree[two]
        for t in range(len(lists.group)):
            if lists.group[t] == b:
                lists.group[t] = a
        for j in range(n):
            if lists.alive[j] and j != one:
                lists.gain[max(one, j), min(one, j)] = gain_of(lists, part, word_start, one, j)
    return total
