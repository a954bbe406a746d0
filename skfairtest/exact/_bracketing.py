"""Bound the fairness degree from a pair that was found; the auditor and `certify` share this."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from skfairtest._typing import Floats
from skfairtest.exact._all_inputs import input_of, solve_whole
from skfairtest.exact._bracket import (
    Attained,
    BoundHistory,
    Family,
    Limits,
    Pace,
    unattained,
)
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._stop import StopReason
from skfairtest.space._space import InputSpace

#: Width, relative to the bound, that rounding takes of a bracket at most where `rtol` is larger.
ROOM = 1e-9
#: The same of what single precision takes: beyond it the ends of the bracket differ.
MOST_ROOM = 1e-4
#: Kinds of stops by what ended the search for a bound; of others the bracket is still open.
KINDS = {"time": StopReason.MAX_TIME}
#: Twins of rows of data that are put to the model as it was read in one go: at first, and at most.
FIRST_LOOKED_AT, LOOKED_AT = 256, 20_000


class Closed(NamedTuple):
    """Bracket of the fairness degree that the model has confirmed."""

    degree: float
    upper: float
    certified: bool
    reason: str
    kind: StopReason


def close(
    oracle: Oracle,
    family: Family,
    limits: Limits,
    history: BoundHistory,
) -> Closed:
    """Bound the fairness degree, starting from what the oracle has found.

    If Ctrl-C ends the search for a bound, the model confirms the best pair so far, and `history`
    has the least bound.

    - `oracle`: holds the largest disparity found so far; confirms the pair that the bound's search
      finds.
    - `family`: the model, read out.
    - `history`: where the bracket is noted while it closes.
    """
    root, rtol = note_root_bound(oracle, family, history), limits.rtol

    def note(lower: float, upper: float, n: int, twins: Attained = unattained, /) -> None:
        history.note(lower, family.with_rounding(min(upper, root)), n, twins)

    ended = "closed" if root <= 0 else "time"
    # A closed form is worked out even where reading the model has taken all the time.
    wanted = limits.deadline > -np.inf and (family.quick or not limits.is_late)
    if root > 0 and wanted:
        # Width is kept back for rounding, half of it at most: a search stops as soon as it may.
        least = max(oracle.degree, np.finfo(float).tiny)
        room = min(ROOM, rtol / 2, 8 * family.rounding / least)
        narrow = Limits(limits.deadline, rtol - room, note)
        try:
            bracket = solve_whole(family, oracle.space, oracle.degree, narrow)
        except KeyboardInterrupt:
            if history.twins is not None:
                confirm(oracle, *history.twins)
            raise
        ended = bracket.reason
        note(oracle.degree, bracket.upper, bracket.n_boxes)
        if bracket.twins is not None:
            confirm(oracle, *bracket.twins)
        # Of the model as it was read; the pair that attains it may differ by its rounding.
        upper = min(bracket.upper, root)
        if ended == "closed" and upper - oracle.degree <= rtol * upper + 2 * family.rounding:
            ended = "rounding"  # whatever keeps the ends apart from here on
    return closed_as(oracle, family, ended, rtol, history)


def note_root_bound(oracle: Oracle, family: Family, history: BoundHistory) -> float:
    """Note the bound that takes little time, and return it without what rounding adds to it."""
    root = family.root_bound()
    history.note(oracle.degree, family.with_rounding(root), 0)
    return root


def closed_as(
    oracle: Oracle, family: Family, ended: str, rtol: float, history: BoundHistory
) -> Closed:
    """Return the bracket that is known, by what ended the search for a bound."""
    degree = oracle.degree
    upper = max(history.upper, degree)
    gap = upper - degree
    # What rounding may do at worst is no excuse for ends that people would write differently.
    single = single_room(family, oracle)
    certified = gap <= rtol * upper + min(single, MOST_ROOM * upper)
    if not certified and gap <= rtol * upper + single:
        ended = "rounding"
    kind = StopReason.COMPLETE if certified else KINDS.get(ended, StopReason.OPEN)
    if not certified:
        reason = _reason(ended, rtol, oracle, max(family.rounding, single / 4))
    elif gap <= rtol * upper:
        reason = f"certified: the bracket is closed to rtol={rtol:g}"
    else:
        reason = (
            f"certified: the ends differ by {gap:.1g}, which the model's single precision may do"
        )
    return Closed(degree, upper, certified, reason, kind)


def single_room(family: Family, oracle: Oracle) -> float:
    """Width at which a bracket of a single-precision model is closed; 0 for other models.

    Its outputs are off by so much themselves that no bracket can be narrower.
    """
    if oracle.worst is None:
        return 0.0
    return float(family.single_room(float(np.abs(oracle.worst.outputs).max())))


def _reason(ended: str, rtol: float, oracle: Oracle, rounding: float) -> str:
    """Return why a bracket is open; `rounding` is what the model's own may do to an output."""
    if ended == "rounding":
        return (
            "the rounding of the model's own sums keeps the bracket from closing to "
            f"rtol={rtol:g}: it may move each output by {rounding:.1g}"
        )
    if ended == "time":
        return "max_time reached before the bracket was closed"
    if ended == "memory":
        return "the memory for open boxes was full before the bracket was closed"
    if oracle.queries_left < 2 * oracle.model.cost:
        return "max_queries left no room to confirm the pair that attains the bound"
    if oracle.space.admission.repairs:
        return "the constraint may exclude the pairs that reach the upper bound of the open boxes"
    if oracle.space.constraints_:
        return "the bound holds for the whole box; the constraint may exclude pairs that reach it"
    if oracle.space.plausibility is not None:
        return "the bound holds for the whole box; the pairs that reach it may be implausible"
    if ended == "closed":
        return "the search is complete, but the pair it found does not attain the bound to rtol"
    return f"the bracket could not be closed: {ended}"


def look_at_data(oracle: Oracle, family: Family, until: float) -> None:
    """Compare rows of data with their twins by the model as it was read; confirm the best.

    Rows outside the domain, and such that the constraint excludes, are left out. The model itself
    is asked for the best pair alone.

    - `oracle`: confirms the pair.
    - `family`: the model, read out.
    - `until`: when to go on with the pairs seen so far, by `_clock.now`.
    """
    space = oracle.space
    rows = space.data[
        ((space.domain.low <= space.data) & (space.data <= space.domain.high)).all(axis=1)
    ]
    rows = (
        pd.DataFrame(rows[(rows == space.domain.clip(rows)).all(axis=1)])
        .drop_duplicates()
        .to_numpy()
    )
    twins = space.twins_.twin_codes
    pace = Pace(FIRST_LOOKED_AT, LOOKED_AT, until)
    best, pair, start = oracle.degree, None, 0
    while start < len(rows) and pace.size:
        part = rows[start : start + max(1, pace.size // (len(twins) + 1))]
        start += len(part)
        values = np.broadcast_to(twins, (len(part), *twins.shape))
        # Each row counts with its own value, too, which stand-ins for an interval may lack.
        if not space.twins_.is_enumerable:
            values = np.concatenate([part[:, None, space.sensitive], values], axis=1)
        every = space.twins_.of_each(part, values)
        shape = values.shape[:2]
        # Where more follows from the sensitive values, they do not tell twins.
        answers, n_seen = _evaluate_in_time(family, space, part, values, every, pace)
        valid = space.valid(every).reshape(shape) & (np.arange(shape[1]) < n_seen)
        valid = valid[:, :, None]
        high = np.where(valid, answers, -np.inf)
        low = np.where(valid, answers, np.inf)
        spread = high.max(axis=1) - low.min(axis=1)
        i, o = np.unravel_index(spread.argmax(), spread.shape)
        if spread[i, o] > best:
            ends = [high[i, :, o].argmax(), low[i, :, o].argmin()]
            best = float(spread[i, o])
            pair = every.reshape(*shape, -1)[i, ends]
    if pair is not None:
        confirm(oracle, *pair)


def _evaluate_in_time(
    family: Family, space: InputSpace, rows: Floats, values: Floats, every: Floats, pace: Pace
) -> tuple[Floats, int]:
    """Evaluate twins of rows in time; return outputs, and how many twins of each row were seen.

    Outputs have shape (n, n_twins, n_outputs), 0 where there was no time; `every` are the twins,
    one after another. One row may have very many.
    """
    n, k = values.shape[:2]
    pieces: list[Floats] = []
    start = 0
    while start < k and pace.size:
        size = max(1, pace.size // n)
        said = None
        if space.twins_.dependents is None:
            said = family.evaluate_twins(rows, values[:, start : start + size])
        if said is None:
            some = every.reshape(n, k, -1)[:, start : start + size]
            said = family.evaluate(some.reshape(-1, some.shape[2]))
            said = said.reshape(*some.shape[:2], -1)
        pieces.append(said)
        start += said.shape[1]
        pace.done(n * said.shape[1])
    seen = np.concatenate(pieces, axis=1)
    answers = np.zeros((n, k, seen.shape[2]))
    answers[:, : seen.shape[1]] = seen
    return answers, seen.shape[1]


def confirm(oracle: Oracle, first: Floats, second: Floats) -> None:
    """Ask the model about a pair of twins, if the budget has room for it."""
    if oracle.queries_left < 2 * oracle.model.cost or oracle.stopping.inputs_left < 1:
        return
    values = np.stack([first, second])[:, oracle.space.sensitive]
    if np.array_equal(values[0], values[1]):
        return
    # The pair is recorded before a spent budget ends the run.
    with oracle.sub_budget():
        oracle.disparity(input_of(oracle.space, first, second)[None], values[None])
