"""Who is moved where: the people whose groups are large enough for a map between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfairtest._typing import Ints
from skfairtest.individual._flip_test.groups import shown_values
from skfairtest.space._space import InputSpace
from skfairtest.transports._base import numbered


class MovedSettings(NamedTuple):
    """Who is moved, wherever a share of moved people is shown, and how often for its interval.

    `FlipTestAuditor` moves all rows of the groups that it is given, and warns of those too small
    for anybody to judge the map.

    Attributes
    ----------
    least_of_group : int
        Rows of a group without which a map between groups says nothing.
    most_groups : int
        Groups at most; of more, those with the most rows.
    most_rows : int
        Rows that are moved at most: enough for shares within a point or two.
    n_again : int
        Maps that are learned again for intervals: of rows drawn again, and of random groups.
    """

    least_of_group: int = 50
    most_groups: int = 4
    most_rows: int = 4_000
    n_again: int = 10


SETTINGS = MovedSettings()


def sensitive_values(space: InputSpace, not_in_model: pd.DataFrame | None) -> pd.DataFrame:
    """Return the values of the sensitive attributes of a space's rows, and those outside of it."""
    values = {}
    for j in np.asarray(space.sensitive, dtype=np.intp).tolist():
        column = space.layout.columns[j]
        values[column.name] = pd.Series(shown_values(column, space.data[:, j])).infer_objects()
    for name, given in () if not_in_model is None else not_in_model.items():
        values[name] = given.reset_index(drop=True)
    return pd.DataFrame(values)


def joined_values(values: pd.DataFrame) -> pd.Series:
    """Return what people of one group have in common: a value of each attribute, or none."""
    if values.shape[1] == 1:
        return values.iloc[:, 0]
    joined = values.astype(str).agg(", ".join, axis=1).astype(object)
    return joined.where(values.notna().all(axis=1), None)


def no_groups(values: pd.Series, name: Any) -> str:
    """Why an attribute has no groups that people can be moved between; empty where it has."""
    n = values.nunique()
    if n < 2:
        return f"all people have the same {name}, so there is no group to move them to"
    # Numbers with a few values are groups, those with more are not.
    if n > 10 and pd.api.types.is_numeric_dtype(values):
        return (
            f"{name} is a number with {n:,} values and has no groups; give groups as values, such "
            f"as sensitive_features=X[{name!r}] >= {values.median():g}"
        )
    if not len(large_groups(values, np.arange(len(values)))[0]):
        least = SETTINGS.least_of_group
        return f"a map needs two groups of {least} rows or more, which {name} does not have"
    return ""


def large_groups(values: pd.Series, rows: Ints) -> tuple[Ints, list[str]]:
    """Of some rows those that are moved, and the groups that are not.

    There are none where fewer than two groups are large enough.
    """
    own = values.iloc[rows]
    present = np.flatnonzero(own.notna().to_numpy())
    labels, codes = numbered(own.iloc[present].to_numpy(dtype=object))
    counts = np.bincount(codes, minlength=len(labels))
    by_size = np.argsort(-counts, kind="stable")
    large = by_size[counts[by_size] >= SETTINGS.least_of_group][: SETTINGS.most_groups]
    inside = present[np.isin(codes, large)] if len(large) > 1 else present[:0]
    return rows[inside], [str(labels[g]) for g in by_size if g not in large]


def in_proportion(values: pd.Series, order: Ints) -> Ints:
    """An order of the same rows, of which the first ones have each group as often as all do."""
    groups = values.iloc[order]
    grouped = groups.groupby(groups, dropna=False, observed=True)
    place = (grouped.cumcount() + 0.5) / grouped.transform("size")
    return order[np.argsort(place.to_numpy(), kind="stable")]


def n_wanted(values: pd.Series, most_rows: int) -> int:
    """How many rows of a random order are enough: more of them where the second group is rare."""
    second = values.value_counts().iloc[1]
    return int(max(most_rows, SETTINGS.least_of_group * len(values) / second + 1))
