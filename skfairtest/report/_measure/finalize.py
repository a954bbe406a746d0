"""The largest difference that any part has shown, with the pair that shows it."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from skfairtest.report._data import RowsPart, SearchPart
from skfairtest.report._measure.case import Case

BEYOND = (
    "two inputs of the domain differ by more than the certified bound: the model was read wrongly, "
    "or does not give one input the same output twice"
)


def collect(case: Case, label: str) -> None:
    """Give the search of all sensitive attributes the pairs that those of each alone have found.

    Twins that differ in one attribute alone are twins of all of them together as well.
    """
    for other, finding in list(case.findings.items()):
        if other != label:
            shown_by = f"twins that differ in {other} alone"
            case.offer(label, finding.pair, finding.twins, shown_by)


def finalized(case: Case, search: SearchPart, alone: list[SearchPart]) -> SearchPart:
    """The search with its finding; `alone` are those of each of its attributes, if it has several.

    No figure is below what was seen: neither the degree nor the upper bound below a pair
    of the domain, and the rows of all attributes together show what those of each alone show.
    """
    rows = reduce(_with_others, (other.rows for other in alone), search.rows)
    search = replace(search, rows=rows)
    finding = case.findings.get(search.label)
    if finding is not None:
        space, twins = case.space, finding.twins
        search = replace(
            search,
            shown_by=finding.shown_by,
            pair=finding.pair,
            pair_of_a_row=bool(case.is_row(space, twins[:1], space.non_sensitive)[0]),
            pair_has_a_row=bool(case.is_row(space, twins, slice(None)).any()),
            degree=max(search.degree or 0.0, finding.pair.difference),
        )
    lower, upper = search.certificate.lower, search.certificate.upper
    if lower is None or upper is None or search.degree is None:
        return search
    lower = max(lower, search.degree)
    certificate = replace(search.certificate, lower=lower, upper=max(upper, lower))
    if lower > upper * (1 + 1e-9):  # more than two ways to add up differ by
        certificate = replace(certificate, certified=False, stop_reason=BEYOND)
    return replace(search, certificate=certificate)


def _with_others(rows: RowsPart, others: RowsPart) -> RowsPart:
    """The rows with what those show that were compared in one attribute alone."""
    if (others.degree or 0.0) <= (rows.degree or 0.0):
        return rows
    shown = others.worst[:1]
    left = [row for row in rows.worst if row.row not in [other.row for other in shown]]
    return replace(
        rows,
        degree=others.degree,
        worst=[*shown, *left][: max(1, len(rows.worst))],
        person=rows.person or others.person,
    )
