"""Rows of a table compared with their twins, as tables: one engine for tables whole or in chunks.

No row is encoded: a twin is the row with other values in its sensitive columns, and in those
that follow from them. Rows need not lie in the domain, nor look like others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._clock import OutOfTime
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._budget import Budget
from skfairtest.oracle._cached_model import CachedModel, at_wanted
from skfairtest.oracle._compare import Comparison, compare
from skfairtest.oracle._model import CHUNK, PROBE_ROWS, Labels, Model, probe_in_time
from skfairtest.oracle._second_answers import NEGLIGIBLE, SecondAnswers
from skfairtest.oracle._twin_tables import AsTheyAre, TwinRows, TwinTables
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import n_workers

#: Rows in one call of the model for a table in chunks, whatever the number of workers: a fast model
#: takes longer for the call than for its rows where these are few.
CALL_ROWS = 2**18


class ComparedRows(NamedTuple):
    """Rows that follow each other in a table, compared with k twins each.

    Attributes
    ----------
    rows : TwinRows
        The rows.
    twins : ndarray of int of shape (n, k)
        Their twins; a row itself is among them, but for one whose own values break a constraint.
    scores, labels, valid : ndarray of shape (n, k, n_outputs), (n, k) and (n, k)
        What the model answered for the twins, and which were compared.
    shown : Comparison
        The disparities, and the verdicts that `predict` agrees with.
    """

    rows: TwinRows
    twins: Ints
    scores: Floats
    labels: Labels
    valid: Bools
    shown: Comparison

    @property
    def pair(self) -> Ints:
        """The two twins of each row that differ most, the larger output first; shape (n, 2)."""
        return np.take_along_axis(self.twins, self.shown.pair, axis=1)


class RowComparison:
    """Compares rows of tables with their twins: all of them, or a draw where there are many.

    Parameters
    ----------
    estimator : object
        A fitted estimator, or a `Model` that has been probed.
    space : InputSpace
        The inputs that exist.
    threshold : float, default=None
        As for an auditor.
    response_method, n_jobs
        As for an auditor; not for a `Model`, which has its own.
    most : int, default=None
        Twins that a row is compared with at most; of more, each row has a draw of its own, the same
        for every model, among which the row itself is. None compares with all.
    budget : Budget, default=None
        Says how many queries fit into the time left, and learns how long they took. None sets no
        limit.
    in_chunks : bool, default=False
        Whether tables are chunks of one that need not fit into memory: calls of the model are
        larger, and answers to equal rows are not remembered.
    """

    def __init__(
        self,
        estimator: Any,
        space: InputSpace,
        *,
        threshold: float | None = None,
        response_method: str = "auto",
        n_jobs: int | None = None,
        most: int | None = None,
        budget: Budget | None = None,
        in_chunks: bool = False,
    ) -> None:
        self.space, self.threshold, self.in_chunks = space, threshold, in_chunks
        self.is_known = isinstance(estimator, Model)
        self.model: Model = (
            estimator
            if isinstance(estimator, Model)
            else Model(estimator, space, response_method=response_method, n_jobs=n_jobs)
        )
        self.budget = Budget() if budget is None else budget
        self._tables = TwinTables(space)
        self._most = most
        self._rng = np.random.default_rng(0)
        self._cached = CachedModel(self.model, space, lambda n_queries, seconds: None)
        self._second = SecondAnswers(self.model)
        self._worst = 0.0
        self._worst_pair: tuple[Any, tuple[Floats, Labels]] | None = None

    def rows(self, X: Any) -> TwinRows:
        """Return the rows of a table, as `compare` takes them; see `TwinTables.rows`."""
        return self._tables.rows(X)

    def compare(self, rows: TwinRows) -> Iterator[ComparedRows]:
        """Compare rows in their order, a batch at a time, all or until the time is over.

        Raises
        ------
        EstimatorFailedError
            If the estimator fails, or gives a row other answers when it is asked again.
        OutOfTime
            If there is no time for a single row.
        """
        self._begin(rows)
        n_twins = self._tables.n_twins
        draws = self._most is not None and n_twins > self._most
        cost_of_row = self._cost_of_row(self._most if self._most is not None and draws else n_twins)
        start = stop = 0
        while start < len(rows):
            wanted = (len(rows) - start) * cost_of_row
            in_time = int(self.budget.next_call(wanted, 2 + self._asks_predict) / cost_of_row)
            if not in_time and start:
                return
            if not in_time:
                raise OutOfTime
            stop = start + in_time
            before, seconds = self.model.n_rows, 0.0
            while start < stop:
                # A call that takes a good part of the time left is not divided.
                is_whole = 20 * self.budget.calls.of_a_call > self.budget.seconds_left
                size = stop - start if is_whole else int(max(1, self._batch() / cost_of_row))
                part = rows.part(start, min(start + size, stop))
                began = _clock.now()
                compared = self._compare(part, self._twins(part, draws=draws))
                seconds += _clock.now() - began
                yield compared
                start += len(part)
                if not self.budget.run_left:  # a model may become slow at any time
                    return
            self.budget.took(self.model.n_rows - before, seconds)

    def _begin(self, rows: TwinRows) -> None:
        """Test how the model has to be asked, on the first rows that exist as inputs."""
        if self.is_known or not len(rows):
            return
        self.is_known = True
        if not self.model.probe_cost:
            return
        head = rows.part(0, 100)
        pairs = np.column_stack([np.arange(len(head)), head.own])
        pairs = pairs[head.valid(pairs)][:PROBE_ROWS]
        if len(pairs):
            model = self.model.with_table(head)
            probe_in_time(model, pairs, self.budget.seconds_left)
            self.model = model.with_table(self.space)
        else:
            rng = np.random.default_rng(0)
            Z = self.space.twins_.apply_descendants(self.space.sample(8, rng))
            probe_in_time(self.model, Z, self.budget.seconds_left)
        self._second = SecondAnswers(self.model)

    def _cost_of_row(self, width: int) -> int:
        """Return the queries that a row may need: its twins, and two that ask `predict`."""
        return width * self.model.cost + 2 * self._asks_predict

    @property
    def _asks_predict(self) -> bool:
        return self.threshold is None and self.model.infers_labels

    def _batch(self) -> float:
        """Return the queries of a batch at most."""
        if not self.in_chunks:  # what is worked out of a batch takes some megabytes
            return min(65_536, self._second.most_at_once)
        # Several calls at a time where there are workers.
        return 2 * CALL_ROWS * max(1, 2 * n_workers(self.model.n_jobs) - 1)

    def _twins(self, part: TwinRows, *, draws: bool) -> Ints:
        """Return the twins that rows are compared by, shape (n, k)."""
        n, n_twins = len(part), self._tables.n_twins
        if draws and self._most is not None:
            drawn = self._rng.integers(n_twins, size=(n, self._most - 1))
            return np.concatenate([part.own[:, None], drawn], axis=1)
        twins = np.broadcast_to(np.arange(n_twins), (n, n_twins))
        if (part.own < n_twins).all():
            return twins
        return np.concatenate([twins, part.own[:, None]], axis=1)

    def _compare(self, part: TwinRows, twins: Ints) -> ComparedRows:
        n, width = twins.shape
        model = self.of(part)
        # One twin of all rows after the other: such tables need no copy.
        pairs = np.column_stack([np.tile(np.arange(n), width), twins.T.ravel()])
        valid = part.valid(pairs).reshape(width, n).T
        if width > self._tables.n_twins:  # of some rows the last is among the others
            valid[:, -1] &= part.own >= self._tables.n_twins
        valid &= valid.sum(axis=1, keepdims=True) > 1
        scores, labels = self._ask(model, part, pairs, valid.T.ravel())
        scores = scores.reshape(width, n, -1).transpose(1, 0, 2)
        labels = labels.reshape(width, n).T
        shown = compare(
            scores,
            labels,
            valid,
            response=model.response,
            threshold=self.threshold,
            single=model.single,
        )
        if self._asks_predict:
            shown = shown._replace(verdict=self._agrees_with_predict(model, part, twins, shown))
        self._ask_again(model, part, twins, scores, labels, shown)
        return ComparedRows(part, twins, scores, labels, valid, shown)

    def of(self, part: TwinRows) -> Model:
        """Return the model with rows to decode."""
        if not self.in_chunks:
            return self.model.with_table(part)
        width = max(1, len(self.space.layout.container.names))
        # Fewer where rows are wide: 32 MB of numbers.
        most = int(min(CALL_ROWS, max(CHUNK, 2**22 // width)))
        return self.model.with_table(part, min(most, max(CHUNK, len(part))))

    def _ask(
        self, model: Model, part: TwinRows, pairs: Ints, wanted: Bools
    ) -> tuple[Floats, Labels]:
        """Return scores and labels of the wanted twins, 0 for others."""
        if not wanted.any():
            return np.zeros((len(pairs), 1)), np.zeros(len(pairs), dtype=np.int64)
        asked: Any = pairs if wanted.all() else pairs[wanted]
        if self.in_chunks:
            scores, labels = model.ask(asked)
        else:
            self._cached.model = model
            scores, labels = self._cached.ask(asked, part.keys(asked))
        self.model.single |= model.single
        if len(asked) == len(pairs):
            return scores, labels
        return at_wanted(wanted, scores, labels)

    def answers(self, rows: TwinRows, pairs: Ints) -> tuple[Floats, Labels]:
        """Return scores and labels of twins of rows; of a table in memory those known cost nothing.

        `pairs`, of shape (n, 2), has the row and the twin of each.
        """
        return self._ask(self.of(rows), rows, pairs, np.ones(len(pairs), dtype=bool))

    def _agrees_with_predict(
        self, model: Model, part: TwinRows, twins: Ints, shown: Comparison
    ) -> Bools:
        """Return the verdicts that `predict` agrees with, where flips were read off the scores."""
        flips = np.flatnonzero(shown.verdict)
        verdict = np.zeros(len(twins), dtype=bool)
        if len(flips):
            both = np.take_along_axis(twins[flips], shown.twins[flips], axis=1)
            pairs = np.column_stack([np.tile(flips, 2), both.T.ravel()])
            if self.in_chunks:
                labels = model.labels(pairs)
            else:
                self._cached.model = model
                labels = self._cached.labels(pairs, part.keys(pairs))
            verdict[flips] = labels[: len(flips)] != labels[len(flips) :]
        return verdict

    def _ask_again(
        self, model: Model, part: TwinRows, twins: Ints, scores: Floats, labels: Labels,
        shown: Comparison,
    ) -> None:  # fmt: skip
        """Ask the first pairs that differ again, and now and then the worst one.

        Raises
        ------
        NonDeterministicModelError
            If the answers are others than before.
        """
        if not len(twins):
            return
        worst = int(shown.disparity.argmax())
        if shown.disparity[worst] > self._worst:
            self._worst = float(shown.disparity[worst])
            pairs, before = _first_answers([worst], twins, scores, labels, shown)
            self._worst_pair = part.decode(pairs), before
        first = self._second.first(shown.disparity)
        if len(first):
            pairs, before = _first_answers(first, twins, scores, labels, shown)
            self._second.compare(before, model.ask(pairs))
        elif self._worst_pair is not None and self._second.is_time():
            table, before = self._worst_pair
            again = model.with_table(AsTheyAre()).ask(table)
            self._second.compare(before, again, NEGLIGIBLE * self._worst)


def _first_answers(
    rows: Any, twins: Ints, scores: Floats, labels: Labels, shown: Comparison
) -> tuple[Ints, tuple[Floats, Labels]]:
    """Return the twins that show the disparity of some rows, and the answers for them."""
    at = np.repeat(rows, 2), shown.pair[rows].ravel()
    return np.column_stack([at[0], twins[at]]), (scores[at], labels[at])
