"""Reads the data from CSV, Parquet or standard input, as the table that the model expects."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from skfairtest.cli._errors import CommandError, ModelFailed
from skfairtest.cli._names import did_you_mean, listed, split_names
from skfairtest.cli._terminal import note
from skfairtest.cli._training import (
    declared_categories,
    trained_columns,
    trained_count,
    trained_labels,
    trained_values,
)
from skfairtest.space._protected_names import protected_names

STANDARD_INPUT = "-"
PARQUET_NAMES = (".parquet", ".pq")
PARQUET_MAGIC = b"PAR1"
#: What some programs write between values in place of commas.
OTHER_MARKS = (";", "\t", "|")
#: Words that stand for a missing value in some files, and for a value in others, in small letters.
LOOKS_MISSING = {"na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nat"}
#: Numbers whose digits are the value: 01 is a code, and not 1.
NUMBER = re.compile(r"[+-]?(0|[1-9]\d*|(0|[1-9]\d*)?\.\d+|(0|[1-9]\d*)\.)([eE][+-]?\d+)?|[+-]?inf")
#: Numbers of CSV are read to the last digit; later releases of pandas do it by themselves.
EXACT: dict[str, Any] = (
    {}
    if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    else {"float_precision": "round_trip"}
)


class DataTable(NamedTuple):
    """The audited rows as the model expects them, their targets, and the sensitive columns.

    Attributes
    ----------
    X : table
        The columns that the model takes.
    y : Series or None
        The target.
    sensitive : list or "auto"
        Sensitive columns of X.
    not_in_model : DataFrame or None
        Sensitive columns that the model does not take.
    """

    X: Any
    y: Any
    sensitive: list[Any] | str
    not_in_model: pd.DataFrame | None


def read_table(
    where: str,
    model: Any,
    *,
    sensitive: Sequence[str],
    target: str | None = None,
    drop: Sequence[str] = (),
    sensitive_file: str | None = None,
) -> DataTable:
    """Read the rows of a file, and check them against the model before anything is searched.

    Parameters
    ----------
    where : str
        Path, or "-" for CSV on standard input.
    model : object
        Fitted; tells which columns it expects.
    sensitive : sequence of str
        Names of the sensitive columns, maybe several in a word; "auto" takes common names.
    target : str, default=None
        The column that is split off.
    drop : sequence of str
        Columns that are left out, maybe several in a word. What is sensitive among them is
        compared as a column that the model does not take.
    sensitive_file : str, default=None
        CSV or Parquet file of sensitive columns that the model does not take, row by row.

    Returns
    -------
    DataTable
        Rows, targets or None, and sensitive columns, in the model or not.

    Raises
    ------
    CommandError
        If the file cannot be read, or is no table that the model can predict.
    """
    frame = _read(where, model, target)
    names = list(frame.columns)
    left_out = split_names(drop, names)
    y = None
    for name in left_out:
        if name not in names:
            raise CommandError(
                f"--drop names {name!r}, which is not a column of the data."
                f"{did_you_mean(name, names)} Its columns: {listed(names)}."
            )
    if target is not None:
        if target not in names:
            raise CommandError(
                f"--target names {target!r}, which is not a column of the data."
                f"{did_you_mean(target, names)} Its columns: {listed(names)}."
            )
        y = frame[target]
        left_out.append(target)
    others = None if sensitive_file is None else _others(sensitive_file, frame, where)
    sensitive, not_in_model = _sensitive_columns(sensitive, frame, others, model, left_out, target)
    left_out += [name for name in not_in_model if name in names and name not in left_out]
    X = frame.drop(columns=left_out)
    X = _columns_of_the_model(X, model, target)
    if not len(X):
        raise CommandError(
            "The data hold no rows, only the names of columns. Give rows like those that the "
            "model is used on: they show which inputs exist."
        )
    asked: Any = []
    if sensitive or not len(not_in_model.columns):
        asked = _sensitive(sensitive, list(X.columns), left_out, others)
    if y is not None and y.isna().any():
        raise CommandError(
            f"The target column {target!r} is missing in {int(y.isna().sum())} of {len(y)} rows. "
            "Leave these rows out, or leave --target out: it only adds error rates, and --drop "
            f"{target} keeps the column from the model."
        )
    _check_values(X, model)
    rows = _predictable(X, model)
    if not isinstance(rows, pd.DataFrame):
        asked = protected_names(X.columns) if isinstance(asked, str) else asked
        asked = [list(X.columns).index(name) for name in asked]
    return DataTable(rows, y, asked, not_in_model if len(not_in_model.columns) else None)


# Reading -------------------------------------------------------------------------------------


def _read(where: str, model: Any, target: str | None = None) -> pd.DataFrame:
    """Read a file; what the model was trained on says which cells are text, and which missing.

    None is the model of a file of which the model takes nothing.
    """
    known = trained_values(model)
    if target is not None and (labels := trained_labels(model)):
        known[target] = labels
    name = "standard input" if where == STANDARD_INPUT else repr(where)
    source = _source(where)
    if isinstance(source, Path) and _is_parquet(source):
        return _as_trained(_named(_read_parquet(source), name), known)
    text = {name for name, values in known.items() if not values or _kind(values) == "text"}
    unsure = set(declared_categories(model)) - set(known)
    takes = [] if model is None else trained_columns(model)
    try:
        names = pd.read_csv(source, nrows=0).columns
        if isinstance(source, io.BytesIO):
            source.seek(0)
        if takes is not None:
            unsure |= set(names) - {*takes, target}
        frame = pd.read_csv(
            source, dtype=dict.fromkeys(text | unsure, str), keep_default_na=False, na_values=[""],
            low_memory=False, **EXACT,
        )  # fmt: skip
    except pd.errors.EmptyDataError as error:
        raise CommandError(
            f"The data in {name} are empty. Expected CSV with the names of the columns in its "
            "first line."
        ) from error
    except (ValueError, OSError, EOFError) as error:
        raise CommandError(
            f"The data in {name} cannot be read as CSV: {type(error).__name__}: {error}. Expected "
            "values with commas between them, names of columns in the first line, in UTF-8."
        ) from error
    other = [mark for mark in OTHER_MARKS if len(frame.columns) == 1 and mark in frame.columns[0]]
    if other:
        raise CommandError(
            f"The data in {name} have one column, {frame.columns[0]!r}. Expected values with "
            f"commas between them; these seem to have {other[0]!r}. Write them with commas."
        )
    frame = _named(frame, name)
    for name in frame.columns.intersection(list(unsure)):
        frame[name] = _of_words(frame[name])
    _note_missing_words(frame, known, text | unsure)
    return _as_trained(frame, known)


def _source(where: str) -> io.BytesIO | Path:
    """Return the file, or what a pipe holds, which can be read once only."""
    if where == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    path = Path(where)
    if not path.exists() or path.is_dir():
        others = path.parent.iterdir() if path.parent.is_dir() else []
        what = "is a folder" if path.is_dir() else "does not exist"
        raise CommandError(
            f"The data file {where!r} {what}."
            f"{did_you_mean(path.name, [entry.name for entry in others])} DATA is a CSV or "
            "Parquet file, or - for CSV on standard input."
        )
    return path if path.is_file() or _is_parquet(path) else io.BytesIO(path.read_bytes())


def _of_words(words: pd.Series) -> pd.Series:
    """Return numbers or truth values if all words are such, and no two words become one value."""
    distinct = words.dropna().unique().tolist()
    if distinct and all(NUMBER.fullmatch(word) for word in distinct):
        if len(set(map(float, distinct))) == len(distinct):
            is_whole = words.notna().all() and all(word.lstrip("+-").isdigit() for word in distinct)
            # All smaller whole numbers are floats as well.
            is_small = max(map(abs, map(float, distinct))) < 2.0**53
            return words.astype("int64" if is_whole and is_small else "float64")
    if distinct and set(distinct) <= {"True", "False"}:
        return words.map({"True": True, "False": False})
    return words


def _note_missing_words(
    frame: pd.DataFrame, known: dict[str, list[Any]], as_text: set[str]
) -> None:
    """Say which text looks like a missing value; among numbers it can be nothing else."""
    for name in _text_columns(frame):
        words = set(frame[name].dropna().unique())
        looks = {word for word in words if str(word).strip().lower() in LOOKS_MISSING}
        others = looks - set(known.get(name, ()))
        if not others:
            continue
        n = frame[name].isin(others).sum()
        some = f"{_some(sorted(others))} in {n} rows"
        rest = words - looks
        is_number = bool(rest) and all(_as_number(str(value)) is not None for value in rest)
        if is_number and name not in as_text | set(known):
            raise CommandError(
                f"Column {name!r} holds {some} among numbers. Of a CSV file only empty cells are "
                "missing: leave these cells empty, or give the data as Parquet."
            )
        note(
            f"column {name!r} holds {some}, which is read as text; only empty cells are missing. "
            "Leave the cells empty if these values are missing"
        )


def _as_trained(frame: pd.DataFrame, known: dict[str, list[Any]]) -> pd.DataFrame:
    """Return the table with what is missing, and dates, as the encoders of the model know them."""
    for name in frame.columns.intersection(list(known)):
        values, column = known[name], frame[name]
        if values and all(isinstance(value, datetime) for value in values):
            with contextlib.suppress(ValueError):
                frame[name] = column = pd.to_datetime(column)
        gone = [value for value in values if not isinstance(value, str) and pd.isna(value)]
        if not column.isna().any():
            continue
        # CSV has nothing else for a text without letters, and documents cannot be missing.
        if not values or ("" in values and not gone):
            frame[name] = column.fillna("")
        elif "" in values:
            note(f"column {name!r} has empty cells, which are read as missing and not as text")
        elif gone and all(value is None for value in gone):
            frame[name] = column.astype(object).where(column.notna(), None)
        elif gone and column.dtype == object:
            frame[name] = column.where(column.notna(), float("nan"))
    return frame


def _named(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    frame.columns = [str(name) for name in frame.columns]
    if not len(frame.columns):
        raise CommandError(f"The data in {name} have no columns. Give a table with named columns.")
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()].unique().tolist()
        raise CommandError(
            f"The data in {name} have several columns of the same names {twice}. Rename them."
        )
    return frame


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() in PARQUET_NAMES:
        return True
    if not path.is_file():  # a pipe, of which nothing must be read beforehand
        return False
    try:
        with path.open("rb") as file:
            return file.read(4) == PARQUET_MAGIC
    except OSError:
        return False


def _read_parquet(path: Path) -> pd.DataFrame:
    if find_spec("pyarrow") is None:
        raise CommandError(
            f"Reading the Parquet file {str(path)!r} needs pyarrow, which is not installed. "
            "Install it (pip install pyarrow), or give the data as CSV."
        )
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except Exception as error:  # pyarrow has errors of its own
        raise CommandError(
            f"{str(path)!r} cannot be read as Parquet: {type(error).__name__}: {error}."
        ) from error


# Columns -------------------------------------------------------------------------------------


def _columns_of_the_model(X: pd.DataFrame, model: Any, target: str | None) -> pd.DataFrame:
    """Return the columns that the model expects, in its order."""
    names = list(X.columns)
    expected = trained_columns(model)
    if expected is None:
        count = trained_count(model)
        if count is not None and count != len(names):
            leave = " If the target is among them, name it: --target." if target is None else ""
            raise CommandError(
                f"The model was trained on {count} columns; the data have {len(names)}: "
                f"{listed(names)}.{leave} Leave out others by --drop."
            )
        return X
    missing = [name for name in expected if name not in names]
    extra = [name for name in names if name not in expected]
    if missing:
        near = [f"{name!r} may be {did_you_mean(name, extra)[14:-1]}" for name in missing
                if did_you_mean(name, extra)]  # fmt: skip
        hint = f" ({'; '.join(near)})" if near else ""
        too_many = f" They have, which the model does not know: {listed(extra)}." if extra else ""
        raise CommandError(
            f"The data lack columns of the model: {listed(missing)}{hint}.{too_many} Give the "
            f"columns that it was trained on: {listed(expected)}."
        )
    if extra:
        if target is None and len(extra) == 1:
            todo = f"If it is the target, add --target {shlex.quote(extra[0])}; else leave it out"
        elif target is None:
            todo = "If one of them is the target, name it by --target; leave the others out"
        else:
            todo = "Leave it out" if len(extra) == 1 else "Leave them out"
        if extra[0].startswith("Unnamed: "):  # what pandas calls a column without a name
            todo = f"{extra[0]!r} looks like an index: write the file with index=False. {todo}"
        raise CommandError(
            f"The data have columns that the model does not know: {listed(extra)}. {todo}: "
            f"{' '.join(f'--drop {shlex.quote(name)}' for name in extra)}"
        )
    return X[expected]


def _others(where: str, frame: pd.DataFrame, data: str) -> pd.DataFrame:
    """Read the columns of --sensitive-file, whose rows are those of the data."""
    if where == STANDARD_INPUT and data == STANDARD_INPUT:
        raise CommandError("Standard input can be read once only. Give --sensitive-file as a file.")
    others = _read(where, None)
    if len(others) != len(frame):
        raise CommandError(
            f"--sensitive-file {where!r} has {len(others)} rows, the data have {len(frame)}. Give "
            "the same rows in the same order."
        )
    twice = [name for name in others if name in frame.columns]
    if twice:
        raise CommandError(
            f"--sensitive-file {where!r} has columns that the data have, too: {listed(twice)}. "
            "Rename them, or leave them out of one of the files."
        )
    return others


def _sensitive_columns(
    given: Sequence[str],
    frame: pd.DataFrame,
    others: pd.DataFrame | None,
    model: Any,
    dropped: list[str],
    target: str | None,
) -> tuple[list[str], pd.DataFrame]:
    """Return the names that are left for the model's table, and the columns that it does not take.

    These are dropped from the data, unknown to the model, or of a file of their own, all of which
    is sensitive unless some of it is named.
    """
    names = list(frame.columns)
    away = [] if others is None else list(others.columns)
    asked = split_names(given, [*names, *away])
    expected = trained_columns(model)
    not_taken = [name for name in dropped if name != target]
    if expected is not None:
        not_taken += [n for n in names if n not in expected and n not in dropped and n != target]
    if asked == ["auto"] and "auto" not in names:
        wanted = protected_names(not_taken)
        # Without any, the audit says that it has found none.
        found = protected_names(name for name in names if name not in not_taken)
        left = asked if found or not (wanted or away) else []
    else:
        wanted = [name for name in asked if name in not_taken]
        left = [name for name in asked if name not in wanted and name not in away]
    named = [name for name in away if name in asked] or away
    parts = [frame[wanted], *([] if others is None else [others[named]])]
    return left, pd.concat(parts, axis=1)


def _sensitive(
    given: Sequence[str], names: list[str], left_out: list[str], others: pd.DataFrame | None
) -> list[Any] | str:
    """Return the names of the sensitive columns, or raise an error if one does not exist."""
    asked = split_names(given, names)
    if asked == ["auto"] and "auto" not in names:
        return "auto"
    if not asked:
        common = protected_names(names)
        hint = f" Columns with names of common ones: {listed(common)}." if common else ""
        raise CommandError(
            "Name the sensitive columns: --sensitive sex,race, or --sensitive auto for those with "
            f"common names.{hint}"
        )
    known = [*names, *([] if others is None else others.columns)]
    for name in asked:
        # A group of one-hot columns has a name that is the beginning of theirs.
        if name in names or any(other.startswith(name) for other in names if name):
            continue
        if name in left_out:
            raise CommandError(
                f"--sensitive names {name!r}, which is also the --target: it is what the model "
                "predicts and not an attribute of people. Name another column."
            )
        raise CommandError(
            f"--sensitive names {name!r}, which is not a column of the model."
            f"{did_you_mean(name, known)} Its columns: {listed(names)}."
        )
    return asked


# Values --------------------------------------------------------------------------------------


def _check_values(X: pd.DataFrame, model: Any) -> None:
    """Raise an error unless columns hold the kind of values that the model's encoders know."""
    for name, known in trained_values(model).items():
        if name not in X.columns:
            continue
        values = X[name].dropna().unique()
        if not len(values) or not known or any(value in known for value in values.tolist()):
            continue
        as_words = {str(value) for value in known}
        got = [str(value) for value in values.tolist()]
        numbers = [number for number in map(_as_number, got) if number is not None]
        if any(word in as_words for word in got) or any(number in known for number in numbers):
            raise CommandError(
                f"Column {name!r} holds {_kind(values.tolist())} ({', '.join(got[:3])}), and "
                f"the model was trained on {_kind(known)} ({_some(known)}). "
                "Give the values as they were at training; Parquet keeps them, CSV does not."
            )
        words = (
            f"column {name!r} holds no value that the model was trained on: "
            f"{_some(values.tolist())}, where it knows {_some(known)}"
        )
        if _kind(values.tolist()) != _kind(known):
            raise CommandError(f"C{words[1:]}. Give the values as they were at training.")
        note(f"{words}; is it coded as at training?")


def _predictable(X: pd.DataFrame, model: Any) -> Any:
    """Return the rows as the model can predict them: with names, or as an array if it needs one."""
    rows = X.iloc[_rows_to_try(X)]
    try:
        model.predict(rows)
        return X
    except KeyboardInterrupt:
        raise
    except ImportError as error:
        raise CommandError(
            f"The model's predict needs the package {error.name or 'that cannot be imported'!r}: "
            f"{error}. Install it, or run this where the model was trained."
        ) from error
    except BaseException as error:
        failed = error
    text = _text_columns(X)
    # A model that was trained on an array may know rows by their positions only.
    if trained_columns(model) is None and not text:
        array = X.to_numpy()
        try:
            model.predict(rows.to_numpy())
            return array
        except Exception:  # the first error says more of the table that was given
            pass
    raise _why_not_predictable(X, rows, text, model, failed) from failed


def _rows_to_try(X: pd.DataFrame) -> list[int]:
    """Return positions of the first rows, and of the first non-finite value of each column."""
    places = set(range(min(64, len(X))))  # as many as are predicted at once, and tell enough
    for empty in _not_finite(X).to_numpy().T:
        places.update(empty.nonzero()[0][:1].tolist())
    return sorted(places)


def _not_finite(X: pd.DataFrame) -> pd.DataFrame:
    """Tell which cells hold no value, or no finite one."""
    return X.isna() | X.isin([float("inf"), float("-inf")])


def _why_not_predictable(
    X: pd.DataFrame, rows: pd.DataFrame, text: list[str], model: Any, failed: BaseException
) -> CommandError:
    first = next(iter(str(failed).splitlines()), "")
    what = f"{type(model).__name__}.predict raised {type(failed).__name__}: {first}"
    empty = _not_finite(rows)
    whole = rows[~empty.any(axis=1)]
    if len(whole) and len(whole) < len(rows) and _predicts(model, whole):
        names = [name for name in X.columns if empty[name].any()]
        n_rows = int(_not_finite(X).any(axis=1).sum())
        return CommandError(
            f"The model cannot take missing or infinite values, which {n_rows} of {len(X)} rows "
            f"have, in {listed(names)}. Leave these rows out, or put an imputer into the model. "
            f"{what}"
        )
    coded = trained_values(model)
    columns = {
        name: [str(value) for value in X[name].dropna().unique().tolist()]
        for name in text
        if name not in coded
    }
    # The error may quote the value that is wrong; else numbers that were read as text are.
    quoted = [name for name in columns if any(repr(v) in str(failed) for v in columns[name])]
    for name in [*quoted, *columns]:
        values = columns[name]
        wrong = [value for value in values if _as_number(value) is None]
        # If most of the values are numbers, the others look like a mistake.
        if values and len(wrong) < 0.5 * len(values):
            odd = f"; not a number: {_some(wrong)}" if wrong else ""
            return CommandError(
                f"Column {name!r} holds text where the model expects numbers ("
                f"{_some(values)}{odd}). Give numbers, with an empty cell "
                f"where one is missing. {what}"
            )
        if name in quoted:
            todo = "Give the values as they were at training"
            if all(_as_number(value.replace(",", ".")) is not None for value in values):
                todo = "Write numbers with a decimal point"
            return CommandError(
                f"Column {name!r} holds text that the model cannot take ("
                f"{_some(values)}). {todo}; a column of pandas' type "
                f"category comes back from Parquet, and as plain text from CSV. {what}"
            )
    return ModelFailed(
        f"The model fails on the first {len(rows)} rows of the data, so nothing was searched: "
        f"{what}. Try model.predict on these rows in Python."
    )


def _some(values: list[Any]) -> str:
    """Write the first three values, for a message."""
    return ", ".join(map(repr, values[:3]))


def _predicts(model: Any, rows: pd.DataFrame) -> bool:
    try:
        model.predict(rows)
    except Exception:
        return False
    return True


def _text_columns(X: pd.DataFrame) -> list[str]:
    return [
        name
        for name in X.columns
        if not pd.api.types.is_numeric_dtype(X[name])
        and not pd.api.types.is_datetime64_any_dtype(X[name])
    ]


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _kind(values: list[Any]) -> str:
    present = [value for value in values if isinstance(value, str) or not pd.isna(value)]
    if present and all(isinstance(value, bool) for value in present):
        return "truth values"
    return "text" if any(isinstance(value, str) for value in present) else "numbers"
