"""What only a cluster of Dask can show: that it is seen to go, to lose workers, or to differ.

`test_cluster_troubles.py` has each of these troubles, and others, with a stand-in.
"""

from __future__ import annotations

import itertools
import sys
import threading
import uuid

import joblib
import numpy as np
import pytest
from clocks import HANGING
from cluster_apart import Apart, client_of, first_only, passing
from cluster_models import Linear, Mortal, table

from skfairtest import RandomAuditor, SBFTAuditor
from skfairtest.exceptions import WorkersFailedError
from skfairtest.workers import _cluster, _sending, _versions
from skfairtest.workers._sending import Broadcast, on_workers

pytestmark = pytest.mark.services("distributed")


@pytest.fixture(scope="module")
def of_processes():
    """A client of two processes.

    Each has two threads: joblib does the tasks of a cluster with a single one in this process, and
    where one of these processes is there, there are two threads.
    """
    apart = Apart(2, 2, "processes")
    try:
        with client_of(apart) as client:
            yield client
    finally:
        apart.kill()


@pytest.fixture
def processes(of_processes):
    """The same with both of them there, whatever the test before has done to them."""
    of_processes.wait_for_workers(2, timeout=HANGING)
    with of_processes.as_current():
        yield of_processes


@pytest.fixture
def no_workers():
    """A cluster without workers, and its client."""
    apart = Apart(0)
    try:
        with client_of(apart) as client:
            yield apart, client
    finally:
        apart.kill()


class Ending:
    """A cluster that a test ends, and its client."""

    def __init__(self, monkeypatch):
        self._patch, self._apart, self._threads = monkeypatch, Apart(2), []
        self.was_held = False

    def __enter__(self):
        self._client = client_of(self._apart)
        self.client = self._client.__enter__()
        return self

    def __exit__(self, *error):
        self._apart.kill()
        for thread in self._threads:
            thread.join(HANGING)
        self._client.__exit__(*error)

    def goes(self):
        """The cluster is ended, and its client looks for it for a short time only."""
        self.client._timeout = self.client.rpc.timeout = 0.5
        self._apart.kill()

    def midway(self, end):
        """End it when the first result has come in, and other tasks are under way for good."""
        came_in, numbers = threading.Event(), itertools.count()
        results_of, delayed = _cluster.ClusterMonitor.over, _sending.delayed

        def over(monitor, results):
            for result in results_of(monitor, results):
                came_in.set()
                yield result

        def wait():
            self.was_held = self._apart.wait_until_held() and came_in.wait(HANGING)
            end()

        self._patch.setattr(_cluster.ClusterMonitor, "over", over)
        self._patch.setattr(
            _sending, "delayed", lambda do: lambda *task: delayed(passing)(next(numbers), do, *task)
        )
        self._threads.append(threading.Thread(target=wait))
        self._threads[-1].start()


@pytest.fixture
def ending(monkeypatch):
    # However long it takes the client to know.
    monkeypatch.setattr(_cluster, "SETTLED", HANGING)
    with Ending(monkeypatch) as own:
        yield own


# A cluster without workers --------------------------------------------------------------------


def test_a_cluster_without_workers_and_one_whose_workers_all_leave(no_workers, monkeypatch):
    apart, client = no_workers
    tasks = [(k,) for k in range(100)]
    for seconds in (0.3, 0):
        with (
            joblib.parallel_config("dask", wait_for_workers_timeout=seconds),
            pytest.raises(WorkersFailedError, match="has no workers.*Start workers"),
        ):
            list(on_workers(first_only, Broadcast(1), tasks, None))
    worker = apart.add_worker()
    client.wait_for_workers(1, timeout=HANGING)
    monkeypatch.setattr(_cluster, "WITHOUT_WORKERS", 1.0)
    with joblib.parallel_config("dask"):
        results = on_workers(first_only, Broadcast(1), tasks, None)
        assert next(results) == 0
        worker.kill()
        with pytest.raises(WorkersFailedError, match="has had no workers for .* 1 of 100 task"):
            list(results)


# A cluster that goes away ---------------------------------------------------------------------


@pytest.mark.parametrize("end", ["cluster", "client"])
def test_restarts_that_had_come_in_are_kept(end, ending):
    X, y = table()
    auditor = SBFTAuditor(
        Linear().fit(X, y), sensitive_features=[0], max_queries=3000, n_restarts=12, random_state=0
    )
    ending.midway(ending.goes if end == "cluster" else lambda: ending.client.close(HANGING))
    with (
        joblib.parallel_config("dask"),
        pytest.raises(WorkersFailedError, match="has gone.*; [12] of 12 tasks had come in"),
    ):
        auditor.fit(X)
    assert ending.was_held
    assert auditor.stop_kind_ == "failed"
    assert 200 < auditor.n_queries_ <= 500
    assert auditor.n_found_ > 0
    assert len(auditor.discriminatory_inputs_) and len(auditor.history_)


def test_rows_on_a_cluster_that_goes_away(ending):
    X, y = table(9000)
    auditor = RandomAuditor(
        Linear().fit(X, y), sensitive_features=[0], max_queries=40, random_state=0
    ).fit(X[:300])
    ending.midway(ending.goes)
    with joblib.parallel_config("dask"):
        with pytest.raises(WorkersFailedError, match="has gone"):
            auditor.audit_rows(X)
        # What is sent afterwards finds nobody there, and says so.
        with pytest.raises(WorkersFailedError, match="has gone"):
            auditor.audit_rows(X)
    assert ending.was_held
    assert auditor.n_queries_ == 40


# Versions -------------------------------------------------------------------------------------


def test_other_versions_on_the_workers(processes, monkeypatch):
    """Told when a worker opens a broadcast."""
    own = _versions.versions()
    monkeypatch.setattr(_sending, "versions", lambda: own | {"sklearn": "0.1"})
    with (
        joblib.parallel_config("dask"),
        pytest.raises(
            WorkersFailedError,
            match=rf"worker tcp://\S+ has sklearn {own['sklearn']} \(the client has 0\.1\)",
        ),
    ):
        list(on_workers(first_only, Broadcast(1), [(0,), (0,)], None))


def test_a_package_that_the_workers_lack(processes, monkeypatch, tmp_path):
    """Told before a task is sent: a worker without this package could not read its task."""
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
            list(on_workers(module.work, Broadcast(1), [(k,) for k in range(4)], None))
    finally:
        _versions.versions.cache_clear()
        sys.modules.pop(name)


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


def allow(failures):
    """Set how many workers a task may end beyond the first."""

    def on_scheduler(dask_scheduler):
        dask_scheduler.allowed_failures = failures

    return on_scheduler


def test_a_model_that_kills_every_worker(processes, monkeypatch, tmp_path):
    # They are started anew, however long that takes.
    monkeypatch.setattr(_cluster, "WITHOUT_WORKERS", HANGING)
    X, y = table()
    mortal = RandomAuditor(
        Mortal(str(tmp_path), always=True).fit(X, y), sensitive_features=[0], max_queries=800,
        n_restarts=2, random_state=0,
    )  # fmt: skip
    # The scheduler tries a task on four workers; here on one.
    processes.run_on_scheduler(allow(0))
    try:
        with (
            joblib.parallel_config("dask", wait_for_workers_timeout=HANGING),
            # What the cluster calls it depends on what else the worker held when it died, and
            # whether it is said at once or after the tasks were sent again.
            pytest.raises(WorkersFailedError, match=r"\(.*\); 0 of 2 tasks had come in.* Run aga"),
        ):
            mortal.fit(X)
    finally:
        processes.run_on_scheduler(allow(3))
    # Nobody knows of an answer, so there are no results.
    assert not hasattr(mortal, "stop_kind_")
