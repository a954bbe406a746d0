"""Our own search for the fairness degree: one evolving population, and a surrogate that chooses.

Children of good inputs are made many at a time: most of what is asked of the model are those among
them of which a surrogate, fitted to the answers so far, hopes most. The best inputs so far are the
next parents. When nothing better comes, the population is left and a new one begins from other rows
of the data: each is a subpopulation. What two of them have reached is then joined in a third.
Nothing depends on the budget: a longer run begins as the shorter one does.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NoReturn, TypeVar

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.children import Children, Variation
from skfairtest.individual._sbft.difference import DifferenceModel
from skfairtest.individual._sbft.pairs import first_pairs
from skfairtest.individual._sbft.population import CHOSEN, DRAWN, ROWS, Evaluated, OperatorStats
from skfairtest.individual._sbft.settings import DEFAULTS, SearchSettings
from skfairtest.individual._seeds import data_seeds
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement, concatenated
from skfairtest.oracle._row_hash import Keys, KeySet, combine_keys, distinct, row_keys

Found = TypeVar("Found")
#: Yields inputs to be judged and their operators, is sent what they show, and returns what it has
#: found in the end.
Batches = Generator[tuple[Children, Ints], Evaluated, Found]
#: Relative differences below this are the rounding of the model's sums.
TINY = 1e-9


class TunedSearch:
    """The search; `run` goes on until the budget ends it.

    Parameters
    ----------
    search : SearchHandle
        Judges inputs and keeps the budget.
    rng : Generator
        Source of randomness.
    population_size : int or None
        Inputs that children come from; None: few at first, and more as the run goes on.
    crossover_proba : float, default=0.6
        Chance that a child has a second parent.
    settings : SearchSettings
        Sizes, shares and patience.
    """

    def __init__(
        self, search: SearchHandle, rng: np.random.Generator, *, population_size: int | None = None,
        crossover_proba: float = 0.6, settings: SearchSettings = DEFAULTS,
    ) -> None:  # fmt: skip
        self.search, self.space, self.rng = search, search.space, rng
        self.given_size, self.settings = population_size, settings
        # With two combinations there is one pair. Where there are more, an input is judged by one
        # pair, which is inherited, for two queries instead of many.
        self.one_pair = self.space.twins_.n_combinations == 2
        self.data = data_seeds(settings.most_rows, self.space, rng)
        self.n_rows_seen = 0
        self.variation = Variation(self.space, self.data, crossover_proba)
        self.surrogate: DifferenceModel | None = DifferenceModel(
            self.space, self.data, settings.learned_from, rng,
            probabilities=search.response == "predict_proba",
        )  # fmt: skip
        #: What was judged, as long as the surrogate chooses: it would choose the same again.
        self.known = KeySet()
        # The best pair seen so far, of all subpopulations: the paper's cache.
        self.cached: Floats | None = None
        self.degree = 0.0
        self.stats = OperatorStats()
        #: Best disparities of the subpopulations that began from rows, the running one last.
        self.subpopulation_bests: list[float] = []

    def run(self) -> None:
        """Judge one batch after the other until the budget ends the run."""
        batches = self._batches()
        batch = next(batches)
        while True:
            batch = batches.send(self._evaluate(*batch))

    def _batches(self) -> Batches[NoReturn]:
        """Propose batches for ever: subpopulations that are improved, and joined."""
        first = self.settings.first_rows, self.settings.first_uniform
        later = self.settings.next_rows, self.settings.next_uniform
        best = yield from self._improved((yield from self._from_rows(*first)), joins=False)
        while True:
            after = yield from self._improved((yield from self._from_rows(*later)), joins=False)
            both = best.joined(after).best(self.population_size)
            best = yield from self._improved(both, joins=True)

    @property
    def population_size(self) -> int:
        """Inputs that children come from by now."""
        if self.given_size is not None:
            return self.given_size
        given = self.settings
        grown = self.search.so_far.inputs // given.member_growth
        return min(given.most_members, given.first_members + grown)

    # Subpopulations -------------------------------------------------------------------------------

    def _from_rows(self, n_rows: int, n_uniform: int) -> Batches[Evaluated]:
        """Judge rows of the data that were not looked at, and uniform inputs; return the best."""
        rows = self.data[self.n_rows_seen : self.n_rows_seen + n_rows]
        self.n_rows_seen += len(rows)
        # Uniform inputs take the places of rows that there are not.
        uniform = self.search.sample(n_rows + n_uniform - len(rows), self.rng).rows
        Z = np.concatenate([rows, uniform])
        pairs = first_pairs(Z, self.space, self.rng)
        if self.cached is not None:
            pairs[self.rng.random(len(Z)) < 0.5] = self.cached
        self.subpopulation_bests.append(0.0)
        judged = yield Children(Z, pairs), np.full(len(Z), ROWS)
        return judged.best(self.population_size)

    def _improved(self, population: Evaluated, *, joins: bool) -> Batches[Evaluated]:
        """Replace members by better children until nothing better comes."""
        given, began = self.settings, self.search.so_far.queries
        best_at, best = began, 0.0
        while True:
            if len(population) and population.fitness[0] > best * (1 + TINY):
                best, best_at = float(population.fitness[0]), self.search.so_far.queries
                if not joins:
                    self.subpopulation_bests[-1] = best
            queries = self.search.so_far.queries
            spent = queries - began if joins else best_at - began
            share = given.joined_share if joins else given.patience_share
            if queries - best_at > given.patience + share * spent or not len(population):
                return population
            judged = yield self._children(population)
            population = population.joined(judged).best(self.population_size)
            if self.search.so_far.queries == queries:  # all of them were known
                return population

    def _children(self, population: Evaluated) -> tuple[Children, Ints]:
        """Children of a population, and the operator of each."""
        n = self._n_children()
        if self.surrogate is None:
            return self.variation.children(population, n, self.rng), np.full(n, DRAWN)
        n_chosen = min(round(self.settings.chosen_share * n), self.settings.most_chosen)
        chosen = self._chosen(population, n_chosen, self.surrogate)
        drawn = self.variation.children(population, n - n_chosen, self.rng)
        operators = np.repeat([CHOSEN, DRAWN], [len(chosen.Z), n - n_chosen])
        return concatenated([chosen, drawn]), operators

    def _n_children(self) -> int:
        """Children in a batch by now: more if a call of the model takes long.

        More only where time is the only limit: otherwise a seed's result depends on no clock.
        """
        given = self.settings
        n = max(given.first_batch, given.batch_share * self.search.so_far.inputs)
        if self.search.left.ends_by_time_alone:
            # The time left is divided into 300 batches.
            n = max(n, self.search.affordable(batches=300))
        return int(min(given.most_batch, n))

    def _chosen(self, population: Evaluated, n: int, surrogate: DifferenceModel) -> Children:
        """New children, at most n: of as many groups those that the surrogate hopes most of.

        The best come first, as a budget may cut the batch.
        """
        Z, pairs = self.variation.children(population, n * self.settings.group, self.rng)
        keys = self._keys(Z, pairs)
        new = np.sort(distinct(keys)[0])
        new = new[~self.known.contains(keys[new])]
        if not len(new):
            return Children(Z[:0], pairs[:0])
        Z, pairs = Z[new], pairs[new]
        hoped = surrogate.hoped_for(Z, pairs)
        groups = np.array_split(self.rng.permutation(len(Z)), min(n, len(Z)))
        best = np.array([group[hoped[group].argmax()] for group in groups])
        best = best[np.argsort(-hoped[best], kind="stable")]
        return Children(Z[best], pairs[best])

    def _keys(self, Z: Floats, pairs: Floats) -> Keys:
        inputs = row_keys(Z[:, self.space.non_sensitive])
        if self.one_pair:
            return inputs
        return combine_keys(inputs, row_keys(pairs.reshape(len(Z), -1)))

    # Judging --------------------------------------------------------------------------------------

    def _evaluate(self, children: Children, operators: Ints) -> Evaluated:
        """Evaluate inputs, each by its pair of sensitive values; learn from what they show."""
        Z, pairs = children
        compared = None if self.one_pair else pairs
        Z = self.space.feasibility.repair(self.space.domain.clip(Z), self.rng, compared)
        so_far = self.search.so_far
        queries, n_found, degree = so_far.queries, so_far.found, so_far.degree
        judged: Judgement | None = None
        best = 0
        try:
            judged = self.search.evaluate(Z, compared)
        finally:
            # The last batch of a run counts as well, as far as it came: nothing tells which of its
            # inputs are discriminatory, so that these are shared out.
            if len(Z):
                best = 0 if judged is None else int(judged.disparity.argmax())
                share = np.full(len(Z), (so_far.found - n_found) / len(Z))
                found = share if judged is None else judged.verdict
                spent, gain = so_far.queries - queries, so_far.degree - degree
                self.stats.add(operators, found, spent, best, gain)
        of_twins = np.stack([judged.first, judged.second], axis=1)
        result = Evaluated(Z, of_twins, judged.disparity, judged.outputs)
        if len(Z) and result.fitness[best] > self.degree:
            self.degree, self.cached = float(result.fitness[best]), of_twins[best]
        if self.surrogate is not None:
            self.known.add(self._keys(Z, pairs))
            self.surrogate.learn(result)
            if so_far.inputs >= self.settings.surrogate_inputs:
                self.surrogate = None
        return result
