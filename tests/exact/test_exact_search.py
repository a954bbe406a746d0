"""The compiled branch and bound on trees: its primal heuristic, and boxes that workers share."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from tiers import SAMPLE, slow_sample

pytest.importorskip("numba")

from skfairtest import CertifiedAuditor
from skfairtest.exact._trees.driver import CompiledSearch
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.exact._trees.local_search import ascend, best_on_line, value_at
from skfairtest.exact._trees.numpy_engine import ListSearch
from skfairtest.exact._trees.split_choice import heaviest
from skfairtest.space._space import InputSpace


def make_data(seed=0, n=400):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 6, n), rng.normal(size=(n, 4))])
    y = X[:, 0] * (X[:, 2] > 0) + X[:, 3] + (X[:, 1] == 4) + 0.3 * rng.normal(size=n)
    return X, y


def make_search(n_workers=1, **params):
    X, y = make_data()
    model = RandomForestRegressor(20, random_state=0, **params).fit(X, y)
    family = TreeFamily(model, InputSpace().fit(X, [0]), "regression", True)
    return CompiledSearch(family.problems[0], 0.0, n_workers)


def model_of(search):
    return search.problem.forest, search.problem.links


def points(search, n, seed=0):
    """Random pairs of twins on cells."""
    layout = search.problem.layout
    rng = np.random.default_rng(seed)
    words = np.zeros(len(layout.whole.words), dtype=np.uint64)
    for _ in range(n):
        yield rng.integers(layout.whole.high).astype(np.int32), words


@slow_sample
def test_a_line_is_searched_to_its_best_cell():
    search = make_search()
    model, whole = model_of(search), search.problem.layout.whole.high
    random = np.array([7], dtype=np.uint64)
    moved = 0
    for cells, words in points(search, 20):
        for copy in range(len(whole)):
            values = []
            for cell in range(whole[copy]):
                there = cells.copy()
                there[copy] = cell
                values.append(value_at(*model, there, words))
            line = search.heuristic.line
            best = best_on_line(*model, whole, cells, words, copy, random, line)
            assert values[best] == pytest.approx(max(values), abs=1e-9)
            assert not line.steps.any()  # as the next one expects it
            moved += values[best] > values[cells[copy]] + 1e-9
    assert moved > 50


@slow_sample
def test_the_heuristic_stops_where_no_line_leads_up():
    search = make_search()
    model, whole = model_of(search), search.problem.layout.whole.high
    sizes = search.heuristic.sizes
    random = np.array([7], dtype=np.uint64)
    for cells, words in points(search, 5, seed=1):
        before = value_at(*model, cells, words)
        value = ascend(
            search.problem.forest,
            search.problem.links,
            whole,
            sizes,
            cells,
            words,
            random,
            search.heuristic.line,
        )
        assert value == value_at(*model, cells, words) >= before
        for copy in range(len(whole)):
            for cell in range(whole[copy]):
                there = cells.copy()
                there[copy] = cell
                assert value_at(*model, there, words) <= value + 1e-9


@slow_sample
@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(30, random_state=0),
        pytest.param(HistGradientBoostingRegressor(max_iter=30, random_state=0), marks=SAMPLE),
        pytest.param(GradientBoostingClassifier(n_estimators=20, random_state=0), marks=SAMPLE),
    ],
    ids=lambda model: type(model).__name__,
)
def test_threads_give_the_same_certificate(model):
    X, y = make_data()
    model = model.fit(X, y > 1 if hasattr(model, "predict_proba") else y)
    one, two = (
        CertifiedAuditor(
            model, sensitive_features=[0], engine="numba", n_jobs=n_jobs, random_state=0
        ).fit(X)
        for n_jobs in (None, 2)
    )
    assert one.certified_ and two.certified_
    assert two.fairness_degree_ == pytest.approx(one.fairness_degree_, rel=1e-9)
    upper = one.fairness_degree_upper_bound_
    assert two.fairness_degree_upper_bound_ == pytest.approx(upper, rel=1e-9)


def open_boxes(worker):
    """The open boxes of a worker, each as its bound, its box and its best pairs."""
    pool = worker.pool
    places = pool.heap[: worker.n_open]
    return [
        (float(pool.bound[k]), *pool.low[k], *pool.high[k], *pool.one[k], *pool.two[k])
        for k in places
    ]


@slow_sample
def test_boxes_that_change_hands_are_neither_lost_nor_doubled():
    search = make_search(n_workers=2)
    one, two = search.workers
    while 0 < one.n_open <= 100:
        one.most = 8.0
        one.work(0.0)
    assert one.n_open > 100
    before = sorted(open_boxes(one))
    spare = one.state[5] + two.state[5]
    one.share(two)
    assert two.n_open > 0 and one.n_open > 0
    assert sorted(open_boxes(one) + open_boxes(two)) == before
    assert one.state[5] + two.state[5] == spare
    tops = sorted([one.top, two.top], reverse=True)
    assert tops == sorted((box[0] for box in before), reverse=True)[:2]
    for worker in (one, two):  # the heap is one still
        bounds = worker.pool.bound[worker.pool.heap[: worker.n_open]]
        parents = (np.arange(1, len(bounds)) - 1) // 2
        assert (bounds[parents] >= bounds[1:]).all()


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_memory_is_given_back_at_once(engine):
    search = make_search(n_workers=2) if engine == "compiled" else None
    if search is None:
        search = ListSearch(make_search().problem, 0.0)
    gc.disable()  # which would find circles, but not before another search has taken its own
    try:
        search.run(np.inf, 0.0)
        gone = weakref.ref(search)
        del search
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("n", [1, 5, 30, 200])
def test_heaviest_trees(n):
    weights = np.random.default_rng(n).random(100)
    expected = np.argsort(-weights)[:n]
    np.testing.assert_array_equal(heaviest(weights, n), expected)


def probability_problem(seed=1):
    """Twins differ a little where most rows are of one class: what matters is the level."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 5))
    X[:, 0] = rng.integers(0, 2, 1500)
    score = 0.6 * X[:, 0] * (X[:, 1] > 0.5) + 1.5 * np.abs(X[:, 2]) + X[:, 3] * (X[:, 4] > 0)
    y = (rng.random(1500) < 1 / (1 + np.exp(-1.5 - score))).astype(int)
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=12, random_state=0).fit(X, y)
    return TreeFamily(model, InputSpace().fit(X, [0]), "predict_proba", True).problems[0]


@pytest.mark.parametrize("engine", [CompiledSearch, ListSearch])
def test_levels_are_cut_where_all_trees_agree_on_a_pair(engine):
    # With cuts at the borders of the best pairs alone it takes some 400 and 700 boxes.
    bracket = engine(probability_problem(), 0.0).run(np.inf, 1e-9)
    assert bracket.reason == "closed"
    assert bracket.upper == pytest.approx(bracket.lower, rel=1e-9)
    assert bracket.n_boxes < 250
