"""Whether groups that were planted are found, and whether groups are reported where none is.

The attributes are those of adult (14, numbers in five bins; with ``--invented``, of an invented
table); the outcomes are drawn, so that the truth is known. Three tables are printed.

- Pockets: among the rows with a positive truth the model misses three in ten, and six in ten of
  those inside a rule of two conditions that holds for about 2% of them. Two thirds of the rows are
  searched by `SubgroupAuditor`, and `confirm` looks at its short list again on the rest. How often
  the worst confirmed line is the planted group (the same rows but for 5% of them, since adult has
  names for one thing twice), the first line, and the first of all rules.
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
from skfairtest.group._inference.counting import pattern_sides
from skfairtest.group._inference.pivot import signed_root
from skfairtest.group._inference.resampled import resampled
from skfairtest.group._rules.patterns import Patterns

CONFIDENCE = 0.95
CORRECTIONS = ("none", "bonferroni", "resampling")


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
    alone = correction == "none"
    critical = float(stats.norm.isf((1 - CONFIDENCE) / 2 / (1 if alone else n_rules)))
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


def find_pocket(
    columns,
    sizes,
    truth,
    seed,
    *,
    metric="false_negative_rate",
    rate=0.3,
    correction="resampling",
    share=2 / 3,
):
    """Plant a pocket; what SubgroupAuditor lists, before and after new rows have confirmed it.

    Of all rows, or (false negatives) of those of positive truth, the pocket holds 2%; inside of it
    twice the rate is wrong. A share of the rows is searched, the others are new; where all are
    searched, new rows are a third of them whose outcomes are drawn once more.
    """
    rng = np.random.default_rng(seed)
    among = truth if metric == "false_negative_rate" else np.ones(len(truth), dtype=bool)
    rules = pockets(columns, sizes, among, low=0.02, high=0.024)
    pocket = rows_of(rules[rng.integers(len(rules))], columns)
    wrong = rng.random(len(truth)) < np.where(pocket, 2 * rate, rate)
    searched = rng.random(len(truth)) < share
    wrong_now, new = wrong, ~searched
    if share == 1:
        wrong_now = rng.random(len(truth)) < np.where(pocket, 2 * rate, rate)
        new = rng.random(len(truth)) < 1 / 3
    X = pd.DataFrame({f"a{j}": column.astype(str) for j, column in enumerate(columns)})
    y = truth.astype(int)
    predicted, predicted_now = (
        np.where(among & flipped, ~truth, truth).astype(int) for flipped in (wrong, wrong_now)
    )
    auditor = SubgroupAuditor(
        metric=metric,
        attributes="all",
        # A share of all rows: the pocket has its share of the rows that count.
        min_support=min(0.02, 0.9 * pocket[searched].mean()),
        favourable=1,
        correction=correction,
        random_state=seed,
    ).fit(X[searched], y[searched], y_pred=predicted[searched])
    listed = auditor.short_list_
    again = auditor.confirm(X[new], y[new], y_pred=predicted_now[new], short_list=True)
    confirmed = again[again["same_direction"] & again["differs"]]
    worst = confirmed.sort_values("score", ascending=False)

    def is_pocket(table):
        return alike(auditor.matches(X, table["rule"].iloc[0]), pocket, among)

    return {
        "rules": auditor.n_rule_sets_,
        "rows": int((pocket & among & searched).sum()),
        "differ": int(auditor.rules_["differs"].sum()),
        "lines": len(listed),
        "confirmed": len(confirmed),
        "first line": bool(len(listed)) and is_pocket(listed),
        "worst confirmed": bool(len(worst)) and is_pocket(worst),
        "first of rules_": is_pocket(auditor.rules_),
    }


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
    parser.add_argument(
        "--first-seed", type=int, default=0, help="of those with a pocket, and of no effect"
    )
    parser.add_argument("--pockets", type=int, default=10, help="how many of them")
    parser.add_argument("--searched", type=float, default=2 / 3, help="share of the rows")
    parser.add_argument("--correction", choices=("resampling", "none"), default="resampling")
    parser.add_argument("--invented", action="store_true")
    options = parser.parse_args()
    print(describe_machine())
    columns, sizes, truth = invented_columns() if options.invented else adult_columns()
    print(f"{'invented table' if options.invented else 'adult'}: {len(truth)} rows, "
          f"{len(columns)} attributes, {int(truth.sum())} rows of positive truth")  # fmt: skip
    if options.only in (None, "pockets"):
        seeds = range(options.first_seed, options.first_seed + options.pockets)
        for metric, rate in (("false_negative_rate", 0.3), ("accuracy", 0.1)):
            start = time.perf_counter()
            how = {"metric": metric, "rate": rate, "correction": options.correction}
            how["share"] = options.searched
            found = [find_pocket(columns, sizes, truth, seed, **how) for seed in seeds]
            table = pd.DataFrame(found, index=pd.Index(seeds, name="seed"))
            seconds = time.perf_counter() - start
            print(
                f"\nPockets of 2%, {metric}: {rate:.0%} of the predictions are wrong, and "
                f"{2 * rate:.0%} inside ({options.correction}; "
                f"{options.searched:.2f} of the rows searched; {seconds:.0f} s)"
            )
            print(table.to_string())
            names = ["first line", "worst confirmed", "first of rules_"]
            print(table[names].mean().to_string())
    if options.only in (None, "null"):
        start = time.perf_counter()
        n, reported = runs_without_effect(
            columns, sizes, truth, options.runs, seed=options.first_seed
        )
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
