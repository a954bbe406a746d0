"""A closed gap is one whose bounds agree to `rtol`, with the rounding of the model's sums."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample, some

from skfairtest import CertifiedAuditor
from skfairtest.exact._bounding import close
from skfairtest.exact._verifier import BoundHistory, SolverLimits, SolverResult, Verifier


def certified(model, X, **params):
    settings = {"sensitive_features": [0], "max_queries": 500, "random_state": 0}
    return CertifiedAuditor(model, **(settings | {"engine": "numpy"} | params)).fit(X)


@pytest.mark.parametrize("engine", [pytest.param("numba", marks=pytest.mark.slow), "numpy"])
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_exponentials_of_large_sums_are_bounded_where_the_pair_is(engine, rate):
    # The sum of the largest leaves is 46: its exponential times a rounding error was 3e17.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 100), rng.normal(size=(100, 3))])
    y = np.exp(3 * rng.normal(size=100) + X[:, 0])
    model = HistGradientBoostingRegressor(
        loss="poisson", max_iter=60, min_samples_leaf=3, learning_rate=rate
    ).fit(X, y)
    auditor = certified(model, X, engine=engine)
    assert auditor.certified_, auditor.stop_reason_
    assert auditor.fairness_degree_upper_bound_ == pytest.approx(auditor.fairness_degree_, rel=1e-9)


@slow_sample
@pytest.mark.parametrize("change", some([1e-9, 1e-13]))
def test_rounding_in_an_exponent_is_not_taken_for_a_model_that_was_read_wrongly(change):
    # Outputs of 1e17 that hardly differ: two orders of the same sums are further apart than these.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 100), rng.normal(size=(100, 2))])
    y = 1e17 * (1 + change * (rng.normal(size=100) + X[:, 0]))
    model = HistGradientBoostingRegressor(
        loss="poisson", max_iter=200, min_samples_leaf=3, learning_rate=1.0
    ).fit(X, y)
    auditor = certified(model, X)
    assert auditor.fairness_degree_upper_bound_ < 1e10
    assert not auditor.certified_


def test_large_leaves_of_three_classes_leave_bounds_that_meet():
    rng = np.random.default_rng(23)
    X = np.column_stack([rng.integers(0, 3, 200), rng.normal(size=(200, 3))])
    score = X[:, 0] * (X[:, 1] > 0) + X[:, 2] + 0.3 * rng.normal(size=200)
    model = HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=3, learning_rate=1.0)
    auditor = certified(model.fit(X, np.digitize(score, [0, 1.0])), X, engine="numpy")
    assert auditor.certified_, auditor.stop_reason_
    assert auditor.gap_ <= 1e-9 * auditor.fairness_degree_upper_bound_


def test_a_model_whose_rounding_is_larger_than_rtol_is_not_certified():
    # Leaves of 1e12 beside a difference of 1: the last bits of the answers are 1e-4 of it.
    X = np.column_stack([np.tile([0.0, 1.0], 50), np.repeat([0.0, 1.0], 50)])
    model = DecisionTreeRegressor().fit(X, 1e12 * X[:, 1] + X[:, 0])
    auditor = certified(model, X, threshold=0.5)
    assert not auditor.certified_
    assert auditor.fairness_degree_upper_bound_ >= 1
    assert "rounding" in auditor.stop_reason_


def test_rounding_of_single_precision_is_named():
    """Columns of float32 near 100,000: the model says more than exact sums would."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.integers(0, 2, 300), "a": 1e5 + 1e3 * rng.random(300)})
    X = X.assign(b=1e5 * rng.random(300)).astype(np.float32)
    model = Ridge().fit(X, 0.5 * X["s"] + 0.01 * X["a"] + 0.001 * X["b"])
    auditor = certified(model, X, sensitive_features="s")
    exact = float(np.abs(model.coef_[0]))
    assert exact < auditor.fairness_degree_ <= auditor.fairness_degree_upper_bound_
    assert auditor.gap_ > 1e-4 * auditor.fairness_degree_upper_bound_
    assert not auditor.certified_
    assert "rounding" in auditor.stop_reason_ and "each output by 0.0" in auditor.stop_reason_
    double = X.astype(float)
    model = Ridge().fit(double, 0.5 * double["s"] + 0.01 * double["a"] + 0.001 * double["b"])
    assert certified(model, double, sensitive_features="s").certified_


#: A domain with too many inputs to look at all of them.
MANY = SimpleNamespace(n_inputs=np.inf, twins_=SimpleNamespace(n_combinations=2))


class Single(Verifier):
    """A verifier of single precision whose gap has a given width, relative to what is known."""

    def __init__(self, width):
        self.width = width

    def single_tolerance(self, top):
        return 0.1

    def root_bound(self):
        return 9.0

    def solve(self, incumbent, limits):
        return SolverResult(incumbent, incumbent * (1 + self.width), None, 1, "closed")


@pytest.mark.parametrize("width", [0.0, 5e-5, 2e-3, 0.04])
def test_single_precision_is_no_excuse_for_bounds_that_differ(width):
    worst = SimpleNamespace(outputs=np.array([2.121, 0.0]))
    search = SimpleNamespace(so_far=SimpleNamespace(degree=2.121), worst=worst, space=MANY)
    closed = close(search, Single(width), SolverLimits(np.inf, 1e-9), BoundHistory(lambda: 0.0))
    assert closed.bounds.upper == pytest.approx(2.121 * (1 + width))
    assert closed.bounds.certified == (width < 1e-4)
    if width:
        assert "rounding" in closed.reason or "differ by 0.0001" in closed.reason


@pytest.mark.parametrize(
    ("degree", "upper", "single", "certified"),
    [
        (1.0, 1.0, 0.0, True),
        (0.0, 0.0, 0.0, True),
        (1.0, 1.0 + 1e-6, 0.0, False),
        (1.0, 1.0 + 1e-6, 1e-5, True),
        (1.0, 1.0 + 1e-3, 1.0, False),
        (1.0, np.inf, 0.0, False),
        (1.0, np.inf, np.inf, False),
    ],
)
def test_what_is_certified_follows_from_both_bounds(degree, upper, single, certified):
    history = BoundHistory(lambda: 0.0)
    history.note(degree, upper, 0)
    bounds = history.bounds(degree, 1e-9, single)
    assert bounds.certified == certified and bounds.gap == upper - degree
    assert bounds.is_loose == (upper > 2 * degree)


class Closing(Verifier):
    """A verifier whose search stops as soon as its gap is as narrow as it has to be."""

    rounding = 1e-11

    def root_bound(self):
        return 2.0

    def solve(self, incumbent, limits):
        return SolverResult(incumbent, incumbent * (1 + limits.rtol), None, 1, "closed")


def test_a_search_that_stops_at_the_tolerance_leaves_room_for_rounding():
    search = SimpleNamespace(so_far=SimpleNamespace(degree=1.0), worst=None, space=MANY)
    closed = close(search, Closing(), SolverLimits(np.inf, 1e-9), BoundHistory(lambda: 0.0))
    assert closed.bounds.certified, closed.reason
    assert closed.bounds.upper > 1
    wide = close(search, Closing(), SolverLimits(np.inf, 0.1), BoundHistory(lambda: 0.0))
    assert wide.bounds.certified, wide.reason
