"""Two twins side by side: their values, which of them differ, and the model's outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import narwhals as nw
import pandas as pd

from skfairtest._typing import Floats
from skfairtest.finding._words import name_output


class Cell(NamedTuple):
    """One column of a pair, with the values of both twins.

    `matters` says by how much the difference of the two outputs changes if the column has a typical
    value in both twins. None if that was not measured.
    """

    name: Any
    first: Any
    second: Any
    changed: bool
    matters: float | None = None


@dataclass(frozen=True)
class Pair:
    """Two twins, the one with the larger output first.

    Attributes
    ----------
    cells : tuple of Cell
        One cell per column, in the order of the table.
    output : str
        What the outputs are: "probability of yes", "score of yes", "prediction", "label".
    outputs : tuple of two floats, or None
        The model's outputs. None if it only gives labels.
    labels : tuple of two labels, or None
        The labels that the model predicts. None if it was not asked for them.
    difference : float
        The difference of the outputs, or 1 if the labels differ.
    threshold : float or None
        Difference above which an input counts as discriminatory.
    """

    cells: tuple[Cell, ...]
    output: str
    outputs: tuple[float, float] | None
    labels: tuple[Any, Any] | None
    difference: float
    threshold: float | None = None

    def changed_first(self, most: int | None = None) -> tuple[list[Cell], list[Cell]]:
        """Return the cells to show and those to fold away.

        All changed cells are shown and come first. They are followed by the `most` others that
        matter most, or by the first ones of the table if that was not measured.
        """
        changed = [cell for cell in self.cells if cell.changed]
        others = [cell for cell in self.cells if not cell.changed]
        others.sort(key=lambda cell: -(cell.matters or 0.0))  # stable: equal ones keep their order
        cut = len(others) if most is None else most
        return changed + others[:cut], others[cut:]

    def frame(self) -> pd.DataFrame:
        """Return the cells as a table, with one row per column of the twins."""
        return pd.DataFrame(self.cells, columns=Cell._fields)

    def with_matters(self, matters: Sequence[float]) -> Pair:
        """Return the same pair with the values of `matters` for each column."""
        cells = zip(self.cells, matters, strict=True)
        return replace(self, cells=tuple(cell._replace(matters=float(m)) for cell, m in cells))

    def to_dict(self) -> dict[str, Any]:
        """Return the pair as a dict of plain values."""
        return {**asdict(self), "cells": [cell._asdict() for cell in self.cells]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Pair:
        """Make a pair from the dict of `to_dict`, also if JSON has turned its tuples into lists."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        fields["cells"] = tuple(Cell(**cell) for cell in values["cells"])
        return cls(**fields)


def make_pair(
    twins: Any,
    *,
    outputs: Floats | None,
    output: str,
    difference: float,
    threshold: float | None,
    labels: tuple[Any, Any] | None = None,
) -> Pair:
    """Make a pair from a table (or array) of two rows."""
    if isinstance(twins, pd.DataFrame) or not hasattr(twins, "columns"):
        table = pd.DataFrame(twins)
        # All at once, and by position, since names may repeat.
        names, rows = table.columns, table.to_numpy(dtype=object).tolist()
    else:
        other = nw.from_native(twins, eager_only=True)
        names, rows = other.columns, other.rows()
    cells = [
        Cell(name, first, second, not _same(first, second))
        for name, first, second in zip(names, *rows, strict=True)
    ]
    values = None if outputs is None else (float(outputs[0]), float(outputs[1]))
    return Pair(tuple(cells), output, values, labels, float(difference), threshold)


def worst_pair(auditor: Any) -> Pair | None:
    """Return the worst pair of a fitted auditor without a query, or None if it found none."""
    twins = auditor.worst_case_
    if twins is None:
        return None
    is_label = auditor.response_ == "labels"
    labels = auditor._state.get("worst_labels")
    return make_pair(
        twins,
        outputs=None if is_label else auditor.worst_case_outputs_,
        output=name_output(auditor.response_, auditor.worst_case_class_),
        difference=auditor.fairness_degree_,
        threshold=auditor.threshold,
        labels=None if labels is None else tuple(labels.tolist()),
    )


def _same(first: Any, second: Any) -> bool:
    missing = pd.isna(first), pd.isna(second)
    return all(missing) or (not any(missing) and bool(first == second))
