"""Children of a population: columns of a second parent, some changed columns, another pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.pairs import moved_sides
from skfairtest.individual._sbft.population import Evaluated
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

    def children(self, population: Evaluated, n: int, rng: np.random.Generator) -> Children:
        """Make n children of a population whose best member comes first."""
        # Half of the children come from the very best.
        front = np.where(rng.random(n) < 0.5, 4.0, 1.5)
        parent = (len(population) * rng.random(n) ** front).astype(np.intp)
        other = rng.integers(0, len(population), n)
        Z, pairs = population.Z[parent], population.pairs[parent]
        # Four in ten of the second parents are rows of the data.
        are_rows = rng.random(n) < 0.4 if len(self.rows) else np.zeros(n, dtype=bool)
        others = population.Z[other]
        if are_rows.any():
            others[are_rows] = self.rows[rng.integers(0, len(self.rows), int(are_rows.sum()))]
        crosses = rng.random(n) < self.crossover_proba
        # A child takes this much of its second parent.
        share = np.where(crosses, rng.choice((0.1, 0.25, 0.5), n), 0.0)
        taken = rng.random(Z.shape) < share[:, None]
        taken[:, self.space.sensitive] = False
        Z = np.where(taken, others, Z)
        free = self.space.non_sensitive
        # Chances of a first, a second and a third changed column.
        for chance in (0.9, 0.4, 0.2) if len(free) else ():
            rows = np.flatnonzero(rng.random(n) < chance)
            columns = free[rng.integers(0, len(free), len(rows))]
            Z[rows, columns] = self._values(columns, rng)
        if self.space.twins_.n_combinations > 2:
            inherits = crosses & ~are_rows & (rng.random(n) < 0.5)
            pairs[inherits] = population.pairs[other[inherits]]
            # Half of the pairs have one side moved.
            moved = rng.random(n) < 0.5
            pairs[moved] = moved_sides(pairs[moved], self.space, rng)
        return Children(self.space.domain.clip(Z), pairs)

    def _values(self, columns: Ints, rng: np.random.Generator) -> Floats:
        """A value for each of the columns."""
        n, domain = len(columns), self.space.domain
        places = np.arange(n), columns
        uniform: Floats = domain.draw(n, rng)[places]
        of_data = uniform
        if len(self.rows):
            of_data = self.rows[rng.integers(0, len(self.rows), n), columns]
        ends = np.where(rng.random(n) < 0.5, domain.low[columns], domain.high[columns])
        # An end of the domain is where models often are largest, and any value of it may be one
        # that the data do not have; the others are values of the data.
        kind = np.searchsorted((0.15, 0.32), rng.random(n), side="right")
        return np.choose(kind, [ends, uniform, of_data])
