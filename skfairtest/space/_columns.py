"""One column: its kind, its domain, and its encoded values.

An encoded value is a float. Each kind of column is a class that says what its encoded values mean:
the value itself, the position of the value in a list, the number of its step. Whatever they mean,
encoded values have a first and a last one and the length of a step, and are whole or not. Drawing,
clipping and stepping need no more, and are done for all columns at once (`InputSpace.draw`, `clip`,
`neighbours`).

Missing is a value of the domain where the column has missing values: its encoded value is above
those of all others. In other columns NaN is a missing value, which lies outside the domain.

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

#: Of the range of a real column with missing values, the share whose encoded values stand for
#: "missing": so many of uniform draws are. Moves of a search step in and out of it, as it is no
#: single point.
MISSING_SHARE = 0.1


class Column:
    """Kind and domain of one column; `describe_column` makes it, and nothing changes it.

    Parameters
    ----------
    name : str or int
        As the user knows it.
    low, high : float
        Ends of the closed domain of encoded values.
    step : float
        Length of one step, in encoded values.

    Attributes
    ----------
    kind : {"categorical", "integer", "real"}
        What people call it.
    discrete : bool
        Whether encoded values are whole.
    is_category : bool
        Whether the difference of two encoded values means nothing: a search that leaves a value
        goes to any other.
    is_open : bool
        Whether values that were not seen have encoded values as well, outside the domain or between
        two values of it.
    is_plain : bool
        Whether encoded values are the very numbers of the column.
    whole : bool
        Whether its values are whole numbers.
    rounds_to : str or None
        Name of the NumPy dtype that the table rounds encoded values to, where they are numbers.
    missing : float or None
        Encoded value of the missing value, the largest of the domain; None where missing is no
        value of it. Of a real column all encoded values beyond `largest_code` mean missing; this
        one is written.
    largest_code : float
        The largest encoded value of a number, in a column that has a missing value.
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
        self.largest_code = np.inf
        self.dates = None
        self.looks_like: str | None = None
        self.given = False

    def __repr__(self) -> str:
        what = self.dates or self.kind
        return f"Column({self.name!r}, {what}, {self.n_values:.0f} values)"

    @classmethod
    def learn(cls, facts: ColumnFacts) -> Column | None:
        """Return a column of this kind for these facts, or None if it is of another kind."""
        raise NotImplementedError

    # Values and encoded values --------------------------------------------------------------

    def encode(self, values: NDArray[Any]) -> Floats:
        """Encode the values; raise an error for unknown values.

        A number between two steps has an encoded value between theirs, which gives it but for its
        last bits.
        """
        raise NotImplementedError

    def take(self, encoded: Floats) -> NDArray[Any]:
        """Return the decoded values as an array: objects for strings, floats for numbers."""
        raise NotImplementedError

    def shown(self, encoded: Floats) -> NDArray[Any]:
        """Return the decoded values for display, with dates as dates."""
        values = self.take(encoded)
        return values if self.dates is None else self.dates.objects(values)

    def plain_values(self, encoded: Floats) -> list[Any]:
        """Return the decoded values for files, with dates as text."""
        values = self.take(encoded)
        return values.tolist() if self.dates is None else self.dates.texts(values)

    def encode_number(self, number: float) -> float:
        """Encode a number of the domain; NaN where it is none."""
        return np.nan

    def unknown(self, values: NDArray[Any]) -> Bools:
        """Return which values, except missing ones, cannot belong to the column."""
        raise NotImplementedError

    def expected(self) -> list[Any] | None:
        """Return the values that the column can have, or None if it can be any finite number."""
        return None

    def knows_all(self, categories: Any) -> bool:
        """Return whether all categories of a dtype can be encoded, so that values need no check."""
        return False

    # The table ------------------------------------------------------------------------------
    #
    # A table is built from columns that are levels or plain numbers, which have their own encoding.

    def field(self) -> Column:
        """Return the column as the table stores it, with numbers encoded as themselves."""
        return self

    def to_field(self, encoded: Floats) -> Floats:
        """Return the encoded values of `field` from those of the column."""
        return encoded

    def write(self, container: Any, index: int, encoded: Floats) -> Any:
        """Write one column of a table from encoded values of `field`."""
        raise NotImplementedError

    def slope(self, encoded: Floats) -> Floats | float:
        """Return the change of the value of `field` from one encoded value to the next."""
        return 1.0

    def fraction(self) -> tuple[float, float, float] | None:
        """Return step, offset and divisor if values are decoded by that arithmetic alone."""
        is_same = self.is_plain or type(self).to_field is Column.to_field
        return (1.0, 0.0, 1.0) if is_same else None

    # The domain -----------------------------------------------------------------------------

    @property
    def is_plain(self) -> bool:
        """Whether encoded values are the numbers of the column themselves."""
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
        """Number of values in the list that is numbered, or None if the domain is an interval."""
        return None

    def grid(self) -> Floats:
        """Return the encoded domain as a finite list; of a real column, one for each step.

        Raises
        ------
        ValueError
            If the list would have more than a million encoded values.
        """
        self.check_listable(self.n_values)
        return np.arange(self.low, self.high + 1, dtype=np.float64)

    def check_listable(self, n: float) -> None:
        """Check that there are not too many encoded values to be listed."""
        most = 1_000_000
        if n > most:
            raise ValueError(
                f"Column {self.name!r} has {n:.0f} values from {self.low:g} to {self.high:g}; at "
                f"most {most} can be listed. Narrow its domain by "
                "InputSpace(bounds=...)."
            )

    def given_encoded(self) -> Floats:
        """Return the encoded domain that the user gave: two ends, or a list of values."""
        return np.array([self.low, self.high])

    # Numbers, as constraints need them ------------------------------------------------------

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest number of the domain of a column of numbers."""
        low, high = self.take(np.array([self.low, min(self.high, self.largest_code)]))
        return float(low), float(high)

    def is_numeric(self) -> bool:
        """Return whether all values are numbers, missing ones aside."""
        return True

    def listed_numbers(self) -> Floats | None:
        """Return the listed numbers if encoded values are their positions; NaN means missing."""
        return None

    def ranks(self, order: NDArray[Any]) -> Floats | None:
        """Return the rank of each encoded value in an order of categories, or None for numbers."""
        return None

    def place(self, numbers: Floats) -> Floats:
        """Return approximate encoded values of numbers, which are not whole between two steps."""
        return numbers

    def encode_known(self, values: NDArray[Any], dtype: str | None) -> tuple[Floats, Bools]:
        """Encode listed values, and return which the column knows.

        `dtype` is what the table rounds numbers to: of 0.1 in single precision another number.
        """
        raise NotImplementedError

    def domain_words(self) -> str:
        """Return the domain in words, for a warning about values that are not in it."""
        raise NotImplementedError

    # Groups ---------------------------------------------------------------------------------

    def for_rules(self, encoded: Floats) -> tuple[Column, Floats]:
        """Return the column and its rows as rules of groups use them, with numbers by value."""
        return self, encoded

    # Words ----------------------------------------------------------------------------------

    @property
    def kind_in_words(self) -> str:
        """Kind of the column in words."""
        return self.kind if self.dates is None else self.dates.family

    def in_words(self) -> str:
        """Return the domain in words."""
        low, high = self.ends
        return f"{text_of(low)} to {text_of(high)}{', or missing' if self.has_missing else ''}"

    def _list_in_words(self) -> str:
        values = [text_of(value) for value in self.take(self.grid()).tolist()]
        if len(values) <= 6:
            return ", ".join(values)
        return f"{', '.join(values[:5])}, ... ({len(values)} values)"

    @property
    def distance(self) -> float:
        """Distance of neighbouring values; NaN if they are listed or real."""
        return np.nan


class Categorical(Column):
    """Column of listed values of any kind; an encoded value is a position in the list.

    Attributes
    ----------
    levels : ndarray of object or float
        The values in the order of their encoded values; first the domain, then those that only the
        data hold.
    nan_is_missing : bool
        Whether an object column writes a missing value as NaN, not as None.
    """

    is_category = True

    def __init__(self, name: Any, n_domain: int, levels: NDArray[Any]) -> None:
        super().__init__(name, 0, n_domain - 1)
        self.levels = levels
        self.nan_is_missing = False
        self._lookup: Any = None
        self._typed: Any = None

    @classmethod
    def of(cls, name: Any, domain: list[Any], *, missing: bool, facts: ColumnFacts) -> Categorical:
        """Make a column of values, with missing if needed; values of the data only come last."""
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
            column.missing, column.largest_code = float(len(domain)), float(len(domain) - 1)
        return column

    @classmethod
    def learn(cls, facts: ColumnFacts) -> Column | None:
        """Return a column of listed values, or of values that are not numbers."""
        summary = facts.summary
        if facts.dates is not None:  # of which none is there
            some = int(facts.listed_dates[1])
            column = cls(facts.name, some, np.full(some, np.nan))
            column.dates, column.given = facts.dates, facts.categories is not None
            if some:
                column.missing, column.largest_code = 0.0, -1.0
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
        return {**self.__dict__, "_lookup": None, "_typed": None}

    def _find(self, values: NDArray[Any]) -> Floats:
        # A column of names has as many levels as rows: to hash them takes longer than a batch.
        if self._lookup is None:
            self._lookup = pd.Index(self.levels)
        if values.dtype.kind == "b":  # many, so without objects
            both = self._lookup.get_indexer(np.array([False, True], dtype=object))
            return np.asarray(both, dtype=np.float64)[values.astype(np.intp)]
        return np.asarray(self._lookup.get_indexer(values), dtype=np.float64)

    def encode(self, values: NDArray[Any]) -> Floats:
        """Encode the values; raise an error for unknown values."""
        gone = np.asarray(pd.isna(values), dtype=bool)
        encoded = self._find(values)
        strange = (encoded < 0) & ~gone
        if strange.any():
            raise ValueError(
                f"Column {self.name!r} has values that are not among its {len(self.levels)} known "
                f"ones: {shown(pd.unique(values[strange]))}. Add them by "
                "InputSpace(categories=...), or leave out those rows."
            )
        encoded[gone] = np.nan if self.missing is None else self.missing
        return encoded

    def take(self, encoded: Floats) -> NDArray[Any]:
        """Return the decoded values."""
        return self.padded_levels().take(self.positions(encoded))

    def positions(self, encoded: Floats) -> NDArray[np.intp]:
        """Return the positions of the encoded values in `padded_levels`."""
        return np.where(np.isnan(encoded), len(self.levels), encoded).astype(np.intp)

    def typed_levels(self, dtype: Any) -> Any:
        """Return `padded_levels` as a pandas array of the dtype, which is made once."""
        if self._typed is None or self._typed.dtype != dtype:
            self._typed = pd.array(list(self.padded_levels()), dtype=dtype)
        return self._typed

    def padded_levels(self) -> NDArray[Any]:
        """The levels followed by one missing value, to which encoded NaN point."""
        # Encoders tell None from NaN, so a missing value goes back as it came.
        missing = np.nan if self.nan_is_missing or self.levels.dtype.kind == "f" else None
        pad = np.array([missing], dtype=self.levels.dtype)
        padded = np.concatenate([self.levels, pad])
        if self.missing is not None:
            padded[int(self.missing)] = missing
        return padded

    def write(self, container: Any, index: int, encoded: Floats) -> Any:
        """Return one column of a table."""
        return container.levels_column(index, self, encoded)

    def unknown(self, values: NDArray[Any]) -> Bools:
        """Return which values are no levels."""
        return np.asarray(self._find(values) < 0)

    def expected(self) -> list[Any] | None:
        """Return the levels."""
        return [level for level in self.levels.tolist() if level is not None]

    def knows_all(self, categories: Any) -> bool:
        """Return whether all categories of a dtype are levels."""
        return set(categories) <= set(self.levels)

    @property
    def n_listed(self) -> int | None:
        """How many levels there are."""
        return len(self.levels)

    def given_encoded(self) -> Floats:
        """Return the encoded domain."""
        return self.grid()

    def is_numeric(self) -> bool:
        """Return whether all levels are numbers."""
        present = self.levels[~np.asarray(pd.isna(self.levels), dtype=bool)]
        return all(isinstance(v, (int, float, np.number, np.bool_)) for v in present)

    def listed_numbers(self) -> Floats | None:
        """Return the number of each level."""
        gone = np.asarray(pd.isna(self.levels), dtype=bool)
        values = np.full(len(self.levels), np.nan)
        values[~gone] = self.levels[~gone].astype(np.float64)
        return values

    def ranks(self, order: NDArray[Any]) -> Floats | None:
        """Return the place of each level in an order of categories; NaN for one that has none."""
        ranks = pd.Index(order).get_indexer(self.levels).astype(np.float64)
        return np.where(ranks < 0, np.nan, ranks)

    def encode_known(self, values: NDArray[Any], dtype: str | None) -> tuple[Floats, Bools]:
        """Encode listed values, and return which are levels."""
        gone = np.asarray(pd.isna(values), dtype=bool)
        encoded = np.full(len(values), np.nan if self.missing is None else self.missing)
        found = self._find(pd.Index(values[~gone], dtype=object))
        encoded[~gone] = found
        known = gone.copy()
        known[~gone] = found >= 0
        return encoded, known

    def domain_words(self) -> str:
        """Return the first of the levels."""
        return f"one of {list(self.levels)[:10]!r}"

    def in_words(self) -> str:
        """Return the levels, or the first of them."""
        return self._list_in_words()


def text_of(value: Any) -> str:
    """Return a value as text for a table."""
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
