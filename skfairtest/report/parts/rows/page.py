"""What the page shows of people: one of them, how many others there are, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
from msgspec.structs import asdict

from skfairtest import inspection
from skfairtest.finding._words import ABSENT, listed, number, percent
from skfairtest.report._types import Report
from skfairtest.report.parts.rows.results import (
    PeopleOfGroup,
    Person,
    RowsPart,
    rows_of,
    rows_together,
    takes_sensitive,
)
from skfairtest.report.parts.rows.words import (
    compared_with,
    for_others,
    in_direction,
    output_name,
    share_text,
)
from skfairtest.report.render.blocks import (
    FigureBlock,
    Section,
    TableBlock,
    TextBlock,
    TwinsBlock,
    alike,
    count,
    figure,
    table_of,
    why_not,
)
from skfairtest.report.render.pairs import cut, pairs_table
from skfairtest.report.render.words import isolate


def sections(report: Report) -> Iterable[Section]:
    """The people, and in the appendix their groups."""
    yield Section(10, "people", "The people in the table", tuple(_people(report)))
    yield Section(110, "by-group", "People by group", tuple(_groups_of_people(report)))


def _people(report: Report) -> list[Any]:
    if not takes_sensitive(report):
        words = "The model does not take the sensitive columns: nobody's answer changes with them"
        return [TextBlock(f"{words} alone.")]
    if report.rows_of_people == "none":
        words = "Rows of people and their counts were left out of this file: rows='none'."
        return [TextBlock(words)]
    blocks: list[Any] = []
    done = [rows for rows in rows_of(report) if rows.n]
    if done and done[-1].person is not None:
        blocks += _the_person(done[-1].person)
    if done:
        if any(len(rows.curve.difference) > 1 for rows in done):
            blocks.append(_curve_figure(done, report))
        blocks += _shares(done)
        remarks = map(compared_with, done)
        blocks += [TextBlock(f"People were compared {words}.") for words in remarks if words]
        blocks += _worst_people(done[-1], 5)  # the appendix has all that the report knows
        if not blocks:
            words = "No output changes at all for any of the people who were compared."
            blocks.append(TextBlock(words))
    if report.rows_of_people == "counts":
        blocks.append(TextBlock("Rows of people were left out of this file: rows='counts'.", True))
    for rows in rows_of(report) or [rows_together(report)]:
        blocks += why_not(rows, f"People, {isolate(rows.of)}")
    return blocks


def _the_person(person: Person) -> list[Any]:
    pair, left = cut(person.pair)
    names = listed([isolate(cell.name) for cell in person.pair.cells if cell.changed])
    flips = pair.labels is not None and pair.labels[0] != pair.labels[1]
    of = "Of the people who would get another decision" if flips else "Of all people"
    words = (
        f"{of}, row {isolate(person.row)} of the table has the largest difference. Beside it "
        f"stands the same row with another {names}; all else is equal."
    )
    caption = "A real row of the table and its twin; the marked columns differ"
    return [TextBlock(words), TwinsBlock(pair, "this person", "the twin", caption), *left]


def _worst_people(rows: RowsPart, most: int | None = None) -> list[TableBlock]:
    """The rows with the largest differences, and what of both twins each person has.

    Of people who are alike in all that the table shows the first one stands for the others.
    """
    if not rows.worst:
        return []
    named = [
        (one.row + ("" if one.inside else " (outside of the ranges)"), one.pair)
        for one in rows.worst
    ]
    caption = "The people with the largest differences; (own) marks what the person has"
    block = pairs_table(caption, "row", named, [one.own for one in rows.worst])
    distinct = {cells[1:]: cells for cells in block.rows[::-1]}
    kept = tuple(cells for cells in block.rows if distinct[cells[1:]] == cells)
    of_those = "; of rows that are alike in these columns one is listed"
    caption = block.caption + of_those * (len(kept) < len(block.rows))
    return [replace(block, caption=caption, rows=kept[:most])]


def _shares(done: Sequence[RowsPart]) -> list[TableBlock]:
    """Of a regressor without a threshold: shares above parts of the spread of its predictions."""
    parts = [(rows, above) for rows in done for above in rows.above]
    if not parts:
        return []
    differences = alike([above.difference for _, above in parts])
    caption = (
        "People whose prediction would change by more than a share of the spread "
        f"({figure(done[-1].spread)}, from the 5th to the 95th percentile of the predictions) if "
        "only the sensitive columns were changed"
    )
    columns = {
        "sensitive": lambda one: one[0].of,
        "more than": lambda one: f"{one[1].share_of_spread:.0%} of the spread",
        "difference": lambda one: one[2],
        "share": lambda one: share_text(one[1]),
        "people": lambda one: f"{count(one[1].n)} of {count(one[0].n)}",
    }
    items = [(*both, words) for both, words in zip(parts, differences, strict=True)]
    return [table_of(caption, items, columns)]


# By group, for the appendix --------------------------------------------------------------------


def _groups_of_people(report: Report) -> list[Any]:
    blocks: list[Any] = []
    for rows in rows_of(report):
        above = rows.counts_above
        columns: dict[str, Callable[[PeopleOfGroup], str]] = {
            "group": lambda group: group.group,
            "people": lambda group: count(group.n),
            "would change": lambda group: count(group.changed),
            "share": lambda group: percent(group.changed / group.n),
            "they would get": partial(_directions, above),
        }
        caption = f"People by group, if only {isolate(rows.of)} were changed{for_others(rows)}"
        if rows.by_group:
            blocks.append(table_of(caption, rows.by_group, columns, words=[4]))
    done = [rows for rows in rows_of(report) if rows.n]
    blocks += _by_attribute(done, report.threshold)
    if done and len(done[-1].worst) > 5:
        blocks += _worst_people(done[-1])
    if report.rows_of_people == "none":
        blocks.append(TextBlock("Counts of people were left out of this file: rows='none'.", True))
    return blocks or [TextBlock("No people were compared with twins.")]


def _by_attribute(done: Sequence[RowsPart], threshold: float | None) -> list[TableBlock]:
    """Shares of the rows of each attribute, where there is a threshold or labels."""
    rated = [(rows, rows.rate) for rows in done if rows.rate is not None]
    degrees = iter(alike([rows.degree for rows, _ in rated]))
    treated = "who would get another decision"
    if threshold is not None:
        treated = f"whose twins differ by more than {number(threshold)}"
    columns = {
        "sensitive": lambda one: one[0].of,
        "share": lambda one: share_text(one[0]),
        "people": lambda one: count(one[1] * one[0].n),
        "compared": lambda one: f"{count(one[0].n)} of {count(one[0].n_rows)}",
        "largest difference": lambda one: next(degrees),
    }
    return [table_of(f"People {treated}", rated, columns)] if rated else []


def _directions(above: float | None, group: PeopleOfGroup) -> str:
    words = [f"{count(one.n)} {in_direction(one, above)}" for one in group.directions[:3]]
    return "; ".join(words) or ABSENT


# The picture -----------------------------------------------------------------------------------


def curve(report: Report) -> inspection.DisparityCurveDisplay:
    """The display of the share of rows whose difference exceeds each value."""
    known = [rows for rows in rows_of(report) if rows.curve.difference]
    if not known and report.rows_of_people == "none":
        raise ValueError("The curve was left out of this report, as rows='none' keeps no counts.")
    if not known:
        raise ValueError(f"The report has no twins to show. {report.sentence}")
    return _curve(known, report)


def _curve(parts: Sequence[RowsPart], report: Report) -> inspection.DisparityCurveDisplay:
    curves = [pd.DataFrame({"name": rows.of, **asdict(rows.curve)}) for rows in parts]
    return inspection.DisparityCurveDisplay(
        pd.concat(curves, ignore_index=True), report.threshold, output_name(report)
    )


def _curve_figure(done: Sequence[RowsPart], report: Report) -> FigureBlock:
    alt = "; ".join(
        f"{rows.of}: largest difference of a row {figure(rows.degree)}"
        + (f", {percent(rows.rate)} of rows treated differently" * (rows.rate is not None))
        for rows in done[:10]
    )
    caption = "Share of the rows whose difference exceeds each value"
    # As many lines as one picture shows.
    return FigureBlock(partial(_curve, done[-6:], report), caption, alt)
