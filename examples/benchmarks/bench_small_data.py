"""The guard of `FairnessRetrainer` on small data: what accuracy is lost, and was it said?

Models that learn from 40 to 400 rows are mitigated with the defaults of the retrainer and compared
with their originals (``original_estimator_``) on many more test rows that had no part in anything.
The limit is ``max_score_drop``, a point of accuracy. Printed, over the splits:

- the mean change of accuracy in points, with its standard error;
- how many splits lose more than the limit;
- how many exceed it by more than the sampling error of the test rows (1.645 standard errors of the
  difference, of the same rows before and after: a split whose true loss is the limit does so in one
  of twenty cases);
- in how many runs something was kept, and in how many a `MitigationWarning` was given: on data
  that cannot tell a point, a retrainer should say so. What the warnings say is printed below;
- how many ended in an error.

A second table has 20 configurations: german credit, breast cancer with an attribute that is told by
a measurement, and two made-up tables, in one of which the sensitive attribute has an effect of its
own, with 100 to 1,500 rows, each with a tree and a logistic regression. For each strategy: the
share of flips left among the test rows, in all and in the worst configuration, the mean change of
accuracy, how many splits lose more than the limit beyond sampling error, in how many something else
than the original was kept, and CPU seconds.

Needs the folder of SKFAIRTEST_DATA. Run with ``python examples/benchmarks/bench_small_data.py``.
"""

import argparse
import re
import time
import warnings
from collections import Counter

import numpy as np
import pandas as pd
from _machine import describe_machine
from bench_equal_time import BOUNDS
from bench_mitigate import pipeline
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfairtest import AequitasAuditor, FairnessRetrainer, InputSpace, MitigationWarning
from skfairtest.datasets import fetch_adult, fetch_german_credit

#: The default of the retrainer, in accuracy.
LIMIT = 0.01
#: One-sided 95%, of a normal distribution.
CONFIDENT = 1.645
TEST_ROWS = 8000
#: The second table: rows to learn from, and the effect of sex in the made-up tables.
CONFIGURATIONS = {
    "german": [100, 300, 600], "cancer": [100, 300], "own": [100, 500, 1500], "proxy": [100, 1500]
}  # fmt: skip
EFFECTS = {"own": 1.0, "proxy": 0.0}


def models(seed):
    return {
        "tree": DecisionTreeClassifier(random_state=seed),
        "forest": RandomForestClassifier(50, random_state=seed),
        "logistic": LogisticRegression(max_iter=1000),
    }


def load(name):
    """Rows, labels and settings of an auditor."""
    if name == "census":
        data = fetch_adult(coded=True)
        names = list(data.data.columns)
        bounds = {names.index(column): ends for column, ends in BOUNDS.items()}
        settings = {
            "sensitive_features": [names.index("sex")],
            "space": InputSpace(bounds=bounds),
        }
        return data.data.to_numpy(dtype=float), data.target.to_numpy(), settings
    data = fetch_adult() if name == "adult" else fetch_german_credit()
    X = data.data.drop(columns=["fnlwgt"], errors="ignore")
    return X, data.target.to_numpy(), {"sensitive_features": ["sex"]}


def one_mitigation(X, y, settings, model, n, seed):
    """Change of accuracy, its standard error, whether something was kept, what was warned."""
    test = min(TEST_ROWS, len(y) - n)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n, test_size=test, stratify=y, random_state=seed
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mitigated = FairnessRetrainer(model, AequitasAuditor(**settings), random_state=seed).fit(
            X, y
        )
    said = [str(w.message) for w in caught if issubclass(w.category, MitigationWarning)]
    before = mitigated.original_estimator_.predict(X_test) == y_test
    after = mitigated.predict(X_test) == y_test
    change = after.astype(float) - before
    error = change.std(ddof=1) / np.sqrt(len(change))
    return change.mean(), error, mitigated.n_added_ > 0, said


def run(name, n, kind, options, messages):
    X, y, settings = load(name)
    settings["max_queries"] = options.queries
    runs, failed = [], 0
    start = time.perf_counter()
    for seed in range(options.first_split, options.first_split + options.splits):
        model = models(seed)[kind]
        model = make_pipeline(StandardScaler(), model) if name == "census" else pipeline(model)
        try:
            runs.append(one_mitigation(X, y, settings, model, n, seed))
        except Exception as error:
            # One run that breaks is a figure of the table, not the end of it.
            failed += 1
            messages[f"{type(error).__name__}: {plain(str(error))}"] += 1
    seconds = (time.perf_counter() - start) / options.splits
    change, error, kept = np.array([one[:3] for one in runs], dtype=float).reshape(-1, 3).T
    for one in runs:
        messages.update({plain(message) for message in one[3]})
    exceeds = -change > LIMIT + CONFIDENT * error
    warned = [bool(one[3]) for one in runs]
    spread = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
    print(
        f"{name:8}{n:5}  {kind:10}{100 * np.mean(change):7.2f} +-{100 * spread:5.2f}"
        f"{100 * np.min(change, initial=0):8.2f}{np.mean(-change > LIMIT):9.0%}"
        f"{np.mean(exceeds):9.0%}{np.mean(kept):8.0%}{np.mean(warned):8.0%}{failed:8}{seconds:9.1f}",
        flush=True,
    )
    return change, exceeds, warned


def made_up(effect, n, rng):
    """People whose sex goes together with two columns, and has an effect of its own or none."""
    sex = rng.integers(0, 2, n)
    columns = rng.normal(size=(n, 5)) + np.outer(sex, [0.8, 0.4, 0, 0, 0])
    score = columns[:, 0] + columns[:, 1] - columns[:, 2] + columns[:, 3] * columns[:, 4] / 2
    score += effect * (sex - 0.5) - 0.9
    y = (rng.random(n) < 1 / (1 + np.exp(-1.5 * score))).astype(int)
    return np.column_stack([sex, columns.round(2)]), y


def load_configuration(name):
    """Rows of numbers with the sensitive column first, and labels."""
    if name == "german":
        data = fetch_german_credit()
        rest = pd.get_dummies(data.data.drop(columns="sex"))
        X = np.column_stack([data.data["sex"] == "male", rest.to_numpy()]).astype(float)
        return X, data.target.to_numpy()
    if name == "cancer":
        data = load_breast_cancer(as_frame=True)
        texture = data.data["mean texture"]
        return np.column_stack([texture > texture.median(), data.data]), data.target.to_numpy()
    return made_up(EFFECTS[name], 6000, np.random.default_rng(1))


def configured(kind, seed):
    model = models(seed)[kind]
    return make_pipeline(StandardScaler(), model) if kind == "logistic" else model


def one_split(X, y, kind, n, seed, strategy):
    """Flips before and after among test rows, change of accuracy and its error, kept, seconds."""
    X, X_test, y, y_test = train_test_split(X, y, train_size=n, stratify=y, random_state=seed)
    start = time.process_time()
    mitigated = FairnessRetrainer(
        configured(kind, seed),
        AequitasAuditor(sensitive_features=[0], space=InputSpace(one_hot=None)),
        strategy=strategy,
        random_state=seed,
    ).fit(X, y)
    seconds = time.process_time() - start
    twins = X_test.copy()
    twins[:, 0] = 1 - X_test[:, 0]
    both = mitigated.original_estimator_, mitigated.estimator_
    flips = [(model.predict(X_test) != model.predict(twins)).mean() for model in both]
    before, after = (model.predict(X_test) == y_test for model in both)
    change = after.astype(float) - before
    error = change.std(ddof=1) / np.sqrt(len(change))
    return [*flips, change.mean(), error, both[0] is not both[1], seconds]


def run_configurations(options):
    print(
        f"\n{'data':8}{'rows':>5}  {'model':10}{'strategy':10}{'splits':>7}{'flips':>8}{'left':>7}"
        f"{'change, points':>16}{'surely':>8}{'changed':>9}{'s each':>8}"
    )
    shares = {}
    for name, rows in CONFIGURATIONS.items():
        X, y = load_configuration(name)
        for n in rows:
            if n not in (options.configuration_rows or [n]):
                continue
            for kind in ("tree", "logistic"):
                for strategy in options.strategies:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        table = np.array(
                            [
                                one_split(X, y, kind, n, seed, strategy)
                                for seed in range(options.first_split, options.splits)
                            ],
                            dtype=float,
                        )
                    before, after, change, error, kept, seconds = table.T
                    left = after.sum() / before.sum() if before.sum() else np.nan
                    shares.setdefault(strategy, []).append(left)
                    surely = int((-change > LIMIT + CONFIDENT * error).sum())
                    print(
                        f"{name:8}{n:5}  {kind:10}{strategy:10}{len(table):7}{before.mean():8.2%}"
                        f"{left:7.0%}{100 * change.mean():16.2f}{surely:8}{int(kept.sum()):9}"
                        f"{seconds.mean():8.1f}",
                        flush=True,
                    )
    for strategy, left in shares.items():
        print(f"{strategy}: {np.nanmean(left):.0%} left, {np.nanmax(left):.0%} at worst")


def plain(message):
    """The beginning of a message with its numbers taken out, so that equal ones are counted."""
    return re.sub(r"-?\d[\d.,]*", "#", message)[:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=["adult", "german", "census"])
    parser.add_argument("--rows", nargs="*", type=int, default=[40, 100, 200, 400])
    parser.add_argument("--models", nargs="*", default=["tree", "forest", "logistic"])
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--queries", type=int, default=10_000, help="of one audit")
    parser.add_argument("--strategies", nargs="*", default=["twins", "best"])
    parser.add_argument("--configuration-rows", nargs="*", type=int, help="of the second table")
    options = parser.parse_args()
    print(describe_machine())
    if options.data:
        run_models(options)
    run_configurations(options)


def run_models(options):
    print(
        f"{'data':8}{'rows':>5}  {'model':10}{'change, points':>16}{'worst':>7}{'> limit':>9}"
        f"{'surely':>9}{'kept':>8}{'warned':>8}{'failed':>8}{'s each':>9}"
    )
    messages: Counter[str] = Counter()
    runs = [
        run(name, n, kind, options, messages)
        for name in options.data
        for n in options.rows
        for kind in options.models
    ]
    change, exceeds, warned = (np.concatenate(column) for column in zip(*runs, strict=True))
    lost = -change > LIMIT
    silent = lost & ~np.asarray(warned, dtype=bool)
    print(
        f"all {len(change)} runs: mean {100 * change.mean():.2f} points, {lost.mean():.0%} lose "
        f"more than the limit ({silent.mean():.0%} unwarned), {exceeds.mean():.0%} surely"
    )
    for message, count in messages.most_common():
        print(f"{count:6} runs: {message}")


if __name__ == "__main__":
    main()
