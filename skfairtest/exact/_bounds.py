"""The bounds of a fairness degree in the end; auditor, certificate and report hold them alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Bounds(NamedTuple):
    """What is known of a fairness degree in the end, from which all flags follow.

    `lower` the model has confirmed, and nothing exceeds `upper`. `rtol` is the relative gap that is
    narrow enough, and `single` the gap that the model's own single precision may leave.
    """

    lower: float
    upper: float
    rtol: float
    single: float = 0.0

    @property
    def gap(self) -> float:
        """By how much the bounds differ."""
        return self.upper - self.lower

    def within(self, tolerance: float) -> bool:
        """Return whether the bounds agree to `rtol` and a number; nothing agrees with infinity."""
        return bool(np.isfinite(self.upper)) and self.gap <= self.rtol * self.upper + tolerance

    @property
    def certified(self) -> bool:
        """Whether the bounds agree to `rtol`, or up to a little that single precision may do."""
        # Beyond 1e-4 of the bound people would write the two differently.
        return self.within(min(self.single, 1e-4 * self.upper))

    @property
    def is_loose(self) -> bool:
        """Whether the upper bound is more than twice the lower one."""
        return self.upper > 2 * self.lower
