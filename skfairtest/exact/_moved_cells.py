"""Cells of one column and of where a transport moves them: what a row and its moved twins show.

A transport that moves each column by itself and never reverses an order sends an interval of codes
to intervals of codes. So the values of a column fall into finitely many classes: those of a class
lie in one cell of the model, and so do the values that they are moved to, in one cell for each
group. Random ranks tell equal values apart; all ranks that there may be are gone through, so that
what is said of the classes holds whatever the seed.

No formula of the map is inverted: classes are found by halving, on the very numbers of the machine,
with the code that moves rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._clock import check_time
from skfairtest._typing import Floats, Ints
from skfairtest.exact._trees.threshold_cells import Grid
from skfairtest.space._moved import MovedTwins
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._code_order import CodeOrder
from skfairtest.whitebox._unsupported import Unsupported

Ints64 = NDArray[np.int64]
#: Ranks are multiples of one by this: as many as `RowRanks` has.
N_RANKS = 2**53
#: Why a bracket is open that all ranks together close.
RANKS = (
    "the bound holds for all ranks by which equal values may be told apart, and the transport's "
    "own ranks need not reach it"
)
#: How far from a border that arithmetic finds it is looked for first, in neighbouring numbers.
BESIDE = np.array([0, 1, 4, 64, 4096, 2**20, 2**32])


class Classes(NamedTuple):
    """Classes of the values of one column in one group.

    Attributes
    ----------
    cells : ndarray of int of shape (n_classes, n_groups)
        The cell of the model that values are moved to in each group; in the own one they stay.
    low, high : ndarray of shape (n_classes,)
        Codes of the own group that belong to the class: all between two, or some of one code, by
        their ranks.
    """

    cells: Ints
    low: Floats
    high: Floats


class _Runs(NamedTuple):
    """Parts of intervals of whole numbers on which a function is constant."""

    interval: Ints
    first: Ints64
    last: Ints64
    outcome: Ints64  # (n_runs, n_outcomes)


def constant_runs(
    low: Ints64,
    high: Ints64,
    evaluate: Callable[[Ints64, Ints], Ints64],
    deadline: float = np.inf,
) -> _Runs:
    """Return where functions of whole numbers that never fall are constant, by halving.

    Parameters
    ----------
    low, high : ndarray of shape (n_intervals,)
        First and last number of each interval.
    evaluate : callable
        Gets numbers and the interval that each is in; returns outcomes, (n, n_outcomes), none of
        which falls along an interval.
    deadline : float, default=inf
        When to give up, by `_clock.now`.
    """
    every = np.arange(len(low))
    left, right, of = low, high, every
    at_left, at_right = evaluate(left, of), evaluate(right, of)
    points = [(of, left, at_left), (of, right, at_right)]
    while True:
        check_time(deadline)
        # Beside each other nothing is left between.
        open_ = np.flatnonzero((at_left != at_right).any(axis=1) & (right > left + 1))
        if not len(open_):
            break
        left, right, of = left[open_], right[open_], of[open_]
        at_left, at_right = at_left[open_], at_right[open_]
        middle = (left >> 1) + (right >> 1) + (left & right & 1)  # sums may not fit into 64 bits
        seen = evaluate(middle, of)
        points.append((of, middle, seen))
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        at_left, at_right = np.concatenate([at_left, seen]), np.concatenate([seen, at_right])
        of = np.concatenate([of, of])
    interval, place, outcome = (np.concatenate(parts) for parts in zip(*points, strict=True))
    order = np.lexsort((place, interval))
    interval, place, outcome = interval[order], place[order], outcome[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (interval[1:] != interval[:-1]) | (outcome[1:] != outcome[:-1]).any(axis=1)
    start = np.flatnonzero(new)
    end = np.append(start[1:], len(order)) - 1
    return _Runs(interval[start], place[start], place[end], outcome[start])


class Sweep(NamedTuple):
    """Intervals of numbers along which the values of a column, and their moved ones, never fall.

    Attributes
    ----------
    low, high : ndarray of int of shape (n_intervals,)
        First and last number of each.
    codes : ndarray of shape (n_intervals,) or None
        The code of each interval, whose numbers are ranks then; with None numbers are codes, by
        their order, and have one rank each.
    missing : float
        The rank that says which groups the value is missing in.
    """

    low: Ints64
    high: Ints64
    codes: Floats | None
    missing: float


def _by_rank(codes: Floats, missing: float) -> Sweep:
    """Return all ranks of some codes."""
    n = len(codes)
    return Sweep(np.zeros(n, np.int64), np.full(n, N_RANKS - 1, np.int64), codes, missing)


class Segments:
    """The codes of one attribute in parts of their order, each of which lies in one cell.

    Cells of bent features need not be in the order of the codes; these parts are.
    """

    def __init__(self, grid: Grid, attribute: int) -> None:
        self._grid, self._attribute = grid, attribute
        own = grid.cells[attribute]
        self._low = float(grid.space.domain.low[attribute])
        self._starts = grid.starts.get(attribute)
        #: The cell of each segment.
        self.cells = np.arange(len(own.low))
        self._run: Ints | None = None
        if self._starts is not None:
            self.cells = own.member
        elif len(own.member):
            new = np.append(True, own.member[1:] != own.member[:-1])
            self._run, self.cells = np.cumsum(new) - 1, own.member[new]

    @property
    def first(self) -> Floats:
        """First codes of the segments of an attribute of many values; else none are needed."""
        if self._starts is not None:
            return self._starts
        return np.empty(0) if self._run is not None else self._grid.cells[self._attribute].low

    def of(self, codes: Floats) -> Ints:
        """Return the segment of each code of the domain."""
        if self._starts is not None:
            return np.searchsorted(self._starts[1:], codes, side="right")
        if self._run is not None:
            place = np.rint(codes - self._low).astype(np.intp)
            return self._run[np.clip(place, 0, len(self._run) - 1)]
        return self._grid.cell_of(self._attribute, codes)


class ColumnClasses:
    """Finds the classes of columns.

    Parameters
    ----------
    space : InputSpace
        With moved twins, of a transport that moves each column by itself.
    deadline : float, default=inf
        When to give up, by `_clock.now`.
    """

    def __init__(self, space: InputSpace, deadline: float = np.inf) -> None:
        moved = space.twins_.moved
        assert isinstance(moved, MovedTwins)
        self.space, self.moved, self.deadline = space, moved, deadline
        self.n_groups = len(moved.codes)
        self._moving = set(moved.moving.tolist())

    def of(self, j: int, own: int, segments: Segments) -> Classes:
        """Return the classes of an attribute in a group.

        Parameters
        ----------
        j : int
            An attribute that is not sensitive.
        own : int
            The group.
        segments : Segments
            Which codes the model does not tell apart.
        """
        column = self.space.layout.columns[j]
        if j not in self._moving:
            found = self._still(j, own, segments)
        elif column.is_category:
            found = self._of_categories(j, own, segments)
        else:
            found = self._of_numbers(j, own, segments)
        cells, low, high = (np.concatenate(parts) for parts in zip(*found, strict=True))
        # Of equal classes the one with most codes stands for all.
        width = np.argsort(-(high - low), kind="stable")
        _, first = np.unique(cells[width], axis=0, return_index=True)
        kept = np.sort(width[first])
        kept = kept[np.argsort(low[kept], kind="stable")]
        return Classes(cells[kept], low[kept], high[kept])

    # Kinds of columns -----------------------------------------------------------------------

    def _still(self, j: int, own: int, segments: Segments) -> list[Classes]:
        """Classes of a column that does not move."""
        order = CodeOrder(self.space, j)
        low, high = order.ends()

        def evaluate(numbers: Ints64, of: Ints) -> Ints64:
            return segments.of(order.code(numbers))[:, None].astype(np.int64)

        runs = self._runs([low], [high], evaluate)
        cells = np.repeat(segments.cells[runs.outcome], self.n_groups, axis=1)
        return [Classes(cells, order.code(runs.first), order.code(runs.last))]

    def _of_categories(self, j: int, own: int, segments: Segments) -> list[Classes]:
        """Classes of a category: with rising rank it first stays, and then becomes another one."""
        domain = self.space.domain
        codes = np.arange(domain.low[j], domain.high[j] + 1)

        def moved(numbers: Ints64, of: Ints) -> Floats:
            return self._moved(j, codes[of], own, _ranks(numbers), np.zeros(len(of)))

        def evaluate(numbers: Ints64, of: Ints) -> Ints64:
            raw = moved(numbers, of)
            # Its own category comes first, whatever its place among the others.
            return np.where(raw == codes[of][:, None], -1, raw).astype(np.int64)

        runs = self._runs(np.zeros(len(codes)), np.full(len(codes), N_RANKS - 1), evaluate)
        after = moved(runs.first, runs.interval)
        here = codes[runs.interval]
        return [Classes(self._cells(j, after, segments), here, here)]

    def _of_numbers(self, j: int, own: int, segments: Segments) -> list[Classes]:
        """Classes of numbers, present ones and missing."""
        order = CodeOrder(self.space, j)
        guesses = self._guesses(j, own, segments, order)
        found = []
        for sweep in self.sweeps(j, own, segments):
            low, high = sweep.low, sweep.high
            if sweep.codes is None:
                low, high = _cut(low, high, guesses)

            def evaluate(numbers: Ints64, of: Ints, sweep: Sweep = sweep) -> Ints64:
                return self._segments(j, self.after(j, own, sweep, numbers, of), segments)

            runs = self._runs(low, high, evaluate)
            ends = (self.own_codes(j, sweep, n, runs.interval) for n in (runs.first, runs.last))
            found.append(Classes(segments.cells[runs.outcome], *ends))
        return found

    def sweeps(self, j: int, own: int, segments: Segments | None = None) -> list[Sweep]:
        """Return what a column of numbers may hold in a group, with all ranks that rows may have.

        `segments` are the codes that need not be told apart; None tells all apart.
        """
        column, domain = self.space.layout.columns[j], self.space.domain
        order = CodeOrder(self.space, j)
        low, high = order.ends()
        last = int(order.rank(np.array([min(domain.top[j], domain.high[j])]))[0])
        found: list[Sweep] = []
        ranked = self.moved.transport.ranked_codes(j, own)
        if ranked is not None:
            inside = (domain.low[j] <= ranked) & (ranked <= order.code(np.array([last]))[0])
            tied = ranked[inside]
            tied = np.unique(tied[order.code(order.rank(tied)) == tied])
            places = order.rank(tied)
            starts, ends = np.append(low, places + 1), np.append(places - 1, last)
            full = starts <= ends
        for missing in self._patterns(j, domain.low[j], own):
            if ranked is None:  # the group has no numbers: rows may have any rank
                found.append(_by_rank(self._each(j, low, last, segments), missing))
                continue
            found.append(Sweep(starts[full], ends[full], None, missing))
            found.append(_by_rank(tied, missing))
        if column.missing is not None and high > last:
            gone = domain.high[[j]]
            found += [_by_rank(gone, m) for m in self._patterns(j, float(gone[0]), own)]
        return [sweep for sweep in found if len(sweep.low)]

    def ranked(self, j: int, own: int) -> Floats:
        """Return the numbers of a group whose rows have many ranks; none of a still column."""
        if j not in self._moving or self.space.layout.columns[j].is_category:
            return np.empty(0)
        found = self.moved.transport.ranked_codes(j, own)
        return np.empty(0) if found is None else found

    def _each(self, j: int, low: int, last: int, segments: Segments | None) -> Floats:
        """Return a code of each segment, of present numbers."""
        if segments is None:
            raise Unsupported(
                f"A group has no numbers in {self.space.feature_names[j]!r}, so that its values "
                "have no ranks.",
                "Name the column in keep=, or leave the group out.",
            )
        order = CodeOrder(self.space, j)

        def evaluate(numbers: Ints64, of: Ints) -> Ints64:
            return segments.of(order.code(numbers))[:, None].astype(np.int64)

        return order.code(self._runs([low], [last], evaluate).first)

    def _patterns(self, j: int, code: float, own: int) -> list[float]:
        """Return ranks of being missing that stand for all: which groups a row is missing in."""
        one = np.array([code])

        def evaluate(numbers: Ints64, of: Ints) -> Ints64:
            n = len(numbers)
            after = self._moved(j, np.repeat(one, n), own, np.zeros(n), _ranks(numbers))
            column = self.space.layout.columns[j]
            gone = np.isnan(after) | (after > column.top)
            # A present row may become missing at a large rank, and a missing one present.
            return np.where(code > column.top, ~gone, gone).astype(np.int64)

        runs = self._runs([0], [N_RANKS - 1], evaluate)
        return _ranks(runs.first).tolist()

    def _guesses(self, j: int, own: int, segments: Segments, order: CodeOrder) -> Ints64:
        """Return numbers beside which the map probably changes cells: halving ends soon there.

        They are where the other groups' borders are moved back to. Nothing rests on them.
        """
        first = segments.first
        if not len(first):
            return np.empty(0, dtype=np.int64)
        n = len(first)
        move = self.moved.transport.move_column
        back = [first]
        for g in range(self.n_groups):
            for rank in (0.0, 1 - 1 / N_RANKS) if g != own else ():
                back.append(move(j, first, g, own, np.full(n, rank), np.zeros(n)))
        codes = np.concatenate(back)
        low, high = order.ends()
        places = order.rank(np.clip(codes[np.isfinite(codes)], order.low, order.high))
        beside = np.concatenate([-BESIDE[:0:-1], BESIDE])
        return np.unique(np.clip((places[:, None] + beside).ravel(), low, high))

    # Codes ----------------------------------------------------------------------------------

    def _runs(self, low: Any, high: Any, evaluate: Callable[[Ints64, Ints], Ints64]) -> _Runs:
        ends = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        return constant_runs(*ends, evaluate, self.deadline)

    def own_codes(self, j: int, sweep: Sweep, numbers: Ints64, of: Ints) -> Floats:
        """Return the codes of numbers of a sweep, each in the interval `of`."""
        return CodeOrder(self.space, j).code(numbers) if sweep.codes is None else sweep.codes[of]

    def after(self, j: int, own: int, sweep: Sweep, numbers: Ints64, of: Ints) -> Floats:
        """Return where these are moved to in each group, not rounded yet; (n, n_groups)."""
        n = len(numbers)
        ranks = np.zeros(n) if sweep.codes is None else _ranks(numbers)
        codes = self.own_codes(j, sweep, numbers, of)
        return self._moved(j, codes, own, ranks, np.full(n, sweep.missing))

    def moved_codes(self, j: int, own: int, codes: Floats) -> Floats:
        """Return where codes of the least rank are in each group, (n, n_groups)."""
        zeros = np.zeros(len(codes))
        return self.rounded(j, self._moved(j, codes, own, zeros, zeros))

    def _moved(self, j: int, codes: Floats, own: int, ranks: Floats, missing: Floats) -> Floats:
        """Return where codes are moved to in each group, not rounded yet; (n, n_groups)."""
        move = self.moved.transport.move_column
        after = [
            codes if g == own else move(j, codes, own, g, ranks, missing)
            for g in range(self.n_groups)
        ]
        found = np.stack(after, axis=1)
        if np.isnan(found).any():
            raise Unsupported(
                f"Rows are moved to a missing value of {self.space.feature_names[j]!r}, which is "
                "none of its domain.",
                "Fit the space to rows of which some have it, or name the column in keep=.",
            )
        return found

    def rounded(self, j: int, after: Floats) -> Floats:
        """Return moved codes as they are in the domain."""
        rows = np.repeat(self.space.domain.low[None], after.size, axis=0)
        rows[:, j] = after.ravel()
        return self.space.domain.clip(rows)[:, j].reshape(after.shape)

    def _segments(self, j: int, after: Floats, segments: Segments) -> Ints64:
        rounded = self.rounded(j, after)
        return segments.of(rounded.ravel()).reshape(after.shape).astype(np.int64)

    def _cells(self, j: int, after: Floats, segments: Segments) -> Ints:
        return segments.cells[self._segments(j, after, segments)]


def _cut(low: Ints64, high: Ints64, places: Ints64) -> tuple[Ints64, Ints64]:
    """Return intervals, in their order and apart from each other, cut before some numbers."""
    of = np.searchsorted(low, places, side="right") - 1
    inside = (of >= 0) & (places <= high[of]) & (places > low[of])
    places, of = places[inside], of[inside]
    starts = np.sort(np.concatenate([low, places]))
    own = np.searchsorted(low, starts, side="right") - 1
    ends = np.minimum(np.append(starts[1:] - 1, high[-1]), high[own])
    return starts, ends


def _ranks(numbers: Ints64) -> Floats:
    return numbers.astype(np.float64) * (1.0 / N_RANKS)
