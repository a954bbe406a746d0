"""Meta-estimators, as functions of the outputs of the models inside.

Averages, calibration, functions of the target, stacks with a linear model on top, one model a class
or a target, and models of this package that average another one over columns.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.preprocessing import FunctionTransformer, PowerTransformer

from skfairtest._typing import Floats
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._linear_models import (
    LINEAR,
    check_linear,
    linear_map,
    link_of,
    shares_of_classes,
)
from skfairtest.whitebox._mixing import affine_of, check_affine
from skfairtest.whitebox._mixture import read_mixture
from skfairtest.whitebox._steps import MIXING, SCALERS, SELECTORS
from skfairtest.whitebox._unsupported import OWN_CODE, SEARCH, Unsupported
from skfairtest.whitebox._unwrap import unwrap
from skfairtest.whitebox.graph import (
    EXPONENTIAL,
    LOGISTIC,
    SOFTMAX,
    Averaged,
    Node,
    constant,
    curve,
    softmaxes,
    weighted,
)
from skfairtest.whitebox.registry import Member, Reader

BAGGED = (BaggingClassifier, BaggingRegressor)
VOTING = (VotingClassifier, VotingRegressor)
#: Fitted models inside: what they give is asked one after another.
Outputs = list[list[Node]]


def members(model: Any) -> list[Any]:
    """The inner models of a model; of an unfitted one, the models that it will fit."""
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


def _asked_alike(model: Any, response: str) -> list[Member]:
    """The inner models, which are asked for what the whole is asked for."""
    return [Member(part, response) for part in members(model)]


def _check_code(model: Any, response: str, steps: list[Any]) -> None:
    check_library_code(model, OWN_CODE)


# Averages ----------------------------------------------------------------------------------


def _of_bags(model: Any, response: str) -> list[Member]:
    inside = _asked_alike(model, response)
    shown = getattr(model, "estimators_features_", None)
    if shown is None:
        return inside
    columns = zip(inside, shown, strict=True)
    return [member._replace(columns=np.asarray(own)) for member, own in columns]


def _bagging(model: Any, response: str, outputs: Outputs) -> list[Node]:
    return _average(model, response, outputs, [1.0 / len(outputs)] * len(outputs))


def _check_vote(model: Any, response: str, steps: list[Any]) -> None:
    check_library_code(model, OWN_CODE)
    if is_classifier(model) and response not in ("predict_proba", "labels"):
        raise Unsupported(
            f"{type(model).__name__} is certified by its probabilities: expected voting='soft'; "
            f"got response_method={response!r}.",
            SEARCH,
        )


def _vote(model: Any, response: str, outputs: Outputs) -> list[Node]:
    return _average(model, response, outputs, voting_shares(model))


def _average(model: Any, response: str, outputs: Outputs, shares: list[float]) -> list[Node]:
    """The average of the outputs of the members."""
    if response == "predict_proba":
        # Members are fitted on the numbers of the classes, some of which they may not see.
        n = len(model.classes_)
        outputs = [
            _all_classes(own, member.classes_, n)
            for own, member in zip(outputs, model.estimators_, strict=True)
        ]
    elif len({len(own) for own in outputs}) > 1:
        raise ValueError(
            f"The members of {type(model).__name__} have "
            f"{sorted({len(own) for own in outputs})} scores each; expected as many of each. Fit "
            "with more samples, so that each member sees all classes."
        )
    return [weighted(list(nodes), shares) for nodes in zip(*outputs, strict=True)]


def _all_classes(outputs: list[Node], seen: Any, n: int) -> list[Node]:
    """Probabilities of all `n` classes from those that a member knows."""
    if len(seen) == n:
        return outputs
    if len(outputs) == 1 and len(seen) == 2:
        outputs = [weighted(outputs, [-1.0], 1.0), outputs[0]]
    known = {int(c): output for c, output in zip(seen, outputs, strict=True)}
    every: list[Node] = [known.get(c, constant(0.0)) for c in range(n)]
    return every[1:] if n == 2 else every


def voting_shares(model: Any) -> list[float]:
    """The share of each fitted member of a vote in its average.

    - `ValueError`: if its weights are not those of its fitted members, or add up to zero: then it
      cannot predict itself.
    """
    weights = [1.0] * len(model.estimators) if model.weights is None else model.weights
    named = zip(model.estimators, weights, strict=True)
    kept = [float(weight) for (_, member), weight in named if not isinstance(member, str)]
    if len(kept) != len(model.estimators_) or sum(kept) == 0:
        raise ValueError(
            f"{type(model).__name__} has {len(model.estimators_)} fitted members, and the weights "
            f"{kept} for those that were not dropped; expected one for each, and a sum other than "
            "zero. Set weights that fit, or fit it again."
        )
    return [weight / sum(kept) for weight in kept]


# Calibration -------------------------------------------------------------------------------


def _scores_of(model: Any) -> str:
    """What calibration asks a model for."""
    return "decision_function" if hasattr(model, "decision_function") else "predict_proba"


def _of_calibration(model: Any, response: str) -> list[Member]:
    return [
        Member(part, response if response == "labels" else _scores_of(part))
        for part in members(model)
    ]


def _check_calibration(model: Any, response: str, steps: list[Any]) -> None:
    check_library_code(model, OWN_CODE)
    _check_shares(model, response, steps)
    for part in getattr(model, "calibrated_classifiers_", [model]):
        if part.method not in ("sigmoid", "isotonic"):
            raise Unsupported(
                f"CalibratedClassifierCV(method={part.method!r}) cannot be certified.",
                f"Use method='sigmoid' or 'isotonic'. {SEARCH}",
            )
    for part in getattr(model, "calibrated_classifiers_", []):
        check_library_code(part, SEARCH)
        for calibrator in part.calibrators:
            check_library_code(calibrator, SEARCH)


def _check_shares(model: Any, response: str, steps: list[Any]) -> None:
    """See that the probabilities of several classes are not divided by their sum."""
    check_library_code(model, OWN_CODE)
    several = len(getattr(model, "classes_", ())) > 2
    if several and response == "predict_proba" and not getattr(model, "multilabel_", False):
        raise shares_of_classes(model)


def _calibrated(model: Any, response: str, outputs: Outputs) -> list[Node]:
    nodes = []
    for part, (*others, output) in zip(model.calibrated_classifiers_, outputs, strict=True):
        seen = len(part.estimator.classes_)
        if seen != 2 or others:
            raise ValueError(
                f"A part of CalibratedClassifierCV saw {seen} of 2 classes. Fit "
                f"with more samples of each class. {SEARCH}"
            )
        nodes.append(_calibrator(part, output))
    return [weighted(nodes, [1 / len(nodes)] * len(nodes))]


def _calibrator(part: Any, output: Node) -> Node:
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

        return curve(output, between, rising, steepest)
    a, b = float(calibrator.a_), float(calibrator.b_)
    return curve(output, calibrator.predict, a <= 0, abs(a) / 4, (LOGISTIC, -a, -b))


# Functions of the target -------------------------------------------------------------------


def _check_target(model: Any, response: str, steps: list[Any]) -> None:
    """See that the way back from a target, fitted or not, is known."""
    check_library_code(model, OWN_CODE)
    transformer = getattr(model, "transformer_", None) or _target_of(model)
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


def _target_of(model: Any) -> Any:
    if model.transformer is not None:
        return model.transformer
    return FunctionTransformer(func=model.func, inverse_func=model.inverse_func)


def _target(model: Any, response: str, outputs: Outputs) -> list[Node]:
    """What a transformer of the target makes of a prediction on the way back."""
    inside, transformer = outputs[0][0], model.transformer_
    if type(transformer) in SCALERS:
        if getattr(transformer, "clip", False):  # on the way forth alone
            transformer = copy.copy(transformer).set_params(clip=False)
        forth = affine_of(transformer, 1)
        slope = 1 / float(forth.weights[0, 0])
        return [weighted([inside], [slope], -float(forth.base[0]) * slope)]
    if type(transformer) is PowerTransformer:
        return [curve(inside, lambda x: _unpowered(transformer, x))]
    if transformer.inverse_func is None:
        return [inside]
    grown = curve(inside, np.exp, link=(EXPONENTIAL, 1.0, 0.0))
    return [grown if transformer.inverse_func is np.exp else weighted([grown], [1.0], -1.0)]


def _unpowered(transformer: Any, x: Floats) -> Floats:
    """What a power transformer makes of numbers on the way back.

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


# Stacks ------------------------------------------------------------------------------------


def is_stack(model: Any) -> bool:
    """Whether a model stacks others."""
    return isinstance(model, (StackingClassifier, StackingRegressor))


def with_final(model: Any) -> Any:
    """A stack with the final estimator that it is going to fit, if it names none.

    Without one it has no method to predict with before it is fitted.
    """
    if model.final_estimator is not None or hasattr(model, "final_estimator_"):
        return model
    model = copy.copy(model)
    model.final_estimator = RidgeCV() if is_regressor(model) else LogisticRegression()
    return model


def _of_stack(model: Any, response: str) -> list[Member]:
    """The models inside of a stack; `Unsupported` if one is asked for labels."""
    inside = members(model)
    if response == "labels" or isinstance(model, StackingRegressor):
        own = response if response == "labels" else "regression"
        return [Member(part, own) for part in inside]
    asked = [getattr(model, "stack_method", "predict")] * len(inside)
    asked = getattr(model, "stack_method_", asked)
    return [Member(p, _asked_by(p, m)) for p, m in zip(inside, asked, strict=True)]


def _asked_by(part: Any, method: str) -> str:
    """What a stack asks a classifier for."""
    if method == "auto":
        method = next((m for m in ("predict_proba", "decision_function") if hasattr(part, m)), "")
    if method not in ("predict_proba", "decision_function"):
        raise Unsupported(
            f"StackingClassifier looks at the labels of {type(part).__name__}, which have no "
            "bound.",
            f"Use stack_method='predict_proba' or 'decision_function'. {SEARCH}",
        )
    return method


def _check_stack(model: Any, response: str, steps: list[Any]) -> None:
    """See that a stack has a linear model on top; None is the default, which is one."""
    check_library_code(model, OWN_CODE)
    if model.passthrough:
        raise Unsupported(
            f"{type(model).__name__}(passthrough=True) cannot be certified.",
            f"Use passthrough=False. {SEARCH}",
        )
    final = getattr(model, "final_estimator_", model.final_estimator)
    if final is None:
        return
    on_top, last = unwrap(final, SEARCH)
    affine = (*SCALERS, *SELECTORS, *MIXING)
    other = [part for part in on_top if type(part) not in affine]
    other += [] if isinstance(last, LINEAR) else [last]
    if other:
        raise Unsupported(
            f"{type(model).__name__} with {type(other[0]).__name__} on top cannot be certified: "
            "expected a linear model there, alone or behind scalers.",
            f"The default of {type(model).__name__} is one. {SEARCH}",
        )
    for part in (*on_top, last):
        check_library_code(part, SEARCH)
    check_linear(last, response)
    if response != "labels":
        for part in on_top:
            check_affine(part)


def _stack(model: Any, response: str, outputs: Outputs) -> list[Node]:
    nodes = [node for own in outputs for node in own]
    steps, final = unwrap(model.final_estimator_, SEARCH)
    whole = linear_map(final, response)
    for step in reversed(steps):
        whole = affine_of(step, step.n_features_in_).then(whole)
    if len(whole.weights) != len(nodes):
        raise ValueError(
            f"The models inside of {type(model).__name__} give {len(nodes)} numbers, and its final "
            f"estimator was fitted on {len(whole.weights)}: with cv='prefit', expected models that "
            "were fitted on the same classes as the stack. Fit them again, or fit without 'prefit'."
        )
    tops = [
        weighted(nodes, [float(w) for w in own], float(base))
        for own, base in zip(whole.weights.T, whole.base, strict=True)
    ]
    link, factor = link_of(final, len(tops), response)
    if link == SOFTMAX:
        return softmaxes(tops)
    if link == LOGISTIC:
        return [curve(tops[0], lambda x: expit(factor * x), link=(LOGISTIC, factor, 0.0))]
    if link == EXPONENTIAL:
        return [curve(tops[0], np.exp, link=(EXPONENTIAL, factor, 0.0))]
    return tops


# One model a class, or a target ------------------------------------------------------------


def _one_each(model: Any, response: str, outputs: Outputs) -> list[Node]:
    return [own[0] for own in outputs]


def _a_target_each(model: Any, response: str, outputs: Outputs) -> list[Node]:
    """The probabilities of the classes of all targets, one target after another."""
    nodes: list[Node] = []
    for own in outputs:
        nodes += [weighted(own, [-1.0], 1.0), *own] if len(own) == 1 else own
    return nodes[1:] if len(nodes) == 2 else nodes


# Averages over columns ---------------------------------------------------------------------


def _check_averaged(model: Any, response: str, steps: list[Any]) -> None:
    read_mixture(model, OWN_CODE)


def _averaged(model: Any, response: str, outputs: Outputs) -> list[Node]:
    share = 1 - read_mixture(model, OWN_CODE).strength
    return [Averaged(output, share) for output in outputs[0]]


def _reader(kinds: Any, check: Any, inside: Any, combine: Any) -> Reader:
    return Reader(lambda model: isinstance(model, kinds), check, None, inside, combine)


READERS = (
    _reader(BAGGED, _check_code, _of_bags, _bagging),
    _reader(VOTING, _check_vote, _asked_alike, _vote),
    _reader(CalibratedClassifierCV, _check_calibration, _of_calibration, _calibrated),
    _reader(TransformedTargetRegressor, _check_target, _asked_alike, _target),
    _reader((StackingClassifier, StackingRegressor), _check_stack, _of_stack, _stack),
    _reader(OneVsRestClassifier, _check_shares, _asked_alike, _one_each),
    _reader(MultiOutputRegressor, _check_code, _asked_alike, _one_each),
    _reader(MultiOutputClassifier, _check_code, _asked_alike, _a_target_each),
    Reader(
        lambda model: hasattr(type(model), "_as_mixture"),
        _check_averaged,
        None,
        lambda model, response: [Member(read_mixture(model, OWN_CODE).model, response)],
        _averaged,
        outermost=True,
    ),
)
