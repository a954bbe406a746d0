"""Models whose degree can be certified, for the benchmarks of searches.

Each builder returns a fitted model, its table, and the sensitive columns.
"""

import numpy as np
from bench_certify import as_codes, boosted, mixed_table, one_hot

from skfairtest.datasets import (
    fetch_adult,
    fetch_bank_marketing,
    fetch_communities,
    fetch_german_credit,
)


def table(n_columns, n_values, seed, n_rows=5000):
    """Mixed columns, the first one sensitive; it matters where others have certain values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] = rng.integers(0, n_values, n_rows)
    for j in range(1, n_columns):
        kind = rng.integers(4)
        if kind < 2:
            X[:, j] = rng.integers(0, rng.integers(2, 9) if kind else rng.integers(20, 90), n_rows)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = Z[:, 1:] @ (rng.normal(size=n_columns - 1) * (rng.random(n_columns - 1) < 0.6))
    for _ in range(max(3, n_columns // 5)):
        a, b, c, d = rng.integers(1, n_columns, size=4)
        wave = np.sin(rng.normal() * Z[:, a] + rng.normal())
        y += Z[:, 0] * wave * (Z[:, b] > 0.7 * rng.normal()) + 0.5 * Z[:, c] * Z[:, d]
    return X, y + 0.3 * rng.normal(size=n_rows)


def crime(model, sensitive):
    """A regressor; the share of one group is the sensitive column, a real number."""
    X, y = fetch_communities(return_X_y=True)
    X = X.fillna(X.median())
    return model.fit(X, y), X, [sensitive]


def german(model, sensitive="sex"):
    """A classifier behind one-hot categories."""
    X, y = fetch_german_credit(return_X_y=True)
    texts = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(texts, "category"))
    return one_hot(model).fit(X, y == "good"), X, [sensitive]


def adult(model, sensitive=("sex", "race")):
    """A classifier behind one-hot categories; with both sensitive columns, ten twins."""
    X, y = fetch_adult(return_X_y=True)
    X, y = X.iloc[:8000].drop(columns="fnlwgt"), y.iloc[:8000]
    texts = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(texts, "category"))
    for name in texts[X[texts].isna().any()]:
        X[name] = X[name].cat.add_categories("missing").fillna("missing")
    return one_hot(model).fit(X, y == ">50K"), X, list(sensitive)


def bank(model, sensitive=("marital",)):
    """A classifier of whole numbers."""
    X, y = fetch_bank_marketing(return_X_y=True)
    X, y = X.iloc[::5].astype(float), y.iloc[::5]
    return model.fit(X, y), X, list(sensitive)


def made_up(n_columns, seed, model, classes, n_rows=2000, encoded=as_codes):
    """A mixed table with a sensitive column of two values."""
    X, number = mixed_table(n_columns, n_rows, seed)
    y = (number > np.median(number)).astype(int) if classes else number
    return encoded(model).fit(X, y), X, ["sex"]


def wide(n_columns, n_values, seed, model, classes=False):
    """A table of numbers, whose sensitive column has so many values."""
    X, y = table(n_columns, n_values, seed=seed)
    return model.fit(X, y > np.median(y) if classes else y), X, [0]


def xgboost(kind, **settings):
    """A model of XGBoost."""
    return boosted("xgboost", kind, **settings)


def lightgbm(kind, n_estimators=60, num_leaves=15):
    """A model of LightGBM."""
    return boosted("lightgbm", kind, n_estimators=n_estimators, num_leaves=num_leaves, verbose=-1)
