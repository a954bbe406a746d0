"""Twins of the rows of a table: sensitive columns, and what follows from them, are replaced.

Rows are shown to a model as the table has them, whatever else a column could hold. A twin is a
number: of a combination in `Twins.twin_values` or, after these, of the row's own values where none
of the combinations has them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._row_hash import Keys, combine_keys, row_keys
from skfairtest.space._constraints.base import bind
from skfairtest.space._constraints.bound_columns import BoundColumns
from skfairtest.space._descendants import apply_rules, follow
from skfairtest.space._rows import slice_rows, take_rows
from skfairtest.space._space import InputSpace


class TwinTables:
    """Makes the twins of rows of any table of a space.

    Parameters
    ----------
    space : InputSpace
        Which twins there are, and what follows from their values.

    Attributes
    ----------
    n_twins : int
        Combinations of sensitive values that rows are compared by.
    """

    def __init__(self, space: InputSpace) -> None:
        self.layout, self.sensitive, self.non_sensitive = (
            space.layout,
            space.sensitive,
            space.non_sensitive,
        )
        self.encoded = space.twins_.twin_values
        self.n_twins = len(self.encoded)
        self.rules = space.twins_.rules
        descendants = space.twins_.descendants
        self.function = descendants if callable(descendants) else None
        self.low = space.domain.low
        plain = self.layout.plain
        self.constraints = bind(
            space.constraints_, BoundColumns(plain, np.empty((0, len(plain.columns))))
        )
        Z = np.tile(self.low, (self.n_twins, 1))
        Z[:, self.sensitive] = self.encoded
        #: Keys of the combinations in order, and which combination each is of.
        keys = row_keys(self._numbers(self.layout.decode(Z))[:, self.sensitive])
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def __getstate__(self) -> dict[str, Any]:
        # Workers make tables alone, and functions of users may not travel.
        return {**self.__dict__, "constraints": []}

    def _numbers(self, X: Any) -> Floats:
        """Return all cells of a table as numbers, those of equal cells equal."""
        numbers = self.layout.plain.encode(X)
        numbers[np.isnan(numbers)] = np.nan  # of which there are several
        return numbers

    def rows(self, X: Any) -> TwinRows:
        """Return the rows of a table of the user.

        Raises
        ------
        ValueError, TypeError
            If the rows are none of the space's: of other columns or categories.
        """
        X = self.layout.as_in_fit(X)
        numbers = self._numbers(X)
        own = row_keys(numbers[:, self.sensitive])
        place = np.minimum(np.searchsorted(self._keys, own), self.n_twins - 1)
        known = self._keys[place] == own
        values, is_set, kept = self._values(numbers)
        return TwinRows(
            self, X, numbers, np.where(known, self._order[place], kept), own, values, is_set
        )

    def _values(self, numbers: Floats) -> tuple[Floats, Bools, Ints]:
        """Return encoded twins, which values are set, (n, n_features), and that of each row.

        A twin that keeps a row's own values sets what follows from these, and nothing else.
        """
        follows = np.zeros((len(numbers), len(self.rules)), dtype=bool)
        for k, rule in enumerate(self.rules):
            column = self.layout.columns[rule.sensitive]
            of = column.to_field(np.array([rule.of]))[0] if column.is_open else rule.of
            here = numbers[:, rule.sensitive]
            follows[:, k] = np.isnan(here) if np.isnan(of) else here == of
        patterns, kept = np.unique(follows, axis=0, return_inverse=True)
        if not len(patterns):
            patterns = np.zeros((1, len(self.rules)), dtype=bool)
        own = np.full((len(patterns), len(self.low)), -np.inf)
        for k, rule in enumerate(self.rules):
            own[patterns[:, k], rule.column] = rule.value
        Z = np.full((self.n_twins, len(self.low)), -np.inf)
        Z[:, self.sensitive] = self.encoded
        Z = np.concatenate([apply_rules(Z, self.rules), own])
        is_set = Z != -np.inf
        return np.where(is_set, Z, self.low), is_set, self.n_twins + kept.ravel()


class TwinRows:
    """The rows of one table, and their twins; a model asks for them by pairs of numbers.

    Attributes
    ----------
    table : table
        The rows, with the columns and dtypes of `fit`.
    own : ndarray of shape (n,)
        The twin that each row is itself, but for what follows from its sensitive values.
    """

    def __init__(
        self, tables: TwinTables, table: Any, numbers: Floats, own: Ints, own_keys: Keys,
        encoded: Floats, is_set: Bools,
    ) -> None:  # fmt: skip
        self._tables, self.table, self.own = tables, table, own
        self._numbers, self._own_keys = numbers, own_keys
        self._encoded, self._is_set = encoded, is_set
        self._values = tables.layout.decode(encoded)
        self._places = [
            (j, place)
            for j in np.flatnonzero(is_set.any(axis=0)).tolist()
            for place in tables.layout.places[j]
        ]

    def __len__(self) -> int:
        return len(self.own)

    def __getstate__(self) -> dict[str, Any]:
        # Workers decode alone.
        return {**self.__dict__, "_numbers": None, "_own_keys": None, "_free_keys": None}

    @property
    def layout(self) -> Any:
        """The columns of the table."""
        return self._tables.layout

    @property
    def data(self) -> Ints:
        """The first row as it is, to see whether a model fails on it, too."""
        return np.array([[0, self.own[0]]])

    def part(self, start: int, stop: int) -> TwinRows:
        """Return some of the rows, which follow each other."""
        other = TwinRows.__new__(TwinRows)
        other.__dict__.update(self.__dict__)
        other.table = slice_rows(self.table, start, stop)
        for name in ("own", "_numbers", "_own_keys"):
            setattr(other, name, getattr(self, name)[start:stop])
        other.__dict__.pop("_free_keys", None)
        return other

    @cached_property
    def _free_keys(self) -> Keys:
        return row_keys(self._numbers[:, self._tables.non_sensitive])

    def decode(self, pairs: Ints) -> Any:
        """Return the table of twins; `pairs`, of shape (n, 2), has the row and the twin of each."""
        rows, twins = pairs.T
        container = self.layout.container
        if len(rows) and (rows == np.arange(rows[0], rows[0] + len(rows))).all():
            X = slice_rows(self.table, int(rows[0]), int(rows[0]) + len(rows))
        else:
            X = take_rows(self.table, rows)
        columns = {}
        for j, place in self._places:
            set_ = self._is_set[twins, j]
            if set_.any():
                column = container.take_values(self._values, place, twins)
                columns[place] = column if set_.all() else container.where(set_, column, X, place)
        if isinstance(X, np.ndarray) and not columns:
            X = X.copy()  # a model may write on it
        X = container.with_columns(X, columns)
        function = self._tables.function
        if function is None:
            return X
        return follow(X, function, self.layout, self._tables.sensitive)

    def is_own(self) -> Bools:
        """Return which rows are their `own` twins in all columns."""
        if not self._tables.rules and self._tables.function is None:
            return np.ones(len(self), dtype=bool)
        twins = self.decode(np.column_stack([np.arange(len(self)), self.own]))
        return row_keys(self._tables._numbers(twins)) == row_keys(self._numbers)

    def keys(self, pairs: Ints) -> Keys:
        """Return keys of twins: equal ones for equal rows."""
        rows, twins = pairs.T
        own = twins >= self._tables.n_twins
        of_twin = np.where(own, self._own_keys[rows], twins.astype(np.uint64))
        return combine_keys(self._free_keys[rows], of_twin)

    def valid(self, pairs: Ints) -> Bools:
        """Return which twins satisfy the constraints."""
        valid = np.ones(len(pairs), dtype=bool)
        tables = self._tables
        if not tables.constraints or not len(pairs):
            return valid
        numbers = tables.layout.plain.encode(self.decode(pairs))
        for rule in tables.constraints:
            valid &= rule.valid(numbers)
        return valid


class AsTheyAre:
    """Takes the place of a space that decodes inputs; it passes tables of rows on as they are."""

    #: What fails on these fails on rows of the data.
    is_data = True

    def decode(self, table: Any) -> Any:
        """Return the table."""
        return table
