"""Columns of a table by name, with their values and encoded values, for constraints."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats
from skfairtest.exceptions import ConstraintWarning, users_level
from skfairtest.space._column_names import did_you_mean, position_of
from skfairtest.space._columns import Column
from skfairtest.space._constraints.rules import OpaqueRule, Rule
from skfairtest.space._layout import Layout
from skfairtest.space._learn import learn


class BoundColumns:
    """Attributes of a table by name, as constraints need them.

    Parameters
    ----------
    layout : Layout
        The attributes, and the columns of the table that they are.
    data : ndarray of shape (n_rows, n_features)
        Encoded values of the table.
    warns : bool, default=False
        Whether to warn of values that no column has.
    """

    def __init__(self, layout: Layout, data: Floats, warns: bool = False) -> None:
        self.layout, self.columns, self.data = layout, layout.columns, data
        self._warns = warns
        self.names = [column.name for column in self.columns]
        self.discrete = np.array([column.discrete for column in self.columns])
        self.single = np.array(
            [layout.rounds_to(j) is not None for j in range(len(self.columns))], dtype=bool
        )

    @classmethod
    def of(cls, X: Any) -> BoundColumns:
        """Make them from a table alone, with each column as an attribute."""
        layout, values, _ = learn(X, (None, None, None, None))
        return cls(layout, layout.encode_values(values))

    def opaque(self, constraint: Any) -> Rule:
        """Return the rule of a callable."""

        def verdict(Z: Floats) -> Bools:
            verdict = np.asarray(constraint(self.layout.decode(Z)))
            if verdict.shape != (len(Z),) or verdict.dtype.kind not in "bO":
                raise ValueError(
                    "The callable in constraint= must return one boolean for each row, an array "
                    f"of shape ({len(Z)},); got {verdict.dtype} of shape {verdict.shape}."
                )
            return verdict.astype(bool)

        return OpaqueRule(verdict)

    def position(self, name: Any, owner: Any) -> int:
        """Return the position of a column, given by its name or position."""
        if not isinstance(name, (bool, np.bool_)):
            if name in self.names:
                return self.names.index(name)
            place = position_of(list(self.layout.container.names), name)
            if place is not None:
                j = self.layout.attribute_of(place)
                if self.layout.groups[j] is not None:
                    group, values = self.names[j], self.columns[j].expected()
                    raise ValueError(
                        f"{owner!r} names {name!r}, which is a column of the one-hot group "
                        f"{group!r}. Expected the group, which is one attribute with the values "
                        f"{values!r}, as in Is({group!r}, ...). InputSpace(one_hot=None) leaves "
                        "the columns apart."
                    )
                return j
        raise ValueError(
            f"{owner!r} names {name!r}, which is not a column of X."
            f"{did_you_mean(name, self.names)} Expected names or positions among {self.names!r}."
        )

    def numbers(self, j: int, owner: Any) -> Floats | Column | None:
        """Return the numbers of a column's encoded values, or None if they are the numbers."""
        if self.columns[j].dates is not None:
            raise ValueError(
                f"{owner!r} needs numbers, but column {self.names[j]!r} holds dates. Use Order to "
                "compare two columns of dates, and Is for a range or a list of them."
            )
        return self._numbers(j, owner)

    def _numbers(self, j: int, owner: Any) -> Floats | Column | None:
        """Return the numbers of a column's encoded values, also for dates."""
        column = self.columns[j]
        if not column.is_numeric():
            shown = ", ".join(repr(level) for level in (column.expected() or [])[:3])
            raise ValueError(
                f"{owner!r} needs numbers, but column {self.names[j]!r} has values such as {shown}."
                " Use Is, Implies or Allowed for categories; Order takes them where their dtype is "
                "ordered."
            )
        values = column.listed_numbers()
        return values if values is not None or column.is_plain else column

    def _ranks(self, j: int) -> tuple[NDArray[Any], Floats] | None:
        """Return the order of a column of ordered categories, and each encoded value's rank."""
        order = self.layout.container.ordered_levels(self.layout.places[j][0])
        if order is None:
            return None
        ranks = self.columns[j].ranks(order)
        return None if ranks is None else (order, ranks)

    def comparable(
        self, i: int, j: int, owner: Any, offset: float
    ) -> tuple[Floats | Column | None, Floats | Column | None]:
        """Return the numbers of two columns, or ranks where both have the same ordered ones."""
        dates = self.columns[i].dates, self.columns[j].dates
        if dates != (None, None):
            return self._comparable_dates(i, j, owner, offset)
        one, two = self._ranks(i), self._ranks(j)
        if one is None and two is None:
            return self.numbers(i, owner), self.numbers(j, owner)
        if one is None or two is None or list(one[0]) != list(two[0]):
            raise ValueError(
                f"{owner!r} compares {self.names[i]!r} with {self.names[j]!r}, which are not "
                "ordered alike. Expected two columns of numbers, or two with the same ordered "
                "categories."
            )
        if offset:
            raise ValueError(
                f"{owner!r}: categories have an order, but no distance. Leave offset=0."
            )
        return one[1], two[1]

    def _comparable_dates(
        self, i: int, j: int, owner: Any, offset: float
    ) -> tuple[Floats | Column | None, Floats | Column | None]:
        """Return the numbers of two columns of dates."""
        one, two = self.columns[i].dates, self.columns[j].dates
        if one is None or not one.is_like(two):
            raise ValueError(
                f"{owner!r} compares {self.names[i]!r} ({one or 'no date'}) with "
                f"{self.names[j]!r} ({two or 'no date'}). Expected two columns of the same kind of "
                "dates, both with a time zone or both without."
            )
        if offset:
            raise ValueError(
                f"{owner!r}: dates are compared without an offset. Leave offset=0, or give a "
                "callable as the constraint."
            )
        return self._numbers(i, owner), self._numbers(j, owner)

    def range_of(
        self, j: int, ends: tuple[Any, Any], owner: Any
    ) -> tuple[Floats | Column | None, tuple[float | None, float | None]]:
        """Return the numbers or ranks of a column, and the ends of a range among them."""
        ranks = self._ranks(j)
        if ranks is not None:
            order = list(ranks[0])
            for end in ends:
                if end is not None and end not in order:
                    raise ValueError(
                        f"{owner!r}: {end!r} is not among the categories of {self.names[j]!r}, "
                        f"{order!r}."
                    )
            low, high = (None if end is None else float(order.index(end)) for end in ends)
            return ranks[1], (low, high)
        values, dates = self._numbers(j, owner), self.columns[j].dates
        if dates is not None:
            first, last = (
                None if end is None else dates.numbers(self.names[j], [end])[0] for end in ends
            )
            ends = first, last
        try:
            low, high = (None if end is None else float(end) for end in ends)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{owner!r}: the ends of a range must be numbers or None; got {ends!r}. Write a "
                "list for several values."
            ) from error
        if low is not None and high is not None and low > high:
            raise ValueError(f"{owner!r}: a range is (low, high) with low <= high; got {ends!r}.")
        return values, (low, high)

    def encode_known(self, j: int, values: Any) -> tuple[Floats, Bools]:
        """Encode values, and return which the column knows; NaN means missing."""
        listed = np.empty(len(values), dtype=object)
        listed[:] = list(values)
        return self.columns[j].encode_known(listed, self.layout.rounds_to(j))

    def encode_listed(self, j: int, values: list[Any], owner: Any) -> Floats:
        """Encode the values that a column knows; a warning names the others."""
        if not values:
            raise ValueError(f"{owner!r} lists no value. Name one at least.")
        encoded, known = self.encode_known(j, values)
        if not known.all() and self._warns:
            column = self.columns[j]
            strange = [value for value, is_known in zip(values, known, strict=True) if not is_known]
            warnings.warn(
                f"{owner!r} names {strange!r}, which do not occur in column {self.names[j]!r} of "
                f"X: it is {column.domain_words()}. Compare spelling and types, or add them by "
                "InputSpace(categories=...).",
                ConstraintWarning,
                stacklevel=users_level(),
            )
        return encoded[known]

    def combinations(self, positions: list[int]) -> dict[Any, list[Any]]:
        """Return the combinations of some columns that occur in the data, as lists of values."""
        rows = pd.DataFrame(self.data[:, positions]).drop_duplicates().to_numpy()
        found = {}
        for place, j in enumerate(positions):
            column = self.columns[j]
            values = column.take(rows[:, place])
            found[self.names[j]] = [None if pd.isna(v) else v for v in values.tolist()]
        return found
