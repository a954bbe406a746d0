"""The largest difference between twins, as a part of the audit: it puts the others together."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.twins.finalize import by_construction, finish, put_together
from skfairtest.report.parts.twins.results import TwinsPart


class LargestDifferences(Part):
    """Says of each sensitive attribute, and of all together, what is known of twins in it.

    It needs no other part, and takes what there is.
    """

    result = TwinsPart

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for each attribute alone, and all together as the last, which takes up the others."""
        for k, asked in enumerate(context.twins):
            reason = "" if asked.space is not None else by_construction(asked).reason
            yield Task(
                TwinsPart(of=asked.label, sensitive=asked.names),
                partial(finish, context, asked),
                order=(70, k),
                share=0.5 if asked.space is not None else 0.0,
                why_not=partial(str, reason),
                rescue=partial(put_together, context, asked),
                at_least=1.0 / len(context.twins),
                is_last_word=True,
            )

    def summary(self, result: TwinsPart) -> str:
        """What is known."""
        return f"largest difference {number(result.degree)}"
