"""Children of a population: some columns changed, some of another's columns, another pair."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeVar

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.pairs import moved_sides
from skfairtest.individual._sbft.population import CHANGED, CROSSED, PAIRS, Judged
from skfairtest.space._domain import codes_at
from skfairtest.space._space import InputSpace

#: Chances that a child has one, two, three and more changed columns.
N_CHANGED = (0.4, 0.3, 0.2, 0.05, 0.05)
#: Chances that a column gets an end of its domain, where models often are largest; the value of
#: another member; or any value of the domain, as a model may change where the data have no value.
#: Otherwise it gets a value of the data.
END, OTHERS, FOREIGN = 0.1, 0.2, 0.1
#: How much of another member a child of two takes.
TAKEN = (0.05, 0.1, 0.25, 0.5)
#: Chance that the pair is moved where there is more than one, and that nothing else is then.
MOVED_PAIR, PAIR_ALONE = 0.4, 0.5

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
Batches = Generator[Children, Judged, Found]


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
    """

    def __init__(self, space: InputSpace, rows: Floats, crossover_proba: float) -> None:
        self.space, self.crossover_proba = space, crossover_proba
        low, high = space.domain.low, space.domain.high
        known = [np.unique(np.append(rows[:, j], [low[j], high[j]])) for j in range(len(low))]
        # Values of the data, column after column: those of column j begin at first_known[j].
        self.known, self.n_known = np.concatenate(known), np.array([len(one) for one in known])
        self.first_known = np.cumsum(self.n_known) - self.n_known

    def children(self, members: Judged, n: int, rng: np.random.Generator) -> Children:
        """Make n children of each member, one member after the other."""
        owner = np.repeat(np.arange(len(members)), n)
        Z, pairs = members.Z[owner], members.pairs[owner]
        operators = np.full(len(Z), CHANGED)
        if self.space.twins_.n_combinations > 2:
            moved = np.flatnonzero(rng.random(len(Z)) < MOVED_PAIR)
            pairs[moved] = moved_sides(pairs[moved], self.space, rng)
            operators[moved[rng.random(len(moved)) < PAIR_ALONE]] = PAIRS
        if len(members) > 1:
            operators[(rng.random(len(Z)) < self.crossover_proba) & (operators == CHANGED)] = (
                CROSSED
            )
        self._cross(Z, np.flatnonzero(operators == CROSSED), members, rng)
        self._change(Z, np.flatnonzero(operators == CHANGED), members, rng)
        return Children(Z, pairs, operators)

    def _cross(self, Z: Floats, places: Ints, members: Judged, rng: np.random.Generator) -> None:
        """Let the inputs at these places take columns of other members."""
        others = members.Z[rng.integers(0, len(members), len(places))]
        taken = rng.random(others.shape) < rng.choice(TAKEN, len(places))[:, None]
        taken[:, self.space.sensitive] = False
        Z[places] = np.where(taken, others, Z[places])

    def _change(self, Z: Floats, places: Ints, members: Judged, rng: np.random.Generator) -> None:
        """Change some columns of the inputs at these places."""
        free = self.space.non_sensitive
        if not len(free):
            return
        n_changed = rng.choice(len(N_CHANGED), len(places), p=N_CHANGED) + 1
        rows = np.repeat(places, n_changed)
        columns = free[rng.integers(0, len(free), len(rows))]
        Z[rows, columns] = self._values(columns, members, rng)

    def _values(self, columns: Ints, members: Judged, rng: np.random.Generator) -> Floats:
        """A value for each of the columns."""
        domain, n = self.space.domain, len(columns)
        place = (rng.random(n) * self.n_known[columns]).astype(np.intp)
        of_data = self.known[self.first_known[columns] + place]
        low, high = domain.low[columns], domain.high[columns]
        ends = np.where(rng.random(n) < 0.5, low, high)
        of_others = members.Z[rng.integers(0, len(members), n), columns]
        of_domain = codes_at(rng.random(n), low, high, domain.discrete[columns])
        kind = np.searchsorted(np.cumsum([END, OTHERS, FOREIGN]), rng.random(n), side="right")
        return np.choose(kind, [ends, of_others, of_domain, of_data])
