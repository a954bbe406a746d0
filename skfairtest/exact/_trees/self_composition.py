"""The self-composition: one copy of every free attribute, two of every sensitive one.

A point of it is an input together with two settings of its sensitive attributes, that is, a pair of
twins. A box is a range of cells of each ordered copy and a set of cells of each other one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints, Words
from skfairtest.exact._compared_rows import middle_row
from skfairtest.exact._trees.threshold_cells import CellGrid, as_words, first_cell


class CellBox(NamedTuple):
    """ColumnCells low <= cell < high of the ordered copies, sets of cells of the others."""

    low: NDArray[np.int32]  # (n_ordered,)
    high: NDArray[np.int32]  # (n_ordered,)
    words: Words  # (n_words,)


class CompositionLayout:
    """Which copy of which attribute stands where in a box.

    - `attributes`: attributes that some tree tests.
    - `is_ordered`: whether cells of an attribute are ordered.
    - `place`: where the first and the second twin's copy stands: among the ordered copies, or among
      the others. The same place for a free attribute.
    - `word_start`: first word of each unordered copy, and the end.
    - `whole`: Everything.
    """

    def __init__(self, grid: CellGrid) -> None:
        self.grid = grid
        space = grid.space
        sensitive = {int(j) for j in space.sensitive}
        self.attributes = np.array(sorted(grid.cells), dtype=np.intp)
        self.is_ordered = {int(j): grid.cells[int(j)].ordered for j in self.attributes}
        self.place: dict[int, tuple[int, int]] = {}
        highs: list[int] = []
        sets: list[Words] = []
        for j in (int(j) for j in self.attributes):
            n = grid.n_cells(j)
            ordered = self.is_ordered[j]
            start = len(highs) if ordered else len(sets)
            n_copies = 2 if j in sensitive else 1
            self.place[j] = (start, start + n_copies - 1)
            for _ in range(n_copies):
                if ordered:
                    highs.append(n)
                else:
                    sets.append(as_words(np.ones((1, n), dtype=bool))[0])
        self.word_start = np.cumsum([0] + [len(s) for s in sets]).astype(np.intp)
        self.whole = CellBox(
            np.zeros(len(highs), dtype=np.int32),
            np.array(highs, dtype=np.int32),
            np.concatenate(sets) if sets else np.empty(0, dtype=np.uint64),
        )

    def set_sizes(self) -> NDArray[np.int64]:
        """Return the numbers of cells of the unordered copies."""
        sizes = np.zeros(len(self.word_start) - 1, dtype=np.int64)
        for j, places in self.place.items():
            if not self.is_ordered[j]:
                sizes[list(places)] = self.grid.n_cells(j)
        return sizes

    def tables(self) -> tuple[Ints, Ints, Ints]:
        """By attribute: 1 where it is ordered, and the places of its two copies."""
        n = self.grid.space.n_features
        ordered = np.zeros(n, dtype=np.intp)
        place = np.zeros((2, n), dtype=np.intp)
        for j in (int(j) for j in self.attributes):
            ordered[j] = self.is_ordered[j]
            place[:, j] = self.place[j]
        return ordered, place[0], place[1]

    def first_cells(self, box: CellBox) -> Ints:
        """Return the first cell of each attribute of both twins in a box, (2, n_features)."""
        cells = np.zeros((2, self.grid.space.n_features), dtype=np.intp)
        for j, places in self.place.items():
            for twin, place in enumerate(places):
                if self.is_ordered[j]:
                    cells[twin, j] = box.low[place]
                else:
                    own = slice(self.word_start[place], self.word_start[place + 1])
                    cells[twin, j] = first_cell(box.words[own])
        return cells

    def encoded(self, box: CellBox) -> tuple[Floats, Floats]:
        """Return the encoded values of a pair of twins inside a box, shape (n_features,) each."""
        first, second = middle_row(self.grid.space), middle_row(self.grid.space)
        cells = self.first_cells(box)
        for j in self.place:
            first[j], second[j] = self.grid.encoded(j, cells[:, j])
        return first, second
