"""Rows of data, or any inputs as they are, compared with their twins in batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.oracle._judgement import Judgement
from skfairtest.oracle._oracle import Oracle

#: Rows of twins that are judged in one go.
BATCH_ROWS = 65_536
#: With a deadline: rows of the first batch, which shows how long one takes, and the share of the
#: time left that a batch may take.
FIRST_BATCH = 1
BATCH_SHARE = 0.2
#: How many times as large the next batch may be, where that fits into the time left.
GROWTH = 4


def judge_rows(
    oracle: Oracle,
    Z: Floats,
    *,
    most: int | None = None,
    deadline: float = np.inf,
) -> Iterator[Judgement]:
    """Judge rows in their order, a batch at a time, all of them or until the deadline.

    Parameters
    ----------
    oracle : Oracle
        With ``clip=False``: rows count as they are.
    Z : ndarray of shape (n, n_attributes)
        Rows as codes.
    most : int, default=None
        Twins that a row is compared with at most; of more, each row has a draw of its own, the same
        for every model. None compares with all.
    deadline : float, default=infinity
        Reading of `_clock.now` at which no further batch begins. The first batch is always
        judged.

    Yields
    ------
    Judgement
        Of the next rows.

    Raises
    ------
    EstimatorFailedError
        If the estimator fails.
    """
    space = oracle.space
    rng = np.random.default_rng(0)
    draws = most is not None and space.twins_.n_twins > most
    n_compared = most if most is not None and draws else space.twins_.n_twins
    largest = size = max(1, BATCH_ROWS // n_compared)
    if np.isfinite(deadline):
        size = min(largest, FIRST_BATCH)
    start = 0
    while start < len(Z):
        began = _clock.now()
        if start and began >= deadline:
            return
        part, values = Z[start : start + size], None
        if draws:
            drawn = rng.integers(space.twins_.n_twins, size=(len(part), n_compared - 1))
            values = np.concatenate(
                [part[:, None, space.sensitive], space.twins_.twin_codes[drawn]], axis=1
            )
        yield oracle.disparity(part, values)
        start += len(part)
        now = _clock.now()
        if np.isfinite(deadline):
            took, left = max(now - began, 1e-6), deadline - now
            in_time = BATCH_SHARE * left * len(part) / took
            # A call may cost more than its rows: a batch grows as long as the next one fits in.
            if GROWTH * took <= left:
                in_time = max(in_time, GROWTH * len(part))
            size = int(min(largest, max(1, in_time)))
