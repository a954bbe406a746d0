"""Linear models of several classes: branch and bound on the margins between the classes.

Twins differ by a known vector of scores, so that the difference of a class's probabilities is a
smooth function of few numbers: by how much each other class leads that class. Boxes of these leads
are cut. In a box the function is a plane up to what its curvature allows, and a plane over those
leads that inputs can bring about is bounded by multipliers, as inputs are by themselves.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.exact._networks.lagrangian import Combinations, Shared, listable
from skfairtest.exact._networks.relaxation import Relaxation
from skfairtest.exact._networks.score_search import ScoreSearch
from skfairtest.exact._networks.settings import DEFAULTS, NetworkSearchSettings
from skfairtest.exact._verifier import SolverLimits


class Margins(NamedTuple):
    """Boxes of leads: class and pair of each, and the bounds; (n_boxes, n_classes - 1)."""

    facts: Ints
    low: Floats
    high: Floats


def _joined(several: list[Margins]) -> Margins:
    """Return all boxes in one batch."""
    return Margins(*map(np.concatenate, zip(*several, strict=True)))


class MarginSearch(ScoreSearch[Margins]):
    """Open boxes of leads, those with the largest bounds first."""

    batch = 128

    def __init__(self, relaxation: Relaxation, limits: SolverLimits) -> None:
        super().__init__(relaxation, limits)
        network, whole = relaxation.network, relaxation.whole()
        self._shared = Shared(network, whole.least[0], whole.most[0])
        self._sets = Combinations(network.effects, network.sensitive)
        parts = self._sets.parts
        n = parts.shape[1]
        #: By class, what makes leads of scores.
        self._leads = np.stack(
            [np.eye(n)[:, np.arange(n) != k] - np.eye(n)[:, [k]] for k in range(n)]
        )
        self._shifts = np.einsum("ps,ksj->kpj", parts, self._leads)
        n_terms = len(self._shared.weights) + len(self._shared.spans) + 64
        self.rounding = 1e-15 * n_terms * (1 + network.effects.size)
        facts = np.array(
            [(k, *pair) for k in range(n) for pair in itertools.permutations(range(len(parts)), 2)]
        )
        leads = self._leads[facts[:, 0]]
        signed = [np.swapaxes(sign * leads, 1, 2).reshape(-1, n) for sign in (-1.0, 1.0)]
        low, high = (
            (sign * self._shared.best(own)[0]).reshape(len(facts), -1)
            for sign, own in zip((-1.0, 1.0), signed, strict=True)
        )
        self._push(Margins(facts, low - self.rounding, high + self.rounding), np.inf)

    @classmethod
    def make(
        cls,
        relaxation: Relaxation,
        limits: SolverLimits,
        settings: NetworkSearchSettings = DEFAULTS,
    ) -> MarginSearch | None:
        """Return the search, or None where there is nothing to search, or too much to list."""
        network = relaxation.network
        if len(network.weights) > 1 or network.out != "softmax" or not listable(network):
            return None
        n = float(np.prod([float(len(network.effects.tables[j])) for j in network.sensitive]))
        n_classes = len(network.biases[-1])
        too_many = n_classes > settings.max_classes or n * (n - 1) * n_classes > settings.max_pairs
        if limits.is_late or n < 2 or too_many:
            return None
        return cls(relaxation, limits)

    def _cut(self, taken: list[Margins], uppers: list[float]) -> None:
        boxes = _joined(taken)
        rows, widest = np.arange(len(taken)), self._curvature(boxes)[1].argmax(axis=1)
        middle = (boxes.low + boxes.high)[rows, widest] / 2
        halves = []
        for side in (0, 1):
            low, high = boxes.low.copy(), boxes.high.copy()
            (high, low)[side][rows, widest] = middle
            halves.append(Margins(boxes.facts, low, high))
        self._push(_joined(halves), np.tile(np.array(uppers), 2))

    def _push(self, boxes: Margins, above: Floats | float) -> None:
        bounds = np.minimum(self._bound(boxes), above)
        self.queue.n_boxes += len(bounds)
        # Boxes this narrow are not cut any further.
        narrow = (boxes.high - boxes.low).max(axis=1) <= 1e-9
        for i, bound in enumerate(bounds):
            if narrow[i]:
                self.queue.fathom(float(bound))
            else:
                one = Margins(boxes.facts[[i]], boxes.low[[i]], boxes.high[[i]])
                self.queue.push(float(bound), one)

    # Bounds ---------------------------------------------------------------------------------

    def _twins(self, boxes: Margins) -> list[Floats]:
        """Return what either twin's sensitive values add to the leads."""
        return [self._shifts[boxes.facts[:, 0], boxes.facts[:, k]] for k in (1, 2)]

    def _curvature(self, boxes: Margins) -> tuple[Floats, Floats]:
        """Return how far the function may be above its tangent plane, and by which lead."""
        half = (boxes.high - boxes.low) / 2
        found = np.zeros_like(half)
        for sign, shift in zip((1.0, -1.0), self._twins(boxes), strict=True):
            # Of p, the probability, and q, those of the others, the second derivative along v is
            # p (2 (q v)^2 - q v^2), which lies between -p q v^2 and p (1 - 2 p) q v^2.
            low, high = np.exp(boxes.low + shift), np.exp(boxes.high + shift)
            least, most = 1 / (1 + high.sum(axis=1)), 1 / (1 + low.sum(axis=1))
            others = low.sum(axis=1, keepdims=True) - low
            q = high / (1 + high + others)
            steep = most if sign < 0 else most * np.maximum(1 - 2 * least, 0.0)
            found += steep[:, None] * q * half**2 / 2
        return found.sum(axis=1), found + 1e-12 * half

    def _bound(self, boxes: Margins) -> Floats:
        """Return upper bounds of the difference in each box."""
        with np.errstate(over="ignore", invalid="ignore"):
            middle, half = (boxes.low + boxes.high) / 2, (boxes.high - boxes.low) / 2
            shifts = self._twins(boxes)
            value, slope = np.zeros(len(half)), np.zeros_like(half)
            for sign, shift in zip((1.0, -1.0), shifts, strict=True):
                own = np.exp(middle + shift)
                p = 1 / (1 + own.sum(axis=1))
                value += sign * p
                slope -= sign * (p**2)[:, None] * own
            plane = value + self._curvature(boxes)[0] + self._reached(boxes, middle, half, slope)
            # Each probability by itself, and both by the largest change of a lead.
            most = 1 / (1 + np.exp(boxes.low + shifts[0]).sum(axis=1))
            least = 1 / (1 + np.exp(boxes.high + shifts[1]).sum(axis=1))
            change = (shifts[1] - shifts[0]).max(axis=1)
            apart = np.tanh(np.maximum(change, 0.0) / 4)
            return np.fmin(plane, np.minimum(most - least, apart))

    def _reached(self, boxes: Margins, middle: Floats, half: Floats, slope: Floats) -> Floats:
        """Return the largest rise of a plane over a box, at leads that inputs can bring about.

        It is negative and infinite where they bring about none of the box.
        """
        rise = self._least_rise(boxes, middle, half, slope, np.linalg.norm(slope, axis=1))
        # Where the plane is all but level, multipliers as small as its slope part nothing.
        level = self._least_rise(boxes, middle, half, np.zeros_like(slope), np.ones(len(slope)))
        return np.where(level < -self.rounding, -np.inf, rise)

    def _least_rise(
        self, boxes: Margins, middle: Floats, half: Floats, slope: Floats, size: Floats
    ) -> Floats:
        """Return the least bound of the rise that multipliers of about a size give."""
        leads = self._leads[boxes.facts[:, 0]]
        best = (np.abs(slope) * half).sum(axis=1)
        chosen = slope.copy()
        for k in range(24):  # steps along the subgradient
            total, sums, _ = self._shared.best(np.einsum("nsj,nj->ns", leads, chosen))
            rise = total - (chosen * middle).sum(axis=1)
            rise += (np.abs(slope - chosen) * half).sum(axis=1)
            best = np.fmin(best, rise)
            way = np.einsum("nsj,ns->nj", leads, sums) - middle - np.sign(slope - chosen) * half
            length = np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
            chosen = chosen - 0.5 * 0.8**k * size[:, None] * way / length
        return best
