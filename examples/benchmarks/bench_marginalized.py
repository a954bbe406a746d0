"""Averaging the sensitive columns out, beside dropping them: accuracy, AUC and time.

For two public tables and three models: the model as trained with all columns; trained without
the sensitive ones ("dropped"); and `MarginalizedClassifier` with strength 0.5 and 1, with the
weights of the training data and with uniform ones. Accuracy and AUC are those on a quarter of the
rows that had no part in the training, means over splits; behind them, in points, the mean paired
difference from the original and its standard error over the splits. "apart" is the share of test
rows with a twin that gets another label, among all that are averaged over. "groups" is the
difference between the mean probabilities of the two groups of the first sensitive column (an age
below the median or not), in points: treating twins alike does not make it 0. "time" is that of
`predict_proba` on the test rows, divided by the original model's (the fastest of three calls,
median over the splits); next to it, the number of values that are averaged over.

In the german table `personal_status` tells the sex, so that the two are averaged out together.

Needs the folder of SKFAIRTEST_DATA. Run with ``python examples/benchmarks/bench_marginalized.py``.
"""

import argparse
import time

import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from skfairtest import MarginalizedClassifier
from skfairtest.datasets import fetch_adult, fetch_german_credit

#: Data, sensitive columns.
TABLES = {
    "adult, sex and race": (fetch_adult, ["sex", "race"]),
    "german, sex": (fetch_german_credit, ["sex", "personal_status"]),
    "german, age": (fetch_german_credit, ["age"]),
}
TEXT = make_column_selector(dtype_exclude="number")
NUMBERS = make_column_selector(dtype_include="number")


def models(seed):
    one_hot = OneHotEncoder(handle_unknown="ignore")
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    linear = make_column_transformer((one_hot, TEXT), (scaled, NUMBERS))
    ordinal = make_column_transformer((codes, TEXT), (SimpleImputer(), NUMBERS))
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=seed)
    return {
        "logistic regression": make_pipeline(linear, LogisticRegression(max_iter=1000)),
        "random forest": make_pipeline(ordinal, forest),
        "boosting": make_pipeline(ordinal, HistGradientBoostingClassifier(random_state=seed)),
    }


def seconds(model, X):
    """Of the fastest of three calls."""
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        model.predict_proba(X)
        taken.append(time.perf_counter() - began)
    return min(taken)


def share_apart(model, X, sensitive, values):
    """Share of rows of which some twin gets another label."""
    tables = [
        X.assign(**dict(zip(sensitive, row, strict=True)))
        for row in values[sensitive].itertuples(index=False)
    ]
    # In one table: what twins have in common is then asked about once.
    labels = model.predict(pd.concat(tables, ignore_index=True)).reshape(len(tables), len(X))
    return (labels != labels[0]).any(axis=0).mean()


def between_groups(p, column):
    """Difference between the mean probabilities of two groups."""
    is_number = pd.api.types.is_numeric_dtype(column)
    group = (column < column.median() if is_number else column == column.iloc[0]).to_numpy()
    return abs(p[group].mean() - p[~group].mean())


def measure(name, fetch, sensitive, seed):
    """Figures of each model and each method, on one split."""
    data = fetch()
    X, y = data.data, (data.target == data.target.unique()[0]).to_numpy()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    found = {}
    for model_name, template in models(seed).items():
        original = template.fit(X, y)
        dropped = models(seed)[model_name].fit(X.drop(columns=sensitive), y)
        methods = {"original": (original, X_test, 1)}
        methods["dropped"] = (dropped, X_test.drop(columns=sensitive), 0)
        for weights in ("data", "uniform"):
            for strength in (0.5, 1.0):
                model = MarginalizedClassifier(
                    FrozenEstimator(original), sensitive_features=sensitive, strength=strength,
                    weights=weights, unseen="ignore",
                ).fit(X, y)  # fmt: skip
                methods[f"{weights}, {strength:g}"] = (model, X_test, len(model.values_))
        values = model.values_
        alone = seconds(original, X_test)
        for method, (model, table, n_values) in methods.items():
            p = model.predict_proba(table)[:, 1]
            found[model_name, method] = [
                100 * np.mean(model.predict(table) == y_test),
                100 * roc_auc_score(y_test, p),
                100 * share_apart(model, table, sensitive, values) if method != "dropped" else 0.0,
                100 * between_groups(p, X_test[sensitive[0]]),
                seconds(model, table) / alone,
                n_values,
            ]
        print(f"  {name}, split {seed}: {model_name} done", flush=True)
    return found


def show(name, runs):
    print(f"\n{name}, {len(runs)} splits")
    print(f"{'model':<20} {'method':<13} {'accuracy':>8} {'change':>12} {'AUC':>6} {'change':>12} "
          f"{'apart':>7} {'groups':>6} {'time':>6} {'values':>6}")  # fmt: skip
    for model, method in runs[0]:
        figures = np.array([run[model, method] for run in runs])
        change = figures[:, :2] - np.array([run[model, "original"] for run in runs])[:, :2]
        error = change.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else [0.0, 0.0]
        mean = figures.mean(axis=0)
        changes = [f"{c:+.2f} ± {e:.2f}" for c, e in zip(change.mean(axis=0), error, strict=True)]
        n_values = np.median(figures[:, 5])
        print(f"{model:<20} {method:<13} {mean[0]:>8.1f} {changes[0]:>12} {mean[1]:>6.1f} "
              f"{changes[1]:>12} {mean[2]:>6.1f}% {mean[3]:>6.1f} {np.median(figures[:, 4]):>6.1f} "
              f"{n_values:>6.0f}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    print(describe_machine())
    for name, (fetch, sensitive) in TABLES.items():
        show(name, [measure(name, fetch, sensitive, seed) for seed in range(options.splits)])


if __name__ == "__main__":
    main()
