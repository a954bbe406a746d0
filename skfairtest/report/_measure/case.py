"""What is audited: a fitted model, the table, the domain, and how the model is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from skfairtest import _clock
from skfairtest._typing import Floats, Ints
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.finding._pair import Pair, make_pair
from skfairtest.finding._words import name_output
from skfairtest.oracle._favourable import Favourable
from skfairtest.oracle._model import PROBE_ROWS, Model, probe_in_time
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._row_hash import row_keys
from skfairtest.oracle._second_answers import SecondAnswers, as_answers, n_again
from skfairtest.space._space import InputSpace

#: Queries that a pair takes at most: outputs and labels of both twins.
QUERIES_A_PAIR = 4


class Finding(NamedTuple):
    """A pair, its twins as codes of shape (2, n_attributes), and what has shown it."""

    pair: Pair
    twins: Floats
    shown_by: str


@dataclass
class Case:
    """What all parts of an audit look at.

    Attributes
    ----------
    estimator : estimator
        Fitted.
    X, y : table and targets
        As the user gave them; `y` may be None.
    template : BaseAuditor
        An unfitted auditor, with the domain and the threshold.
    space : InputSpace
        The domain, all sensitive attributes together.
    seed : int
        Of every part.
    n_jobs : int or None
        Of every part.
    beside : DataFrame or None
        Sensitive columns that the model does not take, in the order of the rows.
    max_time : float or None
        Seconds for all parts.
    seconds_per_query : float
        As measured last; 0 before.
    extra_queries : int
        Queries for labels, which no oracle has counted.
    auditors : dict of str to auditor
        The auditors that ran, by the label of their search.
    findings : dict of str to Finding
        The pair of each search that differs most, whatever has shown it.
    favourable : Favourable or None
        Which predictions are favourable; None where that is not known before they are seen.
    """

    estimator: Any
    X: Any
    y: Any
    template: BaseAuditor
    space: InputSpace
    seed: int
    n_jobs: int | None
    beside: pd.DataFrame | None = None
    max_time: float | None = None
    seconds_per_query: float = 0.0
    extra_queries: int = 0
    auditors: dict[str, Any] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    favourable: Favourable | None = None
    _predicted: tuple[Ints, Any] | None = None

    def auditor(self, space: InputSpace, max_time: float | None) -> Any:
        """An unfitted auditor of a space of this case."""
        own = self.template.max_time
        limits = [seconds for seconds in (own, max_time) if seconds is not None]
        return self.template._in_space(
            space,
            estimator=self.estimator,
            max_time=min(limits) if limits else None,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )

    def group_auditor(self, template: Any, names: list[Any]) -> Any:
        """An unfitted group auditor of these sensitive columns and the same domain."""
        own = {"space": self.template.space} if hasattr(template, "space") else {}
        return clone(template).set_params(
            estimator=self.estimator,
            sensitive_features=names,
            n_jobs=self.n_jobs,
            random_state=self.seed,
            **own,
        )

    @property
    def names_beside(self) -> list[Any]:
        """Names of the sensitive attributes that the model does not take."""
        return [] if self.beside is None else list(self.beside.columns)

    @property
    def sensitive_names(self) -> list[Any]:
        """Names of all sensitive attributes, those that the model takes first."""
        return [*self.space.sensitive_features, *self.names_beside]

    @property
    def task(self) -> Literal["classification", "regression", "unknown"]:
        """What the model does: "classification", "regression" or "unknown"."""
        # Objects that are no scikit-learn estimators have no tags to ask.
        if hasattr(self.estimator, "__sklearn_tags__"):
            if is_classifier(self.estimator):
                return "classification"
            if is_regressor(self.estimator):
                return "regression"
        return "regression" if self.response == "regression" else "unknown"

    @property
    def response(self) -> str:
        """How the model is asked; "unknown" where it fails at once, which each part tells."""
        try:
            return self._model.response
        except EstimatorFailedError:
            return "unknown"

    @property
    def infers_labels(self) -> bool:
        """Whether codes of labels are positions in the model's `classes_`."""
        return self._model.infers_labels

    @cached_property
    def _model(self) -> Model:
        """The model, which all oracles ask, so that it is got to know only once."""
        method = self.template.response_method
        model = Model(self.estimator, self.space, response_method=method, n_jobs=self.n_jobs)
        if model.probe_cost:
            seconds = np.inf if self.max_time is None else self.max_time
            probe_in_time(model, self.space.data[:PROBE_ROWS], seconds)
        return model

    def oracle(self, space: InputSpace) -> Oracle:
        """An oracle that takes rows as they are, and counts on from what was asked before."""
        return Oracle(self._model, space, threshold=self.template.threshold, clip=False)

    @property
    def n_queries(self) -> int:
        """Queries that the parts themselves have asked; auditors count their own."""
        return self._model.n_rows + self.extra_queries

    def timed(self, began: float, n_queries: int) -> None:
        """Note how long a query took, of so many since then."""
        if n_queries:
            self.seconds_per_query = (_clock.now() - began) / n_queries

    def affordable(self, seconds: float | None, most: int) -> int:
        """Queries that fit into so many seconds, as long as one took last."""
        if seconds is None or not self.seconds_per_query:
            return most
        return int(max(1, min(most, seconds / self.seconds_per_query)))

    def predictions(self, seconds: float | None) -> tuple[Ints, Any, int]:
        """Places of rows of the data, their predictions, and the queries that took now.

        All rows, or a random sample where they take too long; asked once, for all parts.
        """
        if self._predicted is not None:
            return *self._predicted, 0
        n_rows = len(self.space.data)
        order = np.random.default_rng(self.seed).permutation(n_rows)
        began, done, asked_again = _clock.now(), 0, 0
        answers: list[Any] = []
        # Many rows at once take less time a row than the few of a search: the pace is measured.
        n = self.affordable(seconds, n_rows)
        while n > 0:
            rows = order[done : done + n]
            predicted = np.asarray(self.estimator.predict(self.space.decode(self.space.data[rows])))
            if predicted.ndim != 1:
                raise ValueError(
                    f"the tables need one prediction a row; the model gives shape {predicted.shape}"
                )
            answers.append(predicted)
            if not done and not len(self.space.sensitive):  # else pairs of twins were asked again
                again = rows[: n_again()]
                asked_again = len(again)
                second = self.estimator.predict(self.space.decode(self.space.data[again]))
                SecondAnswers(self._model).compare(
                    as_answers(predicted[:asked_again]), as_answers(np.asarray(second))
                )
            done += len(rows)
            spent = _clock.now() - began
            left = np.inf if seconds is None else 0.9 * (seconds - spent) / (spent / done)
            n = int(min(n_rows - done, max(left, 0)))
        asked = np.argsort(order[:done])
        self._predicted = order[:done][asked], np.concatenate(answers)[asked]
        return *self._predicted, done + asked_again

    def sampled(self, rows: Ints) -> str:
        """How many of the rows of the data these are, in words; empty where it is all of them."""
        n_rows = len(self.space.data)
        return "" if len(rows) == n_rows else f"{len(rows):,} of {n_rows:,} rows"

    def is_row(self, space: InputSpace, Z: Floats, columns: Any) -> NDArray[np.bool_]:
        """Whether inputs equal a row of the data in these columns, shape (n,)."""
        return np.isin(row_keys(Z[:, columns]), row_keys(space.data[:, columns]))

    def rows_of(self, rows: Ints) -> tuple[Any, Any]:
        """Rows of the data as a table, and what is true of them; None where that is not known."""
        truth = None if self.y is None else np.asarray(self.y)[rows]
        return self.space.decode(self.space.data[rows]), truth

    def offer(self, label: str, pair: Pair, twins: Floats, shown_by: str) -> None:
        """Keep the pair, if it is the one of its search that differs most so far."""
        known = self.findings.get(label)
        if pair.difference > (0.0 if known is None else known.pair.difference):
            self.findings[label] = Finding(pair, twins, shown_by)

    def pairs_unasked(
        self, space: InputSpace, first: Floats, second: Floats, gaps: Any
    ) -> list[Pair]:
        """Pairs of rows of codes whose outputs are not known, only their differences."""
        return [
            make_pair(
                space.decode(np.stack(twins)),
                outputs=None,
                output=name_output(self.response),
                difference=float(gap),
                threshold=self.template.threshold,
            )
            for *twins, gap in zip(first, second, gaps, strict=True)
        ]

    def pairs(self, oracle: Oracle, first: Floats, second: Floats) -> list[Pair]:
        """Pairs of rows of codes with the model's outputs, the twin with the larger one first.

        Of several outputs the one that differs most. Two queries a pair, and two for the labels of
        a classifier.
        """
        if not len(first):
            return []
        space, n = oracle.space, len(first)
        both = np.concatenate([first, second])
        outputs, labels = np.zeros((2 * n, 1)), None
        if oracle.response != "labels":
            outputs = oracle.respond(both)
        if oracle.response != "regression":
            labels = np.asarray(self.estimator.predict(space.decode(both)))
            self.extra_queries += 2 * n
            if labels.ndim != 1:  # several outputs have no one label
                labels = None
        made = []
        for j in range(n):
            gaps = outputs[j] - outputs[n + j]
            place = int(np.abs(gaps).argmax())
            rows, ends = [j, n + j], outputs[[j, n + j], place]
            if gaps[place] < 0:
                rows, ends = rows[::-1], ends[::-1]
            is_label = oracle.response == "labels"
            of_class = None if is_label else oracle.model.output_name(place)
            made.append(
                make_pair(
                    space.decode(both[rows]),
                    outputs=None if is_label else ends,
                    output=name_output(oracle.response, of_class),
                    difference=1.0 if is_label else float(ends[0] - ends[1]),
                    threshold=self.template.threshold,
                    labels=None if labels is None else tuple(labels[rows].tolist()),
                )
            )
        return made
