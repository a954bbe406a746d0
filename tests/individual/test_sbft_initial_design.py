"""The initial design of SBFT's search: few queries, and the model that chooses among children."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tiers import slow_sample

from skfairtest import InputSpace, RandomAuditor, SBFTAuditor
from skfairtest.individual._sbft.difference import DifferenceModel


def table(n_columns, n_values, seed=0, n_rows=400):
    """Numbers, and a sensitive column of so many values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] = rng.integers(0, n_values, n_rows)
    return X


def additive(X):
    """An effect of the sensitive column that ten others enlarge, and many do not."""
    return X[:, 0] * np.tanh(2 * X[:, 1:11]).sum(axis=1) + X[:, 11:].sum(axis=1)


def of_pairs(n_values):
    """Random pairs of inputs, what an additive model says of them, and a space."""
    X = table(15, n_values)
    space = InputSpace().fit(X, [0])
    rng = np.random.default_rng(1)
    pairs = space.twins_.draw_sensitive_pairs(len(X), rng)
    first, second = (space.twins_.with_sensitive(X, pairs[:, side]) for side in (0, 1))
    return space, X, pairs, additive(first) - additive(second)


@pytest.mark.parametrize("n_values", [2, 6])
def test_the_model_learns_a_sum_of_main_effects(n_values):
    space, X, pairs, differences = of_pairs(n_values)
    model = DifferenceModel(space, X)
    for batch in np.array_split(np.arange(300), 5):
        model.learn(X[batch], pairs[batch], differences[batch])
    hoped = model.hoped_for(X[300:], pairs[300:])
    assert np.corrcoef(hoped, np.abs(differences[300:]))[0, 1] > 0.9
    # Columns that matter have the larger variances.
    assert np.argsort(model.variances)[-10:].max() < 10


def test_a_difference_changes_its_sign_with_the_twins_places():
    space, X, pairs, differences = of_pairs(6)
    one, other = (DifferenceModel(space, X) for _ in range(2))
    one.learn(X[:100], pairs[:100], differences[:100])
    other.learn(X[:100], pairs[:100, ::-1], -differences[:100])
    np.testing.assert_allclose(
        one.hoped_for(X[100:], pairs[100:]), other.hoped_for(X[100:], pairs[100:, ::-1])
    )


@pytest.mark.parametrize("size", [0.0, 1e-310, 1e-5, 1e300])
def test_the_model_takes_differences_of_any_size(size):
    space, X, pairs, differences = of_pairs(2)
    model = DifferenceModel(space, X)
    model.learn(X[:50], pairs[:50], differences[:50] * size)
    hoped = model.hoped_for(X[50:], pairs[50:])
    assert np.isfinite(hoped).all()
    assert (hoped.max() > 0) == (size > 0)


def test_an_input_without_columns_to_change_ends_the_initial_design(models):
    X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    found = SBFTAuditor(
        models.Regressor(lambda X: X[:, 0] * 2.0), sensitive_features=[0], max_queries=500,
        random_state=0,
    ).fit(X)  # fmt: skip
    assert found.fairness_degree_ == 4.0


@pytest.mark.parametrize("budget", [2, 3, 10, 50, 96, 97])
def test_budgets_smaller_than_the_first_batch_are_kept(models, budget):
    found = SBFTAuditor(
        models.Regressor(additive), sensitive_features=[0], max_queries=budget, random_state=0
    ).fit(table(15, 2))
    assert 2 <= found.n_queries_ <= budget
    assert found.fairness_degree_ > 0
    assert found.degree_estimate_ == (found.fairness_degree_, np.inf)


def test_a_small_budget_is_the_beginning_of_a_larger_one(models):
    few, more = (
        SBFTAuditor(
            models.Regressor(additive), sensitive_features=[0], max_queries=n, random_state=0
        ).fit(table(15, 4)).history_
        for n in (400, 1500)
    )  # fmt: skip
    columns = ["queries", "inputs", "degree"]
    # The first and the last batch are cut by the budget, so that pairs can be asked again.
    pd.testing.assert_frame_equal(few[columns][1:-3], more[columns][1 : len(few) - 3])


@slow_sample
@pytest.mark.parametrize("n_values", [2, 6])
def test_with_300_queries_it_is_ahead_of_random_inputs(models, n_values):
    shares = {SBFTAuditor: [], RandomAuditor: []}
    X = table(30, n_values)
    ends = np.where(np.arange(30) < 11, X.max(axis=0), 0.0)[None]
    degree = (n_values - 1) * np.tanh(2 * ends[:, 1:11]).sum()
    for kind, own in shares.items():
        for seed in range(5):
            found = kind(
                models.Regressor(additive), sensitive_features=[0], max_queries=300,
                random_state=seed,
            ).fit(X)  # fmt: skip
            own.append(found.fairness_degree_ / degree)
    # It misses less than half of what random inputs miss.
    missed = {kind: 1 - np.mean(own) for kind, own in shares.items()}
    assert missed[SBFTAuditor] < 0.5 * missed[RandomAuditor]
