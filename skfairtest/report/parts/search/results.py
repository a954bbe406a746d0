"""What a search has found."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from skfairtest.finding._pair import Pair
from skfairtest.report._redact import Kept, neither
from skfairtest.report._types import PartResult


class SearchHistory(Struct, frozen=True, forbid_unknown_fields=True):
    """What the search had found after so many queries and seconds."""

    queries: Annotated[list[float], neither()] = []
    seconds: Annotated[list[float], neither()] = []
    degree: Annotated[list[float], neither()] = []
    found: Annotated[list[float], neither()] = []


class AllPairs(Struct, frozen=True, forbid_unknown_fields=True):
    """All discriminatory inputs that are kept, at most 10,000 or a million cells, worst first."""

    columns: Annotated[list[str], neither()] = []
    first: Annotated[list[list[Any]], neither()] = []
    changed: Annotated[list[str], neither("Columns in which any twin differs.")] = []
    second: Annotated[list[list[Any]], neither("In the changed columns.")] = []
    difference: Annotated[list[float], neither()] = []
    of_a_row: Annotated[list[bool], neither("Equals a row but for the sensitive columns.")] = []

    def without_rows(self) -> AllPairs:
        """Those that do not equal a row of the data but for the sensitive columns."""
        keep = [place for place, of_row in enumerate(self.of_a_row) if not of_row]
        names = ("first", "second", "difference", "of_a_row")
        return replace(
            self, **{name: [getattr(self, name)[place] for place in keep] for name in names}
        )


class SearchPart(PartResult, frozen=True, kw_only=True, tag="search"):
    """What an auditor has found that searched for twins."""

    auditor: Annotated[str, neither()] = ""
    degree: Annotated[float | None, neither("Largest difference that the search found.")] = None
    found: Annotated[int, neither("Distinct discriminatory inputs found.")] = 0
    kept: Annotated[int, neither("Those kept.")] = 0
    inputs: Annotated[int, neither("Distinct inputs looked at.")] = 0
    search_queries: Annotated[int, neither("Queries of the search alone.")] = 0
    stop_reason: Annotated[str, neither("What ended the search.")] = ""
    history: Annotated[SearchHistory, neither()] = SearchHistory()
    further_pairs: Annotated[
        list[Pair], neither("The worst, any two of which differ in two columns.", max_length=10)
    ] = []
    all_pairs: Annotated[AllPairs, neither()] = AllPairs()

    def redact(self, kept: Kept) -> PartResult:
        """Without inputs that equal a row but for the sensitive columns, if rows are left out."""
        part = super().redact(kept)
        if kept == "worst" or not isinstance(part, SearchPart):
            return part
        every = part.all_pairs.without_rows()
        # Those that are shown are among all that are kept; which twin comes first may differ.
        equal = [k for k, name in enumerate(every.columns) if name not in every.changed]
        known = [[row[k] for k in equal] for row in every.first]
        shown = [
            pair for pair in part.further_pairs if [pair.cells[k].first for k in equal] in known
        ]
        return replace(part, all_pairs=every, further_pairs=shown)
