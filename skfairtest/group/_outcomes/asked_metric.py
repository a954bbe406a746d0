"""Asks a model for what a metric needs: labels, outputs or probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from skfairtest._typing import Ints
from skfairtest.group._outcomes.answers import Answers
from skfairtest.group._outcomes.given_rows import GivenRows
from skfairtest.group._outcomes.metrics import (
    OF_LABELS,
    OF_OUTPUTS,
    OF_PROBABILITIES,
    MetricRows,
    metric_rows,
)
from skfairtest.group._outcomes.outcomes import column
from skfairtest.oracle._favourable import known_classes


class AskedMetric:
    """Computes a metric of one model's predictions for the rows of a table.

    Attributes
    ----------
    answers : Answers
        The model, asked the way that the metric needs.
    as_they_are : bool
        Whether labels or outputs are wanted as ``predict`` gives them.

    Parameters
    ----------
    metric : str or callable
        The metric.
    model : estimator
        Fitted.
    X : table
        The rows.
    favourable : object
        As the user gave it.
    n_jobs : int or None
        Chunks that are asked at the same time.

    Raises
    ------
    ValueError
        If the model has no such predictions.
    """

    def __init__(
        self,
        metric: str | Callable[..., Any],
        model: Any,
        X: Any,
        favourable: Any,
        n_jobs: int | None,
    ) -> None:
        self.metric = metric
        self.given = favourable
        self.as_they_are = callable(metric) or metric in OF_LABELS
        name = type(model).__name__
        self.classifies = getattr(model, "classes_", None) is not None
        if self.classifies and not callable(metric) and OF_OUTPUTS.get(metric):
            raise ValueError(
                f"metric={metric!r} is for the outputs of a regressor; got the classifier "
                f"{name}. Choose 'calibration', 'log_loss' or 'accuracy'."
            )
        of_shares = self.classifies and not self.as_they_are
        if of_shares and not hasattr(model, "predict_proba"):
            raise ValueError(
                f"metric={metric!r} needs probabilities; got {name} without predict_proba. Choose "
                "another metric, or calibrate the model."
            )
        # A threshold is for labels, and a callable judges predictions by itself.
        unused = callable(metric) or not (self.classifies or self.as_they_are)
        wanted = None if unused else favourable
        if wanted is None and (callable(metric) or metric == "accuracy"):
            # Any label will do, since nobody looks at it.
            classes = known_classes(model)
            wanted = None if classes is None else classes[-1]
        self.answers = Answers(
            model,
            GivenRows(X),
            wanted,
            "predict_proba" if of_shares else "auto",
            n_jobs,
        )
        if not callable(metric) and metric in OF_LABELS and self.answers.favourable == "mean":
            raise ValueError(
                f"metric={metric!r} needs labels; got the regressor {name}. Pass favourable=, "
                "the smallest output that is favourable, or choose 'mean_prediction', "
                "'mean_error' or 'mean_absolute_error'."
            )

    def ask(self, numbers: Ints) -> NDArray[Any]:
        """Return predictions for the rows at these positions."""
        return (self.answers.predictions if self.as_they_are else self.answers.ask)(numbers)

    def rows(self, predicted: NDArray[Any], truth: Any) -> MetricRows:
        """Return the values of the metric for the rows that have predictions."""
        answers, metric = self.answers, self.metric
        if callable(metric):
            return metric_rows(metric, column("y_pred", predicted, len(predicted)), truth, None)
        if not self.as_they_are:
            known = metric in OF_PROBABILITIES and self.classifies
            favourable = answers.favourable if known else self.given
            rows = metric_rows(metric, predicted, truth, favourable, known=known)
            return rows._replace(favourable=answers.favourable) if self.classifies else rows
        predicted = column("y_pred", predicted, len(predicted))
        outputs = answers.model.response == "regression"
        favourable = answers.favourable if self.classifies or outputs else self.given
        if metric == "accuracy" and self.given is None and answers.classes is not None:
            favourable = None
        return metric_rows(
            metric, predicted, truth, favourable, known=self.classifies, outputs=outputs
        )
