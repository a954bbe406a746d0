"""What models do to a table themselves before they look at it, as steps of a pipeline.

Each works on single columns, and never lets a real one fall. `MissingSentinel` alone changes the
direction of real columns, where what it marks begins and ends (see `_monotone_pieces`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skfairtest._typing import Floats, Ints
from skfairtest.whitebox._tables import as_numbers


class OwnStep:
    """A step that stands for what a model itself does to the tables that it is shown."""

    def transform(self, table: Any) -> Any:
        """What the model makes of a table."""
        raise NotImplementedError


class TakeColumns(OwnStep):
    """Some columns as an array, as a bagged estimator sees them.

    - `columns`: their positions.
    """

    def __init__(self, columns: Any) -> None:
        self.columns = np.asarray(columns, dtype=np.intp)

    def transform(self, table: Any) -> Any:
        """The columns of a table."""
        array = table.tocsr() if sparse.issparse(table) else np.asarray(table)
        if array.dtype == object and isinstance(table, pd.DataFrame):
            # Nullable types of pandas become numbers, and what is missing NaN, before a bag.
            if all(pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes):
                array = as_numbers(table)
        return array[:, self.columns]


class MissingSentinel(OwnStep):
    """NaN in place of numbers that a library takes for missing values.

    XGBoost with ``missing=0``, or on a sparse table, sends a zero its own way at every test,
    whatever its threshold, as it does with NaN.

    - `low`, `high`: the smallest and the largest of these numbers.
    - `columns`: positions of the columns in which they are missing values.
    """

    def __init__(self, low: float, high: float, columns: Ints) -> None:
        self.low, self.high, self.columns = low, high, columns

    def transform(self, table: Floats) -> Floats:
        """A table of numbers, with NaN for those that are taken for missing values."""
        own = table[:, self.columns]
        marked = table.copy()
        marked[:, self.columns] = np.where((own >= self.low) & (own <= self.high), np.nan, own)
        return marked
