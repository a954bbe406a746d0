"""Where the values come from that a proposal changes: the whole domain, or rows of the data."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._domain import Domain, values_at


def step_lengths(n: int, rng: np.random.Generator) -> Floats:
    """Draw one to a few steps, in either direction."""
    length = 2.0 ** np.minimum(rng.geometric(0.6, size=n) - 1, 4)
    return np.where(rng.random(n) < 0.5, -1.0, 1.0) * length


class ValuesOfDomain:
    """Any value of the domain."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def step_along(self, Z: Floats, column: Ints, rng: np.random.Generator) -> Floats:
        """One value of each input moved by one to a few steps, in place."""
        Z[np.arange(len(Z)), column] += self.domain.steps[column] * step_lengths(len(Z), rng)
        return Z

    def anew(self, Z: Floats, column: Ints, rng: np.random.Generator) -> Floats:
        """One value of each input drawn anew from its whole domain, in place."""
        domain, n = self.domain, len(Z)
        Z[np.arange(n), column] = values_at(
            rng.random(n), domain.low[column], domain.high[column], domain.discrete[column]
        )
        return Z

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Inputs of new values."""
        return self.domain.draw(n, rng)


class ValuesOfRows:
    """Values of rows of the data alone, as often as they occur there."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows
        self._sorted = [np.unique(rows[:, j]) for j in range(rows.shape[1])]

    def step_along(self, Z: Floats, column: Ints, rng: np.random.Generator) -> Floats:
        """One value of each input moved to one of the next values, in place."""
        lengths = step_lengths(len(Z), rng).astype(np.intp)
        for j in np.unique(column):
            here, known = np.flatnonzero(column == j), self._sorted[j]
            place = np.searchsorted(known, Z[here, j]) + lengths[here]
            Z[here, j] = known[np.clip(place, 0, len(known) - 1)]
        return Z

    def anew(self, Z: Floats, column: Ints, rng: np.random.Generator) -> Floats:
        """One value of each input replaced by that of a random row, in place."""
        n = len(Z)
        Z[np.arange(n), column] = self.rows[rng.integers(len(self.rows), size=n), column]
        return Z

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Random rows."""
        return self.rows[rng.integers(len(self.rows), size=n)]
