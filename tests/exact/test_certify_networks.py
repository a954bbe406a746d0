"""Certificates of networks: against enumeration of small domains, dense grids, and searches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from certify_cases import (
    certified,
    check_finite,
    check_real,
    exhaustive_degree,
    in_turn,
    small_table,
    solve_alone,
    some,
)
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tiers import slow_sample

from skfairtest import CertifiedAuditor, InputSpace
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._networks.activation_bounds import Layer, bounded_activation
from skfairtest.exact._networks.box_search import BoxSearch
from skfairtest.exact._networks.slope_search import SlopeSearch
from skfairtest.exact._verifier import SolverLimits
from skfairtest.whitebox._layers import RELU, TANH

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ACTIVATIONS = ("relu", "tanh", "logistic", "identity")
#: Those that bend, all but one of them for the slow run.
BENT = ["relu", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tanh", "logistic"))]
UNITS = [(5,), (4, 3), (3, 3, 2)]
#: Targets: a number, two classes, three classes.
TARGETS = (0, 2, 3)


def random_net(seed, activation, units, n_classes, *, real=False):
    """A pipeline with a network of random weights behind encoding and scaling, and its table."""
    X, y = small_table(seed, real=real)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    kind = MLPClassifier if n_classes else MLPRegressor
    net = kind(hidden_layer_sizes=units, activation=activation, max_iter=1, random_state=0)
    encode = make_column_transformer((OneHotEncoder(), ["s", "c"]), remainder=StandardScaler())
    model = make_pipeline(encode, net).fit(X, y)
    rng = np.random.default_rng(seed)
    for weights in (*net.coefs_, *net.intercepts_):
        weights[...] = rng.normal(size=weights.shape) * rng.choice([0.5, 1.0, 2.0])
    return model, X


@pytest.mark.parametrize(
    ("n_classes", "activation"), in_turn(TARGETS, {name: name for name in ACTIVATIONS})
)
def test_finite_domains_are_certified_exactly(activation, n_classes):
    seed = ACTIVATIONS.index(activation) + 10 * n_classes
    model, X = random_net(seed, activation, UNITS[seed % 3], n_classes)
    check_finite(model, X)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_many_finite_domains_are_certified_exactly(activation, seed):
    model, X = random_net(seed, activation, UNITS[seed % 3], TARGETS[seed // 3 % 3])
    auditor = check_finite(model, X, exact=False, max_queries=50)
    # Weights this large may leave a gap as wide as the rounding of the model's own sums.
    assert auditor.certified_ or "rounding" in auditor.stop_reason_


def grid_degree(auditor, n=41):
    """Largest difference of twins on a dense grid of two real columns, and all of the others."""
    space = auditor.space_
    grids = [
        column.grid()
        if space.domain.discrete[j]
        else np.linspace(space.domain.low[j], space.domain.high[j], n)
        for j, column in enumerate(space.domain.columns)
    ]
    free = np.array(list(itertools.product(*(grids[j] for j in space.non_sensitive))))
    answers = []
    for code in grids[space.sensitive[0]]:
        Z = np.zeros((len(free), space.n_features))
        Z[:, space.non_sensitive], Z[:, space.sensitive] = free, code
        table = space.decode(Z)
        model = auditor.estimator_
        answers.append(
            model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table)
        )
    return np.ptp(np.reshape(answers, (len(answers), len(free), -1)), axis=0).max()


@slow_sample
@pytest.mark.parametrize("activation", some(ACTIVATIONS, ("tanh", "identity")))
def test_bound_is_above_a_dense_grid_of_real_columns(activation, clock):
    clock.step = 0.02  # gaps that are meant to stay open
    n_classes = 2 * (activation in ("relu", "tanh"))
    model, X = random_net(3, activation, (4, 3), n_classes, real=True)
    X = X[["s", "c", "a", "b", "x", "y"]]
    bounds = {"a": (2, 3), "b": (0, 1)}
    auditor = certified(model, X, max_time=0.5, space=InputSpace(bounds=bounds))
    result, rounding = solve_alone(auditor, 0.5)
    found = grid_degree(auditor)
    assert 0 < found <= result.upper + rounding
    assert found <= auditor.fairness_degree_upper_bound_


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_many_bounds_are_above_what_searches_find(activation, seed):
    model, X = random_net(seed, activation, UNITS[seed % 3], TARGETS[seed // 3 % 3], real=True)
    check_real(model, X, exact=False)


@slow_sample
def test_networks_behind_steps_that_mix_columns():
    X, y = small_table(0)
    encode = make_column_transformer((OneHotEncoder(), ["s", "c"]), remainder=StandardScaler())
    net = MLPRegressor(
        hidden_layer_sizes=(4, 3), activation="tanh", solver="lbfgs", max_iter=100, random_state=0
    )
    check_finite(make_pipeline(encode, PCA(4), net).fit(X, y), X)


def test_a_network_of_the_identity_is_linear():
    model, X = random_net(0, "identity", (6, 4), 0)
    auditor = certified(model, X)
    assert auditor.certified_
    coded = model[0].transform(X)
    effect = np.linalg.multi_dot(model[1].coefs_).ravel()[:3]
    assert coded.shape[1] == len(model[1].coefs_[0])
    np.testing.assert_allclose(auditor.fairness_degree_, np.ptp(effect))


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_all_activations_are_supported(activation):
    assert CertifiedAuditor.supports(MLPRegressor(activation=activation))


# Slopes --------------------------------------------------------------------------------------


def check_slopes(model, X):
    """The bound by slopes alone is above the degree at each step, and comes down to it."""
    auditor = certified(model, X, max_time=0.1)
    degree = exhaustive_degree(auditor)
    verifier, _ = read_verifier(
        auditor.estimator_, auditor.space_, auditor.response_, False, np.random.default_rng(0)
    )
    limits = SolverLimits(np.inf, 1e-9)
    boxes = BoxSearch(verifier.relaxation, 0.0, limits)
    slopes = SlopeSearch.make(boxes, limits)
    slack = 1e-9 * degree + 2 * verifier.rounding
    bounds = [slopes.upper]
    while not slopes.queue.is_spent:
        slopes.step(degree * (1 + 1e-9))
        bounds.append(slopes.upper)
    assert min(bounds) >= degree - slack
    # Scores' differences alone do not close the gap of a probability.
    if verifier.network.out == "identity":
        assert bounds[-1] <= degree + slack
    assert boxes.queue.incumbent <= degree + slack
    return bounds


@pytest.mark.parametrize("activation", BENT)
def test_slopes_bound_a_regressor_exactly_in_the_end(activation):
    bounds = check_slopes(*random_net(5, activation, (4, 3), 0))
    assert bounds[0] > bounds[-1]


@slow_sample
def test_slopes_bound_a_classifier():
    check_slopes(*random_net(6, "relu", (3, 3, 2), 2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_slopes_bound_many_networks(seed):
    activation = ("relu", "tanh", "logistic")[seed % 3]
    check_slopes(*random_net(seed, activation, UNITS[1 + seed % 2], TARGETS[seed // 2 % 2]))


# Lines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", [RELU, TANH])
def test_lines_are_above_and_below(activation):
    rng = np.random.default_rng(0)
    n, bounded = 4000, bounded_activation(activation)
    scale = rng.choice([1e-9, 1e-3, 0.3, 2.0, 30.0], size=(2, n, 1))
    middle = rng.normal(size=(2, n, 1)) * scale
    middle[:, :50] = np.round(middle[:, :50])
    width = np.abs(rng.normal(size=(2, n, 1)) * scale)
    low, high = middle - width, middle + width
    less = rng.uniform(size=(n, 1)) * (high[0] - low[1] - (low[0] - high[1])) + low[0] - high[1]
    more = less + rng.uniform(size=(n, 1)) * (high[0] - low[1] - less)
    layer = Layer(tuple(low), tuple(high), less, more)
    y, other = (low[k] + rng.uniform(size=(n, 60)) * (high[k] - low[k]) for k in (0, 1))
    y[:, :2], other[:, 1:3] = np.hstack([low[0], high[0]]), np.hstack([low[1], high[1]])
    inside = (y - other >= less) & (y - other <= more)
    assert inside.mean() > 0.2
    value = bounded.value(y)
    above, above_at, below, below_at = bounded.lines(low[0], high[0])
    slack = 1e-12 * np.maximum(1.0, np.abs(y))
    assert (value <= above * y + above_at + slack).all()
    assert (value >= below * y + below_at - slack).all()
    gap, slack = value - bounded.value(other), slack + 1e-12 * np.abs(other)
    planes = bounded.planes(layer)
    above, above_at, below, below_at = bounded.lines_of_difference(layer)
    planes.append(((above, -above, above_at), (below, -below, below_at)))
    for top, bottom in planes:
        lines = [p[0] * y + p[1] * other + p[2] for p in (top, bottom)]
        assert (gap <= lines[0] + slack)[inside].all()
        assert (gap >= lines[1] - slack)[inside].all()
