"""The largest difference between twins, as a part of the audit: it puts the others together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, partial

from skfairtest.finding._pair import Pair
from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report._figures import (
    KnownFigure,
    at_most,
    by_construction,
    checked,
    in_full,
    real,
    unchecked,
    unlike_limit,
)
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts._bounds import CertificatePart
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.parts.twins.finalize import (
    equal_twins,
    finish,
    put_together,
    typical_values,
)
from skfairtest.report.parts.twins.page import bounds_display, pair_display, sections
from skfairtest.report.parts.twins.results import Twins, TwinsPart, together, twins_of
from skfairtest.report.parts.twins.words import beyond_domain, seen, sentences, steps


def figures(report: Report) -> dict[str, KnownFigure]:
    """The largest differences; of attributes that the model does not take also those of rows."""
    found = {}
    for twins in twins_of(report):
        name = twins.known.of
        found[f"largest difference: {name}"] = degree(twins)
        if not twins.known.taken:
            if twins.rows.rate is not None:
                found[f"discriminatory rows: {name}"] = by_construction("discriminatory rows")
            on_rows = "largest difference on rows"
            found[f"{on_rows}: {name}"] = by_construction(on_rows)
    return found


def degree(twins: Twins) -> KnownFigure:
    """The largest difference: at least what was found, at most what is certified."""
    figure = f"largest difference between twins in {' and '.join(twins.known.sensitive)}"
    if not twins.known.taken:
        return by_construction(figure)
    # Rows may lie outside of the domain, and what they show counts as well.
    found, upper = real(seen(twins)), real(twins.known.upper)
    if not math.isnan(found):
        upper = max(upper, found)  # NaN stays, where nothing is known
    interval = "lower bound" if math.isnan(upper) else "certified bounds"
    return KnownFigure(figure, found, found, upper, interval)


def check_degree(report: Report, limit: float, estimates_decide: bool) -> LimitCheck:
    """Check the largest difference."""
    name, twins = "max_degree", together(report)
    known, search = degree(twins), twins.search
    if not twins.known.taken:
        words = f"no difference is above {in_full(limit)}: {twins.known.reason}"
        return checked(name, limit, "within", known, words)
    has_failed = search.status == "failed"
    if math.isnan(known.value):
        return unchecked(name, limit, known, search.reason, failed=has_failed)
    status = at_most(known, limit, False)
    if status == "exceeded":
        where = " among the rows of the data" if beyond_domain(twins) else ""
        value = unlike_limit(known.value, limit)
        words = f"a difference of {value}{where} is above {in_full(limit)}"
    elif status == "within":
        words = f"no difference in the domain is above {in_full(limit)} (proven)"
        if beyond_domain(twins):
            words += ", and none was seen among the rows outside of it"
    elif search.status != "done" or not search.inputs:
        # The rows may have been compared, which says nothing of the rest of the domain.
        reason = f"no search: {search.reason or 'it compared no input with its twins'}"
        return unchecked(name, limit, known, reason, failed=has_failed)
    else:
        words = (
            f"no difference above {in_full(limit)} found in {search.search_queries:,} queries "
            f"(seed {report.seed})"
        )
        if estimates_decide:
            status = "within"
        elif math.isnan(known.high):
            words += ", but there is no upper bound"
        else:
            words += f", but it may be up to {unlike_limit(known.high, limit)} (proven)"
    return checked(name, limit, status, known, words)


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
            reason = "" if asked.space is not None else equal_twins(asked).reason
            yield Task(
                TwinsPart(of=asked.label, sensitive=asked.names),
                partial(finish, context, asked, typical),
                order=(55, k),
                share=0.5 if asked.space is not None else 0.0,
                why_not=partial(str, reason),
                rescue=partial(put_together, context, asked),
                at_least=0.5 / len(context.twins),
                is_last_word=True,
            )

    def summary(self, result: TwinsPart) -> str:
        """What is known."""
        return f"largest difference {number(result.degree)}"

    figures = staticmethod(figures)
    sentences = staticmethod(sentences)

    def pair(self, report: Report) -> tuple[str, Pair] | None:
        """The two inputs with the largest difference."""
        pair = together(report).known.pair
        return (
            None if pair is None else ("The two made-up inputs with the largest difference", pair)
        )

    steps = staticmethod(steps)
    sections = staticmethod(sections)
