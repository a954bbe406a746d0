"""One column: its kind, its domain, and its values as codes and back.

A code is a float. Each kind of column is a class that says what its codes mean: the value itself,
the position of the value in a list, the number of its step. Whatever they mean, codes have a first
and a last one and the length of a step, and are whole or not. Drawing, clipping and stepping need
no more, and are done for all columns at once (`InputSpace.draw`, `clip`, `neighbours`).

Missing is a value of the domain where the column has missing values: its code is above those of all
others. In other columns NaN is a missing value, which lies outside the domain.

A kind of one's own is a subclass of `Column` (of `Numbers`, where values are numbers) in the list
`skfairtest.space._kinds.KINDS`; nothing else asks what a column is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats
from skfairtest.space._dates import Dates
from skfairtest.space._facts import ColumnFacts, observed_levels, shown
from skfairtest.space._identifiers import what_texts_are

#: Of the range of a real column with missing values, the share whose codes stand for "missing": so
#: many of uniform draws are. Moves of a search step in and out of it, as it is no single point.
MISSING_SHARE = 0.1
#: Codes that `Column.grid` lists at most.
MAX_GRID = 1_000_000
#: Values of a domain that are listed in words.
MOST_LISTED = 6


class Column:
    """Kind and domain of one column; made by `describe_column`, changed by nobody.

    Parameters
    ----------
    name : str or int
        As the user knows it.
    low, high : float
        Ends of the closed domain of codes.
    step : float
        Length of one step, in codes.

    Attributes
    ----------
    kind : {"categorical", "integer", "real"}
        What people call it.
    discrete : bool
        Whether codes are whole.
    is_category : bool
        Whether the difference of two codes means nothing: a search that leaves a value goes to any
        other.
    is_open : bool
        Whether values that were not seen have codes as well, outside the domain or between two
        values of it.
    is_plain : bool
        Whether codes are the very numbers of the column.
    whole : bool
        Whether its values are whole numbers.
    rounds_to : str or None
        Name of the NumPy dtype that the table rounds codes to, where codes are numbers.
    missing : float or None
        Code of the missing value, the largest of the domain; None where missing is no value of it.
        Of a real column all codes beyond `top` mean missing; this one is written.
    top : float
        The largest code of a number, in a column that has a missing value.
    dates : Dates or None
        What the numbers stand for, in a column of dates.
    looks_like : {"identifier", "free text"} or None
        What the column seems to be, where its domain was not given: its values were seen, and
        others are not tried.
    given : bool
        Whether the user gave the domain.
    """

    kind = "categorical"
    discrete: bool = True
    is_category: bool = False
    is_open: bool = False
    whole: bool = False
    rounds_to: str | None = None
    dates: Dates | None

    def __init__(self, name: Any, low: float, high: float, step: float = 1.0) -> None:
        self.name = name
        self.low = float(low)
        self.high = float(high)
        self.step = float(step)
        self.missing: float | None = None
        self.top = np.inf
        self.dates = None
        self.looks_like: str | None = None
        self.given = False

    def __repr__(self) -> str:
        what = self.dates or self.kind
        return f"Column({self.name!r}, {what}, {self.n_values:.0f} values)"

    @classmethod
    def learn(cls, facts: ColumnFacts) -> Column | None:
        """The column of which so much is known; None where it is of another kind."""
        raise NotImplementedError

    # Values and codes -----------------------------------------------------------------------

    def encode(self, values: NDArray[Any]) -> Floats:
        """Codes of the values; an error names those that the column does not know.

        The column stays as it is. Of a number between two steps it is the nearest code from which
        arithmetic leads back to it, or nearly so; see `read`.
        """
        raise NotImplementedError

    def take(self, codes: Floats) -> NDArray[Any]:
        """Values of the codes as a NumPy array (object for strings, float with NaN for numbers)."""
        raise NotImplementedError

    def read(self, values: NDArray[Any]) -> tuple[Column, Floats]:
        """Codes of the values of a table, and the column that makes the very same values of them.

        It is this column, but where some numbers have no code by arithmetic alone: the column that
        is returned then knows these, and is for this table only.
        """
        return self, self.encode(values)

    def bare(self) -> Column:
        """The column as it was learned, without the numbers of a table."""
        return self

    def shown(self, codes: Floats) -> NDArray[Any]:
        """Values of the codes as people know them: dates, not the numbers that stand for them."""
        values = self.take(codes)
        return values if self.dates is None else self.dates.objects(values)

    def plain_values(self, codes: Floats) -> list[Any]:
        """Values of the codes as every file format has them: dates in words."""
        values = self.take(codes)
        return values.tolist() if self.dates is None else self.dates.texts(values)

    def code_of(self, number: float) -> float:
        """The code of a number of the domain; NaN where it is none."""
        return np.nan

    def unknown(self, values: NDArray[Any]) -> Bools:
        """Which values, missing ones apart, could not have been in the data."""
        raise NotImplementedError

    def expected(self) -> list[Any] | None:
        """The values that the column can have; None for any finite number."""
        return None

    def knows_all(self, categories: Any) -> bool:
        """Whether all categories of a dtype have codes, so that values need not be looked at."""
        return False

    # The table ------------------------------------------------------------------------------
    #
    # A table is built from columns that are levels or plain numbers, which have codes of their own.

    def field(self) -> Column:
        """The column as the table holds it: codes of numbers are the numbers."""
        return self

    def to_field(self, codes: Floats) -> Floats:
        """Codes of `field` from those of the column."""
        return codes

    def from_field(self, codes: Floats) -> Floats:
        """Codes of the column from those of `field`."""
        return codes

    def ends_in_field(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Intervals of codes as intervals of those of `field`."""
        return low, high

    def write(self, container: Any, index: int, codes: Floats) -> Any:
        """One column of a table, as the container writes what the codes of a field stand for."""
        raise NotImplementedError

    def slope(self, codes: Floats) -> Floats | float:
        """Change of the code of `field` from one code to the next."""
        return 1.0

    def operations(self) -> list[tuple[str, Any]] | None:
        """The arithmetic that makes codes of `field`, step by step, where it is that simple."""
        return [] if self.missing is None and self.dates is None else None

    def fraction(self) -> tuple[float, float, float] | None:
        """Step, offset and divisor, where ``(code * step + offset) / divisor`` is all there is."""
        return None

    # The domain -----------------------------------------------------------------------------

    @property
    def is_plain(self) -> bool:
        """Whether codes are the very numbers of the column."""
        return False

    @property
    def has_missing(self) -> bool:
        """Whether missing is a value of the domain."""
        return self.missing is not None and self.missing <= self.high

    @property
    def n_values(self) -> float:
        """How many values the domain has; infinite for a real column."""
        return self.high - self.low + 1

    @property
    def n_listed(self) -> int | None:
        """How many values are in the list that codes number; None where codes are an interval."""
        return None

    def grid(self) -> Floats:
        """Codes of the domain as a finite list: all of them, or one a step for a real column.

        Raises
        ------
        ValueError
            If the list would have more than a million codes.
        """
        self.check_listable(self.n_values)
        return np.arange(self.low, self.high + 1, dtype=np.float64)

    def check_listable(self, n: float) -> None:
        """See that so many codes are not too many to be listed."""
        if n > MAX_GRID:
            raise ValueError(
                f"Column {self.name!r} has {n:.0f} values from {self.low:g} to {self.high:g}; at "
                f"most {MAX_GRID} can be listed. Narrow its domain by "
                "InputSpace(bounds=...)."
            )

    def given_codes(self) -> Floats:
        """Codes of what the user gave as the domain: the two ends, or all values of a list."""
        return np.array([self.low, self.high])

    # Numbers, as constraints need them ------------------------------------------------------

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest number of the domain of a column of numbers."""
        low, high = self.take(np.array([self.low, min(self.high, self.top)]))
        return float(low), float(high)

    def is_numeric(self) -> bool:
        """Whether all values are numbers, missing ones aside."""
        return True

    def by_code(self) -> Floats | None:
        """The number of each code, where codes number a list; NaN for a missing one."""
        return None

    def ranks(self, order: NDArray[Any]) -> Floats | None:
        """The place of each code in an order of categories; None where codes are numbers."""
        return None

    def place(self, numbers: Floats) -> Floats:
        """Codes of numbers, roughly; not whole where the numbers are between two steps."""
        return numbers

    def known_codes(self, values: NDArray[Any], dtype: str | None) -> tuple[Floats, Bools]:
        """Codes of listed values, and which of them the column knows; NaN for a missing one.

        `dtype` is what the table rounds numbers to: of 0.1 in single precision another number.
        """
        raise NotImplementedError

    def zero_one(self) -> tuple[float, float] | None:
        """Codes of 0 and of 1; -1 for one that the column does not have, None for other columns."""
        raise NotImplementedError

    def domain_words(self) -> str:
        """The domain, for a warning of values that are not in it."""
        raise NotImplementedError

    # Groups ---------------------------------------------------------------------------------

    def for_rules(self, codes: Floats) -> tuple[Column, Floats]:
        """The column as rules of groups speak of it, and its codes: numbers by their values."""
        return self, codes

    # Words ----------------------------------------------------------------------------------

    @property
    def kind_in_words(self) -> str:
        """What the column is, in a table for people."""
        return self.kind if self.dates is None else self.dates.family

    def in_words(self) -> str:
        """The domain, in a table for people."""
        low, high = self.ends
        return f"{text_of(low)} to {text_of(high)}{', or missing' if self.has_missing else ''}"

    def _list_in_words(self) -> str:
        values = [text_of(value) for value in self.take(self.grid()).tolist()]
        if len(values) <= MOST_LISTED:
            return ", ".join(values)
        return f"{', '.join(values[: MOST_LISTED - 1])}, ... ({len(values)} values)"

    @property
    def distance(self) -> float:
        """Distance of neighbouring values; NaN where they are listed, or real."""
        return np.nan


class Categorical(Column):
    """Values of any kind; codes are their positions in a list.

    Attributes
    ----------
    levels : ndarray of object or float
        The values in the order of their codes; first the domain, then those that only the data
        hold.
    nan_is_missing : bool
        Whether an object column writes a missing value as NaN, not as None.
    """

    is_category = True

    def __init__(self, name: Any, n_domain: int, levels: NDArray[Any]) -> None:
        super().__init__(name, 0, n_domain - 1)
        self.levels = levels
        self.nan_is_missing = False
        self._lookup: Any = None

    @classmethod
    def of(cls, name: Any, domain: list[Any], *, missing: bool, facts: ColumnFacts) -> Categorical:
        """Values, maybe with a missing one, and behind them others that only the data hold."""
        if facts.step is not None:
            raise ValueError(
                f"steps= names column {name!r}, which is categorical: its step is the neighbouring "
                "category. Leave it out of steps=."
            )
        is_given, values = facts.categories is not None, facts.summary.distinct
        extra: list[Any] = []
        if is_given:
            known = set(domain)
            extra = [level for level in observed_levels(name, values, None) if level not in known]
        listed = [*domain, None, *extra] if missing else [*domain, *extra]
        column = cls(name, len(domain) + missing, _as_level_array(listed, values))
        column.given, column.nan_is_missing = is_given, facts.summary.nan_is_missing
        if missing:
            column.missing, column.top = float(len(domain)), float(len(domain) - 1)
        return column

    @classmethod
    def learn(cls, facts: ColumnFacts) -> Column | None:
        """A column of listed values, or one whose values are no numbers."""
        summary = facts.summary
        if facts.dates is not None:  # of which none is there
            some = int(facts.listed_dates[1])
            column = cls(facts.name, some, np.full(some, np.nan))
            column.dates, column.given = facts.dates, facts.categories is not None
            if some:
                column.missing, column.top = 0.0, -1.0
            return column
        if facts.categories is not None:
            wanted = [bool(pd.isna(level)) for level in facts.levels]
            domain = [v for v, gone in zip(facts.levels, wanted, strict=True) if not gone]
            return cls.of(facts.name, domain, missing=any(wanted), facts=facts)
        if facts.is_number:
            return None
        levels = observed_levels(facts.name, summary.distinct, facts.order)
        column = cls.of(facts.name, levels, missing=summary.any_missing, facts=facts)
        if summary.distinct.dtype.kind == "O":
            column.looks_like = what_texts_are(np.asarray(levels, dtype=object), summary.n_present)
        return column

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lookup": None}

    def _find(self, values: NDArray[Any]) -> Floats:
        # A column of names has as many levels as rows: to hash them takes longer than a batch.
        if self._lookup is None:
            self._lookup = pd.Index(self.levels)
        return np.asarray(self._lookup.get_indexer(values), dtype=np.float64)

    def encode(self, values: NDArray[Any]) -> Floats:
        """Codes of the values; an error names those that the column does not know."""
        gone = np.asarray(pd.isna(values), dtype=bool)
        codes = self._find(values)
        strange = (codes < 0) & ~gone
        if strange.any():
            raise ValueError(
                f"Column {self.name!r} has values that are not among its {len(self.levels)} known "
                f"ones: {shown(pd.unique(values[strange]))}. Add them by "
                "InputSpace(categories=...), or leave out those rows."
            )
        codes[gone] = np.nan if self.missing is None else self.missing
        return codes

    def take(self, codes: Floats) -> NDArray[Any]:
        """Values of the codes."""
        return self.padded_levels().take(self.positions(codes))

    def positions(self, codes: Floats) -> NDArray[np.intp]:
        """Places of the codes in `padded_levels`."""
        return np.where(np.isnan(codes), len(self.levels), codes).astype(np.intp)

    def padded_levels(self) -> NDArray[Any]:
        """The levels and one missing value behind them, which NaN codes point to."""
        # Encoders tell None from NaN, so a missing value goes back as it came.
        missing = np.nan if self.nan_is_missing or self.levels.dtype.kind == "f" else None
        pad = np.array([missing], dtype=self.levels.dtype)
        padded = np.concatenate([self.levels, pad])
        if self.missing is not None:
            padded[int(self.missing)] = missing
        return padded

    def write(self, container: Any, index: int, codes: Floats) -> Any:
        """One column of a table."""
        return container.levels_column(index, self, codes)

    def unknown(self, values: NDArray[Any]) -> Bools:
        """Which values are no levels."""
        return np.asarray(self._find(values) < 0)

    def expected(self) -> list[Any] | None:
        """The levels."""
        return [level for level in self.levels.tolist() if level is not None]

    def knows_all(self, categories: Any) -> bool:
        """Whether all categories of a dtype are levels."""
        return set(categories) <= set(self.levels)

    @property
    def n_listed(self) -> int | None:
        """How many levels there are."""
        return len(self.levels)

    def given_codes(self) -> Floats:
        """Codes of all values of the domain."""
        return self.grid()

    def is_numeric(self) -> bool:
        """Whether all levels are numbers."""
        present = self.levels[~np.asarray(pd.isna(self.levels), dtype=bool)]
        return all(isinstance(v, (int, float, np.number, np.bool_)) for v in present)

    def by_code(self) -> Floats | None:
        """The number of each level."""
        gone = np.asarray(pd.isna(self.levels), dtype=bool)
        values = np.full(len(self.levels), np.nan)
        values[~gone] = self.levels[~gone].astype(np.float64)
        return values

    def ranks(self, order: NDArray[Any]) -> Floats | None:
        """The place of each level in an order of categories; NaN for one that has none."""
        ranks = pd.Index(order).get_indexer(self.levels).astype(np.float64)
        return np.where(ranks < 0, np.nan, ranks)

    def known_codes(self, values: NDArray[Any], dtype: str | None) -> tuple[Floats, Bools]:
        """Codes of listed values, and which of them are levels."""
        gone = np.asarray(pd.isna(values), dtype=bool)
        codes = np.full(len(values), np.nan if self.missing is None else self.missing)
        found = self._find(pd.Index(values[~gone], dtype=object))
        codes[~gone] = found
        known = gone.copy()
        known[~gone] = found >= 0
        return codes, known

    def zero_one(self) -> tuple[float, float] | None:
        """Codes of 0 and 1, or of False and True."""
        present = [level for level in self.levels if not pd.isna(level)]
        if not all(level in (0, 1) for level in present):
            return None
        codes, known = self.known_codes(np.array([0, 1], dtype=object), None)
        if not known.all() and any(isinstance(v, (bool, np.bool_)) for v in present):
            codes, known = self.known_codes(np.array([False, True], dtype=object), None)
        zero, one = np.where(known, codes, -1.0).tolist()
        return zero, one

    def domain_words(self) -> str:
        """The first of the levels."""
        return f"one of {list(self.levels)[:10]!r}"

    def in_words(self) -> str:
        """The levels, or the first of them."""
        return self._list_in_words()


def text_of(value: Any) -> str:
    """A value in a table for people."""
    if isinstance(value, float):
        return "missing" if np.isnan(value) else f"{value:.6g}"
    return "missing" if value is None else str(value)


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
