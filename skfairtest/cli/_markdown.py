"""Writes the outcome and the report as Markdown, for a CI job or a merge request."""

from __future__ import annotations

import re

from skfairtest.report._figures import figure_sentence, in_full
from skfairtest.report._report import AuditReport
from skfairtest.report._types import LimitCheck


def markdown(report: AuditReport) -> str:
    """The verdict, a table of the limits, and the report."""
    outcome = report.limits
    if outcome is None or not outcome.checks:
        return report.to_markdown()
    lines = [f"**{_cell(outcome.verdict)}**", ""]
    lines += ["| Limit | Status | Figure | What was and was not shown |"]
    lines += ["| --- | --- | --- | --- |"]
    lines += [_row(check) for check in outcome.checks]
    return "\n".join(lines) + f"\n\n{report.to_markdown()}"


def _row(check: LimitCheck) -> str:
    name = f"`{check.name}` {in_full(check.limit)}"
    left_out = f" Not judged: {'; '.join(check.left_out)}." if check.left_out else ""
    figure, words = _cell(figure_sentence(check)), _cell(f"{check.sentence}.{left_out}")
    return f"| {name} | {check.status} | {figure} | {words} |"


def _cell(text: str) -> str:
    return re.sub(r"([\\|*_`<\[])", r"\\\1", " ".join(text.split()))
