"""Moved twins of all rows, one attribute after the other, which all methods are asked about."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest.individual._flip_test import people
from skfairtest.individual._flip_test.maps import check_transport
from skfairtest.individual._flip_test.people import sensitive_values
from skfairtest.individual._flip_test.share import MovedTwins
from skfairtest.mitigation._comparison.methods import ComparisonContext
from skfairtest.transports import QuantileTransport


class Moved(NamedTuple):
    """Moved twins in each attribute that has some; `note` says who has none, and why."""

    twins: dict[str, MovedTwins]
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


def move_rows(context: ComparisonContext, rng: np.random.Generator, n_jobs: int | None) -> Moved:
    """Move rows of each attribute's groups as an audit does.

    Whatever a transport cannot do costs the figures of moved twins, and no other.
    """
    twins: dict[str, MovedTwins] = {}
    notes = []
    if context.transport is None:
        return Moved(twins)
    space, beside = context.space, context.not_in_model
    for name in sensitive_values(space, beside):
        own = [j for j in space.sensitive if space.layout.columns[j].name == name]
        outside = None if own or beside is None else beside[[name]]
        try:
            one = MovedTwins.of(
                context.transport, space.with_sensitive_features(own), outside, rng,
                most_rows=people.SETTINGS.most_rows, n_jobs=n_jobs,
            )  # fmt: skip
        except Exception as error:
            first = str(error).strip().split("\n")[0].rstrip(".")
            notes.append(f"not measured for {name}: {first or type(error).__name__}")
            continue
        twins[str(name)] = one
        if one.left_out:
            more = f" and {len(one.left_out) - 3} more" if len(one.left_out) > 3 else ""
            notes.append(
                f"people of {', '.join(one.left_out[:3])}{more} ({name}) are not moved and do not "
                f"count, as a map needs {people.SETTINGS.least_of_group} rows of a group, and the "
                f"{people.SETTINGS.most_groups} largest groups are moved"
            )
    return Moved(twins, "; ".join(notes))
