"""Bound linear models by closed forms.

The two twins' sums differ by the sensitive attributes' own parts alone, so the largest difference
of a sum is what the ranges of these parts add up to. Behind an exponential the other attributes
should bring the sums as high as they can. A logistic function is steepest at even odds: there they
should bring the sums as close to the middle as they can, which is a question of which sums of their
parts can be reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.exact._compared_rows import middle_row, rows_of_pieces
from skfairtest.exact._verifier import SolverLimits, SolverResult, Twins, Verifier
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._effects import Effects, Extremes
from skfairtest.whitebox._features import Features, SideBySide
from skfairtest.whitebox._layers import Affine
from skfairtest.whitebox.graph import (
    EPS,
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    Output,
    Part,
    is_probability,
    is_single,
    link_rounding,
    link_value,
    sum_rounding,
)


def one_map(parts: list[Part]) -> tuple[Features, Affine]:
    """Return sums of effects as one linear map, of all their features side by side."""
    chains: dict[int, Features] = {}
    for part in parts:
        for linear, _, _ in part.effects:
            chains.setdefault(id(linear.features), linear.features)
    features = next(iter(chains.values()))
    if len(chains) > 1:
        features = SideBySide(list(chains.values()))
    ends = np.cumsum([len(own.source) for own in chains.values()])
    place = {key: slice(end - len(chains[key].source), end)
             for key, end in zip(chains, ends, strict=True)}  # fmt: skip
    weights = np.zeros((len(features.source), len(parts)))
    for o, part in enumerate(parts):
        for linear, column, factor in part.effects:
            weights[place[id(linear.features)], o] += factor * linear.weights[:, column]
    return features, Affine(weights, np.array([part.base for part in parts]))


class ClosedForm(Verifier):
    """Outputs that are one link each of a sum of effects.

    - `deadline`: when to stop looking for peaks of sums, by `_clock.now`; bounds are then wider.
    """

    quick = True

    def __init__(self, space: InputSpace, outputs: list[Output], deadline: float = np.inf) -> None:
        self.space, self.outputs = space, outputs
        self._groups = [group for (group,) in outputs]
        self.features, self.map = one_map([group.parts[0] for group in self._groups])
        self.effects = Effects(self.features, *self.map)
        used = {*self.effects.tables, *self.effects.continuous}
        sensitive = [int(j) for j in space.sensitive if int(j) in used]
        self.sensitive = self.effects.extremes(sensitive, deadline)
        if any(group.link == EXPONENTIAL for group in self._groups):
            self.effects.bounds(deadline)  # the bound asks for these
        self.single = any(map(is_single, outputs))
        self.most = 1.0 if all(map(is_probability, outputs)) else np.inf
        self.rounding = max(self._rounding(o) for o in range(len(outputs)))

    def _rounding(self, o: int) -> float:
        """Return how far rounding may carry an output."""
        group = self._groups[o]
        if group.link != EXPONENTIAL:
            return abs(group.weight) * link_rounding(group)
        top = float(np.exp(min(float(self.effects.bounds()[1][o]), 700.0)))
        share = np.expm1(min(sum_rounding(group.parts[0]), 700.0)) + 8 * EPS
        return abs(group.weight) * top * float(share)

    def evaluate(self, Z: Floats) -> Floats:
        sums = self.features.transform(Z) @ self.map.weights + self.map.base
        return np.column_stack([self._linked(o, sums[:, o]) for o in range(sums.shape[1])])

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        return rows_of_pieces(self.space, [self.features], rng)

    def ranges(self) -> tuple[Floats, Floats]:
        bounds = np.array(self.effects.bounds())
        found = np.array([self._linked(o, bounds[:, o]) for o in range(len(self.outputs))])
        return found.min(axis=1), found.max(axis=1)

    def _linked(self, o: int, sums: Floats) -> Floats:
        """Return what an output is of some sums."""
        group = self._groups[o]
        with np.errstate(over="ignore"):
            return np.asarray(group.weight * link_value(group.link, sums[None]))

    def root_bound(self) -> float:
        """Return the bound of the ranges of the sensitive parts."""
        return max(self._bound(o) for o in range(len(self.outputs)))

    def _bound(self, o: int) -> float:
        """Return a bound of an output's differences; exact but for probabilities."""
        group = self._groups[o]
        low, high = self._sensitive_bounds(o)
        gap = high - low
        if gap <= 0:
            # Where weights cancel, rounding alone takes twins apart: anything above zero says so.
            touched = group.parts[0].looks_at(self.space.sensitive)
            return float(np.finfo(np.float64).tiny) if touched else 0.0
        if group.link == IDENTITY:
            return abs(group.weight) * gap
        if group.link == LOGISTIC:
            # Over a difference D the logistic function rises by tanh(D / 4) at most.
            return abs(group.weight) * float(np.tanh(gap / 4))
        most = float(self.effects.bounds()[1][o])
        with np.errstate(over="ignore"):
            return float(abs(group.weight) * -np.expm1(-gap) * np.exp(most))

    def _sensitive_bounds(self, o: int) -> tuple[float, float]:
        """Return the least and the largest part of the sensitive attributes in a sum."""
        found = self.sensitive.values()
        return float(sum(own.low[o] for own in found)), float(sum(own.high[o] for own in found))

    def solve(self, incumbent: float, limits: SolverLimits) -> SolverResult:
        """Return the largest difference, and a pair that shows it."""
        bounds = {o: self._bound(o) for o in range(len(self.outputs))}
        lower, twins, upper = incumbent, None, incumbent
        for o in sorted(bounds, key=lambda o: -bounds[o]):
            if bounds[o] <= lower:
                break
            pairs, bound = self._pairs(o, bounds[o], limits)
            answers = self.evaluate(np.vstack([z for pair in pairs for z in pair]))[:, o]
            gaps = np.abs(answers[0::2] - answers[1::2])
            best = int(gaps.argmax())
            upper = max(upper, bound, float(gaps[best]))
            if gaps[best] > lower:
                lower, twins = float(gaps[best]), pairs[best]
        is_short = upper > lower * (1 + limits.rtol) and limits.is_late
        return SolverResult(lower, max(upper, lower), twins, 0, "time" if is_short else "closed")

    def _pairs(self, o: int, bound: float, limits: SolverLimits) -> tuple[list[Twins], float]:
        """Return pairs of twins, one of which differs most in an output, and a bound of that."""
        first, second = middle_row(self.space), middle_row(self.space)
        for j, found in self.sensitive.items():
            first[j], second[j] = found.at_high[o], found.at_low[o]
        group = self._groups[o]
        if group.link == LOGISTIC:
            return self._even_odds(o, first, second, bound, limits)
        if group.link == EXPONENTIAL:
            used = {*self.effects.tables, *self.effects.continuous}
            free = [int(j) for j in self.space.non_sensitive if int(j) in used]
            for j, found in self.effects.extremes(free, limits.deadline).items():
                first[j] = second[j] = found.at_high[o]
        return [(first, second)], bound

    def _even_odds(
        self, o: int, first: Floats, second: Floats, bound: float, limits: SolverLimits
    ) -> tuple[list[Twins], float]:
        """Return twins whose sums are nearest to the middle, and the largest possible gap."""
        pairs, upper = [], bound
        for listed in (False, True):
            free, own = self._towards_even_odds(o, listed, limits.deadline)
            one, two = first.copy(), second.copy()
            one[self.space.non_sensitive] = two[self.space.non_sensitive] = free
            pairs.append((one, two))
            upper = min(upper, own)
            answers = self.evaluate(np.vstack([one, two]))[:, o]
            gap = abs(float(answers[0] - answers[1]))
            if limits.is_late or gap >= upper * (1 - limits.rtol / 2):
                break
        return pairs, upper

    def _towards_even_odds(self, o: int, listed: bool, until: float) -> tuple[Floats, float]:
        """Choose free attributes that bring the two sums nearest to the middle.

        Attributes of many values are taken as intervals first, which is quick and a bound. Where
        that leaves a gap, those of up to 100,000 whole numbers are `listed`.
        """
        effects, domain = self.effects, self.space.domain
        low, high = self._sensitive_bounds(o)
        middle = -(high + low) / 2 - float(effects.base[o])
        free = {int(j) for j in self.space.non_sensitive}
        sets = {j: table[:, o] for j, table in effects.tables.items() if j in free}
        wide = [j for j in effects.continuous if j in free]
        if listed:
            sizes = domain.high - domain.low + 1
            # Sums that can be reached are found by listing up to 100,000 whole numbers a column.
            few = [j for j in wide if domain.discrete[j] and sizes[j] <= 100_000]
            parts = effects.parts({j: domain.low[j] + np.arange(sizes[j]) for j in few})
            sets |= {j: part[:, o] for j, part in parts.items()}
        continuous = effects.extremes([j for j in wide if j not in sets], until)
        ranges = [(float(found.low[o]), float(found.high[o])) for found in continuous.values()]
        reached = nearest_sum(middle, sets, ranges)
        encoded = middle_row(self.space)
        for j, place in reached.places.items():
            of_table = j in effects.tables
            encoded[j] = self.features.grids[j][place] if of_table else domain.low[j] + place
        for j, value in self._encoded_for(o, continuous, reached.left, until).items():
            encoded[j] = value
        encoded = domain.clip(encoded[None])[0]
        # The gap falls evenly to both sides of the middle.
        score = middle + float(effects.base[o]) + reached.distance
        gap = self._linked(o, np.array([score + high, score + low]))
        return encoded[self.space.non_sensitive], abs(float(gap[0] - gap[1]))

    def _encoded_for(
        self, o: int, found: dict[int, Extremes], left: float, until: float
    ) -> dict[int, float]:
        """Return encoded values of continuous attributes whose parts add up to next to a number.

        All attributes are asked at once. What whole numbers leave, and curves, the next round adds.
        """
        domain = self.space.domain
        sides = {j: _Bisection(own, o, bool(domain.discrete[j])) for j, own in found.items()}
        # Steps of whole numbers leave a rest: the finer ones, and real numbers, make up for it.
        steps = {
            j: side.width / float(domain.high[j] - domain.low[j]) if side.whole else 0.0
            for j, side in sides.items()
        }
        order = sorted(sides, key=lambda j: -steps[j])
        behind = sum((side.under + side.over) / 2 for side in sides.values())
        for turn in range(3):
            rest = left if turn == 0 else left - sum(side.part for side in sides.values())
            for j in order:
                side = sides[j]
                behind -= (side.under + side.over) / 2 if turn == 0 else 0.0
                rest -= (
                    side.aim(rest - behind, steps[j]) if turn == 0 else side.move(rest, steps[j])
                )
            for k in range(70):  # by then an interval is as narrow as numbers are
                asked = {j: np.array([side.guess(k)]) for j, side in sides.items() if side.is_open}
                if not asked or _clock.now() >= until:
                    break
                for j, part in self.effects.parts(asked).items():
                    sides[j].learn(float(asked[j][0]), float(part[0, o]), k)
            if _clock.now() >= until:
                break
            behind = 0.0
        return {j: side.encoded for j, side in sides.items()}


class _Bisection:
    """Looks for a value of a continuous attribute at which its part in a sum is next to a number.

    - `encoded`, `part`: the best one so far, and what the attribute adds there.
    - `under`, `over`: the least and the largest part.
    """

    def __init__(self, found: Extremes, o: int, whole: bool) -> None:
        self._ends = [(float(found.at_low[o]), float(found.low[o])),
                      (float(found.at_high[o]), float(found.high[o]))]  # fmt: skip
        (_, self.under), (_, self.over) = self._ends
        self.width, self.whole, self.is_open = self.over - self.under, whole, False
        self.encoded, self.part = self._ends[0]
        self._wanted = self.under

    def aim(self, wanted: float, step: float) -> float:
        """Begin to look for a number; return what the part is going to be."""
        self._wanted = wanted
        self._below, self._above = self._ends
        self.is_open = self.under < wanted < self.over
        if not self.is_open:
            self.encoded, self.part = self._ends[0 if wanted <= self.under else 1]
            return self.part
        self._take()
        return self.under + float(np.rint((wanted - self.under) / step)) * step if step else wanted

    def move(self, by: float, step: float) -> float:
        """Look for a number further on; return what that is going to add."""
        before = self.part
        whole = float(np.rint(by / step)) * step if step else by
        wanted = min(max(before + whole, self.under), self.over)
        if wanted == before:
            self.is_open = False
            return 0.0
        return self.aim(wanted, step) - before

    def guess(self, turn: int) -> float:
        """Return the next value to look at."""
        (low, under), (high, over) = self._below, self._above
        # Most parts are straight lines, so that the first guess is nearly right.
        share = (self._wanted - under) / (over - under) if turn % 2 == 0 else 0.5
        encoded = low + share * (high - low)
        return float(np.rint(encoded)) if self.whole else encoded

    def learn(self, encoded: float, part: float, turn: int) -> None:
        """Take the part at the value that was asked about."""
        at_end = encoded in (self._below[0], self._above[0])
        exact = abs(part - self._wanted) <= 1e-13 * self.width
        if not at_end or exact:
            if part <= self._wanted:
                self._below = encoded, part
            else:
                self._above = encoded, part
        self.is_open = not exact and not (at_end and turn % 2)
        self._take()

    def _take(self) -> None:
        """Keep the nearer end."""
        is_nearer = self._wanted - self._below[1] <= self._above[1] - self._wanted
        self.encoded, self.part = self._below if is_nearer else self._above


# Which sums of one value from each of several sets come nearest to a target ----------------


class Reached(NamedTuple):
    """How near sums can come to a target.

    No sum is nearer than `distance`. `places` are positions in the sets of a sum that is that near,
    or nearly so where there are very many sums; `left` is what the intervals have to add to it.
    """

    distance: float
    places: dict[int, int]
    left: float


def nearest_sum(
    target: float, sets: dict[int, Floats], intervals: list[tuple[float, float]]
) -> Reached:
    """Return the sum nearest to the target of one value from every set and every interval.

    - `target`: where to come near to.
    - `sets`: values to choose from.
    - `intervals`: values may be anything between.
    - the result: exact where the sums of the sets are at most 9e10; else `distance` is a lower
      bound.
    """
    halves: list[list[int]] = [[], []]
    sizes = [1, 1]
    rest = []
    for j in sorted(sets, key=lambda j: len(sets[j])):
        half = 0 if sizes[0] <= sizes[1] else 1
        # Each half of the sets lists up to 300,000 sums, which take a few megabytes.
        if sizes[half] * len(sets[j]) > 300_000:
            rest.append(j)
            continue
        halves[half].append(j)
        sizes[half] *= len(sets[j])
    low = sum(end[0] for end in intervals)
    high = sum(end[1] for end in intervals)
    # Sets beyond are taken as whole intervals, which can only come nearer.
    loose_low = low + sum(float(sets[j].min()) for j in rest)
    loose_high = high + sum(float(sets[j].max()) for j in rest)
    one, two = _sums([sets[j] for j in halves[0]]), _sums([sets[j] for j in halves[1]])
    order = np.argsort(two, kind="stable")
    distance, a, b = _nearest(target, one, two[order], loose_low, loose_high)
    places = _unpack(a, halves[0], sets) | _unpack(int(order[b]), halves[1], sets)
    if rest:
        # Within reach of the sums there is nearly always one that is as near as numbers allow: what
        # is beyond takes values as far along as the target is, and the sums are chosen again.
        along = (target - loose_low - one.min() - two.min()) / max(
            loose_high - loose_low + np.ptp(one) + np.ptp(two), 1e-300
        )
        for j in rest:
            places[j] = int(np.abs(sets[j] - sets[j].min() - along * np.ptp(sets[j])).argmin())
        left = target - sum(float(sets[j][places[j]]) for j in rest)
        _, a, b = _nearest(left, one, two[order], low, high)
        places |= _unpack(a, halves[0], sets) | _unpack(int(order[b]), halves[1], sets)
    left = target - sum(float(sets[j][place]) for j, place in places.items())
    return Reached(distance, places, left)


def _sums(sets: list[Floats]) -> Floats:
    total = np.zeros(1)
    for values in sets:
        total = (total[:, None] + values).ravel()
    return total


def _unpack(place: int, names: list[int], sets: dict[int, Floats]) -> dict[int, int]:
    if not names:
        return {}
    found = np.unravel_index(place, [len(sets[j]) for j in names])
    return {j: int(p) for j, p in zip(names, found, strict=True)}


def _nearest(
    target: float, one: Floats, two: Floats, low: float, high: float
) -> tuple[float, int, int]:
    """Return the distance of a target from sums a + b + [low, high], and where a and b are."""
    wanted = target - one
    after = np.clip(np.searchsorted(two, wanted - high), 0, len(two) - 1)
    before = np.clip(after - 1, 0, len(two) - 1)
    best = (np.inf, 0, 0)
    for b in (after, before):
        off = wanted - two[b]
        away = np.maximum(np.maximum(low - off, off - high), 0.0)
        a = int(away.argmin())
        if away[a] < best[0]:
            best = (float(away[a]), a, int(b[a]))
    return best
