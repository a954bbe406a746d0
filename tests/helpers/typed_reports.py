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


def with_part(report, kind, of=None, **changes):
    """The typed report with these fields of the results of a kind, or of one of them."""
    return replace(
        report,
        parts=[
            replace(one, **changes) if isinstance(one, kind) and of in (None, one.of) else one
            for one in report.parts
        ],
    )


def with_parts(report, kind, results):
    """The typed report with other results of a kind, in the place of the first one."""
    places = [k for k, one in enumerate(report.parts) if isinstance(one, kind)]
    others = [one for one in report.parts if not isinstance(one, kind)]
    place = places[0] if places else len(others)
    return replace(report, parts=[*others[:place], *results, *others[place:]])


def altered(report, kind=None, of=None, **fields):
    """The report with other values of its own, or of its parts of a kind, as `with_part`."""
    whole = data(report)
    changed = with_part(whole, kind, of, **fields) if kind else replace(whole, **fields)
    assert changed != whole, "nothing is altered"
    return AuditReport(changed)
