"""Linear models of scikit-learn, alone or behind a link that is known, as effects of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import linear_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skfairtest.whitebox._effects import Effects
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._layers import Affine
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._link import probability_link
from skfairtest.whitebox._mixing import check_mixing, mixes_in_single, unmixed
from skfairtest.whitebox._steps import HINT
from skfairtest.whitebox._unsupported import OWN_CODE, SEARCH, Unsupported
from skfairtest.whitebox.graph import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    SOFTMAX,
    LinearMap,
    Output,
    Part,
    linked,
)
from skfairtest.whitebox.registry import Reader

#: Regressors whose predictions may be exponentials of a linear predictor.
GENERALIZED = (PoissonRegressor, GammaRegressor, TweedieRegressor)
_NAMES = """
ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV Lasso LassoCV
LassoLars LassoLarsCV LassoLarsIC LinearRegression LogisticRegression LogisticRegressionCV
OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV PassiveAggressiveClassifier
PassiveAggressiveRegressor Perceptron QuantileRegressor Ridge RidgeCV RidgeClassifier
RidgeClassifierCV SGDClassifier SGDRegressor TheilSenRegressor
"""
LINEAR = (
    *(getattr(linear_model, name) for name in _NAMES.split() if hasattr(linear_model, name)),
    *GENERALIZED,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LinearSVR,
    SVC,
    SVR,
)


def check_linear(model: Any, response: str) -> None:
    """See that the settings of a linear model, fitted or not, are known; of labels nothing is read.

    - `Unsupported`: if they are not.
    """
    name = type(model).__name__
    if isinstance(model, (SVC, SVR)):
        if model.kernel != "linear":
            raise Unsupported(
                f"{name} is certified with kernel='linear'; got {model.kernel!r}.",
                f"Use {name}(kernel='linear'), or gradient boosting, which is nonlinear, too. "
                f"{SEARCH}",
            )
        classes = getattr(model, "classes_", ())
        if len(classes) > 2 and response != "labels":
            raise Unsupported(
                f"{name} votes among pairs of its {len(classes)} classes, which is not understood.",
                "Use LinearSVC.",
            )
    kinds = (LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis)
    sgd = isinstance(model, SGDClassifier) and model.loss == "log_loss"
    if response == "predict_proba" and not (isinstance(model, kinds) or sgd):
        raise Unsupported(
            f"The probabilities of {name} are not understood.",
            "Use response_method='decision_function'.",
        )
    n = len(getattr(model, "classes_", ()))
    if response == "predict_proba" and n > 2 and probability_link(model, n, HINT) != "softmax":
        raise shares_of_classes(model)


def shares_of_classes(model: Any) -> Unsupported:
    """The error about several classes that have a probability each, divided by their sum."""
    return Unsupported(
        f"{type(model).__name__} divides the probabilities of several classes by their sum, of "
        "which no bound is known that says much.",
        "Use response_method='decision_function' where the model has it, or a model whose "
        f"probabilities are a softmax, such as LogisticRegression. {SEARCH}",
    )


def link_of(model: Any, n_scores: int, response: str) -> tuple[str, float]:
    """The link behind a linear model's scores, and the factor before it."""
    if isinstance(model, TweedieRegressor):
        has_log = model.link == "log" or (model.link == "auto" and model.power > 0)
        return (EXPONENTIAL if has_log else IDENTITY), 1.0
    if isinstance(model, GENERALIZED):
        return EXPONENTIAL, 1.0
    if response != "predict_proba":
        return IDENTITY, 1.0
    if n_scores > 1:
        return SOFTMAX, 1.0
    # A softmax of two opposite scores is the logistic function of twice the one.
    return LOGISTIC, 2.0 if probability_link(model, 1, HINT) == "softmax" else 1.0


def linear_map(model: Any, response: str) -> Affine:
    """Weights (n_features, n_scores) and intercepts of a fitted linear model.

    - `ValueError`: if `check_linear` refuses it.
    """
    check_linear(model, response)
    weights = model.coef_
    weights = np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights)
    weights = np.atleast_2d(weights).astype(np.float64)
    if weights.ndim != 2:
        raise ValueError(
            f"{type(model).__name__} has coefficients of shape {weights.shape}; expected two axes."
        )
    base = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), len(weights))
    return Affine(weights.T, base.copy())


def _read(model: Any, chain: Chain, response: str) -> list[Output]:
    own = linear_map(model, response)
    mixing = unmixed(chain)
    features = chain.features if mixing is None else mixing.chain.features
    single = mixes_in_single(chain) or getattr(model.coef_, "dtype", None) == np.float32
    single |= features.is_single
    whole = own if mixing is None else mixing.map.then(own)
    # What rounding is measured by: the sums of absolute terms, mixed columns' own included.
    before = [] if mixing is None else [mixing.map]
    size, n = _size(features, [*before, own], whole), len(whole.weights) + 8
    unit = float(np.finfo(np.float32 if single else np.float64).eps)
    if isinstance(model, (SVC, SVR)):
        # These predict with a sum over their support vectors, whose terms may cancel.
        vectors, dual = model.support_vectors_, model.dual_coef_
        if hasattr(vectors, "toarray"):
            vectors, dual = vectors.toarray(), dual.toarray()
        terms = Affine(np.abs(vectors).T @ np.abs(dual).T, np.abs(own.base))
        size = _size(features, [*before, terms], whole)
        rounding = unit * (n + len(vectors)) * size
    else:
        n += 0 if mixing is None else len(whole.weights) + len(own.weights)
        rounding = 2 * unit * n * size
    link, factor = link_of(model, len(whole.base), response)
    of_link = 8 * unit if single else 0.0
    if link == EXPONENTIAL:
        rounding += of_link  # what moves an exponent moves the output by a share
    looks_at = None if mixing is None else np.abs(mixing.map.weights) @ np.abs(own.weights) > 0
    linear = LinearMap(features, whole.weights, size, rounding, single, looks_at)
    parts = [Part(float(b), effects=[(linear, k, 1.0)]) for k, b in enumerate(whole.base)]
    outputs = linked(parts, link, factor)
    for (group,) in outputs:
        group.rounding = of_link if link in (LOGISTIC, SOFTMAX) else 0.0
    return outputs


def _size(features: Any, maps: list[Affine], whole: Affine) -> float:
    """The largest sum of the absolute values of all terms of maps one after another."""
    if len(maps) == 1 and maps[0] is whole:
        return Effects(features, whole.weights, whole.base).size
    sizes = Affine(np.abs(maps[0].weights), np.abs(maps[0].base))
    for own in maps[1:]:
        sizes = sizes.then(Affine(np.abs(own.weights), np.abs(own.base)))
    return Effects(features, *sizes).size


def _check(model: Any, response: str, steps: list[Any]) -> None:
    check_library_code(model, OWN_CODE)
    check_linear(model, response)
    if response != "labels":
        check_mixing(steps)


READER = Reader(lambda model: isinstance(model, LINEAR), _check, _read, mixes=True)
