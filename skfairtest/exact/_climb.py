"""Climbing on cells: quick search for better pairs of twins while the bound is worked out.

The bound of a box is met the sooner, the better the best pair that is known. Walkers change a few
cells of a pair of twins at a time and keep what is no worse; asking the trees on cells costs far
less than asking the estimator.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import numpy as np

from skfairtest.exact._compiled import njit
from skfairtest.exact._links import gap_of_sums


@njit
def draw(random, n):
    """A whole number below n from a state of 64 bits (xorshift64*, Vigna 2016)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return np.int64(((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % np.uint64(n))


@njit
def leaf_of(woods, root, twin, cells, words):
    """The leaf that a twin reaches; of unordered copies `words` hold one cell each."""
    node = root
    while woods.attribute[node] >= 0:
        j = woods.attribute[node]
        copy = woods.place_one[j] if twin == 0 else woods.place_two[j]
        if woods.ordered[j]:
            first = cells[copy] < woods.cut[node]
        else:
            first = False
            start = woods.word_start[copy]
            for w in range(start, woods.word_start[copy + 1]):
                first = first or (words[w] & woods.sets[woods.cut[node], w - start]) != 0
        node = woods.first[node] if first else woods.second[node]
    return node


@njit
def value_at(woods, links, cells, words):
    """Difference of the output between a pair of twins on cells."""
    n = len(links.base)
    D, U, V = np.zeros(n), links.base.copy(), links.base.copy()
    for t in range(len(woods.roots)):
        a = leaf_of(woods, woods.roots[t], 0, cells, words)
        b = leaf_of(woods, woods.roots[t], 1, cells, words)
        part = links.part[t]
        D[part] += woods.low[a] - woods.low[b]
        U[part] += woods.low[a]
        V[part] += woods.low[b]
    if woods.levels:
        D = U - V
    return gap_of_sums(links, D, U, V)


@njit
def change(woods, whole, sizes, cells, words, random):
    """Give one copy another cell: any, or for ordered ones as often one near by."""
    n_ordered = len(cells)
    k = draw(random, n_ordered + len(sizes))
    if k < n_ordered:
        n = whole[k]
        if draw(random, 2):
            cells[k] = draw(random, n)
        else:
            step = 1 + draw(random, 1 << (1 + draw(random, 10)))
            moved = cells[k] + (step if draw(random, 2) else -step)
            cells[k] = min(max(moved, 0), n - 1)
        return
    m = k - n_ordered
    start = woods.word_start[m]
    for w in range(start, woods.word_start[m + 1]):
        words[w] = 0
    cell = draw(random, sizes[m])
    words[start + cell // 64] = np.uint64(1) << np.uint64(cell % 64)


@njit
def climb(woods, links, whole, sizes, walkers, sets, values, random, n_steps):
    """Let every walker try some changes; the number of the best walker.

    `walkers` (n_walkers, n_ordered), `sets` (n_walkers, n_words) and `values` are written to. A
    walker that is far behind goes on from the place of the best one.
    """
    cells, words = walkers[0].copy(), sets[0].copy()
    for i in range(len(values)):
        for _ in range(n_steps):
            cells[:], words[:] = walkers[i], sets[i]
            for _ in range(1 + draw(random, 3)):
                change(woods, whole, sizes, cells, words, random)
            value = value_at(woods, links, cells, words)
            if value >= values[i]:
                walkers[i], sets[i], values[i] = cells, words, value
    best = int(values.argmax())
    worst = int(values.argmin())
    if worst != best:
        walkers[worst], sets[worst], values[worst] = walkers[best], sets[best], values[best]
    return best
