"""An island: elites and climbers that have nothing to do with those of other islands."""

from __future__ import annotations

from skfairtest.individual._sbft.climber import TINY, Climber
from skfairtest.individual._sbft.elites import Elites

#: An island has stalled after so many queries without a better input, and this many times those
#: that its best input took. Islands in which others are crossed know much, and end sooner.
PATIENCE = 2500
#: At least so many queries for each climber: a few rounds of the whole crew.
PATIENCE_OF_CLIMBER = 430
PATIENCE_SHARE, CROSSING_SHARE = 0.4, 0.3


class Island:
    """Elites that come from rows of the data, or from the elites of other islands.

    Attributes
    ----------
    elites : Elites
        Where climbs ended.
    climbers : list of Climber
        Who is under way.
    began, best_at : int
        Queries at its start, and when its best input was found.
    crosses : bool
        Whether it began with elites of other islands.
    """

    def __init__(self, elites: Elites, n_queries: int, *, crosses: bool) -> None:
        self.elites = elites
        self.climbers: list[Climber] = []
        self.began = self.best_at = n_queries
        self.best = elites.best
        self.crosses = crosses

    def note(self, fitness: float, n_queries: int) -> None:
        """Remember when the best input was found."""
        if fitness > self.best * (1 + TINY):
            self.best, self.best_at = fitness, n_queries

    def has_stalled(self, n_queries: int, crew: int) -> bool:
        """Whether it is time to leave it, with so many climbers."""
        share = CROSSING_SHARE if self.crosses else PATIENCE_SHARE
        spent = n_queries - self.began if self.crosses else self.best_at - self.began
        patience = max(PATIENCE, PATIENCE_OF_CLIMBER * crew)
        return n_queries - self.best_at > patience + share * spent
