"""Figures of a report with the intervals in which they are known to be, and limits for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from skfairtest.finding._words import percent, two_numbers
from skfairtest.report._types import LimitCheck, Status


class KnownFigure(NamedTuple):
    """A figure of a report and the interval in which it is known to be; NaN what is unknown."""

    figure: str  # its name, and that of what it was measured on
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    interval: str = ""  # "exact", "95% interval", "certified bounds", ...
    of_people: bool = False  # a share of people, which files with rows="none" leave out


def by_construction(figure: str) -> KnownFigure:
    """0, for twins in columns that the model does not take."""
    return KnownFigure(figure, 0.0, 0.0, 0.0, "by construction")


def real(value: float | None) -> float:
    """A figure of a report as a number: NaN where it is not known."""
    return math.nan if value is None else float(value)


def in_full(limit: float) -> str:
    """Return a limit as it was written."""
    return f"{limit:,.12g}"


def unlike_limit(value: float, limit: float) -> str:
    """Return a figure with as many digits as are needed to tell it from its limit."""
    return two_numbers(value, limit)[0]


def at_most(known: KnownFigure, limit: float, estimates_decide: bool) -> Status:
    """Check a figure that has to be at most the limit."""
    low, high = (known.value, known.value) if estimates_decide else (known.low, known.high)
    if low > limit:
        return "exceeded"
    return "within" if high <= limit else "undecided"  # not so where no bound is known (NaN)


def at_least(known: KnownFigure, limit: float, estimates_decide: bool) -> Status:
    """Check a figure that has to be at least the limit."""
    low, high = (known.value, known.value) if estimates_decide else (known.low, known.high)
    if high < limit:
        return "exceeded"
    return "within" if low >= limit else "undecided"


def checked(
    name: str,
    limit: float,
    status: Status,
    known: KnownFigure,
    words: str,
    left_out: Sequence[str] = (),
    people: str = "",
) -> LimitCheck:
    """The result of a limit."""
    value, low, high = (None if math.isnan(x) else x for x in (known.value, known.low, known.high))
    return LimitCheck(
        name=name,
        limit=limit,
        status=status,
        figure=known.figure,
        value=value,
        low=low,
        high=high,
        interval=known.interval,
        words=words,
        people=people,
        left_out=list(left_out),
        of_people=known.of_people,
    )


def unchecked(
    name: str, limit: float, known: KnownFigure, reason: str, *, failed: bool = False
) -> LimitCheck:
    """The result of a limit whose figure is not known."""
    words = f"{name} could not be checked: {reason or 'it was not measured'}"
    return checked(name, limit, "failed" if failed else "undecided", known, words)


def percent_unlike(share: float, limit: float) -> str:
    """Return a share in percent, with as many digits as tell it from its limit."""
    if share == limit or percent(share) != percent(limit):
        return percent(share)
    return f"{unlike_limit(100 * share, 100 * limit)}%"


def in_its_interval(known: KnownFigure, limit: float, status: Status, side: str) -> str:
    """Write a figure of groups, its limit and the interval in which it is known to be."""
    words = f"{known.figure}: {unlike_limit(known.value, limit)}, {side} {in_full(limit)}"
    if math.isnan(known.low) or math.isnan(known.high):
        return words
    but = ", but it" if status == "undecided" else "; it"
    low, high = unlike_limit(known.low, limit), unlike_limit(known.high, limit)
    return f"{words}{but} may be from {low} to {high} ({known.interval})"


def first_of(left_out: list[str]) -> str:
    """The first three; names of intersections have commas in them. The check itself has all."""
    return "; ".join(left_out[:3]) + ("; and others" if len(left_out) > 3 else "")


def figure_sentence(check: LimitCheck) -> str:
    """Describe the figure of a limit, and the interval in which it is known to be."""
    if check.value is None:
        return f"{check.figure}: not measured"
    words = f"{check.figure}: {unlike_limit(check.value, check.limit)}"
    if check.low is None or check.high is None or check.low == check.high:
        return f"{words} ({check.interval})"
    low, high = unlike_limit(check.low, check.limit), unlike_limit(check.high, check.limit)
    return f"{words} ({low} to {high}, {check.interval})"
