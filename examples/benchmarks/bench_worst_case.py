"""Found over certified: how much of the largest disparity each search finds.

For models whose fairness degree is certified, on which nothing was tuned, the share of it that SBFT
finds, tuned and with the paper's parameters, and batched random testing; sorted over the seeds, and
then summed up over all models. A model whose certificate stays open after `--max-time` seconds is
left out. The last line says how often the certified degree lay in `degree_estimate_`.

Run with ``python examples/benchmarks/bench_worst_case.py``. The public data are read from the
folder that SKFAIRTEST_DATA names, or fetched from OpenML. ``--budgets``, ``--seeds``, ``--testers``
and ``--cases`` choose parts.
"""

import argparse
import time
import warnings

import numpy as np
from _certified_models import adult, bank, crime, german, lightgbm, made_up, wide, xgboost
from _machine import describe_machine
from bench_certify import one_hot
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeRegressor

from skfairtest import CertifiedAuditor, PublishedSBFTAuditor, RandomAuditor, SBFTAuditor

TESTERS = {
    "SBFT tuned": SBFTAuditor(),
    "SBFT paper": PublishedSBFTAuditor(),
    "random": RandomAuditor(),
}


#: Nothing was tuned on these: other seeds, sizes and settings than those of bench_few_queries.py.
CASES = {
    "5 columns, 4 values, forest": lambda: wide(5, 4, 200, forest(60, 8)),
    "12 columns, XGBoost": lambda: made_up(
        12, 201, xgboost("XGBClassifier", n_estimators=100, max_depth=5), True
    ),
    "16 columns, 20 values, XGBoost": lambda: wide(
        16, 20, 202, xgboost("XGBRegressor", n_estimators=100, max_depth=5)
    ),
    "20 columns, 6 values, forest": lambda: wide(20, 6, 203, forest(60, 8)),
    "30 columns, LightGBM": lambda: made_up(30, 204, lightgbm("LGBMRegressor", 100, 31), False),
    "35 columns, 3 values, LightGBM": lambda: wide(
        35, 3, 205, lightgbm("LGBMClassifier", 100, 31), classes=True
    ),
    "45 columns, forest": lambda: made_up(45, 206, forest(60, 8), False),
    "60 columns, 100 values, boosting": lambda: wide(60, 100, 207, boosting()),
    "80 columns, 10 values, histograms": lambda: wide(
        80, 10, 208, HistGradientBoostingRegressor(random_state=0)
    ),
    "120 columns, 2 values, boosting": lambda: wide(120, 2, 209, boosting()),
    "adult, race, XGBoost": lambda: adult(
        xgboost("XGBClassifier", n_estimators=100, max_depth=4), ["race"]
    ),
    "german, age, boosting": lambda: german(GradientBoostingClassifier(random_state=0), "age"),
    "bank, age and marital, LightGBM": lambda: bank(
        lightgbm("LGBMClassifier", 100, 31), ["age", "marital"]
    ),
    "communities, racePctWhite, forest": lambda: crime(forest(40, 7), "racePctWhite"),
    "25 columns, network (10,)": lambda: made_up(
        25, 210, MLPClassifier((10,), random_state=0), True, encoded=one_hot
    ),
    "15 columns, 5 values, tree": lambda: wide(
        15, 5, 211, DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    ),
}


def forest(n_estimators, max_depth):
    """A forest of limited depth, which a certificate closes."""
    return RandomForestRegressor(n_estimators, max_depth=max_depth, random_state=0)


def boosting():
    """Gradient boosting of deeper trees than by default."""
    return GradientBoostingRegressor(max_depth=4, random_state=0)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--testers", nargs="+", default=list(TESTERS), choices=list(TESTERS))
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--max-time", type=float, default=120.0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    shares = {(name, budget): [] for name in asked.testers for budget in asked.budgets}
    inside = []
    print("\n| model | tester | queries | found over certified | discriminatory inputs | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in asked.cases:
        model, X, sensitive = CASES[case]()
        certified = CertifiedAuditor(
            model, sensitive_features=sensitive, max_time=asked.max_time, random_state=0
        ).fit(X)
        if certified.gap_ > 0.01 * certified.fairness_degree_:
            print(f"| {case} | open: {certified.gap_:.3g} | | | | |", flush=True)
            continue
        degree = certified.fairness_degree_upper_bound_
        for name in asked.testers:
            tester = TESTERS[name]
            for budget in asked.budgets:
                shares_found, n_found, seconds = [], [], []
                for seed in asked.seeds:
                    began = time.perf_counter()
                    tester.set_params(
                        estimator=model, sensitive_features=sensitive, max_queries=budget,
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
