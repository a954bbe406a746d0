"""Non-deterministic models, with noise from a generator of their own, and their table."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


def table(n=300):
    """A sensitive column of two values, and two numbers."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.integers(0, 2, n), rng.random(n), rng.random(n)])


class Varying(BaseEstimator):
    """What `effect` does to twins where the third column is above a half, and noise.

    `kind` says what the noise is: "normal"; "call", the same for all rows of a call; "drift", which
    grows with each call and has no chance in it; "part", where the third column is above 0.9;
    "late", from the 200th row on.
    """

    def __init__(self, effect=0.3, noise=0.05, kind="normal", seed=0):
        self.effect, self.noise, self.kind, self.seed = effect, noise, kind, seed
        self.rng = np.random.default_rng(seed)
        self.rows = self.calls = 0
        self.asked = []

    def fit(self, X, y=None):
        """Learn nothing."""
        return self

    def __sklearn_is_fitted__(self):
        return True

    def quiet(self, X):
        """The answers without noise."""
        return 0.5 + self.effect * (X[:, 0] - 0.5) * (X[:, 2] > 0.5)

    def answer(self, X):
        self.rows += len(X)
        self.calls += 1
        self.asked.append(np.array(X))
        noise = self.calls if self.kind == "drift" else 0.0
        if self.kind == "call":  # a weight of the call's own on a column that is not sensitive
            noise = self.rng.normal() * X[:, 1]
        if self.kind in ("normal", "part", "late"):
            noise = self.rng.normal(size=len(X))
        if self.kind == "part":
            noise *= X[:, 2] > 0.9
        if self.kind == "late":
            noise *= self.rows > 200
        return self.quiet(X) + self.noise * noise


class VaryingRegressor(RegressorMixin, Varying):
    def predict(self, X):
        return self.answer(X)


class VaryingClassifier(ClassifierMixin, Varying):
    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = np.clip(self.answer(X), 0, 1)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


class VaryingLabels(ClassifierMixin, Varying):
    """Labels, of which the share `noise` is flipped."""

    def predict(self, X):
        self.rows += len(X)
        self.calls += 1
        labels = self.quiet(X) > 0.5
        return (labels ^ (self.rng.random(len(X)) < self.noise)).astype(int)
