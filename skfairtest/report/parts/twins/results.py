"""The largest difference between twins, whatever part of the audit has shown it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec.structs import replace

from skfairtest.finding._pair import Pair
from skfairtest.report._redact import Kept, neither
from skfairtest.report._types import Figure, PartResult, Report
from skfairtest.report.parts._bounds import CertificatePart
from skfairtest.report.parts.rows.results import RowsPart, rows_of
from skfairtest.report.parts.search.results import SearchPart


class TwinsPart(PartResult, frozen=True, kw_only=True, tag="twins"):
    """What is known of twins that differ in these sensitive attributes, from all parts."""

    sensitive: Annotated[list[str], neither(min_length=1)] = []
    taken: Annotated[bool, neither("If not, twins are equal by construction.")] = True
    degree: Annotated[
        float | None, neither("The largest known in the domain; rows may show more.")
    ] = None
    shown_by: Annotated[str, neither("What has shown it.")] = ""
    pair: Annotated[Pair | None, neither()] = None
    pair_of_a_row: Annotated[bool, neither("Equal to a row but for the sensitive columns.")] = False
    pair_has_a_row: Annotated[bool, neither("One of them is a row.")] = False
    upper: Annotated[Figure, neither("None in the domain is larger; null if unknown.")] = None
    certified: Annotated[bool, neither("Whether the degree is known to be the largest.")] = False
    stop_reason: Annotated[str, neither("Why the certificate ended or fails.")] = ""

    def redact(self, kept: Kept) -> PartResult:
        """Without a pair that is a row but for the sensitive columns, where rows are left out."""
        part = super().redact(kept)
        is_row = self.pair_of_a_row or self.pair_has_a_row or self.shown_by.startswith("row ")
        if kept == "worst" or not is_row:
            return part
        return replace(part, pair=None, shown_by="a row of the data, left out here")


class Twins(NamedTuple):
    """All that a report holds about twins in the same sensitive attributes."""

    known: TwinsPart
    rows: RowsPart
    search: SearchPart
    certificate: CertificatePart


def twins_of(report: Report) -> list[Twins]:
    """Each sensitive attribute alone, then all of them together."""
    rows = {one.of: one for one in rows_of(report)}
    return [
        Twins(
            known,
            rows.get(known.of) or _not_compared(report, known),
            report.first(SearchPart, known.of),
            report.first(CertificatePart, known.of),
        )
        for known in report.all_of(TwinsPart)
    ]


def _not_compared(report: Report, known: TwinsPart) -> RowsPart:
    """The rows that no part has compared: of what the model does not take they show nothing."""
    rows = report.first(RowsPart, known.of)
    if known.taken:
        return rows
    has_rate = report.model.response != "regression" or report.threshold is not None
    return replace(rows, reason=known.reason, degree=0.0, rate=0.0 if has_rate else None)


def together(report: Report) -> Twins:
    """The twins in all sensitive attributes together, which know what the others have found."""
    return twins_of(report)[-1]


def not_in_model(report: Report) -> list[str]:
    """The sensitive attributes that the model does not take, so that nothing was searched."""
    names = [n for known in report.all_of(TwinsPart) if not known.taken for n in known.sensitive]
    return list(dict.fromkeys(names))
