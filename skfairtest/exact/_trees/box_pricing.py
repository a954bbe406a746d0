"""Bound the open box with the largest bound by prices, and choose where to cut it.

What is compiled here and in `prices` is compiled by itself: the search of boxes does without until
it is there. Python calls its two parts one after the other, since numba would compile the first
once more inside of a function that called both.
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
    PRICED,
    enough_of,
    learn_priced,
    sums_of_box,
)
from skfairtest.exact._trees.heap import pop
from skfairtest.exact._trees.link_bounds import bound_of_sums, join_classes, sum_enough
from skfairtest.exact._trees.prices import keep_prices, leave_prices, price_trees, propose_by_prices
from skfairtest.workers._compiled import inner, njit, plain

#: Share of a vote by which sums of votes may be off.
ROUNDING = 1e-5


def price_box(forest, pairs, links, boxes, pool, room, pricer, state, rtol):
    """Take the box with the largest bound, and lower its bound.

    It is closed, or `state` names it and `room.cut` says where to cut it.

    - `forest`, `pairs`, `links`, `boxes`, `pool`, `room`: those of `best_first.search`.
    - `pricer`: scratch room.
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
    n_sides = price_trees(
        forest, pairs, boxes, pricer, room.prices, pool.prices[node], own, pool.low[node],
        pool.high[node], pool.words[node], sums, low_enough,
    )  # fmt: skip
    use_prices(forest, links, pool, room, pricer, n_sides, sums, state, enough)


@njit
def use_prices(forest, links, pool, room, pricer, n_sides, sums, state, enough):
    """Close the box with the largest bound, or say where to cut it, now that it has prices.

    - `n_sides`: how many prices there are.
    - `sums` (n_sums,): bounds of the sums; are written to.
    - `enough`: the bound with which a box is closed.
    """
    kept, node = room.prices, pool.heap[0]
    low, high, words = pool.low[node], pool.high[node], pool.words[node]
    state[N_OPEN] = pop(pool.heap, int(state[N_OPEN]), pool.bound)
    state[PRICED] = NONE
    leave_prices(kept, pool.prices[node])
    pool.prices[node] = keep_prices(kept, pricer.sides, n_sides)
    _, U, V = sums_of_box(forest, links, pool, node)
    round_down(links, sums)
    bound = min(pool.bound[node], bound_of_sums(links, sums, U, V))
    learn_priced(state, pool.bound[node] - max(bound, enough))
    pool.bound[node] = bound
    if pool.bound[node] <= enough:
        state[DROPPED] = max(state[DROPPED], pool.bound[node])
        leave_prices(kept, pool.prices[node])
        pool.spare[int(state[N_SPARE])] = node
        state[N_SPARE] += 1
        state[OPENED] += 1
        return
    state[PRICED] = node
    propose_by_prices(forest, pricer, n_sides, low, high, words, room.chosen, room.cut)
    first = np.argmax(sums) * (len(low) + len(forest.word_start) - 1)
    for c in range(len(low)):
        cell = pricer.columns.cell[pricer.columns.best[first + c]]
        room.point[c] = min(max(cell, low[c]), high[c] - 1)


@inner
def round_down(links, D):
    """Round sums of whole numbers of votes down to such sums, in place."""
    for p in range(len(D)):
        if links.unit[p] > 0:
            D[p] = math.floor(D[p] / links.unit[p] + ROUNDING / 2) * links.unit[p] * (1 + 1e-12)
