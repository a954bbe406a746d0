"""Merge the trees of the open box with the largest bound, and choose where to cut it.

It is compiled by itself: the search of boxes does without until this is there.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

from skfairtest.exact._trees.best_first import (
    DROPPED,
    MERGED,
    N_OPEN,
    N_SPARE,
    OPENED,
    WAIT,
    bound_box,
    difference,
    enough_of,
    pop,
)
from skfairtest.exact._trees.list_cuts import Cuts, propose_by_lists
from skfairtest.exact._trees.merged_trees import (
    Leaves,
    Merging,
    keep_groups,
    leave_groups,
    merge_trees,
)
from skfairtest.exact._trees.split_choice import SCORE
from skfairtest.workers._compiled import njit

#: Cuts after which the trees of a box are merged again: fewer as long as most lists of leaves are
#: complete, more where they are not, since little is lost by merging what is mostly unknown.
LEAST_WAIT, FIRST_WAIT, MOST_WAIT, MOSTLY = 2.0, 4.0, 64.0, 2 / 3


class Merger(NamedTuple):
    """Memory to merge the trees of a box."""

    leaves: Leaves
    merging: Merging
    cuts: Cuts


@njit
def merge_box(forest, pairs, links, boxes, pool, room, merger, state, rtol):
    """Take the box with the largest bound, and lower its bound.

    It is closed, or `state` names it and `room.cut` says where to cut it.

    - `forest`, `pairs`, `links`, `boxes`, `pool`, `room`: those of `best_first.search`.
    - `merger`: scratch room.
    - `state` (8,): that of the search, which has asked for it; is written to.
    - `rtol`: relative tolerance.
    """
    leaves, merging, groups, weights = merger.leaves, merger.merging, room.groups, room.weights
    node, enough = pool.heap[0], enough_of(state, rtol)
    low, high, words = pool.low[node], pool.high[node], pool.words[node]
    state[N_OPEN] = pop(pool.heap, int(state[N_OPEN]), pool.bound)
    for t in range(len(weights)):
        weights[t] = difference(forest.low, pool.one[node, t], pool.two[node, t])
    n_lists, n_short = merge_trees(
        forest, pairs, links, boxes, leaves, merging, weights, low, high, words, enough
    )
    leave_groups(groups, pool.groups[node])
    pool.groups[node], pool.n_cuts[node] = keep_groups(groups, leaves, merging, n_lists), 0
    bound = min(pool.bound[node], bound_box(forest, links, pool, groups, node))
    pool.bound[node] = bound
    longer = 1 if n_short > MOSTLY * n_lists else -1
    state[WAIT] = min(max(state[WAIT] + longer, LEAST_WAIT), MOST_WAIT)
    if bound <= enough:
        state[DROPPED] = max(state[DROPPED], bound)
        leave_groups(groups, pool.groups[node])
        pool.spare[int(state[N_SPARE])] = node
        state[N_SPARE] += 1
        state[OPENED] += 1
        return
    state[MERGED], room.cut[SCORE] = node, 0.0
    propose_by_lists(
        leaves, merging.alive, n_lists, merger.cuts, forest.word_start, low, high, words,
        room.chosen, room.cut,
    )  # fmt: skip
