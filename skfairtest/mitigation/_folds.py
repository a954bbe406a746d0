"""Scores of rounds where the validation part is too small to tell one point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest.mitigation._training import Task, split_folds

Ints = NDArray[np.intp]
Values = NDArray[Any]

#: Validation rows from which on they are enough: with 5% of the answers changed, the difference of
#: two accuracies has a standard error of 0.7 points among 1,000 rows, and of 1.8 among 150.
ENOUGH = 1000
N_FOLDS = 5


class Folds:
    """Score of a round on all rows: on the validation part, and on the training part by folds.

    A model for each fold is trained without it, and without the added rows that were made from it.
    The models are as many more trainings a round, which a small training part does not feel.

    Parameters
    ----------
    task : Task
        What is trained on what.
    rng : Generator
        Draws the folds.
    """

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        self.task = task
        self.number = split_folds(task.y, task.classes, N_FOLDS, rng)

    def score(self, model: Any, added: Any = None, labels: Any = None, seeds: Any = None) -> float:
        """Mean of the scores on all parts, by their numbers of rows."""
        total = self.task.score(model) * len(self.task.y_validation)
        for fold in range(N_FOLDS):
            held = np.flatnonzero(self.number == fold)
            total += self.task.score_without(held, added, labels, seeds) * len(held)
        return float(total / (len(self.task.y_validation) + len(self.task.y)))


def make_folds(task: Task, rng: np.random.Generator) -> Folds | None:
    """Folds, if the validation part is too small to do without and the training part can be cut."""
    fewest = len(task.y)
    if task.classes is not None:
        fewest = min(int((task.y == label).sum()) for label in task.classes)
    if len(task.y_validation) >= ENOUGH or fewest < 2 * N_FOLDS:
        return None
    return Folds(task, rng)
