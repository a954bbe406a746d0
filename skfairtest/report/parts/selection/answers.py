"""The groups of each attribute at once: their people, their rates, and who would get what else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from skfairtest.finding._words import ABSENT
from skfairtest.report._types import Report
from skfairtest.report.parts.rows.results import PeopleOfGroup, RowsPart
from skfairtest.report.parts.rows.words import in_direction, of_one_attribute, share_of_group
from skfairtest.report.parts.selection.results import GroupRates, SelectionPart
from skfairtest.report.parts.selection.words import (
    farthest,
    group_of_few_rows,
    rate_of,
    ratio_of,
)
from skfairtest.report.render.blocks import (
    TableBlock,
    count,
    fixed,
    of_metric,
    table,
    with_interval,
)
from skfairtest.report.render.words import group_named, metric_named, quoted

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
    lines = [[words(key) for words in columns.values()] for key in kept]
    return [table(caption, list(columns), lines)]


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
    return share_of_group(people.changed if name is None else of_name, people.n)
