"""Each column is moved by its ranks within the group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._columns import Column
from skfairtest.space._layout import Layout
from skfairtest.transports._base import BaseTransport
from skfairtest.transports._couplings import Quantiles, coupling, drawn, shares_of
from skfairtest.transports._ranks import GivenRanks, RowRanks

#: Parts that a column of numbers in `by` is cut into, each with about as many rows.
N_PARTS = 4
#: Rows that each group needs in a cell of `by` to be described there.
LEAST_IN_CELL = 20


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
    def learn(cls, column: Column, codes: Floats, groups: Ints, n_groups: int) -> ColumnMap:
        """Learn the distributions of a column from its codes."""
        own = [codes[groups == g] for g in range(n_groups)]
        if column.is_category:
            n = int(np.nanmax(codes, initial=column.high)) + 2
            return cls(np.array([shares_of(_categories(part, n), n) for part in own]), [])
        present = [part[~is_missing(column, part)] for part in own]
        shares = [
            [len(p) / max(1, len(o)), 1 - len(p) / max(1, len(o))]
            for p, o in zip(present, own, strict=True)
        ]
        return cls(np.array(shares), [Quantiles.learn(p, column.discrete) for p in present])

    def move(
        self,
        column: Column,
        codes: Floats,
        own: int,
        target: int,
        ranks: RowRanks | GivenRanks,
        j: int,
    ) -> Floats:
        """Return the codes of rows of one group where the other group has the same ranks."""
        shares = coupling(self.shares[own], self.shares[target])
        if column.is_category:
            here = _categories(codes, shares.shape[0])
            there = drawn(shares[here], here, ranks.uniform(2 * j))
            return np.where(there == here, codes, _codes(there, shares.shape[0]))
        absent = is_missing(column, codes)
        moved = codes.copy()
        gone = absent
        # A share of the missing values is present in the other group, or the other way round.
        if self.shares[own, 1] > 0 or self.shares[target, 1] > 0 or absent.any():
            here = absent.astype(np.intp)
            gone = drawn(shares[here], here, ranks.uniform(2 * j + 1)) == 1
            missing = np.nan if column.missing is None else column.missing
            moved[gone & ~absent] = missing
        numbers = self.numbers[target]
        stays = ~gone
        if len(numbers.values) and stays.any():
            uniform = ranks.uniform(2 * j, np.flatnonzero(stays))
            of_own = self.numbers[own]
            at = uniform.copy()
            known = ~absent[stays]
            if len(of_own.values):
                at[known] = of_own.ranks(codes[stays][known], uniform[known])
            moved[stays] = numbers.at(at)
        return moved


def is_missing(column: Column, codes: Floats) -> Any:
    """Return which codes mean a missing value."""
    return np.isnan(codes) | (codes > column.top)


def _categories(codes: Floats, n: int) -> Ints:
    # Missing values of a column without them in `fit` are a category of their own, the last one.
    return np.where(np.isnan(codes), n - 1, np.clip(codes, 0, n - 1)).astype(np.intp)


def _codes(categories: Ints, n: int) -> Floats:
    return np.where(categories == n - 1, np.nan, categories)


class QuantileTransport(BaseTransport):
    """Move each column by its ranks: the tenth percentile goes to the tenth percentile.

    Numbers get the value that has the same rank in the other group. Of categories, as few rows as
    possible change theirs. Missing values are a category of their column. What columns have to do
    with each other within a group is kept as far as ranks tell it.

    Parameters
    ----------
    by : list of str or int, default=()
        Columns that stay, within whose values the ranks are taken: those of people with equal
        values of these columns (quarters, for numbers). Where a group has too few rows with some
        values, its ranks among all rows are taken.
    keep : list of str or int, default=()
        Columns that must not move, by name or position.
    space : InputSpace, default=None
        How the columns are to be read: one-hot groups, steps, categories, constraints. It is copied
        and learned from the table; None reads them as an `InputSpace` does by default.
    random_state : int, default=0
        Seed of the ranks by which equal values are told apart. They belong to rows: the same row
        gets the same ranks in every table.

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
    The map is monotone in each column, so that it sends boxes to boxes, and `CertifiedAuditor` can
    bound what it changes. It is no counterfactual: it says where the same rank lies, and not what
    would have become of a person. FlipTest [1]_ asks the same question with a joint map.

    References
    ----------
    .. [1] Black, E., Yeom, S., & Fredrikson, M. (2020). FlipTest: fairness testing via optimal
       transport. FAT*, 111-121.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest import QuantileTransport
    >>> X = pd.DataFrame({"income": [10.0, 20.0, 30.0, 20.0, 40.0, 60.0]})
    >>> groups = np.array(["a", "a", "a", "b", "b", "b"])
    >>> transport = QuantileTransport().fit(X, groups)
    >>> transport.transport(X.iloc[:3], "a", to="b")["income"].tolist()
    [20.0, 40.0, 60.0]
    """

    by: Sequence[Any] = ()

    #: Each column by itself, so that boxes go to boxes.
    is_columnwise = True

    def _learn(self, layout: Layout, Z: Floats, groups: Ints, n_groups: int) -> Any:
        by = layout.resolve(list(self.by)) if len(self.by) else []
        self.moving_ = np.setdiff1d(self.moving_, by)
        if not len(self.moving_):
            raise ValueError(
                "keep= and by= name all columns, so that nothing would move. Leave out those that "
                "may."
            )
        self.by_ = np.array(by, dtype=np.intp)
        self.cuts_ = [_cuts(layout.columns[j], Z[:, j]) for j in by]
        maps: dict[tuple[int, ...], list[ColumnMap]] = {}
        maps[()] = self._of_rows(layout, Z, groups, n_groups)
        if by:
            cells, which = np.unique(self._cells(Z), axis=0, return_inverse=True)
            for k, cell in enumerate(cells):
                rows = which.ravel() == k
                if np.bincount(groups[rows], minlength=n_groups).min() >= LEAST_IN_CELL:
                    key = tuple(int(c) for c in cell)
                    maps[key] = self._of_rows(layout, Z[rows], groups[rows], n_groups)
        return maps

    def _of_rows(self, layout: Layout, Z: Floats, groups: Ints, n: int) -> list[ColumnMap]:
        return [
            ColumnMap.learn(layout.columns[j], Z[:, j], groups, n) for j in self.moving_.tolist()
        ]

    def _cells(self, Z: Floats) -> Ints:
        """Return the parts that rows lie in by the columns of `by`, shape (n_rows, n_by)."""
        parts = [
            np.searchsorted(cuts, Z[:, j]) for j, cuts in zip(self.by_, self.cuts_, strict=True)
        ]
        return np.column_stack(parts).astype(np.intp)

    def _move(self, Z: Floats, own: int, target: int) -> Floats:
        if not len(self.by_):
            return self._moved(Z, self.maps_[()], own, target)
        moved = Z.copy()
        cells, which = np.unique(self._cells(Z), axis=0, return_inverse=True)
        for k, cell in enumerate(cells):
            rows = np.flatnonzero(which.ravel() == k)
            maps = self.maps_.get(tuple(int(c) for c in cell), self.maps_[()])
            moved[rows] = self._moved(Z[rows], maps, own, target)
        return moved

    def _moved(self, Z: Floats, maps: list[ColumnMap], own: int, target: int) -> Floats:
        ranks = RowRanks(Z, self.random_state or 0)
        moved = Z.copy()
        for j, column_map in zip(self.moving_.tolist(), maps, strict=True):
            column = self.layout_.columns[j]
            moved[:, j] = column_map.move(column, Z[:, j], own, target, ranks, j)
        return moved

    # What certificates look at ----------------------------------------------------------------

    def move_column(
        self, j: int, codes: Floats, own: int, target: int, ranks: Floats, missing: Floats
    ) -> Floats:
        """Move codes of one column, as rows of the given ranks are moved; without `by` alone.

        Parameters
        ----------
        j : int
            Position of an attribute in `moving_`.
        codes : ndarray of shape (n,)
            Codes of the attribute.
        own, target : int
            The groups.
        ranks, missing : ndarray of shape (n,)
            Numbers in [0, 1): ranks among equal values, and those that say what becomes missing.

        Returns
        -------
        ndarray of shape (n,)
            Moved codes. Of numbers they never fall where codes or, at equal codes, `ranks` rise.
        """
        column_map = self._map_of(j)
        given = GivenRanks(ranks, missing)
        return column_map.move(self.layout_.columns[j], codes, own, target, given, j)

    def ranked_codes(self, j: int, own: int) -> Floats | None:
        """Return the numbers of a column whose rows have many ranks; None if those of all have."""
        numbers = self._map_of(j).numbers[own]
        return numbers.values[numbers.high > numbers.low] if len(numbers.values) else None

    def _map_of(self, j: int) -> ColumnMap:
        return self.maps_[()][self.moving_.tolist().index(j)]


def _cuts(column: Column, codes: Floats) -> Floats:
    """Return where the codes of a column in `by` are cut: between categories, or in quarters."""
    values = np.unique(codes[~np.isnan(codes)])
    if column.is_category or len(values) <= N_PARTS:
        return values
    return np.unique(np.quantile(values if len(values) <= N_PARTS else codes[~np.isnan(codes)],
                                 np.arange(1, N_PARTS) / N_PARTS))  # fmt: skip
