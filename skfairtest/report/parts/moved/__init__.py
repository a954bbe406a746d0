"""People moved to other groups with what goes along with an attribute, as a part of the audit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import ClassVar

from skfairtest.finding._words import percent
from skfairtest.report._context import AuditContext, in_words
from skfairtest.report._figures import (
    KnownFigure,
    at_most,
    checked,
    first_of,
    in_full,
    percent_unlike,
    real,
    unchecked,
)
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts._part import Part, Sentence, Task
from skfairtest.report.parts.moved.move import measure_moved, named_transports
from skfairtest.report.parts.moved.page import (
    display_moved,
    moved_sections,
    moved_sentences,
    rests_on,
)
from skfairtest.report.parts.moved.results import MovedPart, first_maps
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.render.words import bounds_text

NAME = "max_moved_rate"


def moved_rate(parts: list[MovedPart]) -> KnownFigure:
    """The largest share of people whose moved twins get another decision.

    `parts` has one map for each attribute. The largest true share is at least the largest of the
    lower bounds, and at most the largest of the upper ones.
    """
    worst = max(parts, key=lambda part: real(part.rate))
    figure = (
        f"share of people whose moved twin in {worst.attribute} gets another decision "
        f"({worst.transport} map)"
    )
    if len(parts) > 1:
        figure += f", the largest of {len(parts)} attributes"
    known = [part for part in parts if part.low is not None and part.high is not None]
    low = max((real(part.low) for part in known), default=math.nan)
    # Without an interval of each attribute nobody knows the upper bound.
    whole = len(known) == len(parts)
    high = max(real(part.high) for part in parts) if whole else math.nan
    interval = "95% interval" if known else "estimate"
    return KnownFigure(figure, real(worst.rate), low, high, interval, of_people=True)


def check_moved(report: Report, limit: float, estimates_decide: bool) -> LimitCheck:
    """Check the largest share of all attributes, each under the first map that was done."""
    parts = first_maps(report)
    if report.threshold is None and any(part.counts_above is not None for part in parts):
        raise ValueError(
            "max_moved_rate needs a threshold: from which difference on the decision of a "
            "regressor counts as another one is not for a limit to guess. Pass threshold= to audit."
        )
    measured = {part.attribute for part in parts}
    missing: dict[str, MovedPart] = {}
    for part in report.all_of(MovedPart):
        if part.attribute not in measured:
            missing.setdefault(part.attribute, part)
    failed = any(part.status == "failed" for part in missing.values())
    if not parts:
        reason = "no people were moved (moved=False)"
        if missing:
            # One that could have been measured says more than one without groups.
            reason = max(missing.values(), key=lambda part: part.applies).reason
        if report.rows_of_people == "none":
            reason = "shares of people were left out of this report (rows='none')"
        known = KnownFigure("share of people whose moved twin differs")
        return unchecked(NAME, limit, known, reason, failed=failed)
    known = moved_rate(parts)
    status = at_most(known, limit, estimates_decide)
    if missing and status != "exceeded":
        # Nobody knows what was not measured, for lack of time or of groups.
        status = "failed" if failed else "undecided"
    side = "above" if known.value > limit else "within"
    words = f"{known.figure}: {percent_unlike(known.value, limit)}, {side} {in_full(100 * limit)}%"
    if not (math.isnan(known.low) or math.isnan(known.high)):
        but = ", but" if status == "undecided" and not missing else ";"
        ends = bounds_text(known.low, known.high, partial(percent_unlike, limit=limit))
        words += f"{but} of all people {ends} ({known.interval})"
    left_out = [f"{part.attribute}: {part.reason}" for part in missing.values()]
    left_out += [words for part in parts for words in _people_not_moved(part)]
    if left_out:
        words += f"; not checked: {first_of(left_out)}"
    return checked(NAME, limit, status, known, words, left_out)


def _people_not_moved(part: MovedPart) -> list[str]:
    name = part.attribute
    reasons = [f"{name} = {group}: too few rows to be moved" for group in part.not_moved]
    if part.without_value:
        reasons.append(f"{part.without_value:,} rows without a value of {name}")
    return reasons


class MovedTwins(Part):
    """Moves people to the other groups of each attribute, and counts whose decision changes."""

    result = MovedPart
    place = 100
    needs = (PredictionsPart,)
    option = "moved"
    limits: ClassVar = {NAME: check_moved}
    displays: ClassVar = {"moved": display_moved}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for each attribute and map.

        The first map, which limits are about, comes before the others, which have what time is
        left.
        """
        maps, names = named_transports(context.options.moved), context.sensitive_names
        n_rows = len(context.space.data)
        for k, of in enumerate(maps):
            for place, name in enumerate(names):
                blank = MovedPart(
                    of=f"{in_words(name)} ({of.name})",
                    attribute=str(name),
                    transport=of.name,
                    n_rows=n_rows,
                )
                share = 8.0 / len(names)
                yield Task(
                    blank,
                    partial(measure_moved, context, blank, of),
                    order=(80 if k else 60, k, place),
                    share=share / 2 / len(maps) if k else share,
                    calls=4,
                    refuses=(ValueError,),
                )

    def summary(self, result: MovedPart) -> str:
        """Whose decision changes."""
        return f"{percent(result.rate)} of {result.n:,} rows"

    def figures(self, report: Report) -> Mapping[str, KnownFigure]:
        """The share of each attribute and map."""
        return {
            f"moved twins that get another decision: {part.of}": moved_rate([part])
            for part in report.all_of(MovedPart)
            if part.rate is not None
        }

    def sentences(self, report: Report) -> Iterable[Sentence]:
        """The shares, and what they rest on."""
        yield Sentence("moved", moved_sentences(report))
        yield Sentence("sure", rests_on(report))

    sections = staticmethod(moved_sections)
