"""Intervals of differences that others use, which those of the package are held against."""

from __future__ import annotations

import numpy as np
from scipy import stats

from skfairtest._statistics import Sides, paper_error, wilson
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
    sides: Sides, *, confidence: float, kind: str, correction: str, n_rules: int
) -> tuple[Floats, Floats, Bools]:
    """Intervals of the differences that all hold at once, and whether they refute equality.

    Bonferroni shares the error among the `n_rules` rule sets that were searched. Holm shares it
    among the claims "the group gets less" and "the group gets more" that were not refuted yet, so
    that it refutes more; where it refutes one of them, that is all it says about that end, which is
    0. "none" gives each interval the confidence by itself.

    References
    ----------
    .. [1] Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian
       Journal of Statistics 6, 65-70.
    .. [2] Strassburger, K., & Bretz, F. (2008). Compatible simultaneous lower confidence bounds for
       the Holm procedure and other Bonferroni-based closed tests. Statistics in Medicine 27,
       4914-4927.
    """
    alpha = 1 - confidence
    n_open = 2 if correction == "none" else 2 * n_rules
    low, high = difference_interval(sides, 2 * alpha / n_open, kind)
    if correction != "holm":
        return low, high, (low > 0) | (high < 0)
    while True:
        more, less = low > 0, high < 0
        n_left = 2 * n_rules - int(more.sum() + less.sum())
        if n_left == n_open:
            break
        n_open = n_left
        # What was refuted stays refuted: the bounds only move inward.
        low, high = difference_interval(sides, min(1.0, 2 * alpha / n_open), kind)
    return np.where(more, 0.0, low), np.where(less, 0.0, high), more | less
