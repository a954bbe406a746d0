"""The initial design of the tuned search: children of good inputs, chosen by a surrogate.

A sweep over all columns costs hundreds of queries, so with few of them something else comes first:
a small evolutionary search. Of many children of the best inputs those are asked of which a model of
the difference, the surrogate, hopes most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skfairtest._typing import Floats
from skfairtest.individual._sbft.children import Batches, Children
from skfairtest.individual._sbft.difference import DifferenceModel
from skfairtest.individual._sbft.pairs import moved_sides
from skfairtest.individual._sbft.population import CROSSED, ROWS, TINY, Evaluated
from skfairtest.individual._sbft.settings import SearchSettings
from skfairtest.space._space import InputSpace


class InitialDesign:
    """An evolutionary search for the first queries; `run` returns its best inputs.

    Parameters
    ----------
    space : InputSpace
        Which inputs there are.
    rows : ndarray of shape (n_rows, n_features)
        Rows of the data inside the domain.
    sample : callable
        Draws so many inputs of the domain, or near the data if the user asked for these.
    size : callable
        Given how many inputs a batch has, and how many at most, says how many it has if a call of
        the model takes long.
    rng : Generator
        Source of randomness.
    settings : SearchSettings
        Sizes of its batches, and when it ends.
    """

    def __init__(
        self, space: InputSpace, rows: Floats,
        sample: Callable[[int], Floats], size: Callable[[float, float], float],
        rng: np.random.Generator, settings: SearchSettings,
    ) -> None:  # fmt: skip
        self.space, self.rows, self.rng = space, rows, rng
        self.sample, self.size, self.settings = sample, size, settings
        self.best: Evaluated
        self.model: DifferenceModel | None = DifferenceModel(space, rows)
        self.known: set[bytes] = set()

    def run(self, Z: Floats, pairs: Floats) -> Batches[Evaluated]:
        """Judge first inputs, then children until they no longer get better; returns the best."""
        given = self.settings
        judged = yield from self.evaluate(Z, pairs, ROWS)
        self.best = judged.best(given.design_parents)
        n_inputs = best_at = len(Z)
        while len(self.best) and n_inputs < given.design_inputs:
            if n_inputs - best_at > max(given.design_stall, given.design_stall_share * n_inputs):
                break
            before = self.best.fitness[0]
            least = max(given.design_batch, given.design_share * n_inputs)
            Z, pairs = self.chosen(int(self.size(least, given.design_most)))
            if not len(Z):
                break
            judged = yield from self.evaluate(Z, pairs, CROSSED)
            self.best = self.best.joined(judged).best(given.design_parents)
            n_inputs += len(judged)
            if self.best.fitness[0] > before * (1 + TINY):
                best_at = n_inputs
        return self.best

    def evaluate(self, Z: Floats, pairs: Floats, operator: int) -> Batches[Evaluated]:
        """Have inputs evaluated, and learn from them."""
        self.known.update(map(_key, Z, pairs))
        judged = yield Children.of_one(operator, Z, pairs)
        if len(judged) and self.model is not None:
            # The twin with the larger output comes first in a pair.
            self.model.learn(judged.Z, judged.pairs, judged.fitness)
            if len(self.known) >= self.settings.design_learned:
                self.model = None
        return judged

    def chosen(self, n: int) -> tuple[Floats, Floats]:
        """New children, at most n: of as many groups those that the model hopes most of, in order.

        The best come first, as a budget may cut the batch.
        """
        Z, pairs = self.children(n * self.settings.design_group if self.model else n)
        places = {key: k for k, key in enumerate(map(_key, Z, pairs))}
        new = [k for key, k in places.items() if key not in self.known]
        Z, pairs = Z[new], pairs[new]
        if self.model is None or not new:
            return Z, pairs
        hoped = self.model.hoped_for(Z, pairs)
        groups = np.array_split(self.rng.permutation(len(Z)), min(n, len(Z)))
        best = np.array([group[hoped[group].argmax()] for group in groups])
        best = best[np.argsort(-hoped[best], kind="stable")]
        return Z[best], pairs[best]

    def children(self, n: int) -> tuple[Floats, Floats]:
        """Children of the best inputs, with some of another's columns and some changed ones."""
        rng, space, free = self.rng, self.space, self.space.non_sensitive
        best, best_pairs = self.best.Z, self.best.pairs
        # Half of the children come from the very best.
        front = np.where(rng.random(n) < 0.5, 4.0, 1.5)
        parent = (len(best) * rng.random(n) ** front).astype(np.intp)
        other = rng.integers(0, len(best), n)
        Z, pairs = best[parent], best_pairs[parent]
        others = best[other]
        # Four in ten of the other parents are rows of the data, the rest are of the best.
        from_rows = rng.random(n) < 0.4
        if len(self.rows):
            others[from_rows] = self.rows[rng.integers(0, len(self.rows), int(from_rows.sum()))]
        # Six in ten children have another parent, and take this much of it.
        share = np.where(rng.random(n) < 0.6, rng.choice((0.1, 0.25, 0.5), n), 0.0)
        taken = rng.random(Z.shape) < share[:, None]
        taken[:, space.sensitive] = False
        Z = np.where(taken, others, Z)
        values = self.sample(n)
        if len(self.rows):
            at_random = self.rows[rng.integers(0, len(self.rows), Z.shape), np.arange(Z.shape[1])]
            # A fifth of the values are uniform, the others are values of the data.
            values = np.where(rng.random(Z.shape) < 0.2, values, at_random)
        ends = np.where(rng.random(Z.shape) < 0.5, space.domain.low, space.domain.high)
        values = np.where(rng.random(Z.shape) < 0.15, ends, values)
        # Chances of a first, a second and a third changed column.
        for chance in (0.9, 0.4, 0.2) if len(free) else ():
            rows = np.flatnonzero(rng.random(n) < chance)
            j = free[rng.integers(0, len(free), len(rows))]
            Z[rows, j] = values[rows, j]
        if space.twins_.n_combinations > 2:
            crossed = ~from_rows & (share > 0) & (rng.random(n) < 0.5)
            pairs[crossed] = best_pairs[other[crossed]]
            # Half of the pairs have one side moved.
            moved = rng.random(n) < 0.5
            pairs[moved] = moved_sides(pairs[moved], space, rng)
        return space.domain.clip(Z), pairs


def _key(z: Floats, pair: Floats) -> bytes:
    return z.tobytes() + pair.tobytes()
