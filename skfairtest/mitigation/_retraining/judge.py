"""The rows that judge what others chose, and how far the drops of single trainings lie apart.

The rows of a fold are far too few to tell the difference between two trainings from the chance of
the rows. Inputs near the data are as many as one likes, and all models can be asked about the same
ones, which takes the chance out. Their labels are drawn as the original models expect them: the
same labels for all models, so that what is left is how the models differ.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._statistics import rounded_up
from skfairtest._typing import Bools, Floats
from skfairtest.exceptions import WorkersFailedError
from skfairtest.mitigation._cached_predictions import CachedPredictions
from skfairtest.mitigation._retraining.guard import Guard, HeldOut, Verdict
from skfairtest.mitigation._retraining.metrics import ShareMetrics
from skfairtest.mitigation._retraining.training import Task, TrainingFold
from skfairtest.space._rows import take_rows
from skfairtest.workers._sending import on_workers

Values = NDArray[Any]

#: Draws of the labels of each input near the rows: the chance of a single one would be taken for a
#: difference between trainings.
N_DRAWS = 8


def guard_of(
    task: Task,
    folds: list[TrainingFold],
    rows: Bools,
    max_score_drop: float,
    rng: np.random.Generator,
) -> Guard:
    """The guard that scores models on those of some rows that their folds hold out."""
    held = [fold.held[rows[fold.held]] for fold in folds[1:]]
    return Guard(
        [
            HeldOut(
                task.scorer,
                take_rows(task.X, some),
                task.y[some],
                None if task.weights is None else task.weights[some],
                some,
            )
            for some in held
        ],
        [fold.model for fold in folds[1:]],
        classification=task.classes is not None,
        max_score_drop=max_score_drop,
        rng=rng,
    )


class Judge:
    """Gives verdicts on a model of all rows, by rows that nothing was chosen by.

    Parameters
    ----------
    task : Task
        What is trained and scored.
    folds : list of TrainingFold
        The one that holds out nothing, and the others, with their original models.
    guard : Guard
        Scores the models of the folds on the rows that judge.
    metrics : ShareMetrics
        Draws inputs near the rows.
    rng : Generator
        Draws their labels.

    Attributes
    ----------
    score : float
        The mean score of the original models of the folds.
    """

    def __init__(
        self,
        task: Task,
        folds: list[TrainingFold],
        guard: Guard,
        metrics: ShareMetrics,
        rng: np.random.Generator,
    ) -> None:
        self.score = guard.score
        self._guard = guard
        self._originals = [fold.model for fold in folds]
        # Of its own: whether a model is judged changes nothing else.
        self._make_spread = partial(Spread, task, metrics, folds, self._originals, rng.spawn(1)[0])
        self._spread: Spread | None = None

    def __call__(self, models: list[Any], look: int = 1) -> Verdict:
        """Judge a model of all rows, which comes first, by those of the folds.

        Where one model was refused and another one is shown, that has to show more: the first
        `look` may be wrong in 4% of the cases, the second in 0.8%, and all of them in 5%
        (Bonferroni's inequality, with most for the look that mostly is the only one).
        """
        if self._spread is None:
            self._spread = self._make_spread()
        self._guard.confidence = 1 - 0.04 * 0.2 ** (look - 1)
        return self._guard.look_at(models[1:], self._spread.of(models))


class Spread:
    """Measures how far the drop of one training lies from the mean of the folds' trainings.

    Parameters
    ----------
    task : Task
        What is trained and scored.
    metrics : ShareMetrics
        Draws inputs near the rows.
    folds : list of TrainingFold
        The one that holds out nothing, and the others.
    originals : list of estimator
        The original model of each fold.
    rng : Generator
        Draws the labels.
    """

    def __init__(
        self,
        task: Task,
        metrics: ShareMetrics,
        folds: list[TrainingFold],
        originals: list[Any],
        rng: np.random.Generator,
    ) -> None:
        self._n_jobs, self._tick = task.n_jobs, task.tick
        self._X = X = metrics.near_table(rng)
        if task.classes is None:
            drawn = _expected_numbers(task, X, folds, originals, rng)
        else:
            drawn = expected_classes(task.classes, X, originals, rng)
        self._draws = [HeldOut(task.scorer, X, labels, None) for labels in drawn]
        self._original = self._scores(originals)

    def _scores(self, models: list[Any]) -> Floats | None:
        """The mean score of each model; None where the scorer has none here."""
        try:
            # The first tells how scores can be had.
            known = self._X, self._draws
            scores = [_score(known, models[0])]
            tasks = [(model,) for model in models[1:]]
            for score in on_workers(_score, known, tasks, self._n_jobs):
                scores.append(score)
                self._tick("trainings are compared")
            return np.array(scores)
        except WorkersFailedError:
            raise
        except Exception:  # a scorer that knows the rows of the data alone
            return None

    def of(self, models: list[Any]) -> float | None:
        """The standard deviation of a single training's drop about the mean of the folds'."""
        scores = self._scores(models)
        if scores is None or self._original is None:
            return None
        return spread_of(self._original - scores)


def _score(known: tuple[Any, list[HeldOut]], model: Any) -> float:
    """The mean over the draws of labels, or the first where each would ask the model anew."""
    X, (first, *others) = known
    cached = CachedPredictions(model, X)
    scores = [first.scores(cached, [])[0]]
    for draw in others if first.by_predictions else ():
        draw.by_predictions, draw.is_accuracy = True, first.is_accuracy
        scores.append(draw.scores(cached, [])[0])
    return float(np.mean(scores))


def spread_of(fell: Floats) -> float:
    """How far one training lies from the mean of the folds', by those of all rows and the folds."""
    return float(np.std(fell, ddof=1) * np.sqrt(1 + 1 / (len(fell) - 1)))


def expected_classes(
    classes: Values, X: Any, models: list[Any], rng: np.random.Generator
) -> Values:
    """Draws of labels with the mean of the models' probabilities, or of their votes."""
    chances = np.zeros((len(X), len(classes)))
    for model in models:
        if hasattr(model, "predict_proba"):
            chances[:, np.searchsorted(classes, model.classes_)] += model.predict_proba(X)
        else:
            chances += np.asarray(model.predict(X))[:, None] == classes
    steps = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    drawn = (rng.random((N_DRAWS, len(chances), 1)) > steps).sum(axis=2)
    return np.asarray(classes[np.minimum(drawn, len(classes) - 1)])


def _expected_numbers(
    task: Task, X: Any, folds: list[TrainingFold], models: list[Any], rng: np.random.Generator
) -> Values:
    """Draws around the models' mean predictions, with errors that they make on rows held out."""
    held = folds[1].held
    errors = task.y[held] - np.asarray(models[1].predict(take_rows(task.X, held)))
    mean = np.mean([np.asarray(model.predict(X)) for model in models], axis=0)
    return np.asarray(mean + rng.choice(errors, (N_DRAWS, len(mean))))


def what_would_tell(verdict: Verdict, n_rows: int, max_score_drop: float) -> str:
    """Say what would let the rows tell that the score is kept; nothing where they can."""
    if verdict.confirmed:
        return ""
    drop = verdict.drop
    above, room = drop.at_most - drop.estimate, max_score_drop - drop.estimate
    words = ""
    if np.isfinite(above):
        words = (
            "Of the model that was judged, "
            f"max_score_drop={rounded_up(max(drop.at_most, 0.0)):g} could be told by these rows"
        )
        # Both errors fall about as the root of the rows; where the estimate is at the limit, no
        # number of rows would tell.
        needed = n_rows * (above / room) ** 2 if 0 < room < above else np.inf
        if needed < 1e9:
            words += f", {max_score_drop:g} by about {rounded_up(needed):,.0f} rows"
        # A limit decides which round is chosen, too.
        words += "; with a larger limit rounds may be chosen that cost more and need more still."
        # The bound is 1.7 to 2 errors above the estimate.
        if 1.7 * verdict.spread > 0.7 * above:
            words += (
                " Most of what is not known is how far single trainings of the model lie apart: a "
                "smoother one (larger leaves, an average of trees) and fewer rounds can be told by "
                "fewer rows."
            )
    return words
