"""Rows of a table in chunks compared with their twins: exact counts, and the worst rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import ChunkFailedError, EstimatorFailedError
from skfairtest.oracle._compare import ROUNDING, ROUNDING_SINGLE, compare
from skfairtest.oracle._judgement import concatenated
from skfairtest.oracle._model import CHUNK, Model
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._rows import judge_rows
from skfairtest.oracle._twin_tables import AsTheyAre, TwinTables, rows_of, spread_of
from skfairtest.oracle._worst_rows import WorstRows
from skfairtest.space._chunks import Chunk
from skfairtest.space._rows import take_rows
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import n_workers

#: Rows in one call of the model, whatever the number of workers: a fast model takes longer for the
#: call than for its rows where these are few. Fewer where they are wide (numbers in all of them).
CALL_ROWS = 2**18
CALL_NUMBERS = 2**22


class Totals(NamedTuple):
    """What was counted in all chunks so far, and the worst rows.

    `Z`, `pairs` (n_kept, 2, n_sensitive), `disparities` and `numbers` are of the rows kept, worst
    first.
    """

    n_rows: int
    n_chunks: int
    n_found: int
    degree: float
    sum: float
    n_queries: int
    Z: Floats
    pairs: Floats
    disparities: Floats
    numbers: Ints


class _Shown(NamedTuple):
    """Rows of a chunk that discriminate, or seem to.

    By their places; the two combinations, shape (n, 2), that show the disparity, and those that
    show the verdict; and the disparities.
    """

    rows: Ints
    pair: Ints
    twins: Ints
    disparity: Floats


class ChunkAudit:
    """Compares the rows of chunk after chunk with all their twins, and adds up.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    space : InputSpace
        The inputs that exist.
    settings : dict
        `threshold`, `response_method` and `n_jobs`, as for an `Oracle`.
    """

    def __init__(self, estimator: Any, space: InputSpace, settings: dict[str, Any]) -> None:
        self.space = space
        self._threshold = settings["threshold"]
        self._n_jobs = settings["n_jobs"]
        self._oracle = Oracle(estimator, space, clip=False, **settings)
        self._tables = TwinTables(space) if TwinTables.fits(space) else None
        self._codes = space.twin_codes
        width = max(1, len(space.container.names))
        self._call_rows = int(min(CALL_ROWS, max(CHUNK, CALL_NUMBERS // width)))
        self._model: Model | None = None
        self._worst = WorstRows(space.n_features, len(space.sensitive))
        self._n_rows = self._n_chunks = self._n_found = 0
        self._degree = self._sum = 0.0

    def add(self, chunk: Chunk) -> None:
        """Compare the rows of a chunk.

        Raises
        ------
        ChunkFailedError
            If the rows are none of the space's.
        EstimatorFailedError
            If the model fails on them; the message says on which.
        """
        try:
            X = self.space.container.check_names(chunk.table)
            direct = self._tables is not None and self._tables.accepts(X)
            if self._model is None:
                head = self.space.encode(rows_of_any(X, 100))
        except (TypeError, ValueError) as error:
            raise ChunkFailedError(f"{_begin(chunk)}: {error}", chunk=chunk.name) from error
        try:
            if self._model is None:
                self._oracle.begin(head, np.random.default_rng(0))
                self._model = self._oracle.model.model.beside(AsTheyAre(), self._call_rows)
            if direct:
                self._add_tables(X, chunk.start)
            else:
                self._add_codes(X, chunk)
        except EstimatorFailedError as error:
            raise EstimatorFailedError(f"{_begin(chunk)}: {error}") from error
        self._n_rows += len(X)
        self._n_chunks += 1

    def totals(self) -> Totals:
        """What was found so far."""
        asked = 0 if self._model is None else self._model.n_rows
        return Totals(
            self._n_rows, self._n_chunks, self._n_found, self._degree, self._sum,
            self._oracle.n_queries + asked, *self._worst.rows(),
        )  # fmt: skip

    # By tables ------------------------------------------------------------------------------

    def _add_tables(self, X: Any, start: int) -> None:
        # Several calls at a time where there are workers.
        size = self._call_rows * max(1, 2 * n_workers(self._n_jobs) - 1)
        waiting: list[_Shown] = []
        for at in range(0, len(X), size):
            waiting.append(self._compare_block(rows_of(X, at, at + size), at))
            # Few in a block, as a rule: together they are one call of the model.
            if sum(len(shown.rows) for shown in waiting) >= self._call_rows:
                self._settle(X, start, waiting)
                waiting = []
        self._settle(X, start, waiting)

    def _compare_block(self, X: Any, at: int) -> _Shown:
        """Ask about the twins of some rows, one combination after the other.

        What discriminates by the outputs, by its place in the chunk, of which the block begins at
        `at`. All that discriminate where predict has yet to confirm them; else those worth keeping.
        """
        model, tables = self._model, self._tables
        assert model is not None and tables is not None
        answers = [model.ask(twins) for twins in tables.of(X)]
        scores = [scores for scores, _ in answers]
        differs = np.zeros(len(X), dtype=bool)
        if model.response != "regression":
            for _, labels in answers[1:]:
                differs |= labels != answers[0][1]
        if model.response == "labels":
            disparity = differs.astype(np.float64)
        else:
            disparity = spread_of(scores, ROUNDING_SINGLE if model.single else ROUNDING)
        self._degree = max(self._degree, float(disparity.max(initial=0.0)))
        self._sum += float(disparity.sum())
        by_outputs = self._threshold is not None or model.response == "regression"
        if by_outputs:
            threshold = 0.0 if self._threshold is None else self._threshold
            differs = disparity > threshold
        if by_outputs or not model.infers_labels:
            self._n_found += int(np.count_nonzero(differs))
            differs &= self._worst.wants(disparity)
        rows = np.flatnonzero(differs)
        return _Shown(at + rows, *self._compare(answers, rows), disparity[rows])

    def _settle(self, X: Any, start: int, waiting: list[_Shown]) -> None:
        """Count what predict confirms, where it has to, and keep the worst rows."""
        model, tables = self._model, self._tables
        assert model is not None and tables is not None
        if not any(len(shown.rows) for shown in waiting):
            return
        rows, pair, twins, disparity = map(np.concatenate, zip(*waiting, strict=True))
        if self._threshold is None and model.infers_labels:
            # As the model's own predict says, of the two twins that show it; in one call.
            both = tables.single(take_rows(X, np.tile(rows, 2)), twins.T.ravel())
            first, second = model.labels(both).reshape(2, -1)
            confirmed = first != second
            self._n_found += int(np.count_nonzero(confirmed))
            kept = np.flatnonzero(confirmed & self._worst.wants(disparity))
            rows, pair, disparity = rows[kept], pair[kept], disparity[kept]
        if len(rows):
            Z = self.space.encode(take_rows(X, rows))
            self._worst.add(Z, self._codes[pair], disparity, start + rows)

    def _compare(self, answers: list[tuple[Floats, Ints]], rows: Ints) -> tuple[Ints, Ints]:
        """For some rows, the two twins that show the disparity, and those that show the verdict.

        Combinations, shape (n, 2), that with the larger output first.
        """
        assert self._model is not None
        if len(answers) == 2 and answers[0][0].shape[1] == 1:
            first = (answers[1][0][rows, 0] > answers[0][0][rows, 0]).astype(np.intp)
            pair = np.stack([first, 1 - first], axis=1)
            return pair, pair
        scores = np.stack([scores[rows] for scores, _ in answers], axis=1)
        shown = compare(
            scores,
            np.stack([labels[rows] for _, labels in answers], axis=1),
            np.ones(scores.shape[:2], dtype=bool),
            response=self._model.response,
            threshold=self._threshold,
            single=self._model.single,
        )
        return shown.pair, shown.twins

    # By codes -------------------------------------------------------------------------------

    def _add_codes(self, X: Any, chunk: Chunk) -> None:
        """Rows whose twins differ in more, or that may not exist, or of other kinds of tables."""
        try:
            Z = self.space.encode(X)
        except (TypeError, ValueError) as error:
            raise ChunkFailedError(f"{_begin(chunk)}: {error}", chunk=chunk.name) from error
        judged = concatenated(list(judge_rows(self._oracle, Z)))
        self._degree = max(self._degree, float(judged.disparity.max(initial=0.0)))
        self._sum += float(judged.disparity.sum())
        self._n_found += int(judged.verdict.sum())
        kept = np.flatnonzero(judged.verdict & self._worst.wants(judged.disparity))
        pairs = np.stack([judged.first[kept], judged.second[kept]], axis=1)
        self._worst.add(Z[kept], pairs, judged.disparity[kept], chunk.start + kept)


def rows_of_any(X: Any, n: int) -> Any:
    """The first rows of any table."""
    return take_rows(X, np.arange(min(n, len(X))))


def _begin(chunk: Chunk) -> str:
    return f"{chunk.name[:1].upper()}{chunk.name[1:]} (rows from {chunk.start} on)"
