"""The clock that every time limit, and every number of seconds in a result, is read from.

Tests put a clock of their own in its place, so that no outcome depends on how fast the machine is.
"""

from __future__ import annotations

import math
import time


def now() -> float:
    """Seconds since a moment that does not change while the process lives."""
    return time.perf_counter()


class OutOfTime(Exception):
    """The time was up before a model had been read."""


def check_time(deadline: float) -> None:
    """End the reading of a model when the time is up."""
    if now() >= deadline:
        raise OutOfTime


class Deadline:
    """A moment by which something has to end.

    Parameters
    ----------
    seconds : float or None
        From now on; None never ends.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._end = math.inf if seconds is None else now() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left: infinity where nothing ends, 0 where the time is over."""
        return max(0.0, self._end - now())

    @property
    def seconds(self) -> float | None:
        """Seconds that are left, or None where nothing ends: as `max_time` of an auditor."""
        return None if math.isinf(self._end) else self.left
