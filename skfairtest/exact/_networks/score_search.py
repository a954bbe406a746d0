"""Best-first searches that bound differences of a network's scores, beside the boxes of inputs."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Generic

from skfairtest.exact._best_first import BestFirst, Node
from skfairtest.exact._networks.local_search import LocalSearch
from skfairtest.exact._networks.relaxation import GAPS, Relaxation
from skfairtest.exact._verifier import SolverLimits

#: Links of one score an output that are understood.
LINKS = ("identity", *GAPS)


class ScoreSearch(Generic[Node]):
    """Open nodes, those with the largest bounds of a score's difference first.

    - `rounding`: how far rounding may carry a bound of the scores.
    - `batch`: how many nodes are cut in one go at most.

    - `queue`: what is known of the scores; of a softmax, of the probabilities themselves.
    """

    rounding: float
    batch: int

    def __init__(
        self, relaxation: Relaxation, limits: SolverLimits, most_open: int = 200_000
    ) -> None:
        self.relaxation, self.network = relaxation, relaxation.network
        self.queue: BestFirst[Node] = BestFirst(
            -float("inf"), SolverLimits(limits.deadline, 0.0), most_open=most_open
        )

    @property
    def upper(self) -> float:
        """No difference of an output is larger."""
        return self._answer(self.queue.upper + self.rounding)

    def step(self, enough: float) -> None:
        """Cut some nodes, of those that allow a larger difference of an output than `enough`."""
        most = self.queue.upper + self.rounding
        self.queue.incumbent = max(self.queue.incumbent, self._score(enough, most) - self.rounding)
        self.queue.step(self._cut, self.batch)

    def suggest(self, pairs: LocalSearch) -> None:
        """Let the local search go on from what good bounds show."""

    @abstractmethod
    def _cut(self, taken: list[Node], uppers: list[float]) -> None:
        """Push or fathom the parts of nodes, given the nodes and their bounds."""

    def _answer(self, score: float) -> float:
        """Return the difference of outputs that a difference of scores allows."""
        gap = GAPS.get(self.network.out)
        if gap is None or score == float("inf"):
            return score
        return float(gap(max(score, 0.0), *self._bounds))

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        """The largest score of the first twin, and the smallest one of the second."""
        last = self.relaxation.whole_layers[-1]
        return float(last.high[0].max()) + self.rounding, float(last.low[1].min()) - self.rounding

    def _score(self, answer: float, most: float) -> float:
        """A difference of scores, up to `most`, that allows no difference of outputs beyond it."""
        if self.network.out not in GAPS:
            return answer
        low, high = 0.0, max(most, 0.0)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._answer(middle) <= answer else (low, middle)
        return low
