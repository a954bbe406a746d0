"""What the tuned search is made of: judged inputs, and what operators bring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skfairtest._typing import Bools, Floats, Ints

#: The operators, in the order of the table.
OPERATORS = ("rows", "chosen", "drawn")
ROWS, CHOSEN, DRAWN = range(len(OPERATORS))


@dataclass(frozen=True)
class Evaluated:
    """Inputs, the pairs of encoded sensitive values that they are judged by, and their disparities.

    Attributes
    ----------
    Z : ndarray of shape (n, n_features)
        The inputs.
    pairs : ndarray of shape (n, 2, n_sensitive)
        The encoded sensitive values of the twins, those of the larger output first.
    fitness : ndarray of shape (n,)
        The disparities.
    outputs : ndarray of shape (n, 2)
        The outputs that differ so much, the larger one first.
    """

    Z: Floats
    pairs: Floats
    fitness: Floats
    outputs: Floats

    def __len__(self) -> int:
        return len(self.fitness)

    def __getitem__(self, chosen: Ints | Bools | slice) -> Evaluated:
        return Evaluated(*(part[chosen] for part in self._parts))

    def joined(self, other: Evaluated) -> Evaluated:
        """These and others."""
        return Evaluated(*map(np.concatenate, zip(self._parts, other._parts, strict=True)))

    def best(self, size: int) -> Evaluated:
        """Different ones, the best first, at most so many.

        Two of the same fitness count as one: they mostly differ where the model does not look.
        """
        # Of inputs that show nothing all are kept, as nothing tells them apart.
        order = np.where(self.fitness > 0, -self.fitness, np.arange(len(self)))
        _, first = np.unique(order, return_index=True)
        return self[first[:size]]

    @property
    def _parts(self) -> tuple[Floats, ...]:
        return self.Z, self.pairs, self.fitness, self.outputs


def estimated_range(bests: list[float], degree: float) -> tuple[float, float]:
    """Estimate where the largest disparity lies, from what independent subpopulations have reached.

    These are Robson and Whitlock's (1964) limits of the end of a distribution, from the two largest
    of a sample: the largest, and as far beyond it as the second is behind, times (1 - risk) / risk,
    or a tenth if that is more, as all subpopulations may miss the same. The upper one is infinite
    where there are less than two subpopulations, or nothing was found.
    """
    if len(bests) < 2 or not degree > 0:
        return degree, np.inf
    second, first = np.sort(bests)[-2:]
    # The risk that the upper end would be crossed, if subpopulations were draws of one chance.
    risk = 0.1
    beyond = first + (1 - risk) / risk * (first - second)
    return degree, float(max((1 + 0.1) * degree, beyond))


# What operators cost and bring -------------------------------------------------------------


class OperatorStats:
    """Inputs, queries, discriminatory inputs and gain in degree of each operator."""

    def __init__(self) -> None:
        n = len(OPERATORS)
        self.inputs, self.found = np.zeros(n, dtype=np.int64), np.zeros(n)
        self.queries, self.gain = np.zeros(n), np.zeros(n)

    def add(
        self, operators: Ints, found: Bools | Floats, queries: int, best: int, gain: float
    ) -> None:
        """Add a batch: the operator of each input, and what the batch cost and brought.

        The queries are shared out by inputs; the gain is that of the operator of the best input.
        """
        counts = np.bincount(operators, minlength=len(OPERATORS))
        self.inputs += counts
        self.found += np.bincount(operators, weights=found, minlength=len(OPERATORS))
        self.queries += queries * counts / max(1, counts.sum())
        if gain > 0:
            self.gain[operators[best]] += gain

    def arrays(self) -> dict[str, Floats | Ints]:
        """The columns of the table."""
        return {
            "inputs": self.inputs,
            "queries": np.rint(self.queries).astype(np.int64),
            "found": np.rint(self.found).astype(np.int64),
            "gain": self.gain,
        }
