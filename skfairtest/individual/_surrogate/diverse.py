"""A search whose discriminatory inputs are spread over all regions that discriminate.

Walkers set out from uniform discriminatory inputs, and move as far as still finds about ten times
as many as uniform inputs do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from skfairtest._typing import Floats
from skfairtest.individual._surrogate.memory import Parents
from skfairtest.individual._surrogate.proposals import ProposalMixture
from skfairtest.oracle._oracle import Oracle

#: Walkers at most, and how often each moves in a batch at most: uniform inputs fill it while there
#: are few, so that what is found comes from many places.
MOST_WALKERS = 5000
MOST_MOVES = 30
#: Uniform inputs whose outputs the cells are learned from, and cells at most.
TRAINING_ROWS = 2000
MOST_CELLS = 1000
#: Share of uniform inputs in a batch, at least.
UNIFORM_SHARE = 0.2
#: Moves reach so far that they find so many times as many as uniform inputs do with the same number
#: of queries, but a fifth of them succeeds at the least. What the start and the uniform share cost
#: makes that about ten times. Where more than MOST_SUCCESS of them would have to succeed, ten times
#: as many are out of reach, and every other one shall succeed.
TIMES = 13
LEAST_SUCCESS, MOST_SUCCESS, ELSE_SUCCESS = 0.2, 0.85, 0.5
#: How far moves reach at first, and at the least: the chance of a value to be drawn anew.
FIRST_REACH, LEAST_REACH = 0.1, 0.001


def search_diverse(
    oracle: Oracle, proposals: ProposalMixture, start: Parents, affordable: Callable[[], int],
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Walk on to wherever twins are treated differently.

    A move goes as often there as back, so that walkers that set out from uniform discriminatory
    inputs stay spread like these, at a success rate far above theirs. The farther moves reach, the
    fewer succeed, and the less what they find is like what they set out from. Walkers in cells
    where many discriminatory inputs were found are moved less often. `affordable` gives the size of
    a batch.
    """
    cells = Cells(oracle, min(TRAINING_ROWS, affordable()), rng)
    walkers = Parents(start.Z[-MOST_WALKERS:].copy(), start.pairs[-MOST_WALKERS:].copy())
    reach = FIRST_REACH
    n_uniform, n_found = 0, 0
    while not proposals.is_exhausted:
        size = affordable()
        n_moves = min(int((1 - UNIFORM_SHARE) * size), MOST_MOVES * len(walkers.Z))
        uniform = proposals.uniform(size - n_moves, rng)
        walker = rng.choice(len(walkers.Z), size=n_moves, p=cells.chances(walkers.Z))
        going = moved(Parents(walkers.Z[walker], walkers.pairs[walker]), reach, proposals, rng)
        Z = np.concatenate([uniform, going.Z])
        twins = oracle.draws.twins(uniform, rng)
        twins = None if twins is None else np.concatenate([twins, going.pairs])
        walker = np.concatenate([np.full(len(uniform), -1), walker])
        fresh, keys = oracle.fresh(Z)
        # Known inputs end a run that finds nothing else, as everywhere.
        chosen = np.flatnonzero(fresh) if fresh.any() else np.arange(len(Z))
        chosen = chosen[proposals.sorted(Z[chosen])]
        Z, walker, keys = Z[chosen], walker[chosen], keys[chosen]
        judged = oracle.disparity(Z, None if twins is None else twins[chosen], keys)
        found, is_move = judged.verdict, walker >= 0
        cells.count(Z[found])
        n_uniform += int((~is_move).sum())
        n_found += int((found & ~is_move).sum())
        success = ((found & is_move).sum() + 1) / (is_move.sum() + 1)
        reach = next_reach(reach, success, n_found / max(1, n_uniform))
        pairs = np.stack([judged.first, judged.second], axis=1)
        ahead, joins = found & is_move, found & ~is_move
        walkers.Z[walker[ahead]], walkers.pairs[walker[ahead]] = Z[ahead], pairs[ahead]
        walkers = merged(walkers, Parents(Z[joins], pairs[joins]), rng)


def next_reach(reach: float, success: float, by_chance: float) -> float:
    """How far moves reach next, by the latest share of successes and that of uniform inputs."""
    # An input that discriminates costs twice as many queries as another, of two twins.
    per_query = TIMES * by_chance / (1 + by_chance)
    wanted = per_query / (1 - per_query) if per_query < 1 else np.inf
    wanted = max(wanted, LEAST_SUCCESS) if wanted <= MOST_SUCCESS else ELSE_SUCCESS
    # By the root of what it is off, as success depends steeply on it.
    factor = float(np.clip(success / wanted, 0.25, 4.0)) ** 0.5
    return min(max(reach * factor, LEAST_REACH), 1.0)


def merged(walkers: Parents, more: Parents, rng: np.random.Generator) -> Parents:
    """All walkers, or a random choice of as many as there may be."""
    Z = np.concatenate([walkers.Z, more.Z])
    pairs = np.concatenate([walkers.pairs, more.pairs])
    kept = rng.permutation(len(Z))[:MOST_WALKERS]
    return Parents(Z[kept], pairs[kept])


def moved(
    walkers: Parents, reach: float, proposals: ProposalMixture, rng: np.random.Generator
) -> Parents:
    """Walkers with some values drawn anew, each with a chance of `reach`; with none, one steps."""
    values, free, n = proposals.values, proposals.space.free, len(walkers.Z)
    anew = np.zeros(walkers.Z.shape, dtype=bool)
    anew[:, free] = rng.random((n, len(free))) < reach
    stepped = values.step_along(walkers.Z.copy(), rng.choice(free, size=n), rng)
    kept = np.where(anew.any(axis=1, keepdims=True), walkers.Z, stepped)
    Z = np.where(anew, values.draw(n, rng), kept)
    return proposals.admitted(Parents(Z, walkers.pairs), rng)


class Cells:
    """Leaves of a tree of the model's outputs, and the discriminatory inputs found in each.

    Parameters
    ----------
    oracle : Oracle
        Gives the outputs.
    n : int
        Uniform inputs to learn from.
    rng : Generator
        Source of randomness.
    """

    def __init__(self, oracle: Oracle, n: int, rng: np.random.Generator) -> None:
        self._free = oracle.space.free
        Z = oracle.sample(n, rng)
        outputs = oracle.respond(Z)
        self._tree = DecisionTreeRegressor(
            max_leaf_nodes=MOST_CELLS, random_state=int(rng.integers(2**31))
        ).fit(Z[:, self._free], outputs)
        self._n_found = np.zeros(self._tree.tree_.node_count)

    def _of(self, Z: Floats) -> NDArray[np.int64]:
        if not len(Z):
            return np.empty(0, dtype=np.int64)
        cells: NDArray[np.int64] = self._tree.apply(Z[:, self._free])
        return cells

    def count(self, Z: Floats) -> None:
        """Count discriminatory inputs."""
        self._n_found += np.bincount(self._of(Z), minlength=len(self._n_found))

    def chances(self, Z: Floats) -> Floats:
        """Chances to be chosen: the larger, the fewer inputs were found in a walker's cell."""
        cells = self._of(Z)
        here = np.bincount(cells, minlength=len(self._n_found))
        weight = 1 / (1 + self._n_found[cells]) / here[cells]
        chances: Floats = weight / weight.sum()
        return chances
