"""SG: symbolic generation of test inputs (Aggarwal et al. 2019)."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any

import numpy as np

from skfairtest._parameters import real, whole
from skfairtest._typing import Floats
from skfairtest.base import BaseAuditor
from skfairtest.individual._seeds import check_enough_rows, cluster_seeds
from skfairtest.individual._symbolic.explanations import (
    Explainer,
    Predicate,
    Region,
    conjunction,
    nearest,
    solve,
)
from skfairtest.oracle._handle import SearchHandle
from skfairtest.space._space import InputSpace

#: Directed inputs that an explanation brings, about.
CHILDREN = 4


class SymbolicAuditor(BaseAuditor):
    """Audit by symbolic generation (SG): explain inputs locally and negate the conditions.

    Inputs wait in a queue. Each one that is taken is judged and explained: a decision tree is
    fitted to the model's outputs around it, and the path of the input through the tree is a
    conjunction of conditions. Negating one of them and solving for an input gives the next
    candidates. Around a discriminatory input the directed search negates weak conditions, to stay
    where the model discriminates. Elsewhere the undirected search negates strong ones, to get to
    other paths. It is for few inputs that are explained; many are found sooner by
    `SurrogateAuditor`.

    Parameters
    ----------
    t1 : float, default=0.3
        The undirected search stops at the first condition whose confidence is below it.
    t2 : float, default=0.2
        The directed search negates the conditions whose confidence is below it.
    n_neighbours : int, default=40
        Number of inputs around a judged one that the model labels for an explanation.
    max_depth : int, default=12
        Largest depth of an explaining tree, and so the most conditions on a path.
    batch_size : int, default=64
        Queued inputs of one class of priority that are judged and explained together. 1 gives the
        sequence of the paper.

    See Also
    --------
    RandomAuditor : Draws uniform random inputs, the baseline of every search.
    SBFTAuditor : Searches for the largest disparity.
    MAFTAuditor : Follows estimated gradients.

    Notes
    -----
    Seeds are rows of the data, taken in turn from four k-means clusters, as in the paper. X must
    have at least four rows.

    The paper leaves some choices open. Here the confidence of a condition is the share of the
    tree's explanation that it carries, between 0 and 1: the decrease of impurity at its split over
    the impurity of all neighbours. In a neighbour a random share of the attributes is perturbed:
    numbers move by a normal draw of a tenth of their domain, and categories are drawn anew. Among
    the inputs that solve a path constraint, the directed search takes the one nearest to the
    explained input. The undirected search keeps the values that meet the constraint and draws the
    others uniformly within their intervals. Directed inputs wait in the order of rising average
    confidence, undirected ones in that of falling average confidence. A regressor is explained by a
    regression tree.

    With `batch_size` above 1, judged inputs wait for their explanation until the directed ones have
    run out, and those that do not discriminate until the seeds have run out as well. An explanation
    costs many rows, and so none is made that is not needed. When the queue is empty, uniform random
    inputs are the next seeds, so that the budget ends the run.

    A discriminatory input shows that the model treats two twins differently. It does not show
    whether such a person exists, nor whether the difference is unfair. A run that finds none does
    not show that there are none.

    References
    ----------
    .. [1] Agarwal, A., Lohia, P., Nagar, S., Dey, K., & Saha, D. (2018). Automated test generation
       to detect individual discrimination in AI models. arXiv:1809.03260.
    .. [2] Aggarwal, A., Lohia, P., Nagar, S., Dey, K., & Saha, D. (2019). Black box fairness
       testing of machine learning models. ESEC/FSE, 625-635.
       https://doi.org/10.1145/3338906.3338937

    Examples
    --------
    >>> from skfairtest import SymbolicAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> auditor = SymbolicAuditor(data.estimator, max_queries=300, random_state=0)
    >>> auditor = auditor.fit(data.data)
    >>> auditor.n_found_ > 0
    True
    """

    t1: float = real(default=0.3, interval="[0, 1]")
    t2: float = real(default=0.2, interval="[0, 1]")
    n_neighbours: int = whole(default=40, least=2)
    max_depth: int = whole(default=12, least=1)
    batch_size: int = whole(default=64, least=1)

    def _make_space(self, X: Any, sensitive: Any = None) -> InputSpace:
        space = super()._make_space(X, sensitive)
        check_enough_rows(space)
        return space

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        space = search.space
        explainer = Explainer(search, rng, self.n_neighbours, self.max_depth)
        queue = Queue(cluster_seeds(space, rng))
        discriminatory: list[Floats] = []
        others: list[Floats] = []
        while True:
            size = self._affordable(search)
            n_missing = size - len(queue.directed) if self.batch_size > 1 else len(discriminatory)
            if discriminatory and n_missing > 0:
                # Enough of them for the next batch: an explanation costs more than a judgement.
                n = max(1, n_missing // CHILDREN)
                batch, discriminatory = discriminatory[:n], discriminatory[n:]
                for t, path in zip(batch, explainer.paths(np.array(batch)), strict=True):
                    self._directed(t, path, queue, space, rng)
                    self._undirected(t, path, queue, space, rng)
            elif others and (self.batch_size == 1 or not (queue.directed or queue.n_seeds)):
                batch, others = others[:size], others[size:]
                for t, path in zip(batch, explainer.paths(np.array(batch)), strict=True):
                    self._undirected(t, path, queue, space, rng)
            Z = queue.take(size)
            if not len(Z):
                Z = search.sample(size, rng).rows
            found = search.evaluate(Z, search.pairs(Z, rng)).verdict
            discriminatory.extend(Z[found])
            others.extend(Z[~found])

    def _affordable(self, search: SearchHandle) -> int:
        """Inputs in a batch: few enough that the budget holds many batches."""
        # A judged input, and its share in the explanation that it came from.
        cost_of_input = (self.n_neighbours / CHILDREN + 2) * search.cost
        # The rest of the budget should hold 20 batches.
        return search.affordable(batches=20, cost_of_input=cost_of_input, most=self.batch_size)

    def _directed(
        self, t: Floats, path: list[Predicate], queue: Queue, space: InputSpace,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        for c in path:
            if c.attribute in space.sensitive or c.confidence >= self.t2:
                continue
            box = conjunction(space, [p for p in path if p is not c])
            box = box.within(c.attribute, c.other_low, c.other_high)
            if queue.visit(box, space):
                r = float(np.mean([p.confidence for p in path]))
                near = nearest(t, box, space)
                queue.add_directed(solve(t, box, space, rng) if near is None else near, r)

    def _undirected(
        self, t: Floats, path: list[Predicate], queue: Queue, space: InputSpace,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        prefix: list[Predicate] = []
        for c in path:
            if c.attribute in space.sensitive:
                continue
            if c.confidence < self.t1:
                break
            box = conjunction(space, prefix).within(c.attribute, c.other_low, c.other_high)
            prefix.append(c)
            if queue.visit(box, space):
                r = float(np.mean([p.confidence for p in prefix]))
                queue.add_undirected(solve(t, box, space, rng), r)


class Queue:
    """Inputs that wait: directed ones first, then seeds, then undirected ones.

    Directed ones wait by rising average confidence, undirected ones by falling one.
    """

    def __init__(self, seeds: Floats) -> None:
        self.seeds = seeds
        self.next_seed = 0
        self.directed: list[tuple[float, int, Floats]] = []
        self.undirected: list[tuple[float, int, Floats]] = []
        self.visited: set[bytes] = set()
        self._number = count()

    @property
    def n_seeds(self) -> int:
        """The number of seeds that are left."""
        return len(self.seeds) - self.next_seed

    def visit(self, box: Region, space: InputSpace) -> bool:
        """Whether a path constraint has solutions and comes for the first time."""
        if (box.low > box.high).any():
            return False
        key = np.concatenate(
            [box.low[space.non_sensitive], box.high[space.non_sensitive]]
        ).tobytes()
        if key in self.visited:
            return False
        self.visited.add(key)
        return True

    def add_directed(self, t: Floats | None, rank: float) -> None:
        """Add an input of the directed search, if there is one."""
        if t is not None:
            heapq.heappush(self.directed, (rank, next(self._number), t))

    def add_undirected(self, t: Floats | None, rank: float) -> None:
        """Add an input of the undirected search, if there is one."""
        if t is not None:
            heapq.heappush(self.undirected, (-rank, next(self._number), t))

    def take(self, n: int) -> Floats:
        """Take at most n inputs of the first class that is not empty; none if all are."""
        if not self.directed and self.n_seeds:
            start = self.next_seed
            self.next_seed = min(start + n, len(self.seeds))
            return self.seeds[start : self.next_seed]
        heap = self.directed or self.undirected
        taken = [heapq.heappop(heap)[2] for _ in range(min(n, len(heap)))]
        return np.array(taken).reshape(len(taken), self.seeds.shape[1])
