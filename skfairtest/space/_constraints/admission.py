"""Rows where constraint objects hold: drawn near there, and moved there."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._columns import Column
from skfairtest.space._constraints.rules import AllRule, Boxes, Rule
from skfairtest.space._constraints.table_rule import TableRule

#: Rounds of repairs for all twins of a row in turn, and twins of a row that are looked at.
ROUNDS = 10
MOST_TWINS = 4


class Space(Protocol):
    """What is needed of an `InputSpace`, which needs all this itself."""

    columns: list[Column]
    low: Floats
    high: Floats
    discrete: Bools
    single: Bools
    sensitive: Ints

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform rows of the domain."""

    def clip(self, Z: Floats) -> Floats:
        """The nearest rows of the domain."""

    def let_missing(self, Z: Floats, rng: np.random.Generator) -> Floats:
        """Draws in which a tenth is missing of what may be."""

    def draw_sensitive(self, n: int, rng: np.random.Generator) -> Floats:
        """Random codes of the sensitive columns."""


class Admission:
    """What the constraint objects of a space allow to draw and to repair.

    Parameters
    ----------
    rules : list of Rule
        Those that hold at once, callables among them.
    space : InputSpace
        The domain.

    Attributes
    ----------
    whole : Rule
        All rules.
    rule : Rule or None
        All rules but the callables.
    root : Boxes
        One box that holds all valid rows.
    """

    def __init__(self, rules: list[Rule], space: Space) -> None:
        self.rules = rules
        self.whole = rules[0] if len(rules) == 1 else AllRule(rules)
        known = [rule for rule in rules if not rule.is_opaque]
        self.rule = AllRule(known) if known else None
        levels = {
            j: column.n_listed
            for j, column in enumerate(space.columns)
            if column.n_listed is not None
        }
        self.root = Boxes.whole(space.low, space.high, levels)
        self.is_possible = True
        if self.rule is not None:
            self.is_possible = bool(self.rule.narrow(self.root)[0])
            np.clip(self.root.low, space.low, space.high, out=self.root.low)
            np.clip(self.root.high, space.low, space.high, out=self.root.high)
        self._tables = self._disjoint_tables(known)

    def _disjoint_tables(self, rules: list[Rule]) -> list[tuple[list[int], Floats]]:
        """Columns and combinations of tables that have no column in common."""
        found: list[tuple[list[int], Floats]] = []
        taken: set[int] = set()
        tables = [rule for rule in _flat(rules) if isinstance(rule, TableRule)]
        for rule in sorted(tables, key=lambda rule: -len(rule.columns)):
            if rule.excluded or rule.columns & taken or not self.is_possible:
                continue
            taken |= rule.columns
            rows = rule.inside(self.root.low[0], self.root.high[0])
            for place, j in enumerate(rule.order):
                if j in self.root.sets and len(rows):
                    rows = rows[self.root.sets[j][0][rows[:, place].astype(np.intp)]]
            if len(rows):
                found.append((rule.order, rows))
        return found

    def valid(self, Z: Floats) -> Bools:
        """Which rows keep to all rules."""
        return self.whole.valid(Z)

    def draw(self, n: int, space: Space, rng: np.random.Generator) -> Floats:
        """Uniform rows of a part of the domain that holds all valid rows; (n, n_features).

        So the valid ones among them are uniform among all valid rows.
        """
        if self.rule is None or not self.is_possible:
            return space.draw(n, rng)
        low, high = self.root.low[0], self.root.high[0]
        U = rng.random((n, len(low)))
        Z = np.where(space.discrete, np.floor(U * (high - low + 1)), U * (high - low)) + low
        Z = np.where(high == space.high, space.let_missing(Z.copy(), rng), Z)
        for j, left in self.root.sets.items():
            codes = np.flatnonzero(left[0])
            Z[:, j] = codes[np.minimum((U[:, j] * len(codes)).astype(np.intp), len(codes) - 1)]
        for columns, rows in self._tables:
            Z[:, columns] = rows[rng.integers(len(rows), size=n)]
        return space.clip(Z)

    def admit(
        self, Z: Floats, space: Space, rng: np.random.Generator, values: Floats | None = None
    ) -> Floats:
        """Rows moved to where the constraint objects hold; see `InputSpace.admit`."""
        rule = self.rule
        if rule is None or not len(Z) or not self.is_possible:
            return Z
        Z = np.array(Z, dtype=np.float64)
        free = np.ones(Z.shape[1], dtype=bool)
        free[space.sensitive] = False
        own = Z[:, space.sensitive]
        if not rule.columns.intersection(space.sensitive.tolist()):
            twins = own[:, None]
        elif values is None:
            twins = np.stack([own, space.draw_sensitive(len(Z), rng)], axis=1)
        else:
            twins = np.asarray(values, dtype=np.float64)
        if twins.shape[1] > MOST_TWINS:
            chosen = rng.permuted(np.tile(np.arange(twins.shape[1]), (len(Z), 1)), axis=1)
            twins = np.take_along_axis(twins, chosen[:, :MOST_TWINS, None], axis=1)
        open_ = np.arange(len(Z))
        for turn in range(ROUNDS):
            if not len(open_):
                break
            wrong = np.zeros(len(open_), dtype=bool)
            for k in range(twins.shape[1]):
                rows = Z[open_]
                rows[:, space.sensitive] = twins[open_, k]
                bad = np.flatnonzero(~rule.valid(rows))
                if not len(bad):
                    continue
                if turn > ROUNDS // 2:
                    # What stays between two rules that block each other starts from elsewhere.
                    anew = self.draw(len(bad), space, rng)
                    rows[np.ix_(bad, np.flatnonzero(free))] = anew[:, free]
                fixed = space.clip(rule.repair(rows[bad], free, space, rng))
                Z[np.ix_(open_[bad], np.flatnonzero(free))] = fixed[:, free]
                wrong[bad] = True
            open_ = open_[wrong]
        if values is None:
            self._with_sensitive(Z, open_, space, rng)
        return Z

    def _with_sensitive(
        self, Z: Floats, rows: Ints, space: Space, rng: np.random.Generator
    ) -> None:
        """Where free columns alone do not help, let the sensitive ones of the rows move as well."""
        rule = self.rule
        assert rule is not None
        everything = np.ones(Z.shape[1], dtype=bool)
        for _ in range(ROUNDS):
            rows = rows[~rule.valid(Z[rows])]
            if not len(rows):
                return
            Z[rows] = space.clip(rule.repair(Z[rows], everything, space, rng))


def _flat(rules: list[Rule]) -> list[Rule]:
    """Rules that hold at once, one by one."""
    found: list[Rule] = []
    for rule in rules:
        found += _flat(rule.parts) if isinstance(rule, AllRule) else [rule]
    return found
