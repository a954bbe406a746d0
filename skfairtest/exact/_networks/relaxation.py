"""Bounds of a network with ReLU, and of the difference of two coupled copies of it, over boxes.

Beside the values y, y' of both copies the *differences* y - y' are bounded, layer by layer: they
stay small where twins differ little, and a pass of intervals for each copy would not see that. A
linear function of a layer's differences is taken back through the layers by replacing every ReLU by
lines above or below it, until only the sensitive attributes' own parts are left.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from skfairtest._typing import Bools, Floats
from skfairtest.exact._networks.read_network import ReadNetwork
from skfairtest.exact._trees.link_bounds import exponential_gap, logistic_gap


class TwinBoxes(NamedTuple):
    """Boxes of the doubled domain; arrays of length n_boxes along the first axis.

    `one` and `two` say which values of the tabulated attributes each twin may have, all attributes
    side by side; `low` and `high` are the ends of the codes of the wide variables, as `ReadNetwork`
    lists them, `least` and `most` the features there.
    """

    one: Bools
    two: Bools
    low: Floats
    high: Floats
    least: Floats
    most: Floats

    def take(self, which: NDArray[np.generic]) -> TwinBoxes:
        """Some of the boxes."""
        return TwinBoxes(*(array[which] for array in self))


class Layer(NamedTuple):
    """What a ReLU layer gets, in both copies and as a difference; (n_boxes, n_units) each."""

    low: tuple[Floats, Floats]
    high: tuple[Floats, Floats]
    less: Floats
    more: Floats


class Relaxation:
    """Bounds of a network and of the difference of its two copies.

    Parameters
    ----------
    network : ReadNetwork
        The network.
    """

    def __init__(self, network: ReadNetwork) -> None:
        self.network = network
        #: Of the layers behind the first one.
        self._weights, self._biases = network.weights[1:], network.biases[1:]

    # Outputs --------------------------------------------------------------------------------

    def whole(self) -> TwinBoxes:
        """The whole doubled domain as one box."""
        network = self.network
        n = len(network.stacked)
        wide = network.wide_attributes
        low, high = network.space.low[wide][None], network.space.high[wide][None]
        return TwinBoxes(
            np.ones((1, n), dtype=bool),
            np.ones((1, n), dtype=bool),
            low,
            high,
            network.wide_values(low),
            network.wide_values(high),
        )

    @cached_property
    def whole_bound(self) -> float:
        """The bound of the whole doubled domain."""
        return float(self.bounds(self.whole())[0])

    def bounds(self, boxes: TwinBoxes) -> Floats:
        """Upper bounds of the largest difference in each box, over all outputs."""
        layers = self.layers(boxes)
        last = layers[-1]
        depth = len(layers) - 1
        if self.network.out in ("identity", "exp", "logistic"):
            gaps = {"exp": exponential_gap, "logistic": logistic_gap}
            if self.network.out == "identity":
                return np.asarray(last.more.max(axis=1))
            gap = np.vectorize(gaps[self.network.out])
            return np.asarray(gap(last.more, last.high[0], last.low[1]).max(axis=1))
        n = last.more.shape[1]
        best = np.full(len(boxes.one), -np.inf)
        for k in range(n):
            others = [j for j in range(n) if j != k]
            rows = np.eye(n)[k] - np.eye(n)[others]
            rows = np.broadcast_to(rows, (len(boxes.one), *rows.shape))
            margins = self.difference(rows, depth, layers[:-1], boxes)
            high = last.high[0][:, k] - _logsumexp(last.low[0][:, others])
            low = last.low[1][:, k] - _logsumexp(last.high[1][:, others])
            best = np.maximum(best, np.vectorize(logistic_gap)(margins.max(axis=1), high, low))
        return best

    # The first layer ------------------------------------------------------------------------

    def extreme(self, one: Floats, two: Floats, boxes: TwinBoxes) -> Floats:
        """Largest value of one @ y + two @ y' over boxes, for the first layer's y of both copies.

        `one` and `two` are (n_boxes, n_functions, n_units); the result is (n_boxes, n_functions).
        Free attributes are shared by the copies, so their parts may cancel.
        """
        network, effects = self.network, self.network.effects
        both = one + two
        total = both @ effects.base
        for j in network.names:
            table, span = effects.tables[j].T, network.spans[j]
            if j not in network.sensitive:
                total += _best(both @ table, boxes.one[:, span])
                continue
            total += _best(one @ table, boxes.one[:, span])
            total += _best(two @ table, boxes.two[:, span])
        slopes = one @ (network.wide_weights * network.has[0][:, None]).T
        slopes += two @ (network.wide_weights * network.has[1][:, None]).T
        total += (np.maximum(slopes, 0.0) * boxes.most[:, None, :]).sum(axis=2)
        return total + (np.minimum(slopes, 0.0) * boxes.least[:, None, :]).sum(axis=2)

    def first_layer(self, boxes: TwinBoxes) -> Layer:
        """What the first layer gets, attribute by attribute."""
        network, effects = self.network, self.network.effects
        up, down = (
            np.maximum(network.wide_weights, 0.0),
            np.minimum(network.wide_weights, 0.0),
        )
        lows, highs = [], []
        for allowed, has in zip((boxes.one, boxes.two), network.has, strict=True):
            least, most = boxes.least[:, has], boxes.most[:, has]
            high = effects.base + most @ up[has] + least @ down[has]
            low = effects.base + least @ up[has] + most @ down[has]
            for j, span in network.spans.items():
                smallest, largest = value_range(effects.tables[j], allowed[:, span])
                low, high = low + smallest, high + largest
            lows.append(low)
            highs.append(high)
        # Of what the twins share, nothing is left in their difference.
        one, two = (
            network.has[0] & ~network.has[1],
            network.has[1] & ~network.has[0],
        )
        less = boxes.least[:, one] @ up[one] + boxes.most[:, one] @ down[one]
        less = less - (boxes.most[:, two] @ up[two] + boxes.least[:, two] @ down[two])
        more = boxes.most[:, one] @ up[one] + boxes.least[:, one] @ down[one]
        more = more - (boxes.least[:, two] @ up[two] + boxes.most[:, two] @ down[two])
        for j in network.sensitive:
            first = value_range(effects.tables[j], boxes.one[:, network.spans[j]])
            second = value_range(effects.tables[j], boxes.two[:, network.spans[j]])
            less, more = less + first[0] - second[1], more + first[1] - second[0]
        return Layer((lows[0], lows[1]), (highs[0], highs[1]), less, more)

    # Layers ---------------------------------------------------------------------------------

    def layers(self, boxes: TwinBoxes) -> list[Layer]:
        """Bounds of what each ReLU layer gets; the last entry is the network's output."""
        found = [self.first_layer(boxes)]
        for depth in range(1, len(self._weights) + 1):
            width = self._weights[depth - 1].shape[1]
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
        self, rows: Floats, depth: int, found: list[Layer], boxes: TwinBoxes, twin: int
    ) -> Floats:
        """Upper bounds of linear functions of the input of layer `depth` in one copy."""
        total = np.zeros(rows.shape[:2])
        for layer in range(depth - 1, -1, -1):
            total += rows @ self._biases[layer]
            rows = rows @ self._weights[layer].T
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

    def difference(self, rows: Floats, depth: int, found: list[Layer], boxes: TwinBoxes) -> Floats:
        """Upper bounds of linear functions of the difference that layer `depth` gets."""
        total = np.zeros(rows.shape[:2])
        for layer in range(depth - 1, 0, -1):
            rows = rows @ self._weights[layer].T
            above, above_at, below, below_at = (a[:, None, :] for a in lines(found[layer]))
            up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
            total += (up * above_at + down * below_at).sum(axis=2)
            rows = up * above + down * below
        if depth == 0:
            return total + self.extreme(rows, -rows, boxes)
        rows = rows @ self._weights[0].T
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


def _logsumexp(scores: Floats) -> Floats:
    return np.asarray(logsumexp(scores, axis=1))
