"""SurrogateAuditor: what it finds, and the parts that it is made of."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier
from tiers import SAMPLE, slow_sample

from skfairtest import AequitasAuditor, InputSpace, RandomAuditor, SurrogateAuditor
from skfairtest.datasets import make_biased_classification, make_biased_regression
from skfairtest.individual._surrogate.boundary import Boundary
from skfairtest.individual._surrogate.proposals import Bandit
from skfairtest.individual._surrogate.without_replacement import WithoutReplacement
from skfairtest.oracle._judgement import Judgement


@pytest.fixture
def space():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], size=200),
            "city": rng.choice(list("abcde"), size=200),
            "years": rng.integers(0, 30, size=200),
            "pay": rng.random(200),
        }
    )
    return InputSpace().fit(X, ["sex"])


@pytest.mark.parametrize("make, seeds", [
    pytest.param(make_biased_regression, range(1), id="regression"),
    pytest.param(make_biased_regression, range(5), id="regression five seeds", marks=SAMPLE),
    pytest.param(make_biased_classification, range(5), id="five seeds", marks=pytest.mark.slow),
])  # fmt: skip
def test_finds_far_more_than_random_testing_in_a_planted_pocket(make, seeds):
    for seed in seeds:
        data = make(variant="narrow", random_state=seed)
        # Half of the planted degree: about one uniform input in a thousand.
        settings = {"threshold": data.fairness_degree / 2, "random_state": seed}
        settings |= {"estimator": data.estimator, "sensitive_features": data.sensitive_features}
        found = SurrogateAuditor().set_params(**settings).fit(data.data).n_found_
        by_chance = RandomAuditor().set_params(**settings).fit(data.data).n_found_
        assert found >= 1000
        assert found >= 20 * max(by_chance, 1)


@slow_sample
def test_many_valued_attribute():
    data = make_biased_classification(variant="many-valued", random_state=0)
    settings = {"sensitive_features": data.sensitive_features, "random_state": 0}
    found = SurrogateAuditor(data.estimator, **settings).fit(data.data).n_found_
    assert found >= 5 * RandomAuditor(data.estimator, **settings).fit(data.data).n_found_ > 0


@pytest.fixture(scope="module")
def network():
    """A network over eight discrete columns, and its data: thin regions, and few of them."""
    rng = np.random.default_rng(0)
    sizes = np.array([2, 42, 8, 20, 10, 5, 7, 8])
    X = rng.integers(0, sizes, size=(1500, 8))
    X[:2] = [sizes * 0, sizes - 1]
    merit = X[:, 1:4] @ [0.03, 0.15, 0.03] + 0.4 * np.isin(X[:, 4], [1, 4, 7])
    merit += 0.5 * X[:, 0] * (X[:, 4] < 4) * (X[:, 7] > 3) + rng.normal(0, 0.5, len(X))
    with pytest.warns(UserWarning, match="Maximum iterations"):
        model = MLPClassifier((32, 16, 8), max_iter=15, random_state=0)
        return model.fit(X, merit > np.median(merit)), X


@slow_sample
def test_never_goes_round_among_known_inputs(network):
    model, X = network
    settings = {"sensitive_features": [0], "max_queries": 60_000, "random_state": 0}
    found, uniform, walks = (
        auditor(model, **settings).fit(X)
        for auditor in (SurrogateAuditor, RandomAuditor, AequitasAuditor)
    )
    assert found.n_found_ > 5 * uniform.n_found_
    assert found.n_found_ > 1.5 * walks.n_found_
    # Two twins each, and two predictions that confirm an input: no query went into known inputs.
    assert found.n_queries_ < 2 * found.n_inputs_ + 2.1 * found.n_found_ + 300


@pytest.fixture
def thin(models):
    """A linear model whose twins differ by a thousandth of its range; reals and whole numbers."""
    X = np.random.default_rng(0).random((300, 5))
    X[:, 0] = np.arange(300) % 2
    X[:, 4] = np.arange(300) % 9

    def share(Z):
        return 1 / (1 + np.exp(-4 * (Z[:, 1] + Z[:, 2] - Z[:, 3] - Z[:, 4] / 8) - 0.01 * Z[:, 0]))

    return models.Proba(share), X


def test_finds_a_layer_that_is_thinner_than_a_step(thin):
    model, X = thin
    settings = {"sensitive_features": [0], "max_queries": 20_000, "random_state": 0}
    found, by_chance = (
        auditor(model, **settings).fit(X).n_found_ for auditor in (SurrogateAuditor, RandomAuditor)
    )
    assert found > 50 * by_chance > 0  # without moves onto the boundary it was 1 to 4 times


def test_moves_end_on_the_boundary_that_the_labels_show(thin):
    model, X = thin
    space = InputSpace().fit(X, [0])
    rng = np.random.default_rng(0)
    Z = space.domain.draw(400, rng)
    log_odds = [4 * (Z[:, 1] + Z[:, 2] - Z[:, 3] - Z[:, 4] / 8) + 0.01 * sex for sex in (1, 0)]
    outputs = 1 / (1 + np.exp(-np.stack(log_odds, axis=1)))
    pair = np.broadcast_to([[1.0], [0.0]], (400, 2, 1))
    for cut in (0.5, 0.8):  # a tuned threshold is told by the labels alone
        labels = (outputs > cut).astype(int)
        judged = Judgement(
            outputs[:, 0] - outputs[:, 1], pair[:, 0], pair[:, 1], labels[:, 0] != labels[:, 1],
            outputs, np.zeros(400, dtype=int), labels, pair, outputs[:, 0] - outputs[:, 1],
            np.ones(400, dtype=bool), np.zeros(400, dtype=np.uint64),
        )  # fmt: skip
        boundary = Boundary(SimpleNamespace(space=space, response="predict_proba", threshold=None))
        margins = boundary.margins(judged)
        boundary.learn(Z, judged, margins)
        moved = boundary.moved(300, rng)
        ends = model.predict_proba(space.domain.clip(moved.Z))[:, 1]
        assert np.quantile(np.abs(ends - cut), 0.8) < 0.02
    # A threshold on the disparity, or a third class, leaves no boundary.
    search = SimpleNamespace(space=space, response="predict_proba", threshold=0.1)
    assert Boundary(search).margins(judged) is None
    assert boundary.margins(judged._replace(output=judged.output + 1)) is None


def test_many_twins_inherit_the_pair(models):
    rng = np.random.default_rng(0)
    X = rng.integers(0, [60, 50, 50, 50], size=(500, 4))
    X[:2] = [[0, 0, 0, 0], [59, 49, 49, 49]]
    # Only one value of sixty is treated differently: 3% of the pairs show it.
    model = models.Proba(lambda Z: 0.2 + 0.6 * ((Z[:, 0] == 7) & (Z[:, 1] > 20)))
    auditor = SurrogateAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    assert auditor.discrimination_rate_ > 0.5


def test_draws_without_replacement_show_every_input_once(space):
    X = np.random.default_rng(0).integers(0, [2, 3, 7, 11], size=(300, 4))
    X[:2] = [[0, 0, 0, 0], [1, 2, 6, 10]]
    finite = InputSpace().fit(X, [0])
    rng = np.random.default_rng(1)
    draws = WithoutReplacement.of(finite, rng)
    parts = []
    while not draws.is_over:
        parts.append(draws.draw(20, rng)[:, 1:])
    Z = np.concatenate(parts)
    assert len(Z) == len(np.unique(Z, axis=0)) == finite.n_inputs == 3 * 7 * 11
    assert max(map(len, parts)) == 20
    # In no order that a tenth of them would show: each column's mean is near its domain's.
    assert np.abs(Z[:100].mean(axis=0) - Z.mean(axis=0)).max() < 1
    assert WithoutReplacement.of(space, rng) is None  # a real column has no end of inputs


@slow_sample
def test_knows_when_the_domain_is_exhausted(models):
    X = np.random.default_rng(0).integers(0, [2, 11, 22, 33], size=(400, 4))
    X[:2] = [[0, 0, 0, 0], [1, 10, 21, 32]]
    model = models.Proba(lambda Z: 0.2 + 0.6 * ((Z[:, 0] == 1) & (Z[:, 2] > 15)))
    auditor = SurrogateAuditor(model, sensitive_features=[0], max_queries=10**6, random_state=0)
    auditor.fit(X)
    assert auditor.stop_kind_ == "exhausted"
    assert auditor.n_inputs_ == 11 * 22 * 33
    assert auditor.n_found_ == 11 * 6 * 33


@slow_sample
@pytest.mark.parametrize("seed", [0, 13])
def test_a_domain_of_few_inputs_and_many_twins_ends_when_all_twins_were_compared(models, seed):
    X = np.column_stack([np.arange(40), np.arange(40) % 3])
    model = models.Proba(lambda Z: 0.2 + 0.6 * (Z[:, 0] == 39) * (Z[:, 1] < 2))
    settings = {"max_queries": 10**6, "space": InputSpace(bounds={0: (0, 39)})}
    auditor = SurrogateAuditor(model, sensitive_features=[0], random_state=seed, **settings).fit(X)
    assert auditor.stop_kind_ == "exhausted"
    # One pair in twenty shows it. Each input is tried again, long after all three were judged.
    assert auditor.n_found_ == 2


def test_bandit_favours_what_brings_most_for_its_cost():
    bandit = Bandit(3)
    is_open = np.array([True, True, False])
    first = bandit.shares(is_open, 0.05)
    assert first[2] == 0 and first.sum() == pytest.approx(1)
    assert first[:2].min() > 0.4  # nobody is known yet
    for _ in range(5):
        # The second finds more, the first costs less.
        bandit.learn(np.full(3, 100.0), np.full(3, 50.0), np.array([30.0, 40, 0]),
                     np.array([30.0, 90, 1]))  # fmt: skip
    shares = np.mean([bandit.shares(is_open, 0.05) for _ in range(6)], axis=0)
    assert shares[0] > 0.9 and 0.01 < shares[1] < 0.1
    np.testing.assert_allclose(bandit.proposals_for_one(), 2, rtol=0.05)


@slow_sample
def test_same_seed_same_result_whatever_the_time(network, clock):
    model, X = network
    runs = []
    for pace in (1.0, 7.0):
        clock.step = pace
        auditor = SurrogateAuditor(model, sensitive_features=[0], max_queries=8000,
                                   random_state=3).fit(X)  # fmt: skip
        runs.append(auditor.discriminatory_inputs_)
    np.testing.assert_array_equal(*runs)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1; got 0"),
        ({"explore_share": 0.0}, r"explore_share must be a number in \(0, 1\]; got 0.0"),
    ],
)
def test_bad_parameters(params, message):
    data = make_biased_regression(random_state=0)
    with pytest.raises(ValueError, match=message):
        SurrogateAuditor(data.estimator, **params).fit(data.data)


class Diagonal(OutlierMixin, BaseEstimator):
    """Takes rows for plausible in which two columns agree."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.where(X["a"] == X["b"], 1, -1)


@pytest.mark.parametrize("explores", [True, False], ids=["finite", "real"])
def test_a_search_that_has_asked_about_all_that_is_plausible_ends(explores, clock):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 200) + (0.0 if explores else rng.random(200))
    b = np.where(rng.random(200) < 0.9, a, a[rng.permutation(200)])
    X = pd.DataFrame({"sex": rng.integers(0, 2, 200), "a": a, "b": b}).round(3)
    if explores:
        X = X.astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(X, X["a"] + X["sex"] > 2)
    # The time ends the test where the search does not end by itself.
    auditor = SurrogateAuditor(
        model,
        sensitive_features=["sex"],
        max_time=10,
        random_state=0,
        space=InputSpace(plausible=Diagonal().fit(X)),
    ).fit(X)
    assert auditor.stop_kind_ in ("complete", "exhausted", "stalled")
    assert auditor.n_queries_ < 20_000
    if explores:
        assert auditor.n_inputs_ == 4


class Remembering(Diagonal):
    """Remembers the rows that it was asked about."""

    def predict(self, X):
        self.asked_ = pd.concat([getattr(self, "asked_", X[:0]), X])
        return super().predict(X)


def test_a_detector_is_asked_once_for_each_row():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 9, 300)
    X = pd.DataFrame(
        {"sex": rng.integers(0, 2, 300), "a": a, "b": a, "c": rng.integers(0, 50, 300)}
    )
    model = DecisionTreeClassifier(random_state=0).fit(X, X["a"] + 3 * X["sex"] > X["c"] / 5)
    space = InputSpace(plausible=Remembering().fit(X)).fit(X, ["sex"])
    judge = space.plausibility._detector
    judge.asked_ = X[:0]
    auditor = SurrogateAuditor(model, space=space, max_queries=800, random_state=0).fit(X)
    assert auditor.n_found_ > 20
    assert not judge.asked_.duplicated().any()
