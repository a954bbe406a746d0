"""Linear maps of what stands before a model, taken apart by attribute."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.whitebox._features import Features


class Extremes(NamedTuple):
    """Bounds of an attribute's part in each sum, and encoded values at which they are attained."""

    low: Floats
    high: Floats
    at_low: Floats
    at_high: Floats


class Effects:
    """The part of each attribute in ``features @ weights + base``.

    Whatever is asked about several attributes is asked in one table for all of them: steps take
    long for a table, and little longer for many rows.

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
                continue
            terms = np.stack([features.table(int(t)) for t in own], axis=1)
            self.tables[j] = terms @ weights[own]
            self.size += float((np.abs(terms) @ np.abs(weights[own])).max(initial=0.0))
        domain = self.space.domain
        encoded = {j: np.array([domain.low[j], domain.high[j]]) for j in self.continuous}
        #: Terms at both ends of continuous attributes, (2, n_own, n_sums).
        self._at_ends = self._terms(encoded)
        for terms in self._at_ends.values():
            self.size += float(np.abs(terms).max(axis=(0, 1)).max(initial=0.0))
        self.size += float(np.abs(self.base).max(initial=0.0))
        self._extremes: dict[int, Extremes] = {}

    def _values(self, encoded: dict[int, Floats]) -> dict[int, Floats]:
        """Features of continuous attributes at some encoded values of each, (n, n_own)."""
        own = {j: self.features.of(j) for j in encoded}
        if not encoded:
            return {}
        asked = [np.tile(own[j], len(of)) for j, of in encoded.items()]
        at = [np.repeat(of, len(own[j])) for j, of in encoded.items()]
        seen = self.features.evaluate(np.concatenate(asked), np.concatenate(at))
        ends = np.cumsum([len(part) for part in at])[:-1]
        parts = zip(encoded, np.split(seen, ends), strict=True)
        return {j: part.reshape(len(encoded[j]), -1) for j, part in parts}

    def _terms(self, encoded: dict[int, Floats]) -> dict[int, Floats]:
        """Terms of continuous attributes at some encoded values of each, (n, n_own, n_sums)."""
        return {
            j: values[:, :, None] * self.weights[self.features.of(j)][None]
            for j, values in self._values(encoded).items()
        }

    def parts(self, encoded: dict[int, Floats]) -> dict[int, Floats]:
        """The parts of continuous attributes in all sums at some values of each, (n, n_sums)."""
        return {j: np.asarray(terms.sum(axis=1)) for j, terms in self._terms(encoded).items()}

    def bounds(self, until: float = np.inf) -> tuple[Floats, Floats]:
        """Bounds of the sums."""
        low = high = self.base
        for found in self.extremes([*self.tables, *self.continuous], until).values():
            low, high = low + found.low, high + found.high
        return low, high

    def extremes(self, attributes: list[int], until: float = np.inf) -> dict[int, Extremes]:
        """Smallest and largest part of some attributes in each sum, over their whole domain.

        - `until`: when to stop looking, by `_clock.now`: the bounds are then wider.
        """
        new = [j for j in attributes if j not in self._extremes]
        found = {j: self._first_extremes(j) for j in new}
        # Features of a continuous attribute are nondecreasing: where their weights have one sign,
        # the ends of the domain decide. Several features of opposite signs may peak between them.
        peaks = []
        for j in new:
            own = self.weights[self.features.of(j)]
            if j not in self.tables:
                both = np.flatnonzero((own.min(axis=0) < 0) & (own.max(axis=0) > 0))
                peaks += [_Peak(self, j, int(o), sign) for o in both for sign in (-1.0, 1.0)]
        self._climb(peaks, until)
        for peak in peaks:
            extremes = found[peak.attribute]
            bound, place = (
                (extremes.low, extremes.at_low)
                if peak.sign < 0
                else (extremes.high, extremes.at_high)
            )
            bound[peak.sum], place[peak.sum] = peak.sign * peak.bound, peak.place
        self._extremes |= found
        return {j: self._extremes[j] for j in attributes}

    def _first_extremes(self, j: int) -> Extremes:
        """Extremes of a table, or of the ends of a continuous attribute."""
        if j in self.tables:
            table, at = self.tables[j], self.features.grids[j]
        else:
            table = self._at_ends[j].sum(axis=1)
            at = np.array([self.space.domain.low[j], self.space.domain.high[j]])
        return Extremes(
            table.min(axis=0), table.max(axis=0), at[table.argmin(axis=0)], at[table.argmax(axis=0)]
        )

    def _climb(self, peaks: list[_Peak], until: float) -> None:
        """Halve the intervals of all peaks, one round after another."""
        for _ in range(80):  # by then intervals are as narrow as numbers are
            open_ = [peak for peak in peaks if peak.is_open]
            if not open_ or _clock.now() >= until:
                return
            asked: dict[int, list[Floats]] = {}
            for peak in open_:
                asked.setdefault(peak.attribute, []).append(peak.middle)
            encoded = {j: np.unique(np.concatenate(parts)) for j, parts in asked.items()}
            values = self._values(encoded)
            for peak in open_:
                j = peak.attribute
                peak.halve(values[j][np.searchsorted(encoded[j], peak.middle)])


class _Peak:
    """The largest value of ``sign`` times an attribute's part in a sum: intervals are halved.

    - `bound`: no value is larger.
    - `place`: the best encoded value met.
    - `middle`: where the intervals are halved next.
    """

    def __init__(self, effects: Effects, attribute: int, o: int, sign: float) -> None:
        space, own = effects.space, effects.features.of(attribute)
        self.attribute, self.sum, self.sign = attribute, o, sign
        self._weights = sign * effects.weights[own, o]
        self._discrete = bool(space.domain.discrete[attribute])
        self._slack = 1e-14 * effects.size
        self._low = space.domain.low[[attribute]]
        self._high = space.domain.high[[attribute]]
        at_ends = sign * effects._at_ends[attribute][:, :, o]
        self._at_low, self._at_high = at_ends[:1], at_ends[1:]
        self._best, self.place = -np.inf, float(self._low[0])
        self._look()

    def halve(self, values: Floats) -> None:
        """Halve the intervals, given the features in their middles, (n, n_own)."""
        between = self._weights * values
        low, high = self._low, self._high
        self._low, self._high = np.append(low, self.middle), np.append(self.middle, high)
        self._at_low, self._at_high = (
            np.vstack([self._at_low, between]), np.vstack([between, self._at_high])
        )  # fmt: skip
        self._look()

    def _look(self) -> None:
        """Learn from the ends of the intervals, and keep those that are worth halving."""
        for encoded, terms in ((self._low, self._at_low), (self._high, self._at_high)):
            values = terms.sum(axis=1)
            if values.max() > self._best:
                self._best = float(values.max())
                self.place = float(encoded[values.argmax()])
        bounds = np.maximum(self._at_low, self._at_high).sum(axis=1)
        low, high = self._low, self._high
        self.middle = np.floor((low + high) / 2) if self._discrete else (low + high) / 2
        # Of two neighbouring numbers nothing is left between.
        live = (bounds > self._best + self._slack) & (high - low > (1.0 if self._discrete else 0.0))
        live &= (low < self.middle) & (self.middle < high)
        self.bound = max(self._best + self._slack, float(bounds[live].max(initial=-np.inf)))
        # Beyond so many intervals the bound stays as it is: rounding alone keeps them open.
        self.is_open = bool(live.any()) and int(live.sum()) <= 4096
        self._low, self._high, self.middle = low[live], high[live], self.middle[live]
        self._at_low, self._at_high = self._at_low[live], self._at_high[live]
