"""Predictions that were made before, in place of a model, so that scorers score any of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import r2_score

Values = NDArray[Any]

METHODS = ("predict", "predict_proba", "decision_function", "predict_log_proba")


class CachedPredictions:
    """A model that looks its predictions up, for rows that are given by their numbers.

    It takes the place of the model in a scorer, so that the score of any part of the rows costs no
    further prediction.

    Parameters
    ----------
    model : estimator
        The model, fitted where it is still to be asked.
    X : table of shape (n_rows, n_features), default=None
        The rows. Each method of the model is asked once, when a scorer first needs it. With None
        the model is asked nothing, and has the methods of `known` alone.
    known : dict of str to ndarray, default=None
        Predictions by the name of the method, one entry for each row.
    classes : ndarray, default=None
        Class labels, where the model does not know them.
    """

    def __init__(
        self,
        model: Any,
        X: Any = None,
        *,
        known: dict[str, Values] | None = None,
        classes: Values | None = None,
    ) -> None:
        self.model = model
        self._X = X
        self._known = dict(known or {})
        if classes is not None:
            self.classes_ = classes

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            return getattr(self.model, name)
        if name not in self._known:
            if self._X is None:
                raise AttributeError(f"no {name} was recorded")
            self._known[name] = np.asarray(getattr(self.model, name)(self._X))
        predictions = self._known[name]

        def look_up(rows: Any) -> Values:
            return predictions[np.asarray(rows)]

        look_up.__name__ = name  # by which scorers tell probabilities from labels
        return look_up

    @property
    def asked(self) -> list[str]:
        """Methods of the model that are known, given or asked."""
        return list(self._known)

    def __sklearn_tags__(self) -> Any:
        """Tags of the model."""
        return self.model.__sklearn_tags__()

    def score(self, rows: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy or R2, the scores that estimators have unless they say otherwise."""
        predicted = self.predict(rows)
        if is_classifier(self.model):
            return float(np.average(predicted == y, weights=sample_weight))
        return float(r2_score(y, predicted, sample_weight=sample_weight))


def score_of_rows(
    scorer: Any, cached: CachedPredictions, y: Values, weights: Values | None
) -> Callable[[Values], float]:
    """Return the scorer as a function of row numbers."""

    def score(rows: Values) -> float:
        extra = {} if weights is None else {"sample_weight": weights[rows]}
        return float(scorer(cached, rows, y[rows], **extra))

    return score
