"""Express outputs by the outputs of other models, and derive their bounds.

Known of a number for twins are: how far it differs between them at most (`gap`), and its range over
the domain. A nondecreasing function of such a number differs by no more than it rises over a window
as wide as the gap, somewhere in the range; a weighted sum by no more than the weighted gaps add up
to. Every part is bounded by itself: of several parts the bound holds, but need not be reached.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax

from skfairtest._typing import Floats
from skfairtest.exact._trees.link_bounds import logistic_gap
from skfairtest.whitebox._tree_model import EPS
from skfairtest.workers._compiled import plain

#: Distance from 1 to the next number in single precision.
SINGLE_EPS = float(np.finfo(np.float32).eps)
#: Windows that a range is cut into at first, and each open one in every further round.
FIRST_PIECES, PIECES = 256, 8
#: Rounds of cutting windows, and open ones beyond which the bound stays as it is.
ROUNDS, MOST_OPEN = 30, 20_000
#: Pieces of the range in which slopes are looked at, to see what rounding does.
GRID = 4096
#: Share of the size of a number beyond which what rounding does to it is not said.
VAGUE = 1e-3
#: A window is done where its bound exceeds what is attained by this share.
CLOSE = 1e-11


class Known(NamedTuple):
    """Bounds of a number: its largest difference between twins, its range and its rounding.

    Of a `vague` one it is not known what rounding does: it may be a share in next to nothing. Its
    gap holds all the same.
    """

    gap: float
    low: float
    high: float
    rounding: float
    vague: bool = False


#: What is known of, or the values of, each output of a model inside: by the model and the output.
Given = Callable[["ModelOutput"], Any]


class Node(ABC):
    """A number that is made of the outputs of models."""

    of: Any  # another number, or several

    def model_outputs(self) -> Iterator[ModelOutput]:
        """Return the outputs of models on which the number depends."""
        for node in self.of if isinstance(self.of, tuple) else (self.of,):
            yield from node.model_outputs()

    @abstractmethod
    def value(self, given: Given) -> Floats:
        """Return the number, from the values of the models' outputs."""

    @abstractmethod
    def known(self, given: Given) -> Known:
        """Return the bounds of the number, from the bounds of the models' outputs."""


@dataclass(frozen=True)
class ModelOutput(Node):
    """Output of an inner model.

    - `estimator`: Fitted.
    - `response`: how it is asked.
    - `output`: which output; of two classes there is one, that of the second class.
    """

    estimator: Any
    response: str
    output: int

    def model_outputs(self) -> Iterator[ModelOutput]:
        yield self

    def value(self, given: Given) -> Floats:
        return np.asarray(given(self))

    def known(self, given: Given) -> Known:
        known: Known = given(self)
        return known


@dataclass(frozen=True)
class MonotoneFunction(Node):
    """Monotone function of another number.

    - `of`: the number.
    - `function`: of an array.
    - `rises`: whether it never falls; else it never rises.
    - `steepest`: its largest slope, where a grid of its range may not show it.
    - `link`: of a number x it is this link of ``factor * x + shift``.
    """

    of: Node
    function: Callable[[Floats], Floats]
    rises: bool = True
    steepest: float = 0.0
    link: tuple[str, float, float] | None = None

    def value(self, given: Given) -> Floats:
        return np.asarray(self.function(self.of.value(given)), dtype=np.float64)

    def known(self, given: Given) -> Known:
        gap, low, high, rounding, vague = self.of.known(given)
        low, high = low - rounding, high + rounding
        if not self.rises:
            low, high = -high, -low
        with np.errstate(all="ignore"):
            ends = self._rising(np.array([low, high]))
            if np.isnan(ends).any() or ends[0] > ends[1]:
                ends = np.array([-np.inf, np.inf])
            # What is computed in single precision is rounded to it.
            single = np.asarray(self.function(ends)).dtype == np.float32
            slack = 8 * (SINGLE_EPS if single else EPS) * float(np.abs(ends).max())
            if np.isfinite(high - low):
                # Places of windows are rounded, too.
                slack += 8 * EPS * self.steepest * max(abs(low), abs(high))
            window = rising_gap(self._rising, gap, low, high) + slack * (gap > 0)
            moved = self._moved(rounding, low, high) + slack
            if moved > VAGUE * float(np.abs(ends).max()):
                # It is too steep somewhere for what rounding does there to say anything.
                moved, vague = 0.0, True
        return Known(window, float(ends[0]), float(ends[1]), moved, vague)

    def _moved(self, rounding: float, low: float, high: float) -> float:
        """Return how far rounding of the number carries its function."""
        if rounding <= 0:
            return 0.0
        ends = np.array([low, min(low + rounding, high), max(high - rounding, low), high])
        heights = self._rising(ends)
        slope = self.steepest
        if np.isfinite(high - low) and high > low:
            grid = np.linspace(low, high, GRID + 1)
            slope = max(slope, float(np.diff(self._rising(grid)).max()) * GRID / (high - low))
        found = max(4 * slope * rounding, heights[1] - heights[0], heights[3] - heights[2])
        return float(found) if np.isfinite(found) else np.inf

    def _rising(self, x: Floats) -> Floats:
        return np.asarray(self.function(x if self.rises else -x), dtype=np.float64)


@dataclass(frozen=True)
class WeightedSum(Node):
    """Weighted sum of other numbers.

    - `of`: the numbers.
    - `weights`: their weights.
    - `base`: what is added.
    """

    of: tuple[Node, ...]
    weights: tuple[float, ...]
    base: float = 0.0

    def value(self, given: Given) -> Floats:
        parts = [w * node.value(given) for w, node in zip(self.weights, self.of, strict=True) if w]
        return np.asarray(sum(parts, self.base * np.ones(1)))

    def known(self, given: Given) -> Known:
        gap, low, high, rounding, size = 0.0, self.base, self.base, 0.0, abs(self.base)
        vague = False
        for weight, node in zip(self.weights, self.of, strict=True):
            if not weight:
                continue
            part = node.known(given)
            ends = sorted((weight * part.low, weight * part.high))
            gap, low, high = gap + abs(weight) * part.gap, low + ends[0], high + ends[1]
            rounding += abs(weight) * part.rounding
            size += max(abs(ends[0]), abs(ends[1]))
            vague |= part.vague
        size = size if np.isfinite(size) else 0.0
        return Known(gap, low, high, rounding + (len(self.of) + 8) * EPS * size, vague)


@dataclass(frozen=True)
class Softmax(Node):
    """Share of the exponential of one number in the sum of all exponentials.

    - `of`: all numbers.
    - `which`: the one.
    """

    of: tuple[Node, ...]
    which: int

    def value(self, given: Given) -> Floats:
        values = np.stack(np.broadcast_arrays(*(node.value(given) for node in self.of)))
        return np.asarray(softmax(values, axis=0)[self.which])

    def known(self, given: Given) -> Known:
        parts = [node.known(given) for node in self.of]
        own, rest = parts[self.which], [p for k, p in enumerate(parts) if k != self.which]
        # It is the logistic function of the own number less a mean of the others.
        high = float(own.high - logsumexp([p.low for p in rest]))
        low = float(own.low - logsumexp([p.high for p in rest]))
        apart = own.gap + max(p.gap for p in rest)
        gap = float(plain(logistic_gap)(apart, high, low)) + 8 * EPS if apart > 0 else 0.0
        moved = (own.rounding + max(p.rounding for p in rest)) / 4 + (len(parts) + 8) * EPS
        vague = any(part.vague for part in parts)
        return Known(gap, float(expit(low)), float(expit(high)), moved, vague)


def rising_gap(
    function: Callable[[Floats], Floats],
    gap: float,
    low: float,
    high: float,
) -> float:
    """Return the largest rise of a nondecreasing function over a window inside a range.

    - `function`: of an array.
    - `gap`: width of the window.
    - `low`, `high`: the range.
    - the result: an upper bound; as a rule to ten digits, for a function that is linear over much
      more than the window to four.
    """
    if gap <= 0:
        return 0.0
    # Sums of ends are rounded: a window is taken wider by that, never narrower.
    gap += 4 * EPS * max(abs(low), abs(high)) if np.isfinite(low) and np.isfinite(high) else 0.0
    if not gap < high - low or not np.isfinite(high - low):
        ends = function(np.array([low, high]))
        rise = float(ends[1] - ends[0])
        return rise if np.isfinite(rise) else np.inf
    edges = np.linspace(low, high - gap, FIRST_PIECES + 1)
    left, right = edges[:-1], edges[1:]
    best = 0.0
    for turn in range(ROUNDS):
        before = function(left)
        bounds = function(right + gap) - before
        if not np.isfinite(bounds).all():
            return np.inf
        best = max(best, float((function(left + gap) - before).max()))
        live = bounds > best * (1 + CLOSE)
        if not live.any():
            break
        if turn == ROUNDS - 1 or live.sum() > MOST_OPEN:
            return float(bounds.max())
        steps = np.linspace(0.0, 1.0, PIECES + 1)
        inner = left[live, None] + (right - left)[live, None] * steps
        inner[:, -1] = right[live]
        left, right = inner[:, :-1].ravel(), inner[:, 1:].ravel()
    return best * (1 + CLOSE)
