"""What is said of groups within strata: like compared with like, and where differences come from.

Whoever runs an audit chooses the strata, and all that is said of them says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from skfairtest.finding._words import listed, number
from skfairtest.report._figures import (
    KnownFigure,
    at_least,
    checked,
    first_of,
    in_its_interval,
    real,
    unchecked,
)
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts.selection.results import (
    Estimate,
    GroupRates,
    RatesInStratum,
    SelectionPart,
    WithinStrata,
)
from skfairtest.report.parts.selection.words import farthest, named, rate_of, ratio_of
from skfairtest.report.render.blocks import (
    TextBlock,
    count,
    figure,
    fixed,
    level,
    of_metric,
    table_of,
    with_interval,
)
from skfairtest.report.render.words import group_named, isolate, metric_named, quoted

#: A p-value of homogeneity below which one figure does not sum the strata up.
UNLIKE = 0.05


def chosen_by(part: SelectionPart) -> str:
    """Who chose the strata, and what that may hide."""
    return (
        f"The strata were chosen by the user: {isolate(part.control_features)}. Where what makes "
        "them stands in for a group (a proxy), comparing within them hides discrimination."
    )


def like_with_like(report: Report) -> str:
    """The group that gets least, on the whole and within strata, and where the gap comes from."""
    part = report.first(SelectionPart)
    figure_of = ratio_of if part.has_ratios else rate_of
    known = [group for group in part.alone(report) if not math.isnan(figure_of(group))]
    lowest = farthest(known, figure_of)[0] if known else GroupRates(attribute="", group="")
    within = lowest.within
    if not part.control_features or within is None:
        return ""
    pooled = within.ratio if part.has_ratios else within.difference
    if not within.n_strata or pooled.value is None:
        said = (
            f"No ratio of {named(lowest)} to {isolate(within.reference)} within "
            f"{isolate(part.control_features)}: no stratum has rows of both to compare."
        )
        return f"{said} {chosen_by(part)}"
    sentences = [
        _overall_and_within(part, lowest, within, pooled), _drivers(part, lowest, within),
        _unlike(part, within), _rest_on(part, within), _smallest(part, lowest, within),
        chosen_by(part),
    ]  # fmt: skip
    return " ".join(filter(None, sentences))


def _overall_and_within(
    part: SelectionPart, group: GroupRates, within: WithinStrata, pooled: Estimate
) -> str:
    to, strata = isolate(within.reference), isolate(part.control_features)
    if part.has_ratios:
        overall, words = fixed(group.ratio.value), fixed
        what = f"Impact ratio of {named(group)} to {to}"
    else:
        gap = real(within.from_rates) + real(within.from_composition)
        overall, words = number(gap), figure
        what = f"Mean of {named(group)} less that of {to}"
    inside = words(pooled.value)
    if pooled.low is not None:
        high = "any value" if pooled.high is None else words(pooled.high)
        inside += f" ({words(pooled.low)} to {high} at {level(part.confidence)})"
    return f"{what}: overall {overall}, within {strata} {inside}."


def _written(part: SelectionPart, value: Any) -> str:
    """How a difference is written: one of shares in points."""
    return f"{100 * real(value):+.1f}" if part.has_ratios else f"{real(value):+.3g}"


def _drivers(part: SelectionPart, group: GroupRates, within: WithinStrata) -> str:
    """What rates and composition make of the difference, and the strata that make most of it.

    Nobody asks where a difference comes from that may be chance.
    """
    gap = real(within.from_rates) + real(within.from_composition)
    whole, rates, rest = (
        _written(part, one) for one in (gap, within.from_rates, within.from_composition)
    )
    said = (
        f"Of the difference of {whole}{' points' * part.has_ratios}, {rates} come from the rates "
        f"within strata and {rest} from which strata people are in"
    )
    most = [one for one in within.strata if _made(one) * gap > 0.1 * gap**2]
    if most and not real(group.ratio.high) >= 1:
        told = [f"{quoted(one.stratum)} ({_written(part, _made(one))})" for one in most[:3]]
        said += f"; the largest parts come from {listed(told)}"
    return f"{said}."


def _made(one: RatesInStratum) -> float:
    return real(one.from_rates) + real(one.from_composition)


def _unlike(part: SelectionPart, within: WithinStrata) -> str:
    if within.homogeneity is None or within.homogeneity >= UNLIKE:
        return ""
    what = "ratio" if part.has_ratios else "difference"
    return (
        f"The {what} is not the same in all strata ({_p_value(within.homogeneity)}): read "
        "them one by one."
    )


def _p_value(p: float | None) -> str:
    least = 0.001
    return f"p < {least}" if p is not None and p < least else f"p = {figure(p, 2)}"


def _rest_on(part: SelectionPart, within: WithinStrata) -> str:
    """On how many strata a pooled figure rests, where it is not all of them."""
    if within.n_strata == part.n_strata:
        return ""
    rows = "" if within.n is None else f", with {count(within.n)} of their rows"
    return (
        f"That rests on the {count(within.n_strata)} of {count(part.n_strata)} strata that have "
        f"rows of both{rows}."
    )


def _smallest(part: SelectionPart, lowest: GroupRates, within: WithinStrata) -> str:
    """The smallest ratio within strata, if it is one of two other groups."""
    known = smallest_known(part)
    small = part.smallest_within
    told = lowest.attribute, lowest.group, within.reference
    if small is None or (small.attribute, small.group, small.to) == told:
        return ""
    ends = f"{fixed(known.low)} to {fixed(known.high)}, {known.interval}"
    return f"The smallest ratio within strata is {fixed(known.value)} ({ends}), {_pair(part)}."


def _pair(part: SelectionPart) -> str:
    small = part.smallest_within
    assert small is not None, "who calls this has one"
    to = group_named(small.to, small.attribute, alone=True)
    return f"of {group_named(small.group, small.attribute)} to {to}"


def smallest_known(part: SelectionPart) -> KnownFigure:
    """The smallest pooled ratio of a group to another one within strata, with its interval."""
    small, strata = part.smallest_within, isolate(part.control_features)
    if small is None:
        return KnownFigure(f"smallest impact ratio within {strata or 'strata'}")
    words = f"impact ratio {_pair(part)} within {strata}, the smallest of any two groups"
    interval = f"{level(part.confidence)} interval for all groups at once"
    return KnownFigure(words, real(small.value), real(small.low), real(small.high), interval)


def check_within(report: Report, limit: float, estimates_decide: bool) -> LimitCheck:
    """Check that no group's pooled ratio to another one is below the limit."""
    name, part = "min_impact_ratio", report.first(SelectionPart)
    known = smallest_known(part)
    if not part.control_features or part.smallest_within is None:
        why = "the audit had no control_features="
        if part.control_features:
            strata = isolate(part.control_features)
            why = f"no stratum of {strata} has rows of two groups to compare"
        return unchecked(name, limit, known, part.reason or why, failed=part.status == "failed")
    status = at_least(known, limit, estimates_decide)
    side = "below" if known.value < limit else "not below"
    small, notes = part.smallest_within, []
    two = [
        group
        for group in part.groups
        if group.attribute == small.attribute and group.group in (small.group, small.to)
    ]
    if estimates_decide and status == "exceeded" and any(group.note for group in two):
        status, notes = "undecided", ["one of both groups has few rows"]
    lacking = [
        group_named(group.group, group.attribute)
        for group in part.with_ratio
        if group.within is not None and group.within.ratio.value is None
    ]
    if lacking:  # who was compared on the whole, and is not known of within strata
        notes.append(f"not compared within strata: {first_of(lacking)}")
        status = "undecided" if status == "within" else status
    notes.append(f"strata chosen by the user: {isolate(part.control_features)}")
    words = "; ".join([in_its_interval(known, limit, status, side), *notes])
    return checked(name, limit, status, known, words, lacking)


# On the page -------------------------------------------------------------------------------------


def within_blocks(part: SelectionPart) -> Iterable[Any]:
    """Each group on the whole and within strata."""
    groups = [(group, group.within) for group in part.groups if group.within is not None]
    if not groups:
        return
    strata = isolate(part.control_features)
    what = "rate" if part.has_ratios else "mean"
    yield TextBlock(
        f"Within {strata} ({count(part.n_strata)} strata) each group is compared with a reference, "
        f"the group with the highest {what} on the whole, among people of one stratum; figures are "
        f"pooled over the strata. {chosen_by(part)}"
    )
    columns: dict[str, Callable[[GroupWithin], str]] = {"group": lambda one: named(one[0])}
    if part.has_ratios:
        columns["ratio overall"] = lambda one: fixed(one[0].ratio.value)
        columns["ratio within strata"] = lambda one: _estimate(one[1].ratio, fixed)
    else:
        columns["difference within strata"] = partial(_difference, part)
    unit = ", points" * part.has_ratios
    columns[f"made by rates{unit}"] = lambda one: _written(part, one[1].from_rates)
    columns[f"by composition{unit}"] = lambda one: _written(part, one[1].from_composition)
    yield table_of(f"Groups on the whole and within {strata}, with intervals", groups, columns)


GroupWithin = tuple[GroupRates, WithinStrata]
#: Groups whose strata have a table, those that differ most.
MOST_TABLES = 20


def _difference(part: SelectionPart, one: GroupWithin) -> str:
    return _estimate(one[1].difference, partial(_written, part))


def strata_tables(report: Report) -> Iterable[Any]:
    """What pooled figures rest on, and the strata that make most of each difference."""
    part = report.first(SelectionPart)
    groups = [(group, group.within) for group in part.groups if group.within is not None]
    if not groups:
        return
    unit = ", points" * part.has_ratios
    pooled: dict[str, Callable[[GroupWithin], str]] = {
        "group": lambda one: named(one[0]),
        "reference": lambda one: one[1].reference,
        f"difference within strata{unit}": partial(_difference, part),
        "same in all strata": lambda one: _p_value(one[1].homogeneity),
        "strata with both": lambda one: count(one[1].n_strata),
        "their rows": lambda one: count(one[1].n),
    }
    yield table_of(f"Within {isolate(part.control_features)}", groups, pooled, words=[1])
    rate = of_metric(part.metric)
    columns: dict[str, Callable[[RatesInStratum], str]] = {
        "stratum": lambda one: one.stratum,
        "people": lambda one: count(one.n),
        metric_named(part.metric): lambda one: _estimate(one.rate, rate),
    }
    if part.has_ratios:
        columns["ratio"] = lambda one: _estimate(one.ratio, fixed)
    columns[f"made by rates{unit}"] = lambda one: _written(part, one.from_rates)
    columns[f"by composition{unit}"] = lambda one: _written(part, one.from_composition)
    alone = part.alone(report)
    told = [one for one in groups if one[1].strata and one[0] in alone]
    told.sort(key=lambda one: -abs((one[1].from_rates or 0) + (one[1].from_composition or 0)))
    for group, within in told[:MOST_TABLES]:
        to = isolate(within.reference)
        caption = f"{named(group)} and {to}: strata that make most of the difference"
        yield table_of(caption, within.strata, columns, shown=8)
    if len(told) > MOST_TABLES:
        left = count(len(told) - MOST_TABLES)
        yield TextBlock(f"Strata of {left} more groups, which differ less, are in the JSON.", True)


def _estimate(estimate: Estimate, words: Callable[[Any], str]) -> str:
    return with_interval(estimate.value, estimate.low, estimate.high, words)
