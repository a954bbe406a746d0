"""When a run ends, and what it may spend until then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from skfairtest.oracle._budget import Budget, SubBudget
from skfairtest.oracle._model import Model
from skfairtest.oracle._record import Record
from skfairtest.oracle._stagnation import NOTHING_ASKED, Stagnation
from skfairtest.oracle._stop import StopReason, StopSearch
from skfairtest.space._space import InputSpace


class SoFar:
    """What a run has spent and found so far, as it stands when it is read."""

    def __init__(self, budget: Budget, model: Model, record: Record) -> None:
        self._budget, self._model, self._record = budget, model, record

    @property
    def queries(self) -> int:
        """Queries."""
        return self._model.n_rows

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._budget.seconds

    @property
    def inputs(self) -> int:
        """Distinct inputs."""
        return self._record.n_inputs

    @property
    def found(self) -> int:
        """Unique discriminatory inputs."""
        return self._record.n_found

    @property
    def degree(self) -> float:
        """The largest disparity."""
        return self._record.degree


class Left:
    """What is left of each limit of a run, or of the part of it that runs; infinite without one."""

    def __init__(self, budget: Budget, so_far: SoFar) -> None:
        self._budget, self._so_far = budget, so_far

    @property
    def queries(self) -> float:
        """Queries."""
        return self._budget.limits["max_queries"] - self._so_far.queries

    @property
    def seconds(self) -> float:
        """Seconds."""
        return self._budget.seconds_left

    @property
    def inputs(self) -> float:
        """Distinct inputs that may still be judged."""
        return self._budget.limits["max_inputs"] - self._so_far.inputs

    @property
    def ends_by_time_alone(self) -> bool:
        """Whether max_time is the only limit: no run of a seed repeats exactly."""
        limits = self._budget.limits
        counted = min(limits["max_queries"], limits["max_inputs"], limits["max_found"])
        return bool(np.isinf(counted) and np.isfinite(limits["max_time"]))


class StopPolicy:
    """End a run if its budget is spent, nothing new is found, or a callback asks for it.

    Parameters
    ----------
    budget : Budget
        Limits, and the clock.
    model : Model
        Whose queries count.
    record : Record
        What was found.
    space : InputSpace
        The inputs that exist.
    progress : callable or None
        Called as ``progress(share, line)`` after each batch; True ends the run.
    """

    def __init__(
        self, budget: Budget, model: Model, record: Record, space: InputSpace, *,
        progress: Callable[[float, str], bool] | None,
    ) -> None:  # fmt: skip
        self.budget, self.progress = budget, progress
        self._model, self._record = model, record
        self.so_far = SoFar(budget, model, record)
        self.left = Left(budget, self.so_far)
        #: Queries that the history tells of.
        self._n_noted = 0
        #: Inputs that there are; infinitely many where twins cannot be listed, as a known input may
        #: still differ from one that was not drawn yet.
        self._n_inputs = space.n_inputs if space.twins_.is_enumerable else np.inf
        self._n_combinations = space.twins_.n_combinations
        #: Whether of some input not all twins were compared.
        self._left_out = False
        self._stagnation = Stagnation()
        #: The part of the run that has a budget of its own, the innermost one.
        self._part: SubBudget | None = None

    # What is left --------------------------------------------------------------------------

    def affordable(
        self, *, batches: float, cost_of_input: float, least: float, most: float, whole: bool
    ) -> int:
        """Return the size of a batch; see `SearchHandle.affordable`."""
        limits = self.budget.limits
        queries = limits["max_queries"] if whole else self.left.queries
        inputs = limits["max_inputs"] if whole else self.left.inputs
        n = min(most, max(least, min(queries / (batches * cost_of_input), inputs / batches)))
        in_time = self.budget.queries_in_time(1 / batches, np.inf, whole=whole)
        return int(max(1, min(n, in_time / cost_of_input)))

    @contextmanager
    def sub_budget(
        self, *, max_queries: float, max_time: float, counts_stagnation: bool
    ) -> Iterator[SubBudget]:
        """Limit a part of the run by its own budget; see `SearchHandle.sub_budget`."""
        part, around = SubBudget(), self._part
        before = self._stagnation.n_batches, self._stagnation.n_inputs
        limits = {
            "max_queries": self._model.n_rows + max_queries,
            "max_time": self.budget.seconds + max_time,
        }
        self._part = part
        try:
            with self.budget.narrowed(part, **limits):
                yield part
        except StopSearch as stop:
            if stop.owner is not part:
                raise
            part.stop = stop
        finally:
            self._part = around
        if not counts_stagnation:
            self._stagnation.go_back(before)
        elif part.stop is not None and part.stop.kind is StopReason.STALLED:
            self._stagnation.go_back(before, stalled_parts=1)

    # The end -------------------------------------------------------------------------------

    def note(self) -> None:
        """Add what was spent and found so far to the history."""
        now = self.so_far
        self._n_noted = now.queries
        self._record.history.add(now.queries, now.seconds, now.inputs, now.found, now.degree)

    def note_rest(self) -> None:
        """Add queries since the last batch to the history, if there are any."""
        if self.so_far.queries > self._n_noted:
            self.note()

    def stop(self, limit: StopReason) -> NoReturn:
        """End the run at a limit, and add queries since the last batch to its history."""
        self.note()
        raise self.budget.reached(limit)

    def afford(self, n_rows: int) -> None:
        """End the run if it cannot afford so many rows."""
        if n_rows * self._model.cost > self.left.queries:
            self.stop(StopReason.MAX_QUERIES)

    def check_time(self) -> None:
        """End the run if max_time is over."""
        if self.budget.seconds_left <= 0:
            self.stop(StopReason.MAX_TIME)

    def end_empty_batch(self) -> None:
        """End the run if nothing could be asked in many batches."""
        self.check_time()
        self._stagnation.count(NOTHING_ASKED, news=False)
        self._check_stagnation()

    def end_batch(self, n: int, *, n_twins: int, news: bool, complete: bool) -> None:
        """End the run if this is due after a batch of n inputs.

        `n_twins` are compared of each. `news` says whether the batch brought anything new,
        `complete` whether all of it was judged.
        """
        self._left_out |= n_twins < self._n_combinations
        self._stagnation.count(n, news=news)
        so_far, seconds = self.so_far, self.budget.seconds
        spent = {
            "max_queries": so_far.queries,
            "max_time": seconds,
            "max_found": so_far.found,
            "max_inputs": so_far.inputs,
        }
        self.note()
        if self.progress is not None:
            line = (
                f"{so_far.queries} queries, {so_far.inputs} inputs, {so_far.found} "
                f"discriminatory, degree {so_far.degree:.4g}, {seconds:.1f} s"
            )
            if self.progress(self.budget.share_spent(spent), line):
                raise StopSearch(StopReason.CALLBACK)
        self.budget.check(spent)
        # Less than a pair is nothing left.
        pair = 2 * self._model.cost
        if not complete or self.left.queries < pair:
            raise self.budget.reached(StopReason.MAX_QUERIES)
        if self.budget.is_late_for(pair):
            raise self.budget.reached(StopReason.MAX_TIME)
        self._check_stagnation()

    def _check_stagnation(self) -> None:
        self._stagnation.check(
            all_seen=self._record.n_inputs >= self._n_inputs,
            n_twins=self._n_inputs * self._n_combinations if self._left_out else 0,
            part=self._part,
        )
