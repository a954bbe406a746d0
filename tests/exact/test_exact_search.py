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
from tiers import SAMPLE, slow_sample, some
from tree_points import value_at

pytest.importorskip("numba")

from verifiers import tree_verifier

from skfairtest import CertifiedAuditor
from skfairtest.exact._trees.best_first import N_SPARE
from skfairtest.exact._trees.driver import CompiledSearch
from skfairtest.exact._trees.line_search import LineSearch
from skfairtest.exact._trees.numpy_engine import ListSearch
from skfairtest.exact._trees.split_choice import heaviest
from skfairtest.exact._verifier import SolverLimits
from skfairtest.space._space import InputSpace


def make_data(seed=0, n=400):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 6, n), rng.normal(size=(n, 4))])
    y = X[:, 0] * (X[:, 2] > 0) + X[:, 3] + (X[:, 1] == 4) + 0.3 * rng.normal(size=n)
    return X, y


def make_problem(**params):
    X, y = make_data()
    model = RandomForestRegressor(20, random_state=0, **params).fit(X, y)
    return tree_verifier(model, InputSpace().fit(X, [0]), "regression", True).problems[0]


def make_search(n_workers=1, **params):
    return CompiledSearch(make_problem(**params), 0.0, n_workers)


def line_searches():
    """Local searches of a sum, and of links of two and of three classes, with and without sets."""
    X, y = make_data()
    cells = np.digitize(y, [0.5, 1.5])
    space = InputSpace().fit(X, [0])
    boosted = HistGradientBoostingClassifier(
        max_iter=5, max_leaf_nodes=6, categorical_features=[0, 1], random_state=0
    )
    for model, target, response in (
        (RandomForestRegressor(5, max_depth=4, random_state=0), y, "regression"),
        (boosted, cells > 0, "predict_proba"),
        (boosted, cells, "predict_proba"),
    ):
        verifier = tree_verifier(model.fit(X, target), space, response, False)
        yield from (LineSearch(problem) for problem in verifier.problems)


def value_of(search, cells):
    """What the twins at some cells differ by."""
    search.point = cells
    box = search.box()
    return value_at(search.problem, box.low, box.words)


def test_values_on_lines_are_those_of_the_trees():
    n_searches = moved = 0
    for search in line_searches():
        for _ in range(2):
            values, lines = search._lines()
            for b in range(0, search.n_walkers, 4):
                assert values[b] == pytest.approx(value_of(search, search.cells[b]), abs=1e-9)
                for copy, (start, size) in enumerate(zip(search.start, search.sizes, strict=False)):
                    assert lines[b, start + size] == -np.inf
                    for cell in {0, int(size) // 2, int(size) - 1}:
                        there = search.cells[b].copy()
                        there[copy] = cell
                        value = value_of(search, there)
                        assert lines[b, start + cell] == pytest.approx(value, abs=1e-9)
                        moved += abs(value - values[b]) > 1e-9
            search.step()
        n_searches += 1
    assert n_searches == 5 and moved > 50


def test_a_walk_goes_up_to_where_no_line_leads_up():
    for search in line_searches():
        before = -np.inf
        for _ in range(30):
            search.step()
            assert search.value >= before
            before = search.value
        assert search.value == pytest.approx(value_of(search, search.point), abs=1e-9)
        tops = search.best_cells[np.isfinite(search.best_values)]
        assert len(tops)
        for top in tops:
            search.cells[:] = top
            values, lines = search._lines()
            assert lines.max() <= values[0] + 1e-9


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
        one.work(SolverLimits(np.inf, 0.0))
    assert one.n_open > 100
    before = sorted(open_boxes(one))
    spare = one.state[N_SPARE] + two.state[N_SPARE]
    one.share(two)
    assert two.n_open > 0 and one.n_open > 0
    assert sorted(open_boxes(one) + open_boxes(two)) == before
    assert one.state[N_SPARE] + two.state[N_SPARE] == spare
    tops = sorted([one.top, two.top], reverse=True)
    assert tops == sorted((box[0] for box in before), reverse=True)[:2]
    for worker in (one, two):  # the heap is one still
        bounds = worker.pool.bound[worker.pool.heap[: worker.n_open]]
        parents = (np.arange(1, len(bounds)) - 1) // 2
        assert (bounds[parents] >= bounds[1:]).all()


@pytest.mark.parametrize("engine", some(["numpy", "compiled"]))
def test_memory_is_given_back_at_once(engine):
    if engine == "compiled":
        search = make_search(n_workers=2)
    else:
        search = ListSearch(make_problem(), 0.0)
    gc.disable()  # which would find circles, but not before another search has taken its own
    try:
        search.run(SolverLimits(np.inf, 0.0))
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
    return tree_verifier(model, InputSpace().fit(X, [0]), "predict_proba", True).problems[0]


@pytest.mark.parametrize("engine", some([ListSearch, CompiledSearch]))
def test_levels_are_cut_where_all_trees_agree_on_a_pair(engine):
    # With cuts at the borders of the best pairs alone it takes some 400 and 700 boxes.
    result = engine(probability_problem(), 0.0).run(SolverLimits(np.inf, 1e-9))
    assert result.reason == "closed"
    assert result.upper == pytest.approx(result.lower, rel=1e-9)
    assert result.n_boxes < 250
