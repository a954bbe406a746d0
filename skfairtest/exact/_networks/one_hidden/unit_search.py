"""Branch and bound on the units of one hidden layer, and on sets of sensitive values."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.exact._networks.one_hidden.lagrangian import (
    MOST_MULTIPLIER,
    Bounded,
    Combinations,
    Ramps,
    Shared,
    bound,
)

#: Nodes bounded in one go, and multiplier steps for the first node and for others.
MOST_NODES, FIRST_STEPS, STEPS = 128, 200, 44
#: Products of nodes, units and columns in one go.
MOST_TERMS = 8_000_000
#: First length of the multiplier steps: from nothing, and from a parent's multipliers.
FIRST_STEP, STEP = 0.3, 1.0
#: Inputs of a batch that the local search is given to start from.
HINTS_A_BATCH = 2
#: Bytes that open nodes may take.
MOST_BYTES = 1_000_000_000
#: Sets of sensitive values are cut sooner than units while they blur more than this share.
BLUR = 0.3


class UnitSearch:
    """Open nodes: ends of what some units get, and sets of sensitive values for both twins.

    Parameters
    ----------
    shared : Shared
        What twins share of the first layer.
    sets : Combinations
        What they do not.
    weights : ndarray of shape (n_units, n_outputs)
        Of the second layer.
    size : float
        Largest sum of absolute terms in any unit: what rounding is measured by.

    Attributes
    ----------
    upper : float
        No difference of an output is larger.
    n_nodes : int
        Nodes bounded so far.
    """

    def __init__(self, shared: Shared, sets: Combinations, weights: Floats, size: float) -> None:
        self.shared, self.sets, self.weights = shared, sets, np.ascontiguousarray(weights.T)
        n_units = len(weights)
        n = n_units + len(shared.weights) + len(shared.stacked) + 64
        # Every term of a bound is a multiplier, at most MOST_MULTIPLIER weights, times what a unit
        # gets.
        largest = float(np.abs(weights).sum(axis=0).max())
        self.rounding = 4 * 2.3e-16 * n * MOST_MULTIPLIER * largest * max(size, 1e-300)
        self.spread = np.abs(self.weights) @ (sets.high - sets.low).T
        #: Nodes in one go: fewer of large networks, so that the time is looked at often enough.
        self._batch = max(4, min(MOST_NODES, MOST_TERMS // (n_units * n)))
        self._most = max(1024, MOST_BYTES // (8 * (3 * n_units + 8)))
        self._ends = np.empty((0, 3, n_units))
        self._facts = np.empty((0, 4), dtype=np.intp)
        self._free: list[int] = []
        self._heap: list[tuple[float, int]] = []
        self.n_nodes, self._floor = 0, -np.inf
        #: Inputs, combinations of both twins and outputs to improve from; best last.
        self.hints: list[tuple[float, Floats, tuple[int, int], int]] = []
        n_outputs = len(self.weights)
        start = np.column_stack([np.arange(n_outputs), np.zeros((n_outputs, 2), dtype=np.intp)])
        low, high = (np.repeat(e[None], n_outputs, axis=0) for e in (shared.least, shared.most))
        self._add(start, low, high, np.zeros_like(low), np.full(n_outputs, np.inf), -np.inf, True)

    @property
    def top(self) -> float:
        """The largest bound of an open node."""
        return -self._heap[0][0] if self._heap else -np.inf

    @property
    def upper(self) -> float:
        """No difference of an output is larger, rounding included."""
        return max(self.top, self._floor) + self.rounding

    def ramps(self, facts: Ints, low: Floats, high: Floats) -> Ramps:
        """The ramps of nodes; of a set of sensitive values the ends that make them largest."""
        weight = self.weights[facts[:, 0]]
        one = np.where(weight > 0, self.sets.high[facts[:, 1]], self.sets.low[facts[:, 1]])
        two = np.where(weight > 0, self.sets.low[facts[:, 2]], self.sets.high[facts[:, 2]])
        return Ramps(weight, one, two, low, high)

    def _add(
        self, facts: Ints, low: Floats, high: Floats, multipliers: Floats, above: Floats,
        enough: float, first: bool = False,
    ) -> None:  # fmt: skip
        """Bound nodes, and keep those that may hold a difference larger than `enough`."""
        ramps = self.ramps(facts, low, high)
        steps, step = (FIRST_STEPS, FIRST_STEP) if first else (STEPS, STEP)
        done = bound(ramps, self.shared, multipliers, steps, step)
        bounds = np.fmin(done.bounds, above)  # what is not a number bounds nothing
        self.n_nodes += len(bounds)
        choice = self._choose(facts, ramps, done)
        fit = np.flatnonzero(np.isfinite(done.shown))
        for i in fit[np.argsort(done.shown[fit])[-HINTS_A_BATCH:]]:
            pair = int(self.sets.member[facts[i, 1]]), int(self.sets.member[facts[i, 2]])
            self.hints.append((float(done.shown[i]), done.inputs[i], pair, int(facts[i, 0])))
        kept = bounds > enough
        self._floor = max([self._floor, *bounds[~kept]])
        stuck = kept & (choice == NOTHING)  # no cut is left: the bound stands
        self._floor = max([self._floor, *bounds[stuck]])
        kept &= choice != NOTHING
        for i in np.flatnonzero(kept):
            slot = self._slot()
            self._ends[slot] = low[i], high[i], done.multipliers[i]
            self._facts[slot] = (*facts[i], choice[i])
            heapq.heappush(self._heap, (-float(bounds[i]), slot))

    def _choose(self, facts: Ints, ramps: Ramps, done: Bounded) -> Ints:
        """Return what to cut next: a unit, or a set of sensitive values."""
        rise = ramps.bends()[1]
        inside = (rise > ramps.low) & (rise < ramps.high)
        excess = np.where(inside, done.excess, 0.0)
        choice = excess.argmax(axis=1)
        blur = np.column_stack([self.spread[facts[:, 0], facts[:, k]] for k in (1, 2)])
        several = self.sets.halves[facts[:, 1:3], 0] >= 0
        blur = np.where(several, blur, -1.0)
        worst = blur.argmax(axis=1)
        none = excess.max(axis=1) <= self.rounding
        cut = several.any(axis=1) & (none | (blur.max(axis=1) > BLUR * excess.sum(axis=1)))
        choice = np.where(none, NOTHING, choice)
        return np.where(cut, np.where(worst == 0, SET_ONE, SET_TWO), choice)

    def _slot(self) -> int:
        if not self._free:
            n = len(self._ends)
            more = max(1024, n)
            self._ends = np.concatenate([self._ends, np.empty((more, *self._ends.shape[1:]))])
            self._facts = np.concatenate([self._facts, np.empty((more, 4), dtype=np.intp)])
            self._free = list(range(n + more - 1, n - 1, -1))
        return self._free.pop()

    @property
    def full(self) -> bool:
        """Whether there is no more room for open nodes."""
        return len(self._heap) + 2 * MOST_NODES > self._most

    def step(self, enough: float) -> None:
        """Cut the nodes of the largest bounds."""
        taken = [heapq.heappop(self._heap) for _ in range(min(self._batch, len(self._heap)))]
        for k, (least, _) in enumerate(taken):
            if -least <= enough:  # so are all after it
                for entry in taken[k:]:
                    heapq.heappush(self._heap, entry)
                taken = taken[:k]
                break
        if not taken:
            return
        slots = np.array([slot for _, slot in taken])
        above = np.array([-least for least, _ in taken])
        facts, choice = self._facts[slots, :3], self._facts[slots, 3]
        low, high, multipliers = (self._ends[slots, k] for k in range(3))
        self._free += slots.tolist()
        rise = self.ramps(facts, low, high).bends()[1]
        children: list[list[NDArray[Any]]] = []
        for side in range(2):
            new, ends = facts.copy(), [low.copy(), high.copy()]
            unit = np.flatnonzero(choice >= 0)
            ends[1 - side][unit, choice[unit]] = rise[unit, choice[unit]]
            for which, column in ((SET_ONE, 1), (SET_TWO, 2)):
                own = choice == which
                new[own, column] = self.sets.halves[facts[own, column], side]
            children.append([new, *ends])
        new, low, high = (np.concatenate(arrays) for arrays in zip(*children, strict=True))
        self._add(new, low, high, np.tile(multipliers, (2, 1)), np.tile(above, 2), enough)


#: Choices that are not units.
NOTHING, SET_ONE, SET_TWO = -1, -2, -3
