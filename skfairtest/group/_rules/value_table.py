"""A table as the values that patterns name: a category, a bin of numbers, or that it is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.group._rules.run_attribute import (
    MISSING,
    bins_of,
    given_edges,
    level_texts,
    name_text,
    range_text,
    rounded_cuts,
    seen_cuts,
)
from skfairtest.group._rules.sensitive_table import new_rows
from skfairtest.space._column_names import by_position, position_of, resolve_columns
from skfairtest.space._containers import Container, make_container
from skfairtest.space._dates import Dates
from skfairtest.space._protected_names import protected_names
from skfairtest.space._sensitive_features import n_rows

Values = NDArray[np.int16]

#: A column of more categories than this is a text or a name; no pattern over it says much.
MOST_CATEGORIES = 1_000


class ValueAttribute:
    """An attribute whose values are numbered from 0, as patterns need it; immutable.

    Attributes
    ----------
    name : str or int
        Name of the column.
    levels : ndarray of object, or None
        Categories, or the few numbers of a column that is not binned.
    dates : Dates or None
        What the numbers stand for, in a column of dates.
    cuts : ndarray of float, or None
        Where one bin ends and the next begins.
    missing : int
        The number for missing values, -1 where there were none.
    n_values : int
        How many values there are.
    """

    dates: Dates | None

    def __init__(
        self,
        name: Any,
        levels: NDArray[Any] | None,
        cuts: Floats | None,
        has_missing: bool,
        dates: Dates | None = None,
    ) -> None:
        self.name, self.dates = name, dates
        self.levels = levels
        self.cuts = cuts
        known = len(levels) if levels is not None else len(self._edges) + 1
        self.missing = known if has_missing else -1
        self.n_values = known + has_missing
        texts = [] if levels is None else level_texts(levels, -1, dates)
        #: Conditions in words: rules repeat them thousands of times.
        self._words = [self._say(number, texts) for number in range(self.n_values)]

    @property
    def _edges(self) -> Floats:
        assert self.cuts is not None
        return self.cuts

    def numbers(self, values: NDArray[Any]) -> Values:
        """Number of each value; -1 for one that fit has not seen."""
        gone = np.asarray(pd.isna(values), dtype=bool)
        if self.cuts is not None:
            found = np.searchsorted(self.cuts, self._as_floats(values), side="right")
        else:
            levels: Any = self.levels
            if levels.dtype.kind == "f":
                values = self._as_floats(values)
            found = pd.Index(levels).get_indexer(values)
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

    def values(self, number: int) -> tuple[Any, ...] | pd.Interval:
        """What the number stands for: a category (None is missing), or a range."""
        if number == self.missing:
            return (None,)
        if self.levels is not None:
            levels = self.levels[[number]]
            return tuple(levels if self.dates is None else self.dates.objects(levels))
        ends = [-np.inf, *self._edges, np.inf]
        if self.dates is not None:
            return self.dates.interval(ends[number], ends[number + 1])
        return pd.Interval(ends[number], ends[number + 1], closed="left")

    def words(self, number: int) -> str:
        """The condition as people write it; different ones have different words."""
        return self._words[number]

    def _say(self, number: int, texts: list[str]) -> str:
        if number == self.missing:
            return f"{name_text(self.name)} = {MISSING}"
        if self.levels is not None:
            return f"{name_text(self.name)} = {texts[number]}"
        return range_text(self.name, self._edges, number, number + 1, self.dates)

    @property
    def complexity(self) -> NDArray[np.intp]:
        """How much there is to read, value by value: the bounds of a bin."""
        read = np.ones(self.n_values, dtype=np.intp)
        if self.cuts is not None:
            read[1 : len(self.cuts)] = 2
        return read


def read_attribute(
    name: Any, values: NDArray[Any], bins: Any, binning: str, dates: Dates | None = None
) -> tuple[ValueAttribute, Values]:
    """Divide a column; the attribute, and the number of each row's value.

    Parameters
    ----------
    name : str or int
        Name of the column.
    values : ndarray of shape (n_rows,)
        Floats, booleans or objects.
    bins : int or list of float
        Number of bins, or the edges between them.
    binning : {"quantile", "uniform"}
        Bins of equal numbers of rows, or of equal width.
    dates : Dates, default=None
        What the numbers stand for, in a column of dates.

    Raises
    ------
    ValueError
        For more categories than rules can be about, and for infinite numbers.
    """
    if values.dtype.kind == "f":
        present = values[~np.isnan(values)]
        if not np.isfinite(present).all():
            raise ValueError(
                f"Column {name!r} has infinite values, which no bin holds. Replace them, or mark "
                "them as missing."
            )
        if isinstance(bins, list) or len(pd.unique(present)) > bins:
            cuts = _cuts(name, present, bins, binning, dates)
            attribute = ValueAttribute(name, None, cuts, len(present) < len(values), dates)
            return attribute, attribute.numbers(values)
    try:
        codes, levels = pd.factorize(values)
    except TypeError as error:  # lists and the like
        raise TypeError(
            f"Column {name!r} holds values that cannot be categories ({error}); each argument must "
            "be a string or a number. Convert the column, or leave it out of attributes=."
        ) from error
    levels = np.asarray(levels)
    if len(levels) > MOST_CATEGORIES:
        raise ValueError(
            f"Column {name!r} has {len(levels):,} different values in {len(values):,} rows; "
            f"expected at most {MOST_CATEGORIES:,} categories. Leave a column of names or texts "
            "out of attributes=, or merge its values."
        )
    try:
        order = np.argsort(levels, kind="stable")
    except TypeError:  # of several types
        order = np.array(sorted(range(len(levels)), key=lambda j: repr(levels[j])), dtype=np.intp)
    attribute = ValueAttribute(name, levels[order], None, bool((codes < 0).any()), dates)
    number = np.full(len(levels) + 1, attribute.missing, dtype=np.int16)
    number[order] = np.arange(len(levels))
    return attribute, number[codes]  # the code of a missing value is -1, the last place


def _cuts(
    name: Any, present: Floats, bins: Any, binning: str, dates: Dates | None = None
) -> Floats:
    if isinstance(bins, list):
        cuts = given_edges(name, bins, "bins", dates)
    else:
        cuts = _cuts_between(present, bins, binning)
        if dates is not None and len(present):
            cuts = seen_cuts(cuts, present)
    if len(present):
        # Edges beyond the data bound bins that are empty: what is left out divides nobody.
        cuts = cuts[(cuts > present.min()) & (cuts <= present.max())]
    return cuts


def _cuts_between(present: Floats, bins: int, binning: str) -> Floats:
    if binning == "uniform":
        cuts = np.linspace(present.min(), present.max(), bins + 1)[1:-1]
    else:
        cuts = np.quantile(present, np.arange(1, bins) / bins)
        # Where most rows have the least value (often 0), it is a bin by itself.
        lowest = present.min()
        if (cuts <= lowest).any():
            cuts = np.append(cuts[cuts > lowest], present[present > lowest].min())
    if (present == np.floor(present)).all():
        cuts = np.ceil(cuts - 1e-9)  # the same bins, in the numbers that occur
    return rounded_cuts(cuts)


class ValueTables:
    """The attributes that patterns name, of the table and of the columns beside it.

    Attributes
    ----------
    container, beside : Container
        What is known of the two tables; None for no table beside.
    attributes : list of ValueAttribute
        Those of the table first.
    """

    container: Container
    beside: Container | None
    attributes: list[ValueAttribute]

    def __init__(self, X: Any, sensitive: Any, attributes: Any, beside: Any) -> None:
        self.container = make_container(X)
        self.beside = None if beside is None else make_container(beside)
        taken = [] if self.beside is None else list(self.beside.names)
        names = [*taken, *self.container.names]
        self.sensitive = _sensitive_names(self.container.names, sensitive, taken, attributes)
        if attributes is None:
            wanted = self.sensitive
        elif isinstance(attributes, str) and attributes == "all":
            wanted = names
        else:
            wanted = _named(names, self.container.names, attributes)
        self.is_all = isinstance(attributes, str) and attributes == "all"
        #: Positions in the two tables.
        self.inputs = [j for j, name in enumerate(self.container.names) if name in wanted]
        self.others = [j for j, n in enumerate(taken) if n in wanted]
        self.attributes = []

    @property
    def names(self) -> list[Any]:
        """Names of the attributes."""
        return [attribute.name for attribute in self.attributes]

    def divide(self, X: Any, beside: Any, bins: Any, binning: str) -> list[Values]:
        """Make the attributes, and return the numbers of the rows' values, an array each."""
        names = [self.container.names[j] for j in self.inputs]
        names += [] if self.beside is None else [self.beside.names[j] for j in self.others]
        if isinstance(bins, dict):
            by_position(names, bins, "bins")
        numbers = []
        for container, table, positions in self._parts(X, beside):
            kept = []
            for j in positions:
                name = container.names[j]
                values = container.column_values(table, j)
                wish = bins_of(name, j, bins, "bins", 5)
                attribute, here = read_attribute(name, values, wish, binning, container.dates_of(j))
                if attribute.n_values < 2:
                    if self.is_all:  # says nothing of anybody
                        continue
                    raise ValueError(
                        f"Column {name!r} has only one value (n_samples={len(values)}), so no "
                        "rule over it divides the rows. Pass rows with other values, or leave "
                        "it out."
                    )
                kept.append(j)
                self.attributes.append(attribute)
                numbers.append(here)
            positions[:] = kept
        if not numbers:
            raise ValueError(
                f"No column of X has more than one value (n_samples={n_rows(X)}), so no rule "
                "divides the rows. Pass rows that differ."
            )
        return numbers

    def _parts(self, X: Any, beside: Any) -> list[tuple[Container, Any, list[int]]]:
        parts = [(self.container, X, self.inputs)]
        if self.beside is not None:
            parts.append((self.beside, beside, self.others))
        return parts

    def numbers(self, X: Any, sensitive_features: Any) -> list[Values]:
        """Numbers of the values of new rows, an array an attribute."""
        X, beside = new_rows(X, sensitive_features, self.container, self.beside)
        found: list[Values] = []
        for container, table, positions in self._parts(X, beside):
            for j in positions:
                values = container.column_values(table, j)
                found.append(self.attributes[len(found)].numbers(values))
        return found


def _sensitive_names(names: list[Any], wanted: Any, taken: list[Any], attributes: Any) -> list[Any]:
    """Names of the sensitive columns, those beside the table among them."""
    if isinstance(wanted, str) and wanted == "auto":
        found = protected_names(names)
        if not found and not taken and attributes is None:
            raise ValueError(
                "sensitive_features='auto' found no column with the name of a common protected "
                f"attribute (sex, race, age, ...) among {names!r}. Name the columns that "
                "describe groups by sensitive_features=[...] or attributes='all', or pass "
                "columns that are not in X to fit."
            )
    elif wanted is None:
        found = []
        if not taken and attributes is None:
            raise ValueError(
                "sensitive_features must be 'auto', a column or a list of columns if attributes "
                "is None; got None."
            )
    else:
        found = [names[j] for j in resolve_columns(names, wanted)]
    return [*found, *taken]


def _named(names: list[Any], of_table: list[Any], attributes: Any) -> list[Any]:
    if isinstance(attributes, (str, int, np.integer)):
        attributes = [attributes]
    wanted = []
    for name in attributes:
        position = None if name in names else position_of(of_table, name)
        if name not in names and position is None:
            raise ValueError(
                f"attributes names {name!r}, which is not a column. Expected None, 'all', or names "
                f"or positions of columns among {names!r}."
            )
        wanted.append(name if position is None else of_table[position])
    if not wanted:
        raise ValueError("attributes is empty; pass at least one column, or 'all'.")
    return wanted
