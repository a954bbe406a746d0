"""What the readers of other libraries' boosting share: tables, trees, single precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.whitebox._features import Chain, Features
from skfairtest.whitebox._own_steps import MissingSentinel, OwnStep
from skfairtest.whitebox._tree_model import Nodes, Tests
from skfairtest.whitebox._unwrap import run_step

#: Half the distance from 1 to the next number in single precision: the error of one operation.
SINGLE_UNIT = 2.0**-24


class RawTrees(NamedTuple):
    """Nodes of trees, one tree after another, as a library keeps them; arrays of length n_nodes.

    Children are numbers of nodes among all of them, -1 at a leaf; there may be nodes that no path
    leads to. Of a test by category, the codes in row `category` of `left_sets` go left.
    """

    feature: Ints
    threshold: Floats
    missing_left: Bools
    category: Ints
    left_sets: Bools
    left: Ints
    right: Ints
    value: Floats
    roots: Ints


class TreeLists:
    """Trees that are read node by node, each leaf with `n_values` values."""

    def __init__(self, n_values: int = 1) -> None:
        self.tests: list[tuple[int, float, bool, int]] = []
        self.values: list[Any] = []
        self.sets: list[list[int]] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.roots: list[int] = []
        self.n_values = n_values

    def grow(
        self, root: Any, add: Callable[[Any], None], children: Callable[[Any], tuple[Any, ...]]
    ) -> None:
        """Add a tree: `add` calls `test` or `leaf` for a node, `children` tells what is below."""
        self.roots.append(len(self.left))
        open_: list[tuple[Any, int, list[int]]] = [(root, -1, self.left)]
        while open_:
            node, parent, side = open_.pop()
            here = len(self.left)
            add(node)
            self.left.append(-1)
            self.right.append(-1)
            if parent >= 0:
                side[parent] = here
            for child, own in zip(children(node), (self.left, self.right), strict=False):
                open_.append((child, here, own))

    def test(
        self, feature: int, threshold: float, missing_left: bool, codes: list[int] | None = None
    ) -> None:
        """Add a test of a number, or of a code in a set."""
        category = -1 if codes is None else len(self.sets)
        self.sets += [] if codes is None else [codes]
        self.tests.append((feature, threshold, missing_left, category))
        self.values.append(np.zeros(self.n_values))

    def leaf(self, value: Any) -> None:
        """Add a leaf."""
        self.tests.append((0, 0.0, False, -1))
        self.values.append(np.ravel(value))

    def raw(self, output: int = 0) -> RawTrees:
        """Return all trees, with one value of each leaf."""
        feature, threshold, missing_left, category = (
            [test[k] for test in self.tests] for k in range(4)
        )
        return RawTrees(
            np.array(feature, dtype=np.intp),
            np.array(threshold, dtype=np.float64),
            np.array(missing_left, dtype=bool),
            np.array(category, dtype=np.intp),
            sets_of(self.sets),
            np.array(self.left, dtype=np.intp),
            np.array(self.right, dtype=np.intp),
            np.array(self.values, dtype=np.float64).reshape(-1, self.n_values)[:, output],
            np.array(self.roots, dtype=np.intp),
        )


def as_nodes(trees: RawTrees, features: Features, name: str) -> Nodes:
    """The nodes that paths lead to.

    - `trees`: as the library keeps them.
    - `name`: the model's class, for the error.
    - `ValueError`: if a leaf is no finite number.
    """
    reached = np.zeros(len(trees.left), dtype=bool)
    here = trees.roots
    while len(here):
        reached[here] = True
        inner = here[trees.left[here] >= 0]
        here = np.concatenate([trees.left[inner], trees.right[inner]])
    leaf = trees.left < 0
    bad = reached & leaf & ~np.isfinite(trees.value)
    if bad.any():
        raise ValueError(
            f"{name} has {int(bad.sum())} leaves that are NaN or infinite, so that its outputs "
            "have no bound. Look at its training data and parameters, and fit it again."
        )
    number = np.cumsum(reached) - 1
    left, right = trees.left[reached], trees.right[reached]
    split = left >= 0
    tests = Tests(
        np.where(split, trees.feature[reached], 0).astype(np.intp),
        trees.threshold[reached],
        trees.missing_left[reached],
        np.where(split, trees.category[reached], -1).astype(np.intp),
        trees.left_sets,
    )
    return Nodes(
        features,
        tests,
        np.where(split, number[left], -1).astype(np.intp),
        np.where(split, number[right], -1).astype(np.intp),
        np.where(split, 0.0, trees.value[reached])[:, None],
        number[trees.roots].astype(np.intp),
    )


def pick(trees: RawTrees, which: Bools) -> RawTrees:
    """Some of the trees; nodes of others are left where they are, and no path leads to them."""
    return trees._replace(roots=trees.roots[which])


def sets_of(codes: list[list[int]]) -> Bools:
    """Sets of codes as rows of booleans, (n_sets, largest code + 1)."""
    most = max((max(own, default=-1) for own in codes), default=-1) + 1
    sets = np.zeros((len(codes), max(1, most)), dtype=bool)
    for row, own in zip(sets, codes, strict=True):
        row[own] = True
    return sets


def first_table(chain: Chain) -> Any:
    """One row of the domain behind the steps, in the container that the model is shown."""
    space = chain.space
    table = space.decode(space.domain.low[None])
    for step in chain.steps:
        table = run_step(step, table)
    return table


def features_of(
    chain: Chain, reader: OwnStep, plain: bool, sentinel: MissingSentinel | None = None
) -> Features:
    """The features as the library reads a table, with its missing values as NaN.

    - `reader`: makes numbers of a table.
    - `plain`: whether the table holds the very numbers that are read.
    - `sentinel`: what marks missing values other than NaN.
    """
    if sentinel is not None:
        return chain.then(reader, sentinel).features
    return chain.features if plain else chain.then(reader).features


def single_rounding(base: float, nodes: Nodes | None, factors: Floats | None = None) -> float:
    """How far the sum of a base and the leaves of all trees is off, added up in single precision.

    A sum of floating-point numbers is off by no more than the unit times the sum of the sizes of
    all its partial sums; these are largest where the largest terms come first.

    - `base`: what the sum starts from.
    - `factors` (n_trees,): not None where each leaf is multiplied first, a second operation a tree,
      whose base is added and taken away.
    """
    if nodes is None:
        return SINGLE_UNIT * abs(base)
    leaf = np.where(nodes.left < 0, np.abs(nodes.value[:, 0]), 0.0)
    sizes = np.sort(np.maximum.reduceat(leaf, nodes.roots))[::-1]
    partial = abs(base) + np.cumsum(sizes)
    total = float(partial.sum()) + abs(base)
    if factors is not None:
        # Three more operations a tree: with the base and without it, and the product.
        total += 3 * float((sizes + abs(base)).sum())
    # The first-order term leaves out products of units, which are far below one in a thousand.
    return 1.001 * SINGLE_UNIT * total


def is_plain(table: Any, frame: str, array: str) -> bool:
    """Whether all columns of a frame, or an array, are numbers of some kinds of types."""
    if isinstance(table, pd.DataFrame):
        return all(
            not isinstance(dtype, pd.CategoricalDtype) and getattr(dtype, "kind", "O") in frame
            for dtype in table.dtypes
        )
    return isinstance(table, np.ndarray) and table.dtype.kind in array


def codes_of(column: pd.Series, levels: list[Any] | None) -> Floats:
    """Codes of a categorical column by the levels that a model knows; NaN for others and missing.

    - `column`: of a categorical type.
    - `levels`: in the order of the codes; None: the column's own.
    """
    if levels is not None and list(column.cat.categories) != list(levels):
        column = column.cat.set_categories(levels)
    codes = column.cat.codes.to_numpy().astype(np.float64)
    return np.where(codes < 0, np.nan, codes)
