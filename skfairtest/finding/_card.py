"""Writes a finding as HTML: the pair as a table, and the card of notebooks and reports.

Plain functions from data to strings. Whatever comes from users is escaped here and nowhere else;
there is no script, and nothing is loaded from outside.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Any

from skfairtest.finding._pair import Cell, Pair
from skfairtest.finding._words import number, shorten, value_text, with_difference

#: Characters of a name or a value that are shown; the rest of a longer one is cut off.
MOST_CHARACTERS = 200
#: Class of everything below; the rules of `card_css` hold inside of it only.
SCOPE = "skft"

_LIGHT = """color-scheme: light; --skft-ink: #1b1f24; --skft-soft: #57606a; --skft-paper: #ffffff;
--skft-line: #c9d1d9; --skft-mark: #e6f1f8; --skft-edge: #0072b2;"""
_DARK = """color-scheme: dark; --skft-ink: #e8ebef; --skft-soft: #a9b3be; --skft-paper: #16191d;
--skft-line: #444c56; --skft-mark: #1c3242; --skft-edge: #6cbcec;"""
_RULES = """
.skft { color: var(--skft-ink); background: var(--skft-paper); font: 14px/1.45 system-ui,
  "Segoe UI", Roboto, "Noto Sans", sans-serif; text-align: start; }
.skft-card { border: 1px solid var(--skft-line); border-radius: 6px; padding: 12px 16px;
  margin: 0 0 10px; max-width: 760px; box-sizing: border-box; break-inside: avoid; }
.skft p { margin: 0 0 8px; }
.skft .skft-kind { color: var(--skft-soft); font-size: 12px; margin: 0 0 2px; }
.skft .skft-sentence { font-size: 16px; font-weight: 600; overflow-wrap: anywhere; }
.skft .skft-scroll { overflow-x: auto; margin: 0 0 8px; }
.skft table { border-collapse: collapse; border: 0; margin: 0; font-size: 13px; color: inherit;
  background: transparent; table-layout: auto; min-width: min(100%, 25em); }
.skft caption { text-align: start; color: var(--skft-soft); font-size: 12px; padding: 0 0 4px;
  caption-side: top; }
.skft-long { overflow-wrap: anywhere; }
.skft tr, .skft tbody tr:nth-child(odd), .skft tbody tr:hover { background: transparent; }
.skft th, .skft td { text-align: start; vertical-align: top; padding: 3px 10px; max-width: 22em;
  border: 0; border-bottom: 1px solid var(--skft-line); overflow-wrap: normal; font-weight: 400;
  color: inherit; background: transparent; white-space: normal; }
.skft thead th { color: var(--skft-soft); font-size: 12px; }
.skft td.skft-number, .skft th.skft-number { text-align: end; font-variant-numeric: tabular-nums; }
.skft td.skft-number { white-space: nowrap; }
.skft tr.skft-changed th, .skft tr.skft-changed td { background: var(--skft-mark);
  font-weight: 700; }
.skft tr.skft-changed th:first-child { box-shadow: inset 3px 0 var(--skft-edge); }
.skft tr.skft-output th, .skft tr.skft-output td { border-top: 1px solid var(--skft-ink);
  border-bottom: 0; font-weight: 700; }
.skft tr.skft-output + tr.skft-output th, .skft tr.skft-output + tr.skft-output td {
  border-top: 0; }
.skft details { margin: 0 0 8px; }
.skft summary { cursor: pointer; color: var(--skft-soft); font-size: 12px; }
.skft .skft-facts { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 0; padding: 0;
  font-size: 13px; }
.skft .skft-facts div { display: flex; gap: 6px; }
.skft .skft-answers { margin: 0 0 8px; padding: 0; font-size: 13px; }
.skft .skft-answers div { display: grid; grid-template-columns: 5.5em 1fr; gap: 0 10px;
  padding: 2px 0; }
.skft dt { color: var(--skft-soft); font-weight: 400; margin: 0; }
.skft dd { margin: 0; overflow-wrap: anywhere; }
.skft .skft-note { color: var(--skft-soft); font-size: 12px; margin: 8px 0 0; }
.skft .skft-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
"""


def card_css() -> str:
    """Return the CSS rules of `pair_table` and `findings_card`, for a ``<style>`` element.

    Colours are light or dark as the reader's system says, or as the page says in the way of
    Jupyter, VS Code or the PyData theme of Sphinx. They are light in print.
    """
    dark = ('[data-jp-theme-light="false"]', '[data-theme="dark"]', "body.vscode-dark")
    light = ('[data-jp-theme-light="true"]', '[data-theme="light"]', "body.vscode-light")
    return (
        f".{SCOPE} {{ {_LIGHT} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ .{SCOPE} {{ {_DARK} }} }}\n"
        f"@media screen {{ {_within(dark)} {{ {_DARK} }} {_within(light)} {{ {_LIGHT} }} }}"
        f"{_RULES}"
    )


def _within(places: Sequence[str]) -> str:
    return ", ".join(f"{place} .{SCOPE}" for place in places)


def in_html(value: Any) -> str:
    """Return a name or a value as escaped text, cut if it is very long."""
    words = value if isinstance(value, str) else value_text(value)
    cut = shorten(words, MOST_CHARACTERS)
    if re.fullmatch("[0-9.,]+%?", cut):
        return cut  # figures turn nothing, and are most of what a page holds
    # Only what no column has room for is broken within a word.
    longest = max(map(len, re.split(r"[\s-]", cut)))
    # A column of a phone has room for words of 16 letters.
    long = ' class="skft-long"' if longest > 16 else ""
    # A name written from right to left must not turn what stands beside it. Words with such a name
    # in them, which the mark of an isolate begins, are English and go from left to right.
    way = ' dir="ltr"' if "\u2068" in cut else ""
    return f"<bdi{long}{way}>{escape(cut)}</bdi>"


def pair_table(
    pair: Pair,
    most: int | None = 15,
    names: tuple[str, str] = ("first twin", "second twin"),
    caption: str = "Two inputs that differ only in the marked columns",
) -> str:
    """Return the pair as a table: one row per column, changed columns first and marked.

    Parameters
    ----------
    pair : Pair
        The twins.
    most : int or None, default=15
        Number of columns shown besides the changed ones. The others are folded away in
        ``<details>``. None shows all.
    names : tuple of two str, default=("first twin", "second twin")
        What the two are called.
    caption : str
        What the table shows.

    Returns
    -------
    str
        HTML that is styled by `card_css`. Changed cells are marked by a sign and in words as well
        as by colour.
    """
    shown, folded = pair.changed_first(most)
    html = [
        '<div class="skft-scroll"><table class="skft-pair">',
        f"<caption>{escape(caption)}</caption>",
        f'<thead><tr><th scope="col">column</th><th scope="col">{escape(names[0])}</th>'
        f'<th scope="col">{escape(names[1])}</th></tr></thead><tbody>',
        *map(_row, shown),
        "</tbody>",
        _outputs(pair),
        "</table></div>",
    ]
    if folded:
        html += [
            f"<details><summary>{len(folded)} more "
            f"{'column' if len(folded) == 1 else 'columns'}, equal in both twins</summary>",
            '<div class="skft-scroll"><table class="skft-pair"><thead><tr>'
            '<th scope="col">column</th><th scope="col">both twins</th></tr></thead><tbody>',
            *(_row(cell, once=True) for cell in folded),
            "</tbody></table></div></details>",
        ]
    return f'<div class="{SCOPE}">{"".join(html)}</div>'


def _row(cell: Cell, *, once: bool = False) -> str:
    name = in_html(cell.name)
    if cell.changed:
        name = (
            f'<span aria-hidden="true">≠ </span>{name}'
            '<span class="skft-hidden"> (differs between the twins)</span>'
        )
    values = (cell.first,) if once else (cell.first, cell.second)
    cells = "".join(f"<td>{in_html(value)}</td>" for value in values)
    mark = ' class="skft-changed"' if cell.changed else ""
    return f'<tr{mark}><th scope="row">{name}</th>{cells}</tr>'


def _outputs(pair: Pair) -> str:
    rows = []
    if pair.outputs is not None:
        rows.append((pair.output, with_difference(*pair.outputs)[:2]))
    if pair.labels is not None:
        rows.append(("predicted", pair.labels))
    if not rows:
        return ""
    body = "".join(
        f'<tr class="skft-output"><th scope="row">{in_html(name)}</th>'
        + "".join(f"<td>{in_html(value)}</td>" for value in values)
        + "</tr>"
        for name, values in rows
    )
    return f"<tfoot>{body}</tfoot>"


def numbers_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str = "",
    *,
    words: Collection[int] = (),
    marked: Any = None,
) -> str:
    """Return a table of a name and numbers per row, with three significant digits.

    Columns in `words` hold texts, and the row with the name `marked` stands out.
    """
    kinds = ["" if place == 0 or place in words else _NUMBER for place in range(len(columns))]
    head = "".join(
        f'<th scope="col"{kind}>{in_html(name)}</th>'
        for kind, name in zip(kinds, columns, strict=True)
    )
    body = "".join(
        f"<tr{_CHANGED if marked is not None and first == marked else ''}>"
        f'<th scope="row">{in_html(first)}</th>'
        + "".join(
            f"<td{kind}>{in_html(_cell_text(value))}</td>"
            for kind, value in zip(kinds[1:], rest, strict=True)
        )
        + "</tr>"
        for first, *rest in rows
    )
    titled = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="skft-scroll"><table>{titled}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


_CHANGED = ' class="skft-changed"'
_NUMBER = ' class="skft-number"'


def _cell_text(value: Any) -> str:
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}"
    return value if isinstance(value, str) else number(value)


def findings_card(
    kind: str,
    sentence: str,
    *,
    pair: Pair | None = None,
    detail: str = "",
    table: str = "",
    facts: Sequence[tuple[str, str]] = (),
    note: str = "",
    most: int = 15,
    folded: str = "",
) -> str:
    """Return a card for a notebook: a sentence, the pair, the bounds, and the cost.

    Parameters
    ----------
    kind : str
        Name of the class that the card is about.
    sentence : str
        The finding.
    pair : Pair, default=None
        Twins that show the finding.
    detail : str, default=""
        A second sentence, such as how large the difference can get.
    table : str, default=""
        HTML that is shown as it is, such as that of `numbers_table`.
    facts : sequence of (str, str), default=()
        Names and values that say what the run cost and how it ended.
    note : str, default=""
        What the finding does not show.
    most : int, default=15
        Number of columns of the pair that are shown besides those that changed.
    folded : str, default=""
        What the pair is called where it is folded away behind the facts.

    Returns
    -------
    str
        Escaped HTML that includes its style.
    """
    html = [
        f"<style>{card_css()}</style>",
        f'<section class="{SCOPE} skft-card" aria-label="{escape(kind)}: what was found">',
        f'<p class="skft-kind">{escape(kind)}</p>',
        f'<p class="skft-sentence">{escape(_capital(sentence))}</p>',
        pair_table(pair, most) if pair is not None and not folded else "",
        table,
        f"<p>{escape(detail)}</p>" if detail else "",
    ]
    if facts:
        listed = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts
        )
        are_sentences = folded or any(len(value) > 150 for _, value in facts)
        kind_of = "skft-answers" if are_sentences else "skft-facts"
        html.append(f'<dl class="{kind_of}">{listed}</dl>')
    if pair is not None and folded:
        html.append(
            f"<details><summary>{escape(folded)}</summary>{pair_table(pair, most)}</details>"
        )
    if note:
        html.append(f'<p class="skft-note">{escape(note)}</p>')
    html.append("</section>")
    return "".join(html)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
