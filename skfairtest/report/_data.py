"""What a report holds. The JSON schema is written from these classes by docs/write_schema.py.

Each field is a key of the JSON. Beside its type stands what it is, and what JSON Schema is to
check of it. What was not measured keeps its default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from skfairtest.finding._pair import Pair
from skfairtest.report._limits import LimitCheck, Status
from skfairtest.report._measure.plain import UNWRITTEN

SCHEMA_VERSION: Final = 1

Share = Annotated[float | None, {"minimum": 0, "maximum": 1}]
TEN = {"maxItems": 10}


Ended = Annotated[Literal["done", "left out", "failed", "interrupted"], "Whether the part ran."]


@dataclass(frozen=True, kw_only=True)
class ReportPart:
    """Whether a part of the audit ran, and what it cost."""

    status: Ended = "done"
    reason: Annotated[
        str, "Why it did not run, or how it ended early; empty where it was done."
    ] = ""
    queries: Annotated[int, "Rows that were given to the model."] = 0
    seconds: Annotated[float, {"minimum": 0}] = 0.0
    #: What it brought, for a line of progress; and how much was done where time was short.
    summary: str = field(default="", metadata=UNWRITTEN)
    early: str = field(default="", metadata=UNWRITTEN)


# The people in the table -----------------------------------------------------------------------


@dataclass(frozen=True)
class Above:
    """Rows whose difference exceeds a share of the spread."""

    share_of_spread: float
    difference: float
    n: int
    rate: float
    low: Annotated[float | None, "As of the rate."]
    high: Annotated[float | None, "As of the rate."]


@dataclass(frozen=True)
class DifferenceCurve:
    """Share of the rows whose difference exceeds each of these."""

    difference: list[float] = field(default_factory=list)
    share: list[Annotated[float, {"minimum": 0, "maximum": 1}]] = field(default_factory=list)


@dataclass(frozen=True)
class WorstRow:
    """A row of the data with its two twins that differ most."""

    row: Annotated[str, "Label or place of the row."]
    inside: Annotated[bool, "Whether the row lies in the domain."]
    own: Annotated[
        list[Any],
        "What the row itself has in the columns in which the twins differ, in their order.",
    ]
    pair: Pair


@dataclass(frozen=True)
class Person:
    """A row of the data, first, and its twin."""

    row: Annotated[str, "Label of the row in the data."]
    inside: Annotated[bool, "Whether it lies in the domain."]
    pair: Pair


@dataclass(frozen=True)
class Direction:
    """How many people would get what instead of what."""

    from_: Annotated[str, "Label of the row; empty where outputs are compared."]
    to: Annotated[str, "Label of a twin, or higher, lower or another."]
    n: int


@dataclass(frozen=True)
class PeopleOfGroup:
    """The people of a group."""

    group: str
    n: Annotated[int, "Rows of the group that were compared."]
    changed: int
    directions: list[Direction]


@dataclass(frozen=True, kw_only=True)
class RowsPart(ReportPart):
    """The rows of the data compared with their twins."""

    n: Annotated[int, "Rows compared."] = 0
    n_rows: Annotated[int, "Rows of the data."] = 0
    n_twins: Annotated[int, "Twins that a row was compared with at most."] = 0
    n_combinations: Annotated[
        float | None,
        "Combinations of sensitive values that there are; null where a sensitive column is real.",
    ] = 0
    degree: Annotated[float | None, "Largest difference on these rows, in the domain or not."] = (
        None
    )
    rate: Annotated[
        Share, "Share that is discriminatory; null for a regressor without a threshold."
    ] = None
    low: Annotated[
        Share,
        "The share of all rows is at least this: of a sample of the rows the lower bound of its "
        "95% interval; null where the rate is exact.",
    ] = None
    high: Annotated[
        Share,
        "The share of all rows is at most this: 1 where rows were compared with some of their "
        "twins only.",
    ] = None
    spread: Annotated[
        float | None, "Of a regressor's predictions, from their 5th to their 95th percentile."
    ] = None
    above: list[Above] = field(default_factory=list)
    curve: DifferenceCurve = DifferenceCurve()
    worst: Annotated[list[WorstRow], "The worst rows, at most ten.", TEN] = field(
        default_factory=list
    )
    person: Annotated[
        Person | None,
        "One that gets another decision if there is one, of these the one with the largest "
        "difference.",
    ] = None
    changed: Annotated[
        int | None,
        "Rows that would get another decision, or an output that differs by more than "
        "counts_above, if only the sensitive values were changed.",
    ] = None
    counts_above: Annotated[
        float | None,
        "The difference of outputs from which a row is counted in changed and by_group; null where "
        "other labels are.",
    ] = None
    by_group: Annotated[
        list[PeopleOfGroup],
        "These rows by group and by what they would get instead; a row may count in several "
        "directions.",
    ] = field(default_factory=list)


# The domain ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CertificatePart(ReportPart):
    """How large the difference can get."""

    found: Annotated[float | None, "What the search had found."] = None
    lower: Annotated[float | None, "Largest difference known."] = None
    upper: Annotated[
        float | None,
        "No difference in the domain is larger; null where the model could not be certified.",
    ] = None
    certified: Annotated[bool, "Whether both bounds meet."] = False
    stop_reason: str = ""
    engine: Annotated[
        str, 'What searched for the bound of trees, "numpy" or "numba"; empty where none did.'
    ] = ""


@dataclass(frozen=True)
class SearchHistory:
    """What the search had found after so many queries and seconds."""

    queries: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    degree: list[float] = field(default_factory=list)
    found: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class AllPairs:
    """All discriminatory inputs that are kept, at most 10,000, worst first."""

    columns: list[str] = field(default_factory=list)
    first: list[list[Any]] = field(default_factory=list)
    changed: Annotated[list[str], "Columns in which any twin differs."] = field(
        default_factory=list
    )
    second: Annotated[list[list[Any]], "Values of the other twin in the changed columns."] = field(
        default_factory=list
    )
    difference: list[float] = field(default_factory=list)
    of_a_row: Annotated[
        list[bool],
        "Whether the input equals a row of the data in all but the sensitive columns.",
    ] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SearchPart(ReportPart):
    """Twins that differ in these sensitive attributes."""

    sensitive: list[str]
    label: str
    taken: Annotated[
        bool,
        "Whether the model takes any of these attributes; if not, twins are equal by construction "
        "and nothing was searched.",
    ]
    auditor: str
    degree: Annotated[
        float | None,
        "Largest difference known in the domain, whatever part has shown it. Rows outside of the "
        "domain may show more: see rows.",
    ] = None
    shown_by: Annotated[str, "What has shown it."] = ""
    found: Annotated[int, "Distinct discriminatory inputs found."] = 0
    kept: Annotated[int, "Those kept."] = 0
    inputs: Annotated[int, "Distinct inputs looked at."] = 0
    search_queries: Annotated[int, "Queries of the search alone."] = 0
    stop_reason: Annotated[str, "What ended the search."] = ""
    pair: Pair | None = None
    pair_of_a_row: Annotated[
        bool, "Whether the pair equals a row of the data in all but the sensitive columns."
    ] = False
    pair_has_a_row: Annotated[
        bool, "Whether one of the pair is a row of the data, so that the other is its twin."
    ] = False
    history: SearchHistory = SearchHistory()
    further_pairs: Annotated[
        list[Pair],
        "The worst discriminatory inputs with their twins, at most ten, any two of which differ in "
        "two columns or more.",
        TEN,
    ] = field(default_factory=list)
    all_pairs: AllPairs = AllPairs()
    rows: RowsPart = RowsPart()
    certificate: CertificatePart = CertificatePart()


# Groups ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportedRule:
    """A group of rows, or of perturbed inputs, compared with all others."""

    rule: str
    support: Annotated[float, "Share of the rows of the data that the rule holds for."]
    value_inside: float | None
    value_outside: float | None
    score: float | None
    low: float | None
    high: float | None
    differs: Annotated[bool, "Whether the simultaneous interval excludes no difference."]
    n_inside: Annotated[int, "Rows that count inside; of perturbed_groups, perturbed inputs."]
    n_outside: Annotated[int, "Rows that count outside; of perturbed_groups, perturbed inputs."]


@dataclass(frozen=True)
class Largest:
    """The rule with the largest score of all, as measured."""

    rule: str
    score: float


@dataclass(frozen=True, kw_only=True)
class GroupsPart(ReportPart):
    """Groups, each compared with everything else."""

    favourable: str = ""
    confidence: float | None = None
    correction: str = ""
    min_support: float | None = None
    n_rules: int = 0
    low: Annotated[float | None, "The largest score of all is at least this."] = None
    high: Annotated[
        float | None,
        "The largest score of all is at most this; null where not all of them were kept.",
    ] = None
    largest: Annotated[Largest | None, "Null where nothing was compared."] = None
    rules: Annotated[list[ReportedRule], {"maxItems": 20}] = field(default_factory=list)
    stop_reason: str = ""


@dataclass(frozen=True, kw_only=True)
class PerturbedGroupsPart(GroupsPart):
    """Rule sets over perturbed inputs near the rows, by TestSGD.

    Their n_inside and n_outside count perturbed inputs, not rows.
    """


@dataclass(frozen=True, kw_only=True)
class GroupsOfRowsPart(GroupsPart):
    """Groups of rows of the data, by SubgroupAuditor.

    Intervals are about people like them, and hold for all groups at once.
    """

    metric: Annotated[
        str, "What is compared, as SubgroupAuditor names it; empty where nothing was."
    ] = ""
    n: Annotated[int, "Rows of the data that were compared: all, or a random sample."] = 0
    n_rows: Annotated[int, "Rows of the data."] = 0
    overall: Annotated[float | None, "The metric of all rows that count."] = None
    max_conditions: Annotated[int | None, "Most conditions of a rule."] = None
    n_differ: Annotated[
        int, "Rules that are kept and differ; the list has those that do not repeat each other."
    ] = 0


@dataclass(frozen=True, kw_only=True)
class SelectionPart(ReportPart):
    """The selection table: rates by group."""

    favourable: str = ""
    confidence: float | None = None
    min_share: Annotated[float | None, "Groups below this share of the rows have no ratio."] = None
    n: Annotated[int, "Rows of the data that were counted: all, or a random sample."] = 0
    n_rows: Annotated[int, "Rows of the data."] = 0
    low: Annotated[
        float | None, "The smallest impact ratio of all groups is at least this (95%)."
    ] = None
    high: Annotated[
        float | None, "The smallest impact ratio of all groups is at most this (95%)."
    ] = None
    columns: Annotated[
        list[str], "As selection_table has them; n and names that end in _n count rows."
    ] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)


# Moved twins -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flips:
    """People of a group who would get another decision if they were moved to another group."""

    group: str
    to: str
    direction: Annotated[
        str, "From which label to which, or up or down; 'any' is all of them together."
    ]
    n_rows: Annotated[int, "People of the group that were moved."]
    n_flips: int
    share: float
    low: Annotated[float | None, "The share of all people of the group is at least this (95%)."]
    high: Annotated[float | None, "The share of all people of the group is at most this (95%)."]
    null_share: Annotated[
        float | None, "The share under maps between random groups of people: its permutation null."
    ]
    beyond_low: Annotated[float | None, "The share exceeds that by at least this (95%)."]
    beyond_high: Annotated[float | None, "The share exceeds that by at most this (95%)."]


@dataclass(frozen=True)
class MovedColumn:
    """What a column carries of the change, and how far a map moves it where a decision changes."""

    group: str
    to: str
    column: str
    before: Annotated[
        float | None,
        "Mean of the people whose decision changes; null of categories and dates, and where nobody "
        "is concerned.",
    ]
    after: Annotated[float | None, "Mean of their moved twins."]
    spread: Annotated[float | None, "Standard deviation of the column, of all people."]
    moved: Annotated[Share, "Share of these people whose moved twin has another value."]
    change: Annotated[
        float | None,
        "Mean change of the output that the column carries, of all people of the group; the sum of "
        "all columns is the whole change.",
    ]
    low: Annotated[float | None, "The mean change is at least this (95%)."]
    high: Annotated[float | None, "The mean change is at most this (95%)."]
    share_of_flips: Annotated[
        float | None,
        "Share of the changed decisions that the column carries; below 0 where it prevents some.",
    ]


@dataclass(frozen=True)
class MapQuality:
    """How near a map brings the people of a group to those of another one."""

    group: str
    to: str
    auc_before: Annotated[
        float | None,
        "How well a classifier tells the groups apart on rows held out; 0.5 is not at all.",
    ]
    auc_after: Annotated[float | None, "How well it tells moved rows from those of the group."]
    distance: Annotated[float | None, "How far rows are moved on average."]
    out_of_range: Annotated[
        float | None, "Share of the moved rows with a value that nobody in that group has."
    ]


@dataclass(frozen=True, kw_only=True)
class MovedPart(ReportPart):
    """People with their moved twins: the attribute changed with what goes along with it.

    Moved twins are no counterfactuals. They say who is at the same place in another group, and
    not what would have become of a person.
    """

    attribute: str
    transport: Annotated[str, "The map: quantile, sequential, joint or the class of another one."]
    applies: Annotated[
        bool,
        "Whether people can be moved: false where the attribute has no groups, or too small ones.",
    ] = True
    not_moved: Annotated[list[str], "Groups with too few rows to be moved."] = field(
        default_factory=list
    )
    without_value: Annotated[
        int, "Rows whose value of the attribute is missing, so that they have no group."
    ] = 0
    n: Annotated[int, "Rows that were moved."] = 0
    n_rows: Annotated[int, "Rows of the data."] = 0
    rate: Annotated[Share, "Share of the people whose decision changes."] = None
    low: Annotated[Share, "The share of all people is at least this (95%)."] = None
    high: Annotated[Share, "The share of all people is at most this (95%)."] = None
    counts_above: Annotated[
        float | None,
        "The difference of outputs from which a decision counts as another one; null where labels "
        "are compared.",
    ] = None
    flips: list[Flips] = field(default_factory=list)
    columns: Annotated[
        list[MovedColumn], "Of each two groups those that carry most of the change first."
    ] = field(default_factory=list)
    maps: list[MapQuality] = field(default_factory=list)


# What was audited, and how ---------------------------------------------------------------------


@dataclass(frozen=True)
class ReportedModel:
    """The model."""

    class_: str
    final: Annotated[str, "The last step of a pipeline."]
    repr: str
    task: Literal["classification", "regression", "unknown"]
    response: Annotated[str, "How the model was asked."]
    n_classes: int | None
    classes: Annotated[list[str], {"maxItems": 20}]


@dataclass(frozen=True)
class ReportedData:
    """The table."""

    n_rows: int
    n_columns: int
    target_given: bool
    dtypes: Annotated[
        list[str], "Of the columns, as pandas names them; empty where it is no table of pandas."
    ]


@dataclass(frozen=True)
class ReportedAttribute:
    """An attribute of the domain: one column, or a one-hot group."""

    name: Any
    kind: str
    domain: str
    step: Any
    columns: int
    sensitive: bool


@dataclass(frozen=True)
class ReportedDomain:
    """Which inputs exist."""

    attributes: list[ReportedAttribute]
    conditions: list[str]


@dataclass(frozen=True)
class ReportedFavourable:
    """Which predictions were taken as favourable."""

    labels: Annotated[
        str,
        "The favourable labels, or the least favourable output; empty where nothing is known of "
        "them.",
    ]
    how: Annotated[
        str,
        {"enum": ["given", "inferred", "guessed", ""]},
        "By the user, from a word that is a label, or as the last of two.",
    ]
    words: Annotated[str, "The same in words; empty where nothing is favourable."]


@dataclass(frozen=True)
class PartRun:
    """A part of the audit in the list of all."""

    part: str
    status: Ended
    reason: str
    queries: int
    seconds: float
    notes: Annotated[list[str], "Warnings."]


@dataclass(frozen=True)
class Cost:
    """What the audit took."""

    queries: int
    seconds: float
    max_time: float | None


@dataclass(frozen=True)
class LimitsGiven:
    """The limits that the report was compared with, by with_limits."""

    status: Status
    verdict: str
    estimates_decide: bool
    checks: list[LimitCheck]


Completed = Literal["complete", "ended early", "interrupted", "failed"]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What skfairtest.audit found, version 1. Figures that are not known are null."""

    schema: Literal[1] = SCHEMA_VERSION
    created: Annotated[str, "When, in UTC.", {"format": "date-time"}]
    status: Completed
    reason: Annotated[str, "Why it is not complete."]
    sentence: Annotated[str, "The finding."] = ""
    model: ReportedModel
    data: ReportedData
    domain: ReportedDomain
    sensitive_features: Annotated[list[str], {"minItems": 1}]
    threshold: float | None
    favourable: ReportedFavourable
    limits: Annotated[LimitsGiven | None, "Null where none were given."] = None
    rows_of_people: Annotated[
        Literal["worst", "counts", "none"],
        "What is left of the rows of data in this file: all, counts without rows, or nothing.",
    ] = "worst"
    searches: Annotated[
        list[SearchPart],
        "Each sensitive attribute alone, then all together.",
        {"minItems": 1},
    ]
    carries: Annotated[str, "Which attribute carries the difference."] = ""
    groups: Annotated[
        GroupsOfRowsPart,
        "Groups of rows that sensitive attributes describe: rates of favourable predictions, or "
        "mean predictions.",
    ]
    perturbed_groups: Annotated[PerturbedGroupsPart | None, "Null where nobody asked."]
    selection: SelectionPart
    errors: Annotated[
        list[GroupsOfRowsPart],
        "For which groups the model errs most, by SubgroupAuditor; one a metric.",
    ]
    moved: Annotated[
        list[MovedPart],
        "People with their moved twins, for each sensitive attribute and map; of an attribute, the "
        "first map that was done is what limits are about.",
    ]
    parts: Annotated[list[PartRun], "In the order in which they ran."]
    cost: Cost
    seed: int
    settings: dict[str, Any]
    versions: dict[str, str]
    code: Annotated[str, "Repeats the audit."]
    not_shown: list[str]
