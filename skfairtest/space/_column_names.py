"""Find the columns that users name, and check which columns can be sensitive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from skfairtest.space._columns import Column
from skfairtest.space._facts import check_bounds


def did_you_mean(name: Any, known: Iterable[Any]) -> str:
    """Return a sentence, behind a blank, with the names that are most similar; or an empty text."""
    if not isinstance(name, str):
        return ""
    folded = {other.casefold(): other for other in known if isinstance(other, str)}
    near = [folded[text] for text in get_close_matches(name.casefold(), folded)]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def position_of(names: list[Any], name: Any) -> int | None:
    """Return the position of a column given by its name or position; None if there is none."""
    if name in names:
        return names.index(name)
    is_position = isinstance(name, (int, np.integer)) and not isinstance(name, bool)
    return int(name) if is_position and 0 <= name < len(names) else None


def resolve_columns(
    names: list[Any], wanted: Any, parameter: str = "sensitive_features"
) -> list[int]:
    """Return the positions of the named columns, in the order in which they are named."""
    if isinstance(wanted, (str, int, np.integer)):
        wanted = [wanted]
    if isinstance(wanted, (pd.Series, pd.DataFrame)):
        raise ValueError(
            "sensitive_features must name columns of X here, since twins are made of the columns "
            f"that a model takes; got a {type(wanted).__name__} of values. audit, SubgroupAuditor "
            "and selection_table take values, and compare what groups get."
        )
    if not isinstance(wanted, Iterable):
        raise ValueError(
            f"{parameter} must be 'auto', a column or a list of columns; got {wanted!r}."
        )
    positions = []
    for name in wanted:
        if isinstance(name, (bool, np.bool_)):
            raise ValueError(
                f"{parameter} must be names or positions of columns; got the boolean {name}."
            )
        position = position_of(names, name)
        if position is None:
            raise ValueError(
                f"{parameter} names {name!r}, which is not a column of X."
                f"{did_you_mean(name, names)} Expected names or positions among {names!r}."
            )
        positions.append(position)
    repeated = sorted({str(names[p]) for p in positions if positions.count(p) > 1})
    if repeated:
        raise ValueError(
            f"{parameter} names columns {repeated} more than once; name each one once."
        )
    if not positions:
        auto = ", or use 'auto'" if parameter == "sensitive_features" else ""
        raise ValueError(f"{parameter} is empty; name at least one column of X{auto}.")
    return positions


def by_position(names: list[Any], mapping: Mapping[Any, Any] | None, label: str) -> dict[int, Any]:
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping):
        raise TypeError(
            f"{label}= must be a dict from column to value; got {type(mapping).__name__}. Write "
            f"{label}={{name: ...}}."
        )
    found = {}
    for name, value in mapping.items():
        position = position_of(names, name)
        if position is None:
            raise ValueError(
                f"{label}= names {name!r}, which is not a column of X.{did_you_mean(name, names)} "
                f"Expected one of {names!r}."
            )
        found[position] = value
        if label == "bounds":
            check_bounds(name, value)
    return found


def check_sensitive(columns: list[Column], positions: list[int], n_rows: int) -> None:
    if len(positions) == len(columns):
        raise ValueError(
            f"Every column is sensitive (n_features={len(columns)}); twins must have at least one "
            "attribute in common. Name fewer columns in sensitive_features."
        )
    for position in positions:
        column = columns[position]
        if column.looks_like is not None:
            raise ValueError(
                f"Sensitive column {column.name!r} has {column.n_values:.0f} different values in "
                f"{n_rows} rows, like an identifier or a text: nobody shares a value with anybody, "
                "so there are no groups. Name a column that people have in common, or give "
                "the values to compare by InputSpace(categories=...), of numbers by "
                "InputSpace(bounds=...)."
            )
        if column.n_values < 2:
            raise ValueError(
                f"Sensitive column {column.name!r} has one value only in X (n_samples={n_rows}); "
                "two twins cannot differ in it. Give rows with other values, or name some by "
                "InputSpace(bounds=...) or InputSpace(categories=...)."
            )
