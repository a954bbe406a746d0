"""What symbolic generation reasons with: explanations of inputs, path constraints, solutions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest._typing import Floats
from skfairtest.oracle._handle import SearchHandle
from skfairtest.space._domain import values_at
from skfairtest.space._space import InputSpace


class Predicate(NamedTuple):
    """A condition on a path of a tree: the closed interval of an attribute that it admits.

    `other_low` and `other_high` are the interval that its negation admits; the confidence is the
    share of the tree's explanation that the condition carries.
    """

    attribute: int
    low: float
    high: float
    other_low: float
    other_high: float
    confidence: float


class Region(NamedTuple):
    """A path constraint: the closed interval that it leaves to each attribute."""

    low: Floats
    high: Floats

    def within(self, attribute: int, low: float, high: float) -> Region:
        """The path constraint with one more interval."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[attribute] = max(lows[attribute], low)
        highs[attribute] = min(highs[attribute], high)
        return Region(lows, highs)


class Explainer:
    """Explains inputs: the path of each through a tree that imitates the model around it."""

    def __init__(
        self, search: SearchHandle, rng: np.random.Generator, n_neighbours: int, max_depth: int
    ) -> None:
        self.search, self.space, self.rng = search, search.space, rng
        self.n_neighbours = n_neighbours
        # Where a difference of scores decides, labels would explain the wrong thing.
        response = search.response
        self.by_scores = response == "regression" or (
            search.threshold is not None and response != "labels"
        )
        tree: Any = DecisionTreeRegressor if self.by_scores else DecisionTreeClassifier
        self.tree = tree(max_depth=max_depth, random_state=int(rng.integers(2**31)))

    def paths(self, Z: Floats) -> list[list[Predicate]]:
        """The path of each input; the neighbours of all are labelled in one batch."""
        rows = self._neighbourhoods(Z)
        valid = self.space.valid(rows)
        answers = self._targets(self.search.respond(rows[valid])) if len(rows) else np.zeros(0)
        owner = np.repeat(np.arange(len(Z)), self.n_neighbours)[valid]
        ends = np.searchsorted(owner, np.arange(len(Z) + 1))
        neighbours = rows[valid].astype(np.float32)
        return [
            self._path(t, neighbours[start:end], answers[start:end])
            for t, start, end in zip(Z, ends[:-1], ends[1:], strict=True)
        ]

    def _neighbourhoods(self, Z: Floats) -> Floats:
        """Each input, and copies of it with a random share of the attributes perturbed.

        Numbers move by a normal draw of a tenth of their domain, categories are drawn anew.
        """
        n = len(Z) * self.n_neighbours
        rows = np.repeat(Z, self.n_neighbours, axis=0)
        mask = self.rng.random(rows.shape) < self.rng.random((n, 1))
        mask[:: self.n_neighbours] = False
        # The standard deviation of a neighbour's numbers is a tenth of the domain.
        width = np.maximum(
            0.1 * (self.space.domain.high - self.space.domain.low), self.space.domain.steps
        )
        near = self.space.domain.clip(rows + width * self.rng.standard_normal(rows.shape))
        categorical = np.array([column.is_category for column in self.space.domain.columns])
        changed = np.where(categorical, self.space.domain.draw(n, self.rng), near)
        return np.where(mask, changed, rows)

    def _targets(self, answers: Floats) -> NDArray[Any]:
        """What the trees learn: labels, or the outputs where their differences decide."""
        if self.by_scores:
            return answers
        response = self.search.response
        if answers.shape[1] == 1:
            middle = 0.5 if response == "predict_proba" else 0.0
            codes = answers[:, 0] if response == "labels" else answers[:, 0] > middle
            return np.unique(codes, return_inverse=True)[1]
        return answers.argmax(axis=1)

    def _path(self, t: Floats, neighbours: NDArray[np.float32], y: NDArray[Any]) -> list[Predicate]:
        if len(y) < 2 or (y == y[0]).all():
            return []
        return tree_path(self.tree.fit(neighbours, y, check_input=False).tree_, t, self.space)


def tree_path(tree: Any, t: Floats, space: InputSpace) -> list[Predicate]:
    """The conditions that an input meets from the root of a fitted tree to its leaf."""
    explained = tree.impurity[0] * tree.weighted_n_node_samples[0]
    gains = tree.impurity * tree.weighted_n_node_samples
    path: list[Predicate] = []
    node = 0
    while tree.children_left[node] >= 0:
        left, right = tree.children_left[node], tree.children_right[node]
        k = int(tree.feature[node])
        below, above = split_interval(tree.threshold[node], k, space)
        confidence = (gains[node] - gains[left] - gains[right]) / explained
        goes_left = np.float32(t[k]) <= tree.threshold[node]
        own, other = (below, above) if goes_left else (above, below)
        path.append(Predicate(k, *own, *other, float(confidence)))
        node = left if goes_left else right
    return path


def split_interval(
    cut: float, k: int, space: InputSpace
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The closed intervals of an attribute's domain up to a cut, and beyond it."""
    low, high = float(space.domain.low[k]), float(space.domain.high[k])
    if space.domain.discrete[k]:
        return (low, float(np.floor(cut))), (float(np.floor(cut)) + 1, high)
    return (low, float(cut)), (float(np.nextafter(cut, np.inf)), high)


def conjunction(space: InputSpace, predicates: list[Predicate]) -> Region:
    """The intervals that all predicates admit together, within the domain."""
    box = Region(space.domain.low, space.domain.high)
    for c in predicates:
        box = box.within(c.attribute, c.low, c.high)
    return box


def nearest(t: Floats, box: Region, space: InputSpace) -> Floats | None:
    """The input next to `t` that meets the constraint; None where it is not valid."""
    Z = space.domain.clip(np.clip(t, box.low, box.high)[None])
    return Z[0] if space.valid(Z)[0] else None


def solve(t: Floats, box: Region, space: InputSpace, rng: np.random.Generator) -> Floats | None:
    """An input that meets the constraint and changes `t` little; None where none is found.

    Values of `t` that meet the constraint stay, the others are drawn uniformly.
    """
    outside = (t < box.low) | (t > box.high)
    # Ten draws in search of a solution that the constraint admits.
    for _ in range(10):
        U = rng.random(space.n_features)
        drawn = values_at(U, box.low, box.high, space.domain.discrete)
        Z = space.domain.clip(np.where(outside, np.minimum(drawn, box.high), t)[None])
        if space.valid(Z)[0]:
            return Z[0]
    return None
