"""What a search returns, and what it starts from."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._trees.link_bounds import CODES, Links, bound_of_sums, gap_of_sums
from skfairtest.exact._trees.problem import Problem, Sums

Floats = NDArray[np.float64]


class Limits(NamedTuple):
    """When a search may stop: a moment by `time.perf_counter`, and a narrow bracket's width."""

    deadline: float
    rtol: float

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() >= self.deadline

    def by(self, share: float) -> float:
        """The moment when a share of the time that is left is over."""
        now = time.perf_counter()
        return now + share * max(0.0, self.deadline - now)


class Bracket(NamedTuple):
    """What a search knows of the largest difference of one output.

    `upper` bounds it. `twins` are the codes of a pair that attains `lower` as the model was read,
    or None where nothing better than the value given was found. `reason` says why it ended.
    """

    lower: float
    upper: float
    twins: tuple[Floats, Floats] | None
    n_boxes: int
    reason: str


def make_links(sums: Sums) -> Links:
    """The sums of a problem as arrays."""
    return Links(
        sums.part.astype(np.int64),
        sums.base.astype(np.float64),
        sums.group_start.astype(np.int64),
        np.array([CODES[link] for link in sums.link], dtype=np.int64),
        sums.weight.astype(np.float64),
        sums.slack.astype(np.float64),
        sums.plain,
    )


def trivial_bound(problem: Problem, links: Links) -> float:
    """A bound from the ranges of the trees alone."""
    forest = problem.forest
    n = len(links.base)
    D, U, V = np.zeros(n), links.base.copy(), links.base.copy()
    high, low = forest.high[forest.roots], forest.low[forest.roots]
    np.add.at(U, links.part, high)
    np.add.at(V, links.part, low)
    np.add.at(D, links.part, np.where(forest.splits[forest.roots], high - low, 0.0))
    if gap_of_sums(links, D, U, V) <= 0:
        return 0.0  # nothing takes twins apart: their answers are the same to the last bit
    return float(bound_of_sums(links, D, U, V))
