"""With few queries: how much of the certified degree testers find in 300 to 3,000 queries.

Models behind a service are asked hundreds of times, not thousands. For six models (and eleven more,
"kept aside", on which nothing was ever tuned), the table shows the mean over the seeds of the
largest disparity found, divided by the certified upper bound. The threshold is 0: verdicts are not
the question, and confirming them would cost queries. Where a certificate is open after a minute,
its upper bound stands for the degree, and a star marks the model: shares are then too small.

Run with ``python examples/benchmarks/bench_few_queries.py``. The public data are read from the
folder that SKFAIRTEST_DATA names, or fetched from OpenML. ``--truth`` names a file that keeps the
certified bounds for the next run. ``--picture`` names a file for the curves of all models together.
``--unit seconds`` takes the
budgets as seconds of processor time, without a limit on queries. The guide's picture has the eleven
models, ``--seeds 1 --budgets 300 1000 3000 10000 20000`` and
``--testers random surrogate SBFT Aequitas MAFT Themis``.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _certified_models import adult, bank, crime, german, lightgbm, made_up, wide, xgboost
from _machine import describe_machine
from bench_certify import one_hot
from bench_exact import TESTERS as ALL
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from skfairtest import CertifiedAuditor, RandomAuditor, SBFTAuditor, SurrogateAuditor, _clock

#: Those that look for the largest difference, and others, for the picture.
SHORT = {
    "random": RandomAuditor(),
    "surrogate": SurrogateAuditor(objective="degree"),
    "SBFT": SBFTAuditor(),
}
TESTERS = SHORT | {name: ALL[name] for name in ("SBFT paper", "Aequitas", "Themis", "MAFT", "SG")}
MAX_TIME = 60.0
TUNED_ON = (
    "crime forest",
    "german forest",
    "adult forest",
    "adult boosting",
    "made-up forest",
    "made-up boosting",
)


CASES = {
    "crime forest": lambda: crime(
        RandomForestRegressor(50, max_depth=8, random_state=0), "racepctblack"
    ),
    "german forest": lambda: german(RandomForestClassifier(50, max_depth=6, random_state=0)),
    "adult forest": lambda: adult(RandomForestClassifier(30, max_depth=8, random_state=0)),
    "adult boosting": lambda: adult(GradientBoostingClassifier(random_state=0)),
    "made-up forest": lambda: made_up(
        20, 0, RandomForestRegressor(50, max_depth=8, random_state=0), False
    ),
    "made-up boosting": lambda: made_up(
        30, 1, GradientBoostingClassifier(max_depth=4, random_state=0), True
    ),
    "bank boosting": lambda: bank(HistGradientBoostingClassifier(max_iter=60, random_state=0)),
    "wide boosting": lambda: wide(
        33, 8, 50, GradientBoostingRegressor(max_depth=4, random_state=0)
    ),
    "german network": lambda: german(MLPClassifier((12,), max_iter=150, random_state=0)),
    "adult logistic": lambda: adult(LogisticRegression(max_iter=1000)),
    "crime LightGBM": lambda: crime(lightgbm("LGBMRegressor"), "racePctHisp"),
    "5 columns, forest": lambda: made_up(
        5, 15, RandomForestClassifier(50, max_depth=6, random_state=0), True, 2500
    ),
    "10 columns, network": lambda: made_up(
        10, 14, MLPClassifier((8,), random_state=0), True, 2500, one_hot
    ),
    "20 columns, 8 values, XGBoost": lambda: wide(
        20, 8, 16, xgboost("XGBRegressor", n_estimators=80, max_depth=4)
    ),
    "25 columns, LightGBM": lambda: made_up(25, 11, lightgbm("LGBMClassifier"), True, 2500),
    "40 columns, 50 values, extra trees": lambda: wide(
        40, 50, 13, ExtraTreesRegressor(30, max_depth=8, random_state=0)
    ),
    "60 columns, histograms": lambda: made_up(
        60, 12, HistGradientBoostingRegressor(max_iter=60, random_state=0), False, 2500
    ),
}


def certified_bounds(cases, path):
    """Upper bounds of the degree, and what is known to be reached; kept in the file."""
    known = json.loads(path.read_text()) if path.exists() else {}
    for name, case in cases.items():
        if name not in known:
            model, X, sensitive = case()
            began = time.perf_counter()
            certified = CertifiedAuditor(
                model, sensitive_features=sensitive, max_time=MAX_TIME, random_state=0
            ).fit(X)
            known[name] = {
                "found": float(certified.fairness_degree_),
                "bound": float(certified.fairness_degree_upper_bound_),
                "seconds": time.perf_counter() - began,
            }
            path.write_text(json.dumps(known, indent=1))
    return known


def shares(name, tester, bound, budgets, seeds, unit):
    """Found over certified, (n_budgets, n_seeds), and the seconds that each run took."""
    model, X, sensitive = CASES[name]()
    found, seconds = np.zeros((len(budgets), len(seeds))), np.zeros((len(budgets), len(seeds)))
    for i, budget in enumerate(budgets):
        for k, seed in enumerate(seeds):
            began = time.perf_counter()
            tester.set_params(
                estimator=model, sensitive_features=sensitive, threshold=0.0, random_state=seed,
                max_queries=budget if unit == "queries" else None,
                max_time=budget if unit == "seconds" else None,
            ).fit(X)  # fmt: skip
            found[i, k] = tester.fairness_degree_ / bound
            seconds[i, k] = time.perf_counter() - began
    return found, seconds


def draw(budgets, means, asked):
    """Draw the mean share of the certified degree against the queries, a line a tester."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    order = sorted(means, key=lambda tester: -means[tester][-1])
    for place, tester in enumerate(order):
        is_ours = tester == "SBFT"
        color = "#0072b2" if is_ours else str(0.25 + 0.5 * place / len(order))
        axes.plot(budgets, means[tester], color=color, lw=2.5 if is_ours else 1.2, marker="o", ms=3)
    # Names at the ends of the lines, as far apart as they have to be to be read.
    heights = [means[tester][-1] for tester in order]
    for place in range(1, len(heights)):
        heights[place] = min(heights[place], heights[place - 1] - 0.045)
    for tester, height in zip(order, heights, strict=True):
        axes.annotate(
            tester, (budgets[-1], means[tester][-1]), (budgets[-1] * 1.25, height), va="center",
            color="#0072b2" if tester == "SBFT" else "0.2",
            arrowprops={"arrowstyle": "-", "color": "0.8", "lw": 0.6},
        )  # fmt: skip
    axes.set(xscale="log", ylim=(0, 1.02), xlim=(budgets[0], budgets[-1] * 4.5))
    axes.set_xticks(budgets, [f"{n:,}" for n in budgets])
    axes.minorticks_off()
    axes.set_xlabel(asked.unit)
    axes.set_ylabel("largest difference found / certified")
    axes.set_title(
        f"Mean of {len(asked.cases)} models with a known largest difference",
        loc="left",
        fontsize=11,
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(asked.picture, dpi=110)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--unit", default="queries", choices=("queries", "seconds"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--testers", nargs="+", default=list(SHORT), choices=list(TESTERS))
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    default = Path(tempfile.gettempdir()) / "skfairtest-few-queries.json"
    parser.add_argument("--truth", type=Path, default=default)
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.unit == "seconds":
        _clock.now = time.process_time
    print(describe_machine())
    bounds = certified_bounds({name: CASES[name] for name in asked.cases}, asked.truth)
    print("\n| model | tester | " + " | ".join(f"{n:,}" for n in asked.budgets) + " | seconds |")
    print("| --- " * (3 + len(asked.budgets)) + "|")
    sums = {}
    for name in asked.cases:
        degree, bound = bounds[name]["found"], bounds[name]["bound"]
        star = "" if bound <= 1.01 * degree else f"* ({degree / bound:.2f} known)"
        for tester in asked.testers:
            found, seconds = shares(
                name, TESTERS[tester], bound, asked.budgets, range(asked.seeds), asked.unit
            )
            sums.setdefault((name not in TUNED_ON, tester), []).append(found)
            listed = " | ".join(f"{share:.2f}" for share in found.mean(axis=1))
            print(f"| {name}{star} | {tester} | {listed} | {seconds[-1].mean():.1f} |", flush=True)
    print("\n| models | tester | " + " | ".join(f"{n:,}" for n in asked.budgets) + " |")
    print("| --- " * (2 + len(asked.budgets)) + "|")
    for (aside, tester), found in sorted(sums.items(), key=lambda item: item[0][0]):
        runs = np.concatenate(found, axis=1)  # (n_budgets, n_models * n_seeds)
        listed = " | ".join(f"{one.mean():.2f} ({one.min():.2f})" for one in runs)
        print(f"| {'kept aside' if aside else 'tuned on'} | {tester} | {listed} |")
    if asked.picture:
        means = {
            tester: np.concatenate(
                [run for (_, one), found in sums.items() if one == tester for run in found], axis=1
            ).mean(axis=1)
            for tester in asked.testers
        }
        draw(asked.budgets, means, asked)


if __name__ == "__main__":
    main()
