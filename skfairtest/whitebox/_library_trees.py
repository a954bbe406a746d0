"""What the readers of other libraries' boosting share: tables, and single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Floats
from skfairtest.whitebox._features import Chain, Features
from skfairtest.whitebox._own_steps import MissingSentinel, OwnStep
from skfairtest.whitebox.graph import Part

#: Half the distance from 1 to the next number in single precision: the error of one operation.
SINGLE_UNIT = 2.0**-24


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


def single_rounding(part: Part, weighted: bool) -> float:
    """How far the sum of a base and the leaves of all trees is off, added up in single precision.

    A sum of floating-point numbers is off by no more than the unit times the sum of the sizes of
    all its partial sums; these are largest where the largest terms come first.

    - `weighted`: whether each leaf is multiplied first, a second operation a tree, whose base is
      added and taken away.
    """
    base = abs(part.base)
    sizes = np.empty(0)
    for nodes, column, _ in part.trees:
        sizes = np.sort(np.abs(nodes.ranges(column, 1.0)).max(axis=0))[::-1]
    total = float((base + np.cumsum(sizes)).sum()) + base
    if weighted:
        # Three more operations a tree: with the base and without it, and the product.
        total += 3 * float((sizes + base).sum())
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
