"""Out-of-fold answers of all rows as a model, so that any scorer of predictions can score them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

Values = NDArray[Any]


def _has(method: str) -> Callable[[Any], bool]:
    return lambda self: self.answers.get(method) is not None


class _Replayed(BaseEstimator):
    """A model whose rows are row numbers, in a table of one column."""

    answers: dict[str, Any]

    def __init__(self, answers: Any = None, classes: Any = None) -> None:
        self.answers = answers
        self.classes = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _replay(self, method: str, X: Any) -> Any:
        return self.answers[method][np.asarray(X)[:, 0]]

    def predict(self, X: Any) -> Any:
        """The predictions of the rows."""
        return self._replay("predict", X)


class ReplayedRegressor(RegressorMixin, _Replayed):
    """Outputs that were predicted before."""


class ReplayedClassifier(ClassifierMixin, _Replayed):
    """Labels, probabilities and scores that were predicted before."""

    @property
    def classes_(self) -> Values:
        """The class labels."""
        return np.asarray(self.classes)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the rows."""
        return self._replay("predict_proba", X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """The scores of the rows."""
        return self._replay("decision_function", X)


def row_score(
    scorer: Any, answers: dict[str, Any], classes: Any, y: Values, weights: Any
) -> Callable[[Values], float]:
    """The scorer as a function of row numbers."""
    kind = ReplayedRegressor if classes is None else ReplayedClassifier
    model = kind(answers, classes)

    def score(rows: Values) -> float:
        extra = {} if weights is None else {"sample_weight": weights[rows]}
        return float(scorer(model, rows[:, None], y[rows], **extra))

    return score
