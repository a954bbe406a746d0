"""One training of a candidate, on a worker: fitted to some rows, asked about others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from skfairtest import _clock
from skfairtest._threads import threads_to_train
from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.finding._words import message_of
from skfairtest.mitigation._retraining.training import seeded
from skfairtest.model_selection._alternatives.candidates import Candidate
from skfairtest.model_selection._alternatives.measures import Answers, Measure, Sample
from skfairtest.space._rows import take_rows


@dataclass(frozen=True)
class Work:
    """What all trainings have in common, and is sent to workers once."""

    X: Any  # all rows
    y: NDArray[Any]  # their targets
    weights: Floats | None  # None where there are none
    fit_params: dict[str, Any]  # what has an entry a row is cut to those that are trained on
    classes: NDArray[Any] | None  # None for a regression
    needs_scores: bool = False  # whether probabilities are looked at
    measures: list[Measure] = field(default_factory=list)  # those that ask the model itself

    def train(self, candidate: Candidate, rows: Ints, seed: int) -> Any:
        """The candidate, fitted to these rows."""
        given = dict(self.fit_params)
        if self.weights is not None:
            given["sample_weight"] = self.weights
        params = {}
        for name, value in given.items():
            if np.ndim(value) > 0 and not isinstance(value, dict) and len(value) == len(self.y):
                value = take_rows(value, rows)
            if candidate.steps and not get_config()["enable_metadata_routing"]:
                # A pipeline of ours around the user's estimator, for which they are meant.
                name = "__".join([*candidate.steps, name])
            params[name] = value
        with threads_to_train(len(rows)):
            model = seeded(candidate.estimator, seed)
            return model.fit(take_rows(self.X, rows), self.y[rows], **params)


class Training(NamedTuple):
    """A task: which rows are trained on, and which are asked about."""

    rows: Ints  # to train on
    asked: Sample  # that the model is asked about
    seed: int  # of what has no seed


class Trained(NamedTuple):
    """What a training gave; `reason` says why there is nothing, or is empty."""

    answers: Answers
    seconds: float
    reason: str = ""


def run_training(work: Work, candidate: Candidate, training: Training) -> Trained:
    """Train and ask; a failure is a result, too."""
    with warnings.catch_warnings():
        # A candidate that treats all twins alike is what is looked for.
        warnings.simplefilter("ignore", NoDisparityWarning)
        try:
            began = _clock.now()
            model = work.train(candidate, training.rows, training.seed)
            seconds = _clock.now() - began
            X = take_rows(work.X, training.asked.rows)
            own = {measure.name: measure.ask(model, X, training.asked) for measure in work.measures}
            return Trained(Answers(_predictions(model, X, work), own), seconds)
        except Exception as error:
            return Trained(Answers({}, {}), np.nan, f"{type(error).__name__}: {message_of(error)}")


def _predictions(model: Any, X: Any, work: Work) -> dict[str, NDArray[Any]]:
    predicted = np.asarray(model.predict(X))
    if predicted.ndim != 1:
        raise ValueError(f"predictions must have shape (n_rows,); got {predicted.shape}")
    answers = {"predict": predicted}
    if work.classes is None:
        if not np.isfinite(predicted.astype(np.float64)).all():
            raise ValueError("predictions are not finite")
        return answers
    if not work.needs_scores:
        return answers
    known = np.asarray(model.classes_)
    if hasattr(model, "predict_proba"):
        # A class that the rows trained on lack has no probability.
        probabilities = np.zeros((len(predicted), len(work.classes)))
        probabilities[:, np.searchsorted(work.classes, known)] = model.predict_proba(X)
        answers["predict_proba"] = probabilities
    if hasattr(model, "decision_function") and len(known) == len(work.classes):
        answers["decision_function"] = np.asarray(model.decision_function(X))
    return answers
