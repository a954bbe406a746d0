"""What the tuned search is made of: judged inputs, subpopulations, and what operators bring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.individual._sbft.settings import SearchSettings

#: Relative differences below this are the rounding of the model's sums.
TINY = 1e-9
#: The operators, in the order of the table.
OPERATORS = ("rows", "changed", "crossed", "pairs")
ROWS, CHANGED, CROSSED, PAIRS = range(len(OPERATORS))


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
    """

    Z: Floats
    pairs: Floats
    fitness: Floats

    def __len__(self) -> int:
        return len(self.fitness)

    def __getitem__(self, chosen: Ints | Bools | slice) -> Evaluated:
        return Evaluated(self.Z[chosen], self.pairs[chosen], self.fitness[chosen])

    def joined(self, *others: Evaluated) -> Evaluated:
        """These and others."""
        parts = [(one.Z, one.pairs, one.fitness) for one in (self, *others)]
        return Evaluated(*map(np.concatenate, zip(*parts, strict=True)))

    def best(self, size: int) -> Evaluated:
        """Different ones, the best first, at most so many.

        Two of the same fitness count as one: they mostly differ where the model does not look.
        """
        # Of inputs that show nothing all are kept, as nothing tells them apart.
        order = np.where(self.fitness > 0, -self.fitness, np.arange(len(self)))
        _, first = np.unique(order, return_index=True)
        return self[first[:size]]


class Subpopulation:
    """A population of inputs that has nothing to do with those of other subpopulations.

    Attributes
    ----------
    members : Evaluated
        The inputs, each of which is improved.
    began, best_at : int
        Queries at its start, and when its best input was found.
    best : float
        The largest disparity of its inputs.
    joins : bool
        Whether it began with the members of other subpopulations, not with rows of the data.
    """

    def __init__(self, members: Evaluated, n_queries: int, *, joins: bool) -> None:
        self.members = members
        self.began = self.best_at = n_queries
        self.best = float(members.fitness.max(initial=0.0))
        self.joins = joins

    def replace_by(self, children: Evaluated, n_queries: int) -> None:
        """Replace each member by the best of its children, if that is not worse.

        The children are those of the first member, then as many of the next, and so on.
        """
        members, n = self.members, len(self.members)
        of_each = children.fitness.reshape(n, -1)
        chosen = children[np.arange(n) * of_each.shape[1] + of_each.argmax(axis=1)]
        stays = chosen.fitness < members.fitness * (1 - TINY)
        self.members = Evaluated(
            np.where(stays[:, None], members.Z, chosen.Z),
            np.where(stays[:, None, None], members.pairs, chosen.pairs),
            np.maximum(members.fitness, chosen.fitness),
        )
        best = float(self.members.fitness.max())
        if best > self.best * (1 + TINY):
            self.best, self.best_at = best, n_queries

    def has_stalled(self, n_queries: int, given: SearchSettings) -> bool:
        """Whether it is time to leave it."""
        share = given.joined_share if self.joins else given.patience_share
        spent = n_queries - self.began if self.joins else self.best_at - self.began
        return n_queries - self.best_at > given.patience * len(self.members) + share * spent


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
