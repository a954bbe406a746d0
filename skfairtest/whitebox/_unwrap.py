"""Estimators inside estimators: pipelines, searches and frozen models, taken apart."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

from skfairtest import _clock
from skfairtest._delegation import DelegatingEstimator
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.finding._words import message_of
from skfairtest.whitebox._library_code import LIBRARIES, check_library_code, foreign_code
from skfairtest.whitebox._own_steps import OwnStep

#: Packages whose code counts as the library's own in wrappers of this package.
OWN = (*LIBRARIES, "skfairtest")
#: Classifiers that change labels alone: their scores and probabilities are those of what they hold.
THRESHOLDS = (FixedThresholdClassifier, TunedThresholdClassifierCV)


def unwrap(estimator: Any, hint: str) -> tuple[list[Any], Any]:
    """The steps before a model, and the model itself.

    Pipelines in any place of pipelines give one list of steps, without those that pass everything
    on. Frozen estimators, searches, thresholds and wrappers of this package predict with what they
    hold.

    - `hint`: what the user can do where it cannot be taken apart, as a sentence.
    - `steps`: Transformers, first one first; a pipeline among them is replaced by its steps.
    - `model`: what is neither a pipeline nor a wrapper.
    - `ValueError`: if a pipeline or a wrapper does not predict with the library's own code.
    """
    held = _held(estimator)
    if held is not None:
        check_library_code(estimator, hint, OWN if is_own(estimator) else LIBRARIES)
        return unwrap(held, hint)
    if not isinstance(estimator, Pipeline):
        return [], estimator
    steps = [part for step in _steps_of(estimator, hint)[:-1] for part in flat_steps(step, hint)]
    rest, model = unwrap(estimator.steps[-1][1], hint)
    return steps + rest, model


def flat_steps(step: Any, hint: str) -> list[Any]:
    """A step as the list of those that it is made of, one after another."""
    if is_nothing(step):
        return []
    if not isinstance(step, Pipeline):
        return [step]
    return [part for inner in _steps_of(step, hint) for part in flat_steps(inner, hint)]


def _steps_of(pipeline: Pipeline, hint: str) -> list[Any]:
    """The steps that a pipeline predicts with, and the last one."""
    check_library_code(pipeline, hint)
    steps = [step for _, step in pipeline.steps]
    if type(pipeline).__module__.partition(".")[0] != "imblearn":
        return steps
    # Pipelines of imbalanced-learn, and no others, leave samplers out when they predict.
    return [step for step in steps[:-1] if not hasattr(step, "fit_resample")] + steps[-1:]


def is_nothing(step: Any) -> bool:
    """Whether a step passes everything on."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def is_own(estimator: Any) -> bool:
    """Whether it is a wrapper of this package, which predicts as its `estimator_` does."""
    return isinstance(estimator, DelegatingEstimator)


def _held(estimator: Any) -> Any:
    """What a wrapper predicts with, or is going to fit; None for what is no such wrapper.

    Frozen models, searches, thresholds, and this package's retrainer and auditors. Thresholds
    change labels alone, of which nothing is read.
    """
    if type(estimator).__name__ == "FrozenEstimator" and hasattr(estimator, "estimator"):
        return estimator.estimator
    if is_own(estimator) or type(estimator) in THRESHOLDS:
        return getattr(estimator, "estimator_", estimator.estimator)
    # Told by the library's name for it: two of the searches are experimental, and imports of them
    # have to be enabled. Of other objects nobody knows what they predict with.
    if foreign_code(estimator) is not None:
        return None
    if hasattr(estimator, "best_estimator_"):
        return estimator.best_estimator_
    unfitted = hasattr(estimator, "refit") and hasattr(estimator, "estimator")
    return estimator.estimator if unfitted and estimator.refit else None


def run_step(step: Any, table: Any) -> Any:
    """What a step makes of rows of the domain; its own error becomes one of ours.

    - `EstimatorFailedError`: if the step fails, as an encoder does that does not know a category.
    """
    _clock.check_ending()
    if isinstance(step, OwnStep):
        return step.transform(table)  # whose errors are ours, and say what to do
    try:
        return step.transform(table)
    except Exception as error:
        raise EstimatorFailedError(
            f"{type(step).__name__}.transform raised {type(error).__name__} on rows of the input "
            f"space: {message_of(error)}. If such rows cannot occur, exclude them by "
            "InputSpace(bounds=...) or InputSpace(categories=...)."
        ) from error


def run_steps(steps: list[Any], table: Any) -> Any:
    """What steps make of rows of the domain, one after another."""
    for step in steps:
        table = run_step(step, table)
    return table
