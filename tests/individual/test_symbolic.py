"""Symbolic generation: paths, negation, the queue, planted pockets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample, some

from skfairtest import InputSpace
from skfairtest.datasets import make_biased_classification, make_biased_regression
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.individual._symbolic.auditor import Queue, SymbolicAuditor
from skfairtest.individual._symbolic.explanations import (
    Predicate,
    Region,
    conjunction,
    solve,
    split_interval,
    tree_path,
)


@pytest.fixture
def space():
    X = np.array([[s, a, a / 2 + 0.25, 10 - a] for s in (0, 1) for a in range(11)])
    X[:, 2] += np.linspace(0, 1e-3, len(X))
    return InputSpace().fit(X, [0])


def grown(space, rule, n=400):
    Z = space.sample(n, np.random.default_rng(0))
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    return tree.fit(Z.astype(np.float32), rule(Z)), Z


def rule(Z):
    return (Z[:, 1] > 4) & (Z[:, 2] > 2) | (Z[:, 3] <= 1)


def test_split_of_whole_numbers_leaves_no_gap(space):
    assert split_interval(4.5, 1, space) == ((0, 4), (5, 10))
    (low, cut), (above, high) = split_interval(2.0, 2, space)
    assert (low, high) == (space.domain.low[2], space.domain.high[2])
    assert cut == 2.0 < above


def test_path_is_the_leaf_of_the_tree(space):
    tree, Z = grown(space, rule)
    leaves = tree.apply(Z.astype(np.float32))
    for i in range(20):
        box = conjunction(space, tree_path(tree.tree_, Z[i], space))
        inside = ((Z >= box.low) & (Z <= box.high))[:, space.non_sensitive].all(axis=1)
        np.testing.assert_array_equal(inside, leaves == leaves[i])


def test_confidences_are_shares_of_the_explanation(space):
    tree, Z = grown(space, rule)
    for t in Z[:20]:
        confidences = [c.confidence for c in tree_path(tree.tree_, t, space)]
        assert all(0 <= c <= 1 for c in confidences)
        assert sum(confidences) <= 1 + 1e-9


def test_negation_is_solved_on_the_other_side(space):
    tree, Z = grown(space, rule)
    rng = np.random.default_rng(1)
    n_solved = 0
    for t in Z[:40]:
        path = tree_path(tree.tree_, t, space)
        for c in path:
            others = [p for p in path if p is not c]
            box = conjunction(space, others).within(c.attribute, c.other_low, c.other_high)
            if (box.low > box.high).any():
                continue
            z = solve(t, box, space, rng)
            n_solved += 1
            assert not c.low <= z[c.attribute] <= c.high
            assert all(p.low <= z[p.attribute] <= p.high for p in others)
            free = [k for k in range(4) if k not in [p.attribute for p in path]]
            np.testing.assert_array_equal(z[free], t[free])
            assert (z == space.domain.clip(z[None])[0]).all()
    assert n_solved > 40


def test_solution_meets_the_constraint():
    X = np.array([[s, a, b] for s in (0, 1) for a in range(6) for b in range(6)])
    space = InputSpace(constraint=lambda rows: rows[:, 1] != 4).fit(X, [0])
    rng = np.random.default_rng(0)
    box = Region(space.domain.low, space.domain.high).within(1, 3, 5)
    t = np.zeros(3)
    values = {solve(t, box, space, rng)[1] for _ in range(50)}
    assert values == {3, 5}
    assert solve(t, box.within(1, 4, 4), space, rng) is None


def test_queue_takes_directed_before_seeds_before_undirected(space):
    seeds = np.arange(8.0).reshape(2, 4)
    queue = Queue(seeds)
    queue.add_undirected(np.full(4, 1.0), 0.4)
    queue.add_undirected(np.full(4, 2.0), 0.9)
    queue.add_directed(np.full(4, 3.0), 0.2)
    queue.add_directed(np.full(4, 4.0), 0.1)
    order = [queue.take(1)[0, 0] for _ in range(6)]
    assert order == [4, 3, 0, 4, 2, 1]
    assert queue.take(1).shape == (0, 4)


def test_a_path_constraint_is_queued_once(space):
    queue = Queue(np.zeros((0, 4)))
    box = Region(space.domain.low, space.domain.high).within(1, 0, 3)
    assert queue.visit(box, space)
    assert not queue.visit(box, space)
    # The sensitive columns do not make it another one, and an empty interval has no solution.
    assert not queue.visit(box.within(0, 1, 1), space)
    assert not queue.visit(box.within(1, 4, 10), space)


def path_of(*confidences):
    return [Predicate(k, 0, 3, 4, 5, c) for k, c in enumerate(confidences)]


def test_directed_search_negates_weak_conditions_and_undirected_strong_ones(space):
    auditor = SymbolicAuditor()
    queue, rng = Queue(np.zeros((0, 4))), np.random.default_rng(0)
    t = np.array([0.0, 3, 3, 3])
    path = path_of(0.05, 0.5, 0.1, 0.25)  # the first is on the sensitive column
    auditor._directed(t, path, queue, space, rng)
    assert len(queue.directed) == 1
    assert 4 <= queue.directed[0][2][2] <= 5
    auditor._undirected(t, path, queue, space, rng)
    # 0.5 is negated; the search stops at 0.1.
    assert [z[1] > 3 for _, _, z in queue.undirected] == [True]
    assert queue.undirected[0][0] == -0.5


@pytest.mark.parametrize("batch_size", some([64, 1]))
def test_a_tree_is_explained_and_searched(models, batch_size):
    def discriminates(X):
        return ((X[:, 1] > 40) & (X[:, 2] > 40) & (X[:, 0] == 1)).astype(float)

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.integers(0, 51, (300, 2))])
    model = models.Proba(discriminates)
    params = {"sensitive_features": [0], "max_queries": 3000, "random_state": 0}
    auditor = SymbolicAuditor(model, batch_size=batch_size, **params).fit(X)
    assert auditor.n_queries_ == model.rows <= 3000
    assert auditor.n_found_ > 0
    assert (auditor.discriminatory_inputs_[:, 1:] > 40).all()


def planted():
    """Makers and seeds: in the default tier one of each, in the sample of CI one more."""
    for make in (make_biased_classification, make_biased_regression):
        for seed in range(5):
            first = make is make_biased_classification and seed == 0
            name = "sample " * (seed == 1) + f"{make.__name__} {seed}"
            yield pytest.param(make, seed, id=name, marks=[] if first else [pytest.mark.slow])


@slow_sample
@pytest.mark.parametrize("make, seed", list(planted()))
def test_finds_the_planted_pocket(make, seed):
    data = make(random_state=seed)
    threshold = 5.0 if make is make_biased_regression else None
    params = {"threshold": threshold, "random_state": seed, "max_queries": 10_000}
    auditor = SymbolicAuditor(data.estimator, **params).fit(data.data)
    assert auditor.n_queries_ <= 10_000
    assert auditor.n_found_ >= 40
    assert auditor.fairness_degree_ >= 0.6 * data.fairness_degree


@slow_sample
def test_many_combinations_and_mixed_columns():
    data = make_biased_classification(variant="many-valued", random_state=0)
    auditor = SymbolicAuditor(
        data.estimator, sensitive_features=data.sensitive_features, max_queries=1000, random_state=0
    ).fit(data.data)
    assert auditor.fairness_degree_ > 0
    assert auditor.n_queries_ <= 1000


def test_labels_alone(models, small):
    model = models.LabelsOnly(lambda X: ((X[:, 1] > 2) & (X[:, 0] == 1)).astype(int))
    auditor = SymbolicAuditor(model, sensitive_features=[0], max_queries=2000, random_state=0)
    auditor.fit(small)
    assert auditor.n_found_ == 8
    assert auditor.n_queries_ == model.rows


BAD = {
    "t1": (1.5, "t1 must be a number in .0, 1.; got 1.5"),
    "t2": ("low", "t2.*got 'low'"),
    "n_neighbours": (1, "n_neighbours.*at least 2"),
    "max_depth": (None, "max_depth.*whole number.*got None"),
    "batch_size": (2.5, "batch_size.*whole number.*2.5"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters(name, models, small):
    value, message = BAD[name]
    model = models.Regressor(lambda X: X[:, 0])
    with pytest.raises(ValueError, match=message):
        SymbolicAuditor(model, sensitive_features=[0], **{name: value}).fit(small)
    assert model.calls == 0


def test_fewer_rows_than_clusters(models, small):
    model = models.Regressor(lambda X: X[:, 0])
    with pytest.raises(ValueError, match="4 clusters.*at least as many.*n_samples=3"):
        SymbolicAuditor(model, sensitive_features=[0]).fit(
            np.array([[0.0, 1, 2], [1, 2, 1], [0, 2, 2]])
        )
    assert model.calls == 0


def test_probabilities_that_do_not_add_up(models, small):
    model = models.Proba(lambda X: np.column_stack([0.5 + 0 * X[:, 0], 0.6 + 0.1 * X[:, 0]]))
    with pytest.raises(EstimatorFailedError, match=r"add up to 1 in each row; got \[0.5, 0.[67]"):
        SymbolicAuditor(model, sensitive_features=[0]).fit(small)
    assert model.rows < 100
