"""The worst rows of a table, as many as fit into a given memory."""

from __future__ import annotations

import sys

import numpy as np

from skfairtest._typing import Bools, Floats, Ints

#: Rows that are kept at most, however narrow they are: to find the worst of so many costs little.
MOST_KEPT = 100_000


class WorstRows:
    """Rows with the largest disparities, as codes, with the sensitive codes of two twins of each.

    Parameters
    ----------
    n_features, n_sensitive : int
        Width of a row of codes, and number of its sensitive ones.
    megabytes : float
        Memory for the rows; beyond it those with the smallest disparity are dropped. Infinity keeps
        all rows.

    Attributes
    ----------
    capacity : int
        Rows that are kept.
    """

    def __init__(self, n_features: int, n_sensitive: int, megabytes: float = 32.0) -> None:
        width = n_features + 2 * n_sensitive + 2
        self.capacity = sys.maxsize
        if np.isfinite(megabytes):
            # A quarter is for rows that wait to be sorted.
            self.capacity = min(MOST_KEPT, max(1000, int(0.8 * megabytes * 2**20 / (8 * width))))
        self._parts: list[tuple[Floats, Floats, Floats, Ints]] = []
        self._n = 0
        self._empty = (
            np.empty((0, n_features)), np.empty((0, 2, n_sensitive)), np.empty(0),
            np.empty(0, dtype=np.int64),
        )  # fmt: skip
        #: Disparity that a row must exceed to be among those kept.
        self.floor = -np.inf

    def wants(self, disparity: Floats) -> Bools:
        """Return which rows may be kept."""
        return np.asarray(disparity > self.floor)

    def add(self, Z: Floats, pairs: Floats, disparity: Floats, numbers: Ints) -> None:
        """Add rows by their codes, their twins, their disparity and their numbers in the table."""
        if not len(Z):
            return
        self._parts.append((Z, pairs, disparity, numbers))
        self._n += len(Z)
        if self._n > 1.25 * self.capacity:
            self._tidy()

    def rows(self, *, by_number: bool = False) -> tuple[Floats, Floats, Floats, Ints]:
        """Return the codes, pairs (n, 2, n_sensitive), disparities and numbers, worst first.

        Of equal disparities the first in the table comes first. With `by_number` they are all in
        the order of the table.
        """
        self._tidy()
        Z, pairs, disparity, numbers = self._parts[0]
        order = np.argsort(numbers) if by_number else np.lexsort((numbers, -disparity))
        return Z[order], pairs[order], disparity[order], numbers[order]

    def _tidy(self) -> None:
        parts = zip(self._empty, *self._parts, strict=True)
        Z, pairs, disparity, numbers = (np.concatenate(arrays) for arrays in parts)
        if len(Z) > self.capacity:
            # To find the smallest that is kept takes less time than to sort them all.
            self.floor = float(np.partition(disparity, -self.capacity)[-self.capacity])
            kept = np.flatnonzero(disparity > self.floor)
            level = np.flatnonzero(disparity == self.floor)
            first = np.argsort(numbers[level], kind="stable")[: self.capacity - len(kept)]
            kept = np.concatenate([kept, level[first]])
            Z, pairs, disparity, numbers = Z[kept], pairs[kept], disparity[kept], numbers[kept]
        elif len(Z) == self.capacity:
            self.floor = float(disparity.min())
        self._parts, self._n = [(Z, pairs, disparity, numbers)], len(Z)
