"""Methods of mitigation side by side, on ten pairs of a table and a model.

`compare_mitigations` with four folds for each of several seeds: with five seeds, 20 splits of three
quarters of the rows to train on and one quarter to be measured on. Beside the methods of the
library two published ones that average predictions, written here after their papers:

- "mirror": MirrorFair of Xiao et al. [1]_. A second model is trained on the same rows with other
  sensitive values, and the probabilities of the two are mixed. The weight is the one of 0, 0.1 and
  so on by which the fewest rows of a part kept apart are told from their twins; among equal ones
  that with the best accuracy.
- "mutants": FairHOME of Chen et al. [2]_. The label that most of a row's mutants get, among which
  is the row itself: all combinations of sensitive values, those that change one attribute (first
  order) and those that change several (higher order). A tie goes to the larger mean probability.

One line a pair and method, means over the seeds: accuracy and its change to the original in points;
the shares of inputs whose twins are treated differently in percent (rows held out, near them,
uniform inputs), and what is left of the original's share among rows held out; who pays: the largest
fall of a group's accuracy in points, of groups with 30 rows or more; seconds of a training by the
clock on the wall.

Every seed takes all pairs, the cheap methods first; what is done is written to the file of
``--csv`` after every comparison and not run again, so that the script may be stopped and started.

Needs the folder of SKFAIRTEST_DATA; fairlearn's methods need fairlearn. Run with
``python examples/benchmarks/bench_compare_mitigations.py --csv results.csv``.

.. [1] Xiao, Y., Zhang, J. M., Liu, Y., Mousavi, M. R., Liu, S., & Xue, D. (2024). MirrorFair:
   fixing fairness bugs in machine learning software via counterfactual predictions. Proc. ACM
   Softw. Eng. 1(FSE).
.. [2] Chen, Z., Li, X., Zhang, J. M., Sarro, F., & Liu, Y. (2025). Diversity drives fairness:
   ensemble of higher order mutants for intersectional fairness of machine learning software. ICSE,
   743-755.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfairtest import compare_mitigations
from skfairtest.datasets import (
    fetch_adult,
    fetch_bank_marketing,
    fetch_communities,
    fetch_german_credit,
    make_biased_classification,
)

N_FOLDS = 4
#: In the order in which they are run.
PHASES = {
    "simple": ["drop", "marginalize"],
    "peers": ["mirror", "mutants"],
    "fairlearn": ["correlation remover", "exponentiated parity", "exponentiated odds"],
    "retrainers": ["retrain twins", "retrain aequitas", "retrain testsgd", "retrain groups"],
}
FEWEST_ROWS = 30
SHARES = ["share_rows", "share_near", "share_uniform"]

# Published peers ---------------------------------------------------------------------------------


def combinations(X, sensitive):
    """The combinations of sensitive values that occur, one a row."""
    return X[sensitive].drop_duplicates().reset_index(drop=True)


def with_values(X, sensitive, values):
    """X, all rows of which have the same sensitive values."""
    return X.assign(**{name: values[name] for name in sensitive}).astype(X.dtypes)


class Mirror(ClassifierMixin, BaseEstimator):
    """A model and its mirror, trained on other sensitive values, in a mixture."""

    def __init__(self, estimator=None, sensitive=(), random_state=None):
        self.estimator = estimator
        self.sensitive = sensitive
        self.random_state = random_state

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.unique(y)
        self.values_ = combinations(X, self.sensitive)
        mirrored = self._mirrored(X, rng)
        learned, apart = train_test_split(
            np.arange(len(X)), test_size=0.25, stratify=y, random_state=self.random_state
        )
        self._train(X.iloc[learned], mirrored.iloc[learned], y[learned])
        self.weight_ = self._choose(X.iloc[apart], y[apart])
        self._train(X, mirrored, y)
        return self

    def _mirrored(self, X, rng):
        """The rows with another combination of sensitive values, one of those of other rows."""
        own = pd.MultiIndex.from_frame(X[self.sensitive])
        place = pd.MultiIndex.from_frame(self.values_).get_indexer(own)
        shares = np.bincount(place, minlength=len(self.values_)) / len(X)
        other = np.empty(len(X), dtype=int)
        for code in range(len(shares)):
            p = np.where(np.arange(len(shares)) == code, 0, shares)
            rows = np.flatnonzero(place == code)
            other[rows] = rng.choice(len(shares), len(rows), p=p / p.sum())
        drawn = self.values_.iloc[other].set_axis(X.index)
        return X.assign(**{name: drawn[name] for name in self.sensitive})

    def _train(self, X, mirrored, y):
        self.model_ = clone(self.estimator).fit(X, y)
        self.mirror_ = clone(self.estimator).fit(mirrored, y)

    def _choose(self, X, y):
        values = [row for _, row in self.values_.iterrows()]
        twins = [with_values(X, self.sensitive, value) for value in values]
        asked = [(self.model_.predict_proba(t), self.mirror_.predict_proba(t)) for t in twins]
        own = self.model_.predict_proba(X), self.mirror_.predict_proba(X)
        best = None
        for weight in np.linspace(1, 0, 11):
            labels = np.array([(weight * a + (1 - weight) * b).argmax(axis=1) for a, b in asked])
            flips = (labels != labels[0]).any(axis=0).mean()
            said = self.classes_[(weight * own[0] + (1 - weight) * own[1]).argmax(axis=1)]
            key = (flips, -np.mean(said == y))
            if best is None or key < best[0]:
                best = key, weight
        return best[1]

    def predict_proba(self, X):
        own, mirrored = self.model_.predict_proba(X), self.mirror_.predict_proba(X)
        return self.weight_ * own + (1 - self.weight_) * mirrored

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Mutants(ClassifierMixin, BaseEstimator):
    """The label of most mutants of a row, by one and the same model."""

    def __init__(self, estimator=None, sensitive=()):
        self.estimator = estimator
        self.sensitive = sensitive

    def fit(self, X, y):
        self.model_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.model_.classes_
        self.values_ = combinations(X, self.sensitive)
        return self

    def predict(self, X):
        votes = np.zeros((len(X), len(self.classes_)))
        means = np.zeros_like(votes)
        for _, values in self.values_.iterrows():
            p = self.model_.predict_proba(with_values(X, self.sensitive, values))
            votes[np.arange(len(X)), p.argmax(axis=1)] += 1
            means += p / len(self.values_)
        return self.classes_[(votes + 0.5 * means).argmax(axis=1)]


# Pairs -------------------------------------------------------------------------------------------


def german():
    X, y = fetch_german_credit(return_X_y=True)
    return X, y, ["sex"]


def adult():
    X, y = fetch_adult(return_X_y=True)
    return X.drop(columns="fnlwgt"), y, ["sex", "race"]


def census():
    X, y = fetch_adult(coded=True, return_X_y=True)
    return X.astype(float), y, ["sex"]


def bank():
    X, y = fetch_bank_marketing(return_X_y=True)
    return X.astype(float), y, ["marital"]


def communities():
    X, y = fetch_communities(return_X_y=True)
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
    numbers = make_column_selector(dtype_include="number")
    text = make_column_selector(dtype_exclude="number")
    if text(X):
        names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        scaled = make_pipeline(SimpleImputer(), StandardScaler())
        model = make_pipeline(make_column_transformer((names, text), (scaled, numbers)), model)
    elif isinstance(model, LogisticRegression):
        model = make_pipeline(StandardScaler(), model)
    return X, y, sensitive, model


# Runs --------------------------------------------------------------------------------------------


def run(pair, names, seed, rows):
    """The rows of some methods on one pair, by four folds of one seed."""
    X, y, sensitive, model = load(pair, rows)
    methods = names
    if names[0] in PHASES["peers"]:
        methods = {"mirror": Mirror(model, sensitive), "mutants": Mutants(model, sensitive)}
        methods = {name: methods[name] for name in names}
    comparison = compare_mitigations(
        model,
        X,
        y,
        sensitive_features=sensitive,
        methods=methods,
        cv=StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed),
        favourable=np.unique(y)[-1],
        random_state=seed,
        progress=False,
    )
    table, accuracies = comparison.table, comparison.groups["accuracy"]
    known = comparison.groups.loc["original"].query("rows >= @FEWEST_ROWS").index
    for method in accuracies.index.unique("method"):
        falls = (accuracies["original"] - accuracies[method])[known]
        if falls.notna().any():
            table.loc[method, "payer"] = falls.idxmax()
            table.loc[method, "largest_fall"] = falls.max()
    return table.reset_index().assign(pair=pair, seed=seed, rows=len(X))


def summary(results):
    """Means over the seeds, in percent and points, one line a pair and method."""
    lines = []
    names = ["original", *(name for names in PHASES.values() for name in names)]
    order = [(pair, name) for pair in PAIRS for name in names]
    for pair, method in order:
        part = results[(results["pair"] == pair) & (results["method"] == method)]
        if not len(part):
            continue
        first = results[(results["pair"] == pair) & (results["method"] == "original")]
        first = first[first["seed"].isin(part["seed"])]
        if part["accuracy"].isna().all():
            lines.append((pair, method, f"-: {part['note'].iloc[0]}"))
            continue
        mean, base = part.mean(numeric_only=True), first.mean(numeric_only=True)
        shares = [100 * mean[name] for name in SHARES]
        left = mean["share_rows"] / base["share_rows"] if base["share_rows"] else np.nan
        spread = 100 * part["accuracy_change"].std() / np.sqrt(len(part)) if len(part) > 1 else 0.0
        lines.append((
            pair, method,
            f"{len(part) * N_FOLDS:2d} splits  {100 * mean['accuracy']:5.1f} "
            f"{100 * mean['accuracy_change']:+5.1f} ({spread:.1f})  "
            f"{shares[0]:5.1f} {shares[1]:5.1f} {shares[2]:5.1f}  {100 * left:4.0f}%  "
            f"{100 * mean['largest_fall']:+5.1f}  {mean['fit_seconds']:7.2f} s",
        ))  # fmt: skip
    head = "splits, accuracy, change (error); rows, near, uniform; left; who pays; a training"
    print(f"\n{head}")
    last = None
    for pair, method, line in lines:
        if pair != last:
            print(f"\n{pair}")
        last = pair
        print(f"  {method:22}{line}")


def overall(results):
    """Means over the pairs, one line a method: what is left of the original's shares, the changes.

    What is left is the mean share over that of the original on the same pairs and seeds, of all
    pairs on which the method can be used: where the original has next to nothing, the share of a
    single pair says little.
    """
    print("\n| method | pairs, splits | left: rows, near, uniform | accuracy | worst | who pays |")
    print("| --- | --- | --- | --- | --- | --- |")
    for method in [name for names in PHASES.values() for name in names]:
        own = results[(results["method"] == method) & results["accuracy"].notna()]
        lines = []
        for pair, part in own.groupby("pair"):
            first = results[(results["pair"] == pair) & (results["method"] == "original")]
            base = first[first["seed"].isin(part["seed"])].mean(numeric_only=True)
            mean = part.mean(numeric_only=True)
            changes = mean[["accuracy_change", "largest_fall"]]
            lines.append([*mean[SHARES], *base[SHARES], *changes])
        if not lines:
            continue
        table = 100 * np.array(lines)
        shares = table.mean(axis=0)[:6]
        left = ", ".join(f"{100 * value:.0f}%" for value in shares[:3] / shares[3:])
        print(
            f'| `"{method}"` | {len(lines)}, {N_FOLDS * len(own)} | {left} | '
            f"{table[:, 6].mean():+.1f} | {table[:, 6].min():+.1f} | {table[:, 7].mean():.1f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="*", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--phases", nargs="*", default=list(PHASES), choices=list(PHASES))
    parser.add_argument("--seeds", type=int, default=5, help="each is four splits")
    parser.add_argument("--rows", type=int, default=1000, help="rows of a table at most")
    parser.add_argument("--csv", type=Path, help="file of all columns, read and written")
    parser.add_argument("--show", action="store_true", help="print what is done, and run nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine(), flush=True)
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
    for pair, names, seed in [] if options.show else tasks:
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
    summary(results)
    overall(results)


if __name__ == "__main__":
    main()
