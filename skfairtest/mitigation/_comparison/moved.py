"""Rows of each fold moved to other groups, by a map that is learned from the rows trained on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Ints
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.maps import Maps, MovedRows, check_transport
from skfairtest.individual._flip_test.rate import changes_of
from skfairtest.mitigation._comparison.methods import ComparisonContext
from skfairtest.mitigation._shares import Judged
from skfairtest.oracle._model import Model
from skfairtest.transports import QuantileTransport
from skfairtest.transports._base import LEAST_ROWS, warn_of_single_values


class Moved(NamedTuple):
    """Moved twins of the rows that each fold holds out; `note` says why rows have none."""

    folds: list[list[MovedRows]] | None
    note: str = ""


def transport_of(moved: Any) -> Any:
    """Return the map that is meant, or None; an error for what is none."""
    if isinstance(moved, bool):
        return QuantileTransport() if moved else None
    if moved is None or isinstance(moved, str):
        raise TypeError(
            f"moved must be True, False or a transport such as QuantileTransport(); got {moved!r}."
        )
    check_transport(moved)
    return moved


def move_held_rows(context: ComparisonContext, parts: list[tuple[Ints, Ints]]) -> Moved:
    """Learn a map from the training rows of each fold, and move the rows held out.

    Whatever a transport cannot do costs the figures of moved twins, and no other.
    """
    if context.transport is None:
        return Moved(None)
    try:
        every = Groups.of(context.space, context.not_in_model, least=1)
        counts = [np.bincount(every.codes[rows], minlength=len(every)) for rows, _ in parts]
        is_large = np.min(counts, axis=0) >= LEAST_ROWS
        groups = every.only(np.flatnonzero(is_large))
        if len(groups) < 2:
            return Moved(None, _too_small(every))
        most = 12  # each row is moved to all groups
        if len(groups) > most:
            return Moved(None, _too_many(groups, most))
        maps = Maps(context.transport, context.space, groups)
        Z, moving = context.space.data, np.arange(0)
        found = []
        for training, held in parts:
            known = training[groups.codes[training] >= 0]
            fitted = maps.learn(Z[known], groups.codes[known])
            moving = getattr(fitted.transport, "moving_", moving)
            found.append(fitted.move_all(Z[held], groups.codes[held]))
    except Exception as error:
        first = str(error).strip().split("\n")[0].rstrip(".")
        return Moved(None, f"not measured: {first or type(error).__name__}")
    warn_of_single_values(context.space.layout, Z, groups.codes, groups.labels, moving)
    return Moved(found, "" if is_large.all() else _left_out(every, np.flatnonzero(~is_large)))


def compare_moved(
    model: Any, context: ComparisonContext, held: Ints, moved: list[MovedRows]
) -> Judged:
    """Say how a model treats the rows held out that are moved, and their moved twins."""
    asked = Model(model, context.space, response_method="auto", n_jobs=1)
    changes = changes_of(asked, context.space.data[held], moved, context.threshold)
    rows = np.unique([row for part in moved for row in part.rows.tolist()]).astype(np.intp)
    return Judged(changes.differs[rows], changes.disparity[rows])


def _too_many(groups: Groups, most: int) -> str:
    counts = np.bincount(groups.codes[groups.codes >= 0])
    return (
        f"not measured: the values of {_them(groups)} form {len(groups)} groups of {counts.min()} "
        f"rows or more, and rows are moved between {most} at most. Pass wider groups as values, "
        "such as sensitive_features=X['age'] >= 40"
    )


def _too_small(every: Groups) -> str:
    return (
        f"not measured: the values of {_them(every)} form {len(every)} groups, of which fewer than "
        f"two have {LEAST_ROWS} rows in the training rows of each fold. Pass wider "
        "groups as values, such as sensitive_features=X['age'] >= 40"
    )


def _left_out(every: Groups, small: Ints) -> str:
    """Say whose rows are not moved."""
    counts = np.bincount(every.codes, minlength=len(every))
    named = [f"{every.labels[g]} ({counts[g]})" for g in small[:3]]
    more = f" and {len(small) - 3} more groups" if len(small) > 3 else ""
    return (
        f"rows of {', '.join(named)}{more} are not moved and do not count, as a map needs "
        f"{LEAST_ROWS} rows of a group among the training rows of each fold"
    )


def _them(groups: Groups) -> str:
    return " and ".join(str(name) for name in groups.names)
