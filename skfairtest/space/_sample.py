"""Draw a random sample of the rows of a table in chunks, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._chunks import Chunk
from skfairtest.space._rows import stack, take_rows

#: Rows of a table in chunks that stand for its data, where nobody says how many.
SAMPLE_ROWS = 100_000


class Reservoir:
    """Random sample from a table of unknown length, in which each subset is equally likely.

    Each row draws a number, and those with the smallest are kept; where the table is cut into
    chunks does not matter.

    References
    ----------
    .. [1] Vitter, J. S. (1985). Random sampling with a reservoir. ACM Transactions on Mathematical
       Software 11(1), 37-57.
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self._rng = rng
        self._tables: list[Any] = []
        self._draws: Floats = np.empty(0)
        self._numbers: Ints = np.empty(0, dtype=np.int64)
        self._most = np.inf

    def add(self, chunk: Chunk) -> None:
        """Add a chunk, from which some rows may enter the sample."""
        draws = self._rng.random(len(chunk.table))
        own = np.flatnonzero(draws < self._most)
        if not len(own):
            return
        self._tables.append(take_rows(chunk.table, own))
        self._draws = np.append(self._draws, draws[own])
        self._numbers = np.append(self._numbers, chunk.start + own)
        if len(self._draws) > 2 * self.size:
            self._tidy()

    def _tidy(self) -> None:
        kept = np.sort(np.argsort(self._draws, kind="stable")[: self.size])
        self._tables = [take_rows(stack(self._tables), kept)]
        self._draws, self._numbers = self._draws[kept], self._numbers[kept]
        if len(kept) == self.size:
            self._most = float(self._draws.max())

    def rows(self) -> Any:
        """Return the sample, in the order of the table."""
        self._tidy()
        return self._tables[0]


def sample_chunks(chunks: Iterable[Chunk], max_rows: int, rng: np.random.Generator) -> Any:
    """Return a random sample of the rows of a table in chunks."""
    reservoir = Reservoir(max_rows, rng)
    for chunk in chunks:
        reservoir.add(chunk)
    return reservoir.rows()
