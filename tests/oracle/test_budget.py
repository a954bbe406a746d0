"""Tests of budgets: the size of batches, parts of a run, the time of a query, kinds of stops."""

from __future__ import annotations

import numpy as np
import pytest
from searches import handle_of
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from tiers import SAMPLE, slow_sample, some

from skfairtest import (
    AequitasAuditor,
    InputSpace,
    MAFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
)
from skfairtest.individual._surrogate.rounds import affordable
from skfairtest.oracle import _stagnation
from skfairtest.oracle._budget import Budget, CallTimes
from skfairtest.oracle._model import Model
from skfairtest.oracle._stagnation import STALL, STALL_INPUTS
from skfairtest.oracle._stop import StopReason, StopSearch


class Slow(RegressorMixin, BaseEstimator):
    """Takes a fifth of a millisecond a row, and a millisecond a call."""

    clock = None

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        if Slow.clock is not None:
            Slow.clock.sleep(1e-3 + 2e-4 * len(X))
        return X[:, 0] * (X[:, 1] > 0.8) + X[:, 2]


@pytest.fixture
def clock(clock, monkeypatch):
    """A clock that only the model moves on."""
    clock.step = 0.0
    monkeypatch.setattr(Slow, "clock", clock)
    return clock


def table(n=300):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.integers(0, 2, n), rng.random(n), rng.random(n)])


ALL = [AequitasAuditor, MAFTAuditor, RandomAuditor, SBFTAuditor, SurrogateAuditor, SymbolicAuditor,
       ThemisAuditor]  # fmt: skip


@pytest.mark.parametrize("max_queries", [None, pytest.param(100_000, marks=SAMPLE)])
@pytest.mark.parametrize("auditor", ALL)
def test_batches_follow_the_measured_time_of_a_query(clock, auditor, max_queries):
    params = {"margin": 1e-3} if auditor is ThemisAuditor else {}
    began = clock.now()
    fitted = auditor(Slow(), sensitive_features=[0], threshold=0.5, max_time=1, random_state=0,
                     max_queries=max_queries, **params).fit(table())  # fmt: skip
    assert fitted.stop_kind_ == "max_time"
    assert 0.999 <= clock.now() - began <= 1.1  # no pair is begun that would end later
    assert fitted.n_found_ > 0


class Far(ClassifierMixin, BaseEstimator):
    """Takes a hundredth of a second a call, however many rows it has, as a service may."""

    classes_ = np.array([0, 1])

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        Slow.clock.sleep(1e-2)
        p = 0.3 * X[:, 0] * (X[:, 1] > 0.8) + 0.7 * X[:, 2]
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


@pytest.mark.parametrize(
    ("auditor", "params"),
    some(
        [
            (RandomAuditor, {}),
            (SBFTAuditor, {}),
            (SurrogateAuditor, {}),
            (SurrogateAuditor, {"space": InputSpace(plausible="auto")}),
        ],
        3,
    ),
)
@pytest.mark.filterwarnings("ignore:X holds columns that identify rows")
def test_batches_grow_where_a_call_takes_long_and_a_row_does_not(clock, auditor, params):
    # All that the first call says, of one row, is that a query takes a hundredth of a second.
    fitted = auditor(
        Far(), sensitive_features=[0], max_time=1, max_queries=None, random_state=0, **params
    ).fit(table())
    assert fitted.n_queries_ > 10_000  # in a hundred calls


def test_a_batch_grows_no_further_once_its_rows_take_the_time(clock):
    budget = Budget(max_time=100)
    budget.took(1, 5.0)
    assert budget.queries_in_time(1 / 50) == 2  # nobody knows yet that it is the row
    budget.took(2, 10.0)
    assert budget.queries_in_time(1 / 50) == 1
    clock.sleep(80)
    budget.took(1, 5.0)
    assert budget.queries_in_time(1 / 50) < 1  # there is no time for a trial


def test_queries_asked_again_in_few_do_not_shrink_the_next_batch(clock):
    budget = Budget(max_time=1000)
    budget.took(8, 1.0)
    assert budget.queries_in_time(1 / 100) == 80
    budget.took(2, 1.0)  # as long as eight took, so that it is the call
    assert budget.queries_in_time(1 / 100) == 80
    budget.took(2, 5.0)  # longer than eight took: eight would take as long now
    assert budget.queries_in_time(1 / 100) == 16


def test_a_call_of_few_and_one_of_many_tell_what_is_the_call_and_what_its_queries():
    times = CallTimes()
    times.add(1, 0.5)
    assert times.fitting(5.0) == 10 and times.of_a_call == 0  # it may all be the query
    times.add(5, 0.5)
    assert times.is_mostly_the_call and times.of_a_call > 0.45 and times.fitting(5.0) > 200
    times.add(100, 50.0)  # slower than ever: nothing of before holds
    assert times.is_one and times.fitting(25.0) == 0 and times.fitting(100.0) == 200
    times.add(100, 0.001)  # it was only slow to begin
    assert times.at_most(1000) == pytest.approx(0.01)
    times.add(50, 0.04)  # late by chance
    assert times.at_most(100) < 0.05


def test_what_is_nearly_done_ends_in_one_call_and_a_slow_row_within_its_part(clock):
    budget = Budget(max_time=20)
    budget.run_ends = clock.now() + 100
    assert budget.next_call(1000) == 1  # nothing is known
    budget.calls.add(1, 0.5)
    assert budget.next_call(1000) == 36  # as many as end in the time of the part in any case
    budget.calls.add(8, 0.5)
    assert budget.next_call(1000) == 1000
    assert budget.next_call(10_000) > 3000  # a trial, in half of the time of the run
    clock.sleep(99.5)
    assert budget.next_call(1000) == 0
    assert Budget().next_call(1000) == 1000


def test_batches_share_out_the_time_of_the_twins_that_are_compared(clock):
    X = table()
    X[:, 0] = np.arange(len(X)) % 10
    space = InputSpace().fit(X, [0])
    search = handle_of(Slow(), space, max_time=10, max_queries=8000)
    search._budget.took(1000, 10.0)  # a hundredth of a second a query
    assert affordable(search, 4000) == 50  # two of ten twins: a tenth of the time
    search = handle_of(Slow(), space, max_queries=8000)
    assert affordable(search, 4000) == 100  # more than ten batches, to learn which two


def test_batches_of_the_whole_time_stay_as_large_until_little_is_left(clock):
    budget = Budget(max_time=100)
    budget.took(100, 1.0)
    budget.took(1000, 10.0)
    for _ in range(8):
        assert budget.queries_in_time(1 / 10, whole=True) == pytest.approx(1000)
        assert budget.queries_in_time(1 / 10) <= 1000
        clock.sleep(7.5)
    assert budget.queries_in_time(1 / 10, whole=True) == pytest.approx(1000)
    clock.sleep(20)
    assert budget.queries_in_time(1 / 10, whole=True) == pytest.approx(500)  # a quarter of it


def test_long_answers_end_the_run_in_time_as_well(clock):
    began = clock.now()
    search = handle_of(Slow(), InputSpace().fit(table(), [0]), max_time=1)
    with pytest.raises(StopSearch) as stopped:
        search.respond(np.random.default_rng(0).random((50_000, 3)))
    assert stopped.value.kind is StopReason.MAX_TIME
    assert clock.now() - began < 1.1
    assert search._record.history.arrays()["queries"][-1] == search.so_far.queries > 3000


def test_batches_without_max_time_do_not_depend_on_the_clock(clock):
    runs = []
    for seconds in (2e-4, 5.0):
        clock.sleep(seconds)
        search = handle_of(Slow(), InputSpace().fit(table(), [0]), max_queries=5000)
        search.evaluate(
            search.space.data, search.pairs(search.space.data, np.random.default_rng(0))
        )
        runs.append(search.affordable(batches=3))
    assert runs[0] == runs[1] == (5000 - search.so_far.queries) // (3 * 2)


def test_affordable_is_a_share_of_what_is_left():
    X = table()
    search = handle_of(Slow(), InputSpace().fit(X, [0]), max_queries=1000, max_inputs=60)
    assert search.affordable(batches=10) == 6  # of 60 inputs
    assert search.affordable(batches=10, cost_of_input=50) == 2  # of 1000 queries
    assert search.affordable(batches=1e9) == 1
    assert search.affordable(batches=10, least=8, most=30) == 8
    assert search.affordable(cost_of_input=1, most=30) == 30
    search.evaluate(X[:50], search.pairs(X[:50], np.random.default_rng(0)))
    assert search.left.queries == 900 - 10  # the first five pairs are asked twice
    assert search.left.inputs == 10
    assert search.affordable(batches=10) == 1
    assert search.affordable(batches=10, whole=True) == 6


def test_all_twins_are_compared_where_they_are_few_else_drawn_pairs(models):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 30, 400), rng.integers(0, 5, 400), rng.random(400)])
    model = models.Regressor(lambda X: X[:, 0] + 100 * X[:, 1])
    few = handle_of(model, InputSpace().fit(X, [1]))
    assert few.space.twins_.n_compared == 5 and few.pairs(X, rng) is None
    assert (few.evaluate(X).disparity == 400).all()
    many = handle_of(model, InputSpace().fit(X, [0]))
    assert many.space.twins_.n_compared == 2
    drawn = many.pairs(X, np.random.default_rng(1))
    judged = many.evaluate(X, drawn)
    np.testing.assert_array_equal(judged.disparity, np.ptp(drawn, axis=1)[:, 0])


# Parts of a run ----------------------------------------------------------------------------


def test_a_part_of_a_run_has_its_own_budget_and_gives_the_limits_back(models, small):
    search = handle_of(models.Regressor(lambda X: X[:, 0]), InputSpace().fit(small, [0]),
                    max_queries=100)  # fmt: skip
    with search.sub_budget(max_queries=6) as part:
        assert search.left.queries == 6
        search.evaluate(search.space.data)
    assert part.stop is not None and part.stop.kind is StopReason.MAX_QUERIES
    assert search.so_far.queries <= 6 and search.left.queries == 100 - search.so_far.queries
    with search.sub_budget(max_queries=1000) as part:
        assert search.left.queries == 100 - search.so_far.queries  # never more than the run's own
    assert part.stop is None
    with pytest.raises(RuntimeError, match="mine"), search.sub_budget(max_queries=1):
        raise RuntimeError("mine")
    assert search.left.queries == 100 - search.so_far.queries


def part_of(models, small, stop, *, max_queries=8, **limits):
    """The part of a run that reads the first rows again and again, until something ends it."""
    stops = {"progress": lambda share, line: stop}
    search = handle_of(
        models.Regressor(lambda X: X[:, 0]), InputSpace().fit(small, [0]), **limits, **stops
    )
    with search.sub_budget(max_queries=max_queries) as part:
        while True:
            search.evaluate(small[:2])
    return part.stop.kind


def test_a_part_of_a_run_catches_the_stops_that_are_its_own_alone(models, small, monkeypatch):
    monkeypatch.setattr(_stagnation, "STALL", 5)
    monkeypatch.setattr(_stagnation, "STALL_INPUTS", 10)
    assert part_of(models, small, stop=False) is StopReason.MAX_QUERIES
    assert part_of(models, small, stop=False, max_queries=1e9) is StopReason.STALLED
    others = [
        ({"stop": True}, "callback"),
        ({"stop": False, "max_queries": 1000, "max_inputs": 2}, "max_inputs"),
    ]
    for settings, kind in others:
        with pytest.raises(StopSearch) as stopped:
            part_of(models, small, **settings)
        assert stopped.value.kind.value == kind and stopped.value.owner is None


def test_a_part_leaves_the_limit_of_a_part_around_it_alone(models, small):
    search = handle_of(models.Regressor(lambda X: X[:, 0]), InputSpace().fit(small, [0]))
    with search.sub_budget(max_queries=6) as outer:
        with search.sub_budget(max_queries=1000) as inner:
            search.evaluate(search.space.data)
        pytest.fail("the limit of the outer part ends both")
    assert inner.stop is None and outer.stop.kind is StopReason.MAX_QUERIES


def test_a_domain_that_is_exhausted_ends_the_run_in_any_part(models):
    few = np.array([[0.0, 0.0], [1.0, 1.0]])
    search = handle_of(models.Regressor(lambda X: X[:, 0]), InputSpace().fit(few, [0]))
    with pytest.raises(StopSearch, match="^exhausted"), search.sub_budget(max_queries=1000):
        while True:
            search.evaluate(few)


@slow_sample
def test_ten_parts_that_stall_are_a_run_that_does(models, small):
    search = handle_of(models.Regressor(lambda X: X[:, 0]), InputSpace().fit(small, [0]))
    known = np.repeat(small[:1], 1000, axis=0)
    n_parts = 0
    with pytest.raises(StopSearch) as stopped:
        while n_parts < 50:
            with search.sub_budget() as part:
                for _ in range(2 * STALL):
                    search.evaluate(known[: STALL_INPUTS // STALL])
            assert part.stop is not None and part.stop.kind is StopReason.STALLED
            n_parts += 1
            search.evaluate(known)
    assert stopped.value.kind is StopReason.STALLED and n_parts <= 10 < STALL


def test_a_fork_asks_the_model_of_its_run(models, small, monkeypatch):
    search = handle_of(models.Regressor(lambda X: X[:, 0]), InputSpace().fit(small, [0]),
                    max_queries=50, max_inputs=30)  # fmt: skip
    search.evaluate(small[:3], search.pairs(small[:3], np.random.default_rng(0)))

    def build(*args, **kwargs):
        raise AssertionError("a fork needs no model of its own")

    monkeypatch.setattr(Model, "__init__", build)
    part = search.fork(InputSpace().fit(small, [1]), n_inputs=20)
    part.evaluate(small[:2])
    assert part.so_far.queries == search.so_far.queries > 6
    assert part.left.inputs == 10 - part.so_far.inputs


def test_a_fork_quotes_the_limits_of_the_user(models, small):
    search = handle_of(models.Regressor(lambda X: X[:, 0]), InputSpace().fit(small, [0]),
                    max_queries=500, max_inputs=30, max_time=1e6)  # fmt: skip
    search.evaluate(small[:3], search.pairs(small[:3], np.random.default_rng(0)))
    part = search.fork(InputSpace().fit(small, [1]), n_inputs=25)
    with pytest.raises(StopSearch, match="^max_inputs=30 reached$"):
        part.evaluate(small)
    assert part.so_far.inputs == 5
    with pytest.raises(StopSearch, match="^max_inputs=30 reached$"):
        search.fork(InputSpace().fit(small, [1]), n_inputs=30)


def test_a_fork_has_the_clock_of_its_run(models, small, clock):
    space = InputSpace().fit(small, [1])
    lines = []
    search = handle_of(models.Regressor(lambda X: X[:, 0]), InputSpace().fit(small, [0]),
                    max_time=5, progress=lambda share, line: lines.append(share))  # fmt: skip
    clock.sleep(3)
    part = search.fork(space, n_inputs=0)
    assert 1.5 < part.left.seconds <= 2
    clock.sleep(3)
    with pytest.raises(StopSearch, match="^max_time=5 reached$"):
        part.evaluate(small[:3])
    assert lines and lines[-1] >= 1
    with pytest.raises(StopSearch, match="^max_time=5 reached$"):
        search.fork(space, n_inputs=0)


def test_a_limit_of_zero_is_spent():
    spent = {"max_queries": 0, "max_time": 0.0, "max_found": 0, "max_inputs": 0}
    assert Budget(max_time=0.0).share_spent(spent) == 1
    assert Budget(max_queries=10).share_spent(spent) == 0


# Kinds of stops ----------------------------------------------------------------------------


def test_stops_have_a_kind_and_words():
    assert str(StopSearch(StopReason.CALLBACK)) == "a callback asked to stop"
    assert StopSearch(StopReason.OPEN, "not yet").text == "not yet"
    X = table()
    settings = {"sensitive_features": [0], "random_state": 0, "threshold": 0.5}
    by = {
        "max_queries": RandomAuditor(Slow(), max_queries=100, **settings),
        "max_found": RandomAuditor(Slow(), max_found=3, **settings),
        "max_inputs": RandomAuditor(Slow(), max_inputs=30, **settings),
        "complete": MAFTAuditor(Slow(), n_global=8, n_local=2, **settings),
    }
    for kind, auditor in by.items():
        assert auditor.fit(X).stop_kind_ == kind
        assert kind in auditor.stop_reason_ or kind == "complete"


class Interrupting(Slow):
    def predict(self, X):
        raise KeyboardInterrupt


def test_an_interrupted_run_says_so():
    auditor = RandomAuditor(Interrupting(), sensitive_features=[0])
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(table())
    assert (auditor.stop_kind_, auditor.stop_reason_) == ("interrupted", "interrupted")


def test_walks_that_go_round_do_not_end_the_run(models):
    # Islands of four valid inputs each: walks soon know theirs, other rounds find other islands.
    def allowed(X):
        return (X[:, 1] % 40 < 2) & (X[:, 2] % 40 < 2)

    X = np.array([[0, 0, 0], [1, 799, 799], [0, 40, 1], [1, 81, 40]])
    auditor = AequitasAuditor(
        models.Regressor(lambda X: X[:, 0]),
        sensitive_features=[0],
        n_global=30,
        max_queries=None,
        max_inputs=400,
        random_state=0,
        space=InputSpace(constraint=allowed),
    ).fit(X)
    assert auditor.n_found_ == 400 and auditor.stop_kind_ == "max_inputs"
