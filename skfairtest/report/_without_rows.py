"""Leaves rows of people out of a report before it is handed over."""

from __future__ import annotations

from typing import Any

from skfairtest.report._render.words import headline

#: What may be kept of people in a file, from all to nothing.
KEPT = ("worst", "counts", "none")


def without_rows(report: dict[str, Any], rows: str) -> dict[str, Any]:
    """Leave rows of people, or their counts as well, out of a report's dict; it is changed.

    What was left out before stays so.

    Raises
    ------
    ValueError
        If `rows` is none of the words.
    """
    if rows not in KEPT:
        raise ValueError(f"rows must be one of {list(KEPT)}; got {rows!r}.")
    kept = max(rows, report["rows_of_people"], key=KEPT.index)
    report["rows_of_people"] = kept
    if kept == "worst":
        return report
    for search in report["searches"]:
        part = search["rows"]
        part["person"], part["worst"] = None, []
        if search["pair_of_a_row"] or search["shown_by"].startswith("row "):
            search["pair"], search["shown_by"] = None, "a row of the data, left out here"
        _leave_out_pairs(search)
        if kept == "none":
            part.update(changed=None, by_group=[], curve={"difference": [], "share": []})
            part.update(rate=None, low=None, high=None, above=[])
    report["sentence"] = headline(report)
    return report


def _leave_out_pairs(search: dict[str, Any]) -> None:
    """Leave out inputs that equal a row but for the sensitive columns."""
    every = search["all_pairs"]
    keep = [place for place, of_row in enumerate(every["of_a_row"]) if not of_row]
    for name in ("first", "second", "difference", "of_a_row"):
        every[name] = [every[name][place] for place in keep]
    # Those that are shown are among all that are kept; which twin comes first may differ.
    equal = [k for k, name in enumerate(every["columns"]) if name not in every["changed"]]
    known = [[row[k] for k in equal] for row in every["first"]]
    search["further_pairs"] = [
        pair
        for pair in search["further_pairs"]
        if [pair["cells"][k]["first"] for k in equal] in known
    ]
