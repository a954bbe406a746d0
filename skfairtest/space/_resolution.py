"""Resolution of numbers: the steps that they are in, and whether all amounts were seen.

A grade of 2.6, an income in hundreds: numbers in data come in steps. These turn into consecutive
whole encoded values and back, exactly, so that a search that moves by whole encoded values writes
numbers such as the data hold.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from skfairtest._typing import Bools, Floats, Ints

#: Amounts beyond which a column's amounts are not taken for all that exist.
MOST_AMOUNTS = 2000
#: Whole numbers up to here are floats, and so are sums of a few of them.
EXACT = 2.0**51


class EqualSteps:
    """Numbers in equal steps, with consecutive whole values; subclasses define the arithmetic.

    Parameters
    ----------
    dtype : str or None
        Name of the dtype that the table rounds numbers to.
    """

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = dtype

    def work_out(self, encoded: Floats) -> Floats:
        """Return the decoded numbers; nondecreasing."""
        raise NotImplementedError

    def place(self, numbers: Floats) -> Floats:
        """Encode numbers, not whole where they are between two steps."""
        raise NotImplementedError

    @property
    def distance(self) -> float:
        """Distance of neighbouring numbers."""
        raise NotImplementedError

    def fraction(self) -> tuple[float, float, float] | None:
        """Return step, offset and divisor if values are decoded by that arithmetic alone."""
        return None

    def holds(self, numbers: Floats) -> Bools:
        """Return which numbers are on whole encoded values."""
        at = self.work_out(np.rint(self.place(numbers)))
        return np.asarray(as_held(at, self.dtype) == numbers)

    def encoded_ends(self, low: float, high: float) -> tuple[float, float]:
        """Return the first and the last step between two numbers."""
        ends = np.array([low, high])
        encoded, exact = self.place(ends), self.holds(ends)
        whole = np.rint(encoded)
        first = float(whole[0] if exact[0] else np.ceil(encoded[0]))
        last = float(whole[1] if exact[1] else np.floor(encoded[1]))
        return first, max(first, last)


class Fractions(EqualSteps):
    """Number ``(offset + encoded * step) / divisor``, all three whole; correctly rounded."""

    def __init__(self, offset: int, step: int, divisor: int, dtype: str | None = None) -> None:
        super().__init__(dtype)
        common = math.gcd(offset, step, divisor)
        self.offset, self.step = offset // common, step // common
        self.divisor = divisor // common

    def __repr__(self) -> str:
        return f"Fractions(({self.offset} + {self.step} encoded) / {self.divisor})"

    def work_out(self, encoded: Floats) -> Floats:
        """Return the decoded numbers; nondecreasing."""
        values = encoded * float(self.step)
        values += self.offset
        if self.divisor != 1:
            values /= self.divisor
        return values

    def place(self, numbers: Floats) -> Floats:
        """Encode numbers, not whole where they are between two steps."""
        return np.asarray((numbers * float(self.divisor) - self.offset) / self.step)

    @property
    def distance(self) -> float:
        """Distance of neighbouring numbers."""
        return float(self.step / self.divisor)

    def fraction(self) -> tuple[float, float, float] | None:
        """Return step, offset and divisor if the table rounds no numbers."""
        if self.dtype is not None:
            return None
        return float(self.step), float(self.offset), float(self.divisor)


class Strides(EqualSteps):
    """Number ``low + encoded * step``, for ends and steps that are no short fractions."""

    def __init__(self, low: float, step: float, dtype: str | None = None) -> None:
        super().__init__(dtype)
        self.low, self.step = low, step

    def __repr__(self) -> str:
        return f"Strides({self.low:g} + {self.step:g} encoded)"

    def work_out(self, encoded: Floats) -> Floats:
        """Return the decoded numbers; nondecreasing."""
        return np.asarray(self.low + encoded * self.step)

    def place(self, numbers: Floats) -> Floats:
        """Encode numbers, not whole where they are between two steps."""
        return np.asarray((numbers - self.low) / self.step)

    @property
    def distance(self) -> float:
        """Distance of neighbouring numbers."""
        return float(self.step)


def knows_amounts(counts: Ints, n_steps: float) -> bool:
    """Return whether the amounts that occur are all that exist.

    The share of rows that would bring a new amount is estimated after Good and Turing: the number
    of amounts that occur once over the number of rows, without the commonest amount (often zero).
    """
    n_rows, n_amounts = int(counts.sum()), len(counts)
    if n_amounts > MOST_AMOUNTS or n_rows < 10 * n_amounts:
        return False  # each amount stands for ten rows on average
    others = n_rows - int(counts.max())
    seldom = int((counts == 1).sum())
    # Few of the steps occur, and fewer than one in twenty of the other rows would bring a new one.
    return n_steps >= 10 * n_amounts and seldom <= 0.05 * others


def learn_grid(
    distinct: Floats, n_distinct: int, n_rows: int, whole: bool, dtype: str | None
) -> Fractions | None:
    """Return the coarsest grid of decimals that all values are on."""
    if n_rows < 20 or n_distinct < 4:
        return None  # so few agree in a coarse step by chance
    divisor = 1
    if not whole:
        found = decimals_of(distinct, dtype)
        if found is None:
            return None
        divisor = 10**found
    units = np.rint(distinct * divisor)
    width = float(units[-1] - units[0])
    if max(abs(units[0]), abs(units[-1])) >= EXACT:
        return None
    steps = np.diff(units).astype(np.int64)
    step = int(np.gcd.reduce(steps))
    # Were all units possible, the values would agree modulo the step by this chance; one in a
    # thousand is taken for none.
    if step > 1 and float(step) ** -(n_distinct - 1) > 1e-3:
        step = 1
    n_steps = width / step
    if whole and step == 1:
        return None  # plain integers
    if not whole and n_steps > 200_000 and n_steps > 10 * n_distinct:
        return None  # so fine a grid must be filled by the data
    grid = Fractions(int(units[0]) % step, step, divisor, dtype)
    return grid if grid.holds(distinct).all() and _can_hold(grid, distinct, dtype) else None


def decimals_of(distinct: Floats, dtype: str | None) -> int | None:
    """Return the least number of decimals that gives the very same numbers."""
    some = distinct[:: max(1, len(distinct) // 64)]
    if len(some) < len(distinct) and decimals_of(some, dtype) is None:
        return None  # measurements, as a rule: a few of them show it
    for decimals in range(9):  # more than 8 are measurements
        units = np.rint(distinct * 10.0**decimals)
        if np.array_equal(as_held(units / 10.0**decimals, dtype), distinct):
            return decimals
    return None


def as_held(values: Floats, dtype: str | None) -> Floats:
    """Return the numbers as a table of that dtype holds them."""
    return values if dtype is None else values.astype(dtype).astype(np.float64)


def _can_hold(grid: Fractions, distinct: Floats, dtype: str | None) -> bool:
    """Return whether the table's dtype can tell the steps of the grid apart."""
    if dtype is None:
        return True
    largest = float(np.abs(distinct).max())
    gap = float(np.spacing(np.array(largest, dtype=dtype)))
    return grid.distance >= 8 * gap


def given_steps(low: float, high: float, step: float, dtype: str | None) -> EqualSteps | None:
    """Return steps that are multiples of a step above the low end; None for integers."""
    start, stride = _fraction(low), _fraction(step)
    divisor = math.lcm(start.denominator, stride.denominator)
    most = max(abs(low), abs(high), step) * divisor
    if most >= EXACT:
        return Strides(low, step, dtype)
    offset, unit = int(start * divisor), int(stride * divisor)
    if divisor == 1 and unit == 1:
        return None
    return Fractions(offset, unit, divisor, dtype)


def _fraction(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def ranks(numbers: Floats) -> Ints:
    """Convert floats to consecutive whole numbers that keep their order."""
    bits = (np.asarray(numbers, dtype=np.float64) + 0.0).view(np.int64)
    return np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)


def of_ranks(numbers: Ints) -> Floats:
    """Convert whole numbers back to floats."""
    size = np.abs(numbers).view(np.float64)
    return np.where(numbers < 0, -size, size)


def moved_by(numbers: Floats, start: float, end: float) -> Floats:
    """Move numbers by as many floats as lie between two numbers, so that no bit is lost."""
    first, last = ranks(np.array([start, end]))
    return of_ranks(ranks(numbers) + (last - first))
