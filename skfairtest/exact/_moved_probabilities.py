"""Bound the probabilities of linear models for moved twins.

The scores of two moved twins are a point in a plane, the sum of what each column gives to the one
and to the other. The difference of their probabilities rises with the first score and falls with
the second, so that of two sums only the one that is beaten in neither counts. Columns of few values
are added up one after another, and sums that are beaten are left out. Of columns of many values,
the largest weighted difference of the two parts is known for any weights (`MovedLinear.most`):
their sums lie on one side of a line. Lines are added until they cut off no more where the
difference of probabilities is largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skfairtest._typing import Floats, Ints
from skfairtest.exact._bracket import Bracket, Limits
from skfairtest.exact._moved_cells import RANKS
from skfairtest.exact._moved_linear import MovedLinear

#: Sums of columns of few values that are kept; neighbours beyond are taken as one that beats both.
MOST_SUMS = 2**14
#: Lines for a pair of groups, and the least angle between two of them.
MOST_LINES, LEAST_ANGLE = 24, 1e-4
#: Rounds of halving the way along the lines.
MOST_ROUNDS = 60
#: Largest second derivative of the logistic function.
BEND = 1 / (6 * np.sqrt(3))
#: Values of a column of many values among which rows are looked for, sums of columns that are kept
#: for it, and how often they are looked for between fewer values.
N_VALUES, MOST_TRIED, ZOOMS = 256, 2**11, 4
#: Why a bracket is open that has columns of many values.
STRAIGHT = (
    "the bound takes what columns of many values give to both twins together as bounded by "
    "straight lines, which the transport's curves need not reach"
)


class _Sums(NamedTuple):
    """Sums of columns of few values that no other one beats, (n, 2), the largest first one first.

    `steps` has for each column its codes and, for each sum, the places of the sum before it and of
    the code.
    """

    scores: Floats
    steps: list[tuple[int, Floats, Ints, Ints]]

    def codes(self, place: int) -> dict[int, float]:
        """Return the codes that a sum is made of."""
        found = {}
        for j, codes, before, of in reversed(self.steps):
            found[j] = float(codes[of[place]])
            place = int(before[place])
        return found


class _Line(NamedTuple):
    """Sums lie where ``cos(angle) * first - sin(angle) * second`` is at most a bound."""

    angle: float
    bound: float


class MovedProbabilities(MovedLinear):
    """Linear model of two classes as it was read, and rows that a transport moves."""

    def root_bound(self) -> float:
        """Bound by the largest difference of scores; over it a probability rises by so much."""
        return float(np.tanh(self.base.factor * super().root_bound() / 4))

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        """Return the largest difference, and a pair that shows it."""
        lower, upper, twins, straight = incumbent, incumbent, None, False
        for bound, own, g, h, _, _ in self.found:
            largest = float(np.tanh(self.base.factor * max(bound, 0.0) / 4))
            if largest <= lower * (1 + limits.rtol / 2) or limits.is_late:
                upper = max(upper, largest)  # and so are all that follow
                break
            search = _PairSearch(self, own, (g, h), limits)
            found = search.run(lower)
            upper = max(upper, min(found.upper, largest))
            straight |= bool(search.many)
            if found.twins is not None:
                lower, twins = found.lower, found.twins
        upper = max(upper, lower)
        reason = "closed"
        if upper * (1 - limits.rtol) > lower + 2 * self.rounding:
            reason = "time" if limits.is_late else STRAIGHT if straight else RANKS
        return Bracket(lower, upper, twins, 0, reason)


class _PairSearch:
    """Bounds the difference between the twins in two groups of the rows of one group."""

    def __init__(
        self, family: MovedProbabilities, own: int, pair: tuple[int, int], limits: Limits
    ) -> None:
        self.family, self.own, self.pair, self.limits = family, own, pair, limits
        tables = {j: family.table_of(j, own) for j in family.used}
        self.many = [j for j, table in tables.items() if table is None]
        self.few = {j: table for j, table in tables.items() if table is not None}
        self.sums = self._sums(self.few, MOST_SUMS)
        self.lines = [self._line(angle) for angle in (0.0, np.pi / 4, np.pi / 2)]

    def run(self, known: float) -> Bracket:
        """Return a bound, and twins that differ by more than `known`, if there are any."""
        lower, twins = self._attained(known)
        while True:
            upper, scores = self._along(self._corners(), lower)
            if upper <= lower * (1 + self.limits.rtol / 2) or self.limits.is_late:
                break
            # Where it is largest, a line along which the difference neither rises nor falls.
            slopes = expit(scores) * expit(-scores)
            angle = float(np.arctan2(slopes[1], slopes[0]))
            nearest = min(abs(angle - line.angle) for line in self.lines)
            if not self.many or len(self.lines) >= MOST_LINES or nearest < LEAST_ANGLE:
                break
            self.lines = sorted([*self.lines, self._line(angle)])
        return Bracket(lower, upper, twins, 0, "")

    def _attained(self, known: float) -> tuple[float, tuple[Floats, ...] | None]:
        """Return the largest difference of rows that were met, and their twins.

        Columns of many values have some of them, each time nearer to those of the best row.
        """
        family, domain = self.family, self.family.space.domain
        best: tuple[float, tuple[Floats, ...] | None] = (known, None)
        around = {j: (float(domain.low[j]), float(domain.high[j])) for j in self.many}
        for _ in range(ZOOMS if self.many else 1):
            values = {j: np.linspace(*ends, N_VALUES) for j, ends in around.items()}
            more = {j: family.parts_of(j, self.own, codes) for j, codes in values.items()}
            sums = self._sums(self.few | more, MOST_TRIED)
            codes = sums.codes(int(_differences(sums.scores).argmax()))
            Z = family.rows_of(self.own, codes)
            gaps, twins = family.gaps(Z, self.pair)
            k = int(gaps.argmax())
            if gaps[k] > best[0]:
                best = float(gaps[k]), (twins[0][k], twins[1][k], Z[k])
            for j, (low, high) in around.items():
                width = 2 * (high - low) / N_VALUES
                around[j] = max(low, codes[j] - width), min(high, codes[j] + width)
        return best

    # Scores -----------------------------------------------------------------------------------

    def _sums(self, tables: dict[int, tuple[Floats, Floats]], most: int) -> _Sums:
        """Add up columns of some values; scores are times the factor of the link."""
        factor = self.family.base.factor
        # With what columns of one value add, which is no matter for differences of scores.
        scores = np.full((1, 2), factor * self.family.base.effects.base[0])
        steps = []
        for j, (parts, codes) in tables.items():
            step = factor * parts[:, list(self.pair), 0]
            own = _unbeaten(step)
            every = (scores[:, None] + step[own]).reshape(-1, 2)
            kept = _unbeaten(every)
            scores, kept = _thinned(every[kept], kept, most)
            steps.append((j, codes[own], kept // len(own), kept % len(own)))
        return _Sums(scores, steps)

    def _line(self, angle: float) -> _Line:
        """Return the line of an angle that columns of many values do not pass."""
        weights = (float(np.cos(angle)), max(0.0, float(np.sin(angle))))
        bounds = [self.family.most(j, self.own, self.pair, 0, weights).bound for j in self.many]
        return _Line(angle, self.family.base.factor * float(np.sum(bounds)))

    def _corners(self) -> Floats:
        """Return where each line meets the next one, (n_lines - 1, 2)."""
        angles = np.array([line.angle for line in self.lines])
        bounds = np.array([line.bound for line in self.lines])
        between = np.sin(np.diff(angles))
        first = bounds[:-1] * np.sin(angles[1:]) - bounds[1:] * np.sin(angles[:-1])
        second = bounds[:-1] * np.cos(angles[1:]) - bounds[1:] * np.cos(angles[:-1])
        # Rounding grows where lines are nearly parallel.
        room = 8 * np.finfo(float).eps * (np.abs(bounds[:-1]) + np.abs(bounds[1:]))
        return np.column_stack([(first + room) / between, (second - room) / between])

    # Differences ------------------------------------------------------------------------------

    def _along(self, corners: Floats, known: float) -> tuple[float, Floats]:
        """Return a bound of the difference of any sum along all lines, and where it is largest.

        Where the difference does not exceed `known` it is not looked at more closely.
        """
        ends = self.sums.scores[:, None] + corners
        start, end = (part.reshape(-1, 2) for part in (ends[:, :-1], ends[:, 1:]))
        best, scores = known, ends[0, 0]
        for turn in range(MOST_ROUNDS + 1):
            at_start, at_end = _differences(start), _differences(end)
            for at, points in ((at_start, start), (at_end, end)):
                if at.max() > best:
                    best, scores = float(at.max()), points[at.argmax()]
            # No more than from the better of both scores, and no more than the bend allows.
            better = np.column_stack([start[:, 0], end[:, 1]])
            bend = BEND / 8 * ((start - end) ** 2).sum(axis=1)
            bounds = np.minimum(_differences(better), np.maximum(at_start, at_end) + bend)
            enough = best * (1 + self.limits.rtol / 8) + 1e-16
            live = bounds > enough
            if not live.any() or turn == MOST_ROUNDS:
                break
            start, end = start[live], end[live]
            middle = (start + end) / 2
            start, end = np.concatenate([start, middle]), np.concatenate([middle, end])
        return max(enough, float(bounds[live].max(initial=0.0))), scores


def _differences(scores: Floats) -> Floats:
    """Return the differences of the probabilities of two scores, (n, 2)."""
    return np.asarray(expit(scores[:, 0]) - expit(scores[:, 1]))


def _unbeaten(scores: Floats) -> Ints:
    """Return the places of pairs such that no other has a larger first and a smaller second one.

    Those with the largest first score come first.
    """
    order = np.lexsort((scores[:, 1], -scores[:, 0]))
    second = scores[order, 1]
    least = np.minimum.accumulate(second)
    kept = np.append(True, second[1:] < least[:-1])
    return order[kept]


def _thinned(scores: Floats, places: Ints, most: int) -> tuple[Floats, Ints]:
    """Return at most so many sums, each of which beats those in whose place it is."""
    size = -(-len(scores) // most)
    if size == 1:
        return scores, places
    first = np.arange(0, len(scores), size)
    last = np.minimum(first + size, len(scores)) - 1
    return np.column_stack([scores[first, 0], scores[last, 1]]), places[first]
