"""Make twins of a table's rows by setting its sensitive columns only.

Where nothing else follows from sensitive values, and no constraint has to be looked at, rows need
not become codes and back, which costs more than a fast model does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Floats, Ints
from skfairtest.space._containers import ArrayContainer, PandasContainer, make_container
from skfairtest.space._space import InputSpace

#: Rows at a time where the processor's own memory is to hold what is done with them.
PIECE = 8192
#: Values up to which a column is compared with each of them.
FEW = 8
#: Combinations of sensitive values up to which tables of twins are made.
MOST_TWINS = 64


class AsTheyAre:
    """Takes the place of a space that decodes codes; it passes tables on as they are."""

    def decode(self, table: Any) -> Any:
        """Return the table."""
        return table


class TwinTables:
    """Makes the tables of twins of a space; see `fits`."""

    def __init__(self, space: InputSpace) -> None:
        self.space = space
        self.places = space.layout.places_of(space.sensitive)
        codes = space.twins_.twin_codes
        self.n_twins = len(codes)
        #: One row for each combination: what its sensitive columns hold.
        self._values = space.decode(
            space.twins_.with_sensitive(np.tile(space.domain.low, (len(codes), 1)), codes)
        )
        self._columns: dict[int, list[Any]] = {}
        self._dtypes: dict[int, Any] = {}
        self._buffer: Any = None

    @staticmethod
    def fits(space: InputSpace) -> bool:
        """Return whether all twins exist and differ in the sensitive columns alone."""
        return (
            isinstance(space.layout.container, (ArrayContainer, PandasContainer))
            and not space.constraints_
            and space.twins_.dependents is None
            and space.twins_.is_enumerable
            and space.twins_.n_twins <= MOST_TWINS
        )

    def accepts(self, X: Any) -> bool:
        """Return whether all rows' sensitive values are in the domain, with dtypes as in `fit`.

        Raises
        ------
        ValueError
            If a column holds categories that are not known.
        """
        space, layout, container = self.space, self.space.layout, self.space.layout.container
        alike = make_container(X).difference(container) is None
        if not alike:
            return False
        for j, column in enumerate(layout.columns):
            # Numbers are shown as they are; categories and one-hot groups may hold what is unknown.
            if j in space.sensitive or _is_number(layout, j, column):
                continue
            if not self._has_known_categories(X, j):
                layout.attribute_codes(X, j)
        return all(self._has_values(X, int(j)) for j in space.sensitive)

    def _has_known_categories(self, X: Any, j: int) -> bool:
        """Return whether the dtype of a column rules out unknown categories."""
        if self.space.layout.groups[j] is not None or not isinstance(X, pd.DataFrame):
            return False
        dtype = X.dtypes.iloc[self.space.layout.places[j][0]]
        if not isinstance(dtype, pd.CategoricalDtype):
            return False
        if self._dtypes.get(j) is not dtype:
            if not self.space.layout.columns[j].knows_all(dtype.categories):
                return False
            self._dtypes[j] = dtype
        return True

    def _has_values(self, X: Any, j: int) -> bool:
        """Return whether all rows' own values of a sensitive column are in its domain."""
        if (
            isinstance(X, np.ndarray)
            and X.dtype.kind in "biuf"
            and len(places := self._own(j)) == 1
        ):
            known = np.unique(self._values[:, places[0]])
            if len(known) <= FEW:
                column = X[:, places[0]].copy()
                inside = column == known[0]
                for value in known[1:]:
                    inside |= column == value
                if inside.all():
                    return True
        return self._has(j, self.space.layout.attribute_codes(X, j))

    def _own(self, j: int) -> list[int]:
        return list(self.space.layout.places[j])

    def _has(self, j: int, codes: Floats) -> bool:
        """Return whether all codes are in the domain of a sensitive column."""
        inside = codes.min(initial=np.inf) >= self.space.domain.low[j]  # not so where one is NaN
        inside = inside and codes.max(initial=-np.inf) <= self.space.domain.high[j]
        return bool(inside and (codes == np.rint(codes)).all())

    def of(self, X: Any) -> Any:
        """Yield a table of the rows for each combination of sensitive values.

        A table is good until the next one is asked for.
        """
        if isinstance(X, np.ndarray):
            twin = self._first(X)
            yield twin
            for row in self._values[1:]:
                for place in self.places:
                    twin[:, place] = row[place]
                yield twin
            return
        n = len(X)
        names = self.space.layout.container.names
        for combination in range(self.n_twins):
            twin = X.copy(deep=False)
            for place, column in zip(self.places, self._of(combination, n), strict=True):
                twin[names[place]] = column
            yield twin

    def _first(self, X: Any) -> Any:
        """Return the twins of an array's rows of the first combination, in reused memory.

        Memory that is new costs more than to copy into it, and so does to pass through it twice.
        """
        if self._buffer is None or len(self._buffer) < len(X) or self._buffer.dtype != X.dtype:
            self._buffer = np.empty(X.shape, dtype=X.dtype)
        twin = self._buffer[: len(X)]
        for at in range(0, len(X), PIECE):
            piece = twin[at : at + PIECE]
            np.copyto(piece, X[at : at + PIECE])
            for place in self.places:
                piece[:, place] = self._values[0, place]
        return twin

    def single(self, X: Any, combinations: Ints) -> Any:
        """Return a table of the rows, each with the sensitive values of its own combination."""
        twin = X.copy() if isinstance(X, np.ndarray) else X.copy(deep=False)
        for place in self.places:
            if isinstance(X, np.ndarray):
                twin[:, place] = self._values[combinations, place]
            else:
                name = self.space.layout.container.names[place]
                twin[name] = self._values.iloc[:, place].array.take(combinations)
        return twin

    def _of(self, combination: int, n: int) -> list[Any]:
        """Return the sensitive columns of n rows of a combination, which are cached."""
        kept = self._columns.get(combination)
        if kept is None or len(kept[0]) < n:
            repeat = np.full(n, combination, dtype=np.intp)
            kept = [self._values.iloc[:, place].array.take(repeat) for place in self.places]
            self._columns[combination] = kept
        return [column[:n] if len(column) > n else column for column in kept]


def _is_number(layout: Any, j: int, column: Any) -> bool:
    return layout.groups[j] is None and column.is_open


def spread_of(scores: list[Floats], rounding: float) -> Floats:
    """Return the largest difference between twins in any output, and 0 if it is rounding.

    `scores` has an array of shape (n, n_outputs) for each twin. Rounding is relative to the larger
    of the two outputs; see `compare`, of which this is the part that is needed for all rows.
    """
    spread = np.empty(len(scores[0]))
    for at in range(0, len(spread), PIECE):
        spread[at : at + PIECE] = _spread([part[at : at + PIECE] for part in scores], rounding)
    return spread


def _spread(scores: list[Floats], rounding: float) -> Floats:
    """Return the largest difference between twins for a few rows."""
    if scores[0].shape[1] == 1:
        high = low = scores[0][:, 0]
        for other in scores[1:]:
            high, low = np.maximum(high, other[:, 0]), np.minimum(low, other[:, 0])
        spread = high - low
        largest = max(float(high.max(initial=0.0)), -float(low.min(initial=0.0)))
        if float(spread.min(initial=np.inf)) > rounding * largest:
            return spread
        size = np.maximum(np.abs(high), np.abs(low))
    else:
        every = np.stack(scores)
        high, low = every.max(axis=0), every.min(axis=0)
        output = (high - low).argmax(axis=1)
        rows = np.arange(len(output))
        high, low = high[rows, output], low[rows, output]
        spread = high - low
        size = np.maximum(np.abs(high), np.abs(low))
    size *= rounding
    spread *= spread > size
    return spread
