"""What tests read of reports: their typed results."""

from __future__ import annotations

from skfairtest.report.parts.twins.results import Twins, twins_of


def data(report):
    """The typed report behind an AuditReport, or the report itself."""
    return getattr(report, "_data", report)


def searches(report) -> list[Twins]:
    """The twins in each sensitive attribute alone, then in all together."""
    return twins_of(data(report))


def part(report, kind, of=""):
    """The result of a part."""
    return data(report).first(kind, of)
