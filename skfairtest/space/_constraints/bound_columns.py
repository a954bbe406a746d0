"""The columns of a table as constraints see them: names, values and codes, with one wording."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats
from skfairtest.exceptions import ConstraintWarning, users_level
from skfairtest.space._column_names import position_of
from skfairtest.space._columns import Column
from skfairtest.space._constraints.rules import OpaqueRule, Rule
from skfairtest.space._containers import make_container
from skfairtest.space._layout import Layout
from skfairtest.space._learn_layout import learn_layout
from skfairtest.space._resolution import Listed, Scale


class MemberOfGroup(LookupError):
    """A constraint names a column of a one-hot group, which has no codes of its own."""


class WithMissing(Scale):
    """The numbers of a column that may be missing; NaN by the codes that mean it."""

    def __init__(self, column: Column) -> None:
        super().__init__()
        self.column, self.top = column, column.top

    def values(self, codes: Floats) -> Floats:
        """Values of the codes."""
        return np.asarray(self.column.take(codes))

    def place(self, values: Floats) -> Floats:
        """Codes of numbers, roughly."""
        scale = self.column.scale
        return values if scale is None else scale.place(values)

    def slope(self, codes: Floats) -> Floats:
        """Change of the number from one code to the next."""
        scale = self.column.scale
        return np.ones(len(codes)) if scale is None else scale.slope(codes)


class BoundColumns:
    """What constraints need to know of a table: its attributes, by name.

    Parameters
    ----------
    layout : Layout
        The attributes, and the columns of the table that they are.
    data : ndarray of shape (n_rows, n_features)
        Codes of the table.
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
        """Those of a table by itself, each column an attribute."""
        layout, values = learn_layout(X, make_container(X), None, None, None, None)
        return cls(layout, np.column_stack([layout.codes(j, [v]) for j, v in enumerate(values)]))

    def apart(self) -> BoundColumns:
        """The table with the columns of one-hot groups one by one."""
        layout, fields = self.layout, self.layout.fields
        places = [[j] for j in range(len(fields))]
        plain = Layout(layout.container, fields, fields, places, [None] * len(fields))
        return BoundColumns(plain, layout.spread(self.data), self._warns)

    def opaque(self, constraint: Any) -> Rule:
        """The rule of a callable."""

        def verdict(Z: Floats) -> Bools:
            verdict = np.asarray(constraint(self.layout.decode(Z)))
            if verdict.shape != (len(Z),) or verdict.dtype.kind not in "bO":
                raise ValueError(
                    f"constraint= must return one boolean a row, shape ({len(Z)},); got "
                    f"{verdict.dtype} of shape {verdict.shape}."
                )
            return verdict.astype(bool)

        return OpaqueRule(verdict)

    def position(self, name: Any, owner: Any) -> int:
        """Where a column stands, by its name or position."""
        if not isinstance(name, (bool, np.bool_)):
            if name in self.names:
                return self.names.index(name)
            place = position_of(list(self.layout.container.names), name)
            if place is not None:
                j = self.layout.attribute_of(place)
                if self.layout.groups[j] is not None:
                    raise MemberOfGroup(name)
                return j
        raise ValueError(
            f"{owner!r} names {name!r}, which is not a column of X. Expected names or positions "
            f"among {self.names!r}."
        )

    def numbers(self, j: int, owner: Any) -> Floats | Scale | None:
        """The numbers that a column's codes stand for; None where they are the codes."""
        if self.columns[j].dates is not None:
            raise ValueError(
                f"{owner!r} needs numbers, but column {self.names[j]!r} holds dates. Use Order to "
                "compare two columns of dates, and Is for a range or a list of them."
            )
        return self._numbers(j, owner)

    def _numbers(self, j: int, owner: Any) -> Floats | Scale | None:
        """The same, of dates too."""
        column, levels = self.columns[j], self.columns[j].levels
        if isinstance(column.scale, Listed):
            values = column.scale.values(np.arange(column.n_values))
            if column.missing is not None:
                values[int(column.missing)] = np.nan
            return values
        if levels is None:
            return column.scale if column.missing is None else WithMissing(column)
        gone = np.asarray(pd.isna(levels), dtype=bool)
        if not all(isinstance(level, (int, float, np.number, np.bool_)) for level in levels[~gone]):
            shown = ", ".join(repr(level) for level in levels[:3])
            raise ValueError(
                f"{owner!r} needs numbers, but column {self.names[j]!r} has values such as {shown}."
                " Use Is, Implies or Allowed for categories; Order takes them where their dtype is "
                "ordered."
            )
        values = np.full(len(levels), np.nan)
        values[~gone] = levels[~gone].astype(np.float64)
        return values

    def _ranks(self, j: int) -> tuple[NDArray[Any], Floats] | None:
        """The order of a column of ordered categories, and the rank of each code."""
        levels = self.columns[j].levels
        order = self.layout.container.ordered_levels(self.layout.places[j][0])
        if order is None or levels is None:
            return None
        ranks = pd.Index(order).get_indexer(levels).astype(np.float64)
        return order, np.where(ranks < 0, np.nan, ranks)

    def comparable(
        self, i: int, j: int, owner: Any, offset: float
    ) -> tuple[Floats | Scale | None, Floats | Scale | None]:
        """The numbers of two columns, or ranks where both have the same ordered ones."""
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
    ) -> tuple[Floats | Scale | None, Floats | Scale | None]:
        """The numbers of two columns of dates."""
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
    ) -> tuple[Floats | Scale | None, tuple[float | None, float | None]]:
        """Numbers or ranks of a column, and the ends of a range among them."""
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

    def known_codes(self, j: int, values: Any) -> tuple[Floats, Bools]:
        """Codes of values, and which of them the column knows; NaN for a missing value."""
        column = self.columns[j]
        listed = np.empty(len(values), dtype=object)
        listed[:] = list(values)
        gone = np.asarray(pd.isna(listed), dtype=bool)
        codes = np.full(len(listed), np.nan if column.missing is None else float(column.missing))
        if column.levels is None or column.scale is not None:
            if column.dates is not None:
                listed = column.dates.numbers(column.name, listed)
            known = gone | np.array([isinstance(v, (int, float, np.number)) for v in listed])
            some = known & ~gone
            numbers = listed[some].astype(np.float64)
            dtype = self.layout.rounds_to(j)
            # What the table holds of 0.1 in a column of single precision is another number.
            held = numbers if dtype is None else numbers.astype(dtype).astype(np.float64)
            codes[some] = column.encode(held)
            return codes, known
        found = pd.Index(column.levels).get_indexer(pd.Index(listed[~gone], dtype=object))
        codes[~gone] = found
        known = gone.copy()
        known[~gone] = found >= 0
        return codes, known

    def codes(self, j: int, values: list[Any], owner: Any) -> Floats:
        """Codes of the values that a column knows; a warning names the others."""
        if not values:
            raise ValueError(f"{owner!r} lists no value. Name one at least.")
        codes, known = self.known_codes(j, values)
        if not known.all() and self._warns:
            column = self.columns[j]
            strange = [value for value, is_known in zip(values, known, strict=True) if not is_known]
            what = (
                f"numeric, from {column.ends[0]:g} to {column.ends[1]:g}"
                if column.levels is None
                else f"one of {list(column.levels)[:10]!r}"
            )
            warnings.warn(
                f"{owner!r} names {strange!r}, which do not occur in column {self.names[j]!r} of "
                f"X: it is {what}. Compare spelling and types, or add them with categories=.",
                ConstraintWarning,
                stacklevel=users_level(),
            )
        return codes[known]

    def zero_one(self, j: int, owner: Any) -> tuple[float, float]:
        """Codes of 0 and of 1; NaN for one that the column does not have."""
        column = self.columns[j]
        if column.levels is None:
            low, high = column.ends
            fits = column.kind == "integer" and low >= 0 and high <= 1 and column.scale is None
            pair = (0.0, 1.0)
        else:
            present = [level for level in column.levels if not pd.isna(level)]
            fits = all(level in (0, 1) for level in present)
            pair_codes, known = self.known_codes(j, [0, 1])
            if fits and not known.all() and any(isinstance(v, (bool, np.bool_)) for v in present):
                pair_codes, known = self.known_codes(j, [False, True])
            pair = tuple(np.where(known, pair_codes, -1.0).tolist())
        if not fits:
            raise ValueError(
                f"{owner!r}: column {self.names[j]!r} is not a column of 0 and 1: {column!r}. Use "
                "Allowed for columns of other values."
            )
        return float(pair[0]), float(pair[1])

    def combinations(self, positions: list[int]) -> dict[Any, list[Any]]:
        """The combinations of some columns that occur in the data, as lists of values."""
        rows = pd.DataFrame(self.data[:, positions]).drop_duplicates().to_numpy()
        found = {}
        for place, j in enumerate(positions):
            column = self.columns[j]
            values = column.take(rows[:, place])
            found[self.names[j]] = [None if pd.isna(v) else v for v in values.tolist()]
        return found
