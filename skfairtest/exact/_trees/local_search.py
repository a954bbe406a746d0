"""Local search on cells: quick search for better pairs of twins while the bound is worked out.

The bound of a box is met the sooner, the better the best pair that is known. This primal heuristic
goes along one copy at a time to the best of all its cells: along a line, each tree is a step
function with few steps, so that all cells together cost little more than one. Where no line leads
up, some copies are changed at random and the walk starts again.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest import _clock
from skfairtest.exact._trees.link_bounds import gap_of_sums
from skfairtest.exact._trees.problem import Problem
from skfairtest.exact._trees.self_composition import CellBox
from skfairtest.workers._compiled import inner, njit


class Line(NamedTuple):
    """Scratch memory for the steps of all trees along one copy."""

    steps: NDArray[np.float64]  # (2 * n_parts, most cells + 1), zeros between uses
    node: NDArray[np.int64]
    high: NDArray[np.int64]
    sums: NDArray[np.float64]  # (3, n_parts)


@inner
def draw(random, n):
    """A whole number below n from a state of 64 bits (xorshift64*, Vigna 2016)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return np.int64(((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % np.uint64(n))


@inner
def leaf_of(forest, root, twin, cells, words):
    """The leaf that a twin reaches; of unordered copies `words` hold one cell each."""
    node = root
    while forest.attribute[node] >= 0:
        j = forest.attribute[node]
        copy = forest.place_one[j] if twin == 0 else forest.place_two[j]
        if forest.ordered[j]:
            first = cells[copy] < forest.cut[node]
        else:
            first = False
            start = forest.word_start[copy]
            for w in range(start, forest.word_start[copy + 1]):
                first = first or (words[w] & forest.sets[forest.cut[node], w - start]) != 0
        node = forest.first[node] if first else forest.second[node]
    return node


@inner
def value_at(forest, links, cells, words):
    """Difference of the output between a pair of twins on cells."""
    n = len(links.base)
    D, U, V = np.zeros(n), np.zeros(n), np.zeros(n)
    for p in range(n):
        U[p], V[p] = links.base[p], links.base[p]
    for t in range(len(forest.roots)):
        a = leaf_of(forest, forest.roots[t], np.int64(0), cells, words)
        b = leaf_of(forest, forest.roots[t], np.int64(1), cells, words)
        part = links.part[t]
        D[part] += forest.low[a] - forest.low[b]
        U[part] += forest.low[a]
        V[part] += forest.low[b]
    if forest.by_value:
        for p in range(n):
            D[p] = U[p] - V[p]
    return gap_of_sums(links, D, U, V)


@inner
def tree_steps(
    attribute, cut, first, second, ordered, place, word_start, sets, values, root, copy, n_cells,
    cells, words, waiting, highs, steps,
):  # fmt: skip
    """Add the steps of one tree along an ordered copy, as a twin sees it, to a row of steps."""
    waiting[0], highs[0] = root, n_cells
    top, low, before = 0, 0, 0.0
    while top >= 0:
        node, high = waiting[top], highs[top]
        top -= 1
        while attribute[node] >= 0:
            j = attribute[node]
            own = place[j]
            if ordered[j]:
                if own == copy and low < cut[node] < high:
                    # The part above waits; parts come in order, so each begins where one ended.
                    top += 1
                    waiting[top], highs[top] = second[node], high
                    high = cut[node]
                    node = first[node]
                    continue
                cell = low if own == copy else cells[own]
                node = first[node] if cell < cut[node] else second[node]
                continue
            some = np.uint64(0)
            start = word_start[own]
            for w in range(start, word_start[own + 1]):
                some |= words[w] & sets[cut[node], w - start]
            node = first[node] if some else second[node]
        steps[low] += values[node] - before
        before = values[node]
        low = high


@inner
def best_on_line(forest, links, whole, cells, words, copy, random, line):
    """The best cell of an ordered copy, the others held; one at random of those equally good."""
    attribute, cut, first, second = forest.attribute, forest.cut, forest.first, forest.second
    ordered, one, two, roots = forest.ordered, forest.place_one, forest.place_two, forest.roots
    word_start, sets, values, parts = forest.word_start, forest.sets, forest.low, links.part
    steps, waiting, highs, n_cells = line.steps, line.node, line.high, whole[copy]
    for t in range(len(roots)):
        tree_steps(
            attribute, cut, first, second, ordered, one, word_start, sets, values, roots[t], copy,
            n_cells, cells, words, waiting, highs, steps[2 * parts[t]],
        )  # fmt: skip
        tree_steps(
            attribute, cut, first, second, ordered, two, word_start, sets, values, roots[t], copy,
            n_cells, cells, words, waiting, highs, steps[2 * parts[t] + 1],
        )  # fmt: skip
    U, V, D = line.sums[0], line.sums[1], line.sums[2]
    for p in range(len(U)):
        U[p], V[p] = links.base[p], links.base[p]
    best, value, low, chosen, high, n = -np.inf, -np.inf, 0, 0, 0, 0
    for cell in range(n_cells + 1):
        moved = cell == n_cells
        for p in range(len(steps)):
            moved = moved or steps[p, cell] != 0.0
        if moved and cell > 0 and value >= best - 1e-12 * abs(best):
            n = 1 if value > best + 1e-12 * abs(best) else n + 1
            best = max(best, value)
            if draw(random, n) == 0:
                chosen, high = low, cell
        if moved and cell < n_cells:
            for p in range(len(U)):
                U[p] += steps[2 * p, cell]
                V[p] += steps[2 * p + 1, cell]
                D[p] = U[p] - V[p]
            value, low = gap_of_sums(links, D, U, V), cell
        for p in range(len(steps)):
            steps[p, cell] = 0.0
    return chosen + draw(random, high - chosen)


@inner
def set_cell(word_start, m, words, cell):
    """Put an unordered copy into one cell."""
    start = word_start[m]
    for w in range(start, word_start[m + 1]):
        words[w] = 0
    words[start + cell // 64] = np.uint64(1) << np.uint64(cell % 64)


@inner
def ascend(forest, links, whole, sizes, cells, words, random, line):
    """Improve one copy after another until none improves; return the value there."""
    n_ordered, n = len(cells), len(cells) + len(sizes)
    value = value_at(forest, links, cells, words)
    since, k = 0, draw(random, n)
    while since < n:
        k = (k + 1) % n
        since += 1
        if k < n_ordered:
            was = cells[k]
            cells[k] = best_on_line(forest, links, whole, cells, words, k, random, line)
            now = value_at(forest, links, cells, words)
            if now > value + 1e-12 * abs(value):
                value, since = now, 0
            elif now < value:
                cells[k] = was  # rounding
            continue
        m = k - n_ordered
        start, end = forest.word_start[m], forest.word_start[m + 1]
        old = words[start:end].copy()
        for cell in range(sizes[m]):
            set_cell(forest.word_start, m, words, cell)
            now = value_at(forest, links, cells, words)
            if now > value + 1e-12 * abs(value):
                value, since = now, 0
                for w in range(start, end):
                    old[w - start] = words[w]
        for w in range(start, end):
            words[w] = old[w - start]
    return value


@inner
def scatter(word_start, whole, sizes, low, high, cells, words, n_changes, random):
    """Change some copies at random: anywhere, near by, or inside a box."""
    n_ordered = len(cells)
    for _ in range(n_changes):
        k = draw(random, n_ordered + len(sizes))
        if k >= n_ordered:
            m = k - n_ordered
            set_cell(word_start, m, words, draw(random, sizes[m]))
            continue
        way = draw(random, np.int64(3))
        if way == 0:
            cells[k] = draw(random, np.int64(whole[k]))
        elif way == 1:
            cells[k] = low[k] + draw(random, np.int64(high[k]) - np.int64(low[k]))
        else:
            step = 1 + draw(random, 1 << (1 + draw(random, np.int64(10))))
            moved = cells[k] + (step if draw(random, np.int64(2)) else -step)
            cells[k] = min(max(moved, 0), whole[k] - 1)


@njit
def search_locally(forest, links, whole, sizes, low, high, cells, words, value, random, line):
    """Search once from a place near the best one of a start; return its best value.

    `cells` (n_ordered,) and `words` (n_words,) are written to. `value` is minus infinity of a
    start anywhere. `low` and `high` are the box with the largest bound.
    """
    there, sets = cells.copy(), words.copy()
    # One to four copies are changed before a walk starts again.
    n_changes = 1 + draw(random, np.int64(4))
    if value == -np.inf:
        n_changes = 4 * (len(cells) + len(sizes))
    scatter(forest.word_start, whole, sizes, low, high, there, sets, n_changes, random)
    now = ascend(forest, links, whole, sizes, there, sets, random, line)
    if now < value:
        return value
    for c in range(len(cells)):
        cells[c] = there[c]
    for w in range(len(words)):
        words[w] = sets[w]
    return now


class PrimalHeuristic:
    """Pairs of twins that search locally while the boxes are split.

    - `problem`: one output of a model of trees.
    - `n_starts`: number of pairs.

    - `best`: the point of the pair that differs the most.
    """

    def __init__(self, problem: Problem, n_starts: int) -> None:
        # Not the search itself: in a circle its gigabytes would stay until garbage is collected.
        self.forest, self.links, layout = problem.forest, problem.links, problem.layout
        self.whole = layout.whole
        self.sizes = layout.set_sizes()
        n_words = len(layout.whole.words)
        self.cells = np.zeros((n_starts, len(layout.whole.low)), dtype=np.int32)
        self.words = np.zeros((n_starts, n_words), dtype=np.uint64)
        self.words[:, layout.word_start[:-1]] = 1
        self.values = np.full(n_starts, -np.inf)
        self.turn = 0
        self.began, self.took = _clock.now(), 0.0
        n_parts = len(self.links.base)
        most = max(layout.whole.high, default=0) + 1
        size = int(problem.forest.depth.max(initial=0)) + 2
        self.line = Line(
            np.zeros((2 * n_parts, most)),
            np.empty(size, dtype=np.int64),
            np.empty(size, dtype=np.int64),
            np.empty((3, n_parts)),
        )
        # Fixed: the certificate of a model does not depend on a seed.
        self.random = np.array([88172645463325252], dtype=np.uint64)

    def is_due(self, deadline: float) -> bool:
        """Return whether local search has taken less than its share of the time before it is up."""
        now = _clock.now()
        since = now - self.began
        # A fiftieth of the time, and a tenth more of the first ten seconds.
        share = 0.1 * min(since, 10.0) + 0.02 * since
        return now < deadline and self.took <= share

    def step(self, box: CellBox, point: NDArray[np.int32] | None = None) -> float:
        """Let the next start search once, also inside a box; return the largest value so far.

        With a point the worst start goes on from there.
        """
        began, i = _clock.now(), self.turn
        if point is not None and i % 2:
            i = int(self.values.argmin())
            self.cells[i], self.values[i] = point, -1e300
        self.values[i] = search_locally(
            self.forest, self.links, self.whole.high, self.sizes, box.low, box.high,
            self.cells[i], self.words[i], self.values[i], self.random, self.line,
        )  # fmt: skip
        best = int(self.values.argmax())
        self.best = CellBox(self.cells[best].copy(), self.cells[best] + 1, self.words[best].copy())
        self.turn = (self.turn + 1) % len(self.values)
        if self.turn == 0:
            self._start_anew(best)
        self.took += _clock.now() - began
        return float(self.values[best])

    def _start_anew(self, best: int) -> None:
        """Begin again with the worst start from the best one's place, or from a random place.

        One local maximum alone is not worth all starts.
        """
        worst = int(self.values.argmin())
        if worst == best:
            return
        self.cells[worst], self.words[worst] = self.cells[best], self.words[best]
        self.values[worst] = -np.inf if draw(self.random, 2) == 0 else self.values[best]
