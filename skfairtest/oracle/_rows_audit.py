"""What an audit of given rows found, of a table in memory or of one that comes in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.oracle._chunk_audit import ChunkAudit
from skfairtest.oracle._judgement import concatenated
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._rows import judge_rows
from skfairtest.space._chunks import Chunks
from skfairtest.space._space import InputSpace


@dataclass(frozen=True)
class RowsAudit:
    """What an audit of given rows found; arrays are in the order of the rows.

    Attributes
    ----------
    degree : float
        Largest disparity among the rows.
    disparities : ndarray of shape (n_rows,)
        Largest difference between the model's outputs for the twins of each row.
    is_discriminatory : ndarray of bool of shape (n_rows,)
        Which rows discriminate.
    rate : float
        Share of the rows that discriminate.
    discriminatory : array or DataFrame of shape (n_discriminatory, n_features)
        Those rows, as they were given.
    counterfactuals : array or DataFrame of shape (n_discriminatory, n_features)
        A twin of each that the model treats differently from another twin of the same row.
    n_queries : int
        Queries that the audit took.
    """

    degree: float
    disparities: Floats
    is_discriminatory: NDArray[np.bool_]
    rate: float
    discriminatory: Any
    counterfactuals: Any
    n_queries: int


def audit_table(
    estimator: Any, space: InputSpace, Z: Floats, settings: dict[str, Any]
) -> RowsAudit:
    """Compare every row of codes with all its twins."""
    if not len(Z):
        nothing = space.decode(Z)
        return RowsAudit(0.0, np.empty(0), np.empty(0, dtype=bool), 0.0, nothing, nothing, 0)
    oracle = Oracle(estimator, space, clip=False, **settings)
    oracle.begin(Z, np.random.default_rng(0))
    judged = concatenated(list(judge_rows(oracle, Z)))
    disparities, verdict = judged.disparity, judged.verdict
    own = Z[verdict]
    pairs = [side[verdict] for side in (judged.first, judged.second)]
    return RowsAudit(
        degree=float(disparities.max(initial=0.0)),
        disparities=disparities,
        is_discriminatory=verdict,
        rate=float(verdict.mean()) if len(verdict) else 0.0,
        discriminatory=space.decode(own),
        counterfactuals=_other_twins(space, own, pairs),
        n_queries=oracle.n_queries,
    )


@dataclass(frozen=True, kw_only=True)
class ChunkedRowsAudit(RowsAudit):
    """What an audit of rows that came in chunks found: exact counts, and the worst rows.

    Rows are counted as they come, equal ones each time. A number for each of them could fill the
    memory, so `disparities` and `is_discriminatory` are None here.

    Attributes
    ----------
    degree : float
        Largest disparity among the rows.
    rate : float
        Share of the rows that discriminate.
    n_rows, n_chunks : int
        Rows that were compared, and the chunks that they came in.
    n_discriminatory : int
        How many of the rows discriminate.
    mean_disparity : float
        Mean of the disparities of all rows.
    n_kept : int
        How many of them are in `discriminatory`: all where they fit into 32 MB, else the worst.
    discriminatory : array or DataFrame of shape (n_kept, n_features)
        The worst of those rows, the largest disparity first; of equal ones the first in the table.
    counterfactuals : array or DataFrame of shape (n_kept, n_features)
        A twin of each that the model treats differently from another twin of the same row.
    kept_disparities : ndarray of shape (n_kept,)
        Their disparities.
    kept_rows : ndarray of int of shape (n_kept,)
        Their numbers in the table, from 0.
    n_queries : int
        Queries that the audit took.
    disparities, is_discriminatory : None
        Only tables in memory have them.

    See Also
    --------
    RowsAudit : The same of a table in memory.

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.datasets import make_biased_regression
    >>> bunch = make_biased_regression(random_state=0)
    >>> auditor = RandomAuditor(
    ...     bunch.estimator, sensitive_features="sex", max_queries=1000, random_state=0
    ... ).fit(bunch.data)
    >>> chunks = (bunch.data[start : start + 200] for start in range(0, len(bunch.data), 200))
    >>> found = auditor.audit_rows(chunks)
    >>> found.n_rows == len(bunch.data), found.n_discriminatory >= found.n_kept
    (True, True)
    """

    disparities: Any
    is_discriminatory: Any
    n_rows: int
    n_chunks: int
    n_discriminatory: int
    mean_disparity: float
    kept_disparities: Floats
    kept_rows: Ints

    @property
    def n_kept(self) -> int:
        """How many rows are in `discriminatory`."""
        return len(self.kept_rows)


def audit_chunks(
    estimator: Any, space: InputSpace, chunks: Chunks, settings: dict[str, Any]
) -> ChunkedRowsAudit:
    """Compare the rows of every chunk with all their twins.

    An error has the audit of the chunks before it as its `result`.
    """
    audit = ChunkAudit(estimator, space, settings)
    try:
        for chunk in chunks:
            audit.add(chunk)
    except Exception as error:
        error.result = _result(audit, space)  # type: ignore[attr-defined]
        raise
    return _result(audit, space)


def _result(audit: ChunkAudit, space: InputSpace) -> ChunkedRowsAudit:
    found = audit.totals()
    pairs = [found.pairs[:, 0], found.pairs[:, 1]]
    return ChunkedRowsAudit(
        degree=found.degree,
        disparities=None,
        is_discriminatory=None,
        rate=found.n_found / found.n_rows if found.n_rows else 0.0,
        discriminatory=space.decode(found.Z),
        counterfactuals=_other_twins(space, found.Z, pairs),
        n_queries=found.n_queries,
        n_rows=found.n_rows,
        n_chunks=found.n_chunks,
        n_discriminatory=found.n_found,
        mean_disparity=found.sum / found.n_rows if found.n_rows else 0.0,
        kept_disparities=found.disparities,
        kept_rows=found.numbers,
    )


def _other_twins(space: InputSpace, own: Floats, pairs: list[Floats]) -> Any:
    """Of two twins of each row, given by their sensitive codes, one that differs from it."""
    twins = [space.with_sensitive(own, codes) for codes in pairs]
    is_own = ((twins[0] == own) | (np.isnan(twins[0]) & np.isnan(own))).all(axis=1)
    return space.decode(np.where(is_own[:, None], twins[1], twins[0]))
