"""The sensitive columns held at one value: a model without them that takes the same table."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin

from skfairtest.space._containers import make_container


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
    values_ : list
        The values that are put in, those that are most frequent together, so that encoders know
        them.
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
        # Values and no row: a data frame could not be saved by skops.
        self.values_ = [
            value.item() if isinstance(value, np.generic) else value for value in held.iloc[first]
        ]
        return self

    def transform(self, X: Any) -> Any:
        """The table with the chosen values; same container, names and dtypes."""
        chosen = zip(self.columns, self.values_, strict=True)
        if isinstance(X, pd.DataFrame):
            X = X.copy()
            for place, value in chosen:
                X.isetitem(place, _repeated(value, X.iloc[:, place]))
            return X
        if isinstance(X, np.ndarray):
            X = X.copy()
            for place, value in chosen:
                X[:, place] = value
            return X
        frame = nw.from_native(X, eager_only=True)
        columns = [
            nw.lit(value, dtype=frame.schema[frame.columns[place]]).alias(frame.columns[place])
            for place, value in chosen
        ]
        return frame.with_columns(*columns).to_native()

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the values are chosen."""
        return hasattr(self, "values_")


def _repeated(value: Any, like: pd.Series) -> pd.Series:
    dtype: Any = like.dtype
    is_category = isinstance(dtype, pd.CategoricalDtype) and not pd.isna(value)
    if is_category and value not in dtype.categories:  # a table may know those of its rows only
        dtype = like.cat.add_categories([value]).dtype
    return pd.Series([value] * len(like), index=like.index, dtype=dtype)


def _column(X: Any, names: list[Any], place: int) -> Any:
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, place]
    if isinstance(X, np.ndarray):
        return X[:, place]
    return nw.from_native(X, eager_only=True)[names[place]].to_numpy()
