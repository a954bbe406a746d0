"""The report as Markdown, as GitHub and model cards show it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from skfairtest.finding._card import MOST_CHARACTERS
from skfairtest.finding._words import value_text
from skfairtest.report._types import Report
from skfairtest.report.render.blocks import (
    SIGNS,
    AnswersBlock,
    CodeBlock,
    ItemsBlock,
    LeadBlock,
    LinkBlock,
    NoticeBlock,
    Page,
    TableBlock,
    TermsBlock,
    TextBlock,
    TwinsBlock,
    VerdictBlock,
    table,
)
from skfairtest.report.render.pairs import cut, outputs_text
from skfairtest.report.render.sections import page_of, sections_of

#: What Markdown, or the HTML within it, would read as marks.
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$@:-])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render_markdown(report: Report) -> str:
    """The report as GitHub-flavoured Markdown, without pictures; names are text in any case."""
    return page_in_markdown(page_of(report))


def page_in_markdown(page: Page) -> str:
    """A page as Markdown."""
    lines = [f"# {in_markdown(page.title)}", f"Made {in_markdown(page.created)}."]
    for section in page.sections:
        lines += [f"## {in_markdown(section.title)}", blocks_in_markdown(section.blocks)]
    return "\n\n".join(line for line in lines if line) + "\n"


def add_to_card(report: Report, card: Any, section: str) -> Any:
    """Add the report to a model card of skops, one subsection for each of its own.

    A card is short: the appendix is left to the page. What stands in these sections is overwritten.
    """
    if not callable(getattr(card, "add", None)):
        raise TypeError(
            f"card must be a skops.card.Card; got {type(card).__name__}. Make one with "
            f"skops.card.Card(model)."
        )
    if not section.strip():
        raise ValueError("section must be the title of a section; got an empty one.")
    for part in [section for section in sections_of(report) if not section.in_appendix]:
        # A slash would make a subsection.
        title = part.title.replace("/", "\\/")
        card.add(**{f"{section}/{title}": blocks_in_markdown(part.blocks)})
    return card


def blocks_in_markdown(blocks: Iterable[Any]) -> str:
    """Blocks below each other; those without text, such as pictures, are left out."""
    return "\n\n".join(filter(None, map(_block, blocks)))


def _block(block: Any) -> str:
    match block:
        case LeadBlock(words):
            return f"**{in_markdown(words)}**"
        case TextBlock(words):
            return in_markdown(words)
        case NoticeBlock(words):
            return f"> {in_markdown(words)}"
        case VerdictBlock(status, words):
            return f"{SIGNS[status]} **{status.capitalize()}** {in_markdown(words)}"
        case AnswersBlock(rows):
            return "\n\n".join(_answer(name, blocks) for name, blocks in rows)
        case LinkBlock(words, title, address):
            return f"{in_markdown(words)} [{in_markdown(title)}]({address})"
        case TermsBlock(rows):
            return "\n".join(
                f"- {in_markdown(one)}: **{in_markdown(other)}**" for one, other in rows
            )
        case ItemsBlock(items):
            return "\n".join(f"- {in_markdown(item)}" for item in items)
        case CodeBlock(text):
            # A fence longer than any in the text.
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            return f"{fence}python\n{text.rstrip()}\n{fence}"
        case TwinsBlock():
            return blocks_in_markdown(_twins(block))
        case TableBlock():
            return _table(block)
    return ""  # a picture; its figures are in the tables


def _answer(name: str, blocks: Any) -> str:
    """An answer under its name; several sentences are a list."""
    texts = list(filter(None, map(_block, blocks)))
    are_lines = all(isinstance(one, (TextBlock, LinkBlock, VerdictBlock)) for one in blocks)
    if are_lines and len(texts) > 1:
        return "\n".join([f"**{in_markdown(name)}**", "", *(f"- {text}" for text in texts)])
    return f"**{in_markdown(name)}** " + "\n\n".join(texts)


def _twins(twins: TwinsBlock) -> list[Any]:
    """The pair as a table, changed columns first."""
    shown, left = cut(twins.pair)
    rows = [
        ("≠ " * cell.changed + str(cell.name), value_text(cell.first), value_text(cell.second))
        for cell in shown.cells
    ]
    words = outputs_text(twins.pair)
    caption = f"{twins.caption} (≠ marks where the two differ)"
    head = ("column", twins.first, twins.second)
    outputs = TextBlock(f"{words[:1].upper()}{words[1:]}.")
    return [outputs, table(caption, head, rows, words=(1, 2)), *left]


def _table(table: TableBlock) -> str:
    """A table with its caption above, and a word on the rows that are not there."""
    rows = table.rows[:50]  # a page of text cannot fold the rest
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
