"""What is said of the rates of groups, and the ratio of the lowest one to the highest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from skfairtest.finding._words import number, percent
from skfairtest.report._figures import KnownFigure, real
from skfairtest.report._types import Report
from skfairtest.report.parts.selection.results import Estimate, GroupRates, SelectionPart
from skfairtest.report.parts.twins.results import not_in_model, together
from skfairtest.report.render.blocks import count, fixed, level
from skfairtest.report.render.words import group_named, in_sample, isolate, quoted


def named(group: GroupRates, *, alone: bool = False) -> str:
    """A group in a sentence; `alone` leaves the attribute out."""
    return group_named(group.group, group.attribute, group.n, alone=alone)


def rates_to_tell(report: Report) -> list[str]:
    """The attributes whose rates say what twins do not: all, where nobody's answer changes."""
    main = together(report)
    told = main.known.taken and main.rows.changed == 0 and report.first(SelectionPart).groups
    return report.sensitive_features if told else not_in_model(report)


def rates(report: Report) -> str:
    """Rates of the groups, and the lowest impact ratio with its interval."""
    part = report.first(SelectionPart)
    if not part.groups:
        return f"Not compared: {part.reason.rstrip('.')}." if part.reason else "Not compared."
    attributes = list(dict.fromkeys(group.attribute for group in part.groups))
    names = [name for name in report.sensitive_features if name in attributes] or attributes
    if not part.with_ratio:
        return what_groups_get(part, names)
    lowest = smallest_ratio(part, part.with_ratio)
    of_names = [group for group in part.with_ratio if group.attribute in names]
    words = f"{lowest_and_highest(part, of_names)} " if of_names else ""
    ends = ""
    if not (math.isnan(lowest.low) or math.isnan(lowest.high)):
        ends = (
            f" ({fixed(lowest.low)} to {fixed(lowest.high)} at {level(part.confidence)}, all "
            "groups at once)"
        )
    return (
        f"{words}Lowest impact ratio: {fixed(lowest.value)}{ends}, "
        f"{lowest.figure.removeprefix('impact ratio ')}."
    )


def what_groups_get(
    part: SelectionPart, attributes: Sequence[str], *, with_ratio: bool = True
) -> str:
    """The groups of these attributes that get least and most, with what chance leaves of that."""
    groups = [group for group in part.groups if group.attribute in attributes]
    if part.groups and not part.has_ratios:
        means = [group for group in groups if group.rate.low is not None]
        if part.without_people:
            return "The mean predictions of the groups were left out of this file: rows='none'."
        if not means:
            return "No group is large enough for its mean prediction to be compared."
        low, high = farthest(means, rate_of)
        return (
            f"The mean prediction for {named(low)} is {_with_ends(low.rate)}, and for "
            f"{named(high, alone=True)} it is {_with_ends(high.rate)}"
            f"{in_sample(part.n, part.n_rows)}."
        )
    ratios = [group for group in groups if group.ratio.value is not None]
    if not ratios:
        reason = part.reason or "no group is large enough to be compared"
        return f"Rates of the groups were not compared: {reason}."
    ratio = farthest(ratios, ratio_of)[0].ratio
    shown = f" Impact ratio: {_with_ends(ratio)}." if with_ratio and real(ratio.value) < 1 else ""
    return f"{lowest_and_highest(part, ratios)}{shown}"


def lowest_and_highest(part: SelectionPart, groups: Sequence[GroupRates]) -> str:
    """The lowest and the highest rate of the attribute whose groups differ most."""
    worst, best = farthest(groups, ratio_of)
    are_equal = worst.ratio.value == best.ratio.value
    of_all = f"every group of {isolate(worst.attribute)}"
    if part.without_people:
        left = "left out of this file: rows='none'"
        if are_equal:
            return f"The rate is the same in {of_all}; it was {left}."
        return (
            f"The rate of {named(worst)} is the lowest, and that of {named(best, alone=True)} the "
            f"highest; the rates were {left}."
        )
    what, sample = quoted(part.favourable), in_sample(part.n, part.n_rows)
    if are_equal:
        return f"{what} is predicted for {percent(worst.rate.value)} of {of_all}{sample}."
    return (
        f"{what} is predicted for {percent(worst.rate.value)} of {named(worst)} and for "
        f"{percent(best.rate.value)} of {named(best, alone=True)}{sample}."
    )


def rate_of(group: GroupRates) -> float:
    """The rate, or the mean prediction."""
    return real(group.rate.value)


def ratio_of(group: GroupRates) -> float:
    """The rate divided by the highest one of the attribute."""
    return real(group.ratio.value)


def farthest(
    groups: Sequence[GroupRates], figure_of: Callable[[GroupRates], float]
) -> tuple[GroupRates, GroupRates]:
    """The two groups of one attribute, the lower one first, that are farthest apart in a figure."""
    ends = []
    for attribute in dict.fromkeys(group.attribute for group in groups):
        same = [group for group in groups if group.attribute == attribute]
        ends.append((min(same, key=figure_of), max(reversed(same), key=figure_of)))
    return max(ends, key=lambda both: figure_of(both[1]) - figure_of(both[0]))


def smallest_of(
    part: SelectionPart, groups: Sequence[GroupRates]
) -> tuple[GroupRates, GroupRates, float]:
    """The group with the smallest impact ratio, the one with the highest rate, and the ratio.

    They are those with a ratio, or fewer: ratios are then to the highest rate among these.
    """
    highest = {group.attribute: group for group in sorted(groups, key=ratio_of)}
    is_whole = len(groups) == len(part.with_ratio)

    def ratio(group: GroupRates) -> float:
        most = 1.0 if is_whole else ratio_of(highest[group.attribute])
        return ratio_of(group) / most if most else math.inf  # nobody is favoured here

    worst = min(groups, key=ratio)
    return worst, highest[worst.attribute], ratio(worst)


def smallest_ratio(
    part: SelectionPart, groups: Sequence[GroupRates], name: Callable[..., str] = named
) -> KnownFigure:
    """The smallest impact ratio of these groups, whichever has it in truth.

    Of fewer groups than those with a ratio no interval is known. `name` writes a group.
    """
    worst, highest, ratio = smallest_of(part, groups)
    best = name(highest, alone=True)
    words = f"impact ratio of {name(worst)} to {best}, the smallest of {len(groups):,} groups"
    if len(groups) < len(part.with_ratio):
        return KnownFigure(words, ratio if ratio < math.inf else math.nan, interval="estimate")
    interval = f"{level(part.confidence)} interval for all groups at once"
    return KnownFigure(words, ratio, real(part.low), real(part.high), interval)


def rest_on(part: SelectionPart) -> str:
    """Of how many predictions the rates are."""
    what = "rates" if part.has_ratios else "means"
    if part.n == part.n_rows:
        return f"{what} are of all {count(part.n)} predictions"
    return f"{what} are of a random sample of {count(part.n)} of {count(part.n_rows)} people"


#: A lower impact ratio is looked at in hiring in the United States (the rule of four fifths).
FOUR_FIFTHS = 0.8


def ratio_is_low(report: Report) -> bool:
    """Whether the smallest impact ratio is below four fifths, or known to be below 1."""
    part = report.first(SelectionPart)
    if not part.with_ratio:
        return False
    lowest = smallest_ratio(part, part.with_ratio)
    return lowest.value < FOUR_FIFTHS or lowest.high < 1


def most_stays(report: Report) -> bool:
    """Whether most of a difference of rates is there whatever sensitive values people have.

    Where nobody's answer changes with them, and where fewer people's do than half of the
    difference: with the same values for all, rates differ by no less than the other half.
    """
    if rates_to_tell(report):
        return True
    rows = together(report).rows
    rates = [
        group for group in report.first(SelectionPart).with_ratio if group.rate.value is not None
    ]
    if not rows.n or rows.changed is None or not rates:
        return False
    low, high = farthest(rates, rate_of)
    return rows.changed / rows.n < (rate_of(high) - rate_of(low)) / 2


def group_of_few_rows(report: Report) -> GroupRates | None:
    """The group of which more rows are needed most; of a sample the table has more."""
    part = report.first(SelectionPart)
    if part.n < part.n_rows:
        return None
    # Groups with fewer rows have wide intervals.
    few = [group for group in part.alone(report) if group.n is not None and group.n < 100]
    return min(few, key=lambda group: group.n or 0, default=None)


def _with_ends(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return number(estimate.value)
    return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)} at 95%)"
