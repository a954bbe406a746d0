"""Draw rows that satisfy the constraint objects, and repair rows that do not."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._constraints.rules import AllRule, Boxes, Rule
from skfairtest.space._constraints.table_rule import TableRule
from skfairtest.space._domain import Domain, values_at
from skfairtest.space._twins import Twins

#: Times that a row is repaired, for all its twins in turn, before it stays as it is.
ROUNDS = 10


class Feasibility:
    """Draws and repairs rows according to the constraint objects of a space.

    Parameters
    ----------
    rules : list of Rule
        Those that hold at once, callables among them; none where every input exists.
    domain : Domain
        The values of the attributes.
    twins : Twins
        Which attributes are sensitive.
    names : sequence of str, default=()
        The constraints in words, one a rule.

    Attributes
    ----------
    rule : Rule or None
        All rules but the callables.
    root : Boxes
        One box that holds all valid rows.
    """

    def __init__(
        self, rules: list[Rule], domain: Domain, twins: Twins, names: Sequence[str] = ()
    ) -> None:
        self.rules, self.domain, self.twins, self.names = rules, domain, twins, names
        self._whole = rules[0] if len(rules) == 1 else AllRule(rules)
        known = [rule for rule in rules if not rule.is_opaque]
        self.rule = AllRule(known) if known else None
        levels = {
            j: column.n_listed
            for j, column in enumerate(domain.columns)
            if column.n_listed is not None
        }
        self.root = Boxes.whole(domain.low, domain.high, levels)
        self.is_possible = True
        if self.rule is not None:
            self.is_possible = bool(self.rule.narrow(self.root)[0])
            np.clip(self.root.low, domain.low, domain.high, out=self.root.low)
            np.clip(self.root.high, domain.low, domain.high, out=self.root.high)
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
        """Return which rows satisfy all rules, shape (n,)."""
        if not self.rules or not len(Z):
            return np.ones(len(Z), dtype=bool)
        return self._whole.valid(Z)

    def within(self, domain: Domain) -> Feasibility:
        """Return the same feasibility for a part of the domain."""
        part = copy.copy(self)
        part.domain = domain
        return part

    @property
    def knows_all(self) -> bool:
        """Whether rows can be repaired by all constraints: no callable is among them."""
        return self.rule is not None and not any(rule.is_opaque for rule in self.rules)

    @property
    def repairs(self) -> bool:
        """Whether there are constraint objects by which rows can be repaired."""
        return self.rule is not None

    def unsatisfied(self, n: int, Z: Floats) -> ValueError:
        """Return the error that none of n rows satisfies the rules; `Z` are some of them."""
        verdicts = np.array([rule.valid(Z) for rule in self.rules])
        others = [np.delete(verdicts, i, axis=0).all(axis=0).any() for i in range(len(verdicts))]
        alone = [name for name, some in zip(self.names, others, strict=True) if some]
        if 0 < len(alone) < len(others):
            hint = f" Rows that satisfy all others are refused by {' and by '.join(alone)}."
        else:
            hint = ""
        return ValueError(
            f"constraint=: expected inputs that satisfy {' and '.join(self.names)}; got none in "
            f"{n} rows drawn from the domains.{hint} Correct or leave out a constraint, or set "
            "the domains to where all hold, by InputSpace(bounds=...) or "
            "InputSpace(categories=...)."
        )

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw uniform rows from a part of the domain that contains all valid rows.

        So the valid ones among them are uniform among all valid rows.
        """
        if self.rule is None or not self.is_possible:
            return self.domain.draw(n, rng)
        domain, low, high = self.domain, self.root.low[0], self.root.high[0]
        U = rng.random((n, len(low)))
        Z = values_at(U, low, high, domain.discrete)
        Z = np.where(high == domain.high, domain.draw_missing(Z.copy(), rng), Z)
        for j, left in self.root.sets.items():
            encoded = np.flatnonzero(left[0])
            Z[:, j] = encoded[
                np.minimum((U[:, j] * len(encoded)).astype(np.intp), len(encoded) - 1)
            ]
        for columns, rows in self._tables:
            Z[:, columns] = rows[rng.integers(len(rows), size=n)]
        return domain.clip(Z)

    def repair(self, Z: Floats, rng: np.random.Generator, values: Floats | None = None) -> Floats:
        """Move proposals, as little as needed, to where the constraint objects hold.

        A search passes what it has mutated or crossed through this before it is judged. Nearly all
        rows are valid then; callables are not asked, and `valid` has the last word.

        Parameters
        ----------
        Z : ndarray of shape (n, n_features)
            Proposals.
        rng : Generator
            Source of randomness; not used where there are no constraint objects.
        values : ndarray of shape (n, k, n_sensitive), default=None
            Encoded sensitive values of the twins that will be compared: rows are moved in
            non-sensitive columns to where all these twins are valid. None: the rows' own encoded
            values and, where a constraint names sensitive columns, a random other twin; what cannot
            be repaired otherwise may then change its own encoded values, too.

        Returns
        -------
        ndarray of shape (n, n_features)
            The rows; `Z` itself where there are no constraint objects.
        """
        rule, domain, sensitive = self.rule, self.domain, self.twins.sensitive
        if rule is None or not len(Z) or not self.is_possible:
            return Z
        Z = np.array(Z, dtype=np.float64)
        non_sensitive = np.ones(Z.shape[1], dtype=bool)
        non_sensitive[sensitive] = False
        own = Z[:, sensitive]
        if not rule.columns.intersection(sensitive.tolist()):
            twins = own[:, None]
        elif values is None:
            twins = np.stack([own, self.twins.draw_sensitive(len(Z), rng)], axis=1)
        else:
            twins = np.asarray(values, dtype=np.float64)
        most = 4  # twins of a row that are repaired for: each costs as much as the row itself
        if twins.shape[1] > most:
            chosen = rng.permuted(np.tile(np.arange(twins.shape[1]), (len(Z), 1)), axis=1)
            twins = np.take_along_axis(twins, chosen[:, :most, None], axis=1)
        remaining = np.arange(len(Z))
        for turn in range(ROUNDS):
            if not len(remaining):
                break
            wrong = np.zeros(len(remaining), dtype=bool)
            for k in range(twins.shape[1]):
                rows = Z[remaining]
                rows[:, sensitive] = twins[remaining, k]
                bad = np.flatnonzero(~rule.valid(rows))
                if not len(bad):
                    continue
                if turn > ROUNDS // 2:
                    # What stays between two rules that block each other starts from elsewhere.
                    anew = self.draw(len(bad), rng)
                    rows[np.ix_(bad, np.flatnonzero(non_sensitive))] = anew[:, non_sensitive]
                fixed = domain.clip(rule.repair(rows[bad], non_sensitive, domain, rng))
                Z[np.ix_(remaining[bad], np.flatnonzero(non_sensitive))] = fixed[:, non_sensitive]
                wrong[bad] = True
            remaining = remaining[wrong]
        if values is None:
            self._repair_with_sensitive(Z, remaining, rng)
        return Z

    def _repair_with_sensitive(self, Z: Floats, rows: Ints, rng: np.random.Generator) -> None:
        """Move sensitive columns as well in rows that the others alone cannot repair."""
        rule = self.rule
        assert rule is not None
        everything = np.ones(Z.shape[1], dtype=bool)
        for _ in range(ROUNDS):
            rows = rows[~rule.valid(Z[rows])]
            if not len(rows):
                return
            Z[rows] = self.domain.clip(rule.repair(Z[rows], everything, self.domain, rng))


def _flat(rules: list[Rule]) -> list[Rule]:
    """Return rules that must all hold as a flat list."""
    found: list[Rule] = []
    for rule in rules:
        found += _flat(rule.parts) if isinstance(rule, AllRule) else [rule]
    return found
