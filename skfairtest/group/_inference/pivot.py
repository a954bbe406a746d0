"""Differences of two sides as standard normal numbers, and the intervals that belong to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from skfairtest._statistics import Sides
from skfairtest._typing import Bools, Floats, Ints


class Simultaneous(NamedTuple):
    """Intervals of differences; arrays of shape (n_rules,).

    Attributes
    ----------
    low, high : ndarray
        Bounds of the intervals.
    differs : ndarray of bool
        Where equality is refuted.
    critical : float
        How far a signed root must be from 0 to show a difference, and how many standard errors the
        intervals reach, about.
    """

    low: Floats
    high: Floats
    differs: Bools
    critical: float


def known(sides: Sides) -> Bools:
    """Where both sides have a mean, and a variance if one is needed."""
    finite = np.isfinite(sides.difference) & (sides.n > 0) & (sides.n_out > 0)
    if sides.binary:
        return finite
    spread = sides.variance / sides.n + sides.variance_out / sides.n_out
    return finite & np.isfinite(spread) & (spread > 0)


def signed_root(sides: Sides) -> Floats:
    """How far each difference is from 0, as a number that is standard normal where it is 0.

    Shares: the signed root of the deviance (twice the logarithm of the likelihood ratio), whose
    tails stay close to the normal ones in small groups with rare events, where those of a
    difference divided by its error do not. It is finite for shares of 0 and 1. Means: Welch's t
    with moderated variances, brought to the normal scale by Wallace's formula, less its skewness
    by Hall's. 0 where a side is empty.

    Variances are moderated since few rows of a skewed outcome say little of them: a group in which
    the rare large value did not occur has a mean that is low and a variance that is far too small,
    so that Welch's t is enormous. The variance of a side counts as it is where it is larger than
    that of both sides together; else both are averaged, with the weight of as many rows for the
    latter as a variance takes to be known to within itself: the kurtosis less 1.

    References
    ----------
    .. [1] Wallace, D. L. (1959). Bounds on normal approximations to Student's and the chi-square
       distributions. Annals of Mathematical Statistics 30, 1121-1130.
    .. [2] Hall, P. (1992). On the removal of skewness by transformation. Journal of the Royal
       Statistical Society B 54, 221-228.
    .. [3] Smyth, G. K. (2004). Linear models and empirical Bayes methods for assessing differential
       expression in microarray experiments. Statistical Applications in Genetics and Molecular
       Biology 3(1). (Moderated variances.)
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if sides.binary:
            root = np.sign(sides.difference) * np.sqrt(_deviance(sides))
        else:
            root = _root_of_means(sides)
        return np.where(known(sides), root, 0.0)


def interval_at(sides: Sides, critical: float) -> tuple[Floats, Floats]:
    """The differences that lie at most `critical` away from what was observed.

    Shares: those whose signed root of the deviance is at most `critical`, found by false
    position. Means: those whose root is at most `critical`, in closed form. Nothing is known of
    empty sides: -1 to 1 for shares, minus to plus infinity for means.

    References
    ----------
    .. [1] Miettinen, O., & Nurminen, M. (1985). Comparative analysis of two rates. Statistics in
       Medicine 4, 213-226.
    """
    if not sides.binary:
        return _bounds_of_means(sides, critical)
    # So many rules at a time that their numbers stay in the processor's cache.
    size = 2**12
    slices = (slice(start, start + size) for start in range(0, max(len(sides.n), 1), size))
    bounds = [_deviance_bounds(chosen_sides(sides, here), critical) for here in slices]
    low, high = (np.concatenate(parts) for parts in zip(*bounds, strict=True))
    return low, high


def all_at_once(sides: Sides, *, confidence: float, n_rules: int = 1) -> Simultaneous:
    """Compute intervals of the differences, and whether they exclude equality.

    Shares: the differences that the profile likelihood does not rule out; means: Welch's. Wilson's
    and other intervals from a normal approximation are too short for rare events in small groups
    where thousands of them are looked at, for then only the far tails matter.

    Parameters
    ----------
    sides : Sides
        Those of the rules that are kept.
    confidence : float
        Of all intervals together.
    n_rules : int, default=1
        Rules that were looked at, by which Bonferroni divides the error; 1 for intervals that hold
        by themselves.
    """
    critical = float(stats.norm.isf((1 - confidence) / 2 / n_rules))
    nearer = half_a_case(sides, -1.0)
    roots = signed_root(nearer)
    low, high = interval_at(nearer, critical)
    if sides.binary:  # the far bounds are those of half a case more
        far_low, far_high = interval_at(half_a_case(sides, 1.0), critical)
        low, high = np.minimum(low, far_low), np.maximum(high, far_high)
    more, less = roots > critical, roots < -critical
    # The bounds are searched for, up to a precision; where they are about 0, the roots decide.
    low, high = np.where(more, np.maximum(low, 0), low), np.where(less, np.minimum(high, 0), high)
    low = np.where(~(more | less), np.minimum(low, 0), low)
    high = np.where(~(more | less), np.maximum(high, 0), high)
    return Simultaneous(low, high, more | less, critical)


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


def chosen_sides(sides: Sides, chosen: Ints | slice) -> Sides:
    """The sides of some of the rules."""
    return sides._replace(
        n=sides.n[chosen],
        mean=sides.mean[chosen],
        variance=sides.variance[chosen],
        n_out=sides.n_out[chosen],
        mean_out=sides.mean_out[chosen],
        variance_out=sides.variance_out[chosen],
    )


def _deviance(sides: Sides) -> Floats:
    """Twice the logarithm of the likelihood ratio of two shares against one share for both."""
    x, x_out = sides.n * sides.mean, sides.n_out * sides.mean_out
    n = sides.n + sides.n_out
    pooled = (x + x_out) / n
    return 2 * np.clip(
        _likelihood(sides.n, sides.mean, sides.mean)
        + _likelihood(sides.n_out, sides.mean_out, sides.mean_out)
        - special.xlogy(n * pooled, pooled)
        - special.xlog1py(n * (1 - pooled), -pooled),
        0,
        None,
    )


def _likelihood(n: Floats, share: Floats, guess: Floats) -> Floats:
    """Logarithm of the likelihood of `guess` where `share` of `n` was observed."""
    return special.xlogy(n * share, guess) + special.xlog1py(n * (1 - share), -guess)


def _deviance_bounds(sides: Sides, critical: float) -> tuple[Floats, Floats]:
    seen = known(sides)
    n, n_out = np.where(seen, sides.n, 1.0), np.where(seen, sides.n_out, 1.0)
    p, q = np.where(seen, sides.mean, 0.5), np.where(seen, sides.mean_out, 0.5)
    best = _likelihood(n, p, p) + _likelihood(n_out, q, q)

    def distance(difference: Floats) -> Floats:
        """The root of the deviance at a difference, less the critical one."""
        guess = np.clip(share_outside(n * p, n, n_out * q, n_out, difference), 0, 1)
        other = np.clip(guess + difference, 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = 2 * (best - _likelihood(n, p, other) - _likelihood(n_out, q, guess))
        return np.sqrt(np.where(left >= 0, left, np.where(np.isnan(left), np.inf, 0.0))) - critical

    bounds = [outermost(distance, p - q, end, critical) for end in (-1.0, 1.0)]
    return np.where(seen, bounds[0], -1.0), np.where(seen, bounds[1], 1.0)


def outermost(
    distance: Callable[[Floats], Floats], start: Floats, end: float, critical: float
) -> Floats:
    """Where between `start` and `end` the distance turns positive; `end` where it does not.

    The root of a deviance is nearly straight, so that false position (the Illinois method) takes a
    few steps.
    """
    inner, outer = start, np.full(len(start), end)
    f_inner, f_outer = np.full(len(start), -float(critical)), distance(outer)
    inner, f_inner = (
        np.where(f_outer <= 0, outer, inner),
        np.where(f_outer <= 0, f_outer, f_inner),
    )
    last = np.zeros(len(start))
    precision = 1e-8
    for _ in range(60):  # enough for this precision
        if not np.any((np.abs(outer - inner) > precision) & (f_outer > precision)):
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = inner - f_inner * (outer - inner) / (f_outer - f_inner)
        straight = np.isfinite(middle) & np.isfinite(f_outer)
        middle = np.where(straight, middle, (inner + outer) / 2)
        found = distance(middle)
        beyond = found >= 0
        # An end that stays twice is given half its weight, so that the other one moves as well.
        f_inner = np.where(beyond, np.where(last > 0, f_inner / 2, f_inner), found)
        f_outer = np.where(beyond, found, np.where(last < 0, f_outer / 2, f_outer))
        inner, outer = np.where(beyond, inner, middle), np.where(beyond, middle, outer)
        last = np.where(beyond, 1.0, -1.0)
    return outer


def share_outside(x: Floats, n: Floats, x_out: Floats, n_out: Floats, d: Floats) -> Floats:
    """The likeliest share outside where the one inside is larger by `d`.

    The likelihood is largest at a root of a cubic; Miettinen and Nurminen give it in closed form.
    """
    both, events = n + n_out, x + x_out
    second = (n + 2 * n_out) * d - both - events
    first = (n_out * d - both - 2 * x_out) * d + events
    constant = x_out * d * (1 - d)
    shift = second / (3 * both)
    q = shift**3 - first * second / (6 * both**2) + constant / (2 * both)
    p = np.sqrt(np.clip(shift**2 - first / (3 * both), 0, None))
    p = np.where(q < 0, -p, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p == 0, 0.0, q / p**3)
    angle = (np.pi + np.arccos(np.clip(ratio, -1, 1))) / 3
    return np.asarray(2 * p * np.cos(angle) - shift)


class _Scale(NamedTuple):
    """What a difference of means is measured by; nothing of it depends on the difference."""

    error: Floats
    freedom: Floats
    bend: Floats
    bias: Floats


def _scale(sides: Sides) -> _Scale:
    """Standard error with its degrees of freedom, and how skewed the ratio of both is."""
    skewness, kurtosis = sides.shape or (0.0, 1.0)  # a kurtosis of 1: variances are known
    n, n_out = sides.n, sides.n_out
    both = (n * sides.variance + n_out * sides.variance_out) / (n + n_out)
    used, own = _moderated(n, sides.variance, both, kurtosis)
    used_out, own_out = _moderated(n_out, sides.variance_out, both, kurtosis)
    first, second = used / n, used_out / n_out
    spread = first + second
    freedom = spread**2 / (first**2 / (n - 1) + second**2 / (n_out - 1))
    freedom = np.where(np.isfinite(freedom), np.maximum(freedom, 1), 1)
    # A mean is skewed; that its error is large where the mean is skews the ratio the other way,
    # three times as much, as far as the error is the side's own (Edgeworth's expansion).
    cubed = spread**1.5
    third, third_out = (
        skewness * used * np.sqrt(used) / (n**2 * cubed),
        skewness * used_out * np.sqrt(used_out) / (n_out**2 * cubed),
    )
    bend = ((3 * own - 1) * third - (3 * own_out - 1) * third_out) / 6
    return _Scale(np.sqrt(spread), freedom, bend, np.clip(third - third_out, -3, 3) / 6)


def _moderated(n: Floats, variance: Floats, both: Floats, kurtosis: float) -> tuple[Floats, Floats]:
    """A side's variance as it is used, and how much of it is the side's own."""
    own = n / (n + kurtosis - 1)
    average = own * variance + (1 - own) * both
    return np.maximum(variance, average), np.where(variance >= average, 1.0, own)


def _root_of_means(sides: Sides) -> Floats:
    error, freedom, bend, bias = _scale(sides)
    t = sides.difference / error
    scale = (8 * freedom + 1) / (8 * freedom + 3)
    z = np.sign(t) * scale * np.sqrt(freedom * np.log1p(t**2 / freedom))
    return np.asarray(z + bend * z**2 + bend**2 * z**3 / 3 + bias)


def _bounds_of_means(sides: Sides, critical: float) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error, freedom, bend, bias = _scale(sides)
        bounds = []
        for root in (critical, -critical):
            z = root - bias
            # Of hardly any skewness the root cannot be divided by it, and need not be corrected.
            straight = np.abs(bend) < 1e-8
            z = np.where(straight, z, (np.cbrt(1 + 3 * bend * z) - 1) / bend)
            scaled = z * (8 * freedom + 3) / (8 * freedom + 1)
            t = np.sign(z) * np.sqrt(freedom * np.expm1(scaled**2 / freedom))
            bounds.append(sides.difference - t * error)
    seen = known(sides)
    return np.where(seen, bounds[0], -np.inf), np.where(seen, bounds[1], np.inf)
