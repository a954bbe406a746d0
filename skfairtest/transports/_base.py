"""What all transports share: tables, groups, ties, and columns that stay."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skfairtest._delegation import PackageBase
from skfairtest._parameters import DeclaredParameters, checked, whole
from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import ConstraintWarning, users_level
from skfairtest.space._layout import Layout
from skfairtest.space._sensitive_features import check_index, index_of
from skfairtest.space._space import InputSpace

#: Rows that a transport needs of each group: of one row no distribution is learned.
LEAST_ROWS = 2


def _check_space(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, InputSpace):
        raise TypeError(
            f"{name} must be an InputSpace or None; got {value!r}. Describe the columns by "
            "InputSpace(categories=..., one_hot=...)."
        )


class BaseTransport(DeclaredParameters, PackageBase, BaseEstimator):
    """Base of maps that move rows of one group to where another group's rows lie.

    A subclass has `_learn`, which learns from encoded values, and `_move`, which moves encoded rows
    from one group to another.

    Parameters
    ----------
    keep : list of str or int, default=()
        Columns that must not move, by name or position.
    space : InputSpace, default=None
        How the columns are to be read: one-hot groups, steps, categories, constraints. It is copied
        and learned from the table; None reads them as an `InputSpace` does by default.
    random_state : int, default=0
        Seed of the ranks by which equal values are told apart, of samples, and of models without a
        seed of their own. Ranks belong to rows: the same row gets the same ones in every table.
    """

    keep: Sequence[Any] = ()
    space: Any = checked(default=None, check=_check_space)
    random_state: int | None = whole(default=0, least=0)

    # Tables ---------------------------------------------------------------------------------

    def fit(self, X: Any, groups: Any) -> Any:
        """Learn how the rows of each group are distributed.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            The table. A column that says the group itself is moved like any other category, that
            is, from one group's value to the other's.
        groups : array-like of shape (n_rows,)
            The group of each row.

        Returns
        -------
        self : object
            The fitted transport.

        Raises
        ------
        ValueError
            If groups are missing, there are fewer than two of them, or one has a single row; if
            `keep` names all columns, or columns that are not there.

        Warns
        -----
        UserWarning
            If a column has a single value in one group and several in another: rows have no rank
            there, and get values at random.
        """
        self._check_declared()
        labels = read_groups(groups, X)
        description = InputSpace() if self.space is None else clone(self.space)
        space = description.fit(X, None)
        self.groups_, codes = numbered(labels)
        self.space_ = space
        # A space keeps a sample of tables in chunks only; this is all rows.
        self.fit_encoded(space.layout, space.data, codes, self.groups_)
        warn_of_single_values(space.layout, space.data, codes, self.groups_, self.moving_)
        return self

    def transport(self, X: Any, groups: Any, to: Any = None) -> Any:
        """Move rows to where the rows of another group lie.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows in the same kind of table as in `fit`.
        groups : label or array-like of shape (n_rows,)
            The group that each row belongs to.
        to : label or array-like of shape (n_rows,), default=None
            The group to which each row is moved. With two groups the default is the other one. A
            row that is moved to its own group stays as it is.

        Returns
        -------
        array or DataFrame of shape (n_rows, n_features)
            The moved rows.

        Raises
        ------
        ValueError
            If a group was not in `fit`, or `to` is missing where there are more than two groups.

        Warns
        -----
        ConstraintWarning
            If moved rows break a constraint of `space` that the rows themselves satisfy.
        """
        check_is_fitted(self, "maps_")
        own = self._codes_of(groups, "groups", X)
        if to is None:
            if len(self.groups_) > 2:
                raise ValueError(
                    f"to= must say where rows are moved, as there are {len(self.groups_)} groups: "
                    f"{self.groups_.tolist()!r}. Give one of them, or one for each row."
                )
            target = 1 - own
        else:
            target = self._codes_of(to, "to", X)
        space, Z = self.space_, self.space_.encode(X)
        endless = np.isinf(Z).any(axis=0)
        if endless.any():
            name = space.layout.columns[int(np.argmax(endless))].name
            raise ValueError(
                f"Column {name!r} contains infinity, which has no place among the numbers of a "
                "group. Replace infinite values before moving rows."
            )
        if not space.constraints_:
            moved = self._move_in_place(Z, own, target)
        else:
            moved = self.move_encoded(Z, own, target)
            broken = int((space.valid(Z) & ~space.valid(moved)).sum())
            if broken:
                warnings.warn(
                    f"{broken} of {len(Z)} moved rows break the constraint of space=, which the "
                    "rows themselves satisfy. Name the columns of the constraint in keep=, or "
                    "leave these rows out.",
                    ConstraintWarning,
                    stacklevel=users_level(),
                )
        # Who stays, and columns that do, are as in X, also where numbers are off the steps.
        container, X_in_fit = space.layout.container, space.layout.as_in_fit(X)
        decoded, every, stays = space.decode(moved), np.arange(len(Z)), own == target
        columns = {
            place: container.take_values(decoded, place, every)
            for place in space.layout.places_of(self.moving_)
        }
        if stays.any():
            columns = {
                place: container.where(~stays, column, X_in_fit, place)
                for place, column in columns.items()
            }
        table = container.with_columns(X_in_fit, columns)
        if isinstance(table, pd.DataFrame):
            table.index = X.index
        return table

    def _codes_of(self, labels: Any, name: str, X: Any) -> Ints:
        check_index(labels, index_of(X), name=name)
        n = len(X)
        given = np.asarray(labels, dtype=object)
        array = given.reshape(1) if given.ndim == 0 else given
        if given.ndim and array.shape != (n,):
            raise ValueError(
                f"{name}= must be one label or one for each of {n} rows; got shape {array.shape}."
            )
        # As objects: to find out what the labels are takes longer than to find them.
        known = pd.Index(self.groups_, dtype=object)
        codes = known.get_indexer(pd.Index(array, dtype=object))
        if (codes < 0).any():
            unknown = pd.unique(pd.Series(array[codes < 0]))[:3].tolist()
            raise ValueError(
                f"{name}= has groups that were not in fit: {unknown!r}. Expected some of "
                f"{self.groups_.tolist()!r}."
            )
        return np.broadcast_to(codes.astype(np.intp), n)

    # Encoded rows ---------------------------------------------------------------------------

    def fit_encoded(
        self, layout: Layout, Z: Floats, groups: Ints, labels: Any, stays: Sequence[int] = ()
    ) -> Any:
        """Learn from encoded rows, as an `InputSpace` has them.

        Parameters
        ----------
        layout : Layout
            What the encoded values mean.
        Z : ndarray of shape (n_rows, n_features)
            Encoded rows.
        groups : ndarray of int of shape (n_rows,)
            The group of each row, as a position in `labels`.
        labels : ndarray of shape (n_groups,)
            The groups.
        stays : list of int, default=()
            Positions of attributes that do not move, in addition to those in `keep`, such as those
            that say the group.

        Returns
        -------
        self : object
            The fitted transport.
        """
        self._check_declared()
        counts = np.bincount(groups, minlength=len(labels))
        if len(labels) < 2:
            raise ValueError(
                f"A transport needs two groups or more; got {np.asarray(labels).tolist()!r}. Pass "
                "the sensitive attribute as the groups."
            )
        if counts.min() < LEAST_ROWS:
            small = np.asarray(labels).tolist()[int(counts.argmin())]
            raise ValueError(
                f"The group {small!r} has {counts.min()} row; a distribution is learned from "
                f"{LEAST_ROWS} rows or more, and from hundreds to be of use. Join it with another "
                "group, or leave its rows out."
            )
        kept = {*named_columns(layout, self.keep, "keep="), *stays}
        moving = [j for j in range(len(layout.columns)) if j not in kept]
        if not moving:
            but = " but those that say the group" if len(stays) else ""
            raise ValueError(
                f"keep= names all columns{but}, so that nothing would move. Leave out those that "
                "may."
            )
        self.groups_, self.layout_ = np.asarray(labels), layout
        self.n_features_in_ = len(layout.columns)
        self.moving_ = np.array(moving, dtype=np.intp)
        self.maps_ = self._learn(layout, Z, groups, len(labels))
        return self

    def move_encoded(self, Z: Floats, own: Ints, target: Ints) -> Floats:
        """Move encoded rows.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_features)
            Encoded rows.
        own, target : ndarray of int of shape (n_rows,)
            The group of each row, and the one to which it is moved, as positions in `groups_`.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The moved rows, encoded.
        """
        # By columns, each of which is moved by itself.
        return self._move_in_place(np.array(Z, dtype=np.float64, order="F"), own, target)

    def _move_in_place(self, moved: Floats, own: Ints, target: Ints) -> Floats:
        """Move encoded rows, which are overwritten, and return them."""
        columns = moved.T
        size = 100_000  # rows at a time, so that scratch memory does not grow with the table
        for start in range(0, len(moved), size):
            part = slice(start, start + size)
            pairs = own[part] * len(self.groups_) + target[part]
            counts = np.bincount(pairs)
            for pair in np.flatnonzero(counts):
                a, b = divmod(int(pair), len(self.groups_))
                if a == b:
                    continue
                if counts[pair] == len(pairs):
                    moved[part] = self._move(moved[part], a, b)
                else:
                    rows = start + np.flatnonzero(pairs == pair)
                    columns[:, rows] = self._move(columns.take(rows, axis=1).T, a, b).T
        return moved

    def _learn(self, layout: Layout, Z: Floats, groups: Ints, n_groups: int) -> Any:
        """Return what is learned from encoded values; `moving_` are the columns that may move."""
        raise NotImplementedError

    def _move(self, Z: Floats, own: int, target: int) -> Floats:
        """Return moved rows of one group."""
        raise NotImplementedError


def named_columns(layout: Layout, named: Any, parameter: str) -> list[int]:
    """Return the positions of the columns that a parameter names, in its order; it may name none.

    Raises
    ------
    ValueError
        For columns that are not there or named twice, and for what names no columns.
    """
    if not isinstance(named, (str, int, np.integer)):
        if not isinstance(named, Iterable):
            raise ValueError(
                f"{parameter} must be a column or a list of columns, by name or position; got "
                f"{named!r}. Leave it out if it is about none."
            )
        named = list(named)
        if not named:
            return []
    return layout.resolve(named, parameter)


def read_groups(groups: Any, X: Any) -> Any:
    """Return the group of each row as an array, checked."""
    check_index(groups, index_of(X), name="groups")
    labels = np.asarray(groups)
    n = len(X)
    if labels.shape != (n,):
        raise ValueError(
            f"groups must have one label for each of {n} rows of X; got shape {labels.shape}."
        )
    missing = pd.isna(labels)
    if missing.any():
        raise ValueError(
            f"groups has missing labels in {int(missing.sum())} of {n} rows (such as row "
            f"{int(np.flatnonzero(missing)[0])}). Leave these rows out, or give them a label of "
            "their own."
        )
    return labels


def numbered(values: Any) -> tuple[Any, Ints]:
    """Return the different values in order, and the place of each value among them."""
    values = np.asarray(values)
    places, levels = pd.factorize(values)  # quicker than sorting all values
    levels = np.asarray(levels, dtype=values.dtype)
    try:
        order = np.argsort(levels, kind="stable")
    except TypeError:  # words and numbers
        order = np.argsort([str(value) for value in levels], kind="stable")
    rank = np.empty(len(levels), dtype=np.intp)
    rank[order] = np.arange(len(levels))
    return levels[order], rank[places]


def warn_of_single_values(
    layout: Layout, Z: Floats, groups: Ints, labels: Any, moving: Ints
) -> None:
    """Warn of columns that have a single value in one group, and several in another.

    Rows of the first group cannot be told apart by such a column, so that they are moved at random.
    """
    members = [np.flatnonzero(groups == g) for g in range(len(labels))]
    found = []
    for j in moving:
        single = [_has_single_value(Z[:, j], rows) for rows in members]
        if any(single) and not all(single):
            g = single.index(True)
            found.append((layout.columns[j].name, np.asarray(labels).tolist()[g], len(members[g])))
    if not found:
        return
    name, label, n_rows = found[0]
    others = [str(other) for other, _, _ in found[1:]]
    warnings.warn(
        f"Column {name!r} has a single value in all {n_rows:,} rows of group {label!r}, and "
        "several values in another group: rows that are moved from there get one of these at random"
        + (f" (so it is with {', '.join(others)})" if others else "")
        + ". Shares of moved rows keep their meaning, but what happens to a single row is chance. "
        "Name the column in keep= if it must not move.",
        UserWarning,
        stacklevel=users_level(),
    )


def _has_single_value(values: Floats, rows: Ints) -> bool:
    """Whether the values of some rows are all the same, or all missing."""
    # Nearly always the first rows differ, and a large table is not read once more.
    for some in (rows[:100], rows):
        part = values[some]
        if not ((part == part[0]).all() or np.isnan(part).all()):
            return False
    return True
