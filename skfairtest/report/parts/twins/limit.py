"""The largest difference with its bounds, and the limit for it."""

from __future__ import annotations

import math

from skfairtest.report._figures import KnownFigure, real
from skfairtest.report._limit_checks import (
    at_most,
    checked,
    in_full,
    unchecked,
    unlike_limit,
)
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts.rows.limit import by_construction
from skfairtest.report.parts.twins.results import Twins, together, twins_of
from skfairtest.report.parts.twins.words import beyond_domain, seen


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
