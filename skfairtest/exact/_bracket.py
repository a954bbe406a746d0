"""What a bounding search returns, and when it stops."""

from __future__ import annotations

from typing import NamedTuple

from skfairtest import _clock
from skfairtest._typing import Floats


class Limits(NamedTuple):
    """Limits of a search: its deadline, and the width at which a bracket is closed."""

    deadline: float
    rtol: float

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return _clock.now() >= self.deadline

    def by(self, share: float) -> float:
        """Return the moment when a share of the time that is left is over."""
        now = _clock.now()
        return now + share * max(0.0, self.deadline - now)


class Bracket(NamedTuple):
    """Bracket of the largest difference of one output.

    `upper` bounds it. `twins` are the codes of a pair that attains `lower` as the model was read,
    or None where nothing better than the value given was found. `reason` says why it ended.
    """

    lower: float
    upper: float
    twins: tuple[Floats, Floats] | None
    n_boxes: int
    reason: str
