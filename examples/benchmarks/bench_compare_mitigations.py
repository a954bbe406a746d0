"""Methods of mitigation side by side: `compare_mitigations` on four tables and six models.

The models are those of bench_mitigate.py, the classifiers of the Aequitas paper's Table 2. Tables:
the coded census data with the papers' domains (sex), adult as it is with one-hot encoders (sex and
race), german (sex), and communities, whose target is 0 or 1 in the file or cut at its upper 29
percent (racepctblack, a share, of which all values of the table's two decimals are twins).

One line a method: accuracy and AUC and their paired changes in points, the shares of inputs whose
twins are treated differently in percent (rows held out, near them, the whole domain), the largest
difference of twins found and its certified bound, differences between groups, the worst group's
accuracy, and the times. ``--csv`` writes all columns; a file that is there is read, and what it
has is not run again.

Needs the folder of SKFAIRTEST_DATA; fairlearn's methods need fairlearn. Run with
``python examples/benchmarks/bench_compare_mitigations.py``.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _machine import describe_machine
from bench_equal_time import BOUNDS
from bench_mitigate import classifiers, pipeline

from skfairtest import InputSpace, compare_mitigations
from skfairtest.datasets import fetch_adult, fetch_communities, fetch_german_credit

TABLES = ("census", "adult", "german", "communities")
#: Short names of the models, in the order of bench_mitigate.py.
MODELS = ("logistic", "SVM", "MLP", "forest", "tree", "ensemble")
#: An SVM's time grows with the square of its rows.
SVM_ROWS = 8000
KEYS = ["data", "model", "method"]


def load(name, rows, seed):
    """Rows, labels and the domain of a table."""
    bounds, mixed = None, False
    if name == "census":
        X, y = fetch_adult(coded=True, return_X_y=True)
        X, sensitive, bounds = X.astype(float), ["sex"], BOUNDS
    elif name == "adult":
        X, y = fetch_adult(return_X_y=True)
        X, sensitive, mixed = X.drop(columns="fnlwgt"), ["sex", "race"], True
    elif name == "german":
        X, y = fetch_german_credit(return_X_y=True)
        sensitive, mixed = ["sex"], True
    else:
        X, y = fetch_communities(return_X_y=True)
        X, sensitive = X.fillna(X.median()), ["racepctblack"]
        if y.nunique() > 2:
            y = (y > y.quantile(1 - 0.29)).astype(int)
    chosen = np.random.default_rng(seed).permutation(len(X))[:rows]
    X, y = X.iloc[chosen].reset_index(drop=True), np.asarray(y)[chosen]
    return X, y, InputSpace(bounds=bounds, one_hot=None).fit(X, sensitive), mixed


def figures(row):
    """One line of the table."""

    def points(name, width=6, digits=1):
        return f"{100 * row[name]:{width}.{digits}f}"

    if not np.isfinite(row["accuracy"]):
        return f"  -  {row['note']}"
    parts = []
    for score in ("accuracy", "auc"):
        parts.append(
            f"{points(score)} {points(score + '_change', 5)} "
            f"[{points(score + '_change_low', 5)},{points(score + '_change_high', 5)}]"
        )
    parts.append(" ".join(points(f"share_{place}", 6, 2) for place in ("rows", "near", "uniform")))
    parts.append(f"{row['degree']:5.2f} {row['degree_bound']:5.2f}")
    parts.append(points("demographic_parity_difference") + points("equalized_odds_difference"))
    parts.append(points("worst_group_accuracy"))
    parts.append(f"{row['fit_seconds']:7.1f} {row['predict_ratio']:5.1f}")
    return "  ".join(parts) + f"  {row['note']}"


HEAD = (
    f"{'':22}  {'accuracy, change':26}  {'AUC, change':26}  {'rows   near   uniform':20}  "
    f"{'degree bound':11}  {'parity odds':12}  {'worst':6}  {'fit s':>7} {'times':>5}"
)


def run(data, model, options, done):
    """The table of one model on one set of rows; methods that are done are left out."""
    rows = min(options.rows, SVM_ROWS) if model == "SVM" else options.rows
    X, y, space, mixed = load(data, rows, options.seed)
    estimator = list(classifiers(options.seed).values())[MODELS.index(model)]
    methods = [name for name in options.methods if (data, model, name) not in done]
    began = time.perf_counter()
    table = compare_mitigations(
        pipeline(estimator) if mixed else estimator,
        X,
        y,
        space=space,
        methods=methods,
        cv=options.folds,
        n_inputs=options.inputs,
        max_queries=options.queries,
        certify_time=options.certify_time,
        n_jobs=options.jobs,
        random_state=options.seed,
    )
    print(
        f"\n{data}, {model}: {len(X)} rows, {options.folds} folds, {space.sensitive_features}, "
        f"{time.perf_counter() - began:.0f} s\n{HEAD}",
        flush=True,
    )
    for name, row in table.iterrows():
        print(f"{name:22}{figures(row)}", flush=True)
    return table.reset_index().assign(data=data, model=model)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=TABLES, choices=TABLES)
    parser.add_argument("--models", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--methods", nargs="*", default=None, help="names; all by default")
    parser.add_argument("--rows", type=int, default=4000, help="rows of a table at most")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs near, and uniform ones")
    parser.add_argument("--queries", type=int, default=20_000, help="of one audit of a retrainer")
    parser.add_argument("--certify-time", type=float, default=2.0, help="seconds for one model")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", type=Path, help="file of all columns, read and written")
    options = parser.parse_args()
    if options.methods is None:
        from skfairtest.mitigation._comparison.methods import METHODS

        options.methods = list(METHODS)
    warnings.simplefilter("ignore")
    print(describe_machine())
    tables = [pd.read_csv(options.csv)] if options.csv and options.csv.exists() else []
    done = {tuple(row) for table in tables for row in table[KEYS].to_numpy()}
    for data in options.data:
        for model in options.models:
            if all((data, model, name) in done for name in options.methods):
                continue
            tables.append(run(data, model, options, done))
            if options.csv:
                whole = pd.concat(tables).drop_duplicates(KEYS, keep="first")
                whole.to_csv(options.csv, index=False)


if __name__ == "__main__":
    main()
