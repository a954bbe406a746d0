"""The largest difference that any part has shown, with the pair that shows it."""

from __future__ import annotations

from typing import Any


def settle(searches: list[dict[str, Any]]) -> None:
    """Give each search the largest difference known of its twins; changes the dicts.

    Twins that differ in one attribute alone are twins of all attributes together as well, so that
    the last search, of all together, knows what the others have found.
    """
    for search in searches:
        search["shown_by"] = "the search" if search["degree"] is not None else ""
        rows, bracket = search["rows"], search["bracket"]
        if rows["worst"]:
            worst = rows["worst"][0]
            _take(search, rows["degree"], worst["pair"], f"row {worst['row']} of the data")
        pair = bracket.pop("pair", None)
        if pair is not None:
            _take(search, bracket["lower"], pair, "the certificate")
    *alone, together = searches
    for search in alone:
        if search["degree"] is not None:
            _take(
                together,
                search["degree"],
                search["pair"],
                f"twins that differ in {search['label']} alone",
            )
    for search in searches:
        bracket = search["bracket"]
        if bracket["lower"] is not None and search["degree"] is not None:
            bracket["lower"] = max(bracket["lower"], search["degree"])


def _take(search: dict[str, Any], degree: Any, pair: Any, shown_by: str) -> None:
    if degree is not None and pair is not None and degree > (search["degree"] or 0.0):
        search.update(degree=degree, pair=pair, shown_by=shown_by)
