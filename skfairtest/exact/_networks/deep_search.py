"""Local search on networks of any depth and activation, beside the search on boxes."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.exact._bracket import Limits
from skfairtest.exact._networks.box_search import BoxSearch
from skfairtest.exact._networks.one_hidden.lagrangian import MOST_COMBINATIONS, Combinations
from skfairtest.exact._networks.one_hidden.local_search import (
    MOST_COMBINATIONS_TRIED,
    IteratedLocalSearch,
)
from skfairtest.exact._networks.read_network import ReadNetwork
from skfairtest.exact._networks.slope_search import SlopeSearch

#: Places on a line that are looked at, and around the best of them again.
PLACES, PLACES_AROUND = 17, 9
#: Perturbations in a row without a better pair after which the search rests.
MOST_IDLE = 60
#: Rounds at first with a step of it each, and how many rounds it takes to another one later.
EARLY_ROUNDS, SELDOM = 4, 2
#: Most batches of slopes between those of boxes, of which there are fewer where the bound fell by
#: less than this share.
MOST_BATCHES, LEAST_FALL = 16, 0.003
#: Most sums that the parts of all combinations may be made of.
MOST_PARTS = 5_000_000


class DeepLocalSearch(IteratedLocalSearch):
    """Candidate pairs of twins, improved and perturbed in turns.

    Where one hidden layer is piecewise linear with known bends, here places on a line are tried.

    Parameters
    ----------
    network : ReadNetwork
        The network.
    sets : Combinations
        The sensitive attributes' parts in the first layer.
    rng : Generator
        Where perturbations come from.
    """

    def __init__(self, network: ReadNetwork, sets: Combinations, rng: np.random.Generator) -> None:
        self.network = network
        n_outputs = network.outputs(network.effects.base[None]).shape[1]
        nothing = np.zeros((len(network.effects.base), n_outputs))
        super().__init__(
            network.space, network.effects, sets, network.sensitive, nothing, nothing[0], False, rng
        )  # fmt: skip

    def _answers(self, sums: Floats, output: Ints) -> Floats:
        """Return outputs of one twin at (..., n_candidates, n_units) sums."""
        found = self.network.outputs(sums.reshape(-1, sums.shape[-1]))
        found = found.reshape(*sums.shape[:-1], -1)
        places = np.broadcast_to(output, sums.shape[:-1])[..., None]
        return np.take_along_axis(found, places, axis=-1)[..., 0]

    def _value(self, sums: Floats, pair: Ints) -> Floats:
        """Return differences at (..., n_candidates, n_units) sums."""
        one, two = (self.sets.parts[pair[:, k]] for k in (0, 1))
        return self._answers(sums + one, self.output) - self._answers(sums + two, self.output)

    def _best_pair(self) -> None:
        """The pair of sensitive values of the largest difference, and the output."""
        parts = self.sets.parts
        tried = np.arange(len(parts))
        if len(parts) > MOST_COMBINATIONS_TRIED:
            tried = self.rng.choice(tried, MOST_COMBINATIONS_TRIED, replace=False)
        scores = self._answers(self.sums + parts[tried][:, None], self.output)
        pair = np.column_stack([tried[scores.argmax(axis=0)], tried[scores.argmin(axis=0)]])
        value = self._value(self.sums, pair)
        better = value > self.value
        self.pair = np.where(better[:, None], pair, self.pair)
        self.value = np.where(better, value, self.value)

    def _along(self, ways: Floats, low: Floats, high: Floats) -> Floats:
        """Return a good place on lines from the candidates' places, (n_candidates,)."""
        width = (high - low) / (PLACES - 1)
        places = low + np.arange(PLACES)[:, None] * width
        # Not the same places each time.
        places[1:-1] += (self.rng.random((PLACES - 2, 1)) - 0.5) * width
        best = self._best_of(places, ways)
        around = np.linspace(-1.0, 1.0, PLACES_AROUND)[:, None] * width
        return self._best_of(np.clip(best + around, low, high), ways)

    def _best_of(self, places: Floats, ways: Floats) -> Floats:
        value = self._value(self.sums + places[:, :, None] * ways, self.pair)
        return np.asarray(np.take_along_axis(places, value.argmax(axis=0)[None], axis=0)[0])


class DeepSearches:
    """Slopes of units and the local search, in turns with the search on boxes.

    Parameters
    ----------
    boxes : BoxSearch
        Cuts boxes; is told of better pairs.
    limits : Limits
        When to stop.
    """

    #: Batches of boxes in a row where boxes are ahead, and where they are behind.
    turns, behind = 6, 3

    def __init__(self, boxes: BoxSearch, limits: Limits) -> None:
        network = self.network = boxes.network
        sets = Combinations(network.effects, network.sensitive)
        self._search = DeepLocalSearch(network, sets, np.random.default_rng(0))
        self._slopes = SlopeSearch.make(boxes, limits)
        self._idle, self._n_rounds, self._batches = 0, 0, 8

    @classmethod
    def make(cls, boxes: BoxSearch, limits: Limits) -> DeepSearches | None:
        """Return the searches, or None where there is nothing to search, or too much to list."""
        network = boxes.network
        if len(network.weights) == 1 or not network.sensitive or network.sensitive_wide:
            return None
        n = np.prod([float(len(network.effects.tables[j])) for j in network.sensitive])
        if limits.is_late or n > MOST_COMBINATIONS or n * len(network.effects.base) > MOST_PARTS:
            return None
        return cls(boxes, limits)

    @property
    def upper(self) -> float:
        """No difference of an output is larger."""
        return np.inf if self._slopes is None else self._slopes.upper

    @property
    def spent(self) -> bool:
        """Whether no bound can become lower here."""
        return self._slopes is None or self._slopes.spent

    @property
    def n_nodes(self) -> int:
        """Nodes bounded so far."""
        return 0 if self._slopes is None else self._slopes.n_nodes

    def round(self, boxes: BoxSearch, limits: Limits) -> None:
        """Some batches of slopes, and a step of the local search."""
        if self._slopes is not None:
            before = self.upper
            enough = boxes.known + max(limits.rtol * boxes.known, 2 * self.network.rounding)
            for _ in range(self._batches):
                if limits.is_late or self._slopes.spent:
                    break
                self._slopes.step(enough)
            # More of what has helped, less of what has not.
            fell = self.upper < before * (1 - LEAST_FALL)
            self._batches = min(2 * self._batches, MOST_BATCHES) if fell else self._batches // 2
            self._batches = max(self._batches, 1)
        self._n_rounds += 1
        if self._n_rounds <= EARLY_ROUNDS or self._n_rounds % SELDOM == 0:
            self._improve(boxes, limits)

    def _improve(self, boxes: BoxSearch, limits: Limits) -> None:
        """A step of the local search, unless it rests."""
        if self._idle >= MOST_IDLE or limits.is_late:
            return
        self._idle += 1
        self._search.perturb(limits)
        if self._search.best <= boxes.known:
            return
        network = self.network
        row = network.row_of(network.space.domain.low[network.wide_attributes], {}, 0)
        twins = self._search.twins(row)
        answers = network.evaluate(np.stack(twins))
        value = float(np.abs(answers[0] - answers[1]).max())
        if value > boxes.known:
            boxes.known, boxes.twins, self._idle = value, twins, 0
