"""The branch and bound, compiled: open boxes in one pool, the largest bound first.

A box is kept with the best pair of leaves of every tree in it, the *heads*. The two parts of a box
inherit the heads that the cut leaves alone; only the other trees are asked anew.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.compiled import njit
from skfairtest.exact._trees.descend import best_leaf, best_pair
from skfairtest.exact._trees.heap import pop, push
from skfairtest.exact._trees.leaf_pairs import best_twins, unfold
from skfairtest.exact._trees.link_bounds import bound_of_sums, gap_of_sums, loss_allowed
from skfairtest.exact._trees.split_choice import (
    CELL,
    ORDERED,
    PLACE,
    common,
    gather_heads,
    propose,
)

#: Twin trees have room for another question when so many nodes are left.
SPARE_NODES = 100_000
#: Trees whose heads propose cuts. Trying several cuts out costs more than it saves.
PROPOSERS = 30


class NodeBoxes(NamedTuple):
    """Box of every node as the first twin sees it, and how to read it for the second."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    words: NDArray[np.uint64]
    twin_ordered: NDArray[np.int64]  # by copy: 0 the first twin's, 1 the second's, 2 of both
    first_ordered: NDArray[np.int64]  # by copy: where the first twin's stands
    twin_word: NDArray[np.int64]
    first_word: NDArray[np.int64]


class Heads(NamedTuple):
    """Boxes of the best pairs, one a tree; of each copy all trees side by side."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    words: NDArray[np.uint64]


@njit
def difference(values, a, b):
    """Difference of a head."""
    return values[a] - values[b] if a != b else 0.0


@njit
def bound_box(woods, links, pool, node):
    """Bound of the output's difference from the heads of a box."""
    n = len(links.base)
    D, U, V = np.zeros(n), links.base.copy(), links.base.copy()
    values, one, two = woods.low, pool.one[node], pool.two[node]
    for t in range(len(woods.roots)):
        part = links.part[t]
        D[part] += difference(values, one[t], two[t])
        if woods.levels:
            U[part] += woods.low[pool.top[node, t]]
            V[part] += woods.low[pool.bottom[node, t]]
    return bound_of_sums(links, D, U, V)


@njit
def sum_of_heads(values, one, two):
    """Sum of the trees' largest differences in a box."""
    total = 0.0
    for t in range(len(one)):
        total += difference(values, one[t], two[t])
    return total


@njit
def value_of_heads(woods, links, pool, node):
    """The output's difference where every tree has its head, and its bound with rounding."""
    U, V = links.base.copy(), links.base.copy()
    for t in range(len(woods.roots)):
        U[links.part[t]] += woods.low[pool.one[node, t]]
        V[links.part[t]] += woods.low[pool.two[node, t]]
    return gap_of_sums(links, U - V, U, V), bound_of_sums(links, U - V, U, V)


@njit
def ask_tree(woods, twins, boxes, t, low, high, words, ceiling, stack):
    """Best pair of one tree in a box."""
    while twins.size[0] + SPARE_NODES < len(twins.node):
        best, a, b, folded = best_twins(
            twins.node, stack.one, t, low, high, words, woods.word_start, woods.sets, boxes.words,
            boxes.twin_word, boxes.first_word, ceiling,
        )  # fmt: skip
        if folded < 0:
            return best, a, b
        unfold(woods, twins, boxes, folded, stack)
    root = woods.roots[t]
    return best_pair(woods, root, root, low, high, words, ceiling, stack)


@njit
def descend_child(
    woods, twins, boxes, pool, heads, parent, child, ordered, place, total, enough, stack
):
    """Heads of a child: the parent's where they survive; the sum of their differences.

    Ends early, with minus infinity, where the sum falls to `enough`.
    """
    low, high, words = pool.low[child], pool.high[child], pool.words[child]
    ones, twos = pool.one[child], pool.two[child]
    ones[:], twos[:] = pool.one[parent], pool.two[parent]
    # Arrays by themselves: handing on tuples of them for every tree would take most of the time.
    values, nodes, waiting, sets = woods.low, twins.node, stack.one, woods.sets
    word_start, leaf_words = woods.word_start, boxes.words
    twin_word, first_word = boxes.twin_word, boxes.first_word
    head_low, head_high, head_words = heads.low, heads.high, heads.words
    for t in range(len(ones)):
        if ordered:
            if max(low[place], head_low[place, t]) < min(high[place], head_high[place, t]):
                continue
        else:
            alive = False
            for w in range(word_start[place], word_start[place + 1]):
                alive = alive or (words[w] & head_words[w, t]) != 0
            if alive:
                continue
        was = difference(values, ones[t], twos[t])
        now, a, b, folded = best_twins(
            nodes, waiting, t, low, high, words, word_start, sets, leaf_words, twin_word,
            first_word, was,
        )  # fmt: skip
        if folded >= 0:
            now, a, b = ask_tree(woods, twins, boxes, t, low, high, words, was, stack)
        ones[t], twos[t] = a, b
        total += now - was
        if total <= enough:
            return -np.inf
    return total


@njit
def level_child(woods, boxes, pool, parent, child, ordered, place, stack):
    """Extreme leaves of a child: the parent's where they survive."""
    low, high, words = pool.low[child], pool.high[child], pool.words[child]
    for t in range(len(woods.roots)):
        for twin in range(2):
            kept = pool.top if twin == 0 else pool.bottom
            leaf = kept[parent, t]
            kept[child, t] = leaf
            # Of an extreme leaf only one twin's box counts.
            if ordered:
                of = boxes.twin_ordered[place]
                own = boxes.first_ordered[place] if twin else place
                least = max(low[place], boxes.low[leaf, own])
                alive = least < min(high[place], boxes.high[leaf, own])
            else:
                of = boxes.twin_word[woods.word_start[place]]
                alive = False
                for w in range(woods.word_start[place], woods.word_start[place + 1]):
                    own = boxes.first_word[w] if twin else w
                    alive = alive or (words[w] & boxes.words[leaf, own]) != 0
            if of != 2 and of != twin:
                continue
            if not alive:
                _, kept[child, t] = best_leaf(
                    woods, woods.roots[t], twin, low, high, words, stack
                )  # fmt: skip


@njit
def halves(woods, cut, heads, pool, node, first, second):
    """Write the two parts that a cut makes of a box."""
    for k in (first, second):
        pool.low[k], pool.high[k], pool.words[k] = pool.low[node], pool.high[node], pool.words[node]
    place = int(cut[PLACE])
    if cut[ORDERED] == 1:
        pool.high[first, place] = int(cut[CELL])
        pool.low[second, place] = int(cut[CELL])
        return
    for w in range(woods.word_start[place], woods.word_start[place + 1]):
        pool.words[first, w] &= heads.words[w, int(cut[CELL])]
        pool.words[second, w] &= ~heads.words[w, int(cut[CELL])]


@njit
def settle(woods, links, boxes, pool, node, heads, weights, state):
    """Try the point that all heads share; whether the box is done with it."""
    last = len(pool.bound) - 1
    gather_heads(boxes, pool.one[node], pool.two[node], heads)
    values, ones, twos = woods.low, pool.one[node], pool.two[node]
    for t in range(len(weights)):
        weights[t] = abs(difference(values, ones[t], twos[t])) + 1e-12
        if woods.levels:
            weights[t] += values[pool.top[node, t]] - values[ones[t]]
            weights[t] += values[twos[t]] - values[pool.bottom[node, t]]
    pool.low[last], pool.high[last] = pool.low[node], pool.high[node]
    pool.words[last] = pool.words[node]
    if not common(heads, woods.word_start, pool.low[last], pool.high[last], pool.words[last]):
        return False
    value = limit = pool.bound[node]
    if woods.levels:
        value, limit = value_of_heads(woods, links, pool, node)
    if value > state[0]:
        state[0], state[3] = value, 1
        pool.low[last - 1], pool.high[last - 1] = pool.low[last], pool.high[last]
        pool.words[last - 1] = pool.words[last]
    return pool.bound[node] <= limit + 1e-13 * abs(limit)


@njit
def branch(
    woods, twins, links, boxes, pool, node, children, heads, weights, cut, state, limits, stack
):
    """Cut a box in two and bound both parts; minus infinity for one that is done with."""
    first, second = children
    low, high, words = pool.low[node], pool.high[node], pool.words[node]
    args = (heads, weights, woods.word_start, low, high, words, cut)
    # Nothing may be dropped for want of a cut: if need be every head is asked for one, everywhere.
    found = propose(*args, PROPOSERS, False) or propose(*args, len(weights), True)
    pool.bound[first] = pool.bound[second] = -np.inf
    if not found:
        state[1] = max(state[1], pool.bound[node])
        return  # all heads fill the box: it was settled exactly
    total = sum_of_heads(woods.low, pool.one[node], pool.two[node])
    enough = total - loss_allowed(links, total, state[0])
    halves(woods, cut, heads, pool, node, first, second)
    ordered, place = cut[ORDERED] == 1, int(cut[PLACE])
    for child in children:
        finish_child(
            woods, twins, links, boxes, pool, heads, node, child, ordered, place, (total, enough),
            state, limits, stack,
        )  # fmt: skip


@njit
def finish_child(
    woods, twins, links, boxes, pool, heads, node, child, ordered, place, sums, state, limits,
    stack,
):  # fmt: skip
    """Heads and bound of a part that is kept."""
    total = descend_child(
        woods, twins, boxes, pool, heads, node, child, ordered, place, sums[0], sums[1], stack
    )  # fmt: skip
    if total == -np.inf:
        # Its bound is what is known, up to rounding.
        return
    if woods.levels:
        level_child(woods, boxes, pool, node, child, ordered, place, stack)
    bound = min(pool.bound[node], bound_box(woods, links, pool, child))
    # A box that cannot raise the largest bound that was dropped changes nothing either.
    if bound > max(state[0] + limits[1] * abs(state[0]), state[1]):
        pool.bound[child] = bound
    else:
        state[1] = max(state[1], bound)


@njit
def start(woods, twins, links, boxes, pool, stack):
    """Put the whole domain into the first place; its heads and its bound."""
    low, high, words = pool.low[0], pool.high[0], pool.words[0]
    for t in range(len(woods.roots)):
        root = woods.roots[t]
        _, a, b = ask_tree(woods, twins, boxes, t, low, high, words, np.inf, stack)
        pool.one[0, t], pool.two[0, t] = a, b
        if woods.levels:
            _, pool.top[0, t] = best_leaf(woods, root, 0, low, high, words, stack)
            _, pool.bottom[0, t] = best_leaf(woods, root, 1, low, high, words, stack)
    pool.bound[0] = bound_box(woods, links, pool, 0)


@njit
def dive(woods, twins, links, boxes, pool, heads, state, limits, stack):
    """Take open boxes apart until none is left that may hold more, or patience or room end.

    Parameters
    ----------
    woods, twins, links, boxes, pool, heads, stack : named tuples
        The trees, their twin trees, how they make the output, the nodes' boxes, open boxes, and
        scratch room.
    state : ndarray of shape (6,)
        Largest value known, largest bound dropped, boxes opened, 1 where a better point was found,
        boxes open, spare places; is written to.
    limits : ndarray of shape (2,)
        Most boxes in this call; relative tolerance.
    """
    n_open, n_spare = int(state[4]), int(state[5])
    n_trees = len(woods.roots)
    weights = np.empty(n_trees)
    cut = np.empty(4)
    n = 0
    while n_open > 0 and n < limits[0] and n_spare >= 2:
        node = pool.heap[0]
        if pool.bound[node] <= max(state[0] + limits[1] * abs(state[0]), state[1]):
            state[1] = max(state[1], pool.bound[node])
            n_open = 0
            break
        n_open = pop(pool.heap, n_open, pool.bound)
        n += 1
        if settle(woods, links, boxes, pool, node, heads, weights, state):
            state[1] = max(state[1], pool.bound[node])
        else:
            children = (pool.spare[n_spare - 1], pool.spare[n_spare - 2])
            n_spare -= 2
            branch(
                woods, twins, links, boxes, pool, node, children, heads, weights, cut, state,
                limits, stack,
            )  # fmt: skip
            for child in children:
                if pool.bound[child] > -np.inf:
                    n_open = push(pool.heap, n_open, pool.bound, child)
                else:
                    pool.spare[n_spare] = child
                    n_spare += 1
        pool.spare[n_spare] = node
        n_spare += 1
    state[2] += n
    state[4], state[5] = n_open, n_spare
