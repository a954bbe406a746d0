"""Merged trees: no bound of a box is below what its points show, and groups are kept and left."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from certify_cases import certified, exhaustive_degree
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tiers import SAMPLE

pytest.importorskip("numba")

from skfairtest.exact import _all_inputs
from skfairtest.exact._trees import box_merging, driver
from skfairtest.exact._trees.driver import CompiledSearch
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.exact._trees.leaf_pairs import ask_tree
from skfairtest.exact._trees.list_cuts import cuts_for, propose_by_lists
from skfairtest.exact._trees.local_search import value_at
from skfairtest.exact._trees.merged_trees import (
    MOST_LEAVES,
    copy_groups,
    groups_for,
    keep_groups,
    leave_groups,
    leaves_and_merging,
    merge_trees,
    most_of,
)
from skfairtest.exact._trees.split_choice import CELL, ORDERED, PLACE
from skfairtest.space._space import InputSpace

MODELS = {
    "forest": lambda seed: RandomForestClassifier(30, random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(30, random_state=seed),
    "regressor": lambda seed: RandomForestRegressor(20, random_state=seed),
    "small regressor": lambda seed: RandomForestRegressor(9, max_depth=3, random_state=seed),
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
    model.fit(X, y > np.median(y) if classes else y)
    response = "predict_proba" if classes else "regression"
    return TreeFamily(model, InputSpace().fit(X, ["s"]), response, True).problems[0]


def random_box(whole, rng):
    """A part of the domain: a random range of cells of each copy."""
    ends = np.sort(np.stack([rng.integers(0, whole.high + 1), rng.integers(0, whole.high + 1)]), 0)
    low, high = ends.astype(np.int32)
    full = low == high
    low[full], high[full] = 0, whole.high[full]
    return low, high, whole.words.copy()


def largest_value(problem, low, high, words):
    """The largest difference over all points of a box."""
    ranges = [range(a, b) for a, b in zip(low, high, strict=True)]
    return max(
        value_at(problem.forest, problem.links, np.array(cells, dtype=np.int32), words)
        for cells in product(*ranges)
    )


class Box:
    """The trees of a problem in a box, merged until its bound is at most a value."""

    def __init__(self, problem, box, value=-np.inf):
        forest, links = problem.forest, problem.links
        n_trees = len(forest.roots)
        boxes, pairs = driver.node_boxes_of(problem), driver._product_trees(forest, 4)
        waiting = np.empty(1000, dtype=np.int64)
        best = [
            ask_tree(forest, pairs, boxes, np.int64(t), *box, np.inf, waiting)[0]
            for t in range(n_trees)
        ]
        self.differences = np.array(best)
        self.leaves, self.merging = leaves_and_merging(n_trees, len(box[0]), len(box[2]))
        self.n_lists, self.n_short = merge_trees(
            forest, pairs, links, boxes, self.leaves, self.merging, self.differences, *box, value
        )
        self.alive = [i for i in range(self.n_lists) if self.merging.alive[i]]
        listed = self.merging.tree[: self.n_lists]
        rest = np.delete(self.differences, listed).sum()
        weight = abs(links.weight[0])
        merged = sum(most_of(self.leaves, i) for i in self.alive)
        self.plain = weight * self.differences.sum()
        self.bound = weight * (rest + merged)


@pytest.mark.parametrize("name", MODELS)
def test_no_bound_is_below_a_point_of_the_box(name):
    lower = 0
    for seed in range(3):
        problem, rng = make_problem(name, seed), np.random.default_rng(seed)
        for _ in range(4):
            box = random_box(problem.layout.whole, rng)
            merged = Box(problem, box)
            largest = largest_value(problem, *box)
            assert largest <= merged.bound + 1e-9
            assert merged.bound <= merged.plain + 1e-9
            lower += merged.bound < merged.plain - 1e-9
    assert lower > 0  # merging is good for something


def test_merging_ends_where_the_bound_is_low_enough():
    problem, rng = make_problem("regressor", 0), np.random.default_rng(0)
    box = random_box(problem.layout.whole, rng)
    while len((all_merged := Box(problem, box)).alive) == all_merged.n_lists:
        box = random_box(problem.layout.whole, rng)
    between = (all_merged.bound + all_merged.plain) / 2
    some_merged = Box(problem, box, between)
    assert all_merged.bound <= some_merged.bound <= between + 1e-9
    assert len(some_merged.alive) > len(all_merged.alive)


def test_a_list_that_is_cut_short_counts_what_it_leaves_out():
    problem = make_problem("forest", 1)
    whole = problem.layout.whole
    merged = Box(problem, whole, np.inf)  # nothing is merged
    assert merged.n_short > 0
    for i in range(merged.n_lists):
        n = merged.leaves.n_leaves[i]
        values = merged.leaves.value[i, :n]
        assert (np.diff(values) <= 0).all()
        assert values[0] == pytest.approx(merged.differences[merged.merging.tree[i]])
        assert n == MOST_LEAVES or merged.leaves.rest[i] == 0
        assert merged.leaves.rest[i] <= values[-1]


def test_a_cut_parts_the_box():
    cuts = cuts_for()
    for seed in range(5):
        problem = make_problem("forest", seed)
        low, high, words = random_box(problem.layout.whole, np.random.default_rng(seed))
        merged, cut, chosen = Box(problem, (low, high, words)), np.empty(4), words.copy()
        found = propose_by_lists(
            merged.leaves, merged.merging.alive, merged.n_lists, cuts, problem.forest.word_start,
            low, high, words, chosen, cut,
        )  # fmt: skip
        if found and cut[ORDERED]:
            assert low[int(cut[PLACE])] < cut[CELL] < high[int(cut[PLACE])]


def test_groups_are_kept_while_a_box_needs_them():
    problem = make_problem("small regressor", 0)
    merged = Box(problem, problem.layout.whole)
    n_trees = len(problem.forest.roots)
    groups, others = groups_for(n_trees, 3), groups_for(n_trees, 1)
    place = keep_groups(groups, merged.leaves, merged.merging, merged.n_lists)
    groups.n_boxes[place] += 1
    leave_groups(groups, place)
    assert groups.n_spare[0] == 2
    copy = copy_groups(groups, place, others)
    np.testing.assert_array_equal(others.first[copy], groups.first[place])
    np.testing.assert_array_equal(others.most[copy], groups.most[place])
    assert copy_groups(groups, place, others) == -1  # there is no more room
    leave_groups(groups, place)
    leave_groups(groups, -1)
    assert groups.n_spare[0] == 3


@pytest.fixture
def merging_at_once(monkeypatch):
    """Merge the trees of the first box already, and look at no domain as a whole."""
    monkeypatch.setattr(box_merging, "FIRST_WAIT", 0.0)
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
def test_certificates_are_those_of_all_inputs(merging_at_once, name, seed, n_classes, n_jobs):
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


def test_workers_hand_over_boxes_with_their_groups(merging_at_once):
    X, y = make_table(3)
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    family = TreeFamily(model, InputSpace().fit(X, ["s"]), "regression", True)
    search = CompiledSearch(family.problems[0], 0.0, 2)
    one, two = search.workers
    one.most = 60.0
    one.merge()
    one.work(0.0)
    kept = one.room.groups.n_boxes.sum()
    upper = max(one.top, two.top)
    one.hand_over(two)
    assert two.n_open > 0
    assert max(one.top, two.top) == upper
    assert one.room.groups.n_boxes.sum() + two.room.groups.n_boxes.sum() == kept > 0
