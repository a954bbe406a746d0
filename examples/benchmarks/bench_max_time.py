"""Whether an audit ends within its time, on tables of many columns.

A logistic regression on 4,000 rows of whole numbers from 0 to 9, `max_time` of 3 and 15 seconds,
the first audit of a process (with imports) and a second one. Printed: wall seconds, whether they
exceed the limit by more than a tenth or two seconds, the status of the report, the longest parts.

Run with ``python examples/benchmarks/bench_max_time.py``; ``--columns`` and ``--seconds`` choose,
``--busy`` keeps so many other processes busy.
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
from sklearn.linear_model import LogisticRegression


def audits(n_columns, seconds):
    """Audit twice, the first time cold."""
    from skfairtest import audit

    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{k}": rng.integers(0, 10, 4_000) for k in range(n_columns - 1)})
    X["sex"] = rng.integers(0, 2, len(X))
    y = (X["c0"] / 10 + 0.2 * X["sex"] + rng.normal(0, 0.3, len(X)) > 0.5).astype(int)
    model = LogisticRegression(max_iter=300).fit(X, y)
    for state in ("cold", "warm"):
        began = time.perf_counter()
        report = audit(
            model, X, y, sensitive_features="sex", favourable=1, random_state=0, progress=False,
            max_time=seconds,
        )  # fmt: skip
        took = time.perf_counter() - began
        late = " LATE" if took > max(1.1 * seconds, seconds + 2) else ""
        longest = report.parts.nlargest(3, "seconds")[["part", "seconds"]].itertuples(index=False)
        parts = ", ".join(f"{name} {s:.1f}" for name, s in longest)
        print(f"{n_columns:>7} {seconds:>7g} {state} {took:>6.1f}{late}  {report.status}: {parts}")


def busy():
    """Keep a core busy."""
    while True:
        sum(range(10_000))


def main():
    """Print a line for each audit, each pair of them in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--columns", type=int, nargs="*", default=[41, 301, 2_000])
    parser.add_argument("--seconds", type=float, nargs="*", default=[3.0, 15.0])
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")
        audits(options.columns[0], options.seconds[0])
        return
    print(f"{describe_machine()}; {options.busy} busy processes\n")
    print("columns seconds state  took  status: longest parts", flush=True)
    others = [multiprocessing.Process(target=busy, daemon=True) for _ in range(options.busy)]
    for other in others:
        other.start()
    for n_columns in options.columns:
        for seconds in options.seconds:
            words = [__file__, "--one", "--columns", str(n_columns), "--seconds", str(seconds)]
            subprocess.run([sys.executable, *words], check=True)
    for other in others:
        other.terminate()


if __name__ == "__main__":
    main()
