"""Models that wrap other models, as functions of the outputs of the inner models.

Calibration, functions of the target, stacks with a linear model on top, one model a class or a
target, and averages of models of different kinds. What they hold may stand behind steps of its own.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.preprocessing import FunctionTransformer, PowerTransformer

from skfairtest._typing import Floats
from skfairtest.exact._expression import (
    ModelOutput,
    MonotoneFunction,
    Node,
    Softmax,
    WeightedSum,
)
from skfairtest.exact._linear import LINEAR, check_linear, linear_map, shares_of_classes
from skfairtest.oracle._model import choose_response
from skfairtest.whitebox._ensembles import BAGGED, VOTING, is_ensemble, voting_shares
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._mixing import affine_of, check_affine
from skfairtest.whitebox._own_steps import TakeColumns
from skfairtest.whitebox._steps import MIXING, SCALERS, SELECTORS
from skfairtest.whitebox._tree_model import EXPONENTIAL, LOGISTIC
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox._unwrap import unwrap

AROUND = (
    CalibratedClassifierCV, MultiOutputClassifier, MultiOutputRegressor, OneVsRestClassifier,
    StackingClassifier, StackingRegressor, TransformedTargetRegressor,
)  # fmt: skip
SEARCH = "SBFTAuditor searches with any estimator."


def is_around(model: Any) -> bool:
    """Return whether a model wraps inner models that are bounded separately."""
    if isinstance(model, AROUND):
        return True
    if not isinstance(model, (*BAGGED, *VOTING)):
        return False
    # Of trees alone, all members together are one sum of trees.
    return not all(_is_sum_of_trees(part) for part in members(model))


def _is_sum_of_trees(model: Any) -> bool:
    return is_ensemble(unwrap(model, SEARCH)[1])


def members(model: Any) -> list[Any]:
    """Return the inner models of a model; for an unfitted one, the models that it will fit."""
    if isinstance(model, CalibratedClassifierCV):
        fitted = getattr(model, "calibrated_classifiers_", None)
        inside = [part.estimator for part in fitted] if fitted else [model.estimator]
    elif isinstance(model, TransformedTargetRegressor):
        inside = [getattr(model, "regressor_", model.regressor)]
    elif hasattr(model, "estimators_"):
        inside = list(model.estimators_)  # a forest among them is a sequence itself
    elif hasattr(model, "estimators"):
        inside = [member for _, member in model.estimators]
    else:
        inside = [model.estimator]
    return [part for part in inside if part is not None and not isinstance(part, str)]


def is_stack(model: Any) -> bool:
    """Return whether a model stacks others."""
    return isinstance(model, (StackingClassifier, StackingRegressor))


def with_final(model: Any) -> Any:
    """Return a stack with the final estimator that it is going to fit, if it names none.

    Without one it has no method to predict with before it is fitted.
    """
    if model.final_estimator is not None or hasattr(model, "final_estimator_"):
        return model
    model = copy.copy(model)
    model.final_estimator = RidgeCV() if is_regressor(model) else LogisticRegression()
    return model


def asked_members(model: Any, response: str) -> list[tuple[Any, str]]:
    """Return the inner models of a model, fitted or not, and what each is asked for.

    - `Unsupported`: if one is asked for labels, which have no bound.
    """
    inside = members(model)
    if response != "labels":
        if isinstance(model, CalibratedClassifierCV):
            return [(part, _scores_of(part)) for part in inside]
        if is_stack(model):
            asked = [getattr(model, "stack_method", "predict")] * len(inside)
            asked = getattr(model, "stack_method_", asked)
            return [(p, _asked_by(model, p, m)) for p, m in zip(inside, asked, strict=True)]
    return [(part, response) for part in inside]


def _scores_of(model: Any) -> str:
    """Return what calibration asks a model for."""
    return "decision_function" if hasattr(model, "decision_function") else "predict_proba"


def _asked_by(model: Any, part: Any, method: str) -> str:
    """Return what a stack asks a member for."""
    if isinstance(model, StackingRegressor):
        return "regression"
    if method == "auto":
        method = choose_response(part, method)
    if method in ("predict", "labels"):
        raise Unsupported(
            f"StackingClassifier looks at the labels of {type(part).__name__}, which have no "
            "bound.",
            f"Use stack_method='predict_proba' or 'decision_function'. {SEARCH}",
        )
    return method


def check_around(model: Any, response: str) -> None:
    """Check that a wrapper, fitted or not, can be read; its inner models are not checked."""
    if is_stack(model):
        _check_final(model, response)
    if isinstance(model, (CalibratedClassifierCV, OneVsRestClassifier)):
        several = len(getattr(model, "classes_", ())) > 2
        if several and response == "predict_proba" and not getattr(model, "multilabel_", False):
            raise shares_of_classes(model)
    if isinstance(model, CalibratedClassifierCV):
        for part in getattr(model, "calibrated_classifiers_", [model]):
            if part.method not in ("sigmoid", "isotonic"):
                raise Unsupported(
                    f"CalibratedClassifierCV(method={part.method!r}) cannot be certified.",
                    f"Use method='sigmoid' or 'isotonic'. {SEARCH}",
                )
    if isinstance(model, TransformedTargetRegressor):
        _check_target(getattr(model, "transformer_", None) or _target_of(model))
    for part in getattr(model, "calibrated_classifiers_", []):
        check_library_code(part, SEARCH)
        for calibrator in part.calibrators:
            check_library_code(calibrator, SEARCH)


def _check_final(model: Any, response: str) -> None:
    """Check the final estimator of a stack; None is the default, which is linear."""
    if model.passthrough:
        raise Unsupported(
            f"{type(model).__name__}(passthrough=True) cannot be certified.",
            f"Use passthrough=False. {SEARCH}",
        )
    final = getattr(model, "final_estimator_", model.final_estimator)
    if final is None:
        return
    steps, last = unwrap(final, SEARCH)
    affine = (*SCALERS, *SELECTORS, *MIXING)
    other = [part for part in steps if type(part) not in affine]
    other += [] if isinstance(last, LINEAR) else [last]
    if other:
        raise Unsupported(
            f"{type(model).__name__} with {type(other[0]).__name__} on top cannot be certified: "
            "expected a linear model there, alone or behind scalers.",
            f"The default of {type(model).__name__} is one. {SEARCH}",
        )
    for part in (*steps, last):
        check_library_code(part, SEARCH)
    check_linear(last, response)
    if response != "labels":
        for part in steps:
            check_affine(part)


def _target_of(model: Any) -> Any:
    if model.transformer is not None:
        return model.transformer
    return FunctionTransformer(func=model.func, inverse_func=model.inverse_func)


def read_around(model: Any, response: str, behind: Callable[..., Any]) -> list[Node]:
    """Return the outputs of a fitted model as functions of the outputs of its inner models.

    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of it.
    - `behind`: makes a model inside, and maybe a step before it, one of the table that is audited:
      ``behind(model)`` or ``behind(model, step)``.
    - `ValueError`: if the model has settings that are not understood.
    """
    if isinstance(model, CalibratedClassifierCV):
        return _calibrated(model, behind)
    if isinstance(model, TransformedTargetRegressor):
        return [_target(ModelOutput(behind(model.regressor_), "regression", 0), model.transformer_)]
    if is_stack(model):
        return _stack(model, response, behind)
    if isinstance(model, OneVsRestClassifier):
        return [ModelOutput(behind(part), response, 0) for part in model.estimators_]
    if isinstance(model, MultiOutputRegressor):
        return [ModelOutput(behind(part), "regression", 0) for part in model.estimators_]
    if isinstance(model, MultiOutputClassifier):
        return _a_target_each(model, response, behind)
    return _average(model, response, behind)


# Calibration -------------------------------------------------------------------------------


def _calibrated(model: Any, behind: Callable[..., Any]) -> list[Node]:
    nodes = []
    for part in model.calibrated_classifiers_:
        own = part.estimator
        response = _scores_of(own)
        if len(own.classes_) != 2:
            raise ValueError(
                f"A part of CalibratedClassifierCV saw {len(own.classes_)} of 2 classes. Fit "
                f"with more samples of each class. {SEARCH}"
            )
        nodes.append(_curve(part, ModelOutput(behind(own), response, 0)))
    return [WeightedSum(tuple(nodes), (1 / len(nodes),) * len(nodes))]


def _curve(part: Any, output: ModelOutput) -> Node:
    calibrator = part.calibrators[0]
    if part.method == "isotonic":
        # Of predictions in single precision it is worked out in single precision, in which places
        # of windows would be moved: here its values alone are rounded.
        places, kind = calibrator.X_thresholds_.astype(np.float64), calibrator.y_thresholds_.dtype
        values = calibrator.y_thresholds_.astype(np.float64)
        steepest = float(np.max(np.abs(np.diff(values)) / np.diff(places), initial=0.0))
        rising = bool(calibrator.increasing_)

        def between(x: Floats) -> Any:
            return np.interp(x, places, values).astype(kind)

        return MonotoneFunction(output, between, rising, steepest=steepest)
    a, b = float(calibrator.a_), float(calibrator.b_)
    link = (LOGISTIC, -a, -b)
    return MonotoneFunction(output, calibrator.predict, a <= 0, steepest=abs(a) / 4, link=link)


# Functions of the target -------------------------------------------------------------------


def _check_target(transformer: Any) -> None:
    """Check that the way back from a target, fitted or not, is known."""
    check_library_code(transformer, SEARCH)
    if type(transformer) is FunctionTransformer:
        function = transformer.inverse_func
        if not any(function is own for own in (None, np.exp, np.expm1)) or transformer.inv_kw_args:
            name = getattr(function, "__name__", "of a callable")
            raise Unsupported(
                f"TransformedTargetRegressor(inverse_func={name}) cannot be certified.",
                f"Expected numpy.exp or numpy.expm1, the functions themselves. {SEARCH}",
            )
    elif type(transformer) not in (*SCALERS, PowerTransformer):
        raise Unsupported(
            f"TransformedTargetRegressor(transformer={type(transformer).__name__}()) cannot be "
            "certified.",
            "Expected a scaler, PowerTransformer, or numpy.exp or numpy.expm1 as inverse_func. "
            f"{SEARCH}",
        )
    if getattr(transformer, "n_features_in_", 1) > 1:
        raise ValueError(
            "TransformedTargetRegressor of several targets cannot be certified. Fit one model for "
            "each target."
        )


def _target(inside: ModelOutput, transformer: Any) -> Node:
    """Return what a transformer of the target makes of a prediction on the way back."""
    if type(transformer) in SCALERS:
        return _unscaled(inside, transformer)
    if type(transformer) is PowerTransformer:
        return MonotoneFunction(inside, lambda x: _unpowered(transformer, x))
    if transformer.inverse_func is None:
        return inside
    grown = MonotoneFunction(inside, np.exp, link=(EXPONENTIAL, 1.0, 0.0))
    return grown if transformer.inverse_func is np.exp else WeightedSum((grown,), (1.0,), -1.0)


def _unpowered(transformer: Any, x: Floats) -> Floats:
    """Return what a power transformer makes of numbers on the way back.

    Bounds may lie outside of where it has a value. It grows without end towards there, as it does
    upwards from zero, which is the mean, and falls below it.
    """
    found, known = np.where(x > 0, np.inf, -np.inf), np.isfinite(x)
    if known.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of numbers that have no value
            back = np.asarray(transformer.inverse_transform(x[known][:, None]))[:, 0]
        found[known] = np.where(np.isfinite(back), back, found[known])
    return found


def _unscaled(inside: ModelOutput, scaler: Any) -> WeightedSum:
    """Return what a scaler makes of a prediction on the way back: an affine map."""
    if getattr(scaler, "clip", False):  # on the way forth alone
        scaler = copy.copy(scaler).set_params(clip=False)
    forth = affine_of(scaler, 1)
    slope = 1 / float(forth.weights[0, 0])
    return WeightedSum((inside,), (slope,), -float(forth.base[0]) * slope)


# Stacks ------------------------------------------------------------------------------------


def _stack(model: Any, response: str, behind: Callable[..., Any]) -> list[Node]:
    final, nodes = model.final_estimator_, []
    for part, asked in asked_members(model, response):
        inside, n = behind(part), 1
        if asked != "regression" and len(part.classes_) > 2:
            n = len(part.classes_)
        nodes += [ModelOutput(inside, asked, k) for k in range(n)]
    steps, final = unwrap(final, SEARCH)
    W, base, factor = linear_map(final, response)
    for step in reversed(steps):
        mapped = affine_of(step, step.n_features_in_)
        W, base = mapped.weights @ W, mapped.base @ W + base
    tops: list[Node] = []
    for k in range(W.shape[1]):
        weights = tuple(float(w) for w in W[:, k])
        tops.append(WeightedSum(tuple(nodes), weights, float(base[k])))
    if response != "predict_proba":
        return tops
    return _probabilities(tops, factor)


def _probabilities(scores: Sequence[Node], factor: float) -> list[Node]:
    """Return what a linear model makes of its scores."""
    if len(scores) == 1:
        link = (LOGISTIC, factor, 0.0)
        return [MonotoneFunction(scores[0], lambda x: np.asarray(expit(factor * x)), link=link)]
    return [Softmax(tuple(scores), k) for k in range(len(scores))]


# One model a class, and averages -----------------------------------------------------------


def _a_target_each(model: Any, response: str, behind: Callable[..., Any]) -> list[Node]:
    """Return the probabilities of the classes of all targets, one target after another."""
    nodes: list[Node] = []
    for part in model.estimators_:
        if len(part.classes_) == 2:
            second = ModelOutput(behind(part), response, 0)
            nodes += [WeightedSum((second,), (-1.0,), 1.0), second]
        else:
            nodes += [ModelOutput(behind(part), response, k) for k in range(len(part.classes_))]
    return nodes[1:] if len(nodes) == 2 else nodes


def _average(model: Any, response: str, behind: Callable[..., Any]) -> list[Node]:
    """Return the average of a Voting or Bagging model whose members are not all trees."""
    parts = list(model.estimators_)
    shares = [1 / len(parts)] * len(parts)
    if isinstance(model, VOTING):
        shares = voting_shares(model)
        if response == "decision_function":
            raise ValueError(f"{type(model).__name__} is certified by its probabilities.")
        inside = [behind(part) for part in parts]
    else:
        places = model.estimators_features_
        inside = [behind(p, TakeColumns(c)) for p, c in zip(parts, places, strict=True)]
    n = 1
    if response != "regression":
        n = len(model.classes_)
        for part in parts:
            if len(part.classes_) != n:
                raise ValueError(
                    f"A member of {type(model).__name__} saw {len(part.classes_)} of {n} classes. "
                    "Fit with more samples, so that each member sees all classes."
                )
        n = 1 if n == 2 else n
    return [
        WeightedSum(tuple(ModelOutput(m, response, k) for m in inside), tuple(shares))
        for k in range(n)
    ]
