"""The largest difference that any part has shown, with the pair that shows it."""

from __future__ import annotations

from typing import Any

from skfairtest.report._measure.case import Case

#: Relative difference of two ends that is that of two ways to add up.
ROUNDING = 1e-9
BEYOND = (
    "two inputs of the domain differ by more than the certified bound: the model was read wrongly, "
    "or does not give one input the same output twice"
)


def gather(case: Case, label: str) -> None:
    """Offer to the search of all sensitive attributes what those of each alone have found.

    Twins that differ in one attribute alone are twins of all of them together as well.
    """
    for other, finding in list(case.findings.items()):
        if other != label:
            shown_by = f"twins that differ in {other} alone"
            case.offer(label, finding.pair, finding.twins, shown_by)


def settle(case: Case, searches: list[dict[str, Any]]) -> None:
    """Give each search its finding; changes the dicts.

    No figure is below what was seen: neither the degree nor the upper end of a bracket below a pair
    of the domain, and the rows of all attributes together show what those of each alone show.
    """
    *alone, together = searches
    for search in alone:
        _take_rows(together["rows"], search["rows"])
    for search in searches:
        finding = case.findings.get(search["label"])
        search["shown_by"], search["pair"], search["pair_of_a_row"] = "", None, False
        if finding is not None:
            search["shown_by"], search["pair"] = finding.shown_by, finding.pair.to_dict()
            search["pair_of_a_row"] = bool(case.is_row(case.space, finding.twins[:1])[0])
            search["degree"] = max(search["degree"] or 0.0, finding.pair.difference)
        bracket = search["bracket"]
        if bracket["lower"] is not None and search["degree"] is not None:
            bracket["lower"] = max(bracket["lower"], search["degree"])
            if bracket["lower"] > bracket["upper"] * (1 + ROUNDING):
                bracket["certified"] = False
                bracket["stop_reason"] = BEYOND
            bracket["upper"] = max(bracket["upper"], bracket["lower"])


def _take_rows(rows: dict[str, Any], others: dict[str, Any]) -> None:
    """Let rows show what others show that were compared in one attribute alone."""
    if (others["degree"] or 0.0) > (rows["degree"] or 0.0):
        rows["degree"] = others["degree"]
        shown = [row["row"] for row in others["worst"][:1]]
        if others["person"] is not None and rows["person"] is None:
            rows["person"] = others["person"]
        left = [row for row in rows["worst"] if row["row"] not in shown]
        rows["worst"] = [*others["worst"][:1], *left][: max(1, len(rows["worst"]))]
