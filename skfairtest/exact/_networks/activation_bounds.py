"""Lines above and below activations, and above and below the difference of two of them.

Of a unit known are bounds of what it gets in both twins, y and y', and of the difference y - y'.
Each line is a slope and an offset; a *plane* above or below the difference of what the unit gives
has a slope by y and one by y'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats
from skfairtest.whitebox._layers import RELU

#: Slopes above and below, each with its offset: above, above_at, below, below_at.
Lines = tuple[Floats, Floats, Floats, Floats]


#: Slopes by y and by y', and offsets, of lines above or below relu(y) - relu(y').
Plane = tuple[Floats, Floats, Floats]


class Layer(NamedTuple):
    """What activations get, in both copies and as a difference; (n_boxes, n_units) each."""

    low: tuple[Floats, Floats]
    high: tuple[Floats, Floats]
    less: Floats
    more: Floats

    def exchanged(self) -> Layer:
        """Return the same with the copies exchanged."""
        return Layer(self.low[::-1], self.high[::-1], -self.more, -self.less)


def through(rows: Floats, lines: Lines) -> tuple[Floats, Floats]:
    """Bound linear functions of what activations give by functions of what they get.

    - `rows` (n, n_functions, n_units): the functions.
    - `lines`: above and below the activations.
    - the result: the functions above, and what has to be added to them, (n, n_functions).
    """
    above, above_at, below, below_at = (line[:, None, :] for line in lines)
    up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
    return up * above + down * below, (up * above_at + down * below_at).sum(axis=2)


def line_above(
    flat: Floats | float, steep: Floats | float, less: Floats, more: Floats
) -> tuple[Floats, Floats]:
    """Return a line above a slope times a change, by the change: its slope and its offset.

    - `flat`, `steep`: bounds of the slope.
    - `less`, `more`: bounds of the change.
    """
    crosses = (less < 0) & (more > 0)
    width = np.where(crosses, more - less, 1.0)
    slope = np.where(
        crosses, (steep * more - flat * less) / width, np.where(less >= 0, steep, flat)
    )
    return slope, np.where(crosses, (flat - slope) * less, 0.0)


class BoundedActivation:
    """An activation, and lines around it."""

    def value(self, sums: Floats) -> Floats:
        """Return the activation."""
        raise NotImplementedError

    def slope(self, sums: Floats) -> Floats:
        """Its slope."""
        raise NotImplementedError

    def slope_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the least and the largest slope between two bounds."""
        raise NotImplementedError

    def lines(self, low: Floats, high: Floats) -> Lines:
        """Return lines above and below it between two bounds."""
        raise NotImplementedError

    def lines_of_difference(self, layer: Layer) -> Lines:
        """Return lines above and below the difference, by the difference that the layer gets."""
        above, above_at = self._above_difference(layer)
        below, below_at = self._above_difference(layer.exchanged())
        return above, above_at, below, -below_at

    def planes(self, layer: Layer) -> list[tuple[Plane, Plane]]:
        """Return planes above and below the difference, in several ways; the least bound counts."""
        above, above_at, below, below_at = self.lines_of_difference(layer)
        return [((above, -above, above_at), (below, -below, below_at))]

    def _above_difference(self, layer: Layer) -> tuple[Floats, Floats]:
        """Return a line above the difference."""
        raise NotImplementedError


class Relu(BoundedActivation):
    """The positive part."""

    def value(self, sums: Floats) -> Floats:
        return np.maximum(sums, 0.0)

    def slope(self, sums: Floats) -> Floats:
        return np.where(sums > 0, 1.0, 0.0)

    def slope_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return self.slope(low), self.slope(high)

    def lines(self, low: Floats, high: Floats) -> Lines:
        open_ = (low < 0) & (high > 0)
        above = np.where(open_, high / np.where(open_, high - low, 1.0), (low >= 0) * 1.0)
        below = np.where(open_, (high > -low) * 1.0, (low >= 0) * 1.0)
        return above, np.where(open_, -above * low, 0.0), below, np.zeros_like(low)

    def _above_difference(self, layer: Layer) -> tuple[Floats, Floats]:
        """Return a line above relu(y) - relu(y')."""
        low, high, less, more = layer
        slope, offset = line_above(0.0, 1.0, less, more)
        # The difference of the outputs is also at most what the two copies allow each by itself.
        cap = np.maximum(high[0], 0.0) - np.maximum(low[1], 0.0)
        capped = cap < slope * (less + more) / 2 + offset
        slope, offset = np.where(capped, 0.0, slope), np.where(capped, cap, offset)
        both_on = (low[0] >= 0) & (low[1] >= 0)
        both_off = (high[0] <= 0) & (high[1] <= 0)
        slope = np.where(both_on, 1.0, np.where(both_off, 0.0, slope))
        return slope, np.where(both_on | both_off, 0.0, offset)


class Tanh(BoundedActivation):
    """The hyperbolic tangent: convex left of zero, concave right of it."""

    def value(self, sums: Floats) -> Floats:
        return np.tanh(sums)

    def slope(self, sums: Floats) -> Floats:
        return 1.0 - np.tanh(sums) ** 2

    def slope_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        far, near = np.maximum(np.abs(low), np.abs(high)), np.clip(0.0, low, high)
        return self.slope(far), self.slope(near)

    def lines(self, low: Floats, high: Floats) -> Lines:
        above, above_at = self._above(low, high)
        below, below_at = self._above(-high, -low)
        return above, above_at, below, -below_at

    def _above(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        at_low, at_high = np.tanh(low), np.tanh(high)
        width = high - low
        chord = np.where(width > 0, (at_high - at_low) / np.where(width > 0, width, 1.0), 0.0)
        # Of neighbouring numbers the chord may be anything: no line of it is needed.
        chord = np.where(width > 1e-9, np.clip(chord, 0.0, 1.0), self.slope(low))
        # A tangent right of zero is above as soon as it is so at the lower end.
        left, right = np.maximum(low, 0.0), np.maximum(high, 0.0)
        touch = (left + right) / 2
        crosses = (low < 0) & (high > 0)
        if crosses.any():
            left, right = np.where(crosses, 0.0, touch), np.where(crosses, high, touch)
            # The point whose tangent meets the graph again is found by 12 halvings.
            for _ in range(12):
                middle = (left + right) / 2
                fine = np.tanh(middle) + self.slope(middle) * (low - middle) >= at_low
                left, right = np.where(fine, left, middle), np.where(fine, middle, right)
            touch = np.where(crosses, right, touch)
        slope, at = self.slope(touch), np.tanh(touch)
        # Where no tangent between does, or all is left of zero, the chord is above.
        top = np.tanh(high) + self.slope(high) * (low - high) < at_low
        by_chord = (high <= 0) | (crosses & top)
        tight = width <= 1e-9
        offset = np.where(by_chord, at_low - chord * low, at - slope * touch)
        slope = np.where(by_chord, chord, slope)
        slope = np.where(tight, 0.0, slope)
        return slope, np.where(tight, at_high, offset)

    def _above_difference(self, layer: Layer) -> tuple[Floats, Floats]:
        low, high, less, more = layer
        flat, steep = self.slope_bounds(np.minimum(*low), np.maximum(*high))
        slope, offset = line_above(flat, steep, less, more)
        # What the copies allow each by itself, and twice the tanh of half of the difference.
        cap = np.minimum(np.tanh(high[0]) - np.tanh(low[1]), 2 * np.tanh(np.maximum(more, 0) / 2))
        cap = np.where(more > 0, cap, np.inf)
        capped = cap < slope * (less + more) / 2 + offset
        return np.where(capped, 0.0, slope), np.where(capped, cap, offset)

    def planes(self, layer: Layer) -> list[tuple[Plane, Plane]]:
        # Each copy by itself, too: that depends on where y and y' lie.
        one = self.lines(layer.low[0], layer.high[0])
        two = self.lines(layer.low[1], layer.high[1])
        by_value = (one[0], -two[2], one[1] - two[3]), (one[2], -two[0], one[3] - two[1])
        return [*super().planes(layer), by_value]


def bounded_activation(activation: str) -> BoundedActivation:
    """Return lines around an activation of the normal form."""
    return Relu() if activation == RELU else Tanh()
