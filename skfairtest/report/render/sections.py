"""A report as sections, in the order in which they are read."""

from __future__ import annotations

from dataclasses import replace

from skfairtest.report._types import Report
from skfairtest.report.parts import PARTS
from skfairtest.report.render import about
from skfairtest.report.render.blocks import Section
from skfairtest.report.render.first_page import finding


def sections_of(report: Report) -> list[Section]:
    """All sections of a report: first page first, appendix last."""
    whole = [finding(report), about.limits(report), about.model(report), about.cost(report)]
    found: dict[str, Section] = {}
    for section in (*whole, *(one for part in PARTS for one in part.sections(report))):
        known = found.get(section.key)
        blocks = section.blocks if known is None else known.blocks + section.blocks
        found[section.key] = replace(known or section, blocks=blocks)
    return sorted(found.values(), key=lambda section: section.place)


def title_of(report: Report) -> str:
    """What the report is about; no judgement."""
    return f"Audit of {report.model.final or report.model.class_ or 'a model'}"
