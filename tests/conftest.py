"""Estimators of known functions that count the rows they are shown, and tables of mixed columns."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


class Counting(BaseEstimator):
    """A known function of the rows; `rows` says how many rows it was shown."""

    rows = 0
    calls = 0

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        """Learn nothing."""
        return self

    def __sklearn_is_fitted__(self):
        return True

    def _ask(self, X):
        assert len(X), "asked about no rows"
        self.rows += len(X)
        self.calls += 1
        return np.asarray(self.function(X))


class Regressor(RegressorMixin, Counting):
    def predict(self, X):
        return self._ask(X)


class Proba(ClassifierMixin, Counting):
    """`function` gives one probability a row, or one a class."""

    def __init__(self, function=None, classes=(0, 1), cut=None):
        super().__init__(function)
        self.classes = classes
        self.cut = cut

    @property
    def classes_(self):
        return np.asarray(self.classes)

    def predict_proba(self, X):
        answer = self._ask(X)
        return answer if answer.ndim == 2 else np.column_stack([1 - answer, answer])

    def predict(self, X):
        answer = self.predict_proba(X)
        best = answer.argmax(axis=1) if self.cut is None else (answer[:, 1] > self.cut).astype(int)
        return self.classes_[best]


class Decision(ClassifierMixin, Counting):
    """`function` gives one score a row, or one a class."""

    def __init__(self, function=None, classes=(0, 1)):
        super().__init__(function)
        self.classes = classes

    @property
    def classes_(self):
        return np.asarray(self.classes)

    def decision_function(self, X):
        return self._ask(X)

    def predict(self, X):
        answer = self._ask(X)
        best = answer.argmax(axis=1) if answer.ndim == 2 else (answer > 0).astype(int)
        return self.classes_[best]


class LabelsOnly(ClassifierMixin, Counting):
    """`function` gives the labels."""

    def predict(self, X):
        return self._ask(X)


@pytest.fixture(scope="session")
def models():
    return SimpleNamespace(
        Regressor=Regressor, Proba=Proba, Decision=Decision, LabelsOnly=LabelsOnly
    )


@pytest.fixture(scope="session")
def small():
    """Whole numbers in three columns with 2, 5 and 4 values, all of which occur."""
    return np.stack(np.meshgrid([0, 1], range(5), range(4), indexing="ij"), axis=-1).reshape(-1, 3)


def mixed_frame(n=120):
    """Strings, categories, booleans, integers and floats, some of them missing."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], n),
            "age": rng.integers(18, 80, n),
            "income": rng.normal(30, 9, n),
            "member": rng.random(n) < 0.5,
            "region": pd.Categorical(rng.choice(["north", "south", "west"], n)),
            "job": rng.choice(np.array(["a", "b", None], dtype=object), n),
        }
    )
    frame["job"] = frame["job"].astype(object)
    frame.loc[::7, "income"] = np.nan
    frame.loc[3::11, "region"] = np.nan
    return frame


@pytest.fixture
def mixed():
    frame = mixed_frame()
    y = (frame["sex"] == "male") * 3.0 + frame["age"] / 10 + frame["income"].fillna(30) / 30
    return frame, y


@pytest.fixture(scope="session")
def pipeline_of():
    """Make a whole pipeline of the mixed frame that ends in the given model."""

    def make(model):
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns = ColumnTransformer(
            [
                ("coded", coded, ["sex", "member", "region", "job"]),
                ("numbers", numbers, ["age", "income"]),
            ]
        )
        return make_pipeline(columns, model)

    return make


@pytest.fixture(scope="module")
def few_inputs():
    """Let a retrainer judge models by few inputs, which is enough to see what it does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skfairtest.FairnessRetrainer._n_estimates", 600)
        yield
