"""Our own genetic search for the fairness degree: SBFT's idea with better operators.

What differs from the paper: seeds from the data; all twins of an input compared where they are few,
and where they are many a pair that is inherited, with an occasional sweep over all values; few
values mutated at a time, by draws of several lengths; islands that start anew when they are stale.
"""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._operators import (
    data_seeds,
    mask_free,
    move_sensitive,
    uniform_crossover,
)
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._row_hash import row_keys

#: Generations without a better input after which an island is swept, then started anew.
PATIENCE = 12
#: Share of the budget that is spent on rows of the data before the search, and rows at most.
SEED_SHARE = 0.2
MOST_SEEDS = 20_000
#: Twins compared in one sweep of a many-valued attribute, at most.
SWEEP = 512
#: Pairs with a moved twin that each island's best tries, where sensitive values cannot be listed.
MOVED_TWINS = 8


class TunedSearch:
    """One population an island; all islands ask the model together."""

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
        self.few = oracle.compares_all
        self.seeds = data_seeds(self._n_seeds(), self.space, rng)
        self.n_judged = 0
        # The best pair seen so far, of all islands: the paper's cache.
        self.cached = self.space.draw_sensitive_pairs(1, rng)[0]
        self.degree = 0.0

    def run(self) -> None:
        """Evolve until the oracle ends the run."""
        n_islands, size = self.shape
        self.judge_seeds()
        Z = self.starters(n_islands)
        pairs = self.new_pairs(n_islands * size).reshape(n_islands, size, 2, -1)
        fitness, pairs = self.evaluate(Z, pairs)
        best = fitness.max(axis=1)
        age = np.zeros(n_islands, dtype=int)
        swept = np.zeros(n_islands, dtype=bool)
        while True:
            children, child_pairs = self.offspring(Z, pairs)
            child_fitness, child_pairs = self.evaluate(children, child_pairs)
            Z, fitness, pairs = self.survivors(
                np.concatenate([Z, children], axis=1),
                np.concatenate([fitness, child_fitness], axis=1),
                np.concatenate([pairs, child_pairs], axis=1),
            )
            better = fitness[:, 0] > best * (1 + 1e-9)
            age = np.where(better, 0, age + 1)
            swept &= ~better
            best = fitness[:, 0].copy()
            if not self.few:
                due = (age >= PATIENCE // 2) & ~swept
                if due.any():
                    self.sweep(Z, fitness, pairs, np.flatnonzero(due))
                    swept |= due
            for island in np.flatnonzero(age >= PATIENCE):
                Z[island] = self.starters(1)[0]
                fitness[island] = 0.0
                best[island], age[island], swept[island] = 0.0, 0, False

    def _n_seeds(self) -> int:
        """Rows of data to look at: a share of the budget, and enough for every population."""
        n_islands, size = self.shape
        return max(self._n_affordable(), min(1000, n_islands * size))

    def _n_affordable(self) -> int:
        """Rows of data that their share of the budget pays for."""
        return self.oracle.affordable(batches=1 / SEED_SHARE, most=MOST_SEEDS)

    def judge_seeds(self) -> None:
        """Judge the rows of data and sort them, the most promising first."""
        n = min(len(self.seeds), self._n_affordable())
        if not n:
            return
        pairs = self.new_pairs(n)
        if not self.space.is_enumerable:
            # Each row of data counts with its own sensitive value.
            pairs[:, 0] = self.seeds[:n, self.space.sensitive]
        fitness, _ = self.evaluate(self.seeds[None, :n], pairs[None])
        order = np.argsort(-fitness[0], kind="stable")
        self.seeds[:n] = self.seeds[order]
        self.n_judged = n

    def starters(self, n_islands: int) -> Floats:
        """Populations of rows of the data and of uniform inputs, half and half.

        Of the rows that are judged, the better half only.
        """
        size = self.shape[1]
        n = n_islands * size
        Z = self.oracle.sample(n, self.rng)
        if len(self.seeds):
            best = max(1, self.n_judged // 2 or len(self.seeds))
            # The square prefers the front: a quarter of the draws come from the first sixteenth.
            place = (self.rng.random(n) ** 2 * best).astype(int)
            Z = np.where((np.arange(n) % 2 == 0)[:, None], self.seeds[place], Z)
        return Z.reshape(n_islands, size, -1)

    # Asking --------------------------------------------------------------------------------

    def new_pairs(self, n: int) -> Floats:
        """The cached pair with the cache's probability, else random pairs; (n, 2, n_sensitive)."""
        pairs = self.space.draw_sensitive_pairs(n, self.rng)
        return np.where((self.rng.random(n) < self.cache_proba)[:, None, None], self.cached, pairs)

    def evaluate(self, Z: Floats, pairs: Floats) -> tuple[Floats, Floats]:
        """Disparity of each input, and the pair that shows it."""
        shape = Z.shape[:2]
        judged = self.oracle.disparity(
            Z.reshape(-1, Z.shape[2]), None if self.few else pairs.reshape(-1, *pairs.shape[2:])
        )
        pairs = np.stack([judged.first, judged.second], axis=1)
        best = int(judged.disparity.argmax())
        if judged.disparity[best] > self.degree:
            self.degree, self.cached = float(judged.disparity[best]), pairs[best]
        return judged.disparity.reshape(shape), pairs.reshape(*shape, *pairs.shape[1:])

    def sweep(self, Z: Floats, fitness: Floats, pairs: Floats, islands: Ints) -> None:
        """Compare many combinations of the islands' best inputs at once."""
        if self.space.is_enumerable:
            count = int(self.space.n_combinations)
            chosen = self.space.combination_codes(self.rng.permutation(count)[:SWEEP])
        else:
            # Near to the best pair of all as well as anywhere.
            near = np.tile(self.cached, (SWEEP // 4, 1))
            chosen = np.concatenate(
                [
                    self.space.draw_sensitive(SWEEP - len(near), self.rng),
                    move_sensitive(near, self.space, self.rng),
                ]
            )
        # The pair known so far is among them, so that a sweep never loses.
        everywhere = np.broadcast_to(chosen, (len(islands), *chosen.shape))
        wide = np.concatenate([everywhere, pairs[islands, 0]], axis=1)
        judged = self.oracle.disparity(Z[islands, 0], wide)
        fitness[islands, 0] = judged.disparity
        pairs[islands, 0] = np.stack([judged.first, judged.second], axis=1)
        best = int(judged.disparity.argmax())
        if judged.disparity[best] > self.degree:
            self.degree, self.cached = float(judged.disparity[best]), pairs[islands[best], 0]

    # Breeding ------------------------------------------------------------------------------

    def offspring(self, Z: Floats, pairs: Floats) -> tuple[Floats, Floats]:
        """Children by tournament, crossover and mutation; newcomers; steps around the best."""
        n_islands, size = self.shape
        rng, width = self.rng, Z.shape[2]
        # Populations are sorted, so the smaller of two random ranks wins the tournament.
        ranks = (
            rng.integers(0, size, size=(4, n_islands, size))
            .reshape(2, 2, n_islands, size)
            .min(axis=1)
        )
        mother, father = (np.take_along_axis(Z, r[:, :, None], axis=1) for r in ranks)
        child, _ = uniform_crossover(
            mother.reshape(-1, width),
            father.reshape(-1, width),
            self.crossover_proba,
            self.space.free,
            rng,
        )
        groups = [self.mutate(child).reshape(n_islands, size, width)]
        bred = np.take_along_axis(pairs, ranks[0][:, :, None, None], axis=1)
        pair_groups = [self.inherit(bred)]
        if self.n_newcomers:
            fresh = self.oracle.sample(n_islands * self.n_newcomers, rng)
            groups.append(fresh.reshape(n_islands, self.n_newcomers, width))
            new = self.new_pairs(n_islands * self.n_newcomers)
            pair_groups.append(new.reshape(n_islands, self.n_newcomers, *new.shape[1:]))
        if self.local_search:
            around = self.steps_around(Z[:, 0])
            groups.append(around)
            pair_groups.append(np.repeat(pairs[:, :1], around.shape[1], axis=1))
        if not self.space.is_enumerable:
            groups.append(np.repeat(Z[:, :1], MOVED_TWINS, axis=1))
            pair_groups.append(self.move_side(np.repeat(pairs[:, :1], MOVED_TWINS, axis=1)))
        return np.concatenate(groups, axis=1), np.concatenate(pair_groups, axis=1)

    def inherit(self, pairs: Floats) -> Floats:
        """The mother's pair, the cached pair, or the mother's with one side drawn anew or moved."""
        if self.few:
            return pairs
        flat = pairs.reshape(-1, *pairs.shape[2:]).copy()
        chance = self.rng.random(len(flat))
        flat[chance < self.cache_proba / 2] = self.cached
        moved = self.move_side(flat)
        change = chance > (1 + self.cache_proba) / 2
        return np.where(change[:, None, None], moved, flat).reshape(pairs.shape)

    def move_side(self, pairs: Floats) -> Floats:
        """Pairs with one side drawn anew or moved, where that leaves it different from the other.

        The shape is (..., 2, n_sensitive).
        """
        flat = pairs.reshape(-1, *pairs.shape[-2:])
        rows = np.arange(len(flat))
        if self.space.is_enumerable:
            drawn = self.space.draw_sensitive(len(flat), self.rng)
            side = self.rng.integers(0, 2, size=len(flat))
        else:
            side = self.rng.integers(0, 2, size=len(flat))
            drawn = move_sensitive(flat[rows, side], self.space, self.rng)
        change = (drawn != flat[rows, 1 - side]).any(axis=1)
        moved = flat.copy()
        moved[rows[change], side[change]] = drawn[change]
        return moved.reshape(pairs.shape)

    def mutate(self, Z: Floats) -> Floats:
        """Change one to a few values of some children: anew, from the data, or by a step."""
        space, rng = self.space, self.rng
        n, width = Z.shape
        mask = mask_free(n, 1.0 / len(space.free), space, rng)
        mask[np.arange(n), rng.choice(space.free, size=n)] = True
        mask &= rng.random((n, 1)) < self.mutation_proba
        anew = space.draw(n, rng)
        donors = self.seeds[rng.integers(0, len(self.seeds), size=n)] if len(self.seeds) else anew
        # Lengths from a third of the domain down to a thousandth: coarse moves and fine ones.
        spread = space.high - space.low
        length = spread * 10.0 ** rng.uniform(-3, -0.5, size=(n, width))
        shift = rng.standard_normal((n, width)) * np.where(
            space.discrete, np.maximum(length, 0.7), length
        )
        kind = rng.random((n, width))
        moved = np.where(kind < 0.35, anew, np.where(kind < 0.5, donors, Z + shift))
        return space.clip(np.where(mask, moved, Z))

    def steps_around(self, best: Floats) -> Floats:
        """One step down and up in each free value of each island's best, of one to many units."""
        space = self.space
        around = space.neighbours(best)
        units = 2.0 ** self.rng.integers(-3, 5, size=around.shape[:2])
        scaled = best[:, None, :] + (around - best[:, None, :]) * units[:, :, None]
        scaled = np.where(space.discrete & (np.abs(scaled - best[:, None, :]) < 1), around, scaled)
        return space.clip(scaled.reshape(-1, space.n_features)).reshape(around.shape)

    def survivors(self, Z: Floats, fitness: Floats, pairs: Floats) -> tuple[Floats, Floats, Floats]:
        """The best different inputs of each island, best first."""
        keys = row_keys(Z.reshape(-1, Z.shape[2])[:, self.space.free]).reshape(Z.shape[:2])
        order = np.argsort(-fitness, axis=1, kind="stable")
        kept = np.empty((Z.shape[0], self.shape[1]), dtype=np.intp)
        for island, ranked in enumerate(order):
            first = np.unique(keys[island, ranked], return_index=True)[1]
            distinct = ranked[np.sort(first)][: self.shape[1]]
            kept[island] = np.resize(distinct, self.shape[1])
        return (
            np.take_along_axis(Z, kept[:, :, None], axis=1),
            np.take_along_axis(fitness, kept, axis=1),
            np.take_along_axis(pairs, kept[:, :, None, None], axis=1),
        )
