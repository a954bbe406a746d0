"""A report as sections, in the order in which they are read."""

from __future__ import annotations

from typing import Any

from skfairtest.report import _background, _findings
from skfairtest.report._blocks import Section


def sections_of(report: dict[str, Any]) -> list[Section]:
    """All sections of a report's dict (`schema/v1.json`)."""
    return [
        _findings.finding(report),
        _findings.the_pair(report),
        _findings.how_large(report),
        _findings.real_rows(report),
        _background.groups(report),
        _background.selection(report),
        _background.model(report),
        _background.cost(report),
        _background.limits(report),
    ]


def title_of(report: dict[str, Any]) -> str:
    """What the report is about; no judgement."""
    model = report["model"]
    return f"Audit of {model['final'] or model['class'] or 'a model'}"
