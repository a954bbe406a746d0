"""Columns of numbers in steps, or of listed amounts; encoded values number them.

A number between two steps has an encoded value between two whole ones. By arithmetic alone not
every number has an encoded value that leads back to it, so `decode` gives it but for its last bits.
Rows of data are shown to a model as the table has them, and need no encoded values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._columns import Categorical, Column
from skfairtest.space._facts import ColumnFacts
from skfairtest.space._numbers import Numbers, finished
from skfairtest.space._resolution import EqualSteps, as_held, given_steps

#: Encoded values of numbers beyond the listed ones go on by less than one half: by the first share
#: up to one mean distance of listed numbers, then by the second for every doubling.
NEAR_SHARE, FAR_SHARE = 0.25, 0.249 / 1024


class Stepped(Numbers):
    """Column of numbers with consecutive whole encoded values; subclasses define `_work_out`.

    Attributes
    ----------
    dtype : str or None
        Name of the dtype that the table rounds numbers to.
    """

    def __init__(
        self, name: Any, low: float, high: float, step: float = 1.0, dtype: str | None = None
    ) -> None:
        super().__init__(name, low, high, step)
        self.dtype = dtype

    def _work_out(self, encoded: Floats) -> Floats:
        """Return the decoded values by arithmetic; nondecreasing."""
        raise NotImplementedError

    def _at(self, encoded: Floats) -> Floats:
        """Return these values as the table stores them."""
        return as_held(self._work_out(encoded), self.dtype)

    @property
    def is_plain(self) -> bool:
        """Encoded values are the numbers of steps."""
        return False

    def _values(self, encoded: Floats) -> Floats:
        return self._at(encoded)

    def _encode(self, numbers: Floats) -> Floats:
        places = self.place(numbers)
        encoded = np.rint(places)
        off = (self._at(encoded) != numbers) & ~np.isnan(numbers)
        if off.any():
            # What lies between two steps has no whole value, however near it is to one of them.
            near = off & (places == encoded)
            places[near] = np.nextafter(
                places[near], np.where(self._at(encoded[near]) < numbers[near], np.inf, -np.inf)
            )
            encoded[off] = places[off]
        return encoded

    def slope(self, encoded: Floats) -> Floats | float:
        """Change of the number from one encoded value to the next."""
        here = np.rint(encoded)
        return np.asarray(self._at(here + 1) - self._at(here))


class Grid(Stepped):
    """Numbers in steps of one length: fractions of whole numbers, or strides of any length."""

    def __init__(
        self, name: Any, low: float, high: float, steps: EqualSteps, *,
        whole: bool, step: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(name, low, high, step, steps.dtype)
        self.steps, self.whole = steps, whole
        self.kind = "integer" if whole else "real"

    @classmethod
    def learn(cls, facts: ColumnFacts) -> Column | None:
        """Return a column of numbers in steps, which the user gave or the data show."""
        if not facts.is_number:
            return None
        whole, (low, high) = facts.whole, facts.ends.tolist()
        steps: EqualSteps | None
        if facts.step is not None:
            steps = given_steps(low, high, float(facts.step), facts.dtype)
        else:
            steps = facts.learned_grid
        if steps is None:
            return None
        first, last = steps.encoded_ends(low, high)
        # One step as long as those of a real column, if the data have finer ones.
        long = facts.step is None and not whole
        unit = max(1.0, float(np.rint((last - first) / 100))) if long else 1.0
        return finished(cls(facts.name, first, last, steps, whole=whole, step=unit), facts)

    def _work_out(self, encoded: Floats) -> Floats:
        return self.steps.work_out(encoded)

    def place(self, numbers: Floats) -> Floats:
        """Encode numbers, not whole where they are between two steps."""
        return self.steps.place(numbers)

    def fraction(self) -> tuple[float, float, float] | None:
        """Return step, offset and divisor if values are decoded by that arithmetic alone."""
        if self.missing is not None:
            return None
        return self.steps.fraction()

    @property
    def distance(self) -> float:
        """Distance of neighbouring values."""
        return self.steps.distance


class Amounts(Stepped):
    """Column of the amounts that occur and no others: sums of money, few numbers, dates."""

    def __init__(
        self, name: Any, listed: Floats, *, kind: str = "real", dtype: str | None = None
    ) -> None:
        super().__init__(name, 0, len(listed) - 1, 1.0, dtype)
        self.listed = listed
        self.kind = kind
        self.whole, self.is_category = kind == "integer", kind == "categorical"

    @classmethod
    def learn(cls, facts: ColumnFacts) -> Column | None:
        """Return a column of dates, few fractions, numbers of rows, or amounts that repeat."""
        if facts.dates is not None:
            # Others in later data are no error: they lie between these.
            listed, any_missing = facts.listed_dates
            if not len(listed):
                return None
            column = cls(facts.name, listed, kind="integer")
            column.given, column.dates = facts.categories is not None, facts.dates
            if any_missing:
                column.let_missing()
            return column
        if not facts.is_number:
            return None
        if facts.is_few:
            kind = "categorical"
        elif facts.knows_amounts or facts.looks_like is not None:
            kind = "integer" if facts.whole else "real"
        else:
            return None
        return finished(
            cls(facts.name, facts.summary.distinct, kind=kind, dtype=facts.dtype), facts
        )

    def __repr__(self) -> str:
        return super().__repr__() if not self.is_category else Column.__repr__(self)

    @property
    def _spread(self) -> float:
        width = float(self.listed[-1] - self.listed[0])
        return width / (len(self.listed) - 1) if width > 0 else 1.0

    def _work_out(self, encoded: Floats) -> Floats:
        last = len(self.listed) - 1
        inside = np.clip(np.where(np.isnan(encoded), 0, encoded), 0, last)
        below = np.minimum(np.floor(inside), max(last - 1, 0)).astype(np.intp)
        above = np.minimum(below + 1, last)
        share = inside - below
        low, high = self.listed[below], self.listed[above]
        values = np.where(share == 1, high, low + share * (high - low))
        beyond = encoded - inside
        if not beyond.any():
            return np.asarray(values)
        return np.asarray(values + self._spread * _unsqueezed(beyond))

    def place(self, numbers: Floats) -> Floats:
        """Encode numbers, not whole where they are between two amounts or beyond all."""
        inside = np.clip(numbers, self.listed[0], self.listed[-1])
        places = np.interp(inside, self.listed, np.arange(float(len(self.listed))))
        beyond = numbers - inside
        if not beyond.any():
            return np.asarray(places)
        return np.asarray(places + _squeezed(beyond / self._spread))

    @property
    def n_listed(self) -> int | None:
        """How many amounts there are, a missing one among them."""
        return len(self.listed) + (self.missing is not None)

    def listed_numbers(self) -> Floats | None:
        """Return the amounts."""
        values = self._values(np.arange(float(self.n_listed or 0)))
        if self.missing is not None:
            values[int(self.missing)] = np.nan
        return values

    def encode_number(self, number: float) -> float:
        """Encode a number; NaN where it is none of a column that counts steps."""
        return np.nan if self.is_category else super().encode_number(number)

    def for_rules(self, encoded: Floats) -> tuple[Column, Floats]:
        """Return the numbers; few of them are categories.

        Raises
        ------
        ValueError
            If a column whose few numbers are categories has others.
        """
        if not self.is_category:
            return super().for_rules(encoded)
        levels = self.take(np.arange(float(self.n_listed or 0)))
        other = encoded[~np.isin(encoded, np.arange(len(levels))) & ~np.isnan(encoded)]
        if len(other):
            raise ValueError(
                f"Column {self.name!r} has values that are not among its {len(levels)} known "
                f"ones: {self.take(np.unique(other))[:5].tolist()}. Leave out those rows."
            )
        column = Categorical(self.name, len(levels), levels)
        column.missing, column.largest_code = self.missing, self.largest_code
        return column, encoded

    def in_words(self) -> str:
        """Return the amounts, or the first of them; of dates the ends."""
        if self.dates is None:
            return self._list_in_words()
        n = int(self.n_values - self.has_missing)
        ends = dict.fromkeys(self.dates.texts(np.array(self.ends)))
        missing = ", or missing" if self.has_missing else ""
        return " to ".join(ends) + (f" ({n} values)" if n > 2 else "") + missing


def _squeezed(distance: Floats) -> Floats:
    """Map any distance to less than one half, keeping the order."""
    size = np.abs(distance)
    with np.errstate(divide="ignore"):
        far = NEAR_SHARE + FAR_SHARE * np.log2(np.maximum(size, 1.0))
    far = np.where(np.isinf(size), 0.4995, far)
    return np.copysign(np.where(size <= 1, NEAR_SHARE * size, far), distance)


def _unsqueezed(share: Floats) -> Floats:
    """Invert `_squeezed`, as exactly as floats can."""
    size = np.abs(share)
    doublings = np.minimum((size - NEAR_SHARE) / FAR_SHARE, 1023.0)
    far = np.where(size > 0.4993, np.inf, np.exp2(np.maximum(doublings, 0.0)))
    return np.copysign(np.where(size <= NEAR_SHARE, size / NEAR_SHARE, far), share)
