"""Which engine takes the boxes of a model of trees apart, and what is done without time for it."""

import gc
import os
import subprocess
import sys
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from certify_cases import small_table
from certify_models import BENDING
from clocks import HANGING
from detached import start_python
from places import TOP
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample

from skfairtest.exact._bracket import Limits
from skfairtest.exact._trees import driver, numpy_engine, stored_code
from skfairtest.exact._trees import family as families
from skfairtest.exact._trees.best_first import hand_over
from skfairtest.exact._trees.best_first import search as search_boxes
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.exact._trees.local_search import search_locally
from skfairtest.exact._trees.numpy_engine import ListSearch
from skfairtest.exact._trees.rows_on_cells import outputs_of_twins
from skfairtest.space._space import InputSpace
from skfairtest.workers import _detached
from skfairtest.workers._detached import locked


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=(300, 4))])
    y = X[:, 0] * (X[:, 1] > 0) + X[:, 2]
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    return model, InputSpace().fit(X, [0])


def refuse(*args, **kwargs):
    raise AssertionError("compiled, though it should not be")


@pytest.fixture
def uncompiled(monkeypatch):
    """Nothing is compiled; the list has an entry for each time that a compiler was asked for."""
    asked = []
    monkeypatch.setattr(families, "is_compiled", lambda *functions: False)
    monkeypatch.setattr(families, "compile_apart", lambda: asked.append(1))
    monkeypatch.setattr(families, "warm_up", refuse)
    return asked


def test_auto_searches_with_numpy_where_nothing_is_compiled(forest, uncompiled, monkeypatch):
    monkeypatch.setattr(families, "CompiledSearch", refuse)
    bracket = TreeFamily(*forest, "regression").solve(0.0, Limits(np.inf, 1e-9))
    assert uncompiled == [1]
    assert bracket.reason == "closed"
    assert bracket.upper == pytest.approx(bracket.lower, rel=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
def test_no_process_compiles_where_the_engine_is_named(forest, uncompiled, compiled):
    TreeFamily(*forest, "regression", compiled)
    assert uncompiled == []


def test_no_process_compiles_for_a_single_tree(uncompiled):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    tree = DecisionTreeRegressor(random_state=0).fit(X, [0.0, 1.0, 2.0, 5.0])
    family = TreeFamily(tree, InputSpace().fit(X, [0]), "regression")
    assert family.solve(0.0, Limits(np.inf, 1e-9)).upper == pytest.approx(3.0)
    assert uncompiled == []


def test_numpy_leaves_as_soon_as_all_is_compiled(forest, uncompiled, monkeypatch):
    begun, n_left = [], 5

    class Compiled(ListSearch):
        """In place of the compiled search: what it finds is compared with others elsewhere."""

        def __init__(self, problem, incumbent, n_workers):
            super().__init__(problem, incumbent)
            self.incumbent = incumbent
            begun.append(incumbent)

        def run(self, deadline, rtol, note, walks):
            return super().run(deadline, rtol, note)

    def is_compiled(*functions):
        nonlocal n_left
        if search_locally in functions:
            return False
        n_left -= 1
        return n_left < 0

    monkeypatch.setattr(families, "is_compiled", is_compiled)
    monkeypatch.setattr(families, "CompiledSearch", Compiled)
    monkeypatch.setattr(numpy_engine, "LOOKS_EVERY", 1)  # the search is a short one
    notes = []
    limits = Limits(1e12, 1e-9, lambda *bracket: notes.append(bracket[:2]))
    bracket = TreeFamily(*forest, "regression").solve(0.0, limits)
    assert bracket.reason == "closed"
    again = TreeFamily(*forest, "regression", False).solve(0.0, limits)
    assert bracket.upper == pytest.approx(again.upper, rel=1e-9)
    # What NumPy had found is where the compiled search begins.
    assert begun == [max(low for low, _ in notes[:4])]


def test_a_local_search_that_is_compiled_helps_numpy(forest):
    pytest.importorskip("numba")
    family = TreeFamily(*forest, "regression", False)
    search, asked = ListSearch(family.problems[0], 0.0), []

    def has(*functions):
        asked.append(functions)
        return functions == (search_locally,)

    search.heuristic.step = lambda box, step=search.heuristic.step: (
        asked.append("step") or step(box)
    )
    bracket = search.run(np.inf, 1e-9, has=has)
    assert asked[:3] == [(hand_over, search_boxes), (search_locally,), "step"]
    exact = family.solve(0.0, Limits(np.inf, 1e-9))
    assert bracket.reason == "closed"
    assert bracket.lower == pytest.approx(exact.lower, rel=1e-9)


@pytest.mark.parametrize(
    ("now", "n_cores", "compiles", "waits"),
    [(100.0, 2, True, [6.0]), (100.0, 2, False, []), (100.0, 4, True, []), (1.0, 2, True, [])],
)
def test_numpy_leaves_room_for_compilers(monkeypatch, now, n_cores, compiles, waits):
    waited = []
    monkeypatch.setattr(stored_code._clock, "now", lambda: now)
    monkeypatch.setattr(stored_code, "cpu_count", lambda: n_cores)
    monkeypatch.setattr(stored_code, "_compiles", lambda: compiles)
    monkeypatch.setattr(stored_code.time, "sleep", waited.append)
    stored_code.leave_room(0.0, now - 2.0, np.inf)
    assert waited == waits
    # Nobody waits beyond the time limit.
    stored_code.leave_room(0.0, now - 2.0, now + 1.0)
    assert waited == [*waits, *[1.0 for _ in waits]]


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """The empty folder of a cache, and the functions that Python calls with nothing in memory."""
    entries = [SimpleNamespace(signatures=[], py_func=f) for f in (refuse, small_table)]
    monkeypatch.setattr(stored_code, "AVAILABLE", True)
    monkeypatch.setattr(stored_code, "ENTRIES", entries)
    monkeypatch.setattr(stored_code, "_folder", lambda: tmp_path)
    monkeypatch.setattr(stored_code, "state_file", lambda: tmp_path / "state")
    stored_code._start.cache_clear()
    yield tmp_path
    stored_code._start.cache_clear()


def store(function, folder, ending):
    """What numba leaves in the folder when it has compiled a function."""
    code = function.__code__
    name = f"module.{code.co_name}-{code.co_firstlineno}.py311{ending}"
    (folder / name).write_bytes(b"code")


def test_stored_code_counts_when_all_of_it_is_there(stored):
    assert not stored_code.is_compiled()
    for function in (refuse, small_table):
        store(function, stored, ".nbi")
        store(function, stored, ".1.nbc")
        assert not stored_code.is_compiled()  # perhaps it is that of older sources
    first, second = stored_code.ENTRIES
    with locked(stored_code.state_file()):
        assert not stored_code.is_compiled()
        stored_code.note_stored(first)
        assert stored_code.is_compiled(first)
        assert not stored_code.is_compiled(second)
        assert not stored_code.is_compiled()
        stored_code.note_stored(second)
    assert stored_code.is_compiled()
    next(stored.glob("*.nbc")).unlink()
    assert not stored_code.is_compiled()


def test_code_in_memory_counts(stored):
    for entry in stored_code.ENTRIES:
        assert not stored_code.is_compiled()
        entry.signatures.append("types")
    assert stored_code.is_compiled()


def test_one_process_compiles_for_all(stored, monkeypatch):
    started = []
    monkeypatch.setattr(_detached, "start_python", started.append)
    with locked(stored_code.state_file()) as is_free:
        assert is_free
        stored_code.compile_apart()
        assert started == []
    stored_code.compile_apart()
    stored_code.compile_apart()
    assert started == [stored_code.STATEMENTS]


@pytest.mark.parametrize("why", ["stored", "no numba", "no folder"])
def test_no_process_compiles(stored, monkeypatch, why):
    monkeypatch.setattr(_detached, "start_python", refuse)
    if why == "stored":
        for function in (refuse, small_table):
            store(function, stored, ".1.nbc")
        for entry in stored_code.ENTRIES:
            stored_code.note_stored(entry)
    elif why == "no numba":
        monkeypatch.setattr(stored_code, "AVAILABLE", False)
    else:
        monkeypatch.setattr(stored_code, "state_file", lambda: stored / "missing" / "state")
        stored_code.note_stored(stored_code.ENTRIES[0])
    stored_code.compile_apart()


def test_who_finds_another_compiler_at_work_leaves_it_alone(tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setattr(driver, "state_file", lambda: tmp_path / "state")
    monkeypatch.setattr(driver, "_compile_search", lambda: None)
    monkeypatch.setattr(driver, "start_python", lambda statements: None)
    monkeypatch.setattr(driver, "warm_up", lambda: compiled.append(1))
    monkeypatch.setattr(driver, "RARELY", gc.get_threshold())
    with locked(tmp_path / "state"):
        driver.fill_cache()
    assert compiled == []
    driver.fill_cache()
    assert compiled == [1]


def test_what_another_kind_of_machine_has_stored_is_of_no_use(monkeypatch):
    pytest.importorskip("numba")
    names = set()
    for processor in ("generic", "other"):
        monkeypatch.setenv("NUMBA_CPU_NAME", processor)
        names.add(stored_code.state_file.__wrapped__())
    assert len(names) == 2


#: Exits with 0 where all is stored, and loading it compiles nothing.
LOADS = """
from skfairtest.exact._trees import driver, stored_code
assert stored_code.is_compiled()
driver.warm_up()
assert all(entry.stats.cache_hits and not entry.stats.cache_misses for entry in stored_code.ENTRIES)
"""


@pytest.mark.slow
def test_another_process_leaves_nothing_to_compile(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    started, begin = [], subprocess.Popen

    def keep(*args, **settings):
        started.append(begin(*args, **settings))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", keep)
    monkeypatch.setattr(sys, "path", [str(TOP), *sys.path])
    start_python(stored_code.STATEMENTS)
    assert started[0].wait(HANGING) == 0
    monkeypatch.undo()
    settings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", LOADS], cwd=TOP, env=settings, check=True)


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
    driver.warm_up()
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
    assert late.root_bound() == pytest.approx(exact.root_bound())
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
    assert upper <= late.root_bound() <= 1


@pytest.mark.services("distributed")
def test_no_threads_of_this_machine_stand_in_for_a_cluster(forest):
    import distributed

    model, space = forest
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        assert TreeFamily(model, space, "regression", False, 2).n_workers == 1
    with joblib.parallel_config("threading"):
        assert TreeFamily(model, space, "regression", False, 2).n_workers == 2
