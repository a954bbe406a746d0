"""Fitted trees as all readers hand them over, and the nodes and sums that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.whitebox._features import Features
from skfairtest.whitebox.graph import Nodes, Part, Tests

NO_SETS = np.zeros((0, 1), dtype=bool)


class Tree(NamedTuple):
    """One tree, whose root is its first node; arrays of length n_nodes where nothing else is said.

    - `left`, `right`: children, negative at a leaf. There may be nodes that no path leads to.
    - `value` (n_nodes, n_values): what a leaf adds.
    - `left_sets` (n_sets, n_codes): codes that go left, of tests by category.
    - `category`: the row of `left_sets` of such a test, else -1.
    """

    feature: Any
    threshold: Any
    missing_left: Any
    left: Any
    right: Any
    value: Any
    left_sets: Bools = NO_SETS
    category: Any = -1


class Split(NamedTuple):
    """The test of a node, and the two nodes below it; `codes` go left, of a test by category."""

    feature: int
    threshold: float
    missing_left: bool
    left: Any
    right: Any
    codes: list[int] | None = None


def grown(root: Any, read: Callable[[Any], Split | Floats]) -> Tree:
    """A tree that a library keeps node by node.

    - `read`: gives the test of a node, or the values of a leaf.
    """
    found: list[Split | Floats] = []
    children: dict[str, list[int]] = {"left": [], "right": []}
    open_ = [(root, -1, "")]
    while open_:
        node, parent, side = open_.pop()
        if side:
            children[side][parent] = len(found)
        own = read(node)
        if isinstance(own, Split):
            open_ += [(own.left, len(found), "left"), (own.right, len(found), "right")]
        found.append(own)
        children["left"].append(-1)
        children["right"].append(-1)
    leaves = [own for own in found if not isinstance(own, Split)]
    left = np.array(children["left"])
    value = np.zeros((len(found), len(leaves[0])))
    value[left < 0] = leaves
    nothing = Split(0, 0.0, False, None, None)
    splits = [own if isinstance(own, Split) else nothing for own in found]
    coded = np.array([split.codes is not None for split in splits])
    return Tree(
        [split.feature for split in splits],
        [split.threshold for split in splits],
        [split.missing_left for split in splits],
        left,
        children["right"],
        value,
        sets_of([split.codes for split in splits if split.codes is not None]),
        np.where(coded, np.cumsum(coded) - 1, -1),
    )


def sets_of(codes: list[list[int]]) -> Bools:
    """Sets of codes as rows of booleans, (n_sets, largest code + 1)."""
    most = max((max(own, default=-1) for own in codes), default=-1) + 1
    sets = np.zeros((len(codes), max(1, most)), dtype=bool)
    for row, own in zip(sets, codes, strict=True):
        row[own] = True
    return sets


def coded_features(trees: list[Tree]) -> Ints:
    """The features that are tested by category."""
    own = [np.asarray(tree.feature)[_categories(tree) >= 0] for tree in trees]
    return np.unique(np.concatenate([np.empty(0), *own])).astype(np.intp)


def _categories(tree: Tree) -> Ints:
    return np.broadcast_to(tree.category, len(tree.left))


def nodes_of(trees: list[Tree], features: Features, name: str) -> Nodes:
    """The nodes of trees that paths lead to.

    - `name`: the model's class, for the error.
    - `ValueError`: if a leaf is no finite number.
    """

    def joined(field: str, dtype: Any) -> Any:
        return np.concatenate([np.asarray(getattr(tree, field), dtype=dtype) for tree in trees])

    sizes = [len(tree.left) for tree in trees]
    roots = _starts(sizes)
    offset = np.repeat(roots, sizes)
    left, right = joined("left", np.intp), joined("right", np.intp)
    split = left >= 0
    left, right = left + offset, right + offset
    reached = np.zeros(len(left), dtype=bool)
    here = roots
    while len(here):
        reached[here] = True
        inner = here[split[here]]
        here = np.concatenate([left[inner], right[inner]])
    value = joined("value", np.float64)
    bad = reached & ~split & ~np.isfinite(value).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{name} has {int(bad.sum())} leaves that are NaN or infinite, so that its outputs "
            "have no bound. Look at its training data and parameters, and fit it again."
        )
    category = np.concatenate([_categories(tree) for tree in trees])
    first_set = np.repeat(_starts([len(tree.left_sets) for tree in trees]), sizes)
    category = np.where(split & (category >= 0), category + first_set, -1).astype(np.intp)
    tests = Tests(
        np.where(split, joined("feature", np.intp), 0)[reached],
        joined("threshold", np.float64)[reached],
        joined("missing_left", bool)[reached],
        category[reached],
        _stacked([tree.left_sets for tree in trees]),
    )
    # Nodes are numbered anew, without those that no path leads to.
    number = np.append(np.cumsum(reached) - 1, -1)
    left, right = (number[np.where(split, side, -1)][reached] for side in (left, right))
    value = np.where(split[:, None], 0.0, value)[reached]
    return Nodes(features, tests, left, right, value, number[roots])


def _starts(sizes: list[int]) -> Ints:
    return np.cumsum([0, *sizes[:-1]], dtype=np.intp)


def _stacked(sets: list[Bools]) -> Bools:
    """Sets below one another; codes that a tree does not know are in none of its own."""
    most = max(own.shape[1] for own in sets)
    return np.concatenate([np.pad(own, ((0, 0), (0, most - own.shape[1]))) for own in sets])


def parts_of(
    trees: list[Tree], group: Any, bases: Any, features: Features, factor: float, name: str
) -> list[Part]:
    """Sums of trees, one for each number that they are added to.

    - `group` (n_trees,): the sum that each tree belongs to.
    - `bases` (n_sums,): what the trees of each sum are added to.
    - `factor`: by which all leaves are multiplied.
    - `name`: the model's class, for errors.
    """
    parts = []
    for k, base in enumerate(bases):
        own = [tree for tree, g in zip(trees, group, strict=True) if g == k]
        nodes = [(nodes_of(own, features, name), 0, factor)] if own else []
        parts.append(Part(float(base), nodes))
    return parts
