"""Compares two reports side by side."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
import pandas as pd

from skfairtest.finding._words import listed
from skfairtest.report._figures import KnownFigure
from skfairtest.report._types import Report
from skfairtest.report.parts import PARTS
from skfairtest.report.parts.twins.results import not_in_model


def compare_reports(first: Report, second: Report, names: tuple[str, str]) -> pd.DataFrame:
    """Make a table with one row per figure; see `AuditReport.compare`."""
    one, other = names
    figures = _figures(first), _figures(second)
    rows = []
    for name in dict.fromkeys([*figures[0], *figures[1]]):
        a, b = (side.get(name, KnownFigure(name)) for side in figures)
        ends = {one: a.value, f"{one}_low": a.low, f"{one}_high": a.high}
        ends |= {other: b.value, f"{other}_low": b.low, f"{other}_high": b.high}
        rows.append({"figure": name, **ends, "change": b.value - a.value, "says": _says(a, b)})
    table = pd.DataFrame(rows).set_index("figure")
    table.attrs["notes"] = _notes(first, second, names)
    return table


def _figures(report: Report) -> dict[str, KnownFigure]:
    return {name: known for part in PARTS for name, known in part.figures(report).items()}


def _says(a: KnownFigure, b: KnownFigure) -> str:
    """Say what the intervals tell about the change."""
    if np.isnan(a.value) or np.isnan(b.value):
        return "not measured on both sides"
    if b.high < a.low:  # not so where one is not known (NaN)
        return "lower"
    if a.high < b.low:
        return "higher"
    return "equal" if a[1:4] == b[1:4] else "the intervals overlap"


def _notes(first: Report, second: Report, names: tuple[str, str]) -> list[str]:
    settings = {
        "sensitive attributes": "sensitive_features",
        "domains": "domain",
        "thresholds": "threshold",
        "seeds": "seed",
        "favourable labels": "favourable.labels",
        "numbers of rows": "data.n_rows",
    }
    notes = [
        f"The {words} differ."
        for words, of in settings.items()
        if attrgetter(of)(first) != attrgetter(of)(second)
    ]
    for name, report in zip(names, (first, second), strict=True):
        if names_outside := not_in_model(report):
            notes.append(f"The model of {name} does not take {listed(names_outside, 'or')}.")
        if report.status != "complete":
            notes.append(f"{name} is {report.status}: {report.reason}")
    return notes
