"""Cells of real columns behind a step that changes direction; a test cuts each piece once.

Between the places where a column changes its direction every feature rises or falls, so that a test
changes its outcome once there. All pieces together are cut into cells, of each of which one code
stands for all: from there on the column is one of finitely many values.

Functions rise up to rounding alone. Where tests of several features change their outcome next to
each other, the numbers around are cells of their own: one test may be undone there by a last digit,
and the other one not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfairtest._clock import check_time
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._code_order import CodeOrder
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._tree_model import Tests, goes_left

#: Ranks on both sides of a change in which rounding may undo it.
NEAR = 32


def piece_codes(
    space: InputSpace,
    attribute: int,
    views: list[tuple[Features, Tests, Ints]],
    deadline: float = np.inf,
) -> Floats:
    """Return the first code of each cell of a piecewise monotone attribute.

    - `attribute`: the attribute.
    - `views`: for each set of features: the numbers of the tests that look at it.
    """
    order = CodeOrder(space, attribute)
    starts = [order.rank(features.piece_ends(attribute)[0]) for features, _, _ in views]
    first = np.unique(np.concatenate(starts))
    last = np.append(first[1:] - 1, order.ends()[1])
    found, looks_at = [first], [np.full(len(first), -1)]
    n_before = 0
    for features, tests, which in views:
        if len(which):
            ranks, of = _changes(order, attribute, features, tests, which, first, last, deadline)
            found.append(ranks)
            looks_at.append(of + n_before)
        n_before += len(features.source)
    ranks = np.concatenate(found)
    if any(attribute in features.rounded for features, _, _ in views):
        ranks = np.append(ranks, _between(order, ranks, np.concatenate(looks_at)))
    return order.code(np.unique(ranks))


def close_changes(ranks: NDArray[np.int64], looks_at: Ints) -> tuple[Bools, NDArray[np.int64]]:
    """Return which changes are next to one of another feature, in order, and all ranks in order."""
    by = np.lexsort((looks_at, ranks))
    ranks, looks_at = ranks[by], looks_at[by]
    other = (looks_at[1:] != looks_at[:-1]) & (looks_at[:-1] >= 0)
    return (np.diff(ranks) <= 2 * NEAR) & other, ranks


def _between(order: CodeOrder, ranks: NDArray[np.int64], looks_at: Ints) -> NDArray[np.int64]:
    """Return the ranks around changes of different features that are next to each other."""
    close, ranks = close_changes(ranks, looks_at)
    around = ranks[:-1][close][:, None] + np.arange(-NEAR, 3 * NEAR + 1)
    low, high = order.ends()
    return np.unique(np.clip(around, low, high))


def _changes(
    order: CodeOrder,
    attribute: int,
    features: Features,
    tests: Tests,
    which: Ints,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    deadline: float,
) -> tuple[NDArray[np.int64], Ints]:
    """Return the first ranks inside of pieces at which a test changes, and the tests' features."""
    if (tests.category[which] >= 0).any():
        raise ValueError(
            f"The model splits column {features.space.feature_names[attribute]!r} by category, but "
            "it has too many values for a table. Declare them by InputSpace(categories=...), or "
            "narrow its domain by InputSpace(bounds=...)."
        )
    pairs = np.column_stack([tests.feature[which], tests.threshold[which]])
    tried = which[np.unique(pairs, axis=0, return_index=True)[1]]
    n, m = len(tried), len(first)
    test, low, high = np.repeat(tried, m), np.tile(first, n), np.tile(last, n)

    def is_left(ranks: NDArray[np.int64], of: Ints) -> Bools:
        codes, back = np.unique(ranks, return_inverse=True)
        values = features.along(attribute, order.code(codes))
        return goes_left(values[back, tests.feature[test[of]]], tests, test[of])

    everyone = np.arange(n * m)
    outcome = is_left(low, everyone)
    changing = np.flatnonzero(outcome != is_left(high, everyone))
    open_ = changing
    while len(open_):
        check_time(deadline)
        a, b = low[open_], high[open_]
        middle = (a >> 1) + (b >> 1) + (a & b & 1)
        same = is_left(middle, open_) == outcome[open_]
        low[open_[same]], high[open_[~same]] = middle[same], middle[~same]
        open_ = open_[high[open_] > low[open_] + 1]
    return high[changing], tests.feature[test[changing]]
