"""Figures of a report with the intervals in which they are known to be."""

from __future__ import annotations

import math
from typing import NamedTuple


class KnownFigure(NamedTuple):
    """A figure of a report and the interval in which it is known to be.

    Attributes
    ----------
    figure : str
        Name of the figure, and of what it was measured on.
    value : float
        The measured value. NaN if it was not measured.
    low, high : float
        Bounds of the interval. NaN if a bound is unknown.
    interval : str
        Kind of the interval: "exact", "95% interval", "certified bounds", ...
    of_people : bool
        Whether it is a share of people, which files with ``rows="none"`` leave out.
    """

    figure: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    interval: str = ""
    of_people: bool = False


def real(value: float | None) -> float:
    """A figure of a report as a number: NaN where it is not known."""
    return math.nan if value is None else float(value)
