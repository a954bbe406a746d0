"""A space in words, for people who read a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from skfairtest.space._constraints.base import constraints_of, name_of

if TYPE_CHECKING:  # which uses this module
    from skfairtest.space._space import InputSpace


def describe(space: InputSpace) -> pd.DataFrame:
    """One row an attribute: kind, domain, step, columns, and whether it is sensitive."""
    rows = []
    for j, column in enumerate(space.domain.columns):
        names = [space.layout.container.names[place] for place in space.layout.places[j]]
        rows.append(
            {
                "attribute": column.name,
                "kind": column.kind_in_words if len(names) == 1 else "one-hot group",
                "domain": column.in_words(),
                "step": column.distance,
                "columns": len(names),
                "sensitive": bool(j in space.sensitive),
            }
        )
    return pd.DataFrame(rows)


def conditions(space: InputSpace) -> list[str]:
    """What must hold of inputs, each in a line: groups, constraints, plausibility, consequences."""
    lines = [
        f"one of the columns {members} is 1, as one attribute {name!r}"
        for name, members in space.layout.one_hot.items()
    ]
    lines += [name_of(constraint) for constraint in constraints_of(space.constraint_)]
    if space.plausibility is not None:
        share = space.plausibility.share_accepted
        lines.append(
            f"one of two twins looks like the data, to a detector that accepts {share:.1%} of the "
            "rows"
        )
    if isinstance(space.twins_.dependents, Mapping):
        for name, values in space.twins_.dependents.items():
            for value, followers in values.items():
                for other, wanted in followers.items():
                    lines.append(f"where {name} is {value}, {other} is {wanted}, in twins too")
    elif space.twins_.dependents is not None:
        lines.append(f"twins differ in what {name_of(space.twins_.dependents)} changes as well")
    return lines
