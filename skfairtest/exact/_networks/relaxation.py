"""Bounds of a network, and of the difference of two coupled copies of it, over boxes.

Beside the values y, y' of both copies the *differences* y - y' are bounded, layer by layer: they
stay small where twins differ little, and a pass of intervals for each copy would not see that. A
linear function of a layer's differences is taken back through the layers by replacing every
activation by lines above or below it, until only the sensitive attributes' own parts are left.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from skfairtest._typing import Bools, Floats
from skfairtest.exact._networks.activation_bounds import Layer, through
from skfairtest.exact._networks.read_network import ReadNetwork
from skfairtest.exact._trees.link_bounds import exponential_gap, logistic_gap

#: What is made of each score by itself, as a bound of its differences.
GAPS = {"logistic": logistic_gap, "exp": exponential_gap}


class TwinBoxes(NamedTuple):
    """Boxes of the self-composition; arrays of length n_boxes along the first axis.

    `one` and `two` say which values of the tabulated attributes each twin may have, all attributes
    side by side; `low` and `high` are bounds of the encoded values of the interval variables, as
    `ReadNetwork` lists them, `least` and `most` the features there.
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


class Relaxation:
    """Bounds of a network and of the difference of its two copies."""

    def __init__(self, network: ReadNetwork) -> None:
        self.network = network
        #: Of the layers behind the first one.
        self._weights, self._biases = network.weights[1:], network.biases[1:]
        self._activations = network.activations

    # Outputs --------------------------------------------------------------------------------

    def whole(self) -> TwinBoxes:
        """Return the whole self-composition as one box."""
        return self._whole

    @cached_property
    def _whole(self) -> TwinBoxes:
        network = self.network
        n = len(network.stacked)
        own = network.interval_attributes
        low, high = network.space.domain.low[own][None], network.space.domain.high[own][None]
        return TwinBoxes(
            np.ones((1, n), dtype=bool),
            np.ones((1, n), dtype=bool),
            low,
            high,
            network.interval_values(low),
            network.interval_values(high),
        )

    @cached_property
    def whole_layers(self) -> list[Layer]:
        """What each layer gets in the whole self-composition."""
        return self.layers(self.whole())

    @cached_property
    def whole_bound(self) -> float:
        """The bound of the whole self-composition."""
        return float(self.bounds(self.whole())[0])

    def bounds(self, boxes: TwinBoxes) -> Floats:
        """Return upper bounds of the largest difference in each box, over all outputs."""
        layers = self.layers(boxes)
        last = layers[-1]
        depth = len(layers) - 1
        if self.network.out == "identity":
            return np.asarray(last.more.max(axis=1))
        if self.network.out in GAPS:
            gap = np.vectorize(GAPS[self.network.out])
            return np.asarray(gap(last.more, last.high[0], last.low[1]).max(axis=1))
        n = last.more.shape[1]
        best = np.full(len(boxes.one), -np.inf)
        for k in range(n):
            others = [j for j in range(n) if j != k]
            rows = np.eye(n)[k] - np.eye(n)[others]
            rows = np.broadcast_to(rows, (len(boxes.one), *rows.shape))
            margins = self.difference(rows, depth, layers[:-1], boxes)
            high = last.high[0][:, k] - logsumexp(last.low[0][:, others], axis=1)
            low = last.low[1][:, k] - logsumexp(last.high[1][:, others], axis=1)
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
        slopes = one @ (network.interval_weights * network.has[0][:, None]).T
        slopes += two @ (network.interval_weights * network.has[1][:, None]).T
        total += (np.maximum(slopes, 0.0) * boxes.most[:, None, :]).sum(axis=2)
        return total + (np.minimum(slopes, 0.0) * boxes.least[:, None, :]).sum(axis=2)

    def first_layer(self, boxes: TwinBoxes) -> Layer:
        """Return what the first layer gets, attribute by attribute."""
        network, effects = self.network, self.network.effects
        up, down = (
            np.maximum(network.interval_weights, 0.0),
            np.minimum(network.interval_weights, 0.0),
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
        """Return bounds of what each ReLU layer gets; the last entry is the network's output."""
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
        """Return upper bounds of linear functions of the input of layer `depth` in one copy."""
        total = np.zeros(rows.shape[:2])
        for layer in range(depth - 1, -1, -1):
            total += rows @ self._biases[layer]
            rows = rows @ self._weights[layer].T
            lines = self._activations[layer].lines(found[layer].low[twin], found[layer].high[twin])
            rows, added = through(rows, lines)
            total += added
        none = np.zeros_like(rows)
        one, two = (rows, none) if twin == 0 else (none, rows)
        return total + self.extreme(one, two, boxes)

    def difference(self, rows: Floats, depth: int, found: list[Layer], boxes: TwinBoxes) -> Floats:
        """Return upper bounds of linear functions of the difference that layer `depth` gets."""
        total = np.zeros(rows.shape[:2])
        for layer in range(depth - 1, 0, -1):
            rows = rows @ self._weights[layer].T
            rows, added = through(rows, self._activations[layer].lines_of_difference(found[layer]))
            total += added
        if depth == 0:
            return total + self.extreme(rows, -rows, boxes)
        rows = rows @ self._weights[0].T
        up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        best = np.full(total.shape, np.inf)
        for above_plane, below_plane in self._activations[0].planes(found[0]):
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
    """Return the smallest and largest entries among the allowed rows of a table, (n, n_sums)."""
    chosen = allowed[:, :, None]
    return np.where(chosen, table, np.inf).min(axis=1), np.where(chosen, table, -np.inf).max(axis=1)
