"""What both searches for a bound have in common: deadline, memory, bounds, progress."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._trees.link_bounds import gap_of_sums, interpreted_bound
from skfairtest.exact._trees.problem import Problem
from skfairtest.exact._trees.self_composition import CellBox
from skfairtest.exact._verifier import STALLED, Engine, SolverLimits, SolverResult, Stall, Twins
from skfairtest.workers._compiled import plain


@dataclass(frozen=True)
class TreeSearchSettings:
    """How much memory the searches may take, and when the compiled one takes over.

    Bytes are those of all outputs of a model and all threads together.

    - `box_bytes`, `node_bytes`, `multiplier_bytes`: for open boxes, for the nodes of product trees
      and for multipliers.
    - `domain_pairs`, `box_pairs`: pairs of leaves that NumPy lists for the whole domain, and for
      one box (or a few for every tree); more are listed coarsely. Boxes with a quarter of that left
      list them anew, by which they become finer.
    - `numpy_seconds`: after which the compiled search takes over, where it is there.
    """

    box_bytes: int = 2_000_000_000
    node_bytes: int = 1_000_000_000
    multiplier_bytes: int = 1_000_000_000
    domain_pairs: int = 1_000_000
    box_pairs: int = 20_000
    numpy_seconds: float = 2.0


SETTINGS = TreeSearchSettings()


class TreeSearch(ABC):
    """A branch and bound on one output of a model of trees; it may go on after a deadline.

    - `problem`: the output.
    - `incumbent`: a difference that is attained; only larger ones are looked for.

    - `twins`: encoded values of a pair that attains the incumbent, if this search found it.
    """

    #: The library that it runs on, and boxes before which it does not stall.
    library: ClassVar[str]
    least_boxes: ClassVar[int] = 4_000

    def __init__(self, problem: Problem, incumbent: float) -> None:
        self.problem, self.incumbent = problem, incumbent
        self.twins: Twins | None = None
        self._stall = Stall(self.least_boxes)

    @property
    @abstractmethod
    def upper(self) -> float:
        """No difference is larger."""

    @property
    @abstractmethod
    def n_boxes(self) -> int:
        """Boxes looked into so far."""

    @abstractmethod
    def is_done(self, limits: SolverLimits) -> bool:
        """Return whether no open box may change the bounds."""

    @property
    @abstractmethod
    def is_full(self) -> bool:
        """Whether there is no memory for more open boxes."""

    @abstractmethod
    def step(self, limits: SolverLimits) -> None:
        """Search for a fraction of a second."""

    @abstractmethod
    def look(self, limits: SolverLimits) -> None:
        """Look for better pairs of twins, if it is their turn."""

    def _improve(self, value: float, point: CellBox) -> None:
        """Keep the twins at a point if they differ by more than all before."""
        if value > self.incumbent:
            self.incumbent, self.twins = value, self.problem.layout.encoded(point)

    def _value(self, one: Floats, two: Floats) -> tuple[float, float]:
        """Return the output's difference where the trees give the twins these values, (n_trees,).

        And its bound with the rounding of the model's own sums.
        """
        links = self.problem.links
        U, V = links.base.copy(), links.base.copy()
        np.add.at(U, links.part, one)
        np.add.at(V, links.part, two)
        sums = (links, U - V, U, V)
        return float(plain(gap_of_sums)(*sums)), float(interpreted_bound(*sums))

    def run(self, limits: SolverLimits) -> SolverResult:
        """Search until the gap is closed, or for as long as there is time and memory."""
        reason = "closed"
        while not self.is_done(limits):
            if limits.is_late or self.is_full:
                reason = "time" if limits.is_late else "memory"
                break
            if limits.stalls and self._stall.is_over(self.incumbent, self.upper, self.n_boxes):
                reason = STALLED
                break
            self.look(limits)
            self.step(limits)
            limits.note(self.incumbent, self.upper, self.n_boxes, lambda: self.twins)
        return SolverResult(
            self.incumbent, self.upper, self.twins, self.n_boxes, reason, Engine(self.library)
        )
