"""Reads the data from CSV, Parquet or standard input, as the table that the model expects."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from skfairtest.cli._errors import CommandError, ModelFailed
from skfairtest.cli._model_file import needs
from skfairtest.cli._terminal import note
from skfairtest.cli._training import (
    declared_categories,
    trained_columns,
    trained_values,
)
from skfairtest.oracle._favourable import known_classes
from skfairtest.space._column_names import did_you_mean
from skfairtest.space._protected_names import protected_names

STANDARD_INPUT = "-"
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

    Some of these are columns of X, by name or position; others are not in the model. Groups are
    compared within the values of `control` as well, which may be columns of X.
    """

    X: Any
    y: Any
    sensitive: list[Any] | str
    not_in_model: pd.DataFrame | None
    control: pd.DataFrame | None = None


def read_table(
    where: str,
    model: Any,
    *,
    sensitive: Sequence[str],
    target: str | None = None,
    drop: Sequence[str] = (),
    sensitive_file: str | None = None,
    control: Sequence[str] = (),
) -> DataTable:
    """Read the rows of a file, and check them against the model before anything is searched.

    Words of `sensitive` and `drop` may hold several names; the sensitive columns "auto" are those
    with common names. What is sensitive and dropped, or in `sensitive_file`, is compared as a
    column that the model does not take; of that file all columns are, unless some are named.
    """
    frame = _read(where, model, target)
    names = list(frame.columns)
    left_out = split_names(drop, names)
    targets = [] if target is None else [target]
    strata = split_names(control, names)
    for option, given in (("--drop", left_out), ("--target", targets), ("--control", strata)):
        for name in given:
            if name not in names:
                raise CommandError(
                    f"{option} names {name!r}, which is not a column of the data."
                    f"{did_you_mean(name, names)} Its columns: {_listed(names)}."
                )
    others = frame[[]] if sensitive_file is None else _others(sensitive_file, frame, where)
    asked = split_names(sensitive, [*names, *others.columns])
    expected = trained_columns(model) or names
    not_taken = [n for n in names if n not in targets and (n in left_out or n not in expected)]
    is_auto = asked == ["auto"] and "auto" not in names
    outside = protected_names(not_taken) if is_auto else [n for n in asked if n in not_taken]
    away = [name for name in others.columns if name in asked] or list(others.columns)
    not_in_model = pd.concat([frame[outside], others[away]], axis=1)
    apart = [name for name in strata if name in not_taken]
    X = frame.drop(columns=[*left_out, *targets, *outside, *apart])
    X = _columns_of_the_model(X, model, target)
    if not len(X):
        raise CommandError(
            "The data hold no rows, only the names of columns. Give rows like those that the "
            "model is used on: they show which inputs exist."
        )
    inside: Any = [name for name in asked if name not in not_in_model]
    if is_auto:
        # Without any, the audit says that it has found none.
        inside = protected_names(X.columns) if len(not_in_model.columns) else "auto"
    elif inside or not len(not_in_model.columns):
        _check_sensitive(inside, list(X.columns), list(others.columns), target)
    if target is not None and (n_missing := int(frame[target].isna().sum())):
        raise CommandError(
            f"The target column {target!r} is missing in {n_missing} of {len(X)} rows. Leave these "
            f"rows out, or leave --target out: it only adds error rates, and --drop {target} keeps "
            "the column from the model."
        )
    _check_values(X, model)
    rows = _predictable(X, model)
    if not isinstance(rows, pd.DataFrame):
        inside = protected_names(X.columns) if inside == "auto" else inside
        inside = [list(X.columns).index(name) for name in inside]
    return DataTable(
        rows,
        None if target is None else frame[target],
        inside,
        not_in_model if len(not_in_model.columns) else None,
        frame[strata] if strata else None,
    )


def split_names(given: Iterable[str], known: Iterable[str] = ()) -> list[str]:
    """Split names that are separated by commas; a known name with a comma in it is kept."""
    whole = set(known)
    names: list[str] = []
    for text in given:
        names += [text] if text in whole else [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))


# Reading -------------------------------------------------------------------------------------


def _read(where: str, model: Any, target: str | None = None) -> pd.DataFrame:
    """Read a file; what the model was trained on says which cells are text, and which missing.

    None is the model of a file of which the model takes nothing.
    """
    known = trained_values(model)
    labels = known_classes(model)
    if target is not None and labels is not None:
        known[target] = labels.tolist()
    path, name = Path(where), repr(where)
    source: Any = path
    if where == STANDARD_INPUT:
        name, source = "standard input", io.BytesIO(sys.stdin.buffer.read())
    elif not path.exists() or path.is_dir():
        others = path.parent.iterdir() if path.parent.is_dir() else []
        what = "is a folder" if path.is_dir() else "does not exist"
        raise CommandError(
            f"The data file {where!r} {what}."
            f"{did_you_mean(path.name, [entry.name for entry in others])} DATA is a CSV or "
            "Parquet file, or - for CSV on standard input."
        )
    elif _is_parquet(path):
        return _as_trained(_read_parquet(path), known)
    elif not path.is_file():  # a pipe, which can be read once only
        source = io.BytesIO(path.read_bytes())
    names = _read_csv(source, name, nrows=0).columns
    if isinstance(source, io.BytesIO):
        source.seek(0)
    takes = [] if model is None else trained_columns(model) or list(names)
    codes = {*declared_categories(model), *names.difference([*takes, target])} - {*known}
    text = {name for name, values in known.items() if not values or _kind(values) == "text"}
    types = dict.fromkeys(text | codes, str)
    frame = _read_csv(source, name, dtype=types, low_memory=False, **EXACT)
    for code in names.intersection(list(codes)):
        frame[code] = _of_words(frame[code])
    _note_missing_words(frame, known, codes)
    return _as_trained(frame, known)


def _read_csv(source: Any, name: str, **settings: Any) -> pd.DataFrame:
    try:
        frame = pd.read_csv(source, keep_default_na=False, na_values=[""], **settings)
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
    (first, *more) = frame.columns
    if not more and (mark := re.search(r"[;\t|]", first)):
        raise CommandError(
            f"The data in {name} have one column, {first!r}. Expected values with commas between "
            f"them; these seem to have {mark[0]!r}. Write them with commas."
        )
    return frame


def _of_words(words: pd.Series) -> pd.Series:
    """Return numbers or truth values if all words are such, and no two words become one value."""
    distinct = words.dropna().unique().tolist()
    if distinct and {*distinct} <= {"True", "False"}:
        return words.map({"True": True, "False": False})
    if not distinct or not all(map(NUMBER.fullmatch, distinct)):
        return words
    numbers = set(map(float, distinct))
    if len(numbers) < len(distinct):
        return words
    is_whole = words.notna().all() and all(word.lstrip("+-").isdigit() for word in distinct)
    # All smaller whole numbers are floats as well.
    is_small = max(map(abs, numbers)) < 2.0**53
    return words.astype("int64" if is_whole and is_small else "float64")


def _note_missing_words(frame: pd.DataFrame, known: dict[str, list[Any]], codes: set[str]) -> None:
    """Say which text looks like a missing value; among numbers it can be nothing else."""
    for name in _text_columns(frame):
        words = set(frame[name].dropna().unique())
        looks = {word for word in words if str(word).strip().lower() in LOOKS_MISSING}
        others = looks - set(known.get(name, ()))
        if not others:
            continue
        n = frame[name].isin(others).sum()
        some = f"{_some(sorted(others))} in {n} rows"
        rest = [_as_number(str(word)) for word in words - looks]
        if rest and None not in rest and name not in codes and name not in known:
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


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() not in (".parquet", ".pq") and path.is_file():  # and no pipe
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    return path.suffix.lower() in (".parquet", ".pq")


def _read_parquet(path: Path) -> pd.DataFrame:
    if find_spec("pyarrow") is None:
        raise CommandError(
            f"Reading the Parquet file {str(path)!r} needs pyarrow, which is not installed. "
            "Install it (pip install pyarrow), or give the data as CSV."
        )
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except Exception as error:  # pyarrow has errors of its own
        raise CommandError(
            f"{str(path)!r} cannot be read as Parquet: {type(error).__name__}: {error}."
        ) from error
    return frame.set_axis(list(map(str, frame.columns)), axis=1)


# Columns -------------------------------------------------------------------------------------


def _columns_of_the_model(X: pd.DataFrame, model: Any, target: str | None) -> pd.DataFrame:
    """Return the columns that the model expects, in its order."""
    names, expected = list(X.columns), trained_columns(model)
    if expected is None:
        count = getattr(model, "n_features_in_", len(names))
        if count != len(names):
            leave = " If the target is among them, name it: --target." if target is None else ""
            raise CommandError(
                f"The model was trained on {count} columns; the data have {len(names)}: "
                f"{_listed(names)}.{leave} Leave out others by --drop."
            )
        return X
    missing = [name for name in expected if name not in names]
    extra = [name for name in names if name not in expected]
    if missing:
        hints = [f"{name!r}:{did_you_mean(name, extra)}" for name in missing]
        near = "".join(f" {hint}" for hint in hints if hint.endswith("?"))
        too_many = f" They have, which the model does not know: {_listed(extra)}." if extra else ""
        raise CommandError(
            f"The data lack columns of the model: {_listed(missing)}.{near}{too_many} Give the "
            f"columns that it was trained on: {_listed(expected)}."
        )
    if extra:
        todo = "Leave out what it does not take"
        if target is None:
            todo = f"If {'it' if len(extra) == 1 else 'one of them'} is the target, name it by "
            todo += f"--target {shlex.quote(extra[0])}; leave out what the model does not take"
        if extra[0].startswith("Unnamed: "):  # what pandas calls a column without a name
            todo = f"{extra[0]!r} looks like an index: write the file with index=False. {todo}"
        raise CommandError(
            f"The data have columns that the model does not know: {_listed(extra)}. {todo}: "
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
    twice = others.columns.intersection(frame.columns).tolist()
    if twice:
        raise CommandError(
            f"--sensitive-file {where!r} has columns that the data have, too: {_listed(twice)}. "
            "Rename them, or leave them out of one of the files."
        )
    return others.set_axis(frame.index)  # Parquet may have another one


def _check_sensitive(
    asked: list[str], names: list[str], others: list[str], target: str | None
) -> None:
    """Raise an error unless sensitive columns are named, and are columns of the model."""
    if not asked:
        common = protected_names(names)
        hint = f" Columns with names of common ones: {_listed(common)}." if common else ""
        raise CommandError(
            "Name the sensitive columns: --sensitive sex,race, or --sensitive auto for those with "
            f"common names.{hint}"
        )
    for name in asked:
        # A group of one-hot columns has a name that is the beginning of theirs.
        if any(other.startswith(name) for other in names):
            continue
        if name == target:
            raise CommandError(
                f"--sensitive names {name!r}, which is also the --target: it is what the model "
                "predicts and not an attribute of people. Name another column."
            )
        raise CommandError(
            f"--sensitive names {name!r}, which is not a column of the model."
            f"{did_you_mean(name, [*names, *others])} Its columns: {_listed(names)}."
        )


# Values --------------------------------------------------------------------------------------


def _check_values(X: pd.DataFrame, model: Any) -> None:
    """Raise an error unless columns hold the kind of values that the model's encoders know."""
    for name, known in trained_values(model).items():
        got = X[name].dropna().unique().tolist()
        if not got or not known or {*got} & {*known}:
            continue
        words = (
            f"olumn {name!r} holds no value that the model was trained on: {_kind(got)} "
            f"({_some(got)}), where it knows {_kind(known)} ({_some(known)})"
        )
        if _kind(got) != _kind(known):
            raise CommandError(
                f"C{words}. Give the values as they were at training; Parquet keeps them, CSV does "
                "not."
            )
        note(f"c{words}; is it coded as at training?")


def _predictable(X: pd.DataFrame, model: Any) -> Any:
    """Return the rows as the model can predict them: with names, or as an array if it needs one."""
    is_empty = X.isna() | X.isin([float("inf"), float("-inf")])
    # As many rows as are predicted at once, which tell enough, and a gap of each column.
    first_gaps = [gaps.nonzero()[0][:1].tolist() for gaps in is_empty.to_numpy().T]
    places = sorted({*range(min(64, len(X)))}.union(*first_gaps))
    rows = X.iloc[places]
    try:
        model.predict(rows)
        return X
    except KeyboardInterrupt:
        raise
    except ImportError as error:
        raise needs(f"{type(model).__name__}.predict", error) from error
    except BaseException as error:
        failed = error
    text = _text_columns(X)
    # A model that was trained on an array may know rows by their positions only.
    if trained_columns(model) is None and not text and _predicts(model, rows.to_numpy()):
        return X.to_numpy()
    first = next(iter(str(failed).splitlines()), "")
    what = f"{type(model).__name__}.predict raised {type(failed).__name__}: {first}"
    whole = rows[~is_empty.iloc[places].any(axis=1)]
    if 0 < len(whole) < len(rows) and _predicts(model, whole):
        names = [name for name in X.columns if is_empty[name].any()]
        raise CommandError(
            "The model cannot take missing or infinite values, which "
            f"{is_empty.any(axis=1).sum()} of {len(X)} rows have, in {_listed(names)}. Leave these "
            f"rows out, or put an imputer into the model. {what}"
        ) from failed
    coded = trained_values(model)
    for name in text:
        values = [str(value) for value in X[name].dropna().unique().tolist()]
        odd = [value for value in values if _as_number(value) is None]
        # If most of the values are numbers, the others look like a mistake.
        is_wrong = len(odd) < 0.5 * len(values) or any(repr(v) in str(failed) for v in values)
        if is_wrong and name not in coded:
            raise CommandError(
                f"Column {name!r} holds text that the model cannot take: {_some(odd or values)}. "
                "Give the values as they were at training, numbers with a decimal point, and an "
                "empty cell where one is missing; a column of pandas' type category comes back "
                f"from Parquet, and as plain text from CSV. {what}"
            ) from failed
    raise ModelFailed(
        f"The model fails on the first {len(rows)} rows of the data, so nothing was searched: "
        f"{what}. Try model.predict on these rows in Python."
    ) from failed


def _predicts(model: Any, rows: Any) -> bool:
    try:
        model.predict(rows)
    except Exception:
        return False
    return True


def _listed(names: Sequence[object]) -> str:
    """List the first twelve names for a message, and count the others."""
    most = 12
    few = ", ".join(map(repr, names[:most]))
    return f"{few} and {len(names) - most} more" if len(names) > most else few


def _some(values: list[Any]) -> str:
    """Write the first three values, for a message."""
    return ", ".join(map(repr, values[:3]))


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
