"""People moved to other groups with what goes along with an attribute, as a part of the audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import ClassVar

from skfairtest.finding._words import percent
from skfairtest.report._context import AuditContext, in_words
from skfairtest.report._figures import KnownFigure
from skfairtest.report._types import Report
from skfairtest.report.parts._part import Part, Sentence, Task
from skfairtest.report.parts.moved.limit import NAME, check_moved, moved_rate
from skfairtest.report.parts.moved.move import measure_moved, named_transports
from skfairtest.report.parts.moved.page import display_moved, moved_sections
from skfairtest.report.parts.moved.results import MovedPart
from skfairtest.report.parts.moved.words import moved_sentences, rests_on
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.render.blocks import Section


class MovedTwins(Part):
    """Moves people to the other groups of each attribute, and counts whose decision changes."""

    result = MovedPart
    place = 100
    needs = (PredictionsPart,)
    option = "moved"
    limits: ClassVar = {NAME: check_moved}
    displays: ClassVar = {"moved": display_moved}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for each attribute and map.

        The first map, which limits are about, comes before the others, which have what time is
        left.
        """
        maps, names = named_transports(context.options.moved), context.sensitive_names
        n_rows = len(context.space.data)
        for k, of in enumerate(maps):
            for place, name in enumerate(names):
                blank = MovedPart(
                    of=f"{in_words(name)} ({of.name})",
                    attribute=str(name),
                    transport=of.name,
                    n_rows=n_rows,
                )
                share = 8.0 / len(names)
                yield Task(
                    blank,
                    partial(measure_moved, context, blank, of),
                    order=(80 if k else 40, k, place),
                    share=share / 2 / len(maps) if k else share,
                    refuses=(ValueError,),
                )

    def summary(self, result: MovedPart) -> str:
        """Whose decision changes."""
        return f"{percent(result.rate)} of {result.n:,} rows"

    def figures(self, report: Report) -> Mapping[str, KnownFigure]:
        """The share of each attribute and map."""
        return {
            f"moved twins that get another decision: {part.of}": moved_rate([part])
            for part in report.all_of(MovedPart)
            if part.rate is not None
        }

    def sentences(self, report: Report) -> Iterable[Sentence]:
        """The shares, and what they rest on."""
        yield Sentence("moved", moved_sentences(report))
        yield Sentence("sure", rests_on(report))

    def sections(self, report: Report) -> Iterable[Section]:
        """Shares, pictures and maps, in the appendix: the first page has what was found."""
        return moved_sections(report)
