"""Cells of real columns behind a step that changes direction; a test cuts each piece once.

Between the places where a column is bent every feature rises or falls, so that a test changes its
outcome once there. All pieces together are cut into cells, of each of which one code stands for
all: from there on the column is one of finitely many values.
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


def bent_codes(
    space: InputSpace,
    attribute: int,
    views: list[tuple[Features, Tests, Ints]],
    deadline: float = np.inf,
) -> Floats:
    """Return the first code of each cell of an attribute that a step bends.

    Parameters
    ----------
    space : InputSpace
        The inputs that exist.
    attribute : int
        The attribute.
    views : list of (Features, Tests, ndarray of int)
        For each set of features: the numbers of the tests that look at it.
    deadline : float, default=inf
        When to stop, by `_clock.now`.

    Returns
    -------
    ndarray
        In their order. Between two of them no test changes its outcome.
    """
    order = CodeOrder(space, attribute)
    starts = [order.rank(features.piece_ends(attribute)[0]) for features, _, _ in views]
    first = np.unique(np.concatenate(starts))
    last = np.append(first[1:] - 1, order.ends()[1])
    found = [first]
    for features, tests, which in views:
        if len(which):
            found.append(_changes(order, attribute, features, tests, which, first, last, deadline))
    return order.code(np.unique(np.concatenate(found)))


def _changes(
    order: CodeOrder,
    attribute: int,
    features: Features,
    tests: Tests,
    which: Ints,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    deadline: float,
) -> NDArray[np.int64]:
    """Return the first ranks inside of pieces at which a test has another outcome than before."""
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
    return high[changing]
