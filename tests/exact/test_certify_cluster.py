"""Certificates on the workers of a cluster: box by box."""

from __future__ import annotations

import itertools

import joblib
import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tiers import some

from skfairtest import CertifiedAuditor, InputSpace, Order, RandomAuditor
from skfairtest import certify as certify_on
from skfairtest.exact import _all_inputs, _on_cluster
from skfairtest.exact._bracket import Limits
from skfairtest.exact._dispatch import read_family
from skfairtest.exact._trees.family import TreeFamily

SIZES = (3, 4, 5, 4, 3)


def certify(auditor, **params):
    """Boxes are the same for both engines, of which NumPy has nothing to compile."""
    return certify_on(auditor, engine="numpy", **params)


@pytest.fixture
def in_boxes(monkeypatch):
    """No try in one piece, and little time for a box, so that it is cut again."""
    monkeypatch.setattr(_all_inputs, "MOST_INPUTS", 0)
    monkeypatch.setattr(_on_cluster, "IN_ONE_PIECE", 0.0)
    monkeypatch.setattr(_on_cluster, "FIRST_SECONDS", 0.005)
    monkeypatch.setattr(_on_cluster, "N_ROOTS", 6)


@pytest.fixture
def in_boxes_here(in_boxes, monkeypatch):
    """The same in this process, as if it were a cluster; returns how many boxes were sent out."""
    sent = []

    def here(function, broadcast, tasks, n_jobs):
        for task in tasks:
            sent.append(task)
            yield function(broadcast.content(), *task)

    monkeypatch.setattr(_on_cluster, "is_cluster", lambda: True)
    monkeypatch.setattr(_on_cluster, "on_workers", here)
    return sent


def finite_table(seed=0, n=600):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, size, n) for size in SIZES]).astype(float)
    y = X @ rng.normal(size=5) + 2 * (X[:, 0] == 2) * (X[:, 1] > 1) * (X[:, 2] < 3)
    return X, y + rng.normal(size=n)


def true_degree(model, valid=None):
    rows = np.array(list(itertools.product(*map(range, SIZES[1:]))), dtype=float)
    said = []
    for value in range(SIZES[0]):
        own = np.column_stack([np.full(len(rows), value), rows])
        said.append(
            np.where(valid(own), model.predict(own), np.nan) if valid else model.predict(own)
        )
    said = np.array(said)
    said = said[:, ~np.isnan(said).all(axis=0)]
    return float(np.max(np.nanmax(said, axis=0) - np.nanmin(said, axis=0)))


MODELS = {
    "forest": lambda: RandomForestRegressor(10, max_depth=6, random_state=0),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=30, random_state=0),
    "network": lambda: make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(6,), max_iter=400, solver="lbfgs", random_state=0),
    ),
}


def audited(model, X, **params):
    return RandomAuditor(
        model, sensitive_features=[0], max_queries=60, random_state=0, **params
    ).fit(X)


@pytest.mark.parametrize("kind", MODELS)
def test_boxes_bound_the_whole(kind, in_boxes_here):
    X, y = finite_table()
    model = MODELS[kind]().fit(X, y)
    truth = true_degree(model)
    result = certify(audited(model, X), max_time=None, rtol=1e-6)
    assert len(in_boxes_here) > 6
    assert result.fairness_degree <= truth * (1 + 1e-9)
    assert result.fairness_degree_upper_bound >= truth * (1 - 1e-12)
    assert result.certified
    assert result.fairness_degree == pytest.approx(truth, rel=1e-6)


TREES = {
    "forest": lambda: RandomForestRegressor(10, max_depth=6, random_state=0),
    "categories": lambda: HistGradientBoostingRegressor(
        max_iter=10, categorical_features=[1, 2], min_samples_leaf=5, random_state=0
    ),
}


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize("wide", [False, True], ids=["finite", "wide"])
@pytest.mark.parametrize("kind", some(["categories", "forest"]))
def test_parts_of_trees_are_bounded_without_reading_anew(kind, wide, compiled):
    """No input of a part exceeds its bound, and a part takes less than the whole."""
    if compiled:
        pytest.importorskip("numba")
    X, y = finite_table(5)
    rng = np.random.default_rng(7)
    if wide:
        X[:, 3:] += rng.normal(size=(len(X), 2)).round(3)
    model = TREES[kind]().fit(X, y)
    space = InputSpace().fit(X, [0])
    family, _ = read_family(model, space, "regression", compiled, np.random.default_rng(0), 1)
    whole = family.solve(0.0, Limits(np.inf, 0.0))
    less = 0
    for _ in range(12):
        low, high = np.sort(space.domain.draw(2, rng), axis=0)
        low[0], high[0] = 0, SIZES[0] - 1
        part = family.within(low, high).solve(0.0, Limits(np.inf, 0.0))
        rows = np.clip(space.domain.draw(4000, rng), low, high)
        said = [family.evaluate(space.twins_.with_sensitive(rows, np.full((len(rows), 1), value)))
                for value in range(SIZES[0])]  # fmt: skip
        most = float(np.ptp(np.concatenate(said, axis=1), axis=1).max())
        assert most * (1 - 1e-12) <= part.upper <= whole.upper * (1 + 1e-12)
        # A better pair may come from elsewhere, which leaves nothing to look into.
        less += part.upper < 0.99 * whole.upper or part.n_boxes < whole.n_boxes
    assert less >= 6
    # What was narrowed is a copy: the whole is bounded as before.
    again = family.solve(0.0, Limits(np.inf, 0.0))
    assert (again.upper, again.n_boxes) == (whole.upper, whole.n_boxes)


def test_boxes_under_a_constraint(in_boxes_here):
    X, y = finite_table(1)
    X = X[X[:, 1] <= X[:, 3]]
    y = y[: len(X)]
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    truth = true_degree(model, valid=lambda rows: rows[:, 1] <= rows[:, 3])
    auditor = audited(model, X, space=InputSpace(constraint=Order(1, "<=", 3)))
    result = certify(auditor, max_time=None)
    assert len(in_boxes_here) > 2
    assert result.certified
    assert result.fairness_degree == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("kind", MODELS)
def test_an_open_bracket_holds(kind, in_boxes_here, clock):
    """Time ends the search between two rounds, and within one."""
    X, y = finite_table(3)
    model = MODELS[kind]().fit(X, y)
    truth, auditor = true_degree(model), audited(model, X)
    bounds = []
    for seconds in (0.5, 2.0, 20.0):
        clock.step = 0.01
        result = certify(auditor, max_time=seconds)
        assert result.fairness_degree <= truth * (1 + 1e-9)
        assert result.fairness_degree_upper_bound >= truth * (1 - 1e-12)
        bounds.append(result.fairness_degree_upper_bound)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0] or kind == "network"


@pytest.fixture(scope="module")
def cluster():
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as own,
        distributed.Client(own) as client,
    ):
        yield client


def n_transitions(client):
    """Changes of state of tasks so far: none where nothing is sent."""
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


@pytest.mark.services("distributed")
def test_boxes_on_workers_of_a_cluster(in_boxes, cluster):
    X, y = finite_table(4)
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    auditor = audited(model, X)
    alone = certify(auditor, max_time=None)
    before = n_transitions(cluster)
    with joblib.parallel_config("dask"):
        there = certify(auditor, max_time=None)
    assert n_transitions(cluster) > before + 10
    assert alone.certified and there.certified
    assert there.fairness_degree == pytest.approx(alone.fairness_degree, rel=1e-9)


@pytest.mark.services("distributed")
@pytest.mark.parametrize("kind", ["forest", "network"])
def test_a_certified_audit_on_workers_of_a_cluster(kind, in_boxes, cluster):
    X, y = finite_table(4)
    model = MODELS[kind]().fit(X, y)
    settings = {"sensitive_features": [0], "max_queries": 100, "random_state": 0, "rtol": 1e-6}
    settings |= {"engine": "numpy", "max_time": None}
    alone = CertifiedAuditor(model, **settings).fit(X)
    before = n_transitions(cluster)
    with joblib.parallel_config("dask"):
        there = CertifiedAuditor(model, **settings).fit(X)
    assert n_transitions(cluster) > before + 10
    assert alone.certified_ and there.certified_
    truth = true_degree(model)
    for one in (alone, there):
        assert one.fairness_degree_ == pytest.approx(truth, rel=1e-6)
        assert one.fairness_degree_upper_bound_ == pytest.approx(truth, rel=2e-6)


@pytest.mark.services("distributed")
def test_no_threads_of_this_machine_stand_in_for_a_cluster(cluster):
    X, y = finite_table(4)
    model = MODELS["forest"]().fit(X, y)
    space = audited(model, X).space_
    with joblib.parallel_config("dask"):
        assert TreeFamily(model, space, "regression", False, 2).n_workers == 1
    with joblib.parallel_config("threading"):
        assert TreeFamily(model, space, "regression", False, 2).n_workers == 2
