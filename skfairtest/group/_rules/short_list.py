"""Chooses a few of all rules that do not repeat each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skfairtest._statistics import Sides
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._inference.counting import RowSets, rule_sides
from skfairtest.group._inference.pivot import chosen_sides, interval_at, signed_root


class ShortList(NamedTuple):
    """The listed rules, worst first; arrays of shape (n_listed,).

    Attributes
    ----------
    rule : ndarray of int
        Which ones.
    sub_rule : ndarray of int
        The best part of each rule's conditions that is a candidate itself; -1 where there is
        none.
    gain, gain_low, gain_high : ndarray
        The mean of the rule less that of the rest of its sub-rule, and an interval that
        holds for all rules at once; NaN without a sub-rule.
    covered : ndarray
        Share of the rows that count (of their weights) that are inside of this rule or of one
        that is listed before it.
    """

    rule: Ints
    sub_rule: Ints
    gain: Floats
    gain_low: Floats
    gain_high: Floats
    covered: Floats


def without_last_digits(score: Floats) -> Floats:
    """Round scores to 12 decimals: equal ones may differ in their last digits by rounding."""
    return np.round(score, 12)


def parents(conditions: NDArray[np.integer]) -> Ints:
    """Find, for each rule and condition, the position of the rule without that condition.

    Rules are found by sorting sums of random numbers, one for each condition; what is found is
    compared, so that equal sums of different rules do no harm.

    Parameters
    ----------
    conditions : ndarray of int of shape (n_rules, n_attributes)
        The value of each attribute, -1 for any.

    Returns
    -------
    ndarray of int of shape (n_rules, n_attributes)
        -1 where the attribute has no condition, or the shorter rule is not among the rules.

    Examples
    --------
    >>> import numpy as np
    >>> from skfairtest.group._rules.short_list import parents
    >>> parents(np.array([[0, -1], [-1, 2], [0, 2]])).tolist()
    [[-1, -1], [-1, -1], [1, 0]]
    """
    n_rules, n_attributes = conditions.shape
    found = np.full((n_rules, n_attributes), -1, dtype=np.intp)
    if not n_rules:
        return found
    # The numbers name conditions and decide nothing: the seed is of no account.
    rng = np.random.default_rng(0)
    names = rng.integers(2**64, size=(n_attributes, int(conditions.max()) + 2), dtype=np.uint64)
    names[:, 0] = 0
    each = names[np.arange(n_attributes), conditions + 1]
    sums = each.sum(axis=1, dtype=np.uint64)
    order = np.argsort(sums, kind="stable")
    ranked = sums[order]
    for j in range(n_attributes):
        held = np.flatnonzero(conditions[:, j] >= 0)
        wanted = sums[held] - each[held, j]
        place = order[np.minimum(np.searchsorted(ranked, wanted), n_rules - 1)]
        shorter = conditions[held].copy()
        shorter[:, j] = -1
        same = (conditions[place] == shorter).all(axis=1)
        found[held[same], j] = place[same]
    return found


def best_parts(conditions: NDArray[np.integer], score: Floats, candidates: Bools) -> Ints:
    """Find, for each rule, the candidate with the largest score among its sub-rules; -1 if none.

    Of equal scores the part with fewer conditions is taken. A part of a part is a part: each rule
    looks at those that are one condition shorter, and at what these found.

    Parameters
    ----------
    conditions : ndarray of int of shape (n_rules, n_attributes)
        The value of each attribute, -1 for any.
    score : ndarray of shape (n_rules,)
        The larger, the better.
    candidates : ndarray of bool of shape (n_rules,)
        Which rules count as parts.

    Returns
    -------
    ndarray of int of shape (n_rules,)
        Places in `conditions`.
    """
    above = parents(conditions)
    length = (conditions >= 0).sum(axis=1)
    value = np.where(candidates, without_last_digits(score), -np.inf)
    best = np.full(len(conditions), -1, dtype=np.intp)
    for size in range(2, int(length.max(initial=0)) + 1):
        here = np.flatnonzero(length == size)
        choices = above[here]
        # The parts of the parts first: of equal scores, the first one stays.
        inherited = np.where(choices >= 0, best[choices], -1)
        both = np.column_stack([inherited, choices])
        values = np.where(both >= 0, value[both], -np.inf)
        # Parts of parts may have several lengths: the shortest of those with the largest score.
        top = values.max(axis=1, keepdims=True)
        short = np.where((values == top) & np.isfinite(values), length[both], size)
        chosen = short.argmin(axis=1)
        taken = both[np.arange(len(here)), chosen]
        best[here] = np.where(np.isfinite(top[:, 0]), taken, -1)
    return best


def rest_of(sides: Sides, part: Ints, weights: Floats | None = None) -> Sides:
    """Compare each rule with the rest of a rule that contains it.

    Parameters
    ----------
    sides : Sides
        Every rule against everybody else.
    part : ndarray of int of shape (n_rules,)
        The larger rule, -1 for none: nothing is known of the other side then.
    weights : ndarray of shape (n_rules, 2), optional
        Sums of weights and of squared weights inside; None where each row weighs 1.

    Returns
    -------
    Sides
        The larger rule without the smaller one takes the place of everybody else.
    """
    weight, squared = (sides.n, sides.n) if weights is None else weights.T
    n, mean, variance = sides.n, sides.mean, sides.variance
    with np.errstate(invalid="ignore", divide="ignore"):
        rest, rest_squared = weight[part] - weight, squared[part] - squared
        held = (part >= 0) & (rest > 1e-9 * weight[part])
        n_rest = np.where(held, rest**2 / rest_squared, 0.0)
        # A smaller rule of which no row counts has no mean, and takes nothing away.
        shift = np.where(weight > 0, mean - mean[part], 0.0)
        # Means about the one of the larger rule, so that no digits are lost.
        mean_rest = np.where(held, -weight * shift / rest, np.nan)
        if sides.binary:
            mean_rest = np.clip(mean[part] + mean_rest, 0, 1)
            return sides._replace(
                n_out=n_rest, mean_out=mean_rest, variance_out=mean_rest * (1 - mean_rest)
            )
        second = weight[part] * (variance * (n - 1) / n)[part]
        second = second - np.where(weight > 0, weight * (variance * (n - 1) / n + shift**2), 0.0)
        spread = np.clip(second / rest - mean_rest**2, 0, None) * n_rest / (n_rest - 1)
        return sides._replace(n_out=n_rest, mean_out=mean[part] + mean_rest, variance_out=spread)


def short_list(
    rules: RowSets,
    conditions: NDArray[np.integer],
    sides: Sides,
    values: Floats,
    counts: Bools,
    weights: Floats | None = None,
    *,
    differs: Bools,
    critical: float,
    score: Floats | None = None,
    complexity: NDArray[np.integer] | None = None,
    confidence: float = 0.95,
    most: int = 10,
    n_compared: int | None = None,
) -> ShortList:
    """Choose rules that differ, each of which says something that the others do not.

    Candidates are the rules that differ. One with a candidate among the parts of its conditions
    (a sub-rule, which differs the same way) must add to it: its mean is compared with that of
    the rest of its best sub-rule, in intervals that hold for all candidates at once (Bonferroni
    over those with more than one condition: that a rule differs was shown among all rules
    before anybody asks what its conditions add). Then the one with the largest score is listed,
    and its rows are set aside. Only such rules stay in the choice that differ in what is left,
    in the same direction, by as much as differences are asked for (`critical`), and of whose rows
    half are left. Of equal scores the rule with more new rows is taken, then the simpler one.

    So of two rules with the same rows one is listed, neither a group nor the rest of the rows is
    listed twice, and a broad group that differs only by a small one inside of it is not listed
    after it. What is not listed may still differ.

    Parameters
    ----------
    rules : RowSets
        Of n_rows rows.
    conditions : ndarray of int of shape (n_rules, n_attributes)
        The value of each attribute, -1 for any.
    sides, values, counts, weights
        As for `resampled`.
    differs : ndarray of bool of shape (n_rules,)
        The candidates.
    critical : float
        What `signed_root` must exceed for a difference to count: that of `resampled`, or the normal
        quantile of another correction.
    score : ndarray of shape (n_rules,), optional
        The larger, the earlier in the list; None is the absolute difference.
    complexity : ndarray of int of shape (n_rules,), optional
        The smaller, the simpler; None is the number of conditions.
    confidence : float
        Of the intervals of what rules add.
    most : int
        Lines, at most.
    n_compared : int, optional
        Rules that the intervals of what rules add allow for; None is those that differ and
        have more than one condition.

    Returns
    -------
    ShortList
        Empty where nothing differs.
    """
    length = (conditions >= 0).sum(axis=1)
    complexity = length if complexity is None else complexity
    difference = np.where(np.isfinite(sides.difference), sides.difference, 0.0)
    score = np.abs(difference) if score is None else score
    if n_compared is None:
        n_compared = max(1, int((differs & (length > 1)).sum()))
    needed = float(stats.norm.isf((1 - confidence) / 2 / n_compared))
    part = np.full(len(conditions), -1, dtype=np.intp)
    direction = np.sign(difference)
    for way in (1.0, -1.0):
        same = differs & (direction == way)
        if same.any():
            found = best_parts(conditions, score, same)
            part[same] = found[same]
    sums = None if weights is None else _weight_sums(rules, counts, weights)
    against = rest_of(sides, part, sums)
    adds = direction * signed_root(against) > needed
    eligible = differs & ((part < 0) | adds)
    listed, covered = _greedy(
        rules, conditions, values, counts, weights, sides.binary, eligible,
        (score, complexity, direction), critical, most,
    )  # fmt: skip
    chosen = np.array(listed, dtype=np.intp)
    gains = chosen_sides(against, chosen)
    low, high = interval_at(gains, needed)
    alone = part[chosen] < 0
    return ShortList(
        chosen,
        part[chosen],
        np.where(alone, np.nan, gains.difference),
        np.where(alone, np.nan, low),
        np.where(alone, np.nan, high),
        np.array(covered),
    )


def _weight_sums(rules: RowSets, counts: Bools, weights: Floats) -> Floats:
    w = np.where(counts, weights, 0.0)
    return rules.sums(np.column_stack([w, w**2]))


def _greedy(
    rules: RowSets,
    conditions: NDArray[np.integer],
    values: Floats,
    counts: Bools,
    weights: Floats | None,
    binary: bool,
    eligible: Bools,
    keys: tuple[Floats, NDArray[np.integer], Floats],
    critical: float,
    most: int,
) -> tuple[list[int], list[float]]:
    """Choose rules one by one; returns them and the share of rows covered after each."""
    score, complexity, direction = keys
    weight = counts.astype(float) if weights is None else np.where(counts, weights, 0.0)
    everyone = weight.sum()
    left = counts.copy()
    listed: list[int] = []
    covered: list[float] = []
    n_inside = np.zeros(len(conditions))
    open_ = eligible.copy()
    while len(listed) < most and open_.any() and left.any():
        remaining = rule_sides(rules, values, left, weights, binary=binary)
        if listed:
            open_ &= direction * signed_root(remaining) > critical
            # Nor the same people by another rule: half of the rows must be new.
            open_ &= remaining.n >= 0.5 * n_inside
        else:
            n_inside = remaining.n
        places = np.flatnonzero(open_)
        if not len(places):
            break
        new = np.where(np.isfinite(remaining.n), remaining.n, 0.0)[places]
        scale = float(np.abs(score[places]).max()) or 1.0
        rank = without_last_digits(score[places] / scale)
        # A group and everyone else have one score: the smaller of the two is listed.
        most_rows = remaining.n[places] > remaining.n_out[places]
        best = int(places[np.lexsort((complexity[places], -new, most_rows, -rank))[0]])
        listed.append(best)
        open_[best] = False
        left &= ~rules.inside(best)
        covered.append(1 - float(weight[left].sum() / everyone))
    return listed, covered
