"""Which engine takes the boxes of a model of trees apart, and what is done without time for it."""

import threading

import numpy as np
import pytest
from certify_cases import small_table
from certify_models import BENDING
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tiers import slow_sample

from skfairtest.exact._bracket import Limits
from skfairtest.exact._trees import driver
from skfairtest.exact._trees import family as families
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.exact._trees.numpy_engine import ListSearch
from skfairtest.exact._trees.rows_on_cells import outputs_of_twins
from skfairtest.space._space import InputSpace


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=(300, 4))])
    y = X[:, 0] * (X[:, 1] > 0) + X[:, 2]
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    return model, InputSpace().fit(X, [0])


def refuse(*args, **kwargs):
    raise AssertionError("compiled, though it should not be")


def test_auto_begins_with_numpy_where_nothing_is_compiled(forest, monkeypatch):
    monkeypatch.setattr(families, "AVAILABLE", True)
    monkeypatch.setattr(families, "is_compiled", lambda several=False: False)
    monkeypatch.setattr(families, "CompiledSearch", refuse)
    monkeypatch.setattr(families, "compiling", refuse)
    bracket = TreeFamily(*forest, "regression").solve(0.0, Limits(np.inf, 1e-9))
    assert bracket.reason == "closed"
    assert bracket.upper == pytest.approx(bracket.lower, rel=1e-9)


@pytest.mark.parametrize("fits", [True, False])
def test_numpy_goes_on_where_compiling_takes_too_long(forest, monkeypatch, fits):
    searched = []

    class Compiled(ListSearch):
        """In place of the compiled search: what it finds is compared with others elsewhere."""

        def __init__(self, problem, known, n_workers, start):
            super().__init__(problem, known, start=start)

        def run(self, deadline, rtol, note):
            searched.append(self.known)
            return super().run(deadline, rtol, note)

    monkeypatch.setattr(families, "NUMPY_FIRST", 0.0)
    monkeypatch.setattr(families, "AVAILABLE", True)
    monkeypatch.setattr(families, "warm_up", lambda several: None)

    class Compiling:
        def wait(self, until):
            waited.append(until)
            return fits

    waited = []
    monkeypatch.setattr(families, "is_compiled", lambda several=False: False)
    monkeypatch.setattr(families, "CompiledSearch", Compiled)
    monkeypatch.setattr(families, "compiling", lambda several: Compiling())
    limits = Limits(1e12, 1e-9)
    bracket = TreeFamily(*forest, "regression").solve(0.0, limits)
    assert len(searched) == fits
    assert waited == [1e12 - families.NUMPY_LAST]
    assert bracket.reason == "closed"
    again = TreeFamily(*forest, "regression", False).solve(0.0, limits)
    assert bracket.upper == pytest.approx(again.upper, rel=1e-9)


@slow_sample
def test_compiling_on_a_thread_of_its_own_leaves_nothing_to_compile():
    pytest.importorskip("numba")
    assert driver.compiling(True).wait(np.inf)
    assert driver.is_compiled(several=True)


def test_who_has_no_time_does_not_wait_for_the_compiler(monkeypatch):
    end = threading.Event()
    monkeypatch.setattr(driver, "warm_up", lambda several: end.wait())
    thread = driver.Compiling(False)
    thread.start()
    assert not thread.wait(-np.inf)
    end.set()
    assert thread.wait(np.inf)


@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes", "labels of sets"])
@slow_sample
def test_twins_of_rows_on_cells_are_those_of_the_trees(kind):
    pytest.importorskip("numba")
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=300), rng.integers(0, 4, 300)])
    X = np.column_stack([X, rng.normal(size=300).astype(np.float32), rng.normal(size=300)])
    z = X[:, 0] * (X[:, 1] > 0) + X[:, 2] % 2
    space = InputSpace().fit(X, [0, 4])
    if kind == "regression":
        model, response = RandomForestRegressor(5, max_depth=5, random_state=0).fit(X, z), kind
    else:
        sets = [0, 2] if kind == "labels of sets" else None
        labels = np.digitize(z, [0.5, 1.5] if kind == "three classes" else [0.9])
        model = HistGradientBoostingClassifier(
            max_iter=5, categorical_features=sets, min_samples_leaf=5, random_state=0
        ).fit(X, labels)
        response = "predict_proba"
    driver.warm_up(False)
    family = TreeFamily(model, space, response)
    plain = TreeFamily(model, space, response, compiled=False)
    rows, twins = X[:50], space.twins_.twin_codes
    values = np.broadcast_to(twins, (len(rows), *twins.shape))
    on_cells, by_tests = (f.evaluate_twins(rows, values) for f in (family, plain))
    assert on_cells.shape == by_tests.shape == (50, len(twins), len(family.outputs))
    # Trees that take no twins apart may be left out.
    spread = by_tests - by_tests[:, :1]
    np.testing.assert_allclose(on_cells - on_cells[:, :1], spread, atol=1e-12)
    assert np.abs(spread).max() > 0.01


@slow_sample
@pytest.mark.parametrize("kind", ["turned round", "splines"])
def test_twins_on_cells_of_bent_columns(kind):
    pytest.importorskip("numba")
    X, y = small_table(8, n=120, real=True)
    y = y + 2 * np.abs(X["y"]) * (X["s"] == "q")
    codes, step = ("text", OneHotEncoder(), ["s", "c"]), ("step", BENDING[kind], ["y"])
    columns = ColumnTransformer([codes, step], remainder="passthrough", sparse_threshold=0)
    forest = RandomForestRegressor(4, max_depth=4, random_state=0)
    fitted = make_pipeline(columns, forest).fit(X, y)
    space = InputSpace().fit(X, ["s", "y"])
    family = TreeFamily(fitted, space, "regression", False)
    rng = np.random.default_rng(0)
    rows = space.domain.draw(60, rng)
    values = np.stack([space.domain.draw(60, rng)[:, space.sensitive] for _ in range(4)], axis=1)
    on_cells = outputs_of_twins(family.problems[0], family.outputs[0], rows, values)
    twins = space.twins_.with_sensitive(np.repeat(rows, 4, axis=0), values.reshape(240, -1))
    said = family.evaluate(twins).reshape(60, 4)
    np.testing.assert_allclose(on_cells - on_cells[:, :1], said - said[:, :1], atol=1e-9)


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
    late = TreeFamily(model, InputSpace().fit(X, [0]), "predict_proba", False, deadline=0.0)
    exact = TreeFamily(model, InputSpace().fit(X, [0]), "predict_proba", False)
    upper = exact.solve(0.0, Limits(np.inf, 1e-9)).upper
    assert upper <= late.trivial() <= 1
