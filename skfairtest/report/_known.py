"""The figures of a report with their intervals, for limits and comparisons."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from skfairtest.report._measure.plain import real
from skfairtest.report._render.words import group_named, with_some_twins


class KnownFigure(NamedTuple):
    """A figure of a report and the interval in which it is known to be.

    Attributes
    ----------
    figure : str
        Name of the figure, and of what it was measured on.
    value : float
        The measured value. NaN if it was not measured.
    low, high : float
        Bounds of the interval. NaN if a bound is unknown.
    interval : str
        Kind of the interval: "exact", "95% interval", "certified bounds", ...
    """

    figure: str
    value: float
    low: float
    high: float
    interval: str


def degree(search: dict[str, Any]) -> KnownFigure:
    """Return the largest difference: at least what was found, at most what is certified."""
    label = " and ".join(map(str, search["sensitive"]))
    if not search["taken"]:
        return _zero(f"largest difference between twins in {label}")
    on_rows = real(search["rows"]["degree"])
    # Rows may lie outside of the domain, and what they show counts as well.
    found = max((x for x in (real(search["degree"]), on_rows) if x == x), default=math.nan)
    upper = real(search["certificate"]["upper"])
    upper = max(upper, found) if found == found else upper
    interval = "lower bound" if math.isnan(upper) else "certified bounds"
    return KnownFigure(
        f"largest difference between twins in {label}", found, found, upper, interval
    )


def rate(search: dict[str, Any]) -> KnownFigure:
    """Return the share of the rows of data that are discriminatory."""
    label = " and ".join(map(str, search["sensitive"]))
    figure = f"share of rows that a twin in {label} shows to be discriminatory"
    if not search["taken"]:
        return _zero(figure)
    return share_of(search["rows"], search["rows"], figure)


def share_of(rows: dict[str, Any], part: dict[str, Any], figure: str) -> KnownFigure:
    """Return a share of the rows of data, exact if all were compared with all their twins."""
    value = real(part["rate"])
    if part["low"] is None:
        return KnownFigure(figure, value, value, value, "exact")
    interval = "95% interval"
    if with_some_twins(rows):
        interval = "lower bound" if rows["n"] == rows["n_rows"] else "95% interval's lower bound"
    return KnownFigure(figure, value, part["low"], part["high"], interval)


def _zero(figure: str) -> KnownFigure:
    """Return 0, for twins in columns that the model does not take."""
    return KnownFigure(figure, 0.0, 0.0, 0.0, "by construction")


def degree_on_rows(search: dict[str, Any]) -> KnownFigure:
    """Return the largest difference on the rows of data; a sample gives a lower bound."""
    rows = search["rows"]
    if not search["taken"]:
        return _zero("largest difference on rows")
    value = real(rows["degree"])
    is_exact = rows["n"] == rows["n_rows"] and not with_some_twins(rows)
    high, interval = (value, "exact") if is_exact else (math.nan, "lower bound")
    return KnownFigure("largest difference on rows", value, value, high, interval)


def largest_score(part: dict[str, Any]) -> KnownFigure:
    """Return the largest score of all groups of rows, whichever group has it in truth.

    With intervals that hold for all groups at once, the largest true score is at least the largest
    of the lower bounds and at most the largest of the upper ones.
    """
    interval = f"{part['confidence']:.0%} interval for all groups at once"
    worst, n = part["largest"], part["n_rules"]
    figure = (
        f"difference in {part['metric'].replace('_', ' ')} between all others and the rows "
        f"where {worst['rule']}, the largest of {n:,} group{'s' * (n != 1)} of rows"
    )
    return KnownFigure(
        figure, real(worst["score"]), real(part["low"]), real(part["high"]), interval
    )


def impact_ratios(selection: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the selection table that have an impact ratio."""
    return [r for r in selection_rows(selection) if r.get("impact_ratio") is not None]


def selection_rows(selection: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the selection table as one dict per row."""
    return [dict(zip(selection["columns"], row, strict=True)) for row in selection["rows"]]


def smallest_ratio(selection: dict[str, Any], rows: list[dict[str, Any]]) -> KnownFigure:
    """Return the smallest impact ratio of these rows, whichever group has it in truth.

    `rows` are those of `impact_ratios`, or fewer: ratios are then to the highest rate among these,
    of which no interval is known.
    """
    highest = {row["attribute"]: row for row in sorted(rows, key=lambda row: row["impact_ratio"])}
    is_whole = len(rows) == len(impact_ratios(selection))

    def ratio(row: dict[str, Any]) -> float:
        most = 1.0 if is_whole else real(highest[row["attribute"]]["impact_ratio"])
        return real(row["impact_ratio"]) / most if most else math.inf  # nobody is favoured here

    worst = min(rows, key=ratio)
    best = group_named(highest[worst["attribute"]], alone=True)
    figure = f"impact ratio of {group_named(worst)} to {best}, the smallest of {len(rows):,} groups"
    if not is_whole:
        value = ratio(worst) if ratio(worst) < math.inf else math.nan
        return KnownFigure(figure, value, math.nan, math.nan, "estimate")
    interval = f"{selection['confidence']:.0%} interval for all groups at once"
    low, high = real(selection["low"]), real(selection["high"])
    return KnownFigure(figure, ratio(worst), low, high, interval)


def first_maps(moved: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each sensitive attribute what the first map that was done has shown."""
    first: dict[str, dict[str, Any]] = {}
    for part in moved:
        if part["status"] == "done" and part["rate"] is not None:
            first.setdefault(part["attribute"], part)
    return list(first.values())


def moved_rate(parts: list[dict[str, Any]]) -> KnownFigure:
    """Return the largest share of people whose moved twins get another decision.

    `parts` has one map for each attribute. The largest true share is at least the largest of the
    lower bounds, and at most the largest of the upper ones.
    """
    worst = max(parts, key=lambda part: real(part["rate"]))
    figure = (
        f"share of people whose moved twin in {worst['attribute']} gets another decision "
        f"({worst['transport']} map)"
    )
    if len(parts) > 1:
        figure += f", the largest of {len(parts)} attributes"
    known = [part for part in parts if part["low"] is not None and part["high"] is not None]
    low = max((real(part["low"]) for part in known), default=math.nan)
    # Without an interval of each attribute nobody knows the upper bound.
    whole = len(known) == len(parts)
    high = max(real(part["high"]) for part in parts) if whole else math.nan
    return KnownFigure(
        figure, real(worst["rate"]), low, high, "95% interval" if known else "estimate"
    )
