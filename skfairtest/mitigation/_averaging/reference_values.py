"""Sensitive values that predictions are averaged over, and tables whose rows take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._row_hash import distinct, row_keys
from skfairtest.space._columns import Column
from skfairtest.space._containers import Container, make_container
from skfairtest.space._one_hot import Group
from skfairtest.space._rows import take_rows
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._tables import take_columns


class ReferenceValues:
    """The combinations of sensitive values in a table, with weights that add up to one.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        Rows whose combinations are taken.
    sensitive_features : "auto", str, int or list of these
        Sensitive columns.
    one_hot : "auto", dict or None
        Groups of 0/1 columns that are one attribute each.
    sample_weight : ndarray of shape (n_rows,)
        Weights of the rows; combinations in rows of no weight are left out.
    uniform : bool
        Whether all combinations weigh the same, however many rows have them.
    max_values : int or None
        Combinations that are kept; None keeps all.

    Attributes
    ----------
    names : list
        Names of the sensitive attributes, one-hot groups among them.
    encoded : ndarray of shape (n_values, n_attributes)
        The combinations: numbers as they are, places of categories among their levels.
    weights : ndarray of shape (n_values,)
        Their weights.
    one_hot : dict of name to list
        The columns of each one-hot group of the table.
    places : list of int
        Positions of the sensitive columns in the table.

    Raises
    ------
    ValueError, TypeError
        For columns that are unknown or constant, and tables that cannot be taken.
    """

    container: Container
    fields: list[Column]
    owned: list[list[int]]
    one_hot_groups: list[Group | None]
    encoded: Floats
    weights: Floats

    def __init__(
        self,
        X: Any,
        sensitive_features: Any,
        one_hot: Any,
        *,
        sample_weight: Floats,
        uniform: bool,
        max_values: int | None,
    ) -> None:
        space = InputSpace(one_hot=one_hot).fit(X, sensitive_features)
        layout, sensitive = space.layout, space.sensitive.tolist()
        self.names, self.one_hot = space.sensitive_features, space.layout.one_hot
        self.places = sorted(layout.places_of(sensitive))
        # Of these columns alone, and of numbers as they are, not by steps of a scale.
        self.container = make_container(take_columns(X, self.places))
        self.fields = [layout.fields[place] for place in self.places]
        self.owned = [[self.places.index(place) for place in layout.places[j]] for j in sensitive]
        self.one_hot_groups = [layout.groups[j] for j in sensitive]
        Z = np.column_stack([self._encode(j, values) for j, values in self._columns_of(X)])
        self.has_missing = [bool(np.isnan(own).any()) for own in Z.T]
        self.has_none = [
            group is not None and bool((Z[:, j] == len(group.places)).any())
            for j, group in enumerate(self.one_hot_groups)
        ]
        first, rank = distinct(_keys(Z))
        weights: Floats = np.bincount(rank, weights=sample_weight).astype(np.float64)
        present = weights > 0
        encoded, weights = Z[first][present], weights[present]
        # By the first column, then by the next: neighbours are alike.
        order = np.lexsort(encoded.T[::-1])
        encoded, weights = encoded[order], weights[order] / weights.sum()
        if uniform:
            weights = np.full(len(weights), 1 / len(weights))
        if max_values is not None and len(weights) > max_values:
            chosen, weights = _thin_out(weights, max_values)
            encoded = encoded[chosen]
        self.encoded, self.weights = encoded, weights

    def __len__(self) -> int:
        return len(self.weights)

    def frame(self) -> pd.DataFrame:
        """The combinations as a table, a one-hot group as one column, and their weights."""
        table = {}
        for j, name in enumerate(self.names):
            group, encoded = self.one_hot_groups[j], self.encoded[:, j]
            if group is None:
                values = self.fields[self.owned[j][0]].take(encoded)
            else:
                values = _named(group, encoded)
            table[name] = pd.Series(values).infer_objects()
        label = "weight" if "weight" not in table else "weight of the values"
        return pd.DataFrame({**table, label: self.weights})

    # Looking up ------------------------------------------------------------------------------

    def find(self, X: Any, *, unseen_is_error: bool) -> Ints:
        """Place of each row's own combination among those here; -1 where it is not one of them.

        Raises
        ------
        ValueError
            Where it is an error that a column holds a value that the rows of `fit` did not have.
            Numbers are no such values: between those that occur there are others. Missing numbers
        where there were none, and infinite ones, are an error either way.
        """
        Z = np.empty((len(X), len(self.names)))
        for j, values in self._columns_of(X):
            foreign = self._foreign(j, values, unseen_is_error)
            # A category may be new; of a number that is none nobody knows what was meant.
            group, column = self.one_hot_groups[j], self.fields[self.owned[j][0]]
            is_number = group is None and column.is_open
            if foreign.any() and (unseen_is_error or is_number):
                raise ValueError(self._complaint(j, foreign, [own[foreign] for own in values]))
            Z[~foreign, j] = self._encode(j, [own[~foreign] for own in values])
            Z[foreign, j] = np.inf  # is equal to nothing here
        known = dict(zip(_keys(self.encoded).tolist(), range(len(self)), strict=True))
        first, rank = distinct(keys := _keys(Z))
        found = [known.get(key, -1) for key in keys[first].tolist()]
        return np.array(found, dtype=np.intp)[rank]

    def _columns_of(self, X: Any) -> Iterator[tuple[int, list[NDArray[Any]]]]:
        """For each attribute the values of its columns in a table."""
        table = self.container.check_names(X[:, self.places] if isinstance(X, np.ndarray) else X)
        for j, own in enumerate(self.owned):
            yield j, [self.container.column_values(table, place) for place in own]

    def _encode(self, j: int, values: list[NDArray[Any]]) -> Floats:
        group = self.one_hot_groups[j]
        if group is None:
            return self.fields[self.owned[j][0]].encode(values[0])
        return group.encode(values)

    def _foreign(self, j: int, values: list[NDArray[Any]], unseen_is_error: bool) -> Bools:
        """Rows with a value that an attribute did not have in fit; of numbers NaN and infinity."""
        group, column = self.one_hot_groups[j], self.fields[self.owned[j][0]]
        if group is not None:
            try:
                encoded = group.encode(values)
            except ValueError:  # two ones in a row, say
                if unseen_is_error:
                    raise
                return np.ones(len(values[0]), dtype=bool)
            none = encoded == len(group.places)
            return (np.isnan(encoded) & (not self.has_missing[j])) | (none & (not self.has_none[j]))
        gone = np.asarray(pd.isna(values[0]), dtype=bool)
        may_be_gone = self.has_missing[j] or column.missing is not None
        return np.where(gone, not may_be_gone, column.unknown(values[0]))

    def _complaint(self, j: int, foreign: Bools, values: list[NDArray[Any]]) -> str:
        group, column = self.one_hot_groups[j], self.fields[self.owned[j][0]]
        named = values[0] if group is None else _named(group, group.encode(values))
        expected = "finite numbers"
        if group is not None:
            expected = _shown(group.categories[: len(group.places) + self.has_none[j]])
        elif (levels := column.expected()) is not None:
            expected = _shown(levels)
        return (
            f"Sensitive column {self.names[j]!r} holds {_shown(named.tolist())} in "
            f"{int(foreign.sum())} of {len(foreign)} rows, which it did not in fit (NaN is a "
            f"missing value, inf an infinite one). Expected {expected}. Correct or leave out these "
            "rows"
            + (
                "."
                if expected == "finite numbers"
                else ", or set unseen='ignore': predictions are then averaged over the values of "
                "fit, and the model itself is asked about the row as it is where strength is below "
                "1."
            )
        )

    # Tables ----------------------------------------------------------------------------------

    def groups(self, X: Any) -> tuple[Ints, Ints]:
        """Rows that are equal but for the sensitive columns: the first of each, and each one's.

        Twins in a table are shown to the model as the same row, once: a matrix product may give a
        row other last bits when it stands elsewhere in a batch.
        """
        if len(X) == 1:
            return np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
        container = make_container(X)
        columns: list[Floats] = []
        for place in sorted({*range(len(container.names))} - {*self.places}):
            columns += _telling(_values_of(X, container, place))
        return distinct(_keys(np.column_stack(columns)))

    def table(self) -> Any:
        """The combinations as a table of the sensitive columns alone, in the container of fit."""
        V = np.empty((len(self), len(self.places)))
        for j, own in enumerate(self.owned):
            group = self.one_hot_groups[j]
            V[:, own] = self.encoded[:, [j]] if group is None else group.spread(self.encoded[:, j])
        return self.container.build(V, self.fields)

    def filled(self, X: Any, rows: Ints, values: Ints) -> Any:
        """Rows of X that take the numbered combinations, in the container of X."""
        table = self.table()
        below = take_rows(X, rows)
        if isinstance(X, np.ndarray):
            is_object = "O" in (X.dtype.kind, table.dtype.kind)
            dtype = np.dtype(object) if is_object else np.result_type(X.dtype, table.dtype)
            below = below.astype(dtype)
            below[:, self.places] = table[values]
            return below
        if isinstance(X, pd.DataFrame):
            below = below.reset_index(drop=True)
            for name in table.columns:
                below[name] = table[name].array.take(values)
            return below
        picked = nw.from_native(table, eager_only=True)[values.tolist()]
        names = picked.columns
        frame = nw.from_native(below, eager_only=True)
        return frame.with_columns(*(picked[name] for name in names)).to_native()


def _keys(Z: Floats) -> NDArray[np.uint64]:
    return row_keys(np.where(np.isnan(Z), np.nan, Z))  # there are many NaN, of one meaning


def _thin_out(weights: Floats, n: int) -> tuple[Ints, Floats]:
    """Some of many values in their order, and their weights: each n-th part's middle stands for it.

    That is a systematic sample without chance. Of a single column of numbers it is the quantiles;
    a value that has more than an n-th part of the weight keeps its weight, to an n-th part.
    """
    middles = (np.arange(n) + 0.5) / n
    places = np.minimum(np.searchsorted(np.cumsum(weights), middles), len(weights) - 1)
    chosen, counts = np.unique(places, return_counts=True)
    return chosen, counts / n


def _named(group: Group, encoded: Floats) -> NDArray[Any]:
    """Names of the categories of a one-hot group, None where they are missing."""
    names = np.array([*group.categories, None], dtype=object)
    gone = np.isnan(encoded)
    states = group.order[np.where(gone, 0, encoded).astype(np.intp)]
    return np.asarray(names[np.where(gone, len(names) - 1, states)])


def _shown(values: list[Any]) -> str:
    """The first five different values, as a list for a message."""
    unique = list(dict.fromkeys("NaN" if pd.isna(value) else repr(value) for value in values))
    return ", ".join(unique[:5]) + ", ..." * (len(unique) > 5)


def _values_of(X: Any, container: Container, place: int) -> NDArray[Any]:
    """A column; objects as they are, of which the container would take None for NaN."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        return X[:, place]
    if isinstance(X, pd.DataFrame) and pd.api.types.is_object_dtype(X.dtypes.iloc[place]):
        return np.asarray(X.iloc[:, place], dtype=object)
    return container.column_values(X, place)


def _telling(values: NDArray[Any]) -> list[Floats]:
    """A column as columns of numbers that differ where its values do, in their types as well."""
    if values.dtype.kind in "bf":
        return [values.astype(np.float64)]
    codes = pd.factorize(values, use_na_sentinel=False)[0]
    if pd.api.types.infer_dtype(values, skipna=False) == "string":
        return [codes.astype(np.float64)]
    # None is not NaN and True is not 1 for every encoder.
    kinds = pd.factorize(np.array([id(type(value)) for value in values.tolist()]))[0]
    return [codes.astype(np.float64), kinds.astype(np.float64)]
