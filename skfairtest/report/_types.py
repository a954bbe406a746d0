"""What a report holds, from the measurement to the page and the file.

The JSON of a report is these types written out, by msgspec. Each field states what it tells of
people, by a mark of `_redact.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from skfairtest.report._redact import (
    KEPT,
    Kept,
    check_kept,
    count_of_people,
    neither,
    redacted,
    value_of_person,
)

SCHEMA_VERSION: Final = 2

Words = Annotated[str, neither()]
Figure = Annotated[float | None, neither()]
Share = Annotated[float, Meta(ge=0, le=1)] | None
Ended = Literal["done", "left out", "failed", "interrupted"]
Completed = Literal["complete", "ended early", "interrupted", "failed"]


class PartResult(Struct, frozen=True, kw_only=True, tag_field="part", forbid_unknown_fields=True):
    """What a part of the audit has found, whether it ran, and what it cost."""

    of: Annotated[str, neither("Sensitive attributes, a metric, or an attribute and a map.")] = ""
    status: Annotated[Ended, neither("Whether the part ran.")] = "done"
    reason: Annotated[str, neither("Why it did not run, or ended early; else empty.")] = ""
    of_error: Annotated[bool, neither("Whether the reason is what an error said.")] = False
    early: Annotated[str, neither("How much was done, where the time was too short for all.")] = ""
    queries: Annotated[int, neither("Rows that were given to the model.")] = 0
    seconds: Annotated[Annotated[float, Meta(ge=0)], neither()] = 0.0
    notes: Annotated[list[str], value_of_person("Warnings.")] = []

    @property
    def part(self) -> str:
        """The kind of part."""
        return str(self.__struct_config__.tag)

    @property
    def name(self) -> str:
        """What the part is called in the list of all."""
        return f"{self.part}: {self.of}" if self.of else self.part

    def redact(self, kept: Kept) -> PartResult:
        """The result as a file may have it: without people, and for "none" without their counts."""
        left: PartResult = redacted(self, kept)
        if self.of_error and kept != "worst":
            # It may quote a value of the row at which a model failed.
            left = msgspec.structs.replace(left, reason="an error, whose words are left out here")
        return left


# What was audited, and how ---------------------------------------------------------------------


class ReportedModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model."""

    class_: Words = msgspec.field(name="class")
    final: Annotated[str, neither("The last step of a pipeline.")]
    repr: Words
    task: Annotated[Literal["classification", "regression", "unknown"], neither()]
    response: Annotated[str, neither("How the model was asked.")]
    n_classes: Annotated[int | None, neither()]
    classes: Annotated[list[str], neither(max_length=20)]


class ReportedData(Struct, frozen=True, forbid_unknown_fields=True):
    """The table."""

    n_rows: Annotated[int, neither()]
    n_columns: Annotated[int, neither()]
    target_given: Annotated[bool, neither()]
    dtypes: Annotated[list[str], neither("Of the columns of a pandas table; else empty.")]


class ReportedAttribute(Struct, frozen=True, forbid_unknown_fields=True):
    """An attribute of the domain: one column, or a one-hot group."""

    name: Annotated[Any, neither()]
    kind: Words
    domain: Words
    step: Annotated[Any, neither()]
    columns: Annotated[int, neither()]
    sensitive: Annotated[bool, neither()]


class ReportedDomain(Struct, frozen=True, forbid_unknown_fields=True):
    """Which inputs exist."""

    attributes: list[ReportedAttribute]
    conditions: Annotated[list[str], neither()]


class ReportedFavourable(Struct, frozen=True, forbid_unknown_fields=True):
    """Which predictions were taken as favourable."""

    labels: Annotated[str, neither("The labels, or the least output; empty if unknown.")]
    how: Annotated[
        Literal["given", "inferred", "guessed", ""],
        neither("By the user, by a word that is a label, or as the last of two."),
    ]
    words: Annotated[str, neither("The same in words; empty where nothing is favourable.")]


class Cost(Struct, frozen=True, forbid_unknown_fields=True):
    """What the audit took."""

    queries: Annotated[int, neither()]
    seconds: Annotated[float, neither()]
    max_time: Figure


# Limits ----------------------------------------------------------------------------------------

#: What an outcome means for the exit code of a command.
EXIT_CODES = {"within": 0, "exceeded": 1, "undecided": 3, "failed": 4}
WORST_FIRST = ("exceeded", "failed", "undecided", "within")
Status = Literal["exceeded", "failed", "undecided", "within"]


class LimitCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Result of one limit: its status and what is known of its figure.

    Attributes
    ----------
    name : str
        The limit's name in `Limits`.
    limit : float
        The limit.
    status : {"within", "exceeded", "undecided", "failed"}
        Whether the limit holds, or why that is not known.
    figure : str
        Name of the figure that decides, such as "impact ratio of f (sex) to m, the smallest of 5
        groups".
    value : float or None
        The figure. None if it was not measured.
    low, high : float or None
        Bounds of the interval in which it is known to be. None if a bound is unknown.
    interval : str
        Kind of the interval: "exact", "95% interval", "certified bounds", ...
    words : str
        A sentence that says what was and was not shown.
    people : str
        How many people the figure rests on, where these are few; else empty.
    left_out : list of str
        Groups that were too small to be compared, or attributes whose groups nobody can be moved
        between.
    of_people : bool
        Whether the figure is a share of people, which files with ``rows="none"`` leave out.
    """

    name: Words
    limit: Annotated[float, neither()]
    status: Annotated[Status, neither()]
    figure: Words
    value: Figure
    low: Figure
    high: Figure
    interval: Words
    words: Words
    people: Annotated[str, count_of_people()] = ""
    left_out: Annotated[list[str], count_of_people()] = []
    of_people: Annotated[bool, neither()] = False

    @property
    def sentence(self) -> str:
        """What was and was not shown, and how few people that rests on."""
        return self.words + (f" ({self.people})" if self.people else "")

    def redact(self, kept: Kept) -> LimitCheck:
        """The check as a file may have it."""
        if kept == "worst":
            return self
        left = self
        if self.status == "failed":  # what a model raised may quote a value of a row
            words = f"{self.name} could not be checked: a part of the audit failed"
            left = msgspec.structs.replace(left, words=words)
        if kept == "none" and self.of_people:
            words = f"{self.name} is {self.status}; its figure, a share of people, is left out here"
            left = msgspec.structs.replace(left, value=None, low=None, high=None, words=words)
        return redacted(left, kept)


class LimitsOutcome(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a report is within its limits.

    Attributes
    ----------
    status : {"within", "exceeded", "undecided", "failed"}
        The worst of the checks: an exceeded limit, a part that failed, a limit that could not be
        decided, or none of these.
    checks : list of LimitCheck
        One check per limit.
    verdict : str
        A line that says what was and was not shown.
    estimates_decide : bool
        Whether the measured values decided, without their intervals.

    Examples
    --------
    >>> from skfairtest.report import LimitsOutcome
    >>> LimitsOutcome("within", [], "No limits were given.").exit_code
    0
    """

    status: Annotated[Status, neither()]
    checks: list[LimitCheck]
    verdict: Words
    estimates_decide: Annotated[bool, neither()] = False

    @property
    def exit_code(self) -> int:
        """The command line's exit code: 0 within, 1 exceeded, 3 undecided, 4 failed."""
        return EXIT_CODES[self.status]

    def redact(self, kept: Kept) -> LimitsOutcome:
        """The outcome as a file may have it."""
        if kept == "worst":
            return self
        checks = [check.redact(kept) for check in self.checks]
        # Without checks it has the sentence of the report, or what a model raised.
        verdict = verdict_of(self.status, checks) or "No limits were given."
        return msgspec.structs.replace(self, checks=checks, verdict=verdict)


def verdict_of(status: Status, checks: Sequence[LimitCheck]) -> str:
    """The worst checks in a line; empty where none has this status."""
    worst = [check.sentence for check in checks if check.status == status]
    # What a model raised may have many lines.
    text = " ".join("; ".join(worst).split()).rstrip(".")
    return f"{status.capitalize()}: {text}." if worst else ""


# The report ------------------------------------------------------------------------------------

R = TypeVar("R", bound=PartResult)


class Report(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What skfairtest.audit found. Figures that are not known are null."""

    schema: Annotated[Literal[2], neither()] = SCHEMA_VERSION
    created: Annotated[str, neither("When, in UTC.", extra_json_schema={"format": "date-time"})]
    status: Annotated[Completed, neither()] = "complete"
    reason: Annotated[str, neither("Why it is not complete.")] = ""
    sentence: Annotated[str, neither("The finding.")] = ""
    model: ReportedModel
    data: ReportedData
    domain: ReportedDomain
    sensitive_features: Annotated[list[str], neither(min_length=1)]
    threshold: Figure
    favourable: ReportedFavourable
    limits: Annotated[LimitsOutcome | None, neither("Null where none were given.")] = None
    rows_of_people: Annotated[
        Kept, neither("What this file has of people: the worst rows, counts, or nothing.")
    ] = "worst"
    parts: Annotated[list[PartResult], neither("In the order in which they ran.")]
    cost: Cost
    seed: Annotated[int, neither()]
    settings: Annotated[dict[str, Any], neither()]
    versions: Annotated[dict[str, str], neither()]
    code: Annotated[str, neither("Repeats the audit.")]
    not_shown: Annotated[list[str], neither("What the report cannot tell.")]

    def all_of(self, kind: type[R]) -> list[R]:
        """The results of all parts of a kind, in the order in which they ran."""
        return [part for part in self.parts if isinstance(part, kind)]

    def first(self, kind: type[R], of: str = "") -> R:
        """The result of a part; an empty one, which was left out, where it was not asked for."""
        found = (part for part in self.all_of(kind) if part.of == of)
        return next(found, None) or kind(of=of, status="left out", reason="nobody asked for it")

    def without_people(self, rows: str) -> Report:
        """The report without rows of people, or without their counts as well.

        What was left out before stays so.
        """
        kept = max(check_kept(rows), self.rows_of_people, key=list(KEPT).index)
        limits = None if self.limits is None else self.limits.redact(kept)
        parts = [part.redact(kept) for part in self.parts]
        return msgspec.structs.replace(self, parts=parts, limits=limits, rows_of_people=kept)


def listed_reasons(parts: Sequence[PartResult]) -> str:
    """Why parts have no result, each reason once."""
    return "; ".join(dict.fromkeys(part.reason for part in parts if part.reason))
