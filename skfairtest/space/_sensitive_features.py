"""Read `sensitive_features` in each of its forms: names of columns, or values beside X."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Ints
from skfairtest.space._chunks import Chunks
from skfairtest.space._column_names import resolve_columns
from skfairtest.space._containers import make_container
from skfairtest.space._protected_names import protected_names

#: What a column without a name is called; several are numbered.
STANDARD_NAME = "sensitive feature"
#: What the user calls sensitive values, and those whose rows are compared with their like.
SENSITIVE, CONTROL = "sensitive_features", "control_features"


class SensitiveFeatures(NamedTuple):
    """The sensitive attributes of a model: columns of its table, or columns outside the model.

    Attributes
    ----------
    X : table
        The columns that the model takes.
    names : "auto", None or list
        Sensitive columns of that table; None if all are outside the model.
    not_in_model : DataFrame or None
        Sensitive columns that the model does not take, in the order of the rows.
    """

    X: Any
    names: Any
    not_in_model: pd.DataFrame | None


def split_sensitive(
    X: Any, given: Any, *, values: Any = None, estimator: Any = None
) -> SensitiveFeatures:
    """Find the sensitive columns in a table, and those that the model does not take.

    Parameters
    ----------
    X : table
        Rows.
    given : "auto", column, list of these, or values
        The sensitive attributes: names and positions of columns of X, or values, one for each row.
        A list may hold both.
    values : Series, DataFrame, dict or array, default=None
        More of them, one value for each row.
    estimator : object, default=None
        If it was fitted to named columns, its `feature_names_in_` are those that it takes;
        sensitive columns of X that are not among them are outside the model.

    Returns
    -------
    SensitiveFeatures
        The table that the model takes, the sensitive columns in it, and those outside the model.

    Raises
    ------
    ValueError, TypeError
        For values of another length or index than X, and values under the name of a column of X
        that are not those of the column.
    """
    if isinstance(X, Chunks):
        return SensitiveFeatures(X, given, None)
    n, index = n_rows(X), index_of(X)
    named, parts = _sorted_out(given, n)
    if values is not None:
        parts.append(values)
    names = _names(X)
    _check_names(named, n, names, SENSITIVE)
    not_in_model: dict[Any, Any] = {}
    several = len(parts) > 1
    for place, part in enumerate(parts):
        table = as_columns(part, n, index, f"{STANDARD_NAME} {place}" if several else STANDARD_NAME)
        for name in table.columns:
            if name in not_in_model:
                raise ValueError(
                    f"sensitive_features has the column {name!r} more than once; give each one "
                    "once."
                )
            if name in names:
                _check_same(X, names.index(name), name, table[name])
                known = _asked(named, names)
                named = [*_listed(named, names), *([] if name in known else [name])]
            else:
                not_in_model[name] = table[name]
    taken = getattr(estimator, "feature_names_in_", None) if names else None
    if taken is not None:
        takes = set(taken)
        away = [name for name in _asked(named, names) if name not in takes]
        if away:
            for name in away:
                not_in_model[name] = as_columns(_column(X, name), n)[name]
            # By names, as positions change.
            named = [name for name in _listed(named, names) if name not in away]
            X = without(X, away)
    if not_in_model and not (isinstance(named, str) and named == "auto"):
        # A name of what stands beside the table says nothing more.
        named = [
            name for name in _listed(named, names) if name in names or name not in not_in_model
        ]
    if not isinstance(named, str) and not named and not_in_model:
        named = None
    return SensitiveFeatures(X, named, pd.DataFrame(not_in_model) if not_in_model else None)


def control_columns(X: Any, given: Any) -> pd.DataFrame | None:
    """Return the columns within whose values groups are compared; None where none are given.

    Parameters
    ----------
    X : table
        Rows.
    given : columns, values, a list of both, or None
        Names and positions of columns of X, or values, one for each row.
    """
    if given is None:
        return None
    n, index, names = n_rows(X), index_of(X), make_container(X).names
    named, parts = _sorted_out(given, n)
    if not parts or named:
        _check_names(named, n, names, CONTROL)
        places = resolve_columns(names, named, CONTROL)
        is_array = isinstance(X, np.ndarray)
        parts.insert(0, {names[j]: X[:, j] if is_array else X[names[j]] for j in places})
    tables = [as_columns(part, n, index, "control feature", CONTROL) for part in parts]
    found = [name for table in tables for name in table.columns]
    if repeated := sorted({str(name) for name in found if found.count(name) > 1}):
        raise ValueError(
            f"control_features has the columns {repeated} more than once; give each one once, and "
            "a name to each."
        )
    return pd.concat(tables, axis=1)


def without_control(X: Any, control: pd.DataFrame | None, estimator: Any) -> Any:
    """Return a table without the control features that a model does not take by its names."""
    taken, names = getattr(estimator, "feature_names_in_", None), _names(X)
    if control is None or taken is None or not names:
        return X
    known = set(taken)
    away = [name for name in control.columns if name in names and name not in known]
    return without(X, away) if away else X


def _check_names(named: Any, n: int, names: list[Any], label: str) -> None:
    """Raise an error for values of rows that came as a list, which names columns."""
    words = isinstance(named, (list, tuple)) and all(isinstance(name, str) for name in named)
    if words and len(named) == n > len(names) and not set(named) & set(names):
        raise ValueError(
            f"{label} is a list of {n} words, of which none is a column of X. A list names "
            "columns; give values, one for each row, as a Series or an array: "
            f"{label}=numpy.asarray(values)."
        )


def is_values(given: Any) -> bool:
    """Return whether these are values of rows, and not names of columns."""
    if isinstance(given, (pd.Series, pd.DataFrame, Mapping, pd.Categorical)):
        return True
    if isinstance(given, np.ndarray):
        return True
    return nw.dependencies.is_into_dataframe(given) or nw.dependencies.is_into_series(given)


def not_taken(names: Iterable[Any]) -> str:
    """Return in words why a model that does not take these columns has no twins in them."""
    texts = list(map(str, names))
    listed = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
    them = "it" if len(texts) == 1 else "them"
    return f"the model does not take {listed}, so twins in {them} are equal by construction"


def as_columns(
    given: Any,
    n_samples: int,
    index: Any = None,
    standard: str = STANDARD_NAME,
    label: str = SENSITIVE,
) -> pd.DataFrame:
    """Return sensitive values, one for each row, as a frame of named columns.

    Parameters
    ----------
    given : Series, DataFrame, dict, array, list of values or list of columns
        The values.
    n_samples : int
        Rows that there must be.
    index : Index, default=None
        That of the table beside which they stand: what has another one belongs to other rows.
    standard : str, default="sensitive feature"
        What a column without a name is called.
    label : str, default="sensitive_features"
        What the user calls the values.
    """
    if given is None or isinstance(given, (str, bytes)):
        raise _no_values(given, label)
    check_index(given, index, name=label)
    table = _frame(given, n_samples, standard, label)
    if not len(table.columns):
        raise ValueError(f"{label} has no column; name at least one.")
    make_container(table)  # says which columns are taken
    if len(table) != n_samples:
        raise ValueError(
            f"{label} must have one row for each row of X, in the same order; got {len(table)} "
            f"rows for {n_samples}."
        )
    return table


def rows_not_in_model(not_in_model: pd.DataFrame | None, rows: Ints) -> pd.DataFrame | None:
    """Return rows of the columns that the model does not take."""
    return None if not_in_model is None else not_in_model.iloc[rows].reset_index(drop=True)


def sensitive_values(space: Any, rows: Ints, not_in_model: pd.DataFrame | None) -> pd.DataFrame:
    """Return the sensitive attributes of rows of a space's data, and those outside the model.

    One column each; a one-hot group is one.
    """
    values, Z = {}, space.data[rows]
    for j in space.sensitive.tolist():
        column, encoded = space.domain.columns[j], Z[:, j]
        taken = np.full(len(encoded), None, dtype=object)
        known = ~np.isnan(encoded)
        taken[known] = column.shown(encoded[known])
        values[str(column.name)] = pd.Series(taken).infer_objects()
    outside = rows_not_in_model(not_in_model, rows)
    if outside is not None:
        values |= {str(name): outside[name] for name in outside}
    return pd.DataFrame(values)


def index_of(X: Any) -> Any:
    """Return the index of pandas; None for other tables."""
    return X.index if isinstance(X, (pd.DataFrame, pd.Series)) else None


def n_rows(X: Any) -> int:
    """Return the number of rows of any table."""
    if hasattr(X, "shape"):
        return int(X.shape[0])
    return len(X) if hasattr(X, "__len__") else len(nw.from_native(X, eager_only=True))


# Names ---------------------------------------------------------------------------------------


def _sorted_out(given: Any, n_samples: int) -> tuple[Any, list[Any]]:
    """Return the names, and values; an array of names is known by its length."""
    if isinstance(given, np.ndarray) and given.ndim == 1 and len(given) != n_samples:
        given = given.tolist()
    if is_values(given):
        return [], [given]
    if not isinstance(given, (list, tuple)):
        return given, []
    parts = [item for item in given if is_values(item)]
    return ([item for item in given if not is_values(item)] if parts else given), parts


def _names(X: Any) -> list[Any]:
    """Return the names of the columns; none for an array."""
    columns = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow has data in these
    return [] if columns is None or isinstance(X, np.ndarray) else list(columns)


def _asked(named: Any, names: list[Any]) -> list[Any]:
    """Return the named columns that are columns of the table."""
    return [name for name in _listed(named, names) if name in names]


def _listed(named: Any, names: list[Any]) -> list[Any]:
    """Return columns by name; entries that are no column of the table stay as they are."""
    if named is None:
        return []
    if isinstance(named, str) and named == "auto" and "auto" not in names:
        return protected_names(names)
    if isinstance(named, (str, int, np.integer)) or not isinstance(named, Iterable):
        named = [named]
    found = []
    for name in named:
        is_place = isinstance(name, (int, np.integer)) and not isinstance(name, (bool, np.bool_))
        if name not in names and is_place and 0 <= name < len(names):
            name = names[name]
        found.append(name)
    return found


# Tables --------------------------------------------------------------------------------------


def _column(X: Any, name: Any) -> dict[Any, Any]:
    return {name: X[name]}


def without(X: Any, names: list[Any]) -> Any:
    """Return a data frame without some columns, which need not be there."""
    if isinstance(X, pd.DataFrame):
        return X.drop(columns=names, errors="ignore")
    return nw.from_native(X, eager_only=True).drop(names, strict=False).to_native()


def _check_same(X: Any, place: int, name: Any, given: pd.Series) -> None:
    """Check that values under the name of a column of X are those of this column."""
    own = make_container(X).column_values(X, place)
    frame = given.to_frame()
    other = make_container(frame).column_values(frame, 0)
    if not _are_equal(own, other):
        raise ValueError(
            f"sensitive_features has the column {name!r}, and X has another one of that name, with "
            "other values. Rename one of them, or name the column of X: "
            f"sensitive_features=[{name!r}]."
        )


def _are_equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    gone = pd.isna(one)
    if (gone != pd.isna(other)).any():
        return False
    return bool(np.all(np.asarray(one[~gone], dtype=object) == other[~gone]))


def check_index(
    given: Any, index: Any, beside: str = "X", name: str = "sensitive_features"
) -> None:
    """Raise an error where values of rows have another index than what they stand beside."""
    if index is None:
        return
    if isinstance(given, (Mapping, list, tuple)):
        for column in given.values() if isinstance(given, Mapping) else given:
            check_index(column, index, beside, name)
    if not isinstance(given, (pd.Series, pd.DataFrame)):
        return
    if len(given) == len(index) and not given.index.equals(index):
        how = "in another order" if set(given.index) == set(index) else "with other labels"
        raise ValueError(
            f"{name} has another index than {beside} ({how}), so its rows may be those "
            f"of other people. Select the rows of {beside}, "
            f"{name}.loc[{beside}.index], or, where the order is that of {beside}, "
            f"pass {name}.to_numpy()."
        )


def _frame(given: Any, n_samples: int, standard: str, label: str) -> pd.DataFrame:
    """Return a frame of pandas whose rows are numbered, whatever the values came in."""
    if isinstance(given, pd.DataFrame):
        frame = given.reset_index(drop=True)
        if isinstance(given.columns, pd.RangeIndex):  # nobody has named them
            frame.columns = pd.Index(_standard_names(standard, len(frame.columns)), dtype=object)
        return frame
    if isinstance(given, Mapping):
        return _columns(given, label)
    if isinstance(given, (pd.Series, pd.Index)):
        name = standard if given.name is None else given.name
        return _columns({name: pd.Series(given)}, label)
    if isinstance(given, pd.Categorical):
        return _columns({standard: given}, label)
    if isinstance(given, np.ndarray):
        if given.ndim not in (1, 2):
            raise ValueError(
                f"{label} must be one column or a table of columns, an array of 1 or 2 dimensions; "
                f"got one of {given.ndim}."
            )
        table = given.reshape(len(given), -1)
        names = _standard_names(standard, table.shape[1])
        return pd.DataFrame(table, columns=pd.Index(names, dtype=object)).infer_objects()
    if nw.dependencies.is_into_series(given):
        name = nw.from_native(given, series_only=True).name or standard
        return _columns({name: given}, label)
    if isinstance(given, (list, tuple)) and len(given):
        return _of_list(list(given), n_samples, standard, label)
    if nw.dependencies.is_into_dataframe(given):
        container = make_container(given)
        columns = {}
        for j, name in enumerate(container.names):
            values, order = container.column_values(given, j), container.level_order(j)
            columns[name] = values if order is None else pd.Categorical(values, categories=order)
        return _columns(columns, label)
    if isinstance(given, (list, tuple)):
        raise ValueError(f"{label} has no column; name at least one.")
    raise _no_values(given, label)


def _no_values(given: Any, label: str) -> TypeError:
    kind = label.partition("_")[0]
    return TypeError(
        f"{label} must hold the {kind} values, one for each row: a Series, a DataFrame, a dict of "
        f"columns, an array or a list; got {given!r}. Pass X['sex'], say."
    )


def _of_list(given: list[Any], n_samples: int, standard: str, label: str) -> pd.DataFrame:
    if not any(_is_column(item) for item in given):
        # Not an array of all: it would make the word "nan" of a missing value among words.
        return _columns({standard: given}, label)
    if not all(_is_column(item) and len(item) == n_samples for item in given):
        raise ValueError(
            f"{label} is a list of columns; each must have one value for each row, {n_samples}; "
            f"got {[len(item) if _is_column(item) else item for item in given][:9]}."
            " Transpose a list of rows, or pass a DataFrame."
        )
    names = [getattr(item, "name", None) for item in given]
    others = _standard_names(standard, len(given))
    names_of_columns = [
        other if name is None or names.count(name) > 1 else name
        for name, other in zip(names, others, strict=True)
    ]
    return _columns(dict(zip(names_of_columns, given, strict=True)), label)


def _standard_names(standard: str, n: int) -> list[str]:
    return [standard] if n == 1 else [f"{standard} {j}" for j in range(n)]


def _columns(columns: Mapping[Any, Any], label: str) -> pd.DataFrame:
    """Return columns side by side, by position."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"The columns of {label} must be of one length; got {lengths!r}.")
    as_series = {}
    for name, column in columns.items():
        if not isinstance(column, (pd.Series, pd.Categorical, np.ndarray)):
            column = pd.Series(list(column), dtype=object)
        as_series[name] = pd.Series(column).reset_index(drop=True).infer_objects()
    return pd.DataFrame(as_series)


def _is_column(item: Any) -> bool:
    return isinstance(item, Iterable) and not isinstance(item, (str, bytes))
