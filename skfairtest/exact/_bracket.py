"""What a bounding search returns and notes on its way, and when it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from skfairtest import _clock
from skfairtest._typing import Floats

#: What is noted of a bracket at a time.
COLUMNS = ("seconds", "boxes", "degree", "bound")
#: Share of the gap that has to close until a history has another point.
LEAST_STEP = 0.01

#: Takes both ends of a bracket and the number of boxes so far.
Note = Callable[[float, float, int], None]


def unnoted(lower: float, upper: float, n_boxes: int) -> None:
    """Note nothing: of a search whose bracket is not that of the whole."""


class BoundHistory:
    """What was known of the largest difference after so many seconds: an attained one, and a bound.

    Parameters
    ----------
    seconds : callable
        Returns the seconds since the run began.

    Attributes
    ----------
    points : dict of str to list
        The columns `seconds`, `boxes`, `degree` and `bound`, by time. Bounds never rise and degrees
        never fall. There is a point wherever the degree grew or a hundredth of the gap closed.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self.points: dict[str, list[float]] = {name: [] for name in COLUMNS}

    def note(self, lower: float, upper: float, n_boxes: int) -> None:
        """Add a point, if it tells more than the one before."""
        points = self.points
        if points["bound"]:
            degree, bound = points["degree"][-1], points["bound"][-1]
            # A search of one more output, or by another engine, begins with a worse bracket.
            lower, upper = max(lower, degree), min(upper, bound)
            if lower == degree and upper > bound - LEAST_STEP * (bound - degree):
                return
        self._add(lower, upper, n_boxes)

    def end(self, lower: float, upper: float, n_boxes: int) -> None:
        """Add the bracket that the model has confirmed; what it did not confirm was not known."""
        self.points["degree"] = [min(degree, lower) for degree in self.points["degree"]]
        self.points["bound"] = [max(bound, upper) for bound in self.points["bound"]]
        self._add(lower, upper, n_boxes)

    def _add(self, lower: float, upper: float, n_boxes: int) -> None:
        point = self._seconds(), int(n_boxes), float(lower), float(max(lower, upper))
        for name, value in zip(self.points, point, strict=True):
            self.points[name].append(value)


class Limits(NamedTuple):
    """Limits of a search: its deadline, and the width at which a bracket is closed.

    `note` is told the bracket while it closes; searches of a part of the whole leave it out.
    """

    deadline: float
    rtol: float
    note: Note = unnoted

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
