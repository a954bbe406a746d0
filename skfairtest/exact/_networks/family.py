"""Networks, and linear models of several classes: bounds refined by splitting."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._bracket import Bracket, Family, Limits
from skfairtest.exact._compared_rows import rows_of_pieces, rows_with_ends
from skfairtest.exact._networks.box_search import BoxSearch
from skfairtest.exact._networks.deep_search import DeepSearches
from skfairtest.exact._networks.one_hidden.search import OneHidden
from skfairtest.exact._networks.read_network import ReadNetwork
from skfairtest.exact._networks.relaxation import Relaxation
from skfairtest.space._space import InputSpace


class NetworkFamily(Family):
    """A network, or a linear model of several classes, and how to bound it.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    space : InputSpace
        The inputs that exist.
    response : {"regression", "predict_proba", "decision_function"}
        What is asked of it.
    """

    quick = False

    def __init__(self, estimator: Any, space: InputSpace, response: str) -> None:
        self.space = space
        self.network = ReadNetwork(estimator, space, response)
        self.relaxation = Relaxation(self.network)
        if len(self.network.weights) > 1:
            self.network.rounding = self.network.error(self._caps())
        self.rounding = self.network.rounding

    def _caps(self) -> list[Floats]:
        """Return the largest absolute values of what each hidden layer gives."""
        layers = self.relaxation.layers(self.relaxation.whole())
        return [
            np.maximum(
                np.abs(bends.value(np.minimum(*layer.low)[0])),
                np.abs(bends.value(np.maximum(*layer.high)[0])),
            )
            for bends, layer in zip(self.network.bends, layers[:-1], strict=True)
        ]

    def single_room(self, top: float) -> float:
        """Width of a closed bracket where the model computes in single precision; else 0."""
        # Each end of the bracket is off by the rounding of two outputs.
        return 4 * self.rounding if self.network.single else 0.0

    def evaluate(self, Z: Floats) -> Floats:
        """Return outputs of the model as it was read, shape (n, n_outputs)."""
        return self.network.evaluate(Z)

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        """Return random rows of codes; every fourth attribute at an end of its domain."""
        return rows_with_ends(self.space, n, rng)

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        """Return rows that enter every piece of every step."""
        return rows_of_pieces(self.space, [self.network.features], rng)

    def trivial(self) -> float:
        """Return the bound of the whole domain, unsplit."""
        if not self.network.depends:
            return 0.0
        return self.relaxation.whole_bound

    def solve(self, known: float, limits: Limits) -> Bracket:
        """Split boxes, those with the largest bounds first, until the bracket is closed.

        Parameters
        ----------
        known : float
            A difference that is attained.
        limits : Limits
            When to stop, and the relative width of the bracket that is narrow enough.

        Returns
        -------
        Bracket
            Of the model as it was read.
        """
        boxes = BoxSearch(self.relaxation, known)
        units = OneHidden.make(self.relaxation, limits)
        if units is not None:
            others: list[Any] = [units]
        else:
            deep = DeepSearches.make(boxes, limits)
            others = [] if deep is None else [deep]
        while True:
            narrow = boxes.known + max(limits.rtol * boxes.known, 2 * self.rounding)
            upper = min([boxes.upper, *(other.upper for other in others)])
            limits.note(boxes.known, upper, self._n_boxes(boxes, others), lambda: boxes.twins)
            done = boxes.top <= narrow  # what was dropped is as narrow as it gets
            reason = "closed"
            if upper > narrow and not done:
                reason = "time" if limits.is_late else "memory"
            full = boxes.full and all(other.spent for other in others)
            if upper <= narrow or done or reason == "time" or full:
                break
            if not others:
                boxes.step(limits)
            for other in others:
                ahead = boxes.upper <= other.upper or other.spent
                for _ in range(0 if boxes.full else other.turns if ahead else other.behind):
                    boxes.step(limits)
                other.round(boxes, limits)
        upper = max(boxes.known, upper)
        return Bracket(boxes.known, upper, boxes.twins, self._n_boxes(boxes, others), reason)

    @staticmethod
    def _n_boxes(boxes: BoxSearch, others: list[Any]) -> int:
        return boxes.n_boxes + sum(other.n_nodes for other in others)
