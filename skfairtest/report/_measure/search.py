"""The search for the worst case in the domain."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import narwhals as nw
import numpy as np

from skfairtest._typing import Floats
from skfairtest.finding._words import number
from skfairtest.report._data import AllPairs, SearchHistory, SearchPart
from skfairtest.report._measure.case import QUERIES_A_PAIR, Case
from skfairtest.space._space import InputSpace

#: Discriminatory inputs that are shown as pairs, and those that the data of a report hold.
SHOWN_PAIRS = 10
KEPT_PAIRS = 10_000


def search(
    case: Case,
    blank: SearchPart,
    space: InputSpace,
    callbacks: tuple[Any, ...],
    seconds: float | None,
) -> SearchPart:
    """Run the auditor; what it found is told by `describe_search`, also after a failure."""
    auditor = case.auditor(space, seconds)
    if seconds is not None and auditor.max_queries is not None:
        # Before its first query a search does not know how slow a model is, but this audit does.
        # Queries of a search that a slow model has no time for are cut down to these.
        most = max(64, case.affordable(2 * seconds, auditor.max_queries))
        auditor.set_params(max_queries=min(auditor.max_queries, most))
    if callbacks:
        auditor.set_callbacks(*callbacks)
    case.auditors[blank.label] = auditor
    auditor.fit(case.X)
    return replace(describe_search(case, blank), early=_early(case.template, auditor))


def _early(template: Any, auditor: Any) -> str:
    """How much was done of a search that this audit, not its own limits, has ended; else empty."""
    own = getattr(template, auditor.stop_kind_, None)
    is_limit = auditor.stop_kind_ in ("max_queries", "max_time")
    if not is_limit or own == getattr(auditor, auditor.stop_kind_):
        return ""
    of = "" if template.max_queries is None else f" of {template.max_queries:,}"
    return f"{auditor.n_queries_:,}{of} queries"


def describe_search(case: Case, blank: SearchPart) -> SearchPart:
    """What an auditor that ran found; asks the model for the outputs of the pairs shown."""
    auditor = case.auditors[blank.label]
    degree, n = auditor.fairness_degree_, auditor.n_queries_
    return replace(
        blank,
        degree=degree,
        found=auditor.n_found_,
        kept=len(auditor.disparities_),
        inputs=auditor.n_inputs_,
        search_queries=n,
        stop_reason=auditor.stop_reason_,
        history=_history(auditor),
        summary=f"largest difference {number(degree)} ({n} queries)",
        **_pairs(case, blank.label, auditor),
    )


def _history(auditor: Any) -> SearchHistory:
    table = auditor.history_
    # Points of the history.
    places = np.unique(np.linspace(0, max(0, len(table) - 1), 200).astype(int))
    table = table.iloc[places] if len(table) else table
    return SearchHistory(*(table[field.name].tolist() for field in fields(SearchHistory)))


def _pairs(case: Case, label: str, auditor: Any) -> dict[str, Any]:
    """The worst discriminatory inputs as pairs, all that are kept as a table; offers the worst."""
    space, state, before = auditor.space_, auditor._state, case.n_queries
    Z, pairs = state["Z"][:KEPT_PAIRS], state["pairs"][:KEPT_PAIRS]
    first = space.twins_.with_sensitive(Z, pairs[:, 0])
    second = space.twins_.with_sensitive(Z, pairs[:, 1])
    asked = case.asked(space)
    # Seconds that the outputs of the pairs that are shown may take.
    n_shown = case.affordable(2.0, SHOWN_PAIRS * QUERIES_A_PAIR) // QUERIES_A_PAIR
    places = far_apart(Z[:, space.non_sensitive], n_shown)
    shown = case.pairs(asked, first[places], second[places])
    if "worst_z" in state:
        twins = space.twins_.of_each(state["worst_z"][None], state["worst_pair"])
        (worst,) = case.pairs(asked, twins[:1], twins[1:])
        case.offer(label, worst, twins, "the search")
    return {
        "further_pairs": shown,
        "all_pairs": AllPairs(
            columns=[str(name) for name in space.layout.container.names],
            first=rows_of(space.decode(first)),
            **_changed_only(space, first, second),
            difference=auditor.disparities_[:KEPT_PAIRS].tolist(),
            of_a_row=case.is_row(space, Z, space.non_sensitive).tolist(),
        ),
        "queries": auditor.n_queries_ + case.n_queries - before,
    }


def far_apart(Z: Floats, most: int) -> list[int]:
    """Places of rows that differ from each other in two columns at least, the first ones first."""
    chosen: list[int] = []
    near = np.zeros(len(Z), dtype=bool)
    while len(chosen) < most and not near.all():
        place = int(near.argmin())
        chosen.append(place)
        same = (Z == Z[place]) | (np.isnan(Z) & np.isnan(Z[place]))
        near |= (~same).sum(axis=1) < 2
    return chosen


def _changed_only(space: InputSpace, first: Floats, second: Floats) -> dict[str, Any]:
    """The columns in which any twin differs from the first, and the second twin's values there."""
    changed = space.layout.places_of(np.flatnonzero((first != second).any(axis=0)))
    names = space.layout.container.names
    rows = rows_of(space.decode(second))
    return {
        "changed": [str(names[place]) for place in changed],
        "second": [[row[place] for place in changed] for row in rows],
    }


def rows_of(table: Any) -> list[list[Any]]:
    """The rows of a table of any kind as lists."""
    if hasattr(table, "columns"):
        table = nw.from_native(table, eager_only=True)
        columns = [table[name].to_list() for name in table.columns]
        return [list(row) for row in zip(*columns, strict=True)]
    rows: list[list[Any]] = np.asarray(table).tolist()
    return rows
