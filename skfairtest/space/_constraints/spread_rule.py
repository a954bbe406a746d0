"""Rule on single columns of a table, some of which form one attribute."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.space._constraints.rules import Boxes, Rule
from skfairtest.space._domain import Domain
from skfairtest.space._layout import Layout


class _Fields(Domain):
    """The table's own columns as a domain to repair rows in."""

    def __init__(self, layout: Layout, domain: Domain) -> None:
        self.layout, self.whole = layout, domain
        self.low = np.array([field.low for field in layout.fields])
        self.high = np.array([field.high for field in layout.fields])
        self.discrete = np.array([field.discrete for field in layout.fields])
        self.single = np.zeros(len(layout.fields), dtype=bool)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform rows of the domain."""
        return self.layout.spread(self.whole.draw(n, rng))

    def clip(self, Z: Floats) -> Floats:
        """Return the nearest rows of the domain."""
        Z = np.clip(Z, self.low, self.high)
        return np.where(self.discrete, np.rint(Z), Z)


class SpreadRule(Rule):
    """A constraint on columns of one-hot groups, which share the code of their group.

    Parameters
    ----------
    rule : Rule
        On the columns of the table.
    layout : Layout
        How attributes stand in them.
    """

    def __init__(self, rule: Rule, layout: Layout) -> None:
        self.rule, self.layout = rule, layout
        self._of = np.zeros(len(layout.fields), dtype=np.intp)
        for j, places in enumerate(layout.places):
            self._of[places] = j
        self.columns = frozenset(int(self._of[place]) for place in rule.columns)
        self.is_opaque = rule.is_opaque

    def valid(self, Z: Floats) -> Bools:
        """Return which rows satisfy the rule."""
        return self.rule.valid(self.layout.spread(Z))

    def negated(self) -> Rule:
        """Return what the rule refuses."""
        return SpreadRule(self.rule.negated(), self.layout)

    def _options(self, j: int) -> Floats:
        """Return the values of a group's columns for each of its codes."""
        n_options = self.layout.columns[j].n_listed or 0
        return self.layout.spread_group(j, np.arange(n_options, dtype=np.float64))

    def repair(self, Z: Floats, movable: Bools, domain: Domain, rng: np.random.Generator) -> Floats:
        """Repair the columns, then take the category of a group that agrees with what changed."""
        before = self.layout.spread(Z)
        after = self.rule.repair(before, movable[self._of], _Fields(self.layout, domain), rng)
        Z = Z.copy()
        for j in sorted(self.columns):
            places = self.layout.places[j]
            changed = after[:, places] != before[:, places]
            rows = np.flatnonzero(changed.any(axis=1))
            if not len(rows):
                continue
            if self.layout.groups[j] is None:
                Z[rows, j] = self.layout.columns[j].from_field(after[rows, places[0]])
                continue
            codes = np.arange(int(domain.low[j]), int(domain.high[j]) + 1)
            own = self._options(j)[codes]
            differs = after[rows][:, None, places] != own[None]
            # A column that was moved has its way; which of several categories is left to chance.
            cost = (differs & changed[rows, None]).sum(axis=2) + 0.5 * rng.random(differs.shape[:2])
            Z[rows, j] = codes[cost.argmin(axis=1)]
        return Z

    def narrow(self, boxes: Boxes) -> Bools:
        """Cut off the categories of groups with which no row keeps to the rule."""
        alive = ~boxes.empty
        for j in sorted(self.columns):
            if self.layout.groups[j] is None or j not in boxes.sets:
                continue
            possible = np.zeros_like(boxes.sets[j])
            options = self._options(j)
            for code in np.flatnonzero(boxes.sets[j].any(axis=0)):
                part = self._spread_boxes(boxes, {j: options[code]})
                possible[:, code] = self.rule.narrow(part)
            boxes.keep(j, possible)
        return alive & ~boxes.empty

    def _spread_boxes(self, boxes: Boxes, held: dict[int, Floats]) -> Boxes:
        """Return the values of a group's columns for each of its codes."""
        layout, n = self.layout, len(boxes.low)
        low, high = np.empty((n, len(layout.fields))), np.empty((n, len(layout.fields)))
        sets: dict[int, Bools] = {}
        for j, places in enumerate(layout.places):
            column = layout.columns[j]
            if layout.groups[j] is None:
                ends = column.ends_in_field(boxes.low[:, j], boxes.high[:, j])
                low[:, places[0]], high[:, places[0]] = ends
                if layout.fields[places[0]].n_listed is not None and j in boxes.sets:
                    sets[places[0]] = boxes.sets[j].copy()
            elif j in held:
                low[:, places] = np.where(np.isnan(held[j]), -np.inf, held[j])
                high[:, places] = np.where(np.isnan(held[j]), np.inf, held[j])
            else:
                options = self._options(j)[None]
                gone = np.isnan(options)  # a missing number breaks no rule
                left = boxes.sets[j][:, :, None]
                lowest, highest = np.where(gone, -np.inf, options), np.where(gone, np.inf, options)
                low[:, places] = np.where(left, lowest, np.inf).min(axis=1)
                high[:, places] = np.where(left, highest, -np.inf).max(axis=1)
        for place, field in enumerate(layout.fields):
            if field.n_listed is not None and place not in sets:
                codes = np.arange(field.n_listed)
                inside = (codes >= low[:, place, None]) & (codes <= high[:, place, None])
                sets[place] = inside
        return Boxes(low, high, sets)
