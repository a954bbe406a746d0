"""Maps between the groups, learned from encoded rows by any transport."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skfairtest._parameters import check_instance
from skfairtest._typing import Floats, Ints
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.space._space import InputSpace
from skfairtest.transports._base import BaseTransport
from skfairtest.transports._quantile import QuantileTransport
from skfairtest.transports._resampled import Resampled
from skfairtest.workers._sending import on_workers


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

    @classmethod
    def of(
        cls, space: InputSpace, Z: Floats, own: int, to: int, rows: Ints, moved: Floats
    ) -> MovedRows:
        """Let those of the rows stay whose moved twin would break the constraint."""
        stays = np.flatnonzero(~space.valid(moved))
        moved[stays] = Z[rows[stays]]
        return cls(own, to, rows, moved, len(stays))


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
                found.append(MovedRows.of(self.space, Z, own, to, rows, moved))
        return found


class Drawn(NamedTuple):
    """What a map is learned again from.

    Attributes
    ----------
    codes, counts : ndarray of int of shape (n_rows,)
        The group of each row, and how often it was drawn.
    keeps : bool
        Whether rows keep their sensitive values, as those of groups that chance has made do.
    """

    codes: Ints
    counts: Ints
    keeps: bool


class RepeatedMaps:
    """Maps that are learned again from the rows of a fitted map.

    Those of a `QuantileTransport` share what does not change: each column is sorted once.

    Parameters
    ----------
    maps : Maps
        What is learned.
    fitted : Map
        The map of all rows.
    Z : ndarray of shape (n_rows, n_features)
        The rows.
    """

    def __init__(self, maps: Maps, fitted: Map, Z: Floats) -> None:
        self.maps, self.Z, transport = maps, Z, fitted.transport
        self._quantile: Resampled | None = None
        # A subclass may learn in its own way.
        if type(transport) is QuantileTransport and not len(transport.by_):
            self._quantile = Resampled(transport, maps.groups.without(Z))

    def draw(self, rng: np.random.Generator) -> list[Drawn]:
        """Draw rows again within their groups, and deal the rows out to groups by chance."""
        codes, n = self.maps.groups.codes, len(self.Z)
        own = [np.flatnonzero(codes == g) for g in range(len(self.maps.groups))]
        drawn = np.concatenate([rng.choice(rows, size=len(rows)) for rows in own])
        again = Drawn(codes, np.bincount(drawn, minlength=n), False)
        return [again, Drawn(rng.permutation(codes), np.ones(n, dtype=np.intp), True)]

    def move_each(self, drawn: list[Drawn], n_jobs: int | None) -> Iterator[list[MovedRows]]:
        """Learn a map from each of what was drawn, and move its rows; threads share the work."""
        return on_workers(_move_drawn, self, [(one,) for one in drawn], n_jobs, prefer="threads")

    def move_all(self, codes: Ints, counts: Ints, *, keeps: bool = False) -> list[MovedRows]:
        """Learn a map between groups of rows drawn `counts` times each, and move these rows."""
        maps, groups, Z = self.maps, self.maps.groups, self.Z
        if self._quantile is None:
            drawn, rows = np.repeat(np.arange(len(Z)), counts), np.flatnonzero(counts)
            fitted = maps.learn(Z[drawn], codes[drawn])
            moved = fitted.move_all(Z[rows], codes[rows], keeps=keeps)
            return [part._replace(rows=rows[part.rows]) for part in moved]
        found = []
        for own, to, rows, moved_rows in self._quantile.move(codes, counts, len(groups)):
            values = Z[np.ix_(rows, groups.columns)] if keeps else groups.values[to]
            moved_rows[:, groups.columns] = values
            found.append(MovedRows.of(maps.space, Z, own, to, rows, moved_rows))
        return found


def _move_drawn(repeated: RepeatedMaps, drawn: Drawn) -> list[MovedRows]:
    return repeated.move_all(drawn.codes, drawn.counts, keeps=drawn.keeps)


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
