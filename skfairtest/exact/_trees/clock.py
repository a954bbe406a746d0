"""The end of the time that reading a model may take."""

from __future__ import annotations

import time


class OutOfTime(Exception):
    """The time was up before all attributes were cut into cells."""


def check_time(deadline: float) -> None:
    """End the reading of a model when the time is up."""
    if time.perf_counter() >= deadline:
        raise OutOfTime
