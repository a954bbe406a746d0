"""Children of a population: some columns changed, some of another's columns, another pair."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.pairs import moved_sides
from skfairtest.individual._sbft.population import CHANGED, CROSSED, PAIRS, Evaluated
from skfairtest.space._domain import values_at
from skfairtest.space._space import InputSpace

Found = TypeVar("Found")


class Children(NamedTuple):
    """Proposed inputs.

    Attributes
    ----------
    Z : ndarray of shape (n, n_features)
        The inputs.
    pairs : ndarray of shape (n, 2, n_sensitive)
        The pairs to judge them by.
    operators : ndarray of shape (n,)
        The operators that made them.
    """

    Z: Floats
    pairs: Floats
    operators: Ints

    @classmethod
    def of_one(cls, operator: int, Z: Floats, pairs: Floats) -> Children:
        """Return inputs that one operator has made."""
        return cls(Z, pairs, np.full(len(Z), operator))


#: Yields inputs to be judged, is sent what they show, and returns what it has found in the end.
Batches = Generator[Children, Evaluated, Found]


class Variation:
    """Makes children of the members of a population.

    Parameters
    ----------
    space : InputSpace
        Which inputs there are.
    rows : ndarray of shape (n_rows, n_features)
        Rows of the data inside the domain: their values come first.
    crossover_proba : float
        Chance that a child has two parents.
    n_changed : sequence of float
        Chances that a child has one, two, three and more changed columns.
    """

    def __init__(
        self, space: InputSpace, rows: Floats, crossover_proba: float, n_changed: Sequence[float]
    ) -> None:
        self.space, self.crossover_proba = space, crossover_proba
        self.n_changed = n_changed
        low, high = space.domain.low, space.domain.high
        known = [np.unique(np.append(rows[:, j], [low[j], high[j]])) for j in range(len(low))]
        # Values of the data, column after column: those of column j begin at first_known[j].
        self.known, self.n_known = np.concatenate(known), np.array([len(one) for one in known])
        self.first_known = np.cumsum(self.n_known) - self.n_known

    def children(self, members: Evaluated, n: int, rng: np.random.Generator) -> Children:
        """Make n children of each member, one member after the other."""
        owner = np.repeat(np.arange(len(members)), n)
        Z, pairs = members.Z[owner], members.pairs[owner]
        operators = np.full(len(Z), CHANGED)
        if self.space.twins_.n_combinations > 2:
            # Four in ten pairs are moved; nothing else is changed in half of these.
            moved = np.flatnonzero(rng.random(len(Z)) < 0.4)
            pairs[moved] = moved_sides(pairs[moved], self.space, rng)
            operators[moved[rng.random(len(moved)) < 0.5]] = PAIRS
        if len(members) > 1:
            operators[(rng.random(len(Z)) < self.crossover_proba) & (operators == CHANGED)] = (
                CROSSED
            )
        self._cross(Z, np.flatnonzero(operators == CROSSED), members, rng)
        self._change(Z, np.flatnonzero(operators == CHANGED), members, rng)
        return Children(Z, pairs, operators)

    def _cross(self, Z: Floats, places: Ints, members: Evaluated, rng: np.random.Generator) -> None:
        """Let the inputs at these places take columns of other members."""
        others = members.Z[rng.integers(0, len(members), len(places))]
        # A child takes this much of the other member.
        shares = (0.05, 0.1, 0.25, 0.5)
        taken = rng.random(others.shape) < rng.choice(shares, len(places))[:, None]
        taken[:, self.space.sensitive] = False
        Z[places] = np.where(taken, others, Z[places])

    def _change(
        self, Z: Floats, places: Ints, members: Evaluated, rng: np.random.Generator
    ) -> None:
        """Change some columns of the inputs at these places."""
        free = self.space.non_sensitive
        if not len(free):
            return
        n_changed = rng.choice(len(self.n_changed), len(places), p=self.n_changed) + 1
        rows = np.repeat(places, n_changed)
        columns = free[rng.integers(0, len(free), len(rows))]
        Z[rows, columns] = self._values(columns, members, rng)

    def _values(self, columns: Ints, members: Evaluated, rng: np.random.Generator) -> Floats:
        """A value for each of the columns."""
        domain, n = self.space.domain, len(columns)
        place = (rng.random(n) * self.n_known[columns]).astype(np.intp)
        of_data = self.known[self.first_known[columns] + place]
        low, high = domain.low[columns], domain.high[columns]
        ends = np.where(rng.random(n) < 0.5, low, high)
        of_others = members.Z[rng.integers(0, len(members), n), columns]
        of_domain = values_at(rng.random(n), low, high, domain.discrete[columns])
        # A tenth get an end of the domain, where models often are largest; a fifth the value of
        # another member; a tenth any value of the domain, as a model may change where the data have
        # no value; the others a value of the data.
        kind = np.searchsorted(np.cumsum([0.1, 0.2, 0.1]), rng.random(n), side="right")
        return np.choose(kind, [ends, of_others, of_domain, of_data])
