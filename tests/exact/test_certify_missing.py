"""Missing values in random tables: certificates, searches and rows, by asking about every input."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample, some

from skfairtest import CertifiedAuditor, Limits, RandomAuditor, audit
from skfairtest.exceptions import NoDisparityWarning

N = 60
TREES = {"max_depth": 3, "random_state": 0}
BINS = {"max_iter": 4, "max_depth": 3, "min_samples_leaf": 3}


def encoded(model, imputer, columns):
    """A model behind an encoder of text and an imputer of numbers."""
    text = [name for name in columns if name == "c"]
    numbers = [name for name in columns if name != "c"]
    steps = make_column_transformer((OneHotEncoder(), text), (imputer, numbers))
    return make_pipeline(steps, model)


PASSED = FunctionTransformer()
MODELS = {
    "histogram boosting": lambda c: encoded(HistGradientBoostingRegressor(**BINS), PASSED, c),
    "a classifier": lambda c: encoded(HistGradientBoostingClassifier(**BINS), PASSED, c),
    "a tree": lambda c: encoded(DecisionTreeRegressor(**TREES), PASSED, c),
    "a forest": lambda c: encoded(RandomForestClassifier(4, **TREES), PASSED, c),
    "extra trees": lambda c: encoded(ExtraTreesRegressor(4, **TREES), PASSED, c),
    "an imputer": lambda c: encoded(
        GradientBoostingRegressor(n_estimators=4, **TREES), SimpleImputer(add_indicator=True), c
    ),
    "a line": lambda c: encoded(Ridge(), SimpleImputer(add_indicator=True), c),
    "a logistic line": lambda c: encoded(LogisticRegression(), SimpleImputer(strategy="median"), c),
    "a network": lambda c: encoded(
        MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", max_iter=30, random_state=0),
        SimpleImputer(add_indicator=True), c,
    ),
}  # fmt: skip
#: Of these nothing lies between two values of the data that is not at one of them.
OF_TREES = list(MODELS)[:6]


def random_table(rng):
    """Columns of every kind with missing values, and which of them are sensitive."""

    def gone(values, share):
        values = np.asarray(values, dtype=float)
        values[rng.random(N) < share] = np.nan
        values[0] = np.nan
        return values

    X = pd.DataFrame({"s": gone(rng.choice([[1.5, 2.5], [0, 1]][rng.integers(2)], N), 0.2)})
    X["i"] = gone(rng.integers(-2, 3, N), 0.2)
    X["x"] = gone(rng.normal(size=N), 0.3).astype(rng.choice(["float64", "float32"]))
    if rng.random() < 0.5:
        X["w"] = gone(np.append(rng.integers(1, 5000, N - 2), [0, 5000]), 0.3)
    else:
        X["c"] = pd.Series(rng.choice(np.array(["u", "v", None], dtype=object), N), dtype=object)
    sensitive = [["s"], ["s", "i"], ["x"], ["s", "c"] if "c" in X else ["w"]][rng.integers(4)]
    score = np.nan_to_num(X["x"], nan=1.5) * (X["s"].isna() + 0.5) + rng.normal(0, 0.2, N)
    return X, sensitive, score + 2 * X["i"].isna() + np.asarray(X["s"].fillna(3), dtype=float)


def enumerated(model, X, sensitive, most=6_000):
    """The largest difference between twins of all combinations of values in the table."""
    values = []
    for name in X:
        present = X[name].dropna().unique().tolist()
        values.append([*present, None if name == "c" else np.nan])
    names = list(X)
    free = [j for j, name in enumerate(names) if name not in sensitive]
    own = [j for j, name in enumerate(names) if name in sensitive]
    twins = list(itertools.product(*(values[j] for j in own)))
    rows = list(itertools.product(*(values[j] for j in free)))
    if len(rows) * len(twins) > most:
        picked = np.random.default_rng(0).permutation(len(rows))[: most // len(twins)]
        rows = [rows[k] for k in picked]
    columns = dict.fromkeys(names)
    for place, j in enumerate(free):
        columns[names[j]] = [row[place] for row in rows for _ in twins]
    for place, j in enumerate(own):
        columns[names[j]] = [twin[place] for _ in rows for twin in twins]
    table = pd.DataFrame({k: pd.Series(cells, dtype=X[k].dtype) for k, cells in columns.items()})
    outputs = (
        model.predict_proba(table)[:, 1] if hasattr(model, "classes_") else model.predict(table)
    )
    outputs = np.asarray(outputs).reshape(len(rows), len(twins))
    return float(np.ptp(outputs, axis=1).max())


@pytest.mark.parametrize("kind", some(MODELS, 3))
@slow_sample
def test_a_table_with_missing_values(kind):
    check(7, kind)


@slow_sample
@settings(deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(list(MODELS)))
def test_random_tables_with_missing_values(seed, kind):
    check(seed, kind)


def check(seed, kind):
    """The bound holds for every input, of trees it is attained, and no figure is below another."""
    rng = np.random.default_rng(seed)
    X, sensitive, score = random_table(rng)
    model = MODELS[kind](list(X))
    is_classifier = kind in ("a classifier", "a forest", "a logistic line")
    model.fit(X, score > score.median() if is_classifier else score)
    true = enumerated(model, X, sensitive)
    tolerance = 1e-6 * max(1.0, true)
    auditor = CertifiedAuditor(
        model, sensitive_features=sensitive, max_queries=600, max_time=20, rtol=1e-6,
        engine="numpy", random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDisparityWarning)
        auditor.fit(X)
        search = RandomAuditor(
            model, sensitive_features=sensitive, max_queries=300, random_state=0
        ).fit(X)
    upper = auditor.fairness_degree_upper_bound_
    assert upper >= true - tolerance
    assert max(search.fairness_degree_, auditor.on_data_degree_) <= upper + tolerance
    if kind in OF_TREES:
        assert auditor.certified_ and auditor.fairness_degree_ == pytest.approx(upper, rel=1e-5)
        assert auditor.fairness_degree_ >= auditor.on_data_degree_ - tolerance


def test_a_gate_knows_what_missing_values_do():
    """Twins differ most where income is missing: in the domain, and so in the certificate."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 400), "income": rng.normal(30, 8, 400).round(1)})
    X.loc[rng.random(400) < 0.2, "income"] = np.nan
    gone = np.where(X["sex"] == 1, 0.95, 0.05)
    p = np.where(X["income"].isna(), gone, np.where(X["income"] > 30, 0.8, 0.2))
    labels = np.where(rng.random(400) < p, "yes", "no")
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, labels)
    few = RandomAuditor(max_queries=50)
    report = audit(
        model, X, auditor=few, sensitive_features=["sex"], groups=False, max_time=None,
        moved=False, random_state=0, progress=False,
    )  # fmt: skip
    assert report.fairness_degree >= report.on_data_degree > 0.5
    assert report.worst_case["income"].isna().all()
    limits = Limits(max_degree=report.on_data_degree - 0.01)
    assert report.check(limits).status == "exceeded"
