"""Draws that show every input of a finite domain once, in an order that looks random."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._space import InputSpace


class WithoutReplacement:
    """Draws without replacement from all inputs of a domain (sensitive columns drawn anew).

    The order is a keyed permutation of the inputs' numbers (a Feistel network over the next larger
    even power of two, numbers beyond the last input skipped), so that nothing has to be stored.

    Attributes
    ----------
    is_over : bool
        Whether every input was drawn.
    """

    def __init__(self, space: InputSpace, rng: np.random.Generator) -> None:
        self.space = space
        self.n = int(space.n_inputs)
        half = max(1, -(-(self.n - 1).bit_length() // 2))
        self._half, self._mask = np.uint64(half), np.uint64((1 << half) - 1)
        # Six rounds of the network.
        self._keys = rng.integers(1, 2**63, size=6, dtype=np.uint64) | np.uint64(1)
        self._next, self._end = 0, 1 << (2 * half)
        self._sizes = [int(space.domain.columns[j].n_values) for j in space.non_sensitive]

    @classmethod
    def of(cls, space: InputSpace, rng: np.random.Generator) -> WithoutReplacement | None:
        """Draws from the domain; None where it is too large, or not finite."""
        # In larger domains draws hardly ever repeat. Where a constraint may reject most inputs,
        # only small ones are drawn so: the space knows better where it holds.
        most = 2**18 if space.constraints_ else 2**32
        fixed = space.domain.discrete | (space.domain.low == space.domain.high)
        fits = space.n_inputs <= most and bool(fixed[space.non_sensitive].all())
        return cls(space, rng) if fits else None

    @property
    def is_over(self) -> bool:
        """Whether every input was drawn."""
        return self._next >= self._end

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """The next n inputs, or those that are left at the end."""
        parts: list[np.ndarray] = []
        n_drawn = 0
        while n_drawn < n and not self.is_over:
            # At worst a quarter of the numbers are inputs.
            size = int((n - n_drawn) * self._end / self.n) + 1
            numbers = np.arange(self._next, min(self._next + size, self._end), dtype=np.uint64)
            places = self._permuted(numbers)
            inside = np.flatnonzero(places < self.n)[: n - n_drawn]
            full = len(inside) == n - n_drawn
            self._next += int(inside[-1]) + 1 if full and len(inside) else len(numbers)
            parts.append(places[inside])
            n_drawn += len(inside)
        places = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)
        Z = np.empty((len(places), self.space.n_features))
        offsets = np.unravel_index(places.astype(np.int64), self._sizes)
        Z[:, self.space.sensitive] = self.space.twins_.draw_sensitive(len(Z), rng)
        for j, offset in zip(self.space.non_sensitive, offsets, strict=True):
            Z[:, j] = self.space.domain.low[j] + offset
        return Z

    def _permuted(self, numbers: np.ndarray) -> np.ndarray:
        left, right = numbers >> self._half, numbers & self._mask
        for key in self._keys:
            mixed = (right + key) * key
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
            left, right = right, left ^ ((mixed >> np.uint64(32)) & self._mask)
        return (left << self._half) | right
