"""Whether groups that were planted are found, and whether groups are reported where none is.

Outcomes are drawn, so that the truth is known. Of shares, the attributes are those of adult (14,
numbers in five bins; with ``--invented``, of an invented table):

- pockets: among the rows with a positive truth the model misses three in ten, and six in ten of
  those inside a rule of two conditions that holds for about 2% of them. Two thirds of the rows are
  searched by `SubgroupAuditor`, and `confirm` looks at its short list again on the rest. How often
  the worst confirmed line is the planted group (the same rows but for 5% of them, since adult has
  names for one thing twice), the first line, and the first of all rules.
- null: misses do not depend on any attribute. How often any group at all is said to differ.
- power: the rows inside the pocket that count, and how often the pocket is said to differ, for each
  correction.

Of means, tables of 1,000 rows have three attributes, whose values (and pairs of values) are groups
of 20 to 630 rows. Outcomes are errors of a regressor that are normal, exponential, log-normal or
rare and large; what is left of probabilities that are right (calibration: mostly one in fifty), and
their log loss. For each case and method for intervals:

- claims: the share of tables in which any group is said to differ whose mean does not;
- covers: the share in which all intervals hold the truth;
- power: the share in which the planted group (5% of the rows, half a standard deviation more or
  less) is said to differ.

The methods are Welch's t with Bonferroni's correction; Welch's t, resampled; and what
`SubgroupAuditor` does, Welch's t with moderated variances and without its skewness, resampled.

Shares need the folder of SKFAIRTEST_DATA, or ``--invented``. Run with
``python examples/benchmarks/bench_subgroups_truth.py``; ``--only`` names parts, ``--runs`` sets how
many runs or tables there are, ``--rows`` how large the tables of means are, ``--cases`` which.
"""

import argparse

import numpy as np
import pandas as pd
from _shared import describe_machine, public
from scipy import stats

from skfairtest.group import SubgroupAuditor
from skfairtest.group._inference.counting import rule_sides
from skfairtest.group._inference.pivot import interval_at, signed_root
from skfairtest.group._inference.resampled import resampled
from skfairtest.group._rules.frequent import FrequentRules

CONFIDENCE = 0.95
CORRECTIONS = ("none", "bonferroni", "resampling")

# Shares ------------------------------------------------------------------------------------------


def adult_columns():
    """The attributes of adult as numbers, and whether the income is the higher one."""
    X, income = public("adult")
    columns, sizes = [], []
    for name in X:
        values = X[name]
        if values.dtype.kind in "if":
            cuts = np.unique(np.quantile(values, [0.2, 0.4, 0.6, 0.8]))
            values = np.searchsorted(cuts, values, side="left")
        else:
            values = values.astype(object).where(values.notna(), "?")
        codes = pd.factorize(values, sort=True)[0]
        columns.append(codes.astype(np.int16))
        sizes.append(int(codes.max()) + 1)
    target = pd.factorize(income, sort=True)[0]
    return columns, sizes, target == 1


def invented_columns(n_rows=18_000, seed=0):
    """Six attributes, of which two follow others, and a truth for half of the rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 7, (n_rows, 6))
    for j in (4, 5):
        codes[:, j] = np.where(rng.random(n_rows) < 0.7, codes[:, j - 3], codes[:, j])
    return [column.astype(np.int16) for column in codes.T], [7] * 6, rng.random(n_rows) < 0.5


def compare(frequent, values, counts, correction, rng, *, n_resamples=199, least=10):
    """Sides of all rules, which of them differ, and the distance that it takes."""
    sides = rule_sides(frequent, values, counts, binary=True)
    sides = sides._replace(n=np.where(np.minimum(sides.n, sides.n_out) >= least, sides.n, 0.0))
    n_rules = int((sides.n > 0).sum())
    if correction == "resampling":
        found = resampled(
            sides, frequent, values, counts,
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
    frequent = FrequentRules(among, sizes, min_support=low, max_conditions=n_conditions)
    fits = (frequent.depths == n_conditions) & (frequent.support <= high)
    return frequent.conditions(np.flatnonzero(fits))


def rows_of(rule, columns):
    """Which rows a rule holds for."""
    inside = np.ones(len(columns[0]), dtype=bool)
    for column, value in zip(columns, rule, strict=True):
        if value >= 0:
            inside &= column == value
    return inside


def find_pocket(
    columns, sizes, truth, seed, *, metric="false_negative_rate", rate=0.3,
    correction="resampling", share=2 / 3,
):  # fmt: skip
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
        # A share of all rows: the pocket has its share of the rows that count.
        min_support=min(0.02, 0.9 * pocket[searched].mean()), metric=metric, attributes="all",
        favourable=1, correction=correction, random_state=seed,
    ).fit(X[searched], y[searched], y_pred=predicted[searched])  # fmt: skip
    listed = auditor.short_list_
    again = auditor.confirm(X[new], y[new], y_pred=predicted_now[new], short_list=True)
    confirmed = again[again["same_direction"] & again["differs"]]
    worst = confirmed.sort_values("score", ascending=False)

    def is_pocket(table):
        return alike(auditor.matches(X, table["rule"].iloc[0]), pocket, among)

    return {
        "rules": auditor.n_rules_,
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
    """Share of runs in which any rule is said to differ, by correction."""
    rng = np.random.default_rng(seed)
    frequent = FrequentRules(columns, sizes, min_support=min_support, max_conditions=len(columns))
    reported = dict.fromkeys(corrections, 0)
    for _ in range(runs):
        values = (rng.random(len(counts)) < rate).astype(float)
        for correction in corrections:
            differs = compare(frequent, values, counts, correction, rng)[1]
            reported[correction] += bool(differs.any())
    return frequent.n_rules, {name: count / runs for name, count in reported.items()}


def power(columns, sizes, counting_rows, seeds, *, rate=0.1, min_support=0.05):
    """Share of seeds whose pocket is found, for each size of the pocket and correction."""
    everyone = np.ones(len(columns[0]), dtype=bool)
    frequent = FrequentRules(columns, sizes, min_support=min_support, max_conditions=len(columns))
    rules = pockets(columns, sizes, everyone, low=min_support, high=1.2 * min_support)
    every_rule = frequent.conditions(np.arange(frequent.n_rules))
    rows = []
    for size in counting_rows:
        found = dict.fromkeys(CORRECTIONS, 0)
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            rule = rules[rng.integers(len(rules))]
            place = int(np.flatnonzero((every_rule == rule).all(axis=1))[0])
            pocket = frequent.inside(place)
            counts = rng.random(len(pocket)) < size / pocket.sum()
            values = rng.random(len(pocket)) < np.where(pocket, 2 * rate, rate)
            for correction in CORRECTIONS:
                differs = compare(frequent, values.astype(float), counts, correction, rng)[1]
                found[correction] += bool(differs[place])
        rows.append({"rows": size, **{name: n / seeds for name, n in found.items()}})
    return frequent.n_rules, pd.DataFrame(rows)


# Means -------------------------------------------------------------------------------------------

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


def means_of(case, columns, rng):
    """Values, weights (None for none), and the mean of each row's population."""
    half, small, planted = columns[0] == 0, columns[2] == 0, columns[2] == 1
    n = len(half)
    shape, _, change = case.partition(", ")
    mean, weights = np.zeros(n), None
    if shape in SHAPES:
        draw, deviation = SHAPES[shape]
        base = np.exp(0.5) if shape == "log-normal" else 1.0
        wider = {
            "small group four times as wide": np.where(small, 4.0, 1.0),
            "small group a quarter as wide": np.where(small, 0.25, 1.0),
            "half of them four times as wide": np.where(half, 4.0, 1.0),
            "times two": np.where(planted, 2.0, 1.0),  # the mean and all else of one group
        }
        means = {
            "planted more": 0.5 * deviation * planted, "planted less": -0.5 * deviation * planted,
            "half of them more": deviation * half, "times two": base * planted,
        }  # fmt: skip
        values = draw(rng, n) * wider.get(change, 1.0)
        mean = means.get(change, mean)
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
    *(f"{shape}, exponential weights" for shape in SHAPES),
    "log-normal, log-normal weights", "calibration, weights by group",
    "calibration, small group a fifth", "calibration, half of them a fifth",
    *(f"{shape}, small group four times as wide" for shape in SHAPES),
    "exponential, small group a quarter as wide", "normal, half of them four times as wide",
    "log-normal, half of them four times as wide",
    *(f"{shape}, planted {size}" for shape in SHAPES for size in ("more", "less")),
    "log-normal, half of them more", "exponential, times two", "log-normal, times two",
]  # fmt: skip


def compare_means(method, frequent, values, weights, rng, n_resamples=199):
    """Low, high and differs of all rules."""
    counts = np.ones(len(values), dtype=bool)
    sides = rule_sides(frequent, values, counts, weights, binary=False)
    if method.startswith("Welch"):
        sides = sides._replace(shape=None)
    if method.endswith("Bonferroni"):
        critical = stats.norm.isf((1 - CONFIDENCE) / 2 / frequent.n_rules)
        return *interval_at(sides, critical), np.abs(signed_root(sides)) > critical
    tests = resampled(
        sides, frequent, values, counts, weights,
        confidence=CONFIDENCE, rng=rng, n_resamples=n_resamples,
    )  # fmt: skip
    return tests.intervals(sides)[:3]


def simulated(case, tables, rows, methods=METHODS, seed=0):
    """One line for each method: claims, covers and power."""
    rng = np.random.default_rng(seed)
    seen = {method: [] for method in methods}
    for _ in range(tables):
        columns = attributes(rng, rows)
        frequent = FrequentRules(columns, SIZES, min_support=0.018, max_conditions=2)
        values, weights, mean = means_of(case, columns, rng)
        w = np.ones(rows) if weights is None else weights
        inside = frequent.sums(np.column_stack([w, w * mean]))
        outside = np.array([w.sum(), (w * mean).sum()]) - inside
        true = inside[:, 1] / inside[:, 0] - outside[:, 1] / outside[:, 0]
        planted = (frequent.conditions(np.arange(frequent.n_rules)) == [-1, -1, 1]).all(axis=1)
        for method in methods:
            low, high, differs = compare_means(method, frequent, values, weights, rng)
            holds = (low <= true + 1e-9) & (true <= high + 1e-9)
            equal = np.abs(true) < 1e-9
            claims = bool((differs & equal).any())
            seen[method].append((claims, holds.all(), differs[planted].any()))
    found = {method: np.mean(lines, axis=0) for method, lines in seen.items()}
    table = pd.DataFrame(found, index=["claims", "covers", "power"]).T
    if "planted" not in case and "times two" not in case:
        table["power"] = np.nan
    return table


def print_shares(asked):
    """Print the tables of shares."""
    columns, sizes, truth = invented_columns() if asked.invented else adult_columns()
    print(f"{'invented table' if asked.invented else 'adult'}: {len(truth)} rows, "
          f"{len(columns)} attributes, {int(truth.sum())} rows of positive truth")  # fmt: skip
    seeds = range(asked.seed, asked.seed + asked.seeds)
    for metric, rate in (("false_negative_rate", 0.3), ("accuracy", 0.1)):
        if "pockets" in asked.only:
            how = {"metric": metric, "rate": rate, "share": asked.searched}
            found = [find_pocket(columns, sizes, truth, seed, **how) for seed in seeds]
            table = pd.DataFrame(found, index=pd.Index(seeds, name="seed"))
            print(f"\nPockets of 2%, {metric}: {rate:.0%} wrong, {2 * rate:.0%} inside, "
                  f"{asked.searched:.2f} of the rows searched\n{table.to_string()}")  # fmt: skip
            names = ["first line", "worst confirmed", "first of rules_"]
            print(table[names].mean().to_string(), flush=True)
    support = 0.018 if asked.invented else 0.05
    if "null" in asked.only:
        n, found = runs_without_effect(
            columns, sizes, truth, asked.runs, seed=asked.seed, min_support=support
        )
        print(f"\nNo effect, {n} rules, {asked.runs} runs: any group reported")
        print(pd.Series(found).to_string(), flush=True)
    if "power" in asked.only:
        rows = [100, 140, 180, 220, 260, 320, 400]
        n, table = power(columns, sizes, rows, asked.seeds, min_support=support)
        print(f"\nPower, {n} rules, 10% and 20% inside, {asked.seeds} seeds")
        print(table.to_string(index=False))


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="; ".join(CASES))
    parts = ("pockets", "null", "power", "means")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--runs", type=int, default=200, help="without effect, and tables of means")
    parser.add_argument("--seeds", type=int, default=20, help="of pockets, and of each power")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--searched", type=float, default=2 / 3, help="share of rows for pockets")
    parser.add_argument("--invented", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000, help="of a table of means")
    parser.add_argument("--cases", nargs="+", default=[""], help="parts of names of cases of means")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    asked = parser.parse_args()
    print(describe_machine())
    if {*asked.only} - {"means"}:
        print_shares(asked)
    cases = [case for case in CASES if any(part in case for part in asked.cases)]
    for case in cases if "means" in asked.only else []:
        table = simulated(case, asked.runs, asked.rows, asked.methods, asked.seed)
        print(f"\n{case}\n{(100 * table).round(1).to_string(na_rep='')}", flush=True)


if __name__ == "__main__":
    main()
