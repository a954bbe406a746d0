"""Bounds of a network with ReLU, and of the difference of two coupled copies of it, over boxes.

Beside the values y, y' of both copies the *differences* y - y' are bounded, layer by layer: they
stay small where twins differ little, and a pass of intervals for each copy would not see that. A
linear function of a layer's differences is taken back through the layers by replacing every ReLU by
lines above or below it, until only the sensitive attributes' own parts are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.whitebox._additive import Effects

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


#: Marks a variable that both twins share.
BOTH = 2


class Boxes(NamedTuple):
    """Boxes of the doubled domain; arrays of length n_boxes along the first axis.

    `one` and `two` say which values of the tabulated attributes each twin may have, all attributes
    side by side; `low` and `high` are the ends of the codes of the wide variables (see `Network`),
    `least` and `most` the features there.
    """

    one: Bools
    two: Bools
    low: Floats
    high: Floats
    least: Floats
    most: Floats

    def take(self, which: NDArray[np.generic]) -> Boxes:
        """Some of the boxes."""
        return Boxes(*(array[which] for array in self))


class Layer(NamedTuple):
    """What a ReLU layer gets, in both copies and as a difference; (n_boxes, n_units) each."""

    low: tuple[Floats, Floats]
    high: tuple[Floats, Floats]
    less: Floats
    more: Floats


class Network:
    """Weights of a network behind the effects of the attributes on its first layer.

    Parameters
    ----------
    effects : Effects
        First layer, by attribute.
    weights, biases : list of ndarray
        The other layers.

    Attributes
    ----------
    variables : list of (int, int)
        Wide attributes, each with the twin whose variable it is: 0 or 1 for the two copies of a
        sensitive attribute, `BOTH` for one that the twins share.
    """

    def __init__(self, effects: Effects, weights: list[Floats], biases: list[Floats]) -> None:
        self.effects, self.weights, self.biases = effects, weights, biases
        sensitive = set(effects.space.sensitive.tolist())
        self.names = sorted(effects.tables)
        ends = np.cumsum([0] + [len(effects.tables[j]) for j in self.names])
        self.spans = {j: slice(int(a), int(b)) for j, a, b in
                      zip(self.names, ends[:-1], ends[1:], strict=True)}  # fmt: skip
        self.stacked = (
            np.concatenate([effects.tables[j] for j in self.names])
            if self.names
            else np.zeros((0, len(effects.base)))
        )
        self.variables = [(j, BOTH) for j in effects.wide if j not in sensitive]
        self.variables += [(j, twin) for j in effects.wide if j in sensitive for twin in (0, 1)]
        self.wide_attributes = np.array([j for j, _ in self.variables], dtype=np.intp)
        #: Features of the wide variables, one variable after another.
        own = [effects.features.of(j) for j, _ in self.variables]
        self.wide_features = np.concatenate(own) if own else np.empty(0, dtype=np.intp)
        self.wide_weights = effects.weights[self.wide_features]
        self.wide_of = np.repeat(np.arange(len(own)), [len(o) for o in own])
        twins = np.array([twin for _, twin in self.variables], dtype=np.intp)
        #: Which of these features each twin has; of the shared ones both.
        self.has = [(twins[self.wide_of] == BOTH) | (twins[self.wide_of] == k) for k in (0, 1)]
        self.sensitive = [j for j in self.names if j in sensitive]
        self.sensitive_wide = [j for j in effects.wide if j in sensitive]

    def wide_values(self, codes: Floats) -> Floats:
        """Features of the wide variables at rows of their codes, (n, n_wide_features)."""
        if not len(self.wide_features):
            return np.empty((len(codes), 0))
        every = codes[:, self.wide_of]
        flat = self.effects.features.evaluate(
            np.tile(self.wide_features, len(codes)), every.ravel()
        )
        return flat.reshape(every.shape)

    def extreme(self, one: Floats, two: Floats, boxes: Boxes) -> Floats:
        """Largest value of one @ y + two @ y' over boxes, for the first layer's y of both copies.

        `one` and `two` are (n_boxes, n_functions, n_units); the result is (n_boxes, n_functions).
        Free attributes are shared by the copies, so their parts may cancel.
        """
        both = one + two
        total = both @ self.effects.base
        for j in self.names:
            table, span = self.effects.tables[j].T, self.spans[j]
            if j not in self.sensitive:
                total += _best(both @ table, boxes.one[:, span])
                continue
            total += _best(one @ table, boxes.one[:, span])
            total += _best(two @ table, boxes.two[:, span])
        slopes = one @ (self.wide_weights * self.has[0][:, None]).T
        slopes += two @ (self.wide_weights * self.has[1][:, None]).T
        total += (np.maximum(slopes, 0.0) * boxes.most[:, None, :]).sum(axis=2)
        return total + (np.minimum(slopes, 0.0) * boxes.least[:, None, :]).sum(axis=2)

    def first_layer(self, boxes: Boxes) -> Layer:
        """What the first layer gets, attribute by attribute."""
        up, down = np.maximum(self.wide_weights, 0.0), np.minimum(self.wide_weights, 0.0)
        lows, highs = [], []
        for allowed, has in zip((boxes.one, boxes.two), self.has, strict=True):
            least, most = boxes.least[:, has], boxes.most[:, has]
            high = self.effects.base + most @ up[has] + least @ down[has]
            low = self.effects.base + least @ up[has] + most @ down[has]
            for j, span in self.spans.items():
                smallest, largest = value_range(self.effects.tables[j], allowed[:, span])
                low, high = low + smallest, high + largest
            lows.append(low)
            highs.append(high)
        # Of what the twins share, nothing is left in their difference.
        one, two = self.has[0] & ~self.has[1], self.has[1] & ~self.has[0]
        less = boxes.least[:, one] @ up[one] + boxes.most[:, one] @ down[one]
        less = less - (boxes.most[:, two] @ up[two] + boxes.least[:, two] @ down[two])
        more = boxes.most[:, one] @ up[one] + boxes.least[:, one] @ down[one]
        more = more - (boxes.least[:, two] @ up[two] + boxes.most[:, two] @ down[two])
        for j in self.sensitive:
            first = value_range(self.effects.tables[j], boxes.one[:, self.spans[j]])
            second = value_range(self.effects.tables[j], boxes.two[:, self.spans[j]])
            less, more = less + first[0] - second[1], more + first[1] - second[0]
        return Layer((lows[0], lows[1]), (highs[0], highs[1]), less, more)

    # Layers ---------------------------------------------------------------------------------

    def layers(self, boxes: Boxes) -> list[Layer]:
        """Bounds of what each ReLU layer gets; the last entry is the network's output."""
        found = [self.first_layer(boxes)]
        for depth in range(1, len(self.weights) + 1):
            width = self.weights[depth - 1].shape[1]
            eye = np.broadcast_to(np.eye(width), (len(boxes.one), width, width))
            highs = [self._back(eye, depth, found, boxes, twin) for twin in range(2)]
            lows = [-self._back(-eye, depth, found, boxes, twin) for twin in range(2)]
            more = self.difference(eye, depth, found, boxes)
            less = -self.difference(-eye, depth, found, boxes)
            more = np.minimum(more, highs[0] - lows[1])
            less = np.maximum(less, lows[0] - highs[1])
            found.append(Layer((lows[0], lows[1]), (highs[0], highs[1]), less, more))
        return found

    def _back(
        self, rows: Floats, depth: int, found: list[Layer], boxes: Boxes, twin: int
    ) -> Floats:
        """Upper bounds of linear functions of the input of layer `depth` in one copy."""
        total = np.zeros(rows.shape[:2])
        for layer in range(depth - 1, -1, -1):
            total += rows @ self.biases[layer]
            rows = rows @ self.weights[layer].T
            low, high = found[layer].low[twin][:, None, :], found[layer].high[twin][:, None, :]
            open_ = (low < 0) & (high > 0)
            slope = np.where(open_, high / np.where(open_, high - low, 1.0), (low >= 0) * 1.0)
            under = np.where(open_, (high > -low) * 1.0, (low >= 0) * 1.0)
            up = np.maximum(rows, 0.0)
            total += (up * np.where(open_, -slope * low, 0.0)).sum(axis=2)
            rows = up * slope + np.minimum(rows, 0.0) * under
        none = np.zeros_like(rows)
        one, two = (rows, none) if twin == 0 else (none, rows)
        return total + self.extreme(one, two, boxes)

    def difference(self, rows: Floats, depth: int, found: list[Layer], boxes: Boxes) -> Floats:
        """Upper bounds of linear functions of the difference that layer `depth` gets."""
        total = np.zeros(rows.shape[:2])
        for layer in range(depth - 1, 0, -1):
            rows = rows @ self.weights[layer].T
            above, above_at, below, below_at = (a[:, None, :] for a in lines(found[layer]))
            up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
            total += (up * above_at + down * below_at).sum(axis=2)
            rows = up * above + down * below
        if depth == 0:
            return total + self.extreme(rows, -rows, boxes)
        rows = rows @ self.weights[0].T
        up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        best = np.full(total.shape, np.inf)
        for choose in (lines_by_difference, lines_by_value):
            above_plane, below_plane = choose(found[0])
            one, two, offset = (
                up * a[:, None, :] + down * b[:, None, :]
                for a, b in zip(above_plane, below_plane, strict=True)
            )
            best = np.minimum(best, offset.sum(axis=2) + self.extreme(one, two, boxes))
        return total + best


def _best(parts: Floats, allowed: Bools) -> Floats:
    """Largest part among the allowed values: of (n, n_functions, n_values) by (n, n_values)."""
    return np.where(allowed[:, None, :], parts, -np.inf).max(axis=2)


def value_range(table: Floats, allowed: Bools) -> tuple[Floats, Floats]:
    """Smallest and largest entries among the allowed rows of a table, (n, n_sums)."""
    chosen = allowed[:, :, None]
    return np.where(chosen, table, np.inf).min(axis=1), np.where(chosen, table, -np.inf).max(axis=1)


#: Slopes by y and by y', and offsets, of lines above or below relu(y) - relu(y').
Plane = tuple[Floats, Floats, Floats]


def lines_by_difference(layer: Layer) -> tuple[Plane, Plane]:
    """Planes above and below that depend on y - y' alone."""
    above, above_at, below, below_at = lines(layer)
    return (above, -above, above_at), (below, -below, below_at)


def lines_by_value(layer: Layer) -> tuple[Plane, Plane]:
    """Planes above and below that depend on where y and y' lie.

    Where the difference has one sign, relu(y) - relu(y') rises from 0 to it like a ramp, and a line
    over the ramp tells that not all units can be at its upper end in the same input.
    """
    above = _ramp(layer.low, layer.high, layer.less, layer.more)
    turned = _ramp(layer.low[::-1], layer.high[::-1], -layer.more, -layer.less)
    return above, (-turned[1], -turned[0], -turned[2])


def _ramp(low: tuple[Floats, ...], high: tuple[Floats, ...], less: Floats, more: Floats) -> Plane:
    slope, offset = _above(low, high, less, more)
    one, two = slope, -slope
    # Rising: 0 until y = 0, then y, at most the difference.
    top = np.minimum(more, high[0])
    rising = (less >= 0) & (low[0] < 0) & (top > 0)
    up = top / np.where(rising, top - low[0], 1.0)
    rising &= up * (high[0] - low[0]) / 2 < top
    one, two = np.where(rising, up, one), np.where(rising, 0.0, two)
    offset = np.where(rising, -up * low[0], offset)
    # Falling: 0 until y' = 0, then -y', at least the difference.
    falling = (more < 0) & (high[1] > -more) & (low[1] < 0) & (low[1] + high[1] > 0)
    down = more / np.where(falling, high[1], 1.0)
    one, two = np.where(falling, 0.0, one), np.where(falling, down, two)
    return one, two, np.where(falling, 0.0, offset)


def lines(layer: Layer) -> tuple[Floats, Floats, Floats, Floats]:
    """Lines above and below relu(y) - relu(y') as functions of y - y': slopes and offsets."""
    above, above_at = _above(layer.low, layer.high, layer.less, layer.more)
    # relu(y') - relu(y) is bounded the same way, with the copies exchanged.
    below, below_at = _above(layer.low[::-1], layer.high[::-1], -layer.more, -layer.less)
    return above, above_at, below, -below_at


def _above(
    low: tuple[Floats, ...], high: tuple[Floats, ...], less: Floats, more: Floats
) -> tuple[Floats, Floats]:
    crosses = (less < 0) & (more > 0)
    width = np.where(crosses, more - less, 1.0)
    slope = np.where(crosses, more / width, (less >= 0) * 1.0)
    offset = np.where(crosses, -slope * less, 0.0)
    # The difference of the outputs is also at most what the two copies allow each by itself.
    cap = np.maximum(high[0], 0.0) - np.maximum(low[1], 0.0)
    capped = cap < slope * (less + more) / 2 + offset
    slope, offset = np.where(capped, 0.0, slope), np.where(capped, cap, offset)
    both_on = (low[0] >= 0) & (low[1] >= 0)
    both_off = (high[0] <= 0) & (high[1] <= 0)
    slope = np.where(both_on, 1.0, np.where(both_off, 0.0, slope))
    return slope, np.where(both_on | both_off, 0.0, offset)
