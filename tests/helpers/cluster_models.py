"""Models that the workers of a cluster can import, in a module that takes little time there."""

from __future__ import annotations

import os
import signal

import dying
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin


def table(n=300, seed=0):
    """Inputs, the first feature binary, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 0] = rng.integers(0, 2, n)
    return X, X @ [1.0, -1.0, 0.4, 0.3]


class Linear(RegressorMixin, BaseEstimator):
    """A linear model."""

    def fit(self, X, y):
        """Solve for the coefficients."""
        self.coef_ = np.linalg.lstsq(np.asarray(X, dtype=float), y, rcond=None)[0]
        self.n_features_in_ = self.coef_.shape[0]
        return self

    def predict(self, X):
        """The outputs."""
        return np.asarray(X, dtype=float) @ self.coef_


class Mortal(Linear):
    """Kills the process of the worker that it predicts in, once or always."""

    def __init__(self, folder, always=False):
        self.folder, self.always = folder, always

    def fit(self, X, y):
        """Remember the process that is spared."""
        self.home_ = os.getpid()
        return super().fit(X, y)

    def predict(self, X):
        """The outputs, of those who survive."""
        if os.getpid() != self.home_ and (dying.is_first(self.folder) or self.always):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(X)
