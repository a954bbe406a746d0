"""Summarize the values of a column, chunk by chunk and in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.space._containers import objects_as_numbers
from skfairtest.space._facts import shown
from skfairtest.space._resolution import MOST_AMOUNTS, Fractions, decimals_of, learn_grid
from skfairtest.space._summary import ColumnSummary

#: Different numbers of a column that are kept: more than the steps of a grid that may have gaps.
MOST_DISTINCT = 2**18
#: Different strings, or other objects, of a column.
MOST_LEVELS = 1_000_000


class NumbersSummarizer:
    """Collects the different numbers of a column, while they are few enough to matter.

    Parameters
    ----------
    dtype : str or None
        What the table rounds numbers to.
    """

    def __init__(self, dtype: str | None) -> None:
        self.dtype = dtype
        self.n_present = 0
        self.any_missing = False
        self._values: Floats = np.empty(0)
        self._counts: Ints = np.empty(0, dtype=np.int64)
        self._low, self._high = np.inf, -np.inf
        self._grid: Fractions | None = None
        self._is_full = self._has_no_steps = False
        self._is_settled = True

    def add(self, values: Floats) -> None:
        """Add some values.

        What no longer matters is only settled when there are more: a table in memory comes as one,
        and is described by all of its values.
        """
        if not self._is_settled:
            self._settle()
        gone = np.isnan(values)
        if gone.any():
            self.any_missing = True
            values = values[~gone]
        if not len(values):
            return
        self.n_present += len(values)
        self._low = min(self._low, float(values.min()))
        self._high = max(self._high, float(values.max()))
        if self._has_no_steps and np.isfinite(self._low) and np.isfinite(self._high):
            return
        different, counts = np.unique(values, return_counts=True)
        if self._is_full:
            # Those on the grid change nothing.
            off = np.ones(len(different), dtype=bool)
            if self._grid is not None:
                off = ~self._grid.holds(different)
            different, counts = different[off], counts[off]
        if not len(different):
            return
        self._is_settled = False
        if len(self._values):
            self._merge(different, counts)
        else:
            self._values, self._counts = different, counts

    def _merge(self, different: Floats, counts: Ints) -> None:
        place = np.searchsorted(self._values, different)
        known = np.zeros(len(different), dtype=bool)
        within = place < len(self._values)
        known[within] = self._values[place[within]] == different[within]
        self._counts[place[known]] += counts[known]
        new = ~known
        self._values = np.insert(self._values, place[new], different[new])
        self._counts = np.insert(self._counts, place[new], counts[new])

    def _settle(self) -> None:
        """Find out whether more values could still change the description."""
        self._is_settled = True
        values = self._values
        if not np.isfinite(values[[0, -1]]).all():
            return  # an error later on
        whole = bool((values == np.floor(values)).all())
        if len(values) > 2 * MOST_AMOUNTS and not whole:
            self._has_no_steps = decimals_of(values, self.dtype) is None
        if len(values) > MOST_DISTINCT and not self._has_no_steps:
            self._is_full = True
            self._grid = learn_grid(values, len(values), self.n_present, whole, self.dtype)
            self._has_no_steps = self._grid is None

    def summary(self) -> ColumnSummary:
        """Return what was seen."""
        values, counts = self._values, self._counts
        if len(values) and int(counts.sum()) != self.n_present:
            ends = np.setdiff1d([self._low, self._high], values)
            values = np.union1d(values, ends)
            counts = np.zeros(len(values), dtype=np.int64)
            counts[np.isin(values, ends, invert=True)] = self._counts
            # Those that were not counted one by one.
            counts[-1] += self.n_present - counts.sum()
        return ColumnSummary(
            values,
            counts,
            any_missing=self.any_missing,
            has_no_steps=self._has_no_steps,
        )


class ObjectsSummarizer:
    """Collects the different values of a column of strings, booleans or other objects."""

    def __init__(self, name: Any, holds_objects: bool) -> None:
        self.name = name
        self.holds_objects = holds_objects
        self.any_missing = self.nan_is_missing = False
        self.is_bool = True
        self._counts: dict[Any, int] = {}

    def add(self, values: NDArray[Any]) -> None:
        """Add some values."""
        if len(self._counts) > MOST_LEVELS:  # that one table held in memory, and more are to come
            raise self._too_many()
        is_first = not self._counts
        self.is_bool &= values.dtype.kind == "b"
        gone = np.asarray(pd.isna(values), dtype=bool)
        if gone.any() and not self.any_missing:
            self.any_missing = True
            self.nan_is_missing = isinstance(values[gone][0], float)
        try:
            codes, different = pd.factorize(values[~gone])
        except TypeError as error:
            raise TypeError(
                f"Column {self.name!r}: argument must be a string or a number in every row; got "
                f"{shown(values[~gone])}."
            ) from error
        counts = np.bincount(codes, minlength=len(different))
        for value, count in zip(list(different), counts.tolist(), strict=True):
            self._counts[value] = self._counts.get(value, 0) + count
        if not is_first and len(self._counts) > MOST_LEVELS:
            raise self._too_many()

    def _too_many(self) -> ValueError:
        return ValueError(
            f"Column {self.name!r} has more than {MOST_LEVELS} different values, which are too "
            "many for categories. Leave out what identifies rows."
        )

    def summary(self) -> ColumnSummary:
        """Return what was seen."""
        values = np.empty(len(self._counts), dtype=object)
        values[:] = list(self._counts)
        counts = np.array(list(self._counts.values()), dtype=np.int64)
        if self.is_bool and len(values):
            values = values.astype(bool)
        elif self.holds_objects:
            values = objects_as_numbers(values)
            if values.dtype.kind == "f":
                values, place = np.unique(values, return_inverse=True)
                counts = np.bincount(place, counts).astype(np.int64)
        return ColumnSummary(
            values,
            counts,
            any_missing=self.any_missing,
            nan_is_missing=self.nan_is_missing and values.dtype.kind == "O",
        )


def summarizer(
    name: Any, values: NDArray[Any], *, dtype: str | None = None, holds_objects: bool = False
) -> NumbersSummarizer | ObjectsSummarizer:
    """Return what sums up a column that begins with these values."""
    if values.dtype.kind == "f" and not holds_objects:
        return NumbersSummarizer(dtype)
    return ObjectsSummarizer(name, holds_objects)


def summarize(name: Any, values: NDArray[Any], **options: Any) -> ColumnSummary:
    """Return the summary of a column in memory."""
    column = summarizer(name, values, **options)
    column.add(values)
    return column.summary()
