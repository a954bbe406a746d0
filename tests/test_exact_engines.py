"""Which engine takes the boxes of a model of trees apart, and what is done without time for it."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor

from skfairtest.exact._bracket import Limits
from skfairtest.exact._trees import family as families
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.space._space import InputSpace


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=(300, 4))])
    y = X[:, 0] * (X[:, 1] > 0) + X[:, 2]
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    return model, InputSpace.from_data(X, [0])


def refuse(*args, **kwargs):
    raise AssertionError("compiled, though it should not be")


def test_auto_begins_with_numpy_where_nothing_is_compiled(forest, monkeypatch):
    monkeypatch.setattr(families, "AVAILABLE", True)
    monkeypatch.setattr(families, "is_compiled", lambda: False)
    monkeypatch.setattr(families, "CompiledSearch", refuse)
    monkeypatch.setattr(families, "seconds_to_compile", refuse)
    bracket = TreeFamily(*forest, "regression").solve(0.0, Limits(np.inf, 1e-9))
    assert bracket.reason == "closed"
    assert bracket.upper == pytest.approx(bracket.lower, rel=1e-9)


@pytest.mark.parametrize("fits", [True, False])
def test_compiling_is_begun_only_where_it_fits(forest, monkeypatch, fits):
    pytest.importorskip("numba")
    searched = []

    class Compiled(families.CompiledSearch):
        def run(self, deadline, rtol):
            searched.append(self.known)
            return super().run(deadline, rtol)

    monkeypatch.setattr(families, "NUMPY_FIRST", 0.0)
    monkeypatch.setattr(families, "is_compiled", lambda: False)
    monkeypatch.setattr(families, "CompiledSearch", Compiled)
    monkeypatch.setattr(families, "seconds_to_compile", lambda: 0.0 if fits else np.inf)
    limits = Limits(1e12, 1e-9)
    bracket = TreeFamily(*forest, "regression").solve(0.0, limits)
    assert len(searched) == fits
    assert bracket.reason == "closed"
    again = TreeFamily(*forest, "regression", False).solve(0.0, limits)
    assert bracket.upper == pytest.approx(again.upper, rel=1e-9)


def test_where_there_is_no_time_to_read_the_ranges_of_the_trees_bound(forest):
    model, space = forest
    late = TreeFamily(model, space, "regression", False, deadline=-np.inf)
    exact = TreeFamily(model, space, "regression", False)
    assert late.problems == []
    assert late.trivial() == pytest.approx(exact.trivial())
    assert late.solve(0.0, Limits(-np.inf, 1e-9)).reason == "time"
    rows = late.rows(20, np.random.default_rng(0))
    np.testing.assert_allclose(late.evaluate(rows)[:, 0], model.predict(space.decode(rows)))


def test_ranges_bound_links_too():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=(300, 3))])
    y = np.digitize(X[:, 0] + X[:, 1], [0.5, 1.5])
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
    late = TreeFamily(model, InputSpace.from_data(X, [0]), "predict_proba", False, deadline=0.0)
    exact = TreeFamily(model, InputSpace.from_data(X, [0]), "predict_proba", False)
    upper = exact.solve(0.0, Limits(np.inf, 1e-9)).upper
    assert upper <= late.trivial() <= 1
