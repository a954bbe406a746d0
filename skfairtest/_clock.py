"""The clock that every time limit, and every number of seconds in a result, is read from.

Tests put a clock of their own in its place, so that no outcome depends on how fast the machine is.
"""

from __future__ import annotations

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
