"""Certified fairness degrees beside what testers find: brackets, times, and shares found.

The first table gives, for each model, the certified degree or the bracket and the time it took with
numba and with NumPy alone, and beside it what SBFT and batched random testing find with the same
budget of queries and what flipping the rows of the data shows, as shares of the upper bound. The
second table gives the share that every tester finds at equal budgets. Compiling is not timed; the
compiled branch and bound on trees uses as many threads as there are cores. The
public sets are read from the folder in SKFAIRTEST_DATA, else from OpenML; where neither is there,
their rows are left out.

Run with ``python examples/benchmarks/bench_exact.py``; ``--quick`` leaves the long cases out.
"""

import argparse
import importlib
import importlib.util
import resource
import time
import warnings

import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skfairtest import (
    ADFAuditor,
    AequitasAuditor,
    CertifiedAuditor,
    EIDIGAuditor,
    MAFTAuditor,
    PublishedSBFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
    certify,
)
from skfairtest.datasets import fetch_adult, fetch_communities, fetch_german_credit

TESTERS = {
    "random": RandomAuditor(),
    "SBFT paper": PublishedSBFTAuditor(),
    "SBFT tuned": SBFTAuditor(),
    "Aequitas": AequitasAuditor(),
    "Themis": ThemisAuditor(),
    "SG": SymbolicAuditor(),
    "MAFT": MAFTAuditor(),
    "EIDIG": EIDIGAuditor(),
    "ADF": ADFAuditor(),
    "surrogate": SurrogateAuditor(),
}


def synthetic(n_rows=10_000, n_columns=12, n_values=5, strength=0.3, seed=0):
    """Mixed columns; `strength` scales how much the sensitive one, `x0`, matters.

    Weak effects are the harder ones for forests: noise of single leaves hides them.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    for k, n in enumerate((n_values, 8, 4)):
        X[:, k] = rng.integers(0, n, n_rows)
    X[:, 3], X[:, 4] = rng.integers(18, 80, n_rows), rng.integers(0, 40, n_rows)
    y = X[:, 5:] @ rng.normal(size=n_columns - 5) + 2 * np.sin(X[:, 3] / 10)
    y = y + 1.5 * (X[:, 1] == 3) + 0.5 * X[:, 2] * X[:, 5] + 0.3 * rng.normal(size=n_rows)
    y = y + strength * (X[:, 0] * (X[:, 6] > 0) + 0.5 * (X[:, 0] % 2) * X[:, 7])
    return X, y


def as_frame(X):
    """The same with words in the first three columns."""
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    for name in ("x0", "x1", "x2"):
        frame[name] = ("v" + frame[name].astype(int).astype(str)).astype(object)
    return frame.astype({"x3": int, "x4": int})


def encoded(model, X, y):
    """The model behind one-hot encoding and scaling."""
    texts = X.select_dtypes(exclude="number").columns.tolist()
    numbers = [name for name in X.columns if name not in texts]
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts),
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
    )
    return make_pipeline(encode, model).fit(X, y)


def synthetic_cases(quick):
    """Name, fitted model, table, sensitive columns, seconds."""
    for strength in (0.3, 1.0, 3.0):
        X, y = synthetic(strength=strength)
        tag = f"effect {strength:g}, "
        plain = [
            ("linear", LinearRegression(), 60),
            ("tree", DecisionTreeRegressor(random_state=0), 60),
            ("forest 100 x 6", RandomForestRegressor(100, max_depth=6, random_state=0), 60),
            ("forest 100 x 10", RandomForestRegressor(100, max_depth=10, random_state=0), 60),
            ("boosting 100 x 6", GradientBoostingRegressor(max_depth=6, random_state=0), 60),
            ("histogram boosting", HistGradientBoostingRegressor(random_state=0), 60),
            ("forest 100, full", RandomForestRegressor(100, random_state=0), 60),
        ]
        for name, model, seconds in plain[: 4 if quick else None]:
            yield tag + name, model.fit(X, y), X, [0], seconds
        if quick or strength > 1:
            continue
        frame, labels = as_frame(X), (y > np.median(y)).astype(int)
        forest = RandomForestRegressor(100, max_depth=10, random_state=0)
        yield tag + "one-hot, forest 100 x 10", encoded(forest, frame, y), frame, ["x0"], 60
        forest = RandomForestClassifier(100, max_depth=10, random_state=0)
        yield tag + "one-hot, classifier x 10", encoded(forest, frame, labels), frame, ["x0"], 60
        for units, seconds in (((100,), 5), ((32, 16), 60), ((32, 16, 8, 8), 20)):
            net = MLPRegressor(hidden_layer_sizes=units, max_iter=60, random_state=0)
            yield tag + f"network {units}", encoded(net, frame, y), frame, ["x0"], seconds
        # Other tables and widths, which nothing was tuned on.
        X, y = synthetic(strength=strength, seed=5)
        frame = as_frame(X)
        for units, activation in (((24, 24), "relu"), ((50, 20), "relu"), ((20, 10), "tanh")):
            net = MLPRegressor(
                hidden_layer_sizes=units, activation=activation, max_iter=60, random_state=5
            )
            name = f"network {units}, {activation}, fresh"
            yield tag + name, encoded(net, frame, y), frame, ["x0"], 20
    if not quick:
        X, y = synthetic(5000, 20, 10, strength=1.0)
        for name, depth in (("forest 100 x 10", 10), ("forest 100, full", None)):
            model = RandomForestRegressor(100, max_depth=depth, random_state=0).fit(X, y)
            yield f"20 columns, {name}", model, X, [0], 60


def public_cases(quick):
    """The same on public data."""
    try:
        adult, german, crime = fetch_adult(), fetch_german_credit(), fetch_communities()
    except OSError as error:
        print(f"(no public data: {error})")
        return
    X, y = german.data, german.target
    model = RandomForestClassifier(100, max_depth=10, random_state=0)
    yield "german, forest x 10, sex", encoded(model, X, y), X, ["sex"], 60
    yield "german, logistic, sex+age", encoded(LogisticRegression(), X, y), X, ["sex", "age"], 60
    model = RandomForestClassifier(random_state=0)
    yield "german, forest at its defaults, sex", encoded(model, X, y), X, ["sex"], 60
    X, y = adult.data.iloc[:10_000], adult.target.iloc[:10_000]
    texts = X.select_dtypes(exclude="number").columns
    coded = X.astype(dict.fromkeys(texts, "category"))
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(coded, y)
    yield "adult, histogram, sex+race", model, coded, ["sex", "race"], 60
    yield "adult, logistic, country", encoded(LogisticRegression(), X, y), X, ["native_country"], 60
    if quick:
        return
    for public, sensitive in ((german, ["sex"]), (adult, ["sex", "race"])):
        X, y = public.data.iloc[:10_000], public.target.iloc[:10_000]
        net = MLPClassifier(max_iter=60, random_state=0)
        name = "german" if public is german else "adult"
        yield f"{name}, network (100,), {'+'.join(sensitive)}", encoded(net, X, y), X, sensitive, 5
    model = RandomForestClassifier(30, max_depth=8, random_state=0)
    yield "adult, forest 30 x 8, sex+race", encoded(model, X, y), X, ["sex", "race"], 60
    model = RandomForestClassifier(random_state=0)
    yield "adult, forest at its defaults, sex", encoded(model, X, y), X, ["sex"], 60
    X, y = crime.data, crime.target
    numbers = X.select_dtypes("number").dropna(axis=1)
    for name, model in (
        ("boosting", GradientBoostingRegressor(random_state=0)),
        ("forest 50 x 8", RandomForestRegressor(50, max_depth=8, random_state=0)),
        ("forest at its defaults", RandomForestRegressor(random_state=0)),
    ):
        yield f"communities, {name}", model.fit(numbers, y), numbers, ["racepctblack"], 60
    model = RandomForestClassifier(random_state=0).fit(numbers, (y > y.median()).astype(int))
    name = "communities, two classes, forest at its defaults"
    yield name, model, numbers, ["racepctblack"], 60
    net = MLPRegressor(random_state=0).fit(numbers, y)
    yield "communities, network (100,)", net, numbers, ["racepctblack"], 5


def boosting_tables():
    """Name, table with words as categories, target, sensitive column."""
    try:
        adult, german, crime = fetch_adult(), fetch_german_credit(), fetch_communities()
    except OSError as error:
        print(f"(no public data: {error})")
        return
    for name, public in (("adult", adult), ("german", german)):
        X, y = public.data.iloc[:10_000], public.target.iloc[:10_000]
        texts = X.select_dtypes(exclude="number").columns
        yield name, X.astype(dict.fromkeys(texts, "category")), (y == y.iloc[0]).astype(int), "sex"
    try:
        coded = fetch_adult(coded=True)
        yield "census", coded.data, coded.target.astype(int), "sex"
    except OSError as error:
        print(f"(no coded data: {error})")
    numbers = crime.data.select_dtypes("number").dropna(axis=1)
    yield "communities", numbers, crime.target, "racepctblack"


def boosting_models(is_classes, n_trees, rate=None, n_leaves=None):
    """Boosted trees of each library by name; of depth 6 unless there is a number of leaves."""
    more = {} if rate is None else {"learning_rate": rate}
    which = "Classifier" if is_classes else "Regressor"
    if n_leaves is None:
        hist = HistGradientBoostingClassifier if is_classes else HistGradientBoostingRegressor
        depth = {"max_depth": 6, "max_leaf_nodes": 64}
        yield "histogram boosting", hist(max_iter=n_trees, random_state=0, **depth, **more)
    if importlib.util.find_spec("xgboost") is None:
        print("(no XGBoost: its rows are left out)")
    elif n_leaves is None:
        made = getattr(importlib.import_module("xgboost"), f"XGB{which}")
        yield "XGBoost", made(n_estimators=n_trees, max_depth=6, enable_categorical=True, **more)
    if importlib.util.find_spec("lightgbm") is None:
        print("(no LightGBM: its rows are left out)")
    else:
        made = getattr(importlib.import_module("lightgbm"), f"LGBM{which}")
        depth = {"num_leaves": n_leaves} if n_leaves else {"max_depth": 6, "num_leaves": 64}
        yield "LightGBM", made(n_estimators=n_trees, random_state=0, verbose=-1, **depth, **more)


def boosting_cases(quick):
    """Boosted trees of other libraries beside scikit-learn's."""
    for name, X, y, column in boosting_tables():
        is_classes = name != "communities"
        sizes = [(100, None, None, 30)]
        if not quick and name in ("adult", "german"):
            sizes += [(500, 0.05, None, 60)]
        if not quick and name == "adult":
            sizes += [(1000, 0.05, 31, 60), (1000, 0.1, 31, 60)]
        for n_trees, rate, n_leaves, seconds in sizes:
            size = f"{n_trees} x {f'{n_leaves} leaves' if n_leaves else 'depth 6'}"
            size += "" if rate is None else f", rate {rate:g}"
            for library, model in boosting_models(is_classes, n_trees, rate, n_leaves):
                yield f"{name}, {library} {size}", model.fit(X, y), X, [column], seconds


def bracket_of(model, X, sensitive, seconds, engine, queries=20_000):
    """A certificate and the time it took."""
    auditor = CertifiedAuditor(
        model, sensitive_features=sensitive, max_time=seconds, max_queries=queries,
        random_state=0, engine=engine, n_jobs=-1,
    )  # fmt: skip
    began = time.perf_counter()
    auditor.fit(X)
    return auditor, time.perf_counter() - began


def described(auditor, seconds):
    """A bracket in a few characters."""
    low, high = auditor.fairness_degree_, auditor.fairness_degree_upper_bound_
    if auditor.certified_:
        return f"{high:.4g} in {seconds:.2f} s"
    loose = ", loose" if auditor.is_loose_ else ""
    return f"[{low:.4g}, {high:.4g}] {low / high:.2f} at {seconds:.0f} s{loose}"


def found_by(tester, model, X, sensitive, queries):
    """The degree that a tester finds with a budget of queries."""
    tester.set_params(
        estimator=model, sensitive_features=sensitive, max_queries=queries, random_state=0,
        threshold=0.0,
    )  # fmt: skip
    return tester.fit(X)


def share_found(tester, model, X, sensitive, queries, upper):
    """What a tester finds as a share of the bound; a dash where it needs a gradient."""
    try:
        found = found_by(tester, model, X, sensitive, queries)
    except ValueError:
        if not isinstance(tester, ADFAuditor | EIDIGAuditor):
            raise
        return "-"
    return f"{certify(found, max_time=0).fairness_degree / upper:.3f}"


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    kinds = {"synthetic": synthetic_cases, "public": public_cases, "boosting": boosting_cases}
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=[*kinds], help="of cases")
    parser.add_argument("--no-numpy", action="store_true", help="leave the NumPy path out")
    parser.add_argument("--no-testers", action="store_true", help="leave the second table out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    X, y = synthetic(200)
    has_numba = importlib.util.find_spec("numba") is not None
    for engine in ("numba" if has_numba else "auto", "numpy"):  # compiles, or reads what was
        bracket_of(RandomForestRegressor(2, max_depth=2).fit(X, y), X, [0], 60, engine, 100)
    print("| model | certified, numba | certified, NumPy | SBFT | random | rows of the data |")
    print("| --- | --- | --- | --- | --- | --- |")
    kept = []
    for kind in options.kinds:
        for name, model, X, sensitive, seconds in kinds[kind](options.quick):
            if options.only not in name:
                continue
            auditor, took = bracket_of(model, X, sensitive, seconds, "auto")
            cells = [described(auditor, took)]
            slow = "network" in name or "linear" in name or "logistic" in name
            if slow or options.no_numpy:
                cells.append("the same" if slow else "-")
            else:
                cells.append(described(*bracket_of(model, X, sensitive, seconds, "numpy")))
            upper = auditor.fairness_degree_upper_bound_
            for tester in (SBFTAuditor(), RandomAuditor()):
                found = found_by(tester, model, X, sensitive, options.queries)
                cells.append(f"{found.fairness_degree_ / upper:.3f}")
            cells.append(f"{found.on_data_degree_ / upper:.3f}")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
            if auditor.certified_ or "network (100,)" in name:
                kept.append((name, model, X, sensitive, upper))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory: {peak:.0f} MB\n")
    if options.no_testers:
        return
    print(f"Found over certified (networks: over the bound), {options.queries} queries each:\n")
    print("| model | " + " | ".join(TESTERS) + " |\n| --- " * 1 + "| --- " * len(TESTERS) + "|")
    for name, model, X, sensitive, upper in kept:
        shares = [
            share_found(tester, model, X, sensitive, options.queries, upper)
            for tester in TESTERS.values()
        ]
        print(f"| {name} | " + " | ".join(shares) + " |", flush=True)


if __name__ == "__main__":
    main()
