"""What tests read of reports: their typed results."""

from __future__ import annotations

from msgspec.structs import replace

from skfairtest import AuditReport
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


def altered(report, kind=None, of=None, **fields):
    """A report with other values of its own, or of its parts of a kind (that about `of` alone)."""
    whole = data(report)
    if kind is None:
        return AuditReport(replace(whole, **fields))
    parts = [
        replace(one, **fields) if isinstance(one, kind) and of in (None, one.of) else one
        for one in whole.parts
    ]
    assert parts != whole.parts, "no part is altered"
    return AuditReport(replace(whole, parts=parts))
