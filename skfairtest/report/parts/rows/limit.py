"""Figures of the rows with their intervals, and the limit for the share of discriminatory ones."""

from __future__ import annotations

import math
from functools import partial

from skfairtest.report._figures import KnownFigure, real
from skfairtest.report._limit_checks import (
    at_most,
    checked,
    in_full,
    percent_unlike,
    unchecked,
)
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts.rows.results import (
    Above,
    RowsPart,
    rows_of,
    rows_together,
    takes_sensitive,
)
from skfairtest.report.parts.rows.words import compared_with, of_people, with_some_twins
from skfairtest.report.render.words import bounds_text
from skfairtest.space._sensitive_features import not_taken


def figures(report: Report) -> dict[str, KnownFigure]:
    """The shares of the rows, and the largest difference on them."""
    found = {}
    for rows in rows_of(report):
        if rows.rate is not None:
            found[f"discriminatory rows: {rows.of}"] = rate(rows)
        found[f"largest difference on rows: {rows.of}"] = degree_on_rows(rows)
        for part in rows.above:
            name = f"rows above {part.share_of_spread:.0%} of the spread: {rows.of}"
            found[name] = share_of(rows, part, name)
    return found


def rate(rows: RowsPart) -> KnownFigure:
    """The share of the rows of data that are discriminatory."""
    return share_of(rows, rows, _share_named(rows.sensitive))


def _share_named(names: list[str]) -> str:
    return f"share of rows that a twin in {' and '.join(names)} shows to be discriminatory"


def share_of(rows: RowsPart, part: RowsPart | Above, figure: str) -> KnownFigure:
    """A share of the rows of data, exact if all were compared with all their twins."""
    value = real(part.rate)
    if part.low is None:
        return KnownFigure(figure, value, value, value, "exact", of_people=True)
    interval = "95% interval"
    if with_some_twins(rows):
        interval = "lower bound" if rows.n == rows.n_rows else "95% interval's lower bound"
    return KnownFigure(figure, value, part.low, real(part.high), interval, of_people=True)


def degree_on_rows(rows: RowsPart) -> KnownFigure:
    """The largest difference on the rows of data; a sample gives a lower bound."""
    value = real(rows.degree)
    is_exact = rows.n == rows.n_rows and not with_some_twins(rows)
    high, interval = (value, "exact") if is_exact else (math.nan, "lower bound")
    return KnownFigure("largest difference on rows", value, value, high, interval)


def by_construction(figure: str) -> KnownFigure:
    """0, for twins in columns that the model does not take."""
    return KnownFigure(figure, 0.0, 0.0, 0.0, "by construction")


def check_rate(report: Report, limit: float, estimates_decide: bool) -> LimitCheck:
    """Check the share of discriminatory rows."""
    name, rows = "max_on_data_rate", rows_together(report)
    if not takes_sensitive(report):
        names = report.sensitive_features
        words = f"nobody would get something else, within {in_full(100 * limit)}%"
        known = by_construction(_share_named(names))
        return checked(name, limit, "within", known, f"{words}: {not_taken(names)}")
    known = rate(rows)
    if report.rows_of_people == "none":
        reason = "counts of people were left out of this report (rows='none')"
        return unchecked(name, limit, known, reason)
    if rows.status == "done" and rows.rate is None:
        raise ValueError(
            "max_on_data_rate needs a threshold: without one, every row of a regressor whose "
            "predictions differ at all would count, and these are nearly all rows. Pass "
            "threshold= to audit."
        )
    if rows.rate is None:
        return unchecked(name, limit, known, rows.reason, failed=rows.status == "failed")
    status = at_most(known, limit, estimates_decide)
    what = "would get another decision"
    if report.threshold is not None:
        what = f"have twins that differ by more than {in_full(report.threshold)}"
    some, in_percent = with_some_twins(rows), partial(percent_unlike, limit=limit)
    words = (
        f"{'at least ' * some}{in_percent(known.value)} of {of_people(rows)} {what}, "
        f"{'above' if known.value > limit else 'within'} {in_full(100 * limit)}%"
    )
    if rows.n < rows.n_rows:
        but = ", but" if status == "undecided" else ";"
        ends = bounds_text(known.low, known.high, in_percent)
        words += f"{but} of all people {ends} ({known.interval})"
    elif some and status == "undecided":
        words += f", but people were compared {compared_with(rows)}"
    return checked(name, limit, status, known, words)
