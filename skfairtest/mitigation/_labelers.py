"""Which label an added input gets: small functions of the pairs that were found."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest._threads import one_thread
from skfairtest.space._rows import stack
from skfairtest.space._space import InputSpace

Values = NDArray[Any]


@dataclass(frozen=True)
class FoundPairs:
    """The pairs that are to be labelled: what a labeler is called with.

    Attributes
    ----------
    first, second : table of shape (n_pairs, n_features)
        The two twins of each pair, in the container of the training data.
    both : bool
        Whether both twins will be added, or `first` alone.
    estimator : estimator
        The model that treats them differently.
    ensemble : Ensemble
        Models of other families, fitted on the training rows: ``ensemble.votes(table)`` gives the
        predictions of each.
    classes : ndarray of shape (n_classes,) or None
        Class labels; None for a regression.
    others : tuple of table of shape (n_pairs, n_features)
        Further twins of each pair that get its label, where sensitive columns have more values.
    """

    first: Any
    second: Any
    both: bool
    estimator: Any
    ensemble: Ensemble
    classes: Values | None
    others: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.first)

    @property
    def twins(self) -> list[Any]:
        """All tables of twins, the first of each pair first."""
        return [self.first, self.second, *self.others]


def majority_label(pairs: FoundPairs) -> Values:
    """Label by the majority of diverse models; for a regression, by their mean.

    Where both twins of a pair are added, the votes on both are counted together, so that the two
    get one label.

    Parameters
    ----------
    pairs : FoundPairs
        The pairs.

    Returns
    -------
    ndarray of shape (n_pairs,)
        One label per pair.

    References
    ----------
    .. [1] Udeshi, S., Arora, P., & Chattopadhyay, S. (2018). Automated directed fairness testing.
       ASE, 98-108. (Labels of the inputs that are added.)
    """
    tables = pairs.twins if pairs.both else [pairs.first]
    votes = [vote for table in tables for vote in pairs.ensemble.votes(table)]
    if pairs.classes is None:
        return np.mean(votes, axis=0)
    counts = np.stack([(np.stack(votes) == label).sum(axis=0) for label in pairs.classes], axis=1)
    return pairs.classes[counts.argmax(axis=1)]


def average_label(pairs: FoundPairs) -> Values:
    """Label by the average of what the model predicts for the two twins.

    Of a classifier the probabilities (or scores, where it has no probabilities) are averaged; one
    that gives labels alone has nothing to average, and the majority of diverse models decides.

    Parameters
    ----------
    pairs : FoundPairs
        The pairs.

    Returns
    -------
    ndarray of shape (n_pairs,)
        One label per pair.
    """
    model = pairs.estimator
    if pairs.classes is None:
        return _mean_of_twins(model.predict, pairs)
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            score = _mean_of_twins(getattr(model, method), pairs)
            if score.ndim == 1:
                return pairs.classes[(score > 0).astype(int)]
            return pairs.classes[score.argmax(axis=1)]
    return majority_label(pairs)


def _mean_of_twins(ask: Callable[[Any], Any], pairs: FoundPairs) -> Values:
    """The mean of what a model says to the twins of each pair, all of them in one call."""
    answers = np.asarray(ask(stack(pairs.twins)))
    return np.asarray(
        answers.reshape(len(pairs.twins), len(pairs), *answers.shape[1:]).mean(axis=0)
    )


def opposite_label(pairs: FoundPairs) -> Values:
    """Label each first twin as the model does not: with the other class, or its twin's prediction.

    With two classes the label is the class that the model does not give. With more, and for a
    regression, it is what the model predicts for the twin.

    Parameters
    ----------
    pairs : FoundPairs
        The pairs.

    Returns
    -------
    ndarray of shape (n_pairs,)
        One label per pair.
    """
    if pairs.classes is None or len(pairs.classes) != 2:
        return np.asarray(pairs.estimator.predict(pairs.second))
    predicted = np.asarray(pairs.estimator.predict(pairs.first))
    return np.where(predicted == pairs.classes[0], pairs.classes[1], pairs.classes[0])


LABELERS: dict[str, Callable[[FoundPairs], Values]] = {
    "majority": majority_label,
    "average": average_label,
    "opposite": opposite_label,
}


def check_labeler(labeler: Any) -> None:
    """See that it is a name or a function."""
    names = sorted(LABELERS)
    if not callable(labeler) and labeler not in names:
        raise ValueError(
            f"labeler must be one of {names} or a callable on FoundPairs; got {labeler!r}. Write "
            "labeler='majority'."
        )


def label_pairs(labeler: Any, pairs: FoundPairs) -> Values:
    """Ask a labeler, and see that it gave one known label per pair."""
    function = labeler if callable(labeler) else LABELERS[labeler]
    labels = np.asarray(function(pairs))
    if labels.shape != (len(pairs),):
        raise ValueError(
            f"labeler must return one label per pair, shape ({len(pairs)},); got shape "
            f"{labels.shape}. Both twins of a pair get the same label."
        )
    if pairs.classes is None:
        if labels.dtype.kind not in "biuf" or not np.isfinite(labels).all():
            raise ValueError("labeler must return finite numbers for a regression; got others.")
    elif unknown := sorted({str(label) for label in labels} - {str(c) for c in pairs.classes}):
        raise ValueError(
            f"labeler must return classes of the training data, {pairs.classes.tolist()}; got "
            f"{unknown[:5]}."
        )
    return labels


class Ensemble:
    """Diverse classifiers, or regressors, on the encoded rows of an input space.

    Parameters
    ----------
    space : InputSpace
        Turns tables into encoded rows.
    X : table of shape (n_rows, n_features)
        Training rows.
    y : ndarray of shape (n_rows,)
        Their targets.
    regression : bool
        Whether the targets are numbers to be averaged.
    seed : int
        Seed of the models that need one.
    """

    def __init__(
        self, space: InputSpace, X: Any, y: NDArray[Any], *, regression: bool, seed: int
    ) -> None:
        self.space = space
        self.X, self.y = X, y
        self.regression = regression
        self.seed = seed
        self._models: list[Any] = []

    @property
    def models(self) -> list[Any]:
        """The fitted models; fitted when they are first asked for."""
        if not self._models:
            Z, y = self.space.encode(self.X), self.y
            most = 20_000  # rows: a vote need not be sharp, and a round has to be quick
            if len(Z) > most:
                rows = np.random.default_rng(self.seed).choice(len(Z), most, replace=False)
                Z, y = Z[rows], y[rows]
            with warnings.catch_warnings():
                # A vote of a model that has not converged is a vote; columns may be all missing.
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", UserWarning)
                self._models = [model.fit(Z, y) for model in _members(self.regression, self.seed)]
        return self._models

    @one_thread()
    def votes(self, table: Any) -> list[NDArray[Any]]:
        """What each model predicts for each row: a list of arrays of shape (n_rows,)."""
        Z = self.space.encode(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return [model.predict(Z) for model in self.models]


def _members(regression: bool, seed: int) -> list[Any]:
    """Models of different families, so that they do not share their mistakes."""
    filled, scaled = SimpleImputer(keep_empty_features=True), StandardScaler()
    n_trees = 30  # quick rather than sharp
    if regression:
        return [
            DecisionTreeRegressor(min_samples_leaf=20, random_state=seed),
            make_pipeline(filled, scaled, Ridge()),
            HistGradientBoostingRegressor(max_iter=n_trees, random_state=seed),
        ]
    return [
        DecisionTreeClassifier(min_samples_leaf=20, random_state=seed),
        make_pipeline(filled, scaled, LogisticRegression()),
        make_pipeline(filled, GaussianNB()),
        HistGradientBoostingClassifier(max_iter=n_trees, random_state=seed),
        make_pipeline(filled, DecisionTreeClassifier(max_depth=4, random_state=seed)),
    ]
