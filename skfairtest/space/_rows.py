"""Select rows of a table, and stack tables, in the user's kind of table."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an array, a pandas frame, or a table that narwhals reads."""
    if isinstance(X, (pd.DataFrame, pd.Series)):
        return X.iloc[rows]
    if isinstance(X, np.ndarray):
        return X[rows]
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[rows.tolist()].to_native()
    if hasattr(X, "__getitem__") and not hasattr(X, "shape"):
        return [X[row] for row in rows]
    return X[rows]


def slice_rows(X: Any, start: int, stop: int) -> Any:
    """Return rows that follow each other, as a view where there are views."""
    if isinstance(X, (pd.DataFrame, pd.Series)):
        return X.iloc[start:stop]
    is_table = not isinstance(X, np.ndarray) and nw.dependencies.is_into_dataframe(X)
    return nw.from_native(X)[start:stop].to_native() if is_table else X[start:stop]


def stack(tables: list[Any]) -> Any:
    """Stack tables of one kind; rows of a pandas frame are numbered anew."""
    tables = [table for table in tables if len(table)] or tables[:1]
    if len(tables) == 1:
        return tables[0]
    if isinstance(tables[0], pd.DataFrame):
        below = pd.concat(tables, ignore_index=True)
        for name, dtype in tables[0].dtypes.items():
            # A table of few rows may have lost a dtype (an integer column with a missing value).
            if isinstance(dtype, pd.CategoricalDtype):
                others = {table[name].dtype for table in tables} - {dtype}
                if others and all(isinstance(other, pd.CategoricalDtype) for other in others):
                    # Chunks may know other categories each.
                    parts = [table[name] for table in tables]
                    below[name] = pd.api.types.union_categoricals(parts)
                else:
                    below[name] = below[name].astype(dtype)
        return below
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    return nw.concat([nw.from_native(table, eager_only=True) for table in tables]).to_native()
