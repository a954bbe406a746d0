"""A run: one search, or several independent ones that draw from one budget.

A run is made by `fit` and holds all that a search needs, so that it can travel to a worker. A
search returns what it has found, whatever ended it, and writes on nothing that another one reads.

Each of several searches has a seed of its own, spawned from the auditor's. What they find depends
on neither the number of workers nor which of them was ready first: shares of the budget are fixed
beforehand, and results are taken in the order of the searches until the pool is full.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.oracle._budget import Budget
from skfairtest.oracle._findings import Findings, JoinedFindings, findings_of
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._model import PROBE_ROWS, PROBE_SHARE, Model, probe_in_time
from skfairtest.oracle._stop import StopReason, StopSearch
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import n_workers, on_workers

#: Limits that searches have equal shares of. `max_found` is not shared: as many as the run may
#: find, one search may find, since the others may find nothing.
SHARED = ("max_queries", "max_inputs")

Limits = dict[str, float | None]


class Run(NamedTuple):
    """Run: what is audited, by which tester, and its limits.

    Attributes
    ----------
    auditor : auditor
        Not fitted, with its parameters; its `_run_search` is called. Searches share it, as none
        writes on it.
    estimator : estimator
        Fitted.
    space : InputSpace
        The inputs that exist.
    settings : dict
        Of the search: threshold, response_method.
    limits : dict
        As the user gave them: max_queries, max_time, max_found, max_inputs; None is no limit.
    """

    auditor: Any
    estimator: Any
    space: InputSpace
    settings: dict[str, Any]
    limits: Limits

    def search(
        self,
        limits: Limits | None = None,
        *,
        n_jobs: int | None,
        seconds_spent: float = 0.0,
        **others: Any,
    ) -> SearchHandle:
        """Return a search with all of the budget, or with other limits in its place."""
        limits, settings = self.limits if limits is None else limits, self.settings
        return SearchHandle(
            Model(
                self.estimator, self.space, response_method=settings["response_method"],
                n_jobs=n_jobs,
            ),
            self.space,
            threshold=settings["threshold"],
            budget=Budget(quoted=self.limits, seconds_spent=seconds_spent, **limits),
            **others,
        )  # fmt: skip


def get_to_know(search: SearchHandle, rows: Floats, rng: np.random.Generator) -> None:
    """Test the model of a search on a few rows of data; these queries count like any others.

    The model is asked only about rows that exist as inputs; if none does, others are drawn.
    """
    model, space = search._model, search.space
    if not model.probe_cost:
        return
    rows = space.twins_.apply_descendants(np.array(space.domain.move_inside(rows, rng)))
    rows = rows[space.valid(rows)]
    if not len(rows):
        rows = space.twins_.apply_descendants(search.sample(8, rng).rows)
    affordable = search.left.queries / (PROBE_SHARE * model.probe_cost)
    n = int(min(PROBE_ROWS, max(1, affordable)))
    probe_in_time(search._cache, rows[:n], search.left.seconds)


def run_search(
    run: Run, limits: Limits, rng: np.random.Generator, search: SearchHandle | None = None
) -> Findings:
    """Return the findings of one search, however it ended.

    Parameters
    ----------
    run : Run
        Whose auditor searches.
    limits : dict
        The limits of the search.
    rng : Generator
        Source of randomness.
    search : SearchHandle, default=None
        That of the only search of a run. Without it, it is one of several: it has a job and these
        limits, and its findings have the keys of inputs, to be joined with others.

    Returns
    -------
    Findings
        With the error that ended the search, where that was no `StopSearch`.
    """
    is_part = search is None
    search = run.search(limits, n_jobs=1) if search is None else search
    ended: BaseException | None = None
    try:
        get_to_know(search, search.space.data[:64], rng)
        run.auditor._run_search(search, rng)
        search._policy.note_rest()
    except BaseException as error:
        ended = error
    return findings_of(search, ended, keys=is_part)


def search_several(
    run: Run,
    n: int,
    rng: np.random.Generator,
    *,
    clock: SearchHandle,
    n_jobs: int | None,
    progress: Callable[[float, str], bool],
) -> Findings:
    """Return the findings of several searches together.

    Parameters
    ----------
    run : Run
        What every search needs, and the budget of all.
    n : int
        How many searches.
    rng : Generator
        Of the run; each search gets one that is spawned from it.
    clock : SearchHandle
        Of the run: it knows the time that was spent before and the time that is left.
    n_jobs : int or None
        As everywhere in scikit-learn.
    progress : callable
        Called as ``progress(share, line)`` after each search; True ends the run.

    Returns
    -------
    Findings
        Those of the searches up to the one that filled the pool, failed or was interrupted.
    """
    pool = JoinedFindings(run.space.n_features, len(run.space.sensitive))
    most = run.limits["max_found"]
    parts = _in_order(run, n, rng, clock.left.seconds, n_jobs)
    ended: BaseException | None = None
    try:
        for part in parts:
            pool.add(part)
            if part.error is not None:
                raise part.error
            n_done = len(pool.parts)
            line = f"{n_done} of {n} restarts, degree {pool.degree:.4g}"
            if progress(n_done / n, line):
                raise StopSearch(StopReason.CALLBACK)
            if most is not None and pool.n_found >= most:
                kind = StopReason.MAX_FOUND
                reached = kind.text.format(limit=most)
                raise StopSearch(kind, f"{reached} after {n_done} of {n} restarts")
        ended = _joint_stop(pool.parts, n)
    except BaseException as error:
        # What came in before Ctrl-C, or before the workers were lost, is kept as well.
        ended = error
    if isinstance(parts, Generator):  # of workers, which have more to do
        parts.close()
    return pool.findings(ended, clock)


def shares(whole: float | None, n: int) -> list[float | None]:
    """Divide a budget of whole numbers among n searches, as evenly as possible."""
    if whole is None:
        return [None] * n
    least, more = divmod(int(whole), n)
    return [least + (k < more) for k in range(n)]


def _in_order(
    run: Run, n: int, rng: np.random.Generator, seconds: float, n_jobs: int | None
) -> Iterator[Findings]:
    """Return the findings of each search that has a share of the budget, one by one."""
    parts = {name: shares(run.limits[name], n) for name in SHARED}
    tasks = [
        (run.limits | {name: parts[name][k] for name in SHARED}, seed)
        for k, seed in enumerate(rng.spawn(n))
        if all(parts[name][k] != 0 for name in SHARED)
    ]
    n_at_once = n_workers(n_jobs)
    if n_at_once == 1 or len(tasks) == 1:
        limits, seeds = zip(*tasks, strict=True) if tasks else ((), ())
        return map(run_search, repeat(run), _in_time(limits, seconds), seeds)
    if np.isfinite(seconds):
        for own, _ in tasks:
            own["max_time"] = max(0.0, seconds) / -(-len(tasks) // n_at_once)
    return on_workers(run_search, run, tasks, n_jobs)


def _in_time(limits: Sequence[Limits], seconds: float) -> Iterator[Limits]:
    """Yield the limits of searches that follow each other, each with its share of what is left."""
    began = _clock.now()
    for k, own in enumerate(limits):
        if np.isfinite(seconds):
            left = max(0.0, seconds - (_clock.now() - began))
            own["max_time"] = left / (len(limits) - k)
        yield own


def _joint_stop(parts: list[Findings], n: int) -> StopSearch:
    """Return why several searches ended: the reason of most of them, and how many."""
    kinds = [part.stop.kind for part in parts]
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    texts = {part.stop.text for part in parts if part.stop.kind is kind}
    each = texts.pop() if len(texts) == 1 else kind.value
    count = f"{kinds.count(kind)} of {n} restarts"
    if kind.value in SHARED or kind is StopReason.MAX_TIME:
        return StopSearch(kind, f"{each}: {count} used up their share")
    return StopSearch(kind, f"{each} in {count}")
