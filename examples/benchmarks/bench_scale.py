"""Each capability with 1 and with 2 workers: seconds, bytes that moved, and where more would stop.

For each capability the same work is done in this process, in 2 processes of this machine (loky) and
in 2 of a cluster of Dask, one after another in each round, and the medians of the rounds are
compared. All results have to be equal. Bytes are from the counters of the operating system (Linux),
after a first run in which workers import what they need: of processes what they and this one
write, pipes and the files of shared memory; of the cluster what passes through the loopback device,
where what goes by the scheduler passes twice.

The last table extrapolates: from the seconds of a task alone, the bytes of what all tasks need, and
those of a task, it computes how long 2, 16, 64 and 256 workers would take. It assumes one network
of 1 gigabit a second that all bytes leave the client through, what all tasks need sent to each
worker once in a tree of transfers, a millisecond of the scheduler for each task, tasks of equal
length, and nothing else to wait for; what is done before and after the tasks is taken from the
difference between one run alone and its tasks.

Run with ``python examples/benchmarks/bench_scale.py``; ``--rounds 1`` is quicker, and ``--only
search --size 20`` is a minute's work of one capability. Needs Dask and its package ``distributed``.
"""

import argparse
import os
import pickle
import statistics
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
from _machine import describe_machine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV

from skfairtest import (
    FairnessRetrainer,
    RandomAuditor,
    SBFTAuditor,
    TestSGDAuditor,
    audit_models,
    make_audit_scorer,
)
from skfairtest.workers._sending import Broadcast

WORKERS = (2, 16, 64, 256)
BANDWIDTH = 125e6  # bytes a second
OVERHEAD = 1e-3  # seconds of the scheduler for each task


def table(n, seed=0):
    """Mixed columns, the first one sensitive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    X[:, 0], X[:, 1] = rng.integers(0, 2, n), rng.integers(0, 8, n)
    y = X @ rng.normal(size=10) + (X[:, 0] > 0) * np.maximum(X[:, 3], 0)
    return X, y + 0.3 * rng.normal(size=n)


def capabilities(size):
    """Name, what is done with ``n_jobs`` (None in a context), its tasks, and how many at a time.

    What is done returns what is compared between the ways, and how many queries it took.
    """
    X, y = table(4000)
    model = RandomForestRegressor(60, random_state=0).fit(X, y)
    small = RandomForestClassifier(60, max_depth=8, random_state=0)
    labels = (y > 0).astype(int)
    rows, _ = table(int(500_000 * size), seed=1)
    fitted = RandomAuditor(model, sensitive_features=[0], max_queries=100, random_state=0).fit(X)

    def search(n_jobs):
        auditor = SBFTAuditor(
            model, sensitive_features=[0], max_queries=int(120_000 * size), n_restarts=8,
            random_state=0, n_jobs=n_jobs,
        ).fit(X)  # fmt: skip
        return (auditor.fairness_degree_, auditor.n_found_), auditor.n_queries_

    def rows_of_data(n_jobs):
        audited = fitted.set_params(n_jobs=n_jobs).audit_rows(rows)
        return (audited.degree, audited.rate), audited.n_queries

    def groups(n_jobs):
        auditor = TestSGDAuditor(
            model, sensitive_features=[0], error_threshold=0.001, random_state=0,
            max_queries=int(600_000 * size), n_jobs=n_jobs,
        ).fit(X)  # fmt: skip
        return auditor.group_fairness_score_, auditor.n_queries_

    large = RandomForestClassifier(int(200 * size), random_state=0)
    boosting = GradientBoostingClassifier(n_estimators=int(400 * size), random_state=0)

    def mitigation(n_jobs, estimator):
        auditor = RandomAuditor(sensitive_features=[0], max_queries=2000, random_state=0)
        retrainer = FairnessRetrainer(
            estimator, auditor, max_rounds=2, random_state=0, n_jobs=n_jobs,
        ).fit(X, labels)  # fmt: skip
        return retrainer.predict_proba(X[:100]).sum(), None

    def selection(n_jobs):
        auditor = RandomAuditor(sensitive_features=[0], max_queries=int(12_000 * size),
                                random_state=0)  # fmt: skip
        grid = {"min_samples_leaf": [1, 3, 5, 9]}
        found = GridSearchCV(small, grid, scoring=make_audit_scorer(auditor), cv=2, n_jobs=n_jobs)
        found.fit(X, labels)
        return found.cv_results_["mean_test_score"].sum(), 8 * int(12_000 * size)

    forests = {
        f"{n} leaves": RandomForestRegressor(60, max_leaf_nodes=n, random_state=0).fit(X, y)
        for n in (100, 200, 400, 800)
    }

    def audits(n_jobs):
        reports = audit_models(
            forests, X, sensitive_features=[0], auditor=SBFTAuditor(max_queries=int(60_000 * size)),
            certify=False, groups=False, max_time=None, random_state=0, n_jobs=n_jobs,
        )  # fmt: skip
        return sum(found.fairness_degree for found in reports.values()), None

    n_chunks = -(-2 * len(rows) // 4096)
    return {
        "search, 8 restarts": (search, 8, 8),
        f"rows of data, {len(rows):,}": (rows_of_data, n_chunks, 16),
        "groups (TestSGD)": (groups, int(600_000 * size) // 4096, 10_000),
        "mitigation (forest)": (lambda n: mitigation(n, large), 3 * 6, 6),
        "mitigation (boosting)": (lambda n: mitigation(n, boosting), 3 * 6, 6),
        "selection (a scorer)": (selection, 8, 8),
        "audits of 4 models": (audits, 4, 4),
    }


def bytes_moved(way):
    """What was moved so far, for a cluster on this machine or for joblib's processes."""
    if way == "dask":
        lines = Path("/proc/net/dev").read_text().splitlines()
        return next(int(line.split()[9]) for line in lines if line.lstrip().startswith("lo:"))
    io = [Path(f"/proc/{pid}/io").read_text().split() for pid in ("self", *pids_of_loky())]
    return sum(int(words[words.index("wchar:") + 1]) for words in io)


def pids_of_loky():
    """Workers of joblib's processes: children that say so."""
    own = os.getpid()
    children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    return [pid for pid in children if b"loky" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def run(function, n_jobs):
    """Seconds and the result."""
    began = time.perf_counter()
    result = function(n_jobs)
    return time.perf_counter() - began, result


def main():
    """Print the tables."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=float, default=1.0, help="1: some seconds each")
    parser.add_argument("--only", default="", help="begin of the name of one capability")
    options = parser.parse_args()
    from distributed import Client, LocalCluster

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(describe_machine())
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        print(
            f"\n{'capability':26s} {'alone':>7s} {'loky':>7s} {'Dask':>7s} {'speed-up':>9s} "
            f"{'Dask':>6s} {'MB loky':>8s} {'MB Dask':>8s} {'bytes/query':>12s}"
        )
        known, packed = {}, {}
        watch_broadcasts(packed)
        for name, (function, n_tasks, width) in capabilities(options.size).items():
            if not name.startswith(options.only):
                continue
            seconds = {"alone": [], "loky": [], "dask": []}
            moved = {}
            expected = None
            for turn in range(options.rounds + 1):
                for way in seconds:
                    packed.clear()
                    before = bytes_moved(way)
                    if way == "alone":
                        took, (result, n_queries) = run(function, 1)
                    else:
                        # joblib's processes: what prefers threads by itself gets them, too.
                        how = {"loky": {"n_jobs": 2}, "dask": {}}[way]
                        with joblib.parallel_config(way, **how):
                            took, (result, n_queries) = run(function, None)
                    expected = result if expected is None else expected
                    assert result == expected, (name, way, result, expected)
                    if turn:  # the first round imports and compiles
                        seconds[way].append(took)
                        moved[way] = bytes_moved(way) - before
            alone, loky, dask = (statistics.median(seconds[way]) for way in seconds)
            print(
                f"{name:26s} {alone:6.1f}s {loky:6.1f}s {dask:6.1f}s {alone / loky:9.2f} "
                f"{alone / dask:6.2f} {moved['loky'] / 1e6:8.1f} {moved['dask'] / 1e6:8.1f} "
                + (f"{moved['dask'] / n_queries:12.1f}" if n_queries else f"{'-':>12s}"),
                flush=True,
            )
            known[name] = (
                alone,
                min(loky, dask),
                n_tasks,
                width,
                moved["dask"],
                sum(packed.values()),
            )
    payload = len(pickle.dumps(RandomForestRegressor(60, random_state=0).fit(*table(4000))))
    print(f"\nThe model of the first three: {payload / 1e6:.1f} MB.")
    extrapolate(known)


def watch_broadcasts(packed):
    """Note the bytes of what all tasks need, whenever it is sent."""
    written = Broadcast.__reduce__

    def noted(self):
        packed[self.name] = self.packed().nbytes
        return written(self)

    Broadcast.__reduce__ = noted


def extrapolate(known):
    """How long more workers would take, and where that ends."""
    print(f"\n{'computed speed-up with':26s}" + "".join(f"{n:>8d}" for n in WORKERS) + "  ends at")
    for name, (alone, both, n_tasks, width, moved, needed) in known.items():
        # With two workers it is serial + tasks / 2: what the two runs tell of the serial part,
        # that which is sent left out.
        sent = cost(2, n_tasks, moved, needed)
        serial = min(max(0.0, 2 * (both - sent) - alone), alone)
        task = max(alone - serial, 1e-9) / n_tasks

        def speed_up(n, alone=alone, serial=serial, task=task, of=(n_tasks, moved, needed, width)):
            rounds = -(-of[0] // min(n, of[3]))
            return alone / (serial + rounds * task + cost(n, *of[:3]))

        most = 1
        while most < 1024 and speed_up(2 * most) > 1.1 * speed_up(most):
            most *= 2
        line = "".join(f"{speed_up(n):8.1f}" for n in WORKERS)
        why = f"its {min(n_tasks, width)} tasks at a time"
        if most < min(n_tasks, width) / 2:
            why = f"{serial:.1f} s that are in no task, and what is sent"
        print(f"{name:26s}{line}  {most} workers: {why}")


def cost(n, n_tasks, moved, needed):
    """Seconds that n workers wait for bytes and for the scheduler."""
    # In the run that was measured what all tasks need went to the scheduler, to a worker, and on to
    # the other one; everything else passed the scheduler once on its way.
    of_tasks = max(0.0, moved - 3 * needed) / 2
    tree = np.ceil(np.log2(n + 1)) * needed
    return (tree + of_tasks) / BANDWIDTH + n_tasks * OVERHEAD


if __name__ == "__main__":
    main()
