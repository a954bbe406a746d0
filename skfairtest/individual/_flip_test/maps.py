"""Maps between the groups, learned from encoded rows by any transport."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skfairtest._parameters import check_instance
from skfairtest._typing import Floats, Ints
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.space._space import InputSpace
from skfairtest.transports._base import BaseTransport
from skfairtest.transports._quantile import QuantileTransport


class Maps:
    """Learns maps between groups, which move all columns but the sensitive ones.

    Parameters
    ----------
    transport : object or None
        What is cloned and fitted; None is a `QuantileTransport`.
    space : InputSpace
        What encoded values mean.
    groups : Groups
        The groups.
    """

    def __init__(self, transport: Any, space: InputSpace, groups: Groups) -> None:
        self.transport = QuantileTransport() if transport is None else transport
        self.space, self.groups = space, groups

    def learn(self, Z: Floats, codes: Ints) -> Map:
        """Learn how the rows of each group are distributed; `codes` are the groups of rows."""
        Z = self.groups.without(Z)
        transport = clone(self.transport)
        if isinstance(transport, BaseTransport):
            # The sensitive columns say the group. An order need not name them, and where nothing
            # but them is left, nothing would move.
            stays, labels = self.groups.columns.tolist(), self.groups.labels
            transport.fit_encoded(self.space.layout, Z, codes, labels, stays)
        else:
            transport.fit(self.space.decode(Z), self.groups.labels[codes])
        return Map(transport, self.space, self.groups)


class MovedRows(NamedTuple):
    """The rows of one group, moved to another.

    Attributes
    ----------
    own, to : int
        The groups.
    rows : ndarray of int of shape (n,)
        Positions of the rows.
    Z : ndarray of shape (n, n_features)
        Codes of the moved twins.
    n_stay : int
        How many of them are the row itself, since the moved one breaks the constraint.
    """

    own: int
    to: int
    rows: Ints
    Z: Floats
    n_stay: int


class Map:
    """A map between groups.

    Attributes
    ----------
    transport : object
        Fitted.
    """

    def __init__(self, transport: Any, space: InputSpace, groups: Groups) -> None:
        self.transport, self.space, self.groups = transport, space, groups

    def move(self, Z: Floats, own: Ints, target: Ints, *, keeps: bool = False) -> Floats:
        """Return rows moved from their groups to others, with the sensitive values of these.

        With `keeps` the rows keep their sensitive values.
        """
        blank = self.groups.without(Z)
        if isinstance(self.transport, BaseTransport):
            moved = self.transport.move_encoded(blank, own, target)
        else:
            labels = self.groups.labels
            table = self.transport.transport(self.space.decode(blank), labels[own], labels[target])
            moved = self.space.encode(table)
        if keeps:
            moved[:, self.groups.columns] = Z[:, self.groups.columns]
            return moved
        return self.groups.set_values(moved, target)

    def move_all(self, Z: Floats, codes: Ints, *, keeps: bool = False) -> list[MovedRows]:
        """Move rows of known groups to each group but their own; `keeps` as in `move`.

        A row stays where its moved twin would break the constraint: the model is never asked about
        what cannot be.
        """
        found = []
        for own in range(len(self.groups)):
            rows = np.flatnonzero(codes == own)
            for to in range(len(self.groups)):
                if to == own or not len(rows):
                    continue
                here, there = np.full(len(rows), own), np.full(len(rows), to)
                moved = self.move(Z[rows], here, there, keeps=keeps)
                stays = ~self.space.valid(moved)
                moved[stays] = Z[rows[stays]]
                found.append(MovedRows(own, to, rows, moved, int(stays.sum())))
        return found


def check_transport(transport: Any) -> None:
    """Check that a transport is an estimator that moves rows."""
    if transport is None:
        return
    check_instance("transport", transport)
    lacks = [name for name in ("fit", "transport") if not callable(getattr(transport, name, None))]
    if lacks:
        raise TypeError(
            "transport must have the methods fit(X, groups) and transport(X, groups, to); "
            f"{type(transport).__name__} has no {' and no '.join(lacks)}. Give a "
            "QuantileTransport(), or None."
        )


def differs(one: Floats, other: Floats) -> Any:
    """Return where encoded values differ; missing values are equal."""
    return ~((one == other) | (np.isnan(one) & np.isnan(other)))
