"""Raw rates of intersections, and estimates by structured regression, against the truth.

**Subsamples of adult.** A model learns from the test file of adult and predicts the 32,561 rows of
the other file, which are the population here. Its groups are all intersections of sex, race, age
band and marital status that occur. Samples of 500 to 5,000 rows are drawn from it, with
replacement, so that the truth is known: the selection rate, the rates of errors, and the means of
the probability and of its error in the whole. For groups of each size in the sample the table has
the root of the mean squared error and the share of intervals (95%) that hold the truth. Methods:

- raw: the group's own rate with Wilson's interval, or its mean with Student's;
- lasso: weighted lasso on values and all interactions, with a penalty by cross-validation, as
  Herlihy et al. (2024) have it (no interval);
- identity: what `selection_table` does, but with effects that add up to rates in place of logits;
- estimate: what `selection_table` shows.

**A planted group.** 30 rows of one intersection of a sample have the rate 0.9 where the sample has
about 0.3. The group is hidden, in a run whose raw rate shows it (its interval excludes the rate of
all rows), if the interval of the estimate does not exclude that rate, if another group of at least
30 rows is further from that rate by the estimate, or if less than half of the planted difference is
left in the estimate.

**The test of interactions**, where effects are additive and where one pair of values interacts.

Run with ``python examples/benchmarks/bench_intersections.py`` (half an hour of one core); it needs
the files of adult (`fetch_adult`). ``--runs``, ``--planted`` and ``--tests`` set how many samples
there are; 0 leaves a table out.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from skfairtest.datasets import fetch_adult
from skfairtest.group._inference.counting import GroupRows
from skfairtest.group._inference.structured_regression import (
    Numbers,
    Shares,
    Terms,
    interactions_p_value,
    structured_estimates,
)

CONFIDENCE = 0.95
ATTRIBUTES = ["sex", "race", "age", "marital_status"]
SIZES = (500, 1000, 2000, 5000)
BINS = (0, 1, 10, 30, 100, 300, np.inf)
OUTCOMES = (
    "selection rate", "false positive rate", "false negative rate", "accuracy",
    "mean probability", "mean absolute error",
)  # fmt: skip
#: Rows of the planted group, and in which ways it may be hidden.
PLANTED = 30
WAYS = ("interval holds overall", "not furthest", "less than half")
#: Rows in the whole from which on its rate is taken to say something of the group.
KNOWN = 30
#: Classes of true rates.
TRUE = (-1, 0, 0.02, 0.1, 0.5, 0.9, 0.98, 0.999999, 1)
METHODS = ("raw", "lasso", "identity", "estimate")


def population():
    """The attributes of the rows as codes, and (values, rows that count) of each outcome."""
    X_train, y_train = fetch_adult(subset="test", return_X_y=True)
    X, y = fetch_adult(return_X_y=True)
    texts = list(X.select_dtypes(exclude="number"))
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(
        make_column_transformer((encode, texts), remainder="passthrough"),
        HistGradientBoostingClassifier(random_state=0),
    )
    p = model.fit(X_train, y_train == ">50K").predict_proba(X)[:, 1]
    truth, chosen = (y == ">50K").to_numpy(), p >= 0.5
    everyone = np.ones(len(p), dtype=bool)
    people = X[ATTRIBUTES].assign(age=pd.cut(X["age"], [0, 25, 35, 45, 55, 120], labels=False))
    codes = np.column_stack([pd.factorize(people[name], sort=True)[0] for name in ATTRIBUTES])
    outcomes = {
        "selection rate": (chosen, everyone),
        "false positive rate": (chosen, ~truth),
        "false negative rate": (~chosen, truth),
        "accuracy": (chosen == truth, everyone),
        "mean probability": (p, everyone),
        "mean absolute error": (np.abs(truth - p), everyone),
    }
    return codes, {name: (values.astype(float), rows) for name, (values, rows) in outcomes.items()}


def is_share(outcome):
    """Whether an outcome is 0 or 1."""
    return not outcome.startswith("mean")


def by_group(codes, values, rows):
    """The groups that occur among the rows, each once, and what `Means` has of each."""
    groups, which = np.unique(codes, axis=0, return_inverse=True)
    return groups, GroupRows(which.reshape(-1), len(groups)).mean(values, rows)


def estimates(groups, means, share):
    """What `selection_table` shows of groups."""
    return structured_estimates(
        groups, means.value, means.size, means.variance, is_share=share, confidence=CONFIDENCE
    )


def lasso(groups, means):
    """Weighted lasso on values and all interactions; groups without rows count for nothing."""
    seen = means.size > 0
    Z = np.hstack([Terms(groups, most=10**6).Z[:, 1:], np.eye(len(groups))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LassoCV(cv=5, alphas=30, max_iter=2000, random_state=0)
        model.fit(Z[seen], means.value[seen], sample_weight=means.size[seen])
    return model.predict(Z)


# Subsamples ------------------------------------------------------------------------------------


def subsamples(codes, outcomes, runs, rng, methods):
    """One row for each group, outcome, method and sample."""
    found = []
    truths = {}
    for name, (values, rows) in outcomes.items():
        groups, means = by_group(codes, values, rows)
        known = zip(means.value, means.n, strict=True)
        truths[name] = dict(zip(map(tuple, groups.tolist()), known, strict=True))
    for n in SIZES:
        for run in range(runs):
            drawn = rng.integers(0, len(codes), n)
            for name, (values, rows) in outcomes.items():
                groups, means = by_group(codes[drawn], values[drawn], rows[drawn])
                told = [truths[name][tuple(group)] for group in groups.tolist()]
                truth, of_whole = map(np.array, zip(*told, strict=True))
                share = is_share(name)
                results = {}
                interval = means.share_interval if share else means.mean_interval
                results["raw"] = (means.value, *interval(CONFIDENCE))
                if "lasso" in methods and run < 20:
                    nothing = np.full(len(truth), np.nan)
                    results["lasso"] = (lasso(groups, means), nothing, nothing)
                if "identity" in methods and share:
                    results["identity"] = estimates(groups, means, False)[:3]
                results["estimate"] = estimates(groups, means, share)[:3]
                for method, (value, low, high) in results.items():
                    part = {"rows": n, "outcome": name, "method": method, "size": means.n}
                    part |= {"truth": truth, "of_whole": of_whole, "error": value - truth}
                    part |= {"raw": means.value, "low": low, "high": high}
                    found.append(pd.DataFrame(part))
    found = pd.concat(found, ignore_index=True)
    found = found[found["truth"].notna()]
    edge = 1e-9  # ends are exact where a rate is 0 or 1
    inside = (found["low"] - edge <= found["truth"]) & (found["truth"] <= found["high"] + edge)
    found["covers"] = inside.where(found["low"].notna()).astype(float)
    found["width"] = found["high"] - found["low"]
    found["in sample"] = pd.cut(found["size"], BINS, right=False)
    return found


def summary(found, by):
    """Root mean squared error, coverage and width by method."""
    parts = found.groupby([*by, "method"], observed=True)
    table = pd.DataFrame(
        {
            "rmse": np.sqrt(parts["error"].apply(lambda e: (e**2).mean())),
            "covers": parts["covers"].mean(),
            "width": parts["width"].mean(),
            "n": parts.size(),
        }
    )
    return table.unstack("method")


# A planted group ---------------------------------------------------------------------------------


def planted(codes, outcomes, base, rate, n, runs, rng):
    """How often a group of `PLANTED` rows is hidden, and in which way.

    `base` is the rate of everybody else, or None for adult's selection rates.
    """
    counts = dict.fromkeys(("runs", "raw shows it", *WAYS, "hidden"), 0)
    kept = []
    for _ in range(runs):
        drawn = rng.integers(0, len(codes), n)
        people = codes[drawn]
        values = outcomes["selection rate"][0][drawn]
        if base is not None:
            values = (rng.random(n) < base).astype(float)
        groups = np.unique(people, axis=0)
        chosen = groups[rng.integers(len(groups))]
        others = (people != chosen).any(axis=1)
        people = np.vstack([people[others], np.tile(chosen, (PLANTED, 1))])
        values = np.concatenate([values[others], rng.random(PLANTED) < rate])
        groups, means = by_group(people, values, None)
        place = int((groups == chosen).all(axis=1).argmax())
        overall = values.mean()
        low, high = means.share_interval(CONFIDENCE)
        counts["runs"] += 1
        if low[place] <= overall <= high[place]:
            continue
        counts["raw shows it"] += 1
        value, low, high, _ = estimates(groups, means, True)
        away = np.abs(value - overall)
        raw_away = np.abs(means.value - overall)
        large = means.n >= PLANTED
        ways = [
            low[place] <= overall <= high[place],
            # Another group may be further away in truth; then raw says so, too.
            away[place] < away[large & (raw_away <= raw_away[place])].max(),
            away[place] < abs(rate - overall) / 2,
        ]
        for way, is_so in zip(WAYS, ways, strict=True):
            counts[way] += int(is_so)
        counts["hidden"] += int(any(ways))
        kept.append((value[place] - overall) / (means.value[place] - overall))
    return counts | {"kept of raw": round(float(np.median(kept)), 3), "least": round(min(kept), 3)}


def table_of_planted(codes, outcomes, runs, rng):
    """One row for each kind of sample and planted rate."""
    return pd.DataFrame(
        {"others": "adult" if base is None else base, "planted": rate, "rows": n}
        | planted(codes, outcomes, base, rate, n, runs, rng)
        for base, rate in ((None, 0.9), (0.3, 0.9), (0.5, 0.05))
        for n in SIZES
    )


# The test --------------------------------------------------------------------------------------


def table_of_tests(codes, runs, rng):
    """Shares of p-values below 0.01, 0.05 and 0.2 in samples of adult's groups, outcomes drawn."""
    found = []
    for name in ("additive", "pair interacts", "one group of 30 rows"):
        for n in SIZES:
            for kind in ("rate near 0.3", "rate near 0.03", "normal", "exponential"):
                p = [_drawn_test(codes, n, name, kind, rng) for _ in range(runs)]
                shares = {f"p < {a}": float(np.mean(np.array(p) < a)) for a in (0.01, 0.05, 0.2)}
                found.append({"effects": name, "rows": n, "outcome": kind, **shares})
    return pd.DataFrame(found)


def _drawn_test(codes, n, name, kind, rng):
    """Draw outcomes of a sample of adult's groups and test them."""
    people = codes[rng.integers(0, len(codes), n)]
    effect = sum(rng.normal(0, 0.5, people[:, j].max() + 1)[people[:, j]] for j in range(4))
    if name == "pair interacts":
        effect = effect + 1.0 * ((people[:, 0] == 0) & (people[:, 2] == people[:, 2].max()))
    elif name != "additive":
        groups, sizes = np.unique(people, axis=0, return_counts=True)
        chosen = groups[np.abs(sizes - 30).argmin()]
        effect = effect + 2.0 * (people == chosen).all(axis=1)
    if kind.startswith("rate"):
        start = np.log(0.3 / 0.7) if kind.endswith("0.3") else np.log(0.03 / 0.97)
        values = (rng.random(n) < 1 / (1 + np.exp(-start - effect))).astype(float)
    else:
        values = effect + (rng.normal(size=n) if kind == "normal" else rng.exponential(size=n))
    groups, means = by_group(people, values, None)
    outcome = Shares if kind.startswith("rate") else Numbers
    return interactions_p_value(
        Terms(groups), outcome(groups, means.value, means.size, means.variance)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="samples of each size")
    parser.add_argument("--planted", type=int, default=200, help="samples with a planted group")
    parser.add_argument("--tests", type=int, default=400, help="samples for the test")
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(describe_machine())
    pd.set_option("display.width", 200, "display.max_columns", 40)
    rng = np.random.default_rng(options.seed)
    codes, outcomes = population()
    start = time.process_time()
    if options.planted:
        print(f"\nA planted group of {PLANTED} rows")
        print(table_of_planted(codes, outcomes, options.planted, rng).to_string())
    if options.tests:
        print("\nThe test of interactions: share of p-values below a level")
        print(table_of_tests(codes, options.tests, rng).to_string())
    if options.runs:
        found = subsamples(codes, outcomes, options.runs, rng, options.methods)
        known = found[found["of_whole"] >= KNOWN]
        print(f"\nGroups of at least {KNOWN} rows in the whole, by their rows in the sample")
        print(summary(known, ["in sample"]).round(3).to_string())
        print(summary(known, ["outcome", "in sample"]).round(3).to_string())
        print("\nBy rows of all groups in the sample (rows of a table)")
        print(summary(known, ["rows", "in sample"]).round(3).to_string())
        print("\nBy the true rate (shares)")
        shares = known[known["outcome"].map(is_share)]
        print(
            summary(shares.assign(true=pd.cut(shares["truth"], TRUE)), ["true"])
            .round(3)
            .to_string()
        )
        print("\nAll groups, also those of fewer rows in the whole")
        print(summary(found, ["in sample"]).round(3).to_string())
    print(f"\n{time.process_time() - start:.0f} s of CPU time")


if __name__ == "__main__":
    main()
