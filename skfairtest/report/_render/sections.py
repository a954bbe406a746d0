"""A report as sections, in the order in which they are read."""

from __future__ import annotations

from typing import Any

from skfairtest.report._render import background, findings, moved
from skfairtest.report._render.blocks import Section


def sections_of(report: dict[str, Any]) -> list[Section]:
    """All sections of a report's dict (`schema/v1.json`): first page first, appendix last."""
    asked = report["perturbed_groups"] is not None
    maps = moved.maps(report)
    return [
        findings.finding(report),
        findings.people(report),
        findings.domain(report),
        background.groups(report),
        background.errors(report),
        *([background.perturbed_groups(report)] if asked else []),
        background.limits(report),
        *([moved.moved(report)] if report["moved"] else []),
        findings.groups_of_people(report),
        findings.further_pairs(report),
        *([] if maps is None else [maps]),
        findings.how_searches_went(report),
        background.tables_of_groups(report),
        background.model(report),
        background.cost(report),
    ]


def title_of(report: dict[str, Any]) -> str:
    """What the report is about; no judgement."""
    model = report["model"]
    return f"Audit of {model['final'] or model['class'] or 'a model'}"
