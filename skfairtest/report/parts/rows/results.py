"""What the rows of the data show: how many people, by how much, who most."""

from __future__ import annotations

from functools import reduce
from typing import Annotated, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skfairtest.finding._pair import Pair
from skfairtest.report._redact import count_of_people, neither, value_of_person
from skfairtest.report._types import Figure, PartResult, Report, Share


class Above(Struct, frozen=True, forbid_unknown_fields=True):
    """Rows whose difference exceeds a share of the spread."""

    share_of_spread: Annotated[float, neither()]
    difference: Annotated[float, neither()]
    n: Annotated[int, count_of_people()]
    rate: Annotated[float, count_of_people()]
    low: Annotated[float | None, count_of_people("As of the rate.")]
    high: Annotated[float | None, count_of_people("As of the rate.")]


class DifferenceCurve(Struct, frozen=True, forbid_unknown_fields=True):
    """Share of the rows whose difference exceeds each of these."""

    difference: Annotated[list[float], neither()] = []
    share: Annotated[list[Annotated[float, msgspec.Meta(ge=0, le=1)]], count_of_people()] = []


class WorstRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the data with its two twins that differ most."""

    row: Annotated[str, value_of_person("Label or place of the row.")]
    inside: Annotated[bool, value_of_person("Whether the row lies in the domain.")]
    own: Annotated[list[Any], value_of_person("The row's own values in the changed columns.")]
    pair: Annotated[Pair, value_of_person()]


class Person(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the data, first, and its twin."""

    row: Annotated[str, value_of_person("Label of the row in the data.")]
    inside: Annotated[bool, value_of_person("Whether it lies in the domain.")]
    pair: Annotated[Pair, value_of_person()]


class Direction(Struct, frozen=True, forbid_unknown_fields=True):
    """How many people would get what instead of what."""

    from_: Annotated[str, neither("Label; empty for outputs.")] = msgspec.field(name="from")
    to: Annotated[str, neither("Label of a twin, or higher, lower or another.")]
    n: Annotated[int, count_of_people()]


class PeopleOfGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """The people of a group."""

    group: Annotated[str, neither()]
    n: Annotated[int, count_of_people("Rows of the group that were compared.")]
    changed: Annotated[int, count_of_people()]
    directions: Annotated[list[Direction], count_of_people()]


class RowsPart(PartResult, frozen=True, kw_only=True, tag="rows"):
    """The rows of the data compared with their twins."""

    sensitive: Annotated[list[str], neither("In what the twins differ.")] = []
    n: Annotated[int, neither("Rows compared.")] = 0
    n_rows: Annotated[int, neither("Rows of the data.")] = 0
    n_twins: Annotated[int, neither("Twins that a row was compared with at most.")] = 0
    n_combinations: Annotated[
        float | None, neither("Combinations of sensitive values; null of a real column.")
    ] = 0
    degree: Annotated[float | None, neither("The largest, in the domain or not.")] = None
    rate: Annotated[
        Share, count_of_people("Discriminatory; null of a regressor without a threshold.")
    ] = None
    low: Annotated[
        Share, count_of_people("Of all rows, at least; null where the rate is exact.")
    ] = None
    high: Annotated[Share, count_of_people("At most; 1 where some twins were left out.")] = None
    spread: Annotated[float | None, neither("From the 5th to the 95th percentile.")] = None
    above: Annotated[list[Above], count_of_people()] = []
    curve: Annotated[DifferenceCurve, count_of_people()] = DifferenceCurve()
    worst: Annotated[
        list[WorstRow], value_of_person("The worst rows, at most ten.", max_length=10)
    ] = []
    person: Annotated[
        Person | None,
        value_of_person("One with another decision first, then the largest difference."),
    ] = None
    changed: Annotated[
        int | None, count_of_people("Rows that would get another decision or output.")
    ] = None
    counts_above: Annotated[
        Figure, neither("Rows with a larger difference count; null for labels.")
    ] = None
    by_group: Annotated[
        list[PeopleOfGroup], count_of_people("A row may count in several directions.")
    ] = []


def rows_of(report: Report) -> list[RowsPart]:
    """The rows compared in each sensitive attribute alone, then in all of them together.

    The rows of all together show what those of each alone show, which were compared with more of
    their twins in it.
    """
    found = report.all_of(RowsPart)[::-1]  # all together are compared first
    found.sort(key=lambda rows: len(rows.sensitive))
    return [*found[:-1], reduce(_with_others, found[:-1], found[-1])] if found else []


def rows_together(report: Report) -> RowsPart:
    """The rows compared in all sensitive attributes together; an empty result without any."""
    return (rows_of(report) or [report.first(RowsPart)])[-1]


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


def takes_sensitive(report: Report) -> bool:
    """Whether the model takes any of the sensitive attributes, so that there are twins."""
    return any(attribute.sensitive for attribute in report.domain.attributes)
