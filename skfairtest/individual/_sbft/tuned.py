"""Our own search for the fairness degree: an evolving population, each member a local search.

With the first queries a small evolutionary search finds an input to start from (`InitialDesign`).
Then a population is improved: each member has some children in a batch, in which a few columns are
changed or taken from another member, and gives way to the best of them if that is not worse. So
members drift where the model does not change, and leave places where no single change is better.
The population grows with the run. When it has stalled, a new one begins from other rows of the
data: each is a subpopulation. What two subpopulations have reached is then joined in a third.
Nothing depends on the budget: a longer run begins as the shorter one does.
"""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.children import Batches, Children, Variation
from skfairtest.individual._sbft.initial_design import InitialDesign
from skfairtest.individual._sbft.pairs import first_pairs, many_values
from skfairtest.individual._sbft.population import (
    PAIRS,
    ROWS,
    Evaluated,
    OperatorStats,
    Subpopulation,
)
from skfairtest.individual._sbft.settings import DEFAULTS, SearchSettings
from skfairtest.individual._seeds import data_seeds
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement


class TunedSearch:
    """The search; `run` goes on until the budget ends it.

    Parameters
    ----------
    search : SearchHandle
        Judges inputs and keeps the budget.
    rng : Generator
        Source of randomness.
    population_size : int or None
        Members of a population; None: four at first, up to 24 as the run goes on.
    crossover_proba : float
        Chance that a child takes columns of another member.
    settings : SearchSettings
        Sizes, shares and patience.
    """

    def __init__(
        self, search: SearchHandle, rng: np.random.Generator, *, population_size: int | None = None,
        crossover_proba: float = 0.2, settings: SearchSettings = DEFAULTS,
    ) -> None:  # fmt: skip
        self.search, self.space, self.rng = search, search.space, rng
        self.population_size, self.settings = population_size, settings
        # With two combinations there is one pair. Where there are more, an input is judged by one
        # pair, which is inherited, for two queries instead of many.
        self.one_pair = self.space.twins_.n_combinations == 2
        self.data = data_seeds(settings.most_rows, self.space, rng)
        self.variation = Variation(self.space, self.data, crossover_proba, settings.n_changed)
        self.n_rows_seen = 0
        self.row_queries = 0
        #: The best rows that no subpopulation has started from.
        self.rows: Evaluated
        #: Share of the children that cost queries, lately.
        self.fresh = 1.0
        # The best pair seen so far, of all subpopulations: the paper's cache.
        self.cached = self.space.twins_.draw_sensitive_pairs(1, rng)[0]
        self.degree = 0.0
        self.stats = OperatorStats()
        #: Best disparities of the subpopulations that began from rows, the running one last.
        self.subpopulation_bests: list[float] = []
        self.retired: list[Subpopulation] = []

    def run(self) -> None:
        """Judge one batch after the other until the budget ends the run."""
        batches = self.batches()
        batch = next(batches)
        while True:
            batch = batches.send(self.evaluate(*batch))

    def batches(self) -> Batches[None]:
        """Propose batches for ever: subpopulations that are improved step by step."""
        subpopulation = yield from self.first_subpopulation()
        while True:
            queries = self.n_queries
            if subpopulation.has_stalled(queries, self.settings):
                subpopulation = yield from self.next_subpopulation(subpopulation)
            elif len(subpopulation.members) < self.n_members:
                new = yield from self.starts(self.n_members - len(subpopulation.members))
                subpopulation.members = subpopulation.members.joined(new)
            if len(subpopulation.members):
                yield from self.step(subpopulation)
            if self.n_queries == queries:  # in a small domain: all of it was known
                yield from self.look_at_rows()

    @property
    def n_queries(self) -> int:
        """Queries so far."""
        return self.search.so_far.queries

    @property
    def n_members(self) -> int:
        """Members that a population has by now."""
        if self.population_size is not None:
            return self.population_size
        given = self.settings
        return min(given.most_members, given.first_members + self.n_queries // given.member_growth)

    def n_children(self, n_members: int) -> int:
        """Children that each of so many members has in a batch by now."""
        given = self.settings
        grown = (self.n_queries / given.batch_doubles_at) ** 2
        inputs = self.n_inputs(given.first_batch / 2 * (1 + grown), given.most_batch / 2)
        # The share of children that cost queries is taken for a tenth at least.
        return max(1, round(inputs / (n_members * max(0.1, self.fresh))))

    def n_inputs(self, n: float, most: float) -> float:
        """Inputs in a batch: n, or more, up to `most`, if a call of the model takes long.

        More only where time is the only limit: otherwise a seed's result depends on no clock.
        """
        if self.search.left.ends_by_time_alone:
            # The time left is divided into 300 batches.
            n = max(n, self.search.affordable(batches=300))
        return min(most, n)

    # Subpopulations -------------------------------------------------------------------------------

    def first_subpopulation(self) -> Batches[Subpopulation]:
        """Start with an evolutionary search, whose best input is the first member."""
        rows = self.data[: self.settings.design_rows]

        def sample(n: int) -> Floats:
            return self.search.sample(n, self.rng).rows

        Z = np.concatenate([rows, sample(self.settings.design_uniform)])
        self.n_rows_seen = len(rows)
        design = InitialDesign(
            self.space, self.data, sample, self.n_inputs, self.rng, self.settings
        )
        found = yield from design.run(Z, first_pairs(Z, self.space, self.rng))
        best = yield from self.with_best_pairs(found[:1])
        # The initial design has looked at rows as well: 40% of its queries count as spent on them.
        self.row_queries = int(0.4 * self.n_queries)
        self.rows = best[:0]
        return (yield from self.found_subpopulation(best))

    def found_subpopulation(self, known: Evaluated) -> Batches[Subpopulation]:
        """Start a subpopulation from rows of the data, and from inputs that are known."""
        yield from self.look_at_rows()
        self.subpopulation_bests.append(0.0)
        new = yield from self.starts(self.n_members - len(known))
        return Subpopulation(known.joined(new), self.n_queries, joins=False)

    def next_subpopulation(self, subpopulation: Subpopulation) -> Batches[Subpopulation]:
        """Start the next subpopulation: one that joins the last two, or one of rows.

        After a subpopulation of rows, its members are joined with those of the one before, if there
        is one; after such a subpopulation comes one of rows.
        """
        self.retired.append(subpopulation)
        if subpopulation.joins or len(self.retired) == 1:
            return (yield from self.found_subpopulation(subpopulation.members[:0]))
        one, other = (old.members for old in self.retired[-2:])
        members = one.joined(other).best(self.n_members)
        return Subpopulation(members, self.n_queries, joins=True)

    def starts(self, n: int) -> Batches[Evaluated]:
        """Rows of the data to start from, good ones, each of which is used once."""
        if self.row_queries < self.settings.row_share * self.n_queries or len(self.rows) < n:
            yield from self.look_at_rows()
        size = len(self.rows)
        place = size * self.rng.random(min(n, size)) ** self.settings.row_front
        drawn = np.unique(place.astype(np.intp))
        chosen = self.rows[drawn]
        self.rows = self.rows[np.setdiff1d(np.arange(size), drawn)]
        return (yield from self.with_best_pairs(chosen))

    # Judging -------------------------------------------------------------------------------

    def repaired(self, Z: Floats, values: Floats) -> Floats:
        """Proposals as inputs of the domain that the constraint objects admit."""
        compared = None if self.one_pair else values
        return self.space.feasibility.repair(self.space.domain.clip(Z), self.rng, compared)

    def evaluate(self, Z: Floats, values: Floats, operators: Ints) -> Evaluated:
        """Evaluate inputs by pairs of sensitive values, or by more; returns what each shows."""
        Z = self.repaired(Z, values)
        so_far = self.search.so_far
        queries, n_found, degree = so_far.queries, so_far.found, so_far.degree
        judged: Judgement | None = None
        try:
            judged = self.search.evaluate(Z, None if self.one_pair else values)
        finally:
            # The last batch of a run counts as well, as far as it came: nothing tells which of its
            # inputs are discriminatory, so that these are shared out.
            best = 0 if judged is None or not len(Z) else int(judged.disparity.argmax())
            if len(Z):
                share = np.full(len(Z), (so_far.found - n_found) / len(Z))
                found = share if judged is None else judged.verdict
                spent, gain = so_far.queries - queries, so_far.degree - degree
                self.stats.add(operators, found, spent, best, gain)
        pairs = np.stack([judged.first, judged.second], axis=1)
        if len(Z) and judged.disparity[best] > self.degree:
            self.degree, self.cached = float(judged.disparity[best]), pairs[best]
        return Evaluated(Z, pairs, judged.disparity)

    def look_at_rows(self) -> Batches[None]:
        """Judge some more rows of the data, and some uniform inputs; keep the best."""
        at_once = self.settings.rows_at_once
        rows = self.data[self.n_rows_seen : self.n_rows_seen + at_once]
        n = at_once // 3 if len(rows) else at_once
        uniform = self.search.sample(n, self.rng).rows
        Z = np.concatenate([rows, uniform])
        pairs = self.space.twins_.draw_sensitive_pairs(len(Z), self.rng)
        pairs[self.rng.random(len(Z)) < 0.8] = self.cached
        self.n_rows_seen += len(rows)
        queries = self.n_queries
        judged = yield Children.of_one(ROWS, Z, pairs)
        self.rows = self.rows.joined(judged).best(self.settings.best_rows)
        self.row_queries += self.n_queries - queries

    def with_best_pairs(self, some: Evaluated) -> Batches[Evaluated]:
        """The inputs, each with the best of many pairs."""
        if self.one_pair or not len(some):
            return some
        values = np.stack([many_values(pair, self.space, self.rng) for pair in some.pairs])
        return (yield Children.of_one(PAIRS, some.Z, values))

    # A step --------------------------------------------------------------------------------

    def step(self, subpopulation: Subpopulation) -> Batches[None]:
        """Each member has children, and gives way to the best of them if that is not worse."""
        members = subpopulation.members
        n, queries = self.n_children(len(members)), self.n_queries
        judged = yield self.variation.children(members, n, self.rng)
        fresh = (self.n_queries - queries) / (2 * len(judged))
        # What was seen before weighs four fifths.
        kept = 0.8
        self.fresh = kept * self.fresh + (1 - kept) * fresh
        subpopulation.replace_by(judged, self.n_queries)
        if not subpopulation.joins:
            self.subpopulation_bests[-1] = subpopulation.best
