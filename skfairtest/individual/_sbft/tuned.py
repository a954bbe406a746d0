"""Our own search for the fairness degree: SBFT's idea of crossing elites, with local searches.

With the first queries a small evolutionary search finds the elites of the first island (`Opening`).
Each local search improves one input along its columns: several values of several columns are probed
in one batch, and then the changes that were better are made together. Where no single change is
better, a crossing of two elites is the next start: first each difference between the parents is
tried, then, if that was promising, all columns again. An island that has stalled is left for a new
one of other rows; what two islands have reached is then crossed in a third. Nothing depends on the
budget: a longer run begins as the shorter one does.
"""

from __future__ import annotations

import itertools

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.islands import (
    COMBINED,
    CROSSED,
    NEUTRAL,
    NOTHING,
    PAIRS,
    PROBES,
    RELINKED,
    ROWS,
    TINY,
    Changes,
    Elite,
    Elites,
    Island,
    Judged,
    LocalSearch,
    OperatorStats,
    next_columns,
)
from skfairtest.individual._sbft.opening import FIRST_ROWS, FIRST_UNIFORM, Opening
from skfairtest.individual._sbft.probes import (
    CoordinateProbes,
    many_values,
    moved_sides,
    weighted_order,
)
from skfairtest.individual._seeds import data_seeds
from skfairtest.oracle._judgement import Judgement
from skfairtest.oracle._oracle import Oracle

#: Rows of the data that are looked at, at most, and in one go; their share of the queries.
MOST_ROWS = 20_000
ROWS_AT_ONCE = 300
ROW_SHARE = 0.1
#: Share of the queries of the opening that counts as spent on rows.
OPENING_AS_ROWS = 0.4
#: Best inputs of the opening of which many pairs are looked at.
FEW_PAIRED = 4
#: Rows that are kept to start from.
BEST_ROWS = 200
#: Moves of the pair in a batch.
PAIR_MOVES = 4
#: Where the other parent of a child is drawn from.
PARTNERS = ("elites", "good rows", "any rows")
#: Children of two parents, of which the best goes on; how much of the other parent each may take,
#: and the share of those that take its pair.
CHILDREN = 32
TAKEN = (0.05, 0.1, 0.25, 0.5)
OTHER_PAIR = 0.3
#: Weight of what a column brought before, with each coordinate sweep's probes of it.
MEMORY = 0.9
#: Local searches at the start and at most, and queries after which there is one more: calls grow
#: with the run, so that what they cost apart from their rows counts less and less.
FIRST_SEARCHES, MOST_SEARCHES = 4, 24
GROWTH = 2000
#: Changes of a local search in a batch below which there are more of them, so that a batch is worth
#: its call: columns are few, or few of their values are tried.
FEW_CHANGES = 64
#: Coordinate sweeps without a better input after which a local search is over.
IDLE_SWEEPS = 1


class TunedSearch:
    """The search; `run` goes on until the oracle ends it.

    Parameters
    ----------
    oracle : Oracle
        Judges inputs and keeps the budget.
    rng : Generator
        Source of randomness.
    population_size : int
        Elites of an island, at most.
    crossover_proba : float
        Chance that a local search starts from a crossing, not from a row.
    n_searches : int or None
        Local searches at a time; None: four at first, up to 24 as the run goes on, and more where
        each has few changes to try.
    """

    def __init__(
        self, oracle: Oracle, rng: np.random.Generator, *, population_size: int = 30,
        crossover_proba: float = 0.75, n_searches: int | None = None,
    ) -> None:  # fmt: skip
        self.oracle, self.space, self.rng = oracle, oracle.space, rng
        self.population_size, self.crossover_proba = population_size, crossover_proba
        self.n_searches = n_searches
        # With two combinations there is one pair. Where there are more, an input is judged by one
        # pair, which is inherited, for two queries instead of many.
        self.one_pair = self.space.twins_.n_combinations == 2
        self.data = data_seeds(MOST_ROWS, self.space, rng)
        self.probes = CoordinateProbes(self.space, self.data)
        self.n_rows_seen = 0
        self.row_queries = 0
        self.rows = Elites(BEST_ROWS)
        self.weight = np.ones(self.space.n_features)
        #: Changes of a local search in a batch, lately.
        self.n_changes = float(FEW_CHANGES)
        # The best pair seen so far, of all islands: the paper's cache.
        self.cached = self.space.twins_.draw_sensitive_pairs(1, rng)[0]
        self.degree = 0.0
        self.stats = OperatorStats()
        #: Best disparities of the islands that began from rows, the running one last.
        self.island_bests: list[float] = []
        self.retired: list[Island] = []

    def run(self) -> None:
        """Search until the oracle ends the run."""
        island = self.first_island()
        while True:
            if island.has_stalled(self.oracle.n_queries, self.grown):
                island = self.next_island(island)
            island.searches += self.starts(island, self.n_at_once() - len(island.searches))
            queries = self.oracle.n_queries
            self.step(island)
            if self.oracle.n_queries == queries:  # in a small domain: all of it was known
                self.look_at_rows()

    # Islands -------------------------------------------------------------------------------

    def first_island(self) -> Island:
        """Start with an evolutionary search, whose best inputs are the first island's elites."""
        rows = self.data[:FIRST_ROWS]

        def sample(n: int) -> Floats:
            return self.oracle.sample(n, self.rng)

        Z = np.concatenate([rows, sample(FIRST_UNIFORM)])
        self.n_rows_seen = len(rows)
        opening = Opening(self.space, self.data, self.ask_alike, sample, self.rng)
        best = opening.run(Z, self.first_pairs(Z))
        best = best[FEW_PAIRED:] + self.with_best_pairs(best[:FEW_PAIRED])
        for one in best:
            self.rows.add(one)
        self.row_queries = int(OPENING_AS_ROWS * self.oracle.n_queries)
        self.island_bests.append(0.0)
        elites = Elites(self.population_size, best)
        return Island(elites, self.oracle.n_queries, crosses=False)

    def first_pairs(self, Z: Floats) -> Floats:
        """Random pairs; where values are too many to be listed, one is the input's own."""
        pairs = self.space.twins_.draw_sensitive_pairs(len(Z), self.rng)
        if not self.space.twins_.is_enumerable:
            pairs[:, 0] = self.space.twins_.clip_sensitive(Z[:, self.space.sensitive])
        return pairs

    def found_island(self) -> Island:
        """Start an island from rows of the data."""
        self.look_at_rows()
        self.island_bests.append(0.0)
        return Island(Elites(self.population_size), self.oracle.n_queries, crosses=False)

    def next_island(self, island: Island) -> Island:
        """Start the next island: one that crosses the last two, or one of rows.

        After an island of rows, its elites are crossed with those of the island before, if there is
        one; after such an island comes one of rows.
        """
        for search in island.searches:
            island.elites.add(search.here)
        self.retired.append(island)
        if island.crosses or len(self.retired) == 1:
            return self.found_island()
        kept = [one for old in self.retired[-2:] for one in old.elites.kept]
        return Island(
            Elites(self.population_size, kept), self.oracle.n_queries, crosses=True
        )  # fmt: skip

    @property
    def grown(self) -> int:
        """Local searches that the run has come to by now, where each has many changes to try."""
        grown = FIRST_SEARCHES - 1 + int(self.oracle.n_queries / GROWTH)
        return min(MOST_SEARCHES, max(FIRST_SEARCHES, grown))

    def n_at_once(self) -> int:
        """How many local searches an island has by now."""
        if self.n_searches is not None:
            return self.n_searches
        return int(self.grown * max(1.0, FEW_CHANGES / self.n_changes))

    # Asking --------------------------------------------------------------------------------

    def repaired(self, Z: Floats, values: Floats) -> Floats:
        """Proposals as inputs of the domain that the constraint objects admit."""
        compared = None if self.one_pair else values
        return self.space.admission.repair(self.space.domain.clip(Z), self.rng, compared)

    def ask(self, Z: Floats, values: Floats, operators: Ints) -> Judged:
        """Judge inputs by pairs of sensitive values, or by more; returns what each shows."""
        oracle = self.oracle
        Z = self.repaired(Z, values)
        queries, n_found, degree = oracle.n_queries, oracle.n_found, oracle.degree
        judged: Judgement | None = None
        try:
            judged = oracle.disparity(Z, None if self.one_pair else values)
        finally:
            # The last batch of a run counts as well, as far as it came: nothing tells which of its
            # inputs are discriminatory, so that these are shared out.
            best = 0 if judged is None or not len(Z) else int(judged.disparity.argmax())
            spent, gain = oracle.n_queries - queries, oracle.degree - degree
            if len(Z):
                share = np.full(len(Z), (oracle.n_found - n_found) / len(Z))
                found = share if judged is None else judged.verdict
                self.stats.add(operators, found, spent, best, gain)
        pairs = np.stack([judged.first, judged.second], axis=1)
        if len(Z) and judged.disparity[best] > self.degree:
            self.degree, self.cached = float(judged.disparity[best]), pairs[best]
        return Judged(judged.disparity, Z, pairs)

    def ask_alike(self, Z: Floats, values: Floats, operator: int) -> Judged:
        """Judge a batch of inputs that one operator has made."""
        return self.ask(Z, values, np.full(len(Z), operator))

    def look_at_rows(self) -> None:
        """Judge some more rows of the data, and some uniform inputs; keep the best."""
        rows = self.data[self.n_rows_seen : self.n_rows_seen + ROWS_AT_ONCE]
        uniform = self.oracle.sample(ROWS_AT_ONCE // 3 if len(rows) else ROWS_AT_ONCE, self.rng)
        Z = np.concatenate([rows, uniform])
        pairs = self.space.twins_.draw_sensitive_pairs(len(Z), self.rng)
        pairs[self.rng.random(len(Z)) < 0.8] = self.cached
        self.n_rows_seen += len(rows)
        queries = self.oracle.n_queries
        self.rows.add_best(self.ask_alike(Z, pairs, ROWS))
        self.row_queries += self.oracle.n_queries - queries

    def with_best_pairs(self, some: list[Elite]) -> list[Elite]:
        """The inputs, each with the best of many pairs."""
        if self.one_pair or not some:
            return some
        values = np.stack([many_values(one.pair, self.space, self.rng) for one in some])
        return list(self.ask_alike(np.stack([one.z for one in some]), values, PAIRS))

    # A step --------------------------------------------------------------------------------

    def step(self, island: Island) -> None:
        """All local searches try single changes in one batch, then several together in another.

        A search between two parents, which begins, tries their children instead.
        """
        searches = island.searches
        tried = self.try_changes(island)
        together: list[tuple[Floats, Floats]] = []
        operators: list[int] = []
        parts: list[slice] = []
        for search, (columns, seen) in zip(searches, tried, strict=True):
            if search.is_unborn:
                search.begin(seen)
                search.queue = self.differing(search)
                columns, seen = columns[:0], NOTHING
            for j, gain in search.learn(columns, seen).items():
                if j >= 0:
                    self.weight[j] = MEMORY * self.weight[j] + gain
            proposed, is_neutral = search.combined(self.rng)
            parts.append(slice(len(together), len(together) + len(proposed)))
            together += proposed
            operators += [COMBINED] * (len(proposed) - is_neutral) + [NEUTRAL] * is_neutral
        judged = NOTHING
        if together:
            Z, pairs = (np.array(part) for part in zip(*together, strict=True))
            judged = self.ask(Z, pairs, np.array(operators))
        for search, part in zip(searches, parts, strict=True):
            search.move(judged.part(part))
            island.note(search.here.fitness, self.oracle.n_queries)
        self.go_on(island)
        if not island.crosses:
            self.island_bests[-1] = island.best

    def try_changes(self, island: Island) -> list[tuple[Ints, Judged]]:
        """Judge changes of all local searches: their columns, and what each change shows.

        The column is -1 where the pair was changed, or many columns. Where no column has another
        value, a batch of new rows is judged instead.
        """
        searches = island.searches
        parts = [
            self.children(searches),
            self.probed(searches, island.elites.rows),
            self.relinked(searches),
            self.pair_moves(searches),
        ]
        owner, column, Z, pairs, operators = map(np.concatenate, zip(*parts, strict=True))
        if not len(owner):
            self.look_at_rows()
            return [(column, NOTHING) for _ in searches]
        judged = self.ask(Z, pairs, operators)
        before = np.array([search.here.fitness for search in searches])[owner]
        changed = np.abs(judged.fitness - before) > TINY * before
        is_probe = operators == PROBES
        self.n_changes = MEMORY * self.n_changes + (1 - MEMORY) * len(owner) / len(searches)
        self.probes.learn(column[is_probe], changed[is_probe])
        order = np.argsort(owner, kind="stable")
        column, judged = column[order], judged.part(order)
        ends = np.searchsorted(owner[order], np.arange(len(searches) + 1)).tolist()
        own = [slice(*both) for both in itertools.pairwise(ends)]
        return [(column[one], judged.part(one)) for one in own]

    def children(self, searches: list[LocalSearch]) -> Changes:
        """Children of the parents of each search that begins, which take some of the other's."""
        rng, free = self.rng, self.space.free
        unborn = [
            (i, one.parents[1]) for i, one in enumerate(searches) if one.parents and one.is_unborn
        ]
        owner = np.repeat(np.array([i for i, _ in unborn], dtype=np.intp), CHILDREN)
        changes, n = Changes.of(searches, owner, CROSSED), len(owner)
        if n:
            taken = np.zeros(changes.Z.shape, dtype=bool)
            taken[:, free] = rng.random((n, len(free))) < rng.choice(TAKEN, n)[:, None]
            others = np.repeat([other.z for _, other in unborn], CHILDREN, axis=0)
            changes.Z[taken] = others[taken]
            changed = rng.random(n) < OTHER_PAIR
            others = np.repeat([other.pair for _, other in unborn], CHILDREN, axis=0)
            changes.pairs[changed] = others[changed]
        return changes

    def probed(self, searches: list[LocalSearch], elites: Floats) -> Changes:
        """Single columns of the searches of one input, with other values."""
        owner, column = next_columns(searches, relinks=False)
        Z = np.array([search.here.z for search in searches])
        place, values = self.probes.values(Z[owner], column, elites, self.rng)
        return Changes.of(searches, owner[place], PROBES).with_values(column[place], values)

    def relinked(self, searches: list[LocalSearch]) -> Changes:
        """Single columns of the searches between two parents, as the other parent has them."""
        owner, column = next_columns(searches, relinks=True)
        values = [
            searches[i].other_side(j) for i, j in zip(owner.tolist(), column.tolist(), strict=True)
        ]
        return Changes.of(searches, owner, RELINKED).with_values(column, np.array(values))

    def pair_moves(self, searches: list[LocalSearch]) -> Changes:
        """Other pairs of sensitive values, where there is more than one."""
        born = [i for i, search in enumerate(searches) if not search.is_unborn]
        n = 0 if self.one_pair else PAIR_MOVES
        changes = Changes.of(searches, np.repeat(np.array(born, dtype=np.intp), n), PAIRS)
        return changes._replace(pairs=moved_sides(changes.pairs, self.space, self.rng))

    def go_on(self, island: Island) -> None:
        """Give local searches whose queue is empty a new one, or replace them by others."""
        idle = [search for search in island.searches if not search.queue]
        done = [one for one in idle if one.parents is None and one.has_converged(IDLE_SWEEPS)]
        over = [one for one in idle if one.parents is not None and self.ends_between(island, one)]
        # The pairs of all would cost too much: those of the better half are looked at.
        good = [one for one in done if one.here.fitness >= island.elites.quantile(0.5)]
        over += [one for one in done if one.here.fitness < island.elites.quantile(0.5)]
        for search, better in zip(
            good, self.with_best_pairs([one.here for one in good]), strict=True
        ):
            if better.fitness > search.here.fitness * (1 + TINY):
                search.here = better
            else:
                over.append(search)
        for search in done:
            island.elites.add(search.here)
        for search in idle:
            if search.parents is None:
                search.queue = self.all_columns()
            search.moved = False
        going = [search for search in island.searches if all(search is not o for o in over)]
        island.searches = going + self.starts(island, len(over))

    def ends_between(self, island: Island, search: LocalSearch) -> bool:
        """Whether a search between two parents is over, and its child not worth all columns.

        If it has moved, its queue is filled with the parents' differences again, and it goes on.
        """
        assert search.parents is not None
        here, parent = search.here, search.parents[0]
        if search.moved:
            search.queue = self.differing(search)
            return False
        search.parents = None
        poor = here.fitness < min(parent.fitness, island.elites.quantile(0.5))
        return poor or island.elites.knows(here.fitness)

    def all_columns(self) -> list[int]:
        """The free columns in random order, those that brought much lately early."""
        return weighted_order(self.space.free, self.weight, self.rng)

    # Starts --------------------------------------------------------------------------------

    def starts(self, island: Island, n: int) -> list[LocalSearch]:
        """Start so many local searches, between elites and other inputs or at good rows."""
        if n <= 0:
            return []
        rng = self.rng
        if self.row_queries < ROW_SHARE * self.oracle.n_queries:
            self.look_at_rows()
        crossed = []
        for crosses in rng.random(n) < self.crossover_proba:
            if crosses and len(island.elites) > 1:
                search = self.between(island)
                if self.differing(search):
                    crossed.append(search)
        rows = [self.rows.draw(rng, 4.0) for _ in range(n - len(crossed))]
        return [
            LocalSearch(one, self.all_columns()) for one in self.with_best_pairs(rows)
        ] + crossed

    def between(self, island: Island) -> LocalSearch:
        """A local search between an elite and an input to cross it with."""
        rng = self.rng
        parent = island.elites.draw(rng)
        partners = PARTNERS[rng.integers(len(PARTNERS))]
        if partners == "elites":
            other = island.elites.draw(rng)
            if other is parent:
                other = island.elites.draw(rng, 1.0)
        elif partners == "good rows" or not len(self.data):
            other = self.rows.draw(rng)
        else:
            other = Elite(0.0, self.data[rng.integers(len(self.data))], parent.pair)
        return LocalSearch(parent, [], parents=(parent, other))

    def differing(self, search: LocalSearch) -> list[int]:
        """The free columns in which the parents of a search differ, in random order."""
        assert search.parents is not None
        free, (one, other) = self.space.free, search.parents
        differs = one.z[free] != other.z[free]
        return self.rng.permutation(free[differs]).tolist()
