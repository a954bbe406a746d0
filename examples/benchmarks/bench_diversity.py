"""How many discriminatory inputs a tester finds in equal time, how diverse and near to the data.

A tree, a forest, histogram boosting and a network on two made tables (8 and 40 columns) and the
coded census data. Printed for each tester: unique discriminatory inputs, success (their share among
all inputs), paths (share of the leaves of a reference tree of 1,000 that 5,000 of them reach), mean
pairwise distance of them, the share of them that an isolation forest fitted on the data accepts
(98% of the rows), and the median distance of one to the nearest of 2,000 rows (mean over columns
of the difference over the range).

Needs the folder of SKFAIRTEST_DATA for the census data, which are left out without it. Run with
``python examples/benchmarks/bench_diversity.py --seconds 5``.
"""

import argparse
import warnings

import numpy as np
from _machine import describe_machine
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import skfairtest
from skfairtest.comparison import measure_diversity
from skfairtest.datasets import fetch_adult

TESTERS = {
    "random": ("RandomAuditor", {}),
    "Themis": ("ThemisAuditor", {}),
    "Aequitas": ("AequitasAuditor", {}),
    "SG": ("SymbolicAuditor", {}),
    "MAFT": ("MAFTAuditor", {}),
    "SBFT tuned": ("SBFTAuditor", {}),
    "surrogate": ("SurrogateAuditor", {}),
    "surrogate, diverse": ("SurrogateAuditor", {"objective": "diverse"}),
}
MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(50, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "network": MLPClassifier((64, 32, 16, 8, 4), max_iter=60, random_state=0),
}


def eight_columns():
    """Eight discrete columns, 19 million inputs: sex and seven others."""
    rng = np.random.default_rng(3)
    sizes = np.array([2, 42, 8, 20, 10, 5, 7, 8])
    X = rng.integers(0, sizes, size=(6000, 8)).astype(float)
    merit = X[:, 1:4] @ [0.03, 0.15, 0.03] + 0.4 * np.isin(X[:, 4], [1, 4, 7])
    merit += 0.5 * X[:, 0] * np.isin(X[:, 4], [1, 2, 5]) + rng.normal(0, 0.5, len(X))
    return X, merit > np.median(merit), [0]


def forty_columns():
    """Forty columns, real and whole: an age of 63 values is sensitive."""
    rng = np.random.default_rng(7)
    X, y = make_classification(
        3000, 39, n_informative=15, n_redundant=10, flip_y=0.05, random_state=7
    )
    X = X.round(2)
    X[:, ::3] = np.rint(5 * X[:, ::3])
    age = rng.integers(18, 81, len(X))
    y = np.where((age > 50) & (X[:, 1] > 0) & (rng.random(len(X)) < 0.5), 1, y)
    return np.column_stack([age, X]), y, [0]


def tables():
    yield "8 columns", eight_columns()
    yield "40 columns", forty_columns()
    try:
        census = fetch_adult(coded=True)
    except FileNotFoundError:
        return
    X = census.data.to_numpy(dtype=float)
    sex = list(census.data.columns).index("sex")
    yield "census", (X[:6000], census.target.to_numpy()[:6000], [sex])


def nearness(inputs, X):
    """Share of inputs that the detector accepts, and their median distance to the nearest row."""
    detector = IsolationForest(contamination=0.02, random_state=0).fit(X)
    spread = np.ptp(X, axis=0)
    spread[spread == 0] = 1.0
    rng = np.random.default_rng(0)
    some = inputs[rng.permutation(len(inputs))[:300]] / spread
    rows = X[rng.permutation(len(X))[:2000]] / spread
    nearest = [np.abs(rows - one).mean(axis=1).min() for one in some]
    return (detector.predict(inputs[:5000]) == 1).mean(), np.median(nearest)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--only", nargs="*", default=list(TESTERS), help="testers to run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    print(f"{options.seconds:g} s a run, medians of {options.seeds} seeds\n")
    print(
        f"{'table':12}{'model':10}{'tester':20}{'found':>9}{'success':>9}{'paths':>8}"
        f"{'distance':>10}{'accepted':>10}{'nearest':>9}"
    )
    for table, (X, y, sensitive) in tables():
        for kind in options.models:
            model = MODELS[kind].fit(X, y)
            measured = {name: [] for name in options.only}
            for seed in range(options.seeds):
                for name in options.only:  # one after another, so that a busy hour hits all
                    cls, own = TESTERS[name]
                    auditor = getattr(skfairtest, cls)(
                        model, sensitive_features=sensitive, max_queries=None,
                        max_time=options.seconds, random_state=seed, **own,
                    ).fit(X)  # fmt: skip
                    values = measure_diversity(auditor, random_state=0).drop("compared").tolist()
                    inputs = np.asarray(auditor.discriminatory_inputs_)
                    near = nearness(inputs, X) if len(inputs) else (np.nan, np.nan)
                    measured[name].append([*values, *near])
            for name, runs in measured.items():
                found, success, paths, distance, accepted, nearest = np.median(runs, axis=0)
                print(
                    f"{table:12}{kind:10}{name:20}{found:9.0f}{success:9.1%}{paths:8.3f}"
                    f"{distance:10.3f}{accepted:10.1%}{nearest:9.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
