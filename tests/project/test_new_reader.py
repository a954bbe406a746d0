"""A new reader is its file and an entry in the registry: the one that CONTRIBUTING.md shows."""

import re
import sys
import types

import numpy as np
import pandas as pd
import pytest
from boosting_cases import enumerated_degree
from places import TOP

from skfairtest import CertifiedAuditor
from skfairtest.whitebox import registry

LIBRARY = '''
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Scorecard(ClassifierMixin, BaseEstimator):
    """Points for ranges of columns that nobody learned."""

    def __init__(self, rounded=False):
        self.rounded = rounded

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.intercept_ = -0.3
        self.cuts_ = [np.array([1.0, 2.0]), np.array([]), np.array([-0.5, 0.25, 1.0])]
        self.points_ = [np.array([0.1, 1.2, -0.4]), np.array([3.0]), np.array([1, -2.0, 0.5, 0.25])]
        return self

    def predict_proba(self, X):
        columns = np.asarray(X, dtype=float).T
        score = self.intercept_ + sum(
            points[np.searchsorted(cuts, column)]
            for column, cuts, points in zip(columns, self.cuts_, self.points_)
        )
        second = 1 / (1 + np.exp(-score))
        return np.column_stack([1 - second, second])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]
'''


def made(name, code):
    module = types.ModuleType(name)
    exec(compile(code, name, "exec"), module.__dict__)
    return module


@pytest.fixture
def scorecards(monkeypatch):
    """The library whose model the page reads, with the page's reader in the registry."""
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
               if "Scorecard" in block]  # fmt: skip
    library = made("scorecards", LIBRARY)
    monkeypatch.setitem(sys.modules, "scorecards", library)
    monkeypatch.setattr(registry, "_READERS", [*registry._READERS])
    assert not CertifiedAuditor.supports(library.Scorecard())
    registry.register(made("reader", code).READER)
    return library


def test_the_package_takes_the_reader(scorecards):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.integers(0, 4, 60), "b": rng.integers(0, 2, 60), "c": rng.integers(-2, 3, 60)}
    )
    model = scorecards.Scorecard().fit(X, X["b"])
    assert CertifiedAuditor.supports(scorecards.Scorecard())
    auditor = CertifiedAuditor(model, sensitive_features=["a"], random_state=0).fit(X)
    degree = enumerated_degree(model, auditor.space_, "predict_proba")
    assert degree > 0.1
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(degree)
    assert auditor.fairness_degree_upper_bound_ == pytest.approx(degree)


def test_the_reader_refuses_settings(scorecards):
    support = CertifiedAuditor.supports(scorecards.Scorecard(rounded=True))
    assert str(support) == "Scorecard rounds its probabilities. Fit it with rounded=False."
