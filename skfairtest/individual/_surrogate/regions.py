"""Leaves of a tree as boxes of the input space, and draws from the promising ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.space._domain import codes_at
from skfairtest.space._space import InputSpace


class Regions:
    """The boxes that a surrogate tree cuts the free attributes into.

    Attributes
    ----------
    n_regions : int
        Boxes in which discriminatory inputs are likely.
    """

    def __init__(self, space: InputSpace) -> None:
        self.space = space
        self.n_regions = 0
        self._tree: Any = None

    def learn(self, tree: Any, inputs: Floats, values: Floats) -> None:
        """Take over the leaves of a fitted tree, and learn how likely each is to discriminate."""
        low, high, leaves = leaf_boxes(tree.tree_, self.space)
        place = np.full(tree.tree_.node_count, -1)
        place[leaves] = np.arange(len(leaves))
        here = place[tree.apply(inputs)]
        n = np.bincount(here, minlength=len(leaves))
        # A prior of one low input: three of three say less than thirty of thirty.
        belief = np.bincount(here, weights=values, minlength=len(leaves)) / (n + 1)
        spread = np.where(
            self.space.domain.discrete, self.space.domain.high - self.space.domain.low + 1, 0.0
        )
        free = self.space.free
        width = np.where(self.space.domain.discrete, high - low + 1, high - low)[:, free]
        whole = np.where(spread > 0, spread, self.space.domain.high - self.space.domain.low)[free]
        size = np.exp(np.log(np.maximum(width / np.maximum(whole, 1e-12), 1e-9)).sum(axis=1))
        keep = (belief > 0.5 * belief.max()) & (width >= 0).all(axis=1)
        self.low, self.high = low[keep], high[keep]
        # Size to a small power: large regions first, without starving the small ones.
        self.promise = belief[keep] ** 4 * size[keep] ** 0.25
        self.drawn = np.zeros(int(keep.sum()))
        self.n_regions = len(self.drawn) if belief.max(initial=0.0) > 0 else 0
        self._tree = tree
        self._belief = np.zeros(tree.tree_.node_count)
        self._belief[leaves] = belief

    def believe(self, Z: Floats) -> Floats:
        """The share of high inputs in the leaf of each input, (n,): how far it is believed in."""
        if self._tree is None:
            return np.zeros(len(Z))
        belief: Floats = self._belief[self._tree.apply(Z[:, self.space.free])]
        return belief

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw inputs from the regions by expected share and novelty, uniformly inside each."""
        if not n:
            return np.empty((0, self.space.n_features))
        weight = self.promise / np.sqrt(1 + self.drawn)
        chosen = rng.choice(self.n_regions, size=n, p=weight / weight.sum())
        self.drawn += np.bincount(chosen, minlength=self.n_regions)
        low, high = self.low[chosen], self.high[chosen]
        U = rng.random((n, self.space.n_features))
        domain = self.space.domain
        return domain.clip(codes_at(U, low, high, domain.discrete))


def leaf_boxes(tree: Any, space: InputSpace) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Closed boxes of the leaves, (n_leaves, n_features) each, and the leaves' node numbers."""
    low = np.tile(space.domain.low, (tree.node_count, 1))
    high = np.tile(space.domain.high, (tree.node_count, 1))
    # Children have larger numbers than their parents, so one pass sees parents first.
    for node in range(tree.node_count):
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            continue
        column = space.free[tree.feature[node]]
        cut = tree.threshold[node]
        low[left], high[left] = low[node], high[node]
        low[right], high[right] = low[node], high[node]
        whole = space.domain.discrete[column]
        high[left, column] = min(high[left, column], np.floor(cut) if whole else cut)
        low[right, column] = max(low[right, column], np.floor(cut) + 1 if whole else cut)
    leaves = np.flatnonzero(tree.children_left < 0)
    return low[leaves], high[leaves], leaves
