"""Rows as they are, for a model that is asked about them by their positions."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from skfairtest._typing import Ints


class GivenRows:
    """Rows as they are, for a model that is asked about them by their positions."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def decode(self, numbers: Ints) -> Any:
        """The rows of these numbers, in the container that they came in."""
        if isinstance(self.rows, (pd.DataFrame, pd.Series)):
            return self.rows.iloc[numbers]
        if isinstance(self.rows, np.ndarray):
            return self.rows[numbers]
        if isinstance(self.rows, list):
            return [self.rows[number] for number in numbers]
        return nw.from_native(self.rows, eager_only=True)[numbers.tolist()].to_native()
