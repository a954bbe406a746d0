"""What an audit costs beside the model's own predictions: processor time, and memory.

* "search": an audit with 200,000 queries and, in turn, the same model predicting as many rows of
  the same space in batches of 2,000. The ratio is the median of the repeats and their range. With
  OMP_NUM_THREADS=1 no thread that waits counts.
* "memory": ten million queries to a linear model; the largest size of the process, imports
  included.
* "rows": tables that are not stored. Chunks are drawn from a seed and go through ``audit_rows``;
  beside it, in turn, the model alone predicts the two twins of each row. The time to draw is left
  out. Logistic regression stands behind an encoder and a scaler on a frame with numbers and
  categories, or reads ten columns of a frame or an array, where a prediction of a row takes some
  50 nanoseconds, so that almost everything else takes longer.

Each row runs in a process of its own (Linux, macOS). Run with
``python examples/benchmarks/bench_speed.py``; ``--only`` names parts, ``--scale 0.01`` takes a
hundredth of the queries and rows, and ``--only rows --scale 20`` takes a hundred million rows.
"""

import argparse
import multiprocessing
import resource
import sys
import time

import numpy as np
import pandas as pd
from _shared import describe_machine, one_hot
from sklearn.datasets import make_regression
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfairtest import InputSpace
from skfairtest.datasets import make_biased_regression
from skfairtest.individual import PublishedSBFTAuditor, RandomAuditor, SBFTAuditor

BATCH = 2000
SEARCHES = {"SBFT": SBFTAuditor, "SBFT paper": PublishedSBFTAuditor, "random": RandomAuditor}


def memory():
    """The largest size of this process, in MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


# Searches ----------------------------------------------------------------------------------------


def fitted(kind):
    """A model, its table, and its sensitive columns."""
    if kind == "one-hot forest":
        data = make_biased_regression(n_samples=2000, random_state=0)
        model = one_hot(RandomForestRegressor(100, random_state=0))
        return model.fit(data.data, data.target), data.data, data.sensitive_features
    X, y = make_regression(n_samples=2000, n_features=15, noise=1.0, random_state=0)
    sex = np.random.default_rng(0).integers(0, 2, size=len(X))
    models = {
        "forest": RandomForestRegressor(100, random_state=0),
        "histogram boosting": HistGradientBoostingRegressor(random_state=0),
        "linear": LinearRegression(),
    }
    X = np.column_stack([sex, X])
    return models[kind].fit(X, y + 20 * sex), X, [0]


def search(kind, name, n_queries, repeats):
    """One line: seconds of the model alone, of the audit, and their ratio."""
    model, X, sensitive = fitted(kind)
    space = InputSpace().fit(X, sensitive)
    rows = space.decode(space.sample(n_queries, np.random.default_rng(0)))
    take = rows.iloc.__getitem__ if isinstance(rows, pd.DataFrame) else rows.__getitem__
    batches = [take(slice(start, start + BATCH)) for start in range(0, n_queries, BATCH)]
    timings = []
    for _ in range(repeats):
        start = time.process_time()
        for batch in batches:
            model.predict(batch)
        alone, start = time.process_time() - start, time.process_time()
        auditor = SEARCHES[name](
            model, sensitive_features=sensitive, max_queries=n_queries, random_state=0
        ).fit(X)
        worked = (time.process_time() - start) * n_queries / auditor.n_queries_
        timings.append((alone, worked))
    alone, worked = np.median(timings, axis=0)
    ratios = sorted(b / a for a, b in timings)
    spread = f"{np.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}]"
    return f"{kind}, {name} | {n_queries:,} | {alone:.2f} | {worked:.2f} | {spread}"


def queries(name, n_queries):
    """One line: an audit of a model that costs nothing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, size=1000), rng.normal(size=(1000, 15))])
    model = LinearRegression().fit(X, X @ np.arange(1.0, 17.0))
    start = time.process_time()
    auditor = SEARCHES[name](
        model, sensitive_features=[0], max_queries=n_queries, random_state=0
    ).fit(X)
    worked = time.process_time() - start
    return f"linear, {name} | {auditor.n_queries_:,} |  | {worked:.2f} | "


# Rows --------------------------------------------------------------------------------------------


def drawn(kind, n, rng):
    """Some rows; the first column is sensitive."""
    X = rng.standard_normal((n, 10))
    X[:, 0], X[:, 1] = rng.integers(0, 2, n), rng.integers(0, 8, n)
    if kind == "array":
        return X
    table = pd.DataFrame(X, columns=["sex", *(f"x{j}" for j in range(1, 10))])
    if kind == "mixed frame":
        jobs = ["clerical", "craft", "farming", "manager", "service"]
        table["job"] = pd.Categorical.from_codes(rng.integers(0, 5, n), categories=jobs)
    return table


def chunks(kind, model, n_rows, size, seconds):
    """Chunks as they are asked for; the model's own time on each, and all time in here."""
    rng = np.random.default_rng(1)
    for start in range(0, n_rows, size):
        began = time.perf_counter()
        chunk = drawn(kind, min(size, n_rows - start), rng)
        for value in (0.0, 1.0):
            twin = chunk.copy()
            if kind == "array":
                twin[:, 0] = value
            else:
                twin["sex"] = value
            before = time.perf_counter()
            model.predict_proba(twin)
            seconds["model"] += time.perf_counter() - before
        seconds["here"] += time.perf_counter() - began
        yield chunk


def rows(kind, n_rows):
    """One line: rows in chunks."""
    rng = np.random.default_rng(0)
    X = drawn(kind, 5000, rng)
    numbers = np.asarray(X)[:, :10].astype(float)
    weights = np.r_[0.3, rng.normal(size=9)]
    y = (numbers @ weights + rng.logistic(size=len(numbers)) > 0).astype(int)
    model = LogisticRegression()
    model = (one_hot(model) if kind == "mixed frame" else model).fit(X, y)
    sensitive = [0] if kind == "array" else "sex"
    auditor = RandomAuditor(model, sensitive_features=sensitive, max_queries=200, random_state=0)
    auditor.fit(X)
    seconds = {"model": 0.0, "here": 0.0}
    began = time.perf_counter()
    found = auditor.audit_rows(chunks(kind, model, n_rows, 2**19, seconds))
    took = time.perf_counter() - began - seconds["here"]
    assert found.n_rows == n_rows
    own = seconds["model"]
    return f"{kind}, rows | {n_rows:,} | {own:.2f} | {took:.2f} | {took / own:.2f}"


def lines(asked):
    """The function of each line, with what it is given."""
    n, repeats = asked.scale, asked.repeats
    if "search" in asked.only:
        for kind in ("forest", "one-hot forest", "histogram boosting", "linear"):
            yield search, kind, "SBFT", int(200_000 * n), repeats
        yield search, "forest", "SBFT paper", int(20_000 * n), repeats
    if "memory" in asked.only:
        yield from ((queries, name, int(10_000_000 * n)) for name in ("random", "SBFT"))
    if "rows" in asked.only:
        yield from ((rows, kind, int(5_000_000 * n)) for kind in ("mixed frame", "frame", "array"))


def send(connection, function, *given):
    """What the process of a line does."""
    connection.send(f"{function(*given)} | {memory():.0f}")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("search", "memory", "rows")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--scale", type=float, default=1.0, help="of all queries and rows")
    parser.add_argument("--repeats", type=int, default=5, help="of searches")
    asked = parser.parse_args()
    print(f"{describe_machine()}\n")
    print("| what | queries or rows | model, s | audit, s | ratio | MB |\n" + "| --- " * 6 + "|")
    context = multiprocessing.get_context("spawn")
    for line in lines(asked):
        here, there = context.Pipe()
        process = context.Process(target=send, args=(there, *line))
        process.start()
        there.close()
        print(f"| {here.recv()} |", flush=True)
        process.join()


if __name__ == "__main__":
    main()
