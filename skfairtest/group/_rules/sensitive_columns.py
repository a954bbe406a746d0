"""Groups from sensitive attributes that are given beside predictions, in any container."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Ints
from skfairtest.finding._words import value_in_words
from skfairtest.group._rules.cells import Cells
from skfairtest.group._rules.sensitive_groups import cut_points, words_of_cuts
from skfairtest.space._containers import make_container
from skfairtest.space._dates import Dates
from skfairtest.space._sensitive_features import as_columns

#: Groups of an attribute beyond which it is taken for a mistake: a name or a number of a person.
MOST_GROUPS = 5_000
#: Between the attributes of an intersection, and between the values.
TIMES, COMMA = " × ", ", "


class Attribute(NamedTuple):
    """A sensitive attribute, or several at once.

    Attributes
    ----------
    name : str
        Its name; several are joined by a times sign.
    groups : list of str
        What its groups are called.
    codes : ndarray of int of shape (n_rows,)
        The number of each row's group, -1 where a sensitive value is missing.
    values : ndarray of int of shape (n_groups, n_attributes)
        The number of each group's value of each attribute.
    """

    name: str
    groups: list[str]
    codes: Ints
    values: Ints


def sensitive_attributes(
    given: Any, n_rows: int, intersections: Any, counts: Any = None
) -> list[Attribute]:
    """Each sensitive column as groups, and then the intersections.

    Parameters
    ----------
    given : Series, DataFrame, dict, array, list or list of arrays
        The sensitive columns.
    n_rows : int
        Rows that each must have.
    intersections : bool or list of tuples of names
        Which columns are crossed: of three or more each pair and all, none, or those named.
    counts : ndarray of int of shape (n_rows,), default=None
        How many rows of the data each stands for, where it is not one.
    """
    table = as_columns(given, n_rows)
    container = make_container(table)
    names = list(container.names)
    single = [
        _divide(
            name,
            container.column_values(table, j),
            container.level_order(j),
            counts,
            container.dates_of(j),
        )
        for j, name in enumerate(names)
    ]
    return single + [
        _cross([single[j] for j in chosen]) for chosen in _chosen(names, intersections)
    ]


def _divide(
    name: Any, values: Any, order: Any, counts: Any = None, dates: Dates | None = None
) -> Attribute:
    """The groups of one column."""
    told = value_in_words(name)
    missing = pd.isna(values)
    known = values[~missing]
    codes = np.full(len(values), -1, dtype=np.int64)
    of_known = None if counts is None else counts[~missing]
    cuts = cut_points(known, of_known) if known.dtype.kind == "f" else np.empty(0)
    if len(cuts):
        codes[~missing] = np.searchsorted(cuts, known)
        ends = cuts if dates is None else dates.objects(cuts)
        return _one(told, words_of_cuts(told, ends), codes)
    try:
        found, levels = pd.factorize(np.asarray(known))
    except TypeError as error:
        raise TypeError(
            f"sensitive_features: {told!r} must hold one plain value per row; got {known[0]!r}."
        ) from error
    different: NDArray[Any] = np.asarray(levels)
    _check_number(told, len(different))
    sorted_first = np.argsort(_order(different, order), kind="stable")
    place = np.empty(len(different), dtype=np.int64)
    place[sorted_first] = np.arange(len(different))
    codes[~missing] = place[found]
    different = different[sorted_first]
    return _one(told, _words(list(different if dates is None else dates.objects(different))), codes)


def _one(name: str, groups: list[str], codes: Ints) -> Attribute:
    """A column by itself, whose groups are its values."""
    return Attribute(name, groups, codes, np.arange(len(groups))[:, None])


def _order(different: Any, order: Any) -> Any:
    """Numbers by which values are sorted: their own order, else the alphabet's."""
    if order is not None:
        known = {value: place for place, value in enumerate(np.asarray(order).tolist())}
        return np.array([known.get(value, len(known)) for value in different.tolist()])
    keys = different
    if keys.dtype.kind == "O":
        keys = np.array([str(value) for value in keys])
    return np.argsort(np.argsort(keys, kind="stable"), kind="stable")


def _words(values: list[Any]) -> list[str]:
    """Values in words, told apart where two values would read alike."""
    words = [value_in_words(value) for value in values]
    if len(set(words)) < len(words):
        words = [
            repr(value) if words.count(word) > 1 else word
            for value, word in zip(values, words, strict=True)
        ]
    return words


def _chosen(names: list[Any], intersections: Any) -> list[tuple[int, ...]]:
    """Places of the columns that are crossed."""
    everything = range(len(names))
    if isinstance(intersections, (bool, np.bool_)):
        if not intersections or len(names) < 2:
            return []
        whole = [tuple(everything)] if len(names) > 2 else []
        return list(combinations(everything, 2)) + whole
    is_list = isinstance(intersections, (list, tuple))
    if not (is_list and all(_are_names(crossed, names) for crossed in intersections)):
        raise ValueError(
            "intersections must be True, False, or a list of tuples of two or more names of "
            f"sensitive columns, {names!r}; got {intersections!r}."
        )
    return [tuple(names.index(name) for name in crossed) for crossed in intersections]


def _are_names(crossed: Any, names: list[Any]) -> bool:
    return (
        isinstance(crossed, (list, tuple))
        and len(crossed) > 1
        and all(name in names and list(crossed).count(name) == 1 for name in crossed)
    )


def _cross(attributes: list[Attribute]) -> Attribute:
    """The groups of several attributes at once, those that occur."""
    name = TIMES.join(attribute.name for attribute in attributes)
    known = np.all([attribute.codes >= 0 for attribute in attributes], axis=0)
    codes = np.full(len(known), -1, dtype=np.int64)
    if not known.any():
        return Attribute(name, [], codes, np.empty((0, len(attributes)), dtype=np.int64))
    sizes = [len(attribute.groups) for attribute in attributes]
    cells = Cells([attribute.codes[known] for attribute in attributes], sizes)
    _check_number(name, len(cells.codes))
    # As in a table: the first attribute changes last.
    place = np.empty(len(cells.codes), dtype=np.int64)
    sorted_first = np.lexsort(cells.codes.T[::-1])
    place[sorted_first] = np.arange(len(place))
    codes[known] = place[cells.of_row]
    groups = [
        COMMA.join(attribute.groups[code] for attribute, code in zip(attributes, row, strict=True))
        for row in cells.codes[sorted_first].tolist()
    ]
    return Attribute(name, groups, codes, cells.codes[sorted_first])


def _check_number(name: str, n_groups: int) -> None:
    if n_groups > MOST_GROUPS:
        raise ValueError(
            f"{name!r} has {n_groups} different values; expected at most {MOST_GROUPS}, because "
            "groups of few rows show nothing. Leave the column out, merge values, or choose "
            "other intersections."
        )
