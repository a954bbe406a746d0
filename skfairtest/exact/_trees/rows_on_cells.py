"""Rows of data and their twins on cells: the outputs of very many twins, compiled.

To put rows to a model as it was read, one test after another for arrays of rows, takes NumPy longer
than the whole branch and bound does. On cells a row is a few whole numbers.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.exact._trees.link_bounds import signs
from skfairtest.exact._trees.local_search import leaf_of
from skfairtest.exact._trees.problem import Problem
from skfairtest.exact._trees.threshold_cells import WORD
from skfairtest.whitebox._tree_model import Group, link_value
from skfairtest.workers._compiled import njit


@njit
def sums_of_twins(forest, part, cells, words, own_cells, own_words, n_ordered, n_sets, sums):
    """Add up the trees of twins of rows.

    - `forest`, `part`: the trees, and the part that each adds to.
    - `cells`, `words`: the rows, one copy of each attribute after another.
    - `own_cells`, `own_words` (n, n_twins, ...): what stands in the sensitive copies of each twin.
    - `n_ordered`, `n_sets`: where these copies stand: ordered ones, and the words of others.
    - `sums` (n, n_twins, n_parts): is written to.
    """
    first = np.int64(0)
    for i in range(len(cells)):
        for t in range(len(forest.roots)):
            value = 0.0
            for k in range(own_cells.shape[1]):
                # Values come in order, so that the next one is often in the same cell.
                moved = k == 0
                if not moved and forest.splits[forest.roots[t]]:
                    for c in range(len(n_ordered)):
                        moved = moved or own_cells[i, k, c] != own_cells[i, k - 1, c]
                    for c in range(len(n_sets)):
                        moved = moved or own_words[i, k, c] != own_words[i, k - 1, c]
                if moved:
                    for c in range(len(n_ordered)):
                        cells[i, n_ordered[c]] = own_cells[i, k, c]
                    for c in range(len(n_sets)):
                        words[i, n_sets[c]] = own_words[i, k, c]
                    leaf = leaf_of(forest, forest.roots[t], first, cells[i], words[i])
                    value = forest.low[leaf]
                sums[i, k, part[t]] += value


def outputs_of_twins(problem: Problem, output: list[Group], rows: Floats, values: Floats) -> Floats:
    """Return an output of rows with their sensitive attributes set, up to a number for each row.

    - `output`: the output that it is the problem of.
    - `rows` (n, n_features): codes inside the domain.
    - `values` (n, n_twins, n_sensitive): codes of the sensitive attributes.
    - the result (n, n_twins): trees that never take twins apart may be left out.
    """
    layout, forest = problem.layout, problem.forest
    sensitive = {int(j): s for s, j in enumerate(problem.space.sensitive)}
    n, n_twins = values.shape[:2]
    cells = np.zeros((n, len(layout.whole.low)), dtype=np.int32)
    words = np.zeros((n, len(layout.whole.words)), dtype=np.uint64)
    n_ordered: list[int] = []
    n_sets: list[int] = []
    own_cells: list[NDArray[np.int32]] = []
    own_words: list[NDArray[np.uint64]] = []
    for j in (int(j) for j in layout.attributes):
        place = layout.place[j][0]
        span = np.arange(0)
        if not layout.is_ordered[j]:
            span = np.arange(*layout.word_start[place : place + 2])
        if j not in sensitive:
            cell = problem.grid.cell_of(j, rows[:, j])
            if layout.is_ordered[j]:
                cells[:, place] = cell
            else:
                words[:, span] = _one_bit(cell, len(span))
            continue
        # Few values as a rule: they are looked up once each.
        distinct, back = np.unique(values[:, :, sensitive[j]], return_inverse=True)
        cell = problem.grid.cell_of(j, distinct)[back.reshape(n, n_twins)]
        if layout.is_ordered[j]:
            n_ordered.append(place)
            own_cells.append(cell.astype(np.int32))
        else:
            n_sets.extend(span.tolist())
            own_words.extend(np.moveaxis(_one_bit(cell, len(span)), -1, 0))
    sums = np.tile(problem.links.base, (n, n_twins, 1))
    sums_of_twins(
        forest,
        problem.links.part,
        cells,
        words,
        np.stack(own_cells, axis=-1) if own_cells else np.zeros((n, n_twins, 0), np.int32),
        np.stack(own_words, axis=-1) if own_words else np.zeros((n, n_twins, 0), np.uint64),
        np.array(n_ordered, dtype=np.int64),
        np.array(n_sets, dtype=np.int64),
        sums,
    )
    signed = np.moveaxis(sums, -1, 0)
    total, start = np.zeros((n, n_twins)), 0
    for group in output:
        turned = np.array(signs(group))[:, None, None]
        own = turned * signed[start : start + len(group.parts)]
        total += group.weight * link_value(group.link, own)
        start += len(group.parts)
    return total


def _one_bit(cell: Ints, n_words: int) -> NDArray[np.uint64]:
    """Sets of one cell each, (..., n_words)."""
    words = np.zeros((*cell.shape, n_words), dtype=np.uint64)
    bit = np.uint64(1) << (cell % WORD).astype(np.uint64)
    np.put_along_axis(words, (cell // WORD)[..., None], bit[..., None], axis=-1)
    return words
