"""What an import brings with it: names, and packages that take long."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tiers import slow_sample

import skfairtest
from skfairtest import mitigation

HEAVY = (
    "numba",
    "imblearn",
    "matplotlib",
    "torch",
    "dask",
    "skorch",
    "skops",
    "polars",
    "ot",
    "jinja2",
)


def loaded_by(*steps):
    """Names of the modules that a new interpreter has loaded after each step of code."""
    code = "\nimport sys; print(*sys.modules)\n".join([*steps, ""])
    run = subprocess.run(
        [sys.executable, "-c", code],
        check=True, capture_output=True, encoding="utf-8", cwd=Path(skfairtest.__file__).parents[1],
    )  # fmt: skip
    return [set(line.split()) for line in run.stdout.splitlines()]


@slow_sample
def test_imports_leave_out_what_takes_long():
    """In one process, as each takes seconds: what one of them loads stands in the list."""
    (loaded,) = loaded_by(
        "import skfairtest; skfairtest.RandomAuditor, skfairtest.make_audit_scorer\n"
        "import skfairtest.mitigation, skfairtest.datasets, skfairtest.group, skfairtest.testing\n"
        "skfairtest.base, skfairtest.inspection.PairDisplay(None).frame()\n"
        "from skfairtest import Limits"
    )
    assert {"skfairtest.base", "skfairtest.report"} <= loaded
    assert loaded & {*HEAVY, "skfairtest.exact"} == set()


#: What README's six lines do, on less; the last line is an audit.
AUDIT = (
    "from sklearn.ensemble import HistGradientBoostingClassifier as Model; import pandas",
    "from skfairtest import audit\nfrom skfairtest.datasets import load_loans",
    "X, y = load_loans(return_X_y=True); X, y = X[:300], y[:300]\n"
    "model = Model(max_depth=2, max_iter=5, random_state=0).fit(X, y)\n"
    "given = dict(favourable='granted', random_state=0, progress=False)\n"
    "str(audit(model, X, y, sensitive_features='community', moved=False, **given))",
)


@slow_sample
def test_an_audit_loads_only_what_it_needs():
    before, imported, after = loaded_by(*AUDIT)
    new = imported - before
    assert not new & {
        *HEAVY,
        "sklearn.neural_network",
        "skfairtest.exact",
        "skfairtest.model_selection",
    }
    own = {name for name in new if name.startswith("skfairtest.")}
    unused = (
        "individual._gradient",
        "individual._sbft",
        "group._testsgd",
        "inspection._pair_display",
    )
    assert not own & {f"skfairtest.{name}" for name in (*unused, "transports._optimal")}
    assert "skfairtest.exact._trees.numpy_engine" in after  # there is a certificate
    assert not (after - before) & {
        *HEAVY,
        "skfairtest.exact._trees.driver",
        "skfairtest.exact._networks",
    }


def test_import_of_the_package_alone_loads_nothing_large_and_a_name_its_own_module_only():
    package, names = loaded_by(
        "import skfairtest",
        "from skfairtest import Order\nfrom skfairtest.exceptions import EstimatorFailedError",
    )
    assert "skfairtest" in package
    assert package & {*HEAVY, "sklearn", "pandas", "scipy", "numpy"} == set()
    assert "skfairtest.space._constraints" in names
    assert names & {"sklearn", "skfairtest.base", "skfairtest.space._space"} == set()


def test_the_table_of_homes_says_where_the_names_are_defined():
    homes = skfairtest._HOMES
    assert {*skfairtest.__all__} == {*homes, "datasets"}
    for name, home in homes.items():
        module = import_module(f"skfairtest.{home}")
        assert getattr(skfairtest, name) is getattr(module, name)
        if name != "IDENTITY_TERMS":  # a dict
            assert getattr(module, name).__module__.startswith(module.__name__)


def test_the_table_has_all_that_its_modules_call_public():
    """As type checkers are shown star imports of these modules."""
    for home, names in skfairtest._NAMES.items():
        module = import_module(f"skfairtest.{home}")
        if home != "space._space":  # which is private, and shown by its one name
            assert names == module.__all__
    tree = ast.parse(Path(skfairtest.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    shown = {line.module.removeprefix("skfairtest.") for line in block.body} - {"skfairtest"}
    assert shown == set(skfairtest._NAMES)


def test_star_import_shadows_nothing():
    namespace = {}
    exec("from skfairtest import *", namespace)
    names = {name for name in namespace if not name.startswith("__")}
    assert names == set(skfairtest.__all__)
    assert names & (set(sys.stdlib_module_names) | set(dir(builtins))) == set()


def test_every_public_name_is_there_and_no_other():
    for name in skfairtest.__all__:
        value = getattr(skfairtest, name)
        assert getattr(value, "__name__", name).removeprefix("skfairtest.") == name
    assert set(skfairtest.__all__) | {"io", "exact", "mitigation", "model_selection"} <= set(
        dir(skfairtest)
    )
    assert skfairtest.io.TRUSTED_TYPES
    for package in (skfairtest, mitigation):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no.*'nothing'"):
            package.nothing  # noqa: B018
