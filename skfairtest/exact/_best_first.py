"""Best-first branch and bound: one queue of open nodes, and what is known of the whole."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Generic, TypeVar

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.exact._verifier import SolverLimits, SolverResult

Node = TypeVar("Node")


class BestFirst(Generic[Node]):
    """Open nodes of a search, those with the largest bounds first.

    What is special of a search is how it bounds, cuts and looks into its nodes: a function that is
    given some of them and pushes their parts. Each part of the domain is in an open node, in one
    that is being cut, or below `fathomed`.

    - `incumbent`: a difference that is attained.
    - `limits`: when to stop, and the relative gap that is narrow enough.
    - `rounding`: how far rounding may carry an output: no gap has to be narrower than that
      allows.
    - `most_open`: how many nodes may be open.

    - `incumbent`: the largest difference that is known to be attained.
    - `twins`: encoded values of a pair that attains it, if this search found it.
    - `fathomed`: the largest bound of what is not cut any further.
    - `n_boxes`: nodes bounded so far.
    """

    def __init__(
        self,
        incumbent: float,
        limits: SolverLimits,
        rounding: float = 0.0,
        most_open: int = 200_000,
    ) -> None:
        self.incumbent, self.limits, self.rounding = incumbent, limits, rounding
        self.twins: tuple[Floats, Floats] | None = None
        self.fathomed, self.n_boxes = -float("inf"), 0
        self._heap: list[tuple[float, int, Node]] = []
        self._number, self._most_open = itertools.count(), most_open
        #: The largest bound of the nodes that are being cut, and the seconds that each took.
        self._cutting, self._seconds = -float("inf"), 0.0

    @property
    def upper(self) -> float:
        """No difference is larger."""
        return max(self.incumbent, self.fathomed, self._cutting, self.top)

    @property
    def top(self) -> float:
        """The largest bound of an open node."""
        return -self._heap[0][0] if self._heap else -float("inf")

    @property
    def enough(self) -> float:
        """An upper bound that closes the gap."""
        rtol = self.limits.rtol
        narrow = self.incumbent / (1 - rtol) if rtol < 1 else float("inf")
        return max(narrow, self.incumbent + 2 * self.rounding)

    @property
    def is_spent(self) -> bool:
        """Whether no open node is worth cutting, or memory is full."""
        return not self._heap or -self._heap[0][0] <= self.enough or self.is_full

    @property
    def is_full(self) -> bool:
        """Whether the memory for open nodes is full."""
        return len(self._heap) > self._most_open

    @property
    def n_open(self) -> int:
        """Number of open nodes."""
        return len(self._heap)

    def improve(self, value: float, twins: tuple[Floats, Floats]) -> None:
        """Keep a pair that is attained, if none was farther apart."""
        if value > self.incumbent:
            self.incumbent, self.twins = value, twins
            self.note()

    def push(self, upper: float, node: Node) -> None:
        """Open a node, unless its bound is low enough."""
        if upper <= self.enough:
            self.fathom(upper)
        else:
            heapq.heappush(self._heap, (-upper, next(self._number), node))

    def fathom(self, upper: float) -> None:
        """Let the bound of a part stand that is not cut any further."""
        self.fathomed = max(self.fathomed, upper)

    def narrow(self, upper: float) -> None:
        """Tell a bound of the nodes that are being cut."""
        self._cutting = min(self._cutting, upper)

    def note(self) -> None:
        """Note the bounds of the whole."""
        self.limits.note(self.incumbent, self.upper, self.n_boxes, lambda: self.twins)

    def step(self, cut: Callable[[list[Node], list[float]], None], batch: int = 1) -> None:
        """Cut the nodes of the largest bounds, as many as half of the time left allows.

        - `cut`: pushes or fathoms the parts of nodes, given the nodes and their bounds.
        - `batch`: how many nodes are cut in one go at most.
        """
        began, nodes, uppers = _clock.now(), [], []
        n_in_time = (self.limits.deadline - began) / max(2 * self._seconds, 1e-9)
        while self._heap and -self._heap[0][0] > self.enough:
            least, _, node = heapq.heappop(self._heap)
            nodes.append(node)
            uppers.append(-least)
            if len(nodes) >= min(batch, max(1.0, n_in_time)):
                break
        if not nodes:
            return
        self._cutting = uppers[0]
        cut(nodes, uppers)
        self._cutting = -float("inf")
        self._seconds = (_clock.now() - began) / len(nodes)

    def run(self, cut: Callable[[list[Node], list[float]], None], batch: int = 1) -> SolverResult:
        """Cut nodes until the bounds agree, or for as long as time and memory allow."""
        self.note()
        while not self.is_spent and not self.limits.is_late:
            self.step(cut, batch)
            self.note()
        reason = "closed"
        if self.upper > self.enough:
            reason = "memory" if self.is_full else "boxes are as narrow as numbers allow"
            if not self.is_full and not self.is_spent:
                reason = "time"
        return self.result(reason)

    def result(self, reason: str) -> SolverResult:
        """Return what is known of the whole."""
        return SolverResult(self.incumbent, self.upper, self.twins, self.n_boxes, reason)
