"""Proposal distributions of a batch, and a bandit that shares the batch among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.individual._surrogate.boundary import Boundary
from skfairtest.individual._surrogate.memory import Memory, Parents
from skfairtest.individual._surrogate.values import ValuesOfDomain, ValuesOfRows
from skfairtest.individual._surrogate.without_replacement import WithoutReplacement
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement
from skfairtest.oracle._row_hash import Keys, KeySet

#: Uniform inputs, steps along one column, one value drawn anew, crossovers of two inputs, and
#: inputs moved onto the boundary of the labels.
UNIFORM, STEPS, ANEW, CROSSED, MOVED = range(5)
N_DISTRIBUTIONS = 5
#: Distributions that change one column, and learn which.
SINGLE = (STEPS, ANEW)
#: Distributions share a batch, and columns the changes, by this power of what they bring.
POWER = 12.0


class Proposals(NamedTuple):
    """Inputs, the twins to compare (None for all), and where each comes from.

    `distribution` is the number of the one that proposed it, `column` what it changed (-1: more).
    """

    Z: Floats
    pairs: Floats | None
    distribution: Ints
    column: Ints

    def take(self, chosen: Bools | Ints) -> Proposals:
        """Some of the proposals."""
        pairs = None if self.pairs is None else self.pairs[chosen]
        return Proposals(self.Z[chosen], pairs, self.distribution[chosen], self.column[chosen])


class Bandit:
    """Gives each arm, a proposal distribution, its share of a batch: by what it finds for its cost.

    What counts is new discriminatory inputs: proposals that are known cost their making and bring
    nothing. In runs that only the time ends costs are measured seconds; in others they are queried
    inputs, so that the same seed gives the same result.
    """

    def __init__(self, n_arms: int) -> None:
        self.gain = np.zeros(n_arms)
        self.cost = np.full(n_arms, 1e-9)
        self.proposed = np.zeros(n_arms)
        self.fresh = np.zeros(n_arms)
        self.turn = 0
        self.n_batches = 0

    def shares(self, is_open: Bools, explore_share: float) -> Floats:
        """Shares of the next batch, which add up to one; an arm that is not open gets none.

        Uniform inputs have their share in any case, and less where they cost more than others.
        """
        rate = self.gain / self.cost
        best = rate[is_open].max(initial=0.0)
        weight = (rate / best) ** POWER if best > 0 else np.ones(len(rate))
        # What was not tried yet is taken for as good as the best.
        weight = np.where(is_open, np.where(self.cost < 1e-6, 1.0, weight), 0.0)
        weight /= weight.sum()
        # A distribution with less than 2% of a batch gets none of it.
        weight[weight < 0.02] = 0.0
        cost_of_one = self.cost / np.maximum(self.fresh, 1)
        leader = int(np.argmax(np.where(is_open, rate, -1.0)))
        least = np.zeros(len(rate))
        least[UNIFORM] = explore_share * min(1.0, cost_of_one[leader] / cost_of_one[UNIFORM])
        # One of those with little gets a share to be tried, large enough for its fixed cost not to
        # count: in each of ten early batches, later in one of three.
        tried = 0.05
        in_turn = np.flatnonzero(is_open & (weight < tried))
        in_turn = in_turn[in_turn != UNIFORM]
        self.n_batches += 1
        if len(in_turn) and (self.n_batches <= 10 or self.n_batches % 3 == 0):
            self.turn += 1
            least[in_turn[self.turn % len(in_turn)]] += tried
        shares: Floats = least + (1 - least.sum()) * weight / weight.sum()
        return shares

    def proposals_for_one(self) -> Floats:
        """How many proposals of each arm bring one new input."""
        share = (self.fresh + 1) / (self.proposed + 1)
        # At most ten proposals are made for one new input.
        return np.minimum(1 / np.maximum(share, 1e-9), 10.0)

    def learn(self, proposed: Floats, fresh: Floats, gain: Floats, cost: Floats) -> None:
        """Learn from a batch: what each arm proposed, what of it was new, brought and cost."""
        # What a batch weighs when the next one comes.
        kept = np.where(proposed > 0, 0.8, 1.0)
        self.proposed = kept * self.proposed + proposed
        self.fresh = kept * self.fresh + fresh
        self.gain = kept * self.gain + gain
        self.cost = kept * self.cost + cost


class ProposalMixture:
    """Proposes inputs from several distributions, and learns which of them bring most.

    Parameters
    ----------
    search : SearchHandle
        Draws, and knows what was judged.
    rng : Generator
        For the order in which a finite domain is drawn.
    """

    def __init__(self, search: SearchHandle, rng: np.random.Generator) -> None:
        self.search, self.space, self.boundary = search, search.space, Boundary(search)
        self.unseen: WithoutReplacement | None = None
        self.values: ValuesOfDomain | ValuesOfRows
        if self.space.near_data:
            self.values = ValuesOfRows(search.data_rows(rng))
        else:
            self.values = ValuesOfDomain(self.space.domain)
            self.unseen = WithoutReplacement.of(self.space, rng)
        #: Inputs that are not plausible, and proposals since the last one that was, and new.
        self._rejected = KeySet()
        self._n_vain = 0
        n_values = np.where(
            self.space.domain.discrete, self.space.domain.high - self.space.domain.low, np.inf
        )[self.space.non_sensitive]
        #: Columns of the most values: inputs that share these come from the same parents.
        # A batch is sorted by three columns.
        self._telling = self.space.non_sensitive[np.argsort(n_values, kind="stable")[-3:]]
        self._stock = np.empty((0, self.space.n_features))
        self._keys: Keys | None = None
        self._by_degree = True
        self._judging, self._n_judged = 0.0, 0
        self.timed = search.left.ends_by_time_alone
        self.reset()

    def reset(self) -> None:
        """Forget what the distributions brought, as something else counts from now on."""
        self.bandit = Bandit(N_DISTRIBUTIONS)
        self.columns = np.zeros((2, len(SINGLE), self.space.n_features))

    @property
    def is_exhausted(self) -> bool:
        """Whether every input of the domain was judged, and judging again brings nothing."""
        return self.unseen is not None and self.unseen.is_over and self.space.twins_.compares_all

    def first(self, n: int, seeds: Floats, rng: np.random.Generator) -> Proposals:
        """The first batch: rows of the data, and uniform inputs that bring it to its size."""
        Z = np.concatenate([seeds, self.uniform(n - len(seeds), rng)])
        batch = Proposals(Z, self.search.pairs(Z, rng), *np.zeros((2, len(Z)), dtype=int))
        self._proposed, self._seconds, self._filtering = batch, np.zeros(N_DISTRIBUTIONS), 0.0
        self._keys = None
        return batch

    def propose(
        self, n: int, memory: Memory, explore_share: float, rng: np.random.Generator
    ) -> Proposals:
        """Propose about n new inputs, or as many as can be judged in half of the time left.

        At least a share of `explore_share` is uniform.
        """
        if self._judging:
            in_time = 0.5 * self.search.left.seconds * self._n_judged / self._judging
            n = int(max(2, min(n, in_time)))
        parents = memory.parents()
        self._by_degree = memory.by_degree
        is_open = np.ones(N_DISTRIBUTIONS, dtype=bool)
        is_open[1:] = len(parents.Z) > 0
        is_open[MOVED] = self.boundary.is_open
        shares = self.bandit.shares(is_open, explore_share)
        wanted = np.ceil(n * shares * self.bandit.proposals_for_one()).astype(int)
        parts, seconds = [], np.zeros(N_DISTRIBUTIONS)
        for place in np.flatnonzero(wanted).tolist():
            began = _clock.now()
            parts.append(self._draw(place, wanted[place], parents, rng))
            seconds[place] = _clock.now() - began
        proposals = Proposals(
            np.concatenate([part.Z for part in parts]),
            None if parts[0].pairs is None else np.concatenate([part.pairs for part in parts]),
            np.concatenate([part.distribution for part in parts]),
            np.concatenate([part.column for part in parts]),
        )
        began = _clock.now()
        fresh, keys = self.search.fresh(proposals.Z)
        if self.space.near_data:
            fresh = self._plausible(proposals.Z, fresh, keys)
        self._proposed, self._seconds = proposals, seconds
        self._filtering = _clock.now() - began
        # Known inputs end a run that finds nothing else, as everywhere.
        chosen = np.flatnonzero(fresh) if fresh.any() else np.arange(len(fresh))
        chosen = chosen[self.sorted(proposals.Z[chosen])]
        self._keys = keys[chosen]
        return proposals.take(chosen)

    def sorted(self, Z: Floats) -> Ints:
        """The order in which similar inputs follow each other: trees predict them faster.

        Ensembles of trees take a third less time, as their nodes are in the processor's cache.
        """
        order: Ints = np.lexsort(Z[:, self._telling].T)
        return order

    def _plausible(self, Z: Floats, fresh: Bools, keys: Keys) -> Bools:
        """Return which new proposals are plausible as they stand; the others are no longer new."""
        fresh = fresh & ~self._rejected.contains(keys)
        new = np.flatnonzero(fresh)
        fresh[new] = self.search.accepts(Z[new])
        self._rejected.add(keys[new[~fresh[new]]])
        self._n_vain = 0 if fresh.any() else self._n_vain + len(Z)
        return fresh

    @property
    def is_over(self) -> bool:
        """Whether nothing near the data that is plausible and new was proposed for long."""
        # 10,000 proposals in a row that are not plausible or not new end the search.
        return self._n_vain >= 10_000

    def evaluate(self, batch: Proposals) -> Judgement:
        """Have the latest proposals evaluated."""
        began = _clock.now()
        judged = self.search.evaluate(batch.Z, batch.pairs, self._keys)
        self._judging, self._n_judged = _clock.now() - began, len(batch.Z)
        return judged

    def learn(self, judged: Proposals, high: Bools) -> None:
        """Learn from the verdicts on the latest proposals that were new."""
        n = N_DISTRIBUTIONS
        proposed = np.bincount(self._proposed.distribution, minlength=n).astype(np.float64)
        fresh = np.bincount(judged.distribution, minlength=n).astype(np.float64)
        gain = np.bincount(judged.distribution, weights=high, minlength=n).astype(np.float64)
        if self.timed:
            shared = self._filtering / max(1, len(self._proposed.Z))
            cost = self._seconds + proposed * shared + fresh * self._judging / max(1, len(judged.Z))
        else:
            # Seconds must not decide: 20 proposals cost as much as one queried input.
            cost = 0.05 * proposed + fresh
        self.bandit.learn(proposed, fresh, gain, cost)
        # Which columns pay changes slowly: earlier batches weigh more than in the shares.
        self.columns *= 0.95
        for i, place in enumerate(SINGLE):
            made = self._proposed.column[self._proposed.distribution == place]
            good = judged.column[(judged.distribution == place) & high]
            for k, columns in enumerate((good, made)):
                counts = np.bincount(columns, minlength=self.space.n_features)
                self.columns[k, i] += counts

    # The distributions ---------------------------------------------------------------------

    def _draw(self, place: int, n: int, parents: Parents, rng: np.random.Generator) -> Proposals:
        column = np.full(n, -1)
        pairs: Floats | None
        if place == UNIFORM:
            Z = self.uniform(n, rng)
            pairs = self.search.pairs(Z, rng)
            return Proposals(Z, pairs, np.full(len(Z), place), column[: len(Z)])
        if place == MOVED:
            return self._proposals(self.boundary.moved(n, rng), place, column, rng)
        # Eight inputs set out from the same discriminatory one, as models predict similar rows
        # faster; towards a large degree they cost more than they save.
        siblings = 1 if self._by_degree else 8
        chosen = parents.draw(n, rng, siblings)
        if place == CROSSED:
            Z = self._crossed(chosen.Z, parents, rng)
        else:
            good, made = self.columns[:, SINGLE.index(place), self.space.non_sensitive]
            success = (good + 0.5) / (made + 1)
            weight = (success / success.max()) ** POWER
            # 5% of the changes go to any column, however little it brought.
            weight = weight / weight.sum() + 0.05 / len(weight)
            column = rng.choice(self.space.non_sensitive, size=n, p=weight / weight.sum())
            change = self.values.step_along if place == STEPS else self.values.anew
            Z = change(chosen.Z, column, rng)
        return self._proposals(Parents(Z, chosen.pairs), place, column, rng)

    def _proposals(
        self, made: Parents, place: int, column: Ints, rng: np.random.Generator
    ) -> Proposals:
        made = self.admitted(made, rng)
        compared = None if self.space.twins_.compares_all else made.pairs
        return Proposals(made.Z, compared, np.full(len(made.Z), place), column)

    def uniform(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform inputs, of a finite domain each once before one comes twice; or crossovers."""
        if self.space.near_data:
            return self.search.crossover(n, rng)
        if self.unseen is None and not self.space.constraints_:
            return self.search.sample(n, rng).rows
        if self.unseen is None:
            # A constraint is asked about many rows at once, for several batches.
            if len(self._stock) < n:
                more = self.search.sample(max(n, 1000), rng).rows
                self._stock = np.concatenate([self._stock, more])
            drawn, self._stock = self._stock[:n], self._stock[n:]
            return drawn
        if self.unseen.is_over:
            self.unseen = WithoutReplacement(self.space, rng)
        return self.unseen.draw(n, rng)

    def _crossed(self, Z: Floats, parents: Parents, rng: np.random.Generator) -> Floats:
        """Some values of each input replaced: by those of another parent, or drawn anew."""
        n = len(Z)
        other = parents.draw(n, rng).Z
        drawn = np.where(rng.random((n, 1)) < 0.5, other, self.values.draw(n, rng))
        share = rng.random((n, 1)) ** 2 * 0.5
        mask = np.zeros(Z.shape, dtype=bool)
        mask[:, self.space.non_sensitive] = rng.random((n, len(self.space.non_sensitive))) < share
        mask[np.arange(n), rng.choice(self.space.non_sensitive, size=n)] = True
        return np.where(mask, drawn, Z)

    def admitted(self, made: Parents, rng: np.random.Generator) -> Parents:
        """What was made of parents, with the twins to compare, as inputs that are admitted."""
        pairs = self.inherited(made.pairs, rng)
        compared = None if self.space.twins_.compares_all else pairs
        Z = self.space.feasibility.repair(self.space.domain.clip(made.Z), rng, compared)
        if not self.space.twins_.is_enumerable:
            Z = self.space.twins_.with_sensitive(Z, pairs[:, 0])
        return Parents(Z, pairs)

    def inherited(self, pairs: Floats, rng: np.random.Generator) -> Floats:
        """The twins to compare: most are those that a parent showed, in either order."""
        if self.space.twins_.compares_all:
            return pairs
        n = len(pairs)
        flipped = rng.random(n) < 0.5
        pairs = np.where(flipped[:, None, None], pairs[:, ::-1], pairs)
        U = rng.random(n)
        if self.space.twins_.is_enumerable:
            drawn = self.space.twins_.draw_sensitive_pairs(n, rng)
        else:
            drawn = np.stack([self.space.twins_.draw_sensitive(n, rng) for _ in range(2)], axis=1)
        # So large a share gets two new twins, and as large a one gets one. Larger disparities are a
        # matter of the pair as well.
        share = 0.1 if self._by_degree else 0.02
        pairs[U < share] = drawn[U < share]
        half = (share <= U) & (U < 2 * share)
        pairs[half, 1] = drawn[half, 1]
        return pairs
