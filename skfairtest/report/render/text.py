"""A report as plain text, for a terminal and for `repr`."""

from __future__ import annotations

import textwrap
from typing import Any

from skfairtest.report._render.first_page import NAMES, FirstPage, first_page


def render_text(report: dict[str, Any], more: str = "report.save_html(path)") -> str:
    """The first page in eleven paragraphs at most; `more` is where the reader finds the rest."""
    answers = [*in_lines(first_page(report)), ("More", more)]
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


def in_lines(page: FirstPage) -> list[tuple[str, str]]:
    """The answers under their names, ten at most, without breaks of lines."""
    answers = [
        (NAMES["asked"], page.asked),
        (NAMES["found"], page.found),
        (NAMES["limits"], " ".join(page.limits)),
        (NAMES["whom"], " ".join(page.whom)),
        (NAMES["rates"], page.rates),
        (NAMES["moved"], page.moved),
        (NAMES["largest"], page.largest),
        (NAMES["sure"], page.sure),
        (NAMES["next"], " ".join(f"({k}) {step.words}" for k, step in enumerate(page.next, 1))),
    ]
    return [(name, " ".join(words.split())) for name, words in answers if words]
