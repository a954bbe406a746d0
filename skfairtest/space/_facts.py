"""Facts about a column from which its kind is found: its values and the user's settings."""

from __future__ import annotations

import numbers
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.space._dates import Dates
from skfairtest.space._identifiers import what_integers_are
from skfairtest.space._resolution import Fractions, knows_amounts, learn_grid
from skfairtest.space._summary import ColumnSummary


class ColumnFacts:
    """A summary of a column's values, the user's settings, and what follows from both.

    Parameters
    ----------
    name : str or int
        Name of the column.
    summary : ColumnSummary
        Its values.
    bounds : (low, high), default=None
        Its domain, of numbers.
    categories : iterable, default=None
        Its domain as a list.
    step : float, default=None
        Distance of neighbouring numbers.
    integral : bool, default=False
        Whether the container holds nothing but integers there.
    order : ndarray, default=None
        The levels' own order, where the container has one.
    dtype : str, default=None
        Name of the NumPy dtype that the container rounds numbers to.
    dates : Dates, default=None
        What the numbers stand for.

    Raises
    ------
    ValueError
        For settings that do not go with the values.
    """

    def __init__(
        self,
        name: Any,
        summary: ColumnSummary,
        *,
        bounds: Any = None,
        categories: Any = None,
        step: float | None = None,
        integral: bool = False,
        order: NDArray[Any] | None = None,
        dtype: str | None = None,
        dates: Dates | None = None,
    ) -> None:
        self.name, self.summary = name, summary
        self.bounds, self.categories, self.step = bounds, categories, step
        self.integral, self.order, self.dtype, self.dates = integral, order, dtype, dates
        self._check()

    def _check(self) -> None:
        """Check that the settings fit the values."""
        if self.dates is not None:
            for label, setting in (("bounds", self.bounds), ("steps", self.step)):
                if setting is not None:
                    raise ValueError(
                        f"{label}= names column {self.name!r}, which holds dates; its domain is "
                        "the values in X. List others in InputSpace(categories=...), "
                        f"or leave the column out of {label}=."
                    )
        elif self.categories is not None:
            if self.bounds is not None:
                raise ValueError(
                    f"Column {self.name!r} is in both bounds= and categories=; a column has one "
                    "kind of domain. Keep bounds= for a numeric column, categories= for one with "
                    "listed values."
                )
        elif self.holds_numbers:
            self._check_numbers()
        elif self.bounds is not None:
            raise ValueError(
                f"bounds= names column {self.name!r}, which is not numeric (values such as "
                f"{shown(self.summary.distinct)}); list its values in categories= instead."
            )

    def _check_numbers(self) -> None:
        present = self.summary.distinct
        if not np.isfinite(present).all():
            raise ValueError(
                f"Column {self.name!r} contains infinity (inf); an input domain has finite ends. "
                "Replace infinite values before fitting."
            )
        whole = bool((present == np.floor(present)).all())
        # Beyond this a float no longer holds every integer.
        if whole and len(present) and np.abs(present).max() > 2.0**53:
            raise ValueError(
                f"Column {self.name!r} holds integers beyond 2**53, which a float cannot tell "
                "apart. Drop it if it is an identifier, or divide it."
            )
        if self.bounds is not None:
            low, high = check_bounds(self.name, self.bounds)
            if self.integral and not (whole and low == np.floor(low) and high == np.floor(high)):
                raise ValueError(
                    f"bounds= of column {self.name!r} are ({low:g}, {high:g}), but the column "
                    "holds integers. Give whole numbers."
                )

    # Of any column --------------------------------------------------------------------------

    @property
    def holds_numbers(self) -> bool:
        """Whether the values are numbers."""
        return self.summary.distinct.dtype.kind == "f"

    @cached_property
    def levels(self) -> list[Any]:
        """The values that the user lists."""
        if isinstance(self.categories, str) or not hasattr(self.categories, "__iter__"):
            raise ValueError(
                f"categories= of column {self.name!r} must be a list of values; got "
                f"{self.categories!r}."
            )
        levels = list(self.categories)
        if not levels or len(pd.unique(pd.Series(levels, dtype=object))) < len(levels):
            raise ValueError(
                f"categories= of column {self.name!r} must be different values, at least one; got "
                f"{levels!r}."
            )
        return levels

    @cached_property
    def listed_dates(self) -> tuple[Floats, bool]:
        """The dates of the domain, from the data or the user, and whether missing is among them."""
        assert self.dates is not None
        if self.categories is None:
            return self.summary.distinct, self.summary.any_missing
        listed = self.dates.numbers(self.name, self.levels)
        return np.unique(listed[~np.isnan(listed)]), bool(np.isnan(listed).any())

    # Of a column of numbers -----------------------------------------------------------------

    @cached_property
    def is_number(self) -> bool:
        """Whether the domain consists of numbers: there are some, or the user gave bounds."""
        return (
            self.holds_numbers
            and self.dates is None
            and self.categories is None
            and (self.bounds is not None or len(self.summary.distinct) > 0)
        )

    @cached_property
    def whole(self) -> bool:
        """Whether the numbers, the bounds and the steps are whole."""
        some = (
            [self.summary.distinct] if self.bounds is None else [self.summary.distinct, self.ends]
        )
        whole = all(bool((own == np.floor(own)).all()) for own in some)
        if self.step is None:
            return whole
        # Whole numbers in a column of floats may get finer steps.
        whole = whole and (self.integral or _is_positive(self.step, whole=True))
        if not _is_positive(self.step, whole=whole):
            wanted = "a positive whole number" if whole else "a positive number"
            raise ValueError(f"steps= of column {self.name!r} must be {wanted}; got {self.step!r}.")
        return whole

    @cached_property
    def ends(self) -> Floats:
        """The smallest and the largest number of the domain."""
        if self.bounds is not None:
            return np.array(check_bounds(self.name, self.bounds))
        present = self.summary.distinct
        return np.array([present.min(), present.max()])

    @property
    def is_few(self) -> bool:
        """Whether the fractional numbers are so few that they are categories."""
        if self.bounds is not None or self.step is not None or self.whole:
            return False
        n_distinct = len(self.summary.distinct)
        # A column of fractional numbers with at most this many distinct values is categorical ...
        # ... if each of them stands for this many rows on average. A scaled 0/1 column is the usual
        # case.
        if n_distinct <= 10 and n_distinct * 10 <= self.summary.n_present:
            return True
        # Two values: the number, and missing.
        return n_distinct == 1 and self.summary.any_missing

    @cached_property
    def looks_like(self) -> str | None:
        """What the column looks like: an identifier if its whole numbers seem to number rows."""
        if not self.whole or self.bounds is not None or self.step is not None:
            return None
        return what_integers_are(self.name, self.summary)

    @cached_property
    def learned_grid(self) -> Fractions | None:
        """The steps of the numbers, if the data are evidence of some."""
        summary = self.summary
        distinct = summary.distinct
        if self.step is not None or len(distinct) < 2 or summary.has_no_steps:
            return None
        # The domain that the user gave must be on the grid.
        every = distinct if self.bounds is None else np.union1d(distinct, self.ends)
        return learn_grid(every, len(distinct), summary.n_present, self.whole, self.dtype)

    @property
    def knows_amounts(self) -> bool:
        """Whether no other numbers exist than those that occur."""
        summary = self.summary
        distinct = summary.distinct
        if self.step is not None or self.bounds is not None:
            return False
        if len(distinct) < 2 or summary.has_no_steps:
            return False
        if self.learned_grid is not None:
            low, high = self.learned_grid.place(distinct[[0, -1]])
            n_steps = high - low + 1
        else:
            n_steps = distinct[-1] - distinct[0] + 1 if self.whole else np.inf
        return knows_amounts(summary.counts, n_steps)


def check_bounds(name: Any, bounds: Any) -> tuple[float, float]:
    """Return bounds as a pair of finite numbers, the smaller one first."""
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


def _is_positive(step: Any, *, whole: bool) -> bool:
    valid = isinstance(step, numbers.Real) and 0 < float(step) < np.inf
    return valid and (not whole or float(step) == int(step))


def observed_levels(name: Any, present: NDArray[Any], order: NDArray[Any] | None) -> list[Any]:
    """Return the different values in their own order, or in that of the container."""
    try:
        levels = list(pd.unique(present))
    except TypeError as error:
        raise TypeError(
            f"Column {name!r}: argument must be a string or a number in every row; got "
            f"{shown(present)}."
        ) from error
    if order is not None:
        known = set(levels)
        return [level for level in order if level in known]
    try:
        return sorted(levels)
    except TypeError:  # strings beside numbers have no common order
        return sorted(levels, key=lambda level: (type(level).__name__, str(level)))


def shown(values: Any, most: int = 5) -> str:
    """Return the first of some values, as a message shows them."""
    listed = [repr(value) for value in list(values)[: most + 1]]
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")
