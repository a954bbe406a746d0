"""Choose where to cut a box whose trees are listed: where a cut takes many leaves from both parts.

A single best leaf says little where a tree has many that are as good: what counts is which share of
the listed leaves of each tree a part of the box is left without.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.merged_trees import MOST_LISTS
from skfairtest.exact._trees.split_choice import CELL, ORDERED, PLACE, SCORE
from skfairtest.workers._compiled import inlined, njit

#: Most cuts of a copy that are tried.
MOST_CUTS = 12


class Cuts(NamedTuple):
    """Scratch room: cuts of a copy, and what they take from the part below and above."""

    cell: NDArray[np.int64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    n_below: NDArray[np.int64]  # leaves that reach below this cut, and not below the one before
    n_above: NDArray[np.int64]


def cuts_for() -> Cuts:
    """Return room for the cuts at all ends of best leaves."""
    n = 2 * MOST_LISTS
    counts = np.zeros((3, n), np.int64)
    return Cuts(counts[0], np.zeros(n), np.zeros(n), counts[1], counts[2])


@inlined
def loss(leaves, i, n_left):
    """What a part of the box loses of a list of which some leaves are left."""
    share = 1.0 - n_left / leaves.n_leaves[i]
    return (leaves.value[i, 0] - leaves.rest[i]) * share * share


@inlined
def offer(below, above, is_ordered, place, cell, cut):
    """Take a cut if it scores more: both parts have to lose."""
    score = below * above / (below + above) if below + above > 0 else 0.0
    is_better = score > cut[SCORE]
    if is_better:
        cut[SCORE], cut[ORDERED], cut[PLACE], cut[CELL] = score, is_ordered, place, cell
    return is_better


@njit
def ends_of_best(leaves, alive, n, c, low, high, cuts):
    """Write some cells at which best leaves begin or end in an ordered copy; return how many."""
    m = 0
    for i in range(n):
        for side in range(2 if alive[i] and leaves.n_leaves[i] else 0):
            cell = leaves.low[i, 0, c] if side == 0 else leaves.high[i, 0, c]
            k = m
            while k > 0 and cuts.cell[k - 1] > cell:
                k -= 1
            is_known = k > 0 and cuts.cell[k - 1] == cell
            if is_known or not low[c] < cell < high[c]:
                continue
            for q in range(m, k, -1):
                cuts.cell[q] = cuts.cell[q - 1]
            cuts.cell[k] = cell
            m += 1
    if m > MOST_CUTS:
        for k in range(MOST_CUTS):
            cuts.cell[k] = cuts.cell[(2 * k + 1) * m // (2 * MOST_CUTS)]
        m = MOST_CUTS
    return m


@njit
def count_leaves(leaves, i, c, cuts, m):
    """Count the leaves of a list that reach below each of m cuts, and above."""
    for k in range(m):
        cuts.n_below[k], cuts.n_above[k] = 0, 0
    for a in range(leaves.n_leaves[i]):
        k = 0
        while k < m and cuts.cell[k] <= leaves.low[i, a, c]:
            k += 1
        if k < m:
            cuts.n_below[k] += 1
        k = m - 1
        while k >= 0 and cuts.cell[k] >= leaves.high[i, a, c]:
            k -= 1
        if k >= 0:
            cuts.n_above[k] += 1


@njit
def offer_cells(leaves, alive, n, c, low, high, cuts, cut):
    """Offer cuts of an ordered copy."""
    m = ends_of_best(leaves, alive, n, c, low, high, cuts)
    for k in range(m):
        cuts.below[k], cuts.above[k] = 0.0, 0.0
    for i in range(n if m else 0):
        if not alive[i] or leaves.n_leaves[i] == 0:
            continue
        count_leaves(leaves, i, c, cuts, m)
        n_below, n_above = 0, 0
        for k in range(m):
            n_below += cuts.n_below[k]
            cuts.below[k] += loss(leaves, i, n_below)
        for k in range(m - 1, -1, -1):
            n_above += cuts.n_above[k]
            cuts.above[k] += loss(leaves, i, n_above)
    for k in range(m):
        offer(cuts.below[k], cuts.above[k], 1, c, cuts.cell[k], cut)


@njit
def set_losses(leaves, alive, n, j, start, end):
    """What the cells of the best leaf of list j lose in an unordered copy, and all others."""
    inside, outside = 0.0, 0.0
    for i in range(n):
        if not alive[i] or leaves.n_leaves[i] == 0:
            continue
        n_in, n_out = 0, 0
        for a in range(leaves.n_leaves[i]):
            some_in, some_out = False, False
            for w in range(start, end):
                some_in = some_in or (leaves.words[i, a, w] & leaves.words[j, 0, w]) != 0
                some_out = some_out or (leaves.words[i, a, w] & ~leaves.words[j, 0, w]) != 0
            n_in += 1 if some_in else 0
            n_out += 1 if some_out else 0
        inside += loss(leaves, i, n_in)
        outside += loss(leaves, i, n_out)
    return inside, outside


@njit
def offer_sets(leaves, alive, n, m, start, end, words, chosen, cut):
    """Offer cuts of an unordered copy; write the cells of the best one."""
    n_tried = 0
    for j in range(n):
        if not alive[j] or leaves.n_leaves[j] == 0 or n_tried == MOST_CUTS:
            continue
        is_part = False
        for w in range(start, end):
            is_part = is_part or (words[w] & ~leaves.words[j, 0, w]) != 0
        if not is_part:
            continue
        n_tried += 1
        inside, outside = set_losses(leaves, alive, n, j, start, end)
        if offer(inside, outside, 0, m, 0, cut):
            for w in range(start, end):
                chosen[w] = leaves.words[j, 0, w]


@njit
def propose_by_lists(leaves, alive, n, cuts, word_start, low, high, words, chosen, cut):
    """Write the cut that takes most of n lists from both parts; return whether there is one.

    Of an unordered copy the cells of one part are written to `chosen`, and the place 0 for them.
    """
    cut[SCORE] = 0.0
    for c in range(len(low)):
        if high[c] - low[c] > 1:
            offer_cells(leaves, alive, n, np.int64(c), low, high, cuts, cut)
    for m in range(len(word_start) - 1):
        start, end = word_start[m], word_start[m + 1]
        offer_sets(leaves, alive, n, np.int64(m), start, end, words, chosen, cut)
    return cut[SCORE] > 0
