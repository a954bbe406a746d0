"""Our own search for the fairness degree: SBFT's idea of an evolving population, as hill climbing.

With the first queries a small evolutionary search finds an input to start from (`Opening`). Then a
population is improved: each member has some children in a batch, in which a few columns are
changed or taken from another member, and gives way to the best of them if that is not worse. So
members drift where the model does not change, and leave places where no single change is better.
The population grows with the run. When it has stalled, a new one begins from other rows of the
data, an island; what two islands have reached is then joined in a third. Nothing depends on the
budget: a longer run begins as the shorter one does.
"""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.children import Batches, Children, Variation
from skfairtest.individual._sbft.opening import FIRST_ROWS, FIRST_UNIFORM, Opening
from skfairtest.individual._sbft.pairs import first_pairs, many_values
from skfairtest.individual._sbft.population import (
    PAIRS,
    ROWS,
    Island,
    Judged,
    OperatorStats,
)
from skfairtest.individual._seeds import data_seeds
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement

#: Rows of the data that are looked at, at most, and in one go; their share of the queries.
MOST_ROWS = 20_000
ROWS_AT_ONCE = 150
ROW_SHARE = 0.1
#: Rows that are kept to start from; the larger `FRONT`, the likelier the best of them are drawn.
BEST_ROWS, FRONT = 200, 4.0
#: Members of a population at the start and at most, and queries after which there is one more: a
#: small population gets further with few queries, a large one in the end.
FIRST_MEMBERS, MOST_MEMBERS, MEMBER_GROWTH = 4, 24, 4000
#: Queries of a batch at the start and at most, and queries of the run when a batch has twice as
#: many as at the start. It grows with the square of the run's length: small batches get further
#: with few queries, and in a long run what a call costs apart from its rows counts less and less.
FIRST_BATCH, MOST_BATCH, BATCH_DOUBLES_AT = 80, 4000, 9000
#: Weight of what was seen before, with each batch, of the share of children that cost queries, and
#: the least that it is taken for: others were known.
MEMORY, LEAST_FRESH = 0.8, 0.1


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
    """

    def __init__(
        self, search: SearchHandle, rng: np.random.Generator, *, population_size: int | None = None,
        crossover_proba: float = 0.2,
    ) -> None:  # fmt: skip
        self.search, self.space, self.rng = search, search.space, rng
        self.population_size = population_size
        # With two combinations there is one pair. Where there are more, an input is judged by one
        # pair, which is inherited, for two queries instead of many.
        self.one_pair = self.space.twins_.n_combinations == 2
        self.data = data_seeds(MOST_ROWS, self.space, rng)
        self.variation = Variation(self.space, self.data, crossover_proba)
        self.n_rows_seen = 0
        self.row_queries = 0
        #: The best rows that no island has started from.
        self.rows: Judged
        #: Share of the children that cost queries, lately.
        self.fresh = 1.0
        # The best pair seen so far, of all islands: the paper's cache.
        self.cached = self.space.twins_.draw_sensitive_pairs(1, rng)[0]
        self.degree = 0.0
        self.stats = OperatorStats()
        #: Best disparities of the islands that began from rows, the running one last.
        self.island_bests: list[float] = []
        self.retired: list[Island] = []

    def run(self) -> None:
        """Judge one batch after the other until the budget ends the run."""
        batches = self.batches()
        batch = next(batches)
        while True:
            batch = batches.send(self.judge(*batch))

    def batches(self) -> Batches[None]:
        """Propose batches for ever: islands that are improved step by step."""
        island = yield from self.first_island()
        while True:
            queries = self.n_queries
            if island.has_stalled(queries):
                island = yield from self.next_island(island)
            elif len(island.members) < self.n_members:
                new = yield from self.starts(self.n_members - len(island.members))
                island.members = island.members.joined(new)
            if len(island.members):
                yield from self.step(island)
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
        return min(MOST_MEMBERS, FIRST_MEMBERS + self.n_queries // MEMBER_GROWTH)

    def n_children(self, n_members: int) -> int:
        """Children that each of so many members has in a batch by now."""
        grown = (self.n_queries / BATCH_DOUBLES_AT) ** 2
        inputs = self.n_inputs(FIRST_BATCH / 2 * (1 + grown), MOST_BATCH / 2)
        return max(1, round(inputs / (n_members * max(LEAST_FRESH, self.fresh))))

    def n_inputs(self, n: float, most: float) -> float:
        """Inputs in a batch: n, or more, up to `most`, if a call of the model takes long.

        More only where time is the only limit: otherwise a seed's result depends on no clock.
        """
        if self.search.left.ends_by_time_alone:
            # The time left is divided into 300 batches.
            n = max(n, self.search.affordable(batches=300))
        return min(most, n)

    # Islands -------------------------------------------------------------------------------

    def first_island(self) -> Batches[Island]:
        """Start with an evolutionary search, whose best input is the first island's first."""
        rows = self.data[:FIRST_ROWS]

        def sample(n: int) -> Floats:
            return self.search.sample(n, self.rng).rows

        Z = np.concatenate([rows, sample(FIRST_UNIFORM)])
        self.n_rows_seen = len(rows)
        opening = Opening(self.space, self.data, sample, self.n_inputs, self.rng)
        found = yield from opening.run(Z, first_pairs(Z, self.space, self.rng))
        best = yield from self.with_best_pairs(found[:1])
        # The initial design has looked at rows as well: 40% of its queries count as spent on them.
        self.row_queries = int(0.4 * self.n_queries)
        self.rows = best[:0]
        return (yield from self.found_island(best))

    def found_island(self, known: Judged) -> Batches[Island]:
        """Start an island from rows of the data, and from inputs that are known."""
        yield from self.look_at_rows()
        self.island_bests.append(0.0)
        new = yield from self.starts(self.n_members - len(known))
        return Island(known.joined(new), self.n_queries, joins=False)

    def next_island(self, island: Island) -> Batches[Island]:
        """Start the next island: one that joins the last two, or one of rows.

        After an island of rows, its members are joined with those of the island before, if there is
        one; after such an island comes one of rows.
        """
        self.retired.append(island)
        if island.joins or len(self.retired) == 1:
            return (yield from self.found_island(island.members[:0]))
        one, other = (old.members for old in self.retired[-2:])
        members = one.joined(other).best(self.n_members)
        return Island(members, self.n_queries, joins=True)

    def starts(self, n: int) -> Batches[Judged]:
        """Rows of the data to start from, good ones, each of which is used once."""
        if self.row_queries < ROW_SHARE * self.n_queries or len(self.rows) < n:
            yield from self.look_at_rows()
        size = len(self.rows)
        drawn = np.unique((size * self.rng.random(min(n, size)) ** FRONT).astype(np.intp))
        chosen = self.rows[drawn]
        self.rows = self.rows[np.setdiff1d(np.arange(size), drawn)]
        return (yield from self.with_best_pairs(chosen))

    # Judging -------------------------------------------------------------------------------

    def repaired(self, Z: Floats, values: Floats) -> Floats:
        """Proposals as inputs of the domain that the constraint objects admit."""
        compared = None if self.one_pair else values
        return self.space.admission.repair(self.space.domain.clip(Z), self.rng, compared)

    def judge(self, Z: Floats, values: Floats, operators: Ints) -> Judged:
        """Judge inputs by pairs of sensitive values, or by more; returns what each shows."""
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
        return Judged(Z, pairs, judged.disparity)

    def look_at_rows(self) -> Batches[None]:
        """Judge some more rows of the data, and some uniform inputs; keep the best."""
        rows = self.data[self.n_rows_seen : self.n_rows_seen + ROWS_AT_ONCE]
        n = ROWS_AT_ONCE // 3 if len(rows) else ROWS_AT_ONCE
        uniform = self.search.sample(n, self.rng).rows
        Z = np.concatenate([rows, uniform])
        pairs = self.space.twins_.draw_sensitive_pairs(len(Z), self.rng)
        pairs[self.rng.random(len(Z)) < 0.8] = self.cached
        self.n_rows_seen += len(rows)
        queries = self.n_queries
        judged = yield Children.of_one(ROWS, Z, pairs)
        self.rows = self.rows.joined(judged).best(BEST_ROWS)
        self.row_queries += self.n_queries - queries

    def with_best_pairs(self, some: Judged) -> Batches[Judged]:
        """The inputs, each with the best of many pairs."""
        if self.one_pair or not len(some):
            return some
        values = np.stack([many_values(pair, self.space, self.rng) for pair in some.pairs])
        return (yield Children.of_one(PAIRS, some.Z, values))

    # A step --------------------------------------------------------------------------------

    def step(self, island: Island) -> Batches[None]:
        """Each member has children, and gives way to the best of them if that is not worse."""
        members = island.members
        n, queries = self.n_children(len(members)), self.n_queries
        judged = yield self.variation.children(members, n, self.rng)
        fresh = (self.n_queries - queries) / (2 * len(judged))
        self.fresh = MEMORY * self.fresh + (1 - MEMORY) * fresh
        island.replace_by(judged, self.n_queries)
        if not island.joins:
            self.island_bests[-1] = island.best
