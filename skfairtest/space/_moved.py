"""Twins that a transport moves: with the group, every column goes to where its rank lies there.

A map from one group to another needs the row's own group, so that a function of the changed row
alone cannot be one. The transport itself is made elsewhere (`skfairtest.transports`); here it is
whatever learns from codes and moves codes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exceptions import users_level
from skfairtest.space._domain import Domain
from skfairtest.space._layout import Layout

#: Groups up to which a map between each two of them is learned.
MOST_GROUPS = 64
#: Rows that a transport needs of each group: of one row no distribution is learned.
LEAST_ROWS = 2
#: Groups that an error names.
MOST_NAMED = 3
#: Rows of a group that are looked at first for a column with a single value: nearly always they
#: differ, and a large table is not read once more.
FIRST_ROWS = 100


def is_transport(twins: Any) -> bool:
    """Return whether an object moves rows of one group to where those of another one lie."""
    methods = (getattr(twins, name, None) for name in ("fit", "transport"))
    return not isinstance(twins, type) and all(map(callable, methods))


class MovedTwins:
    """A transport between the groups that the sensitive columns form, learned from the data.

    Parameters
    ----------
    transport : transport
        Not fitted; it is copied.
    layout : Layout
        The attributes of the table.
    domain : Domain
        Their values.
    sensitive : list of int
        Positions of the sensitive attributes, which say the group and are not moved themselves.
    data : ndarray of shape (n_rows, n_features)
        Codes of the rows to learn from; rows whose sensitive values are outside the domain are left
        out.

    Attributes
    ----------
    transport : transport
        Fitted to the codes.
    codes : ndarray of shape (n_groups, n_sensitive)
        Codes of the sensitive attributes of each group.
    data : ndarray
        As given.

    Raises
    ------
    ValueError
        If the sensitive columns have too many values, or there are values that fewer than two rows
        have.
    TypeError
        If the transport cannot work with codes.
    """

    def __init__(
        self, transport: Any, layout: Layout, domain: Domain, sensitive: list[int], data: Floats
    ) -> None:
        if not (hasattr(transport, "fit_codes") and hasattr(transport, "move_codes")):
            raise TypeError(
                "twins= must be a transport of skfairtest, such as QuantileTransport(), or derive "
                f"from one; got {transport!r}, which has no fit_codes and move_codes."
            )
        if getattr(transport, "space", None) is not None:
            raise ValueError(
                "twins= has a transport with a space= of its own; this InputSpace says how the "
                "columns are read. Leave space= of the transport out."
            )
        self.template, self.data = transport, data
        self.sensitive = np.array(sensitive, dtype=np.intp)
        self.codes = _all_groups(domain, sensitive)
        own = self.groups_of(data)
        names = [_name(domain, sensitive, codes) for codes in self.codes]
        _check_sizes(own, names)
        inside = own >= 0
        labels = np.array(names, dtype=object)
        self.transport = clone(transport).fit_codes(
            layout, data[inside], own[inside], labels, sensitive
        )

    def of(self, layout: Layout, domain: Domain, sensitive: list[int]) -> MovedTwins:
        """Return the same for other sensitive attributes, learned from the same rows."""
        if sensitive == self.sensitive.tolist():
            return self
        return MovedTwins(self.template, layout, domain, sensitive, self.data)

    def warn(self, layout: Layout) -> None:
        """Warn of columns that move at random."""
        own = self.groups_of(self.data)
        labels = self.transport.groups_
        warn_of_single_values(layout, self.data, own, labels, self.moving)

    def __repr__(self) -> str:
        return repr(self.template)

    @property
    def moving(self) -> Ints:
        """Positions of the attributes that may move."""
        return np.asarray(self.transport.moving_)

    def groups_of(self, Z: Floats) -> Ints:
        """Return the group of each row, shape (n,); -1 for sensitive values outside the domain."""
        return self._groups_of_codes(Z[:, self.sensitive])

    def _groups_of_codes(self, own: Floats) -> Ints:
        found = np.full(len(own), -1, dtype=np.intp)
        for g, codes in enumerate(self.codes):
            found[(own == codes).all(axis=1)] = g
        return found

    def known(self, Z: Floats) -> Bools:
        """Return which rows have a group to be moved from, shape (n,)."""
        return self.groups_of(Z) >= 0

    def move(self, Z: Floats, codes: Any, domain: Domain) -> Floats:
        """Move rows in place to another group, where their ranks lie there.

        Parameters
        ----------
        Z : ndarray of shape (n, n_features)
            Rows with the sensitive values of their own group, which are changed.
        codes : ndarray of shape (n_sensitive,) or (n, n_sensitive)
            Codes of the sensitive attributes of the group that each row is moved to.
        domain : Domain
            What columns move to is rounded to it.

        Returns
        -------
        ndarray of shape (n, n_features)
            The moved rows. A row of the same group stays as it is; of rows outside all groups, and
            of rows that are moved outside, nothing but the sensitive values changes.
        """
        own, target = self.groups_of(Z), self._groups_of_codes(np.atleast_2d(codes))
        rows = np.flatnonzero((own >= 0) & (target >= 0) & (own != target))
        before = Z[rows]
        Z[:, self.sensitive] = codes
        if len(rows):
            to = np.broadcast_to(target, len(Z))[rows]
            moved = self.transport.move_codes(before, own[rows], to)
            same = (moved == before) | (np.isnan(moved) & np.isnan(before))
            moved = np.where(same, before, domain.clip(moved))
            moved[:, self.sensitive] = Z[np.ix_(rows, self.sensitive)]
            Z[rows] = moved
        return Z


def _all_groups(domain: Domain, sensitive: list[int]) -> Floats:
    """Return the codes of all combinations of sensitive values, (n_groups, n_sensitive)."""
    sizes = [domain.columns[j].n_values for j in sensitive]
    if not np.prod(sizes) <= MOST_GROUPS:
        names = [domain.columns[j].name for j in sensitive]
        raise ValueError(
            f"twins= moves rows between groups, and the sensitive columns {names!r} have more than "
            f"{MOST_GROUPS} combinations of values. Put numbers into a few classes before the "
            "model sees them, or name fewer sensitive columns."
        )
    places = np.unravel_index(np.arange(int(np.prod(sizes))), [int(n) for n in sizes])
    return np.column_stack(
        [domain.low[j] + place for j, place in zip(sensitive, places, strict=True)]
    )


def _name(domain: Domain, sensitive: list[int], codes: Floats) -> str:
    """Return what a group is called, such as "sex=female, race=white"."""
    values = (
        f"{domain.columns[j].name}={domain.columns[j].shown(np.array([code]))[0]}"
        for j, code in zip(sensitive, codes.tolist(), strict=True)
    )
    return ", ".join(values)


def _check_sizes(own: Ints, names: list[str]) -> None:
    """Raise if a group has too few rows to learn from."""
    counts = np.bincount(own[own >= 0], minlength=len(names))
    small = np.flatnonzero(counts < LEAST_ROWS)
    if not len(small):
        return
    shown = "; ".join(f"{names[g]} ({counts[g]})" for g in small[:MOST_NAMED].tolist())
    more = f" and {len(small) - MOST_NAMED} more" if len(small) > MOST_NAMED else ""
    raise ValueError(
        f"twins= moves rows between groups, and each group needs {LEAST_ROWS} rows or more (of use "
        f"are hundreds); got too few of {shown}{more}. Name one sensitive column at a time, join "
        "categories, or leave these out by InputSpace(categories=...)."
    )


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
    for some in (rows[:FIRST_ROWS], rows):
        part = values[some]
        if not ((part == part[0]).all() or np.isnan(part).all()):
            return False
    return True
