"""Branch and bound over the doubled domain, by compiled code: setting up, calling, reading out."""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from skfairtest._space import InputSpace
from skfairtest.exact._bracket import Bracket, make_links
from skfairtest.exact._chains import Chain
from skfairtest.exact._climb import Line, climb
from skfairtest.exact._descend import Stack, Woods, fill_most, node_boxes
from skfairtest.exact._dive import Heads, NodeBoxes, Pool, dive, push, start
from skfairtest.exact._ensembles import read_ensemble
from skfairtest.exact._layout import Box, Layout
from skfairtest.exact._nodes import IDENTITY, LOGISTIC, Group
from skfairtest.exact._problem import Problem
from skfairtest.exact._twins import NODE, TwinTrees, plant

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Memory for open boxes, in bytes.
MEMORY = 2_000_000_000
#: Nodes of all twin trees together, 32 bytes each. When they are used up, trees are descended twin
#: by twin.
MOST_TWIN_NODES = 40_000_000
#: Share of the time that is spent on climbing.
CLIMBING = 0.15
#: Seconds that one call of the compiled code should take, so that the clock is looked at.
PATIENCE = 0.1


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


def _twin_trees(woods: Woods) -> TwinTrees:
    """Twin trees of all trees, folded up; memory is taken as they are grown."""
    n = max(MOST_TWIN_NODES, len(woods.roots))
    twins = TwinTrees(np.empty(n, dtype=NODE), np.zeros(1, dtype=np.int64))
    plant(woods, twins)
    return twins


def _room(n_trees: int, whole: Box, levels: bool) -> Pool:
    n_heads = n_trees if levels else 1
    size = 8 * len(whole.low) + 8 * len(whole.words) + 8 * (n_trees + n_heads) + 24
    n = max(64, min(4_000_000, MEMORY // size))
    return Pool(
        np.empty((n, len(whole.low)), dtype=np.int32),
        np.empty((n, len(whole.low)), dtype=np.int32),
        np.empty((n, len(whole.words)), dtype=np.uint64),
        np.empty(n),
        np.empty((n, n_trees), dtype=np.int32),
        np.empty((n, n_trees), dtype=np.int32),
        np.empty((n if levels else 1, n_heads), dtype=np.int32),
        np.empty((n if levels else 1, n_heads), dtype=np.int32),
        np.empty(n, dtype=np.int64),
        # The last two places are no boxes; the first, which is the whole domain, joins in the end.
        np.concatenate([np.arange(1, n - 2)[::-1], [0]]).astype(np.int64),
    )


@lru_cache(maxsize=1)
def warm_up() -> None:
    """Have everything compiled, or read from disk, before the clock runs."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    space = InputSpace.from_data(X, [0])
    model = DecisionTreeRegressor(random_state=0).fit(X, [0.0, 1.0, 2.0, 5.0])
    output = read_ensemble(model, Chain(space), "regression")[0]
    for link in (IDENTITY, LOGISTIC):
        problem = Problem(space, [Group(link, 1.0, output[0].parts)])
        search = CompiledSearch(problem, 0.0)
        search.run(np.inf, 0.0)
        search.walkers.climb(search.state)


class _Walkers:
    """Pairs of twins on cells that climb while the boxes are taken apart."""

    def __init__(self, search: CompiledSearch, n_walkers: int) -> None:
        self.search = search
        layout = search.problem.layout
        self.sizes = layout.set_sizes()
        n_words = len(layout.whole.words)
        self.cells = np.zeros((n_walkers, len(layout.whole.low)), dtype=np.int32)
        self.words = np.zeros((n_walkers, n_words), dtype=np.uint64)
        self.words[:, layout.word_start[:-1]] = 1
        self.values = np.full(n_walkers, -np.inf)
        n_parts = len(search.links.base)
        most = max(layout.whole.high, default=0) + 1
        room = int(search.problem.forest.depth.max(initial=0)) + 2
        self.line = Line(
            np.zeros((2 * n_parts, most)),
            np.empty(room, dtype=np.int64),
            np.empty(room, dtype=np.int64),
            np.empty((3, n_parts)),
        )
        # Fixed: the certificate of a model does not depend on a seed.
        self.random = np.array([88172645463325252], dtype=np.uint64)

    def climb(self, state: Floats) -> float:
        """Let the walkers climb for a while, and note what they found; the seconds it took."""
        began = time.perf_counter()
        search, pool = self.search, self.search.pool
        top = pool.heap[0]
        best = climb(
            search.woods, search.links, search.problem.layout.whole.high, self.sizes,
            pool.low[top], pool.high[top], self.cells, self.words, self.values, self.random,
            self.line,
        )  # fmt: skip
        if self.values[best] > state[0]:
            state[0], state[3] = self.values[best], 1.0
            place = len(pool.bound) - 2
            pool.low[place], pool.high[place] = self.cells[best], self.cells[best] + 1
            pool.words[place] = self.words[best]
        return time.perf_counter() - began


class CompiledSearch:
    """The branch and bound on one output of a model of trees.

    Parameters
    ----------
    problem : Problem
        The trees on cells.
    known : float
        A difference that is attained; only larger ones are looked for.
    """

    def __init__(self, problem: Problem, known: float) -> None:
        self.problem = problem
        self.links = make_links(problem.sums)
        layout = problem.layout
        levels = not problem.sums.plain
        self.woods = _woods(problem, levels)
        n_trees = len(problem.forest.roots)
        size = 4 * int(problem.forest.depth.max(initial=0)) + 8
        whole = layout.whole
        self.stack = Stack(
            np.empty(size, np.int64),
            np.empty(size, np.int64),
            np.empty((size, len(whole.low)), np.int32),
            np.empty((size, len(whole.low)), np.int32),
            np.empty((size, len(whole.words)), np.uint64),
        )
        check_order(self.woods)
        self.boxes = _boxes(self.woods, layout)
        fill_most(self.woods)
        self.twins = _twin_trees(self.woods)
        self.pool = _room(n_trees, whole, levels)
        self.heads = Heads(
            np.empty((len(whole.low), n_trees), np.int32),
            np.empty((len(whole.low), n_trees), np.int32),
            np.empty((len(whole.words), n_trees), np.uint64),
        )
        self.pool.low[0], self.pool.high[0], self.pool.words[0] = whole
        start(self.woods, self.twins, self.links, self.boxes, self.pool, self.stack)
        push(self.pool.heap, 0, self.pool.bound, 0)
        self.walkers = _Walkers(self, n_walkers=8)
        self.state = np.array([known, known, 0.0, 0.0, 1.0, len(self.pool.spare) - 1.0])

    def run(self, deadline: float, rtol: float) -> Bracket:
        """Search until the bracket is closed to `rtol` or the clock shows `deadline`."""
        state, most = self.state, 16.0
        reason = "closed"
        start = time.perf_counter()
        climbed = 0.0
        while state[4] > 0:
            began = time.perf_counter()
            if began >= deadline:
                reason = "time"
                break
            if state[5] < 2:
                reason = "memory"
                break
            dive(
                self.woods, self.twins, self.links, self.boxes, self.pool, self.heads, state,
                np.array([most, rtol]), self.stack,
            )  # fmt: skip
            took = time.perf_counter() - began
            if state[4] > 0 and climbed < CLIMBING * (began - start):
                climbed += self.walkers.climb(state)
            most = max(16.0, most * min(4.0, PATIENCE / max(took, 1e-9)))
        upper = max(state[0], state[1])
        if state[4] > 0:
            upper = max(upper, float(self.pool.bound[self.pool.heap[0]]))
        twins = None
        if state[3]:
            best = len(self.pool.bound) - 2
            box = Box(self.pool.low[best], self.pool.high[best], self.pool.words[best])
            twins = self.problem.layout.codes(box)
        return Bracket(float(state[0]), float(upper), twins, int(state[2]), reason)
