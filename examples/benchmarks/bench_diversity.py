"""How many discriminatory inputs a tester finds in equal time, how diverse and near to the data.

Twenty-five pairs of table and model. Twelve of them: a tree, a forest, histogram boosting and a
network on two made tables (8 and 40 columns) and the coded census data. Thirteen of them: a tree or
network, a forest and boosting on adult, german, communities and "curve" of `bench_plausible`, and a
forest on the diabetes data. Seconds are those of processor time, so that other work on the machine
does not count, and all testers of a pair run one after the other. ``--queries`` gives each tester
so many queries instead, with results that no other work on the machine changes.

Table 1, for each tester: unique discriminatory inputs, success (their share among all inputs),
paths (share of the leaves of a reference tree of 1,000 that 5,000 of them reach), mean pairwise
distance of them, the share of them that an isolation forest fitted on the data accepts (98% of the
rows), and the median distance of one to the nearest of 2,000 rows (mean over columns of the
difference over the range).

Table 2, for each pair, medians of the seeds and in brackets the least: what `SurrogateAuditor`
finds over the most that another tester finds (and which that is), and what it finds with
``objective="diverse"`` over what uniform inputs find. All leaves: how many all inputs of
``objective="diverse"`` reach over those that all uniform finds of an equal budget reach. Leaves:
how many 5,000 of them, or all where they are fewer, reach over those of as many uniform finds, for
which uniform testing has twenty times the budget. Possible: how many times as much as uniform
testing a tester of equal speed finds if all of its inputs discriminate.

Needs the folder of SKFAIRTEST_DATA; tables that are not there are left out. Run with
``python examples/benchmarks/bench_diversity.py``; ``--plausible`` measures under
``InputSpace(plausible="auto")``, and ``--pairs "adult:forest" "german:tree"`` chooses some.
"""

import argparse
import time
import warnings
from typing import Any, NamedTuple

import _helpers  # noqa: F401
import numpy as np
import pandas as pd
from _machine import describe_machine
from bench_plausible import split, trained
from diversity import leaves_and_distance
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import skfairtest
from skfairtest import InputSpace, RandomAuditor, _clock
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
OURS = ("surrogate", "surrogate, diverse")
MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(50, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "network": MLPClassifier((64, 32, 16, 8, 4), max_iter=60, random_state=0),
}
#: Models of each table.
PAIRS = {
    "8 columns": tuple(MODELS),
    "40 columns": tuple(MODELS),
    "census": tuple(MODELS),
    "adult": ("tree", "forest", "boosting"),
    "german": ("tree", "forest", "boosting"),
    "communities": ("tree", "forest", "boosting"),
    "curve": ("network", "forest", "boosting"),
    "diabetes": ("forest",),
}
NAMES = [f"{table}:{model}" for table, models in PAIRS.items() for model in models]
#: Uniform finds that those of the diverse search are compared with, and time to find them, in
#: times that of a tester.
N_COMPARED = 5000
PATIENCE = 20


class Pair(NamedTuple):
    """A fitted model, rows for the testers, and the space of all inputs."""

    name: str
    model: Any
    X: Any
    space: InputSpace


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


def census():
    """Coded census data, 6,000 rows; sex is sensitive."""
    data = fetch_adult(coded=True)
    sex = list(data.data.columns).index("sex")
    return data.data.to_numpy(dtype=float)[:6000], data.target.to_numpy()[:6000], [sex]


def diabetes():
    """Ten measurements of 442 patients, and whether the disease went on faster than in most."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X.to_numpy(), (y > y.median()).to_numpy(), [list(X.columns).index("sex")]


ARRAYS = {
    "8 columns": eight_columns,
    "40 columns": forty_columns,
    "census": census,
    "diabetes": diabetes,
}


def pairs(names):
    """Make the pairs of these names; those whose table is missing are left out."""
    for table, models in PAIRS.items():
        wanted = [model for model in models if f"{table}:{model}" in names]
        if not wanted:
            continue
        try:
            if table in ARRAYS:
                X, y, sensitive = ARRAYS[table]()
                given, space = X, InputSpace().fit(X, sensitive)
            else:
                X, y, given, _, space = split(table)
                space = space.with_data(given)
        except FileNotFoundError:
            continue
        for model in wanted:
            unfitted = clone(MODELS[model])
            fitted = unfitted.fit(X, y) if table in ARRAYS else trained(unfitted, X, y)
            yield Pair(f"{table}:{model}", fitted, given, space)


def codes_of(space, X):
    """Rows as numbers."""
    return space.domain.move_inside(space.encode(X), np.random.default_rng(0))


def nearness(inputs, X):
    """Share of inputs that the detector accepts, and their median distance to the nearest row."""
    if not len(inputs):
        return np.nan, np.nan
    detector = IsolationForest(contamination=0.02, random_state=0).fit(X)
    spread = np.ptp(X, axis=0)
    spread[spread == 0] = 1.0
    rng = np.random.default_rng(0)
    some = inputs[rng.permutation(len(inputs))[:300]] / spread
    rows = X[rng.permutation(len(X))[:2000]] / spread
    nearest = [np.abs(rows - one).mean(axis=1).min() for one in some]
    return (detector.predict(inputs[:5000]) == 1).mean(), np.median(nearest)


def budget(options, times=1):
    """The budget of a tester, so many times."""
    if options.queries is None:
        return {"max_queries": None, "max_time": times * options.seconds}
    return {"max_queries": times * options.queries}


def audited(pair, space, name, options, seed):
    """Run a tester."""
    cls, own = TESTERS[name]
    return getattr(skfairtest, cls)(
        pair.model, space=space, random_state=seed, **budget(options), **own
    ).fit(pair.X)


def leaves_over(auditor, other, most=None):
    """Leaves that the inputs of an auditor reach over those of another one.

    With `most`, equal numbers of their inputs are compared, at most so many; else all.
    """
    numbers = [len(one.discriminatory_inputs_) for one in (auditor, other)]
    if min(numbers) < 2:
        return np.nan
    if most is not None:
        numbers = 2 * [min(most, *numbers)]
    reached = [
        leaves_and_distance(one, n_compared=n)[0]
        for one, n in zip((auditor, other), numbers, strict=True)
    ]
    return reached[0] / reached[1]


def measure(pair, options):
    """Run the testers on a pair and print table 1.

    Returns what each found, and its success, for each seed, and the two ratios of leaves.
    """
    space = pair.space
    if options.plausible:
        space = InputSpace(plausible="auto").fit(pair.X, pair.space.sensitive_features)
    reference = None
    if "surrogate, diverse" in options.only:
        reference = RandomAuditor(
            pair.model, space=space, max_found=N_COMPARED, random_state=1000,
            **budget(options, PATIENCE),
        ).fit(pair.X)  # fmt: skip
    measured = {name: [] for name in options.only}
    leaves = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        ran = {}
        for name in options.only:  # one after another, so that a busy hour hits all
            auditor = ran[name] = audited(pair, space, name, options, seed)
            values = auditor.n_found_, auditor.discrimination_rate_, *leaves_and_distance(auditor)
            inputs = space.encode(auditor.discriminatory_inputs_)
            measured[name].append([*values, *nearness(inputs, codes_of(space, pair.X))])
        if "random" in ran and reference is not None:
            diverse = ran["surrogate, diverse"]
            leaves.append(
                [leaves_over(diverse, ran["random"]), leaves_over(diverse, reference, N_COMPARED)]
            )
    for name, runs in measured.items():
        found, success, paths, distance, accepted, nearest = np.median(runs, axis=0)
        print(
            f"{pair.name:22}{name:20}{found:9.0f}{success:9.1%}{paths:8.3f}"
            f"{distance:10.3f}{accepted:10.1%}{nearest:9.3f}",
            flush=True,
        )
    return {name: np.array(runs)[:, :2] for name, runs in measured.items()}, leaves


def ratios(runs, leaves):
    """The row of table 2 of a pair."""
    found = {name: values[:, 0] for name, values in runs.items()}
    row = {}
    others = [name for name in found if name not in OURS]
    if "surrogate" in found and others:
        best = max(others, key=lambda name: np.median(found[name]))
        most = np.max([found[name] for name in others], axis=0)
        row["over the most"], row["most"] = found["surrogate"] / most, best
    if "surrogate, diverse" in found and "random" in found:
        row["diverse over random"] = found["surrogate, diverse"] / found["random"]
        # At equal speed: of an input that discriminates, each twin is also asked for its label.
        share = runs["random"][:, 1]
        row["possible"] = (1 + share) / (2 * share)
        row["all leaves"], row["leaves"] = np.array(leaves).T
    return row


def shown(values):
    """Median and least of some seeds."""
    if isinstance(values, str):
        return values
    return f"{np.median(values):.2f} ({np.min(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="processor time of a run")
    parser.add_argument("--queries", type=int, help="queries of a run, instead of seconds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--pairs", nargs="*", default=NAMES, choices=NAMES, metavar="TABLE:MODEL")
    parser.add_argument("--only", nargs="*", default=list(TESTERS), help="testers to run")
    parser.add_argument("--plausible", action="store_true", help='with plausible="auto"')
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    _clock.now = time.process_time
    print(describe_machine())
    given = f"{options.seconds:g} s of processor time"
    if options.queries is not None:
        given = f"{options.queries:,} queries"
    print(f"{given} a run, medians of {options.seeds} seeds\n")
    print(
        f"{'pair':22}{'tester':20}{'found':>9}{'success':>9}{'paths':>8}"
        f"{'distance':>10}{'accepted':>10}{'nearest':>9}"
    )
    rows = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for pair in pairs(options.pairs):
            rows[pair.name] = ratios(*measure(pair, options))
    table = pd.DataFrame(
        {name: {k: shown(v) for k, v in row.items()} for name, row in rows.items()}
    )
    print("\n" + table.T.to_string())


if __name__ == "__main__":
    main()
