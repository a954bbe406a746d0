"""Bound the sum of trees in a box by Lagrangian relaxation of the agreement between the trees.

The best leaves of all trees, each taken for itself, bound their sum, but they need not share a
point. A leaf lies below some cuts and above others. So there is a *constraint* of each tree for
each side of a cut: where its leaf lies on that side, or further in, so does the point. The
constraints are relaxed: each has a *multiplier* of zero or more. A leaf pays the multipliers of the
constraints that it activates as a *penalty*, and a point gets as a *reward* those of all sides that
it is on. At a point that all leaves share the rewards are no less than the penalties. So, whatever
the multipliers are, the sum of the trees is at most

    the sum over trees of the largest reduced value of a leaf, its value less its penalty
    + the sum over columns of the largest reward of a cell.

The least of these bounds, the Lagrangian dual, is that of the linear relaxation of [1]_, in which
the leaves of a tree on one side of a cut share a constraint. A subgradient of the bound is, of each
constraint, 1 where the columns' best cells satisfy it less 1 where a best leaf activates it; steps
against it have a length of their own for each multiplier [2]_.

Parts of a box begin with its multipliers.

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


class AgreementConstraints(NamedTuple):
    """Constraints of listed leaves: trees in turn, of each the columns, rising cells."""

    number: NDArray[np.int32]  # (2 * n_thresholds,) of each constraint that is there; -1 else
    which: NDArray[np.int32]  # twice the threshold, plus 1 above it or outside a set
    weaker: NDArray[np.int32]  # next weaker one of the tree and column; the last place if none
    sign: NDArray[np.int32]  # 1 above a cut, -1 below it, 0 of a set
    column: NDArray[np.int32]  # copy; of each sum others
    scale: NDArray[np.float64]  # best value of the tree
    segment: NDArray[np.int32]  # of the column, which begins at the cell
    order: NDArray[np.int32]  # constraints of cuts by their segments
    multiplier: NDArray[np.float64]
    penalty: NDArray[np.float64]  # of a leaf that activates this one, and so weaker ones, too
    active: NDArray[np.int32]  # number of best leaves that activate it, or a stronger one
    activity: NDArray[np.float64]  # mean value of the trees that activated it at the last steps
    subgradient: NDArray[np.float64]  # 1 if the cells satisfy it, less `active`
    mean: NDArray[np.float64]
    square: NDArray[np.float64]


class Columns(NamedTuple):
    """Columns in segments, in each of which the reward is the same."""

    at: NDArray[np.int32]  # (n_cells,) scratch memory
    offset: NDArray[np.int64]  # (n_copies + 1,) first cell of a copy there
    start: NDArray[np.int64]  # (n_columns + 1,)
    first: NDArray[np.int32]  # (n_segments + 1,) place in the order of its first constraint
    reward: NDArray[np.float64]  # (n_segments,) above the cuts, less what is lost below them
    cell: NDArray[np.int32]  # (n_segments,) first cell of a segment
    best: NDArray[np.int64]  # (n_columns,) segment with the largest reward
    lost: NDArray[np.float64]  # (2, n_segments,) what trees lose in either part of a cut


class LagrangianDual(NamedTuple):
    """Memory to bound a box by multipliers."""

    summands: Summands
    listed: Listed
    constraints: AgreementConstraints
    columns: Columns
    chosen: NDArray[np.int64]  # (n_summands,) best node at these multipliers; -1 has no penalty
    sums: NDArray[np.float64]  # (n_sums,) at these multipliers


def dual_for(forest: Forest, summands: Summands, n_cells, n_sums: int) -> LagrangianDual:
    """Return memory to bound boxes by multipliers.

    - `n_cells` (n_copies,): cells of each copy, ordered ones first.
    """
    n_constraints = 2 * len(summands.cut)
    n_columns, n_segments = n_sums * len(n_cells), n_sums * int(np.sum(n_cells + 1)) + 1
    listed = listed_for(forest, summands)
    number, which, weaker, sign, column, segment, order, active = np.zeros(
        (8, n_constraints + 1), np.int32
    )
    number[:] = -1
    scale, multiplier, penalty, activity, subgradient, mean, square = np.zeros(
        (7, n_constraints + 1)
    )
    constraints = AgreementConstraints(
        number, which, weaker, sign, column, scale, segment, order, multiplier, penalty, active,
        activity, subgradient, mean, square,
    )  # fmt: skip
    offset = np.concatenate([[0], np.cumsum(n_cells.astype(np.int64) + 1)])
    columns = Columns(
        np.zeros(offset[-1], np.int32), offset, np.zeros(n_columns + 1, np.int64),
        np.zeros(n_segments + 1, np.int32), np.zeros(n_segments), np.zeros(n_segments, np.int32),
        np.zeros(n_columns, np.int64), np.zeros((2, n_segments)),
    )  # fmt: skip
    chosen = np.zeros(len(summands.tree), np.int64)
    return LagrangianDual(summands, listed, constraints, columns, chosen, np.zeros(n_sums))


class KeptMultipliers(NamedTuple):
    """Multipliers, kept once for all boxes that inherit them."""

    n: NDArray[np.int64]  # (n_kept,) how many there are
    which: NDArray[np.int32]  # (n_kept, most a box) twice the threshold, plus 1 above it
    multiplier: NDArray[np.float32]
    n_boxes: NDArray[np.int64]  # (n_kept,) how many boxes they are for
    spare: NDArray[np.int64]  # places that are free
    n_spare: NDArray[np.int64]  # (1,)


def multipliers_memory(n_thresholds: int, n_boxes: int, n_bytes: int) -> KeptMultipliers:
    """Return memory for the multipliers of all boxes, or of as many as fit."""
    most = max(1, min(4096, 2 * n_thresholds))  # multipliers of a box
    n = max(min(n_bytes // (8 * most), n_boxes), 2)
    return KeptMultipliers(
        np.zeros(n, np.int64), np.empty((n, most), np.int32), np.empty((n, most), np.float32),
        np.zeros(n, np.int64), np.arange(n), np.array([n]),
    )  # fmt: skip


@inner
def release_multipliers(kept, place):
    """Note that a box needs some multipliers no longer; -1 is none."""
    if place >= 0:
        kept.n_boxes[place] -= 1
        if kept.n_boxes[place] == 0:
            kept.spare[kept.n_spare[0]] = place
            kept.n_spare[0] += 1


@inner
def new_place(kept):
    """Take a place for the multipliers of one box."""
    kept.n_spare[0] -= 1
    place = kept.spare[kept.n_spare[0]]
    kept.n_boxes[place] = 1
    return place


@njit
def copy_multipliers(kept, place, other):
    """Copy multipliers to where others are kept; return their place there, -1 if there is none."""
    if place < 0 or other.n_spare[0] == 0:
        return np.int64(-1)
    copy = new_place(other)
    other.n[copy] = kept.n[place]
    for m in range(kept.n[place]):
        other.which[copy, m], other.multiplier[copy, m] = (
            kept.which[place, m],
            kept.multiplier[place, m],
        )
    return copy


@njit
def keep_multipliers(kept, constraints, n_constraints):
    """Keep the multipliers of a box; return their place."""
    place, n = new_place(kept), 0
    for m in range(n_constraints):
        if constraints.multiplier[m] > 0 and n < kept.which.shape[1]:
            kept.which[place, n], kept.multiplier[place, n] = (
                constraints.which[m],
                constraints.multiplier[m],
            )
            n += 1
    kept.n[place] = n
    return place


@inner
def number_constraint(dual, which, column, scale, sign, weaker, n):
    """Give a constraint the next number."""
    constraints = dual.constraints
    constraints.number[which], constraints.which[n], constraints.column[n] = n, which, column
    constraints.sign[n], constraints.weaker[n] = sign, weaker
    constraints.scale[n], constraints.multiplier[n] = scale, dual.listed.multiplier[which]


@inner
def number_constraints(forest, dual, low, high, words):
    """Number the constraints that have a multiplier or an active leaf; return how many there are.

    Of a tree and column those above cuts come first, then those below, weaker ones before stronger.
    """
    summands, listed, constraints = dual.summands, dual.listed, dual.constraints
    n, n_ordered, multiplier, none = 0, len(low), listed.multiplier, len(constraints.multiplier) - 1
    n_copies = n_ordered + len(forest.word_start) - 1
    for t in range(len(listed.rest)):
        first, last = listed.start[t], listed.start[t + 1]
        scale = listed.rest[t]
        for k in range(first, last):
            scale = max(scale, listed.value[k])
            for q in range(listed.n_constraints[k]):
                constraints.number[listed.constraint[k, q]] = 0
        for c in range(n_copies if first < last else 0):
            start, end = summands.start[t * n_copies + c], summands.start[t * n_copies + c + 1]
            for sign in (1, -1):
                weaker = none
                for i in range(end - start):
                    at = start + i if sign > 0 else end - 1 - i
                    which = 2 * at + (1 if sign > 0 else 0)
                    is_there = constraints.number[which] == 0
                    if not is_there and multiplier[which] > 0:
                        cut = summands.cut[at]
                        is_there = parts_box(forest, n_ordered, c, cut, low, high, words)
                    if is_there:
                        column, is_cut = summands.sum[t] * n_copies + c, c < n_ordered
                        number_constraint(
                            dual, which, column, scale, sign if is_cut else 0, weaker, n
                        )  # fmt: skip
                        weaker = n if is_cut else none
                        n += 1
        for k in range(first, last):
            for q in range(listed.n_constraints[k]):
                listed.constraint[k, q] = constraints.number[listed.constraint[k, q]]
    return n


@inner
def cut_columns(dual, n_constraints, n_ordered, n_copies):
    """Cut the columns into segments at the cells of all constraints; of sets each cell is one."""
    columns, constraints, cut = dual.columns, dual.constraints, dual.summands.cut
    n = 0
    for p in range(len(columns.best) // n_copies if n_copies else 0):
        for m in range(n_constraints):
            c = constraints.column[m] % n_copies
            if constraints.column[m] // n_copies == p and c < n_ordered:
                columns.at[columns.offset[c] + cut[constraints.which[m] // 2]] = 1
        for c in range(n_copies):
            columns.start[p * n_copies + c] = n
            columns.cell[n] = 0
            n += 1
            for k in range(columns.offset[c] + 1, columns.offset[c + 1] - 1):
                if columns.at[k] != 0 or c >= n_ordered:
                    columns.at[k], columns.cell[n] = n, k - columns.offset[c]
                    n += 1
        for m in range(n_constraints):
            c = constraints.column[m] % n_copies
            if constraints.column[m] // n_copies == p and c < n_ordered:
                constraints.segment[m] = columns.at[
                    columns.offset[c] + cut[constraints.which[m] // 2]
                ]
        for k in range(len(columns.at)):
            columns.at[k] = 0
    columns.start[len(columns.best)] = n
    order_constraints(columns.first, constraints, n_constraints, n)


@inner
def order_constraints(first, constraints, n_constraints, n_segments):
    """Order the constraints of cuts by their segments."""
    for k in range(n_segments + 1):
        first[k] = 0
    for m in range(n_constraints):
        if constraints.sign[m] != 0:
            first[constraints.segment[m]] += 1
    total = 0
    for k in range(n_segments + 1):
        total += first[k]
        first[k] = total
    for m in range(n_constraints - 1, -1, -1):
        if constraints.sign[m] != 0:
            first[constraints.segment[m]] -= 1
            constraints.order[first[constraints.segment[m]]] = m


@inner
def has_cell(sets, row, cell):
    """Whether a set has a cell."""
    return (sets[row, cell // 64] >> np.uint64(cell % 64)) & np.uint64(1) != 0


@inner
def sum_penalties(constraints, n_constraints):
    """Add up the penalty of each constraint: weaker ones follow from stronger ones."""
    multiplier, penalty, weaker = constraints.multiplier, constraints.penalty, constraints.weaker
    for m in range(n_constraints):
        penalty[m] = multiplier[m] + penalty[weaker[m]]


@inner
def choose_leaves(listed, constraints, of, chosen, sums):
    """Find each tree's best leaf at the multipliers; add what they have to the sums."""
    value, n_constraints, constraint, penalty = (
        listed.value,
        listed.n_constraints,
        listed.constraint,
        constraints.penalty,
    )
    for t in range(len(chosen)):
        best, own = listed.rest[t], -1
        for k in range(listed.start[t], listed.start[t + 1]):
            left = value[k]
            for q in range(n_constraints[k]):
                left -= penalty[constraint[k, q]]
            if left > best:
                best, own = left, k
        chosen[t] = own
        sums[of[t]] += best


@inner
def add_set_rewards(forest, dual, n_constraints):
    """Write the reward of each cell of the unordered columns."""
    columns, constraints, cut = dual.columns, dual.constraints, dual.summands.cut
    reward, multiplier = columns.reward, constraints.multiplier
    for m in range(n_constraints):
        if constraints.sign[m] == 0 and multiplier[m] > 0:
            above, row, p = (
                constraints.which[m] % 2 == 1,
                cut[constraints.which[m] // 2],
                constraints.column[m],
            )
            for k in range(columns.start[p], columns.start[p + 1], 64):
                word = forest.sets[row, (k - columns.start[p]) // 64]
                word = ~word if above else word
                for b in range(min(64, columns.start[p + 1] - k)):
                    is_in = (word >> np.uint64(b)) & np.uint64(1) != 0
                    reward[k + b] += multiplier[m] if is_in else 0.0


@inner
def choose_cells(forest, dual, words, n_constraints, n_ordered, n_copies, sums):
    """Find each column's best segment; add its reward to the sums."""
    columns, constraints = dual.columns, dual.constraints
    reward, first, multiplier, sign, order = (
        columns.reward,
        columns.first,
        constraints.multiplier,
        constraints.sign,
        constraints.order,
    )
    n_sets = n_copies - n_ordered
    if n_sets > 0:
        for k in range(columns.start[len(columns.best)]):
            reward[k] = 0.0
        add_set_rewards(forest, dual, n_constraints)
    for p in range(len(columns.best)):
        c = p % n_copies - n_ordered
        start, end = columns.start[p], columns.start[p + 1]
        total, below, best, own = 0.0, 0.0, -np.inf, start
        for k in range(start, end):
            if c < 0:
                for i in range(first[k], first[k + 1]):
                    m = order[i]
                    total += sign[m] * multiplier[m]
                    below += multiplier[m] if sign[m] < 0 else 0.0
                reward[k] = total
            else:
                cell = k - start
                word = words[forest.word_start[c] + cell // 64]
                is_there = (word >> np.uint64(cell % 64)) & np.uint64(1) != 0
                total = reward[k] if is_there else -np.inf
            if total > best + TINY:
                best, own = total, k
        columns.best[p] = own
        sums[p // n_copies] += best + below


@inner
def count_active(listed, constraints, chosen, n_constraints):
    """Count the best leaves that activate each constraint, or a stronger one of its column."""
    active, weaker, scale, activity = (
        constraints.active,
        constraints.weaker,
        constraints.scale,
        constraints.activity,
    )
    for m in range(n_constraints):
        active[m] = 0
    for t in range(len(chosen)):
        k = chosen[t]
        if k >= 0:
            for q in range(listed.n_constraints[k]):
                active[listed.constraint[k, q]] = 1
    for m in range(n_constraints):
        activity[m] = KEEP * activity[m] + (1 - KEEP) * active[m] * scale[m]
    # A sum in memory would be waited for at every constraint.
    stronger, of = 0, -1
    for m in range(n_constraints - 1, -1, -1):
        stronger = active[m] + (stronger if of == m else 0)
        active[m], of = stronger, weaker[m]


@inner
def find_subgradients(forest, dual, n_constraints):
    """Write a subgradient of the bound at the best cells of columns and leaves of trees."""
    constraints, columns, cut = dual.constraints, dual.columns, dual.summands.cut
    sign, column, segment, active = (
        constraints.sign,
        constraints.column,
        constraints.segment,
        constraints.active,
    )
    for m in range(n_constraints):
        p = column[m]
        if sign[m] != 0:
            is_satisfied = (columns.best[p] >= segment[m]) == (sign[m] > 0)
        else:
            cell, row = columns.best[p] - columns.start[p], cut[constraints.which[m] // 2]
            is_satisfied = has_cell(forest.sets, row, cell) == (constraints.which[m] % 2 == 0)
        constraints.subgradient[m] = (1 if is_satisfied else 0) - active[m]


@njit_fast
def step_multipliers(subgradient, mean, square, scale, multiplier, n_constraints, length, root):
    """Move each multiplier by its own length; any multipliers will do.

    - `length`: of the step, divided by the share of slopes that the mean has seen.
    - `root`: what the mean square is divided by likewise.
    """
    for m in range(n_constraints):
        mean[m] = KEEP * mean[m] + (1 - KEEP) * subgradient[m]
        square[m] = KEEP_SQUARE * square[m] + (1 - KEEP_SQUARE) * subgradient[m] * subgradient[m]
        step = length * scale[m] * mean[m] / (np.sqrt(square[m] / root) + 1e-3)
        multiplier[m] = max(0.0, multiplier[m] - step)


@inner
def improve_multipliers(
    forest, dual, words, n_constraints, n_ordered, n_steps, lengths, sums, best, enough
):  # fmt: skip
    """Improve the multipliers by subgradient steps; write the least sums to `best`."""
    listed, constraints, chosen = dual.listed, dual.constraints, dual.chosen
    multiplier, mean, square = constraints.multiplier, constraints.mean, constraints.square
    n_copies = n_ordered + len(forest.word_start) - 1
    for m in range(n_constraints):
        mean[m], square[m], constraints.activity[m] = 0.0, 0.0, 0.0
    kept, kept_square, length = 1.0, 1.0, lengths[0]
    shrink, most = (lengths[1] / lengths[0]) ** (1.0 / n_steps), np.abs(best) + np.abs(sums)
    for _ in range(n_steps):
        sum_penalties(constraints, n_constraints)
        sums[:] = 0.0
        choose_leaves(listed, constraints, dual.summands.sum, chosen, sums)
        choose_cells(forest, dual, words, n_constraints, n_ordered, n_copies, sums)
        done = True
        for p in range(len(best)):
            # Sums of the same numbers in another order, and of larger ones.
            best[p] = min(best[p], sums[p] + TINY * most[p])
            done = done and best[p] <= enough
        if done:
            break
        count_active(listed, constraints, chosen, n_constraints)
        kept, kept_square = kept * KEEP, kept_square * KEEP_SQUARE
        find_subgradients(forest, dual, n_constraints)
        step_multipliers(
            constraints.subgradient, mean, square, constraints.scale, multiplier,
            n_constraints, length / (1 - kept), 1 - kept_square,
        )  # fmt: skip
        length *= shrink


@njit
def bound_by_multipliers(
    forest, pairs, boxes, dual, kept, place, own, low, high, words, best, enough
):  # fmt: skip
    """Bound the sums of trees in a box by multipliers.

    - `kept`, `place`: multipliers with which to begin; -1 is none.
    - `own` (n_trees,): the best difference of each tree by itself.
    - `best` (n_sums,): bounds that are known; lower ones are written there.
    - `enough`: sums that are low enough.

    Return how many multipliers there are.
    """
    summands, listed, constraints = dual.summands, dual.listed, dual.constraints
    n_ordered, sums, n_constraints = np.int64(len(low)), dual.sums, 0
    sums[:] = 0.0
    for i in range(kept.n[place] if place >= 0 else 0):
        listed.multiplier[kept.which[place, i]] = kept.multiplier[place, i]
    # A box without multipliers of its own takes more and shorter steps, and has its trees
    # listed anew in between. Over all its steps their length, a share of the best value of a tree,
    # falls to a tenth.
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
        n_constraints = number_constraints(forest, dual, low, high, words)
        cut_columns(dual, n_constraints, n_ordered, n_ordered + len(forest.word_start) - 1)
        first = longest * 0.1 ** (turn / n_turns)
        last = first * 0.1 ** (1 / n_turns)
        improve_multipliers(
            forest, dual, words, n_constraints, n_ordered, n_steps, (first, last), sums, best,
            enough,
        )  # fmt: skip
        for m in range(n_constraints):
            listed.multiplier[constraints.which[m]] = constraints.multiplier[m]
            constraints.number[constraints.which[m]] = -1
        if best.max() <= enough:
            break
    for i in range(kept.n[place] if place >= 0 else 0):
        listed.multiplier[kept.which[place, i]] = 0.0
    for m in range(n_constraints):
        listed.multiplier[constraints.which[m]] = 0.0
    return n_constraints


@njit
def propose_by_multipliers(forest, dual, n_constraints, low, high, words, chosen, cut):
    """Write the cut where the most trees were held on either side of it in the last steps.

    Of an unordered copy the cells of one part are written to `chosen`, and the place 0 for them.
    """
    columns, constraints, lost = dual.columns, dual.constraints, dual.columns.lost
    n_ordered = len(low)
    n_copies = n_ordered + len(forest.word_start) - 1
    cut[SCORE] = 0.0
    for k in range(columns.start[len(columns.best)]):
        lost[0, k], lost[1, k] = 0.0, 0.0
    for m in range(n_constraints):
        c = constraints.column[m] % n_copies
        if c < n_ordered:
            # A tree whose leaf lies below a cell loses in the part at and above it.
            lost[1 - constraints.which[m] % 2, constraints.segment[m]] += constraints.activity[m]
        elif constraints.activity[m] > 0:
            try_set(forest, dual, n_constraints, m, c - n_ordered, words, chosen, cut)
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
def try_set(forest, dual, n_constraints, m, copy, words, chosen, cut):
    """Take the cut of a box by the set of a constraint if it scores more."""
    constraints, sets, cuts = dual.constraints, forest.sets, dual.summands.cut
    start, end = forest.word_start[copy], forest.word_start[copy + 1]
    row = cuts[constraints.which[m] // 2]
    inside, outside = 0.0, 0.0
    for i in range(n_constraints):
        if constraints.column[i] == constraints.column[m] and constraints.activity[i] > 0:
            other, above = cuts[constraints.which[i] // 2], constraints.which[i] % 2 == 1
            some_in, some_out = False, False
            for w in range(start, end):
                own = sets[other, w - start]
                own = words[w] & (~own if above else own)
                some_in = some_in or (own & sets[row, w - start]) != 0
                some_out = some_out or (own & ~sets[row, w - start]) != 0
            inside += 0.0 if some_in else constraints.activity[i]
            outside += 0.0 if some_out else constraints.activity[i]
    score = split_score(inside, outside)
    if score > cut[SCORE]:
        cut[SCORE], cut[ORDERED], cut[PLACE], cut[CELL] = score, 0, copy, 0
        for w in range(start, end):
            chosen[w] = sets[row, w - start]
