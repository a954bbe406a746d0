"""Aequitas: walks from random discriminatory inputs (Udeshi et al. 2018)."""

from __future__ import annotations

import numpy as np

from skfairtest._parameters import one_of, real, whole
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.base import BaseAuditor
from skfairtest.oracle._handle import SearchHandle

STRATEGIES = ("fully-directed", "semi-directed", "random")


class AequitasAuditor(BaseAuditor):
    """Audit by Aequitas: walks that set out from random discriminatory inputs.

    A global search draws inputs uniformly. From each one that discriminates, walks start that
    change one non-sensitive value by one step at a time. The value and the direction, up or down,
    are drawn with probabilities that all walks learn together. Then the next round begins with new
    uniform inputs, until the budget is spent.

    Parameters
    ----------
    strategy : {"fully-directed", "semi-directed", "random"}, default="fully-directed"
        What the walks learn: which attribute to change and in which direction, the direction only,
        or nothing.
    n_global : int, default=None
        Uniform inputs of the global search in each round. None means as many as a tenth of
        `max_queries` and `max_inputs` holds, at least 1,000 and at most 20,000.
    n_local : int, default=1000
        Steps of the walk from each discriminatory input. If a round has fewer such inputs than
        `batch_size`, several walks of at least 50 steps share the steps of an input.
    delta : float, default=0.001
        Change of a direction's probability after each step, and gain of an attribute's probability
        after each step that led to a discriminatory input.
    batch_size : int, default=2048
        Walks that go in lockstep and share each ``predict`` call. 1 gives the published algorithm:
        one walk follows another, and the probabilities change after every step.

    See Also
    --------
    RandomAuditor : Draws uniform random inputs, the baseline of every search.
    ThemisAuditor : Draws uniform random inputs until the share of discriminatory ones is known.
    SBFTAuditor : Searches for the largest disparity.

    Notes
    -----
    With a `batch_size` above 1 this differs from the paper in two ways. A step of a walk does not
    yet know what the other walks of its batch learn from the same step; their updates follow in the
    order of the walks. And several shorter walks leave a discriminatory input rather than one long
    one, as models predict thousands of rows in little more time than one; shorter walks also stray
    less.

    A step is one unit of the attribute (see `steps` of `InputSpace`), or leads to the neighbouring
    category. A step that would leave the domain or break the constraint leaves the input as it is:
    the model is not asked about it again, and the probabilities count it as another visit. With
    more than eight combinations of sensitive values, the global search compares two random ones,
    and a walk keeps the two with which it set out. The probabilities start anew in each round, as
    in the paper's local search. Inputs are counted once, however often a walk meets them.

    Walks that only meet known inputs are given up. While neither walks nor the global search find
    anything new, no walk starts, and the run goes on with global searches.

    A discriminatory input shows that the model treats two twins differently. It does not show
    whether such a person exists, nor whether the difference is unfair. Walks stay near what the
    global search found: their `discrimination_rate_` does not estimate the share of the domain, and
    a region that the global search misses stays unseen.

    References
    ----------
    .. [1] Udeshi, S., Arora, P., & Chattopadhyay, S. (2018). Automated directed fairness testing.
       ASE, 98-108. https://doi.org/10.1145/3238147.3238165

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest import AequitasAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> auditor = AequitasAuditor(data.estimator, max_queries=5000, random_state=0).fit(data.data)
    >>> uniform = RandomAuditor(data.estimator, max_queries=5000, random_state=0).fit(data.data)
    >>> auditor.n_found_ > uniform.n_found_
    True
    """

    strategy: str = one_of(default="fully-directed", options=STRATEGIES)
    n_global: int | None = whole(default=None, least=1)
    n_local: int = whole(default=1000, least=1)
    delta: float = real(
        default=0.001,
        interval="[0, 1]",
        hint="It is added to probabilities at each step; the paper's is 0.001.",
    )
    batch_size: int = whole(default=2048, least=1)

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        walks_bring_news = True
        while True:
            n_inputs = search.so_far.inputs
            starts, pairs = self._global_search(search, rng)
            if search.so_far.inputs == n_inputs and not walks_bring_news:
                continue  # walks from what is known would go round once more
            n_inputs = search.so_far.inputs
            sigma = Probabilities(
                len(search.space.non_sensitive), self.strategy, self.delta, self.delta
            )
            starts, pairs, n_steps = self._fill_batch(starts, pairs)
            for first in range(0, len(starts), self.batch_size):
                batch = slice(first, first + self.batch_size)
                walks = Walks(search, starts[batch], None if pairs is None else pairs[batch])
                # Walks that go round in what is known end here, and the run goes on: the next
                # global search may still find other regions, and alone decides that nothing new
                # comes any more.
                with search.sub_budget(counts_stagnation=False):
                    for _ in range(n_steps):
                        p, delta = sigma.draw(len(walks.Z), rng)
                        found = walks.step(p, delta)
                        sigma.update(p, delta, found)
            walks_bring_news = search.so_far.inputs > n_inputs

    def _global_search(
        self, search: SearchHandle, rng: np.random.Generator
    ) -> tuple[Floats, Floats | None]:
        """Discriminatory inputs among uniform ones; for many combinations, the pairs they show."""
        # Ten global searches in the budget, each of enough inputs to find discriminatory ones.
        n = self.n_global or search.affordable(batches=10, least=1000, most=20_000, whole=True)
        Z = search.sample(n, rng).rows
        pairs = search.pairs(Z, rng)
        found = search.evaluate(Z, pairs).verdict
        return Z[found], None if pairs is None else pairs[found]

    def _fill_batch(
        self, starts: Floats, pairs: Floats | None
    ) -> tuple[Floats, Floats | None, int]:
        """Share the steps from each input among several walks, where the inputs fill no batch."""
        if self.batch_size == 1 or not len(starts):
            return starts, pairs, self.n_local
        # A walk has at least 50 steps, so that it still leaves the neighbourhood of its start.
        n_walks = max(1, min(self.batch_size // len(starts), self.n_local // 50))
        n_steps = -(-self.n_local // n_walks)
        tiled = None if pairs is None else np.tile(pairs, (n_walks, 1, 1))
        return np.tile(starts, (n_walks, 1)), tiled, n_steps


class Walks:
    """Discriminatory inputs that go one step at a time; `pairs` is what each compares."""

    def __init__(self, search: SearchHandle, Z: Floats, pairs: Floats | None) -> None:
        self.search = search
        self.Z = Z.copy()
        self.pairs = pairs
        self.found = np.ones(len(Z), dtype=bool)

    def step(self, p: Ints, delta: Ints) -> Bools:
        """Move value p of each walk's input by delta units; which inputs now discriminate."""
        space = self.search.space
        column = space.non_sensitive[p]
        rows = np.arange(len(self.Z))
        Z = self.Z.copy()
        Z[rows, column] += delta * space.domain.steps[column]
        Z = space.domain.clip(Z)
        if space.constraints_ or space.plausibility is not None:
            Z = np.where(space.is_acceptable(Z)[:, None], Z, self.Z)
        moved = np.flatnonzero(Z[rows, column] != self.Z[rows, column])
        self.Z = Z
        pairs = None if self.pairs is None else self.pairs[moved]
        self.found[moved] = self.search.evaluate(Z[moved], pairs).verdict
        return self.found


class Probabilities:
    """Which of n values to change (`pr`), and whether by -1 (`v`); all walks share them."""

    def __init__(self, n: int, strategy: str, delta_v: float, delta_pr: float) -> None:
        self.strategy = strategy
        self.delta_v, self.delta_pr = delta_v, delta_pr
        self.pr = np.full(n, 1 / n)
        self.v = np.full(n, 0.5)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """An attribute and a direction, -1 or 1, for each of n walks."""
        U = rng.random((2, n))
        p = np.searchsorted(np.cumsum(self.pr), U[0], side="right")
        p = np.minimum(p, len(self.pr) - 1)
        return p, np.where(U[1] < self.v[p], -1, 1)

    def update(self, p: Ints, delta: Ints, found: Bools) -> None:
        """Learn from the steps of a batch, as from one after another."""
        if self.strategy == "random":
            return
        change = np.zeros((len(p), len(self.v)))
        change[np.arange(len(p)), p] = np.where(found == (delta == -1), self.delta_v, -self.delta_v)
        self.v = clamped_sum(self.v, change)
        if self.strategy == "fully-directed":
            # Each success adds delta_pr to one probability and divides all by their sum, 1 +
            # delta_pr: after m of them the i-th has been divided m - i + 1 times.
            winners = p[found]
            shrink = (1 + self.delta_pr) ** -np.arange(len(winners), 0.0, -1.0)
            gain = np.bincount(winners, self.delta_pr * shrink, minlength=len(self.pr))
            self.pr = self.pr * (1 + self.delta_pr) ** -float(len(winners)) + gain
            self.pr /= self.pr.sum()


def clamped_sum(start: Floats, change: Floats) -> Floats:
    """Add the rows of `change` to `start` one after another, kept within [0, 1] after each.

    Adding d and clamping is a function x -> clip(x + d, low, high); so is the composition of two.
    Neighbours are composed in halving rounds, which takes no loop over the rows.
    """
    low, high = np.zeros_like(change), np.ones_like(change)
    while len(change) > 1:
        odd = len(change) % 2
        head, tail = slice(0, len(change) - odd, 2), slice(1, len(change) - odd, 2)
        rest = slice(len(change) - odd, None)
        new_low = np.clip(low[head] + change[tail], low[tail], high[tail])
        new_high = np.clip(high[head] + change[tail], low[tail], high[tail])
        low, high, change = (
            np.concatenate([new, old[rest]])
            for new, old in (
                (new_low, low),
                (new_high, high),
                (change[head] + change[tail], change),
            )
        )
    return np.clip(start + change[0], low[0], high[0])
