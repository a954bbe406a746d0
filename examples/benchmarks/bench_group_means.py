"""How often groups of a numeric outcome are said to differ, where they do and where they do not.

Tables of 1,000 or 2,000 rows have three attributes, whose values (and pairs of values) are groups
of 20 to 1,000 rows. Outcomes are drawn, so that the truth is known: errors of a regressor that are
normal, exponential, log-normal or rare and large; what is left of probabilities that are right
(calibration: mostly one in fifty), and their log loss. For each case and method for intervals:

- claims: the share of tables in which any group is said to differ whose mean does not;
- covers: the share in which all intervals hold the truth;
- power: the share in which the planted group (5% of the rows, half a standard deviation more or
  less) is said to differ.

Methods: Welch's t with Bonferroni's correction; Welch's t, resampled; and what `SubgroupAuditor`
does, Welch's t with moderated variances and without its skewness, resampled.

Run with ``python examples/benchmarks/bench_group_means.py``; ``--tables`` sets how many there are
of each case, ``--rows`` how large they are, ``--cases`` which (``--help`` lists all).
"""

import argparse
import time

import numpy as np
import pandas as pd
from _machine import describe_machine
from scipy import stats

from skfairtest.group._inference.counting import pattern_sides
from skfairtest.group._inference.pivot import interval_at, signed_root
from skfairtest.group._inference.resampled import resampled
from skfairtest.group._rules.patterns import Patterns

CONFIDENCE = 0.95
SIZES = [2, 5, 5]
METHODS = ("Welch, Bonferroni", "Welch, resampled", "moderated, resampled")
#: Outcomes of mean 0, and their standard deviations.
SHAPES = {
    "normal": (lambda rng, n: rng.normal(size=n), 1.0),
    "exponential": (lambda rng, n: rng.exponential(size=n) - 1, 1.0),
    "log-normal": (lambda rng, n: rng.lognormal(size=n) - np.exp(0.5), 2.16),
    "rare large": (
        lambda rng, n: rng.normal(size=n) + 100.0 * ((rng.random(n) < 0.01) - 0.01), 10.0
    ),
}  # fmt: skip


def attributes(rng, n):
    """A half, fifths, and values of 2, 5, 10, 20 and 63 of 100 rows."""
    columns = [
        rng.integers(0, 2, n), rng.integers(0, 5, n),
        rng.choice(5, n, p=[0.02, 0.05, 0.1, 0.2, 0.63]),
    ]  # fmt: skip
    return [column.astype(np.int16) for column in columns]


def calibrated(p, rng):
    """Outcome less probability, where the probabilities are right."""
    return (rng.random(len(p)) < p) - p


def log_loss(p, rng):
    """Minus the logarithm of the probability of what happened."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return -np.where(rng.random(len(p)) < p, np.log(p), np.log1p(-p))


def outcomes(case, columns, rng):
    """Values, weights (None for none), and the mean of each row's population."""
    half, small, planted = columns[0] == 0, columns[2] == 0, columns[2] == 1
    n = len(half)
    shape, _, change = case.partition(", ")
    mean, weights = np.zeros(n), None
    if shape in SHAPES:
        draw, deviation = SHAPES[shape]
        values = draw(rng, n)
        if change == "small group four times as wide":
            values = values * np.where(small, 4.0, 1.0)
        elif change == "small group a quarter as wide":
            values = values * np.where(small, 0.25, 1.0)
        elif change == "half of them four times as wide":
            values = values * np.where(half, 4.0, 1.0)
        elif change == "planted more":
            mean = 0.5 * deviation * planted
        elif change == "planted less":
            mean = -0.5 * deviation * planted
        elif change == "half of them more":
            mean = deviation * half
        elif change == "times two":  # the mean and all else of one group
            base = np.exp(0.5) if shape == "log-normal" else 1.0
            mean = base * planted
            values = values * np.where(planted, 2.0, 1.0)
    elif shape == "calibration":
        p = rng.beta(20, 980, n)
        if change == "small group a fifth":
            p = np.where(small, rng.beta(200, 800, n), p)
        elif change == "half of them a fifth":
            p = np.where(half, rng.beta(200, 800, n), p)
        values = calibrated(p, rng)
    else:
        values = log_loss(rng.beta(0.3, 6, n), rng)
    if change == "exponential weights":
        weights = rng.exponential(size=n)
    elif change == "log-normal weights":
        weights = rng.lognormal(size=n)
    elif change == "weights by group":
        weights = np.where(half, 0.2, 1.0) * rng.uniform(0.5, 1.5, n)
    return values + mean, weights, mean


CASES = [
    *SHAPES, "calibration", "log loss",
    *(f"{shape}, {change}" for shape in SHAPES for change in ("exponential weights",)),
    "log-normal, log-normal weights", "calibration, weights by group",
    "calibration, small group a fifth", "calibration, half of them a fifth",
    *(f"{shape}, small group four times as wide" for shape in SHAPES),
    "exponential, small group a quarter as wide", "normal, half of them four times as wide",
    "log-normal, half of them four times as wide",
    *(f"{shape}, planted {size}" for shape in SHAPES for size in ("more", "less")),
    "log-normal, half of them more", "exponential, times two", "log-normal, times two",
]  # fmt: skip


def compare(method, patterns, values, weights, rng, n_resamples=199):
    """Low, high and differs of all patterns."""
    counts = np.ones(len(values), dtype=bool)
    sides = pattern_sides(patterns, values, counts, weights, binary=False)
    if method.startswith("Welch"):
        sides = sides._replace(shape=None)
    if method.endswith("Bonferroni"):
        critical = stats.norm.isf((1 - CONFIDENCE) / 2 / patterns.n_patterns)
        return *interval_at(sides, critical), np.abs(signed_root(sides)) > critical
    return resampled(
        sides, patterns, values, counts, weights,
        confidence=CONFIDENCE, rng=rng, n_resamples=n_resamples,
    )[:3]  # fmt: skip


def simulated(case, tables, rows, methods=METHODS, seed=0):
    """One line for each method: claims, covers and power."""
    rng = np.random.default_rng(seed)
    seen = {method: [] for method in methods}
    for _ in range(tables):
        columns = attributes(rng, rows)
        patterns = Patterns(columns, SIZES, min_support=0.018, max_conditions=2)
        values, weights, mean = outcomes(case, columns, rng)
        w = np.ones(rows) if weights is None else weights
        inside = patterns.sums(np.column_stack([w, w * mean]))
        outside = np.array([w.sum(), (w * mean).sum()]) - inside
        true = inside[:, 1] / inside[:, 0] - outside[:, 1] / outside[:, 0]
        planted = (patterns.conditions(np.arange(patterns.n_patterns)) == [-1, -1, 1]).all(axis=1)
        for method in methods:
            low, high, differs = compare(method, patterns, values, weights, rng)
            holds = (low <= true + 1e-9) & (true <= high + 1e-9)
            equal = np.abs(true) < 1e-9
            seen[method].append(
                (bool((differs & equal).any()), holds.all(), differs[planted].any())
            )
    found = {method: np.mean(lines, axis=0) for method, lines in seen.items()}
    table = pd.DataFrame(found, index=["claims", "covers", "power"]).T
    if "planted" not in case and "times two" not in case:
        table["power"] = np.nan
    return table


def main():
    parser = argparse.ArgumentParser(epilog="; ".join(CASES))
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--cases", nargs="*", default=CASES, help="names, or parts of names")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(describe_machine())
    print(f"{options.tables} tables of {options.rows} rows each, seed {options.seed}")
    for case in (case for case in CASES if any(part in case for part in options.cases)):
        start = time.perf_counter()
        table = simulated(case, options.tables, options.rows, options.methods, options.seed)
        print(f"\n{case} ({time.perf_counter() - start:.0f} s)")
        print((100 * table).round(1).to_string(na_rep=""), flush=True)


if __name__ == "__main__":
    main()
