"""SurrogateAuditor: learn where the model discriminates, then sample there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest._docstrings import document
from skfairtest._typing import Floats, Ints
from skfairtest._validation import check_real, check_whole
from skfairtest.base import BaseAuditor
from skfairtest.individual._operators import data_seeds
from skfairtest.individual._surrogate.regions import Regions
from skfairtest.oracle._oracle import FEW_COMBINATIONS, Oracle
from skfairtest.space._space import InputSpace

OBJECTIVES = ("count", "degree")
#: Inputs of each kind (high and low) that are remembered, and that the surrogate learns from.
MEMORY = 100_000
LESSON = 30_000
#: Discriminatory inputs from which on the surrogate learns verdicts instead of disparities.
ENOUGH_FINDS = 50
#: Steps proposed for each one that is taken: the surrogate drops the others.
PROPOSALS = 3
#: The surrogate is fitted anew when it has seen this many times as much.
GROWTH = 3.0
#: Rounds that the budget holds at least: a surrogate that never sees its own draws learns nothing
#: from them.
N_ROUNDS = 10
#: No source of proposals gets less than this share of the directed part of a batch.
LEAST_SHARE = 0.1


@document
class SurrogateAuditor(BaseAuditor):
    """Audit by a surrogate: learn where the model discriminates, then sample there.

    A decision tree learns from the verdicts so far (from the disparities, as long as discriminatory
    inputs are few) in which regions of the non-sensitive attributes twins are treated differently.
    Each batch is drawn from three sources: regions that the tree believes in, by their size, belief
    and novelty; single steps away from inputs that were found; and a share of uniform inputs. The
    first two share the batch in proportion to their recent success. For finding many discriminatory
    inputs this is the tester that we recommend.

    Parameters
    ----------
    {parameters}
    objective : {"count", "degree"}, default="count"
        Learn from verdicts to find many discriminatory inputs, or from disparities to find a
        large one.
    batch_size : int, default=4000
        Inputs in a batch, at most a tenth of what the budget allows.
    explore_share : float, default=0.05
        Share of uniform inputs in each batch.
    min_samples_leaf : int, default=5
        Inputs in a region of the surrogate, at least.

    Attributes
    ----------
    {attributes}

    See Also
    --------
    SBFTAuditor : Searches for the largest disparity.
    RandomAuditor : Uniform random inputs, the yardstick.

    Notes
    -----
    They crowd where the model discriminates most easily: their number shows how much there is to
    find, not how many people are concerned, and `discrimination_rate_` is no estimate for the
    domain. A discriminatory input shows that the model treats two twins differently; twins need not
    be realistic people.

    References
    ----------
    .. [1] Zhao, Z., Toda, T., & Kitamura, T. (2024). Approximation-guided fairness testing through
       discriminatory space analysis. ASE, 1007-1018. (The idea: approximate the model, test the
       approximation. The method here is another one.)

    Examples
    --------
    >>> from skfairtest import RandomAuditor, SurrogateAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> def count(auditor):
    ...     return auditor.set_params(random_state=0).fit(data.data).n_found_
    >>> count(SurrogateAuditor(data.estimator)) > 3 * count(RandomAuditor(data.estimator))
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        sensitive_features: Any = "auto",
        threshold: float | None = None,
        response_method: str = "auto",
        bounds: Any = None,
        categories: Any = None,
        steps: Any = None,
        one_hot: Any = "auto",
        constraint: Any = None,
        plausible: Any = None,
        given: Any = None,
        space: Any = None,
        proposals: str = "uniform",
        max_queries: int | None = 20_000,
        max_time: float | None = None,
        max_found: int | None = None,
        max_inputs: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        objective: str = "count",
        batch_size: int = 4000,
        explore_share: float = 0.05,
        min_samples_leaf: int = 5,
    ) -> None:
        super().__init__(
            estimator,
            sensitive_features=sensitive_features,
            threshold=threshold,
            response_method=response_method,
            bounds=bounds,
            categories=categories,
            steps=steps,
            one_hot=one_hot,
            constraint=constraint,
            plausible=plausible,
            given=given,
            space=space,
            proposals=proposals,
            max_queries=max_queries,
            max_time=max_time,
            max_found=max_found,
            max_inputs=max_inputs,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.objective = objective
        self.batch_size = batch_size
        self.explore_share = explore_share
        self.min_samples_leaf = min_samples_leaf

    def _check_own_params(self) -> None:
        if self.objective not in OBJECTIVES:
            raise ValueError(f"objective must be one of {OBJECTIVES}; got {self.objective!r}.")
        check_whole(self, {"batch_size": 1, "min_samples_leaf": 1})
        check_real(self, {"explore_share": "(0, 1]"})

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        space = oracle.space
        # Verdicts give no direction before there are any: until then the disparity leads.
        finds = Memory(space, by_degree=False)
        memory = Memory(space, by_degree=True)
        regions = Regions(space)
        price = min(space.n_combinations, FEW_COMBINATIONS)
        size = oracle.affordable(batches=N_ROUNDS, price=price, least=2, most=self.batch_size)
        n = max(2, oracle.in_time(size, batches=N_ROUNDS))
        Z = np.concatenate([data_seeds(n // 2, space, rng), oracle.sample(n - n // 2, rng)])
        source = np.zeros(len(Z), dtype=int)
        success = np.array([0.0, 0.5, 0.5])
        learned = 0
        while True:
            judged = oracle.judge(Z, rng)
            if not space.is_enumerable:
                # Steps away from an input are compared with either twin of the pair it showed.
                side = rng.random((len(Z), 1)) < 0.5
                Z = space.with_sensitive(Z, np.where(side, judged.first, judged.second))
            found = finds.add(Z, judged.verdict.astype(np.float64), rng)
            if memory is finds:
                high = found
            elif self.objective == "count" and len(finds.parents()) >= ENOUGH_FINDS:
                memory, high, learned = finds, found, 0
            else:
                high = memory.add(Z, judged.disparity, rng)
            for kind in (1, 2):
                if (source == kind).any():
                    success[kind] += 0.3 * (high[source == kind].mean() - success[kind])
            if memory.n_seen > GROWTH * learned:
                inputs, values = memory.table(rng)
                tree = self._surrogate(memory.by_degree, rng).fit(inputs, values)
                regions.learn(tree, inputs, values)
                learned = memory.n_seen
            n = max(2, oracle.in_time(size, batches=N_ROUNDS))
            Z, source = self._propose(n, oracle, memory, regions, success, rng)

    def _surrogate(self, by_degree: bool, rng: np.random.Generator) -> Any:
        kind = DecisionTreeRegressor if by_degree else DecisionTreeClassifier
        return kind(min_samples_leaf=self.min_samples_leaf, random_state=int(rng.integers(2**31)))

    def _propose(
        self, n: int, oracle: Oracle, memory: Memory, regions: Regions, success: Floats,
        rng: np.random.Generator,
    ) -> tuple[Floats, Ints]:  # fmt: skip
        """The next batch, and the source of each of its inputs: 0 uniform, 1 regions, 2 steps."""
        parents = memory.parents()
        if not len(parents):
            return oracle.sample(n, rng), np.zeros(n, dtype=int)
        n_explore = int(np.ceil(self.explore_share * n))
        weights = success[1:] ** 4 + 1e-9
        share = float(np.clip(weights[0] / weights.sum(), LEAST_SHARE, 1 - LEAST_SHARE))
        n_regions = int(share * (n - n_explore)) if regions.n_regions else 0
        n_steps = n - n_explore - n_regions
        groups = [
            oracle.sample(n_explore, rng),
            regions.sample(n_regions, rng),
            self._steps(parents, n_steps, regions, rng),
        ]
        source = np.repeat([0, 1, 2], [len(group) for group in groups])
        return np.concatenate(groups), source

    @staticmethod
    def _steps(parents: Floats, n: int, regions: Regions, rng: np.random.Generator) -> Floats:
        """Steps away from the parents, those that the surrogate believes in most."""
        chosen = rng.integers(0, len(parents), size=PROPOSALS * n)
        Z = _step_away(parents[chosen], regions.space, rng)
        # A little noise, so that of equal beliefs not always the same are taken.
        belief = regions.believe(Z) + 0.1 * rng.random(len(Z))
        return Z[np.sort(np.argpartition(-belief, n)[:n])] if n < len(Z) else Z


class Memory:
    """What the surrogate learns from: samples of high and of low inputs of bounded size."""

    def __init__(self, space: InputSpace, *, by_degree: bool) -> None:
        self.space = space
        self.by_degree = by_degree
        self.n_seen = 0
        self.high, self.low = Sample(space.n_features), Sample(space.n_features)

    def add(self, Z: Floats, value: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Remember judged inputs; which of them are high."""
        high = value > self._bar(value)
        self.n_seen += len(Z)
        self.high.add(Z[high], value[high], rng, largest=self.by_degree)
        self.low.add(Z[~high], value[~high], rng, largest=self.by_degree)
        return high

    def _bar(self, value: Floats) -> float:
        if not self.by_degree:
            return 0.5
        # High means close to the best so far.
        best = max(value.max(initial=0.0), self.high.value.max(initial=0.0))
        return 0.7 * float(best)

    def parents(self) -> Floats:
        """Inputs to step from: the discriminatory ones, or those with the largest disparity."""
        Z, value = self.high.Z, self.high.value
        if not self.by_degree or not len(Z):
            return Z
        return Z[np.argsort(-value, kind="stable")[:200]]

    def table(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Free attributes and values of a sample of what is remembered."""
        parts = []
        for sample in (self.high, self.low):
            chosen = rng.permutation(len(sample.Z))[:LESSON]
            parts.append((sample.Z[chosen][:, self.space.free], sample.value[chosen]))
        return np.concatenate([Z for Z, _ in parts]), np.concatenate([v for _, v in parts])


class Sample:
    """A sample of bounded size of the inputs that were added, with a value for each."""

    def __init__(self, n_features: int) -> None:
        self._Z, self._value = np.empty((1024, n_features)), np.empty(1024)
        self._n = 0

    @property
    def Z(self) -> Floats:
        """The inputs."""
        return self._Z[: self._n]

    @property
    def value(self) -> Floats:
        """Their values."""
        return self._value[: self._n]

    def add(self, Z: Floats, value: Floats, rng: np.random.Generator, *, largest: bool) -> None:
        """Add inputs; of twice too many, the largest or any half go on."""
        n = self._n + len(Z)
        if n > len(self._Z):
            room = max(n, 2 * len(self._Z)) - self._n
            self._Z = np.concatenate([self.Z, np.empty((room, self._Z.shape[1]))])
            self._value = np.concatenate([self.value, np.empty(room)])
        self._Z[self._n : n], self._value[self._n : n] = Z, value
        self._n = n
        if n > 2 * MEMORY:
            if largest:
                chosen = np.argpartition(-self.value, MEMORY)[:MEMORY]
            else:
                chosen = rng.choice(n, size=MEMORY, replace=False)
            self._Z[:MEMORY], self._value[:MEMORY] = self._Z[chosen], self._value[chosen]
            self._n = MEMORY


def _step_away(Z: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """One free value of each input moved by one to a few steps, or one in ten drawn anew."""
    n = len(Z)
    rows = np.arange(n)
    column = rng.choice(space.free, size=n)
    length = space.steps[column] * 2.0 ** np.minimum(rng.geometric(0.6, size=n) - 1, 4)
    moved = Z[rows, column] + rng.choice([-1.0, 1.0], size=n) * length
    anew = np.flatnonzero(rng.random(n) < 0.1)
    moved[anew] = space.draw(len(anew), rng)[np.arange(len(anew)), column[anew]]
    Z = Z.copy()
    Z[rows, column] = moved
    return space.clip(Z)
