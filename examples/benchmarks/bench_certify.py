"""Certificates of models at their defaults: found over bound, warm and on a first use.

Each cell is the median over made-up mixed tables (one for each seed) of 12, 25 and 40 columns, with
a sensitive column of two values: the largest disparity found, divided by its upper bound, or the
seconds until the two met. Forests get their categories as ordinal codes, boosted trees as pandas
categories, networks and logistic regression one-hot and scaled. Below stand the wine data (three
classes, `alcohol` as the sensitive column) and the diabetes data (`sex`). The columns are

* warm: in a process in which a small certificate has compiled everything;
* first call, with ``--first-use``: in a new process that finds nothing compiled (an empty, new
  NUMBA_CACHE_DIR);
* second call: in another new process, right after the first one, with the cache that it left.

Run with ``python examples/benchmarks/bench_certify.py --first-use --seeds 0 1 2 3 4``. Each
certificate takes up to `--max-time` seconds; ``--models`` and ``--columns`` choose rows.
"""

import argparse
import contextlib
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from skfairtest import CertifiedAuditor

SIZES = (12, 25, 40)
SETS = ("wine", "diabetes")
ONE_CALL = "--one-call"


def mixed_table(n_columns, n_rows, seed):
    """Columns of many kinds, a number that depends on them, and moderately on `sex`."""
    rng = np.random.default_rng(seed)
    effect = np.zeros(n_rows)
    columns = {"sex": rng.choice(["female", "male"], n_rows)}
    makers = [_category, _whole_number, _real, _skewed, _real]
    for k in range(n_columns - 1):
        name, values, adds = makers[k % len(makers)](rng, n_rows)
        columns[f"{name}_{k}"] = values
        effect += rng.normal() * adds
    X = pd.DataFrame(columns)
    X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number").columns, "category"))
    male = (X["sex"] == "male").to_numpy()
    noise = effect.std() * rng.normal(size=n_rows)
    sometimes = X[X.columns[3]].to_numpy() > 0
    return X, effect + effect.std() * (0.3 * male + 0.3 * male * sometimes) + 0.3 * noise


def _category(rng, n):
    levels = rng.integers(3, 10)
    codes = rng.choice(levels, n, p=rng.dirichlet(np.full(levels, 3.0)))
    names = np.array([f"level {k}" for k in range(levels)], dtype=object)
    return "category", names[codes], rng.normal(size=levels)[codes]


def _whole_number(rng, n):
    if rng.random() < 0.5:
        ages = rng.integers(18, 80, n)
        return "age", ages, np.sin(ages / 10)
    counts = rng.poisson(rng.uniform(0.5, 6), n)
    return "count", counts, np.sqrt(counts)


def _real(rng, n):
    values = rng.normal(size=n)
    return "real", values, values if rng.random() < 0.7 else np.maximum(values, 0.5)


def _skewed(rng, n):
    amounts = rng.lognormal(7, 1, n).round(2)
    return "amount", amounts, np.log(amounts) - 7


def as_codes(model):
    """The model behind ordinal codes of the categories."""
    codes = (OrdinalEncoder(), make_column_selector(dtype_include="category"))
    return make_pipeline(make_column_transformer(codes, remainder="passthrough"), model)


def one_hot(model):
    """The model behind one-hot categories and scaled numbers."""
    hot = (OneHotEncoder(), make_column_selector(dtype_include="category"))
    return make_pipeline(make_column_transformer(hot, remainder=StandardScaler()), model)


def as_it_is(model):
    """The model by itself."""
    return model


def network(kind):
    """A network of two hidden layers."""
    return kind(hidden_layer_sizes=(32, 16), max_iter=300, random_state=0)


def boosted(library, kind, **settings):
    """A classifier of a library that may be missing, at its defaults."""
    return getattr(importlib.import_module(library), kind)(random_state=0, **settings)


#: Makes a model; what stands before it; whether it predicts classes.
MODELS = {
    "forest": (lambda: RandomForestClassifier(random_state=0), as_codes, True),
    "forest regressor": (lambda: RandomForestRegressor(random_state=0), as_codes, False),
    "XGBoost": (
        lambda: boosted("xgboost", "XGBClassifier", enable_categorical=True), as_it_is, True),
    "LightGBM": (lambda: boosted("lightgbm", "LGBMClassifier", verbose=-1), as_it_is, True),
    "histogram boosting": (
        lambda: HistGradientBoostingClassifier(random_state=0), as_it_is, True),
    "network": (lambda: network(MLPClassifier), one_hot, True),
    "logistic": (lambda: LogisticRegression(max_iter=1000), one_hot, True),
}  # fmt: skip


def fitted(name, data, n_rows, seed):
    """A fitted model, its table, the sensitive column."""
    if data == "wine":
        X, y = load_wine(return_X_y=True, as_frame=True)
    elif data == "diabetes":
        X, y = load_diabetes(return_X_y=True, as_frame=True)
    else:
        X, number = mixed_table(int(data), n_rows, seed)
        y = (number > np.median(number)).astype(int) if MODELS[name][2] else number
    make, before, _ = MODELS[name]
    model = network(MLPRegressor) if data == "diabetes" else make()
    return before(model).fit(X, y), X, {"wine": "alcohol"}.get(data, "sex")


def rows_of_the_table(asked):
    """Name of the model, data, seeds."""
    for name in asked.models:
        for data in asked.columns:
            if data == "wine" and name not in ("histogram boosting", "logistic", "network"):
                continue
            if data == "diabetes" and name != "network":
                continue
            yield name, data, asked.seeds[:1] if data in SETS else asked.seeds


def certificate(case, max_time, n_jobs=None, engine="auto"):
    """What one audit says: found over bound, whether they met, seconds."""
    model, X, sensitive = case
    auditor = CertifiedAuditor(
        model, sensitive_features=sensitive, max_time=max_time, n_jobs=n_jobs, engine=engine,
        random_state=0,
    )  # fmt: skip
    began = time.perf_counter()
    auditor.fit(X)
    seconds = time.perf_counter() - began
    bound = auditor.fairness_degree_upper_bound_
    ratio = auditor.fairness_degree_ / bound if bound else 1.0
    return {"ratio": ratio, "closed": auditor.certified_, "seconds": seconds}


def in_new_process(case, max_time, n_jobs, folder):
    """The same in a process of its own, which keeps its compiled code in the folder."""
    asked, said = folder / "asked.joblib", folder / "said.joblib"
    joblib.dump((case, max_time, n_jobs), asked)
    # Whatever goes on to compile after the call must not be waited for, so there is no pipe.
    subprocess.run(
        [sys.executable, __file__, ONE_CALL, str(asked), str(said)], check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled")}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return joblib.load(said)


def one_call(asked, said):
    """What the new process does."""
    warnings.simplefilter("ignore")
    joblib.dump(certificate(*joblib.load(asked)), said)


def wait_for_compilers(folder):
    """Wait for processes that go on compiling after a call, as they would slow the next row."""
    mark = f"NUMBA_CACHE_DIR={folder / 'compiled'}".encode()

    def compiles(process):
        with contextlib.suppress(OSError):  # it has ended, or belongs to somebody else
            return mark in (process / "environ").read_bytes()
        return False

    while any(map(compiles, Path("/proc").glob("[0-9]*"))):  # on Linux alone
        time.sleep(1.0)


def measured(name, data, seed, asked):
    """The certificates of one model: warm, and by two new processes."""
    case = fitted(name, data, asked.rows, seed)
    found = [certificate(case, asked.max_time, asked.n_jobs)]
    if asked.first_use:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            folder = Path(place)
            limits = (asked.max_time, asked.n_jobs, folder)
            found += [in_new_process(case, *limits) for _ in range(2)]
            wait_for_compilers(folder)
    return found


def in_words(ratio):
    """A ratio that is not shown as 1 where it is less."""
    return "above 0.9999" if ratio > 0.9999 else f"{ratio:.4f}" if ratio > 0.99 else f"{ratio:.3f}"


def cell(found):
    """The certificates over the seeds as the cell of a table."""
    closed = [one["seconds"] for one in found if one["closed"]]
    if len(closed) == len(found):
        spread = f" ({min(closed):.1f} to {max(closed):.1f})" if len(closed) > 1 else ""
        return f"closed {np.median(closed):.1f} s{spread}"
    ratios = [one["ratio"] for one in found]
    longest = max(one["seconds"] for one in found)
    spread = f" ({in_words(min(ratios))} to {in_words(max(ratios))})" if len(ratios) > 1 else ""
    some = f", {len(closed)} of {len(found)} closed" if closed else ""
    return f"{in_words(np.median(ratios))}{spread}{some}, {longest:.1f} s"


def describe_run(asked):
    """Machine, versions, load and settings."""
    versions = []
    for library in ("numba", "xgboost", "xgboost-cpu", "lightgbm"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{library} {importlib.metadata.version(library)}")
    print(f"{describe_machine()}, {', '.join(versions)}")
    print(
        f"max_time={asked.max_time:g}, n_jobs={asked.n_jobs}, {asked.rows} rows, seeds "
        f"{asked.seeds}; load of the machine before: {os.getloadavg()[0]:.1f}\n"
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    kinds = [*map(str, SIZES), *SETS]
    parser.add_argument("--columns", nargs="+", choices=kinds, default=kinds, help="or a data set")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="of tables")
    parser.add_argument("--rows", type=int, default=4000, help="of a table")
    parser.add_argument("--max-time", type=float, default=30.0)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--first-use", action="store_true", help="two new processes as well")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    describe_run(asked)
    if {*asked.models} - {"network", "logistic"}:
        for name in ("forest", "forest regressor", "histogram boosting"):
            certificate(fitted(name, str(SIZES[0]), 300, 0), 5.0, engine="numba")
    heads = ["model", "columns", "warm"]
    heads += ["first use, first call", "second call"] if asked.first_use else []
    print(f"| {' | '.join(heads)} |\n{'| --- ' * len(heads)}|")
    for name, data, seeds in rows_of_the_table(asked):
        found = [measured(name, data, seed, asked) for seed in seeds]
        cells = [cell(column) for column in zip(*found, strict=True)]
        print(f"| {name} | {data} | {' | '.join(cells)} |", flush=True)
    print(f"\nload of the machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    if sys.argv[1:2] == [ONE_CALL]:
        one_call(*sys.argv[2:])
    else:
        main()
