"""Models and tables for the tests of the command line; models in files are of these types."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def people(n=200):
    """Rows with a sensitive column of text, one of codes written as text, and a target."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 70, n),
            "income": rng.normal(30, 9, n).round(1),
            "region": rng.choice(["01", "02", "10"], n),
        }
    )
    score = (frame["sex"] == "m") * 1.0 + frame["age"] / 40 + frame["income"] / 30
    frame["hired"] = np.where(score + rng.normal(0, 0.3, n) > 2.6, "yes", "no")
    return frame


def classifier(frame):
    """A pipeline that skops trusts."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "region"]),
        (StandardScaler(), ["age", "income"]),
    )
    X = frame.drop(columns="hired")
    return make_pipeline(columns, LogisticRegression()).fit(X, frame["hired"])


def regressor(frame):
    """A regressor on the columns of numbers, and sex as a number."""
    X = frame[["age", "income"]].assign(sex=(frame["sex"] == "m") * 1)
    return LinearRegression().fit(X, frame["income"] + 5 * X["sex"])


class Foreign(ClassifierMixin, BaseEstimator):
    """A model that skops does not know."""

    def fit(self, X, y):
        """Learn the classes."""
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        return self

    def predict_proba(self, X):
        """Probabilities that depend on sex."""
        yes = np.where(np.asarray(X["sex"]) == "m", 0.7, 0.4)
        return np.column_stack([1 - yes, yes])

    def predict(self, X):
        """Labels."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Talkative(Foreign):
    """Prints whenever it is asked, also as compiled code would."""

    def predict_proba(self, X):
        """Print, and predict."""
        import os

        print(f"predicting {len(X)} rows")
        os.write(1, b"from compiled code\n")
        return super().predict_proba(X)


class Fails(Foreign):
    """Fails from a number of rows on, in the way that it is told."""

    def __init__(self, after=0, error="ValueError", message="no"):
        self.after = after
        self.error = error
        self.message = message

    rows = 0

    def predict_proba(self, X):
        """Count, and raise."""
        self.rows += len(X)
        if self.rows > self.after:
            errors = {
                "ValueError": ValueError, "SystemExit": SystemExit,
                "KeyboardInterrupt": KeyboardInterrupt, "ImportError": ImportError,
            }  # fmt: skip
            raise errors[self.error](self.message)
        return super().predict_proba(X)


class Varies(Foreign):
    """Gives a row another answer at each call."""

    calls = 0

    def predict_proba(self, X):
        """Each call is a bit surer than the one before."""
        self.calls += 1
        yes = np.clip(super().predict_proba(X)[:, 1] + 0.01 * self.calls, 0, 1)
        return np.column_stack([1 - yes, yes])


class ArrayOnly(RegressorMixin, BaseEstimator):
    """Was trained on an array, and knows columns by position only."""

    def fit(self, X, y=None):
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        """The first column counts."""
        return 3.0 * X[:, 0] + X[:, 1]


class ReadsDates(Foreign):
    """A model that reads a column of dates by pandas."""

    def predict_proba(self, X):
        """Probabilities that depend on sex and the month."""
        yes = np.where(np.asarray(X["sex"]) == "m", 0.7, 0.4)
        yes = yes + 0.01 * X["opened"].dt.month.fillna(0).to_numpy()
        return np.column_stack([1 - yes, yes])


class Drawn(Foreign):
    """Answers with noise of its own in each call."""

    calls = 0

    def predict_proba(self, X):
        """Add noise to what is said."""
        self.calls += 1
        noise = np.random.default_rng(self.calls).uniform(-0.1, 0.1, len(X))
        p = np.clip(super().predict_proba(X)[:, 1] + noise, 0, 1)
        return np.column_stack([1 - p, p])
