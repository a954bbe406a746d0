"""The surrogate of SBFT's search, which chooses among children, and searches with few queries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tiers import slow_sample

from skfairtest import InputSpace, RandomAuditor, SBFTAuditor
from skfairtest.individual._sbft.difference import DifferenceModel
from skfairtest.individual._sbft.population import Evaluated


def table(n_columns, n_values, seed=0, n_rows=400):
    """Numbers, and a sensitive column of so many values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] = rng.integers(0, n_values, n_rows)
    return X


def additive(X):
    """An effect of the sensitive column that ten others enlarge, and many do not."""
    return X[:, 0] * np.tanh(2 * X[:, 1:11]).sum(axis=1) + X[:, 11:].sum(axis=1)


def of_pairs(n_values, link=lambda outputs: outputs):
    """Random inputs with pairs, what an additive model says of them, and their space."""
    X = table(15, n_values)
    space = InputSpace().fit(X, [0])
    pairs = space.twins_.draw_sensitive_pairs(len(X), np.random.default_rng(1))
    outputs = np.stack(
        [link(additive(space.twins_.with_sensitive(X, pairs[:, side]))) for side in (0, 1)], axis=1
    )
    return space, Evaluated(X, pairs, outputs[:, 0] - outputs[:, 1], outputs)


def surrogate(space, judged, most=400, *, probabilities=False):
    rng = np.random.default_rng(0)
    return DifferenceModel(space, judged.Z, most, rng, probabilities=probabilities)


@pytest.mark.parametrize("n_values", [2, 6])
def test_the_model_learns_a_sum_of_main_effects(n_values):
    space, judged = of_pairs(n_values)
    model = surrogate(space, judged)
    for batch in np.array_split(np.arange(300), 5):
        model.learn(judged[batch])
    rest = judged[300:]
    hoped = model.hoped_for(rest.Z, rest.pairs)
    assert np.corrcoef(hoped, np.abs(rest.fitness))[0, 1] > 0.9
    # Columns that matter have the larger variances.
    assert np.argsort(model.variances)[-10:].max() < 10


def test_probabilities_differ_most_around_even_odds():
    space, judged = of_pairs(2, lambda outputs: 1 / (1 + np.exp(-outputs)))
    model, unlinked = (surrogate(space, judged, probabilities=one) for one in (True, False))
    rest = judged[300:]
    told = []
    for one in (model, unlinked):
        one.learn(judged[:300])
        told.append(np.corrcoef(one.hoped_for(rest.Z, rest.pairs), np.abs(rest.fitness))[0, 1])
    assert told[0] > 0.9 > told[1]


def test_of_many_inputs_those_that_differ_most_are_kept():
    space, judged = of_pairs(2)
    model = surrogate(space, judged, most=100)
    model.learn(judged)
    assert len(model.differences) == len(model.known.columns) == 100
    largest = np.sort(np.abs(judged.fitness))[-50:]
    assert np.isin(largest, np.abs(model.differences)).all()
    assert np.abs(model.differences).min() < np.median(np.abs(judged.fitness))


def test_a_difference_changes_its_sign_with_the_twins_places():
    space, judged = of_pairs(6)
    one, other = surrogate(space, judged), surrogate(space, judged)
    first, rest = judged[:100], judged[100:]
    one.learn(first)
    other.learn(Evaluated(first.Z, first.pairs[:, ::-1], -first.fitness, first.outputs[:, ::-1]))
    np.testing.assert_allclose(
        one.hoped_for(rest.Z, rest.pairs), other.hoped_for(rest.Z, rest.pairs[:, ::-1])
    )


@pytest.mark.parametrize("size", [0.0, 1e-310, 1e-5, 1e300])
def test_the_model_takes_differences_of_any_size(size):
    space, judged = of_pairs(2)
    model = surrogate(space, judged)
    first, rest = judged[:50], judged[50:]
    model.learn(Evaluated(first.Z, first.pairs, first.fitness * size, first.outputs * size))
    hoped = model.hoped_for(rest.Z, rest.pairs)
    assert np.isfinite(hoped).all()
    assert (hoped.max() > 0) == (size > 0)


def test_a_table_without_columns_to_change_is_searched(models):
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
