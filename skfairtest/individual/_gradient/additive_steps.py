"""The steps before a model as a sum of functions of single columns, for gradients.

Unlike what certificates rest on, this takes any steps of which random rows show that it holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._tables import as_numbers, has_single
from skfairtest.whitebox._unwrap import run_steps


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
        largest = np.minimum(space.domain.largest_code, space.domain.high)
        # Discrete columns with fewer values are tabulated, the others taken as linear.
        self.tabulated = space.domain.discrete & (space.domain.high - space.domain.low < 5000)
        for k in range(space.n_features):
            if self.tabulated[k]:
                values = np.arange(space.domain.low[k], space.domain.high[k] + 1)
            else:
                values = np.array([space.domain.low[k], largest[k], space.domain.high[k]])
            rows = np.repeat(low, len(values), axis=0)
            rows[:, k] = values
            table = self._transform(rows) - self.origin
            if not self.tabulated[k]:
                if largest[k] < space.domain.high[k]:
                    self.missing[k] = table[2]
                spread = float(largest[k] - low[0, k])
                table = table[1] / spread if spread > 0 else 0.0 * table[1]
            self.tables.append(table)
        self._check()

    def _transform(self, Z: Floats) -> Floats:
        out = run_steps(self._steps, self.space.decode(Z))
        # Nets are shown float32, often by a cast behind the scalers.
        self.single |= has_single(out)
        return as_numbers(out, self._hint)

    def _check(self) -> None:
        # That steps are additive is seen on 64 random rows.
        Z = self.space.domain.draw(64, np.random.default_rng(0))
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
                    part[Z[:, k] > self.space.domain.largest_code[k]] = self.missing[k]
                out += part
        return out

    def pull_back(self, Z: Floats, G: Floats) -> Floats:
        """From gradients with respect to what the last step sees to those per step of a column."""
        g = np.zeros(Z.shape)
        for k in self.space.non_sensitive:
            table = self.tables[k]
            if not self.tabulated[k]:
                g[:, k] = G @ table
            elif len(table) > 1:
                here = self._places(Z, k)
                largest = self.space.domain.largest_code[k] - self.space.domain.low[k]
                last = int(min(len(table) - 1, largest))
                there = np.where(here < last, here + 1, np.maximum(here - 1, 0))
                change = (table[there] - table[here]) / np.where(there == here, 1, there - here)[
                    :, None
                ]
                g[:, k] = np.einsum("ij,ij->i", G, change)
        # From a missing value nothing rises or falls.
        return np.where(Z > self.space.domain.largest_code, 0.0, g) * self.space.domain.steps

    def _places(self, Z: Floats, k: int) -> Ints:
        return np.rint(Z[:, k] - self.space.domain.low[k]).astype(np.intp)
