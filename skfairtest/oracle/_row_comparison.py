"""Rows of a table compared with their twins, chunk by chunk: exact counts, and the worst rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import ChunkFailedError, EstimatorFailedError
from skfairtest.oracle._compare import ROUNDING, ROUNDING_SINGLE, compare
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement, concatenated
from skfairtest.oracle._model import CHUNK, Model
from skfairtest.oracle._rows import judge_rows
from skfairtest.oracle._rows_audit import RowsAudit
from skfairtest.oracle._run import get_to_know
from skfairtest.oracle._second_answers import SecondAnswers
from skfairtest.oracle._twin_tables import AsTheyAre, TwinTables, spread_of
from skfairtest.oracle._worst_rows import WorstRows
from skfairtest.space._chunks import Chunk, Chunks
from skfairtest.space._rows import slice_rows, take_rows
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import n_workers

#: Rows in one call of the model, whatever the number of workers: a fast model takes longer for the
#: call than for its rows where these are few. Fewer where they are wide (numbers in all of them).
CALL_ROWS = 2**18
CALL_NUMBERS = 2**22


class _Shown(NamedTuple):
    """Rows of a chunk that are discriminatory, or that may be.

    By their places; the two combinations, shape (n, 2), that show the disparity, and those that
    show the verdict; and the disparities.
    """

    rows: Ints
    pair: Ints
    twins: Ints
    disparity: Floats


class RowComparison:
    """Compares rows of a table with all their twins, chunk by chunk, and sums up the results.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    space : InputSpace
        The inputs that exist.
    settings : dict
        `threshold`, `response_method` and `n_jobs`, as for an auditor.
    every_row : bool, default=False
        Whether to keep what each row shows, and all that discriminate in the order of the rows; for
        a table that is in memory anyway.

    Attributes
    ----------
    n_rows, n_chunks, n_found : int
        Rows that were compared, the chunks that they came in, and the rows that discriminate.
    degree, sum : float
        Largest disparity, and the sum of all.
    space_of_kept : InputSpace
        Makes the very same rows of the codes of those that are kept.
    worst : ndarray of shape (1, n_features)
        Codes of a row with the largest disparity, discriminatory or not; no row where there is no
        disparity.
    """

    def __init__(
        self,
        estimator: Any,
        space: InputSpace,
        settings: dict[str, Any],
        *,
        every_row: bool = False,
    ) -> None:
        self.space = space
        self._threshold = settings["threshold"]
        self._n_jobs = settings["n_jobs"]
        self._asked = Model(
            estimator, space, response_method=settings["response_method"], n_jobs=self._n_jobs
        )
        self._search = SearchHandle(self._asked, space, threshold=self._threshold, clip=False)
        self._second = SecondAnswers(self._asked)
        self._judged: list[Judgement] | None = [] if every_row else None
        by_tables = not every_row and TwinTables.fits(space)
        self._tables = TwinTables(space) if by_tables else None
        self._codes = space.twins_.twin_codes
        width = max(1, len(space.layout.container.names))
        self._call_rows = int(min(CALL_ROWS, max(CHUNK, CALL_NUMBERS // width)))
        self._model: Model | None = None
        shape = (space.n_features, len(space.sensitive))
        self._worst = WorstRows(*shape, megabytes=np.inf) if every_row else WorstRows(*shape)
        self.n_rows = self.n_chunks = self.n_found = 0
        self.degree = self.sum = 0.0
        self.worst = np.empty((0, space.n_features))
        self.space_of_kept = space
        self._n_asked = 0

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
            X = self.space.layout.container.check_names(chunk.table)
            direct = self._tables is not None and self._tables.accepts(X)
            if self._model is None:
                space, head = self.space.read(rows_of_any(X, 100))
        except (TypeError, ValueError) as error:
            raise ChunkFailedError(f"{_begin(chunk)}: {error}", chunk=chunk.name) from error
        try:
            if self._model is None:
                self._asked.space = space  # the first rows, too, are shown as they are
                get_to_know(self._search, head, np.random.default_rng(0))
                self._asked.space = self.space
                self._model = self._asked.beside(AsTheyAre(), self._call_rows)
            if direct:
                self._add_tables(X, chunk.start)
            else:
                self._add_codes(X, chunk)
        except EstimatorFailedError as error:
            raise type(error)(f"{_begin(chunk)}: {error}") from error
        self.n_rows += len(X)
        self.n_chunks += 1

    def add_codes(self, Z: Floats) -> None:
        """Compare the rows of a table in memory, given as codes; it is one chunk."""
        if len(Z):
            get_to_know(self._search, Z, np.random.default_rng(0))
            self._add_judged(self._judge(self.space, Z), Z, 0, lambda kept: Z[kept])
            self.n_rows += len(Z)
            self.n_chunks += 1

    @property
    def n_queries(self) -> int:
        """Queries so far."""
        asked = 0 if self._model is None else self._model.n_rows
        return self._asked.n_rows + self._n_asked + asked

    @property
    def disparities(self) -> Any:
        """The disparity of each row; None if these are not kept."""
        if self._judged is None:
            return None
        return np.concatenate([np.empty(0), *(part.disparity for part in self._judged)])

    @property
    def is_discriminatory(self) -> Any:
        """Whether each row is discriminatory; None if this is not kept."""
        if self._judged is None:
            return None
        return np.concatenate([np.empty(0, bool), *(part.verdict for part in self._judged)])

    def kept(self) -> tuple[Floats, Floats, Floats, Ints]:
        """Return discriminatory rows: codes, pairs (n, 2, n_sensitive), disparities, numbers."""
        return self._worst.rows(by_number=self._judged is not None)

    def result(self) -> RowsAudit:
        """Return the result so far, with tables like those of the user."""
        Z, pairs, disparities, numbers = self.kept()
        n = max(self.n_rows, 1)
        return RowsAudit(
            degree=self.degree,
            rate=self.n_found / n,
            n_rows=self.n_rows,
            n_chunks=self.n_chunks,
            n_discriminatory=self.n_found,
            mean_disparity=self.sum / n,
            disparities=self.disparities,
            is_discriminatory=self.is_discriminatory,
            discriminatory=self.space_of_kept.decode(Z),
            counterfactuals=_other_twins(self.space_of_kept, Z, pairs),
            kept_disparities=disparities,
            kept_rows=numbers,
            n_queries=self.n_queries,
        )

    # By tables ------------------------------------------------------------------------------

    def _add_tables(self, X: Any, start: int) -> None:
        # Several calls at a time where there are workers.
        size = self._call_rows * max(1, 2 * n_workers(self._n_jobs) - 1)
        waiting: list[_Shown] = []
        for at in range(0, len(X), size):
            waiting.append(self._compare_block(slice_rows(X, at, at + size), at))
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
        self._ask_again(X, answers, disparity)
        self._note(disparity, lambda row: self.space.encode(take_rows(X, row)))
        by_outputs = self._threshold is not None or model.response == "regression"
        if by_outputs:
            threshold = 0.0 if self._threshold is None else self._threshold
            differs = disparity > threshold
        if by_outputs or not model.infers_labels:
            self.n_found += int(np.count_nonzero(differs))
            differs &= self._worst.wants(disparity)
        rows = np.flatnonzero(differs)
        return _Shown(at + rows, *self._compare(answers, rows), disparity[rows])

    def _ask_again(self, X: Any, answers: list[tuple[Floats, Ints]], disparity: Floats) -> None:
        """Ask the first rows that differ again; an error where the answers are others."""
        model, tables = self._model, self._tables
        assert model is not None and tables is not None
        rows = self._second.first(disparity)
        if len(rows):
            sides = self._compare(answers, rows)[0].T.ravel()
            both = np.tile(rows, 2)
            asked = [(answers[side], row) for side, row in zip(sides, both, strict=True)]
            scores = np.array([answer[0][row] for answer, row in asked])
            labels = np.array([answer[1][row] for answer, row in asked])
            again = model.ask(tables.single(take_rows(X, both), sides))
            self._second.compare((scores, labels), again)

    def _settle(self, X: Any, start: int, waiting: list[_Shown]) -> None:
        """Count flips that `predict` confirms, if it must, and keep the worst rows."""
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
            self.n_found += int(np.count_nonzero(confirmed))
            kept = np.flatnonzero(confirmed & self._worst.wants(disparity))
            rows, pair, disparity = rows[kept], pair[kept], disparity[kept]
        if len(rows):
            self._worst.add(self._read(X, rows), self._codes[pair], disparity, start + rows)

    def _read(self, X: Any, rows: Ints) -> Floats:
        """Return the codes of rows of a chunk that are kept."""
        self.space_of_kept, Z = self.space_of_kept.read(take_rows(X, rows))
        return Z

    def _compare(self, answers: list[tuple[Floats, Ints]], rows: Ints) -> tuple[Ints, Ints]:
        """Return two pairs of twins for each row: one for the disparity, one for the verdict.

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
        """Add rows whose twins cannot be made from the table itself."""
        try:
            space, Z = self.space.read(X)
        except (TypeError, ValueError) as error:
            raise ChunkFailedError(f"{_begin(chunk)}: {error}", chunk=chunk.name) from error
        judged = self._judge(space, Z)
        self._add_judged(judged, Z, chunk.start, lambda kept: self._read(X, kept))

    def _judge(self, space: InputSpace, Z: Floats) -> Judgement:
        """Judge rows of codes; `space` differs if numbers are off the steps of columns."""
        if space is self.space:
            return concatenated(list(judge_rows(self._search, Z)))
        # The codes of another chunk may mean other numbers, so that its answers are of no use.
        model = self._asked.beside(space, self._asked.chunk or CHUNK)
        search = SearchHandle(model, space, clip=False, threshold=self._threshold)
        try:
            return concatenated(list(judge_rows(search, Z)))
        finally:
            self._n_asked += model.n_rows

    def _add_judged(
        self, judged: Judgement, Z: Floats, start: int, codes: Callable[[Ints], Floats]
    ) -> None:
        """Add the results of some rows; `codes` makes the codes of rows that are kept."""
        if self._judged is not None:
            self._judged.append(judged)
        self._note(judged.disparity, lambda row: Z[row])
        self.n_found += int(judged.verdict.sum())
        kept = np.flatnonzero(judged.verdict & self._worst.wants(judged.disparity))
        if len(kept):
            pairs = np.stack([judged.first[kept], judged.second[kept]], axis=1)
            self._worst.add(codes(kept), pairs, judged.disparity[kept], start + kept)

    def _note(self, disparity: Floats, codes: Callable[[Ints], Floats]) -> None:
        """Add the disparities of some rows, and keep the codes of the worst row."""
        largest = float(disparity.max(initial=0.0))
        if largest > self.degree:
            self.degree, self.worst = largest, codes(np.array([disparity.argmax()]))
        self.sum += float(disparity.sum())


def rows_of_any(X: Any, n: int) -> Any:
    """Return the first rows of any table."""
    return take_rows(X, np.arange(min(n, len(X))))


def _begin(chunk: Chunk) -> str:
    return f"{chunk.name[:1].upper()}{chunk.name[1:]} (rows from {chunk.start} on)"


def compare_table(
    estimator: Any, space: InputSpace, Z: Floats, settings: dict[str, Any]
) -> RowComparison:
    """Compare every row of codes with all its twins."""
    comparison = RowComparison(estimator, space, settings, every_row=True)
    comparison.add_codes(Z)
    return comparison


def compare_chunks(
    estimator: Any, space: InputSpace, chunks: Chunks, settings: dict[str, Any]
) -> RowComparison:
    """Compare the rows of every chunk with all their twins.

    An error has the audit of the chunks before it as its `result`.
    """
    comparison = RowComparison(estimator, space, settings)
    try:
        for chunk in chunks:
            comparison.add(chunk)
    except Exception as error:
        error.result = comparison.result()  # type: ignore[attr-defined]
        raise
    return comparison


def _other_twins(space: InputSpace, own: Floats, pairs: Floats) -> Any:
    """Return, of two twins of each row, one that differs from the row."""
    twins = [space.twins_.with_sensitive(own, pairs[:, side]) for side in (0, 1)]
    is_own = ((twins[0] == own) | (np.isnan(twins[0]) & np.isnan(own))).all(axis=1)
    return space.decode(np.where(is_own[:, None], twins[1], twins[0]))
