"""Several searches draw from one budget, which messages quote as the user gave it."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from tiers import slow_sample, some

from skfairtest import InputSpace, MAFTAuditor, RandomAuditor
from skfairtest.base import BaseAuditor
from skfairtest.datasets import make_biased_classification, make_biased_regression

WORKERS = some([None, 3])


def narrow():
    return make_biased_regression(variant="narrow", random_state=0)


def fit(auditor, X, n_workers):
    if n_workers is None:
        return auditor.fit(X)
    with joblib.parallel_config("threading", n_jobs=n_workers):
        return auditor.fit(X)


def figures(auditor):
    names = ["fairness_degree_", "n_found_", "n_inputs_", "n_queries_", "stop_reason_"]
    return {name: getattr(auditor, name) for name in names}


@pytest.mark.parametrize("n_workers", WORKERS)
def test_restarts_go_on_until_they_have_found_as_many_as_the_run_may(n_workers):
    data = narrow()
    auditor = RandomAuditor(
        data.estimator, threshold=5.0, max_found=1, max_queries=40_000, n_restarts=4, random_state=0
    )
    fit(auditor, data.data, n_workers)
    # The first search finds nothing with its 10,000 queries; the second one does.
    assert auditor.n_found_ >= 1 and 10_000 < auditor.n_queries_ < 20_000
    assert auditor.stop_kind_ == "max_found"
    assert auditor.stop_reason_ == "max_found=1 reached after 2 of 4 restarts"


@slow_sample
def test_what_restarts_find_together_counts():
    data = narrow()
    params = {"threshold": 2.0, "max_queries": 8000, "n_restarts": 4, "random_state": 0}
    each = RandomAuditor(data.estimator, **params).fit(data.data)
    assert each.n_found_ == 2
    fewer = RandomAuditor(data.estimator, max_found=each.n_found_ - 1, **params).fit(data.data)
    assert 1 <= fewer.n_found_ <= 2 and fewer.n_queries_ < each.n_queries_
    assert fewer.stop_kind_ == "max_found"
    more = RandomAuditor(data.estimator, max_found=each.n_found_ + 1, **params).fit(data.data)
    assert more.n_found_ == each.n_found_ and more.stop_kind_ == "max_queries"


@pytest.mark.parametrize("n_workers", WORKERS)
@pytest.mark.parametrize("max_inputs", [1, 2, 3, 7])
def test_restarts_judge_as_many_inputs_as_the_run_may(max_inputs, n_workers):
    data = make_biased_classification(random_state=0)
    auditor = RandomAuditor(data.estimator, max_inputs=max_inputs, n_restarts=3, random_state=0)
    fit(auditor, data.data, n_workers)
    assert auditor.n_inputs_ == max_inputs
    n = min(3, max_inputs)
    reached = f"max_inputs={max_inputs} reached: {n} of 3 restarts used up their share"
    assert auditor.stop_reason_ == reached


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"max_queries": 3001}, "max_queries=3001 reached: 3 of 3 restarts used up"),
        ({"max_queries": None, "max_time": 0.9}, "max_time=0.9 reached: 3 of 3 restarts used up"),
    ],
)
def test_messages_quote_the_limits_of_the_user(limits, text, clock):
    clock.step = 0.005
    data = make_biased_classification(random_state=0)
    auditor = RandomAuditor(data.estimator, n_restarts=3, random_state=0, **limits).fit(data.data)
    assert auditor.stop_reason_.startswith(text)


def test_no_time_that_is_left_for_the_last_restarts_is_no_error(clock):
    clock.step = 1e-6
    X = np.column_stack([np.arange(40) % 2, np.arange(40)])
    model = LinearRegression().fit(X, X[:, 0])

    class Slow(RandomAuditor):
        def _run_search(self, search, rng):
            search.evaluate(search.sample(2, rng).rows)
            clock.sleep(10)
            super()._run_search(search, rng)

    auditor = Slow(
        model, sensitive_features=[0], max_queries=None, max_time=5, n_restarts=3, random_state=0,
        space=InputSpace(bounds={1: (0, 10_000)}),
    )  # fmt: skip
    assert auditor.fit(X).stop_reason_.startswith("max_time=5 reached")


class Counts(BaseAuditor):
    """Measures how many batches it has judged, and what it was asked for."""

    def _run_search(self, search, rng):
        search.measured["n_batches"] = 0
        while True:
            search.evaluate(search.sample(50, rng).rows)
            search.measured["n_batches"] += 1

    def _own_results(self, found, space):
        of_each = [one["n_batches"] for one in found.measured]
        return {"n_batches_": sum(of_each), "of_each_": of_each, "beside": "kept apart"}


@pytest.mark.parametrize("n_workers", WORKERS)
def test_what_a_tester_measures_comes_back_from_each_search(n_workers):
    data = make_biased_classification(random_state=0)
    auditor = Counts(data.estimator, max_queries=3000, n_restarts=3, random_state=0)
    fit(auditor, data.data, n_workers)
    assert len(auditor.of_each_) == 3 and auditor.n_batches_ > 20
    assert auditor._state["beside"] == "kept apart" and not hasattr(auditor, "beside")


@slow_sample
@pytest.mark.parametrize("n_workers", WORKERS)
def test_steps_of_the_global_phase_are_counted_in_restarts_too(n_workers):
    data = make_biased_classification(random_state=0)
    params = {"max_queries": 1500, "random_state": 0, "n_restarts": 2}
    auditor = fit(MAFTAuditor(data.estimator, **params), data.data, n_workers)
    assert 1 < auditor.n_iter_ <= 10


@slow_sample
@pytest.mark.parametrize("limits", some([{"max_inputs": 1003}, {}, {"max_found": 1}]))
def test_the_number_of_workers_changes_nothing(limits):
    data = narrow()
    params = {"threshold": 2.0, "max_queries": 3000, "n_restarts": 5, "random_state": 0}
    runs = [
        figures(fit(RandomAuditor(data.estimator, **params, **limits), data.data, n))
        for n in (None, 3)
    ]
    assert runs[0] == runs[1]
