"""A sensitive attribute as cells (categories or bins), and every rule over them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.space._columns import Column
from skfairtest.space._dates import Dates
from skfairtest.space._kinds import describe_column
from skfairtest.space._summarize import summarize

#: A categorical attribute of more values has too many subsets to look at: 2 ** 14 already are
#: 16,000 rules, and support prunes none of them while one common value is among the chosen ones.
MAX_LEVELS = 14
#: Likewise a run may begin and end at any of so many bins.
MAX_BINS = 200
#: What a rule calls a missing value; what may not stand in an unquoted name or level.
MISSING = "missing"
SYMBOLS = frozenset('{}",=<>\\')
JOINS = frozenset(("and", "in"))
#: Cut points are rounded to what the rule's words show, so that the words mean what is counted.
DIGITS = 10


class RuleAttribute:
    """Cells of a sensitive attribute (categories or bins) and its rules; immutable.

    Cells are numbered from 0; `n_cells` itself is the number of the cell for missing numbers, which
    no rule contains. The outermost bins are open: what lies beyond the data falls into them.

    Attributes
    ----------
    column : Column
        The column, which knows the values and their codes.
    cuts : ndarray of shape (n_cells - 1,) or None
        Where one bin ends and the next begins; None for a categorical attribute.
    members : ndarray of bool of shape (n_rules, n_cells)
        Which cells each rule contains.
    low, high : ndarray of int of shape (n_rules,)
        First cell of each run and the one after its last; empty for a categorical attribute.
    complexity : ndarray of int of shape (n_rules,)
        How much there is to read: bounds of a run, values of a subset.
    """

    #: The levels of a categorical attribute in words.
    texts: list[str]

    def __init__(self, column: Column, cuts: Floats | None) -> None:
        self.column = column
        self.cuts = cuts
        if cuts is None:
            self.n_cells = column.n_listed or 0
            masks = np.arange(1, 2**self.n_cells - 1)
            self.members = (masks[:, None] >> np.arange(self.n_cells)) & 1 == 1
            self.low = self.high = np.empty(0, dtype=np.intp)
            self.complexity = self.members.sum(axis=1)
            self.texts = level_texts(
                column.take(np.arange(self.n_cells, dtype=np.float64)), column.missing, column.dates
            )
            return
        self.n_cells = len(cuts) + 1
        low, high = np.triu_indices(self.n_cells)
        # The run of all bins says nothing of anybody.
        proper = high - low + 1 < self.n_cells
        self.low, self.high = low[proper], high[proper] + 1
        cells = np.arange(self.n_cells)
        self.members = (cells >= self.low[:, None]) & (cells < self.high[:, None])
        self.complexity = (self.low > 0).astype(np.intp) + (self.high < self.n_cells)

    @property
    def name(self) -> Any:
        """Name of the column."""
        return self.column.name

    @property
    def n_rules(self) -> int:
        """How many rules the attribute has."""
        return len(self.members)

    def cells(self, codes: Floats) -> Ints:
        """The cell of each code, shape (n,)."""
        missing = np.isnan(codes)
        if self.cuts is None:
            return np.where(missing, self.n_cells, codes).astype(np.intp)
        return np.where(missing, self.n_cells, np.searchsorted(self.cuts, codes, side="right"))

    def expand(self, table: NDArray[Any]) -> NDArray[Any]:
        """Sums over the cells of each rule: (n_cells, n) becomes (n_rules, n).

        A run is the difference of two cumulative sums, whatever its length.
        """
        if self.cuts is None:
            return self.members.astype(table.dtype) @ table
        sums = self._cumulative(table)
        expanded = sums[self.high]
        expanded -= sums[self.low]
        return expanded

    def pick(self, table: NDArray[Any], rules: Ints, columns: Ints) -> NDArray[Any]:
        """The entries (rules, columns) of the expanded table, without the others if they are few.

        Both ways give the same numbers; which is cheaper depends on how many are wanted.
        """
        if 4 * len(rules) > self.n_rules * table.shape[1]:
            return self.expand(table)[rules, columns]
        if self.cuts is None:
            held = self.members[rules].T
            return np.where(held, table[:, columns], 0).sum(axis=0, dtype=table.dtype)
        sums = self._cumulative(table)
        return sums[self.high[rules], columns] - sums[self.low[rules], columns]

    def _cumulative(self, table: NDArray[Any]) -> NDArray[Any]:
        sums = np.zeros((self.n_cells + 1, table.shape[1]), dtype=table.dtype)
        np.cumsum(table, axis=0, out=sums[1:])
        return sums

    def values(self, rule: int) -> tuple[Any, ...] | pd.Interval:
        """The values that the rule holds for: categories (None is missing), or a range."""
        if self.cuts is None:
            held = np.flatnonzero(self.members[rule])
            missing = self.column.missing
            levels = self.column.shown(np.arange(self.n_cells, dtype=np.float64))
            return tuple(None if j == missing else levels[j] for j in held)
        cuts, dates = [-np.inf, *self.cuts, np.inf], self.column.dates
        if dates is not None:
            return dates.interval(cuts[self.low[rule]], cuts[self.high[rule]])
        return pd.Interval(cuts[self.low[rule]], cuts[self.high[rule]], closed="left")

    def words(self, rule: int) -> str:
        """The rule as people write it; different rules have different words."""
        if self.cuts is None:
            name = name_text(self.name)
            texts = [self.texts[j] for j in np.flatnonzero(self.members[rule])]
            return (
                f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in {{{', '.join(texts)}}}"
            )
        ends = self.low[rule], self.high[rule]
        return range_text(self.name, self.cuts, *ends, self.column.dates)


def range_text(name: Any, cuts: Floats, first: int, last: int, dates: Dates | None = None) -> str:
    """The run of bins from `first` to before `last` in words; the outermost ones are open."""
    name = name_text(name)
    texts = [_text(cut) for cut in cuts] if dates is None else dates.texts(cuts)
    if first == 0:
        return f"{name} < {texts[last - 1]}"
    if last == len(cuts) + 1:
        return f"{name} >= {texts[first - 1]}"
    return f"{texts[first - 1]} <= {name} < {texts[last - 1]}"


def _text(value: Any) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def quoted(text: str) -> str:
    """A string in double quotes, as in JSON."""
    return json.dumps(text, ensure_ascii=False)


def name_text(name: Any) -> str:
    """The name of a column, quoted where it would read as a part of the rule."""
    return quoted(name) if isinstance(name, str) and not _is_plain(name) else str(name)


def level_texts(
    levels: NDArray[Any], missing: float | None, dates: Dates | None = None
) -> list[str]:
    """The levels of a column in words, no two of them alike.

    Strings are quoted where they would read as something else: as a number, as the missing value,
    or as several levels.
    """
    if dates is not None:
        return dates.texts(levels)
    texts = []
    for j, level in enumerate(levels):
        if j == missing:
            texts.append(MISSING)
        elif isinstance(level, str):
            texts.append(level if _is_plain(level) and not _is_value(level) else quoted(level))
        else:
            texts.append(_text(level))
    twice = {text for text in texts if texts.count(text) > 1}
    texts = [
        repr(level) if text in twice else text for text, level in zip(texts, levels, strict=True)
    ]
    # Objects of which even that does not tell which is which.
    twice = {text for text in texts if texts.count(text) > 1}
    return [f"{text} (#{j})" if text in twice else text for j, text in enumerate(texts)]


def _is_plain(text: str) -> bool:
    """Whether a string cannot be taken for a part of the rule around it."""
    reserved = SYMBOLS & set(text) or JOINS & set(text.split())
    return bool(text) and text == text.strip() and text.isprintable() and not reserved


def _is_value(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in (MISSING, "True", "False", "None")
    return True


def make_attribute(column: Column, codes: Floats, bins: Any, binning: str) -> RuleAttribute:
    """Divide one sensitive column into cells.

    Parameters
    ----------
    column : Column
        The column.
    codes : ndarray of shape (n_rows,)
        Its codes in the data.
    bins : int or list of float
        Number of bins, or the edges between them.
    binning : {"uniform", "quantile"}
        Bins of equal width, or of equal numbers of rows.

    Returns
    -------
    RuleAttribute
        Cells and rules.

    Raises
    ------
    ValueError
        If the column has one value only, or too many for every rule to be looked at.
    """
    present = np.unique(codes[~np.isnan(codes)])
    if len(present) < 2:
        raise ValueError(
            f"Sensitive column {column.name!r} has only one value (n_samples={len(codes)}), so "
            "no rule over it divides the rows. Pass rows with other values, or leave it out."
        )
    if not column.is_category and len(present) == 2 and not isinstance(bins, list):
        # Two numbers are a yes and a no: "sex = 1" says more than "sex >= 1".
        summary, dates = summarize(column.name, present), column.dates
        column = describe_column(column.name, summary, categories=list(present))
        column.dates = dates
    if column.is_category:
        return _categorical(column)
    if isinstance(bins, list):
        cuts = given_edges(column.name, bins, "n_bins", column.dates)
    else:
        cuts = _cuts(column, codes, bins, binning)
        if column.dates is not None:
            cuts = seen_cuts(cuts, present)
    # Edges beyond the data bound bins that are empty: what is left out divides nobody.
    cuts = cuts[(cuts > present[0]) & (cuts <= present[-1])]
    if not len(cuts):
        raise ValueError(
            f"The edges of column {column.name!r} leave only one bin, between {present[0]:g} and "
            f"{present[-1]:g}. Pass an edge in between in n_bins=, or a larger number of bins."
        )
    return RuleAttribute(column, cuts)


def _categorical(column: Column) -> RuleAttribute:
    n_levels = column.n_listed or 0
    if n_levels > MAX_LEVELS:
        raise ValueError(
            f"Sensitive column {column.name!r} has {n_levels} categories, which have "
            f"2**{n_levels} subsets; expected at most {MAX_LEVELS} categories. Merge categories "
            "or, if they have an order, pass them as numbers, so that they are binned."
        )
    return RuleAttribute(column, None)


def recode(attribute: RuleAttribute, source: Column, codes: Floats) -> Floats:
    """Codes of the column in the table as codes of the attribute's own column."""
    if source is attribute.column or source.is_category:
        return codes
    return attribute.column.encode(codes)


def _cuts(column: Column, codes: Floats, bins: int, binning: str) -> Floats:
    if binning == "quantile":
        present = codes[~np.isnan(codes)]
        cuts = np.quantile(present, np.arange(1, bins) / bins)
    else:
        cuts = np.linspace(column.low, column.high, bins + 1)[1:-1]
    if column.whole:
        cuts = np.ceil(cuts - 1e-9)  # the same bins, in the numbers that occur
    return rounded_cuts(cuts)


def given_edges(name: Any, edges: list[Any], label: str, dates: Dates | None = None) -> Floats:
    """Return the edges between bins as the user wrote them, or raise an error."""
    if dates is not None:
        edges = dates.numbers(name, edges).tolist()
    try:
        values = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if (
        values.ndim != 1
        or not len(values)
        or np.isnan(values).any()
        or (np.diff(values) <= 0).any()
    ):
        raise ValueError(
            f"{label}= of column {name!r} must be a number of bins or a list of increasing "
            f"edges; got {edges!r}."
        )
    return rounded_cuts(values)


def seen_cuts(cuts: Floats, present: Floats) -> Floats:
    """Move cut points between dates up to dates that occur, which leaves all counts as they are."""
    ordered = np.unique(present)
    return np.unique(ordered[np.searchsorted(ordered, cuts[cuts <= ordered[-1]])])


def rounded_cuts(cuts: Floats) -> Floats:
    """Round cut points so that what is printed is what divides the rows."""
    return np.unique([float(f"{cut:.{DIGITS}g}") for cut in cuts])


def bins_of(name: Any, position: int, n_bins: Any, label: str = "n_bins", default: int = 10) -> Any:
    """Return what the user asked for a column: a number of bins, or a list of edges."""
    wish = n_bins
    if isinstance(n_bins, Mapping):
        wish = n_bins.get(name, n_bins.get(position, default))
    if isinstance(wish, (list, tuple, np.ndarray)):
        return list(wish)
    whole = isinstance(wish, (int, np.integer)) and not isinstance(wish, bool)
    if not whole or not 2 <= wish <= MAX_BINS:
        raise ValueError(
            f"{label} must be a whole number from 2 to {MAX_BINS}, or a dict of column to such a "
            f"number or to a list of edges; got {wish!r} for column {name!r}."
        )
    return int(wish)
