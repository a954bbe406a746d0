"""Open boxes in one pool, the one with the largest bound on top of a heap."""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.compiled import njit


class Pool(NamedTuple):
    """Open boxes; the last place is scratch, the one before it keeps the best point."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    words: NDArray[np.uint64]
    bound: NDArray[np.float64]
    one: NDArray[np.int32]  # (n_boxes, n_trees) nodes of the heads
    two: NDArray[np.int32]
    top: NDArray[np.int32]  # leaves with the largest value of the first twin; where levels matter
    bottom: NDArray[np.int32]  # with the smallest value of the second
    heap: NDArray[np.int64]
    spare: NDArray[np.int64]  # places that are free


@njit
def push(heap, n, bounds, node):
    """Put a node on the heap of nodes, largest bound on top; the new size."""
    i = n
    heap[i] = node
    while i > 0:
        up = (i - 1) // 2
        if bounds[heap[up]] >= bounds[heap[i]]:
            break
        heap[up], heap[i] = heap[i], heap[up]
        i = up
    return n + 1


@njit
def pop(heap, n, bounds):
    """Take the top off; it stands behind the heap's new end."""
    n -= 1
    heap[0], heap[n] = heap[n], heap[0]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            return n
        if child + 1 < n and bounds[heap[child + 1]] > bounds[heap[child]]:
            child += 1
        if bounds[heap[i]] >= bounds[heap[child]]:
            return n
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@njit
def hand_over(pool, state, other, other_state, most, levels):
    """Hand every second box that is ahead of all of another pool's to that pool.

    `state` and `other_state` are those of `_dive.dive`; at most `most` boxes change place, and at
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
        other.low[place], other.high[place] = pool.low[node], pool.high[node]
        other.words[place], other.bound[place] = pool.words[node], pool.bound[node]
        other.one[place], other.two[place] = pool.one[node], pool.two[node]
        if levels:
            other.top[place], other.bottom[place] = pool.top[node], pool.bottom[node]
        m = push(other.heap, m, other.bound, place)
        pool.spare[n_spare] = node
        n_spare += 1
        n_handed += 1
    for i in range(n_kept):
        n = push(pool.heap, n, pool.bound, kept[i])
    state[4], state[5] = n, n_spare
    other_state[4], other_state[5] = m, m_spare
