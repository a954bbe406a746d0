"""A model's predictions as numbers: whether they are favourable, or how likely or how large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints, is_real
from skfairtest._validation import column
from skfairtest.group._outcomes.given_rows import GivenRows
from skfairtest.group._outcomes.outcomes import OUTCOMES, MetricRows, is_of, metric_rows
from skfairtest.oracle._favourable import (
    as_shares,
    favourable_labels,
    favourable_places,
    known_classes,
    label_codes,
)
from skfairtest.oracle._model import Model

METHODS = ("auto", "predict", "predict_proba")


class Answers:
    """Asks a model for one number per row: favourable or not, a probability, or an output.

    Labels become 1 where they are favourable and 0 elsewhere, probabilities that of the favourable
    classes; a regressor's predictions are compared with a threshold or stay as they are.

    Attributes
    ----------
    binary : bool or None
        Whether the numbers are 0 or 1; None until the first prediction tells it.
    favourable : list, float, "mean" or None
        What is favourable, once it is known.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    rows : object
        Has ``decode``, which turns an array that stands for rows into what the estimator takes.
    favourable : object
        As the user gave it.
    response_method : {"auto", "predict", "predict_proba"}
        How to ask a classifier; "auto" is ``predict``.
    n_jobs : int or None
        Chunks of a batch that are asked at the same time.
    """

    def __init__(
        self, estimator: Any, rows: Any, favourable: Any, response_method: str, n_jobs: int | None
    ) -> None:
        if response_method not in METHODS:
            raise ValueError(f"response_method must be one of {METHODS}; got {response_method!r}.")
        method = "predict" if response_method == "auto" else response_method
        self.model = Model(estimator, rows, response_method=method, n_jobs=n_jobs)
        self.estimator = estimator
        self.given = favourable
        self.classes = _classes(estimator)
        self.favourable: Any = None
        self.binary: bool | None = None
        self._chosen: Any = None
        if self.model.response == "unknown" and self.classes is not None:
            self.model.response = "labels"  # what has classes classifies
        if self.model.response == "regression":
            self._choose_threshold()
        elif self.classes is not None:
            self._choose_labels(self.classes)
        elif self.model.response == "labels" and favourable is not None:
            self._choose_unknown_labels()

    @property
    def n_queries(self) -> int:
        """Queries so far."""
        return self.model.n_rows

    # What is favourable ----------------------------------------------------------------------

    def _choose_threshold(self) -> None:
        given = self.given
        if given is None or (isinstance(given, str) and given == "mean"):
            self.favourable, self.binary = "mean", False
            return
        if not is_real(given):
            raise ValueError(
                "favourable must be 'mean' or a finite number for a regressor, the smallest "
                f"prediction that is favourable; got {given!r}."
            )
        self.favourable, self.binary = float(given), True

    def _choose_labels(self, classes: NDArray[Any]) -> None:
        places = favourable_places(self.given, classes, self.estimator)
        self.favourable = [classes[j] for j in places]
        self.binary = self.model.response == "labels"
        self._chosen = label_codes(self.favourable) if self.binary else places

    def _choose_unknown_labels(self) -> None:
        """Choose labels of an estimator without `classes_`, whose predictions have to show them."""
        self.favourable = favourable_labels(self.given)
        self.binary = True
        self._chosen = label_codes(self.favourable)

    def _learn(self, Z: Any) -> None:
        """Learn from a first prediction what an estimator without tags and classes predicts."""
        answer = self.model.predict(Z)
        if self.model.response == "unknown" and answer.dtype.kind == "f":
            self.model.response = "regression"
            self._choose_threshold()
            return
        self.model.response = "labels"
        if self.given is None:
            self._choose_labels(np.unique(answer))
        else:
            self._choose_unknown_labels()

    # Asking ----------------------------------------------------------------------------------

    def ask(self, Z: Any) -> Floats:
        """Return one number for each row, shape (n,)."""
        if self.binary is None:
            self._learn(Z[:1000])
        if self.model.response == "labels":
            return np.isin(self.model.labels(Z), self._chosen).astype(np.float64)
        if self.model.response == "predict_proba":
            return self._probabilities(Z)
        scores, _ = self.model.ask(Z)
        if scores.shape[1] > 1:
            raise ValueError(
                f"{type(self.estimator).__name__} has {scores.shape[1]} outputs, but groups are "
                "compared by one output. Audit a model of one output at a time."
            )
        return as_shares(scores[:, 0], self.favourable)

    def _probabilities(self, Z: Any) -> Floats:
        scores, _ = self.model.ask(Z)
        if scores.shape[1] == 1:  # of two classes the model tells that of the second
            scores = np.column_stack([1 - scores[:, 0], scores[:, 0]])
        return scores[:, self._chosen].sum(axis=1)


class AskedMetric(Answers):
    """Asks a model for what a metric needs: labels or outputs as they are, or probabilities.

    Parameters
    ----------
    metric : str or callable
        The metric.
    estimator : object
        A fitted estimator.
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
        estimator: Any,
        X: Any,
        favourable: Any,
        n_jobs: int | None,
    ) -> None:
        self.metric, self.wanted = metric, favourable
        self.as_they_are = callable(metric) or is_of(metric, "labels")
        name = type(estimator).__name__
        self.classifies = getattr(estimator, "classes_", None) is not None
        if self.classifies and is_of(metric, "outputs") and OUTCOMES[str(metric)].needs_truth:
            raise ValueError(
                f"metric={metric!r} is for the outputs of a regressor; got the classifier "
                f"{name}. Choose 'calibration', 'log_loss' or 'accuracy'."
            )
        of_shares = self.classifies and not self.as_they_are
        if of_shares and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"metric={metric!r} needs probabilities; got {name} without predict_proba. Choose "
                "another metric, or calibrate the model."
            )
        # A threshold is for labels, and a callable judges predictions by itself.
        if callable(metric) or not (self.classifies or self.as_they_are):
            favourable = None
        if favourable is None and (callable(metric) or metric == "accuracy"):
            # Any label will do, since nobody looks at it.
            classes = known_classes(estimator)
            favourable = None if classes is None else classes[-1]
        method = "predict_proba" if of_shares else "auto"
        super().__init__(estimator, GivenRows(X), favourable, method, n_jobs)
        if is_of(metric, "labels") and self.favourable == "mean":
            raise ValueError(
                f"metric={metric!r} needs labels; got the regressor {name}. Pass favourable=, "
                "the smallest output that is favourable, or choose 'mean_prediction', "
                "'mean_error' or 'mean_absolute_error'."
            )

    def ask(self, Z: Ints) -> NDArray[Any]:
        """Return predictions for the rows at these positions."""
        return self.model.predict(Z) if self.as_they_are else super().ask(Z)

    def rows(
        self, predicted: NDArray[Any], truth: NDArray[Any] | None, weights: Floats | None
    ) -> MetricRows:
        """Return the values of the metric for the rows that have predictions."""
        n, metric, favourable = len(predicted), self.metric, self.wanted
        truth, weights = (None if part is None else part[:n] for part in (truth, weights))
        outputs = self.as_they_are and self.model.response == "regression"
        of_labels = metric == "accuracy" and favourable is None and self.classes is not None
        if callable(metric):
            favourable = None
        elif (self.classifies or outputs) and not of_labels:
            favourable = self.favourable
        if self.as_they_are:
            predicted = column("y_pred", predicted, n)
        rows = metric_rows(
            metric, predicted, truth, favourable, weights, known=self.classifies, outputs=outputs
        )
        of_shares = self.classifies and not self.as_they_are
        return rows._replace(favourable=self.favourable) if of_shares else rows


def _classes(estimator: Any) -> NDArray[Any] | None:
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, list):
        raise ValueError(
            f"{type(estimator).__name__} has {len(classes)} outputs with classes of their own, "
            "but groups are compared by one output. Audit one output at a time."
        )
    return known_classes(estimator)
