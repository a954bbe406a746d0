"""What is audited: a fitted model, the table, the domain, and how the model is asked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from skfairtest._clock import Deadline
from skfairtest._typing import Floats, Ints
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.finding._pair import Pair, make_pair
from skfairtest.finding._words import name_output
from skfairtest.oracle._budget import Budget
from skfairtest.oracle._favourable import Favourable, known_classes
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._model import PROBE_ROWS, PROBE_SHARE, Model, hash_labels, probe_in_time
from skfairtest.oracle._row_answers import RowAnswers
from skfairtest.oracle._row_hash import row_keys
from skfairtest.oracle._rows import ComparedRows, RowComparison
from skfairtest.oracle._twin_tables import AsTheyAre, TwinRows
from skfairtest.report._types import PartResult, R
from skfairtest.space._rows import slice_rows
from skfairtest.space._sensitive_features import sensitive_values
from skfairtest.space._space import InputSpace
from skfairtest.whitebox.registry import Readings

#: Queries that a pair takes at most: outputs and labels of both twins.
QUERIES_A_PAIR = 4


class Finding(NamedTuple):
    """A pair, its encoded twins of shape (2, n_attributes), and what has shown it."""

    pair: Pair
    twins: Floats
    shown_by: str


class AuditOptions(NamedTuple):
    """Which parts are asked for, as `audit` documents its parameters of these names."""

    certify: Any = "auto"
    groups: Any = "auto"
    moved: Any = True


class AskedTwins(NamedTuple):
    """Sensitive attributes in which twins differ, one alone or all together.

    The space has these alone as sensitive; it is None where the model takes none of them.
    """

    label: str
    names: list[str]
    space: InputSpace | None


class AskedInputs(NamedTuple):
    """How inputs are asked about: the model, which decodes them, and what gives its outputs."""

    model: Model
    respond: Callable[[Any], Floats]


@dataclass
class AuditContext:
    """What all parts of an audit look at."""

    estimator: Any  # fitted
    X: Any
    y: Any
    template: BaseAuditor  # unfitted, with the domain and the threshold
    space: InputSpace  # all sensitive attributes together
    seed: int
    n_jobs: int | None
    not_in_model: pd.DataFrame | None = None  # sensitive columns that the model does not take
    max_time: float | None = None
    control: pd.DataFrame | None = None  # within whose values groups are compared as well
    #: The pace of queries, as measured so far.
    budget: Budget = field(default_factory=Budget)
    #: Places of rows, all or a random sample, and what is predicted for them: all rates are of
    #: these. Empty before the rows are predicted.
    rows: Ints = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    predicted: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    #: The auditors that ran, and the pair that differs most, by the label of their search.
    auditors: dict[str, Any] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    favourable: Favourable | None = None  # None where it is not known before predictions are seen
    #: By attribute how well a classifier tells its groups apart, which all maps share.
    aucs_before: dict[str, dict[tuple[Any, Any], float]] = field(default_factory=dict)
    #: The model as certificates read it, once for all sensitive attributes.
    readings: Readings = field(default_factory=Readings)
    options: AuditOptions = AuditOptions()
    callbacks: tuple[Any, ...] = ()  # of scikit-learn, for auditors that search
    given: dict[str, Any] = field(default_factory=dict)  # parameters, for the code that repeats it
    results: list[PartResult] = field(default_factory=list)
    seconds: float = 0.0

    def again(self) -> AuditContext:
        """A copy that later parts may fill, with what was asked so far."""
        other = copy.copy(self)
        other.auditors, other.findings = dict(self.auditors), dict(self.findings)
        other.results = list(self.results)
        return other

    def take_over(self, earlier: AuditContext) -> None:
        """Take what was predicted for an earlier audit, which must be of the same model and rows.

        Results are taken, too, if the settings that they depend on are the same.
        """
        same_rows = np.array_equal(self.space.data, earlier.space.data, equal_nan=True)
        if self.estimator is not earlier.estimator or not same_rows:
            what = "other rows" if self.estimator is earlier.estimator else "another model"
            raise ValueError(
                f"report must be an earlier report of the same model and rows; got one of {what}. "
                "Leave it out, and all is measured anew."
            )
        self.budget, self.rows, self.predicted = earlier.budget, earlier.rows, earlier.predicted
        if self.template.response_method == earlier.template.response_method:
            self.model, self.answers = earlier.model.with_table(self.space), earlier.answers
            self.model.n_jobs = self.n_jobs
        elif len(self.rows):
            self.keep_predicted()
        beside = _alike(self.y, earlier.y) and _alike(self.not_in_model, earlier.not_in_model)
        beside &= _alike(self.control, earlier.control)
        if beside and self._settings() == earlier._settings():
            self.auditors, self.findings = dict(earlier.auditors), dict(earlier.findings)
            self.results, self.seconds = list(earlier.results), earlier.seconds

    def _settings(self) -> list[str]:
        names = ("auditor", "threshold", "favourable", "random_state")
        return [repr(self.sensitive_names), *(repr(self.given[name]) for name in names)]

    def result(self, kind: type[R], of: str = "") -> R:
        """What a part has found; an empty result, which was left out, where it has not run."""
        found = (one for one in self.results if isinstance(one, kind) and one.of == of)
        return next(found, None) or kind(of=of, status="left out")

    @cached_property
    def twins(self) -> list[AskedTwins]:
        """Each sensitive attribute alone, and all together as the last."""
        space, not_in_model = self.space, list(map(in_words, self.names_not_in_model))
        if not len(space.sensitive):
            return _alone_and_together(not_in_model, [None] * len(not_in_model), None)
        names = list(map(in_words, space.sensitive_features))
        spaces = [space.with_sensitive_features([j]) for j in space.sensitive.tolist()]
        outside = [AskedTwins(name, [name], None) for name in not_in_model]
        return outside + _alone_and_together(names, spaces, space)

    @property
    def taken(self) -> list[AskedTwins]:
        """Those that the model can tell apart: all together first, whom everybody asks for."""
        return [one for one in self.twins[::-1] if one.space is not None]

    def auditor(self, space: InputSpace, deadline: Deadline) -> Any:
        """An unfitted auditor of a space of this audit."""
        return self.template._in_space(
            space,
            estimator=self.estimator,
            max_time=deadline.sooner(self.template.max_time),
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )

    @property
    def why_not_certified(self) -> str:
        """Why the largest difference is not bounded; empty where it can be."""
        return "certify=False" if self.options.certify is False else self._why_not_read

    @cached_property
    def _why_not_read(self) -> str:
        from skfairtest.whitebox._readers import check_model

        try:
            check_model(self.estimator, self.response)
        except ValueError as error:
            return str(error)
        return ""

    @property
    def favourable_labels(self) -> Any:
        """The favourable labels, or the least favourable output; None where nothing says it."""
        return None if self.favourable is None else self.favourable.labels

    @property
    def why_no_favourable(self) -> str:
        """Why nobody can tell which predictions are favourable; empty where that can be told."""
        classes = known_classes(self.estimator)
        if self.favourable is None and classes is not None and len(classes) > 2:
            return (
                f"the model has {len(classes)} classes, and nothing says which is favourable: give "
                "favourable="
            )
        return ""

    @property
    def names_not_in_model(self) -> list[Any]:
        """Names of the sensitive attributes that the model does not take."""
        return [] if self.not_in_model is None else list(self.not_in_model.columns)

    @property
    def sensitive_names(self) -> list[Any]:
        """Names of all sensitive attributes, those that the model takes first."""
        return [*self.space.sensitive_features, *self.names_not_in_model]

    @property
    def task(self) -> Literal["classification", "regression", "unknown"]:
        """What the model does."""
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
            known = self.unprobed.response
            return self.model.response if known == "unknown" else known
        except EstimatorFailedError:
            return "unknown"

    @cached_property
    def unprobed(self) -> Model:
        """The model before anybody knows whether labels follow from its scores."""
        method = self.template.response_method
        model = Model(self.estimator, self.space, response_method=method, n_jobs=self.n_jobs)
        model.timer = self.budget.calls.add
        return model

    @cached_property
    def model(self) -> Model:
        """The model, which all parts ask, so that it is got to know only once."""
        model = self.unprobed
        if model.probe_cost:
            seconds = np.inf if self.max_time is None else self.max_time
            probe_in_time(model, self.space.data[:PROBE_ROWS], seconds)
        return model

    def get_to_know(self, rows: Any, predicted: NDArray[Any]) -> None:
        """Let the model be probed on the first rows of a table, for which this was predicted."""
        model = self.unprobed.with_table(AsTheyAre())
        if model.probe_cost:
            # As many as hardly take longer than one, or a small share of the time.
            calls = self.budget.calls
            seconds = max(1.5 * calls.at_most(1), self.budget.run_left / PROBE_SHARE)
            n = int(max(1, min(len(predicted), PROBE_ROWS, calls.fitting(seconds))))
            model.probe(slice_rows(rows, 0, n), predicted[:n])
        self.model = model.with_table(self.space)

    @cached_property
    def answers(self) -> RowAnswers:
        """What the model has answered to the rows of the data, by their places."""
        return RowAnswers(len(self.space.data))

    def keep_predicted(self) -> None:
        """Let `answers` have what was predicted."""
        if self.response != "regression":
            self.answers.keep_predicted(self.rows, hash_labels(self.predicted))
        elif np.isfinite(self.predicted.astype(np.float64)).all():  # else asking it is an error
            scores = self.predicted.astype(np.float64).reshape(len(self.rows), -1)
            self.answers.keep(self.rows, scores, np.zeros(len(scores), dtype=np.int64))

    def keep_compared(self, places: Ints, compared: ComparedRows) -> None:
        """Let `answers` have what the rows themselves got when they were compared with twins."""
        own = compared.valid & (compared.twins == compared.rows.own[:, None])
        known = own.any(axis=1) & compared.rows.is_own()
        at = known, own.argmax(axis=1)[known]
        if known.any():
            self.answers.keep(places[known], compared.scores[at], compared.labels[at])

    @cached_property
    def table(self) -> Any:
        """The rows of the data as the model takes them."""
        return self.space.rows()

    def search(self, space: InputSpace) -> SearchHandle:
        """A handle that counts on from what was asked before."""
        return SearchHandle(self.model, space, threshold=self.template.threshold)

    def asked(self, space: InputSpace) -> AskedInputs:
        """How encoded inputs of a space are asked about."""
        return AskedInputs(self.model.with_table(space), self.search(space).respond)

    def compare(self, space: InputSpace, most: int) -> RowComparison:
        """A comparison of rows with their twins, of `most` at most, in the time of `budget`."""
        return RowComparison(
            self.model, space, threshold=self.template.threshold, most=most, budget=self.budget
        )

    @property
    def n_queries(self) -> int:
        """Queries that the parts themselves have asked; auditors count their own."""
        return self.model.n_rows

    def within(self, deadline: Deadline) -> AbstractContextManager[None]:
        """Let `budget` end with a deadline in a context."""
        return self.budget.narrowed(max_time=self.budget.seconds + deadline.left)

    def affordable(self, seconds: float, most: int) -> int:
        """Queries that fit into so many seconds, at the pace so far; one at least."""
        pace = self.budget.seconds_a_query
        return int(max(1, min(most, seconds / pace))) if pace else most

    def in_time(self, n: int, seconds: float = 0.0) -> int:
        """How many of n queries to ask in one call that ends in time.

        That is in these seconds, or in a quarter of what is left of the whole time.
        """
        of_run = self.budget.run_left
        return int(min(n, self.budget.calls.fitting(min(of_run, max(seconds, of_run / 4)))))

    def shuffled(self) -> Ints:
        """Places of the rows of the data in the order in which they are predicted and compared."""
        return np.random.default_rng(self.seed).permutation(len(self.space.data))

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
        return self.space.rows(rows), truth

    def sensitive_values(self, rows: Ints) -> pd.DataFrame:
        """The sensitive attributes of rows of the data, one column each; a one-hot group is one."""
        return sensitive_values(self.space, rows, self.not_in_model)

    def offer(self, label: str, pair: Pair, twins: Floats, shown_by: str) -> None:
        """Keep the pair, if it is the one of its search that differs most so far."""
        known = self.findings.get(label)
        if pair.difference > (0.0 if known is None else known.pair.difference):
            self.findings[label] = Finding(pair, twins, shown_by)

    def pairs_unasked(self, rows: TwinRows, first: Ints, second: Ints, gaps: Any) -> list[Pair]:
        """Pairs of twins of rows whose outputs are not known, only their differences."""
        return [
            make_pair(
                rows.decode(np.stack(twins)),
                outputs=None,
                output=name_output(self.response),
                difference=float(gap),
                threshold=self.template.threshold,
            )
            for *twins, gap in zip(first, second, gaps, strict=True)
        ]

    def pairs(self, asked: AskedInputs, first: Any, second: Any) -> list[Pair]:
        """Pairs of inputs with the model's outputs, the twin with the larger one first.

        Of several outputs the one that differs most. Two queries a pair, and two for the labels of
        a classifier, which the first pairs have for whom there is time.
        """
        if not len(first):
            return []
        model, n = asked.model, len(first)
        both = np.concatenate([first, second])
        outputs, labels = np.zeros((2 * n, 1)), []
        if model.response != "labels":
            outputs = asked.respond(both)
        k = self.in_time(2 * n) // 2
        if model.response != "regression" and k:
            predicted = model.predict(np.concatenate([first[:k], second[:k]]))
            if predicted.ndim == 1:  # several outputs have no one label
                labels = list(zip(predicted[:k].tolist(), predicted[k:].tolist(), strict=True))
        made = []
        for j in range(n):
            gaps = outputs[j] - outputs[n + j]
            place = int(np.abs(gaps).argmax())
            rows, ends = [j, n + j], outputs[[j, n + j], place]
            own = labels[j] if j < len(labels) else None
            if gaps[place] < 0:
                rows, ends, own = rows[::-1], ends[::-1], own and own[::-1]
            is_label = model.response == "labels"
            of_class = None if is_label else model.output_name(place)
            made.append(
                make_pair(
                    model.space.decode(both[rows]),
                    outputs=None if is_label else ends,
                    output=name_output(model.response, of_class),
                    difference=1.0 if is_label else float(ends[0] - ends[1]),
                    threshold=self.template.threshold,
                    labels=own,
                )
            )
        return made


def _alike(one: Any, other: Any) -> bool:
    """Whether two columns or tables beside the rows hold the same, or neither is there."""
    tables = [pd.DataFrame(None if it is None else np.asarray(it)) for it in (one, other)]
    return tables[0].equals(tables[1])


def _alone_and_together(
    names: list[str], spaces: Sequence[InputSpace | None], whole: InputSpace | None
) -> list[AskedTwins]:
    """Each attribute alone and, where there are several, all of them together."""
    if len(names) == 1:
        return [AskedTwins(names[0], names, whole)]
    alone = [AskedTwins(name, [name], space) for name, space in zip(names, spaces, strict=True)]
    return [*alone, AskedTwins(", ".join(names) + " together", names, whole)]


def in_words(name: Any) -> str:
    """The name of a column; a position as such."""
    return name if isinstance(name, str) else f"column {name}"
