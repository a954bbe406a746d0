"""The two phases of the gradient testers: global search from seeds, local search from there.

All seeds go in lockstep, so that each step is a few large batches; plain loops otherwise, with the
names of the papers' pseudo-code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._parameters import real, whole
from skfairtest._typing import Floats, Ints
from skfairtest.base import BaseAuditor
from skfairtest.individual._seeds import check_enough_rows, cluster_seeds
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement, concatenated
from skfairtest.space._space import InputSpace

#: Change of the chosen output with one step of each attribute: of rows (n, n_features), their
#: outputs (n, n_outputs) and the number of the output for each row; shape (n, n_features).
Gradient = Callable[[Floats, Floats, Ints], Floats]

#: Keeps the reciprocal of a gradient of zero finite.
GUARD = 1e-6

#: Least and largest length of a step.
LENGTHS = "[1e-5, 1e9]"


class DiscriminatoryInputs(NamedTuple):
    """Discriminatory inputs, and the encoded sensitive values of the two twins that show each."""

    Z: Floats
    first: Floats
    second: Floats


class TwoPhase:
    """Global and local generation; `gradient` tells MAFT, EIDIG and ADF apart."""

    def __init__(
        self, search: SearchHandle, rng: np.random.Generator, gradient: Gradient, *, max_iter: int,
        n_local: int, step: float, decay: float, update_interval: int,
    ) -> None:  # fmt: skip
        self.search, self.space, self.rng = search, search.space, rng
        self.gradient = gradient
        self.max_iter, self.n_local = max_iter, n_local
        self.step, self.decay = step, decay
        self.update_interval = update_interval
        # Labels are flipped by losing confidence; a threshold is passed by moving outputs apart.
        self.apart = search.response == "regression" or search.threshold is not None
        self.apart &= search.response != "labels"

    def run(self, seeds: Floats) -> None:
        """Run both phases on a group of seeds at a time, all of them where the budget allows.

        Where one group finds little, walks from the discriminatory inputs of several go together.
        """
        while len(seeds):
            # The global phase of one group may take half of the budget.
            left = 0.5 * self.search.left.queries
            found: list[DiscriminatoryInputs] = []
            # While there are seeds left, fewer than 64 walks are not worth a local phase of their
            # own.
            while len(seeds) and sum(len(part.Z) for part in found) < 64:
                size = self._group_size()
                group, seeds = seeds[:size], seeds[size:]
                found.append(self.global_phase(group))
                if self.search.left.queries < left:
                    break
            self.local_phase(concatenated(found))

    def _group_size(self) -> int:
        # At most 50,000 rows in a batch of gradients, and half of the budget for the global phase.
        rows = 2 * (len(self.space.non_sensitive) + 2) * self.search.cost
        return self.search.affordable(
            batches=2, cost_of_input=self.max_iter * rows, most=50_000 // rows
        )

    # Global phase (Algorithm 3) ------------------------------------------------------------

    def global_phase(self, seeds: Floats) -> DiscriminatoryInputs:
        """Move each seed to where its twins part; returns the discriminatory inputs on the way."""
        x = np.array(seeds)
        grad1, grad2 = np.zeros(x.shape), np.zeros(x.shape)
        found: list[DiscriminatoryInputs] = []
        for step in range(self.max_iter):
            measured = self.search.measured
            measured["n_iter"] = max(measured.get("n_iter", 0), step + 1)
            judged = self.evaluate(x)
            hit = judged.verdict
            found.append(DiscriminatoryInputs(x[hit], judged.first[hit], judged.second[hit]))
            go_on = ~hit & self.comparable(x, judged.first, judged.second)
            x, grad1, grad2 = x[go_on], grad1[go_on], grad2[go_on]
            if not len(x):
                break
            first, second = judged.first[go_on], judged.second[go_on]
            g1, g2, towards = self.both_gradients(x, first, second)
            grad1 = self.decay * grad1 + g1
            grad2 = self.decay * grad2 + g2
            if self.apart:
                direction = np.sign(grad1 - grad2) * towards[:, None]
            else:
                agree = np.sign(grad1) == np.sign(grad2)
                direction = np.where(agree, -np.sign(grad1), 0.0)
            x = self.move(x, self.step * direction, first, second)
        return concatenated(found)

    # Local phase (Algorithm 4) -------------------------------------------------------------

    def local_phase(self, seeds: DiscriminatoryInputs) -> None:
        """Walk from each input of the global phase along attributes that matter little."""
        if not len(seeds.Z):
            return
        x, first, second = seeds
        probability = self.probabilities(x, first, second)
        start = probability.copy()
        suc_iter = np.zeros(len(x), dtype=int)
        n_found, n_idle = 0, 0
        for _ in range(self.n_local):
            due = np.flatnonzero(suc_iter >= self.update_interval)
            if len(due):
                probability[due] = self.probabilities(x[due], first[due], second[due])
                suc_iter[due] = 0
            suc_iter += 1
            moved = self.move(x, self.local_moves(probability), first, second)
            judged = self.evaluate(moved)
            hit = judged.verdict
            x = np.where(hit[:, None], moved, seeds.Z)
            first = np.where(hit[:, None], judged.first, seeds.first)
            second = np.where(hit[:, None], judged.second, seeds.second)
            probability = np.where(hit[:, None], probability, start)
            suc_iter[~hit] = 0
            n_idle = 0 if self.search.so_far.found > n_found else n_idle + 1
            n_found = self.search.so_far.found
            # Walks are given up after 50 steps without a new discriminatory input.
            if n_idle >= 50:
                return  # the walks go round in what they have found

    def probabilities(self, x: Floats, first: Floats, second: Floats) -> Floats:
        """Chances of the free attributes, in proportion to ``1 / (|g(x)| + |g(x')|)``."""
        g1, g2, _ = self.both_gradients(x, first, second)
        size = (np.abs(g1) + np.abs(g2))[:, self.space.non_sensitive]
        # A tenth of a row's mean gradient keeps attributes without influence from being the only
        # ones that walks move along.
        weight = 1.0 / (size + 0.1 * size.mean(axis=1, keepdims=True) + GUARD)
        return weight / weight.sum(axis=1, keepdims=True)

    def local_moves(self, probability: Floats) -> Floats:
        """Draw a step up or down for each row, in an attribute that its probability decides."""
        n = len(probability)
        spin = self.rng.random((n, 1))
        a = (probability.cumsum(axis=1) < spin).sum(axis=1)
        a = np.minimum(a, probability.shape[1] - 1)
        moves = np.zeros((n, self.space.n_features))
        up = self.rng.random(n) < 0.5
        moves[np.arange(n), self.space.non_sensitive[a]] = np.where(up, self.step, -self.step)
        return moves

    # Both ----------------------------------------------------------------------------------

    def evaluate(self, x: Floats) -> Judgement:
        """Compare all twins where they are few, and two random ones elsewhere."""
        return self.search.evaluate(x, self.search.pairs(x, self.rng))

    def both_gradients(
        self, x: Floats, first: Floats, second: Floats
    ) -> tuple[Floats, Floats, NDArray[np.float64]]:
        """Gradients of the two twins, and the sign of the difference between their outputs.

        Where labels decide, they are gradients of the confidence in the predicted class.
        """
        n = len(x)
        twins = np.concatenate(
            [
                self.space.twins_.with_sensitive(x, first),
                self.space.twins_.with_sensitive(x, second),
            ]
        )
        scores = self.search.respond(twins)
        if self.apart:
            output = np.abs(scores[:n] - scores[n:]).argmax(axis=1)
            rows = np.arange(n)
            towards = np.sign(scores[rows, output] - scores[n + rows, output])
            # Twins with equal outputs may move apart either way.
            towards[towards == 0] = 1.0
            column, sign = np.tile(output, 2), np.ones(2 * n)
        else:
            column, sign = predicted(scores, self.search.response)
            towards = np.ones(n)
        g = self.gradient(twins, scores, column) * sign[:, None]
        return g[:n], g[n:], towards

    def move(self, x: Floats, steps: Floats, first: Floats, second: Floats) -> Floats:
        """Move rows within the domain; a row stays where it is if the moved one is not valid."""
        moved = self.space.domain.clip(x + steps * self.space.domain.steps)
        return np.where(self.comparable(moved, first, second)[:, None], moved, x)

    def comparable(self, x: Floats, first: Floats, second: Floats) -> NDArray[np.bool_]:
        """Where the constraint admits both twins."""
        if not self.space.constraints_:
            return np.ones(len(x), dtype=bool)
        valid = self.space.valid(self.space.twins_.with_sensitive(x, first))
        return valid & self.space.valid(self.space.twins_.with_sensitive(x, second))


def check_gradient(name: str, value: Any) -> None:
    """Check that a gradient is "auto" or a callable."""
    if not callable(value) and not (isinstance(value, str) and value == "auto"):
        raise ValueError(
            f"{name} must be 'auto' or a callable on rows; got {value!r}. Without a gradient use "
            "MAFTAuditor."
        )


def predicted(scores: Floats, response: str) -> tuple[Ints, Floats]:
    """The output to follow in each row, and the sign that makes it the predicted class's.

    Of two classes it is the positive one, whose sign flips where f(x) <= 0.5; of more classes the
    predicted one.
    """
    n, width = scores.shape
    if response == "labels":
        return np.zeros(n, dtype=np.intp), np.ones(n)
    if width == 1:
        middle = 0.5 if response == "predict_proba" else 0.0
        return np.zeros(n, dtype=np.intp), np.where(scores[:, 0] > middle, 1.0, -1.0)
    return scores.argmax(axis=1), np.ones(n)


class TwoPhaseAuditor(BaseAuditor):
    """What MAFT, EIDIG and ADF share; each says which gradient it follows.

    Parameters
    ----------
    n_global : int, default=1000
        Number of seeds. These are rows of the data, in turn from four clusters of k-means, and
        uniform random inputs if there are fewer rows. X must have at least as many rows as
        clusters.
    max_iter : int, default=10
        Largest number of steps of a seed in the global phase.
    n_local : int, default=1000
        Steps of the local phase from each discriminatory input of the global phase.
    step : float, default=1.0
        Length of all steps, in steps of each attribute.

    Attributes
    ----------
    n_iter_ : int
        Largest number of steps that a seed took in the global phase.
    """

    n_global: int = whole(default=1000, least=1)
    max_iter: int = whole(default=10, least=1)
    n_local: int = whole(default=1000, least=0)
    step: float = real(default=1.0, interval=LENGTHS)

    #: Share of the accumulated gradient that is kept, and successful local steps between two
    #: updates of the attributes' probabilities; as published.
    _decay, _update_interval = 0.5, 5

    def _make_gradient(self, search: SearchHandle) -> Gradient:
        raise NotImplementedError(f"{type(self).__name__} has no gradient.")

    def _make_space(self, X: Any, sensitive: Any = None) -> InputSpace:
        space = super()._make_space(X, sensitive)
        check_enough_rows(space)
        return space

    def _prepare(self, search: SearchHandle) -> None:
        self._make_gradient(search)  # an unknown one is an error before the first query

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        seeds = cluster_seeds(search.space, rng)[: self.n_global]
        more = search.sample(self.n_global - len(seeds), rng).rows
        phases = TwoPhase(
            search,
            rng,
            self._make_gradient(search),
            max_iter=self.max_iter,
            n_local=self.n_local,
            step=self.step,
            decay=self._decay,
            update_interval=self._update_interval,
        )
        phases.run(np.concatenate([seeds, more]))

    def _own_results(self, found: Findings, space: InputSpace) -> dict[str, Any]:
        return {"n_iter_": max((one.get("n_iter", 0) for one in found.measured), default=0)}
