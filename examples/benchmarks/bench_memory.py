"""Peak memory and speed of ten million queries on a model that costs nothing.

Each auditor runs in a process of its own; printed is the largest resident size of that process,
imports included. Run with ``python examples/benchmarks/bench_memory.py`` (Linux, macOS).
"""

import argparse
import multiprocessing
import resource
import sys

import numpy as np
from _machine import describe_machine
from sklearn.linear_model import LinearRegression

from skfairtest import PublishedSBFTAuditor, RandomAuditor, SBFTAuditor


def run(name, n_queries, connection):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, size=1000), rng.normal(size=(1000, 15))])
    model = LinearRegression().fit(X, X @ np.arange(1.0, 17.0))
    kinds = {
        "random": RandomAuditor(),
        "SBFT tuned": SBFTAuditor(),
        "SBFT paper": PublishedSBFTAuditor(),
    }
    auditor = kinds[name].set_params(
        estimator=model, sensitive_features=[0], max_queries=n_queries, random_state=0
    )
    auditor.fit(X)
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size /= 2**20 if sys.platform == "darwin" else 2**10
    connection.send((auditor.n_queries_, auditor.n_inputs_, auditor.n_found_,
                     len(auditor.disparities_), auditor.seconds_, size))  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000_000)
    options = parser.parse_args()
    print(describe_machine())
    print(f"linear model, 16 columns, {options.queries} queries; the bar is 500 MB\n")
    print(f"{'auditor':12}{'queries':>12}{'inputs':>11}{'found':>11}{'kept':>9}{'s':>7}{'MB':>7}")
    context = multiprocessing.get_context("spawn")
    for name in ("random", "SBFT tuned", "SBFT paper"):
        here, there = context.Pipe()
        process = context.Process(target=run, args=(name, options.queries, there))
        process.start()
        queries, inputs, found, kept, seconds, size = here.recv()
        process.join()
        print(f"{name:12}{queries:12d}{inputs:11d}{found:11d}{kept:9d}{seconds:7.1f}{size:7.0f}")


if __name__ == "__main__":
    main()
