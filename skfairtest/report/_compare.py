"""Compares two reports side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest.finding._words import listed
from skfairtest.report import _known
from skfairtest.report._known import KnownFigure
from skfairtest.report._render.words import not_taken


def compare_reports(
    first: dict[str, Any], second: dict[str, Any], names: tuple[str, str]
) -> pd.DataFrame:
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


def _figures(report: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Return each figure with the bounds of its interval."""
    found: dict[str, KnownFigure] = {}
    for search in report["searches"]:
        rows, label = search["rows"], search["label"]
        found[f"largest difference: {label}"] = _known.degree(search)
        if rows["rate"] is not None:
            found[f"discriminatory rows: {label}"] = _known.rate(search)
        found[f"largest difference on rows: {label}"] = _known.degree_on_rows(search)
        for part in rows["above"]:
            name = f"rows above {part['share_of_spread']:.0%} of the spread: {label}"
            found[name] = _known.share_of(rows, part, name)
    for part in report["moved"]:
        if part["rate"] is not None:
            name = f"moved twins that get another decision: {part['attribute']}"
            found[f"{name} ({part['transport']})"] = _known.moved_rate([part])
    for part in (report["groups"], *report["errors"]):
        if part["largest"] is not None:
            name = f"largest difference in {part['metric'].replace('_', ' ')}"
            found[name] = _known.largest_score(part)
    selection = report["selection"]
    if "impact_ratio" in selection["columns"]:
        ratios = _known.impact_ratios(selection)
        if ratios:
            found["smallest impact ratio"] = _known.smallest_ratio(selection, ratios)
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


def _notes(first: dict[str, Any], second: dict[str, Any], names: tuple[str, str]) -> list[str]:
    """Note where the two were not measured alike."""
    notes = []
    for key, words in (
        ("sensitive_features", "sensitive attributes"),
        ("domain", "domains"),
        ("threshold", "thresholds"),
        ("seed", "seeds"),
    ):
        if first[key] != second[key]:
            notes.append(f"The {words} differ.")
    if first["favourable"]["labels"] != second["favourable"]["labels"]:
        notes.append("The favourable labels differ.")
    if first["data"]["n_rows"] != second["data"]["n_rows"]:
        notes.append("The numbers of rows differ.")
    for name, report in zip(names, (first, second), strict=True):
        if not_in_model := not_taken(report["searches"]):
            notes.append(f"The model of {name} does not take {listed(not_in_model, 'or')}.")
        if report["status"] != "complete":
            notes.append(f"{name} is {report['status']}: {report['reason']}")
    return notes
