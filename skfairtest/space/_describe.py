"""A space in words, for people who read a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skfairtest.space._columns import Column
from skfairtest.space._constraints.base import constraints_of, name_of
from skfairtest.space._resolution import Listed, Strides

if TYPE_CHECKING:  # which uses this module
    from skfairtest.space._space import InputSpace

#: Values of a domain that are listed.
MOST_LISTED = 6


def describe(space: InputSpace) -> pd.DataFrame:
    """One row an attribute: kind, domain, step, columns, and whether it is sensitive."""
    rows = []
    for j, column in enumerate(space.domain.columns):
        names = [space.layout.container.names[place] for place in space.layout.places[j]]
        rows.append(
            {
                "attribute": column.name,
                "kind": _kind(column) if len(names) == 1 else "one-hot group",
                "domain": _domain(column),
                "step": _step(column),
                "columns": len(names),
                "sensitive": bool(j in space.sensitive),
            }
        )
    return pd.DataFrame(rows)


def conditions(space: InputSpace) -> list[str]:
    """What must hold of inputs, each in a line: groups, constraints, likeness, consequences."""
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


def _kind(column: Column) -> str:
    return column.kind if column.dates is None else column.dates.family


def _domain(column: Column) -> str:
    if column.dates is not None and column.scale is not None:
        n = int(column.n_values - column.has_missing)
        ends = dict.fromkeys(column.dates.texts(np.array(column.ends)))
        missing = ", or missing" if column.has_missing else ""
        return " to ".join(ends) + (f" ({n} values)" if n > 2 else "") + missing
    if column.levels is not None and column.scale is None:
        values = [_text(value) for value in column.take(column.grid()).tolist()]
    elif isinstance(column.scale, Listed):
        values = [_text(value) for value in column.take(column.grid()).tolist()]
    else:
        low, high = column.ends
        missing = ", or missing" if column.has_missing else ""
        return f"{_text(low)} to {_text(high)}{missing}"
    if len(values) <= MOST_LISTED:
        return ", ".join(values)
    return f"{', '.join(values[: MOST_LISTED - 1])}, ... ({len(values)} values)"


def _step(column: Column) -> float:
    """Distance of neighbouring values; NaN for categories, listed values and real columns."""
    if column.levels is not None or isinstance(column.scale, Listed) or not column.discrete:
        return np.nan
    if isinstance(column.scale, Strides):
        return float(column.scale.step)
    if column.scale is None:
        return 1.0
    return float(column.scale.step / column.scale.divisor)  # type: ignore[attr-defined]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "missing" if np.isnan(value) else f"{value:.6g}"
    return "missing" if value is None else str(value)
