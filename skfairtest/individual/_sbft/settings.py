"""The numbers of the tuned search that somebody may want to change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchSettings:
    """Sizes, shares and patience of the tuned search; with other numbers it is as valid.

    Attributes
    ----------
    first_rows, first_uniform : int
        Inputs with which the search begins: rows of the data, and uniform ones.
    next_rows, next_uniform : int
        The same of each subpopulation after the first.
    most_rows : int
        Rows of the data that are looked at, at most.
    first_members, most_members, member_growth : int
        Members of a population at the start and at most, and inputs after which there is one more:
        a small population gets further with few queries, a large one in the end.
    first_batch, batch_share, most_batch : int, float, int
        Children in a batch: so many at least, this share of the inputs of the run so far, and how
        many at most. Small batches get a little further with few queries (a share of 0.05 by 0.005
        of the degree), but take nearly twice the time: calls cost something apart from their rows.
    group, chosen_share, most_chosen : int, float, int
        The surrogate chooses one child of so many, so large a share of a batch, and at most so many
        children of it.
    learned_from, surrogate_inputs : int, int
        Inputs that the surrogate is fitted to at most, and those of the run after which it is no
        longer asked: it takes time, and then brings little.
    patience, patience_share, joined_share : int, float, float
        A subpopulation has stalled after so many queries without a better input, and this many
        times those that its best input took. One that joins others knows much, and is left after
        this share of the queries that it has had.
    """

    first_rows: int = 32
    first_uniform: int = 16
    next_rows: int = 48
    next_uniform: int = 24
    most_rows: int = 20_000
    first_members: int = 16
    most_members: int = 32
    member_growth: int = 25
    first_batch: int = 24
    batch_share: float = 0.2
    most_batch: int = 2000
    group: int = 16
    chosen_share: float = 0.75
    most_chosen: int = 64
    learned_from: int = 400
    surrogate_inputs: int = 1500
    patience: int = 300
    patience_share: float = 0.4
    joined_share: float = 0.4


DEFAULTS = SearchSettings()
