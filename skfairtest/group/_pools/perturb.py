"""Draw rows near the data: rows drawn with replacement, with one attribute moved one step."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._space import InputSpace


def draw_near(
    space: InputSpace, n: int, rng: np.random.Generator, *, are_drawn: bool = False
) -> tuple[Ints, Floats]:
    """Draw a pool of perturbed rows.

    A row of the data, drawn uniformly with replacement; in it one attribute that is not sensitive,
    drawn uniformly; moved by one step up or down with equal chance. A move out of the domain stops
    at its end, a missing value stays missing, and a row that the constraint refuses stays as it is
    in the data. Sensitive values never move, so a row is inside a rule exactly if its seed is, and
    the rows inside are drawn independently from those that the paper draws inside.

    Parameters
    ----------
    space : InputSpace
        The space; its `data` are the rows to draw from.
    n : int
        Number of rows.
    rng : Generator
        Source of randomness.
    are_drawn : bool, default=False
        Whether the rows of the space are a draw with replacement already, of which the first n are
        taken as they come.

    Returns
    -------
    seeds : ndarray of int of shape (n,)
        Row of the data that each was made from.
    Z : ndarray of shape (n, n_features)
        The rows as codes.
    """
    seeds = np.arange(n) if are_drawn else rng.integers(len(space.data), size=n)
    Z = space.data[seeds]
    if not len(space.non_sensitive):
        return seeds, Z
    moved = rng.choice(space.non_sensitive, size=n)
    direction = rng.choice([-1.0, 1.0], size=n)
    rows = np.arange(n)
    before = Z[rows, moved]
    numbers = np.array([not column.is_category for column in space.domain.columns])[moved]
    high = np.where(
        numbers,
        np.minimum(space.domain.high, space.domain.largest_code)[moved],
        space.domain.high[moved],
    )
    after = np.clip(before + direction * space.domain.steps[moved], space.domain.low[moved], high)
    # A step from a value between two of the domain ends on one.
    after = np.where(space.domain.discrete[moved], np.rint(after), after)
    # Data may lie outside the domain that the user gave, or be a category outside it.
    inside = (before >= space.domain.low[moved]) & (before <= high)
    Z[rows, moved] = np.where(inside, after, before)
    if space.constraints_:
        refused = ~space.valid(Z)
        Z[refused] = space.data[seeds[refused]]
    return seeds, Z
