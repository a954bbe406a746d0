"""Quantile maps learned again and again from the same rows: each column is sorted once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest import _clock
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.transports._couplings import RANK_STEP, Quantiles
from skfairtest.transports._quantile import ColumnMap, QuantileTransport, is_missing
from skfairtest.transports._ranks import RowRanks


class SortedColumns(NamedTuple):
    """Some columns of numbers, none of them missing, each in increasing order.

    All arrays are of the columns one after the other, so that a few long operations move them all.

    Attributes
    ----------
    columns : ndarray of int of shape (n_columns,)
        Their positions.
    discrete : ndarray of bool of shape (n_columns,)
        Which of them have steps.
    values : ndarray of shape (n_values,)
        The different numbers of each column.
    order, place : ndarray of int of shape (n_columns * n_rows,)
        The rows in the order of their numbers, and which of the values each of them has.
    """

    columns: Ints
    discrete: Bools
    values: Floats
    order: NDArray[np.int32]
    place: NDArray[np.int32]

    @classmethod
    def of(cls, Z: Floats, columns: list[int], discrete: list[bool]) -> SortedColumns:
        """Sort columns of encoded rows."""
        encoded = np.ascontiguousarray(Z[:, columns].T)
        encoded[discrete] = np.rint(encoded[discrete])
        by_value = np.argsort(encoded, axis=1, kind="stable")
        numbers = np.take_along_axis(encoded, by_value, axis=1)
        is_new = np.ones(numbers.shape, dtype=bool)
        is_new[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
        place = (np.cumsum(is_new) - 1).astype(np.int32)
        order = by_value.astype(np.int32).ravel()
        return cls(np.array(columns), np.array(discrete), numbers[is_new], order, place)

    def ranked(
        self, groups: Ints, counts: Ints, n_groups: int, ranks: RowRanks
    ) -> tuple[Ints, Ints, Floats, UnitQuantiles]:
        """Return the rows that were drawn, ranked within their groups.

        Parameters
        ----------
        groups, counts : ndarray of int of shape (n_rows,)
            The group of each row, and how often it was drawn; of rows that were not, -1.
        n_groups : int
            Groups.
        ranks : RowRanks
            Of all rows.

        Returns
        -------
        rows, units : ndarray of int of shape (n,)
            Each row once for each column, and the unit that it is in: the number of the column
            times the number of groups, plus the group.
        rank : ndarray of shape (n,)
            Its rank there.
        numbers : UnitQuantiles
            The distributions.
        """
        of_row, n_columns = groups[self.order], len(self.columns)
        column = np.repeat(np.arange(n_columns) * n_groups, len(groups))
        unit_of = np.where(of_row < 0, n_columns * n_groups, column + of_row).astype(np.int16)
        # Short numbers are sorted by counting, and stay in the order of their values.
        at = np.argsort(unit_of, kind="stable")[: n_columns * int((groups >= 0).sum())]
        units, rows, place = (
            unit_of[at].astype(np.intp),
            self.order[at].astype(np.intp),
            self.place[at],
        )
        is_first = np.ones(len(at), dtype=bool)
        is_first[1:] = (place[1:] != place[:-1]) | (units[1:] != units[:-1])
        first = np.flatnonzero(is_first)
        numbers = UnitQuantiles.learn(
            self.values[place[first]], units[first], np.add.reduceat(counts[rows], first),
            np.repeat(self.discrete, n_groups),
        )  # fmt: skip
        value = np.cumsum(is_first) - 1
        rank, high = numbers.low[value], numbers.high[value]
        wide = np.flatnonzero(high > rank)
        uniform = ranks.uniform(2 * self.columns[units[wide] // n_groups], rows[wide])
        rank[wide] = np.minimum(rank[wide] + uniform * (high[wide] - rank[wide]), high[wide])
        return rows, units, rank, numbers


class UnitQuantiles(NamedTuple):
    """Distributions of numbers in several units, one after the other; see `Quantiles`.

    Attributes
    ----------
    values, low, high : ndarray of shape (n_values,)
        As those of `Quantiles`.
    start : ndarray of int of shape (n_units + 1,)
        Where the values of each unit begin, and where the last end.
    key : ndarray of shape (n_values,)
        The last rank of each value plus the number of its unit, which rises throughout.
    """

    values: Floats
    low: Floats
    high: Floats
    start: Ints
    key: Floats

    @classmethod
    def learn(cls, values: Floats, units: Ints, counts: Ints, discrete: Bools) -> UnitQuantiles:
        """Learn the distributions of numbers that occur so often in each unit."""
        start = np.searchsorted(units, np.arange(len(discrete) + 1))
        upto = np.cumsum(counts)
        ends = np.concatenate([[0], upto])[start]
        before, total = ends[:-1][units], np.diff(ends)[units]
        high, low = (upto - before) / total, (upto - counts - before) / total
        once = np.flatnonzero((counts == 1) & ~discrete[units])
        low[once] = high[once] = (low[once] + high[once]) / 2
        return cls(values, low, high, start, units + high)

    def at(self, ranks: Floats, units: Ints) -> Floats:
        """Return the numbers at some ranks, each in a unit."""
        first, last = self.start[units], self.start[units + 1] - 1
        # Where the units meet, a step below a rank may lie in the one before.
        at = np.clip(np.searchsorted(self.key, units + (ranks - RANK_STEP)), first, last)
        all_of = Quantiles(self.values, self.low, self.high)
        return all_of.between(ranks, at, np.maximum(at - 1, first))


class Resampled:
    """A quantile map that is learned again from the rows of a table, or from some of them.

    What `QuantileTransport` learns from the same rows moves them to the same places, but for
    rounding and for the values that it leaves out of more than 4,096.

    Parameters
    ----------
    transport : QuantileTransport
        Fitted to the table; `by` names no columns.
    Z : ndarray of shape (n_rows, n_features)
        Its encoded rows.
    """

    def __init__(self, transport: QuantileTransport, Z: Floats) -> None:
        self.transport, self.Z = transport, np.asfortranarray(Z)
        self.ranks = RowRanks(self.Z, transport.random_state or 0)
        self.by_shares: list[int] = []
        numbers: list[int] = []
        for j in transport.moving_.tolist():
            _clock.check_ending()
            column, encoded = transport.layout_.columns[j], self.Z[:, j]
            # Categories and missing values move by their shares, as they always do.
            by_shares = column.is_category or is_missing(column, encoded).any()
            (self.by_shares if by_shares else numbers).append(j)
        # As much at once as stays in the processor's own memory, and few enough units for keys.
        n_groups = len(transport.groups_)
        size = max(1, min(2**15 // len(Z), 512 // n_groups))
        self.blocks = []
        for start in range(0, len(numbers), size):
            _clock.check_ending()
            columns = numbers[start : start + size]
            discrete = [transport.layout_.columns[j].discrete for j in columns]
            self.blocks.append(SortedColumns.of(self.Z, columns, discrete))

    def move(
        self, groups: Ints, counts: Ints, n_groups: int
    ) -> Iterator[tuple[int, int, Ints, Floats]]:
        """Learn from rows that are drawn so often each, and move these to each other group.

        Parameters
        ----------
        groups : ndarray of int of shape (n_rows,)
            The group of each row.
        counts : ndarray of int of shape (n_rows,)
            How often it was drawn.
        n_groups : int
            Groups.

        Yields
        ------
        own, to : int
            A group, and the one to which it is moved.
        rows : ndarray of int
            The rows of the group that were drawn.
        Z : ndarray of shape (n_drawn, n_features)
            These rows, moved.
        """
        groups = np.where(counts > 0, groups, -1)
        rows = [np.flatnonzero(groups == g) for g in range(n_groups)]
        # To the group that comes so many places after their own.
        moved = [self.Z.copy(order="F") for _ in range(n_groups - 1)]
        for block in self.blocks:
            _clock.check_ending()
            of, units, rank, numbers = block.ranked(groups, counts, n_groups, self.ranks)
            column, own = np.divmod(units, n_groups)
            for k, Z in enumerate(moved, 1):
                target = units - own + (own + k) % n_groups
                Z.T[block.columns[column], of] = numbers.at(rank, target)
        ranks = [self.ranks.of(own) for own in rows]
        pairs = {(a, b): np.asfortranarray(moved[(b - a) % n_groups - 1][rows[a]])
                 for a, b in itertools.permutations(range(n_groups), 2)}  # fmt: skip
        for j in self.by_shares:
            _clock.check_ending()
            self._move_by_shares(j, rows, counts, ranks, pairs)
        for (a, b), Z in pairs.items():
            yield a, b, rows[a], Z

    def _move_by_shares(
        self, j: int, rows: list[Ints], counts: Ints, ranks: list[RowRanks], moved: Any
    ) -> None:
        column, encoded = self.transport.layout_.columns[j], self.Z[:, j]
        drawn = [encoded[np.repeat(own, counts[own])] for own in rows]
        of_column = ColumnMap.learn(column, drawn)
        curves: dict[Any, Any] = {}
        for (a, b), Z in moved.items():
            Z[:, j] = of_column.move(column, encoded[rows[a]], a, b, ranks[a], j, curves)
