"""The finds of a run: unique discriminatory inputs, the worst of them where they are too many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfairtest._keys import Keys, KeySet

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Archive:
    """Discriminatory inputs with the pair of sensitive combinations that shows each.

    Parameters
    ----------
    n_features : int
        Width of a row of codes.
    megabytes : float
        Memory for the rows; beyond it the finds with the smallest disparity are dropped.

    Attributes
    ----------
    n_found : int
        Unique discriminatory inputs found, kept or not.
    """

    def __init__(self, n_features: int, megabytes: float = 64.0) -> None:
        self.capacity = max(1000, int(megabytes * 2**20 / (8 * (n_features + 4))) // 2)
        self.n_found = 0
        self._known = KeySet()
        self._parts: list[tuple[Floats, Ints, Floats, Keys]] = []
        self._size = 0
        self._n_features = n_features

    def add(self, Z: Floats, pairs: Ints, disparity: Floats, keys: Keys) -> int:
        """Add discriminatory inputs; the number of those that were not known."""
        if not len(Z):
            return 0
        n_new = int(self._known.add(keys).sum())
        self.n_found += n_new
        # A known input may have come back with a larger disparity: `rows` keeps the largest.
        self._parts.append((Z, pairs, disparity, keys))
        self._size += len(Z)
        if self._size > 2 * self.capacity:
            self._compact()
        return n_new

    def rows(self) -> tuple[Floats, Ints, Floats]:
        """Inputs (n, n_features), pairs of combinations (n, 2) and disparities (n,), worst first."""
        if not self._parts:
            empty = np.empty(0)
            return np.empty((0, self._n_features)), np.empty((0, 2), dtype=np.intp), empty
        self._compact()
        Z, pairs, disparity, _ = self._parts[0]
        return Z, pairs, disparity

    def _compact(self) -> None:
        Z, pairs, disparity, keys = (
            np.concatenate(arrays) for arrays in zip(*self._parts, strict=True)
        )
        # Ties are broken by age, so that the result does not depend on when memory was tidied.
        order = np.argsort(-disparity, kind="stable")
        first = np.unique(keys[order], return_index=True)[1]
        order = order[np.sort(first)][: self.capacity]
        self._parts = [(Z[order], pairs[order], disparity[order], keys[order])]
        self._size = len(order)


class History:
    """The course of a run, thinned so that it never grows beyond `limit` rows.

    Each entry is (queries, seconds, inputs, finds, degree).
    """

    names = ("queries", "seconds", "inputs", "finds", "degree")

    def __init__(self, limit: int = 2000) -> None:
        self.limit = limit
        self._rows: list[tuple[float, ...]] = []
        self._every = 1
        self._count = 0
        self._last: tuple[float, ...] | None = None

    def add(self, *entry: float) -> None:
        """Write an entry."""
        self._last = entry
        if self._count % self._every == 0:
            self._rows.append(entry)
        self._count += 1
        if len(self._rows) > self.limit:
            self._rows = self._rows[::2]
            self._every *= 2

    def arrays(self) -> dict[str, Floats]:
        """The columns; the last entry is always there."""
        rows = list(self._rows)
        if self._last is not None and (not rows or rows[-1] != self._last):
            rows.append(self._last)
        table = np.array(rows, dtype=np.float64).reshape(-1, len(self.names))
        return {name: table[:, j] for j, name in enumerate(self.names)}
