"""Groups of rows by sensitive values: those of an attribute, and of several at once."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfairtest._typing import Ints
from skfairtest.finding._words import value_text
from skfairtest.group._rules.attribute import Attribute, Division, divide_column
from skfairtest.group._rules.cells import DistinctRows
from skfairtest.group._rules.tables import SpaceColumns, TableColumns
from skfairtest.space._containers import make_container
from skfairtest.space._sensitive_features import CONTROL, as_columns
from skfairtest.space._space import InputSpace

#: A rate of fewer rows is mostly chance, so it is marked, or left out where groups are compared.
FEWEST_ROWS = 30
#: Audits and searches list groups below this share of the rows, and do not compare them: the two
#: percent that New York's rule (6 RCNY 5-301) allows to leave out.
MIN_SHARE = 0.02
#: Numbers of more than six different values are cut at their quartiles. More than 5,000 groups are
#: taken for a mistake: a column of names, or of numbers of persons.
QUARTERS = Division(4, "quartiles", few=6, most=5_000, every=True)
#: Between the attributes of an intersection, and between the values.
TIMES, COMMA = " × ", ", "
#: What the rows with a missing value are called.
UNKNOWN = "(unknown)"


class Grouping(NamedTuple):
    """The groups that a sensitive attribute makes, or several at once.

    Attributes
    ----------
    name : str
        Its name; several are joined by a times sign.
    groups : list of str
        What its groups are called.
    codes : ndarray of int of shape (n_rows,)
        The number of each row's group, -1 where a sensitive value is missing.
    """

    name: str
    groups: list[str]
    codes: Ints


def sensitive_attributes(
    given: Any, n_rows: int, intersections: Any, counts: Any = None
) -> list[Grouping]:
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
    names, single = _divided(as_columns(given, n_rows), counts)
    return single + [
        _cross([single[j] for j in chosen]) for chosen in _chosen(names, intersections)
    ]


def control_strata(given: Any, n_rows: int, counts: Any = None) -> Grouping:
    """The strata that control features make: the combinations of their values that occur.

    A missing value is one as well, so that each row has a stratum. Parameters are those of
    `sensitive_attributes`.
    """
    _, single = _divided(as_columns(given, n_rows, None, "control feature", CONTROL), counts)
    for place, one in enumerate(single):
        gone = one.codes < 0
        if gone.any():
            codes = np.where(gone, len(one.groups), one.codes)
            single[place] = Grouping(one.name, [*one.groups, UNKNOWN], codes)
    return single[0] if len(single) == 1 else _cross(single)


def _divided(table: pd.DataFrame, counts: Any) -> tuple[list[Any], list[Grouping]]:
    """The names of the columns, and each as groups."""
    columns = TableColumns(make_container(table))
    single = []
    for j, name in enumerate(columns.names):
        column = columns.read(table, j)._replace(order=columns.container.level_order(j))
        attribute, numbers = divide_column(column, QUARTERS, counts)
        assert attribute is not None
        codes = np.where(numbers == attribute.missing, -1, numbers)
        groups = _group_names(attribute)
        single.append(Grouping(value_text(name), groups, codes.astype(np.int64)))
    return columns.names, single


def _group_names(attribute: Attribute) -> list[str]:
    """Names of groups, made different where two values would read alike."""
    n_known = attribute.n_values - (attribute.missing >= 0)
    if attribute.levels is None:
        return [attribute.text(condition) for condition in range(n_known)]
    values = list(attribute.levels[:n_known])
    if attribute.dates is not None:
        values = list(attribute.dates.objects(attribute.levels[:n_known]))
    words = [value_text(value) for value in values]
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


def _cross(attributes: list[Grouping]) -> Grouping:
    """The groups of several attributes at once, those that occur."""
    name = TIMES.join(attribute.name for attribute in attributes)
    known = np.all([attribute.codes >= 0 for attribute in attributes], axis=0)
    codes = np.full(len(known), -1, dtype=np.int64)
    if not known.any():
        return Grouping(name, [], codes)
    sizes = [len(attribute.groups) for attribute in attributes]
    cells = DistinctRows([attribute.codes[known] for attribute in attributes], sizes)
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
    return Grouping(name, groups, codes)


def _check_number(name: str, n_groups: int) -> None:
    if n_groups > QUARTERS.most:
        raise ValueError(
            f"{name!r} has {n_groups} different values; expected at most {QUARTERS.most}, because "
            "groups of few rows show nothing. Leave the column out, merge values, or choose "
            "other intersections."
        )


class SensitiveGroups:
    """Groups of rows by sensitive values, one for each combination of values.

    Parameters
    ----------
    space : InputSpace
        Its data say which values there are, and where the quartiles of numbers are.
    """

    def __init__(self, space: InputSpace) -> None:
        self.space = space
        self._columns = SpaceColumns(space)
        self.attributes: list[Attribute] = []
        for j in space.sensitive.tolist():
            attribute, _ = divide_column(self._columns.read(None, j), QUARTERS)
            assert attribute is not None
            self.attributes.append(attribute)

    def names(self, X: Any) -> Any:
        """Name of each row's group, an array of shape (n_rows,)."""
        X = self.space.layout.container.check_names(X)
        parts = []
        for attribute, j in zip(self.attributes, self.space.sensitive.tolist(), strict=True):
            numbers = attribute.numbers(self._columns.read(X, j).values)
            words = [attribute.text(condition) for condition in range(attribute.n_values)]
            other = f"{attribute.name} = another value"
            parts.append(np.array([*words, other], dtype=object)[numbers])
        return np.array([COMMA.join(row) for row in zip(*parts, strict=True)], dtype=object)
