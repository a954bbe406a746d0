"""The base of verifiers, when their search stops, and what it notes and returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from skfairtest import _clock
from skfairtest._progress import tell
from skfairtest._typing import Floats
from skfairtest.exact._bounds import Bounds
from skfairtest.exact._compared_rows import rows_with_ends
from skfairtest.finding._words import number
from skfairtest.space._space import InputSpace

#: What is noted of the bounds at a time.
COLUMNS = ("seconds", "boxes", "degree", "bound")
#: Encoded values of two twins.
Twins = tuple[Floats, Floats]
#: Returns the twins that attain the lower bound, or None if the search has none.
Attained = Callable[[], Twins | None]


def unattained() -> None:
    """Return no twins."""


class Note(Protocol):
    """Takes both bounds, the number of boxes so far, and what attains the lower one."""

    def __call__(
        self, lower: float, upper: float, n_boxes: int, twins: Attained = unattained, /
    ) -> None:
        """Note both bounds; `twins` is only called if the lower one has risen."""


def unnoted(lower: float, upper: float, n_boxes: int, twins: Attained = unattained, /) -> None:
    """Note nothing: of a search whose bounds are not those of the whole."""


class BoundHistory:
    """What was known of the largest difference after so many seconds: an attained one, and a bound.

    What was noted last is what is left of a search that is interrupted.

    - `seconds`: returns the seconds since the run began.

    - `points`: the columns `seconds`, `boxes`, `degree` and `bound`, by time. Bounds never rise and
      degrees never fall. There is a point wherever the degree grew or a hundredth of the gap
      closed.
    - `upper`: the least bound that was noted; infinite before the first one.
    - `n_boxes`: how many boxes were examined.
    - `twins`: encoded values of the best pair that was noted, which the model has not confirmed.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self.points: dict[str, list[float]] = {name: [] for name in COLUMNS}
        self.upper, self.n_boxes = np.inf, 0
        self.twins: Twins | None = None
        self._lower, self._told = 0.0, -np.inf

    def note(
        self, lower: float, upper: float, n_boxes: int, twins: Attained = unattained, /
    ) -> None:
        """Keep both bounds, and add a point if it tells more than the one before."""
        self.upper, self.n_boxes = min(self.upper, upper), max(self.n_boxes, n_boxes)
        if lower > self._lower:
            self._lower, self.twins = lower, twins() or self.twins
        self.tell()
        points = self.points
        if points["bound"]:
            degree, bound = points["degree"][-1], points["bound"][-1]
            # A search of one more output, or by another engine, begins with worse bounds.
            lower, upper = max(lower, degree), min(upper, bound)
            # A history has another point once a hundredth of the gap has closed.
            if lower == degree and upper > bound - 0.01 * (bound - degree):
                return
        self._add(self._seconds(), lower, upper, n_boxes)

    def tell(self) -> None:
        """Tell who listens how far both bounds are, a few times a second at most."""
        now = _clock.now()
        if now - self._told >= 0.25:
            self._told = now
            tell(None, f"between {number(self._lower)} and {number(self.upper)}")

    def bounds(self, degree: float, rtol: float, single: float = 0.0) -> Bounds:
        """Return what is known: more than `degree` the model did not confirm."""
        return Bounds(degree, float(max(self.upper, degree)), rtol, single)

    def end(self, bounds: Bounds, seconds: float) -> None:
        """Add the last point, that of a run of so many seconds."""
        self.points["degree"] = [min(one, bounds.lower) for one in self.points["degree"]]
        self.points["bound"] = [max(one, bounds.upper) for one in self.points["bound"]]
        self._add(seconds, bounds.lower, bounds.upper, self.n_boxes)

    def _add(self, seconds: float, lower: float, upper: float, n_boxes: int) -> None:
        point = seconds, int(n_boxes), float(lower), float(max(lower, upper))
        for name, value in zip(self.points, point, strict=True):
            self.points[name].append(value)


class SolverLimits(NamedTuple):
    """Limits of a search: its deadline, and the relative gap that is narrow enough.

    `note` takes the bounds while the gap closes; searches of a part of the whole leave it out.
    `stalls` says that a search may end where its bounds hardly move any more (`Stall`).
    """

    deadline: float
    rtol: float
    note: Note = unnoted
    stalls: bool = False

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return _clock.now() >= self.deadline

    def by(self, share: float) -> float:
        """Return the moment when a share of the time that is left is over."""
        now = _clock.now()
        return now + share * max(0.0, self.deadline - now)


#: What ends a search whose bounds hardly move any more.
STALLED = "stalled"


class Stall:
    """Whether the bounds of a search hardly move any more, by the work done and not by the time.

    A branch and bound narrows its gap by about as much each time that its boxes double in number.
    Where they doubled and the bound fell by less than half a percent, and the gap by less than a
    tenth, four times the time would bring less than a percent.

    - `least`: boxes before which no search stalls.
    """

    def __init__(self, least: int = 4_000) -> None:
        self._next: float = least / 2
        self._points: list[tuple[int, float, float]] = []

    def is_over(self, lower: float, upper: float, n_boxes: int) -> bool:
        """Take the bounds after so many boxes; return whether there is no point in more."""
        if n_boxes < self._next:
            return False
        self._next = 1.2 * n_boxes
        self._points.append((n_boxes, upper, upper - lower))
        before = [point for point in self._points if 2 * point[0] <= n_boxes]
        if not before:
            return False
        _, bound, gap = before[-1]
        return bound - upper < 0.005 * upper and upper - lower > 0.9 * gap


class Pace:
    """Sizes of batches of rows, which double as long as the time allows it.

    - `first`, `most`: sizes of the first batch and of the largest one.
    - `until`: when all batches should be done, by `_clock.now`.

    - `size`: of the next batch; 0 if there is no time for another one.
    """

    def __init__(self, first: int, most: int, until: float) -> None:
        self._most, self._until, self._began = most, until, _clock.now()
        self.size = first if self._began < until else 0

    def done(self, n: int) -> None:
        """Work out the size of the next batch, after one of `n` rows."""
        now = _clock.now()
        took, self._began = max(now - self._began, 1e-9), now
        self.size = min(2 * self.size, self._most)
        if np.isfinite(self._until):
            self.size = min(self.size, int(n * max(0.0, self._until - now) / took))


class Engine(NamedTuple):
    """What searched for a bound of trees.

    `library` is "numpy" or "numba", and empty where no trees were searched. `advice` is half a
    sentence on what the other one would bring; empty where it is of no use.
    """

    library: str = ""
    advice: str = ""


#: Of closed forms, and of models that are not trees.
NO_ENGINE = Engine()


class SolverResult(NamedTuple):
    """Bounds of the largest difference of one output, and how a solver found them.

    `upper` bounds it. `twins` is a pair, encoded, that attains `lower` as the model was read,
    or None where nothing better than the value given was found. `reason` says why it ended.
    """

    lower: float
    upper: float
    twins: Twins | None
    n_boxes: int
    reason: str
    engine: Engine = NO_ENGINE


class Verifier:
    """Model as it was read: a base for all that can be certified."""

    space: InputSpace
    #: Whether the bounds take next to no time.
    quick: bool = False
    #: How far rounding may carry the outputs of the model itself.
    rounding: float = 0.0
    #: Whether the model computes in single precision.
    single: bool = False
    #: No difference is larger, whatever rounding does: 1 of probabilities.
    most: float = np.inf
    #: Whether outputs that tell twins apart may be further from those of `evaluate` than that.
    vague: bool = False
    #: Queries that are worth spending on a search beforehand. They are few where `solve` looks for
    #: distant twins better itself.
    first_queries: float = np.inf

    def single_tolerance(self, top: float) -> float:
        """Return the gap that single precision may leave, of a model that has it; else 0.

        `top` is the larger output of the pair that was found, which rounding behind an exponential
        is measured by.
        """
        # Each bound is off by the rounding of two outputs.
        return 4 * self.rounding if self.single else 0.0

    def with_rounding(self, upper: float) -> float:
        """Return a bound of what the model computes, from one of the model as it was read."""
        # Where nothing takes twins apart, their outputs are the same to the last bit.
        return min(upper + 2 * self.rounding, max(self.most, upper)) if upper > 0 else upper

    def evaluate(self, Z: Floats) -> Floats:
        """Return outputs of the model as it was read, shape (n, n_outputs)."""
        raise NotImplementedError

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        """Return encoded rows on which a model that was read wrongly would show."""
        return rows_with_ends(self.space, n, rng)

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        """Return rows that take both sides of every test and enter every piece of every step.

        At `until`, by `_clock.now`, as many as there are by then.
        """
        return np.empty((0, 0))

    def ranges(self) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of each output, without what rounding adds to them.

        One entry where they are the same for all outputs.
        """
        return np.array([-np.inf]), np.array([np.inf])

    def root_bound(self) -> float:
        """Return a bound that takes little time."""
        raise NotImplementedError

    def solve(self, incumbent: float, limits: SolverLimits) -> SolverResult:
        """Bound the largest difference of the model as it was read.

        A difference of `incumbent` is attained. `limits` has the relative gap that is narrow
        enough, and `limits.note` takes all bounds on the way.
        """
        raise NotImplementedError
