"""Intervals for a difference of two shares or means, alone or for many rules at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skfairtest._typing import Floats, Ints

CORRECTIONS = ("bonferroni", "none")
#: Differences in the last digits are none.
ROUNDING = 1e-9


class Shape(NamedTuple):
    """Skewness and kurtosis of an outcome over all rows; 0 and 3 for normal numbers."""

    skewness: float
    kurtosis: float


class Sides(NamedTuple):
    """What was observed inside and outside of each rule; arrays of shape (n_rules,).

    The variances are those of single predictions; `binary` says that predictions are 0 or 1.
    `shape` is that of means; None where it is not known, and means are taken to be normal.
    """

    n: Floats
    mean: Floats
    variance: Floats
    n_out: Floats
    mean_out: Floats
    variance_out: Floats
    binary: bool
    shape: Shape | None = None

    @property
    def difference(self) -> Floats:
        """Inside minus outside."""
        return self.mean - self.mean_out


def moments(sums: Floats, binary: bool) -> tuple[Floats, Floats, Floats]:
    """Effective size, mean and variance of rows from sums over them.

    Parameters
    ----------
    sums : ndarray of shape (4, n_groups)
        Sums of the weights, of weighted values, of weighted squares of these and of squared
        weights. Without weights the first and the last are the numbers of rows.
    binary : bool
        Whether the values are 0 or 1; their squares are not looked at then.

    Returns
    -------
    n, mean, variance : ndarray
        How many rows the mean is as good as; 0, NaN and NaN where there is no weight. The variance
        is that of single rows of the population.

    References
    ----------
    .. [1] Kish, L. (1965). Survey Sampling. Wiley. (Effective sample size: the squared sum of the
       weights over the sum of their squares.)
    """
    weight, total, squares, squared = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        # The rest of a difference of sums is no weight.
        held = weight > ROUNDING * np.abs(weight).max(initial=0.0)
        n = np.where(held, weight**2 / squared, 0.0)
        mean = np.where(held, total / weight, np.nan)
        if binary:
            mean = np.clip(mean, 0, 1)
            return n, mean, mean * (1 - mean)
        return n, mean, np.clip(squares / weight - mean**2, 0, None) * n / (n - 1)


def clopper_pearson(count: Any, n: Any, alpha: float) -> tuple[Floats, Floats]:
    """The shares that `count` of `n` does not rule out at level `alpha`.

    Exact for independent draws, and wider than need be for draws without replacement. At 0 and at n
    it has a width, other than the textbook's normal interval.
    """
    count, n = np.asarray(count, dtype=float), np.asarray(n, dtype=float)
    with np.errstate(invalid="ignore"):
        low = np.where(count > 0, stats.beta.ppf(alpha / 2, count, n - count + 1), 0.0)
        high = np.where(count < n, stats.beta.ppf(1 - alpha / 2, count + 1, n - count), 1.0)
    return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)


def wilson_interval(count: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's interval of the share `count` of `n`, as two floats; of weights in place of rows."""
    z = float(stats.norm.isf((1 - confidence) / 2))
    low, high = wilson(np.array(count / max(n, 1)), np.array(float(n)), z)
    return float(low), float(high)


def effective_rows(values: Any, rows: Ints, confidence: float) -> float:
    """How many independent values tell as much of the mean as these, of which some share a row.

    Found from how much the sums of rows vary, less what few rows leave to chance, and never more
    than the rows: values of one row go together also where a small sample does not show it.

    References
    ----------
    .. [1] Korn, E. L., & Graubard, B. I. (1998). Confidence intervals for proportions with small
       expected number of positive counts estimated from survey data. Survey Methodology 24(2).
    """
    values = np.asarray(values, dtype=np.float64)
    of_rows = np.unique(rows, return_inverse=True)[1]
    n_rows, n = int(of_rows.max(initial=-1)) + 1, len(values)
    around = values - values.mean()
    sums = np.bincount(of_rows, around, n_rows)
    spread, error = float(np.mean(around**2)), 0.0
    if n_rows > 1:
        error = float((sums**2).sum()) / n**2 * n_rows / (n_rows - 1)
    most = float(n_rows)
    size = min(most, spread / error) if error > 0 else most
    if n_rows > 1 and spread > 0:
        alpha = (1 - confidence) / 2
        size *= float(stats.norm.isf(alpha) / stats.t.isf(alpha, n_rows - 1)) ** 2
    return size


def share_of_rows(found: Any, rows: Ints, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share of inputs that are made of rows."""
    size, share = effective_rows(found, rows, confidence), float(np.mean(found))
    low, high = clopper_pearson(share * size, size, 1 - confidence)
    return min(float(low), share), max(float(high), share)


def wilson(share: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a share; from 0 to 1 where nothing was observed.

    References
    ----------
    .. [1] Wilson, E. B. (1927). Probable inference, the law of succession, and statistical
       inference. JASA 22, 209-212.
    """
    share = np.where(n > 0, share, 0.5)
    middle = (share * n + z**2 / 2) / (n + z**2)
    half = z * np.sqrt(share * (1 - share) * n + z**2 / 4) / (n + z**2)
    # At 0 and 1 the bounds are exact; rounding must not push them past the share itself.
    return np.minimum(np.clip(middle - half, 0, 1), share), np.maximum(
        np.clip(middle + half, 0, 1), share
    )


def score_interval(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Interval of the absolute difference from that of the difference."""
    across = (low <= 0) & (high >= 0)
    largest = np.maximum(np.abs(low), np.abs(high))
    return np.where(across, 0.0, np.minimum(np.abs(low), np.abs(high))), largest


def n_needed(smallest: float, *, n_side: int, error: float, alpha: float) -> int:
    """Rows of one shared pool that give every rule its rows and its error.

    The smaller side of any rule that counts holds at least the share `smallest` of the rows. Shares
    are taken to be one half, where the error is largest, so the predictions of the model play no
    part: the pool is not stopped when it looks good.
    """
    z = float(stats.norm.isf(alpha / 2))
    per_row = np.array([1 / smallest, 1 / (1 - smallest)])
    spread = np.sqrt(per_row.sum())
    n = max((z * 0.5 * spread / error) ** 2, n_side / smallest)
    # Rows are drawn by chance: three and a half standard deviations more, so that they suffice.
    least = n * smallest
    return int(np.ceil((least + 3.5 * np.sqrt(least * (1 - smallest))) / smallest))


def ratio_interval(
    share: Floats, n: Floats, other: Floats, n_other: Floats, z: float
) -> tuple[Floats, Floats]:
    """Interval of a ratio of two independent shares: MOVER-R from two Wilson intervals.

    Closed, and of use at 0 and 1 as well, where the interval on the logarithms (Katz) has no width.
    The upper bound is infinite where the second share may be 0.

    References
    ----------
    .. [1] Donner, A., & Zou, G. Y. (2012). Closed-form confidence intervals for functions of the
       normal mean and standard deviation. Statistical Methods in Medical Research 21, 347-359.
    .. [2] Newcombe, R. G. (2016). MOVER-R confidence intervals for ratios and products of two
       independently estimated quantities. Statistical Methods in Medical Research 25, 1774-1778.
    """
    low, high = wilson(share, n, z)
    low_other, high_other = wilson(other, n_other, z)
    product = share * other
    with np.errstate(invalid="ignore", divide="ignore"):
        # The roots of a quadratic; the smaller one in the form that loses no digits.
        top = low * (2 * share - low)
        root = np.sqrt(np.maximum(product**2 - top * high_other * (2 * other - high_other), 0))
        least = np.where(top > 0, top / (product + root), 0.0)
        bottom = low_other * (2 * other - low_other)
        root = np.sqrt(np.maximum(product**2 - bottom * high * (2 * share - high), 0))
        most = np.where(bottom > 0, (product + root) / bottom, np.inf)
    return least, most


def rounded_up(value: float) -> float:
    """Return a number of two digits that is no less than the value."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(np.ceil(value / unit - 1e-9) * unit)
