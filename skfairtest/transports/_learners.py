"""What is learned of a column given others: lines, and boosting where trees find more."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skfairtest._typing import Floats, Ints
from skfairtest.transports._settings import SETTINGS

#: Small models: what they make of chance looks like an effect of the group.
BOOSTING = {
    "max_leaf_nodes": 5, "learning_rate": 0.1, "min_samples_leaf": 40, "early_stopping": False,
}  # fmt: skip


class Line(NamedTuple):
    """A linear function of features."""

    coef: Floats
    intercept: float

    def predict(self, F: Floats) -> Floats:
        """Return the function at features of shape (n, n_features)."""
        numbers: Floats = F @ self.coef + self.intercept
        return numbers


class BoostedLine(NamedTuple):
    """A linear function, and what boosting has learned of the rest."""

    line: Line
    rest: Any

    def predict(self, F: Floats) -> Floats:
        """Return the sum of both at features of shape (n, n_features)."""
        return self.line.predict(F) + predicted(self.rest, F)


class RidgeRegressions(NamedTuple):
    """Ridge regressions on the same features, which are decomposed once for all of them.

    A penalty is chosen by the errors at rows that are left out one at a time. These follow from the
    decomposition, so that nothing is fitted again.

    Attributes
    ----------
    centre : ndarray of shape (n_features,)
        Means of the features.
    axes : ndarray of shape (n_features, n_features)
        Principal axes, one in each column.
    lengths : ndarray of shape (n_features,)
        Squared singular values.
    scores : ndarray of shape (n, n_features)
        The rows along the axes.
    """

    centre: Floats
    axes: Floats
    lengths: Floats
    scores: Floats

    @classmethod
    def on(cls, F: Floats) -> RidgeRegressions:
        """Decompose features of shape (n, n_features)."""
        centre = F.mean(axis=0)
        centred = F - centre
        lengths, axes = np.linalg.eigh(centred.T @ centred)
        return cls(centre, axes, np.maximum(lengths, 0.0), centred @ axes)

    def fit(self, y: Floats) -> tuple[Line, Floats]:
        """Return the regression of numbers, and its errors at rows that it has not seen."""
        mean = float(y.mean())
        along, best = self.scores.T @ (y - mean), np.inf
        for penalty in SETTINGS.ridge_penalties:
            inverse = 1 / (self.lengths + penalty)
            coef = inverse * along
            leverage = self.scores**2 @ inverse + 1 / len(y)
            unseen = (y - mean - self.scores @ coef) / np.maximum(1 - leverage, 1e-3)
            error = float((unseen**2).mean())
            if error < best:
                best, chosen, errors = error, self.axes @ coef, unseen
        return Line(chosen, mean - float(self.centre @ chosen)), errors


def mean_and_spread(
    F: Floats, y: Floats, regressor: Any, seed: int, rng: np.random.Generator
) -> tuple[Any, Any, Floats]:
    """Return what predicts the mean and the mean distance from it, and errors at unseen rows.

    Without a regressor, both are ridge regressions, with boosting where a tree finds that lines are
    not all.
    """
    fold = rng.permutation(len(y)) % 3
    if regressor is not None:
        mean, unseen = _cross_fitted(regressor, F, y, fold)
        return mean, clone(regressor).fit(F, np.abs(unseen)), unseen
    from sklearn.ensemble import HistGradientBoostingRegressor

    boosting = HistGradientBoostingRegressor(max_iter=60, random_state=seed, **BOOSTING)
    ridge = RidgeRegressions.on(F)
    mean, unseen = ridge.fit(y)
    if trees_find_more(F, unseen, seed, rng):
        rest, unseen = _cross_fitted(boosting, F, y - mean.predict(F), fold)
        mean = BoostedLine(mean, rest)
    distance = np.abs(unseen)
    spread, left = ridge.fit(distance)
    if trees_find_more(F, left, seed, rng):
        return mean, boosting.fit(F, distance), unseen
    return mean, spread, unseen


def classifier_of(F: Floats, y: Ints, seed: int, rng: np.random.Generator) -> Any:
    """Return a fitted logistic regression, or boosting where a tree finds that it is not all."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1_000).fit(F, y)
    # What is left of one category follows from the others.
    left = (y[:, None] == model.classes_)[:, 1:] - model.predict_proba(F)[:, 1:]
    if not trees_find_more(F, left, seed, rng):
        return model
    boosting = HistGradientBoostingClassifier(max_iter=30, random_state=seed, **BOOSTING)
    return boosting.fit(F, y)


def trees_find_more(F: Floats, left: Floats, seed: int, rng: np.random.Generator) -> bool:
    """Return whether trees see anything in what lines leave, at rows that they have not seen.

    Boosting takes twenty times as long as this, and of rows that lines describe it would learn
    chance.

    Parameters
    ----------
    F : ndarray of shape (n, n_features)
        Features.
    left : ndarray of shape (n,) or (n, n_outputs)
        Errors of lines.
    seed : int
        Seed of the trees.
    rng : numpy.random.Generator
        Cuts the rows in halves.
    """
    if len(F) < 3 * BOOSTING["min_samples_leaf"]:
        return False  # boosting would find no parts that are large enough
    from sklearn.tree import DecisionTreeRegressor

    halves = np.array_split(rng.permutation(len(F))[: SETTINGS.rows_to_look], 2)
    tree = DecisionTreeRegressor(
        max_leaf_nodes=SETTINGS.leaves_to_look, min_samples_leaf=20, random_state=seed,
        max_features=min(SETTINGS.features_to_look, F.shape[1]),
    )  # fmt: skip
    gain = 0.0
    for seen, unseen in (halves, halves[::-1]):
        found = tree.fit(F[seen], left[seen]).predict(F[unseen])
        errors = left[unseen] - found.reshape(left[unseen].shape)
        gain += float((left[unseen] ** 2).sum() - (errors**2).sum())
    return gain > 0


def predicted(model: Any, F: Floats) -> Floats:
    """Return what a model predicts, shape (n,)."""
    return np.asarray(model.predict(F), dtype=np.float64).reshape(len(F))


def seeded(estimator: Any, seed: int) -> Any:
    """Return a copy of an estimator whose parts without a seed have this one; None stays None."""
    if estimator is None:
        return None
    model = clone(estimator)
    unset = {
        name: seed % 2**32
        for name, value in model.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return model.set_params(**unset) if unset else model


def _cross_fitted(model: Any, F: Floats, y: Floats, fold: Ints) -> tuple[Any, Floats]:
    """Return a fitted copy of a model, and the errors at rows of copies that did not see them."""
    unseen = np.empty(len(y))
    for k in np.unique(fold):
        out = fold == k
        unseen[out] = y[out] - predicted(clone(model).fit(F[~out], y[~out]), F[out])
    return clone(model).fit(F, y), unseen
