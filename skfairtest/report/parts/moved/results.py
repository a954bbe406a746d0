"""People with their moved twins: the attribute changed with what goes along with it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from skfairtest.report._redact import count_of_people, neither, value_of_person
from skfairtest.report._types import Figure, PartResult, Report, Share, Words

#: What flips are called that may have any direction.
ANY = "any"


class Flips(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People of a group who would get another decision if they were moved to another group."""

    group: Words
    to: Words
    direction: Annotated[str, neither("From label to label, up, down, or any.")]
    n_rows: Annotated[int, count_of_people("People of the group that were moved.")]
    n_flips: Annotated[int, count_of_people()]
    share: Annotated[float, count_of_people()]
    low: Annotated[float | None, count_of_people("Of all people, at least (95%).")]
    high: Annotated[float | None, count_of_people("Of all people, at most (95%).")]
    null_share: Annotated[float | None, count_of_people("Under maps between random groups.")]
    beyond_low: Annotated[float | None, count_of_people("It exceeds that by at least this.")]
    beyond_high: Annotated[float | None, count_of_people("It exceeds that by at most this.")]


class MovedColumn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a column carries of the change, and how far a map moves it where a decision changes."""

    group: Words
    to: Words
    column: Words
    before: Annotated[
        float | None,
        value_of_person("Mean of those whose decision changes; null of what is no number."),
    ] = None
    after: Annotated[float | None, value_of_person("Mean of their moved twins.")] = None
    spread: Annotated[float | None, neither("Standard deviation of all people.")] = None
    moved: Annotated[Share, count_of_people("Moved twins with another value.")] = None
    change: Annotated[float | None, neither("Mean change of the output that it carries.")] = None
    low: Annotated[float | None, neither("The mean change is at least this (95%).")] = None
    high: Annotated[float | None, neither("The mean change is at most this (95%).")] = None
    share_of_flips: Annotated[
        float | None, count_of_people("Of the changed decisions; below 0 where it prevents some.")
    ] = None


class MapQuality(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How near a map brings the people of a group to those of another one."""

    group: Words
    to: Words
    auc_before: Annotated[float | None, neither("How well a classifier tells the groups apart.")]
    auc_after: Annotated[float | None, neither("How well, once rows are moved.")]
    distance: Annotated[float | None, neither("How far rows are moved on average.")]
    out_of_range: Annotated[float | None, neither("Moved rows with a value that nobody there has.")]


class MovedPart(PartResult, frozen=True, kw_only=True, tag="moved"):
    """People with their moved twins: the attribute changed with what goes along with it.

    Moved twins are no counterfactuals. They say who is at the same place in another group, and
    not what would have become of a person.
    """

    attribute: Words = ""
    transport: Annotated[str, neither("quantile, sequential, joint, or a class.")] = ""
    applies: Annotated[bool, neither("False where there are no groups, or too small ones.")] = True
    not_moved: Annotated[list[str], neither("Groups with too few rows to be moved.")] = []
    without_value: Annotated[int, count_of_people("Rows whose value is missing.")] = 0
    n: Annotated[int, neither("Rows that were moved.")] = 0
    n_rows: Annotated[int, neither("Rows of the data.")] = 0
    rate: Annotated[Share, count_of_people("Share of the people whose decision changes.")] = None
    low: Annotated[Share, count_of_people("The share of all people is at least this (95%).")] = None
    high: Annotated[Share, count_of_people("The share of all people is at most this (95%).")] = None
    counts_above: Annotated[Figure, neither("Outputs must differ by more to count.")] = None
    flips: Annotated[list[Flips], count_of_people()] = []
    columns: Annotated[list[MovedColumn], neither("Those that carry most come first.")] = []
    maps: Annotated[list[MapQuality], neither()] = []


def first_maps(report: Report) -> list[MovedPart]:
    """For each sensitive attribute what the first map that was done has shown."""
    first: dict[str, MovedPart] = {}
    for part in report.all_of(MovedPart):
        if part.status == "done" and part.rate is not None:
            first.setdefault(part.attribute, part)
    return list(first.values())
