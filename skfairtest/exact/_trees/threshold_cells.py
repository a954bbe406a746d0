"""From thresholds to cells: the finite grid on which a model of trees is constant.

Every test of a node, "feature <= threshold" or "category in set", cuts the values of one attribute
in two. All tests together cut it into *cells*, whose values no tree tells apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

#: Outcomes of tests that are worked out in one go.
MOST_TOGETHER = 1_000_000


class Tests(NamedTuple):
    """Tests of nodes that look at one set of features; arrays of length n.

    A row goes left when its feature is at most `threshold` or, where `category` is not negative,
    when it is in that row of `left_sets`; a missing value goes left where `missing_left`.
    """

    feature: Ints
    threshold: Floats
    missing_left: Bools
    category: Ints
    left_sets: Bools  # (n_sets, n_codes)
    single: bool  # whether the model rounds features to float32 first


class Cells(NamedTuple):
    """Cells of one attribute.

    Ordered cells: a test sends the cells below a cut to one side. Unordered: any set of them.
    """

    low: Floats  # (n_cells,) smallest code of a cell, or one of its codes where it is finite
    high: Floats  # (n_cells,) largest code of a cell, or the same one
    ordered: bool
    member: Ints  # (n_values,) the cell of each value of a finite attribute; empty for a wide one


def goes_left(values: Floats, tests: Tests, which: Ints) -> Bools:
    """Outcome of the tests `which`, one for each value."""
    seen = values.astype(np.float32) if tests.single else values
    left = seen.astype(np.float64) <= tests.threshold[which]
    category = tests.category[which]
    coded = np.flatnonzero(category >= 0)
    if len(coded):
        codes = values[coded]
        inside = (codes >= 0) & (codes < tests.left_sets.shape[1])
        place = np.where(inside, codes, 0).astype(np.intp)
        left[coded] = tests.left_sets[category[coded], place] & inside
    return np.where(np.isnan(values), tests.missing_left[which], left)


def cut_finite(
    grid: Floats, views: list[tuple[Features, Tests, Ints]]
) -> tuple[Cells, list[Bools]]:
    """Cells of an attribute of finitely many values.

    Parameters
    ----------
    grid : ndarray of shape (n_values,)
        Codes of the values.
    views : list of (Features, Tests, ndarray of int)
        For each set of features: the numbers of the tests that look at this attribute.

    Returns
    -------
    cells : Cells
        Sorted so that tests are cuts, where such an order exists.
    left : list of ndarray of bool of shape (n_tests, n_cells)
        Which cells go left, for each set of features.
    """
    outcomes = []
    for features, tests, which in views:
        left = np.empty((len(which), len(grid)), dtype=bool)
        for t in np.unique(tests.feature[which]):
            of_feature = np.flatnonzero(tests.feature[which] == t)
            values = features.table(int(t))
            rows = max(1, MOST_TOGETHER // len(grid))
            for k in range(0, len(of_feature), rows):
                some = of_feature[k : k + rows]
                asked = np.repeat(which[some], len(grid))
                outcome = goes_left(np.tile(values, len(some)), tests, asked)
                left[some] = outcome.reshape(len(some), len(grid))
        outcomes.append(left)
    everything = np.concatenate(outcomes) if outcomes else np.empty((0, len(grid)), dtype=bool)
    distinct = np.unique(everything, axis=0)
    _, first, member = np.unique(distinct, axis=1, return_index=True, return_inverse=True)
    member = member.ravel()
    # Turned so that they hold the same value, sets that are cuts of one order form a chain.
    turned = distinct[:, first] == distinct[:, first[:1]] if len(distinct) else distinct[:, first]
    order = np.argsort(-turned.sum(axis=0), kind="stable")
    chained = turned[:, order]
    ordered = bool((chained[:, :-1] >= chained[:, 1:]).all())
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    codes = grid[first[order]]
    cells = Cells(codes, codes, ordered, rank[member])
    return cells, [left[:, first[order]] for left in outcomes]


def cut_wide(
    space: InputSpace,
    attribute: int,
    views: list[tuple[Features, Tests, Ints]],
    *,
    exact: bool,
) -> tuple[Cells, list[Ints]]:
    """Cells of an attribute whose features are nondecreasing.

    Unless `exact`, borders are looked for by plain arithmetic, and are to be checked afterwards.

    Returns
    -------
    cells : Cells
        In the order of the codes.
    cuts : list of ndarray of int of shape (n_tests,)
        How many cells go left, for each set of features.
    """
    low, high = _ends(space, attribute)
    lasts = []
    for features, tests, which in views:
        ends = (low, high)
        lasts.append(_last_left(space, attribute, features, tests, which, ends, exact))
    # A border is the last code of a cell.
    borders = np.unique(np.concatenate([*lasts, [high]]))
    borders = borders[(borders >= low) & (borders <= high)]
    starts = np.concatenate([[low], _next_code(space, attribute, borders[:-1])])
    cells = Cells(starts, borders, True, np.empty(0, dtype=np.intp))
    return cells, [np.searchsorted(borders, last, side="right") for last in lasts]


def _ends(space: InputSpace, attribute: int) -> tuple[float, float]:
    ends = np.array([space.low[attribute], space.high[attribute]])
    if space.single[attribute]:
        # Inputs are rounded to float32 after they were clipped.
        ends = ends.astype(np.float32).astype(np.float64)
    return float(ends[0]), float(ends[1])


def _next_code(space: InputSpace, attribute: int, codes: Floats) -> Floats:
    if space.discrete[attribute]:
        return codes + 1
    if space.single[attribute]:
        return np.nextafter(codes.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    return np.nextafter(codes, np.inf)


def _last_left(
    space: InputSpace,
    attribute: int,
    features: Features,
    tests: Tests,
    which: Ints,
    ends: tuple[float, float],
    exact: bool,
) -> Floats:
    """Largest code that goes left, for each test; -inf where none does."""
    if (tests.category[which] >= 0).any():
        raise ValueError(
            f"The model splits column {space.feature_names[attribute]!r} by category, but it has "
            "too many values for a table. Declare them in categories=, or narrow bounds=."
        )
    # Tests with equal threshold and feature have equal borders: ask once.
    pairs = np.column_stack([tests.feature[which], tests.threshold[which]])
    _, first, back = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    tried = which[first]
    order = _Order(space, attribute)
    left = np.full(len(tried), order.rank(np.array([ends[0]]))[0])
    right = np.full(len(tried), order.rank(np.array([ends[1]]))[0])

    def is_left(ranks: NDArray[np.int64], of: Ints) -> Bools:
        seen, codes = tests.feature[tried[of]], order.code(ranks)
        values = None if exact else _guessed(features, seen, codes)
        if values is None:
            values = features.evaluate(seen, codes)
        return goes_left(values, tests, tried[of])

    everyone = np.arange(len(tried))
    at_low, at_high = is_left(left, everyone), is_left(right, everyone)
    result = np.where(at_high, ends[1], -np.inf)
    open_ = np.flatnonzero(at_low & ~at_high)
    while len(open_):
        # Halving the ranks of floating-point numbers ends at two neighbours after 64 rounds.
        a, b = left[open_], right[open_]
        middle = (a >> 1) + (b >> 1) + (a & b & 1)  # their difference may not fit into 64 bits
        goes = is_left(middle, open_)
        left[open_[goes]], right[open_[~goes]] = middle[goes], middle[~goes]
        done = right[open_] <= left[open_] + 1
        result[open_[done]] = order.code(left[open_[done]])
        open_ = open_[~done]
    return result[back.ravel()]


def _guessed(features: Features, seen: Ints, codes: Floats) -> Floats | None:
    """Features by plain arithmetic; None where some are not that simple."""
    values = np.empty(len(seen))
    one = (seen == seen[:1]).all()  # as a rule; sorting to find that out takes longer than all else
    for t in seen[:1] if one else np.unique(seen):
        own = features.guess(int(t), codes[seen == t])
        if own is None:
            return None
        values[seen == t] = own
    return values


def misplaced(below: Floats, above: Floats, features: Features, tests: Tests, which: Ints) -> Bools:
    """Tests that do not go left at the code below their cut, or do at the code above it.

    Asks the steps themselves. A code is NaN where there is none on that side.
    """
    wrong = np.zeros(len(which), dtype=bool)
    for goes, codes in ((True, below), (False, above)):
        some = np.flatnonzero(~np.isnan(codes))
        if len(some):
            values = features.evaluate(tests.feature[which[some]], codes[some])
            wrong[some] |= goes_left(values, tests, which[some]) != goes
    return wrong


class _Order:
    """Codes of an attribute as consecutive whole numbers, in their order, and back."""

    def __init__(self, space: InputSpace, attribute: int) -> None:
        self.whole = bool(space.discrete[attribute])
        self.single = bool(space.single[attribute])

    def rank(self, codes: Floats) -> NDArray[np.int64]:
        if self.whole:
            return codes.astype(np.int64)
        if self.single:
            bits = (codes.astype(np.float32) + np.float32(0)).view(np.int32).astype(np.int64)
            return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
        bits = (codes.astype(np.float64) + 0.0).view(np.int64)
        return np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)

    def code(self, ranks: NDArray[np.int64]) -> Floats:
        if self.whole:
            return ranks.astype(np.float64)
        if self.single:
            size = np.abs(ranks).astype(np.int32).view(np.float32).astype(np.float64)
        else:
            size = np.abs(ranks).view(np.float64)
        return np.where(ranks < 0, -size, size)
