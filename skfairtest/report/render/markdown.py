"""The report as Markdown, as GitHub and model cards show it; it needs no further package."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from skfairtest.finding._card import MOST_CHARACTERS
from skfairtest.finding._words import value_text
from skfairtest.report._types import Report
from skfairtest.report.render.blocks import (
    SIGNS,
    AnswersBlock,
    CodeBlock,
    FoldBlock,
    ItemsBlock,
    LeadBlock,
    LinkBlock,
    NoticeBlock,
    Section,
    TableBlock,
    TermsBlock,
    TextBlock,
    TwinsBlock,
    VerdictBlock,
    table,
)
from skfairtest.report.render.pairs import cut, outputs_text
from skfairtest.report.render.sections import sections_of, title_of

#: Rows of a table; a page of text cannot fold the rest.
MOST_ROWS = 50
#: What Markdown, or the HTML within it, would read as marks.
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$@:-])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render_markdown(report: Report) -> str:
    """The report as GitHub-flavoured Markdown, without pictures.

    Names and values are text, whatever they hold.
    """
    lines = [f"# {in_markdown(title_of(report))}", f"Made {in_markdown(report.created)}."]
    for section in sections_of(report):
        lines += [f"## {in_markdown(section.title)}", blocks_in_markdown(section)]
    return "\n\n".join(line for line in lines if line) + "\n"


def blocks_in_markdown(
    section: Section, show_table: Callable[[TableBlock], str] | None = None
) -> str:
    """What stands below the heading of a section.

    Parameters
    ----------
    section : Section
        The section.
    show_table : callable, default=None
        What makes of a table; None writes it as Markdown. It may keep it and return "".
    """
    shown = [_block(block, show_table or table_in_markdown) for block in section.blocks]
    return "\n\n".join(text for text in shown if text)


def _block(block: Any, show: Callable[[TableBlock], str]) -> str:
    if isinstance(block, LeadBlock):
        return f"**{in_markdown(block.words)}**"
    if isinstance(block, TextBlock):
        return in_markdown(block.words)
    if isinstance(block, NoticeBlock):
        return f"> {in_markdown(block.words)}"
    if isinstance(block, VerdictBlock):
        return f"{SIGNS[block.status]} **{block.status.capitalize()}** {in_markdown(block.words)}"
    if isinstance(block, AnswersBlock):
        return "\n\n".join(_answer(name, blocks, show) for name, blocks in block.rows)
    if isinstance(block, LinkBlock):
        return f"{in_markdown(block.words)} [{in_markdown(block.title)}]({block.address})"
    if isinstance(block, TermsBlock):
        return _listed(block.rows)
    if isinstance(block, ItemsBlock):
        return "\n".join(f"- {in_markdown(item)}" for item in block.items)
    if isinstance(block, CodeBlock):
        # A fence longer than any in the text.
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
        return f"{fence}python\n{block.text.rstrip()}\n{fence}"
    if isinstance(block, TwinsBlock):
        return "\n\n".join(filter(None, (_block(one, show) for one in _twins(block))))
    if isinstance(block, TableBlock):
        return show(block)
    if isinstance(block, FoldBlock):
        inner = [text for text in (_block(one, show) for one in block.blocks) if text]
        return "\n\n".join([f"**{in_markdown(block.summary)}**", *inner]) if inner else ""
    return ""  # a picture; its figures are in the tables


def _listed(rows: Any) -> str:
    return "\n".join(f"- {in_markdown(name)}: **{in_markdown(words)}**" for name, words in rows)


def _answer(name: str, blocks: Any, show: Callable[[TableBlock], str]) -> str:
    """An answer under its name; several sentences are a list."""
    texts = [text for text in (_block(one, show) for one in blocks) if text]
    if (
        all(isinstance(one, (TextBlock, LinkBlock, VerdictBlock)) for one in blocks)
        and len(texts) > 1
    ):
        return "\n".join([f"**{in_markdown(name)}**", "", *(f"- {text}" for text in texts)])
    return f"**{in_markdown(name)}** " + "\n\n".join(texts)


def _twins(twins: TwinsBlock) -> list[Any]:
    """The pair as a table, changed columns first."""
    pair = twins.pair
    shown, left = cut(pair)
    rows = [
        (
            f"≠ {cell.name}" if cell.changed else str(cell.name),
            value_text(cell.first),
            value_text(cell.second),
        )
        for cell in shown.cells
    ]
    outputs = TextBlock(f"{outputs_text(pair)[:1].upper()}{outputs_text(pair)[1:]}.")
    caption = f"{twins.caption} (≠ marks where the two differ)"
    return [
        outputs,
        table(caption, ("column", twins.first, twins.second), rows, words=(1, 2)),
        *left,
    ]


def table_in_markdown(table: TableBlock) -> str:
    """A table with its caption above, and a word on the rows that are not there."""
    rows = table.rows[:MOST_ROWS]
    marks = ["---:" if place in table.figures else ":---" for place in range(len(table.head))]
    lines = [f"{in_markdown(table.caption)}:", "", _row(table.head), f"| {' | '.join(marks)} |"]
    lines += map(_row, rows)
    if left := len(table.rows) - len(rows):
        lines += ["", f"{left:,} more rows are not listed here."]
    return "\n".join(lines)


def _row(cells: Any) -> str:
    return f"| {' | '.join(in_markdown(cell[:MOST_CHARACTERS]) for cell in cells)} |"


def in_markdown(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> print(in_markdown("a|b <script> *now*"))
    a\|b &lt;script&gt; \*now\*
    """
    escaped = re.sub("[&<>]", lambda mark: _ENTITIES[mark[0]], " ".join(str(text).split()))
    # Only those that mean something where they stand: "14 columns - 3" reads better bare.
    return _MARKS.sub(_escape_where_needed, escaped)


def _escape_where_needed(mark: re.Match[str]) -> str:
    sign, before = mark[1], mark.string[: mark.start()]
    after = mark.string[mark.end() :]
    if sign in "-+#" and before.strip():
        return sign  # a list or a heading only at the beginning
    if sign in "():" and not (sign == "(" and before.endswith("]")):
        return sign if sign != ":" or not after.startswith("//") else "&#58;"
    if sign in "_" and before[-1:].isalnum() and after[:1].isalnum():
        return sign
    return "&#64;" if sign == "@" else f"\\{sign}"
