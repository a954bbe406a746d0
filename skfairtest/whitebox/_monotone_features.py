"""Features that rise and fall, as sums of features that never fall.

A feature f of a real column that is piecewise monotone is the sum of what it does in each piece:
f(low) and, of every piece, f(x held inside of the piece) less f(its first code). Each term never
falls or never rises; of one that never rises the opposite is taken. Linear models and networks are
then read as ever, with a map of these features to those that they are shown.
"""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._layers import Affine


class MonotoneFeatures(Features):
    """The features behind some steps, in parts that never fall.

    - `inner`: what the steps give.

    - `map`: from these features to those of `inner`.
    """

    def __init__(self, inner: Features) -> None:
        self.inner, self.space, self.continuous, self.grids = (
            inner,
            inner.space,
            inner.continuous,
            inner.grids,
        )
        self.steps, self.identity, self.pieces = inner.steps, False, {}
        self.rounded, self.is_single = inner.rounded, inner.is_single
        self._tables = {}
        of: list[int] = []  # the feature that a part belongs to
        sign: list[float] = []
        ends: list[tuple[float, float]] = []  # encoded values between which it moves
        base = np.zeros(len(inner.source))
        for j in inner.pieces:
            first, last = inner.piece_ends(j)
            # Pieces, and the steps from one to the next.
            encoded = np.unique(np.concatenate([first, last]))
            values = inner.along(j, encoded)
            for t in inner.of(j).tolist():
                moves = np.diff(values[:, t])
                base[t] = values[0, t]
                for p in np.flatnonzero(moves):
                    of.append(t)
                    sign.append(float(np.sign(moves[p])))
                    ends.append((float(encoded[p]), float(encoded[p + 1])))
                    base[t] -= values[p, t]
        plain = np.flatnonzero(~np.isin(inner.source, list(inner.pieces)))
        self._of = np.concatenate([plain, np.array(of, dtype=np.intp)])
        self._sign = np.concatenate([np.ones(len(plain)), sign])
        infinite = np.tile([-np.inf, np.inf], (len(plain), 1))
        self._ends = np.concatenate([infinite, np.array(ends).reshape(-1, 2)])
        weights = np.zeros((len(self._of), len(inner.source)))
        weights[np.arange(len(self._of)), self._of] = self._sign
        self.map = Affine(weights, base)
        self.source = inner.source[self._of]
        self._at_ends = self._held_values()
        self.origin = self._parts(inner.origin[None], self._encoded_origin()[None])[0]

    def _held_values(self) -> Floats:
        """Values of the features at the ends between which their parts move, (n_parts, 2)."""
        found = np.zeros(self._ends.shape)
        for j in self.inner.pieces:
            own = np.flatnonzero(np.isfinite(self._ends[:, 0]) & (self.source == j))
            encoded, back = np.unique(self._ends[own], return_inverse=True)
            if len(own):
                values = self.inner.along(j, encoded)
                found[own] = values[back.reshape(-1, 2), self._of[own][:, None]]
        return found

    def _parts(self, seen: Floats, Z: Floats) -> Floats:
        """The parts of features that were seen at encoded rows."""
        encoded = Z[:, np.maximum(self.source, 0)]
        values = seen[:, self._of]
        values = np.where(encoded <= self._ends[:, 0], self._at_ends[:, 0], values)
        values = np.where(encoded >= self._ends[:, 1], self._at_ends[:, 1], values)
        return np.asarray(self._sign * values)

    @property
    def read_of_steps(self) -> list[Features]:
        return [self.inner]

    def transform(self, Z: Floats) -> Floats:
        """The features of encoded rows, shape (n, n_features)."""
        return self._parts(self.inner.transform(Z), Z)

    def table(self, feature: int) -> Floats:
        """Values of a feature along the grid of its attribute, shape (n_values,)."""
        if feature in self._tables:
            return self._tables[feature]
        return self.inner.table(int(self._of[feature]))

    def over(self, space: InputSpace) -> Features:
        """The same parts over a part of the domain: each moves where it did, and is held there."""
        own = super().over(space)
        assert isinstance(own, MonotoneFeatures)
        own.inner, own.pieces = self.inner.over(space), {}
        return own
