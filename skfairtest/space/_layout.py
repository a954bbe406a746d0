"""Layout: how attributes are stored in the columns of a table, and their encoded values.

As a rule an attribute is a column and its encoded values are those of the column. A one-hot group
is several columns, and a column of numbers with a resolution has encoded values that count its
steps.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._column_names import resolve_columns
from skfairtest.space._columns import Column
from skfairtest.space._containers import Container
from skfairtest.space._one_hot import Group


class Layout:
    """The columns of a table as attributes.

    Attributes
    ----------
    container : Container
        The kind of table.
    fields : list of Column
        The columns of the table, each with encoded values of its own, as the container builds them.
    columns : list of Column
        The attributes.
    places : list of list of int
        The columns of the table that each attribute is made of.
    groups : list of Group or None
        The one-hot group that an attribute is.
    is_plain : bool
        Whether attributes are columns, and their encoded values those of the columns.
    """

    def __init__(
        self,
        container: Container,
        fields: list[Column],
        columns: list[Column],
        places: list[list[int]],
        groups: Sequence[Group | None],
    ) -> None:
        self.container = container
        self.fields = fields
        self.columns = columns
        self.places = places
        self.groups = list(groups)
        self._fractions = self._vectorised()
        self.is_plain = all(
            column is field for column, field in zip(columns, fields, strict=False)
        ) and len(columns) == len(fields)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "plain"}

    def with_columns(self, columns: list[Column]) -> Layout:
        """Return the same layout with other columns as attributes."""
        other = copy.copy(self)
        other.__dict__.pop("plain", None)
        other.columns = columns
        other._fractions = other._vectorised()
        return other

    @property
    def one_hot(self) -> dict[Any, list[Any]]:
        """The columns of each one-hot group, by the name of the group."""
        return {group.name: list(group.members) for group in self.groups if group is not None}

    def places_of(self, attributes: Iterable[Any]) -> list[int]:
        """Positions in the table of the columns of some attributes."""
        return [place for j in attributes for place in self.places[j]]

    def attribute_of(self, place: int) -> int:
        """Return the attribute that a column of the table belongs to."""
        return next(j for j, places in enumerate(self.places) if place in places)

    def resolve(self, wanted: Any, parameter: str = "sensitive_features") -> list[int]:
        """Positions of the named attributes, in the order in which they are named.

        A column of a one-hot group means the group; several columns of it mean it once. Numbers are
        positions in the table. Errors name the `parameter`.
        """
        names = [column.name for column in self.columns]
        if isinstance(wanted, (str, int, np.integer)):
            wanted = [wanted]
        if not self.one_hot or not isinstance(wanted, Iterable):
            return resolve_columns(names, wanted, parameter)
        asked, members = [], []
        for name in wanted:
            if not isinstance(name, (bool, np.bool_)) and name in names:
                asked.append(name)
                continue
            place = resolve_columns(self.container.names, [name], parameter)[0]
            j = self.attribute_of(place)
            if self.groups[j] is None:
                asked.append(names[j])
            elif place in members:
                resolve_columns(self.container.names, [name, name], parameter)  # says what is wrong
            else:
                members.append(place)
                if names[j] not in asked:
                    asked.append(names[j])
        unique = list(dict.fromkeys(asked)) if members else asked
        return resolve_columns(names, unique, parameter)

    def rounds_to(self, attribute: int) -> str | None:
        """Name of the NumPy dtype that values of an attribute are rounded to, or None."""
        return self.container.rounds_to(self.places[attribute][0])

    @property
    def has_single(self) -> bool:
        """Whether some column of the table holds numbers of single precision."""
        return any(self.container.rounds_to(j) == "float32" for j in range(len(self.fields)))

    def check_holds(self, attribute: int, low: Floats) -> None:
        """Check that the table can store the values that the user gave for an attribute."""
        column = self.columns[attribute]
        encoded = column.given_encoded()
        Z = np.tile(low, (len(encoded), 1))
        Z[:, attribute] = encoded
        try:
            back = self.encode_attribute(self.decode(Z), attribute)
            held = np.allclose(back, encoded, rtol=1e-6, atol=0, equal_nan=True)
        except Exception:  # each kind of table has its own way of refusing a value
            held = False
        if not held:
            raise ValueError(
                f"Column {column.name!r} of dtype "
                f"{self.container.dtype_name(self.places[attribute][0])} cannot hold the values "
                "that bounds= or categories= of the InputSpace give: "
                f"{list(column.take(encoded))!r}. Convert the column to a wider dtype first."
            )

    # Tables and encoded rows ----------------------------------------------------------------

    def encode(self, X: Any) -> Floats:
        """Encode a table; see `Column.encode`."""
        X = self.container.check_names(X)
        return self.encode_values(self.container.all_values(X))

    def encode_values(self, values: list[Any]) -> Floats:
        """Encode a table that is given by the values of its columns."""
        # Column by column: what is worked out of a million rows is of one column at a time.
        encoded = np.empty((len(values[0]), len(self.columns)), order="F")
        for j, places in enumerate(self.places):
            encoded[:, j] = self.encode_columns(j, [values[place] for place in places])
        return encoded

    @cached_property
    def plain(self) -> Layout:
        """The same layout with numbers encoded as themselves: any rows, to the last bit."""
        return self.with_columns(
            [
                column.field() if group is None else column
                for column, group in zip(self.columns, self.groups, strict=True)
            ]
        )

    def as_in_fit(self, X: Any) -> Any:
        """Return a table with the columns of `fit`, in their order and dtypes; values stay.

        Raises
        ------
        ValueError, TypeError
            If columns are missing, or values do not go into a dtype of `fit`.
        """
        container = self.container
        X = container.check_names(X)
        others = {}
        for j in container.other_dtypes(X):
            field = self.fields[j]
            others[j] = container.column(j, field, field.encode(container.column_values(X, j)))
        return container.with_columns(X, others)

    def encode_attribute(self, X: Any, attribute: int) -> Floats:
        """Encode one attribute of a table that `check_names` has put in order."""
        return self.encode_columns(
            attribute,
            [self.container.column_values(X, place) for place in self.places[attribute]],
        )

    def encode_columns(self, attribute: int, values: list[Any]) -> Floats:
        """Encode one attribute from the values of its columns."""
        group = self.groups[attribute]
        if group is None:
            return self.columns[attribute].encode(values[0])
        encoded, missing = group.encode(values), self.columns[attribute].missing
        return encoded if missing is None else np.where(np.isnan(encoded), missing, encoded)

    def spread_group(self, attribute: int, encoded: Floats) -> Floats:
        """Return the columns of a one-hot group at some encoded values, shape (n, n_columns)."""
        group, missing = self.groups[attribute], self.columns[attribute].missing
        assert group is not None
        return group.spread(
            encoded if missing is None else np.where(encoded == missing, np.nan, encoded)
        )

    def decode(self, Z: Floats) -> Any:
        """Return the decoded table."""
        return self.container.build(self.spread(Z), self.fields)

    def spread(self, Z: Floats) -> Floats:
        """Return the encoded values of the table's own columns, shape (n, n_columns)."""
        if self.is_plain:
            return Z
        quick, places, (step, offset, divisor), others = self._fractions
        if quick:  # all in one go: a table may have a hundred
            # Columns that follow each other are taken as they lie, which takes half of the time.
            numbers = Z[:, _as_slice(quick)] * step
            numbers += offset
            numbers /= divisor
            if places == list(range(len(self.fields))):
                return numbers
        V = np.empty((len(Z), len(self.fields)))
        if quick:
            V[:, _as_slice(places)] = numbers
        for j in others:
            own = self.places[j]
            if self.groups[j] is not None:
                V[:, own] = self.spread_group(j, Z[:, j])
            else:
                V[:, own[0]] = self.columns[j].to_field(Z[:, j])
        return V

    def _vectorised(self) -> tuple[list[int], list[int], Floats, list[int]]:
        """Find the attributes that are decoded by arithmetic, with their columns and numbers."""
        found = {
            j: fraction
            for j, column in enumerate(self.columns)
            if self.groups[j] is None and (fraction := column.fraction()) is not None
        }
        numbers = np.array(list(found.values()), dtype=np.float64).reshape(-1, 3).T
        others = [j for j in range(len(self.columns)) if j not in found]
        return list(found), [self.places[j][0] for j in found], numbers, others

    # Numbers of the table -------------------------------------------------------------------

    def numbers(self, attributes: Any, encoded: Floats) -> Floats:
        """Return the numbers in a table of numbers for encoded attributes, shape (n,).

        None of the attributes is a one-hot group.
        """
        numbers = np.array(encoded, dtype=np.float64)
        for j in np.unique(attributes):
            own = attributes == j
            dtype = self.rounds_to(int(j))
            numbers[own] = self.columns[j].to_field(numbers[own])
            if dtype is not None:
                numbers[own] = numbers[own].astype(dtype)
        return numbers

    def pull_back(self, Z: Floats, G: Floats) -> Floats:
        """Convert derivatives by the table's columns to derivatives by encoded attributes.

        In a one-hot group it is the change to the next category, at the end from the one before.
        """
        if self.is_plain:
            return G
        g = np.zeros(Z.shape)
        for j, (places, group) in enumerate(zip(self.places, self.groups, strict=True)):
            if group is not None:
                # A last column of zeros stands for "none of them".
                own = np.column_stack([G[:, places], np.zeros(len(Z))])[:, group.order]
                here = np.nan_to_num(Z[:, j]).astype(np.intp)
                last = int(min(self.columns[j].high, self.columns[j].largest_code))
                first = np.minimum(here, max(last - 1, 0))
                rows = np.arange(len(Z))
                g[:, j] = own[rows, first + 1] - own[rows, first]
            else:
                g[:, j] = G[:, places[0]] * self.columns[j].slope(Z[:, j])
            # From a missing value nothing rises or falls.
            g[Z[:, j] > self.columns[j].largest_code, j] = 0.0
        return g


def _as_slice(places: list[int]) -> slice | list[int]:
    """Return places that follow each other as a slice, others as they are."""
    first, stop = places[0], places[-1] + 1
    return slice(first, stop) if places == list(range(first, stop)) else places
