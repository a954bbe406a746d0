"""Summary of a column: its different values, and how often each occurs."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from skfairtest._typing import Ints


class ColumnSummary:
    """The different values of a column, and how often each occurs.

    Parameters
    ----------
    distinct : ndarray of shape (n,)
        Values that are not missing, each different one once: floats in their order, booleans or
        objects in that of their appearance.
    counts : ndarray of int of shape (n,)
        How often each occurs.
    any_missing : bool
        Whether others are missing.
    nan_is_missing : bool, default=False
        Whether an object column writes a missing value as NaN, not as None.
    has_no_steps : bool, default=False
        Whether it is known already that the numbers are in no steps.
    """

    def __init__(
        self,
        distinct: NDArray[Any],
        counts: Ints,
        *,
        any_missing: bool,
        nan_is_missing: bool = False,
        has_no_steps: bool = False,
    ) -> None:
        self.distinct = distinct
        self.any_missing = any_missing
        self.nan_is_missing = nan_is_missing
        self.has_no_steps = has_no_steps
        self.counts = counts

    @property
    def n_present(self) -> int:
        """Number of values that are not missing."""
        return int(self.counts.sum())
