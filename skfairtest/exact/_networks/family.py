"""Networks with ReLU, and linear models of several classes: bounds refined by splitting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skfairtest.exact._bracket import Bracket
from skfairtest.exact._linear import linear_map
from skfairtest.exact._networks.box_search import BoxSearch
from skfairtest.exact._networks.one_hidden.search import OneHidden
from skfairtest.exact._networks.relaxation import BOTH, Boxes, Network, value_range
from skfairtest.exact._trees.link_bounds import exponential_gap, logistic_gap
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._additive import Effects
from skfairtest.whitebox._features import HINT, Chain
from skfairtest.whitebox._link import probability_link

Floats = NDArray[np.float64]

#: Positions along the tables of some attributes, an array over boxes each.
Places = dict[int, NDArray[np.intp]]

NETWORKS = (MLPClassifier, MLPRegressor)
#: How much sooner sensitive attributes are split: differences are sharpest between single values.
SENSITIVE_FIRST = 8.0
#: Marks a split of the interval of a wide variable, beside the twins whose values are split.
INTERVAL = 3


class NetworkFamily:
    """A network, or a linear model of several classes, read out.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    space : InputSpace
        The inputs that exist.
    response : {"regression", "predict_proba", "decision_function"}
        What is asked of it.

    Raises
    ------
    ValueError
        If the activation is not ReLU, or the link is not understood.
    """

    quick, loose = False, True

    def __init__(self, estimator: Any, space: InputSpace, response: str) -> None:
        chain, model = Chain(space).open(estimator)
        if isinstance(model, NETWORKS):
            weights, biases, self.out = _layers(model)
            single = model.coefs_[0].dtype == np.float32
        else:
            W, b, _ = linear_map(model, response)
            if (
                isinstance(model, SGDClassifier)
                or probability_link(model, W.shape[1], HINT) != "softmax"
            ):
                raise ValueError(
                    f"{type(model).__name__} fits its classes one by one; how it makes "
                    "probabilities of their scores is not understood. Use "
                    "response_method='decision_function'."
                )
            weights, biases, self.out, single = [W], [b], "softmax", False
        self.space, self.features = space, chain.features
        self.weights, self.biases = weights, biases
        effects = Effects(self.features, weights[0], biases[0])
        self.network = Network(effects, weights[1:], biases[1:])
        influence = np.ones(len(effects.base))
        if len(weights) > 1:
            influence = np.abs(weights[1]).sum(axis=1)
        self._reach, self._columns = influence, self.network.stacked * influence
        self.n_outputs = len(biases[-1]) if len(biases[-1]) != 2 or self.out != "softmax" else 1
        self.rounding = self._rounding(effects, 1.2e-7 if single else 2.3e-16)

    def _rounding(self, effects: Effects, eps: float) -> float:
        """How far rounding may carry the answers, layer by layer."""
        size = effects.size
        n = len(self.weights[0]) + 8
        for W, b in zip(self.weights[1:], self.biases[1:], strict=True):
            size = size * float(np.abs(W).sum(axis=0).max()) + float(np.abs(b).max())
            n += len(W) + 8
        error = 2 * eps * n * size
        if self.out in ("logistic", "softmax"):
            return min(1.0, error + 16 * eps)
        return error * float(np.exp(min(size, 700.0))) if self.out == "exp" else error

    # Answers --------------------------------------------------------------------------------

    def evaluate(self, Z: Floats) -> Floats:
        """Answers of the model as it was read, shape (n, n_outputs)."""
        return self._outputs(self.features.transform(Z) @ self.weights[0] + self.biases[0])

    def _outputs(self, scores: Floats) -> Floats:
        """Answers from what the first layer gets."""
        for W, b in zip(self.weights[1:], self.biases[1:], strict=True):
            scores = np.maximum(scores, 0.0) @ W + b
        if self.out == "logistic":
            return np.asarray(expit(scores))
        if self.out == "exp":
            return np.exp(scores)
        if self.out == "softmax":
            p = softmax(scores, axis=1)
            return p[:, 1:] if p.shape[1] == 2 else p
        return scores

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        """Random rows of codes; every fourth attribute at an end of its domain."""
        Z = self.space.draw(n, rng)
        ends = np.where(rng.random(Z.shape) < 0.5, self.space.low, self.space.high)
        return np.where(rng.random(Z.shape) < 0.25, ends, Z)

    def trivial(self) -> float:
        """The bound of the whole domain, unsplit."""
        if not (self.network.sensitive or self.network.sensitive_wide):
            return 0.0
        return float(self.bounds(self.whole()).max())

    # Boxes ----------------------------------------------------------------------------------

    def whole(self) -> Boxes:
        n = len(self.network.stacked)
        wide = self.network.wide_attributes
        low, high = self.space.low[wide][None], self.space.high[wide][None]
        return Boxes(
            np.ones((1, n), dtype=bool),
            np.ones((1, n), dtype=bool),
            low,
            high,
            self.network.wide_values(low),
            self.network.wide_values(high),
        )

    def bounds(self, boxes: Boxes) -> Floats:
        """Upper bounds of the largest difference in each box, over all outputs."""
        layers = self.network.layers(boxes)
        last = layers[-1]
        depth = len(layers) - 1
        if self.out in ("identity", "exp", "logistic"):
            gaps = {"exp": exponential_gap, "logistic": logistic_gap}
            if self.out == "identity":
                return np.asarray(last.more.max(axis=1))
            gap = np.vectorize(gaps[self.out])
            return np.asarray(gap(last.more, last.high[0], last.low[1]).max(axis=1))
        n = last.more.shape[1]
        best = np.full(len(boxes.one), -np.inf)
        for k in range(n):
            others = [j for j in range(n) if j != k]
            rows = np.eye(n)[k] - np.eye(n)[others]
            rows = np.broadcast_to(rows, (len(boxes.one), *rows.shape))
            margins = self.network.difference(rows, depth, layers[:-1], boxes)
            high = last.high[0][:, k] - _logsumexp(last.low[0][:, others])
            low = last.low[1][:, k] - _logsumexp(last.high[1][:, others])
            best = np.maximum(best, np.vectorize(logistic_gap)(margins.max(axis=1), high, low))
        return best

    def solve(self, known: float, deadline: float, rtol: float) -> Bracket:
        """Split boxes, those with the largest bounds first, until the bracket is closed.

        Parameters
        ----------
        known : float
            A difference that is attained.
        deadline : float
            When to stop, by `time.perf_counter`.
        rtol : float
            Relative width of the bracket that is narrow enough.

        Returns
        -------
        Bracket
            Of the model as it was read.
        """
        boxes = BoxSearch(self, known)
        units = self._hidden(deadline)
        while True:
            narrow = boxes.known + max(rtol * boxes.known, 2 * self.rounding)
            upper = boxes.upper if units is None else min(boxes.upper, units.upper)
            done = boxes.top <= narrow  # what was dropped is as narrow as it gets
            reason = "closed"
            if upper > narrow and not done:
                reason = "time" if time.perf_counter() >= deadline else "memory"
            full = boxes.full and (units is None or units.spent)
            if upper <= narrow or done or reason == "time" or full:
                break
            if units is None:
                boxes.step()
                continue
            ahead = boxes.upper <= units.upper or units.spent
            for _ in range(0 if boxes.full else units.turns if ahead else 1):
                boxes.step()
            units.round(boxes, rtol, deadline)
        upper = max(boxes.known, upper)
        n = boxes.n_boxes + (0 if units is None else units.n_nodes)
        return Bracket(boxes.known, upper, boxes.twins, n, reason)

    def _hidden(self, deadline: float) -> OneHidden | None:
        """A search on units, for one hidden layer and one sum an output."""
        if len(self.weights) != 2 or self.out not in ("identity", "logistic"):
            return None
        return OneHidden.make(self, deadline)

    def try_corners(self, boxes: Boxes) -> tuple[float, tuple[Floats, Floats]]:
        """The best of some corners of the boxes: a difference that is attained, and its twins."""
        best: tuple[float, Any] = (-1.0, None)
        network = self.network
        for at_top, places in self._corners(boxes):
            codes = np.where(at_top, boxes.high, boxes.low)
            values = np.where(at_top[:, network.wide_of], boxes.most, boxes.least)
            sums = [self._first_sums(values, places[twin], twin) for twin in (0, 1)]
            gaps = np.abs(self._outputs(sums[0]) - self._outputs(sums[1])).max(axis=1)
            i = int(gaps.argmax())
            if gaps[i] > best[0]:
                own = [{j: p[i] for j, p in chosen.items()} for chosen in places]
                pair = tuple(self.row_of(codes[i], p, twin) for twin, p in enumerate(own))
                best = float(gaps[i]), pair
        return best

    def _corners(self, boxes: Boxes) -> Iterator[tuple[NDArray[np.bool_], list[Places]]]:
        """Corners of each box: which wide variables are at their upper ends, and table places."""
        network = self.network
        shape = (len(boxes.one), len(network.variables))
        places = [
            {j: allowed[:, span].argmax(axis=1) for j, span in network.spans.items()}
            for allowed in (boxes.one, boxes.two)
        ]
        twin = np.array([twin for _, twin in network.variables], dtype=np.intp)
        for top in (False, True):
            for highest in (0, 1) if network.sensitive_wide else (0,):
                # The copies of a sensitive attribute go to opposite ends.
                at_top = np.where(twin == BOTH, top, twin == highest)
                yield np.broadcast_to(at_top, shape), places
        yield self._steepest_corner(boxes, places)

    def _steepest_corner(
        self, boxes: Boxes, places: list[Places]
    ) -> tuple[NDArray[np.bool_], list[Places]]:
        """The corner where the difference is largest if every ReLU stays as it is midway.

        In a box in which none changes that is the best of all points.
        """
        network = self.network
        middle = (boxes.least + boxes.most) / 2
        sums = [self._first_sums(middle, places[twin], twin) for twin in (0, 1)]
        answers = [self._outputs(s) for s in sums]
        output = np.abs(answers[0] - answers[1]).argmax(axis=1)
        if self.out == "softmax" and len(self.biases[-1]) == 2:
            output = output + 1
        slopes = [self._slopes(sums[0], output), -self._slopes(sums[1], output)]
        rises = np.zeros(middle.shape)
        for own, has in zip(slopes, network.has, strict=True):
            rises[:, has] += own @ network.wide_weights[has].T
        rises *= boxes.most - boxes.least
        at_top = np.zeros((len(middle), len(network.variables)), dtype=bool)
        for k in range(len(network.variables)):
            at_top[:, k] = rises[:, network.wide_of == k].sum(axis=1) > 0
        steepest: list[Places] = [{}, {}]
        for j, span in network.spans.items():
            table = network.effects.tables[j].T
            for twin, allowed in enumerate((boxes.one, boxes.two)):
                own = slopes[twin] if j in network.sensitive else slopes[0] + slopes[1]
                gains = np.where(allowed[:, span], own @ table, -np.inf)
                steepest[twin][j] = gains.argmax(axis=1)
        return at_top, steepest

    def _first_sums(self, values: Floats, places: Places, twin: int) -> Floats:
        """What the first layer gets in a twin."""
        has = self.network.has[twin]
        sums = self.network.effects.base + values[:, has] @ self.network.wide_weights[has]
        for j, place in places.items():
            sums = sums + self.network.effects.tables[j][place]
        return np.asarray(sums)

    def _slopes(self, sums: Floats, output: NDArray[np.intp]) -> Floats:
        """How the score of an output changes with what the first layer gets, (n, n_units)."""
        signs = []
        for W, b in zip(self.weights[1:], self.biases[1:], strict=True):
            signs.append(sums > 0)
            sums = np.maximum(sums, 0.0) @ W + b
        slopes = np.eye(sums.shape[1])[output]
        for W, on in zip(self.weights[:0:-1], signs[::-1], strict=True):
            slopes = (slopes @ W.T) * on
        return slopes

    def row_of(self, codes: Floats, places: dict[int, Any], twin: int) -> Floats:
        """Codes of a twin, from those of the wide variables and positions in the tables."""
        row = self.space.clip(((self.space.low + self.space.high) / 2)[None])[0]
        row[self.space.sensitive] = self.space.low[self.space.sensitive]
        for (j, owner), code in zip(self.network.variables, codes, strict=True):
            if owner in (twin, BOTH):
                row[j] = code
        for j, place in places.items():
            row[j] = self.features.grids[j][place]
        return row

    def split(self, boxes: Boxes) -> tuple[Boxes, NDArray[np.intp]]:
        """Two parts of every box that has more than one point, and the box that each is of."""
        network = self.network
        spread, how = self._spreads(boxes)
        widest = spread.argmax(axis=1)
        origin = np.flatnonzero(spread.max(axis=1, initial=-1.0) >= 0)
        halves = [boxes.take(origin), boxes.take(origin)]  # each a copy
        for k, i in enumerate(origin):
            where, twin = how[widest[i]]
            if twin == INTERVAL:
                low, high = boxes.low[i, where], boxes.high[i, where]
                middle = (low + high) / 2
                whole = self.space.discrete[network.wide_attributes[where]]
                halves[0].high[k, where] = np.floor(middle) if whole else middle
                halves[1].low[k, where] = np.floor(middle) + 1 if whole else middle
                continue
            span = network.spans[where]
            allowed = np.flatnonzero((boxes.two if twin == 1 else boxes.one)[i, span]) + span.start
            own = self._columns[allowed]
            order = allowed[np.argsort(own @ np.ptp(own, axis=0), kind="stable")]
            for half, gone in zip(
                halves, (order[len(order) // 2 :], order[: len(order) // 2]), strict=True
            ):
                if twin in (0, BOTH):
                    half.one[k, gone] = False
                if twin in (1, BOTH):
                    half.two[k, gone] = False
        both = Boxes(*(np.concatenate(arrays) for arrays in zip(*halves, strict=True)))
        if len(origin):
            ends = network.wide_values(np.concatenate([both.low, both.high]))
            both = both._replace(least=ends[: len(both.low)], most=ends[len(both.low) :])
        return both, np.tile(origin, 2)

    def _influence(self, boxes: Boxes) -> Floats:
        """How much it is worth to narrow down each unit of the first layer, (n_boxes, n_units).

        A ReLU that is on or off throughout in both copies costs the bound nothing; another one
        costs what it may differ by, and a part of its range takes that part of the cost away.
        """
        if len(self.weights) == 1:
            return np.ones((len(boxes.one), len(self._reach)))
        layer = self.network.first_layer(boxes)
        low, high = np.minimum(*layer.low), np.maximum(*layer.high)
        size = np.maximum(np.abs(layer.less), np.abs(layer.more))
        open_ = (low < 0) & (high > 0)
        return self._reach * (open_ * size / np.maximum(high - low, 1e-300) + 1e-6)

    def _spreads(self, boxes: Boxes) -> tuple[Floats, list[tuple[int, int]]]:
        """How much each copy moves the first layer in each box; -1 where it cannot be split."""
        columns, how = [], []
        influence = self._influence(boxes)
        for j, span in self.network.spans.items():
            own = self.network.effects.tables[j]
            sensitive = j in self.network.sensitive
            for twin in (0, 1) if sensitive else (BOTH,):
                allowed = (boxes.two if twin == 1 else boxes.one)[:, span]
                low, high = value_range(own, allowed)
                spread = ((high - low) * influence).sum(axis=1) * (SENSITIVE_FIRST**sensitive)
                columns.append(np.where(allowed.sum(axis=1) > 1, spread, -1.0))
                how.append((j, twin))
        reach = np.abs(boxes.most - boxes.least) * (influence @ np.abs(self.network.wide_weights).T)
        for k, (j, twin) in enumerate(self.network.variables):
            spread = reach[:, self.network.wide_of == k].sum(axis=1)
            spread = spread * (SENSITIVE_FIRST ** (twin != BOTH))
            low, high = boxes.low[:, k], boxes.high[:, k]
            if self.space.discrete[j]:
                fine = high > low
            else:
                fine = high - low > 1e-12 * np.maximum(np.abs(low), np.abs(high))
            columns.append(np.where(fine, spread, -1.0))
            how.append((k, INTERVAL))
        if not columns:
            return np.full((len(boxes.one), 1), -1.0), [(0, INTERVAL)]
        return np.column_stack(columns), how


def _logsumexp(scores: Floats) -> Floats:
    return np.asarray(logsumexp(scores, axis=1))


def _layers(model: Any) -> tuple[list[Floats], list[Floats], str]:
    out = model.out_activation_
    if model.activation != "relu" or out not in ("identity", "logistic", "softmax", "exp"):
        raise ValueError(
            f"{type(model).__name__} is certified with activation='relu'; got "
            f"{model.activation!r} (and {out!r} at the output). Use SBFTAuditor."
        )
    weights = [np.asarray(W, dtype=np.float64) for W in model.coefs_]
    biases = [np.asarray(b, dtype=np.float64) for b in model.intercepts_]
    return weights, biases, out
