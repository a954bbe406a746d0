"""What stands before a model, and linear maps of it, taken apart by attribute.

`Effects` are exact: certificates rest on them. `AdditiveSteps` take any steps whose output is a sum
of functions of single columns, which is enough for gradients.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._tables import as_numbers, has_single
from skfairtest.whitebox._unwrap import run_steps

#: Rounds of halving in search of a peak, and intervals beyond which the bound stays as it is.
PEAK_ROUNDS, PEAK_INTERVALS = 80, 4096
#: Discrete columns with fewer values are tabulated for gradients, the others taken as linear.
MOST_TABULATED = 5000
#: Random rows on which it is seen that steps are additive.
ROWS_CHECKED = 64


class Extremes(NamedTuple):
    """Bounds of an attribute's part in each sum, and codes at which they are attained."""

    low: Floats
    high: Floats
    at_low: Floats
    at_high: Floats


class Effects:
    """The part of each attribute in ``features @ weights + base``.

    - `weights` (n_features, n_sums): the map.
    - `base` (n_sums,): what is added.

    - `tables` (n_values, n_sums): parts of attributes of finitely many values, along their grids.
    - `continuous`: the other attributes that the map depends on.
    - `base` (n_sums,): what does not depend on any attribute.
    - `size`: sum of the largest absolute values of all terms: what rounding is measured by.
    """

    def __init__(self, features: Features, weights: Floats, base: Floats) -> None:
        self.features, self.weights = features, weights
        self.space = features.space
        constant = np.flatnonzero(features.source < 0)
        self.base = base + features.origin[constant] @ weights[constant]
        self.tables: dict[int, Floats] = {}
        self.continuous: list[int] = []
        self.size = float(np.abs(base).max(initial=0.0))
        for j in range(self.space.n_features):
            own = features.of(j)
            if not len(own) or not weights[own].any():
                continue
            if features.continuous[j]:
                self.continuous.append(j)
                ends = np.array([[self.space.domain.low[j]], [self.space.domain.high[j]]])
                largest = np.abs(self.at(j, ends)).max(axis=(0, 1))
            else:
                terms = np.stack([features.table(int(t)) for t in own], axis=1)
                self.tables[j] = terms @ weights[own]
                largest = np.abs(terms) @ np.abs(weights[own])
            self.size += float(largest.max(initial=0.0))
        self.size += float(np.abs(self.base).max(initial=0.0))

    def values(self, attribute: int, codes: Floats) -> Floats:
        """Features of a continuous attribute at some codes, (n, n_own)."""
        own = self.features.of(attribute)
        flat = np.repeat(codes, len(own))
        return self.features.evaluate(np.tile(own, len(codes)), flat).reshape(len(codes), -1)

    def at(self, attribute: int, codes: Floats) -> Floats:
        """Terms of a continuous attribute at some codes, (n, n_own, n_sums)."""
        own = self.features.of(attribute)
        return self.values(attribute, codes.ravel())[:, :, None] * self.weights[own][None]

    def part(self, attribute: int, codes: Floats) -> Floats:
        """The part of a continuous attribute in all sums at some codes, (n, n_sums)."""
        return np.asarray(self.at(attribute, codes).sum(axis=1))

    def extremes(self, attribute: int) -> Extremes:
        """Smallest and largest part of an attribute in each sum, over its whole domain."""
        if attribute in self.tables:
            table, grid = self.tables[attribute], self.features.grids[attribute]
            return Extremes(
                table.min(axis=0), table.max(axis=0),
                grid[table.argmin(axis=0)], grid[table.argmax(axis=0)],
            )  # fmt: skip
        ends = np.array([self.space.domain.low[attribute], self.space.domain.high[attribute]])
        parts = self.part(attribute, ends)
        found = Extremes(
            parts.min(axis=0), parts.max(axis=0), ends[parts.argmin(axis=0)],
            ends[parts.argmax(axis=0)],
        )  # fmt: skip
        # Features of a continuous attribute are nondecreasing: where their weights have one sign,
        # the ends of the domain decide. Several features of opposite signs may peak between them.
        own = self.weights[self.features.of(attribute)]
        for o in np.flatnonzero((own.min(axis=0) < 0) & (own.max(axis=0) > 0)):
            for sign, bound, place in ((-1.0, found.low, found.at_low),
                                       (1.0, found.high, found.at_high)):  # fmt: skip
                most, place[o] = self._peak(attribute, int(o), sign)
                bound[o] = sign * most
        return found

    def _peak(self, attribute: int, o: int, sign: float) -> tuple[float, float]:
        """An upper bound of ``sign * part``, and the best code met: intervals are halved."""
        least_gap = 1.0 if self.space.domain.discrete[attribute] else 0.0
        slack = 1e-14 * self.size
        low, high = self.space.domain.low[[attribute]], self.space.domain.high[[attribute]]
        at_low, at_high = (sign * self.at(attribute, codes)[:, :, o] for codes in (low, high))
        best, place = -np.inf, float(low[0])
        for turn in range(PEAK_ROUNDS + 1):
            for codes, values in ((low, at_low.sum(axis=1)), (high, at_high.sum(axis=1))):
                if values.max() > best:
                    best, place = float(values.max()), float(codes[values.argmax()])
            bounds = np.maximum(at_low, at_high).sum(axis=1)
            middle = np.floor((low + high) / 2) if least_gap else (low + high) / 2
            # Of two neighbouring numbers nothing is left between.
            live = (bounds > best + slack) & (high - low > least_gap)
            live &= (low < middle) & (middle < high)
            if not live.any() or live.sum() > PEAK_INTERVALS or turn == PEAK_ROUNDS:
                break
            between = sign * self.at(attribute, middle[live])[:, :, o]
            low, high = np.append(low[live], middle[live]), np.append(middle[live], high[live])
            at_low, at_high = (
                np.vstack([at_low[live], between]), np.vstack([between, at_high[live]])
            )  # fmt: skip
        return max(best + slack, float(bounds[live].max(initial=-np.inf))), place


class AdditiveSteps:
    """The steps before the last one, as a sum of functions of single columns.

    That holds for scalers and encoders, alone or in a `ColumnTransformer`; for other steps it is
    checked on random rows, and an error says so where it does not, with what the user can do.
    """

    def __init__(self, steps: list[Any], space: InputSpace, hint: str) -> None:
        self.space, self._steps, self._hint = space, steps, hint
        self.single = space.layout.has_single
        low = space.domain.low[None]
        self.origin = self._transform(low)[0]
        self.tables: list[Floats] = []
        #: What a missing number adds, of columns taken as linear.
        self.missing: dict[int, Floats] = {}
        top = np.minimum(space.domain.top, space.domain.high)
        self.tabulated = space.domain.discrete & (
            space.domain.high - space.domain.low < MOST_TABULATED
        )
        for k in range(space.n_features):
            if self.tabulated[k]:
                values = np.arange(space.domain.low[k], space.domain.high[k] + 1)
            else:
                values = np.array([space.domain.low[k], top[k], space.domain.high[k]])
            rows = np.repeat(low, len(values), axis=0)
            rows[:, k] = values
            table = self._transform(rows) - self.origin
            if not self.tabulated[k]:
                if top[k] < space.domain.high[k]:
                    self.missing[k] = table[2]
                spread = float(top[k] - low[0, k])
                table = table[1] / spread if spread > 0 else 0.0 * table[1]
            self.tables.append(table)
        self._check()

    def _transform(self, Z: Floats) -> Floats:
        out = run_steps(self._steps, self.space.decode(Z))
        # Nets are shown float32, often by a cast behind the scalers.
        self.single |= has_single(out)
        return as_numbers(out, self._hint)

    def _check(self) -> None:
        Z = self.space.domain.draw(ROWS_CHECKED, np.random.default_rng(0))
        expected = self._transform(Z)
        scale = np.abs(expected).max(axis=0, initial=1.0)
        tolerance = 1e-3 if self.single else 1e-6
        if not (np.abs(self.encode(Z) - expected) <= tolerance * scale).all():
            raise ValueError(
                "gradient='auto' expects steps before the model that scale, encode or pass single "
                "columns (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, OneHotEncoder, "
                "OrdinalEncoder, ColumnTransformer of these); got steps that mix columns or bend "
                f"real ones: {' '.join(repr(self._steps).split()):.200}. {self._hint}"
            )

    def encode(self, Z: Floats) -> Floats:
        """What the last step sees, shape (n, p)."""
        out = np.repeat(self.origin[None], len(Z), axis=0)
        for k, table in enumerate(self.tables):
            if self.tabulated[k]:
                out += table[self._places(Z, k)]
            else:
                part = (Z[:, k] - self.space.domain.low[k])[:, None] * table
                if k in self.missing:
                    part[Z[:, k] > self.space.domain.top[k]] = self.missing[k]
                out += part
        return out

    def pull_back(self, Z: Floats, G: Floats) -> Floats:
        """From gradients with respect to what the last step sees to those per step of a column."""
        g = np.zeros(Z.shape)
        for k in self.space.free:
            table = self.tables[k]
            if not self.tabulated[k]:
                g[:, k] = G @ table
            elif len(table) > 1:
                here = self._places(Z, k)
                last = int(min(len(table) - 1, self.space.domain.top[k] - self.space.domain.low[k]))
                there = np.where(here < last, here + 1, np.maximum(here - 1, 0))
                change = (table[there] - table[here]) / np.where(there == here, 1, there - here)[
                    :, None
                ]
                g[:, k] = np.einsum("ij,ij->i", G, change)
        # From a missing value nothing rises or falls.
        return np.where(Z > self.space.domain.top, 0.0, g) * self.space.domain.steps

    def _places(self, Z: Floats, k: int) -> Ints:
        return np.rint(Z[:, k] - self.space.domain.low[k]).astype(np.intp)
