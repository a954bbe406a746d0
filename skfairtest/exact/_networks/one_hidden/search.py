"""One hidden layer: a search on units and a local search, in turns."""

from __future__ import annotations

import numpy as np

from skfairtest.exact._bracket import Limits
from skfairtest.exact._networks.box_search import BoxSearch
from skfairtest.exact._networks.one_hidden.lagrangian import MOST_COMBINATIONS, Combinations, Shared
from skfairtest.exact._networks.one_hidden.local_search import IteratedLocalSearch
from skfairtest.exact._networks.one_hidden.unit_search import UnitSearch
from skfairtest.exact._networks.relaxation import Relaxation
from skfairtest.exact._networks.score_link import ScoreLink
from skfairtest.whitebox._layers import RELU

#: Perturbations in a row without a better pair after which the local search rests.
MOST_IDLE = 60
#: Candidates that go on from inputs of the search on units, at each perturbation.
MOST_HINTS = 8
#: Batches of units before boxes and units are compared.
FIRST_BATCHES = 8
#: Share of what is known within which the search on units takes no pains.
FINE_ENOUGH = 1e-3
#: Rounds at first in which the local search takes several steps, and units one.
EARLY_ROUNDS, EARLY_STEPS = 6, 3
#: Most sums that the parts of all combinations may be made of.
MOST_PARTS = 5_000_000


class OneHidden:
    """Bounds by units, and a local search, for a network of one hidden layer.

    Parameters
    ----------
    relaxation : Relaxation
        Bounds of the network, which has one hidden layer.
    limits : Limits
        When to stop.
    """

    #: Batches of boxes in a row where boxes are ahead, and where they are behind, and least batches
    #: of units.
    turns, behind, steps = 3, 1, 6

    def __init__(self, relaxation: Relaxation, limits: Limits) -> None:
        network = self.network = relaxation.network
        effects, names = network.effects, network.sensitive
        sets = Combinations(effects, names)
        whole = relaxation.whole()
        self.shared = Shared(effects, whole.least[0], whole.most[0], network.wide_weights)
        self.units = UnitSearch(self.shared, sets, network.weights[1], effects.size)
        self.local_search = IteratedLocalSearch(
            network.space, effects, sets, names, network.weights[1], network.biases[1],
            network.out == "logistic", np.random.default_rng(0),
        )  # fmt: skip
        self._link = ScoreLink(relaxation, self.units.rounding)
        #: Perturbations cost the more, the more attributes there are.
        n_moves = len(self.local_search.lines) + len(self.local_search.free)
        self._steps = max(self.steps, n_moves // 2)
        self._idle, self._enough = 0, 0.0
        self._n_rounds = 0
        for _ in range(FIRST_BATCHES):  # sets of sensitive values have to be cut first
            if not limits.is_late:
                self.units.step(0.0)

    @classmethod
    def make(cls, relaxation: Relaxation, limits: Limits) -> OneHidden | None:
        """Return the search, or None where there is nothing to search, or too much to list."""
        network = relaxation.network
        if len(network.weights) != 2 or network.out not in ("identity", "logistic"):
            return None
        if network.activations[0] != RELU:
            return None
        if limits.is_late or not network.sensitive or network.sensitive_wide:
            return None
        n = np.prod([float(len(network.effects.tables[j])) for j in network.sensitive])
        if n > MOST_COMBINATIONS or n * len(network.effects.base) > MOST_PARTS:
            return None
        return cls(relaxation, limits)

    @property
    def n_nodes(self) -> int:
        """Nodes bounded so far."""
        return self.units.n_nodes

    @property
    def spent(self) -> bool:
        """Whether no node is left that is worth cutting, or no room for more."""
        return self.units.full or self.units.top <= self._enough

    @property
    def upper(self) -> float:
        """No difference of the outputs is larger."""
        return self._link.answer(self.units.upper)

    def round(self, boxes: BoxSearch, limits: Limits) -> None:
        """Some batches of units, and a step of the local search."""
        hints = sorted(self.units.hints, key=lambda hint: hint[0])[-MOST_HINTS:]
        self.units.hints.clear()
        self._n_rounds += 1
        early = self._n_rounds <= EARLY_ROUNDS
        for _ in range(EARLY_STEPS if early else 1):
            if self._idle >= MOST_IDLE or limits.is_late:
                break
            self._idle += 1
            self.local_search.adopt(hints)
            self.local_search.perturb(limits)
            self._tell(boxes)
            hints = []
        enough = boxes.known + max(
            max(limits.rtol, FINE_ENOUGH) * boxes.known, 2 * self.network.rounding
        )
        enough = self._enough = self._link.score(enough, self.units.upper)
        ahead = self.upper <= boxes.upper
        for _ in range(self._steps if ahead and not early else 1):
            if limits.is_late or self.units.full:
                return
            self.units.step(enough)

    def _tell(self, boxes: BoxSearch) -> None:
        """Hand on the best pair of the local search, if the network shows it."""
        if self.local_search.best <= boxes.known:
            return
        wide = self.network.wide_attributes
        row = self.network.row_of(self.network.space.domain.low[wide], {}, 0)
        twins = self.local_search.twins(row)
        answers = self.network.evaluate(np.stack(twins))
        value = float(np.abs(answers[0] - answers[1]).max())
        if value > boxes.known:
            boxes.known, boxes.twins, self._idle = value, twins, 0
