"""Inputs that look like people: detectors, searches, and where new inputs are drawn.

Six tables: adult, the coded census, german credit, communities, and two made up with strong ties
between the columns (incomes that follow from wages and hours; measurements along a curve). Of each
40% of the rows train the model, 30% are what the testers are given, and 30% are kept for
comparison, so that neither the model nor the testers have seen them.

Table 1: detectors. Cuts are made so that each accepts 98% of real rows that were kept; printed is
the share of other inputs that it accepts: two random rows crossed, a row with three values from
others, and uniform inputs. Smaller is better. Then what "auto" accepts of the kept rows with the
cut that it makes itself, and seconds to fit and for 100,000 inputs.

Table 2: the frontier of plausible discriminatory inputs, 20,000 queries. "success" is the share of
the inputs that discriminate, "nearest" the median distance to the nearest row over that of kept
rows, "told apart" the area under the ROC curve of a classifier that separates them from kept rows
that discriminate (how many there are stands behind the table's name; below 100 the area is a rough
figure). "greed" is the power of the surrogate's prediction in `PlausibleSearch`; 1 is that of
``objective="diverse"``. "many" is the default, ``objective="count"``.

Table 3: proposals. Testers with "uniform" and "data" inputs, 20,000 queries, and with "auto" as
judge afterwards: discriminatory inputs, the degree found, and how plausible the inputs are.

Needs the folder of SKFAIRTEST_DATA. Run with ``python examples/benchmarks/bench_plausible.py``;
``--quick`` takes one table and a fifth of the queries, ``--tables`` and ``--parts`` name some.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import (
    AequitasAuditor,
    InputSpace,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    ThemisAuditor,
)
from skfairtest.datasets import fetch_adult, fetch_communities, fetch_german_credit
from skfairtest.individual._surrogate.plausible import PlausibleSearch
from skfairtest.space._plausible.judge import Plausibility
from skfairtest.space._plausible.real_vs_synthetic import cross_rows, with_foreign_values

MODELS = {
    "forest": RandomForestClassifier(50, min_samples_leaf=3, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=80, random_state=0),
}
MOST_ROWS = 12_000


# Tables ---------------------------------------------------------------------------------------


def make_jobs(n=8000, seed=0):
    """Years follow from ages, wages from education, incomes exactly from wages and hours."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 76, n)
    education = np.clip(rng.poisson(np.where(age < 22, 1, 2.2)), 0, 5)
    experience = np.maximum(0, age - 16 - 2 * education - rng.integers(0, 4, n))
    sex = rng.choice(["A", "B"], n)
    job = np.clip(np.rint(education + rng.normal(0, 0.7, n)), 0, 4).astype(int)
    hours = np.where(rng.random(n) < 0.7, 40, rng.integers(10, 60, n))
    wage = np.round(8 + 3.0 * education + 0.3 * experience + rng.gamma(2, 1.2, n), 2)
    income = np.round(wage * hours * 52 / 1000, 1)
    married = rng.random(n) < np.clip((age - 20) / 30, 0, 0.75)
    children = rng.poisson(np.where(married, 1.2, 0.15))
    X = pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "education": education,
            "experience": experience,
            "job": np.array(["clerk", "craft", "care", "tech", "lead"])[job],
            "hours": hours,
            "wage": wage,
            "income": income,
            "married": np.where(married, "yes", "no"),
            "children": children,
        }
    )
    logit = 0.08 * (income - 55) + 0.05 * (experience - 15) - 0.3 * children
    logit += 0.9 * ((sex == "B") & married) - 0.6 * ((sex == "A") & (children > 1))
    return X, (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)


def make_curve(n=8000, seed=1):
    """Ten measurements along a curve for each of four groups, and stages that follow from it."""
    rng = np.random.default_rng(seed)
    group, t = rng.integers(0, 4, n), rng.random(n)
    base = [np.sin(3 * t + group), np.cos(5 * t - group), t**2 + group * 0.3]
    base += [(t - 0.5) * (group - 1.5), np.exp(-t * group), t * group]
    measured = np.stack(base, axis=1) @ rng.normal(size=(6, 10)) + rng.normal(0, 0.05, (n, 10))
    X = pd.DataFrame(np.round(measured, 2), columns=[f"m{i}" for i in range(10)])
    X["group"] = np.array(list("pqrs"))[group]
    X["stage"] = np.array(["i", "ii", "iii", "iv"])[np.minimum((4 * t).astype(int), 3)]
    X["count"] = rng.poisson(2 + 6 * t)
    race = rng.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1])
    X["race"] = race
    score = X["m0"] - X["m1"] + 0.8 * X["m3"] + 0.1 * X["count"]
    score += 0.5 * (race == "A") * (group % 2) - 0.4 * (race == "C")
    score = (score - score.median()) / score.std()
    return X, (rng.random(n) < 1 / (1 + np.exp(-3 * score))).astype(int).to_numpy()


def load(name):
    """Features, labels and sensitive columns of a table."""
    sensitive = ["sex"]
    if name == "adult":
        X, y = fetch_adult(return_X_y=True)
        X, sensitive = X.drop(columns="fnlwgt"), ["sex", "race"]
    elif name == "census":
        X, y = fetch_adult(coded=True, return_X_y=True)
        sensitive = ["race", "sex"]
    elif name == "german":
        X, y = fetch_german_credit(return_X_y=True)
    elif name == "communities":
        X, y = fetch_communities(return_X_y=True)
        sensitive = ["racepctblack"]
    else:
        X, y = make_jobs() if name == "jobs" else make_curve()
        sensitive = ["sex"] if name == "jobs" else ["race"]
    chosen = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    return X.iloc[chosen].reset_index(drop=True), np.asarray(y)[chosen], sensitive


TABLES = ("adult", "census", "german", "communities", "jobs", "curve")


def split(name):
    """Rows to train on with labels, rows for the testers, rows kept, and the space of all."""
    X, y, sensitive = load(name)
    first, second = int(0.4 * len(X)), int(0.7 * len(X))
    space = InputSpace(one_hot=None).fit(X, sensitive)
    parts = [X[:first], X[first:second], X[second:]]
    return parts[0], y[:first], parts[1], parts[2], space


# Table 1 --------------------------------------------------------------------------------------


class Nearest:
    """Distance to the k-th nearest row."""

    def __init__(self, k):
        self.k = k

    def fit(self, Z):
        self.near = NearestNeighbors(n_neighbors=self.k, metric="manhattan").fit(Z)
        return self

    def score_samples(self, Z):
        return -self.near.kneighbors(Z)[0][:, -1]


def judge_of(space):
    """Our own judge, as it is learned from the data of a space."""
    return Plausibility("auto", space.layout, space.domain, space.data)


class Auto:
    """Our own; gets the codes."""

    def __init__(self, space):
        self.space = space

    def fit(self, Z):
        self.judge = judge_of(self.space)
        return self

    def score_samples(self, Z):
        return self.judge.score(Z)


def scaled(space, Z):
    """Ranges of one, a flag a category; distances between such rows have a meaning."""
    columns = []
    for j, column in enumerate(space.domain.columns):
        if column.kind == "categorical" and column.n_values > 2:
            columns.append(0.5 * (Z[:, [j]] == np.arange(column.n_values)))
        else:
            columns.append((Z[:, [j]] - column.low) / max(column.high - column.low, 1e-12))
    return np.concatenate(columns, axis=1)


def table_of_detectors(names, n):
    """Print what detectors accept."""
    print("\nTable 1: accepted where 98% of real rows are; seconds (fit, 100,000 inputs)")
    print(f"{'table':12}{'detector':18}{'crossed':>9}{'3 values':>9}{'uniform':>9}", end="")
    print(f"{'fit':>8}{'100k':>8}")
    for name in names:
        _, _, given, kept, whole = split(name)
        rng = np.random.default_rng(0)
        space = whole.with_data(given)
        rows, real = (whole.domain.move_inside(whole.encode(part), rng) for part in (given, kept))
        others = {
            "crossed": cross_rows(real, n, rng),
            "values": with_foreign_values(real, n, rng),
            "uniform": space.domain.draw(n, rng),
        }
        detectors = {
            "isolation forest": IsolationForest(random_state=0),
            "nearest row": Nearest(1),
            "5th nearest row": Nearest(5),
            "outlier factor": LocalOutlierFactor(metric="manhattan", novelty=True),
            "auto": Auto(space),
        }
        for label, detector in detectors.items():
            codes = label == "auto"
            seen = (lambda Z: Z) if codes else (lambda Z, space=space: scaled(space, Z))
            began = time.process_time()
            detector.fit(seen(rows))
            of_rows = detector.score_samples(seen(real[: 2 * n]))
            fitted = time.process_time()
            cut = np.quantile(of_rows, 0.02)
            shares = [np.mean(detector.score_samples(seen(Z)) >= cut) for Z in others.values()]
            seconds = (time.process_time() - fitted) / (3 * n) * 100_000
            print(
                f"{name:12}{label:18}" + "".join(f"{share:9.3f}" for share in shares)
                + f"{fitted - began:8.1f}{seconds:8.1f}", flush=True,
            )  # fmt: skip
            if codes:
                print(
                    f"{'':12}{'':18}its own cut accepts {detector.judge.accepts(real).mean():.3f}"
                )


# Tables 2 and 3 -------------------------------------------------------------------------------


def trained(model, X, y):
    """A pipeline around a model."""
    texts = make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), remainder=SimpleImputer(),
        sparse_threshold=0,
    )  # fmt: skip
    return make_pipeline(encoder, model).fit(X, y)


class GreedyAuditor(SurrogateAuditor):
    """The plausible search with other settings."""

    settings = {}  # without an annotation, which would make it a parameter

    def _search(self, oracle, rng):
        PlausibleSearch(oracle, rng, batch_size=self.batch_size, **self.settings).run()


def greedy(**settings):
    """A class with settings."""
    return type("GreedyAuditor", (GreedyAuditor,), {"settings": settings})


FRONTIER = {
    "uniform": (RandomAuditor, False),
    "undirected": (RandomAuditor, True),
    "greed 0.5": (greedy(greed=0.5), True),
    "greed 1": (greedy(), True),
    "greed 2": (greedy(greed=2.0), True),
    "the best": (greedy(greed=np.inf), True),
    "many": (SurrogateAuditor, True),
    "free": (SurrogateAuditor, False),
}


def two_sample_auc(first, second):
    """Area under the ROC curve of a classifier that tells two samples apart, cross-validated."""
    rng = np.random.default_rng(0)
    n = min(len(first), len(second))
    if n < 10:
        return np.nan
    first, second = (one[rng.permutation(len(one))[: 3 * n]] for one in (first, second))
    Z, side = np.concatenate([first, second]), np.repeat([0, 1], [len(first), len(second)])
    # Leaves of a tenth of a small sample, else nothing is learned from it.
    model = HistGradientBoostingClassifier(
        min_samples_leaf=int(np.clip(n // 10, 3, 20)), max_iter=60, early_stopping=False,
        class_weight="balanced", random_state=0,
    )  # fmt: skip
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(model, Z, side, cv=folds, method="decision_function")
    return roc_auc_score(side, scores)


def judged(auditor, judge, real, of_rows):
    """Success, distance over that of rows, share accepted and AUC of a fitted auditor's inputs."""
    found = auditor.space_.encode(auditor.discriminatory_inputs_)
    found = found[np.random.default_rng(0).permutation(len(found))[:3000]]
    if not len(found):
        return 0.0, np.nan, np.nan, np.nan
    near = np.median(judge.nearest(found)[1])
    auc = two_sample_auc(found, real)
    return auditor.discrimination_rate_, near / of_rows, judge.accepts(found).mean(), auc


def table_of_searches(names, models, n_queries):
    """Print the frontier."""
    print("\nTable 2: plausible discriminatory inputs, and what they cost in likeness")
    print(f"{'table':26}{'search':18}{'success':>9}{'found':>8}{'nearest':>9}{'told apart':>11}")
    collected = {label: [] for label in FRONTIER}
    for name in names:
        X, y, given, kept, whole = split(name)
        plain = whole.with_data(given)
        for label_of_model in models:
            model = trained(MODELS[label_of_model], X, y)
            probe = RandomAuditor(model, space=plain, max_queries=100, random_state=0).fit(given)
            real = whole.encode(probe.audit_rows(kept).discriminatory)
            title = f"{name} {label_of_model} ({len(real)})"
            if len(real) < 10:
                print(f"{title:26}too few kept rows discriminate")
                continue
            judge = judge_of(plain)
            likely = plain._changed(plausibility=judge)
            codes = whole.domain.move_inside(whole.encode(kept), np.random.default_rng(0))
            of_rows = max(np.median(judge.nearest(codes[:3000])[1]), 1e-9)
            for label, (kind, is_likely) in FRONTIER.items():
                auditor = kind(
                    model, space=likely if is_likely else plain, max_queries=n_queries,
                    random_state=0,
                ).fit(given)  # fmt: skip
                success, near, _, auc = judged(auditor, judge, real, of_rows)
                collected[label].append((success, near, auc))
                print(
                    f"{title:26}{label:18}{success:9.3f}{auditor.n_found_:8}{near:9.2f}{auc:11.3f}",
                    flush=True,
                )
    print("\nMean over tables and models (success: geometric mean of the ratio to undirected)")
    base = np.array(collected["undirected"])
    for label, rows in collected.items():
        rows = np.array(rows)
        ratio = np.exp(np.mean(np.log(np.maximum(rows[:, 0], 1e-4) / np.maximum(base[:, 0], 1e-4))))
        print(f"{label:18}success x{ratio:5.2f}  nearest {np.nanmean(rows[:, 1]):6.2f}  "
              f"told apart {np.nanmean(rows[:, 2]):.3f}")  # fmt: skip


def table_of_proposals(names, models, n_queries):
    """Print what proposals near the data bring each tester."""
    print("\nTable 3: inputs drawn anywhere or near the data")
    print(f"{'table':18}{'tester':18}{'proposals':10}{'success':>9}{'found':>8}{'degree':>8}"
          f"{'plausible':>10}{'nearest':>9}{'accepted':>9}{'told apart':>11}")  # fmt: skip
    testers = (RandomAuditor, ThemisAuditor, AequitasAuditor, SBFTAuditor, SurrogateAuditor)
    for name in names:
        X, y, given, kept, whole = split(name)
        plain = whole.with_data(given)
        judge = judge_of(plain)
        codes = whole.domain.move_inside(whole.encode(kept), np.random.default_rng(0))
        of_rows = max(np.median(judge.nearest(codes[:3000])[1]), 1e-9)
        for label in models:
            model = trained(MODELS[label], X, y)
            probe = RandomAuditor(model, space=plain, max_queries=100, random_state=0).fit(given)
            real = whole.encode(probe.audit_rows(kept).discriminatory)
            for kind in testers:
                for proposals in ("uniform", "data"):
                    space = clone(plain)  # of a learned space: with all that it has learned
                    space.proposals = proposals
                    auditor = kind(
                        model, space=space, max_queries=n_queries, random_state=0
                    ).fit(given)  # fmt: skip
                    auditor._state["judge"] = judge
                    success, near, accepted, auc = judged(auditor, judge, real, of_rows)
                    print(
                        f"{name + ' ' + label:18}{kind.__name__:18}{proposals:10}{success:9.3f}"
                        f"{auditor.n_found_:8}{auditor.fairness_degree_:8.3f}"
                        f"{auditor.fairness_degree_plausible_:10.3f}{near:9.2f}{accepted:9.3f}"
                        f"{auc:11.3f}", flush=True,
                    )  # fmt: skip


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one table, a fifth of the queries")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--parts", nargs="+", type=int, choices=(1, 2, 3), default=[1, 2, 3])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = ["jobs"] if options.quick else options.tables
    models = ["forest"] if options.quick else options.models
    n_queries = 4_000 if options.quick else 20_000
    print(describe_machine())
    if 1 in options.parts:
        table_of_detectors(names, 500 if options.quick else 2000)
    if 2 in options.parts:
        table_of_searches(names, models, n_queries)
    if 3 in options.parts:
        table_of_proposals(names, models, n_queries)


if __name__ == "__main__":
    main()
