"""Aequitas: walks from random discriminatory inputs (Udeshi et al. 2018)."""

from __future__ import annotations

import numpy as np

from skfairtest._parameters import one_of, real, whole
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.base import BaseAuditor
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._stop import StopReason

STRATEGIES = ("fully-directed", "semi-directed", "random")
#: Global searches that the whole budget would hold, and the bounds of their number of inputs.
N_GLOBAL = 10
LEAST_GLOBAL, MOST_GLOBAL = 1000, 20_000
#: Steps below which no walk is cut, so that it still leaves the neighbourhood of its start.
SHORTEST = 50


class AequitasAuditor(BaseAuditor):
    """Audit by Aequitas: walks that set out from random discriminatory inputs.

    A global search draws inputs uniformly. From each one that discriminates, walks start that
    change one non-sensitive value by one step at a time. The value and the direction, up or down,
    are drawn with probabilities that all walks learn together. Then the next round begins with new
    uniform inputs, until the budget is spent.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. It is fitted already, or ``fit(X, y)`` fits it.
        With None the auditor is a template; scorers and retrainers set its estimator.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns, by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, gender, race, age, religion, ...).
    threshold : float, default=None
        An input is discriminatory when its disparity exceeds the threshold, in units of the
        outputs. With None it is when the labels of its twins differ, or a regressor's outputs.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Method by which a classifier is asked. "auto" takes the first of the others that it has.
    space : InputSpace, default=None
        Which inputs exist: bounds, categories, constraints, plausible inputs, twins. `fit` learns a
        copy of it from X; a fitted space is used as it is. None means ``InputSpace()``.
    max_queries : int, default=20_000
        Budget in queries, at least 2; one query is one row that the model predicts. None sets no
        limit.
    max_time : float, default=None
        Budget in seconds, checked after each batch.
    max_found : int, default=None
        The run ends after the batch that reaches this number of unique discriminatory inputs.
    max_inputs : int, default=None
        The run ends after this number of distinct inputs.
    n_jobs : int, default=None
        Number of parts of a large batch that are predicted at the same time. None means 1, or the
        setting of `joblib.parallel_config`. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line for each tenth of the budget, 2 for each hundredth.
    n_restarts : int, default=1
        Number of independent searches, each with its own seed, that share the budget. The results
        combine those of all searches.
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

    Attributes
    ----------
    fairness_degree_ : float
        Largest disparity found, in units of the outputs: a lower bound of the true one.
    worst_case_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    worst_case_outputs_ : ndarray of shape (2,), or None
        The model's outputs for these two twins.
    worst_case_class_ : object
        The class whose probability or score these outputs are; which of several outputs it is.
    discriminatory_inputs_, counterfactuals_ : array or DataFrame of shape (n_kept, n_features)
        Unique discriminatory inputs, those with the largest disparities first, and their twins; as
        many as fit into 32 MB.
    disparities_ : ndarray of shape (n_kept,)
        Difference between the outputs for each input and its twin.
    n_found_ : int
        Unique discriminatory inputs found, kept or not.
    discrimination_rate_ : float
        Share of the distinct generated inputs that are discriminatory. For a directed search it
        does not estimate the share in the domain.
    plausibility_, distances_ : ndarray of shape (n_kept,)
        For each of the `discriminatory_inputs_`, the share of rows of X that are less typical, and
        the distance to the nearest row of X.
    nearest_rows_ : array or DataFrame of shape (n_kept, n_features)
        The row of X that is nearest to each of the `discriminatory_inputs_`.
    fairness_degree_plausible_ : float
        Largest disparity found among pairs with at least one plausible twin.
    worst_case_plausible_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    domains_ : DataFrame
        The fairness degree known for the rows of X, for plausible inputs and for the whole domain.
    n_inputs_, n_queries_, seconds_ : int, int, float
        The cost: distinct inputs, queries, seconds.
    history_ : DataFrame
        The course of the run: queries, seconds, inputs, found, degree.
    stop_reason_, stop_kind_ : str
        Why the run ended, in words and as one word; the Notes of `BaseAuditor` list these.
    on_data_degree_, on_data_rate_, on_data_discriminatory_ : float, float, array or DataFrame
        Largest disparity of the rows of X, the share of them that are discriminatory, and those
        rows.
    sensitive_features_ : list
        The sensitive columns.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    response_ : str
        How the estimator was asked: "regression", "predict_proba", "decision_function" or
        "labels".
    space_ : InputSpace
        The input space as learned.
    estimator_ : estimator
        The estimator that was audited.

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

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        walks_bring_news = True
        while True:
            n_inputs = oracle.n_inputs
            starts, pairs = self._global_search(oracle, rng)
            if oracle.n_inputs == n_inputs and not walks_bring_news:
                continue  # walks from what is known would go round once more
            n_inputs = oracle.n_inputs
            sigma = Probabilities(len(oracle.space.free), self.strategy, self.delta, self.delta)
            starts, pairs, n_steps = self._fill_batch(starts, pairs)
            for first in range(0, len(starts), self.batch_size):
                batch = slice(first, first + self.batch_size)
                walks = Walks(oracle, starts[batch], None if pairs is None else pairs[batch])
                # Walks that go round in what is known end here, and the run goes on: the next
                # global search may still find other regions, and alone decides that nothing new
                # comes any more.
                with oracle.sub_budget(counts_stagnation=False) as part:
                    for _ in range(n_steps):
                        p, delta = sigma.draw(len(walks.Z), rng)
                        found = walks.step(p, delta)
                        sigma.update(p, delta, found)
                if part.stop is not None and part.stop.kind is not StopReason.STALLED:
                    raise part.stop
            walks_bring_news = oracle.n_inputs > n_inputs

    def _global_search(
        self, oracle: Oracle, rng: np.random.Generator
    ) -> tuple[Floats, Floats | None]:
        """Discriminatory inputs among uniform ones; for many combinations, the pairs they show."""
        n = self.n_global or oracle.affordable(
            batches=N_GLOBAL, least=LEAST_GLOBAL, most=MOST_GLOBAL, whole=True
        )
        Z = oracle.sample(n, rng)
        pairs = oracle.draws.twins(Z, rng)
        found = oracle.disparity(Z, pairs).verdict
        return Z[found], None if pairs is None else pairs[found]

    def _fill_batch(
        self, starts: Floats, pairs: Floats | None
    ) -> tuple[Floats, Floats | None, int]:
        """Share the steps from each input among several walks, where the inputs fill no batch."""
        if self.batch_size == 1 or not len(starts):
            return starts, pairs, self.n_local
        n_walks = max(1, min(self.batch_size // len(starts), self.n_local // SHORTEST))
        n_steps = -(-self.n_local // n_walks)
        tiled = None if pairs is None else np.tile(pairs, (n_walks, 1, 1))
        return np.tile(starts, (n_walks, 1)), tiled, n_steps


class Walks:
    """Discriminatory inputs that go one step at a time; `pairs` is what each compares."""

    def __init__(self, oracle: Oracle, Z: Floats, pairs: Floats | None) -> None:
        self.oracle = oracle
        self.Z = Z.copy()
        self.pairs = pairs
        self.found = np.ones(len(Z), dtype=bool)

    def step(self, p: Ints, delta: Ints) -> Bools:
        """Move value p of each walk's input by delta units; which inputs now discriminate."""
        space = self.oracle.space
        column = space.free[p]
        rows = np.arange(len(self.Z))
        Z = self.Z.copy()
        Z[rows, column] += delta * space.domain.steps[column]
        Z = space.domain.clip(Z)
        if space.constraints_ or space.plausibility is not None:
            Z = np.where(space.is_acceptable(Z)[:, None], Z, self.Z)
        moved = np.flatnonzero(Z[rows, column] != self.Z[rows, column])
        self.Z = Z
        pairs = None if self.pairs is None else self.pairs[moved]
        self.found[moved] = self.oracle.disparity(Z[moved], pairs).verdict
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
