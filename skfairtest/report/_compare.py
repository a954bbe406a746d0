"""Compares two reports side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skfairtest.finding._words import listed
from skfairtest.report._types import Report
from skfairtest.report.parts import PARTS
from skfairtest.report.parts.twins.results import not_in_model


def compare_reports(first: Report, second: Report, names: tuple[str, str]) -> pd.DataFrame:
    """Make a table with one row per figure; see `AuditReport.compare`."""
    one, other = names
    figures = _figures(first), _figures(second)
    rows = []
    for name in dict.fromkeys([*figures[0], *figures[1]]):
        a, b = (side.get(name, UNKNOWN) for side in figures)
        rows.append(
            {
                "figure": name,
                one: a[0],
                f"{one}_low": a[1],
                f"{one}_high": a[2],
                other: b[0],
                f"{other}_low": b[1],
                f"{other}_high": b[2],
                "change": b[0] - a[0],
                "says": _says(a, b),
            }
        )
    table = pd.DataFrame(rows).set_index("figure")
    table.attrs["notes"] = _notes(first, second, names)
    return table


UNKNOWN = (np.nan, np.nan, np.nan)


def _figures(report: Report) -> dict[str, tuple[float, float, float]]:
    """Return each figure with the bounds of its interval."""
    found = {name: known for part in PARTS for name, known in part.figures(report).items()}
    return {name: (known.value, known.low, known.high) for name, known in found.items()}


def _says(a: tuple[float, float, float], b: tuple[float, float, float]) -> str:
    """Say what the intervals tell about the change."""
    if np.isnan(a[0]) or np.isnan(b[0]):
        return "not measured on both sides"
    if not np.isnan(b[2]) and b[2] < a[1]:
        return "lower"
    if not np.isnan(a[2]) and a[2] < b[1]:
        return "higher"
    if a == b:
        return "equal"
    return "the intervals overlap"


def _notes(first: Report, second: Report, names: tuple[str, str]) -> list[str]:
    """Note where the two were not measured alike."""
    notes = []
    for key, words in (
        ("sensitive_features", "sensitive attributes"),
        ("domain", "domains"),
        ("threshold", "thresholds"),
        ("seed", "seeds"),
    ):
        if getattr(first, key) != getattr(second, key):
            notes.append(f"The {words} differ.")
    if first.favourable.labels != second.favourable.labels:
        notes.append("The favourable labels differ.")
    if first.data.n_rows != second.data.n_rows:
        notes.append("The numbers of rows differ.")
    for name, report in zip(names, (first, second), strict=True):
        if names_outside := not_in_model(report):
            notes.append(f"The model of {name} does not take {listed(names_outside, 'or')}.")
        if report.status != "complete":
            notes.append(f"{name} is {report.status}: {report.reason}")
    return notes
