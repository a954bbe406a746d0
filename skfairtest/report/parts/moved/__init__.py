"""People moved to other groups with what goes along with an attribute, as a part of the audit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from skfairtest.finding._words import percent
from skfairtest.report._context import AuditContext, in_words
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.moved.move import measure_moved, named_transports
from skfairtest.report.parts.moved.results import MovedPart
from skfairtest.report.parts.predictions import PredictionsPart


class MovedTwins(Part):
    """Moves people to the other groups of each attribute, and counts whose decision changes."""

    result = MovedPart
    needs = (PredictionsPart,)
    option = "moved"

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
                share = 4.0 / len(names)
                yield Task(
                    blank,
                    partial(measure_moved, context, blank, of),
                    order=(80 if k else 40, k, place),
                    share=share / len(maps) if k else share,
                    refuses=(ValueError,),
                )

    def summary(self, result: MovedPart) -> str:
        """Whose decision changes."""
        return f"{percent(result.rate)} of {result.n:,} rows"
