"""Columns whose values follow from a sensitive value, so that twins differ in them, too."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import users_level
from skfairtest.space._column_names import did_you_mean, position_of
from skfairtest.space._columns import Column
from skfairtest.space._layout import Layout

FORM = (
    "Write {sensitive column: {its value: {column: value}}}, such as "
    '{"sex": {"male": {"pregnancies": 0}}}, or a function of a table that returns it changed.'
)


class DescendantRule(NamedTuple):
    """If attribute `sensitive` is `of`, attribute `column` is `value`, both encoded."""

    sensitive: int
    of: float
    column: int
    value: float


def read_rules(
    given: Mapping[Any, Any],
    columns: list[Column],
    sensitive: list[int],
    one_hot: Mapping[Any, list[Any]],
) -> list[DescendantRule]:
    """Return the rules of a mapping, with encoded values.

    A one-hot group is named by itself, and its values by the names of its categories.

    Raises
    ------
    ValueError
        For unknown columns and values, conditions that are not sensitive, consequences that are,
        and values outside the domain.
    """
    rules = []
    names = [column.name for column in columns]
    for name, values in given.items():
        j = _position(name, names, one_hot)
        if j not in sensitive:
            raise ValueError(
                f"twins= says what follows from {name!r}, which is not sensitive; got sensitive "
                f"columns {[names[k] for k in sensitive]!r}. Name it in sensitive_features, or tie "
                "the two columns by InputSpace(constraint=...)."
            )
        if not isinstance(values, Mapping):
            raise ValueError(f"twins={{{name!r}: ...}} must be a mapping; got {values!r}. {FORM}")
        for value, descendants in values.items():
            if not isinstance(descendants, Mapping):
                raise ValueError(
                    f"twins={{{name!r}: {{{value!r}: ...}}}} must be a mapping from column to "
                    f"value; got {descendants!r}. {FORM}"
                )
            of = _encoded(columns[j], value)
            for other, wanted in descendants.items():
                k = _position(other, names, one_hot)
                if k in sensitive:
                    raise ValueError(
                        f"twins= changes {other!r}, which is sensitive itself. Twins have every "
                        "combination of sensitive values; exclude some of them by "
                        "InputSpace(constraint=...)."
                    )
                rules.append(DescendantRule(j, of, k, _encoded(columns[k], wanted)))
    return rules


def _position(name: Any, names: list[Any], one_hot: Mapping[Any, list[Any]]) -> int:
    for group, members in one_hot.items():
        if name in members and name not in names:
            raise ValueError(
                f"twins= names {name!r}, a column of the one-hot group {group!r}. Name the group, "
                "and one of its categories as the value: space_.describe() shows them."
            )
    position = position_of(names, name)
    if position is not None:
        return position
    raise ValueError(
        f"twins= names {name!r}, which is not a column of X.{did_you_mean(name, names)} Expected "
        f"one of {names!r}."
    )


def _encoded(column: Column, value: Any) -> float:
    """Encode a value of the domain."""
    try:
        encoded = float(column.encode(np.array([value], dtype=object))[0])
    except ValueError as error:
        raise ValueError(f"twins= needs a value of the domain: {error}") from error
    if not column.low <= encoded <= column.high or (
        column.discrete and encoded != np.rint(encoded)
    ):
        raise ValueError(
            f"twins= names the value {value!r} of column {column.name!r}, which is outside its "
            "domain. Take a value of the domain, or widen the domain by InputSpace(bounds=...) or "
            "InputSpace(categories=...)."
        )
    return encoded


def apply_rules(Z: Floats, rules: list[DescendantRule]) -> Floats:
    """Set, in place, the values that follow from the sensitive values of encoded rows."""
    for rule in rules:
        Z[Z[:, rule.sensitive] == rule.of, rule.column] = rule.value
    return Z


def apply_function(
    Z: Floats, function: Callable[[Any], Any], layout: Layout, sensitive: Ints
) -> Floats:
    """Set the values that follow from sensitive values by a function of tables."""
    table = layout.decode(Z)
    # Encoded values that went through a table and back may differ in what the table does not hold.
    before = layout.encode(table)
    changed = layout.encode(follow(table, function, layout, sensitive))
    moved = (changed != before) & ~(np.isnan(changed) & np.isnan(before))
    return np.where(moved, changed, Z)


def follow(table: Any, function: Callable[[Any], Any], layout: Layout, sensitive: Ints) -> Any:
    """Return a table with the values that a function of it says follow from sensitive values.

    Raises
    ------
    ValueError
        If the function returns another kind of table, or changes a sensitive column.
    """
    before = [layout.plain.encode_attribute(table, j) for j in sensitive]
    n = len(table)
    # Some functions change the table that they get.
    after = function(table.copy() if isinstance(table, (np.ndarray, pd.DataFrame)) else table)
    try:
        after = layout.as_in_fit(after)
        encoded = layout.plain.encode(after)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The function in twins= must return a table like the one that it gets: {error}"
        ) from error
    if len(encoded) != n:
        raise ValueError(
            f"The function in twins= must return a row for each row: expected {n} rows, got "
            f"{len(encoded)}."
        )
    names = [
        layout.columns[j].name
        for j, own in zip(sensitive, before, strict=True)
        if not np.array_equal(encoded[:, j], own, equal_nan=True)
    ]
    if names:
        raise ValueError(
            f"The function in twins= changed the sensitive columns {names!r}. Let it change only "
            "columns whose values follow from theirs."
        )
    return after


def warn_of_data(data: Floats, followed: Floats) -> None:
    """Warn of rows of the data that differ from what `twins=` says of them."""
    other = ((followed != data) & ~np.isnan(data)).any(axis=1)
    if other.any():
        warnings.warn(
            f"twins= does not hold in {int(other.sum())} of {len(other)} rows of the data "
            f"(such as rows {np.flatnonzero(other)[:5].tolist()}); they are audited as if it did. "
            "Correct these rows, or what twins= says of their sensitive values.",
            UserWarning,
            stacklevel=users_level(),
        )
