"""What a description of a column needs to know of its values: the different ones, and how often."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints


class Seen:
    """The values of a column.

    Parameters
    ----------
    present : ndarray of shape (n,)
        Values that are not missing: floats, booleans or objects. All of them or, with `counts`,
        each different one once; numbers in their order then, others in that of their appearance.
    any_missing : bool
        Whether others are missing.
    nan_is_missing : bool
        Whether an object column writes a missing value as NaN, not as None.
    counts : ndarray of int of shape (n,), default=None
        How often each occurs.
    has_no_scale : bool, default=False
        Whether it is known already that the numbers are in no steps.
    """

    def __init__(
        self,
        present: NDArray[Any],
        *,
        any_missing: bool,
        nan_is_missing: bool,
        counts: Ints | None = None,
        has_no_scale: bool = False,
    ) -> None:
        self.present = present
        self.any_missing = any_missing
        self.nan_is_missing = nan_is_missing
        self.has_no_scale = has_no_scale
        self._counts = counts

    @property
    def n_present(self) -> int:
        """How many values are not missing."""
        return len(self.present) if self._counts is None else int(self._counts.sum())

    @cached_property
    def _unique(self) -> tuple[Floats, Ints]:
        if self._counts is not None:
            return self.present, self._counts
        different, counts = np.unique(self.present, return_counts=True)
        return different, counts

    @property
    def distinct(self) -> Floats:
        """The different numbers in their order."""
        return self._unique[0]

    @property
    def counts(self) -> Ints:
        """How often each of `distinct` occurs."""
        return self._unique[1]


def look(values: NDArray[Any]) -> Seen:
    """What there is to see in a column in memory."""
    gone = np.asarray(pd.isna(values), dtype=bool)
    first = values[gone][:1] if values.dtype.kind == "O" else ()
    return Seen(
        values[~gone],
        any_missing=bool(gone.any()),
        nan_is_missing=any(isinstance(value, float) for value in first),
    )
