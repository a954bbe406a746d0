"""Groups compared within strata: pooled ratios and differences, homogeneity, and a decomposition.

Estimates are Mantel and Haenszel's. Their intervals invert Miettinen and Nurminen's score test with
the same weights: those of Greenland and Robins (of the ratio) and Sato (of the difference) cover
far less than they promise where a group has a few rows in each stratum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from skfairtest._statistics import Sides
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._inference.counting import Means
from skfairtest.group._inference.pivot import outermost, share_outside

#: Pairs of groups in strata that are compared at a time, to bound memory.
MOST_CELLS = 2_000_000


class Cells(NamedTuple):
    """Pairs of groups in the strata that have rows of both; arrays of shape (n_cells,).

    Attributes
    ----------
    place : ndarray of int
        To which pair each belongs.
    n_pairs : int
        How many pairs there are.
    weight : ndarray
        Mantel and Haenszel's weight of the stratum: the product of both groups' rows, over their
        sum. Of weighted rows it is the sums of their weights that count.
    sides : Sides
        What was observed of the first group of the pair, and of the second.
    """

    place: Ints
    n_pairs: int
    weight: Floats
    sides: Sides

    def total(self, values: Floats) -> Floats:
        """Sum over the strata of each pair."""
        return np.bincount(self.place, values, self.n_pairs).astype(np.float64, copy=False)


class Pooled(NamedTuple):
    """A pooled figure of each pair, with the bounds of its interval; arrays of shape (n_pairs,).

    `homogeneity` is the p-value of the hypothesis that it is the same in all strata. NaN where
    nothing is known.
    """

    value: Floats
    low: Floats
    high: Floats
    homogeneity: Floats


def pairs_in_strata(
    means: Means, weight: Floats, first: Ints, second: Ints, *, binary: bool
) -> Cells:
    """Pairs of groups in strata.

    Parameters
    ----------
    means : Means
        Of arrays of shape (n_strata, n_groups).
    weight : ndarray of shape (n_strata, n_groups)
        Sums of the weights of the rows that count.
    first, second : ndarray of int of shape (n_pairs,)
        The groups of each pair.
    binary : bool
        Whether the means are shares.
    """
    held = (means.size[:, first] > 0) & (means.size[:, second] > 0)
    stratum, place = np.nonzero(held)
    one, other = (stratum, first[place]), (stratum, second[place])
    inside, outside = ((means.size[at], means.value[at], means.variance[at]) for at in (one, other))
    sides = Sides(*inside, *outside, binary)
    product = weight[one] * weight[other]
    return Cells(place, len(first), product / (weight[one] + weight[other]), sides)


def pooled_ratio(cells: Cells, confidence: float) -> Pooled:
    """Mantel and Haenszel's ratio of the shares of each pair, with a score interval.

    References
    ----------
    .. [1] Greenland, S., & Robins, J. M. (1985). Estimation of a common effect parameter from
       sparse follow-up data. Biometrics 41, 55-68. (The estimate.)
    .. [2] Miettinen, O., & Nurminen, M. (1985). Comparative analysis of two rates. Statistics in
       Medicine 4, 213-226. (The interval, also of several strata.)
    .. [3] Gart, J. J., & Nam, J. (1988). Approximate interval estimation of the ratio of binomial
       parameters: a review and corrections for skewness. Biometrics 44, 323-338.
    """
    sides = cells.sides
    top, bottom = cells.total(cells.weight * sides.mean), cells.total(cells.weight * sides.mean_out)
    with np.errstate(invalid="ignore", divide="ignore"):
        # A ratio r is looked for as r / (1 + r), which is finite.
        part = top / (top + bottom)
        low, high, p = _by_score(cells, _ratio_score, part, (0.0, 1.0), confidence)
        ratio, low, high = (np.where(end < 1, end / (1 - end), np.inf) for end in (part, low, high))
    return _where(top + bottom > 0, ratio, low, high, p)


def pooled_difference(cells: Cells, confidence: float) -> Pooled:
    """Mantel and Haenszel's difference of each pair: of shares with a score interval.

    That of means has Student's, with the degrees of freedom of Welch and Satterthwaite; the
    variance of a group that has one row in a stratum is taken to be that of the other strata.

    References
    ----------
    .. [1] Greenland, S., & Robins, J. M. (1985). Estimation of a common effect parameter from
       sparse follow-up data. Biometrics 41, 55-68. (The estimate.)
    .. [2] Gart, J. J., & Nam, J. (1990). Approximate interval estimation of the difference in
       binomial parameters: correction for skewness and extension to multiple tables. Biometrics
       46, 637-643.
    .. [3] Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance
       components. Biometrics Bulletin 2, 110-114.
    """
    weight = cells.total(cells.weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = cells.total(cells.weight * cells.sides.difference) / weight
        if cells.sides.binary:
            bounds = _by_score(cells, _difference_score, value, (-1.0, 1.0), confidence)
        else:
            variance, freedom = _variance_within(cells)
            half = _error_of_means(cells, variance, confidence) / weight
            p = _same_means(cells, value, variance, freedom)
            bounds = value - half, value + half, p
    return _where(weight > 0, value, *bounds)


def _where(known: Bools, *columns: Floats) -> Pooled:
    return Pooled(*(np.where(known, column, np.nan) for column in columns))


# Scores ------------------------------------------------------------------------------------------


class _Score(NamedTuple):
    """How far the strata are from a hypothesis, the variance of that, and its slope."""

    value: Floats
    variance: Floats
    slope: Floats


Score = Callable[[Sides, Floats], _Score]


def _ratio_score(sides: Sides, part: Floats) -> _Score:
    """Of the ratio part / (1 - part); the likeliest shares solve a quadratic equation."""
    n, share, _, n_out, share_out, *_ = sides
    rest, both, events = 1 - part, n + n_out, n * share + n_out * share_out
    middle = (n + n_out * share_out) * part + (n_out + n * share) * rest
    root = np.sqrt(np.maximum(middle**2 - 4 * both * part * events * rest, 0))
    scaled = 2 * events / (middle + root)
    likely, likely_out = np.clip(scaled * part, 0, 1), np.clip(scaled * rest, 0, 1)
    variance = rest**2 * likely * (1 - likely) / n + part**2 * likely_out * (1 - likely_out) / n_out
    return _Score(rest * share - part * share_out, variance * both / (both - 1), scaled)


def _difference_score(sides: Sides, difference: Floats) -> _Score:
    """Of a difference of shares; the likeliest shares solve a cubic equation."""
    n, share, _, n_out, share_out, *_ = sides
    outside = np.clip(share_outside(n * share, n, n_out * share_out, n_out, difference), 0, 1)
    inside, both = np.clip(outside + difference, 0, 1), n + n_out
    variance = inside * (1 - inside) / n + outside * (1 - outside) / n_out
    away = share - share_out - difference
    return _Score(away, variance * both / (both - 1), np.ones(len(away)))


def _by_score(
    cells: Cells, score: Score, estimate: Floats, ends: tuple[float, float], confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Bounds of what the score test does not refute, and the p-value of homogeneity."""
    critical = float(stats.norm.isf((1 - confidence) / 2))

    def distance(at: Floats) -> Floats:
        found = score(cells.sides, at[cells.place])
        away = np.abs(cells.total(cells.weight * found.value))
        error = np.sqrt(cells.total(cells.weight**2 * found.variance))
        with np.errstate(invalid="ignore", divide="ignore"):
            far = np.where(away > 1e-12 * cells.total(cells.weight), np.inf, 0.0)
            return np.where(error > 0, away / error, far) - critical

    start = np.nan_to_num(estimate, nan=sum(ends) / 2)
    low, high = (outermost(distance, start, end, critical) for end in ends)
    return low, high, _homogeneity(cells, score, start)


def _homogeneity(cells: Cells, score: Score, estimate: Floats) -> Floats:
    """P-value of the hypothesis that a figure is the same in all strata.

    The scores of the strata at the pooled estimate, squared, over their variances, less what is due
    to the estimate not being the likeliest value: chi-square on the strata less one. It needs no
    more than one row of a group; in many strata of hardly any rows it refutes too seldom.

    References
    ----------
    .. [1] Tarone, R. E. (1985). On heterogeneity tests based on efficient scores. Biometrika 72,
       91-95.
    """
    value, variance, slope = score(cells.sides, estimate[cells.place])
    known = variance > 0
    precision = np.where(known, 1 / np.where(known, variance, 1.0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = cells.total(precision * slope * value) ** 2 / cells.total(precision * slope**2)
    far = cells.total(precision * value**2) - np.nan_to_num(moved)
    freedom = cells.total(known.astype(np.float64)) - 1
    p: Floats = stats.chi2.sf(np.maximum(far, 0), np.maximum(freedom, 1))
    return np.where(freedom > 0, p, np.nan)


def _variance_within(cells: Cells) -> tuple[Floats, Floats]:
    """The variance of values within groups and strata of each pair, and its degrees of freedom."""
    freedom, squares = np.zeros((2, cells.n_pairs))
    for n, variance in _sides_of(cells.sides):
        known = (n > 1) & np.isfinite(variance)
        freedom = freedom + cells.total(np.where(known, n - 1, 0.0))
        squares = squares + cells.total(np.where(known, (n - 1) * variance, 0.0))
    return squares / freedom, freedom


def _sides_of(sides: Sides) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    return (sides.n, sides.variance), (sides.n_out, sides.variance_out)


def _error_of_means(cells: Cells, within: Floats, confidence: float) -> Floats:
    """How far the weighted sum of differences of means may be from the truth."""
    whole, squares = np.zeros((2, cells.n_pairs))
    for n, variance in _sides_of(cells.sides):
        known = (n > 1) & np.isfinite(variance)
        part = cells.weight**2 * np.where(known, variance, within[cells.place]) / n
        whole = whole + cells.total(part)
        # Where a variance is borrowed, one degree of freedom is hardly too many.
        squares = squares + cells.total(part**2 / np.maximum(n - 1, 1))
    freedom = np.maximum(whole**2 / squares, 1)
    return np.asarray(stats.t.isf((1 - confidence) / 2, freedom) * np.sqrt(whole))


def _same_means(cells: Cells, value: Floats, variance: Floats, freedom: Floats) -> Floats:
    """P-value of one difference of means in all strata: the F test of an interaction.

    It takes values to vary alike in all strata. Variances of each stratum by itself are known too
    badly where groups have a few rows in it.

    References
    ----------
    .. [1] Scheffe, H. (1959). The Analysis of Variance. Wiley.
    """
    sides = cells.sides
    away = (sides.difference - value[cells.place]) ** 2 / (1 / sides.n + 1 / sides.n_out)
    strata = np.bincount(cells.place, minlength=cells.n_pairs) - 1
    far = cells.total(away) / variance / np.maximum(strata, 1)
    p: Floats = stats.f.sf(far, np.maximum(strata, 1), np.maximum(freedom, 1))
    return np.where((strata > 0) & (freedom > 0), p, np.nan)


# The smallest ratio, and where a difference comes from --------------------------------------------


class Smallest(NamedTuple):
    """The smallest pooled ratio of a group to another, with bounds of it, whichever it is."""

    value: float
    low: float
    high: float
    group: int
    other: int


def smallest_within(
    means: Means, weight: Floats, groups: Ints, confidence: float, at_once: float
) -> Smallest | None:
    """The smallest pooled ratio of any of these groups to any other; None where there is none.

    Each bound is the smallest of those of all pairs, in both directions: so no group that does
    best within strata, though not on the whole, is overlooked. The upper ones have the confidence
    `at_once`, since the smallest of many is too small by chance.
    """
    first, second = (groups[places] for places in np.triu_indices(len(groups), 1))
    step = max(1, MOST_CELLS // len(means.value))
    found = []
    for start in range(0, len(first), step):
        one, other = first[start : start + step], second[start : start + step]
        cells = pairs_in_strata(means, weight, one, other, binary=True)
        ratio, far = pooled_ratio(cells, confidence), pooled_ratio(cells, at_once)
        with np.errstate(divide="ignore"):
            found += [
                np.array([ratio.value, ratio.low, far.high, one, other]),
                np.array([1 / ratio.value, 1 / ratio.high, 1 / far.low, other, one]),
            ]
    every = np.concatenate(found, axis=1) if found else np.empty((5, 0))
    if np.isnan(every[0]).all():
        return None
    low, high = np.nanmin(every[1]), np.nanmin(every[2])
    value, _, _, group, other_group = every[:, int(np.nanargmin(every[0]))]
    return Smallest(float(value), float(low), float(high), int(group), int(other_group))


def decomposed(means: Floats, weight: Floats, reference: int) -> tuple[Floats, Floats]:
    """Divide the difference of each group from one of them by strata, into rates and composition.

    Parameters
    ----------
    means, weight : ndarray of shape (n_strata, n_groups)
        Means of each group in each stratum, and the weight of its rows.
    reference : int
        The group that the others are compared with.

    Returns
    -------
    rates, composition : ndarray of shape (n_strata, n_groups)
        Their sum over all strata is the difference of both overall means. Rates: what the
        difference within a stratum makes, at the average of both groups' shares of rows in it.
        Composition: what it makes that groups have other shares of rows in it, at the average of
        both means there, less that of both overall means. A stratum without rows of one of both
        has no difference, and counts as composition.

    References
    ----------
    .. [1] Kitagawa, E. M. (1955). Components of a difference between two rates. Journal of the
       American Statistical Association 50, 1168-1194.
    .. [2] Oaxaca, R. (1973). Male-female wage differentials in urban labor markets. International
       Economic Review 14, 693-709.
    .. [3] Blinder, A. S. (1973). Wage discrimination: reduced form and structural estimates.
       Journal of Human Resources 8, 436-455.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = weight / weight.sum(axis=0)
    held, own = weight > 0, slice(reference, reference + 1)
    value = np.where(held, means, 0.0)
    overall = (share * value).sum(axis=0)
    middle = (overall + overall[own]) / 2
    # What one of both lacks is taken from the other.
    mean = np.where(held, value, value[:, own])
    mean_own = np.where(held[:, own], value[:, own], value)
    rates = (share + share[:, own]) / 2 * (mean - mean_own)
    return rates, (share - share[:, own]) * ((mean + mean_own) / 2 - middle)
