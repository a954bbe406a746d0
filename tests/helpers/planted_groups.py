"""Invented people, and models that ask more of one group of them, for the tests of TestSGD."""

import functools

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from skfairtest import TestSGDAuditor

SENSITIVE = ["sex", "race", "age"]


def people(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "sex": rng.choice(["f", "m"], n),
        "race": rng.choice(["a", "b", "c", "d"], n),
        "age": rng.integers(20, 70, n),
        "income": rng.normal(30, 8, n),
        "hours": rng.integers(10, 60, n),
    })  # fmt: skip


class Planted(BaseEstimator):
    """Asks more of one group than of everyone else."""

    def __init__(self, group=None, fail_after=np.inf):
        self.group = group
        self.fail_after = fail_after

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def lead(self, X):
        self.rows_ = getattr(self, "rows_", 0) + len(X)
        if self.rows_ > self.fail_after:
            raise RuntimeError("asked too often")
        return X["income"] + X["hours"] / 20 - np.where(self.group(X), 130.0, 30.0)


class PlantedClassifier(ClassifierMixin, Planted):
    classes_ = np.array(["no", "yes"])

    def predict(self, X):
        return np.where(self.lead(X) > 0, "yes", "no")


class PlantedRegressor(RegressorMixin, Planted):
    def predict(self, X):
        return np.asarray(self.lead(X))


def middle_aged_women(X):
    return (X["sex"] == "f") & X["race"].isin(["a", "d"]) & (X["age"] >= 35) & (X["age"] < 60)


RULE = "sex = f and race in {a, d} and age from 35 to below 60"


def fit(model=None, X=None, **settings):
    model = PlantedClassifier(middle_aged_women) if model is None else model
    settings = {"sensitive_features": SENSITIVE, "random_state": 0} | settings
    return TestSGDAuditor(model, **settings).fit(people() if X is None else X)


@functools.cache
def fitted(planted=PlantedClassifier):
    """The auditor of one `fit` for all tests that leave it as it is."""
    return fit(planted(middle_aged_women))


class Plain:
    """No scikit-learn estimator: just predict."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer(X)
