"""The difference of two scores over the same out-of-fold rows, and its interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from skfairtest._typing import Ints
from skfairtest.mitigation._shares import Measure

#: Parts that are left out in turn.
N_PARTS = 30

Score = Callable[[Any], float]


def deal(strata: Any, rng: np.random.Generator) -> Ints:
    """Number of the part of each row; of each stratum nearly the same share in all parts."""
    number = np.empty(len(strata), dtype=np.intp)
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    number[order] = np.arange(len(strata)) % min(N_PARTS, len(strata))
    return number


def paired_difference(score: Score, original: Score, number: Ints, confidence: float) -> Measure:
    """Score less the original's, by a jackknife that leaves out one part of the rows after another.

    Any score will do, also one that is no mean over rows, such as AUC. The interval is about which
    rows there are; the models of the folds are taken as they are.

    References
    ----------
    .. [1] Kott, P. S. (2001). The delete-a-group jackknife. Journal of Official Statistics, 17(4),
       521-526.
    """
    rows = np.arange(len(number))
    value = score(rows) - original(rows)
    n_parts = int(number.max()) + 1
    if n_parts < 3:
        return Measure(value, np.nan, np.nan)
    left = [rows[number != part] for part in range(n_parts)]
    apart = np.array([score(rest) - original(rest) for rest in left])
    error = np.sqrt((n_parts - 1) / n_parts * ((apart - value) ** 2).sum())
    error *= stats.t.isf((1 - confidence) / 2, n_parts - 1)
    return Measure(value, value - error, value + error)
