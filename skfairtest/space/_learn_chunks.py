"""What is seen of a table that comes in chunks, in one pass and in bounded memory.

Columns are described from their different values and how often each occurs (`Seen`), one-hot groups
from how often each two columns are 1 at once, and the rows that stand for the data are a random
sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import ChunkFailedError
from skfairtest.space._chunks import WANTED, Chunk, as_chunks
from skfairtest.space._containers import Container, make_container, objects_as_numbers
from skfairtest.space._layout import Layout
from skfairtest.space._learn_layout import Wishes
from skfairtest.space._one_hot import DummyCounts, Group, as_dummy, groups_among, in_prefixes
from skfairtest.space._resolution import MOST_AMOUNTS, Grid, decimals_of, learn_grid
from skfairtest.space._rows import stack, take_rows
from skfairtest.space._seen import Seen

#: Different numbers of a column that are kept: more than the steps of a grid that may have gaps.
MOST_DISTINCT = 2**18
#: Different strings, or other objects, of a column.
MOST_LEVELS = 1_000_000
#: Rows of a table in chunks that stand for its data, where nobody says how many.
SAMPLE_ROWS = 100_000


class NumbersSeen:
    """The different numbers of a column, while they are few enough to matter.

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
        self._grid: Grid | None = None
        self._is_full = self._has_no_scale = False

    def add(self, values: Floats) -> None:
        """Look at some values."""
        gone = np.isnan(values)
        if gone.any():
            self.any_missing = True
            values = values[~gone]
        if not len(values):
            return
        self.n_present += len(values)
        self._low = min(self._low, float(values.min()))
        self._high = max(self._high, float(values.max()))
        if self._has_no_scale and np.isfinite(self._low) and np.isfinite(self._high):
            return
        different, counts = np.unique(values, return_counts=True)
        if self._is_full:
            # Those on the grid change nothing.
            off = np.ones(len(different), dtype=bool)
            if self._grid is not None:
                off = ~self._grid.holds(different)
            different, counts = different[off], counts[off]
        if len(different):
            self._merge(different, counts)
            self._settle()

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
        """See whether more values could still change the description."""
        values = self._values
        if not np.isfinite(values[[0, -1]]).all():
            return  # an error later on
        whole = bool((values == np.floor(values)).all())
        if len(values) > 2 * MOST_AMOUNTS and not whole:
            self._has_no_scale = decimals_of(values, self.dtype) is None
        if len(values) > MOST_DISTINCT and not self._has_no_scale:
            self._is_full = True
            self._grid = learn_grid(values, len(values), self.n_present, whole, self.dtype)
            self._has_no_scale = self._grid is None

    def seen(self) -> Seen:
        """What was seen."""
        values, counts = self._values, self._counts
        if len(values):
            ends = np.setdiff1d([self._low, self._high], values)
            values = np.union1d(values, ends)
            counts = np.zeros(len(values), dtype=np.int64)
            counts[np.isin(values, ends, invert=True)] = self._counts
            # Those that were not counted one by one.
            counts[-1] += self.n_present - counts.sum()
        return Seen(
            values,
            any_missing=self.any_missing,
            nan_is_missing=False,
            counts=counts,
            has_no_scale=self._has_no_scale,
        )


class ObjectsSeen:
    """The different values of a column of strings, truth values or other objects."""

    def __init__(self, name: Any, holds_objects: bool) -> None:
        self.name = name
        self.holds_objects = holds_objects
        self.any_missing = self.nan_is_missing = False
        self.is_bool = True
        self._counts: dict[Any, int] = {}

    def add(self, values: NDArray[Any]) -> None:
        """Look at some values."""
        self.is_bool &= values.dtype.kind == "b"
        gone = np.asarray(pd.isna(values), dtype=bool)
        if gone.any() and not self.any_missing:
            self.any_missing = True
            self.nan_is_missing = isinstance(values[gone][0], float)
        try:
            codes, different = pd.factorize(values[~gone])
        except TypeError as error:
            shown = ", ".join(repr(value) for value in values[~gone][:5])
            raise TypeError(
                f"Column {self.name!r}: argument must be a string or a number in every row; got "
                f"{shown}."
            ) from error
        counts = np.bincount(codes, minlength=len(different))
        for value, count in zip(list(different), counts.tolist(), strict=True):
            self._counts[value] = self._counts.get(value, 0) + count
        if len(self._counts) > MOST_LEVELS:
            raise ValueError(
                f"Column {self.name!r} has more than {MOST_LEVELS} different values, which are too "
                "many for categories. Leave out what identifies rows."
            )

    def seen(self) -> Seen:
        """What was seen."""
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
        return Seen(
            values,
            any_missing=self.any_missing,
            nan_is_missing=self.nan_is_missing and values.dtype.kind == "O",
            counts=counts,
        )


class Reservoir:
    """A random sample of the rows of a table of unknown length, each subset equally likely.

    Each row draws a number, and those with the smallest are kept; where the table is cut into
    chunks does not matter.

    References
    ----------
    .. [1] Vitter, J. S. (1985). Random sampling with a reservoir. ACM Transactions on Mathematical
       Software 11(1), 37-57.
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self._rng = rng
        self._tables: list[Any] = []
        self._draws: Floats = np.empty(0)
        self._numbers: Ints = np.empty(0, dtype=np.int64)
        self._most = np.inf

    def add(self, chunk: Chunk) -> None:
        """Take some rows of a chunk, maybe."""
        draws = self._rng.random(len(chunk.table))
        own = np.flatnonzero(draws < self._most)
        if not len(own):
            return
        self._tables.append(take_rows(chunk.table, own))
        self._draws = np.append(self._draws, draws[own])
        self._numbers = np.append(self._numbers, chunk.start + own)
        if len(self._draws) > 2 * self.size:
            self._tidy()

    def _tidy(self) -> None:
        kept = np.sort(np.argsort(self._draws, kind="stable")[: self.size])
        self._tables = [take_rows(stack(self._tables), kept)]
        self._draws, self._numbers = self._draws[kept], self._numbers[kept]
        if len(kept) == self.size:
            self._most = float(self._draws.max())

    def rows(self) -> Any:
        """The sample, in the order of the table."""
        self._tidy()
        return self._tables[0]


class TableSeen:
    """All that is seen of a table in chunks; see `layout` and `sample`."""

    def __init__(self, wishes: Any, max_rows: int, rng: np.random.Generator) -> None:
        if not isinstance(max_rows, (int, np.integer)) or max_rows < 1:
            raise ValueError(
                f"max_rows must be a whole number of at least 1; got {max_rows!r}. Leave it out "
                "for the default."
            )
        self._wish_args = wishes
        self._reservoir = Reservoir(max_rows, rng)
        self.n_rows = 0
        self.container: Container
        self.wishes: Wishes

    def look(self, chunks: Iterable[Chunk]) -> TableSeen:
        """Go through the chunks; returns itself."""
        for chunk in chunks:
            container = make_container(chunk.table)
            if not self.n_rows:
                self._begin(container)
            X = self.container.check_names(chunk.table)
            self.container.learn_levels(container)
            try:
                self._add(X)
            except (TypeError, ValueError) as error:
                raise ChunkFailedError(
                    f"{chunk.name[:1].upper()}{chunk.name[1:]} (rows from {chunk.start} on): "
                    f"{error}",
                    chunk=chunk.name,
                ) from error
            self._reservoir.add(chunk._replace(table=X))
            self.n_rows += len(chunk.table)
        return self

    def _begin(self, container: Container) -> None:
        self.container = container
        names = container.names
        self.wishes = Wishes(names, *self._wish_args)
        self._columns: list[NumbersSeen | ObjectsSeen | None] = [None] * len(names)
        # Columns that may be dummies of a group, and their places in the counts.
        self._dummies = in_prefixes(names) if self.wishes.auto else []
        self._places = {j: k for k, j in enumerate(self._dummies)}
        self._together = DummyCounts(len(self._dummies))
        self._given = {
            name: Group(name, places, [names[place] for place in places])
            for name, places in self.wishes.given.items()
        }
        self._has_none = dict.fromkeys(self._given, False)

    def _add(self, X: Any) -> None:
        values = [self.container.column_values(X, j) for j in range(len(self._columns))]
        for j, own in enumerate(values):
            column = self._columns[j]
            if column is None:
                is_number = own.dtype.kind == "f" and not self.container.holds_objects(j)
                column = self._columns[j] = (
                    NumbersSeen(self.container.rounds_to(j))
                    if is_number
                    else ObjectsSeen(self.container.names[j], self.container.holds_objects(j))
                )
            if self.container.holds_objects(j):  # all of it will tell whether these are numbers
                own = np.asarray(take_column(X, self.container.names[j], j), dtype=object)
            column.add(own)
        for name, group in self._given.items():
            self._has_none[name] |= group.has_none([values[place] for place in group.places])
        read = {j: as_dummy(values[j]) for j in self._dummies}
        found = {j: dummy for j, dummy in read.items() if dummy is not None}
        self._dummies = list(found)
        if found:
            self._together.n_rows += len(values[0])
            places = np.array([self._places[j] for j in found])
            self._together.add(places, np.column_stack(list(found.values())))

    def layout(self) -> Layout:
        """The attributes of the table."""
        groups = self.wishes.given
        counts: DummyCounts | None = None
        if self.wishes.auto:
            counts = self._counts()
            groups = groups_among(self.container.names, self._dummies, counts, self.wishes.named)
        seen = [column.seen() for column in self._columns if column is not None]

        def has_none(group: Group) -> bool:
            if counts is None:
                return self._has_none[group.name]
            own = np.array([self._dummies.index(place) for place in group.places])
            return counts.has_none(own)

        return self.wishes.layout(self.container, seen, groups, has_none)

    def _counts(self) -> DummyCounts:
        """Counts of the columns that were dummies in all chunks."""
        own = np.array([self._places[j] for j in self._dummies], dtype=np.intp)
        counts = DummyCounts(len(own))
        counts.n_rows = self._together.n_rows
        counts.together = self._together.together[np.ix_(own, own)]
        counts.missing = self._together.missing[own]
        return counts

    def sample(self) -> Any:
        """Rows of the table, at random, in its order: all where they are few."""
        return self._reservoir.rows()


def learn_chunks(
    X: Any, wishes: Any, max_rows: int, rng: np.random.Generator
) -> tuple[Layout, Floats, int]:
    """The attributes of a table in chunks, the codes of a sample of its rows, and their number.

    `wishes` are bounds, categories, steps and one-hot groups as the user gave them.
    """
    chunks = as_chunks(X)
    if chunks is None:
        raise TypeError(
            f"X must come in chunks. {WANTED}; got {type(X).__name__}. A table in memory is for "
            "from_data."
        )
    table = TableSeen(wishes, max_rows, rng).look(chunks)
    layout = table.layout()
    return layout, layout.encode(table.sample()), table.n_rows


def sample_chunks(chunks: Iterable[Chunk], max_rows: int, rng: np.random.Generator) -> Any:
    """A random sample of the rows of a table in chunks."""
    reservoir = Reservoir(max_rows, rng)
    for chunk in chunks:
        reservoir.add(chunk)
    return reservoir.rows()


def take_column(X: Any, name: Any, j: int) -> Any:
    """A column of an array or a pandas frame."""
    return X[:, j] if isinstance(X, np.ndarray) else X[name]
