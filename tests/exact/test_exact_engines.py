"""Which engine takes the boxes of a model of trees apart, and what is done without time for it."""

import os
import subprocess
import sys
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from certify_cases import small_table
from places import TOP
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from verifiers import tree_verifier

from skfairtest import CertifiedAuditor, RandomAuditor, certify
from skfairtest.exact._trees import driver, stored_code
from skfairtest.exact._trees import verifier as verifiers
from skfairtest.exact._trees.numpy_engine import ListSearch
from skfairtest.exact._trees.tree_search import TreeSearchSettings
from skfairtest.exact._verifier import SolverLimits
from skfairtest.space._space import InputSpace


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=(300, 4))])
    y = X[:, 0] * (X[:, 1] > 0) + X[:, 2]
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    return model, InputSpace().fit(X, [0])


@pytest.fixture
def uncompiled(monkeypatch):
    """Nothing is compiled, and nobody may compile it."""

    def refuse(*args, **kwargs):
        raise AssertionError("compiled, though it should not be")

    monkeypatch.setattr(stored_code, "is_compiled", lambda: False)
    monkeypatch.setattr(driver, "warm_up", refuse)
    monkeypatch.setattr(driver, "CompiledSearch", refuse)


def test_auto_searches_with_numpy_where_nothing_is_compiled(forest, uncompiled):
    result = tree_verifier(*forest, "regression").solve(0.0, SolverLimits(np.inf, 1e-9))
    assert result.reason == "closed"
    assert result.upper == pytest.approx(result.lower, rel=1e-9)
    assert result.engine == ("numpy", "")


@pytest.mark.parametrize(("why_not", "brings"), [("", "skfairtest compile"), ("no", "pip install")])
def test_an_open_gap_of_numpy_says_what_compiling_brings(
    forest, uncompiled, clock, monkeypatch, why_not, brings
):
    monkeypatch.setattr(stored_code, "why_not", lambda: why_not)
    for compiled, says in ((None, brings), (False, "")):
        verifier = tree_verifier(*forest, "regression", compiled)
        result = verifier.solve(0.0, SolverLimits(clock.now() + 0.02, 1e-9))
        assert result.reason == "time"
        assert result.engine.library == "numpy"
        assert says in result.engine.advice and bool(says) == bool(result.engine.advice)


def test_the_page_and_the_auditor_say_which_engine_it_was(forest, uncompiled, monkeypatch):
    model, space = forest
    settings = {"sensitive_features": [0], "space": space, "random_state": 0}
    larger = RandomForestRegressor(30, random_state=0).fit(
        space.data, space.data[:, 1:] @ [1, -1, 1, 1]
    )
    auditor = CertifiedAuditor(larger, max_time=0.5, **settings).fit(space.data)
    assert auditor.engine_ == "numpy" and not auditor.certified_
    assert "skfairtest compile" in auditor.stop_reason_
    closed = certify(RandomAuditor(model, max_queries=60, **settings).fit(space.data))
    assert closed.engine == "numpy" and closed.certified
    assert "skfairtest compile" not in closed.stop_reason


def test_the_compiled_search_takes_over_from_the_best_bounds(forest, monkeypatch):
    begun = []

    class Compiled(ListSearch):
        """In place of the compiled search: what it finds is compared with others elsewhere."""

        library = "numba"

        def __init__(self, problem, incumbent, n_workers, n_outputs, settings):
            super().__init__(problem, incumbent)
            begun.append(incumbent)

    monkeypatch.setattr(stored_code, "is_compiled", lambda: True)
    monkeypatch.setattr(driver, "CompiledSearch", Compiled)
    brief = TreeSearchSettings(numpy_seconds=0.03)  # the search is a short one
    monkeypatch.setattr(verifiers.TreeVerifier, "settings", brief)
    notes = []
    limits = SolverLimits(1e12, 1e-9, lambda *bounds: notes.append(bounds[:2]))
    result = tree_verifier(*forest, "regression").solve(0.0, limits)
    assert result.reason == "closed" and result.engine == ("numba", "")
    assert len(begun) == 1 and begun[0] in [low for low, _ in notes]
    uppers = [upper for _, upper in notes]
    assert uppers == sorted(uppers, reverse=True)  # what NumPy had shown counts from there on
    again = tree_verifier(*forest, "regression", False).solve(0.0, limits)
    assert result.upper == pytest.approx(again.upper, rel=1e-9)


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """The empty folder of a cache, and the functions that Python calls with nothing in memory."""
    entries = [SimpleNamespace(signatures=[], py_func=f) for f in (small_table, store)]
    monkeypatch.setattr(stored_code, "why_not", str)
    monkeypatch.setattr(stored_code, "ENTRIES", entries)
    monkeypatch.setattr(stored_code, "_folder", lambda: tmp_path)
    monkeypatch.setattr(stored_code, "state_file", lambda: tmp_path / "state")
    return tmp_path


def store(function, folder, ending):
    """What numba leaves in the folder when it has compiled a function."""
    code = function.__code__
    name = f"module.{code.co_name}-{code.co_firstlineno}.py311{ending}"
    (folder / name).write_bytes(b"code")


def test_stored_code_counts_when_all_of_it_is_there(stored):
    stored_code.note_stored()
    assert not stored_code.is_compiled()
    for function in (small_table, store):
        assert not stored_code.is_compiled()
        store(function, stored, ".1.nbc")
    assert stored_code.is_compiled()
    stored_code.state_file().unlink()
    assert not stored_code.is_compiled()  # perhaps it is that of older sources


def test_code_in_memory_counts(stored):
    for entry in stored_code.ENTRIES:
        assert not stored_code.is_compiled()
        entry.signatures.append("types")
    assert stored_code.is_compiled()


def test_code_of_older_sources_is_not_taken(stored):
    ours, others = stored / "best_first.search-1.py311.1.nbc", stored / "module.f-1.py311.nbi"
    for path in (ours, others):
        path.write_bytes(b"code")
    stored_code.forget_older()
    assert not ours.exists() and others.exists()


def test_a_cache_that_cannot_be_written_to_is_no_error(stored, monkeypatch):
    monkeypatch.setattr(stored_code, "state_file", lambda: stored / "missing" / "state")
    stored_code.note_stored()
    assert not stored_code.is_compiled()


def test_what_another_kind_of_machine_has_stored_is_of_no_use(monkeypatch):
    pytest.importorskip("numba")
    names = set()
    for processor in ("generic", "other"):
        monkeypatch.setenv("NUMBA_CPU_NAME", processor)
        names.add(stored_code.state_file.__wrapped__())
    assert len(names) == 2


#: Certifies where numba can keep nothing, or is too old; {spoil} makes it so.
SPOILT = """
import warnings, numpy as np
import numba
{spoil}
from sklearn.ensemble import RandomForestRegressor
from skfairtest import CertifiedAuditor
from skfairtest.exact._trees.tree_search import TreeSearchSettings
from skfairtest.exact._trees.verifier import TreeVerifier
TreeVerifier.settings = TreeSearchSettings(numpy_seconds=0.0)
rng = np.random.default_rng(0)
X = np.column_stack([rng.integers(0, 2, 100), rng.normal(size=100)])
model = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0] * X[:, 1])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    auditor = CertifiedAuditor(model, sensitive_features=[0], random_state=0).fit(X)
assert auditor.certified_ and auditor.engine_ == "numpy"
print([str(one.message) for one in caught if "numba" in str(one.message)])
"""


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (
            "from numba.core import caching\n"
            "caching._CacheLocator.ensure_cache_path = lambda self: open('/missing/folder/file')",
            "numba finds no folder",
        ),
        ("numba.__version__ = '0.59.1'", "numba 0.59.1 is older than 0.60"),
    ],
)
@pytest.mark.slow
def test_numba_that_is_of_no_use_is_named_once(spoil, says):
    pytest.importorskip("numba")
    run = subprocess.run(
        [sys.executable, "-c", SPOILT.format(spoil=spoil)],
        capture_output=True, encoding="utf-8", cwd=TOP, check=True,
    )  # fmt: skip
    assert run.stdout.count(says) == 1 and run.stdout.count("numba") <= 2


#: Exits with 0 where all is stored, and loading it compiles nothing.
LOADS = """
from skfairtest.exact._trees import driver, stored_code
assert stored_code.is_compiled()
driver.warm_up()
assert all(entry.stats.cache_hits and not entry.stats.cache_misses for entry in stored_code.ENTRIES)
"""


@pytest.mark.slow
def test_the_command_leaves_nothing_to_compile(tmp_path):
    pytest.importorskip("numba")
    settings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "skfairtest", "compile"]
    first, second = (
        subprocess.run(
            command, capture_output=True, encoding="utf-8", cwd=TOP, env=settings, check=True
        )
        for _ in range(2)
    )
    assert first.stdout.startswith("Compiled in") and first.stderr.count("compiling") == 3
    assert second.stdout == "The compiled search is there already.\n" and not second.stderr
    subprocess.run([sys.executable, "-c", LOADS], cwd=TOP, env=settings, check=True)


def test_where_there_is_no_time_to_read_the_ranges_of_the_trees_bound(forest):
    model, space = forest
    late = tree_verifier(model, space, "regression", False, deadline=-np.inf)
    exact = tree_verifier(model, space, "regression", False)
    assert late.problems == []
    assert late.root_bound() == pytest.approx(exact.root_bound())
    assert late.solve(0.0, SolverLimits(-np.inf, 1e-9)).reason == "time"
    rows = late.rows(20, np.random.default_rng(0))
    np.testing.assert_allclose(late.evaluate(rows)[:, 0], model.predict(space.decode(rows)))


def test_ranges_bound_links_too():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=(300, 3))])
    y = np.digitize(X[:, 0] + X[:, 1], [0.5, 1.5])
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
    late = tree_verifier(model, InputSpace().fit(X, [0]), "predict_proba", False, deadline=0.0)
    exact = tree_verifier(model, InputSpace().fit(X, [0]), "predict_proba", False)
    upper = exact.solve(0.0, SolverLimits(np.inf, 1e-9)).upper
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
        assert tree_verifier(model, space, "regression", False, 2).n_workers == 1
    with joblib.parallel_config("threading"):
        assert tree_verifier(model, space, "regression", False, 2).n_workers == 2
