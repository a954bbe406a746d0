"""Narrow a box by its prices: take away the cells of a column with which no point can be better.

The bound by prices is a sum over trees and columns. In the part of a box on one side of a cut, no
tree has a leaf that demands the other side, and the column gives back no more than in its best cell
there. What both lose is known without another step. Where what is left of the bound is no more than
a difference that is known, the part is taken away: reduced costs fix variables of integer programs
in this way [1]_.

References
----------
.. [1] Nemhauser, G. L., Wolsey, L. A. (1988). Integer and combinatorial optimization. Wiley.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import numpy as np

from skfairtest.exact._trees.listed_nodes import MOST_LEAVES
from skfairtest.workers._compiled import inner, njit

#: Share of a sum that may be rounding.
ROUNDING = 1e-9


@njit
def narrow_box(forest, pricer, most_lost, low, high, words):
    """Narrow a box, of which one sum was bounded, in place; return whether it has changed.

    No cell of some column is left where the box has no better point.

    - `most_lost`: how far the sum at the last prices may fall and still beat what is known.
    """
    columns, given, lost = pricer.columns, pricer.columns.given, pricer.columns.lost
    lose_leaves(pricer, len(low))
    enough = most_lost + ROUNDING * (abs(most_lost) + abs(pricer.sums[0]))
    has_changed = False
    for c in range(len(columns.best)):
        start, end = columns.start[c], columns.start[c + 1]
        top = given[columns.best[c]]
        if c >= len(low):
            for cell in range(end - start):
                w = forest.word_start[c - len(low)] + cell // 64
                bit = np.uint64(1) << np.uint64(cell % 64)
                if words[w] & bit != 0 and top - given[start + cell] > enough:
                    words[w] &= ~bit
                    has_changed = True
            continue
        # Above a cut the leaves are lost that demand to be below it, or below one before.
        loss, most = 0.0, given[start]
        for k in range(end - 1, start, -1):
            lost[0, k] += lost[0, k + 1] if k + 1 < end else 0.0
        for k in range(start + 1, end):
            if lost[0, k] + top - most > enough and columns.cell[k] > low[c]:
                low[c], has_changed = columns.cell[k], True
            most = max(most, given[k])
            loss += lost[1, k]
            lost[1, k] = loss
        most = -np.inf
        for k in range(end - 1, start, -1):
            most = max(most, given[k])
            if lost[1, k] + top - most > enough and columns.cell[k] < high[c]:
                high[c], has_changed = columns.cell[k], True
    return has_changed


@inner
def lose_leaves(pricer, n_ordered):
    """Write what trees lose below and above each cut that they do not lose at the one before it."""
    listed, sides, columns = pricer.listed, pricer.sides, pricer.columns
    lost, left = columns.lost, listed.left
    for k in range(columns.start[len(columns.best)]):
        lost[0, k], lost[1, k] = 0.0, 0.0
    found, at = np.empty(MOST_LEAVES, np.int64), np.empty(MOST_LEAVES, np.int64)
    for t in range(len(pricer.chosen)):
        first, last = listed.start[t], listed.start[t + 1]
        for k in range(first, last):
            left[k] = listed.value[k]
            for q in range(listed.n_sides[k]):
                left[k] -= sides.charge[listed.side[k, q]]
        for c in range(n_ordered if first < last else 0):
            for sign in (1, -1):
                n, most = 0, listed.rest[t]
                for k in range(first, last):
                    own = -1
                    for q in range(listed.n_sides[k]):
                        m = listed.side[k, q]
                        if sides.column[m] == c and sides.sign[m] == sign:
                            own = sides.segment[m]
                    if own < 0:
                        most = max(most, left[k])
                        continue
                    # Weaker demands first.
                    i = n
                    while i > 0 and sign * (at[i - 1] - own) > 0:
                        at[i], found[i] = at[i - 1], found[i - 1]
                        i -= 1
                    at[i], found[i] = own, k
                    n += 1
                for i in range(n):
                    more = left[found[i]] - most
                    if more > 0:
                        lost[0 if sign > 0 else 1, at[i]] += more
                        most += more
