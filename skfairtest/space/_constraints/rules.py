"""Constraints bound to the columns of a table: verdicts, repairs and boxes, on encoded rows alone.

A `Rule` is what a constraint object becomes for one table. It never decodes rows, and can do what
a callable cannot: move a row to where it holds, and say of a whole box that it holds nowhere in it.
Missing numbers (NaN) break no comparison: a rule that cannot be looked at excludes no row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.space._columns import Column
from skfairtest.space._domain import Domain


class Boxes:
    """Boxes of rows: an interval of encoded values for each column, or a set for categories.

    Attributes
    ----------
    low, high : ndarray of shape (n, n_features)
        Closed intervals; of a column with sets, the first and the last encoded value of the set.
    sets : dict of int to ndarray of bool of shape (n, n_values)
        Which encoded values of a categorical column are left.
    """

    def __init__(self, low: Floats, high: Floats, sets: dict[int, Bools]) -> None:
        self.low, self.high, self.sets = low, high, sets

    @classmethod
    def whole(cls, low: Floats, high: Floats, n_levels: dict[int, int]) -> Boxes:
        """Return one box: everything."""
        sets = {}
        for j, n in n_levels.items():
            encoded = np.arange(n)
            sets[j] = ((encoded >= low[j]) & (encoded <= high[j]))[None]
        return cls(low[None].copy(), high[None].copy(), sets)

    def copy(self) -> Boxes:
        """Return the same boxes, to be narrowed apart from these."""
        return Boxes(self.low.copy(), self.high.copy(), {j: s.copy() for j, s in self.sets.items()})

    def keep(self, j: int, wanted: Bools) -> None:
        """Leave only the wanted encoded values (n, n_values) of a categorical column."""
        left = self.sets[j]
        left &= wanted
        some = left.any(axis=1)
        last = left.shape[1] - 1
        self.low[:, j] = np.where(some, left.argmax(axis=1), np.inf)
        self.high[:, j] = np.where(some, last - left[:, ::-1].argmax(axis=1), -np.inf)

    @property
    def empty(self) -> Bools:
        """Which boxes have no row."""
        return np.asarray((self.low > self.high).any(axis=1))


class Term(NamedTuple):
    """Column in a sum, with its weight, and its values if they are not the encoded values.

    These are given by encoded value or, where they are no list, by the column, which works them
    out.
    """

    column: int
    weight: float
    values: Floats | None
    numbers: Column | None = None

    @classmethod
    def of(cls, column: int, weight: float, values: Floats | Column | None) -> Term:
        """Return a term for values in either form."""
        if values is None or isinstance(values, np.ndarray):
            return cls(column, weight, values)
        return cls(column, weight, None, values)

    @property
    def largest_code(self) -> float:
        """The largest encoded number, where values beyond it mean missing; else infinity."""
        return np.inf if self.numbers is None else self.numbers.largest_code

    @property
    def slope(self) -> float:
        """Change of the term from one encoded value to the next, of evenly spaced numbers."""
        if self.numbers is None:
            return self.weight
        return self.weight * float(np.ravel(self.numbers.slope(np.zeros(1)))[0])


class Rule:
    """Rule on encoded values; subclasses define it."""

    #: Positions of the columns that it is about.
    columns: frozenset[int] = frozenset()
    #: Whether invalid rows can be moved and boxes looked at.
    is_opaque = False

    def valid(self, Z: Floats) -> Bools:
        """Return which rows satisfy the rule, shape (n,)."""
        raise NotImplementedError

    def negated(self) -> Rule:
        """Return the rule that holds where this one does not; missing numbers break neither."""
        raise NotImplementedError

    def repair(self, Z: Floats, movable: Bools, domain: Domain, rng: np.random.Generator) -> Floats:
        """Move rows that break the rule towards satisfying it, in movable columns (d,) only."""
        return Z

    def narrow(self, boxes: Boxes) -> Bools:
        """Remove from boxes, in place, what no valid row has; return which boxes are left.

        Nothing valid is ever cut off. A box that is left may still hold no valid row.
        """
        return ~boxes.empty


class OpaqueRule(Rule):
    """Rule of a callable on tables, which can be checked only, not repaired."""

    is_opaque = True

    def __init__(self, verdict: Callable[[Floats], Bools]) -> None:
        self.verdict = verdict

    def valid(self, Z: Floats) -> Bools:
        """Return which rows the callable admits."""
        return self.verdict(Z)

    def negated(self) -> Rule:
        """Return what the callable refuses."""
        return OpaqueRule(lambda Z: ~self.verdict(Z))


class SumRule(Rule):
    """Rule that a sum of columns is at most, less than, or equal to a limit."""

    def __init__(
        self, terms: list[Term], relation: str, limit: float, discrete: Bools, single: Bools
    ) -> None:
        self.terms, self.relation, self.limit = terms, relation, float(limit)
        self.discrete, self.single = discrete, single
        self.columns = frozenset(term.column for term in terms)
        own = sorted(self.columns)
        self._whole = bool(discrete[own].all())
        # As shares of the terms: the difference up to which sums count as equal, and what rounding
        # may move a sum by, which is the distance that repaired rows keep.
        self._equal, self._ulp = (1e-6, 5e-7) if single[own].any() else (1e-9, 1e-15)
        # Whole sums below 5 are at most 4, by which boxes can be narrowed.
        self.end = self.limit
        if self._whole and all(_is_whole(term) for term in terms):
            self.end = float(np.floor(limit) if relation == "<=" else np.ceil(limit) - 1)

    def _value(self, term: Term, encoded: Floats) -> Floats:
        if term.numbers is not None:
            return np.asarray(term.numbers.take(encoded), dtype=np.float64)
        if term.values is None:
            return encoded
        known = (encoded >= 0) & (encoded < len(term.values))
        place = np.where(known, encoded, 0).astype(np.intp)
        return np.where(known, term.values[place], np.nan)

    def _sums(self, Z: Floats) -> tuple[Floats, Floats]:
        """Return the sums, and the size of their terms, which bounds the rounding."""
        total, size = np.zeros(len(Z)), np.full(len(Z), abs(self.limit))
        for i, term in enumerate(self.terms):
            part = term.weight * self._value(term, Z[:, term.column])
            # As the user would write it: the first term, then the others one after another.
            total = part if i == 0 else total + part
            size = size + np.abs(part)
        return total, size

    def valid(self, Z: Floats) -> Bools:
        """Return which rows keep to it."""
        total, size = self._sums(Z)
        if self.relation == "<=":
            return ~(total > self.limit)
        if self.relation == "<":
            return ~(total >= self.limit)
        return ~(np.abs(total - self.limit) > self._equal * size)

    def _turned(self, relation: str, limit: float) -> SumRule:
        terms = [term._replace(weight=-term.weight) for term in self.terms]
        return SumRule(terms, relation, -limit, self.discrete, self.single)

    def negated(self) -> Rule:
        """Return the rule for the other side of the limit; for an equation, for both sides."""
        if self.relation == "==":
            less = SumRule(self.terms, "<", self.limit, self.discrete, self.single)
            return AnyRule([less, self._turned("<", self.limit)])
        return self._turned("<" if self.relation == "<=" else "<=", self.limit)

    def repair(self, Z: Floats, movable: Bools, domain: Domain, rng: np.random.Generator) -> Floats:
        """Change one column after another, in random order, until the sum meets the limit."""
        terms = [term for term in self.terms if movable[term.column]]
        if not terms:
            return Z
        Z = Z.copy()
        n, k = len(Z), len(terms)
        for turn in range(2):  # the second pass mends what half of the rows shared out
            rank = rng.random((n, k))
            if self.relation == "==":
                # Real numbers make up for what whole ones leave over.
                rank += [0.0 if domain.discrete[term.column] else 1.0 for term in terms]
            order = rank.argsort(axis=1)
            for place in range(k):
                # Half of the rows share the excess out, so that not one column bears it all.
                share = np.ones(n)
                if turn == 0 and place < k - 1 and k > 2:
                    share = np.where(rng.random(n) < 0.5, 1.0, rng.random(n))
                for i, term in enumerate(terms):
                    rows = np.flatnonzero(order[:, place] == i)
                    if len(rows):
                        Z[rows, term.column] = self._shifted(Z[rows], term, share[rows], domain)
        return Z

    def _shifted(self, Z: Floats, term: Term, share: Floats, domain: Domain) -> Floats:
        """Return the encoded column with which the sums exceed the limit no longer, or less."""
        total, size = self._sums(Z)
        excess = total - self.limit
        encoded, j = Z[:, term.column], term.column
        weight = np.full(len(Z), term.weight)
        equation = self.relation == "=="
        if equation:
            weight = np.where(excess < 0, -weight, weight)
            excess = np.abs(excess)
            wrong = excess > self._equal * size
        else:
            wrong = excess >= 0 if self.relation == "<" else excess > 0
        if not wrong.any():
            return encoded
        low, high = domain.low[j], min(domain.high[j], term.largest_code)
        need = share * excess
        if term.values is not None:
            return np.where(wrong, self._level(term, encoded, weight, need, low, high), encoded)
        if domain.discrete[j]:
            steps = need / np.abs(term.slope)
            if equation:
                steps = np.floor(steps + 1e-9)
            elif self.relation == "<" and self._whole:
                steps = np.floor(steps + 1e-9) + 1
            else:
                steps = np.ceil(steps - 1e-9)
            moved = encoded - np.sign(weight) * steps
        else:
            margin = 0.0 if equation else 4 * self._ulp * size
            moved = encoded - (need + margin) / weight
        return np.where(wrong, np.clip(moved, low, high), encoded)

    def _level(
        self, term: Term, encoded: Floats, weight: Floats, need: Floats, low: float, high: float
    ) -> Floats:
        """Return the category whose value reduces the sum by what is needed, or the most."""
        assert term.values is not None
        levels = np.arange(int(low), int(high) + 1)
        levels = levels[~np.isnan(term.values[levels])]
        if not len(levels):
            return encoded
        gain = weight[:, None] * (self._value(term, encoded)[:, None] - term.values[levels][None])
        short = np.where(gain >= need[:, None] * (1 - 1e-12), gain, np.inf)
        if self.relation == "<":
            short = np.where(gain > need[:, None], gain, np.inf)
        if self.relation == "==":
            short = np.where(gain <= need[:, None] * (1 + 1e-12), -gain, np.inf)
            short = np.where(gain >= 0, short, np.inf)
        enough = np.isfinite(short).any(axis=1)
        best = np.where(enough, short.argmin(axis=1), gain.argmax(axis=1))
        return levels[best].astype(np.float64)

    def narrow(self, boxes: Boxes) -> Bools:
        """Each column may take what the smallest values of the others leave over."""
        alive = ~boxes.empty
        if self.relation == "==":
            turned = self._turned("<=", self.limit)
            for rule in (SumRule(self.terms, "<=", self.limit, self.discrete, self.single), turned):
                alive &= rule.narrow(boxes)
            return alive
        least = np.stack([self._least(term, boxes) for term in self.terms], axis=1)
        least = np.where(alive[:, None], least, 0.0)
        size = np.abs(least).sum(axis=1) + abs(self.limit)
        # Roomier than rounding, and than what counts as equal: nothing valid is cut off.
        tolerance = 4 * self._equal * size
        total = least.sum(axis=1)
        alive &= ~(total > self.end + tolerance)
        for i, term in enumerate(self.terms):
            with np.errstate(invalid="ignore"):  # less than any number, which may be missing
                left = self.end + tolerance - (total - least[:, i])
            self._cut(term, boxes, np.where(np.isfinite(left), left, np.inf))
        return alive & ~boxes.empty

    def _least(self, term: Term, boxes: Boxes) -> Floats:
        j = term.column
        if term.values is None:
            ends = [self._value(term, end[:, j]) for end in (boxes.low, boxes.high)]
            low, high = (term.weight * end for end in ends)
            return np.where(boxes.high[:, j] > term.largest_code, -np.inf, np.minimum(low, high))
        value = term.weight * term.values
        # A missing value breaks nothing: the sum then has no least.
        value = np.where(np.isnan(value), -np.inf, value)
        return np.where(boxes.sets[j], value, np.inf).min(axis=1)

    def _cut(self, term: Term, boxes: Boxes, left: Floats) -> None:
        """Keep the values of a column whose product with its weight is at most `left`."""
        j = term.column
        if term.values is not None:
            value = np.where(np.isnan(term.values), -np.inf, term.weight * term.values)
            boxes.keep(j, value <= left[:, None])
            return
        end = left / term.weight
        if term.numbers is not None:
            end = term.numbers.place(end)
        if self.discrete[j]:
            slack = 1e-9 * np.maximum(1.0, np.abs(end))
            end = np.floor(end + slack) if term.weight > 0 else np.ceil(end - slack)
        if term.weight > 0:
            boxes.high[:, j] = np.minimum(boxes.high[:, j], end)
        else:
            boxes.low[:, j] = np.maximum(boxes.low[:, j], end)


def _is_whole(term: Term) -> bool:
    """Return whether a term of a column of whole encoded values is a whole number."""
    if term.numbers is not None:
        return False
    values = [term.weight] if term.values is None else term.weight * term.values
    return bool((np.asarray(values) == np.floor(values)).all())


class AllRule(Rule):
    """Rule that several rules all hold."""

    def __init__(self, parts: list[Rule]) -> None:
        self.parts = parts
        self.columns = frozenset().union(*(part.columns for part in parts))
        self.is_opaque = all(part.is_opaque for part in parts)

    def valid(self, Z: Floats) -> Bools:
        """Return which rows satisfy all rules."""
        verdict = np.ones(len(Z), dtype=bool)
        for part in self.parts:
            rows = np.flatnonzero(verdict)
            if not len(rows):
                break
            # What one part excludes, the next ones need not look at.
            verdict[rows] = part.valid(Z[rows] if len(rows) < len(Z) else Z)
        return verdict

    def negated(self) -> Rule:
        """Return the rule that at least one part does not hold."""
        return AnyRule([part.negated() for part in self.parts])

    def repair(self, Z: Floats, movable: Bools, domain: Domain, rng: np.random.Generator) -> Floats:
        """Repair rows by one part after another, in random order."""
        Z = Z.copy()
        parts = [part for part in self.parts if not part.is_opaque]
        # What one part repairs may break another one: that is repaired in the next pass.
        for turn in range(3):
            is_valid = True
            for i in rng.permutation(len(parts)):
                broken = np.flatnonzero(~parts[i].valid(Z))
                if not len(broken):
                    continue
                is_valid = False
                rows = Z[broken]
                if turn:
                    rows = _shaken(rows, parts[i].columns, movable, domain, rng)
                Z[broken] = domain.clip(parts[i].repair(rows, movable, domain, rng))
            if is_valid:
                break
        return Z

    def narrow(self, boxes: Boxes) -> Bools:
        """Narrow boxes by each part in turn, until none removes any more."""
        alive = ~boxes.empty
        # What one part removes lets another one remove more; few rounds show nearly all of it.
        for _ in range(4 if len(self.parts) > 1 else 1):
            before = boxes.low.copy(), boxes.high.copy()
            for part in self.parts:
                if not part.is_opaque:
                    alive &= part.narrow(boxes)
            if (boxes.low == before[0]).all() and (boxes.high == before[1]).all():
                break
        return alive


class AnyRule(Rule):
    """Rule that at least one of several rules holds."""

    def __init__(self, parts: list[Rule]) -> None:
        self.parts = parts
        self.columns = frozenset().union(*(part.columns for part in parts))
        self.is_opaque = all(part.is_opaque for part in parts)

    def valid(self, Z: Floats) -> Bools:
        """Return which rows satisfy at least one rule."""
        verdict = np.zeros(len(Z), dtype=bool)
        for part in self.parts:
            rows = np.flatnonzero(~verdict)
            if not len(rows):
                break
            verdict[rows] = part.valid(Z[rows])
        return verdict

    def negated(self) -> Rule:
        """Return the rule that no part holds."""
        return AllRule([part.negated() for part in self.parts])

    def repair(self, Z: Floats, movable: Bools, domain: Domain, rng: np.random.Generator) -> Floats:
        """Repair each row by a random part among those whose columns may move."""
        parts = [part for part in self.parts if any(movable[j] for j in part.columns)]
        if not parts:
            return Z
        Z = Z.copy()
        chosen = rng.integers(len(parts), size=len(Z))
        for i, part in enumerate(parts):
            rows = np.flatnonzero(chosen == i)
            if len(rows):
                Z[rows] = part.repair(Z[rows], movable, domain, rng)
        return Z

    def narrow(self, boxes: Boxes) -> Bools:
        """Narrow each box to the hull of what the parts leave."""
        alive = np.zeros(len(boxes.low), dtype=bool)
        low, high = np.full_like(boxes.low, np.inf), np.full_like(boxes.high, -np.inf)
        sets = {j: np.zeros_like(s) for j, s in boxes.sets.items()}
        for part in self.parts:
            left = boxes.copy()
            some = part.narrow(left)
            alive |= some
            low[some] = np.minimum(low[some], left.low[some])
            high[some] = np.maximum(high[some], left.high[some])
            for j, own in sets.items():
                own[some] |= left.sets[j][some]
        boxes.low[alive], boxes.high[alive] = low[alive], high[alive]
        for j, own in sets.items():
            boxes.sets[j][alive] = own[alive]
        return alive


def _shaken(
    Z: Floats, columns: frozenset[int], movable: Bools, domain: Domain, rng: np.random.Generator
) -> Floats:
    """Draw one of the columns anew in some of the rows."""
    own = [j for j in sorted(columns) if movable[j]]
    if not own:
        return Z
    # A fifth of the rows: enough that no two rules block each other, and most stay near.
    rows = np.flatnonzero(rng.random(len(Z)) < 0.2)
    if len(rows):
        Z = Z.copy()
        chosen = np.array(own)[rng.integers(len(own), size=len(rows))]
        Z[rows, chosen] = domain.draw(len(rows), rng)[np.arange(len(rows)), chosen]
    return Z
