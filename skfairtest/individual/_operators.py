"""Pure functions on matrices of codes, shared by the testers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.space._space import InputSpace


def move_sensitive(codes: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Sensitive codes (n, n_sensitive) moved to others of the domain.

    Drawn anew where all combinations can be listed. Else half of them step from where they are, by
    a third of the domain down to a thousandth, and one in ten goes to an end of it.
    """
    drawn = space.twins_.draw_sensitive(len(codes), rng)
    if space.twins_.is_enumerable:
        return drawn
    low, high = space.domain.low[space.sensitive], space.domain.high[space.sensitive]
    length = (high - low) * 10.0 ** rng.uniform(-3, -0.5, size=codes.shape)
    stepped = codes + rng.standard_normal(codes.shape) * length
    ends = np.where(rng.random(codes.shape) < 0.5, low, high)
    kind = rng.random(codes.shape)
    return space.twins_.clip_sensitive(
        np.where(kind < 0.4, drawn, np.where(kind < 0.5, ends, stepped))
    )


def roulette(fitness: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Indices drawn with chances in proportion to fitness; uniform where all fitness is zero."""
    total = np.cumsum(fitness)
    if not total[-1] > 0:
        return rng.integers(0, len(fitness), size=n).astype(np.intp)
    spins = rng.random(n) * total[-1]
    return np.minimum(np.searchsorted(total, spins, side="right"), len(fitness) - 1)


def uniform_crossover(
    first: Floats, second: Floats, probability: float, free: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Children of pairs of parents: with the probability, a coin decides on each free value.

    Sensitive columns stay as they are.
    """
    swap = np.zeros(first.shape, dtype=bool)
    swap[:, free] = rng.random((len(first), len(free))) < 0.5
    swap &= (rng.random(len(first)) < probability)[:, None]
    return np.where(swap, second, first), np.where(swap, first, second)


def redraw(
    Z: Floats, mask: NDArray[np.bool_], space: InputSpace, rng: np.random.Generator
) -> Floats:
    """The masked values drawn anew from their whole domains."""
    return np.where(mask, space.domain.draw(len(Z), rng), Z)


def between(
    Z: Floats, mask: NDArray[np.bool_], first: Floats, second: Floats, space: InputSpace,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """The masked values drawn anew between those of two parents, ends included."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    U = rng.random(Z.shape)
    drawn = np.where(
        space.domain.discrete, low + np.floor(U * (high - low + 1)), low + U * (high - low)
    )
    return space.domain.clip(np.where(mask, np.minimum(drawn, high), Z))


def mask_free(
    n: int, probability: float, space: InputSpace, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which values to mutate: each free one with the probability."""
    mask = np.zeros((n, space.n_features), dtype=bool)
    mask[:, space.free] = rng.random((n, len(space.free))) < probability
    return mask


def data_seeds(n: int, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Rows of the data, moved into the domain; at most n, each at most once, valid ones only."""
    chosen = rng.permutation(len(space.data))[:n]
    Z = space.admission.repair(space.domain.move_inside(space.data[chosen], rng), rng)
    return Z[space.valid(Z)]
