"""Certificates of linear models and networks hold over the interval of a real sensitive column."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from certify_cases import in_turn
from clocks import CLOCK, STEP
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from tiers import slow_sample

from skfairtest import CertifiedAuditor, InputSpace

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

UNITS = {"max_iter": 200, "random_state": 0}
MODELS = {
    "linear": LinearRegression(),
    "svc": LinearSVC(random_state=0),
    "logistic": LogisticRegression(),
    "three classes": LogisticRegression(),
    "network": MLPRegressor(hidden_layer_sizes=(4,), **UNITS),
    "deep network": MLPRegressor(hidden_layer_sizes=(4, 3), **UNITS),
    "network of classes": MLPClassifier(hidden_layer_sizes=(4,), **UNITS),
}


def make_table(rng, kind, n=80):
    """Columns u (sensitive: real, of single precision, or a long range), v and w."""
    u = rng.integers(0, 10**9, n) if kind == "integer" else rng.uniform(-3, 1000, n)
    X = pd.DataFrame({"u": u, "v": rng.normal(size=n), "w": rng.integers(0, 3, n)})
    if kind == "single":
        X["u"] = X["u"].astype(np.float32)
    z = (X["u"] - X["u"].mean()) / X["u"].std()
    return X, (np.maximum(z, 0.2) * (X["v"] > 0) + X["w"] * z + 0.1 * X["v"]).to_numpy()


def make_model(name, rng, X, y):
    scale = StandardScaler()
    if rng.random() < 0.3:  # one column twice, once with a bend: the ends no longer decide
        scale = make_column_transformer(
            (MinMaxScaler((0, 2), clip=True), ["u", "v"]), (StandardScaler(), ["u", "v", "w"])
        )
    if "classes" in name or name in ("svc", "logistic"):
        y = np.digitize(y, np.quantile(y, [0.3, 0.6] if "classes" in name else [0.5]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(scale, MODELS[name]).fit(X, y)


def answers(model, X):
    for method in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(X).reshape(len(X), -1)
    raise AssertionError("no method")


def dense_degree(model, X, rng, n_values=1001):
    """Largest difference over a dense grid of the sensitive column, and its values in the data."""
    low, high = X["u"].min(), X["u"].max()
    grid = np.concatenate([np.linspace(low, high, n_values), X["u"]]).astype(X["u"].dtype)
    free = X.sample(20, random_state=int(rng.integers(2**31)))[["v", "w"]]
    corners = [{"v": X["v"].agg(end), "w": w} for end in ("min", "max") for w in (0, 1, 2)]
    degree = 0.0
    for row in free.to_dict("records") + corners:
        outputs = answers(model, pd.DataFrame({"u": grid, "v": row["v"], "w": int(row["w"])}))
        degree = max(degree, float((outputs.max(axis=0) - outputs.min(axis=0)).max()))
    return degree


def check_interval(name, kind, seed):
    rng = np.random.default_rng(seed)
    X, y = make_table(rng, kind)
    model = make_model(name, rng, X, y)
    # Gaps of networks may stay open.
    CLOCK.step = 0.01 if "network" in name else STEP
    auditor = CertifiedAuditor(
        model, sensitive_features="u", max_queries=200, max_time=0.4, random_state=seed
    ).fit(X)
    degree = dense_degree(model, X, rng)
    assert degree <= auditor.fairness_degree_upper_bound_ * (1 + 1e-12)
    if name in ("linear", "svc", "logistic"):
        assert auditor.certified_, auditor.stop_reason_
        assert auditor.fairness_degree_ >= degree * (1 - 1e-9)
    if auditor.worst_case_ is not None:
        first, second = answers(model, auditor.worst_case_)
        assert np.abs(first - second).max() == pytest.approx(auditor.fairness_degree_, rel=1e-9)
        assert auditor.worst_case_["u"].between(X["u"].min(), X["u"].max()).all()


@pytest.mark.parametrize(
    ("name", "kind"), in_turn(MODELS, {kind: kind for kind in ("real", "single", "integer")})
)
def test_the_interval_is_covered(name, kind):
    check_interval(name, kind, 3)


@slow_sample
@settings(max_examples=6, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    kind=st.sampled_from(["real", "single", "integer"]),
    seed=st.integers(0, 2**31),
)
def test_the_interval_is_covered_sample(name, kind, seed):
    check_interval(name, kind, seed)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    kind=st.sampled_from(["real", "single", "integer"]),
    seed=st.integers(0, 2**31),
)
def test_the_interval_is_covered_thousands(name, kind, seed):
    check_interval(name, kind, seed)


def test_a_bend_inside_the_interval_is_found():
    # Rises to 40 and falls again: neither end of the interval shows it, nor does a grid of steps.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 40.07, 200), rng.integers(0, 3, 200)])
    rise = make_column_transformer(
        (MinMaxScaler(clip=True), [0]), (StandardScaler(), [0]), remainder="passthrough"
    )
    model = make_pipeline(rise, LinearRegression()).fit(X, X[:, 0])
    model[-1].coef_, model[-1].intercept_ = np.array([6.0, -1.0, 0.5]), 0.0
    auditor = CertifiedAuditor(
        model, sensitive_features=[0], random_state=0, space=InputSpace(bounds={0: (0.0, 100.0)})
    ).fit(X)
    top = X[:, 0].max()
    parts = model.predict(np.column_stack([[0.0, top, 100.0], np.zeros(3)]))
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(max(parts) - min(parts), rel=1e-9)
    assert parts[1] == max(parts)


@slow_sample
def test_small_networks_are_closed_on_an_interval():
    rng = np.random.default_rng(0)
    X, y = make_table(rng, "real")
    model = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(3,), **UNITS))
    auditor = CertifiedAuditor(model.fit(X, y), sensitive_features="u", random_state=0).fit(X)
    assert auditor.certified_
    assert dense_degree(model, X, rng) <= auditor.fairness_degree_upper_bound_


# Exactness, and rounding -------------------------------------------------------------------


@pytest.mark.parametrize("widths", [(5000,), (5000, 90_000), (5000, 10**6)])
def test_logistic_models_with_long_columns_are_exact(widths):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.integers(0, 2, 400)})
    for k, width in enumerate(widths):
        X[f"w{k}"] = rng.integers(0, width, 400)
        X.loc[:1, f"w{k}"] = [0, width - 1]
    score = sum(X[f"w{k}"] / width for k, width in enumerate(widths))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, score > score.median())
    auditor = CertifiedAuditor(model, sensitive_features="s", random_state=0).fit(X)
    assert auditor.certified_, auditor.gap_
    assert auditor.gap_ <= 1e-9 * auditor.fairness_degree_
    if len(widths) == 1:
        table = pd.DataFrame({"s": 0, "w0": np.arange(5000)})
        gaps = model.predict_proba(table.assign(s=1)) - model.predict_proba(table)
        assert auditor.fairness_degree_ == pytest.approx(np.abs(gaps).max(), rel=1e-12)


@pytest.mark.parametrize(
    "model", [SVC(kernel="linear"), SVR(kernel="linear", max_iter=500), LinearSVC()]
)
def test_rounding_follows_the_size_of_the_terms(model):
    # Support vectors of about 1e5 make terms of about 1e9, which cancel to scores of about one.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.normal(1e5, 1e4, 300)])
    y = X[:, 1] / 1e4 + X[:, 0] if isinstance(model, SVR) else X[:, 1] + X[:, 0] > 1e5
    auditor = CertifiedAuditor(model.fit(X, y), sensitive_features=[0], random_state=0).fit(X)
    assert auditor.fairness_degree_ <= auditor.fairness_degree_upper_bound_
    assert auditor.gap_ <= 0.1 * auditor.fairness_degree_upper_bound_ + 1e-9
