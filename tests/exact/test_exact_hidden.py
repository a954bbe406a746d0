"""One hidden layer: bounds by units hold everywhere; the local search reports what is there."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from certify_cases import some
from sklearn.compose import make_column_transformer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tiers import slow_sample
from verifiers import network_verifier

from skfairtest import CertifiedAuditor, RandomAuditor, SBFTAuditor
from skfairtest.exact._networks.lagrangian import Ramps, bound
from skfairtest.exact._networks.local_search import LocalSearch
from skfairtest.exact._networks.settings import NetworkSearchSettings
from skfairtest.exact._networks.unit_search import UnitSearch
from skfairtest.exact._verifier import SolverLimits
from skfairtest.space._space import InputSpace

NO_LIMITS = SolverLimits(np.inf, 0.0)


def table(rng, n=80, *, real=True):
    frame = pd.DataFrame({"s": rng.permutation(np.arange(n) % 4)})
    frame["c"] = pd.Series(rng.choice(np.array(["u", "v", "w"], dtype=object), n), dtype=object)
    frame["t"] = rng.permutation(np.arange(n) % 2)
    frame["k"] = rng.integers(0, 6, n)
    if real:
        frame["x"] = rng.normal(size=n) * 10.0 ** rng.integers(-2, 4)
        frame["y"] = rng.random(n).astype(np.float32)
    return frame


def network(seed, *, real=True, units=None, classes=False, outputs=1, single=False):
    """A network with weights at random behind encoders, and its verifier."""
    rng = np.random.default_rng(seed)
    frame = table(rng, real=real)
    texts = ["c", "t"] if rng.random() < 0.5 else ["c"]
    if rng.random() < 0.5:
        texts.append("s")  # else the sensitive attribute enters as a number
    numbers = [name for name in frame if name not in texts]
    columns = make_column_transformer((OneHotEncoder(), texts), (StandardScaler(), numbers))
    units = int(rng.integers(2, 14)) if units is None else units
    y = rng.normal(size=(len(frame), outputs)).squeeze()
    net = (MLPClassifier if classes else MLPRegressor)(
        hidden_layer_sizes=(units,), max_iter=2, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(columns, net).fit(frame, y > 0 if classes else y)
    for weights in net.coefs_:
        weights[:] = rng.normal(size=weights.shape) * 1.5
    net.intercepts_[0][:] = rng.normal(size=units)
    if single:
        net.coefs_ = [weights.astype(np.float32) for weights in net.coefs_]
        net.intercepts_ = [biases.astype(np.float32) for biases in net.intercepts_]
    sensitive = ["s"] if rng.random() < 0.5 else ["s", "t"]
    space = InputSpace().fit(frame, sensitive)
    verifier = network_verifier(model, space, "predict_proba" if classes else "regression")
    return model, frame, sensitive, verifier


def largest(verifier, Z):
    """Largest difference among twins over encoded rows, by the network as it was read."""
    space = verifier.space
    answers = []
    for values in space.twins_.sensitive_values:
        twins = Z.copy()
        twins[:, space.sensitive] = values
        answers.append(verifier.evaluate(twins))
    return float(np.ptp(np.stack(answers), axis=0).max())


def found_by_search(verifier):
    """Largest differences after each step of the local search, by the network as it was read."""
    search = LocalSearch(verifier.network, np.random.default_rng(0))
    while True:
        search.step(NO_LIMITS)
        answers = verifier.evaluate(np.stack(search.twins()))
        yield float(np.abs(answers[0] - answers[1]).max())


def every_row(space):
    grids = [space.domain.columns[j].grid() for j in space.non_sensitive]
    Z = np.repeat(space.domain.low[None], int(np.prod([len(grid) for grid in grids])), axis=0)
    Z[:, space.non_sensitive] = list(itertools.product(*grids))
    return Z


@pytest.mark.parametrize("seed", some(range(12), range(2, 12)))
def test_any_multipliers_give_a_bound_of_every_point(seed):
    *_, verifier = network(seed)
    units = UnitSearch.make(verifier.relaxation, NO_LIMITS)
    sets, effects = units.sets, verifier.network.effects
    rng = np.random.default_rng(seed)
    Z = verifier.rows(200, rng)
    Z[:, verifier.space.sensitive] = verifier.space.twins_.sensitive_values[0]
    sums = (
        verifier.network.features.transform(Z) @ verifier.network.weights[0]
        + verifier.network.biases[0]
    )
    sums = sums - sum(effects.tables[j][0] for j in verifier.network.sensitive)
    one, two = sets.parts[rng.integers(len(sets.parts), size=(2, 1))[:, 0]]
    n = len(effects.base)
    # A box of u that holds some of the points only.
    low = np.where(rng.random(n) < 0.2, sums[0] - 1.0, units.shared.least)
    high = np.where(rng.random(n) < 0.2, sums[0] + 1.0, units.shared.most)
    ramps = Ramps(*(a[None] for a in (verifier.network.weights[1][:, 0], one, two, low, high)))
    inside = ((sums >= low) & (sums <= high)).all(axis=1)
    inside[0] = True
    parts = ramps.at(sums[inside]).sum(axis=1)
    for steps in (1, 7, 60):
        multipliers = rng.normal(size=(1, n))
        found = bound(ramps, units.shared, multipliers, steps, 0.3)
        assert parts.max() <= found.bounds[0] + units.rounding


@pytest.mark.parametrize("seed", some(range(20), [0, *range(2, 20)]))
def test_units_never_fall_below_the_exhaustive_maximum(seed):
    *_, verifier = network(seed, real=False, classes=seed % 3 == 0, outputs=1 + (seed % 3 == 1))
    small = NetworkSearchSettings(max_nodes=4)
    units = UnitSearch.make(verifier.relaxation, NO_LIMITS, small)
    pairs = found_by_search(verifier)
    degree = largest(verifier, every_row(verifier.space))
    last = np.inf
    for _ in range(40):
        assert degree <= units.upper + verifier.rounding
        assert units.upper <= last + 1e-12
        last = units.upper
        for _ in range(6):
            units.step(0.0)
        found = next(pairs)
        assert found <= degree + verifier.rounding
    assert found >= 0.999 * degree  # the local search finds it on so small a grid


@slow_sample
@pytest.mark.parametrize("seed", some(range(100, 112), range(102, 112)))
def test_no_find_is_above_the_bound_of_units(seed):
    model, frame, sensitive, verifier = network(
        seed, classes=seed % 2 == 0, units=20, single=seed % 5 == 0
    )
    units, pairs = UnitSearch.make(verifier.relaxation, NO_LIMITS), found_by_search(verifier)
    for _ in range(30):
        units.step(0.0)
    upper = units.upper + 2 * verifier.rounding
    assert max(next(pairs) for _ in range(5)) <= upper
    for tester in (RandomAuditor, SBFTAuditor):
        found = tester(model, sensitive_features=sensitive, max_queries=500, random_state=0)
        assert found.fit(frame).fairness_degree_ <= upper
    assert largest(verifier, verifier.rows(2000, np.random.default_rng(seed))) <= upper


@pytest.mark.parametrize("seed", [200, 201, 202])
def test_local_search_report_what_the_network_answers(seed):
    *_, verifier = network(seed, classes=seed == 201)
    local_search = LocalSearch(verifier.network, np.random.default_rng(0))
    local_search.step(NO_LIMITS)
    local_search.step(NO_LIMITS)
    twins = np.stack(local_search.twins())
    answers = verifier.evaluate(twins)
    assert np.abs(answers[0] - answers[1]).max() == pytest.approx(local_search.best, rel=1e-5)
    assert (twins >= verifier.space.domain.low).all()
    assert (twins <= verifier.space.domain.high).all()
    np.testing.assert_array_equal(*twins[:, verifier.space.non_sensitive])


@slow_sample
def test_bounds_meet_by_units_and_are_the_same_again():
    model, frame, sensitive, _ = network(7, units=8)
    auditors = [
        CertifiedAuditor(
            model, sensitive_features=sensitive, rtol=0.05, max_time=None, max_queries=500,
            random_state=0,
        ).fit(frame)
        for _ in range(2)
    ]  # fmt: skip
    assert auditors[0].certified_
    assert auditors[0].fairness_degree_ == auditors[1].fairness_degree_
    assert auditors[0].fairness_degree_upper_bound_ == auditors[1].fairness_degree_upper_bound_


@slow_sample
def test_full_memory_ends_with_bounds():
    model, frame, sensitive, verifier = network(8, units=14)
    verifier.settings = NetworkSearchSettings(max_bytes=0, max_open_boxes=50)
    result = verifier.solve(0.0, SolverLimits(np.inf, 1e-9))
    assert largest(verifier, verifier.rows(500, np.random.default_rng(0))) <= result.upper
    assert result.lower <= result.upper


@pytest.mark.parametrize("n", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
def test_scales_beyond_single_precision_keep_the_bound(scale, n):
    for seed in range(300, 300 + n):
        model, *_ = case = network(seed, real=False)
        net = model[-1]
        net.coefs_[0] *= scale
        net.intercepts_[0] *= scale
        verifier = network_verifier(model, case[-1].space, "regression")
        degree = largest(verifier, every_row(verifier.space))
        units = UnitSearch.make(verifier.relaxation, NO_LIMITS)
        for _ in range(24):
            units.step(0.0)
            assert degree <= units.upper + 2 * verifier.rounding


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1400, 100))
def test_hundreds_of_networks_are_not_crossed(start):
    for seed in range(start, start + 100):
        *_, verifier = network(seed, real=bool(seed % 2), classes=seed % 3 == 0)
        units, pairs = UnitSearch.make(verifier.relaxation, NO_LIMITS), found_by_search(verifier)
        rows = verifier.rows(500, np.random.default_rng(seed))
        degree = largest(verifier, rows if seed % 2 else every_row(verifier.space))
        for _ in range(4):
            for _ in range(6):
                units.step(0.0)
            assert max(degree, next(pairs)) <= units.upper + 2 * verifier.rounding


@slow_sample
def test_single_precision_certifies_no_bounds_that_differ():
    """Where the sensitive column hardly counts, rounding is most of the gap."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 200), rng.random((200, 2))]).astype(np.float32)
    model = MLPRegressor(hidden_layer_sizes=(8,), max_iter=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, X.sum(axis=1))
        model.coefs_[0][0] *= np.float32(1e-4)
        auditor = CertifiedAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    low, high = auditor.fairness_degree_, auditor.fairness_degree_upper_bound_
    assert high > 1.01 * low and not auditor.certified_
    assert "rounding" in auditor.stop_reason_
