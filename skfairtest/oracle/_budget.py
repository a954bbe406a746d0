"""Limits of a run, its costs so far, and the time that a query takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from skfairtest import _clock
from skfairtest.oracle._stop import LIMITS, StopReason, StopSearch

#: A call that takes no longer than so many times the shortest one may have twice as many queries:
#: most of its time is that of the call.
MOSTLY_THE_CALL = 1.5
#: Seconds that a call may be late by chance, whatever the model: on a busy machine, and then not
#: the next one, too.
HICCUP = 0.05


class CallTimes:
    """How long calls took, and by that how long a call of so many queries takes at most.

    A call takes some time, and each of its queries: a call of few and one of many tell both apart.
    After a single one it may all be the time of its queries.
    """

    def __init__(self) -> None:
        #: Queries and seconds of a call of few, and of one of many.
        self._few = self._many = (0, 0.0)
        #: The same of the last call, where it was late: by chance, or the model is slower now.
        self._late = (0, 0.0)

    def add(self, n: int, seconds: float) -> None:
        """Take a call of n queries; one far from what was known so far begins anew."""
        is_late = seconds > max(HICCUP, 2 * self._usually(n))
        is_slower = is_late and (self._late[0] or seconds > 5 * HICCUP)
        self._late = (n, seconds) if is_late and not is_slower else (0, 0.0)
        few, least = self._few
        is_faster = n >= few and max(5 * HICCUP, MOSTLY_THE_CALL * seconds) < least
        if self.is_empty or is_slower or is_faster:
            self._few = self._many = (n, seconds)
        elif n <= few:
            self._few = (n, seconds)
        elif n >= self._many[0]:
            self._many = (n, seconds)

    @property
    def is_empty(self) -> bool:
        """Whether there was no call yet."""
        return not self._few[0]

    @property
    def is_one(self) -> bool:
        """Whether nobody knows yet if time goes into calls or into queries."""
        return self._few[0] == self._many[0]

    @property
    def is_mostly_the_call(self) -> bool:
        """Whether a call of many took hardly longer than one of few."""
        return not self.is_one and self._many[1] <= MOSTLY_THE_CALL * self._few[1]

    @property
    def of_a_call(self) -> float:
        """Seconds of a call without its queries."""
        return max(0.0, self._few[1] - self._few[0] * self._of_a_query)

    @property
    def _of_a_query(self) -> float:
        (few, least), (many, most) = self._few, self._many
        mean = most / max(1, many)
        # Never much less than the mean of the larger call: times vary.
        return mean if self.is_one else max((most - least) / (many - few), 0.1 * mean)

    def at_most(self, n: float) -> float:
        """Return the seconds that a call of n queries takes at most, if nothing changes."""
        late, took = self._late
        return max(self._usually(n), took * n / late if late else 0.0)

    def _usually(self, n: float) -> float:
        return self._few[1] + self._of_a_query * max(0.0, n - self._few[0])

    def fitting(self, seconds: float) -> float:
        """Return the largest number of queries of a call that ends in time; 0 for none."""
        if seconds < self._few[1]:
            return 0.0
        of_a_query = self._of_a_query
        more = (seconds - self._few[1]) / of_a_query if of_a_query else np.inf
        late, took = self._late
        return float(min(self._few[0] + more, seconds * late / took if late else np.inf))


class Budget:
    """The limits of a run, and the pace of its queries.

    Parameters
    ----------
    max_queries, max_time, max_found, max_inputs : number or None
        Queries so far, seconds, unique discriminatory inputs, distinct inputs.
    quoted : dict of str to number or None, default=None
        The limits of the whole run as the user gave them, by the same names, where those above are
        a part of them: messages quote no others.
    seconds_spent : float, default=0.0
        What of max_time was spent before.
    """

    def __init__(
        self,
        *,
        max_queries: float | None = None,
        max_time: float | None = None,
        max_found: float | None = None,
        max_inputs: float | None = None,
        quoted: Mapping[str, float | None] | None = None,
        seconds_spent: float = 0.0,
    ) -> None:
        given = {
            "max_queries": max_queries,
            "max_time": max_time,
            "max_found": max_found,
            "max_inputs": max_inputs,
        }
        self.limits = {name: np.inf if value is None else value for name, value in given.items()}
        self.quoted = {**given, **(quoted or {})}
        #: Who has set each limit, where that is a part of the run.
        self._owners: dict[str, SubBudget | None] = {}
        self._start = _clock.now() - seconds_spent
        #: The time of `_clock.now` by which the run has to end that `max_time` is a part of.
        self.run_ends = np.inf
        #: Learns from every call of the model where the run lets it.
        self.calls = CallTimes()
        #: Seconds that a query took when the model was asked last; 0 before.
        self.seconds_a_query = 0.0
        #: Queries of the call that this was learned from.
        self._n_timed = 0
        self._shortest_call = np.inf
        #: Queries that a call may have whatever its share of the time, to see whether most of the
        #: time is that of the call.
        self._trial = 0

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return _clock.now() - self._start

    @property
    def seconds_left(self) -> float:
        """Seconds until max_time; infinite without."""
        return self.limits["max_time"] - self.seconds

    @property
    def run_left(self) -> float:
        """Seconds until the whole run has to end; infinite where nothing ends."""
        return self.run_ends if np.isinf(self.run_ends) else max(0.0, self.run_ends - _clock.now())

    @property
    def deadline(self) -> float | None:
        """The time of `_clock.now` at which max_time is over; None without."""
        end = self._start + self.limits["max_time"]
        return float(end) if np.isfinite(end) else None

    def took(self, n_queries: int, seconds: float) -> None:
        """Update the time that a query takes from the latest queries.

        Of a call of few, most of the time may be that of the call: all that it says is that one of
        more takes as long.
        """
        if not n_queries:
            return
        pace = seconds / n_queries
        if n_queries >= self._n_timed or pace < self.seconds_a_query:
            self._n_timed, self.seconds_a_query = n_queries, pace
        else:
            self.seconds_a_query = max(self.seconds_a_query, seconds / self._n_timed)
        self._shortest_call = min(self._shortest_call, seconds)
        if seconds <= MOSTLY_THE_CALL * self._shortest_call:
            self._trial = max(self._trial, 2 * n_queries)
        else:  # one slow call is no reason to begin anew with a few queries
            self._trial = min(self._trial, max(self._trial, n_queries) // 2)

    def queries_in_time(
        self, share: float = 0.5, unknown: float = 8, *, whole: bool = False
    ) -> float:
        """Return how many queries fit into a share of the time left.

        Never so few that the call itself would take most of the time, if half of the time left is
        enough for that; infinite without max_time. Before the first query it is `unknown`, a few,
        as one may take seconds. With `whole` it is a share of the whole time, while that is no
        large share of the time left: batches do not become smaller and smaller, in which calls
        would take most of the time.
        """
        if np.isinf(self.limits["max_time"]):
            return np.inf
        if not self.seconds_a_query:
            return unknown
        left = self.seconds_left
        seconds = share * left
        if whole:
            # A quarter of the time left at most: inputs that discriminate are asked about twice.
            seconds = max(seconds, min(share * self.limits["max_time"], 0.25 * left))
        # None is cut below a hundredth of a second.
        n = max(seconds, 0.01) / self.seconds_a_query
        # Twice the queries take twice the time at most.
        if 2 * MOSTLY_THE_CALL * self._shortest_call <= 0.5 * left:
            n = max(n, self._trial)
        return n

    def next_call(self, wanted: float, n_calls: int = 1) -> float:
        """Return how many of the queries that are wanted to ask now; 0 where the time is over.

        It is all of them if they end, by what `calls` knows, in half of the time of the whole run:
        what is nearly done is not cut short. Otherwise as many as end within `max_time`, or a few
        more while that may show that most of the time is that of the call. `n_calls` follow each
        other, of which one has most of the queries.
        """
        left, of_run = self.seconds_left, self.run_left
        if np.isinf(left):
            return wanted
        others = (n_calls - 1) * self.calls.of_a_call
        if self.calls.is_empty:
            return min(wanted, 1.0)
        if self.calls.at_most(wanted) + others <= 0.5 * of_run:
            return wanted
        n = self.calls.fitting(0.9 * left - others)
        if self.calls.is_one:
            # One call may have been slow because it was the first: another one tells.
            least = float(self.calls.at_most(1) <= of_run)
            n = max(n, least, min(8, self.calls.fitting(of_run / 3 - others)))
        elif self.calls.is_mostly_the_call:
            n = max(n, self.calls.fitting(0.5 * of_run - others))
        return min(wanted, n)

    def is_late_for(self, n_queries: int) -> bool:
        """Return whether so many queries would end after max_time, by the pace of earlier ones.

        Of a single query nobody knows whether the model was slow or only slow to begin.
        """
        return self._n_timed > 1 and n_queries * self.seconds_a_query > self.seconds_left

    def share_spent(self, spent: dict[str, float]) -> float:
        """Return the largest share of a limit that is spent."""
        limits = self.limits
        return max(spent[name] / limits[name] if limits[name] > 0 else 1.0 for name in spent)

    def check(self, spent: dict[str, float]) -> None:
        """End the run at the first limit that is reached."""
        for name, value in spent.items():
            if value >= self.limits[name]:
                raise self.reached(LIMITS[name])

    def reached(self, kind: StopReason) -> StopSearch:
        """Return the stop at a limit, which its text names with the value that the user gave."""
        quoted = self.quoted[kind.value]
        return StopSearch(
            kind,
            owner=self._owners.get(kind.value),
            limit=self.limits[kind.value] if quoted is None else quoted,
        )

    @contextmanager
    def narrowed(self, owner: SubBudget | None = None, /, **limits: float) -> Iterator[None]:
        """Set smaller limits within a context; limits above those of the run have no effect.

        A stop at one of them belongs to `owner`.
        """
        before = self.limits, self._owners
        smaller = {name: value for name, value in limits.items() if value < self.limits[name]}
        self.limits = self.limits | smaller
        self._owners = self._owners | dict.fromkeys(smaller, owner)
        try:
            yield
        finally:
            self.limits, self._owners = before


class SubBudget:
    """Part of a run with its own budget; `stop` tells which of its limits ended it, or is None."""

    def __init__(self) -> None:
        self.stop: StopSearch | None = None
