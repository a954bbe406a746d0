"""How near transports come to what they stand for, what they change on real tables, and how fast.

Planted: models whose equations are known (`make_proxy_classification`, 4,000 rows), so that each
row's values in the other group are known, too. Printed for each variant and map, over the seeds:
the mean error of moved columns (of all where none should move) in standard deviations: of the
worst column of continuous numbers, of the count, and of the category (share that is wrong). Beside
the last two "least", the error of the true map where rows with the same value are told apart by
chance, which no map with random ranks can fall below unless other columns tell them apart. Then the
AUC of a classifier that tells moved rows from rows of the other group that no map has seen (0.5: it
cannot), beside that of rows that were not moved. The largest of the seeds is in parentheses.

Real: on adult (sex left out of the model), german (sex), communities (whether the share of black
people is above the median) and bank (whether people are older than 40), a histogram boosting that
never sees the attribute: the share of rows whose label changes under each map by direction, the AUC
before and after, seconds, and the share of rows that get the same label under two maps.

Hiring: the synthetic case of FlipTest (Black, Yeom & Fredrikson, FAT* 2020), after Lipton, McAuley
& Chouldechova (NeurIPS 2018): what moves in rows that lose and that gain the job, in standard
deviations, beside what the notebooks of FlipTest's repository print.

Speed: a million rows of 12 columns (quantile), beside the prediction of a logistic regression;
100,000 rows (sequential); 5,000 by 5,000 (joint).

Run with ``python examples/benchmarks/bench_transports.py``; ``--only planted real hiring speed``
runs parts. Real tables need SKFAIRTEST_DATA, or the network; the joint maps need POT.
"""

import argparse
import time
import warnings
from itertools import combinations

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


def maps(**params):
    """The maps that are compared; parameters are those of the sequential one."""
    return {
        "quantile": QuantileTransport(),
        "sequential": SequentialTransport(**params),
        "joint": OptimalTransport(),
        "joint, exact": OptimalTransport(reg=None),
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


def least(own, true, spread, rng):
    """Error of the true map of a column, if rows of equal values swap where they go to."""
    table = pd.DataFrame({"own": own.astype(str), "true": true})
    swapped = table.groupby("own")["true"].transform(lambda part: rng.permutation(part.to_numpy()))
    return error(swapped.to_frame(true.name), true.to_frame(), spread)[true.name]


def planted_errors(bunch, transport, truth):
    """Errors of moved columns by kind: numbers, counts, and categories; with their least."""
    X, groups = bunch.data.drop(columns="group"), np.asarray(bunch.sensitive)
    own, moves = groups == "a", [name for name in X if not X[name].equals(truth[name])]
    spread, rng = X.select_dtypes("number").std(), np.random.default_rng(0)
    moved = transport.fit(X, groups).transport(X[own], "a", to="b")
    errors = error(moved, truth[own], spread)
    found = {}
    for name in moves or X:
        if pd.api.types.is_float_dtype(X[name]):
            found["number"] = max(found.get("number", 0.0), errors[name])
            continue
        kind = "count" if pd.api.types.is_integer_dtype(X[name]) else "category"
        found[kind] = max(found.get(kind, 0.0), errors[name])
        found[f"least {kind}"] = least(X[name][own], truth[name][own], spread, rng)
    return found


def planted(seeds, n, variants):
    """The table of models whose equations are known."""
    columns = ("number", "count", "least count", "category", "least category", "before", "after")
    print(f"\n| variant | map | {' | '.join(columns)} |\n" + "| --- " * (2 + len(columns)) + "|")
    for variant in variants:
        rows = {}
        for seed in seeds:
            bunch, unseen = (
                make_proxy_classification(n, variant=variant, random_state=s)
                for s in (seed, seed + 1000)
            )
            X, groups = bunch.data.drop(columns="group"), np.asarray(bunch.sensitive)
            real = unseen.data.drop(columns="group")[unseen.sensitive == "b"]
            graph = {k: [p for p in v if p != "group"] for k, v in bunch.graph.items()}
            before = told_apart(X[groups == "a"], real)
            compared = maps(graph=graph) | {"sequential, order": SequentialTransport(
                order=list(bunch.order))}  # fmt: skip
            if variant == "resolving":
                compared["quantile, keep"] = QuantileTransport(keep=bunch.resolving)
            for name, transport in compared.items():
                kept = bunch.counterfactuals_resolved if len(transport.keep) else None
                truth = (kept or bunch.counterfactuals)["b"].drop(columns="group")
                found = planted_errors(bunch, transport, truth)
                after = told_apart(transport.transport(X[groups == "a"], "a", to="b"), real)
                rows.setdefault(name, []).append(found | {"before": before, "after": after})
        for name, found in rows.items():
            table = pd.DataFrame(found, columns=columns)
            cells = [
                "" if table[c].isna().all() else f"{table[c].mean():.3f} ({table[c].max():.3f})"
                for c in columns
            ]
            print(f"| {variant} | {name} | {' | '.join(cells)} |", flush=True)


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
        real_table(data, X, groups, boosting().fit(X, y))


def real_table(data, X, groups, model):
    """The lines of one table and model."""
    half, other = train_test_split(
        np.arange(len(X)), test_size=0.5, random_state=0, stratify=groups
    )
    names, labels, unmoved = np.unique(groups), {}, {}
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
            labels[name, a] = after
            ways = pd.Series([f"{x} to {z}" for x, z in zip(before, after, strict=True) if x != z])
            told = ", ".join(
                f"{way} {share:.1%}" for way, share in (ways.value_counts() / len(own)).items()
            )
            kept = X.iloc[other[groups[other] == b]]
            if (a, b) not in unmoved:
                unmoved[a, b] = told_apart(X.iloc[own], kept)
            most = getattr(transport, "max_rows", np.inf)
            sampled = f", of {most:,} rows a group" if (own.size > most) else ""
            changed, auc = (before != after).mean(), told_apart(moved, kept)
            print(f"| {data}, {len(X)} | {a}, {b} | {name}{sampled} | {changed:.1%} | {told} | "
                  f"{unmoved[a, b]:.2f} | {auc:.2f} | {seconds:.1f} |", flush=True)  # fmt: skip
    for one, two in combinations(maps(), 2):
        same = [f"{(labels[one, a] == labels[two, a]).mean():.1%}" for a in names]
        cells = f"{', '.join(names)} | {one} and {two} agree | {', '.join(same)}"
        print(f"| {data} | {cells} | | | | |", flush=True)


#: What the notebooks of FlipTest print of its own map, which a generative network learned: mean
#: changes of experience and hair length in rows that lose and that gain, and the mean way.
PUBLISHED = {
    "men": ((-1.466, 0.542), (-0.700, 1.610), 2.195),
    "women": ((0.585, -1.643), (1.375, -0.496), 2.091),
}


def hiring(n=10_000):
    """The table of FlipTest's synthetic case."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["men", "women"], n)
    men = groups == "men"
    X = pd.DataFrame({
        "experience": rng.poisson(np.where(men, 31, 25)) - rng.normal(20, 0.2, 2 * n),
        "hair": 35 * rng.beta(2, np.where(men, 7, 2)),
    })  # fmt: skip
    X = (X - X.mean()) / X.std()

    def hired(X):  # a model with equal shares of both groups, as FlipTest's code states it
        return X["experience"] * 1.2956 + X["hair"] * 1.0862 > 0.8668

    print("\n| from | map | lose | experience, hair | gain | experience, hair | way | AUC | s |")
    print("| --- " * 9 + "|")
    some = rng.permutation(2 * n) < n  # what maps learn from; the others judge them
    for own, (lost, gained, way) in PUBLISHED.items():
        for name, transport in maps(order=["experience", "hair"]).items():
            began = time.perf_counter()
            transport.fit(X[some], groups[some])
            rows = X[some & (groups == own)]
            moved = transport.transport(rows, own)
            seconds = time.perf_counter() - began
            before, after, change = hired(rows), hired(moved), moved - rows
            cells = []
            for flipped in (before & ~after, ~before & after):
                means = change[flipped].mean()
                cells += [f"{flipped.mean():.1%}", ", ".join(f"{x:+.2f}" for x in means)]
            auc = told_apart(moved, X[~some & (groups != own)])
            cells += [f"{change.abs().sum(axis=1).mean():.2f}", f"{auc:.2f}", f"{seconds:.1f}"]
            print(f"| {own} | {name} | {' | '.join(cells)} |", flush=True)
        told = [", ".join(f"{x:+.2f}" for x in pair) for pair in (lost, gained)]
        print(f"| {own} | FlipTest's | | {told[0]} | | {told[1]} | {way:.2f} | | |", flush=True)


def speed():
    """The table of seconds of CPU time."""
    rng = np.random.default_rng(0)
    print("\n| map | rows | columns | predict, s | fit, s | transport, s |")
    print("| --- " * 6 + "|")
    for name, transport, n, d in (
        ("quantile", QuantileTransport(), 1_000_000, 12),
        ("sequential", SequentialTransport(), 100_000, 12),
        ("joint", OptimalTransport(), 10_000, 12),
        ("joint, exact", OptimalTransport(reg=None), 10_000, 12),
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
            began = time.process_time()  # what runs beside it does not count
            step()
            times.append(time.process_time() - began)
        cells = " | ".join(f"{t:.2f}" for t in times)
        print(f"| {name} | {n:,} | {d} | {cells} |", flush=True)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("planted", "real", "hiring", "speed")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--rows", type=int, default=4000, help="of a planted table")
    parser.add_argument("--most", type=int, default=None, help="rows of a real table; all")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    if "planted" in asked.only:
        planted(asked.seeds, asked.rows, asked.variants)
    if "real" in asked.only:
        real(asked.most)
    if "hiring" in asked.only:
        hiring()
    if "speed" in asked.only:
        speed()


if __name__ == "__main__":
    main()
