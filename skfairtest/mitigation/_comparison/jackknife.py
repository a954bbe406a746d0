"""The difference of two scores over the same out-of-fold rows, and its jackknife interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.mitigation._retraining.guard import interval_of
from skfairtest.mitigation._shares import Measure


def deal(strata: Any, n_parts: int, rng: np.random.Generator) -> Ints:
    """Number of the part of each row; of each stratum nearly the same share in all parts."""
    number = np.empty(len(strata), dtype=np.intp)
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    number[order] = np.arange(len(strata)) % min(n_parts, len(strata))
    return number


class Jackknife(NamedTuple):
    """A score of all rows, and of all but each part in turn."""

    value: float
    without: Floats


def leave_out(score: Callable[[Ints], float], number: Ints) -> Jackknife:
    """The score of all rows, and of all but one part after another.

    Parameters
    ----------
    score : callable
        Called with row numbers.
    number : ndarray of shape (n_rows,)
        The part of each row, as `deal` gives it.
    """
    rows = np.arange(len(number))
    parts = [score(rows[number != part]) for part in range(int(number.max()) + 1)]
    return Jackknife(score(rows), np.array(parts))


def paired_difference(
    own: Jackknife, original: Jackknife, confidence: float, n_rows: int | None = None,
    spread: float = 0.0,
) -> Measure:  # fmt: skip
    """One score less another with its interval, the guard's of `FairnessRetrainer`.

    Any score will do, also one that is no mean over rows, such as AUC; `n_rows` are given where it
    counts rows that are right. With a `spread` between trainings the interval is about a single
    one, and without it about the mean of those that the folds had.
    """
    apart = own.without - original.without
    if len(apart) < 3 or not np.isfinite(spread):
        return Measure(own.value - original.value, np.nan, np.nan)
    change = interval_of(
        own.value - original.value, apart, confidence=confidence, n_rows=n_rows, spread=spread
    )
    return Measure(*change[:3])
