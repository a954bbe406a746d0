"""The ratio of each group's rate to the highest, with intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from skfairtest._statistics import ratio_interval
from skfairtest._typing import Bools, Floats
from skfairtest.group._inference.counting import Means


class Ratios(NamedTuple):
    """Ratios of each group's rate to the highest, with intervals; NaN where there is none.

    One group alone has none: it was compared with nothing.
    """

    value: Floats
    low: Floats
    high: Floats


def ratios_to_highest(rates: Means, compared: Bools, confidence: float) -> Ratios:
    """Divide each rate by the highest one among the groups that are compared.

    The interval is of the ratio to the group whose rate is highest in truth. The data may show
    another one as the highest, and the highest of many observed rates is likely to be one that
    chance raised. Both are allowed for: with p[1], ..., p[k] the true rates, the ratio of group i
    is the least of all p[i] / p[j].

    - Its lower bound is the least of the lower bounds of all p[i] / p[j]. The one of the highest
      group is among them, so this misses no more often than a single interval does.
    - Its upper bound is the least of their upper bounds, where any of the k - 1 may miss, so that
      each of them misses k - 1 times more seldom (Bonferroni).

    So the ratio of the group with the highest observed rate is 1, and its lower bound may be less.

    Parameters
    ----------
    rates : Means
        The groups' rates.
    compared : ndarray of bool of shape (n_groups,)
        Groups that have a ratio, and of which one is the highest.
    confidence : float
        Confidence of each interval by itself.
    """
    result = Ratios(*(np.full(len(compared), np.nan) for _ in range(3)))
    chosen = np.flatnonzero(compared)
    if len(chosen) < 2 or not rates.value[chosen].max() > 0:
        return result
    share, size = rates.value[chosen], rates.size[chosen]
    result.value[chosen] = share / share.max()
    alpha = (1 - confidence) / 2
    z_low, z_high = (float(stats.norm.isf(a)) for a in (alpha, alpha / (len(chosen) - 1)))
    # Two million pairs of groups at a time, to bound memory.
    step = max(1, 2_000_000 // len(chosen))
    for start in range(0, len(chosen), step):
        part = np.arange(start, min(len(chosen), start + step))
        first = share[part, None], size[part, None]
        low, _ = ratio_interval(*first, share, size, z_low)
        _, high = ratio_interval(*first, share, size, z_high)
        for bounds in (low, high):  # a group's ratio to itself is 1, whatever chance does
            bounds[np.arange(len(part)), part] = 1.0
        result.low[chosen[part]] = low.min(axis=1)
        result.high[chosen[part]] = high.min(axis=1)
    # The bounds of some other pair of groups must not exclude what was observed.
    np.fmin(result.low, result.value, out=result.low)
    np.fmax(result.high, result.value, out=result.high)
    return result
