"""How long a first answer takes: `audit` on models and tables of several sizes, part by part.

Processor seconds of one thread, with the imports beside, each in a process of its own; the largest
amount of memory that the audit itself took; what the first page says. A yardstick, 100 trees on
4,000 rows of 20 columns, says how fast the machine is.

``--only`` chooses by name, and ``--page`` prints the first pages.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _shared import describe_machine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def loans():
    """README's six lines."""
    from skfairtest.datasets import load_loans

    X, y = load_loans(return_X_y=True)
    model = HistGradientBoostingClassifier(max_depth=4, max_iter=50, random_state=0).fit(X, y)
    return model, X, y, {"sensitive_features": "community", "favourable": "granted"}


def people(n_rows, n_columns, seed, attributes=1):
    """A table with a group that goes along with two columns and has an effect of its own."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n_rows, p=[0.55, 0.3, 0.15])
    sex = rng.choice(["f", "m"], n_rows)
    X = pd.DataFrame({"group": group, "sex": sex} if attributes > 1 else {"group": group})
    shift = (group == "b") * 1.0 + (group == "c") * 0.6
    X["income"] = np.round(rng.lognormal(7.5 + 0.25 * shift, 0.4))
    X["age"] = rng.integers(18, 80, n_rows)
    X["years"] = np.clip(rng.integers(0, 40, n_rows), 0, X["age"] - 18)
    while X.shape[1] < n_columns:
        k = X.shape[1]
        X[f"c{k}"] = rng.integers(0, 10, n_rows) if k % 2 else np.round(rng.normal(50, 15, n_rows))
    score = 1.2 * np.log(X["income"] / 1800) + 0.03 * (X["age"] - 50) + 0.05 * X["c7"]
    score += 0.5 * (group == "b") + 0.3 * (sex == "m") * (attributes > 1)
    y = np.where(score + rng.logistic(0, 0.6, n_rows) > 0.3, "granted", "refused")
    X["group"] = X["group"].astype("category")
    return X, y


def boosting(**params):
    """5,000 rows, 14 columns, two attributes."""
    X, y = people(5_000, 14, 1, attributes=2)
    X["sex"] = X["sex"].astype("category")
    params |= {"categorical_features": "from_dtype", "random_state": 0}
    model = HistGradientBoostingClassifier(**params)
    return model.fit(X, y), X, y, {"sensitive_features": ["group", "sex"], "favourable": "granted"}


def linear(n_rows, n_columns, seed):
    """A logistic regression behind a scaler."""
    X, y = people(n_rows, n_columns, seed)
    X["group"] = X["group"].cat.codes.astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)).fit(X, y)
    return model, X, y, {"sensitive_features": "group", "favourable": "granted"}


def forest():
    """1,800 rows, 18 columns, a forest of 100 trees."""
    X, y = people(1_800, 18, 3)
    X["group"] = X["group"].cat.codes.astype(int)
    model = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(X, y)
    return model, X, y, {"sensitive_features": "group", "favourable": "granted"}


CASES = {
    "README's six lines": loans,
    "5,000 x 14, boosting, two attributes": lambda: boosting(max_depth=4, max_iter=50),
    "the same, 100 trees of 31 leaves": boosting,
    "30,000 x 14, logistic regression": lambda: linear(30_000, 14, 2),
    "1,800 x 18, forest of 100": forest,
    "100,000 x 10, logistic regression": lambda: linear(100_000, 10, 4),
    "1,000 x 120, logistic regression": lambda: linear(1_000, 120, 5),
}
GATE = "a gate on the degree, README's model"
SHELL = "skfairtest audit, README's model"
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def yardstick():
    """Processor seconds of 100 trees on 4,000 rows of 20 columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 20))
    began = time.process_time()
    RandomForestClassifier(100, random_state=0).fit(X, X[:, 0] + rng.normal(size=len(X)) > 0)
    return time.process_time() - began


def one(case, page):
    """Audit in this process, and print what it took."""
    model, X, y, given = CASES["README's six lines" if case == GATE else case]()
    began = time.process_time()
    from skfairtest import Limits, audit

    imports = time.process_time() - began
    if case == GATE:
        given["limits"] = Limits(max_degree=0.1)
    memory, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    report = audit(model, X, y, **given, random_state=0, progress=False)
    text = str(report)
    took = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    print(f"{took:>6.1f} {imports:>8.2f} {memory / 1024:>7.0f}  {case}")
    table = report.parts.sort_values("seconds", ascending=False)
    for row in table[table["seconds"] > 0.05].itertuples():
        print(f"{row.seconds:>12.2f} {row.queries:>9,}  {row.part}: {row.status} {row.reason}")
    if page:
        print(text)


def shell():
    """Audit from the shell."""
    import skops.io

    model, X, y, _ = loans()
    with tempfile.TemporaryDirectory() as folder:
        skops.io.dump(model, Path(folder) / "model.skops")
        X.assign(granted=y).to_csv(Path(folder) / "loans.csv", index=False)
        words = "model.skops loans.csv --sensitive community --target granted --favourable granted"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "skfairtest", "audit", *words.split()],
            cwd=folder, check=False, capture_output=True, env=ONE_THREAD,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{took:>6.1f} {'':>8} {'':>7}  {SHELL}, with everything it imports")


def main():
    """Print a line for each case, and below it those for its parts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="cases whose names hold this")
    parser.add_argument("--page", action="store_true", help="print the first pages")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one:
        one(options.one, options.page)
        return
    print(f"{describe_machine()}; yardstick {yardstick():.2f} s\n")
    print(" audit  imports  memory  (processor seconds; MB that the audit adds)", flush=True)
    for case in [*CASES, GATE]:
        if options.only in case:
            page = ["--page"] if options.page else []
            words = [sys.executable, __file__, "--one", case, *page]
            subprocess.run(words, check=True, env=ONE_THREAD)
    if options.only in SHELL:
        shell()


if __name__ == "__main__":
    main()
