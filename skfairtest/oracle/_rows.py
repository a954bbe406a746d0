"""Rows of data, or any inputs as they are, compared with their twins in batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.oracle._budget import Budget
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement

#: Rows of twins that are judged in one go.
BATCH_ROWS = 65_536


def judge_rows(
    search: SearchHandle,
    Z: Floats,
    *,
    most: int | None = None,
    budget: Budget | None = None,
) -> Iterator[Judgement]:
    """Judge rows in their order, a batch at a time, all of them or until the time is over.

    Parameters
    ----------
    search : SearchHandle
        With ``clip=False``: rows count as they are.
    Z : ndarray of shape (n, n_attributes)
        Rows as codes.
    most : int, default=None
        Twins that a row is compared with at most; of more, each row has a draw of its own, the same
        for every model. None compares with all.
    budget : Budget, default=None
        Says how many queries fit into the time left, and learns how long they took. The first batch
        is always judged. None sets no limit.

    Yields
    ------
    Judgement
        Of the next rows.

    Raises
    ------
    EstimatorFailedError
        If the estimator fails.
    """
    space = search.space
    rng = np.random.default_rng(0)
    draws = most is not None and space.twins_.n_twins > most
    n_compared = most if most is not None and draws else space.twins_.n_twins
    largest = max(1, BATCH_ROWS // n_compared)
    budget = Budget() if budget is None else budget
    start = 0
    while start < len(Z) and not (start and budget.seconds_left <= 0):
        size = int(min(largest, max(1, budget.queries_in_time(unknown=1) / n_compared)))
        part, values = Z[start : start + size], None
        if draws:
            drawn = rng.integers(space.twins_.n_twins, size=(len(part), n_compared - 1))
            values = np.concatenate(
                [part[:, None, space.sensitive], space.twins_.twin_codes[drawn]], axis=1
            )
        began, before = _clock.now(), search.so_far.queries
        judged = search.evaluate(part, values)
        budget.took(search.so_far.queries - before, _clock.now() - began)
        yield judged
        start += len(part)
