"""What every auditor finds, as one file; and what two such files differ in.

A change of the code's structure must not change its results. Before it, record what each auditor
finds with fixed seeds on models of several kinds, and the bounds of models that can be certified;
afterwards record again and compare. Nothing here is timed, so the machine may be busy; bounds are
those that close. ``--quick`` records one seed and few queries.

Run with ``python examples/benchmarks/record_results.py record before.json``, change the code, run
``... record after.json``, and then ``... compare before.json after.json``.
"""

import argparse
import json
import warnings

import numpy as np
from _shared import describe_machine, one_hot
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfairtest import individual
from skfairtest.base import BaseAuditor
from skfairtest.datasets import make_biased_classification, make_biased_regression
from skfairtest.exact import CertifiedAuditor

SEEDS = (0, 1, 2)
QUERIES = 5000
#: Largest share by which a degree may differ and still be the same: a sum taken in another order.
SAME = 1e-9


def models():
    """Name, fitted model, table, sensitive columns, and whether a certificate closes quickly."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    many = y > y.median()
    network = MLPClassifier(hidden_layer_sizes=(20,), max_iter=300, random_state=0)
    small = MLPRegressor(hidden_layer_sizes=(8,), max_iter=500, random_state=0)
    shallow = RandomForestRegressor(50, max_depth=5, random_state=0)
    boosted = GradientBoostingClassifier(n_estimators=20, random_state=0)
    histograms = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    cases = [
        ("forest, sex", RandomForestRegressor(30, random_state=0), y, "sex", False),
        ("forest, age", RandomForestRegressor(30, random_state=0), y, "age", False),
        ("shallow forest", shallow, y, "sex", True),
        ("boosting, sex", GradientBoostingRegressor(random_state=0), y, "sex", True),
        ("ridge", Ridge(), y, "sex", True),
        ("tree", DecisionTreeClassifier(random_state=0), many, "sex", True),
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression()), many, "sex", True),
        ("boosted classes", boosted, many, "sex", True),
        ("histograms", histograms, many, "sex", True),
        ("network", make_pipeline(StandardScaler(), network), many, "sex", False),
        ("small network", make_pipeline(StandardScaler(), small), y, "sex", True),
    ]
    for name, model, target, sensitive, closes in cases:
        yield f"diabetes, {name}", model.fit(X, target), X, [sensitive], closes
    for make in (make_biased_regression, make_biased_classification):
        for variant in ("smooth", "narrow", "many-valued"):
            data = make(variant=variant, random_state=0)
            kind = make.__name__.removeprefix("make_biased_")
            yield f"{kind}, {variant}", data.estimator, data.data, data.sensitive_features, False
    data = make_biased_classification(n_samples=1000, random_state=0)
    forest = RandomForestClassifier(20, max_depth=4, random_state=0)
    mixed = one_hot(forest).fit(data.data, data.target)
    yield "mixed frame, one-hot forest", mixed, data.data, data.sensitive_features, True


def auditors():
    """Name and class of every auditor that is given a model and a table of features."""
    every = {name: getattr(individual, name) for name in individual.__all__}
    every["CertifiedAuditor"] = CertifiedAuditor
    for name, value in sorted(every.items()):
        if isinstance(value, type) and issubclass(value, BaseAuditor):
            yield name, value


def figures(cls, model, X, sensitive, seed, queries):
    """What one run finds; the error where the auditor cannot audit such a model."""
    settings = {"sensitive_features": sensitive, "max_queries": queries, "random_state": seed}
    if cls is CertifiedAuditor:
        settings["max_time"] = 120.0
    try:
        auditor = cls(model, **settings).fit(X)
    except (ValueError, TypeError, ImportError) as error:
        return {"error": type(error).__name__}
    found = {
        "degree": auditor.fairness_degree_,
        "found": auditor.n_found_,
        "inputs": auditor.n_inputs_,
        "queries": auditor.n_queries_,
        "on data": auditor.on_data_degree_,
    }
    if cls is CertifiedAuditor:
        found["upper bound"] = auditor.fairness_degree_upper_bound_
        found["certified"] = auditor.certified_
    return found


def record(path, quick):
    print(describe_machine())
    warnings.simplefilter("ignore")
    results = {}
    seeds, queries = (SEEDS[:1], QUERIES // 10) if quick else (SEEDS, QUERIES)
    for case, model, X, sensitive, closes in models():
        for name, cls in auditors():
            if cls is CertifiedAuditor and not closes:
                continue
            for seed in seeds:
                key = f"{case} | {name} | {seed}"
                results[key] = figures(cls, model, X, sensitive, seed, queries)
        print(f"{case}: done", flush=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, default=float)
    print(f"{len(results)} runs written to {path}")


def same(a, b):
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=SAME, atol=0, equal_nan=True))
    return a == b


def compare(before, after):
    with open(before, encoding="utf-8") as one, open(after, encoding="utf-8") as two:
        old, new = json.load(one), json.load(two)
    changed = 0
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key, {}), new.get(key, {})
        parts = [
            f"{name}: {a.get(name)} -> {b.get(name)}"
            for name in {**a, **b}
            if not same(a.get(name), b.get(name))
        ]
        changed += bool(parts)
        if parts:
            print(f"{key:60} {'; '.join(parts)}")
    print(f"{len(old.keys() | new.keys())} runs, {changed} of them differ")


def main(description, record):
    """Record by this function, or compare two files that it has written."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--quick", action="store_true", help="record a part")
    options = parser.parse_args()
    if options.command == "record":
        record(options.files[0], options.quick)
    else:
        compare(*options.files[:2])


if __name__ == "__main__":
    main(__doc__.splitlines()[0], record)
