"""Branch and bound on the units of one hidden layer, and on sets of sensitive values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.exact._networks.activation_bounds import Relu
from skfairtest.exact._networks.lagrangian import (
    MOST_MULTIPLIER,
    Bounded,
    Combinations,
    Ramps,
    Shared,
    bound,
    listable,
)
from skfairtest.exact._networks.local_search import Candidates, LocalSearch
from skfairtest.exact._networks.read_network import BOTH
from skfairtest.exact._networks.relaxation import Relaxation
from skfairtest.exact._networks.score_search import LINKS, ScoreSearch
from skfairtest.exact._networks.settings import DEFAULTS, NetworkSearchSettings
from skfairtest.exact._verifier import SolverLimits


class UnitSearch(ScoreSearch[tuple[Ints, Floats]]):
    """Open nodes: bounds of what some units get, and sets of sensitive values for both twins."""

    def __init__(
        self, relaxation: Relaxation, limits: SolverLimits, settings: NetworkSearchSettings
    ) -> None:
        network, whole = relaxation.network, relaxation.whole()
        n_units = len(network.weights[1])
        super().__init__(
            relaxation, limits, most_open=max(1024, settings.max_bytes // (8 * (3 * n_units + 32)))
        )
        weights, size = network.weights[1], network.effects.size
        self.sets = sets = Combinations(network.effects, network.sensitive)
        self.shared = shared = Shared(network, whole.least[0], whole.most[0])
        self.weights = np.ascontiguousarray(weights.T)
        n = n_units + len(shared.weights) + len(shared.stacked) + 64
        # Every term of a bound is a multiplier, at most MOST_MULTIPLIER weights, times what a unit
        # gets.
        largest = float(np.abs(weights).sum(axis=0).max())
        self.rounding = 4 * 2.3e-16 * n * MOST_MULTIPLIER * largest * max(size, 1e-300)
        self.spread = np.abs(self.weights) @ (sets.high - sets.low).T
        #: Nodes in one go: fewer of large networks, by the products of nodes, units and columns,
        #: so that the time is looked at often enough.
        self.batch = max(4, min(settings.max_nodes, 8_000_000 // (n_units * n)))
        #: What good multipliers show: the sum of the ramps, output and sets, and inputs.
        self._hints: list[tuple[float, Ints, Floats]] = []
        self._n_hints = settings.n_hints
        n_outputs = len(self.weights)
        start = np.column_stack([np.arange(n_outputs), np.zeros((n_outputs, 2), dtype=np.intp)])
        low, high = (np.repeat(e[None], n_outputs, axis=0) for e in (shared.least, shared.most))
        self._add(start, low, high, np.zeros_like(low), np.full(n_outputs, np.inf), True)

    @classmethod
    def make(
        cls,
        relaxation: Relaxation,
        limits: SolverLimits,
        settings: NetworkSearchSettings = DEFAULTS,
    ) -> UnitSearch | None:
        """Return the search, or None where there is nothing to search, or too much to list."""
        network = relaxation.network
        if len(network.weights) != 2 or not isinstance(network.activations[0], Relu):
            return None
        if limits.is_late or network.out not in LINKS or not listable(network):
            return None
        return cls(relaxation, limits, settings)

    def step(self, enough: float) -> None:
        # A thousandth above what is attained is near enough: boxes do the rest better.
        super().step(enough * 1.001)

    def suggest(self, pairs: LocalSearch) -> None:
        """Let the local search go on from the inputs that good multipliers show."""
        hints = sorted(self._hints, key=lambda hint: hint[0])[-self._n_hints :]
        self._hints.clear()
        if not hints:
            return
        network, shared = self.network, self.shared
        facts, inputs = np.array([hint[1] for hint in hints]), np.array([hint[2] for hint in hints])
        n = len(shared.weights)
        share = (inputs[:, :n] - shared.low) / np.maximum(shared.high - shared.low, 1e-300)
        where = np.zeros((len(hints), len(network.variables)))
        where[:, network.interval_of] = np.clip(share, 0.0, 1.0)  # of several features, one decides
        places: dict[tuple[int, int], Ints] = {}
        for j, span in zip(shared.names, shared.spans, strict=True):
            # The row that is nearest to the mean of those that were taken.
            table = shared.stacked[span]
            mean = inputs[:, n + span.start : n + span.stop] @ table
            away = ((table[None] - mean[:, None]) ** 2).sum(axis=2)
            places[j, BOTH] = away.argmin(axis=1)
        for twin in (0, 1):
            members = self.sets.places[self.sets.member[facts[:, 1 + twin]]]
            for j, place in zip(network.sensitive, members.T, strict=True):
                places[j, twin] = place
        pairs.adopt(Candidates(where, places, facts[:, 0]))

    def ramps(self, facts: Ints, low: Floats, high: Floats) -> Ramps:
        """The ramps of nodes; of a set of sensitive values the bounds that make them largest."""
        weight = self.weights[facts[:, 0]]
        one = np.where(weight > 0, self.sets.high[facts[:, 1]], self.sets.low[facts[:, 1]])
        two = np.where(weight > 0, self.sets.low[facts[:, 2]], self.sets.high[facts[:, 2]])
        return Ramps(weight, one, two, low, high)

    def _add(
        self, facts: Ints, low: Floats, high: Floats, multipliers: Floats, above: Floats,
        first: bool = False,
    ) -> None:  # fmt: skip
        """Bound nodes, and open those that may hold a large difference."""
        ramps = self.ramps(facts, low, high)
        # More and shorter steps from nothing than from a parent's multipliers.
        steps, step = (200, 0.3) if first else (44, 1.0)
        done = bound(ramps, self.shared, multipliers, steps, step)
        bounds = np.fmin(done.bounds, above)  # what is not a number bounds nothing
        self.queue.n_boxes += len(bounds)
        choice = self._choose(facts, ramps, done)
        best = done.shown.argsort(kind="stable")[-self._n_hints :]
        self._hints += [(float(done.shown[i]), facts[i], done.inputs[i]) for i in best]
        for i in range(len(bounds)):
            if choice[i] == NOTHING:
                self.queue.fathom(float(bounds[i]))  # no cut is left: the bound stands
            else:
                kept = np.stack([low[i], high[i], done.multipliers[i]])
                self.queue.push(float(bounds[i]), (np.array([*facts[i], choice[i]]), kept))

    def _choose(self, facts: Ints, ramps: Ramps, done: Bounded) -> Ints:
        """Return what to cut next: a unit, or a set of sensitive values."""
        rise = ramps.breakpoints()[1]
        inside = (rise > ramps.low) & (rise < ramps.high)
        excess = np.where(inside, done.excess, 0.0)
        choice = excess.argmax(axis=1)
        blur = np.column_stack([self.spread[facts[:, 0], facts[:, k]] for k in (1, 2)])
        several = self.sets.halves[facts[:, 1:3], 0] >= 0
        blur = np.where(several, blur, -1.0)
        worst = blur.argmax(axis=1)
        none = excess.max(axis=1) <= self.rounding
        # Sets of sensitive values are cut first while they blur more than 0.3 of the excess.
        cut = several.any(axis=1) & (none | (blur.max(axis=1) > 0.3 * excess.sum(axis=1)))
        choice = np.where(none, NOTHING, choice)
        return np.where(cut, np.where(worst == 0, SET_ONE, SET_TWO), choice)

    def _cut(self, taken: list[tuple[Ints, Floats]], uppers: list[float]) -> None:
        """Cut nodes in two."""
        above = np.array(uppers)
        every = np.array([own for own, _ in taken])
        facts, choice = every[:, :3], every[:, 3]
        low, high, multipliers = np.stack([kept for _, kept in taken], axis=1)
        rise = self.ramps(facts, low, high).breakpoints()[1]
        children: list[list[NDArray[Any]]] = []
        for side in range(2):
            new, bounds = facts.copy(), [low.copy(), high.copy()]
            unit = np.flatnonzero(choice >= 0)
            bounds[1 - side][unit, choice[unit]] = rise[unit, choice[unit]]
            for which, column in ((SET_ONE, 1), (SET_TWO, 2)):
                own = choice == which
                new[own, column] = self.sets.halves[facts[own, column], side]
            children.append([new, *bounds])
        new, low, high = (np.concatenate(arrays) for arrays in zip(*children, strict=True))
        self._add(new, low, high, np.tile(multipliers, (2, 1)), np.tile(above, 2))


#: Choices that are not units.
NOTHING, SET_ONE, SET_TWO = -1, -2, -3
