"""The largest difference between twins, as a part of the audit: it puts the others together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial

from skfairtest.finding._pair import Pair
from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report._figures import KnownFigure
from skfairtest.report._types import Report
from skfairtest.report.parts._part import Part, Sentence, Step, Task
from skfairtest.report.parts.certificate import CertificatePart
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.parts.twins.columns import typical_values
from skfairtest.report.parts.twins.finalize import by_construction, finish, put_together
from skfairtest.report.parts.twins.limit import check_degree, figures
from skfairtest.report.parts.twins.page import bounds_display, pair_display, sections
from skfairtest.report.parts.twins.results import TwinsPart, together
from skfairtest.report.parts.twins.words import sentences, steps
from skfairtest.report.render.blocks import Section


class LargestDifferences(Part):
    """Says of each sensitive attribute, and of all together, what is known of twins in it.

    It runs whatever is asked for, and takes what there is.
    """

    result = TwinsPart
    place = 30
    needs = (RowsPart, SearchPart, CertificatePart)
    always = True
    limits = {"max_degree": check_degree}
    displays = {"pair": pair_display, "bounds": bounds_display}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for each attribute alone, and all together as the last, which takes up the others."""
        typical = cache(partial(typical_values, context.space))
        for k, asked in enumerate(context.twins):
            reason = "" if asked.space is not None else by_construction(asked).reason
            yield Task(
                TwinsPart(of=asked.label, sensitive=asked.names),
                partial(finish, context, asked, typical),
                order=(70, k),
                share=0.5 if asked.space is not None else 0.0,
                why_not=partial(str, reason),
                rescue=partial(put_together, context, asked),
                at_least=0.5 / len(context.twins),
                is_last_word=True,
            )

    def summary(self, result: TwinsPart) -> str:
        """What is known."""
        return f"largest difference {number(result.degree)}"

    def figures(self, report: Report) -> Mapping[str, KnownFigure]:
        """The largest differences."""
        return figures(report)

    def sentences(self, report: Report) -> Iterable[Sentence]:
        """The question, the finding, how large a difference can get, and how sure that is."""
        return sentences(report)

    def pair(self, report: Report) -> tuple[str, Pair] | None:
        """The two inputs with the largest difference."""
        pair = together(report).known.pair
        return (
            None if pair is None else ("The two made-up inputs with the largest difference", pair)
        )

    def steps(self, report: Report) -> Iterable[Step]:
        """To mitigate a difference, to narrow the domain, to look for a bound."""
        return steps(report)

    def sections(self, report: Report) -> Iterable[Section]:
        """The worst case, and in the appendix further pairs and the largest differences."""
        return sections(report)
