"""The clock of the tests, which goes on when it is read and not because time passes."""

from __future__ import annotations

import threading

from skfairtest import _clock

#: Seconds that one reading takes.
STEP = 1e-3
#: Real seconds that only end a run that hangs.
HANGING = 600


class ReadingsClock:
    """Each reading is a step later than the one before; a test can let more time pass.

    With it `max_time` is a number of readings: an outcome is the same on a fast machine, on a slow
    one, and on one that does other work. What runs in a process of its own has the real clock.

    Attributes
    ----------
    step : float
        Seconds from one reading to the next.
    n_readings : int
        How often it was read.
    interrupts_at : int or None
        The reading at which the user presses Ctrl-C, once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Begin anew: rounding of seconds must not depend on the tests that ran before."""
        self._seconds = 100.0
        self.step = STEP
        self.n_readings = 0
        self.interrupts_at: int | None = None

    def now(self) -> float:
        """The next reading, in seconds."""
        with self._lock:
            self._seconds += self.step
            self.n_readings += 1
            if self.n_readings == self.interrupts_at:
                raise KeyboardInterrupt
            return self._seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass, in no time."""
        with self._lock:
            self._seconds += seconds


CLOCK = ReadingsClock()


def install() -> None:
    """Let the package read this clock, from here on."""
    _clock.now = CLOCK.now
