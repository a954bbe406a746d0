"""The clock that every time limit, and every number of seconds in a result, is read from.

Tests put a clock of their own in its place, so that no outcome depends on how fast the machine is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


def now() -> float:
    """Seconds since a moment that does not change while the process lives."""
    return time.perf_counter()


class OutOfTime(Exception):
    """The time was up before something was done."""


class Deadline(float):
    """The time of `now` by which something has to end, which knows how much of it is left.

    Wherever a deadline is taken, a plain number that is a time of `now` does as well.
    """

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now on; None never ends."""
        return cls(math.inf if seconds is None else now() + seconds)

    @property
    def left(self) -> float:
        """Seconds that are left: infinity where nothing ends, 0 where the time is over."""
        return self if math.isinf(self) else max(0.0, self - now())

    @property
    def seconds(self) -> float | None:
        """Seconds that are left, or None where nothing ends: as `max_time` of an auditor.

        Raises
        ------
        OutOfTime
            If none is left.
        """
        check_time(self)
        return None if math.isinf(self) else max(self - now(), 1e-3)

    def sooner(self, seconds: float | None) -> float | None:
        """These seconds, or those that are left where they are fewer; None where nothing ends."""
        return min((one for one in (seconds, self.seconds) if one is not None), default=None)


def check_time(deadline: float) -> None:
    """End what is being done when the time is up."""
    if deadline < math.inf and now() >= deadline:
        raise OutOfTime


_DEADLINE: ContextVar[float] = ContextVar("deadline", default=math.inf)


@contextmanager
def ending(deadline: float) -> Iterator[None]:
    """Let what looks at the time by `check_ending` in this context end by a time of `now`.

    It is for code that is reached through interfaces which know nothing of time, such as that of
    transports.
    """
    token = _DEADLINE.set(min(deadline, _DEADLINE.get()))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def check_ending() -> None:
    """End what is being done when the time of the context is up."""
    check_time(_DEADLINE.get())
