"""The rates of groups on the page: a picture, and tables with their intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from skfairtest import inspection
from skfairtest.finding._words import ABSENT, percent
from skfairtest.report._types import Report
from skfairtest.report.parts.rows.results import PeopleOfGroup, RowsPart
from skfairtest.report.parts.rows.words import in_direction, of_one_attribute
from skfairtest.report.parts.selection.results import Estimate, GroupRates, SelectionPart
from skfairtest.report.parts.selection.words import (
    farthest,
    group_of_few_rows,
    named,
    rate_of,
    ratio_of,
)
from skfairtest.report.render.blocks import (
    FigureBlock,
    TableBlock,
    TextBlock,
    count,
    fixed,
    level,
    of_metric,
    table_of,
    why_not,
    with_interval,
)
from skfairtest.report.render.words import group_named, isolate, metric_named, quoted


def selection_display(report: Report) -> inspection.SelectionDisplay:
    """The rates of groups, drawn; their ratios where rates were left out."""
    part = report.first(SelectionPart)
    if not part.groups or (part.without_people and not part.has_ratios):
        why = part.reason or "rates were left out (rows='none')"
        raise ValueError(f"The report has no selection table to show: {why}")
    return _display(part, part.groups)


def _display(part: SelectionPart, groups: Sequence[GroupRates]) -> inspection.SelectionDisplay:
    drawn = part.frame(groups)
    if part.without_people:
        drawn = drawn.drop(columns=[f"{part.metric}{end}" for end in ("", "_low", "_high")])
    drawn.attrs["confidence"] = part.confidence
    return inspection.SelectionDisplay(drawn)


def rates_blocks(part: SelectionPart) -> Iterable[Any]:
    """What the rates are, and a picture of them."""
    yield from why_not(part, "Rates by group")
    groups = largest_groups(part)
    if not groups:
        return
    yield TextBlock(what_it_is(part))
    known = [group for group in groups if group.rate.value is not None]
    if not known:
        return
    words = of_metric(part.metric)
    alt = "; ".join(f"{isolate(group.group)}: {_told(group.rate, words)}" for group in groups[:10])
    # A picture shows fifteen of these groups.
    drawn = [group for group in groups[:15] if group in known]
    caption = f"{metric_named(part.metric).capitalize()} by group"
    if len(drawn) < len(groups):
        caption += f", the first {len(drawn)} of the table"
    height = 1.2 + 0.3 * len(drawn)
    yield FigureBlock(partial(_display, part, drawn), caption, alt, height)


def largest_groups(part: SelectionPart) -> list[GroupRates]:
    """The groups of the page: the JSON has all."""
    most = 200
    if len(part.groups) <= most:
        return part.groups
    # By size and not by rate: the extremes of many small groups are chance.
    places = range(len(part.groups))
    largest = sorted(places, key=lambda place: -(part.groups[place].n or 0))
    return [part.groups[place] for place in sorted(largest[:most])]


def what_it_is(part: SelectionPart) -> str:
    """What the rates are."""
    at = f" Intervals are at {level(part.confidence)}." if part.confidence else ""
    if part.without_people:
        at += " Rates and numbers of people were left out of this file: rows='none'."
    if not part.has_ratios:
        return f"Each group of the sensitive attributes and of their intersections.{at}"
    small = ""
    if part.min_share:
        small = f"; groups of less than {percent(part.min_share)} of the rows have none"
    favourable = f" of {isolate(part.favourable)}" if part.favourable else ""
    return (
        f"The rate is the share of predictions{favourable} in a group; the impact ratio is this "
        f"rate divided by the highest rate of the same attribute{small}.{at}"
    )


def rates_tables(part: SelectionPart) -> Iterable[Any]:
    """All figures of the groups, in tables that are no wider than a page."""
    groups = largest_groups(part)
    if not groups:
        yield TextBlock("No rates of groups were compared.")
        return
    columns: dict[str, Callable[[GroupRates], str]] = {}
    if not part.without_people:
        rate = of_metric(part.metric)
        columns["people"] = lambda group: count(group.n)
        columns["share"] = lambda group: percent(group.share)
        columns[metric_named(part.metric)] = lambda group: _told(group.rate, rate)
    if part.has_ratios:
        columns["impact ratio"] = lambda group: _told(group.ratio, fixed)
    if columns:
        yield TextBlock(
            "The figures of a group of few rows are mostly chance, which its wide intervals tell: "
            "compare intervals, not figures, where groups are small."
        )
    # A column of notes that are all empty says nothing.
    if any(group.note for group in groups):
        columns["note"] = lambda group: group.note
    yield from _table(part, "Rates by group, with intervals", groups, columns)
    errors = {metric_named(name): partial(_error, name) for name in groups[0].errors}
    yield from _table(part, "Errors by group, with intervals", groups, errors)


def _error(name: str, group: GroupRates) -> str:
    return _told(group.errors[name], of_metric(name))


def _table(
    part: SelectionPart,
    caption: str,
    groups: Sequence[GroupRates],
    columns: Mapping[str, Callable[[GroupRates], str]],
) -> Iterable[TableBlock]:
    if not columns:
        return
    several = len({group.attribute for group in groups}) > 1
    if len(groups) < len(part.groups):
        caption += f"; the {len(groups)} groups with the most rows, of {count(len(part.groups))}"
    columns = {"group": lambda one: named(one) if several else one.group, **columns}
    words = [list(columns).index("note")] if "note" in columns else []
    yield table_of(caption, groups, columns, words=words)


def _told(estimate: Estimate, words: Callable[[Any], str]) -> str:
    text = with_interval(estimate.value, estimate.low, estimate.high, words)
    return text if estimate.n is None else f"{text} of {count(estimate.n)}"


Key = tuple[str, str]  # an attribute and its group
Counted = Mapping[Key, tuple[RowsPart, PeopleOfGroup]]


def groups_at_once(report: Report) -> list[TableBlock]:
    """The table of the first page; none where a file has no figures of groups."""
    part = report.first(SelectionPart)
    rates = {(group.attribute, group.group): group for group in part.alone(report)}
    counted = {
        (rows.of, people.group): (rows, people)
        for rows in of_one_attribute(report)
        for people in rows.by_group
    }
    keys = list(dict.fromkeys([*rates, *counted]))
    several = len({attribute for attribute, _ in keys}) > 1
    columns: dict[str, Callable[[Key], str]] = {
        "group": lambda key: group_named(key[1], key[0]) if several else key[1]
    }
    has_rates = bool(rates) and not part.without_people
    if has_rates or counted:
        columns["people"] = lambda key: count(rates[key].n if key in rates else counted[key][1].n)
    if has_rates:
        label = part.favourable
        head = f"{quoted(label)} predicted" if label else metric_named(part.metric)
        columns[head] = lambda key: _rate(rates[key], part.metric) if key in rates else ABSENT
    if rates and part.has_ratios:
        columns["ratio to the highest"] = lambda key: (
            fixed(rates[key].ratio.value) if key in rates else ABSENT
        )
    directions = commonest_directions(counted)
    for name in directions:
        columns[f"would get {name}"] = partial(_would_get, counted, name)
    if counted and not directions:
        columns["would get something else"] = partial(_would_get, counted, None)
    if len(columns) == 1:
        return []
    kept = most_concerned(report, keys, rates, counted)
    caption = f"Each group{', with 95% intervals' * has_rates}"
    if part.without_people:
        caption = "Each group; its rate and its number of people were left out of this file"
    if counted:
        which = "only this attribute" if several else "only that"
        caption += f"; who would get something else if {which} were changed"
    if left := len(keys) - len(kept):
        caption += f"; {left} more groups stand further below"
    return [table_of(caption, kept, columns)]


def commonest_directions(counted: Counted) -> list[str]:
    """What people would get if the attribute were changed, the commonest first.

    Of many labels there are many directions: there are none then, and the table counts people.
    """
    directions = Counter[str]()
    for rows, people in counted.values():
        for one in people.directions:
            directions[in_direction(one, rows.counts_above)] += one.n
    return [name for name, _ in directions.most_common()] if len(directions) <= 2 else []


def most_concerned(
    report: Report, keys: Sequence[Key], rates: Mapping[Key, GroupRates], counted: Counted
) -> list[Key]:
    """The groups with most people who would get something else, then the largest ones, in order.

    Those that the sentences of the page name come before all others.
    """
    most = 8  # more groups than that nobody reads on a first page
    if len(keys) <= most:
        return list(keys)
    few = group_of_few_rows(report)
    named = [] if few is None else [few]
    figure_of = ratio_of if report.first(SelectionPart).has_ratios else rate_of
    if known := [group for group in rates.values() if not math.isnan(figure_of(group))]:
        named += farthest(known, figure_of)
    names = {(group.attribute, group.group) for group in named}

    def weight(key: Key) -> tuple[bool, int, int]:
        changed = counted[key][1].changed if key in counted else 0
        n = rates[key].n if key in rates else counted[key][1].n
        return key not in names, -changed, -(n or 0)

    attributes = report.sensitive_features
    order = {name: place for place, name in enumerate(attributes)}
    kept = sorted(keys, key=weight)[:most]
    return sorted(kept, key=lambda key: (order.get(key[0], len(order)), keys.index(key)))


def _rate(group: GroupRates, metric: str) -> str:
    rate = group.rate
    return with_interval(rate.value, rate.low, rate.high, of_metric(metric))


def _would_get(counted: Counted, name: str | None, key: Key) -> str:
    """How many people of a group would get this, or anything else, with their share."""
    if key not in counted:
        return ABSENT
    rows, people = counted[key]
    above = rows.counts_above
    of_name = sum(one.n for one in people.directions if in_direction(one, above) == name)
    n = people.changed if name is None else of_name
    return f"{count(n)} of {count(people.n)} ({percent(n / people.n)})" if people.n else count(n)
