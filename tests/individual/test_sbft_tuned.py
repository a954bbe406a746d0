"""The tuned search of SBFT: what it promises beside large disparities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample

from skfairtest import CertifiedAuditor, InputSpace, SBFTAuditor
from skfairtest.individual._sbft.islands import (
    OPERATORS,
    Elite,
    Elites,
    Judged,
    estimated_range,
)
from skfairtest.individual._sbft.probes import CoordinateProbes


@pytest.fixture(scope="module")
def forest():
    """A forest on a wide table, and the table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 20))
    X[:, 0] = rng.integers(0, 2, 600)
    X[:, 1] = rng.integers(0, 5, 600)
    y = 3 * X[:, 0] * np.where(X[:, 2] > 0, X[:, 3], X[:, 4]) + X[:, 1] * X[:, 5]
    return RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y), X


def audit(model, X, **params):
    params = {"sensitive_features": [0], "random_state": 1, **params}
    return SBFTAuditor(model, **params).fit(X)


def test_a_larger_budget_goes_on_where_a_smaller_one_ends(forest):
    budgets = (2500, 4000, 9000)
    small, middle, large = (audit(*forest, max_queries=n).history_ for n in budgets)
    columns = ["queries", "inputs", "found", "degree"]
    for first, second in ((small, middle), (middle, large)):
        # The last batch was cut by the budget, and judged in parts.
        n = int((first["queries"] < 0.9 * first["queries"].iloc[-1]).sum())
        assert n >= 2
        pd.testing.assert_frame_equal(first[columns][:n], second[columns][:n])
        assert first["degree"].iloc[-1] <= second["degree"].iloc[-1]


@slow_sample
def test_it_finds_the_certified_degree_of_a_wide_forest(forest):
    certified = CertifiedAuditor(forest[0], sensitive_features=[0], random_state=0).fit(forest[1])
    assert certified.certified_
    found = audit(*forest, max_queries=20_000)
    assert found.fairness_degree_ >= 0.9 * certified.fairness_degree_upper_bound_


def test_operators_account_for_all_queries_and_the_degree(forest):
    found = audit(*forest, max_queries=5000)
    table = found.operators_
    assert table.index.tolist() == list(OPERATORS)
    # Shares of a batch are rounded.
    assert table["queries"].sum() == pytest.approx(found.n_queries_, abs=len(OPERATORS))
    assert table["gain"].sum() == pytest.approx(found.fairness_degree_)
    assert table["inputs"].sum() >= found.n_inputs_
    # What the batch that the budget cut has found is shared out.
    assert table["found"].sum() >= 0.95 * found.n_found_
    assert table.loc[["rows", "probes", "crossed"], "queries"].min() > 0
    assert table.loc["pairs", "queries"] == 0  # two sensitive values make one pair


@slow_sample
def test_islands_that_stall_are_left_and_their_agreement_is_told(models):
    X = np.random.default_rng(0).integers(0, 40, size=(300, 5)) * 1.0
    X[:, 0] %= 2
    model = models.Regressor(lambda X: X[:, 0] * (X[:, 1] - X[:, 2]) / (1 + X[:, 3]))
    found = audit(model, X, max_queries=30_000)
    assert len(found.island_degrees_) >= 2
    assert found.island_degrees_.max() <= found.fairness_degree_ == 39.0
    low, high = found.degree_estimate_
    assert low == found.fairness_degree_ <= high < np.inf
    alone = audit(model, X, max_queries=600)
    assert alone.degree_estimate_[1] == np.inf


@pytest.mark.parametrize("response_method", ["predict_proba", "predict"])
def test_estimate_for_a_classifier_is_at_most_one(response_method):
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[:, 0] = X[:, 0] > 0
    model = LogisticRegression(C=1000).fit(X, 3 * X[:, 0] + X[:, 1] > 1.5)
    found = audit(model, X, max_queries=20_000, response_method=response_method)
    assert found.fairness_degree_ > 0.95 and len(found.island_degrees_) >= 2
    assert found.degree_estimate_ == (found.fairness_degree_, 1.0)


def test_estimate_lies_beyond_the_best_by_how_far_the_second_is_behind():
    assert estimated_range([4.0], 4.0) == (4.0, np.inf)
    assert estimated_range([4.0, 3.0, 1.0], 4.5) == (4.5, pytest.approx(13.0))
    # Where all agree a tenth is left, as all may miss the same.
    assert estimated_range([4.0, 4.0], 4.0) == (4.0, pytest.approx(4.4))
    # Where islands were crossed, more may be known than any of them found.
    assert estimated_range([4.0, 4.0], 5.0) == (5.0, pytest.approx(5.5))
    # Of a search that found nothing, agreement says nothing.
    assert estimated_range([0.0, 0.0], 0.0) == (0.0, np.inf)


def test_many_values_are_judged_by_pairs_that_are_inherited(models):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(600) % 300, rng.normal(size=(600, 4))])

    def peak(X):
        return np.exp(-((X[:, 0] - 217) ** 2) / 50) * (X[:, 1] > 1) - (X[:, 0] == 33) * X[:, 2]

    found = audit(models.Regressor(peak), X, max_queries=20_000)
    best = 1 + X[:, 2].max()
    assert found.fairness_degree_ >= 0.99 * best
    assert sorted(found.worst_case_[:, 0]) == [33, 217]


def test_categories_without_order_and_constant_columns_are_searched(models):
    frame = pd.DataFrame({"s": ["a", "b"] * 50, "c": [f"v{k}" for k in range(50)] * 2, "one": 1})
    model = models.Regressor(lambda X: (X["s"] == "a") * (X["c"] == "v37") * 3.0)
    found = audit(model, frame, sensitive_features=["s"], max_queries=4000)
    assert found.fairness_degree_ == 3.0
    assert found.stop_kind_ == "exhausted"


def test_a_table_without_any_other_value_ends(models):
    X = np.array([[0.0, 1.0], [1.0, 1.0]])
    found = audit(models.Regressor(lambda X: X[:, 0] * 2.0), X, max_queries=100)
    assert found.fairness_degree_ == 2.0
    assert found.stop_kind_ in ("exhausted", "stalled")


def test_elites_keep_the_best_different_ones():
    elites = Elites(3)
    for fitness in (1.0, 3.0, 3.0, 2.0, 0.5):
        elites.add(Elite(fitness, np.zeros(2), np.zeros((2, 1))))
    assert [one.fitness for one in elites.kept] == [3.0, 2.0, 1.0]
    assert (elites.best, elites.quantile(0.5), elites.knows(2.0)) == (3.0, 2.0, True)


def test_a_batch_is_kept_as_its_inputs_one_by_one():
    rng = np.random.default_rng(0)
    one_by_one, at_once = Elites(20), Elites(20)
    for n in (0, 1, 15, 40, 40):
        judged = Judged(rng.integers(0, 60, n) / 7, rng.random((n, 3)), rng.random((n, 2, 1)))
        at_once.add_best(judged)
        for one in judged:
            one_by_one.add(one)
        assert len(at_once) == len(one_by_one)
        for one, other in zip(at_once.kept, one_by_one.kept, strict=True):
            assert one.fitness == other.fitness and (one.z == other.z).all()
            assert at_once.knows(one.fitness) and not at_once.knows(one.fitness + 0.01)


def test_every_proposal_is_an_input_of_the_domain(forest, models):
    model, X = forest
    frame = pd.DataFrame(X).rename(columns=str)
    frame["1"] = frame["1"].astype(int)
    seen = []
    watched = models.Regressor(
        lambda rows: seen.append(rows) or model.predict(rows.to_numpy(dtype=float))
    )
    space = InputSpace(bounds={"2": (-1.0, 1.5)}).fit(frame, ["0"])
    SBFTAuditor(watched, space=space, max_queries=4000, random_state=0).fit(frame)
    rows = pd.concat(seen)
    codes = space.encode(rows)
    assert ((space.domain.low <= codes) & (codes <= space.domain.high)).all()
    assert rows["1"].dtype.kind == "i"


def test_probed_values_are_of_the_domain_different_and_not_the_inputs_own():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": rng.integers(0, 2, 300),
            "real": rng.normal(size=300),
            "whole": rng.integers(0, 1000, 300),
            "few": rng.integers(3, 8, 300),
            "kind": rng.choice([f"kind {k}" for k in range(30)], 300),
        }
    )
    X.loc[::7, "real"] = np.nan
    space = InputSpace().fit(X, ["sex"])
    domain = space.domain
    probes = CoordinateProbes(space, space.encode(X)[:50])
    Z = domain.draw(200, rng)
    for j in space.free.tolist():
        for elites in (np.empty((0, 5)), Z[:10]):
            place, values = probes.values(Z, np.full(200, j), elites, rng)
            tried = np.repeat(Z[:1], len(values), axis=0)
            tried[:, j] = values
            assert (domain.clip(tried) == tried).all()
            assert (values != Z[place, j]).all()
            assert len(np.unique(np.column_stack([place, values]), axis=0)) == len(values)
    # All values of a column of five, and fewer of one that has changed nothing.
    few = X.columns.get_loc("few")
    place, values = probes.values(Z, np.full(200, few), Z[:10], rng)
    assert (np.bincount(place) == 4).all()
    probes.learn(np.full(300, few), np.zeros(300, dtype=bool))
    place, values = probes.values(Z, np.full(200, few), Z[:10], rng)
    assert (np.bincount(place) == 2).all()
