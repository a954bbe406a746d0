"""The groups of each attribute at once: their people, their rates, and who would get what else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

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
    has_rates = bool(rates) and not part.without_people
    has_ratios = bool(rates) and part.has_ratios
    if not (has_rates or has_ratios or counted):
        return []
    kept = most_concerned(report, keys, rates, counted)
    columns = commonest_directions(counted)
    several = len({attribute for attribute, _ in keys}) > 1
    has_counts = has_rates or bool(counted)
    lines = []
    for key in kept:
        attribute, name = key
        group = rates.get(key)
        cells = [group_named(name, attribute) if several else name]
        if has_counts:
            cells.append(count(group.n if group else counted[key][1].n))
        if has_rates:
            cells.append(_rate(group, part.metric) if group else ABSENT)
        if has_ratios:
            cells.append(fixed(group.ratio.value) if group else ABSENT)
        if counted:
            cells += _would_get(counted.get(key), columns)
        lines.append(cells)
    head = ["group", *["people"] * has_counts]
    if has_rates:
        label = part.favourable
        head.append(f"{quoted(label)} predicted" if label else metric_named(part.metric))
    head += ["ratio to the highest"] * has_ratios
    if counted:
        head += [f"would get {name}" for name in columns] or ["would get something else"]
    caption = "Each group, with 95% intervals"
    if part.without_people:
        caption = "Each group; its rate and its number of people were left out of this file"
    if counted:
        which = "only this attribute" if several else "only that"
        caption += f"; who would get something else if {which} were changed"
    if left := len(keys) - len(kept):
        caption += f"; {left} more groups stand further below"
    return [table(caption, head, lines)]


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
    for figure_of in (ratio_of, rate_of):
        known = [group for group in rates.values() if figure_of(group) == figure_of(group)]
        named += farthest(known, figure_of) if known else ()
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


def _would_get(found: tuple[RowsPart, PeopleOfGroup] | None, columns: Sequence[str]) -> list[str]:
    """How many people of a group would get each, or anything else, with their share."""
    if found is None:
        return [ABSENT] * max(1, len(columns))
    rows, people = found
    by_name = {in_direction(one, rows.counts_above): one.n for one in people.directions}
    counts = [by_name.get(name, 0) for name in columns] or [people.changed]
    return [share_of_group(n, people.n) for n in counts]
