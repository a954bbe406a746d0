"""What the tuned search is made of: elites, local searches, islands, and what operators bring."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats, Ints

#: Relative differences below this are the rounding of the model's sums.
TINY = 1e-9
#: Columns that are probed in a batch, and changes in one between two parents.
COLUMNS = 24
CHANGES = 48
#: Chance that a neutral move changes a column that makes no difference.
NEUTRAL_SHARE = 0.7
#: An island has stalled after so many queries without a better input, and this many times those
#: that its best input took. Islands in which others are crossed know much, and end sooner.
PATIENCE = 2500
#: At least so many queries for each local search: a few batches of all of them.
PATIENCE_OF_SEARCH = 430
PATIENCE_SHARE, CROSSING_SHARE = 0.4, 0.3
#: The operators, in the order of the table.
OPERATORS = ("rows", "probes", "combined", "neutral", "pairs", "crossed", "relinked")
ROWS, PROBES, COMBINED, NEUTRAL, PAIRS, CROSSED, RELINKED = range(len(OPERATORS))
#: Risk at which the estimate's upper end would be crossed, if islands were draws of one chance.
RISK = 0.1
#: Least width of the estimate, as a share of the degree: all islands may miss the same.
LEAST_WIDTH = 0.1


# Elites ------------------------------------------------------------------------------------


class Elite(NamedTuple):
    """An input, the pair of sensitive codes that it is judged by, and its disparity."""

    fitness: float
    z: Floats
    pair: Floats


class Judged:
    """Inputs of a batch as they were judged; an `Elite` is made of those alone that are wanted."""

    def __init__(self, fitness: Floats, Z: Floats, pairs: Floats) -> None:
        self.fitness, self.Z, self.pairs = fitness, Z, pairs

    def __len__(self) -> int:
        return len(self.fitness)

    def __iter__(self) -> Iterator[Elite]:
        return map(self.one, range(len(self)))

    def one(self, place: int) -> Elite:
        """Return one of them, copied: the whole batch would stay in memory with it otherwise."""
        return Elite(float(self.fitness[place]), self.Z[place].copy(), self.pairs[place].copy())

    def part(self, places: Ints | slice) -> Judged:
        """Return some of them."""
        return Judged(self.fitness[places], self.Z[places], self.pairs[places])


#: A batch of no inputs.
NOTHING = Judged(np.empty(0), np.empty((0, 0)), np.empty((0, 0, 0)))


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
        place = bisect.bisect_left(self.kept, -fitness, key=_down)
        return place < len(self.kept) and self.kept[place].fitness == fitness

    def add(self, elite: Elite) -> None:
        """Keep the elite if it is new and good enough."""
        worst = self.kept[-1].fitness if len(self.kept) == self.size else -1.0
        if elite.fitness <= worst or self.knows(elite.fitness):
            return
        bisect.insort(self.kept, elite, key=_down)
        del self.kept[self.size :]

    def add_best(self, judged: Judged) -> None:
        """Keep those of a batch that are new and good enough."""
        for place, fitness in enumerate(judged.fitness.tolist()):
            if len(self.kept) < self.size or fitness > self.kept[-1].fitness:
                self.add(judged.one(place))

    def draw(self, rng: np.random.Generator, front: float = 2.0) -> Elite:
        """Draw one of them; the larger `front`, the likelier it is one of the best."""
        return self.kept[int(len(self.kept) * rng.random() ** front)]

    def quantile(self, share: float) -> float:
        """The fitness at so large a share of the way down; 0 without any."""
        if not self.kept:
            return 0.0
        return self.kept[int(share * (len(self.kept) - 1))].fitness


def _down(one: Elite) -> float:
    return -one.fitness


# Local searches ----------------------------------------------------------------------------


@dataclass
class LocalSearch:
    """One input that is improved along its columns until no single change makes it better.

    Attributes
    ----------
    here : Elite
        The input, its pair and its disparity.
    queue : list of int
        Columns that are yet to be probed.
    moved : bool
        Whether it has moved since the queue was filled.
    idle_sweeps : int
        Coordinate sweeps, one after the other, in which it has not moved.
    parents : tuple of two Elite, or None
        The inputs between which it moves, as long as it does.
    """

    here: Elite
    queue: list[int]
    moved: bool = False
    idle_sweeps: int = 0
    parents: tuple[Elite, Elite] | None = None
    #: Single changes of the last batch that were better, best first, as (column, input).
    better: list[tuple[int, Elite]] = field(default_factory=list)
    #: Values of single changes that made no difference, by column.
    neutral: dict[int, float] = field(default_factory=dict)

    @property
    def is_unborn(self) -> bool:
        """Whether it is still at the first parent, as no children of the two were judged."""
        return self.parents is not None and self.here is self.parents[0]

    def begin(self, children: Judged) -> None:
        """Begin at the best child that differs from the parent in fitness."""
        new = np.abs(children.fitness - self.here.fitness) > TINY * self.here.fitness
        better = np.where(new | ~new.any(), children.fitness, -np.inf)
        self.here = children.one(int(better.argmax()))

    def other_side(self, j: int) -> float:
        """The value of column j that the other parent has."""
        assert self.parents is not None
        one, other = (parent.z[j] for parent in self.parents)
        return float(one if self.here.z[j] == other else other)

    def learn(self, columns: Ints, tried: Judged) -> dict[int, float]:
        """Learn from the single changes of a batch; returns the relative gain of each column.

        A column of -1 stands for a change of the pair.
        """
        fitness, seen, changed = self.here.fitness, tried.fitness, columns.tolist()
        gains = dict.fromkeys(changed, 0.0)
        is_better = seen > fitness * (1 + TINY)
        best: dict[int, Elite] = {}
        for place in np.flatnonzero(is_better).tolist():
            j, value = changed[place], float(seen[place])
            if j not in best or value > best[j].fitness:
                best[j] = tried.one(place)
                gains[j] = (value - fitness) / value
        neutral = ~is_better & (seen >= fitness * (1 - TINY)) & (columns >= 0)
        self.neutral = {
            changed[place]: tried.Z[place, changed[place]]
            for place in np.flatnonzero(neutral).tolist()
        }
        self.better = sorted(best.items(), key=lambda item: -item[1].fitness)
        return gains

    def combined(self, rng: np.random.Generator) -> tuple[list[tuple[Floats, Floats]], bool]:
        """Inputs and pairs that take the best two changes, the best three, and so on.

        The last may be a neutral move: the best change, and others that made no difference. From
        there single changes may be better that are not from here. The second value says whether
        there is one.
        """
        z, pair = self.here.z, self.here.pair
        proposed = []
        for place, (j, one) in enumerate(self.better):
            if j < 0:
                pair = one.pair
            else:
                z = z.copy()
                z[j] = one.z[j]
                pair = one.pair if place == 0 else pair
            if place:
                proposed.append((z, pair))
        neutral = [j for j in self.neutral if rng.random() < NEUTRAL_SHARE]
        if self.better:
            z, pair = self.better[0][1].z, self.better[0][1].pair
            neutral = [j for j in neutral if all(j != k for k, _ in self.better)]
        else:
            z, pair = self.here.z, self.here.pair
        if neutral:
            z = z.copy()
            z[neutral] = [self.neutral[j] for j in neutral]
            proposed.append((z, pair))
        return proposed, bool(neutral)

    def has_converged(self, sweeps: int) -> bool:
        """Count a coordinate sweep; whether so many of them have brought nothing."""
        self.idle_sweeps = 0 if self.moved else self.idle_sweeps + 1
        return self.idle_sweeps >= sweeps

    def move(self, candidates: Judged) -> None:
        """Go to the best of the single changes and the candidates; to an equal one as well."""
        best = self.better[0][1] if self.better else self.here
        for one in candidates:
            if one.fitness >= best.fitness * (1 - TINY):
                best = one._replace(fitness=max(one.fitness, best.fitness))
        if best.fitness > self.here.fitness * (1 + TINY):
            self.moved = True
        self.here = best


class Changes(NamedTuple):
    """Inputs and pairs that local searches propose in a batch.

    Attributes
    ----------
    owner : ndarray of shape (n,)
        Positions of the searches.
    column : ndarray of shape (n,)
        The column that was changed; -1 if it was the pair, or many columns.
    Z, pairs : ndarray
        The proposed inputs, and pairs of sensitive codes.
    operators : ndarray of shape (n,)
        The operator that made them.
    """

    owner: Ints
    column: Ints
    Z: Floats
    pairs: Floats
    operators: Ints

    @classmethod
    def of(cls, searches: list[LocalSearch], owner: Ints, operator: int) -> Changes:
        """Where the searches are, each as often as it occurs in `owner`."""
        n = len(owner)
        Z, pairs = (np.array([search.here[k] for search in searches])[owner] for k in (1, 2))
        return cls(owner, np.full(n, -1), Z, pairs, np.full(n, operator))

    def with_values(self, column: Ints, values: Floats) -> Changes:
        """The same with one value of one column changed in each."""
        self.Z[np.arange(len(column)), column] = values
        return self._replace(column=column)


def next_columns(searches: list[LocalSearch], *, relinks: bool) -> tuple[Ints, Ints]:
    """Take the columns to try next off the queues: positions of the searches, and columns.

    Of those that move between two parents, or of the others.
    """
    owner: list[int] = []
    column: list[int] = []
    n = CHANGES if relinks else COLUMNS
    for i, search in enumerate(searches):
        if (search.parents is not None) == relinks:
            chosen, search.queue = search.queue[:n], search.queue[n:]
            owner += [i] * len(chosen)
            column += chosen
    return np.array(owner, dtype=np.intp), np.array(column, dtype=np.intp)


# Islands -----------------------------------------------------------------------------------


class Island:
    """Elites and local searches that have nothing to do with those of other islands.

    The elites come from rows of the data, or are those of other islands.

    Attributes
    ----------
    elites : Elites
        Inputs at which local searches ended.
    searches : list of LocalSearch
        Local searches that are under way.
    began, best_at : int
        Queries at its start, and when its best input was found.
    crosses : bool
        Whether it began with elites of other islands.
    """

    def __init__(self, elites: Elites, n_queries: int, *, crosses: bool) -> None:
        self.elites = elites
        self.searches: list[LocalSearch] = []
        self.began = self.best_at = n_queries
        self.best = elites.best
        self.crosses = crosses

    def note(self, fitness: float, n_queries: int) -> None:
        """Remember when the best input was found."""
        if fitness > self.best * (1 + TINY):
            self.best, self.best_at = fitness, n_queries

    def has_stalled(self, n_queries: int, n_searches: int) -> bool:
        """Whether it is time to leave it, with so many local searches."""
        share = CROSSING_SHARE if self.crosses else PATIENCE_SHARE
        spent = n_queries - self.began if self.crosses else self.best_at - self.began
        patience = max(PATIENCE, PATIENCE_OF_SEARCH * n_searches)
        return n_queries - self.best_at > patience + share * spent


def estimated_range(bests: list[float], degree: float) -> tuple[float, float]:
    """Estimate where the largest disparity lies, from what independent islands have reached.

    These are Robson and Whitlock's (1964) limits of the end of a distribution, from the two largest
    of a sample: the largest, and as far beyond it as the second is behind, times (1 - RISK) / RISK,
    or LEAST_WIDTH if that is more. The upper one is infinite where there are less than two islands,
    or nothing was found.
    """
    if len(bests) < 2 or not degree > 0:
        return degree, np.inf
    second, first = np.sort(bests)[-2:]
    beyond = first + (1 - RISK) / RISK * (first - second)
    return degree, float(max((1 + LEAST_WIDTH) * degree, beyond))


# What operators cost and bring -------------------------------------------------------------


class OperatorStats:
    """Inputs, queries, discriminatory inputs and gain in degree of each operator."""

    def __init__(self) -> None:
        n = len(OPERATORS)
        self.inputs, self.found = np.zeros(n, dtype=np.int64), np.zeros(n)
        self.queries, self.gain = np.zeros(n), np.zeros(n)

    def add(
        self, operators: Ints, found: Bools | Floats, queries: int, best: int, gain: float
    ) -> None:
        """Add a batch: the operator of each input, and what the batch cost and brought.

        The queries are shared out by inputs; the gain is that of the operator of the best input.
        """
        counts = np.bincount(operators, minlength=len(OPERATORS))
        self.inputs += counts
        self.found += np.bincount(operators, weights=found, minlength=len(OPERATORS))
        self.queries += queries * counts / max(1, counts.sum())
        if gain > 0:
            self.gain[operators[best]] += gain

    def arrays(self) -> dict[str, Floats | Ints]:
        """The columns of the table."""
        return {
            "inputs": self.inputs,
            "queries": np.rint(self.queries).astype(np.int64),
            "found": np.rint(self.found).astype(np.int64),
            "gain": self.gain,
        }
