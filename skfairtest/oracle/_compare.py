"""From the outputs for all twins of each input to its disparity and verdict; pure functions.

Shapes: `scores` (n, k, n_outputs), `labels` and `valid` (n, k), for n inputs with k sensitive
combinations each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._model import Labels

#: Differences below this share of the outputs are rounding, not disparity: a matrix product may
#: give a row other last bits when it stands elsewhere in a batch.
ROUNDING = 1e-10
ROUNDING_SINGLE = 2e-6


class Comparison(NamedTuple):
    """What the twins of each input show.

    Pairs are positions along the second axis, the larger output first.
    """

    disparity: Floats
    pair: Ints  # (n, 2): shows the disparity
    outputs: Floats  # (n, 2): the outputs of that pair
    output: Ints  # (n,): which of several outputs they are of
    verdict: Bools
    twins: Ints  # (n, 2): shows the verdict
    gap: Floats  # (n,): difference between the outputs of `twins`


def compare(
    scores: Floats,
    labels: Labels,
    valid: Bools,
    *,
    response: str,
    threshold: float | None,
    single: bool,
) -> Comparison:
    """Compare the outputs for the twins of each input."""
    if response == "labels":
        # Labels have no distance: an input's disparity is 1 where two differ.
        reference = labels[np.arange(len(labels)), valid.argmax(axis=1)]
        scores = (labels != reference[:, None]).astype(np.float64)[:, :, None]
    widest = _widest(scores, valid, single)
    disparity, pair = widest[:2]
    if threshold is not None:
        verdict = disparity > threshold
    elif response == "regression":
        verdict = disparity > 0
    else:
        return Comparison(*widest, *_by_labels(scores, labels, valid, disparity, pair))
    return Comparison(*widest, verdict, pair, disparity)


def _widest(scores: Floats, valid: Bools, single: bool) -> tuple[Floats, Ints, Floats, Ints]:
    """Largest spread over the outputs, the positions of its ends, the outputs there, the output."""
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


def _by_labels(
    scores: Floats, labels: Labels, valid: Bools, disparity: Floats, pair: Ints
) -> tuple[Bools, Ints, Floats]:
    """Verdicts by differing labels, the twins that show them, and the gap between their scores."""
    rows = np.arange(len(labels))
    reference = labels[rows, valid.argmax(axis=1)]
    verdict = ((labels != reference[:, None]) & valid).any(axis=1)
    twins, gap = pair.copy(), disparity.copy()
    same = labels[rows, pair[:, 0]] == labels[rows, pair[:, 1]]
    # With more than two classes the most distant outputs need not be the ones that flip.
    for i in np.flatnonzero(verdict & same):
        gaps = np.abs(scores[i][:, None, :] - scores[i][None, :, :]).max(axis=2)
        differ = (labels[i][:, None] != labels[i]) & valid[i][:, None] & valid[i]
        twins[i] = np.unravel_index(np.where(differ, gaps, -1.0).argmax(), gaps.shape)
        gap[i] = gaps[twins[i][0], twins[i][1]]
    return verdict, twins, gap
