"""Rows with equal cells in some columns, counted once: all that rules can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints


class DistinctRows:
    """The different combinations of cells that occur, and which row has which.

    Attributes
    ----------
    codes : ndarray of int of shape (n_different, n_attributes)
        The combinations.
    of_row : ndarray of int of shape (n_rows,)
        The number of each row's combination.
    count : ndarray of shape (n_different,)
        Rows of each combination.
    """

    def __init__(self, columns: Sequence[NDArray[Any]], sizes: list[int]) -> None:
        key = np.zeros(len(columns[0]), dtype=np.int64)
        n_keys = 1
        for column, size in zip(columns, sizes, strict=True):
            # A larger mixed-radix number might not fit into 64 bits.
            if n_keys * (size + 1) > 2**62:
                different, key = np.unique(key, return_inverse=True)
                n_keys = len(different)
            key = key * (size + 1) + column
            n_keys *= size + 1
        first, self.of_row = _first_and_number(key, n_keys)
        self.codes = np.column_stack([column[first] for column in columns])
        self.count = np.bincount(self.of_row, minlength=len(first)).astype(np.float64)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.count.sum())

    def sums(self, rows: Ints, table: Floats) -> Floats:
        """Sum of each column of values of the given rows of the data, shape (n_different, k)."""
        cells = self.of_row[rows]
        return np.column_stack([np.bincount(cells, c, len(self.codes)) for c in table.T])


class CellCounts:
    """Combinations of cells, counted chunk by chunk."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, ...], int] = {}

    def add(self, cells: NDArray[Any]) -> None:
        """Count the rows of a chunk by their cells, shape (n, n_attributes)."""
        different, counts = np.unique(cells, axis=0, return_counts=True)
        for key, count in zip(map(tuple, different.tolist()), counts.tolist(), strict=True):
            self._counts[key] = self._counts.get(key, 0) + count

    def of(self, rows: NDArray[Any], sizes: list[int]) -> DistinctRows:
        """The cells of all rows; `of_row` is about those given by their cells."""
        known = np.array(list(self._counts), dtype=np.int16)
        own = np.concatenate([known, rows.astype(np.int16)])
        cells = DistinctRows(list(own.T), sizes)
        cells.count = np.zeros(len(cells.codes))
        np.add.at(cells.count, cells.of_row[: len(known)], list(self._counts.values()))
        cells.of_row = cells.of_row[len(known) :]
        return cells


def _first_and_number(key: NDArray[np.int64], n_keys: int) -> tuple[Ints, Ints]:
    """A row of each different key, and the number of each row's key among those."""
    # Smaller keys are sorted by counting, which ten million rows feel.
    if n_keys > 2**22:
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return first, number.reshape(-1)
    place = np.full(n_keys, -1, dtype=np.intp)
    place[key] = np.arange(len(key))
    occurs = np.flatnonzero(place >= 0)
    first = place[occurs]
    place[occurs] = np.arange(len(occurs))
    return first, place[key]
