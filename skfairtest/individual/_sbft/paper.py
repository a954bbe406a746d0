"""The genetic search of SBFT to the letter of the paper (Perera et al. 2022, Algorithm 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.individual._operators import (
    between,
    mask_free,
    redraw,
    roulette,
    uniform_crossover,
)
from skfairtest.oracle._oracle import Oracle


class PaperSearch:
    """One population an island; all islands ask the model together.

    The paper evaluates one input after another, and each new best changes the cached pair for those
    behind it. Here a generation is asked at once with the pair cached at its start; the inputs
    behind a change are asked again with the new pair. What each population sees is what it would
    see one input at a time; rows asked in vain are counted as queries.
    """

    def __init__(
        self, oracle: Oracle, rng: np.random.Generator, *, n_islands: int, population_size: int,
        crossover_proba: float, mutation_proba: float, newcomer_rate: float, cache_proba: float,
        local_search: bool,
    ) -> None:  # fmt: skip
        self.oracle, self.space, self.rng = oracle, oracle.space, rng
        self.shape = (n_islands, population_size)
        self.crossover_proba, self.mutation_proba = crossover_proba, mutation_proba
        self.n_newcomers = round(newcomer_rate * population_size)
        self.cache_proba = cache_proba
        self.local_search = local_search
        self.degree = np.zeros(n_islands)
        self.cached = self.space.twins_.draw_sensitive_pairs(n_islands, rng)

    def run(self) -> None:
        """Evolve until the oracle ends the run."""
        n_islands, size = self.shape
        Z = self.oracle.sample(n_islands * size, self.rng).reshape(n_islands, size, -1)
        fitness = self.evaluate(Z)
        while True:
            offspring = self.offspring(Z, fitness)
            Z = np.concatenate([Z, offspring], axis=1)
            fitness = np.concatenate([fitness, self.evaluate(offspring)], axis=1)
            best = np.argsort(-fitness, axis=1, kind="stable")[:, :size]
            Z = np.take_along_axis(Z, best[:, :, None], axis=1)
            fitness = np.take_along_axis(fitness, best, axis=1)
            if self.local_search:
                self.improve(Z, fitness)

    def evaluate(self, Z: Floats) -> Floats:
        """Fitness of the inputs of each island, (n_islands, n): the disparity of one pair."""
        n_islands, n = Z.shape[:2]
        pairs = self.space.twins_.draw_sensitive_pairs(n_islands * n, self.rng)
        pairs = pairs.reshape(n_islands, n, 2, -1)
        uses_cache = self.rng.random((n_islands, n)) < self.cache_proba
        pairs = np.where(uses_cache[:, :, None, None], self.cached[:, None], pairs)
        fitness = np.zeros((n_islands, n))
        pending = np.ones((n_islands, n), dtype=bool)
        start = np.zeros(n_islands, dtype=int)
        while pending.any():
            fitness[pending] = self.oracle.disparity(Z[pending], pairs[pending]).disparity
            pending[:] = False
            for island in range(n_islands):
                start[island] = self._settle(
                    island,
                    start[island],
                    fitness[island],
                    pairs[island],
                    uses_cache[island],
                    pending,
                )
        return fitness

    def _settle(
        self, island: int, start: int, fitness: Floats, pairs: Floats,
        uses_cache: NDArray[np.bool_], pending: NDArray[np.bool_],
    ) -> int:  # fmt: skip
        """Go through one island's inputs in order, up to the next change of its cached pair."""
        while start < len(fitness):
            better = np.flatnonzero(fitness[start:] > self.degree[island])
            if not len(better):
                return len(fitness)
            start += int(better[0]) + 1
            self.degree[island] = fitness[start - 1]
            if not np.array_equal(pairs[start - 1], self.cached[island]):
                self.cached[island] = pairs[start - 1]
                behind = np.flatnonzero(uses_cache[start:]) + start
                pairs[behind] = self.cached[island]
                pending[island, behind] = True
                return start
        return start

    def offspring(self, Z: Floats, fitness: Floats) -> Floats:
        """Children of the parents that the roulette wheel picks, and random newcomers."""
        n_islands, size = self.shape
        n_couples = (size + 1) // 2
        parents = np.stack([roulette(f, 2 * n_couples, self.rng) for f in fitness])
        chosen = np.take_along_axis(Z, parents[:, :, None], axis=1)
        first, second = (chosen[:, side::2].reshape(-1, Z.shape[2]) for side in (0, 1))
        space, rng = self.space, self.rng
        child, twin = uniform_crossover(first, second, self.crossover_proba, space.free, rng)
        child = redraw(child, mask_free(len(child), self.mutation_proba, space, rng), space, rng)
        mask = mask_free(len(twin), self.mutation_proba, space, rng)
        twin = between(twin, mask, first, second, space, rng)
        children = np.stack([child, twin], axis=1).reshape(n_islands, 2 * n_couples, -1)[:, :size]
        newcomers = self.oracle.sample(n_islands * self.n_newcomers, rng)
        return np.concatenate(
            [children, newcomers.reshape(n_islands, self.n_newcomers, -1)], axis=1
        )

    def improve(self, Z: Floats, fitness: Floats) -> None:
        """Local search: step each free value of each island's best down and up, keep the better."""
        for column in self.space.free:
            for delta in (-self.space.domain.steps[column], self.space.domain.steps[column]):
                moved = Z[:, :1].copy()
                moved[:, 0, column] += delta
                moved[:, 0] = self.space.domain.clip(moved[:, 0])
                found = self.evaluate(moved)[:, 0]
                better = found > fitness[:, 0]
                Z[better, 0] = moved[better, 0]
                fitness[better, 0] = found[better]
