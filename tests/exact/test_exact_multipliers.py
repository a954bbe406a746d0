"""Multipliers: no bound of a box is below what its points show, and they are kept and released."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from certify_cases import certified, exhaustive_degree
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tiers import SAMPLE, slow_sample
from tree_points import value_at

pytest.importorskip("numba")


from verifiers import tree_verifier

from skfairtest.exact import _all_inputs
from skfairtest.exact._trees import driver
from skfairtest.exact._trees.best_first import OPENED
from skfairtest.exact._trees.driver import CompiledSearch
from skfairtest.exact._trees.leaf_pairs import ask_tree, node_boxes_of
from skfairtest.exact._trees.link_bounds import bound_of_sums, join_classes
from skfairtest.exact._trees.listed_nodes import MOST_LEAVES, MOST_NODES, summands_of
from skfairtest.exact._trees.multipliers import (
    bound_by_multipliers,
    copy_multipliers,
    dual_for,
    keep_multipliers,
    multipliers_memory,
    propose_by_multipliers,
    release_multipliers,
)
from skfairtest.exact._trees.split_choice import CELL, ORDERED, PLACE, SCORE
from skfairtest.exact._trees.tree_search import SETTINGS
from skfairtest.exact._verifier import SolverLimits
from skfairtest.space._space import InputSpace

MODELS = {
    "forest": lambda seed: RandomForestClassifier(30, random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(30, random_state=seed),
    "regressor": lambda seed: RandomForestRegressor(20, random_state=seed),
    "small regressor": lambda seed: RandomForestRegressor(9, max_depth=3, random_state=seed),
    "three classes": lambda seed: GradientBoostingClassifier(n_estimators=9, random_state=seed),
}


def make_table(seed, n=400):
    """A table with few inputs: ordered columns, a category, a sensitive column of three values."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "s": rng.integers(0, 3, n),
            "a": rng.integers(0, 6, n),
            "b": rng.integers(0, 5, n),
            "c": rng.integers(0, 4, n),
        }
    )
    y = X["a"] * (X["s"] > 0) - X["b"] * (X["s"] == 2) + X["c"] + 2 * rng.normal(size=n)
    return X, y.to_numpy()


def make_problem(name, seed):
    X, y = make_table(seed)
    model = MODELS[name](seed)
    classes = hasattr(model, "predict_proba")
    shares = [1 / 3, 2 / 3] if name == "three classes" else [0.5]
    model.fit(X, np.searchsorted(np.quantile(y, shares), y) if classes else y)
    response = "predict_proba" if classes else "regression"
    return tree_verifier(model, InputSpace().fit(X, ["s"]), response, True).problems[0]


def random_box(whole, rng):
    """A part of the domain: a random range of cells of each copy."""
    bounds = np.sort(
        np.stack([rng.integers(0, whole.high + 1), rng.integers(0, whole.high + 1)]), 0
    )
    low, high = bounds.astype(np.int32)
    full = low == high
    low[full], high[full] = 0, whole.high[full]
    return low, high, whole.words.copy()


def largest_value(problem, low, high, words):
    """The largest difference over all points of a box."""
    ranges = [range(a, b) for a, b in zip(low, high, strict=True)]
    return max(
        value_at(problem, np.array(cells, dtype=np.int32), words) for cells in product(*ranges)
    )


class Dual:
    """The bound of boxes of a problem by multipliers."""

    def __init__(self, problem):
        self.problem, self.boxes = problem, node_boxes_of(problem)
        forest, thresholds = problem.forest, self.boxes.thresholds
        self.pairs = driver._product_trees(forest, SETTINGS.node_bytes // 4)
        layout, links = problem.layout, problem.links
        n_cells = np.concatenate([layout.whole.high, layout.set_sizes()])
        self.summands = summands_of(links, thresholds, len(n_cells))
        self.dual = dual_for(forest, self.summands, n_cells, len(links.base))
        self.kept = multipliers_memory(len(self.summands.cut), 1000, SETTINGS.multiplier_bytes)

    def bound(self, box, place=-1, enough=-np.inf):
        """Bound a box, beginning with the multipliers at a place; also by each tree for itself."""
        forest, links = self.problem.forest, self.problem.links
        waiting = np.empty(1000, dtype=np.int64)
        own = np.array(
            [
                ask_tree(forest, self.pairs, self.boxes, np.int64(t), *box, np.inf, waiting)[0]
                for t in range(len(forest.roots))
            ]
        )
        before = np.bincount(links.part, own, len(links.base))
        join_classes(links, before)
        best = before.copy()
        self.n_constraints = bound_by_multipliers(
            forest, self.pairs, self.boxes, self.dual, self.kept, np.int64(place), own,
            *box, best, enough,
        )  # fmt: skip
        # Sums that may lie anywhere: what counts is how far they differ.
        bounds = np.full(len(best), 100.0), np.full(len(best), -100.0)
        return bound_of_sums(links, best, *bounds), bound_of_sums(links, before, *bounds)

    def keep(self):
        """Keep the multipliers of the box that was bounded last."""
        return keep_multipliers(self.kept, self.dual.constraints, self.n_constraints)


@slow_sample
@pytest.mark.parametrize("name", MODELS)
def test_no_bound_is_below_a_point_of_the_box(name):
    lower = 0
    for seed in range(3):
        problem, rng = make_problem(name, seed), np.random.default_rng(seed)
        tightened, place = Dual(problem), -1
        for _ in range(4):
            box = random_box(problem.layout.whole, rng)
            largest = largest_value(problem, *box)
            # Whatever the multipliers are, those of another box among them, the bound holds.
            for begins in (-1, place):
                bound, plain = tightened.bound(box, begins)
                assert largest <= bound + 1e-9
                assert bound <= plain + 1e-9
                lower += bound < plain - 1e-9
            place = tightened.keep()
    assert lower > 0  # multipliers are good for something


@slow_sample
def test_prices_end_where_the_bound_is_low_enough():
    problem, rng = make_problem("regressor", 0), np.random.default_rng(0)
    tightened = Dual(problem)
    box = random_box(problem.layout.whole, rng)
    while np.ptp(tightened.bound(box)) == 0:
        box = random_box(problem.layout.whole, rng)
    best, plain = tightened.bound(box)
    weight = abs(problem.links.weight[0])
    between = (best + plain) / 2
    bound, _ = tightened.bound(box, enough=between / weight)
    assert best <= bound <= between + 1e-9


@slow_sample
@pytest.mark.parametrize("name", ["forest", "regressor"])
def test_parts_of_a_box_begin_with_its_bound(name):
    problem = make_problem(name, 0)
    tightened, (low, high, words) = Dual(problem), problem.layout.whole
    bound, _ = tightened.bound((low, high, words))
    place = tightened.keep()
    for c in np.flatnonzero(high - low > 1):
        for constraint in range(2):
            bounds = low.copy(), high.copy()
            bounds[1 - constraint][c] = (low[c] + high[c]) // 2
            part, _ = tightened.bound((*bounds, words), place)
            assert part <= bound * 1.02 + 1e-9


@slow_sample
def test_few_nodes_stand_for_a_tree():
    tightened = Dual(make_problem("forest", 1))
    tightened.bound(tightened.problem.layout.whole)
    listed = tightened.dual.listed
    numbers = np.diff(listed.start)
    assert 0 < numbers.max() <= MOST_NODES < MOST_LEAVES
    assert (listed.value[: listed.start[-1]] > 0).all()
    assert (listed.n_constraints[: listed.start[-1]] > 0).all()


@slow_sample
def test_a_cut_parts_the_box():
    for seed in range(5):
        problem = make_problem("forest", seed)
        low, high, words = random_box(problem.layout.whole, np.random.default_rng(seed))
        tightened, cut = Dual(problem), np.zeros(4)
        tightened.bound((low, high, words))
        propose_by_multipliers(
            problem.forest,
            tightened.dual,
            tightened.n_constraints,
            low,
            high,
            words,
            words.copy(),
            cut,
        )
        if cut[SCORE] > 0:
            assert cut[ORDERED] == 1
            assert low[int(cut[PLACE])] < cut[CELL] < high[int(cut[PLACE])]


@slow_sample
def test_prices_are_kept_while_a_box_needs_them():
    problem = make_problem("small regressor", 0)
    tightened = Dual(problem)
    tightened.bound(problem.layout.whole)
    kept, others = (
        tightened.kept,
        multipliers_memory(len(tightened.summands.cut), 1000, SETTINGS.multiplier_bytes),
    )
    n_spare, others.n_spare[0] = kept.n_spare[0], 1
    place = tightened.keep()
    kept.n_boxes[place] += 1
    release_multipliers(kept, place)
    assert kept.n_spare[0] == n_spare - 1
    copy, n = copy_multipliers(kept, place, others), kept.n[place]
    assert others.n[copy] == n > 0
    np.testing.assert_array_equal(others.which[copy, :n], kept.which[place, :n])
    np.testing.assert_array_equal(others.multiplier[copy, :n], kept.multiplier[place, :n])
    assert copy_multipliers(kept, place, others) == -1  # there is no more workspace
    release_multipliers(kept, place)
    release_multipliers(kept, -1)
    assert kept.n_spare[0] == n_spare


@slow_sample
def test_boxes_are_priced_where_cuts_alone_take_longer(monkeypatch):
    X, y = make_classification(600, 12, n_informative=8, random_state=0)
    X[:, 0] = X[:, 0] > 0
    shares = []
    for make in (RandomForestClassifier, GradientBoostingClassifier):
        model = make(random_state=0).fit(X, y)
        problem = tree_verifier(model, InputSpace().fit(X, [0]), "predict_proba", True).problems[0]
        worker, tightened = driver.Worker(problem, node_boxes_of(problem), 0.0, 1), []
        tighten_top = worker.tighten_top
        monkeypatch.setattr(
            worker, "tighten_top", lambda r, p=tighten_top, n=tightened: n.append(p(r))
        )
        worker.begin(problem.layout.whole)
        while worker.n_open and worker.state[OPENED] < 3000:
            worker.work(SolverLimits(np.inf, 1e-9))
        shares.append(len(tightened) / worker.state[OPENED])
    assert shares[0] > 0.3 > 0.1 > shares[1]


@pytest.fixture
def without_whole_domains(monkeypatch):
    """Look at no domain as a whole, so that boxes are searched."""
    monkeypatch.setattr(_all_inputs, "MOST_INPUTS", 0)


CERTIFIED = {
    **MODELS,
    "boosting": lambda seed: GradientBoostingClassifier(n_estimators=20, random_state=seed),
    "histograms": lambda seed: HistGradientBoostingClassifier(max_iter=15, random_state=seed),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("seed", [pytest.param(0, marks=SAMPLE), 1, 2, 3])
@pytest.mark.parametrize("name", CERTIFIED)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificates_are_those_of_all_inputs(without_whole_domains, name, seed, n_classes, n_jobs):
    X, y = make_table(seed)
    if seed % 2:
        X["c"] = X["c"].astype(str).astype("category")
        X["c"] = X["c"].cat.codes if name != "histograms" else X["c"]
    model = CERTIFIED[name](seed)
    if hasattr(model, "predict_proba"):
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    auditor = certified(model.fit(X, y), X, engine="numba", n_jobs=n_jobs, max_time=20)
    degree = exhaustive_degree(auditor)
    assert degree <= auditor.fairness_degree_upper_bound_ * (1 + 1e-9)
    assert auditor.fairness_degree_ <= degree * (1 + 1e-9)
    assert auditor.certified_


@slow_sample
@pytest.mark.parametrize("seed", [2, 6, 7])
def test_no_cut_leaves_a_part_without_cells(without_whole_domains, seed):
    rng, n = np.random.default_rng(seed), 300
    sizes = {"s": 2, "a": 7, "b": 6, "c": 5}
    X = pd.DataFrame({name: rng.integers(0, size, n) for name, size in sizes.items()}).astype(float)
    y = X["a"] * X["s"] - X["b"] * X["s"] + X["c"] + 2 * rng.normal(size=n)
    X["b"] = X["b"].where(rng.random(n) > 0.1)
    model = RandomForestRegressor(15, random_state=seed).fit(X, y)
    auditor = certified(model, X, engine="numba", max_time=20)
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(exhaustive_degree(auditor))


@slow_sample
def test_workers_hand_over_boxes_with_their_prices(without_whole_domains):
    X, y = make_table(3)
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    verifier = tree_verifier(model, InputSpace().fit(X, ["s"]), "regression", True)
    search = CompiledSearch(verifier.problems[0], 0.0, 2)
    one, two = search.workers
    one.most = 60.0
    one.work(SolverLimits(np.inf, 0.0))
    kept = one.workspace.multipliers.n_boxes.sum()
    upper = max(one.top, two.top)
    one.hand_over(two)
    assert two.n_open > 0
    assert max(one.top, two.top) == upper
    assert (
        one.workspace.multipliers.n_boxes.sum() + two.workspace.multipliers.n_boxes.sum()
        == kept
        > 0
    )
