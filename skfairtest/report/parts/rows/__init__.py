"""Rows of the data against their twins, as a part of the audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from skfairtest.finding._pair import Pair
from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report._figures import KnownFigure
from skfairtest.report._types import Report
from skfairtest.report.parts._part import Part, Sentence, Task
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.rows.compare import Judged, compare_rows, rescue_rows
from skfairtest.report.parts.rows.limit import check_rate, figures
from skfairtest.report.parts.rows.page import curve, sections
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.rows.words import sentences
from skfairtest.report.render.blocks import Section


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
                share=5.0 / (len(context.taken) - 1) if k else 10.0,
                rescue=partial(rescue_rows, context, blank, space, kept),
            )

    def summary(self, result: RowsPart) -> str:
        """How many rows were compared."""
        return f"{result.n:,} rows, largest difference {number(result.degree)}"

    def figures(self, report: Report) -> Mapping[str, KnownFigure]:
        """The shares of the rows, and the largest difference on them."""
        return figures(report)

    def sentences(self, report: Report) -> Iterable[Sentence]:
        """How many people would get something else, of which groups, and who was compared."""
        return sentences(report)

    def pair(self, report: Report) -> tuple[str, Pair] | None:
        """The person whose answer changes most, of all attributes together or of the first one."""
        persons = [part.person for part in report.all_of(RowsPart) if part.person is not None]
        return ("A person in the table and their twin", persons[0].pair) if persons else None

    def sections(self, report: Report) -> Iterable[Section]:
        """The people, and in the appendix their groups."""
        return sections(report)
