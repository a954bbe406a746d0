"""Analytic gradients of scikit-learn models, also behind the steps of a pipeline.

A model is taken apart into the steps before it, whose output is a sum of functions of single
columns (scalers, encoders), and a last step whose gradient is known. Gradients are changes per
step of each attribute: for a discrete one the difference of the steps' output to the neighbouring
value, so that a one-hot encoded category has a gradient, too.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn import linear_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import LinearSVC, LinearSVR

from skfairtest._typing import Floats, Ints
from skfairtest.individual._gradient.additive_steps import AdditiveSteps
from skfairtest.individual._gradient.torch import (
    TorchGradient,
    holds_module,
    how_to_wrap,
    is_skorch_net,
)
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._link import probability_link
from skfairtest.whitebox._unwrap import unwrap

#: Gradient of the chosen outputs with respect to what the last step sees: of rows (n, p) and the
#: number of an output for each, as the search counts: of two classes the second has number 0;
#: shape (n, p).
LastGradient = Callable[[Floats, Ints], Floats]

#: Models whose scores are linear maps, where they have coefficients.
LINEAR_MODELS = (
    *(kind for name in linear_model.__all__ if isclass(kind := getattr(linear_model, name))),
    LinearSVC,
    LinearSVR,
    LinearDiscriminantAnalysis,
)

HINT = (
    "Give gradient= a callable, or use MAFTAuditor, which estimates gradients from the outputs of "
    "any model."
)


class AnalyticGradient:
    """Gradient of a model's outputs, per step of each attribute."""

    def __init__(self, estimator: Any, space: InputSpace, response: str) -> None:
        steps, last = unwrap(estimator, HINT)
        self.space = space
        self.last = gradient_of_last(last, response)
        self.steps = AdditiveSteps(steps, space, HINT)
        if isinstance(self.last, TorchGradient):
            # A module that cannot be differentiated is an error before the first query.
            Z = space.domain.draw(1, np.random.default_rng(0))
            self.last(self.steps.encode(Z), np.zeros(1, dtype=np.intp))

    def __call__(self, Z: Floats, scores: Floats, column: Ints) -> Floats:
        """Change of the chosen output per step, shape (n, n_features)."""
        T = self.steps.encode(Z)
        if isinstance(self.last, TorchGradient):
            self.last.check(T, scores, column)
        return self.steps.pull_back(Z, self.last(T, column))


def gradient_of_last(model: Any, response: str) -> LastGradient:
    """The gradient of a fitted model without steps before it, or an error that says so."""
    name = type(model).__name__
    if response == "labels":
        raise ValueError(
            f"Labels have no gradient; {name} is asked for labels only. Use response_method='auto' "
            "and an estimator with predict_proba or decision_function, or MAFTAuditor."
        )
    if is_skorch_net(model):
        return TorchGradient(model, response)
    if isinstance(model, (MLPClassifier, MLPRegressor)):
        check_library_code(model, HINT)
        return MLPGradient(model)
    if is_linear_model(model):
        check_library_code(model, HINT)
        return linear_gradient(model, response)
    wrap = f"{how_to_wrap(model)} " if holds_module(model) else ""
    raise ValueError(
        f"gradient='auto' knows the gradient of linear models, MLPClassifier, MLPRegressor and "
        f"torch modules in skorch, also as the last step of a Pipeline; got {name}. {wrap}{HINT}"
    )


def refuse_bare_module(estimator: Any) -> None:
    """Tell users of a torch module without predict, alone or behind steps, how to wrap it."""
    if hasattr(estimator, "predict"):
        return
    last = unwrap(estimator, HINT)[1]
    if holds_module(last):
        raise TypeError(f"The estimator must have predict. {how_to_wrap(last)}")


def is_linear_model(model: Any) -> bool:
    """Whether the scores of a fitted model are a linear map with public coefficients."""
    return isinstance(model, LINEAR_MODELS) and hasattr(model, "coef_")


def linear_gradient(model: Any, response: str) -> LastGradient:
    """The gradient of a linear score, or of the probabilities that are made of it."""
    if type(model).__name__ in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor"):
        raise ValueError(f"gradient='auto' does not know {type(model).__name__}'s link. {HINT}")
    W = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), len(W))
    if response != "predict_proba":
        return lambda T, column: W[column]
    slope = probability_slopes(model, len(W))

    def gradient(T: Floats, column: Ints) -> Floats:
        return slope(T @ W.T + b, column) @ W

    return gradient


def probability_slopes(model: Any, n_scores: int) -> Callable[[Floats, Ints], Floats]:
    """Derivatives of the chosen class's probability by the linear scores, (n, n_scores)."""
    kind = probability_link(model, n_scores, HINT)
    if n_scores == 1:
        factor = 2.0 if kind == "softmax" else 1.0

        def binary(scores: Floats, column: Ints) -> Floats:
            if kind == "clipped":
                return np.where(np.abs(scores) < 1, 0.5, 0.0)
            p = expit(factor * scores)
            return np.asarray(factor * p * (1 - p), dtype=np.float64)

        return binary

    def several(scores: Floats, column: Ints) -> Floats:
        rows = np.arange(len(scores))
        if kind == "softmax":
            p = softmax(scores, axis=1)
            slopes = -p[rows, column][:, None] * p
            slopes[rows, column] += p[rows, column]
            return slopes
        # One sigmoid a class, divided by their sum.
        s = expit(scores)
        total = s.sum(axis=1, keepdims=True)
        bend = s * (1 - s)
        slopes = -s[rows, column][:, None] * bend / total**2
        slopes[rows, column] += bend[rows, column] / total[:, 0]
        return slopes

    return several


class MLPGradient:
    """Backward pass through the layers of scikit-learn's networks."""

    def __init__(self, model: Any) -> None:
        self.W = [np.asarray(W, dtype=np.float64) for W in model.coefs_]
        self.b = [np.asarray(b, dtype=np.float64) for b in model.intercepts_]
        self.activation, self.out = model.activation, model.out_activation_
        if self.activation not in BENDS or self.out not in OUT:
            raise ValueError(
                f"gradient='auto' does not know the activations {self.activation!r} and "
                f"{self.out!r}. {HINT}"
            )

    def __call__(self, T: Floats, column: Ints) -> Floats:
        """Gradient of the chosen outputs, shape (n, p)."""
        function, bend = BENDS[self.activation]
        layers = [T]
        for W, b in zip(self.W[:-1], self.b[:-1], strict=True):
            layers.append(function(layers[-1] @ W + b))
        scores = layers[-1] @ self.W[-1] + self.b[-1]
        delta = OUT[self.out](scores, column)
        for W, layer in zip(self.W[:0:-1], layers[:0:-1], strict=True):
            delta = (delta @ W.T) * bend(layer)
        return delta @ self.W[0].T


def _chosen(scores: Floats, place: Ints, slopes: Floats) -> Floats:
    out = np.zeros(scores.shape)
    rows = np.arange(len(scores))
    out[rows, place] = slopes[rows, place]
    return out


def _softmax_slopes(scores: Floats, place: Ints) -> Floats:
    p = softmax(scores, axis=1)
    own = p[np.arange(len(p)), place][:, None]
    return _chosen(scores, place, np.broadcast_to(own, p.shape)) - own * p


def _sigmoid_slopes(scores: Floats, place: Ints) -> Floats:
    p = expit(scores)
    return _chosen(scores, place, p * (1 - p))


#: Activations of hidden layers, and their slopes as functions of what they return.
BENDS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Any]]] = {
    "identity": (lambda s: s, lambda a: 1.0),
    "logistic": (expit, lambda a: a * (1 - a)),
    "tanh": (np.tanh, lambda a: 1 - a**2),
    "relu": (lambda s: np.maximum(s, 0.0), lambda a: a > 0),
}
#: Derivatives of the chosen output by the scores of the last layer.
OUT: dict[str, Callable[[Floats, Ints], Floats]] = {
    "identity": lambda scores, place: _chosen(scores, place, np.ones(scores.shape)),
    "exp": lambda scores, place: _chosen(scores, place, np.exp(scores)),
    "logistic": _sigmoid_slopes,
    "softmax": _softmax_slopes,
}
