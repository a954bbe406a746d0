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
    column,
    effect,
    feature_names,
    neutral,
)

__all__ = ["KnownClassifier", "KnownRegressor"]


class _Known(NeedsNoFit):
    variant: str
    degree: float

    def fit(self, X: Any, y: Any = None) -> Any:
        """Check the parameters and record the columns; nothing is learnt.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_features)
            Data with the columns of the generated data.
        y : array-like of shape (n_samples,), default=None
            Ignored.

        Returns
        -------
        self : object
            The estimator itself.

        Raises
        ------
        ValueError
            If `variant` or `degree` is not a possible one, or a column is missing.
        TypeError
            If `X` is not a data frame.
        """
        self._params()
        for name in feature_names(self.variant):
            column(X, name)
        self.feature_names_in_ = np.asarray([str(name) for name in X.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def _params(self) -> tuple[str, float]:
        return check_variant(self.variant), check_degree(self.degree)


class KnownRegressor(RegressorMixin, _Known):
    """A regressor whose fairness degree is known exactly.

    The prediction is ``f(x, s) = base(x) + degree * g(s) * e(x)`` where ``s`` is the sensitive
    column and ``x`` all others, ``g`` and ``e`` lie in [0, 1] and attain 0 and 1 (``g``) and 1
    (``e``). The largest difference that ``s`` alone makes is therefore `degree`. It can be
    audited without being fitted.

    Parameters
    ----------
    variant : {"smooth", "narrow", "many-valued"}, default="smooth"
        Where the effect lies and which column is sensitive, see `make_biased_regression`.
    degree : float, default=10.0
        Exact fairness degree, in units of the target. Positive and finite.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns seen in `fit`.
    n_features_in_ : int
        Number of columns seen in `fit`.

    See Also
    --------
    make_biased_regression : Generates data for this response.
    KnownClassifier : Predicts class probabilities with a known degree.

    Examples
    --------
    >>> from skfairtest.datasets import KnownRegressor, make_biased_regression
    >>> bunch = make_biased_regression(100, random_state=0)
    >>> known = KnownRegressor(degree=3.0)
    >>> low, high = known.predict(bunch.worst_case)
    >>> round(float(high - low), 9)
    3.0
    """

    def __init__(self, variant: str = "smooth", degree: float = 10.0) -> None:
        self.variant = variant
        self.degree = degree

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the known response.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_features)
            Data with the columns of the generated data, in any order; pandas or polars.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions, in units of the target.

        Raises
        ------
        ValueError
            If a parameter, a column or a category is not a possible one.
        TypeError
            If `X` is not a data frame.
        """
        variant, degree = self._params()
        return 100.0 * neutral(X) + degree * effect(X, variant)


class KnownClassifier(ClassifierMixin, _Known):
    """A classifier whose fairness degree is known exactly.

    The probability of "yes" is ``0.15 + 0.1 * h(x) + degree * g(s) * e(x)`` where ``s`` is the
    sensitive column and ``x`` all others, and ``h``, ``g`` and ``e`` lie in [0, 1]. The largest
    difference of a class probability that ``s`` alone makes is therefore `degree`. It can be
    audited without being fitted.

    Parameters
    ----------
    variant : {"smooth", "narrow", "many-valued"}, default="smooth"
        Where the effect lies and which column is sensitive, see `make_biased_classification`.
    degree : float, default=0.6
        Exact fairness degree, a difference of probabilities in (0, 0.7].

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels, "no" and "yes".
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns seen in `fit`.
    n_features_in_ : int
        Number of columns seen in `fit`.

    See Also
    --------
    make_biased_classification : Generates data for this response.
    KnownRegressor : Predicts a number with a known degree.

    Examples
    --------
    >>> from skfairtest.datasets import KnownClassifier, make_biased_classification
    >>> bunch = make_biased_classification(100, random_state=0)
    >>> known = KnownClassifier(degree=0.5)
    >>> known.predict_proba(bunch.worst_case).shape
    (2, 2)
    >>> low, high = known.predict_proba(bunch.worst_case)[:, 1]
    >>> round(float(high - low), 9)
    0.5
    """

    def __init__(self, variant: str = "smooth", degree: float = 0.6) -> None:
        self.variant = variant
        self.degree = degree

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The class labels, in the order of the columns of `predict_proba`."""
        return np.array(["no", "yes"])

    def _params(self) -> tuple[str, float]:
        return check_variant(self.variant), check_degree(self.degree, MAX_PROBABILITY_DEGREE)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the known class probabilities.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_features)
            Data with the columns of the generated data, in any order; pandas or polars.

        Returns
        -------
        proba : ndarray of shape (n_samples, 2)
            Probabilities of "no" and "yes".

        Raises
        ------
        ValueError
            If a parameter, a column or a category is not a possible one.
        TypeError
            If `X` is not a data frame.
        """
        variant, degree = self._params()
        positive = 0.15 + 0.1 * neutral(X) + degree * effect(X, variant)
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: Any) -> NDArray[np.str_]:
        """Return "yes" if its probability exceeds one half, else "no".

        Parameters
        ----------
        X : data frame of shape (n_samples, n_features)
            Data with the columns of the generated data, in any order; pandas or polars.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.

        Raises
        ------
        ValueError
            If a parameter, a column or a category is not a possible one.
        TypeError
            If `X` is not a data frame.
        """
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(np.intp)]
