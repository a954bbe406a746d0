"""Set up, call and read out the compiled branch and bound over the self-composition."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.exact._trees.best_first import (
    ASKED,
    DROPPED,
    INCUMBENT,
    MOST,
    N_OPEN,
    N_SPARE,
    N_STATE,
    NONE,
    OPENED,
    TIGHTENED,
    TIGHTENING,
    OpenBoxes,
    PairBoxes,
    Workspace,
    hand_over,
    search,
)
from skfairtest.exact._trees.box_bounds import tighten_box
from skfairtest.exact._trees.leaf_pairs import (
    FOLDED,
    LEAF,
    NODE,
    SPARE_NODES,
    NodeBoxes,
    ProductTrees,
    is_finished,
    node_boxes_of,
)
from skfairtest.exact._trees.listed_nodes import summands_of
from skfairtest.exact._trees.local_search import PrimalHeuristic
from skfairtest.exact._trees.multipliers import KeptMultipliers, dual_for, multipliers_memory
from skfairtest.exact._trees.problem import Forest, Problem
from skfairtest.exact._trees.self_composition import CellBox
from skfairtest.exact._trees.stored_code import forget_older, note_stored
from skfairtest.exact._trees.tree_search import SETTINGS, TreeSearch, TreeSearchSettings
from skfairtest.exact._verifier import SolverLimits
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._sklearn_trees import read_average
from skfairtest.workers._compiled import plain


def _small_problem() -> Problem:
    """Return the smallest problem that has all types of arrays."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    space = InputSpace().fit(X, [0])
    model = DecisionTreeRegressor(random_state=0).fit(X, [0.0, 1.0, 2.0, 5.0])
    output = read_average(model, Chain(space), "regression")[0]
    return Problem(space, output)


@lru_cache(maxsize=1)
def warm_up() -> None:
    """Compile all functions, or load them from disk."""
    for _ in compiling():
        pass


def compiling() -> Iterator[str]:
    """Compile all functions, or load them from disk; say what comes next, before each part."""
    forget_older()
    problem = _small_problem()
    boxes = node_boxes_of(problem)
    yield "the search for better pairs of twins"
    PrimalHeuristic(problem, 1).step(problem.layout.whole)
    yield "the search for bounds"
    one, two = (Worker(problem, boxes, 0.0, 2) for _ in range(2))
    one.hand_over(two)  # nothing is open: nothing is handed over
    one.begin(problem.layout.whole)
    yield "the bounds by multipliers"
    one.tighten_top(0.0)
    note_stored()


class Worker:
    """Open boxes, and the memory to split them, on a separate thread.

    - `boxes`: the nodes' boxes; read by all workers.
    - `incumbent`: a difference that is attained.
    - `n_sharing`: how many share the memory.

    - `state` (N_STATE,): that of `best_first.search`.
    """

    #: At a time, to another worker.
    most_handed = 512

    def __init__(
        self,
        problem: Problem,
        boxes: NodeBoxes,
        incumbent: float,
        n_sharing: int,
        settings: TreeSearchSettings = SETTINGS,
    ) -> None:
        self.forest, self.links, self.boxes = problem.forest, problem.links, boxes
        self.layout, whole = problem.layout, problem.layout.whole
        n_trees, size = len(self.forest.roots), 4 * int(self.forest.depth.max(initial=0)) + 8
        self.waiting = np.empty(size, np.int64)
        self.pairs = _product_trees(self.forest, settings.node_bytes // n_sharing)
        self.pool = _pool(n_trees, whole, self.forest.by_value, settings.box_bytes, n_sharing)
        self.n_cells = np.concatenate([whole.high, self.layout.set_sizes()])
        self.summands = summands_of(self.links, self.boxes.thresholds, len(self.n_cells))
        n_boxes, n_tests = len(self.pool.bound), len(self.summands.cut)
        kept = multipliers_memory(n_tests, n_boxes, settings.multiplier_bytes // n_sharing)
        self.workspace = _workspace(n_trees, whole, kept)
        # The last two places are no boxes.
        n_spare = len(self.pool.bound) - 2.0
        self.state = np.zeros(N_STATE)
        self.state[[INCUMBENT, DROPPED, N_SPARE, TIGHTENED]] = incumbent, incumbent, n_spare, NONE
        self.dual = dual_for(self.forest, self.summands, self.n_cells, len(self.links.base))
        self.most = 16.0  # boxes that one call takes apart, at least so many

    @property
    def n_open(self) -> int:
        """Number of open boxes."""
        return int(self.state[N_OPEN])

    @property
    def top(self) -> float:
        """Largest bound of an open box; minus infinity if there is none."""
        return float(self.pool.bound[self.pool.heap[0]]) if self.n_open else -np.inf

    def begin(self, start: CellBox) -> None:
        """Open the domain, which stands in the first place."""
        self.pool.low[0], self.pool.high[0], self.pool.words[0] = start
        self.state[N_SPARE] = -1
        self._search(np.zeros(2))

    def work(self, limits: SolverLimits) -> None:
        """Split boxes for a while."""
        began = _clock.now()
        self._call(self.most, limits)
        took = _clock.now() - began
        # A call of the compiled code, which looks at no clock, should take 0.2 seconds.
        self.most = max(16.0, self.most * min(4.0, 0.2 / max(took, 1e-9)))

    def _call(self, most: float, limits: SolverLimits) -> None:
        asked = np.array([most, limits.rtol])
        self._search(asked)
        while asked[MOST] > 0 and self.state[TIGHTENED] == ASKED and not limits.is_late:
            self.tighten_top(limits.rtol)
            asked[MOST] = max(asked[MOST] - TIGHTENING, 1.0)
            self._search(asked)

    def _search(self, limits: Floats) -> None:
        search(
            self.forest, self.pairs, self.links, self.boxes, self.pool, self.workspace, self.state,
            limits, self.waiting,
        )  # fmt: skip

    def tighten_top(self, rtol: float) -> None:
        """Tighten the open box with the largest bound."""
        tighten_box(
            self.forest, self.pairs, self.links, self.boxes, self.pool, self.workspace, self.dual,
            self.state, rtol,
        )  # fmt: skip

    def best(self) -> CellBox:
        """Return the best point that this worker has found."""
        return self._box(len(self.pool.bound) - 2)

    def top_box(self) -> CellBox:
        """Return the open box with the largest bound."""
        return self._box(int(self.pool.heap[0]))

    def _box(self, place: int) -> CellBox:
        pool = self.pool
        return CellBox(pool.low[place].copy(), pool.high[place].copy(), pool.words[place].copy())

    def share(self, other: Worker) -> None:
        """Move to another worker every second box with a larger bound than all of its boxes."""
        if self.n_open > 1 and other.state[N_SPARE] > self.most_handed:
            self.hand_over(other)

    def hand_over(self, other: Worker) -> None:
        """Move every second box to another worker."""
        by_value = self.forest.by_value
        hand_over(
            self.pool, self.workspace.multipliers, self.state, other.pool,
            other.workspace.multipliers, other.state, self.most_handed, by_value,
        )  # fmt: skip


def _product_trees(forest: Forest, n_bytes: int) -> ProductTrees:
    """Product trees of all trees, folded up; memory is taken as they are grown."""
    n_trees = len(forest.roots)
    n = max(n_bytes // NODE.itemsize, n_trees + SPARE_NODES)
    # Two children stand side by side: they share a line of the cache where pairs begin with one.
    line = 64  # bytes
    memory = np.empty(n * NODE.itemsize + line, dtype=np.uint8)
    start = -memory.ctypes.data % line
    nodes = memory[start : start + n * NODE.itemsize].view(NODE)
    roots = nodes[:n_trees]
    roots["first"], roots["second"], roots["parent"] = forest.roots, forest.roots, -1
    roots["bound"] = forest.most[forest.roots]
    finished = plain(is_finished)(forest, forest.roots, forest.roots)
    roots["place"] = np.where(finished, LEAF, FOLDED)
    return ProductTrees(nodes, np.array([n_trees + n_trees % 2], dtype=np.int64))


def _workspace(n_trees: int, whole: CellBox, kept: KeptMultipliers) -> Workspace:
    n_ordered, n_words = len(whole.low), len(whole.words)
    best = PairBoxes(
        np.empty((n_ordered, n_trees), np.int32),
        np.empty((n_ordered, n_trees), np.int32),
        np.empty((n_words, n_trees), np.uint64),
    )
    return Workspace(
        best,
        kept,
        np.empty(n_trees),
        np.zeros(4),
        np.zeros(n_words, np.uint64),
        np.full(n_ordered, -1, np.int32),
    )


def _pool(n_trees: int, whole: CellBox, by_value: bool, n_bytes: int, n_sharing: int) -> OpenBoxes:
    n_extremes = n_trees if by_value else 1
    size = 8 * len(whole.low) + 8 * len(whole.words) + 8 * (n_trees + n_extremes) + 40
    n = max(64, min(4_000_000, n_bytes // size) // n_sharing)
    return OpenBoxes(
        np.empty((n, len(whole.low)), dtype=np.int32),
        np.empty((n, len(whole.low)), dtype=np.int32),
        np.empty((n, len(whole.words)), dtype=np.uint64),
        np.empty(n),
        np.empty((n, n_trees), dtype=np.int32),
        np.empty((n, n_trees), dtype=np.int32),
        np.empty((n if by_value else 1, n_extremes), dtype=np.int32),
        np.empty((n if by_value else 1, n_extremes), dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.arange(n - 3, -1, -1, dtype=np.int64),  # the first place is taken first
    )


class CompiledSearch(TreeSearch):
    """The branch and bound on one output of a model of trees, compiled.

    - `incumbent`: a difference that is attained; only larger ones are looked for.
    - `n_workers`: threads.
    - `n_outputs`: outputs of the model, whose searches share the memory.
    - `settings`: how much memory there is.
    """

    library = "numba"
    least_boxes = 200_000  # which take about as long as 4,000 do with NumPy

    def __init__(
        self,
        problem: Problem,
        incumbent: float,
        n_workers: int = 1,
        n_outputs: int = 1,
        settings: TreeSearchSettings = SETTINGS,
    ) -> None:
        super().__init__(problem, incumbent)
        boxes, n = node_boxes_of(problem), n_workers * n_outputs
        self.workers = [Worker(problem, boxes, incumbent, n, settings) for _ in range(n_workers)]
        self.workers[0].begin(problem.layout.whole)
        self.heuristic = PrimalHeuristic(problem, n_starts=8)

    @property
    def upper(self) -> float:
        dropped = (float(worker.state[DROPPED]) for worker in self.workers)
        return max([self.incumbent, *dropped, *(worker.top for worker in self.workers)])

    @property
    def n_boxes(self) -> int:
        return int(sum(worker.state[OPENED] for worker in self.workers))

    def is_done(self, limits: SolverLimits) -> bool:
        return not self._busy

    @property
    def is_full(self) -> bool:
        return any(worker.state[N_SPARE] < 2 for worker in self._busy)

    @property
    def _busy(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.n_open]

    def step(self, limits: SolverLimits) -> None:
        busy = self._busy
        if len(busy) > 1:
            # The threads may well wait for each other: a round is short.
            with ThreadPoolExecutor(len(busy)) as threads:
                list(threads.map(lambda worker: worker.work(limits), busy))
        else:
            busy[0].work(limits)
        self._meet()

    def look(self, limits: SolverLimits) -> None:
        busy = self._busy
        while self.heuristic.is_due(limits.deadline):
            ahead = max(busy, key=lambda worker: worker.top)
            point = ahead.workspace.point
            own = point if point.min(initial=0) >= 0 else None
            self._improve(self.heuristic.step(ahead.top_box(), own), self.heuristic.best)
        for worker in self.workers:
            worker.state[INCUMBENT] = max(worker.state[INCUMBENT], self.incumbent)

    def _meet(self) -> None:
        """Share the best point among all workers, and give boxes to those that fall behind."""
        for worker in self.workers:
            if worker.state[INCUMBENT] > self.incumbent:
                self._improve(float(worker.state[INCUMBENT]), worker.best())
        for worker in self.workers:
            worker.state[INCUMBENT] = self.incumbent
        if len(self.workers) > 1:
            ranked = sorted(self.workers, key=lambda worker: worker.top)
            for behind, ahead in zip(ranked, ranked[: len(ranked) // 2 - 1 : -1], strict=False):
                if behind.top < ahead.top:
                    ahead.share(behind)
