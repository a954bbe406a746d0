"""Branch and bound over the doubled domain, by compiled code: setting up, calling, reading out."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from skfairtest.exact._bracket import Bracket, make_links
from skfairtest.exact._trees.best_first import NodeBoxes
from skfairtest.exact._trees.descend import Woods, fill_most, node_boxes
from skfairtest.exact._trees.doubled_domain import Box, Layout
from skfairtest.exact._trees.link_bounds import Links
from skfairtest.exact._trees.local_search import Line, climb, draw
from skfairtest.exact._trees.problem import Problem
from skfairtest.exact._trees.workers import Worker
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._ensembles import read_ensemble
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._tree_model import IDENTITY, LOGISTIC, Group

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Share of the time that is spent on climbing: of the first seconds, and of all.
CLIMBING = 0.1
FIRST_SECONDS = 10.0
LATER_CLIMBING = 0.02


def _woods(problem: Problem, levels: bool) -> Woods:
    forest = problem.forest
    ordered, one, two = problem.layout.tables()
    return Woods(
        forest.attribute.astype(np.int64),
        forest.cut.astype(np.int64),
        forest.first.astype(np.int64),
        forest.second.astype(np.int64),
        forest.roots.astype(np.int64),
        forest.sets,
        forest.depth.astype(np.int64),
        forest.splits,
        forest.low,
        forest.high,
        np.zeros(len(forest.low)),
        ordered.astype(np.int64),
        one.astype(np.int64),
        two.astype(np.int64),
        problem.layout.word_start.astype(np.int64),
        levels,
    )


def check_order(woods: Woods) -> None:
    """See that children stand behind their parents, which single passes over the nodes rely on."""
    inner = np.flatnonzero(woods.attribute >= 0)
    if (np.minimum(woods.first[inner], woods.second[inner]) <= inner).any():
        raise ValueError(
            "Expected the nodes of fitted trees to come parents first; this release of "
            "scikit-learn orders them otherwise. Use engine='numpy', and please report it."
        )


def _boxes(woods: Woods, layout: Layout) -> NodeBoxes:
    whole = layout.whole
    n = len(woods.attribute)
    low = np.zeros((n, len(whole.low)), dtype=np.int32)
    high = np.zeros((n, len(whole.low)), dtype=np.int32)
    words = np.zeros((n, len(whole.words)), dtype=np.uint64)
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
    node_boxes(woods, *whole, low, high, words)
    return NodeBoxes(low, high, words, twin_ordered, first_ordered, twin_word, first_word)


@lru_cache(maxsize=1)
def warm_up() -> None:
    """Have everything compiled, or read from disk, before the clock runs."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    space = InputSpace.from_data(X, [0])
    model = DecisionTreeRegressor(random_state=0).fit(X, [0.0, 1.0, 2.0, 5.0])
    output = read_ensemble(model, Chain(space), "regression")[0]
    for link in (IDENTITY, LOGISTIC):
        problem = Problem(space, [Group(link, 1.0, output[0].parts)])
        CompiledSearch(problem, 0.0, n_workers=2).run(np.inf, 0.0)


class _Walkers:
    """Pairs of twins on cells that climb while the boxes are taken apart."""

    def __init__(self, problem: Problem, woods: Woods, links: Links, n_walkers: int) -> None:
        # Not the search itself: in a circle its gigabytes would stay until garbage is collected.
        self.woods, self.links, layout = woods, links, problem.layout
        self.whole = layout.whole
        self.sizes = layout.set_sizes()
        n_words = len(layout.whole.words)
        self.cells = np.zeros((n_walkers, len(layout.whole.low)), dtype=np.int32)
        self.words = np.zeros((n_walkers, n_words), dtype=np.uint64)
        self.words[:, layout.word_start[:-1]] = 1
        self.values = np.full(n_walkers, -np.inf)
        self.turn = 0
        n_parts = len(links.base)
        most = max(layout.whole.high, default=0) + 1
        room = int(problem.forest.depth.max(initial=0)) + 2
        self.line = Line(
            np.zeros((2 * n_parts, most)),
            np.empty(room, dtype=np.int64),
            np.empty(room, dtype=np.int64),
            np.empty((3, n_parts)),
        )
        # Fixed: the certificate of a model does not depend on a seed.
        self.random = np.array([88172645463325252], dtype=np.uint64)

    def climb(self, box: Box) -> float:
        """Let the next walker climb once, maybe into a box; the largest value so far."""
        i = self.turn
        self.values[i] = climb(
            self.woods, self.links, self.whole.high, self.sizes, box.low, box.high,
            self.cells[i], self.words[i], self.values[i], self.random, self.line,
        )  # fmt: skip
        best = int(self.values.argmax())
        self.best = Box(self.cells[best].copy(), self.cells[best] + 1, self.words[best].copy())
        self.turn = (i + 1) % len(self.values)
        if self.turn == 0:
            self._start_anew(best)
        return float(self.values[best])

    def _start_anew(self, best: int) -> None:
        """Let the walker that is furthest behind go on from the best one's place, or from anywhere.

        One hill alone is not worth all walkers.
        """
        worst = int(self.values.argmin())
        if worst == best:
            return
        self.cells[worst], self.words[worst] = self.cells[best], self.words[best]
        self.values[worst] = -np.inf if draw(self.random, 2) == 0 else self.values[best]


class CompiledSearch:
    """The branch and bound on one output of a model of trees.

    Parameters
    ----------
    problem : Problem
        The trees on cells.
    known : float
        A difference that is attained; only larger ones are looked for.
    n_workers : int, default=1
        Threads.
    """

    def __init__(self, problem: Problem, known: float, n_workers: int = 1) -> None:
        self.problem, self.known = problem, known
        self.best: Box | None = None
        self.links = make_links(problem.sums)
        self.woods = _woods(problem, not problem.sums.plain)
        check_order(self.woods)
        self.boxes = _boxes(self.woods, problem.layout)
        fill_most(self.woods)
        depth = int(problem.forest.depth.max(initial=0))
        self.workers = [
            Worker(
                self.woods, self.links, self.boxes, problem.layout.whole, depth, known, n_workers
            )
            for _ in range(n_workers)
        ]
        self.workers[0].begin(problem.layout.whole)
        self.walkers = _Walkers(problem, self.woods, self.links, n_walkers=8)

    def run(self, deadline: float, rtol: float) -> Bracket:
        """Search until the bracket is closed to `rtol` or the clock shows `deadline`."""
        reason, began, climbed = "closed", time.perf_counter(), 0.0
        with ThreadPoolExecutor(len(self.workers)) as threads:
            while busy := [worker for worker in self.workers if worker.n_open]:
                now = time.perf_counter()
                if now >= deadline:
                    reason = "time"
                    break
                if any(worker.state[5] < 2 for worker in busy):
                    reason = "memory"
                    break
                share = CLIMBING * min(now - began, FIRST_SECONDS) + LATER_CLIMBING * (now - began)
                while climbed <= share:
                    self._climb(busy)
                    climbed += time.perf_counter() - now
                    now = time.perf_counter()
                # The threads may well wait for each other: a round is short.
                list(threads.map(lambda worker: worker.dive(rtol), busy))
                self._meet()
        upper = max([self.known, *(float(w.state[1]) for w in self.workers)])
        upper = max([upper, *(worker.top for worker in self.workers)])
        twins = None if self.best is None else self.problem.layout.codes(self.best)
        n_boxes = int(sum(worker.state[2] for worker in self.workers))
        return Bracket(self.known, upper, twins, n_boxes, reason)

    def _climb(self, busy: list[Worker]) -> None:
        """Climb once, also into the box with the largest bound."""
        ahead = max(busy, key=lambda worker: worker.top)
        value = self.walkers.climb(ahead.top_box())
        if value > self.known:
            self.known, self.best = value, self.walkers.best
        for worker in self.workers:
            worker.state[0] = max(worker.state[0], self.known)

    def _meet(self) -> None:
        """Tell all workers the best point of each, and give boxes to those that fall behind."""
        for worker in self.workers:
            if worker.state[0] > self.known:
                self.known, self.best = float(worker.state[0]), worker.best()
        for worker in self.workers:
            worker.state[0] = self.known
        if len(self.workers) > 1:
            ranked = sorted(self.workers, key=lambda worker: worker.top)
            for behind, ahead in zip(ranked, ranked[: len(ranked) // 2 - 1 : -1], strict=False):
                if behind.top < ahead.top:
                    ahead.share(behind)
