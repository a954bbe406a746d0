"""What a mitigation works on: the rows, the folds of them, and how a model is trained."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from skfairtest._threads import threads_to_train
from skfairtest._typing import Bools, Floats, Ints
from skfairtest._validation import check_takes_weights, check_weights
from skfairtest.mitigation._labelers import Ensemble
from skfairtest.oracle._model import Model
from skfairtest.space._rows import stack, take_rows
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import on_workers

Values = NDArray[Any]


class Addition(NamedTuple):
    """Rows that are added to the training rows in one round, all of them, and their labels.

    `seeds` says which rows of the data they were made from; folds leave out what was made from
    theirs. `weights` are those of the added rows, where the data have some.
    """

    rows: Any
    labels: Values
    seeds: Ints | None = None
    weights: Floats | None = None


class Task:
    """The rows, and how all models are trained on them.

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
        For the estimator's fit. Rows of weight 0 are left out of everything.
    rng : Generator
        Seeds models that have no seed.
    n_jobs : int or None, default=None
        Models that are trained at the same time.

    Attributes
    ----------
    X, y, weights : table, ndarray, ndarray or None
        The rows that count.
    n_weightless : int
        Rows of weight 0, which are left out.
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
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ) -> None:
        self.fit_params, self.weights = _split_params(fit_params, len(y))
        if self.weights is not None:
            check_takes_weights(estimator)
        self.X, self.y = X, y
        self.n_weightless = 0
        if self.weights is not None and (self.weights == 0).any():
            counts = np.flatnonzero(self.weights)
            self.n_weightless = len(y) - len(counts)
            self.X, self.y, self.weights = take_rows(X, counts), y[counts], self.weights[counts]
        self.classes = np.unique(self.y) if is_classifier(estimator) else None
        if self.classes is not None and len(self.classes) < 2 <= len(np.unique(y)):
            raise ValueError(
                "sample_weight is zero for all rows but those of one class, "
                f"{self.classes.tolist()[0]!r}: no classifier can be trained. Give rows of another "
                "class a positive weight."
            )
        self.estimator = seeded(estimator, int(rng.integers(2**31 - 1)))
        self.scorer = scorer
        self.n_jobs = n_jobs
        #: Called after each step, such as a training, with words for it.
        self.tick: Callable[[str], None] = _nothing
        #: Rows that models were trained on, one training after the other.
        self.n_trained = 0

    def train(self, rows: Ints, added: Addition | None = None) -> Any:
        """A clone of the estimator, fitted on these rows of the data and the added ones."""
        X, y, params = take_rows(self.X, rows), self.y[rows], dict(self.fit_params)
        weights = None if self.weights is None else self.weights[rows]
        if added is not None and len(added.labels):
            X, y = stack([X, added.rows]), np.concatenate([y, added.labels.astype(y.dtype)])
        if weights is not None:
            more = np.full(len(y) - len(weights), weights.mean())
            if added is not None and added.weights is not None:
                more = added.weights
            params["sample_weight"] = np.concatenate([weights, more])
        with threads_to_train(len(y)):
            return clone(self.estimator).fit(X, y, **params)

    def train_all(
        self, folds: list[TrainingFold], added: list[Addition] | None = None
    ) -> list[Any]:
        """A model for each fold."""
        self.n_trained += sum(len(fold.rows) for fold in folds)
        self.n_trained += sum(len(one.labels) for one in added or ())
        tasks = [
            (fold.rows, None if added is None else added[place]) for place, fold in enumerate(folds)
        ]
        # What a progress shows stays here: workers get the task without it.
        sent, models = self.with_table(self.X), []
        sent.tick = _nothing
        for model in on_workers(Task.train, sent, tasks, self.n_jobs):
            models.append(model)
            self.tick("a model is trained")
        return models

    def with_table(self, X: Any) -> Task:
        """The same task on other columns of the same rows."""
        task = copy.copy(self)
        task.X = X
        return task

    def answers_alike(self, model: Any) -> bool:
        """Whether the model predicts one and the same for all rows."""
        answers = np.asarray(model.predict(self.X))
        return bool((answers == answers[0]).all())


class TrainingFold:
    """What is trained on all rows but those that one fold holds out; the first fold holds out none.

    What is added in a fold is made from the rows it trains on and labelled by its models alone, so
    that the rows held out are new to them in every respect.

    Parameters
    ----------
    task : Task
        What is trained on what.
    space : InputSpace
        The domain.
    encoded : ndarray of shape (n_rows, n_features)
        All rows of the task, encoded.
    held : ndarray of int
        Rows that are held out; none in the first fold.
    rng : Generator
        Source of randomness of this fold.

    Attributes
    ----------
    rows : ndarray of int
        Rows that are learned from.
    model : estimator
        The latest model.
    asked : Model or None
        A model as it is asked about twins: the latest one, once it was.
    """

    def __init__(
        self, task: Task, space: InputSpace, encoded: Floats, held: Ints, rng: np.random.Generator
    ) -> None:
        self.task = task
        self.held = held
        self.rows = np.setdiff1d(np.arange(len(task.y)), held)
        self.encoded = encoded[self.rows]
        self.space = space.with_encoded(self.encoded)
        self.rng = rng
        self.model: Any = None
        self.asked: Model | None = None
        #: What a strategy keeps from round to round.
        self.kept: dict[str, Any] = {}

    @cached_property
    def ensemble(self) -> Ensemble:
        """Diverse models of the training rows of this fold, whose votes label inputs."""
        return Ensemble(
            self.space,
            take_rows(self.task.X, self.rows),
            self.task.y[self.rows],
            regression=self.task.classes is None,
            seed=int(self.rng.integers(2**31 - 1)),
        )

    def without_held(self, added: Addition) -> Addition:
        """What of an addition was not made from rows that are held out."""
        if added.seeds is None or not len(self.held):
            return added
        apart = np.flatnonzero(~np.isin(added.seeds, self.held))
        return Addition(
            take_rows(added.rows, apart),
            added.labels[apart],
            added.seeds[apart],
            None if added.weights is None else added.weights[apart],
        )


def held_out(y: Values, classes: Values | None, cv: Any, rng: np.random.Generator) -> list[Ints]:
    """Rows that each fold holds out; the first folds hold out each row once.

    Of each class a fold holds out the same share. The row of a class that has no other stays in
    training: what cannot be learned cannot be judged.
    """
    if isinstance(cv, str):
        # The fewer rows, the more a score depends on which models the folds happened to give, and
        # the less a training costs: folds are drawn up to three times. Of many rows two folds alone
        # have enough to be held out, and tell how far two trainings lie apart.
        repeats = min(3, int(np.ceil(2000 / len(y))))
        folds = [fold for _ in range(repeats) for fold in _deal(y, classes, 5, rng)]
        return folds if len(y) < 20_000 else folds[:2]
    if isinstance(cv, (int, np.integer)):
        return _deal(y, classes, int(cv), rng)
    splitter = check_cv(cv, y, classifier=classes is not None)
    folds = [np.sort(held) for _, held in splitter.split(np.zeros((len(y), 1)), y)]
    return [fold.astype(np.intp) for fold in folds if len(fold)]


def _deal(y: Values, classes: Values | None, n_folds: int, rng: np.random.Generator) -> list[Ints]:
    groups = [np.arange(len(y))] if classes is None else [np.flatnonzero(y == c) for c in classes]
    number = np.full(len(y), -1, dtype=np.intp)
    start = 0
    for group in groups:
        if len(group) > 1:
            # Small classes do not all begin in the first fold.
            number[rng.permutation(group)] = (start + np.arange(len(group))) % n_folds
            start += len(group)
    folds = [np.flatnonzero(number == fold) for fold in range(n_folds)]
    folds = [fold for fold in folds if len(fold)]
    if len(folds) < 2:
        raise ValueError(
            f"{len(y)} sample(s) of {len(groups)} class(es) leave no rows to hold out; a minimum "
            "of 2 samples of one class is required. Give more rows."
        )
    return folds


def rows_that_choose(
    y: Values, classes: Values | None, held: list[Ints], rng: np.random.Generator
) -> Bools:
    """A third of the rows that are held out, and of each class: they choose, the others judge."""
    chooses, rows = np.zeros(len(y), dtype=bool), np.unique(np.concatenate(held))
    chooses[rows[_deal(y[rows], classes, 3, rng)[0]]] = True
    return chooses


def make_folds(
    task: Task, space: InputSpace, held_rows: list[Ints], rng: np.random.Generator
) -> list[TrainingFold]:
    """A fold that holds out nothing, and one for each entry of `held_rows`."""
    encoded = space.encode(task.X)
    nothing = np.empty(0, dtype=np.intp)
    streams = rng.spawn(len(held_rows) + 1)
    return [
        TrainingFold(task, space, encoded, held, stream)
        for held, stream in zip([nothing, *held_rows], streams, strict=True)
    ]


def _nothing(words: str) -> None:
    """What is called where nobody watches."""


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


def _split_params(
    fit_params: dict[str, Any], n_rows: int
) -> tuple[dict[str, Any], NDArray[np.float64] | None]:
    """Fit parameters for every training, and the weights of the rows."""
    params = dict(fit_params)
    weights = params.pop("sample_weight", None)
    for name, value in params.items():
        if np.ndim(value) > 0 and len(value) == n_rows and not isinstance(value, (str, dict)):
            raise ValueError(
                f"fit got {name} with one entry a row; the rows that are added have none. Only "
                "sample_weight can be extended to them. Leave it out."
            )
    if weights is None:
        return params, None
    return params, check_weights(weights, n_rows)
