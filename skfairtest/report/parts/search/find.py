"""Runs the auditor that searches, and describes what it found."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
from msgspec.structs import replace

from skfairtest._clock import Deadline
from skfairtest._typing import Floats
from skfairtest.oracle._reproduced import confirm_found
from skfairtest.report._context import QUERIES_A_PAIR, AskedTwins, AuditContext
from skfairtest.report.parts.search.results import AllPairs, SearchHistory, SearchPart
from skfairtest.space._space import InputSpace

#: Discriminatory inputs that are shown as pairs, and those that the data of a report hold, in as
#: many cells of the table at most.
SHOWN_PAIRS = 10
KEPT_PAIRS, KEPT_CELLS = 10_000, 1_000_000
#: Queries of a search that a certificate follows.
SHORT = 300


def search(
    context: AuditContext,
    blank: SearchPart,
    asked: AskedTwins,
    deadline: Deadline,
    *,
    most: int | None = None,
) -> SearchPart:
    """Run the auditor, with `most` queries if that is given.

    What it found is told by `describe_search`, also after a failure.
    """
    assert asked.space is not None
    auditor = context.auditor(asked.space, deadline)
    if most is not None:
        auditor.set_params(max_queries=most)
    wanted = auditor.max_queries
    if deadline < math.inf and wanted is not None:
        # Before its first query a search does not know how slow a model is, but this audit does.
        # Queries of a search that a slow model has no time for are cut down to these.
        most = max(64, context.affordable(2 * deadline.left, wanted))
        auditor.set_params(max_queries=min(wanted, most))
    if context.callbacks:
        auditor.set_callbacks(*context.callbacks)
    context.auditors[blank.of] = auditor
    auditor.fit(context.X)
    return replace(describe_search(context, blank), early=_early(context.template, wanted, auditor))


def _early(template: Any, wanted: int | None, auditor: Any) -> str:
    """How much was done of a search that this audit, not its own limits, has ended; else empty."""
    own = {"max_queries": wanted, "max_time": template.max_time}
    kind = auditor.stop_kind_
    if kind not in own or own[kind] == getattr(auditor, kind):
        return ""
    of = "" if wanted is None else f" of {wanted:,}"
    return f"{auditor.n_queries_:,}{of} queries"


def describe_search(context: AuditContext, blank: SearchPart) -> SearchPart:
    """What an auditor that ran found; asks the model for the outputs of the pairs shown."""
    auditor = context.auditors[blank.of]
    pairs = _pairs(context, blank.of, auditor)  # may ask `predict`, which may deny some
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
        **pairs,
    )


def _history(auditor: Any) -> SearchHistory:
    table = auditor.history_
    # Points of the history.
    places = np.unique(np.linspace(0, max(0, len(table) - 1), 200).astype(int))
    table = table.iloc[places] if len(table) else table
    return SearchHistory(*(table[name].tolist() for name in SearchHistory.__struct_fields__))


def _pairs(context: AuditContext, label: str, auditor: Any) -> dict[str, Any]:
    """The worst discriminatory inputs as pairs, all that are kept as a table; offers the worst."""
    space, state, before = auditor.space_, auditor._state, context.n_queries
    names = space.layout.container.names
    n_kept = max(SHOWN_PAIRS, min(KEPT_PAIRS, KEPT_CELLS // len(names)))
    confirm_found(auditor, context.in_time(2 * n_kept) // 2)
    n_kept = min(n_kept, state.get("n_confirmed", n_kept))
    Z, pairs = state["Z"][:n_kept], state["pairs"][:n_kept]
    first = space.twins_.with_sensitive(Z, pairs[:, 0])
    second = space.twins_.with_sensitive(Z, pairs[:, 1])
    asked = context.asked(space)
    # Seconds that the outputs of the pairs that are shown may take.
    n_shown = context.affordable(2.0, SHOWN_PAIRS * QUERIES_A_PAIR) // QUERIES_A_PAIR
    places = far_apart(Z[:, space.non_sensitive], n_shown)
    shown = context.pairs(asked, first[places], second[places])
    if "worst_z" in state:
        twins = space.twins_.of_each(state["worst_z"][None], state["worst_pair"])
        (worst,) = context.pairs(asked, twins[:1], twins[1:])
        context.offer(label, worst, twins, "the search")
    return {
        "further_pairs": shown,
        "all_pairs": AllPairs(
            columns=list(map(str, names)),
            first=rows_of(space.decode(first)),
            **_changed_only(space, first, second),
            difference=auditor.disparities_[:n_kept].tolist(),
            of_a_row=context.is_row(space, Z, space.non_sensitive).tolist(),
        ),
        "queries": auditor.n_queries_ + auditor.n_confirm_queries_ + context.n_queries - before,
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
        return list(map(list, nw.from_native(table, eager_only=True).rows()))
    rows: list[list[Any]] = np.asarray(table).tolist()
    return rows
