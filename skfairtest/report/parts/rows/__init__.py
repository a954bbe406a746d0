"""Rows of the data against their twins, as a part of the audit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.rows.compare import Judged, compare_rows, rescue_rows
from skfairtest.report.parts.rows.results import RowsPart


class Rows(Part):
    """Compares the rows with their twins in each sensitive attribute, and in all together."""

    result = RowsPart
    needs = (PredictionsPart,)

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
                share=4.0 / (len(context.taken) - 1) if k else 6.0,
                rescue=partial(rescue_rows, context, blank, space, kept),
            )

    def summary(self, result: RowsPart) -> str:
        """How many rows were compared."""
        return f"{result.n:,} rows, largest difference {number(result.degree)}"
