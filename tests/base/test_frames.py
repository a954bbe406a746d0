"""How many calls of the package stand between a user's call and the model."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skfairtest
from skfairtest import SBFTAuditor, audit, individual

OURS = str(Path(skfairtest.__file__).parent)
SEARCHERS = [
    name for name in individual.__all__ if name.endswith("Auditor") and name != "FlipTestAuditor"
]


class Looks(LogisticRegression):
    """A model that looks at its stack when it is asked."""

    def _look(self):
        frame, own = sys._getframe(2), []
        while frame is not None:
            if frame.f_code.co_filename.startswith(OURS):
                own.append(frame.f_code.co_qualname)
            frame = frame.f_back
        if len(own) > len(getattr(self, "deepest_", [])):
            self.deepest_ = own[::-1]

    def predict(self, X):
        self._look()
        return super().predict(X)

    def predict_proba(self, X):
        self._look()
        return super().predict_proba(X)


@pytest.fixture
def looks():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 40), "age": rng.integers(18, 80, 40)})
    X["a"] = rng.normal(size=40)
    return Looks().fit(X, X["a"] + X["sex"] > 0.5), X


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SEARCHERS)
def test_few_calls_stand_between_fit_and_the_model(name, looks):
    model, X = looks
    settings = {"sensitive_features": "sex", "max_queries": 300, "random_state": 0}
    if name in ("MAFTAuditor", "EIDIGAuditor", "ADFAuditor"):
        settings |= {"n_global": 10, "n_local": 10}
    if name in ("EIDIGAuditor", "ADFAuditor"):
        settings["gradient"] = lambda X: np.ones((len(X), 3))
    if name == "ThemisAuditor":
        settings["candidates"] = ["sex", "age"]
    getattr(individual, name)(model, **settings).fit(X)
    assert 5 <= len(model.deepest_) <= 12, model.deepest_


@pytest.mark.filterwarnings("ignore")
def test_restarts_add_one_call(looks):
    model, X = looks
    settings = {"sensitive_features": "sex", "max_queries": 300, "random_state": 0}
    SBFTAuditor(model, **settings).fit(X)
    alone, model.deepest_ = len(model.deepest_), []
    SBFTAuditor(model, n_restarts=2, **settings).fit(X)
    assert len(model.deepest_) == alone + 1 <= 12, model.deepest_


@pytest.mark.filterwarnings("ignore")
def test_few_calls_stand_between_an_audit_and_the_model(looks):
    model, X = looks
    audit(
        model, X, sensitive_features="sex", auditor=SBFTAuditor(max_queries=100), groups=False,
        moved=False, certify=False, random_state=0, progress=False,
    )  # fmt: skip
    assert 5 <= len(model.deepest_) <= 14, model.deepest_
