"""Counts cells of a table in chunks for TestSGD, and draws rows of it for the pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Ints
from skfairtest.exceptions import ChunkFailedError
from skfairtest.group._rules.cells import CellCounts, DistinctRows
from skfairtest.group._rules.tables import AttributeTables
from skfairtest.space._chunks import Chunks
from skfairtest.space._rows import stack, take_rows
from skfairtest.space._space import InputSpace


class ChunkedRows:
    """Counts a table in chunks in a second pass.

    Parameters
    ----------
    chunks : Chunks
        The table.
    sensitive_features : object
        Columns that the model does not take, which cannot be given.
    n_pool : int
        Rows that are drawn, with replacement, each equally likely.
    rng : Generator
        Source of randomness.

    Attributes
    ----------
    pool : InputSpace
        The space with the rows that were drawn as its data, in the order of the draws.
    """

    pool: InputSpace

    def __init__(
        self, chunks: Chunks, sensitive_features: Any, n_pool: int, rng: np.random.Generator
    ) -> None:
        chunks.needs_passes(2, "TestSGDAuditor")
        if sensitive_features is not None:
            raise ValueError(
                "sensitive_features= of fit are columns that are not in X, and X comes in chunks. "
                "Name columns of X in the constructor."
            )
        self._chunks = chunks
        self._n_pool = n_pool
        self._rng = rng

    def cells(self, tables: AttributeTables, space: InputSpace) -> DistinctRows:
        """Count all rows by their cells, and draw the pool; `of_row` is about its rows."""
        n_rows = self._chunks.n_rows
        assert n_rows is not None  # the table was described before
        drawn = self._rng.integers(n_rows, size=self._n_pool)
        order: Ints = np.argsort(drawn, kind="stable")
        counts, taken, own = CellCounts(), [], []
        for chunk in self._chunks:
            try:
                cells = np.column_stack(tables.numbers(chunk.table, None))
            except (TypeError, ValueError) as error:
                raise ChunkFailedError(
                    f"{chunk.name[:1].upper()}{chunk.name[1:]} (rows from {chunk.start} on): "
                    f"{error}",
                    chunk=chunk.name,
                ) from error
            counts.add(cells)
            first, last = np.searchsorted(
                drawn[order], [chunk.start, chunk.start + len(chunk.table)]
            )
            places = drawn[order][first:last] - chunk.start
            if len(places):
                taken.append(take_rows(chunk.table, places))
                own.append(cells[places])
        back = np.argsort(order)
        self.pool = space.with_data(take_rows(stack(taken), back))
        return counts.of(np.concatenate(own)[back], [a.n_values for a in tables.attributes])
