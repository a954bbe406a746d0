"""The genetic search of SBFT to the letter of the paper (Perera et al. 2022, Algorithm 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfairtest._parameters import real, whole
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.base import BaseAuditor
from skfairtest.oracle._handle import SearchHandle
from skfairtest.space._domain import values_at
from skfairtest.space._space import InputSpace


class PublishedSBFTAuditor(BaseAuditor):
    """Audit by search-based fairness testing (SBFT) to the letter of the paper.

    A genetic search looks for the largest disparity. The population holds inputs, and the fitness
    of an input is the difference between the model's outputs for two of its twins. In each
    generation parents that a roulette wheel picks have children by crossover and mutation, random
    newcomers join, the fittest stay, and single steps around the best input are tried. Use it to
    repeat published results; `SBFTAuditor` tunes the same idea, and finds more.

    Parameters
    ----------
    population_size : int, default=100
        Inputs in the population.
    crossover_proba : float, default=0.75
        Probability that two parents exchange values.
    mutation_proba : float, default=0.7
        Probability that a value of a child is drawn anew.
    newcomer_rate : float, default=0.1
        Random inputs that join in each generation, as a share of the population.
    cache_proba : float, default=0.5
        Probability that an input is judged by the pair of sensitive values that showed the largest
        disparity so far; other inputs are judged by a random pair.

    See Also
    --------
    SBFTAuditor : The tuned search, which finds larger disparities with the same budget.
    RandomAuditor : Draws uniform random inputs, the baseline of every search.

    Notes
    -----
    The paper evaluates one input after another, and each new best changes the cached pair for those
    behind it. Here the model is asked about a generation at once, with the pair that was cached at
    its start, and the inputs behind a change are asked about again with the new pair. The search
    finds the same as one input at a time would; rows that were asked about in vain count as
    queries.

    A discriminatory input shows that the model treats two twins differently. It does not show
    whether such a person exists, nor whether the difference is unfair. A run that finds none does
    not show that there are none.

    References
    ----------
    .. [1] Perera, A., Aleti, A., Tantithamthavorn, C., Jiarpakdee, J., Turhan, B., Kuhn, L., &
       Walker, K. (2022). Search-based fairness testing for regression-based machine learning
       systems. Empirical Software Engineering, 27(3). https://doi.org/10.1007/s10664-022-10116-7

    Examples
    --------
    >>> from skfairtest import PublishedSBFTAuditor
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> auditor = PublishedSBFTAuditor(data.estimator, max_queries=2000, random_state=0)
    >>> auditor = auditor.fit(data.data)
    >>> bool(0.9 * data.fairness_degree < auditor.fairness_degree_ <= data.fairness_degree + 1e-9)
    True
    """

    population_size: int = whole(default=100, least=2)
    crossover_proba: float = real(default=0.75, interval="[0, 1]")
    mutation_proba: float = real(default=0.7, interval="[0, 1]")
    newcomer_rate: float = real(default=0.1, interval="[0, 1]")
    cache_proba: float = real(default=0.5, interval="[0, 1]")

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        PublishedSearch(
            search,
            rng,
            population_size=self.population_size,
            crossover_proba=self.crossover_proba,
            mutation_proba=self.mutation_proba,
            newcomer_rate=self.newcomer_rate,
            cache_proba=self.cache_proba,
        ).run()


class PublishedSearch:
    """One population, in which a whole generation is judged in one batch."""

    def __init__(
        self, search: SearchHandle, rng: np.random.Generator, *, population_size: int,
        crossover_proba: float, mutation_proba: float, newcomer_rate: float, cache_proba: float,
    ) -> None:  # fmt: skip
        self.search, self.space, self.rng = search, search.space, rng
        self.population_size = population_size
        self.crossover_proba, self.mutation_proba = crossover_proba, mutation_proba
        self.n_newcomers = round(newcomer_rate * population_size)
        self.cache_proba = cache_proba
        self.degree = 0.0
        self.cached = self.space.twins_.draw_sensitive_pairs(1, rng)[0]

    def run(self) -> None:
        """Evolve until the budget ends the run."""
        Z = self.search.sample(self.population_size, self.rng).rows
        fitness = self.evaluate(Z)
        while True:
            offspring = self.offspring(Z, fitness)
            Z = np.concatenate([Z, offspring])
            fitness = np.concatenate([fitness, self.evaluate(offspring)])
            best = np.argsort(-fitness, kind="stable")[: self.population_size]
            Z, fitness = Z[best], fitness[best]
            self.improve_best(Z, fitness)

    def evaluate(self, Z: Floats) -> Floats:
        """Fitness of the inputs, (n,): the disparity of one pair each."""
        n = len(Z)
        pairs = self.space.twins_.draw_sensitive_pairs(n, self.rng)
        uses_cache = self.rng.random(n) < self.cache_proba
        pairs = np.where(uses_cache[:, None, None], self.cached, pairs)
        fitness = np.zeros(n)
        pending = np.ones(n, dtype=bool)
        start = 0
        while pending.any():
            fitness[pending] = self.search.evaluate(Z[pending], pairs[pending]).disparity
            pending[:] = False
            start = self._settle(start, fitness, pairs, uses_cache, pending)
        return fitness

    def _settle(
        self, start: int, fitness: Floats, pairs: Floats, uses_cache: Bools, pending: Bools
    ) -> int:
        """Go through the inputs in order, up to the next change of the cached pair."""
        while start < len(fitness):
            better = np.flatnonzero(fitness[start:] > self.degree)
            if not len(better):
                return len(fitness)
            start += int(better[0]) + 1
            self.degree = float(fitness[start - 1])
            if not np.array_equal(pairs[start - 1], self.cached):
                self.cached = pairs[start - 1].copy()
                behind = np.flatnonzero(uses_cache[start:]) + start
                pairs[behind] = self.cached
                pending[behind] = True
                return start
        return start

    def offspring(self, Z: Floats, fitness: Floats) -> Floats:
        """Children of the parents that the roulette wheel picks, and random newcomers."""
        space, rng, size = self.space, self.rng, self.population_size
        n_couples = (size + 1) // 2
        parents = Z[roulette(fitness, 2 * n_couples, rng)]
        first, second = parents[::2], parents[1::2]
        child, twin = uniform_crossover(
            first, second, self.crossover_proba, space.non_sensitive, rng
        )
        child = redraw(child, mask_free(len(child), self.mutation_proba, space, rng), space, rng)
        mask = mask_free(len(twin), self.mutation_proba, space, rng)
        twin = between(twin, mask, first, second, space, rng)
        children = np.stack([child, twin], axis=1).reshape(2 * n_couples, -1)[:size]
        return np.concatenate([children, self.search.sample(self.n_newcomers, rng).rows])

    def improve_best(self, Z: Floats, fitness: Floats) -> None:
        """Local search: step each free value of the best input down and up, keep the better."""
        for column in self.space.non_sensitive:
            for delta in (-self.space.domain.steps[column], self.space.domain.steps[column]):
                moved = Z[:1].copy()
                moved[0, column] += delta
                moved = self.space.domain.clip(moved)
                (found,) = self.evaluate(moved)
                if found > fitness[0]:
                    Z[0], fitness[0] = moved[0], found


def roulette(fitness: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Indices drawn with chances in proportion to fitness; uniform where all fitness is zero."""
    total = np.cumsum(fitness)
    if not total[-1] > 0:
        return rng.integers(0, len(fitness), size=n).astype(np.intp)
    spins = rng.random(n) * total[-1]
    return np.minimum(np.searchsorted(total, spins, side="right"), len(fitness) - 1)


def uniform_crossover(
    first: Floats, second: Floats, probability: float, free: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Children of pairs of parents: with the probability, a coin decides on each free value.

    Sensitive columns stay as they are.
    """
    swap = np.zeros(first.shape, dtype=bool)
    swap[:, free] = rng.random((len(first), len(free))) < 0.5
    swap &= (rng.random(len(first)) < probability)[:, None]
    return np.where(swap, second, first), np.where(swap, first, second)


def redraw(
    Z: Floats, mask: NDArray[np.bool_], space: InputSpace, rng: np.random.Generator
) -> Floats:
    """The masked values drawn anew from their whole domains."""
    return np.where(mask, space.domain.draw(len(Z), rng), Z)


def between(
    Z: Floats, mask: NDArray[np.bool_], first: Floats, second: Floats, space: InputSpace,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """The masked values drawn anew between those of two parents, ends included."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    drawn = values_at(rng.random(Z.shape), low, high, space.domain.discrete)
    return space.domain.clip(np.where(mask, np.minimum(drawn, high), Z))


def mask_free(
    n: int, probability: float, space: InputSpace, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which values to mutate: each free one with the probability."""
    mask = np.zeros((n, space.n_features), dtype=bool)
    mask[:, space.non_sensitive] = rng.random((n, len(space.non_sensitive))) < probability
    return mask
