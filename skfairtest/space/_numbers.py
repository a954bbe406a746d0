"""Columns of numbers whose encoded values are the numbers themselves, except for missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats
from skfairtest.space._columns import MISSING_SHARE, Column
from skfairtest.space._facts import ColumnFacts, shown
from skfairtest.space._resolution import moved_by


class Numbers(Column):
    """Column of numbers; subclasses define its encoded values by `_encode` and `_values`."""

    is_open = True

    def __repr__(self) -> str:
        if self.dates is not None:
            return super().__repr__()
        return (
            f"Column({self.name!r}, {self.kind}, [{self.low:g}, {self.high:g}], step {self.step:g})"
        )

    def _encode(self, numbers: Floats) -> Floats:
        """Encode numbers, NaN for NaN."""
        return numbers

    def _values(self, encoded: Floats) -> Floats:
        """Return the decoded numbers, NaN for NaN."""
        return encoded

    def encode(self, values: NDArray[Any]) -> Floats:
        """Encode the numbers; missing becomes NaN if the domain does not have it."""
        encoded = self._encode(self._as_floats(values))
        return encoded if self.missing is None else self._with_missing(encoded)

    def take(self, encoded: Floats) -> NDArray[Any]:
        """Return the numbers."""
        return self._values(encoded if self.missing is None else self._without_missing(encoded))

    def _as_floats(self, values: NDArray[Any]) -> Floats:
        if self.dates is not None and values.dtype.kind == "O":  # as people write them
            values = self.dates.numbers(self.name, values)
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Column {self.name!r} is numeric; got {shown(values)}. "
                "Give numbers, or list its values in InputSpace(categories=...)."
            ) from error

    def let_missing(self) -> None:
        """Make missing a value of the domain, coded above all numbers."""
        self.largest_code = self.high
        self.high = self.missing = self.largest_code + 1

    # The encoded values that stand for missing have to be no number's: those of numbers beyond the
    # domain make room for them, by so many places as floats have there. That is exact both ways.

    @property
    def _last(self) -> float:
        """The last encoded value before those that mean missing."""
        assert self.missing is not None
        return float(np.nextafter(self.missing, -np.inf)) if self.discrete else self.largest_code

    def _with_missing(self, encoded: Floats) -> Floats:
        """Replace NaN by the encoded value of missing, if missing is a value of the column."""
        assert self.missing is not None
        gone, beyond = np.isnan(encoded), encoded > self._last
        if beyond.any():
            encoded = np.where(beyond, moved_by(encoded, self._last, self.missing), encoded)
        return np.where(gone, self.missing, encoded) if gone.any() else encoded

    def _without_missing(self, encoded: Floats) -> Floats:
        """Replace the encoded value of missing by NaN."""
        assert self.missing is not None
        beyond = encoded > self._last
        if not beyond.any():
            return encoded
        numbers = np.where(beyond, moved_by(encoded, self.missing, self._last), encoded)
        return np.where(beyond & (encoded <= self.missing), np.nan, numbers)

    def encode_number(self, number: float) -> float:
        """Encode a number of the domain; NaN where it is none."""
        encoded = float(self.encode(np.array([number]))[0])
        inside = self.low <= encoded <= min(self.high, self.largest_code)
        whole = not self.discrete or encoded == np.rint(encoded)
        return encoded if inside and whole else np.nan

    def unknown(self, values: NDArray[Any]) -> Bools:
        """Return which values are infinite; `encode` raises errors for other bad values."""
        if values.dtype.kind == "f":
            return np.isinf(values)
        return np.zeros(len(values), dtype=bool)

    # The table ------------------------------------------------------------------------------

    @property
    def is_plain(self) -> bool:
        """Whether encoded values are the numbers of the column themselves."""
        return self.missing is None

    def field(self) -> Column:
        """Return the column as the table holds it: encoded values are the numbers."""
        if self.is_plain:
            return self
        low, high = self.ends
        field = Integer(self.name, low, high) if self.whole else Real(self.name, low, high)
        field.dates = self.dates
        return field

    def to_field(self, encoded: Floats) -> Floats:
        """Return the decoded numbers."""
        return self.take(encoded)

    def write(self, container: Any, index: int, encoded: Floats) -> Any:
        """Return one column of a table."""
        return container.numbers_column(index, self, encoded)

    # Constraints ----------------------------------------------------------------------------

    def encode_known(self, values: NDArray[Any], dtype: str | None) -> tuple[Floats, Bools]:
        """Encode listed numbers, and return which are numbers."""
        gone = np.asarray(pd.isna(values), dtype=bool)
        encoded = np.full(len(values), np.nan if self.missing is None else self.missing)
        if self.dates is not None:
            values = self.dates.numbers(self.name, values)
        known = gone | np.array([isinstance(v, (int, float, np.number)) for v in values], bool)
        some = known & ~gone
        numbers = values[some].astype(np.float64)
        # What the table holds of 0.1 in a column of single precision is another number.
        held = numbers if dtype is None else numbers.astype(dtype).astype(np.float64)
        encoded[some] = self.encode(held)
        return encoded, known

    def domain_words(self) -> str:
        """Return the ends of the domain."""
        return f"numeric, from {self.ends[0]:g} to {self.ends[1]:g}"

    def for_rules(self, encoded: Floats) -> tuple[Column, Floats]:
        """Return the numbers."""
        return (self, encoded) if self.is_plain else (self.field(), self.take(encoded))


class Integer(Numbers):
    """Whole numbers, one by one; encoded values are the numbers."""

    kind = "integer"
    whole = True

    @classmethod
    def learn(cls, facts: ColumnFacts) -> Column | None:
        """Return a column of whole numbers that are in no steps."""
        if not facts.is_number or not facts.whole:
            return None
        return finished(cls(facts.name, *facts.ends), facts)

    @property
    def distance(self) -> float:
        """Distance of neighbouring values."""
        return 1.0


class Real(Numbers):
    """Any numbers between two; encoded values are the numbers.

    Missing has a part of the encoded values, beyond all numbers: uniform draws come upon it, and
    moves step in and out of it, as it is no single point.
    """

    kind = "real"
    discrete = False

    @classmethod
    def learn(cls, facts: ColumnFacts) -> Column | None:
        """Return a column of fractional numbers that are in no steps."""
        if not facts.is_number:
            return None
        low, high = facts.ends
        unit = 1.0 if high == low else (high - low) / 100
        return finished(cls(facts.name, low, high, unit), facts)

    def let_missing(self) -> None:
        """Make missing a value of the domain, coded above all numbers."""
        self.largest_code = self.high
        share = MISSING_SHARE / (1 - MISSING_SHARE)
        width = share * ((self.largest_code - self.low) or max(1.0, abs(self.largest_code)))
        ends = np.array([self.largest_code, self.largest_code + width])
        dtype = self.rounds_to
        if dtype is not None:
            with np.errstate(over="ignore"):
                ends = np.minimum(ends.astype(dtype), np.finfo(dtype).max).astype(np.float64)
        self.largest_code, self.high = float(ends[0]), float(ends[1])
        self.missing = self.high
        if not self.largest_code < self.high < np.inf:
            raise ValueError(
                f"Column {self.name!r} holds numbers up to {self.largest_code:g}, beyond which its "
                "dtype has none left to stand for a missing value. Convert it to a wider dtype."
            )

    @property
    def n_values(self) -> float:
        """Infinite, or the only value."""
        return np.inf if self.high > self.low else 1.0

    def grid(self) -> Floats:
        """Return the encoded values of the domain, one a step.

        Raises
        ------
        ValueError
            If the list would have more than a million encoded values.
        """
        high = min(self.high, self.largest_code)
        self.check_listable((high - self.low) / self.step + 1)
        n_steps = int(np.floor((high - self.low) / self.step + 1e-9))
        grid = self.low + self.step * np.arange(n_steps + 1)
        # The end of the domain belongs to it even where the steps do not reach it exactly.
        if high - grid[-1] > 1e-9 * max(1.0, abs(high)):
            grid = np.append(grid, high)
        grid[-1] = min(grid[-1], high)
        if self.missing is not None:
            grid = np.append(grid, self.missing)
        return np.asarray(grid, dtype=np.float64)


def finished(column: Numbers, facts: ColumnFacts) -> Numbers:
    """Return a column with what does not depend on its kind."""
    column.given = facts.bounds is not None
    column.looks_like = facts.looks_like
    if column.is_plain:
        column.rounds_to = facts.dtype
    if facts.summary.any_missing:
        column.let_missing()
    return column
