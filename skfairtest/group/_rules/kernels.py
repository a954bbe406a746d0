"""Frequent rules, compiled: depth first over sets of rows held as bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest.workers._compiled import inlined, njit

#: Masks that count bits, and an odd number whose bits are in no order, which mixes them.
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
PAIRS, FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
EIGHTS, ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
MIX = np.uint64(0x9E3779B97F4A7C15)
ONE, TWO, FOUR, LAST = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
HALF = np.uint64(32)


@inlined
def bits_of(word: Any) -> Any:
    """How many bits are set, as processors without an instruction for it count them."""
    word = word - ((word >> ONE) & PAIRS)
    word = (word & FOURS) + ((word >> TWO) & FOURS)
    word = (word + (word >> FOUR)) & EIGHTS
    return (word * ONES) >> LAST


@njit
def n_common(first: Any, second: Any) -> Any:
    """Bits that two sets have in common."""
    total = np.uint64(0)
    for w in range(len(first)):
        total += bits_of(first[w] & second[w])
    return np.int64(total)


@njit
def weigh(first: Any, second: Any, planes: Any) -> Any:
    """Rows of the cells that two sets have in common; plane after plane, a bit of their numbers."""
    if not len(planes):
        return n_common(first, second)  # a row each
    total = np.int64(0)
    for b in range(len(planes)):
        here = np.uint64(0)
        for w in range(len(first)):
            here += bits_of(first[w] & second[w] & planes[b, w])
        total += np.int64(here) << b
    return total


@njit
def meet(first: Any, second: Any, out: Any) -> Any:
    """The common bits of two sets, and a number that tells sets apart."""
    mark = MIX
    for w in range(len(first)):
        word = first[w] & second[w]
        out[w] = word
        mark = (mark ^ word) * MIX
        mark ^= mark >> HALF
    return mark


@njit
def search(
    bits: Any,
    planes: Any,
    attribute_of: Any,
    least: Any,
    max_conditions: Any,
    parents: Any,
    last: Any,
    counts: Any,
    marks: Any,
    held: Any,
    ahead: Any,
    n_rows: Any,
    per_depth: Any,
    at: Any,
    most_steps: Any,
) -> None:
    """Find frequent rules depth first, so many at most, and go on where the last call ended.

    The conditions are frequent and in the order in which rules name them. A rule is its parent and
    one condition more; it is tried with what was frequent together with that condition. `at` holds
    the depth, -1 where all are found, and how many were found: more than the arrays hold where
    they cannot hold them all. `per_depth` holds how many conditions are ahead, the one that is
    next, and the parent.
    """
    n_ahead, place, parent = per_depth
    depth, found = at
    for _ in range(most_steps):
        while depth >= 0 and place[depth] == n_ahead[depth]:
            depth -= 1
        if depth < 0:
            break
        p = place[depth]
        place[depth] += 1
        found += 1
        if found > len(parents):
            break
        condition = ahead[depth, p]
        below = depth + 1
        parents[found - 1] = parent[depth]
        last[found - 1] = condition
        counts[found - 1] = n_rows[depth, p]
        marks[found - 1] = meet(held[depth], bits[condition], held[below])
        if below == max_conditions:
            continue
        parent[below] = found - 1
        place[below] = 0
        n = 0
        for q in range(p + 1, n_ahead[depth]):
            other = ahead[depth, q]
            if attribute_of[other] == attribute_of[condition]:
                continue
            common = weigh(held[below], bits[other], planes)
            if common >= least:
                ahead[below, n] = other
                n_rows[below, n] = common
                n += 1
        n_ahead[below] = n
        if n:
            depth = below
    at[0], at[1] = depth, found


@njit
def count_common(bits: Any, parents: Any, last: Any, depths: Any, columns: Any, sums: Any) -> Any:
    """For each rule, how many of its rows are in each of some sets."""
    n_words = bits.shape[1]
    held = np.empty((depths.max() + 1, n_words), dtype=np.uint64)
    held[0] = ALL
    for rule in range(len(parents)):
        depth = depths[rule]
        inside = held[depth]
        outer = held[depth - 1]
        condition = bits[last[rule]]
        for w in range(n_words):
            inside[w] = outer[w] & condition[w]
        for k in range(len(columns)):
            sums[rule, k] = n_common(inside, columns[k])


@njit
def add_up(
    codes: Any, attribute_of: Any, members: Any, last: Any, depths: Any, cells: Any, sums: Any
) -> Any:
    """For each rule, the sums of each column over the cells inside.

    `codes` has the value of each attribute (first axis) in each cell; a rule adds a condition,
    which names the `members` among the values of its attribute, to the rule before it that is one
    shorter.
    """
    n_cells, n_columns = cells.shape
    deepest = depths.max()
    # One place more than cells: what is written without a branch may be written behind the last.
    inside = np.empty((deepest + 1, n_cells + 1), dtype=np.uint32)
    size = np.zeros(deepest + 1, dtype=np.int64)
    for cell in range(n_cells):
        inside[0, cell] = cell
    size[0] = n_cells
    total = np.zeros(n_columns)
    for rule in range(len(depths)):
        depth = depths[rule]
        of_attribute = codes[attribute_of[last[rule]]]
        member = members[last[rule]]
        outer, here = inside[depth - 1], inside[depth]
        n = 0
        for p in range(size[depth - 1]):
            cell = outer[p]
            # Without a branch, which a processor would guess wrong half of the time.
            here[n] = cell
            n += member[of_attribute[cell]]
        size[depth] = n
        total[:] = 0.0
        for p in range(n):
            cell = here[p]
            for k in range(n_columns):
                total[k] += cells[cell, k]
        for k in range(n_columns):
            sums[rule, k] = total[k]
