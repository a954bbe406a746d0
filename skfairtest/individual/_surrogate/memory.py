"""A bounded memory of judged inputs to step away from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._judgement import Judgement
from skfairtest.space._space import InputSpace


class Parents(NamedTuple):
    """Inputs to step away from, and the encoded sensitive values of the twins that they showed."""

    Z: Floats
    pairs: Floats

    def draw(self, n: int, rng: np.random.Generator, siblings: int = 1) -> Parents:
        """Draw n of them: half of the draws from all, half from the latest; each so many times."""
        # Every other step starts from the latest 20,000: their neighbours are known least.
        latest = max(0, len(self.Z) - 20_000)
        n_drawn = -(-n // siblings)
        from_ = np.where(rng.random(n_drawn) < 0.5, latest, 0)
        chosen = from_ + (rng.random(n_drawn) * (len(self.Z) - from_)).astype(np.intp)
        chosen = np.repeat(chosen, siblings)[:n]
        return Parents(self.Z[chosen], self.pairs[chosen])


class Memory:
    """A sample of bounded size of high inputs.

    High are discriminatory inputs or, with `by_degree`, those that come close to the best so far:
    by the share of the way from one twin to the other and across the boundary of the labels, or by
    the disparity where no such boundary is known.
    """

    def __init__(self, space: InputSpace, *, by_degree: bool) -> None:
        self.by_degree = by_degree
        # At most 40,000 values of a batch are remembered, of a wide table fewer inputs: it takes
        # long to write them down, and a part of them is enough to step away from.
        self._most_of_batch = max(1, 40_000 // space.n_features)
        self.high = BoundedSample(space.n_features, len(space.sensitive))

    def add(
        self, Z: Floats, judged: Judgement, margins: Floats | None, rng: np.random.Generator
    ) -> Bools:
        """Remember judged inputs; returns which of them are high.

        `margins` (n, 2) say how far the two outputs are from the boundary of the labels.
        """
        value = judged.disparity if self.by_degree else judged.verdict.astype(np.float64)
        if self.by_degree and margins is not None:
            # 1 where the boundary lies between the twins: a small disparity near it leads further
            # than a large one far from it.
            apart, away = margins[:, 0] - margins[:, 1], np.abs(margins).sum(axis=1)
            value = apart / np.maximum(away, 1e-300) * (value > 0)
        high = value > self._bar(value)
        pairs = np.stack([judged.first, judged.second], axis=1)
        chosen = np.flatnonzero(high)
        if len(chosen) > self._most_of_batch and not self.by_degree:
            chosen = np.sort(rng.choice(chosen, size=self._most_of_batch, replace=False))
        self.high.add(Z[chosen], pairs[chosen], value[chosen], rng, largest=self.by_degree)
        return high

    def _bar(self, value: Floats) -> float:
        if not self.by_degree:
            return 0.5
        best = max(value.max(initial=0.0), self.high.value.max(initial=0.0))
        # High means at least 70% of the largest so far.
        return 0.7 * float(best)

    def parents(self) -> Parents:
        """Inputs to step from: the discriminatory ones, or those that come closest."""
        if not self.by_degree:
            return Parents(self.high.Z, self.high.pairs)
        # Before there are any, steps start from the 200 best inputs.
        chosen = np.argsort(-self.high.value, kind="stable")[:200]
        return Parents(self.high.Z[chosen], self.high.pairs[chosen])


class BoundedSample:
    """A sample of bounded size of the inputs that were added, each with its twins and a value."""

    def __init__(self, n_features: int, n_sensitive: int) -> None:
        self._arrays = [np.empty((1024, n_features)), np.empty((1024, 2, n_sensitive)),
                        np.empty(1024)]  # fmt: skip
        self._n = 0
        # Of wide tables fewer inputs are remembered.
        self._most = min(100_000, 2_000_000 // n_features)

    @property
    def Z(self) -> Floats:
        """The inputs, the latest last."""
        return self._arrays[0][: self._n]

    @property
    def pairs(self) -> Floats:
        """Encoded sensitive values of the twins that each showed, (n, 2, n_sensitive)."""
        return self._arrays[1][: self._n]

    @property
    def value(self) -> Floats:
        """The values of the inputs."""
        return self._arrays[2][: self._n]

    def add(
        self, Z: Floats, pairs: Floats, value: Floats, rng: np.random.Generator, *, largest: bool
    ) -> None:
        """Add inputs; once there are twice too many, the largest or a random half are kept."""
        n = self._n + len(Z)
        for i, new in enumerate((Z, pairs, value)):
            array = self._arrays[i]
            if n > len(array):
                grown = np.empty((max(n, 2 * len(array)), *array.shape[1:]))
                grown[: self._n] = array[: self._n]
                self._arrays[i] = array = grown
            array[self._n : n] = new
        self._n = n
        if n > 2 * self._most:
            if largest:
                chosen = np.argpartition(-self.value, self._most)[: self._most]
            else:
                chosen = rng.choice(n, size=self._most, replace=False)
            chosen = np.sort(chosen)  # the latest stay last
            for array in self._arrays:
                array[: self._most] = array[chosen]
            self._n = self._most
