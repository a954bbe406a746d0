"""Our own search for the fairness degree: SBFT's idea of elites that are crossed, with climbs.

Climbers improve one input each along its columns, several values of several columns in one batch,
and then take the changes that were better together. Where nothing near is better, a crossing of two
elites is the next start: first each difference between the parents is tried, then, if that was
promising, all columns again. An island that has stalled is left for a new one of other rows; what
two islands have reached is then crossed in a third. Nothing depends on the budget: a longer run
begins as the shorter one does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._operators import data_seeds
from skfairtest.individual._sbft.climber import TINY, Climber
from skfairtest.individual._sbft.elites import Elite, Elites
from skfairtest.individual._sbft.island import Island
from skfairtest.individual._sbft.ledger import (
    COMBINED,
    CROSSED,
    DRIFT,
    LINES,
    PAIRS,
    RELINKED,
    ROWS,
    Ledger,
)
from skfairtest.individual._sbft.values import Lines, moved_sides, swept, weighted_order
from skfairtest.oracle._judgement import Judgement
from skfairtest.oracle._oracle import Oracle

#: Rows of the data that are looked at, at most, and in one go; their share of the queries.
MOST_ROWS = 20_000
SLICE = 300
ROW_SHARE = 0.1
#: Rows that are kept to start from.
BEST_ROWS = 200
#: Columns in a batch of lines, and changes in one between two parents.
COLUMNS = 24
CHANGES = 48
#: Moves of the pair in a batch.
PAIR_MOVES = 4
#: Children of two parents, of which the best goes on; share of those that take the other's pair.
CHILDREN = 32
OTHER_PAIR = 0.3
#: Climbers at the start and at most, and queries after which there is one more: calls grow with the
#: run, so that what they cost apart from their rows counts less and less.
FIRST_CLIMBERS, MOST_CLIMBERS = 4, 24
GROWTH = 3000
#: Columns up to which there are more climbers, so that a batch is worth its call.
WIDE = 12
#: Rounds through all columns without a better input after which a climb is over.
QUIET = 1
#: Weight of what a column brought before, in each update.
MEMORY = 0.9


class Way(NamedTuple):
    """How a child comes about: a name, and how much of the other parent it takes."""

    name: str
    shares: tuple[float, ...]


WAYS = (
    Way("elites", (0.5,)),
    Way("good rows", (0.1, 0.25, 0.5)),
    Way("any rows", (0.1, 0.25, 0.5)),
)


class TunedSearch:
    """The search; `run` goes on until the oracle ends it.

    Parameters
    ----------
    oracle, rng
        Who is asked, and the source of randomness.
    population_size : int
        Elites of an island, at most.
    crossover_proba : float
        Chance that a climb starts from a crossing, not from a row.
    n_climbers : int or None
        Climbers at a time; None: four at first, up to 24 as the run goes on, and
        more where columns are few.
    """

    def __init__(
        self, oracle: Oracle, rng: np.random.Generator, *, population_size: int = 30,
        crossover_proba: float = 0.75, n_climbers: int | None = None,
    ) -> None:  # fmt: skip
        self.oracle, self.space, self.rng = oracle, oracle.space, rng
        self.population_size, self.crossover_proba = population_size, crossover_proba
        self.n_climbers = n_climbers
        # With two combinations there is one pair. Where there are more, an input is judged by one
        # pair, which is inherited, for two queries instead of many.
        self.one_pair = self.space.twins_.n_combinations == 2
        self.data = data_seeds(MOST_ROWS, self.space, rng)
        self.lines = Lines(self.space, self.data)
        self.n_rows_seen = 0
        self.row_queries = 0
        self.rows = Elites(BEST_ROWS)
        self.weight = np.ones(self.space.n_features)
        # The best pair seen so far, of all islands: the paper's cache.
        self.cached = self.space.twins_.draw_sensitive_pairs(1, rng)[0]
        self.degree = 0.0
        self.ledger = Ledger()
        #: Best disparities of the islands that began from rows, the running one last.
        self.island_bests: list[float] = []
        self.retired: list[Island] = []

    def run(self) -> None:
        """Search until the oracle ends the run."""
        self.look_at_rows()
        island = self.found_island()
        while True:
            if island.has_stalled(self.oracle.n_queries, self.grown):
                island = self.next_island(island)
            island.climbers += self.starts(island, self.crew() - len(island.climbers))
            self.step(island)

    # Islands -------------------------------------------------------------------------------

    def found_island(self) -> Island:
        """An island of rows."""
        self.look_at_rows()
        self.island_bests.append(0.0)
        return Island(Elites(self.population_size), self.oracle.n_queries, crosses=False)

    def next_island(self, island: Island) -> Island:
        """After one of rows, an island in which it is crossed with those before, if there are."""
        for climber in island.climbers:
            island.elites.add(climber.here)
        self.retired.append(island)
        if island.crosses or len(self.retired) == 1:
            return self.found_island()
        kept = [one for old in self.retired[-2:] for one in old.elites.kept]
        return Island(
            Elites(self.population_size, kept), self.oracle.n_queries, crosses=True
        )  # fmt: skip

    @property
    def grown(self) -> int:
        """Climbers that the run has come to by now, where columns are many."""
        grown = FIRST_CLIMBERS - 1 + int(self.oracle.n_queries / GROWTH)
        return min(MOST_CLIMBERS, max(FIRST_CLIMBERS, grown))

    def crew(self) -> int:
        """How many climbers an island has by now."""
        if self.n_climbers is not None:
            return self.n_climbers
        # Where columns are few, a batch would be too small for its call.
        return self.grown * max(1, WIDE // len(self.space.free))

    # Asking --------------------------------------------------------------------------------

    def admit(self, Z: Floats, values: Floats) -> Floats:
        """All proposals pass here, as inputs of the domain that the constraint objects admit."""
        compared = None if self.one_pair else values
        return self.space.admission.repair(self.space.domain.clip(Z), self.rng, compared)

    def ask(self, Z: Floats, values: Floats, operators: Ints) -> list[Elite]:
        """Judge inputs by pairs of sensitive values, or by more of them; what each shows."""
        oracle = self.oracle
        Z = self.admit(Z, values)
        queries, degree = oracle.n_queries, oracle.degree
        judged: Judgement | None = None
        try:
            judged = oracle.disparity(Z, None if self.one_pair else values)
        finally:
            # The last batch of a run counts as well, as far as it came.
            verdict = np.zeros(len(Z), dtype=bool) if judged is None else judged.verdict
            best = 0 if judged is None or not len(Z) else int(judged.disparity.argmax())
            spent, gain = oracle.n_queries - queries, oracle.degree - degree
            if len(Z):
                self.ledger.note(operators, verdict, spent, best, gain)
        pairs = np.stack([judged.first, judged.second], axis=1)
        if len(Z) and judged.disparity[best] > self.degree:
            self.degree, self.cached = float(judged.disparity[best]), pairs[best]
        return list(map(Elite, judged.disparity.tolist(), Z, pairs))

    def ask_alike(self, Z: Floats, values: Floats, operator: int) -> list[Elite]:
        """The same for a batch of one operator."""
        return self.ask(Z, values, np.full(len(Z), operator))

    def look_at_rows(self) -> None:
        """Judge some more rows of the data, and some uniform inputs; keep the best."""
        rows = self.data[self.n_rows_seen : self.n_rows_seen + SLICE]
        uniform = self.oracle.sample(SLICE // 3 if len(rows) else SLICE, self.rng)
        Z = np.concatenate([rows, uniform])
        pairs = self.space.twins_.draw_sensitive_pairs(len(Z), self.rng)
        if self.n_rows_seen:
            pairs[self.rng.random(len(Z)) < 0.8] = self.cached
        elif not self.space.twins_.is_enumerable:
            # Each row of data counts with its own sensitive value.
            pairs[:, 0] = self.space.twins_.clip_sensitive(Z[:, self.space.sensitive])
        self.n_rows_seen += len(rows)
        queries = self.oracle.n_queries
        for one in self.ask_alike(Z, pairs, ROWS):
            self.rows.add(one)
        self.row_queries += self.oracle.n_queries - queries

    def sweep(self, some: list[Elite]) -> list[Elite]:
        """The inputs, each with the best of many pairs."""
        if self.one_pair or not some:
            return some
        values = np.stack([swept(one.pair, self.space, self.rng) for one in some])
        return self.ask_alike(np.stack([one.z for one in some]), values, PAIRS)

    # A step --------------------------------------------------------------------------------

    def step(self, island: Island) -> None:
        """All climbers try single changes in one batch, then changes together in another."""
        crew = island.climbers
        tried = self.try_changes(island)
        together: list[tuple[Floats, Floats]] = []
        operators: list[int] = []
        parts: list[slice] = []
        for climber, (columns, seen) in zip(crew, tried, strict=True):
            for j, gain in climber.see(columns, seen).items():
                if j >= 0:
                    self.weight[j] = MEMORY * self.weight[j] + gain
            found, drifts = climber.combined(self.rng)
            parts.append(slice(len(together), len(together) + len(found)))
            together += found
            operators += [COMBINED] * (len(found) - drifts) + [DRIFT] * drifts
        judged: list[Elite] = []
        if together:
            Z, pairs = (np.array(part) for part in zip(*together, strict=True))
            judged = self.ask(Z, pairs, np.array(operators))
        for climber, part in zip(crew, parts, strict=True):
            climber.move(judged[part])
            island.note(climber.here.fitness, self.oracle.n_queries)
        self.go_on(island)
        if not island.crosses:
            self.island_bests[-1] = island.best

    def try_changes(self, island: Island) -> list[tuple[list[int], list[Elite]]]:
        """Single changes of all climbers, judged: their columns (-1: the pair) and what they show.

        A batch without any change, where no column has another value, is made of new rows.
        """
        rng, elites = self.rng, island.elites.rows
        Z: list[Floats] = []
        pairs: list[Floats] = []
        columns: list[list[int]] = []
        operators: list[int] = []
        for climber in island.climbers:
            here, relinks = climber.here, climber.donor is not None
            n = CHANGES if relinks else COLUMNS
            chosen, climber.queue = climber.queue[:n], climber.queue[n:]
            own: list[int] = []
            for j in chosen:
                values = self.other_side(climber, j) if relinks else (
                    self.lines.values(here.z, j, elites, rng)
                )  # fmt: skip
                changed = np.repeat(here.z[None], len(values), axis=0)
                changed[:, j] = values
                Z.append(changed)
                own += [j] * len(values)
            operators += [RELINKED if relinks else LINES] * len(own)
            n_moves = 0 if self.one_pair else PAIR_MOVES
            Z.append(np.repeat(here.z[None], n_moves, axis=0))
            repeated = np.repeat(here.pair[None], len(own) + n_moves, axis=0)
            repeated[len(own) :] = moved_sides(repeated[len(own) :], self.space, rng)
            pairs.append(repeated)
            operators += [PAIRS] * n_moves
            columns.append(own + [-1] * n_moves)
        if not operators:
            self.look_at_rows()
            return [([], []) for _ in columns]
        judged = self.ask(np.concatenate(Z), np.concatenate(pairs), np.array(operators))
        ends = np.cumsum([len(own) for own in columns])
        return [(own, judged[end - len(own) : end]) for own, end in zip(columns, ends, strict=True)]

    def other_side(self, climber: Climber, j: int) -> Floats:
        """The value of column j that the other parent has."""
        assert climber.donor is not None and climber.parent is not None
        donor, parent = climber.donor[j], climber.parent.z[j]
        return np.array([parent if climber.here.z[j] == donor else donor])

    def go_on(self, island: Island) -> None:
        """Send the climbers whose queue is empty once more along it, or to another start."""
        idle = [climber for climber in island.climbers if not climber.queue]
        done = [one for one in idle if one.donor is None and one.has_looked_round(QUIET)]
        over = [one for one in idle if one.donor is not None and self.ends_between(island, one)]
        # The pairs of all would cost too much: those of the better half are looked at.
        good = [one for one in done if one.here.fitness >= island.elites.quantile(0.5)]
        over += [one for one in done if one.here.fitness < island.elites.quantile(0.5)]
        for climber, better in zip(good, self.sweep([one.here for one in good]), strict=True):
            if better.fitness > climber.here.fitness * (1 + TINY):
                climber.here = better
            else:
                over.append(climber)
        for climber in done:
            island.elites.add(climber.here)
        for climber in idle:
            if climber.donor is None:
                climber.queue = self.all_columns()
            climber.moved = False
        going = [climber for climber in island.climbers if all(climber is not o for o in over)]
        island.climbers = going + self.starts(island, len(over))

    def ends_between(self, island: Island, climber: Climber) -> bool:
        """Whether a child at its best between its parents is not worth all columns.

        Else the climber's queue is filled, if it has moved with their differences again.
        """
        here, parent = climber.here, climber.parent
        assert parent is not None and climber.donor is not None
        if climber.moved:
            climber.queue = self.differing(parent.z, climber.donor)
            return False
        climber.donor = None
        poor = here.fitness < min(parent.fitness, island.elites.quantile(0.5))
        return poor or island.elites.knows(here.fitness)

    def all_columns(self) -> list[int]:
        """The free columns in random order, those that brought much lately early."""
        return weighted_order(self.space.free, self.weight, self.rng)

    # Starts --------------------------------------------------------------------------------

    def starts(self, island: Island, n: int) -> list[Climber]:
        """So many climbers at children of elites and other inputs, or at good rows."""
        if n <= 0:
            return []
        rng = self.rng
        if self.row_queries < ROW_SHARE * self.oracle.n_queries:
            self.look_at_rows()
        couples = []
        for crosses in rng.random(n) < self.crossover_proba:
            couple = self.couple(island) if crosses and len(island.elites) > 1 else None
            if couple is not None and self.differing(couple[0].z, couple[1].z):
                couples.append(couple)
        rows = [self.rows.draw(rng, 4.0) for _ in range(n - len(couples))]
        climbers = [Climber(one, self.all_columns()) for one in self.sweep(rows)]
        children = self.best_children(couples)
        for (parent, other, _), child in zip(couples, children, strict=True):
            queue = self.differing(parent.z, other.z)
            climbers.append(Climber(child, queue, donor=other.z, parent=parent))
        return climbers

    def couple(self, island: Island) -> tuple[Elite, Elite, float]:
        """An elite, an input to cross it with, and how much of that a child takes."""
        rng = self.rng
        parent = island.elites.draw(rng)
        way = WAYS[rng.integers(len(WAYS))]
        if way.name == "elites":
            other = island.elites.draw(rng)
            if other is parent:
                other = island.elites.draw(rng, 1.0)
        elif way.name == "good rows" or not len(self.data):
            other = self.rows.draw(rng)
        else:
            other = Elite(0.0, self.data[rng.integers(len(self.data))], parent.pair)
        return parent, other, float(rng.choice(way.shares))

    def best_children(self, couples: list[tuple[Elite, Elite, float]]) -> list[Elite]:
        """Of some children of each couple the best one that is not the parent in other columns."""
        if not couples:
            return []
        rng, free = self.rng, self.space.free
        Z, pairs = [], []
        for parent, other, share in couples:
            taken = np.zeros((CHILDREN, self.space.n_features), dtype=bool)
            taken[:, free] = rng.random((CHILDREN, len(free))) < share
            Z.append(np.where(taken, other.z, parent.z))
            changed = rng.random(CHILDREN) < OTHER_PAIR
            pairs.append(np.where(changed[:, None, None], other.pair, parent.pair))
        born = self.ask_alike(np.concatenate(Z), np.concatenate(pairs), CROSSED)
        best = []
        for place, (parent, _, _) in enumerate(couples):
            children = born[place * CHILDREN : (place + 1) * CHILDREN]
            apart = TINY * parent.fitness
            new = [one for one in children if abs(one.fitness - parent.fitness) > apart]
            best.append(max(new or children, key=lambda one: one.fitness))
        return best

    def differing(self, first: Floats, second: Floats) -> list[int]:
        """The free columns in which two inputs differ, in random order."""
        free = self.space.free
        return self.rng.permutation(free[first[free] != second[free]]).tolist()
