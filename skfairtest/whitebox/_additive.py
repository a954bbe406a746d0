"""Linear maps of what stands before a model, taken apart by attribute."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats
from skfairtest.whitebox._features import Features

#: Rounds of halving in search of a peak, and intervals beyond which the bound stays as it is.
PEAK_ROUNDS, PEAK_INTERVALS = 80, 4096


class Extremes(NamedTuple):
    """Bounds of an attribute's part in each sum, and codes at which they are attained."""

    low: Floats
    high: Floats
    at_low: Floats
    at_high: Floats


class Effects:
    """The part of each attribute in ``features @ weights + base``.

    - `weights` (n_features, n_sums): the map.

    - `tables` (n_values, n_sums): parts of attributes of finitely many values, along their grids.
    - `continuous`: the other attributes that the map depends on.
    - `base` (n_sums,): what is added; afterwards with what constant features add.
    - `size`: sum of the largest absolute values of all terms: what rounding is measured by.
    """

    def __init__(self, features: Features, weights: Floats, base: Floats) -> None:
        self.features, self.weights = features, weights
        self.space = features.space
        constant = np.flatnonzero(features.source < 0)
        self.base = base + features.origin[constant] @ weights[constant]
        self.tables: dict[int, Floats] = {}
        self.continuous: list[int] = []
        self.size = float(np.abs(base).max(initial=0.0))
        for j in range(self.space.n_features):
            own = features.of(j)
            if not len(own) or not weights[own].any():
                continue
            if features.continuous[j]:
                self.continuous.append(j)
                ends = np.array([[self.space.domain.low[j]], [self.space.domain.high[j]]])
                largest = np.abs(self.at(j, ends)).max(axis=(0, 1))
            else:
                terms = np.stack([features.table(int(t)) for t in own], axis=1)
                self.tables[j] = terms @ weights[own]
                largest = np.abs(terms) @ np.abs(weights[own])
            self.size += float(largest.max(initial=0.0))
        self.size += float(np.abs(self.base).max(initial=0.0))

    def values(self, attribute: int, codes: Floats) -> Floats:
        """Features of a continuous attribute at some codes, (n, n_own)."""
        own = self.features.of(attribute)
        flat = np.repeat(codes, len(own))
        return self.features.evaluate(np.tile(own, len(codes)), flat).reshape(len(codes), -1)

    def at(self, attribute: int, codes: Floats) -> Floats:
        """Terms of a continuous attribute at some codes, (n, n_own, n_sums)."""
        own = self.features.of(attribute)
        return self.values(attribute, codes.ravel())[:, :, None] * self.weights[own][None]

    def part(self, attribute: int, codes: Floats) -> Floats:
        """The part of a continuous attribute in all sums at some codes, (n, n_sums)."""
        return np.asarray(self.at(attribute, codes).sum(axis=1))

    def extremes(self, attribute: int) -> Extremes:
        """Smallest and largest part of an attribute in each sum, over its whole domain."""
        if attribute in self.tables:
            table, grid = self.tables[attribute], self.features.grids[attribute]
            return Extremes(
                table.min(axis=0), table.max(axis=0),
                grid[table.argmin(axis=0)], grid[table.argmax(axis=0)],
            )  # fmt: skip
        ends = np.array([self.space.domain.low[attribute], self.space.domain.high[attribute]])
        parts = self.part(attribute, ends)
        found = Extremes(
            parts.min(axis=0), parts.max(axis=0), ends[parts.argmin(axis=0)],
            ends[parts.argmax(axis=0)],
        )  # fmt: skip
        # Features of a continuous attribute are nondecreasing: where their weights have one sign,
        # the ends of the domain decide. Several features of opposite signs may peak between them.
        own = self.weights[self.features.of(attribute)]
        for o in np.flatnonzero((own.min(axis=0) < 0) & (own.max(axis=0) > 0)):
            for sign, bound, place in ((-1.0, found.low, found.at_low),
                                       (1.0, found.high, found.at_high)):  # fmt: skip
                most, place[o] = self._peak(attribute, int(o), sign)
                bound[o] = sign * most
        return found

    def _peak(self, attribute: int, o: int, sign: float) -> tuple[float, float]:
        """An upper bound of ``sign * part``, and the best code met: intervals are halved."""
        least_gap = 1.0 if self.space.domain.discrete[attribute] else 0.0
        slack = 1e-14 * self.size
        low, high = self.space.domain.low[[attribute]], self.space.domain.high[[attribute]]
        at_low, at_high = (sign * self.at(attribute, codes)[:, :, o] for codes in (low, high))
        best, place = -np.inf, float(low[0])
        for turn in range(PEAK_ROUNDS + 1):
            for codes, values in ((low, at_low.sum(axis=1)), (high, at_high.sum(axis=1))):
                if values.max() > best:
                    best, place = float(values.max()), float(codes[values.argmax()])
            bounds = np.maximum(at_low, at_high).sum(axis=1)
            middle = np.floor((low + high) / 2) if least_gap else (low + high) / 2
            # Of two neighbouring numbers nothing is left between.
            live = (bounds > best + slack) & (high - low > least_gap)
            live &= (low < middle) & (middle < high)
            if not live.any() or live.sum() > PEAK_INTERVALS or turn == PEAK_ROUNDS:
                break
            between = sign * self.at(attribute, middle[live])[:, :, o]
            low, high = np.append(low[live], middle[live]), np.append(middle[live], high[live])
            at_low, at_high = (
                np.vstack([at_low[live], between]), np.vstack([between, at_high[live]])
            )  # fmt: skip
        return max(best + slack, float(bounds[live].max(initial=-np.inf))), place
