"""Each column is moved by its ranks within the group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Floats, Ints
from skfairtest.space._columns import Column
from skfairtest.space._layout import Layout
from skfairtest.transports._base import BaseTransport, named_columns
from skfairtest.transports._couplings import MonotoneMap, Quantiles, recategorized, shares_of
from skfairtest.transports._ranks import RowRanks
from skfairtest.transports._settings import SETTINGS

#: Key of the maps of all rows, whatever their values of `by`.
ALL_ROWS = ""


class ColumnMap(NamedTuple):
    """Distribution of one column in each group.

    Attributes
    ----------
    shares : ndarray of shape (n_groups, n_categories)
        Of a category the shares of its values; of numbers those of present and missing ones.
    numbers : list of Quantiles
        Present numbers of each group; none of a category.
    """

    shares: Floats
    numbers: list[Quantiles]

    @classmethod
    def learn(cls, column: Column, own: list[Floats]) -> ColumnMap:
        """Learn the distributions of a column from its encoded values in each group."""
        n_groups = len(own)
        if column.is_category:
            n = n_categories(column, np.concatenate(own))
            return cls(np.array([shares_of(categories(part, n), n) for part in own]), [])
        present, shares = [], np.zeros((n_groups, 2))
        for g, part in enumerate(own):
            absent = is_missing(column, part)
            present.append(part[~absent] if absent.any() else part)
            shares[g, 1] = absent.mean() if len(part) else 0.0
        shares[:, 0] = 1 - shares[:, 1]
        return cls(shares, [Quantiles.learn(p, column.discrete) for p in present])

    def move(
        self, column: Column, encoded: Floats, own: int, target: int,
        ranks: RowRanks, j: int, curves: dict[Any, MonotoneMap] | None = None,
    ) -> Floats:  # fmt: skip
        """Return the values of one group where the other group has the same ranks, encoded.

        `curves` keeps what was worked out for a pair of groups.
        """
        mine, other = self.shares[own], self.shares[target]
        if column.is_category:
            return move_category(encoded, mine, other, ranks.uniform(2 * j))
        moved, stays, known = move_missing(column, encoded, mine, other, ranks, 2 * j + 1)
        of_own, numbers = self.numbers[own], self.numbers[target]
        if not len(numbers.values) or not len(moved[stays]):
            return moved
        if of_own.is_curve and not column.discrete:
            curves = {} if curves is None else curves
            if (own, target) not in curves:
                curves[own, target] = MonotoneMap.between(of_own, numbers)
            curve = curves[own, target]
            if isinstance(known, slice) or known.all():
                moved[stays] = curve.at(encoded[stays])
                return moved
            at = numbers.at(ranks.uniform(2 * j, stays))
            at[known] = curve.at(encoded[stays][known])
            moved[stays] = at
            return moved
        at = ranks.uniform(2 * j, stays)
        if len(of_own.values):
            numbers_here = encoded[stays][known]
            if column.discrete:
                numbers_here = np.rint(numbers_here)
            at[known] = of_own.ranks(numbers_here, at[known])
        moved[stays] = numbers.at(at)
        return moved


def is_missing(column: Column, encoded: Floats) -> Any:
    """Return which encoded values mean a missing value."""
    gone = np.isnan(encoded)
    if column.missing is not None:
        # Encoded values beyond that of missing are numbers beyond the domain.
        last = column.largest_code if not column.discrete else np.nextafter(column.missing, -np.inf)
        gone |= (encoded > last) & (encoded <= column.missing)
    return gone


def encoded_missing(column: Column) -> float:
    """Return the encoded value that is written for a missing value."""
    return np.nan if column.missing is None else column.missing


def within(column: Column, numbers: Floats) -> Floats:
    """Return numbers as a column may have them: in its steps, and between its bounds."""
    numbers = np.rint(numbers) if column.discrete else numbers
    return np.clip(numbers, column.low, min(column.high, column.largest_code))


def move_category(encoded: Floats, own: Floats, other: Floats, uniform: Floats) -> Floats:
    """Return the encoded values that categories are moved to, by shares as in `recategorized`."""
    n = own.shape[-1]
    here = categories(encoded, n)
    there = recategorized(own, other, here, uniform)
    return np.where(there == here, encoded, encoded_categories(there, n))


def becomes_missing(own: Floats, other: Floats, absent: Any, uniform: Floats) -> Any:
    """Return which values are missing after the move, by shares of present and missing ones."""
    return recategorized(own, other, absent.astype(np.intp), uniform) == 1


def move_missing(
    column: Column, encoded: Floats, own: Floats, other: Floats, ranks: RowRanks,
    purpose: int,
) -> tuple[Floats, Any, Any]:  # fmt: skip
    """Move rows of a column of numbers between present and missing, by shares of both.

    Returns
    -------
    moved : ndarray of shape (n_rows,)
        The encoded values, of which some are missing now.
    stays : ndarray of int, or slice
        The rows that have a number after the move.
    known : ndarray of bool, or slice
        Which of these had one before.
    """
    absent = is_missing(column, encoded)
    moved = encoded.copy()
    # A share of the missing values is present in the other group, or the other way round.
    if not (absent.any() or (own[..., 1] > 0).any() or (other[..., 1] > 0).any()):
        return moved, slice(None), slice(None)
    gone = becomes_missing(own, other, absent, ranks.uniform(purpose))
    moved[gone & ~absent] = encoded_missing(column)
    stays = np.flatnonzero(~gone)
    return moved, stays, ~absent[stays]


def n_categories(column: Column, encoded: Floats) -> int:
    """Return the number of categories, with one for missing values that are NaN."""
    return int(np.nanmax(encoded, initial=column.high)) + 2


def categories(encoded: Floats, n: int) -> Ints:
    """Return the categories of encoded values; that of NaN is the last one."""
    if not np.isnan(encoded).any():
        return np.clip(encoded, 0, n - 1).astype(np.intp)
    return np.where(np.isnan(encoded), n - 1, np.clip(encoded, 0, n - 1)).astype(np.intp)


def encoded_categories(given: Ints, n: int) -> Floats:
    """Encode categories."""
    return np.where(given == n - 1, np.nan, given)


class QuantileResults:
    """What `fit` sets, apart from parameters; `skfairtest.io` reads the types."""

    maps_: dict[str, list[ColumnMap]]
    by_: Ints
    cuts_: list[Floats]


class QuantileTransport(QuantileResults, BaseTransport):
    """Move each column by its ranks: the tenth percentile goes to the tenth percentile.

    Numbers get the value that has the same rank in the other group. Of categories, as few rows as
    possible change theirs. Missing values are a category of their column, and what no row of either
    group had in `fit` stays. What columns have to do with each other within a group is kept as far
    as ranks tell it.

    Parameters
    ----------
    by : list of str or int, default=()
        Columns that stay, within whose values the ranks are taken: those of people with equal
        values of these columns (quarters, for numbers). Where a group has too few rows with some
        values, its ranks among all rows are taken.

    Attributes
    ----------
    groups_ : ndarray of shape (n_groups,)
        The groups, sorted.
    moving_ : ndarray of int
        Positions of the attributes that may move.
    space_ : InputSpace
        How the columns are read; after `fit` alone.

    See Also
    --------
    SequentialTransport : Moves each column given the columns before it.
    OptimalTransport : Moves all columns together.
    FlipTestAuditor : Finds the rows whose output changes under a transport.

    Notes
    -----
    The map is monotone in each column. It is no counterfactual: it says where the same rank lies,
    and not what would have become of a person. FlipTest [1]_ asks the same question with a joint
    map.

    References
    ----------
    .. [1] Black, E., Yeom, S., & Fredrikson, M. (2020). FlipTest: fairness testing via optimal
       transport. FAT*, 111-121.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest.transports import QuantileTransport
    >>> X = pd.DataFrame({"income": [10.0, 20.0, 30.0, 20.0, 40.0, 60.0]})
    >>> groups = np.array(["a", "a", "a", "b", "b", "b"])
    >>> transport = QuantileTransport().fit(X, groups)
    >>> transport.transport(X.iloc[:3], "a", to="b")["income"].tolist()
    [20.0, 40.0, 60.0]
    """

    by: Sequence[Any] = ()

    def _learn(self, layout: Layout, Z: Floats, groups: Ints, n_groups: int) -> Any:
        by = named_columns(layout, self.by, "by=")
        self.moving_ = np.setdiff1d(self.moving_, by)
        if not len(self.moving_):
            raise ValueError(
                "keep= and by= name all columns, so that nothing would move. Leave out those that "
                "may."
            )
        self._curves: dict[Any, dict[Any, MonotoneMap]] = {}
        self.by_ = np.array(by, dtype=np.intp)
        self.cuts_ = [_cuts(layout.columns[j], Z[:, j]) for j in by]
        maps: dict[str, list[ColumnMap]] = {}
        maps[ALL_ROWS] = self._of_rows(layout, Z, groups, n_groups)
        if by:
            cells, which = np.unique(self._cells(Z), axis=0, return_inverse=True)
            for k, cell in enumerate(cells):
                rows = which.ravel() == k
                if np.bincount(groups[rows], minlength=n_groups).min() >= SETTINGS.rows_in_cell:
                    maps[_key(cell)] = self._of_rows(layout, Z[rows], groups[rows], n_groups)
        return maps

    def _of_rows(self, layout: Layout, Z: Floats, groups: Ints, n: int) -> list[ColumnMap]:
        rows = [np.flatnonzero(groups == g) for g in range(n)]
        maps = []
        for j in self.moving_.tolist():
            _clock.check_ending()
            encoded = np.ascontiguousarray(Z[:, j])
            maps.append(ColumnMap.learn(layout.columns[j], [encoded[own] for own in rows]))
        return maps

    def _cells(self, Z: Floats) -> Ints:
        """Return the parts that rows lie in by the columns of `by`, shape (n_rows, n_by)."""
        parts = [
            np.searchsorted(cuts, Z[:, j]) for j, cuts in zip(self.by_, self.cuts_, strict=True)
        ]
        return np.column_stack(parts).astype(np.intp)

    def _move(self, Z: Floats, own: int, target: int) -> Floats:
        if not len(self.by_):
            return self._moved(Z, ALL_ROWS, own, target)
        moved = Z.copy()
        cells, which = np.unique(self._cells(Z), axis=0, return_inverse=True)
        for k, cell in enumerate(cells):
            rows = np.flatnonzero(which.ravel() == k)
            key = _key(cell)
            moved[rows] = self._moved(Z[rows], key if key in self.maps_ else ALL_ROWS, own, target)
        return moved

    def _moved(self, Z: Floats, key: str, own: int, target: int) -> Floats:
        ranks = RowRanks(Z, self.random_state or 0)
        moved = Z.copy(order="K")
        for j, column_map in zip(self.moving_.tolist(), self.maps_[key], strict=True):
            _clock.check_ending()
            curves = self._curves_of(key, j, own, target)
            column = self.layout_.columns[j]
            encoded = np.ascontiguousarray(Z[:, j])
            moved[:, j] = column_map.move(column, encoded, own, target, ranks, j, curves)
        return moved

    def _curves_of(self, key: str, j: int, own: int, target: int) -> dict[Any, MonotoneMap]:
        """Return where the curve of a column and pair of groups is kept, once it is known."""
        if len(self._curves) > 256:  # each takes some hundred kilobytes
            self._curves = {}
        return self._curves.setdefault((key, j, own, target), {})

    def __getstate__(self) -> Any:
        # What is worked out for pairs of groups is worked out anew where it is needed.
        state: Any = super().__getstate__()
        return {**state, "_curves": {}} if "_curves" in state else state


def _key(cell: Ints) -> str:
    """Return the key of a cell of `by` in `maps_`: text, as files in the skops format need it."""
    return ",".join(map(str, cell.tolist()))


def _cuts(column: Column, encoded: Floats) -> Floats:
    """Return where an encoded column in `by` is cut: between categories, or in quarters."""
    values, n_parts = np.unique(encoded[~np.isnan(encoded)]), SETTINGS.n_parts
    if column.is_category or len(values) <= n_parts:
        return values
    return np.unique(np.quantile(encoded[~np.isnan(encoded)], np.arange(1, n_parts) / n_parts))
