"""Rows of the data against their twins, as a part of the audit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

from skfairtest.finding._pair import Pair
from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report._figures import (
    KnownFigure,
    at_most,
    by_construction,
    checked,
    in_full,
    percent_unlike,
    real,
    unchecked,
)
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.rows.compare import Judged, compare_rows, rescue_rows
from skfairtest.report.parts.rows.page import curve, sections
from skfairtest.report.parts.rows.results import (
    Above,
    RowsPart,
    rows_of,
    rows_together,
    takes_sensitive,
)
from skfairtest.report.parts.rows.words import compared_with, of_people, sentences, with_some_twins
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


class Rows(Part):
    """Compares the rows with their twins in each sensitive attribute, and in all together."""

    result = RowsPart
    place = 20
    needs = (PredictionsPart,)
    limits = {"max_on_data_rate": check_rate}
    displays = {"curve": curve}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for all attributes together, and one for each alone."""
        for k, (label, names, space) in enumerate(context.taken):
            assert space is not None
            blank = RowsPart(of=label, sensitive=names, n_rows=len(space.data))
            kept: list[Judged] = []
            yield Task(
                blank,
                partial(compare_rows, context, blank, space, kept),
                order=(10, k),
                share=10.0 / (len(context.taken) - 1) if k else 20.0,
                rescue=partial(rescue_rows, context, blank, space, kept),
            )

    def summary(self, result: RowsPart) -> str:
        """How many rows were compared."""
        return f"{result.n:,} rows, largest difference {number(result.degree)}"

    figures = staticmethod(figures)
    sentences = staticmethod(sentences)

    def pair(self, report: Report) -> tuple[str, Pair] | None:
        """The person whose answer changes most, of all attributes together or of the first one."""
        persons = [part.person for part in report.all_of(RowsPart) if part.person is not None]
        return ("A person in the table and their twin", persons[0].pair) if persons else None

    sections = staticmethod(sections)
