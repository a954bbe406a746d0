"""The report as sections of a skops model card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skfairtest.report._types import Report
from skfairtest.report.render.blocks import FoldBlock, TableBlock
from skfairtest.report.render.markdown import MOST_ROWS, blocks_in_markdown, in_markdown
from skfairtest.report.render.sections import sections_of


def add_to_card(report: Report, card: Any, section: str) -> Any:
    """Add the report to a model card, one subsection for each of its own.

    Parameters
    ----------
    report : Report
        As the card is to have it.
    card : skops.card.Card
        The card; it is changed. What stands in these sections is overwritten.
    section : str
        Title of the section of the report; "A/B" is the section B within A.

    Returns
    -------
    skops.card.Card
        The card.

    Raises
    ------
    TypeError
        If the card has no `add` as skops' cards do.
    """
    if not callable(getattr(card, "add", None)):
        raise TypeError(
            f"card must be a skops.card.Card; got {type(card).__name__}. Make one with "
            f"skops.card.Card(model)."
        )
    if not section.strip():
        raise ValueError("section must be the title of a section; got an empty one.")
    # The module is public, its class is documented, but skops.card does not export it.
    from skops.card._model_card import TableSection

    # A card is short: the appendix is left to the page.
    for part in [section for section in sections_of(report) if not section.in_appendix]:
        tables: list[TableBlock] = []

        def keep(table: TableBlock, tables: list[TableBlock] = tables) -> str:
            tables.append(table)
            return ""

        # So is what the page folds away.
        open_blocks = tuple(block for block in part.blocks if not isinstance(block, FoldBlock))
        text = blocks_in_markdown(replace(part, blocks=open_blocks), keep)
        key = f"{section}/{_escaped(part.title)}"
        card.add(**{key: text})
        for table in tables:
            more = f"{len(table.rows) - MOST_ROWS:,} more rows are not listed here."
            content = more if len(table.rows) > MOST_ROWS else ""
            # A subsection of its own: `add_table` would print the whole path as its title.
            one = TableSection(
                title=in_markdown(table.caption),
                content=content,
                table=_columns(table),
                folded=len(table.rows) > 15,  # longer than a screen
            )
            card.add(**{f"{key}/{_escaped(_free(table.caption, tables, table))}": one})
    return card


def _escaped(title: str) -> str:
    """A title whose slashes do not make a subsection."""
    return title.replace("/", "\\/")


def _free(caption: str, tables: list[TableBlock], table: TableBlock) -> str:
    """The caption, numbered where another table of the section has the same one."""
    same = [other for other in tables if other.caption == caption]
    place = next(place for place, other in enumerate(same) if other is table)
    return caption if place == 0 else f"{caption} ({place + 1})"


def _columns(table: TableBlock) -> dict[str, list[str]]:
    """Columns by name; one whose name is taken is numbered, as PrettyTable wants it."""
    columns: dict[str, list[str]] = {}
    for place, name in enumerate(table.head):
        key, number = in_markdown(name), 1
        while key in columns:
            number += 1
            key = f"{in_markdown(name)} ({number})"
        columns[key] = [in_markdown(row[place]) for row in table.rows[:MOST_ROWS]]
    return columns
