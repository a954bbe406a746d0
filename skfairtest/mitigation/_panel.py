"""Diverse models that vote on the label of an input; fitted once, on the training rows."""

from __future__ import annotations

import warnings
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

from skfairtest.space._space import InputSpace

Floats = NDArray[np.float64]

#: Rows that the panel learns from at most: its vote need not be sharp, and a round has to be quick.
LESSON = 20_000
TREES = 30


class Panel:
    """Diverse classifiers, or regressors, on the codes of an input space.

    Parameters
    ----------
    space : InputSpace
        Turns tables into codes.
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
            if len(Z) > LESSON:
                rows = np.random.default_rng(self.seed).choice(len(Z), LESSON, replace=False)
                Z, y = Z[rows], y[rows]
            with warnings.catch_warnings():
                # A vote of a model that has not converged is a vote; columns may be all missing.
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", UserWarning)
                self._models = [model.fit(Z, y) for model in _members(self.regression, self.seed)]
        return self._models

    def votes(self, table: Any) -> list[NDArray[Any]]:
        """What each model answers to each row: a list of arrays of shape (n_rows,)."""
        Z = self.space.encode(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return [model.predict(Z) for model in self.models]


def _members(regression: bool, seed: int) -> list[Any]:
    """Models of different families, so that they do not share their mistakes."""
    filled, scaled = SimpleImputer(keep_empty_features=True), StandardScaler()
    if regression:
        return [
            DecisionTreeRegressor(min_samples_leaf=20, random_state=seed),
            make_pipeline(filled, scaled, Ridge()),
            HistGradientBoostingRegressor(max_iter=TREES, random_state=seed),
        ]
    return [
        DecisionTreeClassifier(min_samples_leaf=20, random_state=seed),
        make_pipeline(filled, scaled, LogisticRegression()),
        make_pipeline(filled, GaussianNB()),
        HistGradientBoostingClassifier(max_iter=TREES, random_state=seed),
        make_pipeline(filled, DecisionTreeClassifier(max_depth=4, random_state=seed)),
    ]
