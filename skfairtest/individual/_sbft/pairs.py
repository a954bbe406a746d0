"""Pairs of sensitive values that the tuned search judges inputs by."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._space import InputSpace


def first_pairs(Z: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Pairs of encoded sensitive values (n, 2, n_sensitive) by which inputs are judged at first.

    They are random, and most have both ends of columns of numbers. Where values are too many to be
    listed, others have the input's own.
    """
    twins = space.twins_
    pairs = twins.draw_sensitive_pairs(len(Z), rng)
    if not twins.is_enumerable:
        pairs[:, 0] = twins.clip_sensitive(Z[:, space.sensitive])
    domain, sensitive = space.domain, space.sensitive
    least, most = domain.low[sensitive], np.minimum(domain.high, domain.largest_code)[sensitive]
    for i, j in enumerate(sensitive):
        if least[i] < most[i] and not domain.columns[j].is_category:
            # Seven in ten first pairs have both ends of a column of numbers, where the outputs are
            # often furthest apart.
            at = np.flatnonzero(rng.random(len(Z)) < 0.7)
            pairs[at, :, i] = rng.permuted(np.tile([least[i], most[i]], (len(at), 1)), axis=1)
    return pairs


def move_sensitive(encoded: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Encoded sensitive values (n, n_sensitive) moved to others of the domain.

    Where all combinations can be listed, all are drawn anew. Otherwise half of them step
    from where they are, by a third of the domain down to a thousandth, and one in ten goes to an
    end.
    """
    drawn = space.twins_.draw_sensitive(len(encoded), rng)
    if space.twins_.is_enumerable:
        return drawn
    low, high = space.domain.low[space.sensitive], space.domain.high[space.sensitive]
    length = (high - low) * 10.0 ** rng.uniform(-3, -0.5, size=encoded.shape)
    stepped = encoded + rng.standard_normal(encoded.shape) * length
    ends = np.where(rng.random(encoded.shape) < 0.5, low, high)
    kind = rng.random(encoded.shape)
    return space.twins_.clip_sensitive(
        np.where(kind < 0.4, drawn, np.where(kind < 0.5, ends, stepped))
    )


def moved_sides(pairs: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Pairs of encoded sensitive values (n, 2, n_sensitive) with one side drawn anew or moved.

    A pair stays as it was where that would leave two equal twins.
    """
    rows = np.arange(len(pairs))
    side = rng.integers(0, 2, size=len(pairs))
    drawn = move_sensitive(pairs[rows, side], space, rng)
    change = (drawn != pairs[rows, 1 - side]).any(axis=1)
    moved = pairs.copy()
    moved[rows[change], side[change]] = drawn[change]
    return moved
