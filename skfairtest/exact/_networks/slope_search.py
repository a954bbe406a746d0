"""Bounds of deep networks by the slopes of their units between two twins.

Between twins a unit's activation changes by a slope times what the unit's sum changes by. Of ReLU
the slope is between 0 and 1, and fixed where the unit is on, or off, in the whole domain. For two
given values of the sensitive attributes the first sums change by known numbers, so that the
difference of the outputs is a product of known matrices and slopes: linear in each slope, hence
largest where every slope is at an end. Which ends is found by branch and bound. That looks at all
combinations of units being on and off, whether or not an input makes them so together, and is far
sharper for it than relaxations that let every unit be partly on. Where no slope is left, the box of
inputs is cut in two, in each of which more units are on or off throughout.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.exact._networks.activation_bounds import Layer, Lines, line_above, through
from skfairtest.exact._networks.box_search import BoxSearch
from skfairtest.exact._networks.lagrangian import Combinations, listable
from skfairtest.exact._networks.relaxation import TwinBoxes
from skfairtest.exact._networks.score_search import LINKS, ScoreSearch
from skfairtest.exact._networks.settings import DEFAULTS, NetworkSearchSettings
from skfairtest.exact._verifier import SolverLimits


class Slopes(NamedTuple):
    """Nodes: bounds of what the first layer changes by, and of the slopes of later layers.

    `first` is (2, n_nodes, n_units), `later` holds an array of this kind a layer.
    """

    output: Ints
    first: Floats
    later: list[Floats]


class ScorePart(NamedTuple):
    """A box of inputs for one pair of combinations of sensitive values, and one output.

    `first` holds the bounds of the first layer's change, (2, n_units).
    """

    output: int
    box: TwinBoxes
    first: Floats


class SlopeSearch(ScoreSearch[tuple[Ints, list[Floats]]]):
    """Open nodes: a part, and bounds of the slopes of later layers.

    - `boxes`: cuts boxes, and keeps better pairs.
    """

    def __init__(
        self, boxes: BoxSearch, limits: SolverLimits, settings: NetworkSearchSettings
    ) -> None:
        network, self.boxes = boxes.network, boxes
        self._weights = network.weights[1:]
        n_units = sum(len(W) for W in self._weights)
        most = settings.max_bytes // (600 + 32 * n_units + 4 * len(network.stacked))
        super().__init__(boxes.relaxation, limits, most)
        self._sets = Combinations(network.effects, network.sensitive)
        #: Parts by number, those alone that are not cut.
        self._parts: dict[int, ScorePart] = {}
        self._n_parts = 0
        n = len(self._sets.parts)
        self._waiting = [(i, j) for i in range(n) for j in range(n) if i != j]
        largest = max(W.size for W in self._weights)
        self.batch = int(np.clip(settings.max_products // largest, 4, 256))
        self._n_boxes_a_batch = int(np.clip(settings.max_products // (8 * largest), 2, 64))
        size = network.effects.size
        for W in self._weights:
            size = size * max(1.0, float(np.abs(W).sum(axis=0).max()))
        self.rounding = 2 * 2.3e-16 * (n_units + 64) * size
        while self._waiting and not limits.is_late:
            n = self._n_boxes_a_batch
            pairs, self._waiting = self._waiting[:n], self._waiting[n:]
            whole = self._whole_of(pairs)
            for output in range(self._weights[-1].shape[1]):
                outputs = np.full(len(pairs), output)
                self._begin(outputs, whole, np.full(len(pairs), np.inf))

    @classmethod
    def make(
        cls, boxes: BoxSearch, limits: SolverLimits, settings: NetworkSearchSettings = DEFAULTS
    ) -> SlopeSearch | None:
        """Return the search, or None where there is nothing to search, or too much to list."""
        network = boxes.network
        if len(network.weights) < 3 or network.out not in LINKS:
            return None
        if limits.is_late or not listable(network):
            return None
        n = np.prod([float(len(network.effects.tables[j])) for j in network.sensitive])
        return None if n * (n - 1) > settings.max_pairs else cls(boxes, limits, settings)

    @property
    def upper(self) -> float:
        """No difference of an output is larger; infinite until all pairs were looked at."""
        return np.inf if self._waiting else super().upper

    # Boxes ----------------------------------------------------------------------------------

    def _whole_of(self, pairs: list[tuple[int, int]]) -> TwinBoxes:
        """Return the whole domain with two given combinations of sensitive values, a pair each."""
        whole = self.relaxation.whole().take(np.zeros(len(pairs), dtype=np.intp))
        network = self.network
        for twin, allowed in enumerate((whole.one, whole.two)):
            for k, j in enumerate(network.sensitive):
                span = network.spans[j]
                allowed[:, span] = False
                places = self._sets.places[[pair[twin] for pair in pairs], k]
                allowed[np.arange(len(pairs)), span.start + places] = True
        return whole

    def _begin(self, outputs: Ints, boxes: TwinBoxes, above: Floats) -> None:
        """Bound boxes, each a part whose slopes are as free as its inputs leave them."""
        layers = self.relaxation.layers(boxes)
        network = self.network
        first_sums = [
            sum(
                (network.effects.tables[j][allowed[:, network.spans[j]].argmax(axis=1)]
                 for j in network.sensitive),
                np.zeros((len(outputs), len(network.effects.base))),
            )
            for allowed in (boxes.one, boxes.two)
        ]  # fmt: skip
        first = self._changes(layers[0], first_sums[0] - first_sums[1])
        later = []
        for activation, layer in zip(network.activations[1:], layers[1:-1], strict=True):
            bounds = np.minimum(*layer.low), np.maximum(*layer.high)
            later.append(np.stack(activation.slope_bounds(*bounds)))
        # What relaxations of the box say holds, too; of a single input it is exact.
        above = np.minimum(above, layers[-1].more[np.arange(len(outputs)), outputs])
        numbers = self._n_parts + np.arange(len(outputs))
        self._n_parts += len(outputs)
        for i, number in enumerate(numbers):
            own = boxes.take(np.array([i]))
            self._parts[int(number)] = ScorePart(int(outputs[i]), own, first[:, i].copy())
        self._push(Slopes(outputs, first, later), numbers, above)

    def _cut_boxes(self, parts: list[ScorePart], above: Floats) -> None:
        """Go on with two halves of each part's box."""
        joined = TwinBoxes(*(np.concatenate(a) for a in zip(*(p.box for p in parts), strict=True)))
        halves, origin = self.boxes.split(joined)
        single = np.setdiff1d(np.arange(len(parts)), origin)
        # Where nothing is left to cut, the bound stands.
        for upper in above[single]:
            self.queue.fathom(float(upper))
        if len(origin):
            self.boxes.try_corners(halves)
            outputs = np.array([part.output for part in parts])[origin]
            self._begin(outputs, halves, above[origin])

    def _changes(self, layer: Layer, change: Floats) -> Floats:
        """Return bounds of what the first layer's activations change by, (2, n_pairs, n_units)."""
        activation = self.network.activations[0]
        # Of ReLU the bounds decide; of tanh the place where both are nearest to zero, too.
        places = [layer.low[0], layer.high[0], np.clip(change / 2, layer.low[0], layer.high[0])]
        found = np.stack([activation.value(p) - activation.value(p - change) for p in places])
        # The second twin's own bounds may be off by a rounding error.
        slack = 1e-13 * (np.abs(layer.low[0]) + np.abs(layer.high[0]) + np.abs(change))
        return np.stack([found.min(axis=0) - slack, found.max(axis=0) + slack])

    # Nodes ----------------------------------------------------------------------------------

    def _bound(self, nodes: Slopes) -> tuple[Floats, Ints, Ints]:
        """Bounds of nodes, and the layer and unit whose slope matters most; -1 where none does."""
        low, high = nodes.first
        lines: list[Lines] = []
        spans: list[tuple[Floats, Floats]] = []
        for k, W in enumerate(self._weights):
            if k + 1 == len(self._weights):
                rows = self._weights[-1].T[nodes.output][:, None]
                break
            rows = np.broadcast_to(W.T, (len(low), *W.T.shape))
            if k == 0:
                up, down = np.maximum(W, 0.0), np.minimum(W, 0.0)
                more, less = high @ up + low @ down, low @ up + high @ down
            else:
                more = self._back(rows, lines, low, high)[0]
                less = -self._back(-rows, lines, low, high)[0]
            spans.append((less, more))
            flat, steep = nodes.later[k]
            above, above_at = line_above(flat, steep, less, more)
            below, below_at = line_above(flat, steep, -more, -less)
            lines.append((above, above_at, below, -below_at))
        total, factors = self._back(rows, lines, low, high)
        scores = []
        for factor, (less, more), own in zip(factors, spans, nodes.later, strict=True):
            width = np.maximum(more - less, 1e-300)
            crosses = np.where((less < 0) & (more > 0), -less * more / width, 0.0)
            scores.append(np.abs(factor[:, 0]) * crosses * (own[1] - own[0]))
        every = np.concatenate(scores, axis=1)
        best = every.argmax(axis=1)
        borders = np.cumsum([0, *(s.shape[1] for s in scores)])
        layer = np.searchsorted(borders, best, side="right") - 1
        unit = best - borders[layer]
        layer = np.where(every.max(axis=1) > 0, layer, -1)
        return total[:, 0], layer, unit

    def _back(
        self, rows: Floats, lines: list[Lines], low: Floats, high: Floats
    ) -> tuple[Floats, list[Floats]]:
        """Upper bounds of linear functions of a layer's activations, and factors on the way."""
        total = np.zeros(rows.shape[:2])
        factors = []
        for k in range(len(lines) - 1, -1, -1):
            factors.append(rows)
            rows, added = through(rows, lines[k])
            total += added
            rows = rows @ self._weights[k].T
        up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        total += np.matmul(up, high[:, :, None])[:, :, 0]
        total += np.matmul(down, low[:, :, None])[:, :, 0]
        return total, factors[::-1]

    def _push(self, nodes: Slopes, numbers: Ints, above: Floats) -> None:
        bounds, layer, unit = self._bound(nodes)
        bounds = np.minimum(bounds, above)
        self.queue.n_boxes += len(bounds)
        for i, upper in enumerate(bounds):
            facts = np.array([numbers[i], layer[i], unit[i]])
            self.queue.push(float(upper), (facts, [own[:, i].copy() for own in nodes.later]))

    def _cut(self, nodes: list[tuple[Ints, list[Floats]]], uppers: list[float]) -> None:
        """Fix a slope of each node, at both of its ends, or cut the node's box."""
        taken: list[tuple[float, Ints, list[Floats]]] = []
        cut: list[ScorePart] = []
        above: list[float] = []
        #: The largest bound of each part: nodes come with falling bounds.
        tops: dict[int, float] = {}
        for (facts, later), upper in zip(nodes, uppers, strict=True):
            number = int(facts[0])
            if number not in self._parts:
                continue  # its box was cut
            tops.setdefault(number, upper)
            if facts[1] >= 0:
                taken.append((upper, facts, later))
            elif len(cut) < self._n_boxes_a_batch:
                # No slope is left to fix. What was taken of this part goes with its box.
                cut.append(self._parts.pop(number))
                above.append(tops[number])
            else:
                self.queue.push(upper, (facts, later))
        taken = [entry for entry in taken if int(entry[1][0]) in self._parts]
        if cut:
            self._cut_boxes(cut, np.array(above))
        if not taken:
            return
        facts = np.array([entry[1] for entry in taken])
        parts = [self._parts[int(number)] for number in facts[:, 0]]
        first = np.tile(np.stack([part.first for part in parts], axis=1), (1, 2, 1))
        later = [np.stack(own, axis=1) for own in zip(*(entry[2] for entry in taken), strict=True)]
        n = len(taken)
        later = [np.tile(own, (1, 2, 1)) for own in later]
        for i, (_, layer, unit) in enumerate(facts):
            own = later[layer]
            own[1, i, unit] = own[0, i, unit]
            own[0, n + i, unit] = own[1, n + i, unit]
        outputs = np.tile(np.array([part.output for part in parts]), 2)
        bounds = np.tile(np.array([entry[0] for entry in taken]), 2)
        self._push(Slopes(outputs, first, later), np.tile(facts[:, 0], 2), bounds)
