"""From a found pair to a bracket: what the auditor and the function `certify` share."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._oracle import Oracle, StopSearch

Floats = NDArray[np.float64]


#: Width, relative to the bound, that rounding takes of a bracket at most where `rtol` is larger.
ROOM = 1e-9


class Closed(NamedTuple):
    """A bracket of the fairness degree, confirmed by the model."""

    degree: float
    upper: float
    certified: bool
    reason: str
    n_boxes: int


def close(oracle: Oracle, family: Any, deadline: float, rtol: float) -> Closed:
    """Bound the fairness degree, starting from what the oracle has found.

    Parameters
    ----------
    oracle : Oracle
        Holds the largest disparity found so far; confirms the pair that the bound's search finds.
    family : Family
        The model, read out.
    deadline : float
        When to stop, by `time.perf_counter`.
    rtol : float
        Relative width of a closed bracket.

    Returns
    -------
    Closed
        The bracket. Its upper end is never below what was found.
    """
    trivial = family.trivial()
    if trivial <= 0 or time.perf_counter() >= deadline:
        bracket = None
        upper = trivial
        ended = "closed" if trivial <= 0 else "time"
        n_boxes = 0
    else:
        # Half of the width is kept back for rounding: a search stops as soon as it may.
        bracket = family.solve(oracle.degree, deadline, max(rtol / 2, rtol - ROOM))
        upper, ended, n_boxes = min(bracket.upper, trivial), bracket.reason, bracket.n_boxes
        if bracket.twins is not None:
            confirm(oracle, *bracket.twins)
    degree = oracle.degree
    if ended == "closed" and upper - degree <= rtol * upper:
        ended = "rounding"  # whatever keeps the ends apart from here on
    if upper > 0:
        upper += 2 * family.rounding
    upper = max(upper, degree)
    certified = upper - degree <= rtol * upper
    return Closed(degree, upper, certified, _reason(certified, ended, rtol, oracle), n_boxes)


def _reason(certified: bool, ended: str, rtol: float, oracle: Oracle) -> str:
    if certified:
        return f"certified: the bracket is closed to rtol={rtol:g}"
    if ended == "rounding":
        return (
            f"the rounding of the model's own sums keeps the bracket from closing to rtol={rtol:g}"
        )
    if ended == "time":
        return "max_time reached before the bracket was closed"
    if ended == "memory":
        return "the memory for open boxes was full before the bracket was closed"
    if oracle.queries_left < 2 * oracle.model.cost:
        return "max_queries left no room to confirm the pair that attains the bound"
    if oracle.space.constraint is not None:
        return "the bound holds for the whole box; constraint= may exclude the pairs that reach it"
    return f"the bracket could not be closed ({ended})"


def confirm(oracle: Oracle, first: Floats, second: Floats) -> None:
    """Show a pair of twins to the model, if the budget has room for it."""
    room = oracle.limits["max_inputs"] - oracle.n_inputs
    if oracle.queries_left < 2 * oracle.model.cost or room < 1:
        return
    values = np.stack([first, second])[:, oracle.space.sensitive]
    if np.array_equal(values[0], values[1]):
        return
    try:
        oracle.disparity(first[None], values[None])
    except StopSearch:
        # The pair is recorded before a spent budget ends the run.
        return
