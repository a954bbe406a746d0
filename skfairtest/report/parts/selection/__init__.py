"""Rates of favourable predictions by group, as a part of the audit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from skfairtest.report._context import AuditContext
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.predictions import PredictionsPart, why_no_rates
from skfairtest.report.parts.selection.results import SelectionPart
from skfairtest.report.parts.selection.select import select


class Selection(Part):
    """Counts favourable predictions by group."""

    result = SelectionPart
    needs = (PredictionsPart,)

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One task."""
        blank = SelectionPart()
        yield Task(
            blank,
            partial(select, context, blank),
            order=(31,),
            share=0.5,
            why_not=lambda: why_no_rates(context) or context.why_no_favourable,
        )

    def summary(self, result: SelectionPart) -> str:
        """How many groups there are."""
        return f"{len(result.groups)} groups"
