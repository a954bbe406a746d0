"""Columns as numbers without gaps, as models and distances need them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._columns import Column
from skfairtest.transports._quantile import categories, is_missing, n_categories
from skfairtest.transports._settings import SETTINGS


class Feature(NamedTuple):
    """How a column is shown to models, as numbers without gaps.

    Attributes
    ----------
    levels : int
        Categories, each with a 0/1 column; 0 of numbers.
    centre, scale : float
        What numbers are shifted and divided by.
    gaps : bool
        Whether one more column says which numbers are missing.
    """

    levels: int
    centre: float
    scale: float
    gaps: bool

    @classmethod
    def learn(cls, column: Column, encoded: Floats) -> Feature:
        """Learn from the encoded values of all rows."""
        absent = is_missing(column, encoded)
        present = encoded[~absent]
        if column.is_category:
            n = n_categories(column, encoded)
            if n <= SETTINGS.one_hot_categories:
                return cls(n, 0.0, 1.0, False)
        centre = float(present.mean()) if len(present) else 0.0
        scale = float(present.std()) if len(present) else 0.0
        return cls(0, centre, scale or 1.0, bool(absent.any()))

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.levels or 1 + self.gaps

    def encode(self, column: Column, encoded: Floats) -> Floats:
        """Return the columns of some encoded values, shape (n, width)."""
        if self.levels:
            return np.eye(self.levels)[categories(encoded, self.levels)]
        absent = is_missing(column, encoded)
        numbers = np.where(absent, 0.0, (encoded - self.centre) / self.scale)[:, None]
        return np.hstack([numbers, absent[:, None].astype(float)]) if self.gaps else numbers
