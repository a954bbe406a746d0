"""Bound the sum of trees in a box by prices: the Lagrangian dual of agreement between the trees.

The best leaves of all trees, each taken for itself, bound their sum, but they need not share a
point. So each tree pays for what its leaf demands of the point. A leaf lies below some cuts and
above others; a *side* is such a demand of one tree, "below this cut" say, and has a price that the
tree pays for each leaf that makes this demand, or a stronger one. The price is given back where the
point is on that side. At a point that all leaves share every price that is paid is given back. So,
whatever the prices are, their sum is at most

    the sum over trees of the largest value of a leaf less what it pays
    + the sum over columns of the most that is given back in a cell.

The least of these bounds, at the best prices, is that of the linear relaxation of [1]_, in which
the leaves of a tree that make one demand share a constraint. Prices are improved step by step: they
rise where the trees' best leaves demand what the columns' best cells do not give, and fall where
these give what no leaf demands; each price has its own length of step [2]_.

Parts of a box begin with its prices.

References
----------
.. [1] Mišić, V. V. (2020). Optimization of tree ensembles. Operations Research, 68(5), 1605-1624.
.. [2] Kingma, D. P., Ba, J. (2015). Adam: a method for stochastic optimization. ICLR.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.listed_nodes import (
    Listed,
    Summands,
    list_nodes,
    listed_for,
    parts_box,
)
from skfairtest.exact._trees.problem import Forest
from skfairtest.exact._trees.split_choice import CELL, ORDERED, PLACE, SCORE, split_score
from skfairtest.workers._compiled import inner, njit, njit_fast

#: How much of a mean gradient, and of its square, is kept at a step.
KEEP, KEEP_SQUARE = 0.9, 0.99
#: Differences below are rounding.
TINY = 1e-12


class Sides(NamedTuple):
    """The sides that listed leaves demand: trees in turn, of each the columns, rising cells."""

    number: NDArray[np.int32]  # (2 * n_thresholds,) of each side that is demanded; -1 else
    which: NDArray[np.int32]  # threshold, twice, plus 1 for the side above it, or outside a set
    weaker: NDArray[np.int32]  # next weaker demand of the tree and column; the last place if none
    sign: NDArray[np.int32]  # 1 above a cut, -1 below it, 0 of a set
    column: NDArray[np.int32]  # copy; of each sum others
    scale: NDArray[np.float64]  # best value of the tree
    segment: NDArray[np.int32]  # of the column, which begins at the cell
    order: NDArray[np.int32]  # sides of cuts by their segments
    price: NDArray[np.float64]
    charge: NDArray[np.float64]  # what a leaf pays that demands this side, and so weaker ones, too
    demand: NDArray[np.int32]  # whether the tree's best leaf makes it, or a stronger one
    asked: NDArray[np.float64]  # mean value of the trees that demand it at the last steps
    slope: NDArray[np.float64]  # what is given back for a price, less what is paid
    mean: NDArray[np.float64]
    square: NDArray[np.float64]


class Columns(NamedTuple):
    """Columns in segments, in which all that is given back is the same."""

    at: NDArray[np.int32]  # (n_cells,) scratch room
    offset: NDArray[np.int64]  # (n_copies + 1,) first cell of a copy there
    start: NDArray[np.int64]  # (n_columns + 1,)
    first: NDArray[np.int32]  # (n_segments + 1,) place in `Sides.order` of its first side
    given: NDArray[np.float64]  # (n_segments,) above the cuts, less what is lost below them
    cell: NDArray[np.int32]  # (n_segments,) first cell of a segment
    best: NDArray[np.int64]  # (n_columns,) segment where most is given back
    lost: NDArray[np.float64]  # (2, n_segments,) what trees lose in either part of a cut


class Pricer(NamedTuple):
    """Memory to bound a box by prices."""

    summands: Summands
    listed: Listed
    sides: Sides
    columns: Columns
    chosen: NDArray[np.int64]  # (n_summands,) best node at these prices; -1 is what pays nothing
    sums: NDArray[np.float64]  # (n_sums,) at these prices


def pricer_for(forest: Forest, summands: Summands, n_cells, n_sums: int) -> Pricer:
    """Return memory to bound boxes by prices.

    - `n_cells` (n_copies,): cells of each copy, ordered ones first.
    """
    n_sides = 2 * len(summands.cut)
    n_columns, n_segments = n_sums * len(n_cells), n_sums * int(np.sum(n_cells + 1)) + 1
    listed = listed_for(forest, summands)
    number, which, weaker, sign, column, segment, order, demand = np.zeros(
        (8, n_sides + 1), np.int32
    )
    number[:] = -1
    scale, price, charge, asked, slope, mean, square = np.zeros((7, n_sides + 1))
    sides = Sides(
        number, which, weaker, sign, column, scale, segment, order, price, charge, demand, asked,
        slope, mean, square,
    )  # fmt: skip
    offset = np.concatenate([[0], np.cumsum(n_cells.astype(np.int64) + 1)])
    columns = Columns(
        np.zeros(offset[-1], np.int32), offset, np.zeros(n_columns + 1, np.int64),
        np.zeros(n_segments + 1, np.int32), np.zeros(n_segments), np.zeros(n_segments, np.int32),
        np.zeros(n_columns, np.int64), np.zeros((2, n_segments)),
    )  # fmt: skip
    chosen = np.zeros(len(summands.tree), np.int64)
    return Pricer(summands, listed, sides, columns, chosen, np.zeros(n_sums))


class Kept(NamedTuple):
    """Prices, kept once for all boxes that inherit them."""

    n: NDArray[np.int64]  # (n_kept,) how many there are
    which: NDArray[np.int32]  # (n_kept, most a box) threshold, twice, plus 1 for the side above it
    price: NDArray[np.float32]
    n_boxes: NDArray[np.int64]  # (n_kept,) how many boxes they are for
    spare: NDArray[np.int64]  # places that are free
    n_spare: NDArray[np.int64]  # (1,)


def kept_for(n_thresholds: int, n_boxes: int, n_bytes: int) -> Kept:
    """Return room for the prices of all boxes, or of as many as the memory is for."""
    most = max(1, min(4096, 2 * n_thresholds))  # prices of a box
    n = max(min(n_bytes // (8 * most), n_boxes), 2)
    return Kept(
        np.zeros(n, np.int64), np.empty((n, most), np.int32), np.empty((n, most), np.float32),
        np.zeros(n, np.int64), np.arange(n), np.array([n]),
    )  # fmt: skip


@inner
def leave_prices(kept, place):
    """Note that a box needs some prices no longer; -1 is none."""
    if place >= 0:
        kept.n_boxes[place] -= 1
        if kept.n_boxes[place] == 0:
            kept.spare[kept.n_spare[0]] = place
            kept.n_spare[0] += 1


@inner
def new_place(kept):
    """Take a place for the prices of one box."""
    kept.n_spare[0] -= 1
    place = kept.spare[kept.n_spare[0]]
    kept.n_boxes[place] = 1
    return place


@njit
def copy_prices(kept, place, other):
    """Copy prices to where others are kept; return their place there, or -1 if there is no room."""
    if place < 0 or other.n_spare[0] == 0:
        return np.int64(-1)
    copy = new_place(other)
    other.n[copy] = kept.n[place]
    for m in range(kept.n[place]):
        other.which[copy, m], other.price[copy, m] = kept.which[place, m], kept.price[place, m]
    return copy


@njit
def keep_prices(kept, sides, n_sides):
    """Keep the prices of a box; return their place."""
    place, n = new_place(kept), 0
    for m in range(n_sides):
        if sides.price[m] > 0 and n < kept.which.shape[1]:
            kept.which[place, n], kept.price[place, n] = sides.which[m], sides.price[m]
            n += 1
    kept.n[place] = n
    return place


@inner
def number_side(pricer, which, column, scale, sign, weaker, n):
    """Give a side the next number."""
    sides = pricer.sides
    sides.number[which], sides.which[n], sides.column[n] = n, which, column
    sides.sign[n], sides.weaker[n] = sign, weaker
    sides.scale[n], sides.price[n] = scale, pricer.listed.price[which]


@inner
def number_sides(forest, pricer, low, high, words):
    """Number the sides that have a price or are demanded; return how many there are.

    Of a tree and column those above cuts come first, then those below, weaker ones before stronger.
    """
    summands, listed, sides = pricer.summands, pricer.listed, pricer.sides
    n, n_ordered, price, none = 0, len(low), listed.price, len(sides.price) - 1
    n_copies = n_ordered + len(forest.word_start) - 1
    for t in range(len(listed.rest)):
        first, last = listed.start[t], listed.start[t + 1]
        scale = listed.rest[t]
        for k in range(first, last):
            scale = max(scale, listed.value[k])
            for q in range(listed.n_sides[k]):
                sides.number[listed.side[k, q]] = 0
        for c in range(n_copies if first < last else 0):
            start, end = summands.start[t * n_copies + c], summands.start[t * n_copies + c + 1]
            for sign in (1, -1):
                weaker = none
                for i in range(end - start):
                    at = start + i if sign > 0 else end - 1 - i
                    which = 2 * at + (1 if sign > 0 else 0)
                    is_there = sides.number[which] == 0
                    if not is_there and price[which] > 0:
                        cut = summands.cut[at]
                        is_there = parts_box(forest, n_ordered, c, cut, low, high, words)
                    if is_there:
                        column, is_cut = summands.sum[t] * n_copies + c, c < n_ordered
                        number_side(
                            pricer, which, column, scale, sign if is_cut else 0, weaker, n
                        )  # fmt: skip
                        weaker = n if is_cut else none
                        n += 1
        for k in range(first, last):
            for q in range(listed.n_sides[k]):
                listed.side[k, q] = sides.number[listed.side[k, q]]
    return n


@inner
def cut_columns(pricer, n_sides, n_ordered, n_copies):
    """Cut the columns into segments at the cells of all sides; of sets each cell is one."""
    columns, sides, cut = pricer.columns, pricer.sides, pricer.summands.cut
    n = 0
    for p in range(len(columns.best) // n_copies if n_copies else 0):
        for m in range(n_sides):
            c = sides.column[m] % n_copies
            if sides.column[m] // n_copies == p and c < n_ordered:
                columns.at[columns.offset[c] + cut[sides.which[m] // 2]] = 1
        for c in range(n_copies):
            columns.start[p * n_copies + c] = n
            columns.cell[n] = 0
            n += 1
            for k in range(columns.offset[c] + 1, columns.offset[c + 1] - 1):
                if columns.at[k] != 0 or c >= n_ordered:
                    columns.at[k], columns.cell[n] = n, k - columns.offset[c]
                    n += 1
        for m in range(n_sides):
            c = sides.column[m] % n_copies
            if sides.column[m] // n_copies == p and c < n_ordered:
                sides.segment[m] = columns.at[columns.offset[c] + cut[sides.which[m] // 2]]
        for k in range(len(columns.at)):
            columns.at[k] = 0
    columns.start[len(columns.best)] = n
    order_sides(columns.first, sides, n_sides, n)


@inner
def order_sides(first, sides, n_sides, n_segments):
    """Order the sides of cuts by their segments."""
    for k in range(n_segments + 1):
        first[k] = 0
    for m in range(n_sides):
        if sides.sign[m] != 0:
            first[sides.segment[m]] += 1
    total = 0
    for k in range(n_segments + 1):
        total += first[k]
        first[k] = total
    for m in range(n_sides - 1, -1, -1):
        if sides.sign[m] != 0:
            first[sides.segment[m]] -= 1
            sides.order[first[sides.segment[m]]] = m


@inner
def has_cell(sets, row, cell):
    """Whether a set has a cell."""
    return (sets[row, cell // 64] >> np.uint64(cell % 64)) & np.uint64(1) != 0


@inner
def charge_leaves(sides, n_sides):
    """Add up what a leaf pays that demands a side: weaker demands follow from stronger ones."""
    price, charge, weaker = sides.price, sides.charge, sides.weaker
    for m in range(n_sides):
        charge[m] = price[m] + charge[weaker[m]]


@inner
def choose_leaves(listed, sides, of, chosen, sums):
    """Find each tree's best leaf at the prices; add what they have to the sums."""
    value, n_sides, side, charge = listed.value, listed.n_sides, listed.side, sides.charge
    for t in range(len(chosen)):
        best, own = listed.rest[t], -1
        for k in range(listed.start[t], listed.start[t + 1]):
            left = value[k]
            for q in range(n_sides[k]):
                left -= charge[side[k, q]]
            if left > best:
                best, own = left, k
        chosen[t] = own
        sums[of[t]] += best


@inner
def give_in_sets(forest, pricer, n_sides):
    """Write what is given back in each cell of the unordered columns."""
    columns, sides, cut = pricer.columns, pricer.sides, pricer.summands.cut
    given, price = columns.given, sides.price
    for m in range(n_sides):
        if sides.sign[m] == 0 and price[m] > 0:
            above, row, p = sides.which[m] % 2 == 1, cut[sides.which[m] // 2], sides.column[m]
            for k in range(columns.start[p], columns.start[p + 1], 64):
                word = forest.sets[row, (k - columns.start[p]) // 64]
                word = ~word if above else word
                for b in range(min(64, columns.start[p + 1] - k)):
                    is_in = (word >> np.uint64(b)) & np.uint64(1) != 0
                    given[k + b] += price[m] if is_in else 0.0


@inner
def choose_cells(forest, pricer, words, n_sides, n_ordered, n_copies, sums):
    """Find each column's best segment; add what is given back there to the sums."""
    columns, sides = pricer.columns, pricer.sides
    given, first, price, sign, order = (
        columns.given,
        columns.first,
        sides.price,
        sides.sign,
        sides.order,
    )
    n_sets = n_copies - n_ordered
    if n_sets > 0:
        for k in range(columns.start[len(columns.best)]):
            given[k] = 0.0
        give_in_sets(forest, pricer, n_sides)
    for p in range(len(columns.best)):
        c = p % n_copies - n_ordered
        start, end = columns.start[p], columns.start[p + 1]
        total, below, best, own = 0.0, 0.0, -np.inf, start
        for k in range(start, end):
            if c < 0:
                for i in range(first[k], first[k + 1]):
                    m = order[i]
                    total += sign[m] * price[m]
                    below += price[m] if sign[m] < 0 else 0.0
                given[k] = total
            else:
                cell = k - start
                word = words[forest.word_start[c] + cell // 64]
                is_there = (word >> np.uint64(cell % 64)) & np.uint64(1) != 0
                total = given[k] if is_there else -np.inf
            if total > best + TINY:
                best, own = total, k
        columns.best[p] = own
        sums[p // n_copies] += best + below


@inner
def count_demands(listed, sides, chosen, n_sides):
    """Write which sides the trees' best leaves demand, or a stronger one of the tree's column."""
    demand, weaker, scale, asked = sides.demand, sides.weaker, sides.scale, sides.asked
    for m in range(n_sides):
        demand[m] = 0
    for t in range(len(chosen)):
        k = chosen[t]
        if k >= 0:
            for q in range(listed.n_sides[k]):
                demand[listed.side[k, q]] = 1
    for m in range(n_sides):
        asked[m] = KEEP * asked[m] + (1 - KEEP) * demand[m] * scale[m]
    # A sum in memory would be waited for at every side.
    stronger, of = 0, -1
    for m in range(n_sides - 1, -1, -1):
        stronger = demand[m] + (stronger if of == m else 0)
        demand[m], of = stronger, weaker[m]


@inner
def find_slopes(forest, pricer, n_sides):
    """Write what is given back for each price in the columns' best cells, less what is paid."""
    sides, columns, cut = pricer.sides, pricer.columns, pricer.summands.cut
    sign, column, segment, demand = sides.sign, sides.column, sides.segment, sides.demand
    for m in range(n_sides):
        p = column[m]
        if sign[m] != 0:
            is_given = (columns.best[p] >= segment[m]) == (sign[m] > 0)
        else:
            cell, row = columns.best[p] - columns.start[p], cut[sides.which[m] // 2]
            is_given = has_cell(forest.sets, row, cell) == (sides.which[m] % 2 == 0)
        sides.slope[m] = (1 if is_given else 0) - demand[m]


@njit_fast
def move_prices(slope, mean, square, scale, price, n_sides, length, root):
    """Move each price by its own length; any prices will do.

    - `length`: of the step, divided by the share of slopes that the mean has seen.
    - `root`: what the mean square is divided by likewise.
    """
    for m in range(n_sides):
        mean[m] = KEEP * mean[m] + (1 - KEEP) * slope[m]
        square[m] = KEEP_SQUARE * square[m] + (1 - KEEP_SQUARE) * slope[m] * slope[m]
        step = length * scale[m] * mean[m] / (np.sqrt(square[m] / root) + 1e-3)
        price[m] = max(0.0, price[m] - step)


@inner
def improve_prices(
    forest, pricer, words, n_sides, n_ordered, n_steps, lengths, sums, best, enough
):  # fmt: skip
    """Improve the prices step by step; write the least sums to `best`."""
    listed, sides, chosen = pricer.listed, pricer.sides, pricer.chosen
    price, mean, square = sides.price, sides.mean, sides.square
    n_copies = n_ordered + len(forest.word_start) - 1
    for m in range(n_sides):
        mean[m], square[m], sides.asked[m] = 0.0, 0.0, 0.0
    kept, kept_square, length = 1.0, 1.0, lengths[0]
    shrink, most = (lengths[1] / lengths[0]) ** (1.0 / n_steps), np.abs(best) + np.abs(sums)
    for _ in range(n_steps):
        charge_leaves(sides, n_sides)
        sums[:] = 0.0
        choose_leaves(listed, sides, pricer.summands.sum, chosen, sums)
        choose_cells(forest, pricer, words, n_sides, n_ordered, n_copies, sums)
        done = True
        for p in range(len(best)):
            # Sums of the same numbers in another order, and of larger ones.
            best[p] = min(best[p], sums[p] + TINY * most[p])
            done = done and best[p] <= enough
        if done:
            break
        count_demands(listed, sides, chosen, n_sides)
        kept, kept_square = kept * KEEP, kept_square * KEEP_SQUARE
        find_slopes(forest, pricer, n_sides)
        move_prices(
            sides.slope, mean, square, sides.scale, price, n_sides, length / (1 - kept),
            1 - kept_square,
        )  # fmt: skip
        length *= shrink


@njit
def price_trees(
    forest, pairs, boxes, pricer, kept, place, own, low, high, words, best, enough
):  # fmt: skip
    """Bound the sums of trees in a box by prices.

    - `kept`, `place`: prices with which to begin; -1 is none.
    - `own` (n_trees,): the best difference of each tree by itself.
    - `best` (n_sums,): bounds that are known; lower ones are written there.
    - `enough`: sums that are low enough.

    Return how many prices there are.
    """
    summands, listed, sides = pricer.summands, pricer.listed, pricer.sides
    n_ordered, sums, n_sides = np.int64(len(low)), pricer.sums, 0
    sums[:] = 0.0
    for i in range(kept.n[place] if place >= 0 else 0):
        listed.price[kept.which[place, i]] = kept.price[place, i]
    # A box without prices of its own takes more and shorter steps, and has its trees listed anew
    # in between. Over all its steps their length, a share of the best value of a tree, falls to a
    # tenth.
    n_turns, n_steps, longest = np.int64(1), np.int64(40), 0.04
    if place < 0:
        n_turns, n_steps, longest = np.int64(6), np.int64(50), 0.02
    for turn in range(n_turns):
        for t in range(len(summands.tree)):
            most = own[summands.tree[t]]
            listed.rest[t], listed.start[t + 1] = most, listed.start[t]
            if most > 0 and best[summands.sum[t]] > enough:
                listed.rest[t] = 0.0
                list_nodes(forest, pairs, boxes, summands, listed, t, low, high, words)
        n_sides = number_sides(forest, pricer, low, high, words)
        cut_columns(pricer, n_sides, n_ordered, n_ordered + len(forest.word_start) - 1)
        first = longest * 0.1 ** (turn / n_turns)
        last = first * 0.1 ** (1 / n_turns)
        improve_prices(
            forest, pricer, words, n_sides, n_ordered, n_steps, (first, last), sums, best, enough,
        )  # fmt: skip
        for m in range(n_sides):
            listed.price[sides.which[m]] = sides.price[m]
            sides.number[sides.which[m]] = -1
        if best.max() <= enough:
            break
    for i in range(kept.n[place] if place >= 0 else 0):
        listed.price[kept.which[place, i]] = 0.0
    for m in range(n_sides):
        listed.price[sides.which[m]] = 0.0
    return n_sides


@njit
def propose_by_prices(forest, pricer, n_sides, low, high, words, chosen, cut):
    """Write the cut where trees demanded the most on either side of it in the last steps.

    Of an unordered copy the cells of one part are written to `chosen`, and the place 0 for them.
    """
    columns, sides, lost = pricer.columns, pricer.sides, pricer.columns.lost
    n_ordered = len(low)
    n_copies = n_ordered + len(forest.word_start) - 1
    cut[SCORE] = 0.0
    for k in range(columns.start[len(columns.best)]):
        lost[0, k], lost[1, k] = 0.0, 0.0
    for m in range(n_sides):
        c = sides.column[m] % n_copies
        if c < n_ordered:
            # A tree that demands less than a cell loses in the part at and above it.
            lost[1 - sides.which[m] % 2, sides.segment[m]] += sides.asked[m]
        elif sides.asked[m] > 0:
            offer_set(forest, pricer, n_sides, m, c - n_ordered, words, chosen, cut)
    for p in range(len(columns.best)):
        c, total = p % n_copies, 0.0
        for k in range(columns.start[p], columns.start[p + 1] if c < n_ordered else 0):
            total += lost[1, k]
            lost[1, k] = total
        total = 0.0
        for k in range(columns.start[p + 1] - 1 if c < n_ordered else 0, columns.start[p], -1):
            total += lost[0, k]
            lost[0, k] = total
            score = split_score(lost[0, k], lost[1, k])
            if score > cut[SCORE] and low[c] < columns.cell[k] < high[c]:
                cut[SCORE], cut[ORDERED], cut[PLACE], cut[CELL] = score, 1, c, columns.cell[k]


@inner
def offer_set(forest, pricer, n_sides, m, copy, words, chosen, cut):
    """Take the cut of a box by the set of a side if it scores more."""
    sides, sets, cuts = pricer.sides, forest.sets, pricer.summands.cut
    start, end = forest.word_start[copy], forest.word_start[copy + 1]
    row = cuts[sides.which[m] // 2]
    inside, outside = 0.0, 0.0
    for i in range(n_sides):
        if sides.column[i] == sides.column[m] and sides.asked[i] > 0:
            other, above = cuts[sides.which[i] // 2], sides.which[i] % 2 == 1
            some_in, some_out = False, False
            for w in range(start, end):
                own = sets[other, w - start]
                own = words[w] & (~own if above else own)
                some_in = some_in or (own & sets[row, w - start]) != 0
                some_out = some_out or (own & ~sets[row, w - start]) != 0
            inside += 0.0 if some_in else sides.asked[i]
            outside += 0.0 if some_out else sides.asked[i]
    score = split_score(inside, outside)
    if score > cut[SCORE]:
        cut[SCORE], cut[ORDERED], cut[PLACE], cut[CELL] = score, 0, copy, 0
        for w in range(start, end):
            chosen[w] = sets[row, w - start]
