"""The best inputs of a search so far, and rows to start from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats


class Elite(NamedTuple):
    """An input, the pair of sensitive codes that it is judged by, and its disparity."""

    fitness: float
    z: Floats
    pair: Floats


class Elites:
    """Different inputs, the best first, at most so many.

    Two of the same fitness count as one: they mostly differ where the model does not look.
    """

    def __init__(self, size: int, kept: list[Elite] | None = None) -> None:
        self.size = size
        self.kept: list[Elite] = []
        for elite in kept or []:
            self.add(elite)

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def best(self) -> float:
        """The largest fitness; 0 without any."""
        return self.kept[0].fitness if self.kept else 0.0

    @property
    def rows(self) -> Floats:
        """The inputs, (n, n_features)."""
        return np.array([elite.z for elite in self.kept])

    def knows(self, fitness: float) -> bool:
        """Whether an elite has this fitness."""
        return any(elite.fitness == fitness for elite in self.kept)

    def add(self, elite: Elite) -> None:
        """Keep the elite if it is new and good enough."""
        if self.knows(elite.fitness):
            return
        self.kept.append(elite)
        self.kept.sort(key=lambda one: -one.fitness)
        del self.kept[self.size :]

    def draw(self, rng: np.random.Generator, front: float = 2.0) -> Elite:
        """One of them, the better the likelier: the larger `front`, the more so."""
        return self.kept[int(len(self.kept) * rng.random() ** front)]

    def quantile(self, share: float) -> float:
        """The fitness at so large a share of the way down; 0 without any."""
        if not self.kept:
            return 0.0
        return self.kept[int(share * (len(self.kept) - 1))].fitness
