"""Rows that are asked twice, and models that answer otherwise the second time."""

from __future__ import annotations

import numpy as np
import pytest
from searches import get_to_know, handle_of
from tiers import slow_sample
from varying import VaryingClassifier, VaryingLabels, VaryingRegressor, table

from skfairtest import InputSpace
from skfairtest.exceptions import NonDeterministicModelError
from skfairtest.oracle._stop import StopSearch

MODELS = [VaryingRegressor, VaryingClassifier, VaryingLabels]


def search_of(model, **limits):
    return handle_of(model, InputSpace().fit(table(), [0]), **limits)


def search(model, max_queries=1000):
    """Ask about uniform rows until the budget is spent."""
    search = search_of(model, max_queries=max_queries)
    get_to_know(search, search.space.data, np.random.default_rng(0))
    with pytest.raises(StopSearch):
        while True:
            search.evaluate(search.sample(20, np.random.default_rng(search.so_far.queries)).rows)
    return search


def test_equal_answers_cost_a_few_queries(models):
    model = models.Regressor(lambda X: X[:, 0] * X[:, 2])
    search = search_of(model, max_queries=1000)
    judged = search.evaluate(search.space.data[:40])
    np.testing.assert_array_equal(judged.disparity, search.space.data[:40, 2])
    assert search.so_far.queries == model.rows == 80 + 10  # the five pairs that differ first
    for start in (40, 100, 200):  # the worst pair, as the queries have doubled
        search.evaluate(search.space.data[start : start + 100])
    assert search.so_far.queries == model.rows == 600 + 10 + 2 + 2


def test_the_worst_pair_is_asked_again_whenever_the_queries_have_doubled(models):
    asked = []

    def largest_at_the_end(X):
        asked.append(np.array(X))
        return X[:, 0] * X[:, 2]

    search = search_of(models.Regressor(largest_at_the_end), max_queries=2000)
    Z = np.zeros((300, 3))
    Z[:, 2] = np.linspace(0.1, 0.9, 300)
    for start in range(0, 300, 20):
        search.evaluate(Z[start : start + 20])
    rows, times = np.unique(np.concatenate(asked), axis=0, return_counts=True)
    again = np.unique(rows[times == 2][:, 2])
    # Five first pairs, and later the last ones of batches.
    assert set(times) == {1, 2} and len(again) == 5 + 3
    assert np.isin(again[5:], Z[19::20, 2]).all()


def test_pairs_that_do_not_differ_are_not_asked_again(models):
    search = search_of(models.Regressor(lambda X: X[:, 1]), max_queries=1000)
    search.evaluate(search.space.data[:40])
    assert search.so_far.queries == 80


@pytest.mark.parametrize("max_queries, again", [(2, 0), (10, 0), (19, 0), (20, 2), (59, 4)])
def test_at_most_a_tenth_of_the_budget_asks_again(models, max_queries, again):
    model = models.Regressor(lambda X: X[:, 0])
    search = search_of(model, max_queries=max_queries)
    with pytest.raises(StopSearch):
        search.evaluate(search.space.data)
    assert model.rows == search.so_far.queries <= max_queries
    assert search.so_far.queries - 2 * search.so_far.inputs == again


def test_labels_are_asked_again_more_often(models):
    search = search_of(models.LabelsOnly(lambda X: X[:, 0]), max_queries=10_000)
    search.evaluate(search.space.data[:200])
    assert search.so_far.queries == 400 + 200
    search = search_of(models.LabelsOnly(lambda X: X[:, 0]), max_queries=100)
    with pytest.raises(StopSearch):
        search.evaluate(search.space.data)
    assert search.so_far.queries - 2 * search.so_far.inputs == 32


def test_every_early_change_of_a_label_can_be_asked_again(models):
    """Also in the last batch, for which the budget is enough."""
    search = search_of(models.LabelsOnly(lambda X: X[:, 0] * (X[:, 2] > 0.9)), max_queries=100)
    with pytest.raises(StopSearch):
        search.evaluate(search.space.data)
    assert search.so_far.queries == 2 * (search.so_far.inputs + search.so_far.found) <= 100


@pytest.mark.parametrize("effect", [0.0, 0.3])
@pytest.mark.parametrize("noise", [1e-3, 0.2])
@pytest.mark.parametrize("model", [VaryingRegressor, VaryingClassifier])
def test_answers_that_vary_are_refused_before_much_is_asked(model, noise, effect):
    varying = model(effect=effect, noise=noise)
    with pytest.raises(NonDeterministicModelError, match=r"rows .* twice, \d+ got .*, by up to"):
        search(varying)
    assert varying.rows <= 200


@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_a_share_of_flipped_labels_is_refused(effect):
    with pytest.raises(NonDeterministicModelError, match=r"got another answer the second time\. D"):
        search(VaryingLabels(effect=effect, noise=0.05), max_queries=2000)


def test_the_error_counts_rows_and_tells_the_largest_change():
    class Twice(VaryingRegressor):
        """The third pair that differs gets another answer the second time."""

        def answer(self, X):
            self.calls += 1
            return self.quiet(X) + (self.calls > 1) * np.where(np.arange(len(X)) == 4, 0.25, 0)

    search = search_of(Twice())
    message = r"of the first 10 rows that were asked twice, 1 got .*, by up to 0\.25\."
    with pytest.raises(NonDeterministicModelError, match=message):
        search.evaluate(search.space.data[:30])


def test_last_digits_are_no_noise(models):
    def rounded(X):
        return X[:, 0] + 1e-7 * np.sin(len(X) + np.arange(len(X)))

    search = search_of(models.Regressor(rounded), max_queries=1000)
    search.evaluate(search.space.data[:40])
    assert search.so_far.queries == 90


def test_ties_of_labels_that_are_read_off_scores_are_no_noise(models):
    def tied(X):
        return 0.5 + 1e-9 * np.sin(len(X) + np.arange(len(X))) + 0.1 * X[:, 0] * (X[:, 1] > 0.5)

    search = search_of(models.Proba(tied), max_queries=1000)
    judged = search.evaluate(search.space.data[:40])
    assert (judged.disparity > 0).any() and search.so_far.queries > 90


@slow_sample
@pytest.mark.parametrize("kind", ["normal", "part", "late"])
@pytest.mark.parametrize("model", MODELS)
def test_noise_is_refused_in_nearly_all_searches(model, kind):
    refused = 0
    for seed in range(40):
        try:
            search(model(noise=0.2, kind=kind, seed=seed))
        except NonDeterministicModelError:
            refused += 1
    assert refused >= 38
