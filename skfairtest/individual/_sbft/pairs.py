"""Pairs of sensitive values that the tuned search judges inputs by."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.space._space import InputSpace

#: Sensitive combinations that an input is compared by at once, at most.
MOST_COMBINATIONS = 32
#: Chance that the first pair of an input has both ends of a column of numbers, where the outputs
#: are often furthest apart.
FIRST_ENDS = 0.7
#: Chances that a number is drawn anew and that it goes to an end; otherwise it steps.
DRAWN, ENDS = 0.4, 0.1
#: Chance that a column stays as it is, where there are several.
KEPT = 0.5


def first_pairs(Z: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Pairs of sensitive codes (n, 2, n_sensitive) to judge inputs by before anything is known.

    They are random, and most have both ends of columns of numbers. Where values are too many to be
    listed, others have the input's own.
    """
    twins = space.twins_
    pairs = twins.draw_sensitive_pairs(len(Z), rng)
    if not twins.is_enumerable:
        pairs[:, 0] = twins.clip_sensitive(Z[:, space.sensitive])
    least, most, is_number = _numbers(space)
    for i in np.flatnonzero(is_number):
        at = np.flatnonzero(rng.random(len(Z)) < FIRST_ENDS)
        pairs[at, :, i] = rng.permuted(np.tile([least[i], most[i]], (len(at), 1)), axis=1)
    return pairs


def move_sensitive(codes: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Sensitive codes (n, n_sensitive) moved to others of the domain.

    Categories are drawn anew, and so are some numbers. Others step from where they are, by a third
    of the domain down to a thousandth, and some go to an end.
    """
    shape = codes.shape
    drawn = space.twins_.draw_sensitive(len(codes), rng)
    least, most, is_number = _numbers(space)
    step = rng.standard_normal(shape) * (most - least) * 10.0 ** rng.uniform(-3, -0.5, size=shape)
    # Whole numbers step by one at least.
    whole = np.sign(step) * np.maximum(1, np.abs(step))
    step = np.where(space.domain.discrete[space.sensitive], whole, step)
    ends = np.where(rng.random(shape) < 0.5, least, most)
    kind = np.where(is_number, rng.random(shape), 0.0)
    moved = np.select([kind < DRAWN, kind < DRAWN + ENDS], [drawn, ends], codes + step)
    if shape[1] > 1:
        moved = np.where(rng.random(shape) < KEPT, codes, moved)
    return space.twins_.clip_sensitive(moved)


def _numbers(space: InputSpace) -> tuple[Floats, Floats, Bools]:
    """Least and largest number of each sensitive column, and whether it has several numbers."""
    domain, sensitive = space.domain, space.sensitive
    least, most = domain.low[sensitive], np.minimum(domain.high, domain.top)[sensitive]
    ordered = np.array([not domain.columns[j].is_category for j in sensitive])
    return least, most, ordered & (least < most)


def moved_sides(pairs: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Pairs of sensitive codes (n, 2, n_sensitive) with one side drawn anew or moved.

    A pair stays as it was where that would leave two equal twins.
    """
    rows = np.arange(len(pairs))
    side = rng.integers(0, 2, size=len(pairs))
    drawn = move_sensitive(pairs[rows, side], space, rng)
    change = (drawn != pairs[rows, 1 - side]).any(axis=1)
    moved = pairs.copy()
    moved[rows[change], side[change]] = drawn[change]
    return moved


def many_values(pair: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Many sensitive codes to compare an input by, the pair's among them; (n, n_sensitive)."""
    if space.twins_.is_enumerable:
        chosen = rng.permutation(int(space.twins_.n_combinations))[:MOST_COMBINATIONS]
        return np.concatenate([space.twins_.combination_codes(chosen), pair])
    # Near to the pair as well as anywhere.
    near = move_sensitive(np.tile(pair, (MOST_COMBINATIONS // 4, 1)), space, rng)
    return np.concatenate(
        [space.twins_.draw_sensitive(MOST_COMBINATIONS - len(near), rng), near, pair]
    )
