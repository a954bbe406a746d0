"""Rules and what they are compared by: the types of several parts of the audit."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from skfairtest.report._redact import count_of_people, neither
from skfairtest.report._types import Figure, PartResult, Words


class ReportedRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A group of rows, or of perturbed inputs, compared with all others."""

    rule: Words
    support: Annotated[float | None, count_of_people("Share of rows it holds for.")] = None
    value_inside: Annotated[float | None, count_of_people()] = None
    value_outside: Annotated[float | None, count_of_people()] = None
    score: Figure = None
    low: Figure = None
    high: Figure = None
    differs: Annotated[bool, neither("Its interval excludes 0.")] = False
    n_inside: Annotated[int | None, count_of_people("Rows, or perturbed inputs.")] = None
    n_outside: Annotated[int | None, count_of_people("Rows, or perturbed inputs.")] = None


class Largest(Struct, frozen=True, forbid_unknown_fields=True):
    """The rule with the largest score of all, as measured."""

    rule: Words
    score: Annotated[float, neither()]


class RulesPart(PartResult, frozen=True, kw_only=True):
    """Groups, each compared with everything else."""

    favourable: Words = ""
    confidence: Figure = None
    correction: Words = ""
    min_support: Figure = None
    n_rules: Annotated[int, neither()] = 0
    low: Annotated[float | None, neither("The largest score of all is at least this.")] = None
    high: Annotated[float | None, neither("And at most this; null if not all were kept.")] = None
    largest: Annotated[Largest | None, neither("Null where nothing was compared.")] = None
    rules: Annotated[list[ReportedRule], neither(max_length=20)] = []
    stop_reason: Words = ""


class RulesOfRowsPart(RulesPart, frozen=True, kw_only=True):
    """Groups of rows of the data, by SubgroupAuditor.

    Intervals are about people like them, and hold for all groups at once.
    """

    metric: Annotated[str, neither("As SubgroupAuditor names it; else empty.")] = ""
    n: Annotated[int, neither("Rows of the data that were compared: all, or a random sample.")] = 0
    n_rows: Annotated[int, neither("Rows of the data.")] = 0
    overall: Annotated[float | None, count_of_people("The metric of all rows that count.")] = None
    max_conditions: Annotated[int | None, neither("Most conditions of a rule.")] = None
    n_differ: Annotated[int, neither("Rules that differ, also those that are not listed.")] = 0
