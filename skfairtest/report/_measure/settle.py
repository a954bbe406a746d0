"""The largest difference that any part has shown, with the pair that shows it."""

from __future__ import annotations

from typing import Any

from skfairtest.report._measure.case import Case


def gather(case: Case, label: str) -> None:
    """Offer to the search of all sensitive attributes what those of each alone have found.

    Twins that differ in one attribute alone are twins of all of them together as well.
    """
    for other, finding in list(case.findings.items()):
        if other != label:
            shown_by = f"twins that differ in {other} alone"
            case.offer(label, finding.pair, finding.twins, shown_by)


def settle(case: Case, searches: list[dict[str, Any]]) -> None:
    """Give each search its finding; changes the dicts."""
    for search in searches:
        finding = case.findings.get(search["label"])
        search["shown_by"], search["pair"] = "", None
        if finding is not None:
            search["shown_by"], search["pair"] = finding.shown_by, finding.pair.to_dict()
            search["degree"] = max(search["degree"] or 0.0, finding.pair.difference)
        bracket = search["bracket"]
        if bracket["lower"] is not None and search["degree"] is not None:
            bracket["lower"] = max(bracket["lower"], search["degree"])
