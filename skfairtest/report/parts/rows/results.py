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
    own: Annotated[
        list[Any],
        value_of_person(
            "What the row itself has in the columns in which the twins differ, in their order."
        ),
    ]
    pair: Annotated[Pair, value_of_person()]


class Person(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the data, first, and its twin."""

    row: Annotated[str, value_of_person("Label of the row in the data.")]
    inside: Annotated[bool, value_of_person("Whether it lies in the domain.")]
    pair: Annotated[Pair, value_of_person()]


class Direction(Struct, frozen=True, forbid_unknown_fields=True):
    """How many people would get what instead of what."""

    from_: Annotated[str, neither("Label of the row; empty where outputs are compared.")] = (
        msgspec.field(name="from")
    )
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
        float | None,
        neither(
            "Combinations of sensitive values that there are; null where a sensitive column is "
            "real."
        ),
    ] = 0
    degree: Annotated[
        float | None, neither("Largest difference on these rows, in the domain or not.")
    ] = None
    rate: Annotated[
        Share,
        count_of_people("Share that is discriminatory; null for a regressor without a threshold."),
    ] = None
    low: Annotated[
        Share,
        count_of_people(
            "The share of all rows is at least this: of a sample of the rows the lower bound of "
            "its 95% interval; null where the rate is exact."
        ),
    ] = None
    high: Annotated[
        Share,
        count_of_people(
            "The share of all rows is at most this: 1 where rows were compared with some of their "
            "twins only."
        ),
    ] = None
    spread: Annotated[
        float | None,
        neither("Of a regressor's predictions, from their 5th to their 95th percentile."),
    ] = None
    above: Annotated[list[Above], count_of_people()] = []
    curve: Annotated[DifferenceCurve, count_of_people()] = DifferenceCurve()
    worst: Annotated[
        list[WorstRow], value_of_person("The worst rows, at most ten.", max_length=10)
    ] = []
    person: Annotated[
        Person | None,
        value_of_person(
            "One that gets another decision if there is one, of these the one with the largest "
            "difference."
        ),
    ] = None
    changed: Annotated[
        int | None,
        count_of_people(
            "Rows that would get another decision, or an output that differs by more than "
            "counts_above, if only the sensitive values were changed."
        ),
    ] = None
    counts_above: Annotated[
        Figure,
        neither(
            "The difference of outputs from which a row is counted in changed and by_group; null "
            "where other labels are."
        ),
    ] = None
    by_group: Annotated[
        list[PeopleOfGroup],
        count_of_people(
            "These rows by group and by what they would get instead; a row may count in several "
            "directions."
        ),
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
