"""A search whose discriminatory inputs are spread over all regions that discriminate.

Walkers move from one discriminatory input to the next, balanced over cells of the model.
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

#: Walkers at most. While there are few, the inputs that they find join them; later
#: ones take the places of the walkers that found them, and only uniform ones join.
MOST_WALKERS = 5000
FEW_WALKERS = 100
#: Uniform inputs whose outputs the cells are learned from, and cells at most.
TRAINING_ROWS = 5000
MOST_CELLS = 1000
#: Share of uniform inputs in a batch, and of moves that draw more than one value anew.
UNIFORM_SHARE = 0.2
SEVERAL = 0.3


def search_diverse(
    oracle: Oracle, proposals: ProposalMixture, start: Parents, affordable: Callable[[], int],
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Walk by drawing values anew, on to wherever twins are treated differently.

    A move goes as often there as back, so that walkers that set out from uniform discriminatory
    inputs stay spread like these, at a success rate far above theirs. Walkers in cells where many
    discriminatory inputs were found are moved less often. `affordable` gives the size of a batch.
    """
    space = oracle.space
    cells = Cells(oracle, min(TRAINING_ROWS, affordable()), rng)
    walkers = Parents(start.Z[-MOST_WALKERS:].copy(), start.pairs[-MOST_WALKERS:].copy())
    while True:
        size = affordable()
        n_uniform = int(np.ceil(UNIFORM_SHARE * size))
        uniform = proposals.uniform(n_uniform, rng)
        twins = oracle.draws.twins(uniform, rng)
        judged = oracle.disparity(uniform, twins)
        found = judged.verdict
        cells.count(uniform[found])
        fresh_pairs = np.stack([judged.first[found], judged.second[found]], axis=1)
        walkers = merged(walkers, Parents(uniform[found], fresh_pairs), rng)
        if proposals.is_exhausted:
            return
        chosen = rng.choice(len(walkers.Z), size=size - n_uniform, p=cells.chances(walkers.Z))
        Z, pairs = moved(walkers.Z[chosen], proposals, rng), walkers.pairs[chosen]
        fresh, keys = oracle.fresh(Z)
        Z, pairs, chosen = Z[fresh], proposals.inherited(pairs[fresh], rng), chosen[fresh]
        if not space.twins_.is_enumerable:
            Z = space.twins_.with_sensitive(Z, pairs[:, 0])
        judged = oracle.disparity(Z, None if oracle.draws.compares_all else pairs, keys[fresh])
        found = judged.verdict
        cells.count(Z[found])
        new = Parents(Z[found], np.stack([judged.first[found], judged.second[found]], axis=1))
        if len(walkers.Z) < FEW_WALKERS:
            walkers = merged(walkers, new, rng)
        else:
            walkers.Z[chosen[found]], walkers.pairs[chosen[found]] = new


def merged(walkers: Parents, more: Parents, rng: np.random.Generator) -> Parents:
    """All walkers, or a random choice of as many as there may be."""
    Z = np.concatenate([walkers.Z, more.Z])
    pairs = np.concatenate([walkers.pairs, more.pairs])
    kept = rng.permutation(len(Z))[:MOST_WALKERS]
    return Parents(Z[kept], pairs[kept])


def moved(Z: Floats, proposals: ProposalMixture, rng: np.random.Generator) -> Floats:
    """Inputs with one value each drawn anew, in some cases several."""
    space = proposals.space
    n, n_free = len(Z), len(space.free)
    several = rng.random(n) < SEVERAL
    share = np.where(several, rng.random(n) ** 2 * 0.5, 0.0)[:, None]
    mask = np.zeros(Z.shape, dtype=bool)
    mask[:, space.free] = rng.random((n, n_free)) < share
    mask[np.arange(n), rng.choice(space.free, size=n)] = True
    return space.domain.clip(np.where(mask, space.domain.draw(n, rng), Z))


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
