"""What each operator of a search cost and brought, and how well independent searches agree."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats, Ints

#: The operators, in the order of the table.
OPERATORS = ("rows", "lines", "combined", "drift", "pairs", "crossed", "relinked")
ROWS, LINES, COMBINED, DRIFT, PAIRS, CROSSED, RELINKED = range(len(OPERATORS))
#: Risk at which the estimate's upper end would be crossed, if islands were draws of one chance.
RISK = 0.25


class Ledger:
    """Inputs, queries, discriminatory inputs and gain in degree of each operator."""

    def __init__(self) -> None:
        n = len(OPERATORS)
        self.inputs, self.found = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.queries, self.gain = np.zeros(n), np.zeros(n)

    def note(self, operators: Ints, verdict: Bools, queries: int, best: int, gain: float) -> None:
        """Enter a batch: the operator of each input, and what it cost and brought together.

        The queries are shared out by inputs; the gain is that of the operator of the best input.
        """
        counts = np.bincount(operators, minlength=len(OPERATORS))
        self.inputs += counts
        self.found += np.bincount(operators[verdict], minlength=len(OPERATORS))
        self.queries += queries * counts / max(1, counts.sum())
        if gain > 0:
            self.gain[operators[best]] += gain

    def arrays(self) -> dict[str, Floats | Ints]:
        """The columns of the table."""
        return {
            "inputs": self.inputs,
            "queries": np.rint(self.queries).astype(np.int64),
            "found": self.found,
            "gain": self.gain,
        }


def estimated_range(bests: list[float], degree: float) -> tuple[float, float]:
    """Where the largest disparity may lie, by what independent islands have reached.

    Robson and Whitlock's (1964) limits of the end of a distribution, from the two largest of a
    sample: the largest, and as far beyond it as the second is behind, times (1 - RISK) / RISK.
    Infinite from less than two islands.
    """
    if len(bests) < 2:
        return degree, np.inf
    second, first = np.sort(bests)[-2:]
    return degree, float(max(degree, first + (1 - RISK) / RISK * (first - second)))
