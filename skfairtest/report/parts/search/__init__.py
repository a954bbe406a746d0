"""The search for the worst case in the domain, as a part of the audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
from msgspec.structs import asdict

from skfairtest import inspection
from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report._types import Report
from skfairtest.report.parts._bounds import CertificatePart
from skfairtest.report.parts._part import Part, Task, always
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.search.find import SHORT, describe_search, search
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.render.blocks import (
    FigureBlock,
    Section,
    TextBlock,
    count,
    figure,
    seconds,
    table_of,
)


def how_searches_went(report: Report) -> list[Any]:
    """How the searches went, and what they cost."""
    searches = [part for part in _searches_of(report) if len(part.history.queries) > 1]
    if not searches:
        return [TextBlock("No search ran.")]
    columns: dict[str, Callable[[SearchPart], str]] = {
        "sensitive": lambda part: part.of,
        "largest found": lambda part: figure(part.degree),
        "predictions": lambda part: count(part.search_queries),
        "time": lambda part: seconds(part.seconds),
        "ended": lambda part: part.stop_reason,
    }
    alt = "; ".join(
        f"{one.of}: {figure(one.degree)} after {count(one.search_queries)} queries, "
        f"{one.stop_reason}"
        for one in searches[:10]
    )
    caption = "Largest difference found so far, over predictions"
    return [
        FigureBlock(partial(_history_display, searches[-6:]), caption, alt),  # lines of one picture
        table_of("The searches", searches, columns, words=[4]),
    ]


def _searches_of(report: Report) -> list[SearchPart]:
    """The searches in each attribute alone, then in all together, which runs first."""
    return report.all_of(SearchPart)[::-1]


def history_display(report: Report) -> inspection.HistoryDisplay:
    """The display of what each search had found after so many queries."""
    if not report.all_of(SearchPart):
        raise ValueError(f"The report has no twins to show. {report.sentence}")
    return _history_display(_searches_of(report))


def _history_display(searches: Sequence[SearchPart]) -> inspection.HistoryDisplay:
    courses = [pd.DataFrame({"name": one.of, **asdict(one.history)}) for one in searches]
    return inspection.HistoryDisplay(pd.concat(courses, ignore_index=True))


def _is_open(context: AuditContext, label: str) -> bool:
    """Whether there is no bound of the differences, so that only a search can tell more."""
    return context.result(CertificatePart, label).upper is None


class Search(Part):
    """Searches the domain for the twins that the model treats most differently."""

    result = SearchPart
    place = 40
    needs = (PredictionsPart, RowsPart)
    displays = {"history": history_display}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for all attributes together, and one for each alone.

        Where a certificate follows, which searches by itself, a short search suffices it, and a
        long one follows where there is none after all. An auditor that was given searches as asked.
        """
        is_short = context.given["auditor"] is None and not context.why_not_certified
        for k, asked in enumerate(context.taken):
            blank = SearchPart(of=asked.label, auditor=type(context.template).__name__)
            whole = Task(
                blank,
                partial(search, context, blank, asked),
                order=(50 if is_short else 30, k),
                share=4.0 / (len(context.taken) - 1) if k else 4.0,
                is_needed=partial(_is_open, context, asked.label) if is_short else always,
                calls=6,
                rescue=partial(describe_search, context, blank),
            )
            if is_short:
                run = partial(search, context, blank, asked, most=SHORT)
                yield replace(whole, run=run, order=(30, k), is_needed=always)
            yield whole

    def summary(self, result: SearchPart) -> str:
        """What was found."""
        return f"largest difference {number(result.degree)} ({result.search_queries} queries)"

    def sections(self, report: Report) -> Iterable[Section]:
        """How the searches went, and what they cost."""
        blocks = how_searches_went(report)
        yield Section(140, "searches", "How the searches went", tuple(blocks))
