"""How often the certified degree lies in `degree_estimate_`, and how wide that is.

For 25 models whose fairness degree is certified, each budget and each seed: the share of runs that
give an estimate at all, the share of these whose interval holds the certified degree, and its
median width divided by the degree that was found. A model whose certificate is open after a minute
is left out.

Run with ``python examples/benchmarks/bench_estimate.py``. The public data are read from the folder
that SKFAIRTEST_DATA names, or fetched from OpenML. ``--truth`` names a file that keeps the
certified bounds for the next run; `bench_few_queries.py` reads the same.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
from _machine import describe_machine
from bench_few_queries import (
    CASES,
    bank,
    certified_bounds,
    lightgbm,
    made_up,
    wide,
    xgboost,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from skfairtest import SBFTAuditor

MORE_CASES = {
    "15 columns, forest": lambda: made_up(
        15, 17, RandomForestRegressor(40, max_depth=8, random_state=0), False, 2500
    ),
    "35 columns, XGBoost": lambda: made_up(
        35, 18, xgboost("XGBRegressor", n_estimators=60, max_depth=3), False, 2500
    ),
    "45 columns, extra trees": lambda: made_up(
        45, 19, ExtraTreesClassifier(40, max_depth=7, random_state=0), True, 2500
    ),
    "8 columns, 3 values, boosting": lambda: wide(
        8, 3, 20, GradientBoostingRegressor(max_depth=4, random_state=0)
    ),
    "30 columns, 20 values, LightGBM": lambda: wide(30, 20, 21, lightgbm("LGBMRegressor")),
    "12 columns, forest": lambda: wide(
        12, 2, 22, RandomForestClassifier(40, max_depth=7, random_state=0), True
    ),
    "bank XGBoost": lambda: bank(xgboost("XGBClassifier", n_estimators=60, max_depth=4)),
    "bank extra trees": lambda: bank(ExtraTreesClassifier(30, max_depth=8, random_state=0)),
}
#: A certificate that is within this share of the largest known disparity is closed.
CLOSED = 1e-3


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[300, 1000, 3000, 10_000, 20_000])
    parser.add_argument("--seeds", type=int, default=3)
    default = Path(tempfile.gettempdir()) / "skfairtest-few-queries.json"
    parser.add_argument("--truth", type=Path, default=default)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    cases = CASES | MORE_CASES
    bounds = certified_bounds(cases, asked.truth)
    closed = [
        name for name in cases if bounds[name]["bound"] <= (1 + CLOSED) * bounds[name]["found"]
    ]
    print(f"\n{len(closed)} of {len(cases)} models are certified: {', '.join(closed)}.")
    print("\n| queries | runs | found over certified | with an estimate | it holds | width |")
    print("| --- " * 6 + "|")
    fitted = {name: cases[name]() for name in closed}
    for budget in asked.budgets:
        shares, holds, widths = [], [], []
        for name in closed:
            model, X, sensitive = fitted[name]
            for seed in range(asked.seeds):
                auditor = SBFTAuditor(
                    model, sensitive_features=sensitive, max_queries=budget, threshold=0.0,
                    random_state=seed,
                ).fit(X)  # fmt: skip
                low, high = auditor.degree_estimate_
                shares.append(low / bounds[name]["bound"])
                if np.isfinite(high):
                    # Of a closed certificate the lower end is a pair that exists.
                    holds.append(high >= bounds[name]["found"] * (1 - 1e-9))
                    widths.append((high - low) / low)
        said = f"{np.mean(holds):.0%} | {np.median(widths):.1%}" if holds else "- | -"
        print(
            f"| {budget:,} | {len(shares)} | {np.mean(shares):.2f} (least {min(shares):.2f}) | "
            f"{len(holds) / len(shares):.0%} | {said} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
