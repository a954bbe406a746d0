"""A search for discriminatory inputs near the data: crossover of neighbours, chosen before a query.

Every input that is asked about is a row of the data crossed with one of its neighbours. What
directs the search is the choice among many such crossovers: a surrogate learns from the verdicts so
far which of them discriminate. So what is found stays near the rows, which steps from one
discriminatory input to the next would leave. A crossover is taken with a chance in proportion to
what the surrogate predicts for it, not if it is among the best: if the surrogate were right,
discriminatory inputs would be spread just as those of undirected crossovers are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._threads import one_thread
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.individual._surrogate.rounds import affordable
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._row_hash import KeySet, row_keys


class CrossoverSearch:
    """The search of `SurrogateAuditor` whose inputs all stay near rows of the data.

    Parameters
    ----------
    search : SearchHandle
        Judges inputs.
    rng : Generator
        Source of randomness.
    batch_size : int
        Inputs in a batch, at most.
    """

    def __init__(self, search: SearchHandle, rng: np.random.Generator, *, batch_size: int) -> None:
        self.search, self.space, self.rng = search, search.space, rng
        self.batch_size = batch_size
        self._proposed = KeySet()
        self._Z: Floats = np.empty((0, self.space.n_features))
        self._found: Bools = np.empty(0, dtype=bool)
        self._surrogate: Any = None
        self._learned = 0
        self._n_vain = 0

    def run(self) -> None:
        """Ask until the budget ends the run, or no crossover is left that was not asked about."""
        # Five draws in a row without a new crossover end the search.
        while self._n_vain < 5:
            Z = self.propose(affordable(self.search, self.batch_size))
            self.remember(Z, self.search.evaluate(Z, self.search.pairs(Z, self.rng)).verdict)

    @one_thread()
    def propose(self, n: int) -> Floats:
        """New crossovers: most of them chosen by the surrogate, some as they come."""
        if self._surrogate is None:
            return self.new_crossovers(n)
        # One in twenty is undirected; for each other one, 20 are drawn.
        n_explore = int(np.ceil(0.05 * n))
        Z = self.new_crossovers(20 * (n - n_explore) + n_explore)
        if len(Z) > n:
            chance = self._surrogate.predict_proba(Z[n_explore:])[:, 1]
            taken = choose(chance, n - n_explore, self.rng)
            Z = np.concatenate([Z[:n_explore], Z[n_explore:][taken]])
        return Z

    def new_crossovers(self, n: int) -> Floats:
        """Different crossovers that were not judged before; maybe none."""
        Z = self.search.crossover(n, self.rng)
        keys = row_keys(Z[:, self.space.non_sensitive])
        first = np.zeros(len(Z), dtype=bool)
        first[np.unique(keys, return_index=True)[1]] = True
        new = first & ~self._proposed.contains(keys)
        self._n_vain = 0 if new.any() else self._n_vain + 1
        return Z[new]

    @one_thread()
    def remember(self, Z: Floats, found: Bools) -> None:
        """Keep the verdicts, and learn from them now and then."""
        self._proposed.add(row_keys(Z[:, self.space.non_sensitive]))
        most = 30_000  # inputs that the surrogate learns from: the latest
        self._Z = np.concatenate([self._Z, Z])[-most:]
        self._found = np.concatenate([self._found, found])[-most:]
        n_seen = self._proposed.size
        n_found = int(self._found.sum())
        # It learns anew when twice as many inputs are known, from five discriminatory ones on.
        if not 5 <= n_found < len(self._found) or n_seen < 2.0 * self._learned:
            return
        from sklearn.ensemble import HistGradientBoostingClassifier

        self._learned = n_seen
        model = HistGradientBoostingClassifier(
            max_iter=30, learning_rate=0.2, max_bins=63, min_samples_leaf=10, early_stopping=False,
            random_state=int(self.rng.integers(2**31)),
        )  # fmt: skip
        self._surrogate = model.fit(self._Z, self._found)


def choose(chance: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Draw n inputs without replacement, by their chance; their places."""
    # The n smallest of exponential waiting times are such a draw.
    waiting = rng.exponential(size=len(chance)) / np.maximum(chance, 1e-6)
    return np.sort(np.argpartition(waiting, min(n, len(chance) - 1))[:n])
