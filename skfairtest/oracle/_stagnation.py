"""Find out whether a run still finds anything new."""

from __future__ import annotations

from skfairtest.oracle._budget import SubBudget
from skfairtest.oracle._stop import StopReason, StopSearch

#: Batches in a row, and inputs in them, that brought nothing new before a run counts as stalled.
STALL = 200
STALL_INPUTS = 10_000
#: Inputs that a batch counts for in which nothing could be asked: as many as let a run of such
#: batches stall.
NOTHING_ASKED = STALL_INPUTS // STALL


class Stagnation:
    """Counts batches without a new input, a new discriminatory input or a larger degree.

    Attributes
    ----------
    n_batches, n_inputs : int
        Such batches in a row, and the inputs in them.
    """

    def __init__(self) -> None:
        self.n_batches = self.n_inputs = 0

    def count(self, n: int, *, news: bool) -> None:
        """Count a batch of n inputs; it found something new or not."""
        self.n_batches = 0 if news else self.n_batches + 1
        self.n_inputs = 0 if news else self.n_inputs + n

    def go_back(self, before: tuple[int, int], *, stalled_parts: int = 0) -> None:
        """Forget what a part of the run has found, but remember that it stalled."""
        # A run has stalled when ten parts of it in a row have.
        self.n_batches = before[0] + stalled_parts * STALL // 10
        self.n_inputs = before[1]

    def check(self, *, all_seen: bool, n_twins: float = 0, part: SubBudget | None = None) -> None:
        """End a run, or a part of it, that finds nothing new any more.

        Parameters
        ----------
        all_seen : bool
            Whether every input of the domain was judged.
        n_twins : float, default=0
            Twins of all inputs of the domain together, where a batch compares two of an input; 0
            where it compares all.
        part : SubBudget, default=None
            The part of the run that stalls; the whole run without one.

        Raises
        ------
        StopSearch
            "exhausted" or "stalled".
        """
        # On average each twin of each input was compared four times without anything new.
        enough = 2 * self.n_inputs >= 4 * n_twins
        if self.n_batches >= 20 and all_seen and enough:
            raise StopSearch(StopReason.EXHAUSTED)
        if self.n_batches >= STALL and self.n_inputs >= STALL_INPUTS:
            raise StopSearch(
                StopReason.STALLED, owner=part, batches=self.n_batches, inputs=self.n_inputs
            )
