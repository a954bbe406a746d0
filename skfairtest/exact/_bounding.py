"""Bound the fairness degree from a pair that was found; the auditor and `certify` share this."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._all_inputs import input_of, solve_whole
from skfairtest.exact._bounds import Bounds
from skfairtest.exact._verifier import (
    NO_ENGINE,
    STALLED,
    Attained,
    BoundHistory,
    Engine,
    SolverLimits,
    Verifier,
    unattained,
)
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._stop import StopReason, StopSearch

#: Kinds of stops by what ended the search for a bound; of others the gap is still open.
KINDS = {"time": StopReason.MAX_TIME}


class Closed(NamedTuple):
    """Bounds of the fairness degree that the model has confirmed, and why they ended there."""

    bounds: Bounds
    reason: str
    kind: StopReason
    engine: str = ""


def close(
    search: SearchHandle,
    verifier: Verifier,
    limits: SolverLimits,
    history: BoundHistory,
) -> Closed:
    """Bound the fairness degree, starting from what the search has found.

    If Ctrl-C ends the search for a bound, the model confirms the best pair so far, and `history`
    has the least bound.

    - `search`: holds the largest disparity found so far; confirms the pair that the bound's search
      finds.
    - `verifier`: the model, read out.
    - `history`: where the bounds are noted while the gap closes.
    """
    root, rtol = note_root_bound(search, verifier, history), limits.rtol

    def note(lower: float, upper: float, n: int, twins: Attained = unattained, /) -> None:
        history.note(lower, verifier.with_rounding(min(upper, root)), n, twins)

    ended, engine = "closed" if root <= 0 else "time", NO_ENGINE
    # A closed form is worked out even where reading the model has taken all the time.
    wanted = limits.deadline > -np.inf and (verifier.quick or not limits.is_late)
    if root > 0 and wanted:
        least = max(search.so_far.degree, np.finfo(float).tiny)
        # A search stops as soon as it may, so a part of `rtol` is kept for rounding: what it needs,
        # but half of `rtol` and 1e-9 at most.
        kept = min(1e-9, rtol / 2, 8 * verifier.rounding / least)
        narrow = limits._replace(rtol=rtol - kept, note=note)
        try:
            result = solve_whole(verifier, search.space, search.so_far.degree, narrow)
        except KeyboardInterrupt:
            if history.twins is not None:
                confirm(search, *history.twins)
            raise
        ended, engine = result.reason, result.engine
        note(search.so_far.degree, result.upper, result.n_boxes)
        if result.twins is not None:
            confirm(search, *result.twins)
        # Of the model as it was read; the pair that attains it may differ by its rounding.
        upper = min(result.upper, root)
        if (
            ended == "closed"
            and upper - search.so_far.degree <= rtol * upper + 2 * verifier.rounding
        ):
            ended = "rounding"  # whatever keeps the bounds apart from here on
    return closed_as(search, verifier, ended, rtol, history, engine)


def note_root_bound(search: SearchHandle, verifier: Verifier, history: BoundHistory) -> float:
    """Note the bound that takes little time, and return it without what rounding adds to it."""
    root = verifier.root_bound()
    history.note(search.so_far.degree, verifier.with_rounding(root), 0)
    return root


def closed_as(
    search: SearchHandle,
    verifier: Verifier,
    ended: str,
    rtol: float,
    history: BoundHistory,
    engine: Engine = NO_ENGINE,
) -> Closed:
    """Return the bounds that are known, by what ended the search for a bound."""
    single = single_tolerance(verifier, search)
    bounds = history.bounds(search.so_far.degree, rtol, single)
    if not bounds.certified and bounds.within(single):
        ended = "rounding"
    kind = StopReason.COMPLETE if bounds.certified else KINDS.get(ended, StopReason.OPEN)
    if not bounds.certified:
        reason = _reason(ended, rtol, search, max(verifier.rounding, single / 4))
        reason += f" ({engine.advice})" if engine.advice else ""
    elif bounds.within(0.0):
        reason = f"certified: the bounds agree to rtol={rtol:g}"
    else:
        reason = (
            f"certified: the bounds differ by {bounds.gap:.1g}, which the model's single precision "
            "may do"
        )
    return Closed(bounds, reason, kind, engine.library)


def single_tolerance(verifier: Verifier, search: SearchHandle) -> float:
    """Gap that single precision may leave; 0 for models in double precision.

    Its outputs are off by so much themselves that no gap can be narrower.
    """
    if search.worst is None:
        return 0.0
    return float(verifier.single_tolerance(float(np.abs(search.worst.outputs).max())))


def _reason(ended: str, rtol: float, search: SearchHandle, rounding: float) -> str:
    """Return why the gap is open; `rounding` is what the model's own may do to an output."""
    if ended == "rounding":
        return (
            "the rounding of the model's own sums keeps the gap from closing to "
            f"rtol={rtol:g}: it may move each output by {rounding:.1g}"
        )
    if ended == "time":
        return "max_time reached before the gap was closed"
    if ended == STALLED:
        return (
            "the gap was left open as it hardly narrowed: while the boxes looked into doubled in "
            "number, the bound fell by less than 0.5% (certify goes on)"
        )
    if ended == "memory":
        return "the memory for open boxes was full before the gap was closed"
    if search.left.queries < 2 * search.cost:
        return "max_queries left none to confirm the pair that attains the bound"
    if search.space.feasibility.repairs:
        return "the constraint may exclude the pairs that reach the upper bound of the open boxes"
    if search.space.constraints_:
        return "the bound holds for the whole box; the constraint may exclude pairs that reach it"
    if search.space.plausibility is not None:
        return "the bound holds for the whole box; the pairs that reach it may be implausible"
    if ended == "closed":
        return "the search is complete, but the pair it found does not attain the bound to rtol"
    return f"the gap could not be closed: {ended}"


def confirm(search: SearchHandle, first: Floats, second: Floats) -> None:
    """Ask the model about a pair of twins, if the budget allows it."""
    if search.left.queries < 2 * search.cost or search.left.inputs < 1:
        return
    values = np.stack([first, second])[:, search.space.sensitive]
    if np.array_equal(values[0], values[1]):
        return
    try:
        search.evaluate(input_of(search.space, first, second)[None], values[None])
    except StopSearch as stop:
        # The pair is recorded before a spent budget ends the search, and the bound is to come.
        if stop.kind is StopReason.CALLBACK:
            raise
