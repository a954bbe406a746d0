"""The result of an audit of given rows, for a table in memory or in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skfairtest._typing import Floats, Ints


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
