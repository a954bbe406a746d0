"""A column as the values that rules name, and the conditions over them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._rules.condition_text import MISSING, level_texts, name_text, range_text
from skfairtest.group._rules.cuts import cut_points, dividing, given_edges
from skfairtest.space._dates import Dates

Numbers = NDArray[np.int16]

#: A column of more categories than this is a text or a name; no rule over it says much.
MOST_CATEGORIES = 1_000
#: 2 ** 14 subsets of categories already are 16,000 conditions, and support prunes none of them
#: while one common value is among the chosen ones.
MAX_LEVELS = 14


class ColumnValues(NamedTuple):
    """The values of a column, as a table has them.

    Attributes
    ----------
    name : object
        Name of the column.
    values : ndarray of shape (n_rows,)
        Floats (NaN is missing), booleans or objects; places among the `levels` where these are
        known.
    dates : Dates or None
        What numbers stand for, in a column of dates.
    levels : ndarray or None
        Categories that the column can have.
    missing : int
        The place of the missing value among the levels; -1 for none.
    bounds : tuple of float or None
        Bounds of a domain of numbers, where it is known.
    order : ndarray or None
        Categories in the order of their dtype.
    """

    name: Any
    values: NDArray[Any]
    dates: Dates | None = None
    levels: NDArray[Any] | None = None
    missing: int = -1
    bounds: tuple[float, float] | None = None
    order: NDArray[Any] | None = None


class Division(NamedTuple):
    """How columns are divided into values and conditions.

    Attributes
    ----------
    bins : int or list of float
        Number of bins, or the edges between them.
    binning : {"quantile", "uniform", "quartiles"}
        Bins of equal numbers of rows, or of equal width.
    few : int or None
        A column of no more different numbers than this is not binned; None is the number of bins.
    sets : bool
        Whether conditions name runs of bins and sets of categories, in place of single values. A
        missing number is in none of them then.
    most : int
        Categories, at most.
    label : str
        Name of the parameter that holds the bins.
    every : bool
        Whether a column is divided that has one value: where groups are listed, it is one.
    """

    bins: Any
    binning: str
    few: int | None = None
    sets: bool = False
    most: int = MOST_CATEGORIES
    label: str = "bins"
    every: bool = False


class Attribute:
    """A column whose values are numbered from 0, and its conditions; immutable.

    The outermost bins are open: what lies beyond the data falls into them.

    Attributes
    ----------
    name : object
        Name of the column.
    levels : ndarray or None
        Categories, or the few numbers of a column that is not binned, the missing value among them.
    cuts : ndarray of float or None
        Where one bin ends and the next begins.
    dates : Dates or None
        What the numbers stand for, in a column of dates.
    missing : int
        The number for missing values, -1 where there were none.
    n_values : int
        How many values there are.
    members : ndarray of bool of shape (n_conditions, n_values)
        Which values each condition names.
    complexity : ndarray of int of shape (n_conditions,)
        How much there is to read of each: values of a set, bounds of a range.
    """

    dates: Dates | None

    def __init__(
        self,
        name: Any,
        levels: NDArray[Any] | None,
        cuts: Floats | None,
        missing: int,
        *,
        dates: Dates | None = None,
        sets: bool = False,
        coded: bool = False,
        whole: bool = False,
    ) -> None:
        self.name, self.levels, self.cuts, self.dates = name, levels, cuts, dates
        self.missing, self._coded, self._whole = missing, coded, whole
        self._condition_texts: dict[int, str] = {}
        if levels is not None:
            self.n_values = len(levels)
            known = self.n_values if coded or missing < 0 or not sets else self.n_values - 1
            self.members = _subsets(known, self.n_values) if sets else np.eye(len(levels)) > 0
            self.complexity = self.members.sum(axis=1)
            self._level_texts = level_texts(levels, missing, dates)
            return
        assert cuts is not None
        n_bins = len(cuts) + 1
        self.n_values = n_bins + (missing >= 0)
        if sets:
            low, high = np.triu_indices(n_bins)
            # The run of all bins says nothing of anybody.
            proper = high - low + 1 < n_bins
            low, high = low[proper], high[proper] + 1
        else:
            low = np.arange(self.n_values)
            high = low + 1
        places = np.arange(self.n_values)
        self._low, self._high = low, high
        self.members = (places >= low[:, None]) & (places < high[:, None])
        self.complexity = (low > 0).astype(np.intp) + (high < n_bins)
        self.complexity[low == n_bins] = 1  # that the number is missing

    @property
    def n_conditions(self) -> int:
        """How many conditions there are."""
        return len(self.members)

    def numbers(self, values: NDArray[Any]) -> Numbers:
        """Number of each value; -1 for one that is none of the attribute's."""
        gone = np.asarray(pd.isna(values), dtype=bool)
        if self.cuts is not None:
            found = np.searchsorted(self.cuts, self._as_floats(values), side="right")
        elif self._coded:
            found = np.where(gone, -1, values).astype(np.int16)
        else:
            levels: Any = self.levels
            if levels.dtype.kind == "f":
                values = self._as_floats(values)
            found = pd.Index(levels).get_indexer(values)
        # Few values, many rows: two bytes a row are felt where there are ten million.
        numbers = found.astype(np.int16)
        if gone.any():
            numbers[gone] = self.missing
        return numbers

    def _as_floats(self, values: NDArray[Any]) -> Floats:
        try:
            return values.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Column {self.name!r} held numbers in fit; got {values[:3].tolist()!r}. Give "
                "numbers."
            ) from error

    def values(self, condition: int) -> tuple[Any, ...] | pd.Interval:
        """What a condition names: categories (None is missing), or a range."""
        if self.levels is not None:
            held = np.flatnonzero(self.members[condition])
            levels: Any = self.levels[held]
            levels = levels if self.dates is None else self.dates.objects(levels)
            return tuple(
                None if j == self.missing else level for j, level in zip(held, levels, strict=True)
            )
        assert self.cuts is not None
        edges = [-np.inf, *self.cuts, np.inf]
        low, high = self._low[condition], self._high[condition]
        if low == len(self.cuts) + 1:
            return (None,)
        if self.dates is not None:
            return self.dates.interval(edges[low], edges[high])
        return pd.Interval(edges[low], edges[high], closed="left")

    def text(self, condition: int) -> str:
        """The condition as people write it; different ones have different texts."""
        if condition not in self._condition_texts:  # rules repeat them thousands of times
            self._condition_texts[condition] = self._write(condition)
        return self._condition_texts[condition]

    def _write(self, condition: int) -> str:
        name = name_text(self.name)
        if self.levels is not None:
            texts = [self._level_texts[j] for j in np.flatnonzero(self.members[condition])]
            one = len(texts) == 1
            return f"{name} = {texts[0]}" if one else f"{name} in {{{', '.join(texts)}}}"
        assert self.cuts is not None
        low, high = int(self._low[condition]), int(self._high[condition])
        if low == len(self.cuts) + 1:
            return f"{name} = {MISSING}"
        return range_text(self.name, self.cuts, low, high, self.dates, self._whole)


def _subsets(known: int, n_values: int) -> Bools:
    """All sets of some of the known values, but for the set of all of them."""
    masks = np.arange(1, 2**known - 1)
    return (masks[:, None] >> np.arange(n_values)) & 1 == 1


def divide_column(
    column: ColumnValues, how: Division, counts: Ints | None = None
) -> tuple[Attribute | None, Numbers]:
    """Divide a column; the attribute, and the number of each row's value.

    The attribute is None where all rows have the same value, or are in the same bin: no rule says
    anything of it.

    Parameters
    ----------
    column : ColumnValues
        The column.
    how : Division
        Into which values and conditions.
    counts : ndarray of int of shape (n_rows,), default=None
        How many rows of the data each stands for, where it is not one.

    Raises
    ------
    ValueError
        For more categories than rules can be about, infinite numbers, and edges that do not rise.
    TypeError
        For values that cannot be categories.
    """
    attribute = _attribute_of(column, how, counts)
    numbers = attribute.numbers(column.values)
    constant = attribute.cuts is not None and not len(attribute.cuts)
    constant |= not attribute.n_conditions or bool((numbers == numbers[:1]).all())
    return None if constant and not how.every else attribute, numbers


def _attribute_of(column: ColumnValues, how: Division, counts: Ints | None) -> Attribute:
    name, values = column.name, column.values
    if column.levels is None and values.dtype.kind == "f":
        gone = np.isnan(values)
        different, often = _different(values[~gone], None if counts is None else counts[~gone])
        if not np.isfinite(different).all():
            raise ValueError(
                f"Column {name!r} has infinite values, which no bin holds. Replace them, or mark "
                "them as missing."
            )
        has_missing = how.sets or bool(gone.any())
        few = how.bins if how.few is None else how.few
        if len(different) > 1 and (isinstance(how.bins, list) or len(different) > few):
            cuts = _cuts_of(column, how, different, often)
            return Attribute(
                name, None, cuts, len(cuts) + 1 if has_missing else -1, dates=column.dates,
                sets=how.sets, whole=bool((different == np.floor(different)).all()),
            )  # fmt: skip
        levels = np.append(different, np.nan) if has_missing else different
        missing = len(different) if has_missing else -1
        return Attribute(name, levels, None, missing, dates=column.dates, sets=how.sets)
    if column.levels is not None:
        check_number(name, len(column.levels), how)
        return Attribute(
            name, column.levels, None, column.missing, dates=column.dates, sets=how.sets,
            coded=True,
        )  # fmt: skip
    levels, has_missing = _levels_of(column)
    check_number(name, len(levels), how, len(values))
    missing = len(levels) if has_missing else -1
    if has_missing:
        levels = np.append(levels.astype(object), [None])
    return Attribute(name, levels, None, missing, dates=column.dates, sets=how.sets)


def _different(present: Floats, counts: Ints | None) -> tuple[Floats, Ints]:
    """The different numbers in rising order, and how many rows have each."""
    if counts is None:
        return np.unique(present, return_counts=True)
    different, place = np.unique(present, return_inverse=True)
    return different, np.bincount(place.ravel(), counts, len(different)).astype(np.intp)


def _cuts_of(column: ColumnValues, how: Division, different: Floats, often: Ints) -> Floats:
    if isinstance(how.bins, list):
        return dividing(given_edges(column.name, how.bins, how.label, column.dates), different)
    return cut_points(
        different, often, how.bins, how.binning, bounds=column.bounds, dates=column.dates
    )


def _levels_of(column: ColumnValues) -> tuple[NDArray[Any], bool]:
    """The categories that occur, in order, and whether some are missing."""
    try:
        codes, levels = pd.factorize(column.values)
    except TypeError as error:  # lists and the like
        raise TypeError(
            f"Column {column.name!r} holds values that cannot be categories ({error}); each "
            "argument must be a string or a number. Convert the column, or leave it out."
        ) from error
    levels = np.asarray(levels)
    if column.order is not None:
        known = {value: place for place, value in enumerate(np.asarray(column.order).tolist())}
        keys: Any = [known.get(value, len(known)) for value in levels.tolist()]
    else:
        keys = levels
    try:
        order = np.argsort(keys, kind="stable")
    except TypeError:  # of several types
        order = np.array(sorted(range(len(levels)), key=lambda j: repr(levels[j])), dtype=np.intp)
    return levels[order], bool((codes < 0).any())


def check_number(name: Any, n_levels: int, how: Division, n_rows: int | None = None) -> None:
    """Raise an error for more categories than conditions can be about."""
    if n_levels <= how.most:
        return
    if how.sets:
        raise ValueError(
            f"Sensitive column {name!r} has {n_levels} categories, which have "
            f"2**{n_levels} subsets; expected at most {how.most} categories. Merge categories "
            "or, if they have an order, pass them as numbers, so that they are binned."
        )
    of_rows = "" if n_rows is None else f" in {n_rows:,} rows"
    raise ValueError(
        f"Column {name!r} has {n_levels:,} different values{of_rows}; expected at most "
        f"{how.most:,} categories, because groups of few rows show nothing. Leave a column of "
        "names or texts out, or merge its values."
    )
