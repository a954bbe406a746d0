"""Rows of each fold moved to other groups, by a map that is learned from the rows trained on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Ints
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.maps import Maps, MovedRows, check_transport
from skfairtest.individual._flip_test.rate import changes_of
from skfairtest.mitigation._comparison.methods import Case
from skfairtest.mitigation._shares import Judged
from skfairtest.oracle._model import Model
from skfairtest.space._moved import warn_of_single_values
from skfairtest.transports import QuantileTransport

#: Groups between which rows are moved at most: each row is moved to all of them.
MOST_GROUPS = 12


class Moved(NamedTuple):
    """Moved twins of the rows that each fold holds out; `note` says why there are none."""

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


def move_held_rows(case: Case, parts: list[tuple[Ints, Ints]]) -> Moved:
    """Learn a map from the training rows of each fold, and move the rows held out.

    Whatever a transport cannot do costs the figures of moved twins, and no other.
    """
    if case.transport is None:
        return Moved(None)
    try:
        groups = Groups.of(case.space, case.beside)
        if len(groups) > MOST_GROUPS:
            return Moved(None, _too_many(groups))
        maps = Maps(case.transport, case.space, groups)
        Z, moving = case.space.data, np.arange(0)
        found = []
        for training, held in parts:
            fitted = maps.learn(Z[training], groups.codes[training])
            moving = getattr(fitted.transport, "moving_", moving)
            found.append(fitted.move_all(Z[held], groups.codes[held]))
    except Exception as error:
        first = str(error).strip().split("\n")[0].rstrip(".")
        return Moved(None, f"not measured: {first or type(error).__name__}")
    warn_of_single_values(case.space.layout, Z, groups.codes, groups.labels, moving)
    return Moved(found)


def judge_moved(model: Any, case: Case, held: Ints, moved: list[MovedRows]) -> Judged:
    """Say how a model treats the rows held out and their moved twins."""
    asked = Model(model, case.space, response_method="auto", n_jobs=1)
    changes = changes_of(asked, case.space.data[held], moved, case.threshold)
    return Judged(changes.differs, changes.disparity)


def _too_many(groups: Groups) -> str:
    counts = np.bincount(groups.codes)
    them = " and ".join(str(name) for name in groups.names)
    return (
        f"not measured: the values of {them} form {len(groups)} groups of {counts.min()} rows or "
        f"more, and rows are moved between {MOST_GROUPS} at most. Pass wider groups beside X, such "
        "as sensitive_features=X['age'] >= 40"
    )
