"""Children of a population: columns of a second parent, some changed columns, another pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.pairs import moved_sides
from skfairtest.individual._sbft.population import Evaluated
from skfairtest.space._domain import values_at
from skfairtest.space._plausible.neighbours import Distance
from skfairtest.space._space import InputSpace


class Children(NamedTuple):
    """Proposed inputs.

    Attributes
    ----------
    Z : ndarray of shape (n, n_features)
        The inputs.
    pairs : ndarray of shape (n, 2, n_sensitive)
        The pairs to judge them by.
    """

    Z: Floats
    pairs: Floats


class Variation:
    """Makes children of a population.

    Parameters
    ----------
    space : InputSpace
        Which inputs there are.
    rows : ndarray of shape (n_rows, n_features)
        Rows of the data inside the domain, which values and second parents are taken from.
    crossover_proba : float
        Chance that a child has a second parent.
    """

    def __init__(self, space: InputSpace, rows: Floats, crossover_proba: float) -> None:
        self.space, self.rows, self.crossover_proba = space, rows, crossover_proba
        self.distance = Distance(space.domain)

    def children(self, population: Evaluated, n: int, rng: np.random.Generator) -> Children:
        """Make n children of a population whose best member comes first."""
        # Half of the children come from the very best.
        front = np.where(rng.random(n) < 0.5, 4.0, 1.5)
        parent = (len(population) * rng.random(n) ** front).astype(np.intp)
        other = rng.integers(0, len(population), n)
        Z, pairs = population.Z[parent], population.pairs[parent]
        others, rows = population.Z[other], self._rows(Z, rng)
        # Four in ten of the second parents are rows of the data.
        are_rows = rng.random(n) < 0.4 if len(self.rows) else np.zeros(n, dtype=bool)
        others[are_rows] = rows[are_rows]
        crosses = rng.random(n) < self.crossover_proba
        # A child takes this much of its second parent.
        share = np.where(crosses, rng.choice((0.1, 0.25, 0.5), n), 0.0)
        taken = rng.random(Z.shape) < share[:, None]
        taken[:, self.space.sensitive] = False
        Z = np.where(taken, others, Z)
        free = self.space.non_sensitive
        # Chances of a first, a second and a third changed column.
        for chance in (0.9, 0.4, 0.2) if len(free) else ():
            at = np.flatnonzero(rng.random(n) < chance)
            columns = free[rng.integers(0, len(free), len(at))]
            Z[at, columns] = self._values(columns, rows[at], rng)
        if self.space.twins_.n_combinations > 2:
            inherits = crosses & ~are_rows & (rng.random(n) < 0.5)
            pairs[inherits] = population.pairs[other[inherits]]
            # Half of the pairs have one side moved.
            moved = rng.random(n) < 0.5
            pairs[moved] = moved_sides(pairs[moved], self.space, rng)
        return Children(self.space.domain.clip(Z), pairs)

    def _rows(self, Z: Floats, rng: np.random.Generator) -> Floats:
        """A row of the data for each input: any, or near it where inputs are to be near the data.

        Where there are no rows it is an input of the domain.
        """
        n = len(Z)
        if not len(self.rows):
            return self.space.domain.draw(n, rng)
        if not self.space.near_data:
            return self.rows[rng.integers(0, len(self.rows), n)]
        # The nearest of thirty.
        nearest, least = Z, np.full(n, np.inf)
        for _ in range(30):
            # What is sensitive does not count.
            some = self.rows[rng.integers(0, len(self.rows), n)]
            some[:, self.space.sensitive] = Z[:, self.space.sensitive]
            distance = self.distance(some, Z)
            nearest = np.where((distance < least)[:, None], some, nearest)
            least = np.minimum(distance, least)
        return nearest

    def _values(self, columns: Ints, rows: Floats, rng: np.random.Generator) -> Floats:
        """A value for each of the columns: of a row of the data, of the domain, or an end of it."""
        n, domain = len(columns), self.space.domain
        of_data = rows[np.arange(n), columns]
        if self.space.near_data:
            return of_data
        low, high = domain.low[columns], domain.high[columns]
        uniform = values_at(rng.random(n), low, high, domain.discrete[columns])
        ends = np.where(rng.random(n) < 0.5, low, high)
        # An end of the domain is where models often are largest, and any value of it may be one
        # that the data do not have; the others are values of the data.
        kind = np.searchsorted((0.15, 0.32), rng.random(n), side="right")
        return np.choose(kind, [ends, uniform, of_data])
