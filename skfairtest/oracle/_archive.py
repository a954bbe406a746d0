"""The unique discriminatory inputs of a run; if they are too many, the worst of them."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.oracle._row_hash import Keys, KeySet, distinct


class Archive:
    """Discriminatory inputs with the encoded sensitive values of the two twins that show each.

    Parameters
    ----------
    n_features, n_sensitive : int
        Width of an encoded row, and number of its sensitive ones.
    megabytes : float
        Memory for the rows; beyond it those with the smallest disparity are dropped.

    Attributes
    ----------
    n_found : int
        Unique discriminatory inputs found, kept or not.
    """

    def __init__(self, n_features: int, n_sensitive: int, megabytes: float = 32.0) -> None:
        width = n_features + 2 * n_sensitive + 2
        self.capacity = max(1000, int(megabytes * 2**20 / (8 * width)))
        self.n_found = 0
        self.known = KeySet()
        self._size = 0
        # Disparity that an input must exceed to be among those that a full archive keeps.
        self._least_kept = -np.inf
        self._Z = np.empty((1024, n_features))
        self._pairs = np.empty((1024, 2, n_sensitive))
        self._disparity = np.empty(1024)
        self._keys = np.empty(1024, dtype=np.uint64)

    def add(self, Z: Floats, pairs: Floats, disparity: Floats, keys: Keys) -> int:
        """Add discriminatory inputs; return how many of them are new."""
        n_new = int(self.known.add(keys).sum()) if len(Z) else 0
        self.n_found += n_new
        if self._least_kept > -np.inf and len(Z):
            above = disparity > self._least_kept
            Z, pairs, disparity, keys = Z[above], pairs[above], disparity[above], keys[above]
        for start in range(0, len(Z), 1024):
            part = slice(start, start + 1024)
            self._append(Z[part], pairs[part], disparity[part], keys[part])
        return n_new

    def rows(self) -> tuple[Floats, Floats, Floats]:
        """Inputs (n, n_features), their pairs (n, 2, n_sensitive), disparities (n,); worst first.

        A pair is the encoded sensitive values of two twins.
        """
        self._tidy()
        n = self._size
        return self._Z[:n].copy(), self._pairs[:n].copy(), self._disparity[:n].copy()

    def keys(self) -> Keys:
        """Return the keys of the inputs of `rows`, in their order."""
        self._tidy()
        return self._keys[: self._size].copy()

    def _append(self, Z: Floats, pairs: Floats, disparity: Floats, keys: Keys) -> None:
        if self._size + len(Z) > len(self._Z):
            if len(self._Z) >= 1.25 * self.capacity:
                self._tidy()
            else:
                self._resize(int(min(2 * len(self._Z), 1.25 * self.capacity + 1024)))
        # A known input may come back with a larger disparity; tidying keeps the largest.
        place = slice(self._size, self._size + len(Z))
        self._Z[place], self._pairs[place] = Z, pairs
        self._disparity[place], self._keys[place] = disparity, keys
        self._size = place.stop

    def _resize(self, n: int) -> None:
        for name in ("_Z", "_pairs", "_disparity", "_keys"):
            old = getattr(self, name)
            new = np.empty((n, *old.shape[1:]), dtype=old.dtype)
            new[: self._size] = old[: self._size]
            setattr(self, name, new)

    def _tidy(self) -> None:
        """Sort by disparity, drop what came twice, and keep no more than the capacity."""
        n = self._size
        # Ties are broken by age, so that the result does not depend on when memory was tidied.
        order = np.argsort(-self._disparity[:n], kind="stable")
        order = order[distinct(self._keys[order])[0]][: self.capacity]
        self._size = len(order)
        for name in ("_Z", "_pairs", "_disparity", "_keys"):
            array = getattr(self, name)
            array[: self._size] = array[order]
        if self._size == self.capacity:
            self._least_kept = float(self._disparity[self._size - 1])


class History:
    """The history of a run, thinned so that it never grows beyond `limit` rows.

    Each entry is (queries, seconds, inputs, found, degree).
    """

    names = ("queries", "seconds", "inputs", "found", "degree")

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
        """Return the columns; the last entry is always there."""
        rows = list(self._rows)
        if self._last is not None and (not rows or rows[-1] != self._last):
            rows.append(self._last)
        table = np.array(rows, dtype=np.float64).reshape(-1, len(self.names))
        return {name: table[:, j] for j, name in enumerate(self.names)}
