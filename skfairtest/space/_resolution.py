"""The values that a column of numbers can take: steps of a grid, or the amounts that occur.

A grade of 2.6, an income in hundreds: numbers in data come in steps. A `Scale` turns them into
consecutive whole codes and back, exactly, so that a search that moves by whole codes writes numbers
such as the data hold. A column without a scale has its values for codes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._seen import Seen

#: Rows and different values from which a grid is learned.
LEAST_ROWS = 20
LEAST_DISTINCT = 4
#: Decimals that are tried, and steps that a grid may have from the smallest to the largest value.
#: Beyond that the data must fill it: a tenth of the steps must occur.
MOST_DECIMALS = 8
MOST_STEPS = 200_000
#: Chance of the values seen, were the grid twice as fine or the list of amounts open, that is taken
#: for none.
CHANCE = 1e-3
#: A column knows its amounts where each stands for so many rows on average, where its range has so
#: many times as many steps as there are amounts, and where a new row would bring a new amount in
#: fewer than this share of the rows beside the commonest amount.
ROWS_PER_AMOUNT = 10
STEPS_PER_AMOUNT = 10
NEW_AMOUNTS = 0.05
MOST_AMOUNTS = 2000
#: Integers that a float holds.
EXACT = 2.0**53


class Scale:
    """Values of a column by consecutive whole codes; subclasses say which.

    A value between two steps has a code between two whole ones, which gives back exactly that
    value: rows of data are shown to the model as they are.
    """

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = dtype
        # Values whose codes arithmetic does not lead back: few, of data that are off the grid.
        self.odd_codes: Floats = np.empty(0)
        self.odd_values: Floats = np.empty(0)

    def _work_out(self, codes: Floats) -> Floats:
        """Values of codes by arithmetic; nondecreasing."""
        raise NotImplementedError

    def _at(self, codes: Floats) -> Floats:
        """These as the table holds them."""
        return _held(self._work_out(codes), self.dtype)

    def place(self, values: Floats) -> Floats:
        """Codes of values, roughly; not whole where the values are between two steps."""
        raise NotImplementedError

    def values(self, codes: Floats) -> Floats:
        """Values of the codes, NaN for NaN."""
        values = self._at(codes)
        if len(self.odd_codes):
            place = np.searchsorted(self.odd_codes, codes)
            place[place == len(self.odd_codes)] = 0
            odd = self.odd_codes[place] == codes
            values[odd] = self.odd_values[place[odd]]
        return values

    def codes(self, values: Floats) -> Floats:
        """Codes of any values: `values` of them are the very same numbers."""
        codes = np.rint(self.place(values))
        off = (self._at(codes) != values) & ~np.isnan(values)
        if off.any():
            between, back = np.unique(values[off], return_inverse=True)
            codes[off] = self._between(between)[back.ravel()]
        return codes

    def holds(self, values: Floats) -> Bools:
        """Which values are on whole codes."""
        return np.asarray(self._at(np.rint(self.place(values))) == values)

    def _between(self, values: Floats) -> Floats:
        """Codes of different values that are off the steps.

        Those of arithmetic have an even last bit, those that are remembered an odd one.
        """
        guess = self.place(values)
        whole = guess == np.rint(guess)
        up = np.where(self._at(guess) < values, np.inf, -np.inf)
        guess = np.where(whole, np.nextafter(guess, up), guess)
        found = np.full(len(values), np.nan)
        for ulps in range(-4, 5):
            codes = _ulps_away(guess, ulps)
            even = codes.view(np.int64) % 2 == 0
            hit = even & np.isnan(found) & (self._at(codes) == values) & (codes != np.rint(codes))
            found[hit] = codes[hit]
        left = np.isnan(found)
        if left.any():
            found[left] = self._remember(guess[left], values[left])
        return found

    def _remember(self, guess: Floats, values: Floats) -> Floats:
        """Codes near these that stand for the values from now on."""
        order = np.argsort(self.odd_values)
        place = np.searchsorted(self.odd_values[order], values)
        place[place == len(order)] = 0
        known = np.zeros(len(values), dtype=bool)
        if len(order):
            known = self.odd_values[order[place]] == values
        codes = np.where(guess.view(np.int64) % 2 == 0, _ulps_away(guess, 1), guess)
        if known.any():
            codes[known] = self.odd_codes[order[place[known]]]
        new = np.flatnonzero(~known)
        while True:
            _, first = np.unique(codes[new], return_index=True)
            twice = np.isin(codes[new], self.odd_codes)
            twice |= ~np.isin(np.arange(len(new)), first)
            if not twice.any():
                break
            codes[new[twice]] = _ulps_away(codes[new[twice]], 2)
        every = np.append(self.odd_codes, codes[new])
        order = np.argsort(every)
        self.odd_codes = every[order]
        self.odd_values = np.append(self.odd_values, values[new])[order]
        return codes

    def slope(self, codes: Floats) -> Floats:
        """Change of the value from one code to the next."""
        here = np.rint(codes)
        return np.asarray(self._at(here + 1) - self._at(here))

    def operations(self) -> list[tuple[str, Any]] | None:
        """The arithmetic step by step, where it is that simple."""
        return None


class Grid(Scale):
    """Value ``(offset + code * step) / divisor``, all three whole: correctly rounded fractions."""

    def __init__(self, offset: int, step: int, divisor: int, dtype: str | None = None) -> None:
        super().__init__(dtype)
        common = math.gcd(offset, step, divisor)
        self.offset, self.step = offset // common, step // common
        self.divisor = divisor // common

    @property
    def is_plain(self) -> bool:
        """Whether arithmetic alone gives the values."""
        return self.dtype is None and not len(self.odd_codes)

    def __repr__(self) -> str:
        return f"Grid(({self.offset} + {self.step} code) / {self.divisor})"

    def _work_out(self, codes: Floats) -> Floats:
        values = codes * float(self.step)
        values += self.offset
        if self.divisor != 1:
            values /= self.divisor
        return values

    def place(self, values: Floats) -> Floats:
        return np.asarray((values * float(self.divisor) - self.offset) / self.step)

    def operations(self) -> list[tuple[str, Any]] | None:
        """The arithmetic step by step."""
        if self.dtype is not None:
            return None
        return [
            ("multiply", float(self.step)),
            ("add", float(self.offset)),
            ("divide", float(self.divisor)),
        ]


class Strides(Scale):
    """Value ``low + code * step``, for ends and steps that are no short fractions."""

    def __init__(self, low: float, step: float, dtype: str | None = None) -> None:
        super().__init__(dtype)
        self.low, self.step = low, step

    def __repr__(self) -> str:
        return f"Strides({self.low:g} + {self.step:g} code)"

    def _work_out(self, codes: Floats) -> Floats:
        return np.asarray(self.low + codes * self.step)

    def place(self, values: Floats) -> Floats:
        return np.asarray((values - self.low) / self.step)


class Listed(Scale):
    """The listed values in their order; beyond both ends codes go on by less than one half."""

    def __init__(self, listed: Floats, dtype: str | None = None) -> None:
        super().__init__(dtype)
        self.listed = listed

    def __repr__(self) -> str:
        return f"Listed({len(self.listed)} values)"

    @property
    def _spread(self) -> float:
        width = float(self.listed[-1] - self.listed[0])
        return width / (len(self.listed) - 1) if width > 0 else 1.0

    def _work_out(self, codes: Floats) -> Floats:
        last = len(self.listed) - 1
        inside = np.clip(np.where(np.isnan(codes), 0, codes), 0, last)
        below = np.minimum(np.floor(inside), max(last - 1, 0)).astype(np.intp)
        above = np.minimum(below + 1, last)
        share = inside - below
        low, high = self.listed[below], self.listed[above]
        values = np.where(share == 1, high, low + share * (high - low))
        beyond = 2 * np.clip(codes - inside, -0.499, 0.499)
        values = values + self._spread * beyond / (1 - np.abs(beyond))
        return np.asarray(values)

    def place(self, values: Floats) -> Floats:
        last = len(self.listed) - 1
        inside = np.clip(values, self.listed[0], self.listed[-1])
        beyond = np.clip((values - inside) / self._spread, -1e300, 1e300)
        places = np.interp(inside, self.listed, np.arange(last + 1.0))
        return np.asarray(places + 0.49 * beyond / (1 + np.abs(beyond)))


def learn_scale(
    seen: Seen, whole: bool, bounds: tuple[float, float] | None, dtype: str | None
) -> Scale | None:
    """The scale of a column of numbers, where the data are evidence of one.

    Parameters
    ----------
    seen : Seen
        What was seen of the column.
    whole : bool
        Whether these, and the bounds, are integers.
    bounds : (low, high) or None
        The domain that the user gave. It must be on the grid.
    dtype : str or None
        Name of the dtype that the table rounds numbers to.

    Returns
    -------
    Scale or None
        None where every number (of integers: every integer) is taken to be possible.
    """
    distinct, counts = seen.distinct, seen.counts
    if len(distinct) < 2 or seen.has_no_scale:
        return None
    with_bounds = distinct if bounds is None else np.union1d(distinct, bounds)
    grid = learn_grid(with_bounds, len(distinct), seen.n_present, whole, dtype)
    if bounds is None:
        if grid is not None:
            low, high = grid.place(distinct[[0, -1]])
            n_steps = high - low + 1
        else:
            n_steps = distinct[-1] - distinct[0] + 1 if whole else np.inf
        if knows_amounts(counts, n_steps):
            return Listed(distinct, dtype)
    return grid


def knows_amounts(counts: Ints, n_steps: float) -> bool:
    """Whether the amounts that occur are all there are.

    The share of rows that would bring a new amount is estimated after Good and Turing: the number
    of amounts that occur once over the number of rows, without the commonest amount (often zero).
    """
    n_rows, n_amounts = int(counts.sum()), len(counts)
    if n_amounts > MOST_AMOUNTS or n_rows < ROWS_PER_AMOUNT * n_amounts:
        return False
    others = n_rows - int(counts.max())
    seldom = int((counts == 1).sum())
    return n_steps >= STEPS_PER_AMOUNT * n_amounts and seldom <= NEW_AMOUNTS * others


def learn_grid(
    distinct: Floats, n_distinct: int, n_rows: int, whole: bool, dtype: str | None
) -> Grid | None:
    """The coarsest grid of decimals that all values are on."""
    if n_rows < LEAST_ROWS or n_distinct < LEAST_DISTINCT:
        return None
    divisor = 1
    if not whole:
        found = decimals_of(distinct, dtype)
        if found is None:
            return None
        divisor = 10**found
    units = np.rint(distinct * divisor)
    width = float(units[-1] - units[0])
    if max(abs(units[0]), abs(units[-1])) >= EXACT / 4:
        return None
    steps = np.diff(units).astype(np.int64)
    step = int(np.gcd.reduce(steps))
    # Were all units possible, values would agree modulo the step by chance.
    if step > 1 and float(step) ** -(n_distinct - 1) > CHANCE:
        step = 1
    n_steps = width / step
    if whole and step == 1:
        return None  # plain integers
    if not whole and n_steps > MOST_STEPS and n_steps > 10 * n_distinct:
        return None
    grid = Grid(int(units[0]) % step, step, divisor, dtype)
    exact = not is_between(grid.codes(distinct)).any()
    return grid if exact and _can_hold(grid, distinct, dtype) else None


def decimals_of(distinct: Floats, dtype: str | None) -> int | None:
    """The least number of decimals that gives the very same numbers."""
    some = distinct[:: max(1, len(distinct) // 64)]
    if len(some) < len(distinct) and decimals_of(some, dtype) is None:
        return None  # measurements, as a rule: told by a few of them
    for decimals in range(MOST_DECIMALS + 1):
        units = np.rint(distinct * 10.0**decimals)
        if np.array_equal(_held(units / 10.0**decimals, dtype), distinct):
            return decimals
    return None


def _held(values: Floats, dtype: str | None) -> Floats:
    return values if dtype is None else values.astype(dtype).astype(np.float64)


def _can_hold(grid: Grid, distinct: Floats, dtype: str | None) -> bool:
    """Whether the table tells the steps of the grid apart, also where they are coarsest."""
    if dtype is None:
        return True
    largest = float(np.abs(distinct).max())
    gap = float(np.spacing(np.array(largest, dtype=dtype)))
    return grid.step / grid.divisor >= 8 * gap


def given_scale(low: float, high: float, step: float, dtype: str | None) -> Scale | None:
    """Multiples of a step from the low end on; None for integers one by one."""
    start, stride = _fraction(low), _fraction(step)
    divisor = math.lcm(start.denominator, stride.denominator)
    most = max(abs(low), abs(high), step) * divisor
    if most >= EXACT / 4:
        return Strides(low, step, dtype)
    offset, unit = int(start * divisor), int(stride * divisor)
    if divisor == 1 and unit == 1:
        return None
    return Grid(offset, unit, divisor, dtype)


def _fraction(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def _ulps_away(numbers: Floats, ulps: int) -> Floats:
    """The floats so many places further from zero (nearer, where negative)."""
    return (numbers.view(np.int64) + ulps).view(np.float64)


def ranks(numbers: Floats) -> Ints:
    """Floats as consecutive whole numbers, in their order."""
    bits = (np.asarray(numbers, dtype=np.float64) + 0.0).view(np.int64)
    return np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)


def of_ranks(numbers: Ints) -> Floats:
    """And back."""
    size = np.abs(numbers).view(np.float64)
    return np.where(numbers < 0, -size, size)


def moved_by(numbers: Floats, start: float, end: float) -> Floats:
    """Numbers moved by as many floats as there are from one number to another: no bit is lost."""
    first, last = ranks(np.array([start, end]))
    return of_ranks(ranks(numbers) + (last - first))


def is_between(codes: Floats) -> Bools:
    """Which codes are those of values that are off the steps."""
    return np.asarray(codes != np.rint(codes)) & ~np.isnan(codes)
