"""The largest difference that any part has shown, its pair, and which columns matter for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from skfairtest._clock import Deadline
from skfairtest._typing import Floats
from skfairtest.oracle._handle import SearchHandle
from skfairtest.report._context import AskedTwins, AuditContext
from skfairtest.report.parts._bounds import CertificatePart
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.parts.twins.results import TwinsPart
from skfairtest.space._sensitive_features import not_taken
from skfairtest.space._space import InputSpace

BEYOND = (
    "two inputs of the domain differ by more than the certified bound: the model was read wrongly, "
    "or does not give one input the same output twice"
)


def equal_twins(asked: AskedTwins) -> TwinsPart:
    """What is known of twins in columns that the model does not take: they are one input to it."""
    why = not_taken(asked.names)
    return TwinsPart(
        of=asked.label,
        sensitive=asked.names,
        status="left out",
        reason=why,
        taken=False,
        degree=0.0,
        upper=0.0,
        certified=True,
        stop_reason=why,
    )


def put_together(context: AuditContext, asked: AskedTwins) -> TwinsPart:
    """What the parts have shown; asks nothing.

    No figure is below what was seen: neither the degree nor the upper bound below a pair of the
    domain. Twins that differ in one attribute alone are twins of all of them together as well.
    """
    if asked.space is None:
        return equal_twins(asked)
    if asked is context.twins[-1]:
        for label, shown in list(context.findings.items()):
            if label != asked.label:
                shown_by = f"twins that differ in {label} alone"
                context.offer(asked.label, shown.pair, shown.twins, shown_by)
    searched = context.result(SearchPart, asked.label)
    proven = context.result(CertificatePart, asked.label)
    known = TwinsPart(
        of=asked.label,
        sensitive=asked.names,
        degree=searched.degree,
        upper=proven.upper,
        certified=proven.certified,
        stop_reason=proven.stop_reason,
    )
    finding = context.findings.get(asked.label)
    if finding is not None:
        space, twins = context.space, finding.twins
        known = replace(
            known,
            shown_by=finding.shown_by,
            pair=finding.pair,
            pair_of_a_row=bool(context.is_row(space, twins[:1], space.non_sensitive)[0]),
            pair_has_a_row=bool(context.is_row(space, twins, slice(None)).any()),
            degree=max(known.degree or 0.0, finding.pair.difference),
        )
    degree, upper = known.degree, known.upper
    if upper is None or degree is None:
        return known
    if degree > upper * (1 + 1e-9):  # more than two ways to add up differ by
        return replace(known, upper=None, certified=False, stop_reason=BEYOND)
    return replace(known, upper=max(upper, degree))


def finish(
    context: AuditContext, asked: AskedTwins, typical: Callable[[], Floats], deadline: Deadline
) -> TwinsPart:
    """Put together what the parts have shown, and measure which columns matter in the pair."""
    known = put_together(context, asked)
    finding = context.findings.get(asked.label)
    needed = 2 * (len(context.space.domain.columns) + 1)
    if finding is None:
        return known
    values = typical()
    if context.in_time(needed, deadline.left) < needed:
        return known
    before = context.n_queries
    by_column = matters(context.search(context.space), finding.twins, values)
    return replace(
        known,
        pair=finding.pair.with_matters(by_column),
        queries=known.queries + context.n_queries - before,
    )


def matters(search: SearchHandle, twins: Floats, typical: Floats) -> list[float]:
    """By how much the difference of two twins changes, with a typical value in each column.

    One value a column of the table, 0 where the twins differ; two queries a column.
    """
    space = search.space
    # What differs is left alone: sensitive attributes, and what follows from them.
    non_sensitive = np.flatnonzero((twins[0] == twins[1]) | np.isnan(twins).all(axis=0)).tolist()
    rows = np.tile(twins, (len(non_sensitive) + 1, 1))
    for number_of, j in enumerate(non_sensitive, start=1):
        rows[2 * number_of : 2 * number_of + 2, j] = typical[j]
    if search.response == "labels":
        codes = search.respond(rows)[:, 0].reshape(-1, 2)
        gaps = (codes[:, :1] != codes[:, 1:]).astype(float)
    else:
        outputs = search.respond(rows)
        gaps = outputs[0::2] - outputs[1::2]
    changes = np.abs(gaps[1:] - gaps[0]).max(axis=1)
    of_columns = np.zeros(len(space.layout.container.names))
    for j, change in zip(non_sensitive, changes.tolist(), strict=True):
        of_columns[space.layout.places[j]] = change
    return [float(change) for change in of_columns]


def typical_values(space: InputSpace) -> Floats:
    """Of each column the most frequent value of the data, of many numbers the median."""
    largest = space.domain.largest_code
    return np.array([_typical(space.data[:, j], code) for j, code in enumerate(largest)])


def _typical(encoded: Floats, largest_code: float) -> float:
    known = encoded[~np.isnan(encoded)]
    if not len(known):
        return float("nan")
    values, counts = np.unique(known, return_counts=True)
    # Numbers with more different values have a median that is typical, not a most frequent one.
    if len(values) > 20:  # those that are missing have no place among the others
        return float(np.quantile(known[known <= largest_code], 0.5, method="lower"))
    return float(values[counts.argmax()])
