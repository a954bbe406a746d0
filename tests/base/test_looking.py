"""Looking at a fitted object asks the model nothing."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from tiers import SAMPLE, slow_sample

import skfairtest
from skfairtest import (
    AequitasAuditor,
    FairnessRetrainer,
    FlipTestAuditor,
    RandomAuditor,
    TextSGDAuditor,
    certify,
)
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import MitigationWarning

AUDITORS = [
    getattr(skfairtest, name)
    for name in skfairtest.__all__
    if name.endswith("Auditor") and name != "BaseAuditor"
]


METHODS = ("predict", "predict_proba", "decision_function")


class LengthOfText(ClassifierMixin, BaseEstimator):
    """A classifier of texts by their length."""

    classes_ = np.array([0, 1])

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.array([len(text) % 2 for text in X])


@pytest.fixture
def asked(monkeypatch):
    """Methods that models are asked by, one entry a call."""
    calls = []

    def watched(method):
        def ask(self, X, *args):
            calls.append(method.__name__)
            return method(self, X, *args)

        return ask

    for kind in (LogisticRegression, LengthOfText):
        for name in METHODS:
            if hasattr(kind, name):
                monkeypatch.setattr(kind, name, watched(getattr(kind, name)))
    return calls


def completed(fitted):
    """Everything that tab completion and displays of attributes read."""
    for name in dir(fitted):
        getattr(fitted, name, None)


LOOKS = {
    "repr": repr,
    "str": str,
    "HTML": lambda fitted: fitted._repr_html_(),
    "notebook": lambda fitted: fitted._repr_mimebundle_(),
    "dir": dir,
    "every name in dir": completed,
    "vars": vars,
    "get_params": lambda fitted: fitted.get_params(),
    "clone": clone,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda fitted: pickle.loads(pickle.dumps(fitted)),
    "repr of a copy": lambda fitted: repr(pickle.loads(pickle.dumps(fitted))),
    "HTML of a copy": lambda fitted: pickle.loads(pickle.dumps(fitted))._repr_html_(),
}


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"sex": np.arange(300) % 2, "a": rng.integers(0, 9, 300), "b": rng.integers(0, 9, 300)}
    )
    return X, (X["a"] + 2 * X["sex"] + X["b"] > 9).astype(int)


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=SAMPLE * (kind is FlipTestAuditor)) for kind in AUDITORS],
    ids=lambda kind: kind.__name__,
)
def fitted(request):
    kind = request.param
    if kind is TextSGDAuditor:
        texts = [f"a {'gay' if j % 3 else 'straight'} person of {j} years" for j in range(60)]
        return kind(LengthOfText(), categories={"gender": ["gay", "straight"]}).fit(texts)
    X, y = table()
    auditor = kind(LogisticRegression().fit(X, y), sensitive_features=["sex"], random_state=0)
    if kind is FlipTestAuditor:
        auditor.set_params(n_bootstrap=2)
    elif isinstance(auditor, BaseAuditor):
        auditor.set_params(max_queries=100)
    return auditor.fit(X)


def test_looking_asks_the_model_nothing(fitted, asked):
    for name, look in LOOKS.items():
        look(fitted)
        assert asked == [], name


def test_every_fitted_auditor_shows_a_card(fitted, asked):
    for html in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert html.count("skft-card") > 1 and "sk-top-container" in html  # its style and itself
    assert asked == []


@pytest.fixture(scope="module")
def certificate():
    """Not within a test: what watches the model would be seen, and nothing certified."""
    X, y = table()
    model = LogisticRegression().fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=["sex"], max_queries=200, random_state=0)
    return certify(auditor.fit(X))


def test_looking_at_a_certificate_asks_the_model_nothing(certificate, asked):
    for name in ("repr", "str", "HTML", "dir", "every name in dir", "copy", "pickle"):
        LOOKS[name](certificate)
    assert "skft-card" in certificate._repr_html_()
    assert asked == []


def test_results_on_the_data_are_listed_once_they_were_asked_for(asked):
    X, y = table()
    auditor = RandomAuditor(
        LogisticRegression().fit(X, y), sensitive_features=["sex"], max_queries=200, random_state=0
    )
    assert "on_data_degree_" not in dir(auditor)
    auditor.fit(X)
    assert "on_data_degree_" not in dir(auditor) and "fairness_degree_" in dir(auditor)
    asked.clear()
    assert auditor.on_data_degree_ > 0 and asked
    asked.clear()
    assert {"on_data_degree_", "on_data_rate_", "n_data_queries_"} <= set(dir(auditor))
    completed(auditor)
    assert asked == []
    auditor.fit(X)
    assert "on_data_degree_" not in dir(auditor)


def test_dir_lists_what_is_there():
    assert "predict_proba" in dir(RandomAuditor(LogisticRegression()))
    assert "fairness_degree_" not in dir(RandomAuditor(LogisticRegression()))
    unfitted = dir(BaseAuditor(estimator=None))
    assert "predict_proba" not in unfitted and {"fit", "estimator", "audit_rows"} <= set(unfitted)


@slow_sample
def test_looking_at_a_retrainer_asks_the_model_nothing(asked):
    X, y = table()
    auditor = AequitasAuditor(sensitive_features="sex", max_queries=500)
    retrainer = FairnessRetrainer(
        LogisticRegression(), auditor, max_rounds=1, max_score_drop=1.0,
        random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MitigationWarning)
        retrainer.fit(X, y)
    asked.clear()
    for look in LOOKS.values():
        look(retrainer)
    assert asked == []
