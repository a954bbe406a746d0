"""Ctrl-C leaves the bounds that are known at that moment, whatever the run was doing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tiers import some

from skfairtest import CertifiedAuditor, InputSpace, Order, RandomAuditor, certify
from skfairtest.exact import _bounding
from skfairtest.exact._verifier import BoundHistory, SolverLimits, Verifier
from skfairtest.individual._sbft.tuned import TunedSearch

N_MOMENTS = 10
#: Seconds of one reading of the clock, and of a run: gaps stay open, and boxes are looked into.
#: A power of two, so that what is left of the time is the same number whenever a run begins: it
#: says how many nodes are cut in one go.
STEP, SECONDS = 1 / 32, {"network": 4.0, "classes": 30.0}


def table(n=300):
    rng = np.random.default_rng(0)
    # Whole numbers: reading the model takes few looks at the clock.
    X = np.column_stack(
        [rng.integers(0, 3, n), rng.integers(0, 6, n), rng.integers(40, size=(n, 4))]
    )
    X = X.astype(float)
    X[:, 2:] = X[:, 2:] - 20
    y = X[:, 0] * (X[:, 2] > 0) + X[:, 3] * X[:, 2] / 50 + (X[:, 1] == 4) + 0.3 * rng.normal(size=n)
    return X, y


def forest(X, y):
    return RandomForestRegressor(15, max_depth=7, random_state=0).fit(X, y)


FAMILIES = {
    "trees": forest,
    "classes": lambda X, y: HistGradientBoostingClassifier(max_iter=15, random_state=0).fit(
        X, np.digitize(y, [0, 1])
    ),
    "network": lambda X, y: make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(8, 6), max_iter=60, random_state=0)
    ).fit(X, y),
    "around": lambda X, y: CalibratedClassifierCV(
        HistGradientBoostingClassifier(max_iter=20, random_state=0), cv=2
    ).fit(X, y > 1),
    "constrained": forest,
}


def auditor_of(kind):
    X, y = table()
    if kind == "constrained":
        X[:, 2:4].sort(axis=1)
    space = InputSpace(constraint=Order(2, "<=", 3)) if kind == "constrained" else None
    model = FAMILIES[kind](X, y)
    settings = {"sensitive_features": [0], "max_queries": 300, "random_state": 0, "space": space}
    return CertifiedAuditor(model, max_time=SECONDS.get(kind, 12.0), engine="numpy", **settings), X


@pytest.fixture
def moments(monkeypatch):
    """Reads, in a run that nobody interrupts, when the clock is read while bounds are searched."""

    def of(clock, fit):
        spans = []
        close = _bounding.close

        def spied(*args):
            began = clock.n_readings
            try:
                return close(*args)
            finally:
                spans.append((began - start, clock.n_readings - start))

        for module in ("_auditor", "_certify"):
            monkeypatch.setattr(f"skfairtest.exact.{module}.close", spied)
        start = clock.n_readings
        fit()
        monkeypatch.undo()
        ((first, last),) = spans
        assert last - first >= N_MOMENTS
        return np.linspace(first + 1, last, N_MOMENTS).astype(int)

    return of


def check_fits(auditor):
    """The figures of an interrupted audit fit each other, and its model."""
    upper, degree = auditor.fairness_degree_upper_bound_, auditor.fairness_degree_
    assert (auditor.stop_kind_, auditor.stop_reason_) == ("interrupted", "interrupted")
    assert auditor.gap_ == upper - degree >= 0
    assert auditor.is_loose_ == (upper > 2 * degree)
    assert auditor.certified_ == (auditor.gap_ <= auditor.rtol * upper)
    last = auditor.bound_history_.iloc[-1]
    assert (last["degree"], last["bound"], last["boxes"]) == (degree, upper, auditor.n_boxes_)
    outputs = auditor.worst_case_outputs_
    assert degree == pytest.approx(float(np.ptp(outputs)), abs=1e-12)


@pytest.mark.parametrize(
    "kind", some(["network", *(kind for kind in FAMILIES if kind != "network")])
)
def test_bounds_that_are_interrupted_are_the_best_so_far(kind, clock, moments):
    auditor, X = auditor_of(kind)
    clock.step = STEP
    whole = auditor_of(kind)[0]
    times = moments(clock, lambda: whole.fit(X))
    truth, bound = whole.fairness_degree_, whole.fairness_degree_upper_bound_
    uppers, degrees = [], []
    for moment in times:
        clock.interrupts_at = clock.n_readings + int(moment)
        with pytest.raises(KeyboardInterrupt):
            auditor.fit(X)
        check_fits(auditor)
        uppers.append(auditor.fairness_degree_upper_bound_)
        degrees.append(auditor.fairness_degree_)
        # What was known to hold is never below what was found, nor tighter than the whole run.
        assert truth * (1 - 1e-9) <= uppers[-1]
        assert bound * (1 - 1e-9) <= uppers[-1]
    assert uppers == sorted(uppers, reverse=True)
    assert degrees == sorted(degrees)
    assert degrees[-1] >= truth * (1 - 1e-9)
    if kind != "around":  # its bound is worked out of those of the models inside, at the end
        assert uppers[-1] < uppers[0]


@pytest.mark.parametrize("kind", some(["trees", "network"]))
def test_a_certificate_that_is_interrupted_is_the_best_so_far(kind, clock, moments):
    auditor, X = auditor_of(kind)
    found = RandomAuditor(
        auditor.estimator, sensitive_features=[0], max_queries=60, random_state=0
    ).fit(X)
    clock.step = STEP

    def run():
        return certify(found, max_time=auditor.max_time, engine="numpy")

    times = moments(clock, run)
    results = []
    for moment in times:
        clock.interrupts_at = clock.n_readings + int(moment)
        one = run()
        results.append(one)
        assert one.stop_reason == "interrupted"
        assert one.gap == one.fairness_degree_upper_bound - one.fairness_degree >= 0
        assert one.bound_history.iloc[-1]["bound"] == one.fairness_degree_upper_bound
        assert one.fairness_degree >= found.fairness_degree_
    uppers = [one.fairness_degree_upper_bound for one in results]
    assert uppers == sorted(uppers, reverse=True) and uppers[-1] < uppers[0]


def test_what_comes_before_the_search_for_a_bound_leaves_the_bound_of_ranges(monkeypatch):
    auditor, X = auditor_of("trees")

    def interrupted(search):
        search.search.evaluate(search.search.sample(5, search.rng).rows)
        raise KeyboardInterrupt

    monkeypatch.setattr(TunedSearch, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(X)
    check_fits(auditor)
    assert auditor.n_boxes_ == 0 < auditor.fairness_degree_


def test_a_model_that_is_not_read_yet_has_no_bound(monkeypatch):
    auditor, X = auditor_of("classes")

    def interrupted(*args, **params):
        raise KeyboardInterrupt

    monkeypatch.setattr("skfairtest.exact._auditor.read_verifier", interrupted)
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(X)
    assert auditor.stop_kind_ == "interrupted"
    assert not hasattr(auditor, "fairness_degree_upper_bound_") and not hasattr(auditor, "gap_")
    assert not len(auditor.bound_history_)


class Noting(Verifier):
    """A verifier whose search knows a pair, and is interrupted before it returns it."""

    def __init__(self, twins):
        self.twins = twins

    def root_bound(self):
        return 9.0

    def solve(self, known, limits):
        limits.note(4.0, 5.0, 3, lambda: self.twins)
        limits.note(4.0, 4.5, 4)
        raise KeyboardInterrupt


def test_the_model_confirms_the_pair_that_a_search_knew(monkeypatch):
    asked, history = [], BoundHistory(lambda: 0.0)

    class Told:
        so_far, worst = SimpleNamespace(degree=1.0), None
        space = SimpleNamespace(n_inputs=np.inf, twins_=SimpleNamespace(n_combinations=2))

    monkeypatch.setattr(_bounding, "confirm", lambda search, *pair: asked.append(pair))
    twins = np.zeros(2), np.ones(2)
    with pytest.raises(KeyboardInterrupt):
        _bounding.close(Told(), Noting(twins), SolverLimits(np.inf, 0.0), history)
    assert [pair is not None for pair in asked] == [True]
    np.testing.assert_array_equal(asked[0], twins)
    assert (history.upper, history.n_boxes) == (4.5, 4)
