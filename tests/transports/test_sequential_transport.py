"""Orders and graphs: their errors, and how near planted twins the moved rows come."""

import numpy as np
import pandas as pd
import pytest
from planted_proxies import GRAPH, planted
from scipy.stats import ks_2samp
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from tiers import SAMPLE, slow_sample, some

from skfairtest.transports import SequentialTransport
from skfairtest.transports._learners import BoostedLine, Line, RidgeRegressions
from skfairtest.transports._settings import SETTINGS


def linear(**params):
    return SequentialTransport(
        regressor=LinearRegression(), classifier=LogisticRegression(), **params
    )


@pytest.fixture(scope="module")
def by_graph():
    """Planted rows, and where a graph moves them; most time goes into the models of a column."""
    groups, X, true = planted(4000, 0)
    return groups, X, true, SequentialTransport(graph=GRAPH).fit(X, groups).transport(X, groups)


def assert_near(moved, X, true):
    for name in ("age", "school", "hours", "pay"):
        assert (moved[name] - true[name]).abs().mean() / X[name].std() <= 0.25, name


@slow_sample
def test_moved_rows_come_near_planted_twins(by_graph):
    _, X, true, moved = by_graph
    assert_near(moved, X, true)


@pytest.mark.parametrize("params, seed", [
    pytest.param({"order": ["age", *GRAPH]}, 0, marks=SAMPLE),
    *(
        pytest.param(params, seed, marks=pytest.mark.slow)
        for params in ({"order": ["age", *GRAPH]}, {"graph": GRAPH})
        for seed in (1, 2)
    ),
])  # fmt: skip
def test_moved_rows_come_near_planted_twins_of_other_seeds_and_in_an_order(params, seed):
    groups, X, true = planted(4000, seed)
    assert_near(SequentialTransport(**params).fit(X, groups).transport(X, groups), X, true)


@slow_sample
def test_columns_reach_the_other_group(by_graph):
    groups, X, _, moved = by_graph
    for own in (0, 1):
        for name in ("age", "school", "hours", "pay"):
            assert ks_2samp(moved[name][groups == own], X[name][groups != own]).statistic < 0.05
        owned = (moved["home"] == "owned")[groups == own].mean()
        assert abs(owned - (X["home"] == "owned")[groups != own].mean()) < 0.04


def test_what_columns_have_to_do_with_each_other_is_moved_too():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 1000)
    cause = rng.normal(size=2000)
    effect = np.where(groups == 1, -3, 3) * cause + 0.1 * rng.normal(size=2000)
    X = pd.DataFrame({"cause": cause, "effect": effect})
    moved = linear(order=["cause", "effect"]).fit(X, groups).transport(X, groups)
    own = groups == 0
    assert np.corrcoef(moved["cause"][own], moved["effect"][own])[0, 1] < -0.99


@pytest.mark.parametrize("curved, most", some([(False, 0.06), (True, 0.22)]))
def test_models_are_simple_where_that_does(curved, most):
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 2000)
    x, z, noise = rng.normal(size=(3, 4000))

    def effect(x):
        return np.sin(2 * x) * 2 + z * x if curved else x - z

    X = pd.DataFrame({"x": x + groups, "z": z, "y": effect(x + groups) + noise / 2})
    moved = SequentialTransport(graph={"y": ["x", "z"]}).fit(X, groups).transport(X, groups, to=1)
    own = groups == 0
    true = effect(x + 1) + noise / 2
    assert np.abs(moved["y"] - true)[own].mean() / X["y"].std() < most


def test_errors_at_unseen_rows_follow_from_one_ridge_regression():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(12, 3))
    y = F @ [1.0, -2.0, 0.5] + rng.normal(size=12)
    line, unseen = RidgeRegressions.on(F).fit(y)
    errors = {}
    for penalty in SETTINGS.ridge_penalties:
        errors[penalty] = np.empty(12)
        for i in range(12):
            some = np.arange(12) != i
            left_out = Ridge(alpha=penalty).fit(F[some], y[some])
            errors[penalty][i] = y[i] - left_out.predict(F[[i]])[0]
    best = min(errors, key=lambda penalty: (errors[penalty] ** 2).mean())
    np.testing.assert_allclose(unseen, errors[best])
    np.testing.assert_allclose(line.predict(F), Ridge(alpha=best).fit(F, y).predict(F))


@slow_sample
def test_boosting_is_learned_only_where_lines_are_not_all():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 600)
    x, noise = rng.normal(size=(2, 1200))
    of_category = {
        "by x": rng.random(1200) < 1 / (1 + np.exp(-x)),
        "by distance": np.abs(x) > rng.uniform(0, 2, 1200),
    }
    X = pd.DataFrame({"x": x, "line": x + noise, "bow": x**2 + noise, "wide": x**2 * noise})
    X = X.assign(**{name: np.where(which, "p", "q") for name, which in of_category.items()})
    transport = SequentialTransport(graph={name: ["x"] for name in X if name != "x"})
    transport.fit(X, groups)
    maps = dict(zip(transport.sequence_.tolist(), transport.maps_, strict=True))
    for g in (0, 1):
        line, bow, wide = (maps[j].numbers[g] for j in (1, 2, 3))
        assert isinstance(line.mean, Line) and isinstance(line.spread, Line)
        assert isinstance(bow.mean, BoostedLine) and isinstance(wide.mean, Line)
        assert isinstance(wide.spread, HistGradientBoostingRegressor)
        assert isinstance(maps[4].choices[g].model, LogisticRegression)
        assert isinstance(maps[5].choices[g].model, HistGradientBoostingClassifier)


def test_kept_columns_are_parents():
    groups, X, _ = planted(1000, 0)
    transport = linear(order=["hours", "pay", "home"], keep=["age", "school"]).fit(X, groups)
    assert transport.sequence_.tolist() == [2, 3, 4]
    assert [c.parents.tolist() for c in transport.maps_] == [[0, 1], [0, 1, 2], [0, 1, 2, 3]]


def test_the_order_is_the_given_one_not_that_of_the_table():
    groups, X, _ = planted(1000, 0)
    order = ["home", "pay", "age", "hours", "school"]
    transport = linear(order=order).fit(X, groups)
    assert [X.columns[j] for j in transport.sequence_] == order
    parents = [[X.columns[j] for j in one.parents] for one in transport.maps_]
    assert [sorted(names) for names in parents] == [sorted(order[:k]) for k in range(5)]
    in_that_of_the_table = linear(order=list(X)).fit(X, groups).transport(X, groups)
    assert not transport.transport(X, groups).equals(in_that_of_the_table)


def test_a_graph_says_the_order():
    groups, X, _ = planted(1000, 0)
    transport = linear(graph={"age": ["pay"], "pay": "school"}).fit(X, groups)
    sequence = transport.sequence_.tolist()
    assert sequence.index(1) < sequence.index(3) < sequence.index(0)
    by_column = dict(zip(sequence, transport.maps_, strict=True))
    assert by_column[0].parents.tolist() == [3] and not len(by_column[2].parents)


def test_refused_orders_and_graphs():
    groups, X, _ = planted(200, 0)
    with pytest.raises(ValueError, match=r"leaves out \['pay', 'home'\]"):
        linear(order=["age", "school", "hours"]).fit(X, groups)
    with pytest.raises(ValueError, match="^order= names 'wage'"):
        linear(order=["wage"]).fit(X, groups)
    with pytest.raises(ValueError, match="twice|duplicate|more than once"):
        linear(order=["age", "age"]).fit(X, groups)
    with pytest.raises(ValueError, match="graph= has a circle: .*'pay'"):
        linear(graph={"age": ["pay"], "pay": ["age"]}).fit(X, groups)
    with pytest.raises(ValueError, match="graph= has a circle: 'age' -> 'age'"):
        linear(graph={"age": ["age"]}).fit(X, groups)
    with pytest.raises(ValueError, match="^graph= names 'wage'"):
        linear(graph={"age": ["wage"]}).fit(X, groups)
    with pytest.raises(TypeError, match="graph= must be a dict"):
        linear(graph=["age"]).fit(X, groups)
    with pytest.raises(ValueError, match="Both order= and graph="):
        linear(order=list(X), graph=GRAPH).fit(X, groups)


def test_models_learn_from_a_sample_of_rows():
    seen = []

    class Watching(LinearRegression):
        def fit(self, X, y):
            seen.append(len(X))
            return super().fit(X, y)

    groups, X, _ = planted(1000, 0)
    SequentialTransport(regressor=Watching(), max_rows=100).fit(X, groups)
    assert max(seen) == 100


def test_small_groups_are_moved_by_their_ranks():
    groups, X, _ = planted(60, 0)
    moved = linear().fit(X, groups).transport(X, groups)
    assert moved["pay"][groups == 0].mean() == pytest.approx(X["pay"][groups == 1].mean(), rel=0.1)


@slow_sample
def test_zeros_that_most_rows_have_stay_zeros():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 2000)
    age = rng.normal(40, 10, 4000) + 5 * groups
    has_gain = rng.random(4000) < 1 / (1 + np.exp(4.5 - 0.05 * age - 0.5 * groups))
    gain = np.where(has_gain, rng.lognormal(8, 1, 4000), 0.0)
    hours = np.where(rng.random(4000) < 0.6, 40, rng.integers(10, 70, 4000))
    X = pd.DataFrame({"age": age, "gain": gain, "hours": hours})
    moved = SequentialTransport().fit(X, groups).transport(X, groups)
    for own in (0, 1):
        here, there = moved[groups == own], X[groups != own]
        assert abs((here["gain"] == 0).mean() - (there["gain"] == 0).mean()) < 0.03
        assert abs((here["hours"] == 40).mean() - (there["hours"] == 40).mean()) < 0.03
        assert here["gain"].min() == 0 and here["gain"].max() <= there["gain"].max()


def test_models_that_cannot_be_learned_are_refused_in_fit():
    X = pd.DataFrame({"a": np.arange(100.0), "b": np.tile([0.0, 1.0], 50)})
    groups = np.repeat(["f", "m"], 50)
    for params, said in (
        ({"regressor": "ridge"}, "regressor must have the methods fit and predict; str has no"),
        ({"regressor": Ridge}, "regressor must be an instance; got the class Ridge"),
        ({"classifier": LinearSVC()}, "LinearSVC has no predict_proba"),
    ):
        with pytest.raises(TypeError, match=said):
            SequentialTransport(**params).fit(X, groups)
    with pytest.raises(ValueError, match="graph= has the parents of 'b' more than once"):
        SequentialTransport(graph={"b": ["a"], 1: []}).fit(X, groups)
