"""Networks, and linear models of several classes: bounds refined by splitting."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from skfairtest._typing import Floats
from skfairtest.exact._compared_rows import rows_of_pieces
from skfairtest.exact._networks.box_search import BoxSearch
from skfairtest.exact._networks.local_search import LocalSearch
from skfairtest.exact._networks.margin_search import MarginSearch
from skfairtest.exact._networks.read_network import ReadNetwork
from skfairtest.exact._networks.relaxation import Relaxation
from skfairtest.exact._networks.settings import DEFAULTS
from skfairtest.exact._networks.slope_search import SlopeSearch
from skfairtest.exact._networks.unit_search import UnitSearch
from skfairtest.exact._verifier import STALLED, SolverLimits, SolverResult, Stall, Verifier
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._layers import Layers


class NetworkVerifier(Verifier):
    """A network, or a linear model of several classes, and how to bound it.

    - `features`, `layers`: what the model is shown, and what it computes of that.
    - `rounding`: how far rounding may carry its outputs; None: what the layers say.
    - `touched`: whether the model looks at a sensitive attribute, although weights may cancel.
    """

    quick = False
    settings = DEFAULTS

    def __init__(
        self,
        space: InputSpace,
        features: Features,
        layers: Layers,
        rounding: float | None = None,
        touched: bool = False,
    ) -> None:
        self.space, self._touched = space, touched
        self.network = ReadNetwork(space, features, layers)
        self.relaxation = Relaxation(self.network)
        self.most = 1.0 if self.network.out in ("logistic", "softmax") else np.inf
        if rounding is not None:
            self.network.rounding = rounding
        if len(self.network.weights) > 1:
            self.network.rounding = self.network.error(self._caps())
        self.rounding, self.single = self.network.rounding, self.network.single

    def _caps(self) -> list[Floats]:
        """Return the largest absolute values of what each hidden layer gives."""
        layers = self.relaxation.whole_layers
        return [
            np.maximum(
                np.abs(activation.value(np.minimum(*layer.low)[0])),
                np.abs(activation.value(np.maximum(*layer.high)[0])),
            )
            for activation, layer in zip(self.network.activations, layers[:-1], strict=True)
        ]

    def evaluate(self, Z: Floats) -> Floats:
        return self.network.evaluate(Z)

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        return rows_of_pieces(self.space, [self.network.features], rng)

    def ranges(self) -> tuple[Floats, Floats]:
        last, out = self.relaxation.whole_layers[-1], self.network.out
        low, high = np.minimum(*last.low)[0], np.maximum(*last.high)[0]
        if out == "logistic":
            return expit(low), expit(high)
        if out == "exp":
            with np.errstate(over="ignore"):
                return np.exp(low), np.exp(high)
        if out == "softmax":
            others = ~np.eye(len(low), dtype=bool)
            least = [expit(low[k] - logsumexp(high[own])) for k, own in enumerate(others)]
            most = [expit(high[k] - logsumexp(low[own])) for k, own in enumerate(others)]
            return np.array(least), np.array(most)
        return low, high

    def root_bound(self) -> float:
        """Return the bound of the whole domain, unsplit."""
        if not self.network.depends:
            return float(np.finfo(np.float64).tiny) if self._touched else 0.0
        return self.relaxation.whole_bound

    def solve(self, incumbent: float, limits: SolverLimits) -> SolverResult:
        """Split boxes, those with the largest bounds first, until the bounds agree."""
        if not self.network.depends:
            return SolverResult(incumbent, max(incumbent, self.root_bound()), None, 0, "closed")
        boxes = BoxSearch(self.relaxation, incumbent, limits, self.settings)
        scores = (
            MarginSearch.make(self.relaxation, limits, self.settings)
            or UnitSearch.make(self.relaxation, limits, self.settings)
            or SlopeSearch.make(boxes, limits, self.settings)
        )  # of scores; None where there is no such search
        pairs = LocalSearch(self.network, np.random.default_rng(0), self.settings)
        n_idle, n_rounds, queue, stall = 0, 0, boxes.queue, Stall()
        while True:
            upper = min(queue.upper, np.inf if scores is None else scores.upper)
            n_boxes = queue.n_boxes + (0 if scores is None else scores.queue.n_boxes)
            limits.note(queue.incumbent, max(upper, queue.incumbent), n_boxes, lambda: queue.twins)
            stalled = limits.stalls and stall.is_over(queue.incumbent, upper, n_boxes)
            spent = queue.is_spent and (scores is None or scores.queue.is_spent)
            if (
                upper <= queue.enough
                or queue.top <= queue.enough
                or limits.is_late
                or spent
                or stalled
            ):
                break
            n_rounds += 1
            # The local search rests after 60 perturbations in a row without a better pair. It has
            # a turn in each of the first 10 rounds, and then in every other one.
            if n_idle < 60 and (n_rounds <= 10 or n_rounds % 2 == 0):
                n_idle = 0 if self._improve(pairs, queue, scores, limits) else n_idle + 1
            ahead = scores is not None and scores.upper < queue.upper
            # The search with the lower bound has 6 batches a round.
            for _ in range(1 if ahead else 6):
                if not limits.is_late:
                    boxes.step()
            if scores is not None:
                for _ in range(6 if ahead else 2):
                    if not limits.is_late:
                        scores.step(queue.enough)
        reason = "closed"
        if upper > queue.enough and queue.top > queue.enough:
            reason = "time" if limits.is_late else STALLED if stalled else "memory"
        return SolverResult(
            queue.incumbent, max(queue.incumbent, upper), queue.twins, n_boxes, reason
        )

    def _improve(self, pairs: LocalSearch, queue: Any, scores: Any, limits: SolverLimits) -> bool:
        """Look for distant twins; return whether there were any farther apart than all before."""
        if scores is not None:
            scores.suggest(pairs)
        pairs.step(limits)
        if pairs.best <= queue.incumbent:
            return False
        twins = pairs.twins()
        answers = self.network.evaluate(np.stack(twins))
        value, before = float(np.abs(answers[0] - answers[1]).max()), queue.incumbent
        queue.improve(value, twins)
        return value > before
