"""Rows of a table that is not stored: seconds against the model's own predictions, and memory.

Chunks of rows are drawn from a seed and go through ``audit_rows``. Beside it, on the same chunk and
in turn, the model alone predicts the two twins of each row. What is printed is the ratio of the two
times, without the time to draw the rows, and the largest memory of the process, with the chunk and
everything that is imported.

The models are linear: logistic regression behind an encoder and a scaler on a frame with numbers
and categories, as tables of people are, and by itself on ten columns of a frame or an array, where
a prediction of a row takes some 50 nanoseconds, so that almost everything else takes longer.

Run with ``python examples/benchmarks/bench_rows.py``; ``--rows 1e8 --tables "mixed frame"`` is the
table of a hundred million rows.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import RandomAuditor

NUMBERS = 10
LEVELS = ("clerical", "craft", "farming", "manager", "service")


def draw(kind, n, rng):
    """Some rows; the first column is sensitive."""
    X = rng.standard_normal((n, NUMBERS))
    X[:, 0], X[:, 1] = rng.integers(0, 2, n), rng.integers(0, 8, n)
    if kind == "array":
        return X
    table = pd.DataFrame(X, columns=["sex", *(f"x{j}" for j in range(1, NUMBERS))])
    if kind == "mixed frame":
        codes = rng.integers(0, len(LEVELS), n)
        table["job"] = pd.Categorical.from_codes(codes, categories=list(LEVELS))
    return table


def model_for(kind):
    """A linear model that reads such tables."""
    if kind != "mixed frame":
        return LogisticRegression()
    steps = make_column_transformer((OneHotEncoder(), ["job"]), remainder=StandardScaler())
    return make_pipeline(steps, LogisticRegression())


def twin(chunk, value):
    """The rows with another value of the sensitive column."""
    if isinstance(chunk, np.ndarray):
        other = chunk.copy()
        other[:, 0] = value
    else:
        other = chunk.copy(deep=False)
        other["sex"] = float(value)
    return other


class Chunks:
    """Chunks drawn as they are asked for, with a look at the model's own time on each."""

    def __init__(self, kind, model, n_rows, size, seed):
        self.kind, self.model, self.n_rows, self.size, self.seed = kind, model, n_rows, size, seed
        self.own = self.outside = 0.0

    def __iter__(self):
        rng = np.random.default_rng(self.seed)
        for start in range(0, self.n_rows, self.size):
            began = time.perf_counter()
            chunk = draw(self.kind, min(self.size, self.n_rows - start), rng)
            for value in (0, 1):
                rows = twin(chunk, value)
                before = time.perf_counter()
                self.model.predict_proba(rows)
                self.own += time.perf_counter() - before
            self.outside += time.perf_counter() - began
            yield chunk


def measure(kind, n_rows, size):
    """One line of the table."""
    rng = np.random.default_rng(0)
    X = draw(kind, 5000, rng)
    numbers = np.asarray(X)[:, :NUMBERS].astype(float)
    weights = np.r_[0.3, rng.normal(size=NUMBERS - 1)]
    y = (numbers @ weights + rng.logistic(size=len(numbers)) > 0).astype(int)
    model = model_for(kind).fit(X, y)
    auditor = RandomAuditor(
        model, sensitive_features=[0] if kind == "array" else "sex", max_queries=200, random_state=0
    ).fit(X)
    chunks = Chunks(kind, model, n_rows, size, seed=1)
    began = time.perf_counter()
    found = auditor.audit_rows(iter(chunks))
    took = time.perf_counter() - began - chunks.outside
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert found.n_rows == n_rows
    print(
        f"{kind:12s} {n_rows:12,d} {found.rate:7.4f} {chunks.own:8.1f}s {took:8.1f}s "
        f"{took / chunks.own:7.2f} {memory:7.0f} MB",
        flush=True,
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--chunk", type=float, default=2**19, help="rows in a chunk")
    tables = ["mixed frame", "frame", "array"]
    parser.add_argument("--tables", nargs="+", choices=tables, default=tables)
    options = parser.parse_args()
    print(describe_machine())
    print(
        f"\n{'table':12s} {'rows':>12s} {'rate':>7s} {'model':>9s} {'audit':>9s} {'ratio':>7s} "
        f"{'memory':>10s}"
    )
    for kind in options.tables:
        measure(kind, int(options.rows), int(options.chunk))


if __name__ == "__main__":
    main()
