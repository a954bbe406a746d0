"""A report as plain text, for a terminal and for `repr`."""

from __future__ import annotations

from typing import Any

from skfairtest.report._render.first_page import NAMES, FirstPage, first_page


def render_text(report: dict[str, Any], more: str = "report.save_html(path)") -> str:
    """The first page in ten lines; `more` is where the reader finds the rest."""
    answers = in_lines(first_page(report))
    width = max(len(name) for name, _ in answers)
    lines = [f"{name:<{width}}  {words}" for name, words in answers]
    return "\n".join([*lines, f"{'More':<{width}}  {more}"])


def in_lines(page: FirstPage) -> list[tuple[str, str]]:
    """The answers under their names, each on one line, nine at most."""
    told = [
        (NAMES["asked"], page.asked),
        (NAMES["found"], page.found),
        (NAMES["limits"], " ".join(page.limits)),
        (NAMES["whom"], " ".join(page.whom)),
        (NAMES["rates"], page.rates),
        (NAMES["largest"], page.largest),
        (NAMES["sure"], page.sure),
        (NAMES["next"], " ".join(f"({k}) {step.words}" for k, step in enumerate(page.next, 1))),
    ]
    return [(name, " ".join(words.split())) for name, words in told if words]
