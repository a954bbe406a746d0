"""Imports run downward only, and every public name is exported and documented."""

import ast
from pathlib import Path

import pytest

import skfairtest

PACKAGE = Path(skfairtest.__file__).parent

#: From the bottom up; a module may import from lower layers, and from its own only where listed in
#: BESIDE. Every module has a place here: a new one must be given one.
LAYERS = [
    [
        "exceptions",
        "_protected",
        "_keys",
        "_columns",
        "_docs",
        "_progress",
        "_delegation",
        "_checks",
    ],
    ["_containers", "_valid_rows", "_wishes"],
    ["_space", "_fitting"],
    ["_model", "_archive"],
    ["_judging", "_answering"],
    ["_oracle"],
    ["_results"],
    ["base"],
    ["whitebox", "whitebox._library_code"],
    ["whitebox._unwrap"],
    [
        "individual._operators",
        "individual._regions",
        "individual._seeds",
        "individual._torch_gradient",
    ],
    ["individual._random", "individual._sbft_paper", "individual._sbft_tuned"],
    ["individual._aequitas", "individual._themis_sample"],
    ["individual._themis_subsets"],
    ["individual._themis"],
    ["individual._surrogate", "individual._gradients_of"],
    ["individual._explanations", "individual._two_phase"],
    ["individual._gradient_kinds"],
    ["individual._symbolic", "individual._gradient"],
    ["individual._sbft"],
    ["individual"],
    ["group._attributes", "group._cells", "group._intervals", "group._terms", "group._docs"],
    ["group._answers", "group._rules", "group._results", "group._sampling", "group._tables"],
    ["group._base", "group._ranking", "group._textsample"],
    ["group._pool", "group._textsgd"],
    ["group._testsgd"],
    ["group"],
    ["mitigation._tables", "mitigation._panel", "mitigation._estimate"],
    ["mitigation._labels", "mitigation._task"],
    ["mitigation._folds"],
    ["mitigation._course"],
    ["mitigation._twins", "mitigation._groups"],
    ["mitigation._augmenter", "mitigation._retrainer"],
    ["mitigation"],
    ["_refit"],
    ["exact._closing", "exact._reach", "exact._scaling", "exact._trees", "exact._trees.compiled"],
    ["exact._steps", "exact._trees.descend", "exact._trees.heap", "exact._trees.split_choice"],
    ["exact._chains", "exact._effects", "exact._trees.leaf_pairs", "exact._trees.threshold_cells"],
    ["exact._ramps", "exact._relax", "whitebox._tree_model"],
    [
        "exact._splits",
        "exact._trees.grid",
        "exact._trees.link_bounds",
        "exact._units",
        "exact._walk",
        "whitebox._sklearn_trees",
    ],
    [
        "exact._boosting",
        "exact._hidden",
        "exact._trees.best_first",
        "exact._trees.doubled_domain",
        "exact._trees.local_search",
    ],
    ["exact._trees.pairs", "exact._trees.workers", "whitebox._histogram_trees"],
    ["exact._trees.lookup", "exact._trees.problem", "whitebox._ensembles"],
    ["exact._bracket"],
    ["exact._linear", "exact._trees.driver", "exact._trees.numpy_engine"],
    ["exact._network", "exact._trees.family"],
    ["exact._family"],
    ["exact._auditor"],
    ["exact._certify"],
    ["exact"],
    ["testing", "_demo", "comparison", "model_selection", "io"],
    ["datasets._response", "datasets._sources"],
    ["datasets._known"],
    ["datasets._planted", "datasets._loaders", "datasets._comments"],
    ["datasets"],
    ["__init__"],
    ["__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def module_name(path):
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module in ("skfairtest", "skfairtest.individual", "skfairtest.exact"):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == "skfairtest" or name.startswith("skfairtest."):
                short = name.removeprefix("skfairtest").removeprefix(".")
                while short and short not in LEVEL:
                    short = short.rpartition(".")[0]
                yield short or "__init__"


#: Made by the package, never by a user.
RESULT_TYPES = {"AuditorComparison", "DiscriminationEstimate", "FoundPairs", "RowsAudit"}

MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_run_downward(path):
    name = module_name(path)
    assert name in LEVEL, f"{name} has no layer: give it one in LAYERS"
    upward = [other for other in imported_modules(path) if LEVEL[other] >= LEVEL[name]]
    assert upward == [], f"{name} imports from its own layer or above: {upward}"


def test_the_walk_sees_imports():
    assert "_oracle" in set(imported_modules(PACKAGE / "base.py"))


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_rooms_stay_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


def test_public_names_are_exported_and_listed():
    for name in skfairtest.__all__:
        assert hasattr(skfairtest, name)
    listing = PACKAGE.parent / "docs" / "api.md"
    text = listing.read_text(encoding="utf-8")
    missing = [name for name in skfairtest.__all__ if name not in text]
    assert missing == []


def test_public_docstrings_have_examples():
    for name in skfairtest.__all__:
        value = getattr(skfairtest, name)
        if isinstance(value, type) and value.__name__ not in RESULT_TYPES:
            assert "Examples" in (value.__doc__ or ""), name
            assert "{parameters}" not in value.__doc__
