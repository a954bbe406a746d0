"""Intervals that hold for all differences at once, from the likelihood, also for rare events."""

from __future__ import annotations

import numpy as np
from scipy import stats

from skfairtest._statistics import Sides
from skfairtest._typing import Bools, Floats
from skfairtest.group._inference.pivot import interval_at, signed_root


def critical_root(roots: Floats, *, confidence: float, correction: str, n_rules: int) -> float:
    """Return how far a signed root must be from 0 to show a difference.

    Bonferroni shares the error among all claims "the group gets less" and "the group gets more",
    Holm among those that were not refuted yet.

    References
    ----------
    .. [1] Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian
       Journal of Statistics 6, 65-70.
    """
    alpha = 1 - confidence
    n_open = 2 if correction == "none" else 2 * n_rules
    critical = float(stats.norm.isf(alpha / n_open))
    while correction == "holm":
        n_left = max(1, 2 * n_rules - int((np.abs(roots) > critical).sum()))
        if n_left == n_open:
            break
        n_open = n_left
        critical = float(stats.norm.isf(min(0.5, alpha / n_open)))
    return critical


def all_at_once(
    sides: Sides, *, confidence: float, correction: str, n_rules: int
) -> tuple[Floats, Floats, Bools]:
    """Compute intervals of the differences, and whether they exclude equality.

    Shares: the differences that the profile likelihood does not rule out; means: Welch's. Wilson's
    and other intervals from a normal approximation are too short for rare events in small groups
    where thousands of them are looked at, for then only the far tails matter. Where Holm refutes
    that a group gets less, say, 0 is all that it says about that end.

    Parameters
    ----------
    sides : Sides
        Those of the rules that are kept.
    confidence : float
        Of all intervals together, or of each for "none".
    correction : {"bonferroni", "holm", "none"}
        How the error is shared.
    n_rules : int
        Rules that were looked at.

    Returns
    -------
    low, high, differs : ndarray
        Arrays of shape (n_kept,).
    """
    nearer = half_a_case(sides, -1.0)
    roots = signed_root(nearer)
    critical = critical_root(roots, confidence=confidence, correction=correction, n_rules=n_rules)
    low, high = interval_at(nearer, critical)
    if sides.binary:  # the far ends are those of half a case more
        far_low, far_high = interval_at(half_a_case(sides, 1.0), critical)
        low, high = np.minimum(low, far_low), np.maximum(high, far_high)
    more, less = roots > critical, roots < -critical
    # The ends are searched for, up to a precision; where they are about 0, the roots decide.
    low, high = np.where(more, np.maximum(low, 0), low), np.where(less, np.minimum(high, 0), high)
    low = np.where(~(more | less), np.minimum(low, 0), low)
    high = np.where(~(more | less), np.maximum(high, 0), high)
    if correction == "holm":
        low, high = np.where(more, 0.0, low), np.where(less, 0.0, high)
    return low, high, more | less


def half_a_case(sides: Sides, way: float) -> Sides:
    """Move half a case from one side to the other in shares; means stay as they are.

    Cases are whole, and the likelihood is smooth: half a case nearer to equality (-1) makes the
    tails those of the exact test. Without it, groups with no case at all would be taken for more
    unusual than they are, up to ten times.
    """
    if not sides.binary:
        return sides
    with np.errstate(invalid="ignore", divide="ignore"):
        both = 1 / (1 / sides.n + 1 / sides.n_out)
        # Never beyond equality.
        cases = np.minimum(0.5, np.abs(sides.difference) * both) if way < 0 else 0.5
        cases = np.nan_to_num(np.sign(sides.difference) * cases * way)
        mean = np.clip(sides.mean + cases / sides.n, 0, 1)
        mean_out = np.clip(sides.mean_out - cases / sides.n_out, 0, 1)
    return sides._replace(mean=mean, mean_out=mean_out)
