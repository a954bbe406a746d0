"""What a mitigation works on: training part, validation part, and how a model is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import column_or_1d

from skfairtest._typing import Floats, Ints
from skfairtest._validation import is_real
from skfairtest.space._rows import stack, take_rows

Values = NDArray[Any]


class Task:
    """Training and validation rows, and the one way in which all models are trained.

    Parameters
    ----------
    estimator : estimator
        Template; a clone of it is trained.
    X : table of shape (n_rows, n_features)
        All rows.
    y : ndarray of shape (n_rows,)
        Their targets.
    scorer : callable
        Called as ``scorer(model, X, y)``, greater is better.
    fit_params : dict
        For the estimator's fit; what has one entry a row is cut like the rows.
    validation_fraction : float
        Share of the rows that is kept for validation.
    rng : Generator
        Draws the parts, and seeds models that have no seed.

    Attributes
    ----------
    X, y : table, ndarray
        The training part. Nothing but this part and the rows added to it is ever learned from.
    X_validation, y_validation : table, ndarray
        The part that scores are taken on.
    classes : ndarray or None
        Class labels; None for a regression.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Values,
        *,
        scorer: Any,
        fit_params: dict[str, Any],
        validation_fraction: float,
        rng: np.random.Generator,
    ) -> None:
        self.classes = np.unique(y) if is_classifier(estimator) else None
        training, validation = split_rows(y, self.classes, validation_fraction, rng)
        self.estimator = seeded(estimator, int(rng.integers(2**31 - 1)))
        self.scorer = scorer
        self.X, self.y = take_rows(X, training), y[training]
        self.X_validation, self.y_validation = take_rows(X, validation), y[validation]
        self.fit_params, self.weights = _cut(fit_params, training, len(y))

    def train(self, added: Any = None, labels: Values | None = None) -> Any:
        """A clone of the estimator, fitted on the training part and the added rows."""
        return self._train(self.X, self.y, self.weights, added, labels)

    def _train(
        self, X: Any, y: Values, weights: Floats | None, added: Any, labels: Values | None
    ) -> Any:
        params = dict(self.fit_params)
        if labels is not None and len(labels):
            X, y = stack([X, added]), np.concatenate([y, labels.astype(y.dtype)])
        if weights is not None:
            # An added row weighs as much as the average row does.
            more = np.full(len(y) - len(weights), weights.mean())
            params["sample_weight"] = np.concatenate([weights, more])
        return clone(self.estimator).fit(X, y, **params)

    def score(self, model: Any) -> float:
        """Score on the validation part."""
        return self._score(model, self.X_validation, self.y_validation)

    def score_without(
        self, held: Ints, added: Any = None, labels: Values | None = None, seeds: Any = None
    ) -> float:
        """Score on some rows of the training part, of a model trained without them.

        Added rows that were made from those (`seeds` says from which) are left out as well.
        """
        rest = np.setdiff1d(np.arange(len(self.y)), held)
        if labels is not None:
            apart = np.flatnonzero(~np.isin(seeds, held))
            added, labels = take_rows(added, apart), labels[apart]
        weights = None if self.weights is None else self.weights[rest]
        model = self._train(take_rows(self.X, rest), self.y[rest], weights, added, labels)
        return self._score(model, take_rows(self.X, held), self.y[held])

    def _score(self, model: Any, X: Any, y: Values) -> float:
        score: Any = self.scorer(model, X, y)
        if not is_real(score) or not np.isfinite(score):
            raise ValueError(
                f"scoring must give one finite number for the validation part; got {score!r}. "
                "Choose another scoring=."
            )
        return float(score)

    def answers_alike(self, model: Any) -> bool:
        """Whether the model predicts one and the same for all validation rows."""
        answers = np.asarray(model.predict(self.X_validation))
        return bool((answers == answers[0]).all())


def split_rows(
    y: Values, classes: Values | None, fraction: float, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Rows of the training and of the validation part; of each class the same share.

    A class of a single row stays in training: what cannot be learned cannot be validated.
    """
    groups = [np.arange(len(y))] if classes is None else [np.flatnonzero(y == c) for c in classes]
    validation: list[Ints] = []
    for group in groups:
        n = min(max(1, round(fraction * len(group))), len(group) - 1)
        validation.append(rng.permutation(group)[:n])
    held = np.sort(np.concatenate(validation)).astype(np.intp)
    if not len(held):
        raise ValueError(
            f"{len(y)} sample(s) of {len(groups)} class(es) leave no validation part beside the "
            "training part; a minimum of 2 samples of one class is required. Give more rows."
        )
    return np.setdiff1d(np.arange(len(y)), held), held


def split_folds(y: Values, classes: Values | None, n_folds: int, rng: np.random.Generator) -> Ints:
    """Number of each row's fold; of each class the same share in all of them."""
    groups = [np.arange(len(y))] if classes is None else [np.flatnonzero(y == c) for c in classes]
    number = np.zeros(len(y), dtype=np.intp)
    for group in groups:
        number[rng.permutation(group)] = np.arange(len(group)) % n_folds
    return number


def seeded(estimator: Any, seed: int) -> Any:
    """A clone whose parts without a seed have one: models then differ by their rows alone."""
    copy = clone(estimator)
    if not hasattr(copy, "get_params"):
        return copy
    unset = {
        name: seed
        for name, value in copy.get_params(deep=True).items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return copy.set_params(**unset) if unset else copy


def _cut(
    fit_params: dict[str, Any], rows: Ints, n_rows: int
) -> tuple[dict[str, Any], NDArray[np.float64] | None]:
    """Fit parameters for the training part, and its weights."""
    params = dict(fit_params)
    weights = params.pop("sample_weight", None)
    for name, value in params.items():
        if np.ndim(value) > 0 and len(value) == n_rows and not isinstance(value, (str, dict)):
            raise ValueError(
                f"fit got {name} with one entry a row; the rows that are added have none. Only "
                "sample_weight can be extended (by its mean). Leave it out."
            )
    if weights is None:
        return params, None
    weights = column_or_1d(weights).astype(np.float64)
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight must have one entry for each of {n_rows} rows; got {len(weights)}."
        )
    return params, weights[rows]


#: Validation rows from which on they are enough: with 5% of the predictions changed, the difference
#: of two accuracies has a standard error of 0.7 points among 1,000 rows, and of 1.8 among 150.
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
