"""Found over certified: how much of the largest disparity each search finds.

For models whose fairness degree is certified, the share of it that SBFT finds, tuned and with the
paper's parameters, and batched random testing; sorted over the seeds, and then summed up over all
models. The tuned search does not depend on its budget, so one run with the larger budget tells
what the smaller one finds, too. The second table says how often the certified degree lay in
`degree_estimate_`.

Run with ``python examples/benchmarks/bench_worst_case.py``; ``--quick`` takes one seed and 20,000
queries.
"""

import argparse
import time
import warnings

import numpy as np
from _machine import describe_machine
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.neural_network import MLPRegressor

from skfairtest import CertifiedAuditor, PublishedSBFTAuditor, RandomAuditor, SBFTAuditor

TESTERS = {
    "SBFT tuned": SBFTAuditor(),
    "SBFT paper": PublishedSBFTAuditor(),
    "random": RandomAuditor(),
}


def table(n_columns, n_values, seed, n_rows=5000):
    """Mixed columns, the first one sensitive; it matters where others have certain values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] = rng.integers(0, n_values, n_rows)
    for j in range(1, n_columns):
        kind = rng.integers(4)
        if kind < 2:
            X[:, j] = rng.integers(0, rng.integers(2, 9) if kind else rng.integers(20, 90), n_rows)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = Z[:, 1:] @ (rng.normal(size=n_columns - 1) * (rng.random(n_columns - 1) < 0.6))
    for _ in range(max(3, n_columns // 5)):
        a, b, c, d = rng.integers(1, n_columns, size=4)
        wave = np.sin(rng.normal() * Z[:, a] + rng.normal())
        y += Z[:, 0] * wave * (Z[:, b] > 0.7 * rng.normal()) + 0.5 * Z[:, c] * Z[:, d]
    return X, y + 0.3 * rng.normal(size=n_rows)


def cases(quick):
    """Name, fitted model, table."""
    forest = RandomForestRegressor(60, max_depth=8, random_state=0)
    deep = GradientBoostingRegressor(max_depth=4, random_state=0)
    histogram = HistGradientBoostingRegressor(random_state=0)
    net = MLPRegressor(hidden_layer_sizes=(40,), max_iter=60, random_state=0)
    shapes = [(6, 3, forest), (12, 5, forest), (33, 2, forest), (40, 2, histogram)]
    if not quick:
        shapes += [
            (33, 8, histogram),
            (60, 293, deep),
            (80, 20, deep),
            (100, 2, deep),
            (30, 2, net),
        ]
    for seed, (n_columns, n_values, model) in enumerate(shapes, start=20):
        X, y = table(n_columns, n_values, seed)
        if model is net:
            X, y = (X - X.mean(axis=0)) / X.std(axis=0), y / y.std()
        name = f"{type(model).__name__}, {n_columns} columns, {n_values} values"
        yield name, model.fit(X, y), X


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    print(describe_machine())
    budgets = (20_000,) if quick else (20_000, 100_000)
    seeds = range(1 if quick else 5)
    shares = {(name, budget): [] for name in TESTERS for budget in budgets}
    inside = []
    print("\n| model | tester | queries | found over certified | discriminatory inputs | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case, model, X in cases(quick):
        certified = CertifiedAuditor(model, sensitive_features=[0], random_state=0, n_jobs=-1)
        certified.fit(X)
        if certified.gap_ > 0.01 * certified.fairness_degree_:
            print(f"| {case} | open | | | | |")
            continue
        degree = certified.fairness_degree_upper_bound_
        for name, tester in TESTERS.items():
            for budget in budgets:
                shares_found, n_found, seconds = [], [], []
                for seed in seeds:
                    began = time.perf_counter()
                    tester.set_params(
                        estimator=model, sensitive_features=[0], max_queries=budget,
                        random_state=seed,
                    ).fit(X)  # fmt: skip
                    seconds.append(time.perf_counter() - began)
                    shares_found.append(tester.fairness_degree_ / degree)
                    n_found.append(tester.n_found_)
                    if name == "SBFT tuned" and np.isfinite(tester.degree_estimate_[1]):
                        inside.append(tester.degree_estimate_[1] >= degree * (1 - 1e-9))
                shares[name, budget] += shares_found
                listed = " ".join(f"{share:.3f}" for share in sorted(shares_found))
                print(
                    f"| {case} | {name} | {budget:,} | {listed} | {np.median(n_found):,.0f} | "
                    f"{np.median(seconds):.1f} |",
                    flush=True,
                )
    print("\n| tester | queries | least | median | at least 0.9 | at least 0.99 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (name, budget), found in shares.items():
        part = np.array(found)
        print(
            f"| {name} | {budget:,} | {part.min():.3f} | {np.median(part):.3f} | "
            f"{(part >= 0.9).mean():.0%} | {(part >= 0.99).mean():.0%} |"
        )
    if inside:
        print(f"\nCertified degree within degree_estimate_: {np.mean(inside):.0%} of {len(inside)}")


if __name__ == "__main__":
    main()
