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
    direction: Annotated[
        str, neither("From which label to which, or up or down; 'any' is all of them together.")
    ]
    n_rows: Annotated[int, count_of_people("People of the group that were moved.")]
    n_flips: Annotated[int, count_of_people()]
    share: Annotated[float, count_of_people()]
    low: Annotated[
        float | None,
        count_of_people("The share of all people of the group is at least this (95%)."),
    ]
    high: Annotated[
        float | None,
        count_of_people("The share of all people of the group is at most this (95%)."),
    ]
    null_share: Annotated[
        float | None,
        count_of_people(
            "The share under maps between random groups of people: its permutation null."
        ),
    ]
    beyond_low: Annotated[
        float | None, count_of_people("The share exceeds that by at least this (95%).")
    ]
    beyond_high: Annotated[
        float | None, count_of_people("The share exceeds that by at most this (95%).")
    ]


class MovedColumn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a column carries of the change, and how far a map moves it where a decision changes."""

    group: Words
    to: Words
    column: Words
    before: Annotated[
        float | None,
        value_of_person(  # where one decision changes, it is that person's own
            "Mean of the people whose decision changes; null of categories and dates, and where "
            "nobody is concerned."
        ),
    ] = None
    after: Annotated[float | None, value_of_person("Mean of their moved twins.")] = None
    spread: Annotated[float | None, neither("Standard deviation of the column, of all people.")] = (
        None
    )
    moved: Annotated[
        Share, count_of_people("Share of these people whose moved twin has another value.")
    ] = None
    change: Annotated[
        float | None,
        neither(
            "Mean change of the output that the column carries, of all people of the group; the "
            "sum of all columns is the whole change."
        ),
    ] = None
    low: Annotated[float | None, neither("The mean change is at least this (95%).")] = None
    high: Annotated[float | None, neither("The mean change is at most this (95%).")] = None
    share_of_flips: Annotated[
        float | None,
        count_of_people(
            "Share of the changed decisions that the column carries; below 0 where it prevents "
            "some."
        ),
    ] = None


class MapQuality(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How near a map brings the people of a group to those of another one."""

    group: Words
    to: Words
    auc_before: Annotated[
        float | None,
        neither(
            "How well a classifier tells the groups apart on rows held out; 0.5 is not at all."
        ),
    ]
    auc_after: Annotated[
        float | None, neither("How well it tells moved rows from those of the group.")
    ]
    distance: Annotated[float | None, neither("How far rows are moved on average.")]
    out_of_range: Annotated[
        float | None,
        neither("Share of the moved rows with a value that nobody in that group has."),
    ]


class MovedPart(PartResult, frozen=True, kw_only=True, tag="moved"):
    """People with their moved twins: the attribute changed with what goes along with it.

    Moved twins are no counterfactuals. They say who is at the same place in another group, and
    not what would have become of a person.
    """

    attribute: Words = ""
    transport: Annotated[
        str, neither("The map: quantile, sequential, joint or the class of another one.")
    ] = ""
    applies: Annotated[
        bool,
        neither(
            "Whether people can be moved: false where the attribute has no groups, or too small "
            "ones."
        ),
    ] = True
    not_moved: Annotated[list[str], neither("Groups with too few rows to be moved.")] = []
    without_value: Annotated[
        int,
        count_of_people(
            "Rows whose value of the attribute is missing, so that they have no group."
        ),
    ] = 0
    n: Annotated[int, neither("Rows that were moved.")] = 0
    n_rows: Annotated[int, neither("Rows of the data.")] = 0
    rate: Annotated[Share, count_of_people("Share of the people whose decision changes.")] = None
    low: Annotated[Share, count_of_people("The share of all people is at least this (95%).")] = None
    high: Annotated[Share, count_of_people("The share of all people is at most this (95%).")] = None
    counts_above: Annotated[
        Figure,
        neither(
            "The difference of outputs from which a decision counts as another one; null where "
            "labels are compared."
        ),
    ] = None
    flips: Annotated[list[Flips], count_of_people()] = []
    columns: Annotated[
        list[MovedColumn],
        neither("Of each two groups those that carry most of the change first."),
    ] = []
    maps: Annotated[list[MapQuality], neither()] = []


def first_maps(report: Report) -> list[MovedPart]:
    """For each sensitive attribute what the first map that was done has shown."""
    first: dict[str, MovedPart] = {}
    for part in report.all_of(MovedPart):
        if part.status == "done" and part.rate is not None:
            first.setdefault(part.attribute, part)
    return list(first.values())
