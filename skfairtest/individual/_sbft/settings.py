"""The numbers of the tuned search that somebody may want to change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchSettings:
    """Sizes, shares and patience of the tuned search; with other numbers it is as valid.

    Attributes
    ----------
    design_rows, design_uniform : int
        Inputs with which the initial design begins: rows of the data, and uniform ones.
    design_batch, design_share, design_most : int, float, int
        Children in a batch of the initial design: so many at least, and so large a share of what is
        known; and how many at most where a call of the model takes long.
    design_group, design_learned : int
        Children of which the model of the difference chooses one, and the inputs that it learns
        from. After these it is no longer asked, as it brought nothing and took time.
    design_parents : int
        Best inputs that children of the initial design come from.
    design_inputs, design_stall, design_stall_share : int, int, float
        Inputs after which the initial design ends; and how many, and what share of them, may pass
        without a better one.
    most_rows, rows_at_once, row_share : int, int, float
        Rows of the data that are looked at, at most, and in one go; their share of the queries.
    best_rows : int
        Rows that are kept to start from.
    row_front : float
        The larger, the likelier the search starts from the best of these rows.
    first_members, most_members, member_growth : int
        Members of a population at the start and at most, and queries after which there is one more:
        a small population gets further with few queries, a large one in the end.
    first_batch, most_batch, batch_doubles_at : int
        Queries of a batch at the start and at most, and queries of the run when a batch has twice
        as many as at the start. It grows with the square of the run's length: small batches get
        further with few queries, and in a long run what a call costs apart from its rows counts
        less and less.
    n_changed : tuple of float
        Chances that a child has one, two, three and more changed columns.
    patience, patience_share, joined_share : int, float, float
        A subpopulation has stalled after so many queries for each member without a better input,
        and this many times those that its best input took. One that joins others knows much, and
        ends sooner.
    """

    design_rows: int = 32
    design_uniform: int = 16
    design_batch: int = 24
    design_share: float = 0.1
    design_most: int = 96
    design_group: int = 16
    design_learned: int = 200
    design_parents: int = 16
    design_inputs: int = 600
    design_stall: int = 100
    design_stall_share: float = 0.4
    most_rows: int = 20_000
    rows_at_once: int = 150
    row_share: float = 0.1
    best_rows: int = 200
    row_front: float = 4.0
    first_members: int = 4
    most_members: int = 24
    member_growth: int = 4000
    first_batch: int = 80
    most_batch: int = 4000
    batch_doubles_at: int = 9000
    n_changed: tuple[float, ...] = (0.4, 0.3, 0.2, 0.05, 0.05)
    patience: int = 300
    patience_share: float = 0.4
    joined_share: float = 0.3


DEFAULTS = SearchSettings()
