"""Compute disparity and verdict of inputs from the outputs for their twins; pure functions.

Shapes: `scores` (n, k, n_outputs), `labels` and `valid` (n, k), for n inputs with k sensitive
combinations each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._model import Labels

#: Differences below this share of the outputs are rounding, not disparity: a matrix product may
#: give a row other last bits when it stands elsewhere in a batch.
ROUNDING = 1e-10
ROUNDING_SINGLE = 2e-6


class Comparison(NamedTuple):
    """Result of comparing the twins of each input.

    Pairs are positions along the second axis, the larger output first.
    """

    disparity: Floats
    pair: Ints  # (n, 2): shows the disparity
    outputs: Floats  # (n, 2): the outputs of that pair
    output: Ints  # (n,): which of several outputs they are of
    verdict: Bools
    twins: Ints  # (n, 2): shows the verdict
    gap: Floats  # (n,): difference between the outputs of `twins`
    labels: Labels  # (n, 2): codes of the labels of `pair`


def compare(
    scores: Floats,
    labels: Labels,
    valid: Bools,
    *,
    response: str,
    threshold: float | None,
    single: bool,
    plausible: Bools | None = None,
    own: Bools | None = None,
) -> Comparison:
    """Compare the outputs for the twins of each input.

    With `plausible` (n, k) a pair counts where one of the two is plausible, at least. That one
    comes first in `twins`: the input's `own` sensitive values, shape (n, k), where they are
    plausible and show the verdict, else the plausible twin, or of two the one with the larger
    output. In `pair` the larger output comes first in any case.
    """
    if plausible is not None:
        plausible = plausible & valid
        valid = valid & plausible.any(axis=1, keepdims=True)
    if response == "labels":
        # Labels have no distance: an input's disparity is 1 where two differ.
        first = (valid if plausible is None else plausible).argmax(axis=1)
        reference = labels[np.arange(len(labels)), first]
        scores = (labels != reference[:, None]).astype(np.float64)[:, :, None]
    widest = _widest(scores, valid, single, plausible)
    disparity, pair = widest[:2]
    codes = np.take_along_axis(labels, pair, axis=1)
    by_labels = threshold is None and response != "regression"
    if by_labels:
        flips = _by_labels(scores, labels, valid, disparity, pair, plausible)
        shown = Comparison(*widest, *flips, codes)
    else:
        least = 0.0 if threshold is None else threshold
        shown = Comparison(*widest, disparity > least, pair, disparity, codes)
    if plausible is None:
        return shown
    twins = _plausible_first(shown, plausible)
    if own is None:
        return shown._replace(twins=twins)
    apart = np.full(len(scores), ROUNDING_SINGLE if single else ROUNDING)
    apart *= np.abs(shown.outputs).max(axis=1, initial=0.0)
    if threshold is not None:
        apart = np.maximum(apart, threshold)
    twins, gap = _as_it_stands(
        shown, twins, scores, labels if by_labels else None, valid, own & plausible, apart
    )
    return shown._replace(twins=twins, gap=gap)


def _widest(
    scores: Floats, valid: Bools, single: bool, plausible: Bools | None = None
) -> tuple[Floats, Ints, Floats, Ints]:
    """Return the largest spread of any output, its output, its two twins and their values."""
    if scores.shape[1:] == (2, 1):
        may = valid if plausible is None else plausible
        return _widest_of_two(scores[:, :, 0], valid, single, may)
    if plausible is not None and not (plausible == valid).all():
        return _widest_of_plausible(scores, valid, single, plausible)
    rows = np.arange(len(scores))
    high = low = scores
    if not valid.all():
        high = np.where(valid[:, :, None], scores, -np.inf)
        low = np.where(valid[:, :, None], scores, np.inf)
    spread = high.max(axis=1) - low.min(axis=1)
    output = spread.argmax(axis=1)
    shown = scores[rows, :, output]
    pair = np.column_stack(
        [high[rows, :, output].argmax(axis=1), low[rows, :, output].argmin(axis=1)]
    )
    outputs = np.take_along_axis(shown, pair, axis=1)
    noise = (ROUNDING_SINGLE if single else ROUNDING) * np.abs(outputs).max(axis=1, initial=0.0)
    disparity = spread[rows, output]
    comparable = (valid.sum(axis=1) > 1) & (disparity > noise)
    return np.where(comparable, disparity, 0.0), pair, outputs, output


def _widest_of_two(
    scores: Floats, valid: Bools, single: bool, plausible: Bools
) -> tuple[Floats, Ints, Floats, Ints]:
    """Return the same where inputs have two twins and there is one output, as most have."""
    one, two = scores[:, :1], scores[:, 1:]
    both = valid[:, 0] & valid[:, 1]
    # Where the two are equal, or one is not valid, these are the first twins that may be shown.
    second = np.stack([~may[:, 0] & may[:, 1] for may in (plausible, valid)], axis=1)
    apart = both[:, None] & (one != two)
    second = np.where(apart, np.concatenate([one < two, one > two], axis=1), second)
    outputs = np.where(second, two, one)
    disparity = outputs[:, 0] - outputs[:, 1]
    noise = (ROUNDING_SINGLE if single else ROUNDING) * np.abs(outputs).max(axis=1, initial=0.0)
    disparity[~both | (disparity <= noise)] = 0.0
    return disparity, second.astype(np.intp), outputs, np.zeros(len(scores), dtype=np.intp)


def _widest_of_plausible(
    scores: Floats, valid: Bools, single: bool, plausible: Bools
) -> tuple[Floats, Ints, Floats, Ints]:
    """Return the largest spread among pairs with at least one plausible twin."""
    # The larger output is the plausible one's, or the smaller.
    sides = [_spread(scores, plausible, valid), _spread(scores, valid, plausible)]
    better = sides[1][0] > sides[0][0]
    spread, pair, output = (
        np.where(better.reshape(-1, *[1] * (first.ndim - 1)), second, first)
        for first, second in zip(*sides, strict=True)
    )
    outputs = np.take_along_axis(scores[np.arange(len(scores)), :, output], pair, axis=1)
    noise = (ROUNDING_SINGLE if single else ROUNDING) * np.abs(outputs).max(axis=1, initial=0.0)
    comparable = (valid.sum(axis=1) > 1) & plausible.any(axis=1) & (spread > noise)
    return np.where(comparable, spread, 0.0), pair, outputs, output


def _spread(scores: Floats, above: Bools, below: Bools) -> tuple[Floats, Ints, Ints]:
    """Return the largest difference between twins of two kinds, the two twins and the output."""
    rows = np.arange(len(scores))
    high = np.where(above[:, :, None], scores, -np.inf)
    low = np.where(below[:, :, None], scores, np.inf)
    with np.errstate(invalid="ignore"):
        spread = high.max(axis=1) - low.min(axis=1)
    spread[~np.isfinite(spread)] = -np.inf
    output = spread.argmax(axis=1)
    pair = np.column_stack(
        [high[rows, :, output].argmax(axis=1), low[rows, :, output].argmin(axis=1)]
    )
    return spread[rows, output], pair, output


def _plausible_first(shown: Comparison, plausible: Bools) -> Ints:
    """Return the twins of each verdict, a plausible one first."""
    first_is = np.take_along_axis(plausible, shown.twins[:, :1], axis=1)
    return np.where(first_is, shown.twins, shown.twins[:, ::-1])


def _as_it_stands(
    shown: Comparison, twins: Ints, scores: Floats, labels: Labels | None, valid: Bools,
    own: Bools, least: Floats,
) -> tuple[Ints, Floats]:  # fmt: skip
    """Return the twins of each verdict and their gap; the input's own values come first.

    Twins differ in `labels`, or where there are none by more than `least` in an output.
    """
    twins, gap = twins.copy(), shown.gap.copy()
    found = np.flatnonzero(shown.verdict & own.any(axis=1))
    here, place = np.arange(len(found)), own[found].argmax(axis=1)
    apart = np.abs(scores[found] - scores[found, place][:, None]).max(axis=2)
    if labels is None:
        differs = apart > least[found, None]
    else:
        differs = labels[found] != labels[found, place][:, None]
    other = np.where(differs & valid[found], apart, -1.0).argmax(axis=1)
    shows = (differs & valid[found])[here, other]
    twins[found[shows]] = np.column_stack([place, other])[shows]
    gap[found[shows]] = apart[here, other][shows]
    return twins, gap


def _by_labels(
    scores: Floats, labels: Labels, valid: Bools, disparity: Floats, pair: Ints,
    plausible: Bools | None = None,
) -> tuple[Bools, Ints, Floats]:  # fmt: skip
    """Judge by differing labels; return verdicts, their twins, and the gap of their scores."""
    rows = np.arange(len(labels))
    reference = labels[rows, valid.argmax(axis=1)]
    verdict = ((labels != reference[:, None]) & valid).any(axis=1)
    twins, gap = pair.copy(), disparity.copy()
    same = labels[rows, pair[:, 0]] == labels[rows, pair[:, 1]]
    # With more than two classes the most distant outputs need not be the ones that flip.
    found = np.flatnonzero(verdict & same)
    if len(found):
        first = valid if plausible is None else valid & plausible
        twins[found], gap[found] = _farthest_flips(
            scores[found], labels[found], first[found], valid[found]
        )
    return verdict, twins, gap


def _farthest_flips(
    scores: Floats, labels: Labels, first: Bools, second: Bools
) -> tuple[Ints, Floats]:
    """Return the two twins of each input with different labels and the most distant outputs.

    Distances are the largest over the outputs. One twin is among those of `first`, the other of
    `second`; both exist, for each input. Of equally distant pairs it is the one whose first twin,
    and then whose second twin, comes first.
    """
    n, k, n_outputs = scores.shape
    rows = np.arange(n)
    # How far each twin is from the farthest of another label needs no look at all pairs: that is
    # the largest, or the smallest, of all twins, or of those whose label is not that one's.
    farthest = np.full((n, k), -np.inf)
    for output in range(n_outputs):
        for sign in (1.0, -1.0):
            own = sign * scores[:, :, output]
            reached = np.where(second, own, -np.inf)
            top = reached.argmax(axis=1)
            of_top = labels == labels[rows, top][:, None]
            next_best = np.where(of_top, -np.inf, reached).max(axis=1)
            others = np.where(of_top, next_best[:, None], reached[rows, top][:, None])
            np.maximum(farthest, others - own, out=farthest)
    one = np.where(first, farthest, -np.inf).argmax(axis=1)
    distance = np.abs(scores - scores[rows, one][:, None]).max(axis=2)
    differs = second & (labels != labels[rows, one][:, None])
    other = np.where(differs, distance, -1.0).argmax(axis=1)
    return np.stack([one, other], axis=1), distance[rows, other]


def disparity_curve(disparities: Floats, name: str, most: int = 500) -> pd.DataFrame:
    """Compute points of the share of disparities above t: exact at each, and fewer of very many.

    The first point is at 0 and the last at the largest disparity, which no row exceeds.
    """
    ordered = np.sort(np.asarray(disparities, dtype=float))
    at = np.unique(np.concatenate([[0.0], ordered]))
    if len(at) > most:
        # Evenly by rank and by size: the first shows where most rows are, the second the tail.
        places = np.linspace(0, len(at) - 1, most // 2).round().astype(int)
        sizes = np.searchsorted(at, np.linspace(0, at[-1], most - most // 2))
        at = at[np.union1d(places, sizes)]
    above = len(ordered) - np.searchsorted(ordered, at, side="right")
    share = above / len(ordered) if len(ordered) else np.zeros(len(at))
    return pd.DataFrame({"name": name, "difference": at, "share": share})
