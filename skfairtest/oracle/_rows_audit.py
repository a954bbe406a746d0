"""What an audit of given rows found, of a table in memory or of one that comes in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skfairtest._typing import Floats, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsAudit:
    """What an audit of given rows found.

    Rows are counted as they come, equal ones each time. Of a table in memory, arrays are in the
    order of the rows. A table in chunks may have more rows than fit into memory: its counts are
    exact, of its discriminatory rows the worst are kept, and no array has an entry for each row.

    Attributes
    ----------
    degree : float
        Largest disparity among the rows.
    rate : float
        Share of the rows that discriminate.
    n_rows, n_chunks : int
        Rows that were compared, and the chunks that they came in; a table in memory is one.
    n_discriminatory : int
        How many of the rows discriminate.
    mean_disparity : float
        Mean of the disparities of all rows.
    disparities : ndarray of shape (n_rows,), or None
        Largest difference between the model's outputs for the twins of each row; None where the
        table came in chunks.
    is_discriminatory : ndarray of bool of shape (n_rows,), or None
        Which rows discriminate; None where the table came in chunks.
    n_kept : int
        How many rows are in `discriminatory`: of a table in memory all that discriminate, and of
        chunks all where they fit into 32 MB, else the worst.
    discriminatory : array or DataFrame of shape (n_kept, n_features)
        Those rows, as they were given. Of chunks, the largest disparity first, and of equal ones
        the first in the table.
    counterfactuals : array or DataFrame of shape (n_kept, n_features)
        A twin of each that the model treats differently from another twin of the same row.
    kept_disparities : ndarray of shape (n_kept,)
        Their disparities.
    kept_rows : ndarray of int of shape (n_kept,)
        Their numbers in the table, from 0.
    n_queries : int
        Queries that the audit took.

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
        """How many rows are in `discriminatory`."""
        return len(self.kept_rows)
