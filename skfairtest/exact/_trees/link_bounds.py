"""Bounds of the difference of an output, from bounds of the sums of trees behind it.

For twins with the sums u and v of a part, known are D >= u - v, U >= u and V <= v. Of links other
than the identity these three together bound the difference: the logistic function, for one, is
steepest in the middle, so that the difference of sums counts most where U and V let the sums lie on
both sides of zero. The sums of a group with a negative weight are turned round (see `signs`): what
is known then bounds -u and -v, whose links fall from the second twin to the first. The same
functions serve both searches; numba compiles them where it is there.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.whitebox.graph import EXPONENTIAL, IDENTITY, LOGISTIC, SOFTMAX, LinkedSum
from skfairtest.workers._compiled import inner, njit, plain

CODES = {IDENTITY: 0, LOGISTIC: 1, EXPONENTIAL: 2, SOFTMAX: 3}


class Links(NamedTuple):
    """How the sums of trees make the output: groups of parts, and the part of each tree."""

    part: NDArray[np.int64]  # (n_trees,)
    base: NDArray[np.float64]  # (n_parts,)
    group_start: NDArray[np.int64]  # (n_groups + 1,) first part of each group
    link: NDArray[np.int64]  # (n_groups,) one of CODES
    weight: NDArray[np.float64]  # (n_groups,)
    slack: NDArray[np.float64]  # (n_parts,) rounding of a sum that stands in an exponent
    unit: NDArray[np.float64]  # (n_parts,) of which all values of its trees are multiples; 0 else
    plain: bool  # whether the output is a sum of trees and nothing else


def signs(group: LinkedSum) -> list[float]:
    """What the sums of a group's parts are multiplied with, so that larger ones raise the output.

    Sums of the other classes of a softmax work against it, and so does every sum of a group whose
    weight is negative.
    """
    own = -1.0 if group.weight < 0 else 1.0
    return [-own if group.link == SOFTMAX and p else own for p in range(len(group.parts))]


@inner
def expit(x):
    """The logistic function without overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@inner
def logistic_gap(D, U, V):
    """Largest expit(u) - expit(v) with u <= U, v >= V, u - v <= D."""
    if D >= U - V:
        return expit(U) - expit(V)
    if D > 0:
        u = min(max(D / 2, V + D), U)
        return expit(u) - expit(u - D)
    return max(expit(U) - expit(U - D), expit(V + D) - expit(V))


@inner
def exponential_gap(D, U, V):
    """Largest exp(u) - exp(v) with u <= U, v >= V, u - v <= D."""
    high = U if D >= U - V or D > 0 else V + D
    low = V if D >= U - V or D <= 0 else U - D
    if high > 709.0:  # the exponential is no finite number
        return np.inf
    return math.exp(high) - math.exp(low)


@inner
def bounded_exp(x):
    """The exponential of what is neither too small nor too large for probabilities to show it."""
    return math.exp(min(max(x, -600.0), 600.0))


@inner
def softmax_gap(D, U, V):
    """The same for the first class of a softmax; sums of the other classes are turned round.

    Let x be the odds of another class against the first one, for the first twin, and y those for
    the second. Known are x >= exp(-(U_0 + U_j)), y <= exp(-(V_0 + V_j)) and y <= exp(D_0 + D_j) x.
    The difference is 1 / (1 + the sum of all x) - 1 / (1 + the sum of all y). For the largest one,
    every y is as large as its x allows. Beginning with the least x, those of the class with the
    largest D_j are raised first, as they raise y by most, until this gains no more.
    """
    one, two = 1.0, 1.0
    for j in range(1, len(D)):
        least, ratio = bounded_exp(-U[0] - U[j]), bounded_exp(D[0] + D[j])
        one += least
        two += min(ratio * least, bounded_exp(-V[0] - V[j]))
    best, raised = 1.0 / one - 1.0 / two, np.zeros(len(D))
    for _ in range(1, len(D)):
        at = 0
        for j in range(1, len(D)):
            if raised[j] == 0 and (at == 0 or D[j] > D[at]):
                at = j
        raised[at] = 1
        ratio = bounded_exp(D[0] + D[at])
        largest = bounded_exp(-V[0] - V[at]) / ratio - bounded_exp(-U[0] - U[at])
        more = largest
        if ratio > 1:
            root = math.sqrt(ratio)
            more = min(largest, (root * one - two) / (ratio - root))
        if more > 0:
            one, two = one + more, two + ratio * more
            best = max(best, 1.0 / one - 1.0 / two)
        if more < largest and ratio > 1:
            break
    return best


@inner
def gap_of_sums(links, D, U, V):
    """Bound of the difference of the output from bounds of each part."""
    total = 0.0
    for g in range(len(links.link)):
        a, b = links.group_start[g], links.group_start[g + 1]
        high, low, turned = U[a], V[a], links.weight[g] < 0
        if turned:
            # Of u and v themselves, of which the link of v is to exceed that of u.
            high, low = -V[a], -U[a]
        if links.link[g] == 0:
            gap = D[a]
        elif links.link[g] == 1:
            gap = logistic_gap(D[a], high, low)
        elif links.link[g] == 2:
            gap = exponential_gap(D[a], high, low)
        elif turned:
            gap = softmax_gap(D[a:b], -V[a:b], -U[a:b])
        else:
            gap = softmax_gap(D[a:b], U[a:b], V[a:b])
        total += abs(links.weight[g]) * gap
    return total


@njit
def bound_of_sums(links, D, U, V):
    """The same for the model's own arithmetic, in which sums in an exponent are rounded.

    An exponential multiplies the rounding of its sum, so that it counts where the sums are, and not
    with the largest ones of the whole domain. That of other links is added at the end. Writes to
    the given bounds.
    """
    for p in range(len(D)):
        D[p], U[p], V[p] = D[p] + 2 * links.slack[p], U[p] + links.slack[p], V[p] - links.slack[p]
    return gap_of_sums(links, D, U, V)


def interpreted_bound(links, D, U, V):
    """`bound_of_sums` without waiting for a compiler; leaves the given bounds as they are."""
    return plain(gap_of_sums)(links, D + 2 * links.slack, U + links.slack, V - links.slack)


def join_classes(links, D):
    """Join the sum of the first class of a softmax with that of each other class, in place.

    It is the sums of two classes together that bound a difference of probabilities. What trees of
    both demand of a point is known of their sum, and not of either alone.
    """
    for g in range(len(links.link)):
        a = links.group_start[g]
        if links.link[g] == 3:
            for p in range(a + 1, links.group_start[g + 1]):
                D[p] += D[a]
            D[a] = 0.0


@njit
def sum_enough(links, incumbent):
    """Largest sum of differences, joined, that beats nothing that is known; else minus infinity."""
    share = incumbent / abs(links.weight[0])
    if links.plain:
        return share
    if len(links.link) > 1 or links.link[0] % 2 == 0 or share <= 0:
        return -np.inf
    # No difference of probabilities is larger than tanh(D / 4).
    return 4 * math.atanh(share) * (1 - 1e-9) if share < 1 else np.inf
