"""Encoded rows: those on which models are compared with what was read, and one to begin with."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features


def middle_row(space: InputSpace) -> Floats:
    """Return the middle of the domain, with sensitive attributes at their low ends."""
    row = space.domain.clip(((space.domain.low + space.domain.high) / 2)[None])[0]
    row[space.sensitive] = space.domain.low[space.sensitive]
    return row


def rows_with_ends(space: InputSpace, n: int, rng: np.random.Generator) -> Floats:
    """Return random encoded rows; every fourth attribute at an end of its domain.

    - `n`: how many rows.
    - the result (n, n_attributes): constraints are not looked at.
    """
    Z = space.domain.draw(n, rng)
    ends = np.where(rng.random(Z.shape) < 0.5, space.domain.low, space.domain.high)
    return np.where(rng.random(Z.shape) < 0.25, ends, Z)


def rows_of_pieces(space: InputSpace, every: list[Features], rng: np.random.Generator) -> Floats:
    """Return rows with every value of short columns, and a value in every piece of others.

    - `every`: what is known of the steps.
    - the result (n, n_attributes): as many as the column has values, or ends of pieces, that has
      the most; constraints are not looked at.
    """
    every = [read for own in every for read in own.read_of_steps]
    encoded = []
    for j in range(space.n_features):
        parts = [
            np.concatenate(features.piece_ends(j)) if features.continuous[j] else features.grids[j]
            for features in every
        ]
        encoded.append(rng.permutation(np.unique(np.concatenate(parts))))
    # A column may have two thousand pieces, with both ends of each.
    n = min(4_096, max(len(own) for own in encoded))
    return np.column_stack([rng.permutation(np.resize(own, n)) for own in encoded])
