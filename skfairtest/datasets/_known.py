"""Estimators whose response, and so whose fairness degree, is known in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from ._response import (
    MAX_PROBABILITY_DEGREE,
    NeedsNoFit,
    check_degree,
    check_variant,
    effect,
    feature_names,
    neutral,
)


class _Known(NeedsNoFit):
    def __init__(self, variant: str, degree: float) -> None:
        self.variant = variant
        self.degree = degree

    def fit(self, X: Any, y: Any = None) -> Any:
        """Check the parameters and record the columns; nothing is learnt."""
        self._params()
        return self._seen(X, feature_names(self.variant))

    def _params(self) -> tuple[str, float]:
        return check_variant(self.variant), check_degree(self.degree)


class KnownRegressor(RegressorMixin, _Known):
    """The response of `make_biased_regression`, without its noise."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the known response to a data frame, pandas or polars, in units of the target."""
        variant, degree = self._params()
        return 100.0 * neutral(X) + degree * effect(X, variant)


class KnownClassifier(ClassifierMixin, _Known):
    """The probabilities of `make_biased_classification`."""

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The class labels, in the order of the columns of `predict_proba`."""
        return np.array(["no", "yes"])

    def _params(self) -> tuple[str, float]:
        return check_variant(self.variant), check_degree(self.degree, MAX_PROBABILITY_DEGREE)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the known probabilities of "no" and "yes" for a data frame, pandas or polars."""
        variant, degree = self._params()
        positive = 0.15 + 0.1 * neutral(X) + degree * effect(X, variant)
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: Any) -> NDArray[np.str_]:
        """Return "yes" if its probability exceeds one half, else "no"."""
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(np.intp)]
