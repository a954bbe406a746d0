"""Seconds of everyday calls, on an idle machine and with one core busy.

Each call runs in a process of its own, as a user would run it, with as many OpenMP threads as there
are by default. Beside it runs nothing, or one process that only counts. Threads that wait for each
other show in the last column. The calls on adult need its file (in the folder that
``SKFAIRTEST_DATA`` names) or the network.

    python examples/benchmarks/bench_busy.py [--repeats 3] [names]
"""

import argparse
import os
import statistics
import subprocess
import sys

from _machine import describe_machine

BUSY = "while True: pass"
ADULT = """
from skfairtest.datasets import fetch_adult
X, y = fetch_adult(return_X_y=True)
X, y = X[:5000], y[:5000]
encoded = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    (StandardScaler(), make_column_selector(dtype_include="number")), sparse_threshold=0,
)
"""
REPORT = (
    ADULT
    + """
model = make_pipeline(encoded, {model}).fit(X, y)
begin()
audit(model, X, y, sensitive_features="sex", random_state=0, progress=False)
"""
)
MADE_UP = """
rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(3000, 10)).round(2), columns=list("abcdefghij"))
X["sex"] = rng.integers(0, 2, 3000)
y = (X["a"] + X["b"] * X["sex"] + rng.normal(size=3000) > 0).astype(int)
"""
CALLS = {
    "six lines of the README": """
from sklearn.datasets import load_diabetes
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = RandomForestRegressor(max_depth=6, random_state=0).fit(X, y)
begin()
audit(model, X, sensitive_features="sex", threshold=10, groups=False, random_state=0,
      progress=False)
""",
    "report, logistic": REPORT.format(model="LogisticRegression(max_iter=1000)"),
    "report, boosting": REPORT.format(model="HistGradientBoostingClassifier(random_state=0)"),
    "report, forest": REPORT.format(model="RandomForestClassifier(max_depth=8, random_state=0)"),
    "plausible": MADE_UP
    + """
model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
begin()
SBFTAuditor(model, sensitive_features=["sex"], space=InputSpace(plausible="auto"),
            max_queries=20_000, random_state=0).fit(X)
""",
    "retrainer": MADE_UP
    + """
begin()
FairnessRetrainer(
    HistGradientBoostingClassifier(random_state=0), max_rounds=3, random_state=0,
    auditor=SBFTAuditor(sensitive_features=["sex"], max_queries=3000),
).fit(X[:1500], y[:1500])
""",
}
HEAD = """
import time, warnings
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from skfairtest import FairnessRetrainer, InputSpace, SBFTAuditor, audit

warnings.simplefilter("ignore")

def begin():
    global began
    began = time.perf_counter()
"""


def seconds(name):
    """How long one call takes in a process of its own."""
    code = HEAD + CALLS[name] + "print(time.perf_counter() - began)"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    if ended.returncode:
        return ended.stderr.strip().splitlines()[-1]
    return float(ended.stdout.split()[-1])


def measured(name, repeats, busy):
    """The median of several, beside a process that counts or beside none."""
    other = subprocess.Popen([sys.executable, "-c", BUSY]) if busy else None
    try:
        times = [seconds(name) for _ in range(repeats)]
    finally:
        if other is not None:
            other.kill()
    wrong = [time for time in times if isinstance(time, str)]
    return wrong[0] if wrong else statistics.median(times)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("names", nargs="*", default=list(CALLS))
    given = parser.parse_args()
    print(describe_machine())
    print(f"{'seconds':26s} {'idle':>8s} {'busy':>8s} {'busy / idle':>12s}")
    for name in given.names:
        idle, busy = (measured(name, given.repeats, busy) for busy in (False, True))
        if isinstance(idle, str) or isinstance(busy, str):
            print(f"{name:26s} left out: {idle if isinstance(idle, str) else busy}")
        else:
            print(f"{name:26s} {idle:8.1f} {busy:8.1f} {busy / idle:12.1f}")
