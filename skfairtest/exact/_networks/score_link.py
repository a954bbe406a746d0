"""From differences of scores to differences of outputs, and back."""

from __future__ import annotations

from skfairtest.exact._networks.relaxation import Relaxation
from skfairtest.exact._trees.link_bounds import exponential_gap, logistic_gap

#: Links of one score an output that are understood.
LINKS = ("identity", "logistic", "exp")


class ScoreLink:
    """What a network makes of its scores, each by itself.

    - `slack`: how far rounding may carry the ends of the scores.
    """

    def __init__(self, relaxation: Relaxation, slack: float) -> None:
        self.out = relaxation.network.out
        self._ends = 0.0, 0.0
        if self.out != "identity":
            last = relaxation.layers(relaxation.whole())[-1]
            self._ends = float(last.high[0].max()) + slack, float(last.low[1].min()) - slack

    def answer(self, score: float) -> float:
        """Return the difference of outputs that a difference of scores allows."""
        if self.out == "identity" or score == float("inf"):
            return score
        gap = logistic_gap if self.out == "logistic" else exponential_gap
        return float(gap(max(score, 0.0), *self._ends))

    def score(self, answer: float, most: float) -> float:
        """A difference of scores, up to `most`, that allows no difference of outputs beyond it."""
        if self.out == "identity":
            return answer
        low, high = 0.0, max(most, 0.0)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.answer(middle) <= answer else (low, middle)
        return low
