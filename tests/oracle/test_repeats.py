"""Rows that are asked again, and pairs that repeated answers confirm."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from tiers import slow_sample
from varying import VaryingClassifier, VaryingLabels, VaryingRegressor, table

from skfairtest import InputSpace
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.oracle import _repeats, _rows
from skfairtest.oracle._budget import Budget
from skfairtest.oracle._judgement import concatenated
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._repeats import LEAST_CALLS, holm
from skfairtest.oracle._rows import judge_rows
from skfairtest.oracle._stop import StopSearch


def watched(model, **limits):
    oracle = Oracle(model, InputSpace().fit(table(), [0]), **limits)
    oracle.watch_answers()
    return oracle


def searched(model, max_queries=1000, **limits):
    """An oracle whose budget for the search is spent on rows of the data."""
    oracle = watched(model, max_queries=max_queries, **limits)
    oracle.begin(oracle.space.data, np.random.default_rng(0))
    with pytest.raises(StopSearch):
        while True:
            oracle.disparity(oracle.sample(20, np.random.default_rng(oracle.n_queries)))
    return oracle


# Looking -----------------------------------------------------------------------------------


def test_equal_answers_change_nothing(models):
    model = models.Regressor(lambda X: X[:, 0] * X[:, 2])
    oracle = watched(model, max_queries=1000)
    plain = Oracle(model, oracle.space, max_queries=1000)
    X = oracle.space.data[:40]
    for judged, other in zip(oracle.disparity(X), plain.disparity(X), strict=True):
        np.testing.assert_array_equal(judged, other)
    # Five pairs again; a tenth of the queries so far allows no more.
    assert oracle.n_queries == plain.n_queries + 10
    assert not oracle.repeats.varies and oracle.repeats.noise == 0 and oracle.confirm(0.05) is None
    for start in (40, 100, 200):  # five pairs more after 290 and after 620 queries
        rows = oracle.space.data[start : start + 100]
        oracle.disparity(rows)
        plain.disparity(rows)
    assert oracle.n_queries == plain.n_queries + 10 + 10 + 10
    oracle.look_at_end()
    assert oracle.n_queries == plain.n_queries + 10 + 10 + 10 + 40
    assert not oracle.repeats.varies


def test_rows_that_ran_out_of_time_are_not_asked_again(models, monkeypatch):
    oracle = watched(models.Regressor(lambda X: X[:, 0] * X[:, 2]))
    # A clock of a model that takes a second for each row.
    monkeypatch.setattr(_rows, "_clock", SimpleNamespace(now=lambda: float(oracle.n_queries)))
    judged = concatenated(list(judge_rows(oracle, oracle.space.data, deadline=200.0)))
    n = len(judged.disparity)
    assert 30 < n < len(oracle.space.data)
    assert oracle.n_queries <= 202  # the last batch is one row: nothing is asked at the end


def test_pairs_that_do_not_differ_are_not_asked_again(models):
    oracle = watched(models.Regressor(lambda X: X[:, 1]), max_queries=1000)
    oracle.disparity(oracle.space.data[:40])
    assert oracle.n_queries == 80


@pytest.mark.parametrize("max_queries, again", [(2, 0), (10, 0), (19, 0), (20, 2), (59, 4)])
def test_at_most_a_tenth_of_the_budget_asks_again(models, max_queries, again):
    model = models.Regressor(lambda X: X[:, 0])
    oracle = watched(model, max_queries=max_queries)
    with pytest.raises(StopSearch):
        oracle.disparity(oracle.space.data)
    assert model.rows == oracle.n_queries <= max_queries
    assert oracle.n_queries - 2 * oracle.n_inputs == again


def test_labels_are_asked_again_more_often(models):
    oracle = watched(models.LabelsOnly(lambda X: X[:, 0]), max_queries=10_000)
    oracle.disparity(oracle.space.data[:200])
    assert oracle.n_queries == 400 + 200
    oracle = watched(models.LabelsOnly(lambda X: X[:, 0]), max_queries=100)
    with pytest.raises(StopSearch):
        oracle.disparity(oracle.space.data)
    assert oracle.n_queries - 2 * oracle.n_inputs == 32


def test_every_early_change_of_a_label_can_be_asked_again(models):
    """Also in the last batch, for which the budget is enough."""
    oracle = watched(models.LabelsOnly(lambda X: X[:, 0] * (X[:, 2] > 0.9)), max_queries=100)
    with pytest.raises(StopSearch):
        oracle.disparity(oracle.space.data)
    assert oracle.n_queries == 2 * (oracle.n_inputs + oracle.n_found) <= 100


def test_the_worst_pair_and_those_far_from_others_are_asked_again(models):
    """A difference far from all others may be noise, and one beside others hardly is."""

    asked = []

    def one_alone(X):
        asked.append(np.array(X))
        return X[:, 0] * (1 + X[:, 1]) * ((X[:, 2] < 0.2) | (X[:, 2] > 0.8))

    oracle = watched(models.Regressor(one_alone), max_queries=2000)
    Z = np.zeros((300, 3))
    Z[:, 1], Z[:, 2] = np.linspace(0.1, 0.3, 300), np.linspace(0, 0.1, 300)
    Z[200, 2] = 0.9  # is far from the others, and the last one differs most
    oracle.disparity(Z)
    oracle.look_at_end()
    rows, times = np.unique(np.concatenate(asked), axis=0, return_counts=True)
    again = rows[times == 2]
    assert set(times) == {1, 2} and (again[:, 2] > 0.8).sum() == 2
    assert np.isclose(again[:, 1].max(), oracle.worst.z[1])


def test_what_is_asked_at_the_end_is_kept_of_the_budget(models):
    model = models.Regressor(lambda X: X[:, 0] * X[:, 2])
    oracle = watched(model, max_queries=1000)
    with pytest.raises(StopSearch):
        while True:
            oracle.disparity(oracle.sample(20, np.random.default_rng(oracle.n_queries)))
    left = 1000 - oracle.n_queries
    assert 40 <= left <= 50
    oracle.look_at_end()
    assert oracle.n_queries == model.rows == 1000 - left + 40
    assert oracle.record.history.arrays()["queries"][-1] == oracle.n_queries


def test_a_label_that_is_asked_at_the_end_is_asked_twice(models):
    oracle = watched(models.LabelsOnly(lambda X: X[:, 0]), max_queries=10_000)
    oracle.disparity(oracle.space.data[:200])
    before = oracle.n_queries
    oracle.look_at_end()
    assert oracle.n_queries == before + 2 * 2 * 10


@pytest.mark.parametrize("noise", [1e-3, 0.2])
@pytest.mark.parametrize("model", [VaryingRegressor, VaryingClassifier])
def test_answers_that_vary_are_noticed(model, noise):
    oracle = searched(model(effect=0.0, noise=noise))
    assert oracle.repeats.varies
    assert noise / 3 < oracle.repeats.noise < 3 * noise


@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_how_often_labels_change_is_told_by_answers_that_had_no_part_in_the_choice(effect):
    """Where labels alone make pairs, half of the rows that are asked again change."""
    rates = []
    for seed in range(6):
        oracle = searched(VaryingLabels(effect=effect, noise=0.05, seed=seed))
        oracle.confirm(0.05)
        rates.append(oracle.repeats.noise)
    assert 0.07 < np.mean(rates) < 0.13  # 2 * 0.05 * 0.95


@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_a_share_of_flipped_labels_is_noticed(effect):
    oracle = searched(VaryingLabels(effect=effect, noise=0.05), max_queries=2000)
    assert oracle.repeats.varies and oracle.repeats.noise > 0


def test_last_digits_are_no_noise(models):
    def rounded(X):
        return X[:, 0] + 1e-7 * np.sin(len(X) + np.arange(len(X)))

    oracle = watched(models.Regressor(rounded), max_queries=1000)
    oracle.disparity(oracle.space.data[:40])
    assert not oracle.repeats.varies


def test_ties_of_labels_that_are_read_off_scores_are_no_noise(models):
    def tied(X):
        return 0.5 + 1e-9 * np.sin(len(X) + np.arange(len(X))) + 0.1 * X[:, 0] * (X[:, 1] > 2)

    oracle = watched(models.Proba(tied), max_queries=1000)
    oracle.disparity(oracle.space.data[:40])
    assert not oracle.repeats.varies


# The budget --------------------------------------------------------------------------------


def test_what_is_kept_for_later_outlasts_the_part_in_which_that_was_decided():
    budget = Budget(max_queries=100, max_found=7)
    with budget.narrowed(max_queries=60):
        budget.keep(0.5, n_queries=20, least=8)
        assert budget.limits["max_queries"] == 60
        with budget.narrowed(max_queries=30):
            assert budget.limits["max_queries"] == 30
    assert budget.limits["max_queries"] == 60 and budget.limits["max_found"] == 7
    budget.release()
    assert budget.limits["max_queries"] == 100
    budget.keep(0.5, n_queries=90, least=8)
    assert budget.limits["max_queries"] == 92
    budget.release()
    budget.keep(0.5, n_queries=99, least=8)
    assert budget.limits["max_queries"] == 99
    endless = Budget(max_inputs=10)
    endless.keep(0.5, n_queries=5, least=8)
    assert np.isinf(endless.limits["max_queries"]) and np.isinf(endless.limits["max_time"])


@pytest.mark.parametrize("max_queries", [50, 300, 1000])
def test_the_confirmation_stays_within_the_budget(max_queries):
    model = VaryingRegressor()
    oracle = searched(model, max_queries=max_queries)
    confirmed = oracle.confirm(0.05)
    assert model.rows == oracle.n_queries <= max_queries
    assert oracle.record.history.arrays()["queries"][-1] == oracle.n_queries
    assert confirmed.error is None and confirmed.n_candidates >= 1


# Confirming --------------------------------------------------------------------------------


def test_the_degree_is_a_mean_of_answers_that_had_no_part_in_the_choice(monkeypatch):
    seen = []
    ask = _repeats.Confirmation._ask

    def spied(self, chosen, n_calls):
        answers = ask(self, chosen, n_calls)
        seen.append((chosen, answers))
        return answers

    monkeypatch.setattr(_repeats.Confirmation, "_ask", spied)
    oracle = searched(VaryingRegressor(noise=0.1))
    confirmed = oracle.confirm(0.05)
    *choices, (chosen, fresh), (worst, more) = seen
    assert choices and len(fresh.scores) >= LEAST_CALLS and worst == chosen[:1]
    a, b, b2, a2 = np.moveaxis(np.concatenate([fresh.scores[:, 0], more.scores[:, 0]]), 1, 0)
    assert np.isclose(np.abs((a + a2 - b - b2).mean() / 2), confirmed.degree)
    low, high = confirmed.interval
    assert low < confirmed.degree < high and low <= 0.3 <= high
    assert confirmed.degree < oracle.degree - 0.05  # the largest of many noisy differences
    np.testing.assert_allclose(np.subtract(*confirmed.worst.outputs), confirmed.degree)
    assert len(confirmed.Z) and (np.diff(confirmed.disparities) <= 0).all()
    assert (confirmed.Z[:, 2] > 0.5).all()


@pytest.mark.parametrize("model", [VaryingRegressor, VaryingClassifier, VaryingLabels])
def test_noise_alone_confirms_nothing(model):
    oracle = searched(model(effect=0.0, noise=0.2))
    confirmed = oracle.confirm(0.05)
    assert oracle.degree > 0.3 and not len(confirmed.Z)
    assert confirmed.degree == 0 and confirmed.worst is None and confirmed.interval is None


def test_labels_that_flip_now_and_then_are_confirmed_by_the_usual_ones():
    oracle = searched(VaryingLabels(effect=0.3, noise=0.05), max_queries=2000)
    confirmed = oracle.confirm(0.05)
    assert len(confirmed.Z) and (confirmed.Z[:, 2] > 0.5).all()
    low, high = confirmed.interval
    assert 0.5 < low < 0.9 < high <= 1  # 0.95 - 0.05


def pairs_of(gaps):
    """Pairs tested by differences of shape (calls, pairs)."""
    error = stats.sem(gaps, axis=0)
    p = _repeats._t_test(gaps.mean(axis=0), error, len(gaps))
    return _repeats.Tested(gaps.mean(axis=0), error, len(gaps), p, p, p, np.empty((0, 2)), None)


@pytest.mark.parametrize("n_calls", [LEAST_CALLS, 20])
@pytest.mark.parametrize("effect", [0.0, 0.2, 0.5])
def test_intervals_hold_of_the_differences_that_pass_a_test(n_calls, effect):
    """Plain ones of the same level never hold 0: they exclude it whenever the test is passed."""
    rng = np.random.default_rng(0)
    of = pairs_of(rng.normal(effect, 1.0, size=(n_calls, 4000)))
    passed = np.flatnonzero(of.not_zero <= 0.025)[:400]
    ends = np.array([of.interval(at, 0.05, 0.0, 0.025) for at in passed])
    assert len(passed) >= 90
    assert np.mean((ends[:, 0] <= effect) & (effect <= ends[:, 1])) >= 0.925


def test_an_interval_far_from_what_the_test_asks_is_that_of_t():
    gaps = 0.3 + 0.05 * np.random.default_rng(0).normal(size=(20, 1))
    of = pairs_of(gaps)
    plain = stats.t.interval(0.95, 19, loc=gaps.mean(), scale=stats.sem(gaps)[0])
    np.testing.assert_allclose(of.interval(0, 0.05, 0.0, 0.025), plain, rtol=1e-6)
    # Where labels have confirmed a pair, nothing was asked of the size of its difference.
    np.testing.assert_allclose(of.interval(0, 0.05, -np.inf, 0.025), plain, rtol=1e-6)
    low, high = of.interval(0, 0.05, gaps.mean() - 3 * stats.sem(gaps)[0], 0.025)
    assert low < plain[0] - 0.01 and np.isclose(high, plain[1])
    assert pairs_of(np.full((8, 1), 0.3)).interval(0, 0.05, 0.0, 0.025) == (0.3, 0.3)


def test_a_call_that_fails_in_the_confirmation_is_one_answer_less():
    class Failing(VaryingRegressor):
        last = 0

        def answer(self, X):
            answers = super().answer(X)
            if self.calls % 10 == 0:
                self.last = self.calls
                raise OSError("no connection")
            return answers

    model = Failing(noise=0.0)
    oracle = watched(model, max_queries=1000)
    oracle.disparity(oracle.space.data[:200])
    model.noise = 0.05
    oracle.look_at_end()
    asked = oracle.n_queries
    confirmed = oracle.confirm(0.05)
    assert isinstance(confirmed.error, EstimatorFailedError) and model.last >= 20
    assert asked < oracle.n_queries == model.rows <= 1000
    low, high = confirmed.interval
    assert len(confirmed.Z) and low <= 0.3 <= high and high - low < 0.1


def test_two_calls_in_a_row_that_fail_end_the_confirmation():
    class Gone(VaryingRegressor):
        gone = False

        def answer(self, X):
            answers = super().answer(X)
            if self.gone:
                raise OSError("no connection")
            return answers

    model = Gone()
    oracle = searched(model)
    n_calls, model.gone = model.calls, True
    confirmed = oracle.confirm(0.05)
    assert isinstance(confirmed.error, EstimatorFailedError) and not len(confirmed.Z)
    assert model.calls == n_calls + 2


def test_a_threshold_is_exceeded_by_the_mean():
    noise = {"noise": 0.1}
    above = searched(VaryingRegressor(effect=0.3, **noise), threshold=0.2, max_queries=3000)
    below = searched(VaryingRegressor(effect=0.3, **noise), threshold=0.35, max_queries=3000)
    assert len(above.confirm(0.05).Z)
    confirmed = below.confirm(0.05)
    assert not len(confirmed.Z) and 0.2 < confirmed.degree < 0.4


def test_noise_that_is_drawn_once_a_call_is_repeated_by_calls():
    """Each call favours a side, but calls do not agree on which: twins are treated alike."""

    class Committee(VaryingRegressor):
        def answer(self, X):
            self.rows += len(X)
            return X[:, 1] + self.noise * self.rng.normal() * (X[:, 0] - 0.5)

    confirmed = searched(Committee(noise=0.5)).confirm(0.05)
    assert not len(confirmed.Z) and confirmed.degree == 0


def test_answers_that_depend_on_the_place_in_a_batch_are_no_difference_of_twins(models):
    def placed(X):
        return np.arange(len(X)) * 0.01 + 0.001 * np.cos(len(X) * X[:, 1])

    confirmed = searched(models.Regressor(placed)).confirm(0.05)
    assert not len(confirmed.Z) and confirmed.degree == 0


def test_a_drift_cancels():
    confirmed = searched(VaryingRegressor(effect=0.3, noise=0.01, kind="drift")).confirm(0.05)
    assert confirmed.degree == pytest.approx(0.3) and (confirmed.Z[:, 2] > 0.5).all()


def test_holm():
    np.testing.assert_array_equal(
        holm(np.array([0.02, 0.001, 0.04, 0.013]), 0.05), [True, True, True, True]
    )
    np.testing.assert_array_equal(
        holm(np.array([0.03, 0.001, 0.03, 0.04]), 0.05), [False, True, False, False]
    )
    assert not len(holm(np.empty(0), 0.05))


@slow_sample
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("model", [VaryingRegressor, VaryingClassifier, VaryingLabels])
def test_false_pairs_are_rare(model, noise):
    """At most 5% of runs confirm a pair of equal twins; 60 runs leave chance up to 8 of them."""
    runs = [
        searched(model(effect=0.0, noise=noise, seed=seed), max_queries=600).confirm(0.05)
        for seed in range(60)
    ]
    assert sum(run is not None and len(run.Z) > 0 for run in runs) <= 8
    assert sum(run is not None and run.degree > 0 for run in runs) <= 8


@slow_sample
def test_intervals_hold_the_mean_difference_of_their_pair():
    held = []
    for seed in range(60):
        confirmed = searched(VaryingRegressor(noise=0.1, seed=seed), max_queries=600).confirm(0.05)
        if confirmed.interval is not None:
            true = 0.3 * (confirmed.worst.z[2] > 0.5)
            held.append(confirmed.interval[0] <= true <= confirmed.interval[1])
    assert len(held) >= 50 and np.mean(held) >= 0.87
