"""The search for the worst case in the domain, as a part of the audit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report._types import Report
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.search.find import describe_search, search
from skfairtest.report.parts.search.page import history_display, how_searches_went
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.render.blocks import Section


class Search(Part):
    """Searches the domain for the twins that the model treats most differently."""

    result = SearchPart
    place = 40
    needs = (PredictionsPart, RowsPart)
    displays = {"history": history_display}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for all attributes together, and one for each alone."""
        for k, asked in enumerate(context.taken):
            blank = SearchPart(of=asked.label, auditor=type(context.template).__name__)
            yield Task(
                blank,
                partial(search, context, blank, asked),
                order=(20, k),
                share=4.0 / (len(context.taken) - 1) if k else 4.0,
                rescue=partial(describe_search, context, blank),
            )

    def summary(self, result: SearchPart) -> str:
        """What was found."""
        return f"largest difference {number(result.degree)} ({result.search_queries} queries)"

    def sections(self, report: Report) -> Iterable[Section]:
        """How the searches went, and what they cost."""
        blocks = how_searches_went(report)
        yield Section(140, "searches", "How the searches went", tuple(blocks))
