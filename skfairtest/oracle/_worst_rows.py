"""The worst rows of a table, as many as fit into a given memory."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._rows import stack, take_rows

#: Rows that are kept at most, however narrow they are: to find the worst of so many costs little.
MOST_KEPT = 100_000


class KeptRows(NamedTuple):
    """Rows as a table, a twin of each, their disparities and their numbers in the table."""

    rows: Any
    twins: Any
    disparity: Floats
    numbers: Ints

    def take(self, places: Ints) -> KeptRows:
        """Return some of the rows."""
        rows, twins = take_rows(self.rows, places), take_rows(self.twins, places)
        return KeptRows(rows, twins, self.disparity[places], self.numbers[places])


class WorstRows:
    """Rows with the largest disparities, in the user's kind of table, with a twin of each.

    Parameters
    ----------
    nothing : table
        Rows of the table, of which none is among the worst.
    megabytes : float
        Memory for the rows; beyond it those with the smallest disparity are dropped. Infinity keeps
        all rows.
    """

    def __init__(self, nothing: Any, megabytes: float = 32.0) -> None:
        none = take_rows(nothing, np.arange(0))
        self._empty = KeptRows(none, none, np.empty(0), np.empty(0, dtype=np.int64))
        self._bytes = megabytes * 2**20
        self._parts: list[KeptRows] = []
        self._n = 0
        #: Rows that are kept; the first rows tell how many.
        self._capacity = 0
        #: Disparity that a row must exceed to be among those kept.
        self._least_kept = -np.inf

    def wants(self, disparity: Floats) -> Bools:
        """Return which rows may be kept."""
        return np.asarray(disparity > self._least_kept)

    def add(self, kept: KeptRows) -> None:
        """Add rows."""
        n = len(kept.numbers)
        if not n:
            return
        if not self._capacity:
            # A quarter is for rows that wait to be sorted.
            size = (_bytes(kept.rows) + _bytes(kept.twins)) / n + 16
            most = max(1000, 0.8 * self._bytes / size)
            self._capacity = int(min(MOST_KEPT, most)) if np.isfinite(most) else sys.maxsize
        self._parts.append(kept)
        self._n += n
        if self._n > 1.25 * self._capacity:
            self._tidy()

    def rows(self, *, by_number: bool = False) -> KeptRows:
        """Return the rows, the worst first; of equal disparities the first in the table.

        With `by_number` they are all in the order of the table.
        """
        self._tidy()
        kept = self._parts[0]
        order = np.argsort(kept.numbers)
        return kept.take(order if by_number else np.lexsort((kept.numbers, -kept.disparity)))

    def _tidy(self) -> None:
        rows, twins, *arrays = zip(self._empty, *self._parts, strict=True)
        disparity, numbers = map(np.concatenate, arrays)
        kept = KeptRows(stack(list(rows)), stack(list(twins)), disparity, numbers)
        if len(numbers) > self._capacity:
            # To find the smallest that is kept takes less time than to sort them all.
            self._least_kept = float(np.partition(disparity, -self._capacity)[-self._capacity])
            places = np.flatnonzero(disparity > self._least_kept)
            level = np.flatnonzero(disparity == self._least_kept)
            first = np.argsort(numbers[level], kind="stable")[: self._capacity - len(places)]
            kept = kept.take(np.concatenate([places, level[first]]))
        elif self._n and len(numbers) == self._capacity:
            self._least_kept = float(disparity.min())
        self._parts, self._n = [kept], len(kept.numbers)


def _bytes(table: Any) -> float:
    """Return about how much memory a table takes."""
    if isinstance(table, pd.DataFrame):
        return float(table.memory_usage(index=False, deep=True).sum())
    if hasattr(table, "nbytes"):
        return float(table.nbytes)
    return float(table.estimated_size()) if hasattr(table, "estimated_size") else 0.0
