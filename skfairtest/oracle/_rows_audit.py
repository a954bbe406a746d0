"""The audit of given rows, for a table in memory or in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import ChunkFailedError, EstimatorFailedError
from skfairtest.oracle._rows import ComparedRows, RowComparison
from skfairtest.oracle._worst_rows import KeptRows, WorstRows
from skfairtest.space._chunks import Chunk, Chunks
from skfairtest.space._rows import take_rows
from skfairtest.space._space import InputSpace


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsAudit:
    """Result of an audit of given rows.

    Equal rows are counted each time that they occur. For a table in memory, arrays are in the order
    of the rows. A table in chunks may have more rows than fit into memory: its counts are exact,
    only its worst discriminatory rows are kept, and no array has an entry for each row.

    Attributes
    ----------
    degree : float
        Largest disparity among the rows.
    rate : float
        Share of the rows that are discriminatory.
    n_rows, n_chunks : int
        Number of rows that were compared, and of the chunks that they came in; a table in memory is
        one chunk.
    n_discriminatory : int
        Number of discriminatory rows.
    mean_disparity : float
        Mean of the disparities of all rows.
    disparities : ndarray of shape (n_rows,), or None
        Largest difference between the model's outputs for the twins of each row; None if the table
        came in chunks.
    is_discriminatory : ndarray of bool of shape (n_rows,), or None
        Whether each row is discriminatory; None if the table came in chunks.
    n_kept : int
        Number of rows in `discriminatory`. These are all discriminatory rows of a table in memory;
        of a table in chunks they are the worst ones, as many as fit into 32 MB.
    discriminatory : array or DataFrame of shape (n_kept, n_features)
        The discriminatory rows, as they were given. Those of a table in chunks are sorted: larger
        disparities come first, and equal ones in the order of the table.
    counterfactuals : array or DataFrame of shape (n_kept, n_features)
        For each discriminatory row, a twin that the model treats differently from another twin of
        the same row.
    kept_disparities : ndarray of shape (n_kept,)
        Disparities of the rows in `discriminatory`.
    kept_rows : ndarray of int of shape (n_kept,)
        Positions of these rows in the table, from 0.
    n_queries : int
        Number of queries that the audit took.

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.datasets import make_biased_regression
    >>> bunch = make_biased_regression(random_state=0)
    >>> auditor = RandomAuditor(
    ...     bunch.estimator, sensitive_features="sex", max_queries=1000, random_state=0
    ... ).fit(bunch.data)
    >>> whole = auditor.audit_rows(bunch.data)
    >>> chunks = (bunch.data[start : start + 200] for start in range(0, len(bunch.data), 200))
    >>> found = auditor.audit_rows(chunks)
    >>> found.n_rows == whole.n_rows == len(whole.disparities)
    True
    >>> found.n_discriminatory == whole.n_discriminatory >= found.n_kept
    True
    """

    degree: float
    rate: float
    n_rows: int
    n_chunks: int
    n_discriminatory: int
    mean_disparity: float
    disparities: Any
    is_discriminatory: Any
    discriminatory: Any
    counterfactuals: Any
    kept_disparities: Floats
    kept_rows: Ints
    n_queries: int

    @property
    def n_kept(self) -> int:
        """Number of rows in `discriminatory`."""
        return len(self.kept_rows)


class RowsSummary:
    """Compares rows with all their twins, and sums up what they show.

    Parameters
    ----------
    estimator, space, settings
        As for `RowComparison`.
    in_chunks : bool
        Whether the rows come chunk by chunk: then of the discriminatory rows the worst are kept,
        and nothing of each row; else all are, in their order.

    Attributes
    ----------
    n_rows, n_chunks, n_found : int
        Rows that were compared, the chunks that they came in, and the rows that discriminate.
    degree, total : float
        Largest disparity, and the sum of all.
    worst : table of one row
        A row with the largest disparity, discriminatory or not; no row where there is no disparity.
    """

    def __init__(
        self, estimator: Any, space: InputSpace, settings: dict[str, Any], *, in_chunks: bool
    ) -> None:
        self._in_chunks = in_chunks
        self.comparison = RowComparison(estimator, space, in_chunks=in_chunks, **settings)
        self.worst = take_rows(space.rows(np.arange(min(1, len(space.data)))), np.arange(0))
        self._kept = WorstRows(self.worst, *[] if in_chunks else [np.inf])
        self._disparities, self._verdicts = [np.empty(0)], [np.empty(0, dtype=bool)]
        self.n_rows = self.n_chunks = self.n_found = 0
        self.degree = self.total = 0.0

    def add(self, X: Any, start: int = 0) -> None:
        """Compare the rows of a table, or of a chunk that begins with the row `start`.

        After an error nothing of them counts.
        """
        rows = self.comparison.rows(X)
        parts, kept, worst, done, degree = [], [], self.worst, start, self.degree
        for compared in self.comparison.compare(rows):
            disparity = compared.shown.disparity
            parts.append((disparity, compared.shown.verdict))
            kept.append(self._discriminatory(compared, done))
            place = disparity.argmax()
            if disparity[place] > degree:
                degree = float(disparity[place])
                worst = take_rows(compared.rows.table, np.array([place]))
            done += len(compared.rows)
        self.worst, self.degree = worst, degree
        for own in kept:
            self._kept.add(own)
        for disparity, verdict in parts:
            self.total += float(disparity.sum())
            self.n_found += int(np.count_nonzero(verdict))
            if not self._in_chunks:
                self._disparities.append(disparity)
                self._verdicts.append(verdict)
        self.n_rows += len(rows)
        self.n_chunks += len(rows) > 0

    def _discriminatory(self, compared: ComparedRows, start: int) -> KeptRows:
        """Return the discriminatory rows that may be kept."""
        rows, disparity = compared.rows, compared.shown.disparity
        found = np.flatnonzero(compared.shown.verdict & self._kept.wants(disparity))
        # Of the two that differ most, one that differs from the row.
        pair = compared.pair[found]
        other = np.where(pair[:, 0] == rows.own[found], pair[:, 1], pair[:, 0])
        twins = rows.decode(np.column_stack([found, other]))
        return KeptRows(take_rows(rows.table, found), twins, disparity[found], start + found)

    def kept(self) -> KeptRows:
        """Return the discriminatory rows that are kept."""
        kept = self._kept.rows(by_number=not self._in_chunks)
        container = self.comparison.space.layout.container
        rows, twins = (container.with_columns(table, {}) for table in (kept.rows, kept.twins))
        return kept._replace(rows=rows, twins=twins)

    @property
    def n_queries(self) -> int:
        """Queries so far."""
        return self.comparison.model.n_rows

    @property
    def disparities(self) -> Any:
        """The disparity of each row; None of a table in chunks."""
        return None if self._in_chunks else np.concatenate(self._disparities)

    def result(self) -> RowsAudit:
        """Return the result so far."""
        kept, n = self.kept(), max(self.n_rows, 1)
        return RowsAudit(
            degree=self.degree,
            rate=self.n_found / n,
            n_rows=self.n_rows,
            n_chunks=self.n_chunks,
            n_discriminatory=self.n_found,
            mean_disparity=self.total / n,
            disparities=self.disparities,
            is_discriminatory=None if self._in_chunks else np.concatenate(self._verdicts),
            discriminatory=kept.rows,
            counterfactuals=kept.twins,
            kept_disparities=kept.disparity,
            kept_rows=kept.numbers,
            n_queries=self.n_queries,
        )


def compare_table(
    estimator: Any, space: InputSpace, X: Any, settings: dict[str, Any]
) -> RowsSummary:
    """Compare every row of a table in memory with all its twins."""
    summary = RowsSummary(estimator, space, settings, in_chunks=False)
    summary.add(X)
    return summary


def compare_chunks(
    estimator: Any, space: InputSpace, chunks: Chunks, settings: dict[str, Any]
) -> RowsSummary:
    """Compare the rows of every chunk with all their twins.

    An error has the audit of the chunks before it as its `result`.
    """
    summary = RowsSummary(estimator, space, settings, in_chunks=True)
    try:
        for chunk in chunks:
            try:
                summary.add(chunk.table, chunk.start)
            except EstimatorFailedError as error:
                raise type(error)(f"{_begin(chunk)}: {error}") from error
            except (TypeError, ValueError) as error:
                raise ChunkFailedError(f"{_begin(chunk)}: {error}", chunk=chunk.name) from error
    except Exception as error:
        error.result = summary.result()  # type: ignore[attr-defined]
        raise
    return summary


def _begin(chunk: Chunk) -> str:
    return f"{chunk.name[:1].upper()}{chunk.name[1:]} (rows from {chunk.start} on)"
