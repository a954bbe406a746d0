"""Set up, call and read out the compiled branch and bound over the self-composition."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.exact._bracket import Bracket, Note, Twins, unnoted
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
    PRICED,
    PRICES,
    PRICING,
    PairBoxes,
    Pool,
    Room,
    hand_over,
    search,
)
from skfairtest.exact._trees.box_pricing import price_box
from skfairtest.exact._trees.leaf_pairs import (
    FOLDED,
    LEAF,
    NODE,
    NodeBoxes,
    ProductTrees,
    is_finished,
    node_boxes,
    thresholds_of,
)
from skfairtest.exact._trees.listed_nodes import summands_of
from skfairtest.exact._trees.local_search import PrimalHeuristic, search_locally
from skfairtest.exact._trees.prices import Kept, Pricer, kept_for, pricer_for
from skfairtest.exact._trees.problem import Forest, Problem
from skfairtest.exact._trees.rows_on_cells import outputs_of_twins, sums_of_twins
from skfairtest.exact._trees.self_composition import Box, Layout
from skfairtest.exact._trees.stored_code import PRICING_ENTRIES, note_stored, state_file
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._ensembles import read_ensemble
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._tree_model import constant
from skfairtest.workers._compiled import plain
from skfairtest.workers._detached import locked, start_python

#: Memory for the open boxes of all workers, in bytes.
MEMORY = 2_000_000_000
#: Nodes of all product trees of all workers, 32 bytes each. When they are used up, all are
#: forgotten.
MOST_PRODUCT_NODES = 30_000_000
#: Bytes in a line of the processor's cache.
LINE = 64
#: Seconds that one call of the compiled code should take, so that the clock is looked at.
SECONDS_A_CALL = 0.2
#: When a process that compiles looks for garbage: it makes very many objects and little garbage,
#: and needs a tenth less time like this.
RARELY = (20_000, 50, 50)
#: What the process does that helps the one that compiles.
PRICING_STATEMENTS = "from skfairtest.exact._trees import driver; driver.compile_pricing()"
#: Most boxes that are handed from one worker to another at a time.
MOST_HANDED = 512


def _small_problem() -> Problem:
    """Return the smallest problem that has all types of arrays."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    space = InputSpace().fit(X, [0])
    model = DecisionTreeRegressor(random_state=0).fit(X, [0.0, 1.0, 2.0, 5.0])
    output = read_ensemble(model, Chain(space), "regression")[0]
    return Problem(space, output)


@lru_cache(maxsize=1)
def warm_up() -> None:
    """Compile all functions, or load them from disk."""
    _compile_pricing(_compile_search())


def _compile_search() -> Worker:
    """Compile what searches without prices, the smallest function first."""
    problem = _small_problem()
    boxes = node_boxes_of(problem)
    PrimalHeuristic(problem, 1).step(problem.layout.whole)
    note_stored(search_locally)
    one, two = (Worker(problem, boxes, 0.0, 2) for _ in range(2))
    one.hand_over(two)  # nothing is open: nothing is handed over
    note_stored(hand_over)
    one.begin(problem.layout.whole)
    note_stored(search)
    outputs_of_twins(problem, constant(0.0), np.zeros((1, 2)), np.zeros((1, 1, 1)))
    note_stored(sums_of_twins)
    return one


def fill_cache() -> None:
    """Compile all functions unless another process does: for a process that does nothing else.

    A process of its own compiles what prices boxes meanwhile, where there is a core for it.
    """
    with locked(state_file()) as is_free:
        if is_free:
            gc.set_threshold(*RARELY)
            helper = start_python(PRICING_STATEMENTS) if (os.cpu_count() or 1) > 1 else None
            _compile_search()
            if helper is not None:
                helper.wait()
            warm_up()


def compile_pricing() -> None:
    """Compile what prices boxes: for the process that helps `fill_cache`."""
    gc.set_threshold(*RARELY)
    problem = _small_problem()
    worker = Worker(problem, node_boxes_of(problem), 0.0, 1)
    worker.begin_by_hand(problem.layout.whole)
    _compile_pricing(worker)


def _compile_pricing(worker: Worker) -> None:
    """Compile what prices the open box with the largest bound."""
    worker.begin_pricing()
    worker.price_top(0.0)
    for entry in PRICING_ENTRIES:
        note_stored(entry)


def node_boxes_of(problem: Problem, deadline: float = np.inf) -> NodeBoxes:
    """Return the nodes' boxes, worked out once for all searches of a problem."""
    if problem.node_boxes is None:
        problem.node_boxes = _boxes_of(problem.forest, problem.layout, deadline)
    boxes: NodeBoxes = problem.node_boxes
    return boxes


def _boxes_of(forest: Forest, layout: Layout, deadline: float) -> NodeBoxes:
    whole = layout.whole
    twin_ordered = np.full(len(whole.low), 2, dtype=np.int64)
    first_ordered = np.arange(len(whole.low), dtype=np.int64)
    twin_word = np.full(len(whole.words), 2, dtype=np.int64)
    first_word = np.arange(len(whole.words), dtype=np.int64)
    for j, (one, two) in layout.place.items():
        if one == two:
            continue
        if layout.is_ordered[j]:
            twin_ordered[one], twin_ordered[two] = 0, 1
            first_ordered[two] = one
        else:
            a, b = (slice(*layout.word_start[p : p + 2]) for p in (one, two))
            twin_word[a], twin_word[b] = 0, 1
            first_word[b] = np.arange(a.start, a.stop)
    thresholds = thresholds_of(forest, len(whole.low))
    twins_of = (twin_ordered, first_ordered, twin_word, first_word, thresholds)
    return node_boxes(forest, whole, twins_of, deadline)


class Worker:
    """Open boxes, and the memory to split them, on a separate thread.

    - `boxes`: the nodes' boxes; read by all workers.
    - `incumbent`: a difference that is attained.
    - `n_workers`: how many share the memory.

    - `state` (N_STATE,): that of `best_first.search`.
    """

    def __init__(
        self, problem: Problem, boxes: NodeBoxes, incumbent: float, n_workers: int
    ) -> None:
        self.forest, self.links, self.boxes = problem.forest, problem.links, boxes
        self.layout, whole = problem.layout, problem.layout.whole
        n_trees, size = len(self.forest.roots), 4 * int(self.forest.depth.max(initial=0)) + 8
        self.waiting = np.empty(size, np.int64)
        self.pairs = _product_trees(self.forest, n_workers)
        self.pool = _pool(n_trees, whole, self.forest.levels, n_workers)
        self.n_cells = np.concatenate([whole.high, self.layout.set_sizes()])
        self.summands = summands_of(self.links, self.boxes.thresholds, len(self.n_cells))
        n_boxes, n_tests = len(self.pool.bound), len(self.summands.cut)
        self.room = _room(n_trees, whole, kept_for(n_tests, n_boxes, n_workers))
        # The last two places are no boxes.
        n_spare = len(self.pool.bound) - 2.0
        self.state = np.zeros(N_STATE)
        self.state[[INCUMBENT, DROPPED, N_SPARE, PRICED]] = incumbent, incumbent, n_spare, NONE
        self.pricer: Pricer | None = None
        self.most = 16.0

    @property
    def n_open(self) -> int:
        """Number of open boxes."""
        return int(self.state[N_OPEN])

    @property
    def top(self) -> float:
        """Largest bound of an open box; minus infinity if there is none."""
        return float(self.pool.bound[self.pool.heap[0]]) if self.n_open else -np.inf

    def begin(self, start: Box) -> None:
        """Open the domain, which stands in the first place."""
        self.pool.low[0], self.pool.high[0], self.pool.words[0] = start
        self.state[N_SPARE] = -1
        self._call(0.0, 0.0)

    def begin_by_hand(self, start: Box) -> None:
        """Open the domain as far as pricing it asks for, without what `search` does."""
        self.pool.low[0], self.pool.high[0], self.pool.words[0] = start
        self.pool.one[0] = self.pool.two[0] = self.forest.roots
        self.pool.bound[0], self.pool.prices[0], self.pool.heap[0] = 1.0, -1, 0
        self.state[N_OPEN] = 1

    def work(self, rtol: float) -> None:
        """Split boxes for a while."""
        began = _clock.now()
        self._call(self.most, rtol)
        took = _clock.now() - began
        self.most = max(16.0, self.most * min(4.0, SECONDS_A_CALL / max(took, 1e-9)))

    def _call(self, most: float, rtol: float) -> None:
        limits = np.array([most, rtol])
        self._search(limits)
        while limits[MOST] > 0 and self.state[PRICED] == ASKED:
            self.price_top(rtol)
            limits[MOST] = max(limits[MOST] - PRICING, 1.0)
            self._search(limits)

    def _search(self, limits: Floats) -> None:
        search(
            self.forest, self.pairs, self.links, self.boxes, self.pool, self.room, self.state,
            limits, self.waiting,
        )  # fmt: skip

    def price_top(self, rtol: float) -> None:
        """Price the open box with the largest bound."""
        price_box(
            self.forest, self.pairs, self.links, self.boxes, self.pool, self.room, self.pricer,
            self.state, rtol, self.waiting,
        )  # fmt: skip

    def begin_pricing(self) -> None:
        """Price boxes from now on."""
        if self.pricer is None:
            n_sums = len(self.links.base)
            self.pricer = pricer_for(self.forest, self.summands, self.n_cells, n_sums)
            self.state[PRICES] = 1.0

    def best(self) -> Box:
        """Return the best point that this worker has found."""
        return self._box(len(self.pool.bound) - 2)

    def top_box(self) -> Box:
        """Return the open box with the largest bound."""
        return self._box(int(self.pool.heap[0]))

    def _box(self, place: int) -> Box:
        pool = self.pool
        return Box(pool.low[place].copy(), pool.high[place].copy(), pool.words[place].copy())

    def share(self, other: Worker) -> None:
        """Move to another worker every second box with a larger bound than all of its boxes."""
        if self.n_open > 1 and other.state[N_SPARE] > MOST_HANDED:
            self.hand_over(other)

    def hand_over(self, other: Worker) -> None:
        """Move every second box to another worker."""
        levels = self.forest.levels
        hand_over(
            self.pool, self.room.prices, self.state, other.pool, other.room.prices, other.state,
            MOST_HANDED, levels,
        )  # fmt: skip


def _product_trees(forest: Forest, n_workers: int) -> ProductTrees:
    """Product trees of all trees, folded up; memory is taken as they are grown."""
    n_trees = len(forest.roots)
    n = max(MOST_PRODUCT_NODES // n_workers, n_trees + 1)
    # Two children stand side by side: they share a line of the cache where pairs begin with one.
    room = np.empty(n * NODE.itemsize + LINE, dtype=np.uint8)
    start = -room.ctypes.data % LINE
    nodes = room[start : start + n * NODE.itemsize].view(NODE)
    roots = nodes[:n_trees]
    roots["first"], roots["second"], roots["parent"] = forest.roots, forest.roots, -1
    roots["bound"] = forest.most[forest.roots]
    finished = plain(is_finished)(forest, forest.roots, forest.roots)
    roots["place"] = np.where(finished, LEAF, FOLDED)
    return ProductTrees(nodes, np.array([n_trees + n_trees % 2], dtype=np.int64))


def _room(n_trees: int, whole: Box, kept: Kept) -> Room:
    n_ordered, n_words = len(whole.low), len(whole.words)
    best = PairBoxes(
        np.empty((n_ordered, n_trees), np.int32),
        np.empty((n_ordered, n_trees), np.int32),
        np.empty((n_words, n_trees), np.uint64),
    )
    return Room(
        best,
        kept,
        np.empty(n_trees),
        np.zeros(4),
        np.zeros(n_words, np.uint64),
        np.full(n_ordered, -1, np.int32),
    )


def _pool(n_trees: int, whole: Box, levels: bool, n_workers: int) -> Pool:
    n_extremes = n_trees if levels else 1
    size = 8 * len(whole.low) + 8 * len(whole.words) + 8 * (n_trees + n_extremes) + 40
    n = max(64, min(4_000_000, MEMORY // size) // n_workers)
    return Pool(
        np.empty((n, len(whole.low)), dtype=np.int32),
        np.empty((n, len(whole.low)), dtype=np.int32),
        np.empty((n, len(whole.words)), dtype=np.uint64),
        np.empty(n),
        np.empty((n, n_trees), dtype=np.int32),
        np.empty((n, n_trees), dtype=np.int32),
        np.empty((n if levels else 1, n_extremes), dtype=np.int32),
        np.empty((n if levels else 1, n_extremes), dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.arange(n - 3, -1, -1, dtype=np.int64),  # the first place is taken first
    )


class CompiledSearch:
    """The branch and bound on one output of a model of trees.

    - `incumbent`: a difference that is attained; only larger ones are looked for.
    - `n_workers`: threads.
    """

    def __init__(self, problem: Problem, incumbent: float, n_workers: int = 1) -> None:
        self.problem, self.incumbent = problem, incumbent
        self.point: Box | None = None
        boxes = node_boxes_of(problem)
        self.workers = [Worker(problem, boxes, incumbent, n_workers) for _ in range(n_workers)]
        self.workers[0].begin(problem.layout.whole)
        self.heuristic = PrimalHeuristic(problem, n_starts=8)

    def run(
        self,
        deadline: float,
        rtol: float,
        note: Note = unnoted,
        has: Callable[..., bool] = lambda *functions: True,
    ) -> Bracket:
        """Search until the bracket is closed to `rtol` or the clock shows `deadline`.

        A local search and prices take part as soon as it `has` them compiled.
        """
        reason = "closed"
        with ThreadPoolExecutor(len(self.workers)) as threads:
            while busy := [worker for worker in self.workers if worker.n_open]:
                if _clock.now() >= deadline:
                    reason = "time"
                    break
                if any(worker.state[N_SPARE] < 2 for worker in busy):
                    reason = "memory"
                    break
                while self.heuristic.is_due(deadline) and has(search_locally):
                    self._search_locally(busy)
                for worker in self.workers if has(*PRICING_ENTRIES) else ():
                    worker.begin_pricing()
                # The threads may well wait for each other: a round is short.
                list(threads.map(lambda worker: worker.work(rtol), busy))
                self._meet()
                note(self.incumbent, self._upper, self._n_boxes, self._twins)
        return Bracket(self.incumbent, self._upper, self._twins(), self._n_boxes, reason)

    def _twins(self) -> Twins | None:
        return None if self.point is None else self.problem.layout.codes(self.point)

    @property
    def _upper(self) -> float:
        """No difference is larger."""
        dropped = (float(worker.state[DROPPED]) for worker in self.workers)
        return max([self.incumbent, *dropped, *(worker.top for worker in self.workers)])

    @property
    def _n_boxes(self) -> int:
        return int(sum(worker.state[OPENED] for worker in self.workers))

    def _search_locally(self, busy: list[Worker]) -> None:
        """Search locally once, also into the box with the largest bound."""
        ahead = max(busy, key=lambda worker: worker.top)
        point = ahead.room.point
        value = self.heuristic.step(ahead.top_box(), point if point.min(initial=0) >= 0 else None)
        if value > self.incumbent:
            self.incumbent, self.point = value, self.heuristic.best
        for worker in self.workers:
            worker.state[INCUMBENT] = max(worker.state[INCUMBENT], self.incumbent)

    def _meet(self) -> None:
        """Share the best point among all workers, and give boxes to those that fall behind."""
        for worker in self.workers:
            if worker.state[INCUMBENT] > self.incumbent:
                self.incumbent = float(worker.state[INCUMBENT])
                self.point = worker.best()
        for worker in self.workers:
            worker.state[INCUMBENT] = self.incumbent
        if len(self.workers) > 1:
            ranked = sorted(self.workers, key=lambda worker: worker.top)
            for behind, ahead in zip(ranked, ranked[: len(ranked) // 2 - 1 : -1], strict=False):
                if behind.top < ahead.top:
                    ahead.share(behind)
