"""What twins on cells differ by, from one descent of the trees for each of the two."""

from __future__ import annotations

import numpy as np

from skfairtest.exact._trees.link_bounds import gap_of_sums
from skfairtest.exact._trees.problem import leaves_of
from skfairtest.exact._trees.self_composition import CellBox
from skfairtest.workers._compiled import plain


def value_at(problem, cells, words):
    """The output's difference; of unordered copies `words` hold one cell each."""
    forest, links = problem.forest, problem.links
    both = problem.layout.first_cells(CellBox(cells, cells + 1, words))
    one, two = forest.low[leaves_of(forest, both)]
    n = len(links.base)
    U, V = (links.base + np.bincount(links.part, values, n) for values in (one, two))
    return float(plain(gap_of_sums)(links, U - V, U, V))
