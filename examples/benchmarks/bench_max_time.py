"""Whether an audit ends within its time, and what its first page then holds.

Tables of many columns: a logistic regression on 4,000 rows of whole numbers from 0 to 9, the first
audit of a process (with imports) and a second one. ``--slow``: models that sleep, on 250 rows, and
a sensitive attribute of 50 categories, on 2,000; their clock is that of the processor, and what a
model sleeps passes at once. Printed: seconds, whether they exceed the limit by more than a tenth
or a second, the status, the rows that were predicted and compared, the largest difference found
and its bound, the moved share, queries, the longest parts and what was cut short.

``--columns`` and ``--seconds`` choose, ``--busy`` keeps so many other processes busy.
"""

import argparse
import multiprocessing
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from _shared import describe_machine
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

#: Seconds that a call takes, by its number, from 1 on, and its rows.
SLOW = {
    "0.4 s a call": lambda call, rows: 0.4,
    "0.5 s a row": lambda call, rows: 0.5 * rows,
    "first call 3 s": lambda call, rows: 3.0 * (call == 1),
    "ten calls 0.5 s": lambda call, rows: 0.5 * (call <= 10),
    "later 0.4 s a call": lambda call, rows: 0.4 * (call > 10),
    "later 0.05 s a row": lambda call, rows: 0.05 * rows * (call > 10),
}


class Sleeping(ClassifierMixin, BaseEstimator):
    """A fitted classifier, after a sleep that costs no time."""

    def __init__(self, model=None, seconds=None):
        self.model, self.seconds = model, seconds

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.model.classes_

    def _sleep(self, X):
        self.calls_ = getattr(self, "calls_", 0) + 1
        self.slept_ = getattr(self, "slept_", 0.0) + self.seconds(self.calls_, len(X))

    def predict_proba(self, X):
        self._sleep(X)
        return self.model.predict_proba(X)

    def predict(self, X):
        self._sleep(X)
        return self.model.predict(X)


def told(report):
    """What the first page has to tell, and what it says was cut short."""
    from skfairtest.report.parts.moved.results import first_maps
    from skfairtest.report.parts.predictions import PredictionsPart
    from skfairtest.report.parts.rows.results import rows_together
    from skfairtest.report.parts.selection.results import SelectionPart
    from skfairtest.report.parts.twins.results import together

    data = report._data
    rows, found, rates = rows_together(data), together(data).known, data.first(SelectionPart)
    moved = [f"{one.rate:.3f} of {one.n}" for one in first_maps(data)]
    ends = "none" if rates.low is None else f"{rates.low:.2f} to {rates.high:.2f}"
    longest = report.parts.nlargest(4, "seconds")[["part", "seconds"]].itertuples(index=False)
    return (
        f"{report.status}: predicted {data.first(PredictionsPart).n}, compared {rows.n}, changed "
        f"{rows.changed}; ratio {ends}; found {found.degree}, bound {found.upper}; moved "
        f"{', '.join(moved) or 'none'}; {data.cost.queries} queries\n    longest: "
        + ", ".join(f"{name} {s:.1f}" for name, s in longest)
        + f"\n    {data.reason}"
    )


def timed(name, seconds, now, *args, **params):
    """Audit, and print how long that took and what it told."""
    from skfairtest import audit

    began = now()
    report = audit(*args, max_time=seconds, random_state=0, progress=False, **params)
    took = now() - began
    late = " LATE" if took > max(1.1 * seconds, seconds + 1) else ""
    print(f"{name:>20} {seconds:>5g} {took:>6.1f}{late}  {told(report)}", flush=True)


def wide(n_columns, seconds):
    """Audit a table of many columns twice, the first time cold."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{k}": rng.integers(0, 10, 4_000) for k in range(n_columns - 1)})
    X["sex"] = rng.integers(0, 2, len(X))
    y = (X["c0"] / 10 + 0.2 * X["sex"] + rng.normal(0, 0.3, len(X)) > 0.5).astype(int)
    model = LogisticRegression(max_iter=300).fit(X, y)
    for state in ("cold", "warm"):
        name = f"{n_columns} columns {state}"
        timed(name, seconds, time.perf_counter, model, X, y, sensitive_features="sex", favourable=1)


def slow(seconds):
    """Audit each of the sleeping models, and people of 50 groups."""
    from skfairtest import _clock
    from skfairtest.datasets import load_loans

    X, y = load_loans(return_X_y=True)
    X, y = X[:250], y[:250]
    fitted = HistGradientBoostingClassifier(max_depth=4, max_iter=50, random_state=0).fit(X, y)
    for name, takes in SLOW.items():
        model = Sleeping(fitted, takes)
        _clock.now = lambda model=model: time.process_time() + getattr(model, "slept_", 0.0)
        named = {"sensitive_features": "community", "favourable": "granted"}
        timed(name, seconds, _clock.now, model, X, y, **named)
    _clock.now = time.process_time
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2_000, 6)).round(2), columns=list("abcdef"))
    X["region"] = rng.integers(0, 50, len(X)).astype(str)
    y = (X["a"] + X["region"].astype(int) / 50 + rng.normal(size=len(X)) > 0.5).astype(int)
    columns = make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(X, y)
    timed("50 values", seconds, _clock.now, model, X, y, sensitive_features="region", favourable=1)
    model = Sleeping(model, lambda call, rows: 1e-3 * rows)
    _clock.now = lambda: time.process_time() + getattr(model, "slept_", 0.0)
    name = "50 values, 1 ms a row"
    timed(name, seconds, _clock.now, model, X, y, sensitive_features="region", favourable=1)


def busy():
    """Keep a core busy."""
    while True:
        sum(range(10_000))


def main():
    """Print a line for each audit, those of one size and time in a process of their own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--columns", type=int, nargs="*", default=[41, 301, 2_000])
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--seconds", type=float, nargs="*", default=[3.0, 15.0])
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")
        if options.slow:
            slow(options.seconds[0])
        else:
            wide(options.columns[0], options.seconds[0])
        return
    print(f"{describe_machine()}; {options.busy} busy processes\n")
    print("case, max_time, seconds it took, what the first page has", flush=True)
    others = [multiprocessing.Process(target=busy, daemon=True) for _ in range(options.busy)]
    for other in others:
        other.start()
    cases = [["--slow"]] if options.slow else [["--columns", str(n)] for n in options.columns]
    for case in cases:
        for seconds in options.seconds:
            words = [__file__, "--one", *case, "--seconds", str(seconds)]
            subprocess.run([sys.executable, *words], check=True)
    for other in others:
        other.terminate()


if __name__ == "__main__":
    main()
