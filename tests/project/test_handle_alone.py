"""Searchers use the public members of their handle, and reach into nothing behind it."""

from __future__ import annotations

import ast

import pytest
from places import TOP

from skfairtest.oracle._handle import SearchHandle

FOLDERS = ("individual", "group", "exact", "report", "mitigation")
FILES = sorted(
    path for folder in FOLDERS for path in (TOP / "skfairtest" / folder).rglob("*.py")
)  # fmt: skip
#: Members that are values: what stands behind them is theirs.
VALUES = {"space", "estimator", "measured", "so_far", "left", "worst"}
OWN = {"self.search"}
PUBLIC = VALUES | {name for name in vars(SearchHandle) if not name.startswith("_")}


def names_of_handles(function):
    """The parameters and variables of a function that hold a handle."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = {one.arg for one in given if ast.unparse(one.annotation or one) == "SearchHandle"}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            pairs = zip(getattr(node.targets[0], "elts", []), node.value.elts, strict=False)
            names |= {ast.unparse(name) for name, value in pairs if ast.unparse(value) in OWN}
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made_by = ast.unparse(node.value.func).rpartition(".")
            if made_by[2] == "SearchHandle" or made_by[::2] in (
                ("case", "search"),
                ("search", "fork"),
            ):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def reached(tree):
    """What a module uses of handles: chains of attributes, such as ("so_far", "queries")."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        handles = names_of_handles(function) | OWN
        inner = set()
        for node in ast.walk(function):  # the outermost attribute comes first
            if not isinstance(node, ast.Attribute) or node in inner:
                continue
            chain, below = [node.attr], node.value
            while isinstance(below, ast.Attribute) and ast.unparse(below) not in handles:
                inner.add(below)
                chain.append(below.attr)
                below = below.value
            if ast.unparse(below) in handles:
                yield tuple(reversed(chain))


def wrong(tree):
    """The chains that reach into the handle."""
    return [
        chain
        for chain in reached(tree)
        if chain[0] not in PUBLIC
        or (len(chain) > 1 and (chain[0] not in VALUES or chain[1].startswith("_")))
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TOP / "skfairtest")))
def test_a_searcher_reaches_into_nothing(path):
    text = path.read_text(encoding="utf-8")
    if "SearchHandle" in text or "self.search" in text or "case.search(" in text:
        assert not wrong(ast.parse(text))


def test_the_members_of_the_handle_are_few():
    used = set()
    for path in FILES:
        used |= {chain[0] for chain in reached(ast.parse(path.read_text(encoding="utf-8")))}
    assert used == PUBLIC
    assert len(PUBLIC) <= 22


@pytest.mark.parametrize(
    "line",
    ["search._policy", "search.draws", "search.respond.cache", "self.search.left._limits"],
)
def test_reaching_into_the_handle_is_seen(line):
    tree = ast.parse(f"def f(self, search: SearchHandle):\n    return {line}\n")
    assert len(wrong(tree)) == 1
    fine = "search.so_far.queries + search.sample(3, rng).rows + self.search.space.non_sensitive"
    assert not wrong(ast.parse(f"def f(self, search: SearchHandle):\n    return {fine}\n"))
