"""What the model predicts for the rows of the data; all rates are about these predictions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from sklearn.metrics import accuracy_score, r2_score

from skfairtest import _clock
from skfairtest._clock import Deadline, OutOfTime
from skfairtest._progress import tell
from skfairtest._typing import Ints
from skfairtest.oracle._row_hash import distinct, row_keys
from skfairtest.oracle._second_answers import SecondAnswers, as_answers, n_again
from skfairtest.oracle._twin_tables import AsTheyAre
from skfairtest.report._context import AuditContext
from skfairtest.report._redact import neither
from skfairtest.report._types import PartResult, Report, Words
from skfairtest.report.parts._part import Part, Sentence, Task
from skfairtest.report.render.words import in_sample
from skfairtest.space._rows import slice_rows, take_rows


class Performance(Struct, frozen=True, forbid_unknown_fields=True):
    """How well the model predicts the targets that were given."""

    metric: Words
    value: Annotated[float, neither("On the rows that were predicted.")]


class PredictionsPart(PartResult, frozen=True, kw_only=True, tag="predictions"):
    """The predictions for the rows of the data."""

    n: Annotated[int, neither("Rows that were predicted: all, or a random sample.")] = 0
    n_distinct: Annotated[int, neither("Those that are not equal to another one.")] = 0
    n_rows: Annotated[int, neither("Rows of the data.")] = 0
    performance: Annotated[
        Performance | None, neither("Null without targets, or with several.")
    ] = None


class Predictions(Part):
    """Predicts the rows of the data once, for all other parts."""

    result = PredictionsPart
    place = 10

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One task, the first of all."""
        blank = PredictionsPart(n_rows=len(context.space.data))
        yield Task(blank, lambda deadline: predict_rows(context, deadline), order=(0,), share=15.0)

    def sentences(self, report: Report) -> Iterable[Sentence]:
        """How well the model predicts, where that is known."""
        found = report.first(PredictionsPart)
        if found.performance is not None:
            metric, value = found.performance.metric, found.performance.value
            words = (
                f"{report.model.final}, {metric} {value:.3f} on these {found.n:,} rows"
                f"{in_sample(found.n, found.n_rows)}; less on new ones, if it was trained on these."
            )
            yield Sentence("performance", words)

    def summary(self, result: PredictionsPart) -> str:
        """How many rows were predicted."""
        return f"{result.n:,} rows, {result.n_distinct:,} of them distinct"


def predict_rows(context: AuditContext, deadline: Deadline) -> PredictionsPart:
    """Predict the rows of the data, unless an earlier audit has."""
    if len(context.predicted):
        n_distinct, queries = len(_distinct(context, context.rows)[0]), 0
    else:
        n_distinct = ask_rows(context, deadline)
        queries = context.n_queries  # this part is the first, and got to know the model, too
    return PredictionsPart(
        n=len(context.rows),
        n_distinct=n_distinct,
        n_rows=len(context.space.data),
        performance=_performance(context),
        queries=queries,
        early=context.sampled(context.rows),
    )


def _distinct(context: AuditContext, places: Ints) -> tuple[Ints, Ints]:
    """The first of equal rows at these places, and which of these each row is."""
    return distinct(row_keys(context.space.layout.plain.encode(context.table)[places]))


def ask_rows(context: AuditContext, deadline: Deadline) -> int:
    """Predict the rows of the data, or a random sample of them where all take too long.

    Distinct rows are asked once, for all parts. Returns how many these are.
    """
    model, order = context.unprobed.with_table(AsTheyAre()), context.shuffled()
    first, back = _distinct(context, order)
    rows = take_rows(context.table, order[first])
    answers: list[Any] = []
    done = 0
    with context.within(deadline):
        while n := int(context.budget.next_call(len(rows) - done)):
            began = _clock.now()
            answers.append(model.predict(slice_rows(rows, done, done + n)))
            context.budget.took(n, _clock.now() - began)
            done += n
            tell(done / len(rows), f"{done:,} of {len(rows):,} rows")
    if not done:
        raise OutOfTime
    predicted = np.concatenate(answers)
    # The rows before the first one that was not asked about: a sample by chance alone.
    known = len(order) if done == len(rows) else int(first[done])
    asked = np.argsort(order[:known])
    context.rows, context.predicted = order[asked], predicted[back[asked]]
    # What the scores say of labels is tried where these are known.
    context.get_to_know(rows, predicted)
    context.keep_predicted()
    if not len(context.space.sensitive):  # else pairs of twins are asked again
        n = min(done, context.affordable(deadline.left, n_again()))
        again = as_answers(model.predict(slice_rows(rows, 0, n)))
        SecondAnswers(context.model).compare(as_answers(predicted[:n]), again)
    return done


def _performance(context: AuditContext) -> Performance | None:
    """How well the rows were predicted, by the metric that scikit-learn's own `score` has."""
    truth, predicted = context.rows_of(context.rows)[1], context.predicted
    if truth is None or predicted.ndim > 1 or np.ndim(truth) > 1 or len(truth) < 2:
        return None
    if context.task == "regression":
        return Performance("R²", float(r2_score(truth, predicted.astype(np.float64))))
    return Performance("accuracy", float(accuracy_score(truth, predicted)))


def why_no_rates(context: AuditContext) -> str:
    """Why there is not one prediction a row that rates could be about; empty where there is."""
    predicted = context.predicted
    if predicted.ndim > 1:
        return (
            f"several outputs: the model predicts {predicted.shape[1]} for each row, and rates "
            "are about one. Audit a model of one of them"
        )
    return "" if len(predicted) else "the rows were not predicted"
