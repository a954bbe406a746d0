"""Independent searches that share a budget, one a task for the workers of joblib's context.

Each has its own seed, spawned from the auditor's, and its own part of the budget, so that what it
finds depends on neither the number of workers nor which of them was ready first.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest.oracle._findings import Findings, findings_of
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._stop import stopped_by
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import Broadcast, n_workers, on_workers

#: Rows of data on which a search gets to know the model.
N_SEEDS = 64


class Searcher(NamedTuple):
    """What every restart needs.

    Attributes
    ----------
    auditor : auditor
        With its parameters; each search works with a copy of its own.
    estimator : estimator
        Fitted.
    space : InputSpace
        The inputs that exist.
    settings : dict
        Of the oracle: threshold, response_method.
    """

    auditor: Any
    estimator: Any
    space: InputSpace
    settings: dict[str, Any]


def shares(whole: float | None, n: int) -> list[float | None]:
    """A budget of whole numbers shared by n searches, as evenly as it goes."""
    if whole is None:
        return [None] * n
    least, more = divmod(int(whole), n)
    return [least + (k < more) for k in range(n)]


def run_restarts(
    searcher: Searcher,
    limits: dict[str, float | None],
    n_restarts: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    kept: list[Findings],
) -> Iterator[Findings]:
    """What each of the searches found, in their order.

    Parameters
    ----------
    searcher : Searcher
        What every search needs.
    limits : dict
        The whole budget: max_queries, max_time, max_found, max_inputs; None is no limit.
    n_restarts : int
        How many searches.
    rng : Generator
        Of the auditor; each search gets one that is spawned from it.
    n_jobs : int or None
        As everywhere in scikit-learn.
    kept : list of Findings
        A search that fails or is interrupted in this process adds what it has found.

    Yields
    ------
    Findings
        Of each search.
    """
    began = _clock.now()
    seconds = limits["max_time"]
    counted = [name for name in limits if name != "max_time"]
    parts = {name: shares(limits[name], n_restarts) for name in counted}
    seeds = rng.spawn(n_restarts)
    own = [{name: parts[name][k] for name in counted} for k in range(n_restarts)]
    n = n_workers(n_jobs)
    if n == 1 or n_restarts == 1:
        for k in range(n_restarts):
            if seconds is not None:
                left = max(0.0, seconds - (_clock.now() - began))
                own[k]["max_time"] = left / (n_restarts - k)
            yield search_once(searcher, own[k], seeds[k], kept)
        return
    rounds = -(-n_restarts // n)
    tasks = [
        (own[k] | {"max_time": None if seconds is None else seconds / rounds}, seeds[k])
        for k in range(n_restarts)
    ]
    yield from on_workers(search_once, Broadcast(searcher), tasks, n_jobs)


def search_once(
    searcher: Searcher,
    limits: dict[str, float | None],
    rng: np.random.Generator,
    kept: list[Findings] | None = None,
) -> Findings:
    """One search with its part of the budget."""
    oracle = Oracle(
        searcher.estimator,
        searcher.space,
        n_jobs=1,
        valid_rows=searcher.space.valid_rows(),
        **searcher.settings,
        **limits,  # type: ignore[arg-type]
    )
    # Threads share the searcher, and a search keeps its state on its auditor.
    auditor = copy.copy(searcher.auditor)
    ended: BaseException | None = None
    try:
        oracle.begin(searcher.space.data[:N_SEEDS], rng)
        auditor._search(oracle, rng)
    except BaseException as error:
        ended = error
        stop = stopped_by(error)
        if stop is not error:
            if kept is not None:
                kept.append(findings_of(oracle, stop, [auditor._notes(oracle)], keys=True))
            raise
    return findings_of(oracle, stopped_by(ended), [auditor._notes(oracle)], keys=True)
