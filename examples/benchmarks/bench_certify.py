"""Certificates by engine: found over bound, or the seconds until the two met.

Two sets of models:

* "defaults": models as their libraries set them, on made-up mixed tables (one for each seed) of 12,
  25 and 40 columns with a sensitive column of two values, on the wine data (three classes,
  `alcohol` as the sensitive column) and the diabetes data (`sex`). Forests get their categories as
  ordinal codes, boosted trees as pandas categories, networks and logistic regression one-hot and
  scaled. Each cell is the median over the seeds.
* "trees": 53 rows of trees, forests and boosting of several sizes, depths and libraries on invented
  and public data.

The engines are NumPy and the compiled one, whose code a small certificate compiles or reads before,
outside of the seconds.

Run with ``python examples/benchmarks/bench_certify.py defaults --seeds 0 1 2 3 4`` and ``... trees
--n-jobs -1 --max-time 60``; ``--only`` chooses rows by a part of their names, ``--quick`` those
that close in a second or two. Rows of public data are left out where SKFAIRTEST_DATA has none,
those of libraries where these are missing.
"""

import argparse
import importlib.util
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
from _shared import (
    as_codes,
    as_it_is,
    boosted,
    describe_machine,
    has_public,
    imputed,
    mixed_table,
    one_hot,
    public,
)
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeRegressor

from skfairtest.exact import CertifiedAuditor

# Models at their defaults ------------------------------------------------------------------------

#: Makes a classifier, and what stands before it.
DEFAULTS = {
    "forest": (lambda: RandomForestClassifier(random_state=0), as_codes),
    "XGBoost": (lambda: boosted("xgboost", "XGBClassifier", enable_categorical=True), as_it_is),
    "LightGBM": (lambda: boosted("lightgbm", "LGBMClassifier", verbose=-1), as_it_is),
    "histogram boosting": (lambda: HistGradientBoostingClassifier(random_state=0), as_it_is),
    "network": (lambda: network(MLPClassifier, (32, 16), 300), one_hot),
    "logistic": (lambda: LogisticRegression(max_iter=1000), one_hot),
}


def network(kind, units, rounds, **settings):
    """A network of scikit-learn."""
    return kind(hidden_layer_sizes=units, max_iter=rounds, **{"random_state": 0} | settings)


def at_defaults(name, columns, seed, rows):
    """A fitted model, its table, its sensitive columns."""
    make, before = DEFAULTS[name]
    if columns == "wine":
        X, y = load_wine(return_X_y=True, as_frame=True)
        return before(make()).fit(X, y), X, ["alcohol"]
    if columns == "diabetes":
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        return one_hot(network(MLPRegressor, (32, 16), 300)).fit(X, y), X, ["sex"]
    X, y = mixed_table(columns, rows, seed)
    return before(make()).fit(X, (y > np.median(y)).astype(int)), X, ["sex"]


def defaults(asked):
    """Name of a row, and how to make its models, one for each seed."""
    for name in DEFAULTS:
        for columns in (12, 25, 40):
            makers = [partial(at_defaults, name, columns, seed, asked.rows) for seed in asked.seeds]
            if not asked.quick or (columns == 12 and name != "network"):
                yield f"{name}, {columns} columns", makers
        if name in ("histogram boosting", "network", "logistic") and not asked.quick:
            yield f"{name}, wine", [partial(at_defaults, name, "wine", 0, 0)]
    if not asked.quick:
        yield "network, diabetes", [partial(at_defaults, "network", "diabetes", 0, 0)]


# Models of many sizes ----------------------------------------------------------------------------


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


def invented(strength, model, words=False, classes=False, seed=0):
    """A model of the invented table, with numbers or words in its first columns."""
    X, y = synthetic(strength=strength, seed=seed)
    y = (y > np.median(y)).astype(int) if classes else y
    X = as_frame(X) if words else X
    return (imputed(model) if words else model).fit(X, y), X, ["x0"] if words else [0]


def wide(model):
    """A model of an invented table of 20 columns, with ten sensitive values."""
    X, y = synthetic(5000, 20, 10, strength=1.0)
    return model.fit(X, y), X, [0]


def of_public(table, model, sensitive, before=imputed):
    """A model of at most 10,000 rows of a public table; labels but of communities."""
    X, y = (part.iloc[:10_000] for part in public(table))
    if before is as_it_is:
        X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number").columns, "category"))
        y = (y == y.iloc[0]).astype(int)
    return before(model).fit(X, y), X, sensitive


def of_crime(model, classes=False):
    """A model of the complete columns of communities."""
    X, y = public("communities")
    X = X.dropna(axis=1)
    return model.fit(X, (y > y.median()).astype(int) if classes else y), X, ["racepctblack"]


def forest(kind=RandomForestRegressor, n=100, depth=None):
    """A forest, of full depth unless one is given."""
    return kind(n, max_depth=depth, random_state=0)


def boosting(library, n_trees, rate=None, n_leaves=None, classes=True):
    """Boosted trees; of depth 6 unless there is a number of leaves."""
    which = "Classifier" if classes else "Regressor"
    more = {} if rate is None else {"learning_rate": rate}
    if library == "histogram boosting":
        kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return kind(max_iter=n_trees, max_depth=6, max_leaf_nodes=64, random_state=0, **more)
    if library == "XGBoost":
        more |= {"n_estimators": n_trees, "max_depth": 6, "enable_categorical": True}
        return boosted("xgboost", f"XGB{which}", **more)
    depth = {"num_leaves": n_leaves} if n_leaves else {"max_depth": 6, "num_leaves": 64}
    return boosted("lightgbm", f"LGBM{which}", n_estimators=n_trees, verbose=-1, **depth, **more)


def trees(asked):
    """Name of a row, and how to make its model."""
    for strength in (0.3, 1.0, 3.0):
        plain = {
            "tree": DecisionTreeRegressor(random_state=0),
            "forest 100 x 6": forest(depth=6),
            "forest 100 x 10": forest(depth=10),
            "boosting 100 x 6": GradientBoostingRegressor(max_depth=6, random_state=0),
            "histogram boosting": HistGradientBoostingRegressor(random_state=0),
            "forest 100, full": forest(),
        }
        for name, model in [*plain.items()][: 2 if asked.quick else None]:
            yield f"effect {strength:g}, {name}", [partial(invented, strength, model)]
        if strength < 3 and not asked.quick:
            for name, kind in (
                ("forest 100", RandomForestRegressor), ("classifier", RandomForestClassifier),
            ):  # fmt: skip
                model, labels = forest(kind, depth=10), kind is RandomForestClassifier
                made = partial(invented, strength, model, words=True, classes=labels)
                yield f"effect {strength:g}, one-hot, {name} x 10", [made]
    if not asked.quick:
        yield "20 columns, forest 100 x 10", [partial(wide, forest(depth=10))]
        yield "20 columns, forest 100, full", [partial(wide, forest())]
    kind = RandomForestClassifier
    both = ["sex", "race"]
    cases = {
        "german, forest x 10, sex": ("german", forest(kind, depth=10), ["sex"]),
        "german, forest at its defaults, sex": ("german", forest(kind), ["sex"]),
        "adult, forest 30 x 8, sex+race": ("adult", forest(kind, 30, 8), both),
        "adult, forest at its defaults, sex": ("adult", forest(kind), ["sex"]),
    }
    histogram = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    yield ("adult, histogram, sex+race", [partial(of_public, "adult", histogram, both, as_it_is)])
    for name, case in cases.items() if not asked.quick else ():
        yield name, [partial(of_public, *case)]
    regressors = {
        "boosting": GradientBoostingRegressor(random_state=0),
        "forest 50 x 8": forest(n=50, depth=8),
        "forest at its defaults": forest(),
    }
    for name, model in [*regressors.items()][: 1 if asked.quick else None]:
        yield f"communities, {name}", [partial(of_crime, model)]
    if not asked.quick:
        name = "communities, two classes, forest at its defaults"
        yield name, [partial(of_crime, forest(kind), classes=True)]
    yield from boosted_trees(asked)


def boosted_trees(asked):
    """The rows of boosted trees of three libraries."""
    for table in ("adult", "german", "census", "communities"):
        sizes = [(100, None, None)]
        sizes += [(500, 0.05, None)] if table in ("adult", "german") else []
        sizes += [(1000, 0.05, 31), (1000, 0.1, 31)] if table == "adult" else []
        for n_trees, rate, n_leaves in sizes[: 1 if asked.quick else None]:
            size = f"{n_trees} x {f'{n_leaves} leaves' if n_leaves else 'depth 6'}"
            size += "" if rate is None else f", rate {rate:g}"
            for library in ("histogram boosting", "XGBoost", "LightGBM")[2 if n_leaves else 0 :]:
                yield (
                    f"{table}, {library} {size}",
                    [partial(of_boosting, table, library, n_trees, rate, n_leaves)],
                )


def of_boosting(table, library, n_trees, rate, n_leaves):
    """Boosted trees of a library on a public table."""
    model = boosting(library, n_trees, rate, n_leaves, classes=table != "communities")
    if table == "communities":
        return of_crime(model)
    return of_public(table, model, ["sex"], as_it_is)


SETS = {"defaults": defaults, "trees": trees}

# Certificates ------------------------------------------------------------------------------------


def certificate(case, max_time, n_jobs=None, engine="auto"):
    """What one audit says: the bounds, whether they meet, seconds of the clock and processor."""
    model, X, sensitive = case
    auditor = CertifiedAuditor(
        model, sensitive_features=sensitive, max_time=max_time, n_jobs=n_jobs, engine=engine,
        max_queries=20_000, random_state=0,
    )  # fmt: skip
    began, worked = time.perf_counter(), time.process_time()
    auditor.fit(X)
    return {
        "found": auditor.fairness_degree_,
        "bound": auditor.fairness_degree_upper_bound_,
        "closed": auditor.certified_,
        "seconds": time.perf_counter() - began,
        "worked": time.process_time() - worked,
    }


def in_words(ratio):
    """A ratio that is not shown as 1 where it is less."""
    return "above 0.9999" if ratio > 0.9999 else f"{ratio:.4f}" if ratio > 0.99 else f"{ratio:.3f}"


def cell(found, of):
    """The certificates over the seeds as the cell of a table."""
    closed = [one[of] for one in found if one["closed"]]
    if len(closed) == len(found):
        spread = f" ({min(closed):.1f} to {max(closed):.1f})" if len(closed) > 1 else ""
        alone = f"{found[0]['bound']:.4g} in " if len(found) == 1 else "closed "
        return f"{alone}{np.median(closed):.2f} s{spread}"
    ratios = [one["found"] / one["bound"] if one["bound"] else 1.0 for one in found]
    spread = f" ({in_words(min(ratios))} to {in_words(max(ratios))})" if len(ratios) > 1 else ""
    some = f", {len(closed)} of {len(found)} closed" if closed else ""
    one = found[0]
    alone = f"[{one['found']:.4g}, {one['bound']:.4g}] " if len(found) == 1 else ""
    longest = max(one[of] for one in found)
    return f"{alone}{in_words(np.median(ratios))}{spread}{some} at {longest:.0f} s"


def is_there(name):
    """Whether the data and the library of a row are."""
    if name.startswith(("adult", "german", "census", "communities")):
        if not has_public(name.split(",")[0]):
            return False
    libraries = {"XGBoost": "xgboost", "LightGBM": "lightgbm"}
    needed = [module for word, module in libraries.items() if word in name]
    return all(importlib.util.find_spec(module) for module in needed)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names of rows")
    parser.add_argument("--engines", nargs="+", default=["numpy", "numba"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="of the made-up tables")
    parser.add_argument("--rows", type=int, default=4000, help="of the made-up tables")
    parser.add_argument("--max-time", type=float, default=30.0)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--processor", action="store_true", help="its seconds, not the clock's")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    of = "worked" if asked.processor else "seconds"
    print(f"{describe_machine()}\nmax_time={asked.max_time:g}, n_jobs={asked.n_jobs}, {of}\n")
    X, y = synthetic(300)
    if "numba" in asked.engines:  # compiles, or reads what was
        for model, target in ((forest(n=3), y), (forest(RandomForestClassifier, 3), y > 0)):
            certificate((model.fit(X, target), X, [0]), 5.0, engine="numba")
    print(f"| model | {' | '.join(asked.engines)} |\n{'| --- ' * (1 + len(asked.engines))}|")
    for name, makers in SETS[asked.set](asked):
        if not any(part in name for part in asked.only) or not is_there(name):
            continue
        models = [make() for make in makers]
        limits = asked.max_time, asked.n_jobs
        found = [[certificate(one, *limits, engine) for one in models] for engine in asked.engines]
        print(f"| {name} | {' | '.join(cell(column, of) for column in found)} |", flush=True)
    print(f"\n{describe_machine()}")


if __name__ == "__main__":
    main()
