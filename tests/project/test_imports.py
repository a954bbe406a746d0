"""The package as a graph of modules: imports run down only, in a circle nowhere.

Folders have floors, files have none, so a new tester needs no line here. Every import counts, also
one inside a function or under TYPE_CHECKING, relative or not.
"""

import ast
import functools
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from statements import statements

import skfairtest

PACKAGE = Path(skfairtest.__file__).parent

#: From the ground up. A module may import from floors below its folder's, and from its own folder;
#: folders on one floor do not know each other. Private files at the top of the package are on the
#: ground floor, but for those that have a floor of their own.
FLOORS = [
    {"_", "exceptions"},
    {"space", "workers"},
    {"finding"},  # tells the values of tables
    {"_validation"},  # of tables, too
    {"oracle", "whitebox", "transports"},
    {"_audit_results"},
    {"base"},
    {"transports"},
    {"individual", "group"},
    {"exact"},  # begins with the search of an individual tester
    {"mitigation"},
    {"inspection"},  # shows what all below have found
    {"datasets", "report"},
    {"model_selection"},  # gives what it has found as a page
    {"testing"},  # for tests of users: of auditors, and of models by limits of a report
    {"io"},  # trusts what all others can be asked to save
    {"__init__"},
    {"cli"},
    {"__main__"},
]
MOST_PRIVATE_MODULES = 10
#: What belongs to scikit-learn alone is imported by one file.
ISOLATED = "whitebox._library_code"


def module_name(path, package=PACKAGE):
    parts = list(path.relative_to(package).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def modules_of(package):
    return {module_name(path, package): path for path in sorted(package.rglob("*.py"))}


def absolute(node, name, path):
    """The whole name of the module that a relative import begins at."""
    if not node.level:
        return node.module or ""
    whole = ["skfairtest", *([] if name == "__init__" else name.split("."))]
    if path.name == "__init__.py" and name != "__init__":
        whole.append("__init__")
    elif name == "__init__":
        whole.append("__init__")
    return ".".join(whole[: -node.level] + ([node.module] if node.module else []))


@functools.cache
def imports_of(source):
    """The import statements of a file's text."""
    kinds = (ast.Import, ast.ImportFrom)
    return [node for node in statements(ast.parse(source)) if isinstance(node, kinds)]


def imported_names(name, path):
    """Every name that a file imports, with the module it is imported from."""
    for node in imports_of(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(node, name, path)
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def graph_of(package):
    """For each module, the modules of the package that it imports."""
    modules = modules_of(package)
    graph = {}
    for name, path in modules.items():
        graph[name] = set()
        for whole in imported_names(name, path):
            if whole.partition(".")[0] != "skfairtest":
                continue
            short = whole.partition(".")[2]
            while short and short not in modules:
                short = short.rpartition(".")[0]
            graph[name].add(short or "__init__")
        graph[name].discard(name)
    return graph


FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def room_of(name):
    """The folder at the top of the package, the file if it is in none, or "_" for small files."""
    first = name.partition(".")[0]
    return "_" if first.startswith("_") and first not in FLOOR_OF else first


def floor_of(name):
    assert room_of(name) in FLOOR_OF, f"{name} has no floor: give its folder one in FLOORS"
    return FLOOR_OF[room_of(name)]


def upward(graph):
    """Imports from another folder that is not on a floor below."""
    return [
        f"{name} imports {other}"
        for name, others in sorted(graph.items())
        for other in sorted(others)
        if floor_of(other) >= floor_of(name) and room_of(other) != room_of(name)
    ]


def circle(graph):
    """Modules that import each other in a circle, or none."""
    # A package's own file imports what is in its folder; that is no circle unless these import it.
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def private_modules(package):
    return [path.name for path in package.glob("_*.py") if not path.name.startswith("__")]


def private_imports(package):
    """Imports of scikit-learn's private modules and names outside of the file that isolates."""
    return [
        f"{name} imports {whole}"
        for name, path in modules_of(package).items()
        for whole in imported_names(name, path)
        if whole.startswith("sklearn.")
        and any(part.startswith("_") and part != "__version__" for part in whole.split("."))
        and name != ISOLATED
    ]


@pytest.fixture(scope="module")
def graph():
    return graph_of(PACKAGE)


def test_imports_run_downward(graph):
    assert upward(graph) == []


def test_no_circle(graph):
    assert circle(graph) == []


def test_few_private_modules_at_the_top():
    assert len(private_modules(PACKAGE)) <= MOST_PRIVATE_MODULES


def test_private_modules_of_scikit_learn_are_left_alone():
    assert private_imports(PACKAGE) == []


# The tests themselves see what they are there for ----------------------------------------------


@pytest.fixture
def house(tmp_path):
    """A small package with the floors of ours; what is given is added to it."""

    def build(**files):
        package = tmp_path / "skfairtest"
        plain = {
            "__init__": "from skfairtest.individual import Foo\n",
            "_typing": "",
            "space/__init__": "",
            "space/_space": "from skfairtest import _typing\n",
            "oracle/__init__": "",
            "oracle/_handle": "from ..space._space import InputSpace\n",
            "base": "from skfairtest.oracle import _handle\n",
            "individual/__init__": "from skfairtest.individual._foo import Foo\n",
            "individual/_foo": "from skfairtest.base import BaseAuditor\n",
        }
        for name, text in (plain | {k.replace("__in__", "/"): v for k, v in files.items()}).items():
            path = package / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return package

    return build


def test_a_house_in_order_is_left_alone(house):
    package = house()
    graph = graph_of(package)
    assert graph["oracle._handle"] == {"space._space"}
    assert graph["base"] == {"oracle._handle"}
    assert graph["space._space"] == {"_typing"}
    assert upward(graph) == circle(graph) == private_imports(package) == []


@pytest.mark.parametrize(
    "line",
    [
        "from skfairtest.base import BaseAuditor",
        "from skfairtest import base",
        "import skfairtest.base",
        "from .. import base",
        "from ..base import BaseAuditor",
        "def later():\n    from skfairtest.base import BaseAuditor",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..base import BaseAuditor",
    ],
)
def test_an_upward_import_is_seen(house, line):
    graph = graph_of(house(space__in___space=line + "\n"))
    assert upward(graph) == ["space._space imports base"]


def test_folders_on_one_floor_do_not_know_each_other(house):
    package = house(group__in___bar="from skfairtest.individual._foo import Foo\n")
    assert upward(graph_of(package)) == ["group._bar imports individual._foo"]


@pytest.mark.parametrize("line", ["from . import _bar", "from ._bar import Bar"])
def test_a_circle_within_a_folder_is_seen(house, line):
    package = house(
        individual__in___foo=f"def later():\n    {line}\n",
        individual__in___bar="from skfairtest.individual._foo import Foo\n",
    )
    assert {"individual._foo", "individual._bar"} <= set(circle(graph_of(package)))


def test_a_folder_without_a_floor_is_seen(house):
    with pytest.raises(AssertionError, match="cellar"):
        upward(graph_of(house(cellar__in___wine="from skfairtest import base\n")))


@pytest.mark.parametrize(
    "line", ["from sklearn.linear_model._base import LinearModel", "import sklearn.tree._tree",
             "from sklearn.utils import _param_validation"],
)  # fmt: skip
def test_a_private_import_of_scikit_learn_is_seen(house, line):
    assert len(private_imports(house(individual__in___foo=line + "\n"))) == 1


def test_full_landings_are_seen(house):
    package = house(**{f"_small_{k}": "" for k in range(MOST_PRIVATE_MODULES)})
    assert len(private_modules(package)) == MOST_PRIVATE_MODULES + 1
