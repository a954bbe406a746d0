"""skrub: models behind its vectorizer and its scaler are read, and bounds of them hold."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from boosting_cases import enumerated_degree
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from skfairtest import CertifiedAuditor
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._verifier import SolverLimits
from skfairtest.oracle._model import Model, choose_response
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._steps import is_rounded

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.services("skrub")]

#: skrub makes numbers of single precision.
SINGLE = 1e-5
WORDS = [a + b + c for a in ("pro", "con") for b in ("ject", "tract") for c in ("ion", "ing", "s")]


def pipeline(model):
    from skrub import tabular_pipeline

    return tabular_pipeline(model)


def vectorized(model, **settings):
    from skrub import TableVectorizer

    return make_pipeline(TableVectorizer(**settings), model)


def frame(n=150, *, real=True, times=True):
    """Columns of all kinds that the vectorizer tells apart, and a target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "s": rng.choice(["a", "b", "c"], n),
            "k": rng.integers(0, 5, n),
            "word": rng.choice(WORDS, n),
            "amount": rng.choice(["1", "2", "N/A", "7.5"], n),
        }
    )
    y = (X["s"] == "a") * X["k"] + X["word"].str.len()
    if real:
        X["x"] = rng.normal(30, 10, n)
        y += (X["s"] == "b") * X["x"] / 10
        X["x"] = X["x"].mask(rng.random(n) < 0.1)
    if times:
        days = rng.integers(0, 40, n)
        X["day"] = pd.Timestamp("2024-01-11") + pd.to_timedelta(days, "D")
        y += days / 10
    return X, y.to_numpy(dtype=float)


def certified(model, X, sensitive):
    """The verifier of a fitted model, its space, the result, and the response asked for."""
    space, response = InputSpace().fit(X, sensitive), choose_response(model, "auto")
    verifier, _ = read_verifier(model, space, response, False, np.random.default_rng(0))
    return verifier, space, verifier.solve(0.0, SolverLimits(np.inf, 1e-9)), response


def encoders():
    from skrub import DatetimeEncoder, GapEncoder, MinHashEncoder, StringEncoder, ToCategorical

    forest = RandomForestClassifier(3, max_depth=4, random_state=0)
    few = {"cardinality_threshold": 5}
    return {
        "boosting": pipeline("classifier"),
        "boosting, a number": pipeline("regressor"),
        "forest": pipeline(forest),
        "linear": pipeline(LogisticRegression()),
        "linear, a number": pipeline(Ridge()),
        "strings": vectorized(forest, high_cardinality=StringEncoder(n_components=4), **few),
        "topics": vectorized(forest, high_cardinality=GapEncoder(n_components=3), **few),
        "hashes": vectorized(forest, high_cardinality=MinHashEncoder(n_components=3), **few),
        "circles": vectorized(forest, datetime=DatetimeEncoder(periodic_encoding="circular")),
        "scaled": vectorized(forest, numeric=StandardScaler()),
        "own column": vectorized(
            pipeline("classifier")[-1], low_cardinality=ToCategorical(),
            specific_transformers=[(ToCategorical(), ["word"])],
        ),
    }  # fmt: skip


NAMES = [
    "boosting", "boosting, a number", "forest", "linear", "linear, a number", "strings", "topics",
    "hashes", "circles", "scaled", "own column",
]  # fmt: skip


#: Each takes seconds, most of them in skrub.
SOME = [
    pytest.param(name, marks=[] if name in ("boosting", "linear") else pytest.mark.slow)
    for name in NAMES
]


@pytest.mark.parametrize("name", SOME)
def test_bounds_are_the_largest_difference(name):
    X, y = frame(real=False, times=name == "circles")
    X = X.drop(columns="amount") if name == "circles" else X
    model = encoders()[name]
    model.fit(X, y if name.endswith("number") else y > np.median(y))
    verifier, space, result, response = certified(model, X, ["s"])
    degree = enumerated_degree(model, space, response)
    assert degree > 0
    assert result.lower == pytest.approx(degree, rel=SINGLE)
    assert result.upper == pytest.approx(degree, rel=SINGLE)


@pytest.mark.parametrize("name", SOME)
def test_real_columns_missing_values_and_times(name):
    X, y = frame()
    model = encoders()[name]
    model.fit(X, y if name.endswith("number") else y > np.median(y))
    verifier, space, result, response = certified(model, X, ["s"])
    assert result.upper - result.lower <= 0.01 * result.upper
    asked = Model(model, space, response_method="auto", n_jobs=None)
    asked.response = response
    one, two = asked.ask(np.stack(result.twins))[0]
    assert np.abs(one - two).max() == pytest.approx(result.lower, rel=SINGLE)
    rng = np.random.default_rng(1)
    Z, other = verifier.rows(500, rng), space.domain.draw(500, rng)
    other[:, space.non_sensitive] = Z[:, space.non_sensitive]
    gaps = np.abs(asked.ask(Z)[0] - asked.ask(other)[0])
    assert gaps.max() <= result.upper * (1 + SINGLE)
    assert gaps.max() > 0


def test_the_auditor_certifies_a_pipeline():
    X, y = frame(real=False, times=False)
    model = pipeline("classifier").fit(X, y > np.median(y))
    assert CertifiedAuditor.supports(model)
    auditor = CertifiedAuditor(model, sensitive_features=["s"], random_state=0).fit(X)
    assert auditor.certified_
    assert auditor.fairness_degree_ > 0


def test_a_scaler_that_squashes_takes_a_little_back():
    from skrub import SquashingScaler

    x = np.linspace(0, 100, 100_000, dtype=np.float32)[:, None]
    step = SquashingScaler().fit(x[:1000])
    steps = np.diff(step.transform(x)[:, 0])
    assert 0 < -steps.min() < 1e-6
    assert is_rounded(step)


# What is refused -----------------------------------------------------------------------------


class OwnScaler(StandardScaler):
    """A class of the user's own."""


def refused(model, X, message):
    """What a certificate, and `supports`, say of a model behind a step that is not understood."""
    assert re.search(message, str(CertifiedAuditor.supports(model)))
    model.fit(X, X["k"] > 2)
    assert re.search(message, str(CertifiedAuditor.supports(model)))
    with pytest.raises(ValueError, match=message):
        certified(model, X, ["s"])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (PolynomialFeatures(), "PolynomialFeatures.*is not understood"),
        (OwnScaler(), "OwnScaler is a class of"),
    ],
)
def test_steps_inside_that_are_not_understood(step, message):
    X, _ = frame(real=False, times=False)
    X["amount"] = X["k"] + 1
    refused(vectorized(pipeline("classifier")[-1], numeric=step), X, message)


def test_steps_of_single_columns_outside_of_a_vectorizer():
    from skrub import ApplyToCols

    X, _ = frame(real=False, times=False)
    model = make_pipeline(ApplyToCols(StandardScaler(), cols=["k"]), pipeline("classifier"))
    refused(model, X, "ApplyToCols of skrub is not understood. Expected TableVectorizer")


def test_columns_with_too_many_values_to_be_listed():
    X, y = frame(real=False, times=False)
    X["n"] = np.random.default_rng(1).permutation(9999)[: len(X)]
    one_hot = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    model = vectorized(pipeline("classifier")[-1], numeric=one_hot).fit(X, y > 3)
    with pytest.raises(ValueError, match="encodes the column 'n' by OneHotEncoder"):
        certified(model, X, ["s"])


def test_a_method_that_was_replaced():
    X, y = frame(real=False, times=False)
    model = pipeline("classifier").fit(X, y > 3)
    model[0].transform = model[0].transform
    assert "transform that was replaced" in CertifiedAuditor.supports(model).reason
