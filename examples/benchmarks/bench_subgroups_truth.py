"""Whether groups that were planted are found, and whether groups are reported where none is.

The attributes are those of adult (14, numbers in five bins; with ``--invented``, of an invented
table); the outcomes are drawn, so that the truth is known. Three tables are printed.

- Pockets: among the rows with a positive truth the model misses three in ten, and six in ten of
  those inside a rule of two conditions that holds for about 2% of them. Two thirds of the rows are
  searched, the listed rules are looked at again on the rest. How often the worst confirmed line is
  the planted group (the same rows but for 5% of them, since adult has names for one thing twice);
  and how often the first rule of `SubgroupAuditor` is that `confirm` confirms.
- No effect: misses do not depend on any attribute. How often any group at all is said to differ.
- Power: the rows inside the pocket that count, and how often the pocket is said to differ, for each
  correction; and the size at which half of the pockets are found.

Needs the folder of SKFAIRTEST_DATA, or ``--invented``. Run with
``python examples/benchmarks/bench_subgroups_truth.py``; ``--only power`` runs a part, ``--runs``
sets how many runs without effect there are.
"""

import argparse
import time

import numpy as np
import pandas as pd
from _machine import describe_machine
from scipy import stats

from skfairtest import SubgroupAuditor
from skfairtest.datasets import fetch_adult
from skfairtest.group._at_once import critical_root
from skfairtest.group._pattern_search import GivenRowSets
from skfairtest.group._patterns import Patterns
from skfairtest.group._pivot import signed_root
from skfairtest.group._resampled import pattern_sides, resampled
from skfairtest.group._short_list import short_list

CONFIDENCE = 0.95
CORRECTIONS = ("none", "bonferroni", "holm", "resampling")


def adult_columns():
    """The attributes of adult as numbers, and whether the income is the higher one."""
    bunch = fetch_adult()
    columns, sizes = [], []
    for name in bunch.data:
        values = bunch.data[name]
        if values.dtype.kind in "if":
            cuts = np.unique(np.quantile(values, [0.2, 0.4, 0.6, 0.8]))
            values = np.searchsorted(cuts, values, side="left")
        else:
            values = values.astype(object).where(values.notna(), "?")
        codes = pd.factorize(values, sort=True)[0]
        columns.append(codes.astype(np.int16))
        sizes.append(int(codes.max()) + 1)
    target = pd.factorize(bunch.target, sort=True)[0]
    return columns, sizes, target == 1


def invented_columns(n_rows=18_000, seed=0):
    """Six attributes, of which two follow others, and a truth for half of the rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 7, (n_rows, 6))
    for j in (4, 5):
        codes[:, j] = np.where(rng.random(n_rows) < 0.7, codes[:, j - 3], codes[:, j])
    return [column.astype(np.int16) for column in codes.T], [7] * 6, rng.random(n_rows) < 0.5


def compare(patterns, values, counts, correction, rng, *, n_resamples=199, least=10):
    """Sides of all patterns, which of them differ, and the distance that it takes."""
    sides = pattern_sides(patterns, values, counts, binary=True)
    sides = sides._replace(n=np.where(np.minimum(sides.n, sides.n_out) >= least, sides.n, 0.0))
    n_rules = int((sides.n > 0).sum())
    if correction == "resampling":
        found = resampled(
            sides, patterns, values, counts,
            confidence=CONFIDENCE, rng=rng, n_resamples=n_resamples,
        )  # fmt: skip
        return sides, found.differs, found.critical
    roots = signed_root(sides)
    critical = critical_root(roots, confidence=CONFIDENCE, correction=correction, n_rules=n_rules)
    return sides, np.abs(roots) > critical, critical


def pockets(columns, sizes, counts, *, low, high, n_conditions=2):
    """The rules of so many conditions that hold for such a share of the rows that count."""
    among = [column[counts] for column in columns]
    patterns = Patterns(among, sizes, min_support=low, max_conditions=n_conditions)
    fits = (patterns.depths == n_conditions) & (patterns.support <= high)
    return patterns.conditions(np.flatnonzero(fits))


def rows_of(rule, columns):
    """Which rows a rule holds for."""
    inside = np.ones(len(columns[0]), dtype=bool)
    for column, value in zip(columns, rule, strict=True):
        if value >= 0:
            inside &= column == value
    return inside


def find_pocket(columns, sizes, truth, seed, *, rate=0.3, min_support=0.02):
    """Plant a pocket; what the list says of it, before and after it is confirmed."""
    rng = np.random.default_rng(seed)
    rules = pockets(columns, sizes, truth, low=0.02, high=0.024)
    pocket = rows_of(rules[rng.integers(len(rules))], columns)
    missed = (rng.random(len(truth)) < np.where(pocket, 2 * rate, rate)).astype(float)
    searched = rng.random(len(truth)) < 2 / 3
    here = [column[searched] for column in columns]
    # A share of all rows: the pocket has its share of the rows that count.
    support = min(min_support, 0.9 * pocket[searched].mean())
    patterns = Patterns(here, sizes, min_support=support, max_conditions=len(here))
    values, counts = missed[searched], truth[searched]
    sides, differs, critical = compare(patterns, values, counts, "resampling", rng)
    rules = patterns.conditions(np.arange(patterns.n_patterns))
    lines = short_list(
        patterns, rules, sides, values, counts, differs=differs, critical=critical
    ).pattern
    confirmed = []
    for line in lines:
        inside = rows_of(rules[line], columns)
        new = ~searched & truth
        side = pattern_sides(
            GivenRowSets(inside[new][None]),
            missed[new],
            np.ones(new.sum(), dtype=bool),
            binary=True,
        )
        # The same direction, at a level that holds for all lines at once.
        root = signed_root(side)[0] * np.sign(sides.difference[line])
        if root > stats.norm.isf((1 - CONFIDENCE) / 2 / len(lines)):
            confirmed.append((abs(float(side.difference[0])), inside))
    confirmed_worst = max(confirmed, key=lambda pair: pair[0])[1] if confirmed else None
    listed = rows_of(rules[lines[0]], columns) if len(lines) else None
    worst_rule = auditors_worst(columns, truth, missed, searched, support)
    return {
        "patterns": patterns.n_patterns,
        "rows": int((pocket & truth & searched).sum()),
        "differ": int(differs.sum()),
        "lines": len(lines),
        "confirmed": len(confirmed),
        "first line": alike(listed, pocket, truth),
        "worst confirmed": alike(confirmed_worst, pocket, truth),
        "auditor's": alike(worst_rule, pocket, truth),
    }


def auditors_worst(columns, truth, missed, searched, min_support, n_rules=10):
    """The worst of the first rules of SubgroupAuditor that new rows confirm."""
    X = pd.DataFrame({f"a{j}": column.astype(str) for j, column in enumerate(columns)})
    y, predicted = truth.astype(int), np.where(truth & (missed == 1), 0, truth)
    auditor = SubgroupAuditor(
        metric="false_negative_rate", attributes="all", min_support=min_support, favourable=1
    ).fit(X[searched], y[searched], y_pred=predicted[searched])
    table = auditor.confirm(
        X[~searched], y[~searched], y_pred=predicted[~searched], n_rules=n_rules
    )
    # In the auditor's order, which puts first what chance leaves the most of.
    confirmed = table[table["same_direction"] & table["differs"]]
    return auditor.matches(X, confirmed["rule"].iloc[0]) if len(confirmed) else None


def alike(inside, pocket, counts):
    """Whether two groups are the same rows but for one in twenty."""
    if inside is None:
        return False
    both, either = (inside & pocket & counts).sum(), ((inside | pocket) & counts).sum()
    return bool(both >= 0.95 * either)


def runs_without_effect(
    columns, sizes, counts, runs, *, rate=0.1, min_support=0.05, corrections=CORRECTIONS, seed=0
):
    """Share of runs in which any pattern is said to differ, by correction."""
    rng = np.random.default_rng(seed)
    patterns = Patterns(columns, sizes, min_support=min_support, max_conditions=len(columns))
    reported = dict.fromkeys(corrections, 0)
    for _ in range(runs):
        values = (rng.random(len(counts)) < rate).astype(float)
        for correction in corrections:
            differs = compare(patterns, values, counts, correction, rng)[1]
            reported[correction] += bool(differs.any())
    return patterns.n_patterns, {name: count / runs for name, count in reported.items()}


def power(columns, sizes, counting_rows, seeds, *, rate=0.1, min_support=0.05):
    """Share of seeds whose pocket is found, for each size of the pocket and correction."""
    everyone = np.ones(len(columns[0]), dtype=bool)
    patterns = Patterns(columns, sizes, min_support=min_support, max_conditions=len(columns))
    rules = pockets(columns, sizes, everyone, low=min_support, high=1.2 * min_support)
    every_rule = patterns.conditions(np.arange(patterns.n_patterns))
    rows = []
    for size in counting_rows:
        found = dict.fromkeys(CORRECTIONS, 0)
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            rule = rules[rng.integers(len(rules))]
            place = int(np.flatnonzero((every_rule == rule).all(axis=1))[0])
            pocket = patterns.inside(place)
            counts = rng.random(len(pocket)) < size / pocket.sum()
            values = rng.random(len(pocket)) < np.where(pocket, 2 * rate, rate)
            for correction in CORRECTIONS:
                differs = compare(patterns, values.astype(float), counts, correction, rng)[1]
                found[correction] += bool(differs[place])
        rows.append({"rows": size, **{name: n / seeds for name, n in found.items()}})
    return patterns.n_patterns, pd.DataFrame(rows)


def half_found(table, correction):
    """The size at which half of the pockets are found, on a straight line between two sizes."""
    share, rows = table[correction].to_numpy(), table["rows"].to_numpy()
    reached = np.flatnonzero(share >= 0.5)
    if not len(reached) or not reached[0]:
        return np.nan
    i = reached[0]
    return rows[i - 1] + (0.5 - share[i - 1]) / (share[i] - share[i - 1]) * (rows[i] - rows[i - 1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["pockets", "null", "power"])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--invented", action="store_true")
    options = parser.parse_args()
    print(describe_machine())
    columns, sizes, truth = invented_columns() if options.invented else adult_columns()
    print(f"{'invented table' if options.invented else 'adult'}: {len(truth)} rows, "
          f"{len(columns)} attributes, {int(truth.sum())} rows of positive truth")  # fmt: skip
    if options.only in (None, "pockets"):
        start = time.perf_counter()
        table = pd.DataFrame([find_pocket(columns, sizes, truth, seed) for seed in range(10)])
        print(f"\nPockets of 2%, 30% misses and 60% inside ({time.perf_counter() - start:.0f} s)")
        print(table.to_string())
    if options.only in (None, "null"):
        start = time.perf_counter()
        n, reported = runs_without_effect(columns, sizes, truth, options.runs)
        seconds = time.perf_counter() - start
        print(
            f"\nNo effect, {n} patterns, {options.runs} runs ({seconds:.0f} s): any group reported"
        )
        print(pd.Series(reported).to_string())
    if options.only in (None, "power"):
        start = time.perf_counter()
        sizes_of_pockets = [100, 140, 180, 220, 260, 320, 400]
        n, table = power(columns, sizes, sizes_of_pockets, options.seeds)
        seconds = time.perf_counter() - start
        print(f"\nPower, {n} patterns, 10% and 20% inside, {options.seeds} seeds ({seconds:.0f} s)")
        print(table.to_string(index=False))
        half = {name: half_found(table, name) for name in CORRECTIONS}
        print("half of the pockets found at rows:")
        print(pd.Series(half).round(0).to_string())


if __name__ == "__main__":
    main()
