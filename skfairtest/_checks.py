"""Checks of the numbers that testers take as parameters, with one wording for all of them."""

from __future__ import annotations

import math
import numbers
from typing import Any


def check_whole(owner: Any, least: dict[str, int], *, optional: tuple[str, ...] = ()) -> None:
    """Check whole numbers by their least value; those in `optional` may be None."""
    for name, smallest in least.items():
        value = getattr(owner, name)
        if value is not None or name not in optional:
            check_one_whole(name, value, smallest, "None or " if name in optional else "")


def check_one_whole(name: str, value: Any, least: int, none: str = "") -> None:
    """Check one whole number; `none` says in words whether None is allowed, too."""
    fits = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not fits or value < least:
        raise ValueError(
            f"{name} must be {none}a whole number of at least {least}; got {value!r}. Leave it "
            "out for the default."
        )


def check_real(owner: Any, intervals: dict[str, str], *, hint: str = "") -> None:
    """Check real numbers by an interval written as in mathematics, such as "[0, 1)"."""
    for name, interval in intervals.items():
        value = getattr(owner, name)
        if not is_real(value) or not _inside(float(value), interval):
            # The hint first: it says what the number means, hence what to write instead.
            say = hint or "Leave it out for the default."
            raise ValueError(f"{name} must be a number in {interval}; got {value!r}. {say}")


def is_real(value: Any) -> bool:
    """Whether the value is a finite number, truth values left out."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and math.isfinite(value)


def _inside(value: float, interval: str) -> bool:
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return above and below
