"""How near transports come to what they stand for, what they change on real tables, and how fast.

Planted: models whose equations are known (`make_proxy_classification`, 4,000 rows), so that each
row's values in the other group are known, too. Printed for each variant and map, over the seeds:
the mean error of a moved column in standard deviations (the worst column, and the mean of all that
depend on the group), and the AUC of a classifier that tells moved rows from real rows of the other
group that were kept apart (0.5: it cannot), beside that of rows that were not moved.

Real: on adult (sex left out of the model), german (sex), communities (whether the share of black
people is above the median) and bank (whether people are older than 40), a histogram boosting that
never sees the attribute: the share of rows whose label changes under each map by direction, the AUC
before and after, seconds, and how many rows two maps agree on.

Speed: a million rows of 12 columns (quantile), beside the prediction of a logistic regression;
100,000 rows (sequential); 5,000 by 5,000 (joint).

Run with ``python examples/benchmarks/bench_transports.py``; ``--only planted real speed`` runs
parts. Real tables need SKFAIRTEST_DATA, or the network; the joint map needs POT.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict, train_test_split

from skfairtest import OptimalTransport, QuantileTransport, SequentialTransport
from skfairtest.datasets import (
    fetch_adult,
    fetch_bank_marketing,
    fetch_communities,
    fetch_german_credit,
    make_proxy_classification,
)

VARIANTS = ("monotone", "no path", "resolving", "non-monotone", "category", "three groups",
            "thin overlap")  # fmt: skip


def maps(order=None):
    """The maps that are compared."""
    return {
        "quantile": QuantileTransport(),
        "sequential": SequentialTransport(order=order),
        "joint": OptimalTransport(),
    }


def boosting():
    """A classifier for mixed tables."""
    return HistGradientBoostingClassifier(random_state=0, max_iter=100)


def as_categories(X):
    """The table with texts as categories, which boosting takes as they are."""
    texts = X.select_dtypes(exclude="number").columns
    return X.astype(dict.fromkeys(texts, "category"))


def told_apart(moved, real):
    """How well a classifier tells two tables apart, out of fold."""
    both = as_categories(pd.concat([moved, real], ignore_index=True))
    of = np.repeat([1, 0], [len(moved), len(real)])
    chance = cross_val_predict(boosting(), both, of, cv=5, method="predict_proba")[:, 1]
    return roc_auc_score(of, chance)


def error(moved, true, spread):
    """Mean error of each column in standard deviations; of categories the share that is wrong."""
    errors = {}
    for name in true.columns:
        if pd.api.types.is_numeric_dtype(true[name]):
            errors[name] = float(np.abs(moved[name] - true[name]).mean() / spread[name])
        else:
            errors[name] = float((moved[name].astype(object) != true[name].astype(object)).mean())
    return errors


def planted(seeds, n):
    """The table of models whose equations are known."""
    print("\n| variant | map | worst column | its error | mean of moved | AUC before | after |")
    print("| --- " * 7 + "|")
    for variant in VARIANTS:
        rows = {}
        for seed in seeds:
            bunch = make_proxy_classification(n, variant=variant, random_state=seed)
            X, groups = bunch.data, np.asarray(bunch.sensitive)
            half, other = train_test_split(
                np.arange(n), test_size=0.5, random_state=seed, stratify=groups
            )
            truth = bunch.counterfactuals["b"]
            moves = [c for c in X if not X[c].equals(truth[c])]
            own = half[groups[half] == "a"]
            real = X.iloc[other[groups[other] == "b"]]
            spread = X.iloc[half].select_dtypes("number").std()
            for name, transport in maps(order=list(bunch.order)).items():
                transport.fit(X.iloc[half], groups[half])
                moved = transport.transport(X.iloc[own], "a", to="b")
                errors = error(moved, truth.iloc[own], spread)
                worst = max(errors, key=errors.get)
                mean = np.mean([errors[c] for c in moves]) if moves else np.nan
                aucs = told_apart(X.iloc[own], real), told_apart(moved, real)
                rows.setdefault(name, []).append((worst, errors[worst], mean, *aucs))
        for name, found in rows.items():
            worst = max(found, key=lambda one: one[1])
            figures = np.array([one[1:] for one in found]).mean(axis=0)
            cells = " | ".join(f"{x:.2f}" for x in figures)
            print(f"| {variant} | {name} | {worst[0]} | {cells} |", flush=True)


def real_tables():
    """Name, table without the attribute, group of each row, labels."""
    adult = fetch_adult()
    yield "adult", adult.data.drop(columns="sex"), adult.data["sex"], adult.target
    german = fetch_german_credit()
    yield "german", german.data.drop(columns="sex"), german.data["sex"], german.target
    communities = fetch_communities()
    black = communities.data["racepctblack"]
    X = communities.data.drop(columns=[c for c in communities.data if c.startswith("race")])
    above = np.where(black > black.median(), "more", "fewer")
    y = np.where(communities.target > np.median(communities.target), "high", "low")
    yield "communities", X, above, y
    bank = fetch_bank_marketing()
    old = np.where(bank.data["age"] > 4, "older", "younger")
    yield "bank", bank.data.drop(columns="age"), old, bank.target


def real(most):
    """The table of real data, of at most so many rows."""
    print(
        "\n| data, rows | from, to | map | labels changed | by direction | AUC before | after | s |"
    )
    print("| --- " * 8 + "|")
    for data, X, groups, y in real_tables():
        X, groups, y = X.iloc[:most], np.asarray(groups)[:most].astype(str), np.asarray(y)[:most]
        known = ~pd.isna(groups)
        X, groups, y = as_categories(X[known].reset_index(drop=True)), groups[known], y[known]
        model = boosting().fit(X, y)
        half, other = train_test_split(
            np.arange(len(X)), test_size=0.5, random_state=0, stratify=groups
        )
        names = np.unique(groups)
        changed = {}
        for name, transport in maps().items():
            began = time.perf_counter()
            transport.fit(X.iloc[half], groups[half])
            fitted = time.perf_counter() - began
            for a, b in (names, names[::-1]):
                own = half[groups[half] == a]
                began = time.perf_counter()
                moved = transport.transport(X.iloc[own], a, to=b)
                seconds = fitted + time.perf_counter() - began
                before, after = model.predict(X.iloc[own]), model.predict(moved)
                changed[name, a] = before != after
                ways = pd.Series(
                    [f"{x} to {z}" for x, z in zip(before, after, strict=True) if x != z]
                ).value_counts() / max(1, len(own))  # fmt: skip
                told = ", ".join(f"{way} {share:.1%}" for way, share in ways.items())
                kept = X.iloc[other[groups[other] == b]]
                aucs = told_apart(X.iloc[own], kept), told_apart(moved, kept)
                print(
                    f"| {data}, {len(X)} | {a}, {b} | {name} | {changed[name, a].mean():.1%} | "
                    f"{told} | {aucs[0]:.2f} | {aucs[1]:.2f} | {seconds:.1f} |", flush=True
                )  # fmt: skip
        for one, two in (
            ("quantile", "sequential"),
            ("quantile", "joint"),
            ("sequential", "joint"),
        ):
            same = [(changed[one, a] == changed[two, a]).mean() for a in names]
            print(f"| {data} | {', '.join(names)} | {one} and {two} agree | "
                  f"{', '.join(f'{x:.1%}' for x in same)} | | | | |", flush=True)  # fmt: skip


def speed():
    """The table of seconds."""
    rng = np.random.default_rng(0)
    print("\n| map | rows | columns | predict, s | fit, s | transport, s |")
    print("| --- " * 6 + "|")
    for name, transport, n, d in (
        ("quantile", QuantileTransport(), 1_000_000, 12),
        ("sequential", SequentialTransport(), 100_000, 12),
        ("joint", OptimalTransport(), 10_000, 12),
    ):
        groups = rng.integers(0, 2, n)
        X = pd.DataFrame(rng.normal(size=(n, d)) + 0.5 * groups[:, None])
        X.columns = [f"x{j}" for j in range(d)]
        y = (X.sum(axis=1) > 0).astype(int)
        model = LogisticRegression().fit(X, y)
        times = []
        for step in (
            lambda: model.predict(X),  # noqa: B023
            lambda: transport.fit(X, groups),  # noqa: B023
            lambda: transport.transport(X, groups),  # noqa: B023
        ):
            began = time.perf_counter()
            step()
            times.append(time.perf_counter() - began)
        cells = " | ".join(f"{t:.2f}" for t in times)
        print(f"| {name} | {n:,} | {d} | {cells} |", flush=True)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("planted", "real", "speed")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--rows", type=int, default=4000, help="of a planted table")
    parser.add_argument("--most", type=int, default=10_000, help="rows of a real table")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    if "planted" in asked.only:
        planted(asked.seeds, asked.rows)
    if "real" in asked.only:
        real(asked.most)
    if "speed" in asked.only:
        speed()


if __name__ == "__main__":
    main()
