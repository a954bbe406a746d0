"""A space in words, for people who read a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest.space._constraints.base import name_of
from skfairtest.space._layout import Layout
from skfairtest.space._plausible.plausibility import Plausibility
from skfairtest.space._twins import Twins


def describe(layout: Layout, sensitive: NDArray[np.intp]) -> pd.DataFrame:
    """Return one row for each attribute: kind, domain, step, columns, and if it is sensitive."""
    rows = []
    for j, column in enumerate(layout.columns):
        names = [layout.container.names[place] for place in layout.places[j]]
        rows.append(
            {
                "attribute": column.name,
                "kind": column.kind_in_words if len(names) == 1 else "one-hot group",
                "domain": column.in_words(),
                "step": column.distance,
                "columns": len(names),
                "sensitive": bool(j in sensitive),
            }
        )
    return pd.DataFrame(rows)


def conditions(
    layout: Layout, constraints: list[Any], plausibility: Plausibility | None, twins: Twins
) -> list[str]:
    """Return the conditions that inputs satisfy, each as a line of text."""
    lines = [
        f"exactly one of the columns {members} is 1; they are the attribute {name!r}"
        for name, members in layout.one_hot.items()
    ]
    lines += [name_of(one) for one in constraints]
    if plausibility is not None:
        share = plausibility.share_accepted
        lines.append(
            f"at least one of two twins looks like the data to a detector that accepts {share:.1%} "
            "of the rows"
        )
    if isinstance(twins.descendants, Mapping):
        for name, values in twins.descendants.items():
            for value, descendants in values.items():
                for other, wanted in descendants.items():
                    lines.append(f"if {name} is {value}, {other} is {wanted}, also in twins")
    elif twins.descendants is not None:
        lines.append(f"twins also differ in the columns that {name_of(twins.descendants)} changes")
    return lines
