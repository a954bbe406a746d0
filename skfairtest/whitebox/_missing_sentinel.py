"""Tests of real columns through which a number passes that marks a missing value.

XGBoost with ``missing=0``, or on a sparse table, sends a zero its own way at every test, whatever
its threshold: the test "x <= 3, and missing values go right" cuts a line in three. Cells are made
by cuts in two. So the trees are taken apart at the sentinel: numbers below
it, the sentinel itself and numbers above it get a copy each of what is behind such a test, and in
each copy tests of that column are plain cuts, or have one outcome.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Bools, Ints
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._tree_model import Nodes

#: Nodes after the copying, beyond which a model is refused, and times as many as before.
MOST_NODES, MOST_TIMES = 200_000, 50
BELOW, AT, ABOVE = -1, 0, 1


class MissingSentinel(NamedTuple):
    """What marks a missing value: numbers from `low` to `high`; `below` is the number before."""

    low: float
    high: float
    below: float


def split_at_sentinel(nodes: Nodes, real: Ints, sentinel: MissingSentinel, name: str) -> Nodes:
    """The same function, with the sentinel of missing values as a number like any other.

    - `real`: features in which it is still a number: those of real columns.
    - `sentinel`: what marks a missing value. No threshold is inside it.
    - `name`: the model's class, for the error.
    - `ValueError`: if too many copies would be made.
    """
    tests = nodes.tests
    passed = np.array(
        [t for t in real if _takes_sentinel(nodes.features, int(t), sentinel)], dtype=np.intp
    )
    watched = np.isin(tests.feature, passed) & (nodes.left >= 0)
    turned = watched & ((sentinel.low <= tests.threshold) != tests.missing_left)
    if not turned.any():
        return nodes
    return _Copies(nodes, watched, turned, sentinel, name).nodes()


def _takes_sentinel(features: Features, t: int, sentinel: MissingSentinel) -> bool:
    """Whether a feature of a continuous attribute may take the sentinel's value."""
    attribute = int(features.source[t])
    first, last = features.piece_ends(attribute)
    values = features.evaluate(np.full(2 * len(first), t), np.concatenate([first, last]))
    numbers = values[~np.isnan(values)]
    return bool((numbers <= sentinel.high).any() and (numbers >= sentinel.low).any())


class _Copies:
    """New nodes, each a copy of an old one or a cut at the sentinel."""

    def __init__(
        self, nodes: Nodes, watched: Bools, turned: Bools, sentinel: MissingSentinel, name: str
    ) -> None:
        self.old, self.watched, self.turned, self.sentinel = nodes, watched, turned, sentinel
        self.name = name
        self.most = max(MOST_NODES, MOST_TIMES * len(nodes.left))
        self.copied: list[int] = []  # the node that a new one is like
        self.threshold: list[float] = []
        self.missing_left: list[bool] = []
        self.left: list[int] = []
        self.right: list[int] = []

    def nodes(self) -> Nodes:
        old = self.old
        roots = [self._copy(int(root), {}) for root in old.roots]
        copied = np.array(self.copied, dtype=np.intp)
        left = np.array(self.left, dtype=np.intp)
        tests = old.tests._replace(
            feature=old.tests.feature[copied],
            threshold=np.array(self.threshold),
            missing_left=np.array(self.missing_left, dtype=bool),
            category=old.tests.category[copied],
        )
        right, value = np.array(self.right, dtype=np.intp), old.value[copied]
        return Nodes(old.features, tests, left, right, value, np.array(roots, dtype=np.intp))

    def _copy(self, node: int, known: dict[int, int]) -> int:
        """A copy of what is at a node, for numbers on known sides of the sentinel."""
        old, feature = self.old, int(self.old.tests.feature[node])
        while old.left[node] >= 0 and self.watched[node] and feature in known:
            as_number = self.sentinel.low <= old.tests.threshold[node]
            side = known[feature]
            if side == AT:
                goes_left = bool(old.tests.missing_left[node])
            elif side == BELOW and as_number:
                goes_left = True
            elif side == ABOVE and not as_number:
                goes_left = False
            else:
                break
            node = int(old.left[node] if goes_left else old.right[node])
            feature = int(old.tests.feature[node])
        here = self._new(node, float(old.tests.threshold[node]))
        if old.left[node] < 0:
            return here
        if not self.watched[node] or feature in known:
            self.left[here] = self._copy(int(old.left[node]), known)
            self.right[here] = self._copy(int(old.right[node]), known)
        elif self.turned[node]:
            # NaN is missing as the sentinel is, and goes its way.
            self.threshold[here], self.missing_left[here] = self.sentinel.below, False
            self.left[here] = self._copy(node, known | {feature: BELOW})
            self.right[here] = rest = self._new(node, self.sentinel.high)
            self.missing_left[rest] = True
            self.left[rest] = self._copy(node, known | {feature: AT})
            self.right[rest] = self._copy(node, known | {feature: ABOVE})
        else:
            # Where the sentinel itself goes nothing is known; the other side is without it.
            as_number = self.sentinel.low <= old.tests.threshold[node]
            to_right = known | {feature: ABOVE} if as_number else known
            to_left = known if as_number else known | {feature: BELOW}
            self.left[here] = self._copy(int(old.left[node]), to_left)
            self.right[here] = self._copy(int(old.right[node]), to_right)
        return here

    def _new(self, node: int, threshold: float) -> int:
        if len(self.copied) >= self.most:
            raise ValueError(
                f"{self.name} treats {self.sentinel.low:.3g} as a missing value, and the domains "
                f"of real columns contain it: its trees would need more than {self.most} nodes. "
                "Narrow the columns to one side of it by InputSpace(bounds=...), declare their "
                "values by InputSpace(categories=...), or fit with NaN as the sentinel of missing "
                "values, behind encoders with dense output."
            )
        self.copied.append(node)
        self.threshold.append(threshold)
        self.missing_left.append(bool(self.old.tests.missing_left[node]))
        self.left.append(-1)
        self.right.append(-1)
        return len(self.copied) - 1
