"""Work on the workers of joblib's context: processes of this machine, and a cluster of Dask."""

from __future__ import annotations

import os
import threading
import time
import warnings
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from clocks import HANGING
from dying import Mortal
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from tiers import SAMPLE, slow_sample, some

from skfairtest import (
    ADFAuditor,
    AequitasAuditor,
    AlternativesSearchCV,
    FairnessRetrainer,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    TestSGDAuditor,
    audit_models,
    make_audit_scorer,
)
from skfairtest.exceptions import EstimatorFailedError, WorkersFailedError
from skfairtest.workers import _sending
from skfairtest.workers._sending import on_workers

#: On a cluster of Dask; the marks stand in the order in which decorators are read.
BACKENDS = [
    pytest.param("loky", marks=SAMPLE),
    pytest.param("dask", marks=pytest.mark.services("distributed")),
]
SEARCHES = [SBFTAuditor, RandomAuditor, SurrogateAuditor, AequitasAuditor, SymbolicAuditor]


class Noted(RegressorMixin, BaseEstimator):
    """A regressor that leaves a file for each process that it predicts in."""

    def __init__(self, folder, scale=1.0):
        self.folder, self.scale = folder, scale

    def fit(self, X, y):
        self.coef_ = np.linalg.lstsq(np.asarray(X, dtype=float), y, rcond=None)[0]
        self.n_features_in_ = self.coef_.shape[0]
        return self

    def predict(self, X):
        open(os.path.join(self.folder, str(os.getpid())), "w").close()
        X = np.asarray(X, dtype=float)
        return self.scale * X @ self.coef_ + (X[:, 0] > 0) * np.maximum(X[:, 2], 0)


class Locked(LinearRegression):
    """Holds what nothing can pickle."""

    def fit(self, X, y):
        self.lock_ = threading.Lock()
        return super().fit(X, y)


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 0], X[:, 1] = rng.integers(0, 2, n), rng.integers(0, 9, n)
    return X, X @ [1.0, 0.2, -1.0, 0.4, 0.3]


def elsewhere(folder):
    """Processes other than this one in which the model predicted."""
    return set(os.listdir(folder)) - {str(os.getpid())}


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as own,
        Client(own) as client,
    ):
        yield client


def assert_same(one, two):
    np.testing.assert_array_equal(one.discriminatory_inputs_, two.discriminatory_inputs_)
    np.testing.assert_array_equal(one.disparities_, two.disparities_)
    columns = ["queries", "inputs", "found", "degree"]
    pd.testing.assert_frame_equal(one.history_[columns], two.history_[columns])
    assert (one.n_found_, one.n_inputs_, one.n_queries_) == (
        two.n_found_, two.n_inputs_, two.n_queries_,
    )  # fmt: skip
    assert one.stop_reason_ == two.stop_reason_


# Restarts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", some(SEARCHES))
def test_restarts_are_the_same_for_any_number_of_workers(cls, tmp_path):
    X, y = table()
    model = Noted(str(tmp_path)).fit(X, y)
    settings = {"sensitive_features": [0], "max_queries": 3001, "n_restarts": 3, "random_state": 0}
    alone = cls(model, **settings).fit(X)
    threads = cls(model, **settings)
    with joblib.parallel_config("threading", n_jobs=3):
        threads.fit(X)
    assert_same(alone, threads)
    assert alone.n_queries_ <= 3001
    assert alone.n_queries_ > 1100 or alone.stop_kind_ != "max_queries"


@slow_sample
def test_restarts_on_processes(tmp_path):
    X, y = table()
    model = Noted(str(tmp_path)).fit(X, y)
    settings = {"sensitive_features": [0], "max_queries": 2000, "n_restarts": 4, "random_state": 0}
    alone = SBFTAuditor(model, **settings).fit(X)
    assert not elsewhere(tmp_path)
    processes = SBFTAuditor(model, n_jobs=2, **settings).fit(X)
    assert elsewhere(tmp_path)
    assert_same(alone, processes)


def test_restarts_are_independent_searches_with_spawned_seeds():
    X, y = table()
    model = LinearRegression().fit(X, y)
    settings = {"sensitive_features": [0]}
    whole = RandomAuditor(
        model, max_queries=1000, n_restarts=2, random_state=np.random.default_rng(5), **settings
    ).fit(X)
    seen = []
    for rng in np.random.default_rng(5).spawn(2):
        part = RandomAuditor(model, max_queries=500, random_state=rng, **settings).fit(X)
        seen.append(part.discriminatory_inputs_)
    joined = np.unique(np.concatenate(seen), axis=0)
    assert whole.n_found_ == len(joined)
    np.testing.assert_array_equal(np.unique(whole.discriminatory_inputs_, axis=0), joined)


def test_what_several_restarts_find_counts_once():
    X = np.array([[a, b] for a in (0, 1) for b in range(6)])
    model = LinearRegression().fit(X, X[:, 0] * 2.0 + X[:, 1])
    auditor = RandomAuditor(
        model, sensitive_features=[0], max_queries=4000, n_restarts=4, random_state=0
    ).fit(X)
    assert auditor.n_inputs_ == auditor.n_found_ == len(auditor.discriminatory_inputs_) == 6
    assert auditor.stop_kind_ == "exhausted"
    assert auditor.history_["found"].max() == 6


def test_a_model_that_fails_in_one_restart_leaves_what_was_found():
    X, y = table()

    class Fails(LinearRegression):
        n = 0

        def predict(self, rows):
            Fails.n += len(rows)
            if Fails.n > 2500:
                raise RuntimeError("out of order")
            return super().predict(rows)

    auditor = RandomAuditor(
        Fails().fit(X, y), sensitive_features=[0], max_queries=4000, n_restarts=4, random_state=0
    )
    with pytest.raises(EstimatorFailedError, match="out of order"):
        auditor.fit(X)
    assert 1900 <= auditor.n_queries_ <= 2600
    assert auditor.n_found_ > 500
    assert auditor.stop_kind_ == "failed"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_restarts": 0}, "n_restarts must be"),
        ({"n_restarts": 2.0}, "n_restarts must be"),
        ({"n_restarts": 20, "max_queries": 30}, "less than a pair"),
    ],
)
def test_restarts_that_cannot_be(params, message):
    X, y = table()
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=message):
        SBFTAuditor(model, sensitive_features=[0], **params).fit(X)


def test_restarts_share_the_time(clock):
    clock.step = 0.005
    X, y = table()
    model = LinearRegression().fit(X, y)
    auditor = RandomAuditor(
        model, sensitive_features=[0], max_queries=None, max_time=0.6, n_restarts=3, random_state=0
    ).fit(X)
    assert auditor.stop_kind_ == "max_time"
    assert auditor.seconds_ < 0.7


# What travels ---------------------------------------------------------------------------------


def twice(content, number):
    return content * number


def test_errors_of_a_task_itself_pass_through(tmp_path):
    with joblib.parallel_config("threading", n_jobs=2):
        results = on_workers(twice, [], [(2,), (None,), (3,)], None)
        assert next(results) == []
        with pytest.raises(TypeError, match="can't multiply"):
            next(results)


def test_tasks_in_order():
    assert list(on_workers(twice, 3, [(k,) for k in range(5)], None)) == [0, 3, 6, 9, 12]


def test_threads_get_the_very_object():
    held = threading.Lock()
    with joblib.parallel_config("threading", n_jobs=2):
        got = list(on_workers(lambda content, k: content, held, [(0,), (1,)], None))
    assert all(one is held for one in got)


@slow_sample
def test_a_model_of_a_main_program_travels():
    X, y = table()

    class Local(LinearRegression):  # plain pickle cannot find it
        pass

    auditor = SBFTAuditor(
        Local().fit(X, y), sensitive_features=[0], max_queries=400, n_restarts=2, n_jobs=2
    )
    assert auditor.fit(X).n_queries_ > 300


def test_a_forest_gives_the_same_in_any_context():
    X, y = table()
    model = RandomForestClassifier(5, random_state=0).fit(X, y > 0)
    settings = {"sensitive_features": [0], "max_queries": 1000, "random_state": 0}
    alone = SBFTAuditor(model, **settings).fit(X)
    with joblib.parallel_config("threading", n_jobs=4):
        threads = SBFTAuditor(model, **settings).fit(X)
    assert_same(alone, threads)


# Inside of others ------------------------------------------------------------------------------


class Placed(LinearRegression):
    """Leaves a file for each process and thread that it predicts in, and for its settings.

    Off the main thread it waits until so many of them have predicted in its process.
    """

    def __init__(self, folder="", fit_intercept=True, warns=False, n_threads=1):
        super().__init__(fit_intercept=fit_intercept)
        self.folder, self.warns, self.n_threads = folder, warns, n_threads

    def predict(self, X):
        where = f"{os.getpid()} {threading.get_ident()} {get_config()['working_memory']}"
        if threading.current_thread() is not threading.main_thread():
            where += " thread"
        open(os.path.join(self.folder, where), "w").close()
        until = time.monotonic() + HANGING
        while where.endswith("thread") and time.monotonic() < until:
            if len(places(self.folder, " thread").get(os.getpid(), ())) >= self.n_threads:
                break
            time.sleep(0.01)
        if self.warns:
            warnings.warn("rather warm here", UserWarning, stacklevel=2)
        return super().predict(X)


def places(folder, ending=""):
    """Processes, and threads of each, in which the model predicted."""
    seen = {}
    for name in os.listdir(folder):
        if name.endswith(ending):
            process, thread, *_ = name.split()
            seen.setdefault(int(process), set()).add(thread)
    return seen


def audits_inside(X, folder, n_threads=1, **params):
    """A search over models, each of which is audited by restarts and on many rows."""
    auditor = RandomAuditor(
        sensitive_features=[0], max_queries=400, n_restarts=3, random_state=0, **params
    )

    def score(model, X, y):
        audited = clone(auditor).set_params(estimator=FrozenEstimator(model)).fit(X)
        return audited.audit_rows(np.tile(X, (30, 1)) + audited.fairness_degree_).degree

    grid = {"fit_intercept": [True, False]}
    return GridSearchCV(
        Placed(str(folder), n_threads=n_threads), grid, scoring=score, cv=2, error_score="raise"
    )


@slow_sample
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_auditor_inside_of_a_search_runs_alone(backend, request, tmp_path):
    X, y = table()
    if backend == "dask":
        cluster = request.getfixturevalue("cluster")
        cluster.wait_for_workers(2, timeout=HANGING)
        before = _n_tasks(cluster)
    with joblib.parallel_config(backend, n_jobs=2):
        audits_inside(X, tmp_path).fit(X, y)
    seen = places(tmp_path)
    assert os.getpid() not in seen
    assert 1 <= len(seen) <= 2
    assert all(len(threads) == 1 for threads in seen.values())
    if backend == "dask":
        # Four fits with a score each; what a task is made of is no task of its own.
        assert (_n_tasks(cluster) - before) / 8 <= 4


@slow_sample
def test_an_auditor_inside_of_a_search_uses_threads_when_asked(tmp_path):
    X, y = table()
    with joblib.parallel_config("loky", n_jobs=2):
        audits_inside(X, tmp_path, n_threads=2, n_jobs=2).fit(X, y)
    seen = places(tmp_path)
    assert len(seen) <= 2
    # Each of the processes that had a task.
    assert min(map(len, places(tmp_path, " thread").values())) >= 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_settings_and_filters_of_warnings_travel(backend, request, tmp_path):
    if backend == "dask":
        request.getfixturevalue("cluster")
    X, y = table()
    model = Placed(str(tmp_path), warns=True).fit(X, y)
    settings = {"sensitive_features": [0], "max_queries": 100, "n_restarts": 2, "random_state": 0}
    auditor = RandomAuditor(model, **settings)
    with (
        joblib.parallel_config(backend, n_jobs=2),
        config_context(working_memory=77),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        auditor.fit(X)
        assert {name.split()[2] for name in os.listdir(tmp_path)} == {"77"}
        assert os.getpid() not in places(tmp_path)
        warnings.filterwarnings("error", message="rather warm")
        with pytest.raises(EstimatorFailedError, match="rather warm"):
            auditor.fit(X)


# Each capability on a cluster -----------------------------------------------------------------


@pytest.mark.services("distributed")
def test_restarts_on_a_cluster(cluster, tmp_path):
    X, y = table()
    model = Noted(str(tmp_path)).fit(X, y)
    settings = {"sensitive_features": [0], "max_queries": 2000, "n_restarts": 4, "random_state": 0}
    alone = SBFTAuditor(model, **settings).fit(X)
    with joblib.parallel_config("dask"):
        there = SBFTAuditor(model, **settings).fit(X)
    assert elsewhere(tmp_path)
    assert_same(alone, there)


@pytest.mark.services("distributed")
def test_rows_on_a_cluster(cluster, tmp_path):
    X, y = table(10_000)
    model = Noted(str(tmp_path)).fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=200, random_state=0).fit(X)
    alone = auditor.audit_rows(X)
    assert not elsewhere(tmp_path)
    with joblib.parallel_config("dask"):
        there = auditor.audit_rows(X)
    assert elsewhere(tmp_path)
    np.testing.assert_array_equal(alone.disparities, there.disparities)


@pytest.mark.services("distributed")
def test_groups_on_a_cluster(cluster, tmp_path):
    X, y = table(1000)
    model = Noted(str(tmp_path)).fit(X, y)
    settings = {"sensitive_features": [0], "error_threshold": 0.02, "random_state": 0}
    alone = TestSGDAuditor(model, **settings).fit(X)
    with joblib.parallel_config("dask"):
        there = TestSGDAuditor(model, **settings).fit(X)
    assert elsewhere(tmp_path)
    pd.testing.assert_frame_equal(alone.rules_, there.rules_)


@pytest.mark.services("distributed")
def test_a_search_with_an_audit_scorer_on_a_cluster(cluster, tmp_path):
    X, y = table()
    scorer = make_audit_scorer(
        RandomAuditor(sensitive_features=[0], max_queries=300, random_state=0)
    )
    grid = {"scale": [1.0, 2.0]}
    alone = GridSearchCV(Noted(str(tmp_path)), grid, scoring=scorer, cv=2).fit(X, y)
    with joblib.parallel_config("dask"):
        there = GridSearchCV(Noted(str(tmp_path)), grid, scoring=scorer, cv=2).fit(X, y)
    assert elsewhere(tmp_path)
    np.testing.assert_array_equal(
        alone.cv_results_["mean_test_score"], there.cv_results_["mean_test_score"]
    )


@pytest.mark.services("distributed")
def test_mitigation_on_a_cluster(cluster):
    X, y = table()
    labels = (y + (X[:, 0] > 0) > 0).astype(int)
    settings = {
        "auditor": RandomAuditor(sensitive_features=[0], max_queries=1000, random_state=0),
        "max_rounds": 1, "random_state": 0,
    }  # fmt: skip
    alone = FairnessRetrainer(LogisticRegression(), **settings).fit(X, labels)
    n_before = _n_tasks(cluster)
    with joblib.parallel_config("dask"):
        there = FairnessRetrainer(LogisticRegression(), **settings).fit(X, labels)
    assert _n_tasks(cluster) > n_before
    np.testing.assert_array_equal(alone.predict_proba(X), there.predict_proba(X))


@pytest.mark.services("distributed")
def test_alternatives_on_a_cluster(cluster):
    X, y = table()
    labels = (y + (X[:, 0] > 0) > 0).astype(int)
    settings = {"disparity": ["impact_ratio", "twins"], "cv": 2, "favourable": 1, "random_state": 0}
    search = AlternativesSearchCV(LogisticRegression(), ["columns", "drop"], **settings)
    alone = clone(search).fit(X, labels, sensitive_features=[0])
    n_before = _n_tasks(cluster)
    with joblib.parallel_config("dask"):
        there = clone(search).fit(X, labels, sensitive_features=[0])
    assert _n_tasks(cluster) > n_before
    pd.testing.assert_frame_equal(alone.alternatives_, there.alternatives_)


def _n_tasks(client):
    """Changes of state of tasks so far."""
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


@slow_sample
def test_white_box_testers_have_restarts_too():
    X, y = table()
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier((8,), max_iter=50, random_state=0).fit(X, y > 0)
    auditor = ADFAuditor(
        model, sensitive_features=[0], max_queries=2000, n_restarts=2, random_state=0
    ).fit(X)
    assert "restarts" in auditor.stop_reason_


@pytest.mark.services("distributed")
def test_several_models_are_audited_on_a_cluster(cluster, tmp_path):
    X, y = table()
    models = {"a": Noted(str(tmp_path)).fit(X, y), "b": Noted(str(tmp_path)).fit(X, -y)}
    settings = {"sensitive_features": [0], "max_time": 60, "random_state": 0, "groups": False,
                "moved": False, "auditor": RandomAuditor(max_queries=500)}  # fmt: skip
    alone = audit_models(models, X, **settings)
    assert not elsewhere(tmp_path)
    with joblib.parallel_config("dask"):
        there = audit_models(models, X, **settings)
    assert elsewhere(tmp_path)
    for name in models:
        assert alone[name].fairness_degree == there[name].fairness_degree
        np.testing.assert_equal(alone[name].on_data_rate, there[name].on_data_rate)


@pytest.mark.parametrize("models", [{}, [LinearRegression()], LinearRegression()])
def test_several_models_have_names(models):
    with pytest.raises(TypeError, match="dict of names"):
        audit_models(models, table()[0])


# Last, as they end the processes that the others use -------------------------------------------


@pytest.mark.parametrize("way", ["restarts", "rows"])
def test_a_model_that_cannot_travel(way):
    X, y = table(9000 if way == "rows" else 300)
    model = Locked().fit(X, y)
    settings = {"n_restarts": 2} if way == "restarts" else {}
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=400, **settings)
    with (
        joblib.parallel_config("loky", n_jobs=2),
        pytest.raises(WorkersFailedError, match="threading"),
    ):
        auditor.fit(X).audit_rows(X)
    with joblib.parallel_config("threading", n_jobs=2):
        auditor.fit(X).audit_rows(X)


@pytest.mark.services
def test_processes_that_are_lost(tmp_path):
    X, y = table()
    model = Mortal(str(tmp_path), kills="each").fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=800, n_restarts=4, n_jobs=2)
    with pytest.raises(WorkersFailedError, match=r"TerminatedWorkerError: .*; 0 of 4 tasks had"):
        auditor.fit(X)


def test_a_search_whose_workers_are_lost_keeps_its_state(monkeypatch):
    X, y = table()
    auditor = RandomAuditor(
        LinearRegression().fit(X, y), sensitive_features=[0], max_queries=800, n_restarts=4,
        random_state=0, n_jobs=2,
    )  # fmt: skip

    def lost(self, jobs):
        done = iter(list(jobs)[:1])
        for function, args, kwargs in done:
            yield function(*args, **kwargs)
        raise TerminatedWorkerError("a worker was killed")

    monkeypatch.setattr(_sending.Parallel, "__call__", lost)
    message = "TerminatedWorkerError: a worker was killed.*1 of 4 tasks"
    with pytest.raises(WorkersFailedError, match=message):
        auditor.fit(X)
    assert auditor.stop_kind_ == "failed"
    assert 150 <= auditor.n_queries_ <= 200
    assert auditor.n_found_ > 0


# A cluster that loses workers, or all of them ---------------------------------------------------


@pytest.fixture(scope="module")
def of_two_threads():
    """A client of two processes of two threads.

    joblib does the tasks of a cluster with a single thread in this process, and where one of these
    processes is lost, there are two threads.
    """
    import dask
    from distributed import Client, LocalCluster

    # By its address: the cluster's own count of workers goes wrong when they die. However long it
    # takes until they are started anew.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": HANGING}),
        LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0"
        ) as own,
        Client(own.scheduler_address, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def whole(of_two_threads):
    """The same with both processes, whatever the test before has done to them."""
    of_two_threads.wait_for_workers(2, timeout=HANGING)
    with of_two_threads.as_current():
        yield of_two_threads


@pytest.mark.services("distributed")
@pytest.mark.parametrize("what", ["restarts", "rows"])
def test_a_worker_that_dies_in_the_middle_changes_nothing(what, whole, tmp_path):
    X, y = table(300 if what == "restarts" else 20_000)
    settings = {"sensitive_features": [0], "max_queries": 800, "n_restarts": 4, "random_state": 0}
    model = Mortal(str(tmp_path), kills="none").fit(X, y)
    auditor = RandomAuditor(model, **settings).fit(X[:300])
    alone = auditor.audit_rows(X)
    model.kills = "first"
    with joblib.parallel_config("dask"):
        if what == "restarts":
            assert_same(RandomAuditor(model, **settings).fit(X), auditor)
        else:
            there = auditor.audit_rows(X)
            np.testing.assert_array_equal(alone.disparities, there.disparities)
    assert (tmp_path / "dead").exists()


@pytest.mark.services("distributed")
def test_a_model_that_kills_every_worker(whole, tmp_path):
    X, y = table()
    auditor = RandomAuditor(
        Mortal(str(tmp_path), kills="each").fit(X, y), sensitive_features=[0], max_queries=800,
        n_restarts=2, random_state=0,
    )  # fmt: skip
    with joblib.parallel_config("dask", wait_for_workers_timeout=HANGING):
        # The scheduler tries a task on four workers; here on one.
        whole.run_on_scheduler(allow, failures=0)
        with pytest.raises(WorkersFailedError, match=r"KilledWorker: .*; 0 of 2 tasks had come in"):
            auditor.fit(X)
    whole.run_on_scheduler(allow, failures=3)
    # Nobody knows of an answer, so there are no results.
    assert not hasattr(auditor, "stop_kind_")


def allow(dask_scheduler, failures):
    """Set how many workers a task may end beyond the first."""
    dask_scheduler.allowed_failures = failures


@pytest.mark.services("distributed")
def test_what_cannot_travel_to_a_cluster(whole):
    X, y = table()
    auditor = RandomAuditor(
        Locked().fit(X, y), sensitive_features=[0], max_queries=800, n_restarts=2
    )
    with (
        joblib.parallel_config("dask"),
        pytest.raises(WorkersFailedError, match="cannot pickle.*0 of 2 tasks.*threading"),
    ):
        auditor.fit(X)


@pytest.mark.services("distributed")
def test_a_cluster_without_workers():
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as own, Client(own):
        for seconds in (0.3, 0):
            with (
                joblib.parallel_config("dask", wait_for_workers_timeout=seconds),
                pytest.raises(WorkersFailedError, match="no worker"),
            ):
                list(on_workers(twice, 1, [(k,) for k in range(4)], None))


class Client:
    """A client of a cluster, as far as the waiting looks at it."""

    def __init__(self, trouble):
        self.futures, self._trouble = {}, trouble

    def ncores(self):
        if self._trouble == "silence":
            raise OSError("Timed out trying to connect")
        error = MemoryError("no room") if self._trouble == "an error" else None
        self.futures["batch_of_x"] = SimpleNamespace(status="error", exception=error)
        return {}


@pytest.mark.parametrize(
    ("trouble", "said"),
    [("an error", "no room"), ("no reason", "A task failed there"), ("silence", "not answered")],
)
def test_waiting_has_an_end(trouble, said, monkeypatch):
    monkeypatch.setattr(_sending, "EVERY", 0.001)
    monkeypatch.setattr(_sending, "LIMIT", 0.01 if trouble == "silence" else HANGING)
    parallel, until = SimpleNamespace(timeout=None), time.monotonic() + HANGING
    with _sending._watched(Client(trouble), parallel) as given_up:
        while parallel.timeout is None and time.monotonic() < until:
            time.sleep(0.001)
    assert parallel.timeout == 1e-6
    assert said in str(given_up[0])
