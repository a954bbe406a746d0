"""What is done about a cluster in trouble, which a stand-in for Dask has on demand."""

from __future__ import annotations

import pickle
from collections import OrderedDict

import joblib
import numpy as np
import pytest
from clocks import HANGING
from cluster_models import Linear, table
from stand_in_cluster import StandIn, counted

from skfairtest import (
    RandomAuditor,
    SBFTAuditor,
    TestSGDAuditor,
)
from skfairtest.exceptions import WorkersFailedError
from skfairtest.workers import _cluster, _sending, _versions
from skfairtest.workers._sending import Broadcast, on_workers

#: For troubles that last: how long they are looked at decides nothing.
SHORT = 0.02


@pytest.fixture
def cluster(monkeypatch):
    """A cluster of two workers, looked at often."""
    client = StandIn()
    monkeypatch.setattr(_cluster, "EVERY", 0.002)
    monkeypatch.setattr(
        _cluster.ClusterMonitor, "over", counted(client, _cluster.ClusterMonitor.over)
    )
    return client


def sending_to(client, **params):
    return joblib.parallel_config("stand-in", client=client, **params)


def restarts(X, y):
    return SBFTAuditor(
        Linear().fit(X, y), sensitive_features=[0], max_queries=3000, n_restarts=12, random_state=0
    )


def plus(content, k):
    return content + k


def numbers(n):
    return on_workers(plus, Broadcast(100), [(k,) for k in range(n)], None)


# No trouble -----------------------------------------------------------------------------------


def test_a_cluster_gives_what_one_process_gives(cluster):
    X, y = table()
    alone = restarts(X, y).fit(X)
    with sending_to(cluster):
        sent = restarts(X, y).fit(X)
        assert list(numbers(10)) == list(range(100, 110))
    assert cluster.n_calls == 2
    np.testing.assert_array_equal(alone.discriminatory_inputs_, sent.discriminatory_inputs_)
    assert alone.n_queries_ == sent.n_queries_


def test_a_worker_that_has_forgotten_a_broadcast_gets_it_again(cluster, monkeypatch):
    broadcast, tasks = Broadcast(100), [(k,) for k in range(4)]
    with sending_to(cluster):
        assert list(on_workers(plus, broadcast, tasks, None)) == [100, 101, 102, 103]
        assert list(on_workers(plus, broadcast, tasks, None)) == [100, 101, 102, 103]
        assert cluster.n_calls == 2
        monkeypatch.setattr(_sending, "_opened", OrderedDict())
        assert list(on_workers(plus, broadcast, tasks, None)) == [100, 101, 102, 103]
    assert cluster.n_calls == 4


def test_errors_of_the_task_itself_pass_through(cluster):
    with sending_to(cluster), pytest.raises(TypeError, match="concatenate str"):
        list(on_workers(plus, Broadcast("text"), [(k,) for k in range(4)], None))
    assert cluster.n_calls == 1


# A cluster without workers --------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [10, 0])
@pytest.mark.parametrize("what", ["restarts", "rows", "tasks"])
def test_a_cluster_without_workers(what, timeout, cluster, monkeypatch):
    """Joblib's backend waits in vain, or was told to wait for nobody."""
    X, y = table(9000 if what == "rows" else 300)
    model = Linear().fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=40, random_state=0).fit(X)
    calls = {
        "restarts": lambda: restarts(X, y).fit(X),
        "rows": lambda: auditor.audit_rows(X),
        "tasks": lambda: list(numbers(1)),
    }
    cluster.n_workers = 0
    with (
        sending_to(cluster, wait_for_workers_timeout=timeout),
        pytest.raises(WorkersFailedError, match="has no workers.*Start workers"),
    ):
        calls[what]()
    assert cluster.n_calls == 0


# A cluster that goes away ---------------------------------------------------------------------


def test_restarts_that_had_come_in_are_kept(cluster):
    cluster.plan[1] = 3, cluster.goes
    X, y = table()
    auditor = restarts(X, y)
    with (
        sending_to(cluster),
        pytest.raises(WorkersFailedError, match=r"has gone.*; 3 of 12 tasks had come in"),
    ):
        auditor.fit(X)
    assert auditor.stop_kind_ == "failed"
    assert 500 < auditor.n_queries_ <= 750
    assert auditor.n_found_ > 0
    assert len(auditor.discriminatory_inputs_) and len(auditor.history_)


def test_rows_on_a_cluster_that_goes_away(cluster):
    X, y = table(9000)
    model = Linear().fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=40, random_state=0)
    auditor.fit(X[:300])
    cluster.plan[1] = 1, cluster.goes
    with sending_to(cluster):
        with pytest.raises(WorkersFailedError, match="has gone.*; 1 of"):
            auditor.audit_rows(X)
        # What is sent afterwards finds nobody there.
        with pytest.raises(WorkersFailedError, match="has gone"):
            auditor.audit_rows(X)
    assert cluster.n_calls == 1
    assert auditor.n_queries_ == 40
    assert len(auditor.audit_rows(X[:5]).disparities) == 5


def test_groups_on_a_cluster_that_goes_away(cluster):
    X, y = table(1000)
    cluster.plan[1] = 1, cluster.goes
    groups = TestSGDAuditor(
        Linear().fit(X, y), sensitive_features=[0], error_threshold=0.02, random_state=0
    )
    with sending_to(cluster), pytest.raises(WorkersFailedError, match="has gone.*; 1 of"):
        groups.fit(X)
    assert cluster.reached == [1]


def test_a_client_that_is_closed_sends_nothing(cluster):
    cluster.status = "closed"
    with sending_to(cluster), pytest.raises(WorkersFailedError, match="has gone.*its client was c"):
        list(numbers(4))
    assert cluster.n_calls == 0


def test_a_client_gets_to_know_late_that_its_cluster_has_gone(cluster, monkeypatch):
    monkeypatch.setattr(_cluster, "SETTLED", HANGING)

    def cancelled_before_it_knows(job):
        cluster.cancelled(job)
        cluster.status = "closed"

    cluster.plan[1] = 2, cancelled_before_it_knows
    with sending_to(cluster), pytest.raises(WorkersFailedError, match="has gone.*; 2 of 10 tasks"):
        list(numbers(10))
    assert cluster.n_calls == 1


# Waiting that would not end -------------------------------------------------------------------


def test_all_workers_leave(cluster, monkeypatch):
    monkeypatch.setattr(_cluster, "WITHOUT_WORKERS", SHORT)
    cluster.plan[1] = 1, cluster.leave
    with (
        sending_to(cluster),
        pytest.raises(WorkersFailedError, match=r"has had no workers for .*; 1 of 10 tasks had"),
    ):
        list(numbers(10))


def test_a_scheduler_that_falls_silent(cluster, monkeypatch):
    monkeypatch.setattr(_cluster, "WITHOUT_WORKERS", SHORT)
    cluster.plan[1] = 1, cluster.falls_silent
    with (
        sending_to(cluster),
        pytest.raises(WorkersFailedError, match=r"has not answered for .*; 1 of 10 tasks had"),
    ):
        list(numbers(10))


@pytest.mark.parametrize(
    ("trouble", "said"),
    [("fails", "MemoryError: no room"), ("fails_in_silence", "for an unknown reason")],
)
def test_a_task_that_fails_on_the_side_of_the_cluster(trouble, said, cluster):
    cluster.plan[1] = 3, getattr(cluster, trouble)
    X, y = table()
    auditor = restarts(X, y)
    message = rf"does not go on: a task could not be done there \({said}\); 3 of 12 tasks had"
    with sending_to(cluster), pytest.raises(WorkersFailedError, match=message):
        auditor.fit(X)
    assert auditor.stop_kind_ == "failed"
    assert 500 < auditor.n_queries_ <= 750


@pytest.mark.parametrize("trouble", ["forgets", "stays_lost"])
@pytest.mark.parametrize("k", [0, 2])
def test_results_that_never_come(k, trouble, cluster, monkeypatch):
    monkeypatch.setattr(_cluster, "NOTHING_UNDER_WAY", SHORT)
    # What is forgotten before a look has seen it was never there.
    monkeypatch.setattr(_cluster, "NOTHING_SENT", SHORT if trouble == "forgets" else HANGING)
    cluster.plan[1] = k, getattr(cluster, trouble)
    with (
        sending_to(cluster),
        pytest.raises(WorkersFailedError, match=f"nothing is under way.*; {k} of 10 tasks had"),
    ):
        list(numbers(10))


def test_what_tasks_need_is_on_its_way_for_longer(cluster, monkeypatch):
    """A large model is sent before the first task is known; the short limit is for tasks."""
    monkeypatch.setattr(_cluster, "NOTHING_UNDER_WAY", 0.0)
    cluster.uploading = True
    cluster.plan[1] = 0, cluster.fails_after_upload
    with sending_to(cluster), pytest.raises(WorkersFailedError, match="could not be done there"):
        list(numbers(10))


# Workers that are lost ------------------------------------------------------------------------


def test_lost_workers_are_waited_for_and_their_tasks_done_again(monkeypatch):
    monkeypatch.setattr(_cluster, "SETTLED", SHORT)
    cluster = StandIn(n_workers=2, n_threads=2)
    monkeypatch.setattr(
        _cluster.ClusterMonitor, "over", counted(cluster, _cluster.ClusterMonitor.over)
    )
    cluster.plan[1] = 3, cluster.cancelled
    with (
        sending_to(cluster),
        pytest.warns(RuntimeWarning, match=r"lost \(CancelledError\); 7 tasks .* are run again"),
    ):
        assert list(numbers(10)) == list(range(100, 110))
    assert cluster.n_calls == 2
    # Workers, and not their threads, which would be waited for in vain.
    assert cluster.waited_for == [2]


def test_restarts_whose_workers_are_lost_once_are_the_same(cluster, monkeypatch):
    monkeypatch.setattr(_cluster, "SETTLED", SHORT)
    cluster.plan[1] = 3, cluster.cancelled
    X, y = table()
    alone = restarts(X, y).fit(X)
    with sending_to(cluster), pytest.warns(RuntimeWarning, match="9 tasks .* are run again"):
        sent = restarts(X, y).fit(X)
    np.testing.assert_array_equal(alone.discriminatory_inputs_, sent.discriminatory_inputs_)
    assert alone.n_queries_ == sent.n_queries_


def test_workers_that_are_lost_again(cluster, monkeypatch):
    monkeypatch.setattr(_cluster, "SETTLED", SHORT)
    cluster.plan |= {1: (3, cluster.cancelled), 2: (2, cluster.cancelled)}
    X, y = table()
    auditor = restarts(X, y)
    message = r"were lost 2 times \(CancelledError: .*\); 5 of 12 tasks had come in.* Run again"
    with (
        sending_to(cluster),
        pytest.warns(RuntimeWarning, match="9 tasks"),
        pytest.raises(WorkersFailedError, match=message),
    ):
        auditor.fit(X)
    assert cluster.reached == [1, 2]
    assert auditor.stop_kind_ == "failed"
    assert 1000 < auditor.n_queries_ <= 1250


@pytest.mark.parametrize("how", ["no workers", "has gone"])
def test_lost_workers_that_do_not_come_back(how, cluster, monkeypatch):
    monkeypatch.setattr(_cluster, "SETTLED", SHORT)
    cluster.plan[1] = 3, cluster.cancelled

    def wait_for_workers(n, timeout):
        if how == "has gone":
            cluster.status = "closed"
        else:
            cluster.n_workers = 0
        raise TimeoutError(f"no {n} workers in {timeout} seconds")

    monkeypatch.setattr(cluster, "wait_for_workers", wait_for_workers)
    with (
        sending_to(cluster),
        pytest.warns(RuntimeWarning, match="7 tasks"),
        pytest.raises(WorkersFailedError, match=how),
    ):
        list(numbers(10))
    assert cluster.n_calls == 1


def test_errors_that_are_no_loss_are_not_done_again(cluster):
    def other_error(job):
        job.callback(OSError("cut off"))

    cluster.plan[1] = 2, other_error
    with sending_to(cluster), pytest.raises(OSError, match="cut off"):
        list(numbers(10))
    assert cluster.n_calls == 1


# Versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version"),
    [("sklearn", "0.1"), ("skfairtest", "9.9"), ("numpy", "1.0"), ("python", "2.7.1")],
)
def test_other_versions_on_a_worker(name, version, cluster):
    cluster.elsewhere["tcp://worker:1"] = {name: version}
    own = _versions.versions()[name]
    X, y = table()
    with (
        sending_to(cluster),
        pytest.raises(
            WorkersFailedError,
            match=rf"worker tcp://worker:1 has {name} {version} \(the client has {own}\)\. Install",
        ),
    ):
        restarts(X, y).fit(X)
    assert cluster.n_calls == 0


def test_a_package_that_workers_lack(cluster):
    own = _versions.versions()["numpy"]
    cluster.elsewhere |= {f"tcp://worker:{k}": {"numpy": None} for k in range(2)}
    lines = [rf"worker tcp://worker:{k} has no numpy \(the client has {own}\)" for k in range(2)]
    with sending_to(cluster), pytest.raises(WorkersFailedError, match="; ".join(lines)):
        list(numbers(4))
    assert cluster.n_calls == 0


def test_workers_are_asked_for_their_versions_once(cluster):
    third = _versions.versions()["python"].rpartition(".")[0] + ".99"
    cluster.elsewhere["tcp://worker:1"] = {"python": third}
    with sending_to(cluster):
        assert list(numbers(4)) == list(numbers(4))
        assert cluster.n_asked == 2
        cluster.n_workers = 3
        assert len(list(numbers(4))) == 4
    assert cluster.n_asked == 3


def test_a_worker_that_goes_while_it_is_asked(cluster):
    cluster.elsewhere["tcp://worker:1"] = None
    with sending_to(cluster):
        assert list(numbers(4)) == [100, 101, 102, 103]
        assert list(numbers(4)) == [100, 101, 102, 103]
    # The other one was asked again.
    assert cluster.n_asked == 3


@pytest.mark.parametrize("n_stations", [0, 1])
def test_a_worker_that_opens_a_broadcast_of_other_versions(n_stations, monkeypatch):
    """Told where nobody was asked before, also by a broadcast that a scheduler has sent on."""
    with monkeypatch.context() as patch:
        patch.setattr(_sending, "versions", lambda: {"python": "2.7.1", "numpy": "1.0"})
        sent = pickle.dumps(Broadcast(100))
    for _ in range(n_stations):
        sent = pickle.dumps(pickle.loads(sent))
        monkeypatch.setattr(_sending, "_opened", OrderedDict())
    with pytest.raises(WorkersFailedError, match=r"has numpy .* \(the client has 1\.0\)"):
        pickle.loads(sent).content()


# Other clusters -------------------------------------------------------------------------------


def test_nothing_is_asked_of_a_client_that_is_not_there():
    with sending_to(None):
        assert _cluster.dask_client() is None
    assert _cluster.other_versions(None) == []
    assert not _cluster.is_gone(None)
