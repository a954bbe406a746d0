"""The numbers of the transports that somebody may want to change."""

from __future__ import annotations

from typing import NamedTuple


class TransportSettings(NamedTuple):
    """How finely transports describe groups, and how much they compute for it.

    How near the maps come to the other group with these numbers, and how long they take, is
    measured by `examples/benchmarks/bench_transports.py`: docs/explanation/measured/moved_twins.md.

    Attributes
    ----------
    n_values : int
        Different values of a group that are kept of a column of numbers; of more, evenly spaced
        ranks.
    n_to_look_up : int
        Numbers from which on a table of their places pays for the time to make it.
    one_hot_categories : int
        Categories up to which a column is one-hot encoded for models and distances, and a
        classifier of it is learned.
    rows_to_learn : int
        Rows of a group from which a model of a column is learned; with fewer, ranks and shares
        alone are taken.
    ridge_penalties : tuple of float
        Penalties among which a ridge regression of a column chooses, of features in standard
        deviations.
    leaves_to_look : int
        Leaves of the trees that say whether a column needs boosting.
    rows_to_look : int
        Rows that these trees are shown, at most.
    features_to_look : int
        Features that they look at for each split, at most.
    rows_in_cell : int
        Rows that each group needs for equal values of the columns in `by`, to have ranks of its own
        there.
    n_parts : int
        Parts with equally many rows into which a column of numbers in `by` is cut.
    planned_categories : int
        Categories up to which a plan keeps the share of each for every row; with more, it keeps the
        commonest one.
    exact_steps : int
        Steps of the solver of exact plans, which needs some hundred thousand for 5,000 rows.
    entropic_steps : int
        Steps of the solver of entropic plans.
    entropic_error : float
        Deviation of the shares of all rows at which the entropic solver stops, as a share of their
        length.
    n_doublings : int
        How often the regularization is doubled where rows that lie far from all others have no
        entropic plan.
    n_nearest : int
        Nearest rows, a row itself among them, over which an exact plan is averaged, at most.
    """

    n_values: int = 4096
    n_to_look_up: int = 5_000
    one_hot_categories: int = 30
    rows_to_learn: int = 40
    ridge_penalties: tuple[float, ...] = (1.0, 10.0, 100.0, 1_000.0)
    leaves_to_look: int = 8
    rows_to_look: int = 4_000
    features_to_look: int = 16
    rows_in_cell: int = 20
    n_parts: int = 4
    planned_categories: int = 200
    exact_steps: int = 10_000_000
    entropic_steps: int = 2_000
    entropic_error: float = 1e-3
    n_doublings: int = 5
    n_nearest: int = 5


SETTINGS = TransportSettings()
