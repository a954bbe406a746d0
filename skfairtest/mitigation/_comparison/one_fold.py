"""One training of a method of mitigation: on all rows, or on all but those that are held out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from skfairtest import _clock
from skfairtest._threads import taking_turns
from skfairtest._typing import Ints
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.individual import SBFTAuditor
from skfairtest.individual._flip_test.share import MovedValues
from skfairtest.mitigation._comparison.methods import (
    ComparisonContext,
    NotApplicableError,
    make_method,
    train,
)
from skfairtest.mitigation._shares import PLACES, Judged, judge
from skfairtest.space._rows import stack, take_rows
from skfairtest.space._sensitive_features import not_taken


@dataclass(frozen=True)
class Training:
    """The rows that every method is trained on once.

    Attributes
    ----------
    number : int
        Of the trainings.
    training, held : ndarray of int
        Rows to train on, and rows held out: none by the last of the trainings.
    seed : int
        Of everything that is trained; the same for all methods, so that what differs is the method.
    """

    number: int
    training: Ints
    held: Ints
    seed: int


@dataclass
class FoldResult:
    """What one training gave; `reason` says why there is nothing, or is empty.

    `answers` are those to the rows held out, `near` those to inputs near the data.
    """

    reason: str = ""
    answers: dict[str, NDArray[Any]] = field(default_factory=dict)
    near: dict[str, NDArray[Any]] = field(default_factory=dict)
    judged: dict[str, Judged] = field(default_factory=dict)
    moved: dict[str, MovedValues] = field(default_factory=dict)
    degree: float = np.nan
    bound: float = np.nan
    certificates: list[str] = field(default_factory=list)
    unit: str = ""
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    queries: float = np.nan
    kept_original: bool = False
    moved_note: str = ""
    warnings: list[str] = field(default_factory=list)


@taking_turns()
def run_fold(name: str, own: Any, context: ComparisonContext, fold: Training) -> FoldResult:
    """Train and measure; a failure is a result, too."""
    result = FoldResult()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _run(result, name, own, context, fold)
        except NotApplicableError as error:
            result.reason = str(error)
        except Exception as error:
            result.reason = f"{_named(fold)}: {in_a_line(error)}"
    # Deprecations are for those who write code; that nothing was found is in the figures.
    texts = [
        str(entry.message)
        for entry in caught
        if issubclass(entry.category, UserWarning)
        and not issubclass(entry.category, NoDisparityWarning)
    ]
    result.warnings = list(dict.fromkeys(texts))
    return result


def in_a_line(error: BaseException) -> str:
    """The type and the first line of an error."""
    first = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _named(fold: Training) -> str:
    return f"fold {fold.number + 1}" if len(fold.held) else "all rows"


def _run(
    result: FoldResult, name: str, own: Any, context: ComparisonContext, fold: Training
) -> None:
    estimator = make_method(name, own, context, fold.seed)
    start = _clock.now()
    model = train(estimator, context, fold.training)
    result.fit_seconds = _clock.now() - start
    result.queries = float(getattr(model, "n_queries_", np.nan))
    if hasattr(model, "original_estimator_"):
        result.kept_original = model.estimator_ is model.original_estimator_
        # What is audited and certified is the model inside, and not how it came about.
        model = model.estimator_
    if len(fold.held):
        held = take_rows(context.X, fold.held)
        result.answers, result.predict_seconds = _answers(model, held, context.classes, times=3)
    result.near, _ = _answers(model, context.inputs["near"], context.classes)
    _judge_moved(result, model, context, fold)
    places = PLACES if not len(fold.held) else PLACES[:1]
    if context.has_twins:
        _judge(result, model, context, places)
    if not len(fold.held):
        result.unit = _unit(model, context.classes)
        _measure_degree(result, name, own, model, context, fold)


def _judge_moved(
    result: FoldResult, model: Any, context: ComparisonContext, fold: Training
) -> None:
    """Say what becomes of outputs if rows are moved; of the model of all rows for an interval."""
    settings = {"threshold": context.threshold, "n_jobs": 1}
    for attribute, twins in context.moved.items():
        try:
            result.moved[attribute] = twins.ask(
                model, settings, mean=context.is_mean, again=not len(fold.held)
            )
        except Exception as error:  # a model may refuse what it has not seen together
            result.moved_note = f"moved twins, {_named(fold)}: {in_a_line(error)}"


def _judge(
    result: FoldResult, model: Any, context: ComparisonContext, places: tuple[str, ...]
) -> None:
    """Compare the twins of inputs, all places in one go."""
    tables = [context.inputs[place] for place in places]
    whole = judge(model, context.space, stack(tables), {"threshold": context.threshold})
    start = 0
    for place, table in zip(places, tables, strict=True):
        result.judged[place] = whole.part(start, start + len(table))
        start += len(table)
    if "near" in places:
        result.judged["near"] = result.judged["near"]._replace(cluster_ids=context.near_rows)
    result.degree = float(whole.disparity.max(initial=0.0))


def _measure_degree(
    result: FoldResult, name: str, own: Any, model: Any, context: ComparisonContext, fold: Training
) -> None:
    """Look for the largest difference between twins, and for a bound of it."""
    if not context.has_twins:
        result.degree = result.bound = 0.0
        result.certificates = [not_taken(context.names_not_in_model)]
        return
    if name == "drop" and own is None and context.space.twins_.descendants is None:
        result.bound, result.certificates = 0.0, ["nothing else differs between twins"]
        return
    certified = context.settings.certify_time > 0 and _certify(result, model, context, fold)
    # Where thousands of inputs show nothing, a search that climbs has nowhere to begin.
    if result.degree > 0 and not certified:
        search = SBFTAuditor(**_settings(model, context, fold)).fit(context.X)
        result.degree = max(result.degree, float(search.fairness_degree_))


def _settings(model: Any, context: ComparisonContext, fold: Training) -> dict[str, Any]:
    """Parameters of an auditor that looks for the largest difference."""
    return {
        "estimator": FrozenEstimator(model),
        "space": context.space,
        "threshold": context.threshold,
        "max_queries": context.settings.degree_queries,
        "n_jobs": 1,
        "random_state": fold.seed,
    }


def _certify(result: FoldResult, model: Any, context: ComparisonContext, fold: Training) -> bool:
    """Search, and bound the largest difference; False where the model cannot be read."""
    # Its engines import numba, which takes longer than all of ours.
    from skfairtest.exact import CertifiedAuditor

    support = CertifiedAuditor.supports(model)
    if not support:
        result.certificates = [f"not supported: {support.reason}"]
        return False
    auditor = CertifiedAuditor(
        **_settings(model, context, fold), max_time=context.settings.certify_time
    )
    try:
        auditor.fit(context.X)
    except (ValueError, EstimatorFailedError) as error:
        result.certificates = [f"not supported: {in_a_line(error)}"]
        return False
    result.degree = max(result.degree, float(auditor.fairness_degree_))
    result.bound = max(result.degree, float(auditor.fairness_degree_upper_bound_))
    result.certificates = [auditor.stop_reason_]
    return True


def _answers(
    model: Any, X: Any, classes: Any, times: int = 1
) -> tuple[dict[str, NDArray[Any]], float]:
    """Predictions, probabilities and scores of rows, and the seconds that predictions take."""
    seconds = np.inf
    # Of several times the fastest counts: the others had to wait for the machine.
    for _ in range(times):
        start = _clock.now()
        predicted = np.asarray(model.predict(X))
        seconds = min(seconds, _clock.now() - start)
    answers = {"predict": predicted}
    if classes is None:
        return answers, seconds
    known = np.asarray(model.classes_)
    if hasattr(model, "predict_proba"):
        # A class that a fold's training part lacks has no probability.
        probabilities = np.zeros((len(predicted), len(classes)))
        probabilities[:, np.searchsorted(classes, known)] = model.predict_proba(X)
        answers["predict_proba"] = probabilities
    if hasattr(model, "decision_function") and len(known) == len(classes):
        answers["decision_function"] = np.asarray(model.decision_function(X))
    return answers, seconds


def _unit(model: Any, classes: Any) -> str:
    """What a difference between twins is counted in, by what auditors ask the model for."""
    if classes is None:
        return "output"
    units = {"predict_proba": "probability", "decision_function": "score"}
    return next((unit for method, unit in units.items() if hasattr(model, method)), "label")
