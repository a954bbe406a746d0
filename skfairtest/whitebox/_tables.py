"""Tables of all kinds that steps hand on: their columns, as they are, as numbers and as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skfairtest import _clock
from skfairtest._typing import Floats


def column_places(table: Any, columns: Any) -> list[int]:
    """Positions of the columns that a ColumnTransformer names in one of its many ways."""
    names = list(table.columns) if hasattr(table, "columns") else list(range(table.shape[1]))
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):
            start = names.index(ends[0]) if ends[0] is not None else None
            stop = names.index(ends[1]) + 1 if ends[1] is not None else None  # labels include it
            columns = slice(start, stop, columns.step)
        return list(range(len(names)))[columns]
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    columns = list(columns)
    if columns and all(isinstance(c, (bool, np.bool_)) for c in columns):
        return [int(p) for p in np.flatnonzero(columns)]
    return [names.index(c) if isinstance(c, str) else int(c) for c in columns]


def take_columns(table: Any, places: list[int]) -> Any:
    """Some columns of a table, as the same kind of table."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[:, places]
    if hasattr(table, "select"):
        return table.select([list(table.columns)[p] for p in places])
    if sparse.issparse(table):
        table = table.tocsr()
    return table[:, places]


def as_numbers(table: Any, hint: str = "") -> Floats:
    """A table as floats; an error says that the model would not see numbers.

    - `hint`: what the user can do otherwise, as a sentence.
    """
    if sparse.issparse(table):
        table = table.toarray()
    try:
        return np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        # What is missing in pandas' nullable types is no number, and no NaN.
        if all(getattr(kind, "kind", "O") in "biuf" for kind in getattr(table, "dtypes", "O")):
            return table.to_numpy(dtype=np.float64, na_value=np.nan)
        raise ValueError(
            f"Expected the steps before the model to give numbers; got {error}. Encode the "
            f"columns of text with OneHotEncoder or OrdinalEncoder. {hint}".rstrip()
        ) from error


def has_single(table: Any) -> bool:
    """Whether a table holds numbers of single precision, or of less."""
    types = getattr(table, "dtypes", [getattr(table, "dtype", None)])
    return any(str(kind).lower() in ("float32", "float16") for kind in types)


def column_codes(table: Any) -> list[NDArray[Any]]:
    """Columns as codes that are equal where the values are; missing equals missing."""
    if hasattr(table, "columns"):
        columns = (np.asarray(table[name]) for name in table.columns)
    else:
        columns = iter((table.toarray() if sparse.issparse(table) else table).T)
    codes = []
    for column in columns:
        _clock.check_ending()
        codes.append(pd.factorize(column, use_na_sentinel=False)[0])
    return codes
