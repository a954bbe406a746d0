"""Bound the open box with the largest bound by multipliers, and choose where to cut it.

What is compiled here and in `multipliers` is compiled by itself: the search of boxes does
without until it is there. Python calls its two parts one after the other, since numba would compile
the first once more inside of a function that called both.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import math

import numpy as np

from skfairtest.exact._trees.best_first import (
    DROPPED,
    N_OPEN,
    N_SPARE,
    NONE,
    OPENED,
    TIGHTENED,
    enough_of,
    learn_dual_growth,
    sums_of_box,
)
from skfairtest.exact._trees.heap import pop
from skfairtest.exact._trees.link_bounds import bound_of_sums, join_classes, sum_enough
from skfairtest.exact._trees.multipliers import (
    bound_by_multipliers,
    keep_multipliers,
    propose_by_multipliers,
    release_multipliers,
)
from skfairtest.workers._compiled import inner, njit, plain

#: Share of a vote by which sums of votes may be off.
ROUNDING = 1e-5


def tighten_box(forest, pairs, links, boxes, pool, workspace, dual, state, rtol):
    """Take the box with the largest bound, and lower its bound.

    It is closed, or `state` names it and `workspace.cut` says where to cut it.

    - `forest`, `pairs`, `links`, `boxes`, `pool`, `workspace`: those of `best_first.search`.
    - `dual`: scratch memory.
    - `state` (N_STATE,): that of the search, which has asked for it; is written to.
    - `rtol`: relative tolerance.
    """
    node = pool.heap[0]
    enough = float(plain(enough_of)(state, rtol))
    own = forest.low[pool.one[node]] - forest.low[pool.two[node]]
    sums = np.bincount(links.part, own, len(links.base))
    join_classes(links, sums)
    # A sum of whole numbers of votes is low enough as soon as it is below the next one.
    low_enough = plain(sum_enough)(links, enough) + links.unit[0] * (1 - ROUNDING)
    n_constraints = bound_by_multipliers(
        forest, pairs, boxes, dual, workspace.multipliers, pool.multipliers[node], own,
        pool.low[node], pool.high[node], pool.words[node], sums, low_enough,
    )  # fmt: skip
    use_multipliers(forest, links, pool, workspace, dual, n_constraints, sums, state, enough)


@njit
def use_multipliers(forest, links, pool, workspace, dual, n_constraints, sums, state, enough):
    """Close the box with the largest bound, or say where to cut it, now that it has multipliers.

    - `n_constraints`: how many multipliers there are.
    - `sums` (n_sums,): bounds of the sums; are written to.
    - `enough`: the bound with which a box is closed.
    """
    kept, node = workspace.multipliers, pool.heap[0]
    low, high, words = pool.low[node], pool.high[node], pool.words[node]
    state[N_OPEN] = pop(pool.heap, int(state[N_OPEN]), pool.bound)
    state[TIGHTENED] = NONE
    release_multipliers(kept, pool.multipliers[node])
    pool.multipliers[node] = keep_multipliers(kept, dual.constraints, n_constraints)
    _, U, V = sums_of_box(forest, links, pool, node)
    round_down(links, sums)
    bound = min(pool.bound[node], bound_of_sums(links, sums, U, V))
    learn_dual_growth(state, pool.bound[node] - max(bound, enough))
    pool.bound[node] = bound
    if pool.bound[node] <= enough:
        state[DROPPED] = max(state[DROPPED], pool.bound[node])
        release_multipliers(kept, pool.multipliers[node])
        pool.spare[int(state[N_SPARE])] = node
        state[N_SPARE] += 1
        state[OPENED] += 1
        return
    state[TIGHTENED] = node
    propose_by_multipliers(
        forest, dual, n_constraints, low, high, words, workspace.chosen, workspace.cut
    )
    first = np.argmax(sums) * (len(low) + len(forest.word_start) - 1)
    for c in range(len(low)):
        cell = dual.columns.cell[dual.columns.best[first + c]]
        workspace.point[c] = min(max(cell, low[c]), high[c] - 1)


@inner
def round_down(links, D):
    """Round sums of whole numbers of votes down to such sums, in place."""
    for p in range(len(D)):
        if links.unit[p] > 0:
            D[p] = math.floor(D[p] / links.unit[p] + ROUNDING / 2) * links.unit[p] * (1 + 1e-12)
