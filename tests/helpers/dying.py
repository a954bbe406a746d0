"""A model that ends the process that it predicts in, in a module that takes no time to import."""

import os
import signal

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin


class Mortal(RegressorMixin, BaseEstimator):
    """A linear model that kills the first other process that it predicts in, each, or none."""

    def __init__(self, folder, kills="first"):
        self.folder, self.kills = folder, kills

    def fit(self, X, y):
        """Remember the process that is spared."""
        self.home_ = os.getpid()
        self.coef_ = np.linalg.lstsq(np.asarray(X, dtype=float), y, rcond=None)[0]
        self.n_features_in_ = self.coef_.shape[0]
        return self

    def predict(self, X):
        """The outputs, of those who survive."""
        away = self.kills != "none" and os.getpid() != self.home_
        if away and (is_first(self.folder) or self.kills == "each"):
            os.kill(os.getpid(), signal.SIGKILL)
        return np.asarray(X, dtype=float) @ self.coef_


def is_first(folder):
    """Whether nobody has asked this before; of several at a time one is the first."""
    try:
        os.close(os.open(os.path.join(folder, "dead"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
