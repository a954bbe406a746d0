"""Tables in and out: NumPy arrays, pandas frames, and whatever else narwhals reads.

A container takes a table apart into NumPy columns and puts encoded values together again as the
same kind of table, with the same names and dtypes. It keeps dtypes as plain strings and arrays, so
that it can be written to disk safely.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._columns import Categorical, Column
from skfairtest.space._dates import NAT, Dates, as_numbers, as_whole, dates_of_objects
from skfairtest.space._pandas_dates import as_dates, date_numbers, dates_of_dtype

#: Dtypes of categories that are numbers, and that objects are not taken for.
SMALLER = {"int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "float32"}
#: Dtypes that hold fewer digits than encoded values have, by their names in NumPy, pandas and
#: polars, and what NumPy calls them.
ROUNDING = {
    "float16": "float16",
    "float32": "float32",
    "halffloat[pyarrow]": "float16",
    "float[pyarrow]": "float32",
}


def make_container(X: Any) -> Container:
    """Return the container for a kind of table; raise an error for other tables."""
    return _container_class(X)(X)


def _container_class(X: Any) -> type[ArrayContainer | PandasContainer | NarwhalsContainer]:
    if sparse.issparse(X):
        raise TypeError(
            "X must be a dense table; got a sparse matrix. Sparse input has no domain to search: "
            "pass X.toarray() or a DataFrame."
        )
    if isinstance(X, pd.DataFrame):
        return PandasContainer
    if isinstance(X, np.ndarray):
        return ArrayContainer
    if nw.dependencies.is_into_dataframe(X):
        return NarwhalsContainer
    lazy = "Call X.collect() first" if hasattr(X, "collect") else ""
    raise TypeError(
        "X must be a NumPy array, a pandas or polars DataFrame, or a table that narwhals reads; "
        f"got {type(X).__name__}. {lazy or 'Convert it with numpy.asarray or pandas.DataFrame'}."
    )


def objects_as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return floats for an object column that holds only numbers, else the column as it is."""
    if values.dtype.kind == "O":
        inferred = pd.api.types.infer_dtype(values, skipna=True)
        if inferred in ("integer", "floating", "mixed-integer-float"):
            return pd.to_numeric(pd.Series(values)).to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _refuse(name: Any, dtype: Any) -> TypeError:
    return TypeError(
        f"Column {name!r} has dtype {dtype}; an input space takes numbers, strings, booleans, "
        "categories and dates. Convert the column before the estimator, or leave it out."
    )


class Container:
    """Knows how to read and write one kind of table; subclasses know one kind each."""

    names: list[Any]
    #: What the columns of dates hold, by position; others are absent.
    dates: dict[str, Dates]

    def dates_of(self, index: int) -> Dates | None:
        """Return how a column stores dates, or None for a column of other values."""
        return self.dates.get(str(index))

    def column_values(self, X: Any, index: int) -> NDArray[Any]:
        """Return one column as floats (NaN is missing), booleans or objects; dates are floats."""
        raise NotImplementedError

    def all_values(self, X: Any) -> list[NDArray[Any]]:
        """Return the `column_values` of all columns of a table in the order of `fit`."""
        return [self.column_values(X, index) for index in range(len(self.names))]

    def holds_objects(self, index: int) -> bool:
        """Return whether the column may hold any objects, so that all values must be read."""
        return False

    def learn_levels(self, other: Container) -> None:
        """Add the categories of another chunk of the table that are not known yet."""

    def level_order(self, index: int) -> NDArray[Any] | None:
        """Order of the levels, where the column's dtype has one."""
        return None

    def ordered_levels(self, index: int) -> NDArray[Any] | None:
        """Return the levels in the order of an ordered dtype, or None."""
        return None

    def is_integral(self, index: int) -> bool:
        """Return whether the column can hold nothing but integers."""
        raise NotImplementedError

    def rounds_to(self, index: int) -> str | None:
        """Return the NumPy dtype to which numbers are rounded, or None if they are not."""
        raise NotImplementedError

    def dtype_name(self, index: int) -> str:
        """Return the name of the column's dtype."""
        raise NotImplementedError

    def build(self, Z: Floats, columns: list[Column]) -> Any:
        """Build a table from encoded values of the fields of `columns` (see `Column.field`)."""
        raise NotImplementedError

    def column(self, index: int, column: Column, encoded: Floats) -> Any:
        """Return a column of the table."""
        if (dates := self.dates_of(index)) is not None:
            return self.dates_column(index, dates, column.take(encoded))
        return column.write(self, index, encoded)

    def dates_column(self, index: int, dates: Dates, numbers: Floats) -> Any:
        """Build a column of dates from numbers."""
        raise NotImplementedError

    def other_dtypes(self, X: Any) -> list[int]:
        """Return the places of the columns of a table that have not the very dtype of `fit`."""
        raise NotImplementedError

    def with_columns(self, X: Any, columns: dict[int, Any]) -> Any:
        """Return a table with other columns in some places; the given one stays as it is."""
        raise NotImplementedError

    def take_values(self, X: Any, index: int, rows: Ints) -> Any:
        """Return values of some rows in one column, as `with_columns` takes them."""
        raise NotImplementedError

    def where(self, mask: Bools, column: Any, X: Any, index: int) -> Any:
        """Return a column in some rows, and that of a table in the others."""
        raise NotImplementedError

    def numbers_column(self, index: int, column: Column, numbers: Floats) -> Any:
        """Return a column of numbers."""
        raise NotImplementedError

    def levels_column(self, index: int, column: Categorical, encoded: Floats) -> Any:
        """Build a column of levels from their positions."""
        raise NotImplementedError

    def check_names(self, X: Any) -> Any:
        """Return the table with the fitted columns in the fitted order."""
        # What a container learns of its table costs more than a look at its kind.
        if _container_class(X) is not type(self):
            raise TypeError(
                f"Expected the same kind of table as in fit ({self.kind}); got {type(X).__name__}. "
                "Convert it first."
            )
        return self._select(X)

    def _select(self, X: Any) -> Any:
        raise NotImplementedError

    @property
    def kind(self) -> str:
        """Name of the kind of table."""
        raise NotImplementedError

    def difference(self, other: Container) -> str | None:
        """Describe how another table of this kind differs; return None if it does not."""
        if other.kind != self.kind:
            return f"is a {other.kind}, not a {self.kind}"
        places = {name: place for place, name in enumerate(other.names)}
        known = set(self.names)
        absent = [name for name in self.names if name not in places]
        added = [name for name in other.names if name not in known]
        differences = [f"lacks columns {absent!r}"] if absent else []
        differences += [f"has others, {added!r}"] if added else []
        if differences:
            return " and ".join(differences)
        for j, name in enumerate(self.names):
            place = places[name]
            mine, theirs = self.dtype_name(j), other.dtype_name(place)
            # Arrays of strings are as wide as their longest.
            if mine != theirs and not (mine[:2] == theirs[:2] and mine[1:2] in ("U", "S")):
                return f"has dtype {theirs} in column {name!r}, not {mine}"
            if self.ordered_levels(j) is None and other.ordered_levels(place) is None:
                continue
            orders = [self.ordered_levels(j), other.ordered_levels(place)]
            listed = [None if order is None else order.tolist() for order in orders]
            if listed[0] != listed[1]:
                return f"has the ordered categories {listed[1]} in column {name!r}, not {listed[0]}"
        return None

    def _missing_names(self, names: Any) -> ValueError:
        known = set(names)
        absent = [name for name in self.names if name not in known]
        return ValueError(
            f"X lacks columns {absent!r} of the {len(self.names)} seen in fit; got "
            f"{list(names)!r}. Add them."
        )


class ArrayContainer(Container):
    """A two-dimensional NumPy array; columns are named by their positions."""

    def __init__(self, X: NDArray[Any]) -> None:
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: one row an "
                "input, one column an attribute."
            )
        if X.dtype.kind not in "biufOUS":
            raise _refuse("of the array", X.dtype)
        self.dtype = X.dtype.str
        self.names = list(range(X.shape[1]))
        is_object = X.dtype.kind == "O"
        self.none_is_missing = [j for j in self.names if is_object and _has_none(X[:, j])]
        self.dates = _dates_in([X[:, j] for j in self.names] if is_object else [], self.names)

    @property
    def kind(self) -> str:
        """Name of the kind of table."""
        return "numpy.ndarray"

    def column_values(self, X: NDArray[Any], index: int) -> NDArray[Any]:
        """Return one column as floats (NaN is missing), booleans or objects."""
        values = X[:, index]
        if (dates := self.dates_of(index)) is not None:
            return dates.numbers(index, values)
        if values.dtype.kind in "iuf":
            return values.astype(np.float64)
        if values.dtype.kind == "b":
            return values
        return objects_as_numbers(values.astype(object))

    def holds_objects(self, index: int) -> bool:
        """Return whether the column may hold any objects, so that all values must be read."""
        return np.dtype(self.dtype).kind == "O" and self.dates_of(index) is None

    def is_integral(self, index: int) -> bool:
        """Return whether the column can hold nothing but integers."""
        return np.dtype(self.dtype).kind in "iu"

    def rounds_to(self, index: int) -> str | None:
        """Return the NumPy dtype to which numbers are rounded, or None if they are not."""
        return ROUNDING.get(np.dtype(self.dtype).name)

    def dtype_name(self, index: int) -> str:
        """Return the name of the column's dtype."""
        return str(np.dtype(self.dtype))

    def build(self, Z: Floats, columns: list[Column]) -> NDArray[Any]:
        """Return an array of the decoded values, in the dtype of the array seen in fit."""
        dtype = np.dtype(self.dtype)
        if dtype.kind in "iufb":
            out = Z.copy()
            for index, column in enumerate(columns):
                if not column.is_plain:
                    out[:, index] = column.take(Z[:, index]).astype(np.float64)
            if dtype.kind in "iu":
                np.rint(out, out=out)  # what arithmetic makes of an integer may be just below it
            return out.astype(dtype, copy=False)
        objects = np.empty(Z.shape, dtype=object)
        for index, column in enumerate(columns):
            objects[:, index] = self.column(index, column, Z[:, index])
        return objects.astype(dtype, copy=False)

    def other_dtypes(self, X: NDArray[Any]) -> list[int]:
        """Return the places of the columns of a table that have not the very dtype of `fit`."""
        return [] if X.dtype.str == self.dtype else list(range(len(self.names)))

    def with_columns(self, X: NDArray[Any], columns: dict[int, Any]) -> NDArray[Any]:
        """Return a table with other columns in some places; the given one stays as it is."""
        if not columns:
            return X
        if len(columns) < len(self.names):
            out = X.copy()
        else:
            gone = any(own.dtype.kind == "f" and np.isnan(own).any() for own in columns.values())
            dtype = np.dtype(self.dtype)
            # Only floats can hold a missing value.
            out = np.empty(X.shape, dtype=float if gone and dtype.kind in "iub" else dtype)
        for index, column in columns.items():
            out[:, index] = np.rint(column) if out.dtype.kind in "iu" else column
        return out

    def column(self, index: int, column: Column, encoded: Floats) -> Any:
        """Return a column of the table; of an array of numbers, as floats."""
        if np.dtype(self.dtype).kind in "biuf":
            return column.take(encoded).astype(np.float64)
        return super().column(index, column, encoded)

    def take_values(self, X: NDArray[Any], index: int, rows: Ints) -> Any:
        """Return values of some rows in one column, as `with_columns` takes them."""
        return X[rows, index]

    def where(self, mask: Bools, column: Any, X: NDArray[Any], index: int) -> Any:
        """Return a column in some rows, and that of a table in the others."""
        return np.where(mask, column, X[:, index])

    def dates_column(self, index: int, dates: Dates, numbers: Floats) -> Any:
        """Build a column of dates from numbers."""
        return dates.objects(numbers)

    def numbers_column(self, index: int, column: Column, numbers: Floats) -> Any:
        """Return a column of numbers, in an array of objects."""
        return _as_objects(column, numbers, index in self.none_is_missing)

    def levels_column(self, index: int, column: Categorical, encoded: Floats) -> Any:
        """Build a column of levels from their positions."""
        return column.take(encoded)

    def _select(self, X: NDArray[Any]) -> NDArray[Any]:
        if X.ndim != 2 or X.shape[1] != len(self.names):
            raise ValueError(
                f"Expected an array of shape (n, {len(self.names)}), as in fit; got shape "
                f"{X.shape}."
            )
        return X


class PandasContainer(Container):
    """A pandas DataFrame."""

    def __init__(self, X: pd.DataFrame) -> None:
        if X.columns.has_duplicates:
            repeated = sorted({str(name) for name in X.columns[X.columns.duplicated()]})
            raise ValueError(
                f"Column names must differ; got {repeated} more than once. Rename them."
            )
        self.names = list(X.columns)
        # All at once: pandas makes a series of each column that it is asked for.
        dtypes = X.dtypes.tolist()
        self.dtypes = [_dtype_name(*own) for own in zip(self.names, dtypes, strict=True)]
        objects = [
            X[name].to_numpy() if dtype == "object" else None
            for name, dtype in zip(self.names, self.dtypes, strict=True)
        ]
        self.dates = _dates_in(objects, self.names)
        for index, dtype in enumerate(dtypes):
            if (dates := dates_of_dtype(dtype)) is not None:
                self.dates[str(index)] = dates
        self.none_is_missing = [
            index for index, own in enumerate(objects) if own is not None and _has_none(own)
        ]
        # Categories of a categorical column, object arrays by position; others are absent.
        self.categories: dict[str, NDArray[Any]] = {}
        self.ordered: dict[str, bool] = {}
        # The dtype of these: from objects a small one, or one without a category, is not inferred.
        self.category_dtypes: dict[str, str] = {}
        #: Categories, and the dtype that was made of them: each column of each batch asks for it.
        self._made: dict[str, tuple[NDArray[Any], Any]] = {}
        for index, dtype in enumerate(dtypes):
            if isinstance(dtype, pd.CategoricalDtype):
                self.categories[str(index)] = np.asarray(dtype.categories, dtype=object)
                self.category_dtypes[str(index)] = str(dtype.categories.dtype)
                self.ordered[str(index)] = bool(dtype.ordered)

    @property
    def kind(self) -> str:
        """Name of the kind of table."""
        return "pandas.DataFrame"

    def dtype(self, index: int) -> Any:
        """Return the pandas dtype of a column."""
        key = str(index)
        if key not in self.categories:
            return _named_dtype(self.dtypes[index])
        known, dtype = self._made.get(key, (None, None))
        if known is not self.categories[key]:  # a chunk may have brought more
            levels = pd.Index(self.categories[key]).infer_objects()
            kind = self.category_dtypes[key]
            if not len(levels):
                levels = levels.astype(kind)
            elif kind in SMALLER and (levels.astype(kind) == levels).all():
                levels = levels.astype(kind)  # if a chunk has not brought larger ones
            dtype = pd.CategoricalDtype(levels, ordered=self.ordered[key])
            self._made[key] = self.categories[key], dtype
        return dtype

    @cached_property
    def _columns(self) -> pd.Index:
        """The names, in an index whose views share what pandas works out to look names up."""
        return pd.Index(self.names)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is plain strings and arrays."""
        state = {**self.__dict__, "_made": {}}
        state.pop("_columns", None)
        return state

    def column_values(self, X: pd.DataFrame, index: int) -> NDArray[Any]:
        """Return one column as floats (NaN is missing), booleans or objects."""
        series = X[self.names[index]]
        dtype = series.dtype
        if (dates := self.dates_of(index)) is not None:
            return date_numbers(self.names[index], series, dates)
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf":  # most columns; others take longer
            return series.to_numpy().astype(np.float64)
        if pd.api.types.is_bool_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype):
            if series.isna().any():
                return series.astype(object).to_numpy()
            return series.to_numpy(dtype=bool)
        if pd.api.types.is_numeric_dtype(dtype):
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        values = np.asarray(series, dtype=object)
        return values if isinstance(dtype, pd.CategoricalDtype) else objects_as_numbers(values)

    def all_values(self, X: pd.DataFrame) -> list[NDArray[Any]]:
        """Return the `column_values` of all columns; NumPy's numbers are read in one go."""
        dtypes = enumerate(X.dtypes.tolist())
        plain = [j for j, own in dtypes if isinstance(own, np.dtype) and own.kind in "iuf"]
        numbers = X if len(plain) == X.shape[1] else X.iloc[:, plain]
        columns = np.asfortranarray(numbers.to_numpy(dtype=np.float64)).T
        read = dict(zip(plain, columns, strict=True))
        return [read[j] if j in read else self.column_values(X, j) for j in range(X.shape[1])]

    def level_order(self, index: int) -> NDArray[Any] | None:
        """Order of the levels, where the column's dtype has one."""
        return self.categories.get(str(index))

    def ordered_levels(self, index: int) -> NDArray[Any] | None:
        """Return the levels in the order of an ordered dtype, or None."""
        return self.level_order(index) if self.ordered.get(str(index)) else None

    def holds_objects(self, index: int) -> bool:
        """Return whether the column may hold any objects, so that all values must be read."""
        return self.dtypes[index] == "object" and self.dates_of(index) is None

    def learn_levels(self, other: Container) -> None:
        """Add the categories of another chunk of the table that are not known yet."""
        assert isinstance(other, PandasContainer)
        for key, known in self.categories.items():
            place = other.names.index(self.names[int(key)])
            seen = set(known)
            new = [level for level in other.categories[str(place)] if level not in seen]
            if new:
                added = np.empty(len(new), dtype=object)
                added[:] = new
                self.categories[key] = np.concatenate([known, added])

    def is_integral(self, index: int) -> bool:
        """Return whether the column can hold nothing but integers."""
        return bool(pd.api.types.is_integer_dtype(self.dtype(index)))

    def rounds_to(self, index: int) -> str | None:
        """Return the NumPy dtype to which numbers are rounded, or None if they are not."""
        return ROUNDING.get(self.dtypes[index].lower())

    def dtype_name(self, index: int) -> str:
        """Return the name of the column's dtype."""
        return self.dtypes[index]

    def build(self, Z: Floats, columns: list[Column]) -> pd.DataFrame:
        """A frame of the decoded values, with the names and dtypes of the frame seen in fit."""
        if len(set(self.dtypes)) == 1 and all(column.is_plain for column in columns):
            dtype = self.dtype(0)  # of all of them, which are cast in one go
            is_number = isinstance(dtype, np.dtype) and dtype.kind in "iuf"
            if is_number and (dtype.kind == "f" or not np.isnan(Z).any()):
                return pd.DataFrame(_cast(Z, dtype), columns=self._columns.view())
        arrays = {
            index: self.column(index, column, Z[:, index]) for index, column in enumerate(columns)
        }
        # Copied into a block a dtype: a table of blocks of one column is slow to select from.
        frame = pd.DataFrame(arrays, copy=True)
        frame.columns = self._columns.view()
        return frame

    def other_dtypes(self, X: pd.DataFrame) -> list[int]:
        """Return the places of the columns of a table that have not the very dtype of `fit`."""
        return [j for j, dtype in enumerate(X.dtypes.tolist()) if not self._is_of_fit(dtype, j)]

    def _is_of_fit(self, dtype: Any, index: int) -> bool:
        if not isinstance(dtype, pd.CategoricalDtype):
            return _dtype_name(self.names[index], dtype) == self.dtypes[index]
        known = self.dtype(index)
        return isinstance(known, pd.CategoricalDtype) and (
            # Two dtypes of unordered categories are equal in any order.
            dtype.categories.equals(known.categories)
            and dtype.categories.dtype == known.categories.dtype
            and dtype.ordered == known.ordered
        )

    def with_columns(self, X: pd.DataFrame, columns: dict[int, Any]) -> pd.DataFrame:
        """Return a table with other columns in some places; its rows are numbered anew."""
        X = X.copy(deep=False)
        X.index = pd.RangeIndex(len(X))
        for index, column in columns.items():
            own = column.set_axis(X.index) if isinstance(column, pd.Series) else column
            X[self.names[index]] = own
        return X

    def take_values(self, X: pd.DataFrame, index: int, rows: Ints) -> Any:
        """Return values of some rows in one column, as `with_columns` takes them."""
        own = X.iloc[:, index]
        # A bare array of strings would become "str".
        return pd.Series(own.array.take(rows), dtype=own.dtype)

    def where(self, mask: Bools, column: Any, X: pd.DataFrame, index: int) -> Any:
        """Return a column in some rows, and that of a table in the others."""
        own = X.iloc[:, index]
        column = column if isinstance(column, pd.Series) else pd.Series(column)
        return column.set_axis(own.index).where(mask, own)

    def dates_column(self, index: int, dates: Dates, numbers: Floats) -> Any:
        """Build a column of dates from numbers."""
        return as_dates(numbers, self.dtype(index), dates)

    def numbers_column(self, index: int, column: Column, numbers: Floats) -> Any:
        """Return a column of numbers."""
        dtype = self.dtype(index)
        if pd.api.types.is_object_dtype(dtype):
            is_none = index in self.none_is_missing
            return pd.Series(_as_objects(column, numbers, is_none), dtype=object)
        return _cast(numbers, dtype)

    def levels_column(self, index: int, column: Categorical, encoded: Floats) -> Any:
        """Build a column of levels from their positions."""
        dtype = self.dtype(index)
        if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
            if (
                dtype.kind == "b" and not np.isnan(encoded).any()
            ):  # dummies: many, so without objects
                return column.levels.astype(bool).take(encoded.astype(np.intp))
            return _cast(column.take(encoded), dtype)
        if isinstance(dtype, np.dtype):  # object; a bare array of strings would become "str"
            return pd.Series(column.take(encoded), dtype=object)
        if len(encoded) < len(column.levels):  # names of rows, say
            return pd.array(list(column.take(encoded)), dtype=dtype)
        # A lookup among a handful of typed levels is far cheaper than parsing each row's string.
        return column.typed_levels(dtype).take(column.positions(encoded))

    def _select(self, X: pd.DataFrame) -> pd.DataFrame:
        if X.columns.has_duplicates:
            make_container(X)  # says which
        if X.columns.equals(self._columns):
            return X
        if not set(self.names) <= set(X.columns):
            raise self._missing_names(X.columns)
        return X[self.names]


@lru_cache(maxsize=256)
def _named_dtype(name: str) -> Any:
    # Asked for each column of each batch; pandas reads the name anew each time.
    if name == "string[pyarrow]":  # by which pandas means its own strings, whose name is shorter
        import pyarrow as pa

        return pd.ArrowDtype(pa.string())
    return pd.api.types.pandas_dtype(name)


def _dtype_name(name: Any, dtype: Any) -> str:
    accepted = (
        isinstance(dtype, pd.CategoricalDtype)
        or dtype.type is str  # whoever stores the text
        or pd.api.types.is_bool_dtype(dtype)
        or (pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype))
        or pd.api.types.is_object_dtype(dtype)
        or dates_of_dtype(dtype) is not None
    )
    if not accepted or isinstance(dtype, pd.SparseDtype):
        raise _refuse(name, dtype)
    if isinstance(dtype, pd.StringDtype) and str(dtype) == "str":
        return "str"
    return str(dtype)


def _dates_in(columns: list[Any], names: list[Any]) -> dict[str, Dates]:
    """Return the dates in each column of objects; None for other columns."""
    found = {}
    for index, values in enumerate(columns):
        dates = None if values is None else dates_of_objects(names[index], values)
        if dates is not None:
            found[str(index)] = dates
    return found


def _has_none(values: NDArray[Any]) -> bool:
    """Return whether missing values of an object column are None, not NaN: the first one tells."""
    gone = np.asarray(pd.isna(values), dtype=bool)
    return bool(gone.any()) and values[gone][0] is None


def _as_objects(column: Column, numbers: Floats, none_is_missing: bool) -> NDArray[Any]:
    """Return numbers as an object column stores them: whole numbers as integers."""
    gone = np.isnan(numbers)
    is_whole = column.whole and bool((numbers[~gone] == np.rint(numbers[~gone])).all())
    objects = np.empty(len(numbers), dtype=object)
    objects[~gone] = numbers[~gone].astype(np.int64) if is_whole else numbers[~gone]
    objects[gone] = None if none_is_missing else np.nan
    return objects


def _cast(values: NDArray[Any], dtype: Any) -> Any:
    """Floats in the column's dtype; where that cannot hold a missing value, they stay floats."""
    if isinstance(dtype, np.dtype):
        if dtype.kind in "iub" and np.isnan(values.astype(np.float64)).any():
            return values
        if dtype.kind in "iu":
            values = np.rint(values)  # what arithmetic makes of an integer may be just below it
        cast = values.astype(dtype, copy=False)
        return cast if dtype.kind in "iufb" else pd.Series(cast, dtype=dtype, copy=False)
    gone = np.isnan(values)
    numpy_dtype = np.dtype(dtype.numpy_dtype)
    if numpy_dtype.kind in "iu":
        values = np.rint(np.where(gone, 0, values))
    values = values.astype(numpy_dtype, copy=False)
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        filled = pa.array(values, mask=gone).cast(dtype.pyarrow_dtype)
        return pd.arrays.ArrowExtensionArray(filled)
    is_float = numpy_dtype.kind == "f"
    make = pd.arrays.FloatingArray if is_float else pd.arrays.IntegerArray
    return make(np.where(gone, 1, values).astype(numpy_dtype, copy=False), gone)


#: Dates of narwhals by the names of their dtypes.
_NARWHALS = {"Date": "date", "Datetime": "date", "Duration": "duration", "Time": "time of day"}


class NarwhalsContainer(Container):
    """A polars frame, or another table that narwhals reads, held as names and dtype names."""

    def __init__(self, X: Any) -> None:
        frame = nw.from_native(X, eager_only=True)
        self.names = list(frame.columns)
        self.backend = frame.implementation.value
        self.dtypes: list[str] = []
        self.categories: dict[str, NDArray[Any]] = {}
        self.dates = {}
        # The units that dates are counted in, by position.
        self.units: dict[str, str] = {}
        self.none_is_missing: list[int] = []
        for index, name in enumerate(self.names):
            dtype = frame[name].dtype
            text = type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__
            known = text in ("String", "Categorical", "Enum", "Boolean", "Object")
            if text in _NARWHALS:
                zone = getattr(dtype, "time_zone", None)
                self.dates[str(index)] = Dates(_NARWHALS[text], zone=zone, missing="None")
                self.units[str(index)] = {"Date": "D", "Time": "ns"}.get(text) or dtype.time_unit
                known = True
            if not (dtype.is_numeric() or known):
                raise _refuse(name, dtype)
            self.dtypes.append(text)
            # Frames tell null from NaN.
            if text.startswith("Float") and frame[name].is_null().any():
                self.none_is_missing.append(index)
            if text == "Enum":
                self.categories[str(index)] = np.asarray(dtype.categories, dtype=object)

    @property
    def kind(self) -> str:
        """Name of the kind of table."""
        return f"{self.backend} table"

    def column_values(self, X: Any, index: int) -> NDArray[Any]:
        """Return one column as floats (NaN is missing), booleans or objects."""
        series = nw.from_native(X, eager_only=True)[self.names[index]]
        if self.dates_of(index) is not None:
            return self._date_numbers(index, series)
        if series.dtype.is_numeric():
            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if self.dtypes[index] == "Boolean" and not series.is_null().any():
            return np.asarray(series.to_numpy(), dtype=bool)
        return np.array(series.to_list() + [None], dtype=object)[:-1]

    def level_order(self, index: int) -> NDArray[Any] | None:
        """Order of the levels, where the column's dtype has one."""
        return self.categories.get(str(index))

    def ordered_levels(self, index: int) -> NDArray[Any] | None:
        """Return the levels in the order of an ordered dtype, or None."""
        return self.level_order(index)

    def is_integral(self, index: int) -> bool:
        """Return whether the column can hold nothing but integers."""
        return "Int" in self.dtypes[index]

    def rounds_to(self, index: int) -> str | None:
        """Return the NumPy dtype to which numbers are rounded, or None if they are not."""
        return ROUNDING.get(self.dtypes[index].lower())

    def dtype_name(self, index: int) -> str:
        """Return the name of the column's dtype."""
        is_date = self.dates_of(index) is not None
        return str(self._date_dtype(index)) if is_date else self.dtypes[index]

    def _date_dtype(self, index: int) -> Any:
        text, unit, zone = self.dtypes[index], self.units[str(index)], self.dates[str(index)].zone
        dtype: Any = getattr(nw, text)
        if text == "Datetime":
            return dtype(unit, zone)
        return dtype(unit) if text == "Duration" else dtype

    def _date_numbers(self, index: int, series: Any) -> Floats:
        name = self.names[index]
        if type(dtype := series.dtype).__name__ != self.dtypes[index]:
            raise ValueError(
                f"Column {name!r} is of the dtype {dtype}; expected "
                f"{self._date_dtype(index)}, as in fit. Convert it."
            )
        # pyarrow counts days in 32 bits, and goes from there alone.
        whole = series.cast(nw.Int32) if self.dtypes[index] == "Date" else series
        whole = whole.cast(nw.Int64).fill_null(NAT).to_numpy()
        unit = self.units[str(index)]
        if unit not in ("D", "ns") or self.dtypes[index] == "Datetime":
            unit = str(getattr(series.dtype, "time_unit", unit))
        return as_numbers(name, np.array(whole, dtype=np.int64), unit)

    def other_dtypes(self, X: Any) -> list[int]:
        """Return the places of the columns of a table that have not the very dtype of `fit`."""
        dtypes = nw.from_native(X, eager_only=True).schema.dtypes()
        return [j for j, dtype in enumerate(dtypes) if not self._is_of_fit(dtype, j)]

    def _is_of_fit(self, dtype: Any, index: int) -> bool:
        if str(index) in self.units:
            return bool(dtype == self._date_dtype(index))
        if type(dtype).__name__ == "Enum" and str(index) in self.categories:
            return list(dtype.categories) == self.categories[str(index)].tolist()
        return type(dtype).__name__ == self.dtypes[index]

    def with_columns(self, X: Any, columns: dict[int, Any]) -> Any:
        """Return a table with other columns in some places; the given one stays as it is."""
        frame = nw.from_native(X, eager_only=True)
        return frame.with_columns(*columns.values()).to_native() if columns else X

    def take_values(self, X: Any, index: int, rows: Ints) -> Any:
        """Return values of some rows in one column, as `with_columns` takes them."""
        return nw.from_native(X, eager_only=True)[self.names[index]][rows.tolist()]

    def where(self, mask: Bools, column: Any, X: Any, index: int) -> Any:
        """Return a column in some rows, and that of a table in the others."""
        own = nw.from_native(X, eager_only=True)[self.names[index]]
        name = str(self.names[index])
        return column.zip_with(nw.new_series(name, mask, nw.Boolean, backend=self.backend), own)

    def dates_column(self, index: int, dates: Dates, numbers: Floats) -> Any:
        """Build a column of dates from numbers."""
        name = str(self.names[index])
        whole: Any = as_whole(numbers, self.units[str(index)])
        if (gone := whole == NAT).any():
            whole = [None if none else v for none, v in zip(gone, whole.tolist(), strict=True)]
        series = nw.new_series(name, whole, nw.Int64, backend=self.backend)
        if self.dtypes[index] == "Date":
            series = series.cast(nw.Int32)
        return series.cast(self._date_dtype(index))

    def build(self, Z: Floats, columns: list[Column]) -> Any:
        """A table of the decoded values, with the names and dtypes of the table seen in fit."""
        series = [self.column(index, column, Z[:, index]) for index, column in enumerate(columns)]
        # Native columns: of wrapped ones, narwhals 2.29 makes polars take the way through pyarrow.
        native = {s.name: s.to_native() for s in series}
        return nw.from_dict(native, backend=self.backend).to_native()

    def levels_column(self, index: int, column: Categorical, encoded: Floats) -> Any:
        """Build a column of levels from their positions."""
        name = str(self.names[index])
        if column.levels.dtype.kind == "f":
            return self.numbers_column(index, column, column.take(encoded))
        dtype: Any = getattr(nw, self.dtypes[index])
        if str(index) in self.categories:
            dtype = nw.Enum(list(self.categories[str(index)]))
        if len(encoded) < len(column.levels):  # names of rows, say
            return nw.new_series(name, list(column.take(encoded)), dtype, backend=self.backend)
        levels = nw.new_series(name, list(column.padded_levels()), dtype, backend=self.backend)
        return levels[column.positions(encoded).tolist()]

    def numbers_column(self, index: int, column: Column, numbers: Floats) -> Any:
        """Return a column of numbers."""
        name, values = str(self.names[index]), numbers
        dtype: Any = getattr(nw, self.dtypes[index])
        gone = np.isnan(numbers)
        if self.is_integral(index):
            # What arithmetic makes of an integer may be just below it.
            values = np.rint(np.where(gone, 0, values)).astype(np.int64)
        series = nw.new_series(name, values, dtype, backend=self.backend)
        if gone.any() and (self.is_integral(index) or index in self.none_is_missing):
            null = nw.new_series(name, [None], dtype, backend=self.backend)
            there = nw.new_series(name, ~gone, nw.Boolean, backend=self.backend)
            return series.zip_with(there, null[np.zeros(len(gone), dtype=np.intp)])
        return series

    def _select(self, X: Any) -> Any:
        frame = nw.from_native(X, eager_only=True)
        if not set(self.names) <= set(frame.columns):
            raise self._missing_names(frame.columns)
        return frame.select(self.names).to_native()
