"""What is said and shown of moved twins: whose decision changes, and how good the maps are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from msgspec.structs import asdict

from skfairtest import inspection
from skfairtest.finding._words import ABSENT, percent
from skfairtest.report._figures import real
from skfairtest.report._types import Report, listed_reasons
from skfairtest.report.parts.moved.results import (
    ANY,
    Flips,
    MapQuality,
    MovedColumn,
    MovedPart,
    first_maps,
)
from skfairtest.report.parts.twins.results import twins_of
from skfairtest.report.render.blocks import (
    FigureBlock,
    ItemsBlock,
    NoticeBlock,
    Section,
    TableBlock,
    TextBlock,
    count,
    figure,
    fixed,
    table,
    table_of,
    why_not,
    with_interval,
)
from skfairtest.report.render.words import isolate


def reaches(quality: MapQuality) -> bool | None:
    """Whether a map brings people so near to the other group that no classifier tells them.

    None where that was not judged.
    """
    # Above this area under its curve, a classifier tells moved rows from real ones.
    return None if quality.auc_after is None else quality.auc_after <= 0.6


def largest_flow(part: MovedPart) -> Flips | None:
    """The two groups between which most decisions change under a map, whatever the direction."""
    flows = [flow for flow in part.flips if flow.direction == ANY]
    return max(flows, key=lambda flow: flow.share, default=None)


def moved_sentences(report: Report) -> str:
    """Decisions that change with all that goes along with an attribute; empty if nobody asked."""
    parts = report.all_of(MovedPart)
    found = first_maps(report)
    measured = {part.attribute for part in found}
    missing = {part.attribute: part for part in parts[::-1] if part.attribute not in measured}
    if report.rows_of_people == "none" and parts:
        return "Shares of people are left out of this file: rows='none'."
    sentences = list(map(moved_sentence, found)) + [
        f"not measured for {isolate(name)}: {isolate(part.reason)}".rstrip(".")
        for name, part in reversed(missing.items())
    ]
    words = ". ".join(f"{one[:1].upper()}{one[1:]}" for one in sentences)
    return f"{words}.{' Moved twins are no counterfactuals.' * bool(found)}" if sentences else ""


def moved_sentence(part: MovedPart) -> str:
    """How many decisions change with what goes along with an attribute, and where most do."""
    name, rate = isolate(part.attribute), percent(part.rate)
    has_ends = part.low is not None and part.high is not None
    if has_ends:
        rate += f" ({percent(part.low)} to {percent(part.high)})"
    who = "people" if part.n == part.n_rows else f"{part.n:,} of {part.n_rows:,} people"
    words = f"with what goes along with {name}, {rate} of {who} would get another decision"
    flow = largest_flow(part)
    if flow is not None:
        words += (
            f", most of all {percent(flow.share)} of {isolate(flow.group)} moved to "
            f"{isolate(flow.to)}"
        )
    words += f" ({isolate(part.transport)} map)"
    reached = set(map(reaches, part.maps))
    if False in reached:
        words += ", though the map does not reach the other group"
    elif None in reached:
        words += ", though the map could not be judged"
    if not has_ends:
        words += f"; no interval{': no time' * ('time' in part.reason)}"
    elif not any((flow.beyond_low or 0.0) > 0 for flow in part.flips):
        words += "; this is not known to be more than between groups that chance has made"
    return words


def rests_on(report: Report) -> str:
    """What the shares rest on, and which maps are missing."""
    found = first_maps(report)
    clauses = [f"{part.n:,} people were moved in {isolate(part.attribute)}" for part in found]
    missing = [
        f"{isolate(part.attribute)} ({isolate(part.transport)} map)"
        for part in report.all_of(MovedPart)
        if part.status != "done" and part.applies
    ]
    if missing:
        clauses.append(f"not moved by {', '.join(missing)}")
    return "; ".join(clauses)


#: What a map assumes, by its name.
ASSUMES = {
    "quantile": "The quantile map gives each column the value that has the same rank in the other "
    "group, one column at a time. It assumes that ranks say what corresponds; how columns go "
    "together is kept only as far as ranks keep it.",
    "sequential": "The sequential map does so one column after the other, each given those before "
    "it. It assumes an order in which columns follow from each other.",
    "joint": "The joint map moves all columns at once, as little as possible in sum. It assumes "
    "that a short way in the scales of the columns says who corresponds to whom.",
}


def moved_sections(report: Report) -> list[Section]:
    """Twins and moved twins, how good the maps are, and what carries the change."""
    parts = report.all_of(MovedPart)
    if not parts:
        return []
    names = list(dict.fromkeys(part.attribute for part in parts))
    done = [part for part in parts if part.status == "done"]
    alone = isolate(names[0]) if len(names) == 1 else ""
    title = alone or "the sensitive attributes"
    blocks: list[Any] = []
    if done:
        words = (
            f"A twin has another {alone or 'value of a sensitive attribute'} and keeps all other "
            "columns. A moved twin has moved with what goes along with it: its columns are where "
            "people of the other group are who have the same place there. A moved twin is no "
            "counterfactual: it does not say what would have become of a person, because nobody "
            "knows which columns follow from which."
        )
        given = "{} is a map that was given; what it assumes it has to say itself."
        maps = dict.fromkeys(part.transport for part in done)
        items = tuple(ASSUMES.get(name, given.format(isolate(name))) for name in maps)
        blocks += [TextBlock(words), ItemsBlock(items)]
    for name in names:
        blocks += _of_attribute(report, name)
    heading = f"With what goes along with {title}"
    return [Section(100, "moved", heading, tuple(blocks)), *_maps(done)]


def _of_attribute(report: Report, name: str) -> list[Any]:
    parts = [part for part in report.all_of(MovedPart) if part.attribute == name]
    done = [part for part in parts if part.status == "done"]
    blocks: list[Any] = []
    if done:
        first = done[0]
        blocks.append(_shares_table(report, name, done))
        blocks += [TextBlock(words) for words in _not_moved(first)]
        blocks += [NoticeBlock(words) for part in done for words in not_reached(part)]
        blocks += _pictures(first)
        if first.columns:
            blocks.append(_columns_table(first))
    if not done and len({part.reason for part in parts}) == 1:
        return [*blocks, *why_not(parts[0], f"Moved twins, {isolate(name)}")]
    for part in parts:
        blocks += why_not(part, f"Moved twins, {isolate(name)}, {isolate(part.transport)} map")
    return blocks


def _not_moved(part: MovedPart) -> list[str]:
    sentences = []
    if names := list(map(isolate, part.not_moved)):
        few = "; ".join(names[:5])
        more = f"; and {len(names) - 5} more" if len(names) > 5 else ""
        sentences.append(f"Groups with few rows were not moved: {few}{more}.")
    if missing := part.without_value:
        sentences.append(
            f"{count(missing)} of {count(part.n_rows)} people were not moved, as their value of "
            f"{isolate(part.attribute)} is missing."
        )
    if part.counts_above is not None:
        sentences.append(
            "A decision counts as changed if the output differs by more than "
            f"{figure(part.counts_above)}."
        )
    return sentences


# Shares ----------------------------------------------------------------------------------------


def _shares_table(report: Report, name: str, done: list[MovedPart]) -> TableBlock:
    """A row for the twins of today, then one for each map, group and direction."""
    rows = [[f"only {isolate(name)} (twins)", "all", *_today(report, name), ABSENT]]
    for part in done:
        rate = with_interval(part.rate, part.low, part.high, percent)
        of_map = f"{isolate(part.transport)} map"
        rows.append([of_map, "all", count(part.n), rate, ABSENT])
        rows += [
            [
                f"{of_map}, {isolate(flow.group)} → {isolate(flow.to)}",
                direction(flow),
                count(flow.n_rows),
                with_interval(flow.share, flow.low, flow.high, percent),
                percent(flow.null_share),
            ]
            for flow in part.flips
            if flow.direction != ANY
        ]
    caption = (
        f"People whose decision changes with {isolate(name)} alone, and with what goes along with "
        "it; 95% intervals; 'random groups' is the share under maps between random groups"
    )
    head = ["moved", "change", "people", "share", "random groups"]
    return table(caption, head, rows, shown=20, most=300, words=[1])


def direction(flow: Flips) -> str:
    """From what to what a decision changes."""
    return isolate(flow.direction.replace(" -> ", " → "))


def _today(report: Report, name: str) -> list[str]:
    """How many people were compared with twins in this attribute alone, and the share changed."""
    for twins in twins_of(report):
        rows = twins.rows
        if twins.known.sensitive != [name]:
            continue
        if not twins.known.taken:
            return [count(report.data.n_rows), percent(0.0)]
        if rows.n and rows.changed is not None:
            return [count(rows.n), percent(rows.changed / rows.n)]
    return [ABSENT, ABSENT]


def _pictures(part: MovedPart) -> list[FigureBlock]:
    """Of one map of one attribute: whose decision changes, and how far columns move."""
    name = f"{isolate(part.attribute)}, {isolate(part.transport)} map"
    flips = [flow for flow in part.flips if flow.direction != ANY][:12]
    columns = shown_columns(part)
    of_flips = "; ".join(
        f"{isolate(flow.group)} to {isolate(flow.to)}, {direction(flow)}: {percent(flow.share)}"
        for flow in flips
    )
    of_columns = "; ".join(f"{isolate(one.column)}: {_way(one)}" for one in columns)
    pictures = []
    if flips:
        caption = f"Share of each group whose decision changes ({name})"
        shown, height = partial(display, flips, part.columns), 1.7 + 0.45 * len(flips)
        pictures.append(FigureBlock(shown, caption, of_flips, height))
    if columns:
        caption = f"How far columns move for those whose decision changes ({name})"
        shown, height = partial(display, part.flips, columns), 1.7 + 0.3 * len(columns)
        pictures.append(FigureBlock(shown, caption, of_columns, height, {"kind": "columns"}))
    return pictures


def display(flips: list[Flips], columns: list[MovedColumn]) -> Any:
    """A display of flips and columns."""
    shares, moves = pd.DataFrame(map(asdict, flips)), pd.DataFrame(map(asdict, columns))
    return inspection.FlipTestDisplay(shares, moves, confidence=0.95)  # of a report's intervals


def display_moved(report: Report) -> Any:
    """Of the attribute with the largest share, the first map that was done."""
    parts = first_maps(report)
    if not parts:
        why = listed_reasons(report.all_of(MovedPart)) or "moved=False"
        raise ValueError(f"The report has no moved twins to show: {why}")
    part = max(parts, key=lambda one: real(one.rate))
    return display(part.flips, part.columns)


def shown_columns(part: MovedPart) -> list[MovedColumn]:
    """The columns of the two groups between which most decisions change, farthest first."""
    flow = largest_flow(part)
    if flow is None:
        return []
    return [one for one in part.columns if (one.group, one.to) == (flow.group, flow.to)][:8]


def _columns_table(part: MovedPart) -> TableBlock:
    several = len({(c.group, c.to) for c in part.columns}) > 1
    columns: dict[str, Callable[[MovedColumn], str]] = {
        "column": lambda one: (
            (f"{isolate(one.group)} → {isolate(one.to)}: " if several else "") + isolate(one.column)
        ),
        "of changed decisions": lambda one: percent(one.share_of_flips),
        "of the output": lambda one: with_interval(one.change, one.low, one.high, fixed),
        "where decisions change": _way,
    }
    caption = f"Columns that carry the change ({isolate(part.transport)} map)"
    return table_of(caption, part.columns, columns, shown=8, most=200)


def _way(column: MovedColumn) -> str:
    """How a column moves where decisions change: its mean, or how many get another value."""
    if column.before is not None and column.after is not None:
        return f"{figure(column.before)} → {figure(column.after)}"
    if column.moved is None:
        return ABSENT
    return f"{percent(column.moved)} get another value"


# How good a map is -----------------------------------------------------------------------------


def not_reached(part: MovedPart) -> list[str]:
    """A sentence for each two groups of which a map does not reach the other one, or may not."""
    name = isolate(part.transport)
    unknown = [
        f"How near the {name} map brings people of {isolate(one.group)} to those of "
        f"{isolate(one.to)} could not be judged: there are too few of them."
        for one in part.maps
        if reaches(one) is None
    ]
    return unknown + [
        f"The {name} map does not reach the other group: a classifier still tells people of "
        f"{isolate(one.group)} who were moved to {isolate(one.to)} from those who are there "
        f"(AUC {fixed(one.auc_after)} on rows held out; 0.5 would be not at all). The shares "
        "above are those of people who are not like any in that group."
        for one in part.maps
        if reaches(one) is False
    ]


def _maps(done: list[MovedPart]) -> list[Section]:
    columns: dict[str, Callable[[tuple[MovedPart, MapQuality]], str]] = {
        "map": lambda one: f"{isolate(one[0].attribute)}, {isolate(one[0].transport)}",
        "moved": lambda one: f"{isolate(one[1].group)} → {isolate(one[1].to)}",
        "AUC before": lambda one: fixed(one[1].auc_before),
        "AUC after": lambda one: fixed(one[1].auc_after),
        "distance": lambda one: figure(one[1].distance),
        "out of range": lambda one: percent(one[1].out_of_range),
    }
    maps = [(part, one) for part in done for one in part.maps]
    if not maps:
        return []
    words = (
        "A classifier tries to tell people of one group from those of the other, before they are "
        "moved and after, on rows held out. An AUC of 0.5 says that it cannot; after a good map it "
        "is near 0.5, or below it where rows of the other group are copied."
    )
    shown = table_of("How well the maps reach the other group", maps, columns, words=[1])
    return [Section(130, "maps", "How good the maps are", (TextBlock(words), shown))]
