"""A report as plain text, for a terminal and for `repr`."""

from __future__ import annotations

import textwrap

from skfairtest.report._types import Report
from skfairtest.report.render.first_page import first_page


def render_text(report: Report, more: str = "report.save_html(path)") -> str:
    """The first page in twelve paragraphs at most; `more` is where the reader finds the rest."""
    answers = [*first_page(report).lines(), ("More", more)]
    hang = 2 + max(len(name) for name, _ in answers)
    # Characters of a line: what a terminal shows, and a page without scrolling.
    paragraphs = [
        textwrap.fill(
            f"{name:<{hang}}{words}",
            88,
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, words in answers
    ]
    return "\n".join(paragraphs)
