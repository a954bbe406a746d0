"""Intervals of differences that others use, which those of the package are held against."""

from __future__ import annotations

import numpy as np
from scipy import stats

from skfairtest._statistics import Sides, wilson
from skfairtest._typing import Bools, Floats


def difference_interval(sides: Sides, alpha: float, kind: str) -> tuple[Floats, Floats]:
    """Interval of the difference, missing with probability `alpha`, half of it at each end.

    Shares: Newcombe's hybrid score interval, the sum of two Wilson intervals, or the paper's.
    Means: Welch's, or the paper's.

    References
    ----------
    .. [1] Newcombe, R. G. (1998). Interval estimation for the difference between independent
       proportions: comparison of eleven methods. Statistics in Medicine 17, 873-890.
    .. [2] Welch, B. L. (1947). The generalization of "Student's" problem when several different
       population variances are involved. Biometrika 34, 28-35.
    """
    z = float(stats.norm.isf(alpha / 2))
    d = sides.difference
    if kind == "paper":
        error = paper_error(sides, z)
        return d - error, d + error
    if not sides.binary:
        return _welch(sides, alpha)
    low, high = wilson(sides.mean, sides.n, z)
    low_out, high_out = wilson(sides.mean_out, sides.n_out, z)
    if kind == "wilson":
        return low - high_out, high - low_out
    below = np.hypot(sides.mean - low, high_out - sides.mean_out)
    above = np.hypot(high - sides.mean, sides.mean_out - low_out)
    observed = np.isfinite(d)  # with nothing on one side, nothing is known
    return (
        np.where(observed, np.maximum(d - below, -1), -1.0),
        np.where(observed, np.minimum(d + above, 1), 1.0),
    )


def paper_error(sides: Sides, z: float) -> Floats:
    """The paper's error: the errors of the two sides, added up."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return z * (np.sqrt(sides.variance / sides.n) + np.sqrt(sides.variance_out / sides.n_out))


def _welch(sides: Sides, alpha: float) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = sides.variance / sides.n, sides.variance_out / sides.n_out
        spread = first + second
        freedom = spread**2 / (first**2 / (sides.n - 1) + second**2 / (sides.n_out - 1))
    freedom = np.where(np.isfinite(freedom), np.maximum(freedom, 1), 1)
    error = stats.t.isf(alpha / 2, freedom) * np.sqrt(spread)
    error = np.where(np.isfinite(error), error, np.inf)
    d = np.where(np.isfinite(sides.difference), sides.difference, 0.0)
    return d - error, d + error


def simultaneous(
    sides: Sides, *, confidence: float, kind: str, n_rules: int = 1
) -> tuple[Floats, Floats, Bools]:
    """Bonferroni's intervals of the differences, and whether they refute equality."""
    low, high = difference_interval(sides, (1 - confidence) / n_rules, kind)
    return low, high, (low > 0) | (high < 0)
