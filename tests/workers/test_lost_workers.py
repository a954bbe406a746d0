"""Clusters that have no workers, lose them, go away, or have other versions installed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import uuid

import dying
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from tiers import needs

from skfairtest import (
    CertifiedAuditor,
    RandomAuditor,
    SBFTAuditor,
    TestSGDAuditor,
    certify,
    compare_auditors,
)
from skfairtest.exact import _rounds
from skfairtest.exceptions import WorkersFailedError
from skfairtest.workers import _cluster, _sending, _versions
from skfairtest.workers._sending import Parcel, on_workers

pytestmark = needs("distributed")

#: Seconds that only end a run that hangs.
HANGING = 300


def make_cluster(**params):
    import distributed

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    return distributed.LocalCluster(**(settings | params))


@pytest.fixture(scope="module")
def of_processes():
    """A cluster of two processes."""
    from distributed import Client

    with make_cluster(processes=True) as own, Client(own) as client:
        yield client


@pytest.fixture
def processes(of_processes):
    """The same with both of them there, whatever the test before has done to them."""
    of_processes.wait_for_workers(2, timeout=HANGING)
    with of_processes.as_current():
        yield of_processes


class Gate:
    """Lets the threads of a cluster's workers do a task each, and holds the next until a test ends.

    So some tasks come in and others do not, however fast the machine is.
    """

    def __init__(self):
        #: The first result has come in; a further task has begun; the test is over.
        self.came_in, self.reached, self.over = (threading.Event() for _ in range(3))
        self._threads, self._lock = set(), threading.Lock()

    def enter(self):
        """Called by a task that begins."""
        with self._lock:
            is_first = threading.get_ident() not in self._threads
            self._threads.add(threading.get_ident())
        if not is_first:
            self.reached.set()
            assert self.over.wait(HANGING)


#: The gate of the test that runs, if it has one.
gate = None
do_task = _sending._do


def held(function, parcel, task):
    """A task that goes through the gate; workers in threads of this process find it by name."""
    gate.enter()
    return do_task(function, parcel, task)


@pytest.fixture
def passing(monkeypatch):
    """A cluster in threads of this process, which a test may end."""
    import dask
    from distributed import Client

    # However long it takes the client to know.
    monkeypatch.setattr(_cluster, "SETTLED", HANGING)
    own = make_cluster(processes=False)
    # A client whose cluster has gone leaves Dask's settings as they are.
    kept = dask.config.get("scheduler", None)
    client = Client(own)
    with client.as_current():
        yield own
    client.close()
    own.close()
    dask.config.set(scheduler=kept)


def end_scheduler(cluster):
    """The cluster goes away, and waits for no task that is under way."""
    cluster.sync(cluster.scheduler.close)


@pytest.fixture
def ends_midway(passing, monkeypatch):
    """End the cluster when some results have come in and others have not."""
    own, threads = Gate(), []
    results_of = _cluster.Watch.over

    def over(watch, results):
        for result in results_of(watch, results):
            own.came_in.set()
            yield result

    def wait(end):
        if own.reached.wait(HANGING) and own.came_in.wait(HANGING):
            end()

    def plan(end):
        monkeypatch.setattr(sys.modules[__name__], "gate", own)
        monkeypatch.setattr(_cluster.Watch, "over", over)
        monkeypatch.setattr(_sending, "_do", held)
        threads.append(threading.Thread(target=wait, args=(end,)))
        threads[-1].start()
        return own

    yield plan
    own.over.set()
    for thread in threads:
        thread.join()


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 0] = rng.integers(0, 2, n)
    return X, X @ [1.0, -1.0, 0.4, 0.3]


class Linear(RegressorMixin, BaseEstimator):
    """A linear model that workers can import."""

    def fit(self, X, y):
        self.coef_ = np.linalg.lstsq(np.asarray(X, dtype=float), y, rcond=None)[0]
        self.n_features_in_ = self.coef_.shape[0]
        return self

    def predict(self, X):
        return np.asarray(X, dtype=float) @ self.coef_


class Mortal(Linear):
    """Kills the process of the worker that it predicts in, once or always."""

    def __init__(self, folder, always=False):
        self.folder, self.always = folder, always

    def fit(self, X, y):
        self.home_ = os.getpid()
        return super().fit(X, y)

    def predict(self, X):
        if os.getpid() != self.home_ and (dying.is_first(self.folder) or self.always):
            os.kill(os.getpid(), signal.SIGKILL)
        return np.asarray(X, dtype=float) @ self.coef_


def restarts(model, X):
    return SBFTAuditor(
        model, sensitive_features=[0], max_queries=3000, n_restarts=12, random_state=0
    )


# A cluster without workers --------------------------------------------------------------------


@pytest.mark.parametrize("what", ["restarts", "rows", "comparison", "certificate"])
def test_a_cluster_without_workers(what):
    from distributed import Client

    X, y = table(9000 if what == "rows" else 300)
    model = Linear().fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=40, random_state=0).fit(X)
    forest = CertifiedAuditor(
        RandomForestRegressor(40, random_state=0).fit(X[:300], y[:300]), sensitive_features=[0],
        max_queries=40, max_time=60, engine="numpy",
    )  # fmt: skip
    calls = {
        "restarts": lambda: restarts(model, X).fit(X),
        "rows": lambda: auditor.audit_rows(X),
        "comparison": lambda: compare_auditors([RandomAuditor()], model, X, max_queries=100),
        "certificate": lambda: forest.fit(X),
    }
    with (
        make_cluster(n_workers=0, processes=False) as own,
        Client(own) as client,
        client.as_current(),
        joblib.parallel_config("dask", wait_for_workers_timeout=0.3),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(_rounds, "IN_ONE_PIECE", 0.0)
        with pytest.raises(WorkersFailedError, match="has no workers.*Start some"):
            calls[what]()


def test_a_cluster_without_workers_that_nobody_waits_for():
    from distributed import Client

    with (
        make_cluster(n_workers=0, processes=False) as own,
        Client(own) as client,
        client.as_current(),
        joblib.parallel_config("dask", wait_for_workers_timeout=0),
        pytest.raises(WorkersFailedError, match="has no workers"),
    ):
        list(on_workers(print, Parcel(1), [(1,)], None))


# A cluster that goes away ---------------------------------------------------------------------


@pytest.mark.parametrize("end", ["cluster", "client"])
def test_restarts_that_had_come_in_are_kept(end, passing, ends_midway):
    from distributed import get_client

    X, y = table()
    auditor = restarts(Linear().fit(X, y), X)
    client = get_client()
    gate = ends_midway(client.close if end == "client" else lambda: end_scheduler(passing))
    with (
        joblib.parallel_config("dask"),
        pytest.raises(WorkersFailedError, match="has gone.*of 12 tasks had come in"),
    ):
        auditor.fit(X)
    assert gate.reached.is_set()
    assert auditor.stop_kind_ == "failed"
    assert 200 < auditor.n_queries_ < 2900
    assert auditor.n_found_ > 0
    assert len(auditor.discriminatory_inputs_) and len(auditor.history_)


def test_rows_groups_and_comparisons_on_a_cluster_that_goes_away(passing, ends_midway):
    X, y = table(60_000)
    model = Linear().fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=40, random_state=0)
    auditor.fit(X[:300])
    ends_midway(lambda: end_scheduler(passing))
    with joblib.parallel_config("dask"):
        with pytest.raises(WorkersFailedError, match="has gone"):
            auditor.audit_rows(X)
        # What was sent afterwards finds nobody there, and says so at once.
        with pytest.raises(WorkersFailedError, match="has gone"):
            auditor.audit_rows(X)
        groups = TestSGDAuditor(
            model, sensitive_features=[0], sampling_threshold=5000, random_state=0
        )
        with pytest.raises(WorkersFailedError, match="has gone"):
            groups.fit(X[:1000])
    assert auditor.n_queries_ == 40
    assert len(auditor.audit_rows(X[:5]).disparities) == 5


def test_a_comparison_on_a_cluster_that_goes_away(passing, ends_midway):
    X, y = table()
    model = Linear().fit(X, y)
    budget = {"max_queries": 300, "random_state": 0}
    named = {"random": RandomAuditor(sensitive_features=[0])}
    whole = compare_auditors(named, model, X, n_repeats=12, **budget)
    ends_midway(lambda: end_scheduler(passing))
    with joblib.parallel_config("dask"), pytest.raises(WorkersFailedError, match="gone") as info:
        compare_auditors(named, model, X, n_repeats=12, **budget)
    so_far = info.value.so_far.runs
    assert 0 < len(so_far) < 12
    columns = ["auditor", "repeat", "seed", "degree", "queries", "error"]
    pd.testing.assert_frame_equal(so_far[columns], whole.runs[columns].iloc[: len(so_far)])


def test_a_certificate_on_a_cluster_that_goes_away(passing, monkeypatch, tmp_path, clock):
    monkeypatch.setattr(_rounds, "IN_ONE_PIECE", 0.0)
    # No box is closed in no time, so each round leaves another one to do.
    monkeypatch.setattr(_rounds, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(_rounds, "N_ROOTS", 6)
    X, y = table(600)
    model = RandomForestRegressor(60, random_state=0).fit(X, y + (X[:, 0] > 0) * X[:, 1] ** 2)
    path = tmp_path / "state"
    saved = _rounds.Checkpoint.save

    def save(self, state):
        saved(self, state)
        assert len(state["open_upper"])
        passing.close()

    monkeypatch.setattr(_rounds.Checkpoint, "save", save)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=60, random_state=0).fit(X)
    certified = CertifiedAuditor(
        model, sensitive_features=[0], max_queries=60, random_state=0, engine="numpy"
    )
    with joblib.parallel_config("dask"):
        with pytest.raises(WorkersFailedError, match="has gone"):
            certify(auditor, max_time=60, engine="numpy", resume=path)
        with pytest.raises(WorkersFailedError, match="has gone"):
            certified.fit(X)
    assert path.exists()
    clock.step = 0.02
    alone = certify(auditor, max_time=1, engine="numpy", resume=path)
    assert alone.fairness_degree_upper_bound < np.inf
    # The auditor has the bound that it had before.
    assert not certified.certified_
    assert certified.fairness_degree_upper_bound_ >= certified.fairness_degree_ > 0


def test_a_cluster_whose_workers_all_leave(processes, monkeypatch, tmp_path):
    monkeypatch.setattr(_cluster, "WITHOUT_WORKERS", 1.0)
    over = tmp_path / "over"
    try:
        with joblib.parallel_config("dask"):
            tasks = [(k,) for k in range(100)]
            results = on_workers(all_but_the_first_wait, Parcel(str(over)), tasks, None)
            assert next(results) == 0
            processes.cluster.scale(0)
            with pytest.raises(WorkersFailedError, match="has had no workers for .* 1 of 100 task"):
                list(results)
    finally:
        over.touch()
        processes.cluster.scale(2)


def all_but_the_first_wait(over, k):
    return k if k == 0 else wait_for(over)


def wait_for(path):
    """Until a file is there, in a process of its own."""
    until = time.monotonic() + HANGING
    while not os.path.exists(path) and time.monotonic() < until:
        time.sleep(0.01)


# Processes that die ---------------------------------------------------------------------------


def test_a_worker_that_is_killed_is_replaced(processes, tmp_path):
    X, y = table()
    settings = {"sensitive_features": [0], "max_queries": 800, "n_restarts": 4, "random_state": 0}
    alone = RandomAuditor(Linear().fit(X, y), **settings).fit(X)
    mortal = RandomAuditor(Mortal(str(tmp_path)).fit(X, y), **settings)
    with joblib.parallel_config("dask"):
        mortal.fit(X)
    assert (tmp_path / "dead").exists()
    np.testing.assert_array_equal(alone.discriminatory_inputs_, mortal.discriminatory_inputs_)
    assert alone.n_queries_ == mortal.n_queries_


def test_a_model_that_kills_every_worker(processes, monkeypatch, tmp_path):
    # The scheduler tries a task on four workers; here on one.
    monkeypatch.setattr(processes.cluster.scheduler, "allowed_failures", 0)
    X, y = table()
    mortal = RandomAuditor(
        Mortal(str(tmp_path), always=True).fit(X, y), sensitive_features=[0], max_queries=800,
        n_restarts=2, random_state=0,
    )  # fmt: skip
    with (
        joblib.parallel_config("dask"),
        # What the cluster calls it depends on what else the worker held when it died.
        pytest.raises(WorkersFailedError, match=r"\(.*\); 0 of 2 tasks had come in.* Run again"),
    ):
        mortal.fit(X)
    assert mortal.stop_kind_ == "failed"


def test_results_that_never_come(processes, monkeypatch, tmp_path):
    """Something else has taken the tasks away."""
    monkeypatch.setattr(_cluster, "EVERY", 0.1)
    monkeypatch.setattr(_cluster, "NOTHING_UNDER_WAY", 1.0)
    monkeypatch.setattr(_cluster, "TASK", "none of these")
    seen, ncores = tmp_path / "seen", processes.ncores
    looks, there = [], ncores()

    def looked():
        """The tasks fail when a look has surely seen them under way, and this one is the next.

        While they are read nobody may be asked: Dask reads them where it answers, too.
        """
        if "pending" not in {state.status for state in list(processes.futures.values())}:
            return ncores()
        looks.append(1)
        if len(looks) > 1:
            seen.touch()
        return there

    tasks = [(Unreadable(str(seen)),), (Unreadable(str(seen)),)]
    with joblib.parallel_config("dask"):
        results = on_workers(unreadable, Parcel(1), tasks, None)
        monkeypatch.setattr(processes, "ncores", looked)
        with pytest.raises(WorkersFailedError, match="nothing is under way"):
            list(results)
    assert seen.exists()


def unreadable(content, task):
    return content


class Unreadable:
    """What no worker can read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return cannot, (self.path,)


def cannot(path):
    wait_for(path)
    raise OSError("cut off")


# Versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version"),
    [("sklearn", "0.1"), ("skfairtest", "9.9"), ("numpy", "1.0"), ("python", "2.7.1")],
)
def test_other_versions_on_the_workers(name, version, processes, monkeypatch):
    own = _versions.versions()
    monkeypatch.setattr(_sending, "versions", lambda: own | {name: version})
    X, y = table()
    with (
        joblib.parallel_config("dask"),
        pytest.raises(
            WorkersFailedError,
            match=rf"worker tcp://\S+ has {name} {own[name]} \(the client has {version}\)",
        ),
    ):
        restarts(Linear().fit(X, y), X).fit(X)


def test_a_package_that_the_workers_lack(processes, monkeypatch, tmp_path):
    """The same as where this package is missing there: a worker cannot read its task."""
    name = f"only_here_{uuid.uuid4().hex[:6]}"
    code = "__version__ = '1.5'\n\ndef work(content, k): return k\n"
    (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__(name)
    monkeypatch.setattr(_cluster, "PACKAGES", (*_versions.PACKAGES, name))
    monkeypatch.setattr(_versions, "PACKAGES", (*_versions.PACKAGES, name))
    monkeypatch.setattr(_cluster, "_same", {})
    _versions.versions.cache_clear()
    try:
        with (
            joblib.parallel_config("dask"),
            pytest.raises(
                WorkersFailedError,
                match=rf"worker tcp://\S+ has no {name} \(the client has 1.5\)",
            ),
        ):
            list(on_workers(module.work, Parcel(1), [(k,) for k in range(4)], None))
    finally:
        _versions.versions.cache_clear()
        sys.modules.pop(name)
