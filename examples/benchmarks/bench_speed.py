"""How much time SBFT spends beside the model's own predict.

Each row audits a forest with 200,000 queries and, in the same run and in turn, lets the same forest
predict 200,000 rows of the same space in batches of 2,000. Printed: the processor time of both and
their ratio, the median of the repeats and their range. With OMP_NUM_THREADS=1 no thread that waits
counts.

Run with ``python examples/benchmarks/bench_speed.py``.
"""

import argparse
import time

import numpy as np
import pandas as pd
from _machine import describe_machine
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_regression
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import InputSpace, PublishedSBFTAuditor, SBFTAuditor
from skfairtest.datasets import make_biased_regression

BATCH = 2000


def numeric_case():
    X, y = make_regression(n_samples=2000, n_features=15, noise=1.0, random_state=0)
    sex = np.random.default_rng(0).integers(0, 2, size=len(X))
    X = np.column_stack([sex, X])
    forest = RandomForestRegressor(n_estimators=100, random_state=0).fit(X, y + 20 * sex)
    return "16 numeric columns, forest of 100", forest, X, [0], 1.3


def mixed_case():
    data = make_biased_regression(n_samples=2000, random_state=0)
    texts = data.data.select_dtypes(exclude="number").columns.tolist()
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler()
    )
    model = make_pipeline(encode, RandomForestRegressor(n_estimators=100, random_state=0))
    model.fit(data.data, data.target)
    return "mixed frame, one-hot pipeline", model, data.data, data.sensitive_features, 1.5


def predict_seconds(model, X, sensitive, n_queries):
    space = InputSpace().fit(X, sensitive)
    rows = space.decode(space.sample(n_queries, np.random.default_rng(0)))
    take = rows.iloc.__getitem__ if isinstance(rows, pd.DataFrame) else rows.__getitem__
    batches = [take(slice(start, start + BATCH)) for start in range(0, n_queries, BATCH)]
    start = time.process_time()
    for batch in batches:
        model.predict(batch)
    return time.process_time() - start


def audit_seconds(model, X, sensitive, n_queries, kind):
    auditor = kind(
        model,
        sensitive_features=sensitive,
        max_queries=n_queries,
        random_state=0,
    )
    start = time.process_time()
    auditor.fit(X)
    return time.process_time() - start, auditor.n_queries_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(describe_machine())
    print(f"{options.queries} queries, median of {options.repeats} repeats in turn [min, max]\n")
    print(f"{'case':34}{'search':8}{'predict s':>10}{'audit s':>9}  ratio [min, max]    bar")
    for name, model, X, sensitive, bar in (numeric_case(), mixed_case()):
        for search, kind in (("tuned", SBFTAuditor), ("paper", PublishedSBFTAuditor)):
            timings = []
            for _ in range(options.repeats):
                alone = predict_seconds(model, X, sensitive, options.queries)
                audit, asked = audit_seconds(model, X, sensitive, options.queries, kind)
                timings.append((alone, audit * options.queries / asked))
            alone, audit = np.median(timings, axis=0)
            ratios = sorted(b / a for a, b in timings)
            print(
                f"{name:34}{search:8}{alone:10.2f}{audit:9.2f}  {np.median(ratios):.2f} "
                f"[{ratios[0]:.2f}, {ratios[-1]:.2f}]   {bar if search == 'tuned' else '-'}"
            )


if __name__ == "__main__":
    main()
