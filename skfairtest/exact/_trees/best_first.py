"""Best-first branch and bound, compiled: open boxes in one pool, the largest bound first.

A box is kept with the best pair of leaves of every tree in it. The two parts of a box inherit the
pairs that the cut leaves alone; only the other trees are asked anew. Before a box is cut,
Lagrangian multipliers may tighten its bound (`box_bounds`), which takes as long as to cut some
forty boxes.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.heap import pop, push
from skfairtest.exact._trees.leaf_pairs import ask_tree, best_leaf, best_twins, plant
from skfairtest.exact._trees.link_bounds import bound_of_sums, gap_of_sums, sum_enough
from skfairtest.exact._trees.multipliers import (
    KeptMultipliers,
    copy_multipliers,
    release_multipliers,
)
from skfairtest.exact._trees.split_choice import (
    CELL,
    ORDERED,
    PLACE,
    SCORE,
    VALUE_GAP,
    VALUE_TURN,
    by_differences,
    collect_boxes,
    common,
    propose,
)
from skfairtest.workers._compiled import inner, njit

#: Trees whose best pairs propose cuts. Trying several cuts out costs more than it saves.
PROPOSERS = 30
#: Places of what a search knows: largest value known, largest bound dropped, boxes opened, 1 where
#: a better point was found, boxes open, spare places (-1: not begun), a box that was just tightened
#: (or one of the two below), the bound of the box that is to be cut by each tree for itself, and
#: two growths of boxes, see `is_to_be_tightened`.
INCUMBENT, DROPPED, OPENED, FOUND, N_OPEN, N_SPARE, TIGHTENED = 0, 1, 2, 3, 4, 5, 6
OWN_BOUND, GROWTH, DUAL_GROWTH, N_STATE = 7, 8, 9, 10
#: No box was just tightened; the one with the largest bound is to be.
NONE, ASKED = -1, -2
#: Boxes that are cut in the time of tightening one.
TIGHTENING = 40
#: Places of limits: most boxes, of which what is left is written there; relative tolerance.
MOST, RTOL = 0, 1


class PairBoxes(NamedTuple):
    """Boxes of the best leaf pairs, one a tree; of each copy all trees side by side."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    words: NDArray[np.uint64]


class Workspace(NamedTuple):
    """What else a search needs memory for."""

    best: PairBoxes
    multipliers: KeptMultipliers
    weights: NDArray[np.float64]  # (n_trees,)
    cut: NDArray[np.float64]  # (4,) that of a box that was tightened
    chosen: NDArray[np.uint64]  # (n_words,) its cells, of an unordered copy
    point: NDArray[np.int32]  # (n_ordered,) cells with the largest rewards


class OpenBoxes(NamedTuple):
    """Open boxes; the last place is scratch, the one before it keeps the best point."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    words: NDArray[np.uint64]
    bound: NDArray[np.float64]
    one: NDArray[np.int32]  # (n_boxes, n_trees) leaves of the best pairs
    two: NDArray[np.int32]
    top: NDArray[np.int32]  # leaves with the largest value of the first twin; where values matter
    bottom: NDArray[np.int32]  # with the smallest value of the second
    multipliers: NDArray[np.int64]  # place of its multipliers, -1 if there are none
    heap: NDArray[np.int64]
    spare: NDArray[np.int64]  # places that are free


@njit
def hand_over(pool, multipliers, state, other, other_multipliers, other_state, most, by_value):
    """Move to another pool every second box with a larger bound than all boxes of that pool.

    `state` and `other_state` are those of `search`; at most `most` boxes change place, and at
    least one does.
    """
    n, n_spare = int(state[4]), int(state[5])
    m, m_spare = int(other_state[4]), int(other_state[5])
    ahead = other.bound[other.heap[0]] if m else -np.inf
    kept = np.empty(most, dtype=np.int64)
    n_kept, n_handed = 0, 0
    while n > 0 and n_handed < most and n_kept < most:
        if n_handed > 0 and pool.bound[pool.heap[0]] <= ahead:
            break
        n = pop(pool.heap, n, pool.bound)
        node = pool.heap[n]
        if n_handed > n_kept:
            kept[n_kept] = node
            n_kept += 1
            continue
        m_spare -= 1
        place = other.spare[m_spare]
        # Number by number: to copy rows at once has numba compile all of its errors' texts.
        other.bound[place] = pool.bound[node]
        other.multipliers[place] = copy_multipliers(
            multipliers, pool.multipliers[node], other_multipliers
        )
        release_multipliers(multipliers, pool.multipliers[node])
        for c in range(pool.low.shape[1]):
            other.low[place, c], other.high[place, c] = pool.low[node, c], pool.high[node, c]
        for w in range(pool.words.shape[1]):
            other.words[place, w] = pool.words[node, w]
        for t in range(pool.one.shape[1]):
            other.one[place, t], other.two[place, t] = pool.one[node, t], pool.two[node, t]
            if by_value:
                other.top[place, t] = pool.top[node, t]
                other.bottom[place, t] = pool.bottom[node, t]
        m = push(other.heap, m, other.bound, place)
        pool.spare[n_spare] = node
        n_spare += 1
        n_handed += 1
    for i in range(n_kept):
        n = push(pool.heap, n, pool.bound, kept[i])
    state[4], state[5] = n, n_spare
    other_state[4], other_state[5] = m, m_spare


@inner
def difference(values, a, b):
    """Difference of a pair of leaves."""
    return values[a] - values[b] if a != b else 0.0


@inner
def sums_of_box(forest, links, pool, node):
    """Bounds of the sums of each part in a box, from its best leaf pairs and extreme leaves."""
    n, values = len(links.base), forest.low
    D, U, V = np.zeros(n), np.zeros(n), np.zeros(n)
    for p in range(n):
        U[p], V[p] = links.base[p], links.base[p]
    for t in range(len(forest.roots)):
        part = links.part[t]
        D[part] += difference(values, pool.one[node, t], pool.two[node, t])
        if forest.by_value:
            U[part] += values[pool.top[node, t]]
            V[part] += values[pool.bottom[node, t]]
    return D, U, V


@inner
def bound_box(forest, links, pool, node):
    """Upper bound of the output's difference from the best leaf pairs of a box."""
    D, U, V = sums_of_box(forest, links, pool, node)
    return bound_of_sums(links, D, U, V)


@inner
def value_of_pairs(forest, links, ones, twos):
    """The output's difference where every tree has its best pair, and its bound with rounding."""
    n = len(links.base)
    D, U, V = np.zeros(n), np.zeros(n), np.zeros(n)
    for p in range(n):
        U[p], V[p] = links.base[p], links.base[p]
    for t in range(len(forest.roots)):
        U[links.part[t]] += forest.low[ones[t]]
        V[links.part[t]] += forest.low[twos[t]]
    for p in range(n):
        D[p] = U[p] - V[p]
    return gap_of_sums(links, D, U, V), bound_of_sums(links, D, U, V)


@inner
def descend_child(
    forest,
    pairs,
    boxes,
    pool,
    best,
    parent,
    child,
    ordered,
    place,
    total,
    enough,
    waiting,
):
    """Best pairs of a child: the parent's where they survive; the sum of their differences.

    Ends early, with minus infinity, where the sum falls to `enough`.
    """
    low, high, words = pool.low[child], pool.high[child], pool.words[child]
    ones, twos = pool.one[child], pool.two[child]
    # Arrays by themselves: handing on tuples of them for every tree would take most of the time.
    values, nodes, sets = forest.low, pairs.node, forest.sets
    word_start, leaf_words = forest.word_start, boxes.words
    twin_word, first_word = boxes.twin_word, boxes.first_word
    pair_low, pair_high, pair_words = best.low, best.high, best.words
    pool.multipliers[child] = pool.multipliers[parent]
    for t in range(len(ones)):
        ones[t], twos[t] = pool.one[parent, t], pool.two[parent, t]
    for t in range(len(ones)):
        if ordered:
            if max(low[place], pair_low[place, t]) < min(high[place], pair_high[place, t]):
                continue
        else:
            alive = False
            for w in range(word_start[place], word_start[place + 1]):
                alive = alive or (words[w] & pair_words[w, t]) != 0
            if alive:
                continue
        was = difference(values, ones[t], twos[t])
        now, a, b, folded = best_twins(
            nodes, waiting, t, low, high, words, word_start, sets, leaf_words, twin_word,
            first_word, was,
        )  # fmt: skip
        if folded >= 0:
            now, a, b = ask_tree(forest, pairs, boxes, t, low, high, words, was, waiting)
        if a >= 0:  # else the parent's pair goes on bounding the tree
            ones[t], twos[t] = a, b
            total += now - was
        if total <= enough:
            total = -np.inf
            break
    return total


@inner
def value_child(forest, boxes, pool, parent, child, ordered, place, waiting):
    """Extreme leaves of a child: the parent's where they survive."""
    low, high, words = pool.low[child], pool.high[child], pool.words[child]
    # Of an extreme leaf only one twin's box counts.
    start, end = 0, 0
    if not ordered:
        start, end = forest.word_start[place], forest.word_start[place + 1]
    of = boxes.twin_ordered[place] if ordered else boxes.twin_word[start]
    for twin in range(2):
        kept = pool.top if twin == 0 else pool.bottom
        for t in range(len(forest.roots)):
            leaf = kept[parent, t]
            kept[child, t] = leaf
            if of != 2 and of != twin:
                continue
            alive = False
            if ordered:
                own = boxes.first_ordered[place] if twin else place
                least = max(low[place], boxes.low[leaf, own])
                alive = least < min(high[place], boxes.high[leaf, own])
            for w in range(start, end):
                mine = boxes.first_word[w] if twin else w
                alive = alive or (words[w] & boxes.words[leaf, mine]) != 0
            if not alive:
                kept[child, t] = best_leaf(forest, forest.roots[t], twin, low, high, words, waiting)


@inner
def copy_box(pool, node, other):
    """Write a box to another place."""
    for c in range(pool.low.shape[1]):
        pool.low[other, c], pool.high[other, c] = pool.low[node, c], pool.high[node, c]
    for w in range(pool.words.shape[1]):
        pool.words[other, w] = pool.words[node, w]


@inner
def fathom(forest, links, boxes, pool, node, best, weights, state, turn):
    """Evaluate the point that all best pairs share; return 1 if the box is finished.

    -1 where they share one, but the trees' leaf values, each at its own extreme, leave the bound
    far above what it shows; else 0.
    """
    last = len(pool.bound) - 1
    values, ones, twos = forest.low, pool.one[node], pool.two[node]
    collect_boxes(boxes, ones, twos, best)
    for t in range(len(weights)):
        weights[t] = abs(difference(values, ones[t], twos[t])) + 1e-12
    copy_box(pool, node, last)
    done = 0
    if common(best, forest.word_start, pool.low[last], pool.high[last], pool.words[last]):
        value, limit = pool.bound[node], pool.bound[node]
        if forest.by_value:
            value, limit = value_of_pairs(forest, links, ones, twos)
        if value > state[INCUMBENT]:
            state[INCUMBENT], state[FOUND] = value, 1
            copy_box(pool, last, last - 1)
        done = 1 if pool.bound[node] <= limit + 1e-13 * abs(limit) else 0
        if done == 0 and not turn and pool.bound[node] > value + VALUE_GAP * abs(value):
            done = -1
    # Weights of leaf values drown the differences. Now and then they count: they lead to other
    # points, and of many pairs with the largest difference few have the values that show the most.
    for t in range(len(weights) if forest.by_value and turn and done == 0 else 0):
        weights[t] += values[pool.top[node, t]] - values[ones[t]]
        weights[t] += values[twos[t]] - values[pool.bottom[node, t]]
    return done


@inner
def propose_level(forest, links, boxes, pool, node, best, weights, cut):
    """Write the cut that separates the leaves that keep one twin's sum at its extreme.

    Of the first twin's largest and the second's smallest sum, that one is to be brought down which
    holds the bound up: the output of twins with the same difference may vary with their level.
    """
    n, values = len(links.base), forest.low
    D, U, V = np.zeros(n), links.base.copy(), links.base.copy()
    high, low = links.base.copy(), links.base.copy()
    for t in range(len(weights)):
        part = links.part[t]
        D[part] += difference(values, pool.one[node, t], pool.two[node, t])
        U[part] += values[pool.one[node, t]]
        V[part] += values[pool.two[node, t]]
        high[part] += values[pool.top[node, t]]
        low[part] += values[pool.bottom[node, t]]
    if_high = bound_of_sums(links, D.copy(), U, low)
    twin = 0 if if_high < bound_of_sums(links, D, high, V) else 1
    for t in range(len(weights)):
        leaf, own = pool.bottom[node, t], pool.two[node, t]
        if twin == 0:
            leaf, own = pool.top[node, t], pool.one[node, t]
        weights[t] = abs(values[leaf] - values[own]) + 1e-12
        for c in range(len(best.low)):
            least, most = 0, 2**31 - 1
            if boxes.twin_ordered[c] == 2 or boxes.twin_ordered[c] == twin:
                at = boxes.first_ordered[c] if twin else c
                least, most = boxes.low[leaf, at], boxes.high[leaf, at]
            best.low[c, t], best.high[c, t] = least, most
        for w in range(len(best.words)):
            word = ~np.uint64(0)
            if boxes.twin_word[w] == 2 or boxes.twin_word[w] == twin:
                word = boxes.words[leaf, boxes.first_word[w] if twin else w]
            best.words[w, t] = word
    low_cells, high_cells, words = pool.low[node], pool.high[node], pool.words[node]
    # As a plain whole number: for a constant all would be compiled once more.
    n_proposers = np.int64(PROPOSERS)
    return propose(best, weights, forest.word_start, low_cells, high_cells, words, cut, n_proposers)


@inner
def halves(word_start, cut, best, pool, node, first, second):
    """Write the two parts that a cut makes of a box."""
    place, cell = int(cut[PLACE]), int(cut[CELL])
    copy_box(pool, node, first)
    copy_box(pool, node, second)
    if cut[ORDERED] == 1:
        pool.high[first, place] = cell
        pool.low[second, place] = cell
    else:
        for w in range(word_start[place], word_start[place + 1]):
            pool.words[first, w] &= best.words[w, cell]
            pool.words[second, w] &= ~best.words[w, cell]


@inner
def enough_of(state, rtol):
    """The bound with which a box is closed: it changes nothing any more."""
    return max(state[INCUMBENT] + rtol * abs(state[INCUMBENT]), state[DROPPED])


@inner
def grown(state, which, fall):
    """How many boxes a growth says are in a part of which the bound falls, for one in the box."""
    return math.exp(-state[which] * max(fall, 0.0))


@inner
def learn_growth(state, which, excess):
    """Correct a growth by how many more boxes it says are in both parts than in the box."""
    # With the largest growth that is let through, every fall closes a box.
    state[which] = min(state[which] * math.exp(0.03 * excess), 1e100)


@inner
def learn_dual_growth(state, fall):
    """Learn the growth with multipliers from one of two parts, with half of the boxes each."""
    learn_growth(state, DUAL_GROWTH, grown(state, DUAL_GROWTH, fall) - 0.5)


@inner
def keep_child(pool, multipliers, parent, child, own, state, rtol):
    """Keep a child with its bound, unless it changes nothing any more."""
    bound = min(pool.bound[parent], own)
    # A box that cannot raise the largest bound that was dropped changes nothing either.
    if bound > enough_of(state, rtol):
        pool.bound[child] = bound
        if pool.multipliers[child] >= 0:
            multipliers.n_boxes[pool.multipliers[child]] += 1
    else:
        state[DROPPED] = max(state[DROPPED], bound)


@inner
def branch(
    forest, pairs, links, boxes, pool, workspace, node, children, fathomed, is_tightened, state,
    rtol, waiting,
):  # fmt: skip
    """Cut a box in two and bound both parts; minus infinity means that a part is finished."""
    first, second = children
    best, multipliers, weights, cut = (
        workspace.best,
        workspace.multipliers,
        workspace.weights,
        workspace.cut,
    )
    low, high, words = pool.low[node], pool.high[node], pool.words[node]
    pool.bound[first], pool.bound[second] = -np.inf, -np.inf
    found = False
    if fathomed < 0:
        found = propose_level(forest, links, boxes, pool, node, best, weights, cut)
    elif is_tightened:
        found = cut[SCORE] > 0
        for w in range(len(words) if found else 0):
            best.words[w, 0] = workspace.chosen[w]
    if found:
        halves(forest.word_start, cut, best, pool, node, first, second)
    if fathomed < 0 or is_tightened:
        collect_boxes(boxes, pool.one[node], pool.two[node], best)
    halved = found
    # Nothing may be dropped for want of a cut: if need be every pair is asked for one, everywhere.
    for n_proposers in (PROPOSERS, 0):
        if not found:
            found = propose(best, weights, forest.word_start, low, high, words, cut, n_proposers)
    if not found:
        state[DROPPED] = max(state[DROPPED], pool.bound[node])  # all pairs fill the box
    else:
        total = 0.0
        for t in range(len(forest.roots)):
            total += difference(forest.low, pool.one[node, t], pool.two[node, t])
        enough = sum_enough(links, state[INCUMBENT]) if len(links.base) == 1 else -np.inf
        if not halved:
            halves(forest.word_start, cut, best, pool, node, first, second)
        ordered, place = cut[ORDERED] == 1, int(cut[PLACE])
        parts = 0.0
        for child in children:
            left = descend_child(
                forest, pairs, boxes, pool, best, node, child, ordered, place, total, enough,
                waiting,
            )  # fmt: skip
            own = enough_of(state, rtol)
            if left > -np.inf:  # else its bound is what is known, up to rounding
                if forest.by_value:
                    value_child(forest, boxes, pool, node, child, ordered, place, waiting)
                own = bound_box(forest, links, pool, child)
                keep_child(pool, multipliers, node, child, own, state, rtol)
            elif is_tightened:
                learn_dual_growth(state, pool.bound[node] - own)
            parts += grown(state, GROWTH, state[OWN_BOUND] - own)
        learn_growth(state, GROWTH, parts - 1)


@inner
def ask_trees(forest, pairs, boxes, pool, node, waiting):
    """Ask all trees for their best pairs in a box, and extreme leaves; return whether all have one.

    A tree without an answer keeps the pair that it had, which goes on bounding it; -1 is none.
    """
    low, high, words = pool.low[node], pool.high[node], pool.words[node]
    ones, twos, complete = pool.one[node], pool.two[node], True
    for t in range(len(ones)):
        was = difference(forest.low, ones[t], twos[t]) if ones[t] >= 0 else np.inf
        _, a, b = ask_tree(forest, pairs, boxes, t, low, high, words, was, waiting)
        if a >= 0:
            ones[t], twos[t] = a, b
        complete = complete and ones[t] >= 0
        for twin in range(2 if forest.by_value else 0):
            leaves = pool.top if twin == 0 else pool.bottom
            leaves[node, t] = best_leaf(
                forest, forest.roots[t], twin, low, high, words, waiting
            )  # fmt: skip
    return complete


@inner
def begin(forest, pairs, links, boxes, pool, waiting):
    """The whole domain, which stands in the first place: its best pairs, and its bound."""
    plant(forest, pairs)
    for t in range(len(forest.roots)):
        pool.one[0, t], pool.two[0, t] = -1, -1
    complete = ask_trees(forest, pairs, boxes, pool, np.int64(0), waiting)
    pool.multipliers[0] = -1
    pool.bound[0] = bound_box(forest, links, pool, np.int64(0)) if complete else np.inf
    return complete


@inner
def is_to_be_tightened(forest, links, pool, multipliers, state, node, rtol):
    """Whether to tighten a box: it takes longer to cut it and its parts until all are closed.

    Until then exp(growth * gap) boxes are cut, where the gap is that of the trees' own bound, and
    with multipliers, that of the box's bound. The growths are learnt: with the right one, the boxes
    in the two parts add up to those of the box [1]_.

    References
    ----------
    .. [1] Le Bodic, P., Nemhauser, G. (2017). An abstract model for branching and its application
       to mixed integer programming. Mathematical Programming, 166, 369-405.
    """
    if multipliers.n_spare[0] == 0:
        return False
    state[OWN_BOUND] = bound_box(forest, links, pool, node)
    if state[GROWTH] == 0:
        state[GROWTH] = 100.0 / state[OWN_BOUND]
        state[DUAL_GROWTH] = 1.0 / state[OWN_BOUND]
    enough = enough_of(state, rtol)
    cut = state[GROWTH] * (state[OWN_BOUND] - enough)
    tightened = math.log(TIGHTENING) + state[DUAL_GROWTH] * (pool.bound[node] - enough)
    # Past 1000 boxes a box is tightened in any case: cutting does not lower the largest bound,
    # which is what a search shows that ends before all boxes are closed.
    return cut > min(tightened, math.log(1000))


@njit
def search(forest, pairs, links, boxes, pool, workspace, state, limits, waiting):
    """Split open boxes until none may hold more, one is to be tightened, or a limit is met.

    - `forest`, `pairs`, `links`, `boxes`, `pool`, `workspace`: the trees, their product trees, how
      they make the output, the nodes' boxes, open boxes, and what else a search needs memory for.
    - `state` (N_STATE,): what the search knows, see `INCUMBENT`; is written to.
    - `limits` (2,): most boxes in this call, and relative tolerance; is written to.
    - `waiting`: scratch memory of descents.
    """
    n_open, n_spare = int(state[N_OPEN]), int(state[N_SPARE])
    if n_spare < 0:
        # The first place is the last of the spare ones; the last two are no boxes at all.
        n_spare = len(pool.bound) - 3
        if not begin(forest, pairs, links, boxes, pool, waiting):
            n_spare = 0
        pool.heap[0] = 0
        n_open = 1
    rtol = limits[RTOL]
    n = 0
    while n < limits[MOST] and n_spare >= 2 and (n_open > 0 or state[TIGHTENED] >= 0):
        node, is_tightened = int(state[TIGHTENED]), state[TIGHTENED] >= 0
        if not is_tightened:
            node = pool.heap[0]
            if pool.bound[node] <= enough_of(state, rtol):
                state[DROPPED] = max(state[DROPPED], pool.bound[node])
                n_open = 0
                break
            if is_to_be_tightened(forest, links, pool, workspace.multipliers, state, node, rtol):
                state[TIGHTENED] = ASKED
                break
            n_open = pop(pool.heap, n_open, pool.bound)
        state[TIGHTENED] = NONE
        n += 1
        turn = not by_differences(links) or (int(state[OPENED]) + n) % VALUE_TURN == 0
        done = fathom(
            forest, links, boxes, pool, node, workspace.best, workspace.weights, state, turn
        )
        if done > 0:
            state[DROPPED] = max(state[DROPPED], pool.bound[node])
        else:
            children = (pool.spare[n_spare - 1], pool.spare[n_spare - 2])
            n_spare -= 2
            branch(
                forest, pairs, links, boxes, pool, workspace, node, children, done, is_tightened,
                state, rtol, waiting,
            )  # fmt: skip
            for child in children:
                if pool.bound[child] > -np.inf:
                    n_open = push(pool.heap, n_open, pool.bound, child)
                else:
                    pool.spare[n_spare] = child
                    n_spare += 1
        release_multipliers(workspace.multipliers, pool.multipliers[node])
        pool.spare[n_spare] = node
        n_spare += 1
    state[OPENED] += n
    limits[MOST] -= n
    state[N_OPEN], state[N_SPARE] = n_open, n_spare
