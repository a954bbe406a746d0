"""ColumnCells of real columns behind a step that changes direction; a test cuts each piece once.

Between the places where a column changes its direction every feature rises or falls, so that a test
changes its outcome once there. All pieces together are cut into cells, of each of which one value
stands for all: from there on the column is one of finitely many values.

Functions rise up to rounding alone. Where tests of several features change their outcome next to
each other, the numbers around are cells of their own: one test may be undone there by a last digit,
and the other one not.
"""

from __future__ import annotations

import numpy as np

from skfairtest._clock import check_time
from skfairtest._typing import Bools, Floats, Ints, Ints64
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._value_order import ValueOrder, first_changed, values_of_ranks
from skfairtest.whitebox.graph import Tests, goes_left

#: Ranks on both sides of a change in which rounding may undo it.
NEAR = 32


def piece_starts(
    space: InputSpace,
    attributes: list[int],
    views: list[tuple[Features, Tests, Ints]],
    deadline: float = np.inf,
) -> dict[int, Floats]:
    """Return the first encoded value of each cell of piecewise monotone attributes.

    - `views`: for each set of features: the numbers of the tests that look at these attributes.
    """
    orders = {j: ValueOrder(space, j) for j in attributes}
    pieces = {}
    for j, order in orders.items():
        starts = [order.rank(features.piece_ends(j)[0]) for features, _, _ in views]
        first = np.unique(np.concatenate(starts))
        pieces[j] = first, np.append(first[1:] - 1, order.bounds()[1])
    found = {j: [first] for j, (first, _) in pieces.items()}
    looks_at = {j: [np.full(len(first), -1)] for j, (first, _) in pieces.items()}
    n_before = 0
    for features, tests, which in views:
        if len(which):
            ranks, of = _changes(space, features, tests, which, pieces, deadline)
            for j in attributes:
                own = features.source[of] == j
                found[j].append(ranks[own])
                looks_at[j].append(of[own] + n_before)
        n_before += len(features.source)
    encoded = {}
    for j, order in orders.items():
        ranks = np.concatenate(found[j])
        if any(j in features.rounded for features, _, _ in views):
            ranks = np.append(ranks, _between(order, ranks, np.concatenate(looks_at[j])))
        encoded[j] = order.value(np.unique(ranks))
    return encoded


def close_changes(ranks: Ints64, looks_at: Ints) -> tuple[Bools, Ints64]:
    """Return which changes are next to one of another feature, in order, and all ranks in order."""
    by = np.lexsort((looks_at, ranks))
    ranks, looks_at = ranks[by], looks_at[by]
    other = (looks_at[1:] != looks_at[:-1]) & (looks_at[:-1] >= 0)
    return (np.diff(ranks) <= 2 * NEAR) & other, ranks


def _between(order: ValueOrder, ranks: Ints64, looks_at: Ints) -> Ints64:
    """Return the ranks around changes of different features that are next to each other."""
    close, ranks = close_changes(ranks, looks_at)
    around = ranks[:-1][close][:, None] + np.arange(-NEAR, 3 * NEAR + 1)
    low, high = order.bounds()
    return np.unique(np.clip(around, low, high))


def _changes(
    space: InputSpace,
    features: Features,
    tests: Tests,
    which: Ints,
    pieces: dict[int, tuple[Ints64, Ints64]],
    deadline: float,
) -> tuple[Ints64, Ints]:
    """Return the first ranks inside of pieces at which a test changes, and the tests' features."""
    coded = which[tests.category[which] >= 0]
    if len(coded):
        name = space.feature_names[features.source[tests.feature[coded[0]]]]
        raise ValueError(
            f"The model splits column {name!r} by category, but it has too many values for a "
            "table. Declare them by InputSpace(categories=...), or narrow its domain by "
            "InputSpace(bounds=...)."
        )
    pairs = np.column_stack([tests.feature[which], tests.threshold[which]])
    tried = which[np.unique(pairs, axis=0, return_index=True)[1]]
    own = [pieces[j] for j in features.source[tests.feature[tried]].tolist()]
    low, high = (np.concatenate([bounds[side] for bounds in own]) for side in (0, 1))
    test = np.repeat(tried, [len(first) for first, _ in own])
    attribute = features.source[tests.feature[test]]

    def is_left(ranks: Ints64, of: Ints) -> Bools:
        check_time(deadline)
        encoded = values_of_ranks(space, attribute[of], ranks)
        values = features.evaluate(tests.feature[test[of]], encoded)
        return goes_left(values, tests, test[of])

    changing, ranks = first_changed(low, high, is_left)
    return ranks, tests.feature[test[changing]]
