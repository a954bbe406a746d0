"""A climber: one input that is improved along its columns until nothing near is better."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from skfairtest._typing import Floats
from skfairtest.individual._sbft.elites import Elite

#: Relative differences below this are the rounding of the model's sums.
TINY = 1e-9
#: Chance that a column that does not matter is moved along by a drift.
DRIFT_SHARE = 0.7


@dataclass
class Climber:
    """Where a climber is, and which columns are next.

    Attributes
    ----------
    here : Elite
        The input, its pair and its disparity.
    queue : list of int
        Columns that are yet to be tried.
    moved : bool
        Whether it has moved since the queue was filled.
    quiet : int
        Rounds through all columns, one after the other, in which it has not moved.
    donor : ndarray or None
        While it goes between two parents, the one; `parent` is the other.
    """

    here: Elite
    queue: list[int]
    moved: bool = False
    quiet: int = 0
    donor: Floats | None = None
    parent: Elite | None = None
    #: Single changes of the last batch that were better, best first, as (column, input).
    better: list[tuple[int, Elite]] = field(default_factory=list)
    #: Values of single changes that made no difference, by column.
    neutral: dict[int, float] = field(default_factory=dict)

    def see(self, columns: list[int], tried: list[Elite]) -> dict[int, float]:
        """Take in the single changes of a batch; the relative gain of each column.

        A column of -1 stands for a change of the pair.
        """
        best: dict[int, Elite] = {}
        gains: dict[int, float] = {}
        self.neutral = {}
        fitness = self.here.fitness
        for j, one in zip(columns, tried, strict=True):
            gains.setdefault(j, 0.0)
            if one.fitness > fitness * (1 + TINY):
                if j not in best or one.fitness > best[j].fitness:
                    best[j] = one
                    gains[j] = (one.fitness - fitness) / one.fitness
            elif one.fitness >= fitness * (1 - TINY) and j >= 0:
                self.neutral[j] = one.z[j]
        self.better = sorted(best.items(), key=lambda item: -item[1].fitness)
        return gains

    def combined(self, rng: np.random.Generator) -> tuple[list[tuple[Floats, Floats]], bool]:
        """Inputs and pairs that take the best change, the best two, the best three, and so on.

        The last may be a drift: the best change, and others that made no difference, which may
        open a way that a climb of single changes does not see. The second value says so.
        """
        z, pair = self.here.z, self.here.pair
        found = []
        for place, (j, one) in enumerate(self.better):
            if j < 0:
                pair = one.pair
            else:
                z = z.copy()
                z[j] = one.z[j]
                pair = one.pair if place == 0 else pair
            if place:
                found.append((z, pair))
        drifting = [j for j in self.neutral if rng.random() < DRIFT_SHARE]
        if self.better:
            z, pair = self.better[0][1].z, self.better[0][1].pair
            drifting = [j for j in drifting if all(j != k for k, _ in self.better)]
        else:
            z, pair = self.here.z, self.here.pair
        if drifting:
            z = z.copy()
            z[drifting] = [self.neutral[j] for j in drifting]
            found.append((z, pair))
        return found, bool(drifting)

    def has_looked_round(self, rounds: int) -> bool:
        """Whether so many rounds through all columns have brought nothing."""
        self.quiet = 0 if self.moved else self.quiet + 1
        return self.quiet >= rounds

    def move(self, candidates: list[Elite]) -> None:
        """Go to the best of the single changes and the candidates; to an equal one as well."""
        best = self.better[0][1] if self.better else self.here
        for one in candidates:
            if one.fitness >= best.fitness * (1 - TINY):
                best = one._replace(fitness=max(one.fitness, best.fitness))
        if best.fitness > self.here.fitness * (1 + TINY):
            self.moved = True
        self.here = best
