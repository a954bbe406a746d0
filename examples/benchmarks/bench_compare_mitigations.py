"""Methods of mitigation side by side, on ten pairs of a table and a model.

`compare_mitigations` with four folds for each of several seeds: with five seeds, 20 splits of three
quarters of the rows to train on and one quarter to be measured on.

One line a pair and method, means over the seeds: accuracy and its change to the original in points;
the shares of inputs whose twins are treated differently in percent (rows held out, near them,
uniform inputs); who pays: the largest fall of a group's accuracy in points, of groups with 30 rows
or more; seconds of a training by the clock on the wall. Then a line a method, means over the pairs,
with what is left of the original's shares.

Every seed takes all pairs, the cheap methods first; what is done is written to the file of
``--csv`` after every comparison and not run again, so that the script may be stopped and started.

``--truth 300 40`` counts the intervals that hold instead: 40 fits on 300 rows of planted tables,
and what is so of the models of all rows among 20,000 fresh people.

Needs the folder of SKFAIRTEST_DATA for seven pairs; fairlearn's methods need fairlearn. Run with
``python examples/benchmarks/bench_compare_mitigations.py --csv results.csv``; ``--quick`` takes the
three other pairs, the simple methods and one seed.
"""

import argparse
import itertools
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _shared import describe_machine, imputed, public
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfairtest import MarginalizedClassifier, compare_mitigations
from skfairtest.datasets import make_biased_classification

N_FOLDS = 4
#: In the order in which they are run.
PHASES = {
    "simple": ["drop", "marginalize"],
    "fairlearn": ["correlation remover", "exponentiated parity", "exponentiated odds"],
    "retrainers": ["retrain twins", "retrain aequitas", "retrain testsgd"],
}
FEWEST_ROWS = 30
SHARES = ["share_rows", "share_near", "share_uniform"]

# Pairs -------------------------------------------------------------------------------------------


def german():
    return *public("german"), ["sex"]


def adult():
    X, y = public("adult")
    return X.drop(columns="fnlwgt"), y, ["sex", "race"]


def census():
    X, y = public("census")
    return X.astype(float), y, ["sex"]


def bank():
    X, y = public("bank")
    return X.astype(float), y, ["marital"]


def communities():
    X, y = public("communities")
    X = X.fillna(X.median())
    # Ten values of the share instead of the file's hundred.
    X["racepctblack"] = X["racepctblack"].round(1)
    return X, (y > y.quantile(1 - 0.29)).astype(int) if y.nunique() > 2 else y, ["racepctblack"]


def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    # No attribute of people: a column that tells something stands in for one.
    return X.assign(**{"mean texture": (X["mean texture"] > 19).astype(int)}), y, ["mean texture"]


def planted():
    data = make_biased_classification(n_samples=800, random_state=0)
    X = data.data.select_dtypes("number")
    return X.assign(sex=(data.data["sex"] == "male").astype(int)), data.target, ["sex"]


def needed():
    """Made up: the sensitive column decides about half of the rows, so that it is worth much."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    X["sex"] = rng.integers(0, 2, 400)
    y = X["a"] + 2 * X["sex"] * (X["b"] > 0) + 0.5 * rng.normal(size=400) > 0.5
    return X, y.astype(int), ["sex"]


def tree(depth):
    return DecisionTreeClassifier(max_depth=depth, random_state=0)


PAIRS = {
    "german, logistic regression": (german, LogisticRegression(max_iter=1000)),
    "german, tree": (german, tree(8)),
    "adult, logistic regression": (adult, LogisticRegression(max_iter=1000)),
    "adult, forest": (adult, RandomForestClassifier(50, min_samples_leaf=2, random_state=0)),
    "census, tree": (census, tree(8)),
    "bank, boosting": (bank, HistGradientBoostingClassifier(max_iter=50, random_state=0)),
    "communities, logistic regression": (communities, LogisticRegression(max_iter=1000)),
    "breast cancer, tree": (cancer, tree(None)),
    "planted, tree": (planted, tree(6)),
    "needed, tree": (needed, tree(6)),
}


def load(pair, rows):
    """Rows, labels, sensitive columns and the unfitted model of a pair."""
    make, model = PAIRS[pair]
    X, y, sensitive = make()
    chosen = np.random.default_rng(0).permutation(len(X))[:rows]
    X, y = X.iloc[chosen].reset_index(drop=True), np.asarray(y)[chosen]
    if X.select_dtypes(exclude="number").shape[1]:
        model = imputed(model)
    elif isinstance(model, LogisticRegression):
        model = make_pipeline(StandardScaler(), model)
    return X, y, sensitive, model


# Truth -----------------------------------------------------------------------------------------

MODELS = {"tree of depth 5": tree(5), "logistic regression": LogisticRegression()}
FIGURES = ("share_rows", "share_moved", "accuracy_change")
#: Own effect of the sensitive column, and how far another one is shifted with it.
EFFECTS = {"own effect": (0.6, 0.4), "proxy": (0.0, 0.8), "none": (0.0, 0.0)}


def draw(effect, n, rng):
    """Rows, the same people in the other group, and labels."""
    (own, shift), sex, noise = EFFECTS[effect], rng.integers(0, 2, n), rng.normal(size=(2, n))
    X, other = (
        pd.DataFrame({"sex": s * 1.0, "a": noise[0] + shift * s, "b": noise[1]})
        for s in (sex, 1 - sex)
    )
    z = X["a"] + 0.7 * X["b"] + own * (sex - 0.5) - shift / 2
    return X, other, (z + rng.logistic(size=n) > 0).astype(int)


def against_truth(effect, model, n, runs):
    """How many intervals hold what is so of the models of all rows among 20,000 fresh people."""
    fresh, other, y_fresh = draw(effect, 20_000, np.random.default_rng(99))
    asked, lines = (fresh, fresh.assign(sex=1 - fresh["sex"]), other), []
    methods = {
        "original": model,
        "drop": make_pipeline(FunctionTransformer(lambda X: X.assign(sex=0.0)), model),
        "marginalize": MarginalizedClassifier(model, sensitive_features="sex"),
    }
    for run in range(runs):
        X, _, y = draw(effect, n, np.random.default_rng([run, n]))
        table = compare_mitigations(
            model, X, y, sensitive_features="sex", methods=PHASES["simple"], favourable=1,
            random_state=run, progress=False,
        ).table  # fmt: skip
        base = (clone(model).fit(X, y).predict(fresh) == y_fresh).mean()
        for name, method in methods.items():
            rows, twins, moved = map(clone(method).fit(X, y).predict, asked)
            truth = (rows != twins).mean(), (rows != moved).mean(), (rows == y_fresh).mean() - base
            for figure, value in zip(FIGURES[: 2 + (name != "original")], truth, strict=False):
                low, high = table.loc[name, [f"{figure}_low", f"{figure}_high"]]
                lines.append((figure, low - 1e-9 <= value <= high + 1e-9, high - low))
    found = pd.DataFrame(lines, columns=["figure", "held", "width"]).groupby("figure")
    print(f"{effect}, {n} rows, {runs} runs\n{found.agg(['mean', 'size']).round(3)}", flush=True)


# Runs --------------------------------------------------------------------------------------------


def run(pair, names, seed, rows):
    """The rows of some methods on one pair, by four folds of one seed."""
    X, y, sensitive, model = load(pair, rows)
    comparison = compare_mitigations(
        model, X, y, sensitive_features=sensitive, methods=names,
        cv=StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed),
        favourable=np.unique(y)[-1], random_state=seed, progress=False,
    )  # fmt: skip
    table, accuracies = comparison.table, comparison.groups["accuracy"]
    known = comparison.groups.loc["original"].query("rows >= @FEWEST_ROWS").index
    for method in accuracies.index.unique("method"):
        falls = (accuracies["original"] - accuracies[method])[known]
        if falls.notna().any():
            table.loc[method, "payer"] = falls.idxmax()
            table.loc[method, "largest_fall"] = falls.max()
    return table.reset_index().assign(pair=pair, seed=seed, rows=len(X))


def beside_original(results):
    """Means over the seeds, one line a pair and method, with those of the original model.

    In percent and points; the original's are those of the same seeds, and end in "_before".
    """
    figures = ["accuracy", "accuracy_change", *SHARES, "largest_fall"]
    known = results[results["accuracy"].notna()].copy()
    known[figures] = 100 * known[figures].astype(float)
    original = known[known["method"] == "original"][["pair", "seed", *SHARES]]
    both = known.merge(original, on=["pair", "seed"], suffixes=("", "_before"))
    lines = both.groupby(["pair", "method"], sort=False).mean(numeric_only=True)
    lines["splits"] = N_FOLDS * both.groupby(["pair", "method"]).size()
    return lines


def overall(lines):
    """Means over the pairs, one line a method: what is left of the original's shares, the changes.

    What is left is the mean share over that of the original on the same pairs and seeds, of all
    pairs on which the method can be used: where the original has next to nothing, the share of a
    single pair says little.
    """
    print("\n| method | pairs, splits | left: rows, near, uniform | accuracy | worst | who pays |")
    print("| --- | --- | --- | --- | --- | --- |")
    for method, own in lines.groupby("method", sort=False):
        left = own[SHARES].mean().to_numpy() / own[[f"{n}_before" for n in SHARES]].mean()
        changes = own["accuracy_change"]
        print(
            f'| `"{method}"` | {len(own)}, {own["splits"].sum():.0f} | '
            f"{', '.join(f'{share:.0%}' for share in left)} | {changes.mean():+.1f} | "
            f"{changes.min():+.1f} | {own['largest_fall'].mean():.1f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="*", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--phases", nargs="*", default=list(PHASES), choices=list(PHASES))
    parser.add_argument("--seeds", type=int, default=5, help="each is four splits")
    parser.add_argument("--rows", type=int, default=1000, help="rows of a table at most")
    parser.add_argument("--csv", type=Path, help="file of all columns, read and written")
    parser.add_argument("--truth", nargs=2, type=int, metavar=("ROWS", "RUNS"), help="see above")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.phases, options.seeds = [*PAIRS][-3:], ["simple"], 1
    warnings.simplefilter("ignore")
    print(describe_machine(), flush=True)
    if options.truth:
        for effect, (name, model) in itertools.product(EFFECTS, MODELS.items()):
            print(f"\n{name}", end=", ")
            against_truth(effect, model, *options.truth)
        return
    results = pd.DataFrame(columns=["pair", "method", "seed"])
    if options.csv and options.csv.exists():
        results = pd.read_csv(options.csv)
        results = results[results["pair"].isin(PAIRS)]
    tasks = [
        (pair, PHASES[phase], seed)
        for seed in range(options.seeds)
        for phase in options.phases
        for pair in options.pairs
    ]
    for pair, names, seed in tasks:
        done = results[(results["pair"] == pair) & (results["seed"] == seed)]["method"]
        names = [name for name in names if name not in set(done)]
        if not names:
            continue
        began = time.process_time()
        table = run(pair, names, seed, options.rows)
        table = table[~table["method"].isin(done)]
        results = pd.concat([results, table], ignore_index=True)
        print(f"{pair}, seed {seed}, {names}: {time.process_time() - began:.0f} s", flush=True)
        if options.csv:
            results.to_csv(options.csv, index=False)
    lines = beside_original(results)
    shown = ["splits", "accuracy", "accuracy_change", *SHARES, "largest_fall", "fit_seconds"]
    print(f"\n{lines[shown].round(2).to_string()}")
    overall(lines)


if __name__ == "__main__":
    main()
