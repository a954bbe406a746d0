"""The sensitive columns held at one value: a model without them that takes the same table."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin

from skfairtest.space._containers import make_container
from skfairtest.space._rows import take_rows


class HeldColumns(TransformerMixin, BaseEstimator):
    """Put the values of one training row into some columns of every row.

    A step before a model. A column that never changes tells a model nothing, in training and in
    prediction, so the model is as good as trained without it; and a pipeline whose later steps name
    the column, or count positions, goes on working, which it would not if the column were dropped.

    Parameters
    ----------
    columns : list of int
        Positions of the columns.

    Attributes
    ----------
    row_ : table of one row
        The row whose values are put in: the first that has the most frequent values together, so
        that encoders know them.
    """

    def __init__(self, columns: Any = ()) -> None:
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> HeldColumns:
        """Choose the values."""
        container = make_container(X)
        columns = {
            place: np.asarray(_column(X, container.names, place), dtype=object)
            for place in self.columns
        }
        held = pd.DataFrame(columns)
        # Missing values are values here, as words or not.
        groups = held.astype(str).groupby(list(held), sort=False, dropna=False)
        number = groups.ngroup().to_numpy()
        first = int(np.flatnonzero(number == np.bincount(number).argmax())[0])
        self.row_ = take_rows(X, np.array([first]))
        return self

    def transform(self, X: Any) -> Any:
        """The table with the chosen values; same container, names and dtypes."""
        n = len(X)
        if isinstance(X, pd.DataFrame):
            X = X.copy()
            for place in self.columns:
                column = self.row_.iloc[np.zeros(n, dtype=np.intp), place]
                X.isetitem(place, column.set_axis(X.index))
            return X
        if isinstance(X, np.ndarray):
            X = X.copy()
            X[:, self.columns] = self.row_[:, self.columns]
            return X
        frame, row = (nw.from_native(table, eager_only=True) for table in (X, self.row_))
        repeated = row[[0] * n]
        names = [frame.columns[place] for place in self.columns]
        return frame.with_columns(*(repeated[name] for name in names)).to_native()

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the values are chosen."""
        return hasattr(self, "row_")


def _column(X: Any, names: list[Any], place: int) -> Any:
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, place]
    if isinstance(X, np.ndarray):
        return X[:, place]
    return nw.from_native(X, eager_only=True)[names[place]].to_numpy()
