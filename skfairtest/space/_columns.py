"""One column: its kind, its domain, and its values as codes and back.

A code is a float. For an integer or a real column it is the value itself, or counts the steps of
its scale; for a categorical one it is the position of the value among the column's levels. Missing
is a value of the domain where the column has missing values: its code is above those of all others.
In other columns NaN is a missing value, which lies outside the domain.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.space._dates import Dates
from skfairtest.space._identifiers import what_integers_are, what_texts_are
from skfairtest.space._resolution import Listed, Scale, given_scale, learn_scale, moved_by
from skfairtest.space._seen import Seen, look

#: A column of fractional numbers with at most this many distinct values is categorical ...
FEW_LEVELS = 10
#: ... if each of them stands for this many rows on average. A scaled 0/1 column is the usual case.
ROWS_PER_LEVEL = 10
#: Of the range of a real column with missing values, the share whose codes stand for "missing": so
#: many of uniform draws are. Moves of a search step in and out of it, as it is no single point.
MISSING_SHARE = 0.1
#: Beyond this a float no longer holds every integer.
MAX_INTEGER = 2.0**53
#: Codes that `Column.grid` lists at most.
MAX_GRID = 1_000_000


class Column:
    """Kind and domain of one column; made by `describe_column`, changed by nobody.

    Attributes
    ----------
    name : str or int
        As the user knows it.
    kind : {"categorical", "integer", "real"}
        What its codes mean.
    low, high : float
        Ends of the closed domain of codes.
    step : float
        Length of one step, in codes.
    levels : ndarray of object or float, or None
        Values of a categorical column in the order of their codes; first the domain, then those
        that only the data hold.
    missing : float or None
        Code of the missing value, the largest of the domain; None where missing is no value of it.
        Of a real column without a scale all codes beyond `top` mean missing; this one is written.
    top : float
        The largest code of a number, in a column of numbers that has a missing value.
    scale : Scale or None
        Values by whole codes; None where codes of numbers are the numbers.
    dates : Dates or None
        What the numbers stand for, in a column of dates: its kind is "integer", and its scale lists
        the dates that were seen.
    looks_like : {"identifier", "free text"} or None
        What the column seems to be, where its domain was not given: its values were seen, and
        others are not tried.
    given : bool
        Whether the user gave the domain.
    nan_is_missing : bool
        Whether an object column writes a missing value as NaN, not as None.
    """

    scale: Scale | None
    dates: Dates | None

    def __init__(self, name: Any, kind: str, low: float, high: float, step: float) -> None:
        self.name = name
        self.kind = kind
        self.low = float(low)
        self.high = float(high)
        self.step = float(step)
        self.levels: NDArray[Any] | None = None
        self.missing: float | None = None
        self.top = np.inf
        self.scale = self.dates = None
        self.looks_like: str | None = None
        self.given = False
        self.nan_is_missing = False
        self._lookup: tuple[Any, Any] = None, None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lookup": (None, None)}

    def __repr__(self) -> str:
        if self.dates is not None:
            return f"Column({self.name!r}, {self.dates!r}, {self.n_values:.0f} values)"
        if self.levels is not None:
            return f"Column({self.name!r}, categorical, {self.n_values:.0f} values)"
        return (
            f"Column({self.name!r}, {self.kind}, [{self.low:g}, {self.high:g}], step {self.step:g})"
        )

    @property
    def discrete(self) -> bool:
        """Whether codes are whole."""
        return self.kind != "real" or self.scale is not None

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest number of the domain of a column of numbers."""
        low, high = self.take(np.array([self.low, min(self.high, self.top)]))
        return float(low), float(high)

    @property
    def is_coded(self) -> bool:
        """Whether codes of a column of numbers are other than the numbers."""
        return self.scale is not None or (self.levels is None and self.missing is not None)

    @property
    def has_missing(self) -> bool:
        """Whether missing is a value of the domain."""
        return self.missing is not None and self.missing <= self.high

    def let_missing(self, dtype: str | None) -> None:
        """Make missing a value of the domain of a column of numbers, above all of them.

        `dtype` is what the table rounds codes to, if it does.
        """
        self.top = self.high
        if self.discrete:
            self.high = self.missing = self.top + 1
            return
        share = MISSING_SHARE / (1 - MISSING_SHARE)
        width = share * ((self.top - self.low) or max(1.0, abs(self.top)))
        ends = np.array([self.top, self.top + width])
        if dtype is not None and self.scale is None:
            with np.errstate(over="ignore"):
                ends = np.minimum(ends.astype(dtype), np.finfo(dtype).max).astype(np.float64)
        self.top, self.high = float(ends[0]), float(ends[1])
        self.missing = self.high
        if not self.top < self.high < np.inf:
            raise ValueError(
                f"Column {self.name!r} holds numbers up to {self.top:g}, beyond which its dtype "
                "has none left to stand for a missing value. Convert it to a wider dtype."
            )

    @property
    def n_values(self) -> float:
        """How many values the domain has; infinite for a real column without a scale."""
        if not self.discrete:
            return np.inf if self.high > self.low else 1.0
        return self.high - self.low + 1

    def grid(self) -> Floats:
        """Codes of the domain as a finite list: all of them, or one a step for a real column.

        Raises
        ------
        ValueError
            If the list would have more than a million codes.
        """
        if self.discrete:
            self._check_listable(self.n_values)
            return np.arange(self.low, self.high + 1, dtype=np.float64)
        high = min(self.high, self.top)
        self._check_listable((high - self.low) / self.step + 1)
        n_steps = int(np.floor((high - self.low) / self.step + 1e-9))
        grid = self.low + self.step * np.arange(n_steps + 1)
        # The end of the domain belongs to it even where the steps do not reach it exactly.
        if high - grid[-1] > 1e-9 * max(1.0, abs(high)):
            grid = np.append(grid, high)
        grid[-1] = min(grid[-1], high)
        if self.missing is not None:
            grid = np.append(grid, self.missing)
        return np.asarray(grid, dtype=np.float64)

    def _check_listable(self, n: float) -> None:
        if n > MAX_GRID:
            raise ValueError(
                f"Column {self.name!r} has {n:.0f} values from {self.low:g} to {self.high:g}; at "
                f"most {MAX_GRID} can be listed. Narrow its domain with bounds=."
            )

    def encode(self, values: NDArray[Any]) -> Floats:
        """Codes of the values; an error names those that the column does not know."""
        if self.levels is None or self.scale is not None:
            if self.dates is not None and values.dtype.kind == "O":  # as people write them
                values = self.dates.numbers(self.name, values)
            try:
                numbers = np.asarray(values, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"Column {self.name!r} is numeric; got {_shown(values)}. "
                    "Give numbers, or declare the column in categories=."
                ) from error
            codes = numbers if self.scale is None else self.scale.codes(numbers)
            return codes if self.missing is None else self._with_missing(codes)
        gone = np.asarray(pd.isna(values), dtype=bool)
        # A column of names has as many levels as rows: to hash them takes longer than a batch.
        if self._lookup[0] is not self.levels:
            self._lookup = self.levels, pd.Index(self.levels)
        codes = self._lookup[1].get_indexer(values).astype(np.float64)
        unknown = (codes < 0) & ~gone
        if unknown.any():
            raise ValueError(
                f"Column {self.name!r} has values that are not among its {len(self.levels)} known "
                f"ones: {_shown(pd.unique(values[unknown]))}. Add them with categories=, or leave "
                "out those rows."
            )
        codes[gone] = np.nan if self.missing is None else self.missing
        return codes

    def take(self, codes: Floats) -> NDArray[Any]:
        """Values of the codes as a NumPy array (object for strings, float with NaN for numbers)."""
        if self.levels is not None and self.scale is None:
            return self.padded_levels().take(self.positions(codes))
        if self.missing is not None:
            codes = self._without_missing(codes)
        return codes if self.scale is None else self.scale.values(codes)

    # The codes that stand for missing have to be no number's: those of numbers beyond the domain
    # make room for them, by so many places as floats have there. That is exact both ways.

    @property
    def _last(self) -> float:
        """The last code before those that mean missing."""
        assert self.missing is not None
        return float(np.nextafter(self.missing, -np.inf)) if self.discrete else self.top

    def _with_missing(self, codes: Floats) -> Floats:
        """Codes of a column that has a missing value, from codes in which NaN is that value."""
        assert self.missing is not None
        gone, beyond = np.isnan(codes), codes > self._last
        if beyond.any():
            codes = np.where(beyond, moved_by(codes, self._last, self.missing), codes)
        return np.where(gone, self.missing, codes) if gone.any() else codes

    def _without_missing(self, codes: Floats) -> Floats:
        """And back."""
        assert self.missing is not None
        beyond = codes > self._last
        if not beyond.any():
            return codes
        numbers = np.where(beyond, moved_by(codes, self.missing, self._last), codes)
        return np.where(beyond & (codes <= self.missing), np.nan, numbers)

    def field(self) -> Column:
        """The column as the table holds it: codes of numbers are the numbers."""
        if not self.is_coded:
            return self
        kind = "real" if self.kind == "categorical" else self.kind
        field = Column(self.name, kind, *self.ends, 1.0)
        field.dates = self.dates
        return field

    def shown(self, codes: Floats) -> NDArray[Any]:
        """Values of the codes as people know them: dates, not the numbers that stand for them."""
        values = self.take(codes)
        return values if self.dates is None else self.dates.objects(values)

    def positions(self, codes: Floats) -> NDArray[np.intp]:
        """Places of the codes in `padded_levels`."""
        assert self.levels is not None
        return np.where(np.isnan(codes), len(self.levels), codes).astype(np.intp)

    def padded_levels(self) -> NDArray[Any]:
        """The levels and one missing value behind them, which NaN codes point to."""
        assert self.levels is not None
        # Encoders tell None from NaN, so a missing value goes back as it came.
        missing = np.nan if self.nan_is_missing or self.levels.dtype.kind == "f" else None
        pad = np.array([missing], dtype=self.levels.dtype)
        padded = np.concatenate([self.levels, pad])
        if self.missing is not None:
            padded[int(self.missing)] = missing
        return padded


def describe_column(
    name: Any,
    values: NDArray[Any],
    *,
    bounds: tuple[float, float] | None = None,
    categories: Any = None,
    step: float | None = None,
    integral: bool = False,
    order: NDArray[Any] | None = None,
    dtype: str | None = None,
) -> Column:
    """Find out the kind and the domain of a column from its values and the user's settings.

    `values` are floats (NaN is missing), booleans, or objects; `integral` says that the container
    holds integers, `dtype` what it rounds numbers to, `order` gives the levels' own order where the
    container has one.
    """
    return describe_seen(
        name,
        look(values),
        bounds=bounds,
        categories=categories,
        step=step,
        integral=integral,
        order=order,
        dtype=dtype,
    )


def describe_seen(
    name: Any,
    seen: Seen,
    *,
    bounds: tuple[float, float] | None = None,
    categories: Any = None,
    step: float | None = None,
    integral: bool = False,
    order: NDArray[Any] | None = None,
    dtype: str | None = None,
    dates: Dates | None = None,
) -> Column:
    """The same from what was seen of a column, in one piece or in chunks."""
    if dates is not None:
        return _describe_dates(name, seen, dates, bounds, categories, step)
    column = _describe(name, seen, bounds, categories, step, integral, order, dtype)
    column.nan_is_missing = seen.nan_is_missing
    return column


def _describe(
    name: Any,
    seen: Seen,
    bounds: Any,
    categories: Any,
    step: float | None,
    integral: bool,
    order: NDArray[Any] | None,
    dtype: str | None,
) -> Column:
    present = seen.present
    if categories is not None:
        if bounds is not None:
            raise ValueError(
                f"Column {name!r} is in both bounds= and categories=; a column has one kind of "
                "domain. Keep bounds= for a numeric column, categories= for one with listed values."
            )
        return _categorical(
            name, _given_levels(name, categories), present, seen.any_missing, step, given=True
        )
    if present.dtype.kind == "f":
        column = _numeric(name, seen, bounds, step, integral, dtype)
        if column is not None:
            return column
    if bounds is not None:
        raise ValueError(
            f"bounds= names column {name!r}, which is not numeric (values such as "
            f"{_shown(present)}); list its values in categories= instead."
        )
    levels = _observed_levels(name, present, order)
    column = _categorical(name, levels, present, seen.any_missing, step, given=False)
    if present.dtype.kind == "O":
        column.looks_like = what_texts_are(np.asarray(levels, dtype=object), seen.n_present)
    if present.dtype.kind == "f" and levels:
        # Other numbers in later data are no error: they lie between the levels.
        column.scale = Listed(np.array(levels, dtype=np.float64), dtype)
    return column


def _describe_dates(
    name: Any, seen: Seen, dates: Dates, bounds: Any, categories: Any, step: Any
) -> Column:
    """A column of dates: its domain are those that were seen, or those that the user lists.

    Others in later data are no error: they lie between these.
    """
    for label, wish in (("bounds", bounds), ("steps", step)):
        if wish is not None:
            raise ValueError(
                f"{label}= names column {name!r}, which holds dates; its domain is the values in "
                "X. List others in categories=, or leave it out."
            )
    listed, any_missing = seen.distinct, seen.any_missing
    if categories is not None:
        numbers = dates.numbers(name, _given_levels(name, categories))
        listed, any_missing = np.unique(numbers[~np.isnan(numbers)]), bool(np.isnan(numbers).any())
    if not len(listed):  # nothing but missing
        column = _categorical(
            name, [], np.empty(0), any_missing, None, given=categories is not None
        )
    else:
        column = Column(name, "integer", 0, len(listed) - 1, 1.0)
        column.scale = Listed(listed)
        column.given = categories is not None
        if any_missing:
            column.let_missing(None)
    column.dates = dates
    return column


def _numeric(
    name: Any,
    seen: Seen,
    bounds: tuple[float, float] | None,
    step: float | None,
    integral: bool,
    dtype: str | None,
) -> Column | None:
    """An integer or a real column; None where its few fractional values make it categorical."""
    present = seen.present
    if not np.isfinite(present).all():
        raise ValueError(
            f"Column {name!r} contains infinity (inf); an input domain has finite ends. "
            "Replace infinite values before fitting."
        )
    whole = bool((present == np.floor(present)).all())
    if whole and len(present) and np.abs(present).max() > MAX_INTEGER:
        raise ValueError(
            f"Column {name!r} holds integers beyond 2**53, which a float cannot tell apart. "
            "Drop it if it is an identifier, or divide it."
        )
    if bounds is None:
        if not len(present):
            return None
        if not whole and step is None:
            n_distinct = len(seen.distinct)
            if n_distinct <= FEW_LEVELS and n_distinct * ROWS_PER_LEVEL <= seen.n_present:
                return None
            if n_distinct == 1 and seen.any_missing:  # two values: the number, and missing
                return None
        low, high = float(present.min()), float(present.max())
    else:
        low, high = check_bounds(name, bounds)
        whole = whole and low == np.floor(low) and high == np.floor(high)
        if integral and not whole:
            raise ValueError(
                f"bounds= of column {name!r} are ({low:g}, {high:g}), but the column holds "
                "integers. Give whole numbers."
            )
    if step is not None:
        # Whole numbers in a column of floats may get finer steps.
        whole = whole and (integral or _is_positive(step, whole=True))
        _check_step(name, whole, step)
        scale = given_scale(low, high, float(step), dtype)
    else:
        scale = learn_scale(seen, whole, bounds, dtype)
    looks_like = None
    if whole and bounds is None and step is None:
        looks_like = what_integers_are(name, seen)
        if looks_like is not None:
            scale = Listed(seen.distinct, dtype)
    kind = "integer" if whole else "real"
    if scale is None:
        unit = 1.0 if whole or high == low else (high - low) / 100
        column = Column(name, kind, low, high, unit)
    else:
        first, last = _end_codes(scale, low, high)
        # One step as long as those of a real column, if the data have finer ones.
        long = step is None and not whole and not isinstance(scale, Listed)
        unit = max(1.0, np.rint((last - first) / 100)) if long else 1.0
        column = Column(name, kind, first, last, unit)
        column.scale = scale
    column.given, column.looks_like = bounds is not None, looks_like
    if seen.any_missing:
        column.let_missing(dtype)
    return column


def _end_codes(scale: Scale, low: float, high: float) -> tuple[float, float]:
    """The first and the last step between two values."""
    ends = np.array([low, high])
    codes = scale.place(ends)
    whole = np.rint(codes)
    exact = scale.values(whole) == ends
    first = float(whole[0] if exact[0] else np.ceil(codes[0]))
    last = float(whole[1] if exact[1] else np.floor(codes[1]))
    return first, max(first, last)


def check_bounds(name: Any, bounds: Any) -> tuple[float, float]:
    """A pair of finite numbers, the smaller one first."""
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"bounds= of column {name!r} must be a pair (low, high) of numbers; got {bounds!r}."
        ) from error
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(
            f"bounds= of column {name!r} must be finite; got ({low}, {high}). Give the smallest "
            "and the largest value that can occur."
        )
    if low > high:
        raise ValueError(
            f"bounds= of column {name!r} must be (low, high) with low <= high; got "
            f"({low:g}, {high:g}). Exchange the two."
        )
    return low, high


def _check_step(name: Any, whole: bool, step: Any) -> None:
    if not _is_positive(step, whole=whole):
        wanted = "a positive whole number" if whole else "a positive number"
        raise ValueError(f"steps= of column {name!r} must be {wanted}; got {step!r}.")


def _is_positive(step: Any, *, whole: bool) -> bool:
    valid = isinstance(step, numbers.Real) and 0 < float(step) < np.inf
    return valid and (not whole or float(step) == int(step))


def _given_levels(name: Any, categories: Any) -> list[Any]:
    if isinstance(categories, str) or not hasattr(categories, "__iter__"):
        raise ValueError(
            f"categories= of column {name!r} must be a list of values; got {categories!r}."
        )
    levels = list(categories)
    if not levels or len(pd.unique(pd.Series(levels, dtype=object))) < len(levels):
        raise ValueError(
            f"categories= of column {name!r} must be different values, at least one; got "
            f"{levels!r}."
        )
    return levels


def _observed_levels(name: Any, present: NDArray[Any], order: NDArray[Any] | None) -> list[Any]:
    try:
        levels = list(pd.unique(present))
    except TypeError as error:
        raise TypeError(
            f"Column {name!r}: argument must be a string or a number in every row; got "
            f"{_shown(present)}."
        ) from error
    if order is not None:
        known = set(levels)
        return [level for level in order if level in known]
    try:
        return sorted(levels)
    except TypeError:  # strings beside numbers have no common order
        return sorted(levels, key=lambda level: (type(level).__name__, str(level)))


def _categorical(
    name: Any,
    levels: list[Any],
    present: NDArray[Any],
    any_missing: bool,
    step: Any,
    *,
    given: bool,
) -> Column:
    """Levels of the domain first, then the levels that only the data hold."""
    if step is not None:
        raise ValueError(
            f"steps= names column {name!r}, which is categorical: its step is the neighbouring "
            "category. Leave it out of steps=."
        )
    missing_wanted = [bool(pd.isna(level)) for level in levels]
    domain = [level for level, gone in zip(levels, missing_wanted, strict=True) if not gone]
    extra: list[Any] = []
    if given:
        known = set(domain)
        extra = [level for level in _observed_levels(name, present, None) if level not in known]
    in_domain = any(missing_wanted) if given else any_missing
    column = Column(name, "categorical", 0, len(domain) + in_domain - 1, 1.0)
    column.given = given
    if in_domain:
        column.missing, column.top = len(domain), len(domain) - 1
        domain = [*domain, None]
    column.levels = _as_level_array(domain + extra, present)
    return column


def _as_level_array(levels: list[Any], present: NDArray[Any]) -> NDArray[Any]:
    numbers = present.dtype.kind == "f" and all(
        level is None
        or (isinstance(level, (int, float, np.number)) and not isinstance(level, bool))
        for level in levels
    )
    if numbers:
        return np.array([np.nan if level is None else level for level in levels], dtype=np.float64)
    array = np.empty(len(levels), dtype=object)
    array[:] = levels
    return array


def _shown(values: Any, most: int = 5) -> str:
    listed = [repr(value) for value in list(values)[: most + 1]]
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")
