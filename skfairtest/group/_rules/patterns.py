"""Every frequent pattern: at most one value of each attribute, found exactly, each row a bit."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._rules.cells import Cells

#: Patterns beyond which nobody reads, and intervals that hold for all of them say little.
MOST_PATTERNS = 1_000_000
#: A support of 0.05 must not fail by the last bit of 0.05 * 20.
ROUNDING = 1 - 1e-12
#: Columns that are added up cell by cell, which looks at the rows inside of each pattern alone.
COLUMNS = 8
#: Entries of the matrix of who is inside of which pattern that are held at a time: 16 MB.
MAX_ENTRIES = 2**21

#: Parents, last items, counts and marks of patterns.
Found = tuple[Ints, Ints, Ints, NDArray[np.uint64]]


class TooManyPatterns(Exception):
    """More than `MOST_PATTERNS` are frequent; the caller knows the names of the parameters."""


class Patterns:
    """All patterns that hold for a share of the rows, fewer conditions before more of the same.

    A pattern names one value each of one or more attributes. Values that every row has are left
    out, for nobody is outside.

    Parameters
    ----------
    columns : sequence of ndarray of int of shape (n_rows,)
        For each attribute the number of each row's value.
    sizes : list of int
        How many values each attribute has.
    min_support : float
        Share of the rows that a pattern holds for, at least.
    max_conditions : int
        Most attributes of a pattern.
    compiled : bool, default=None
        Whether to use numba; None where it is installed. The same patterns and sums either way.

    Attributes
    ----------
    counts : ndarray of int of shape (n_patterns,)
        Rows of each pattern.
    depths : ndarray of int of shape (n_patterns,)
        Conditions of each pattern.
    marks : ndarray of uint64 of shape (n_patterns,)
        Equal for patterns of the same rows, and for no others (but by a chance of one in 10**19).

    References
    ----------
    .. [1] Zaki, M. J. (2000). Scalable algorithms for association mining. IEEE Transactions on
       Knowledge and Data Engineering 12(3), 372-390. (Depth first over sets of rows.)
    """

    def __init__(
        self,
        columns: Sequence[NDArray[Any]],
        sizes: list[int],
        *,
        min_support: float,
        max_conditions: int,
        compiled: bool | None = None,
    ) -> None:
        if compiled is None:
            from skfairtest.workers._compiled import (
                AVAILABLE as compiled,  # numba takes time to import
            )
        self.columns, self.sizes = columns, sizes
        self.n_rows = len(columns[0])
        self.compiled = compiled
        least = max(1.0, np.ceil(min_support * self.n_rows * ROUNDING))
        #: Attribute and value of each item, rare ones first: so fewer candidates are tried.
        self.attribute, self.value = _frequent_items(columns, sizes, least)
        self._bits: NDArray[np.uint64] = np.empty((0, 0), dtype=np.uint64)
        self._cells: Cells | None = None
        nothing = (np.empty(0, dtype=np.int64),) * 3
        found: Found = (*nothing, np.empty(0, dtype=np.uint64))
        if len(self.attribute):
            self._bits = np.stack(
                [
                    bits_of_rows(columns[j] == v)
                    for j, v in zip(self.attribute, self.value, strict=True)
                ]
            )
            found = self._search(int(least), int(min(max_conditions, len(columns))))
        self.parents, self.items, self.counts, self.marks = found
        self.depths = depths_of(self.parents)

    @property
    def n_patterns(self) -> int:
        """How many there are."""
        return len(self.items)

    @property
    def support(self) -> Floats:
        """Share of the rows that each pattern holds for."""
        return self.counts / self.n_rows

    def _search(self, least: int, max_conditions: int) -> Found:
        if not self.compiled:
            return _search_with_numpy(self._bits, self.attribute, least, max_conditions)
        from skfairtest.group._rules.kernels import search

        # Memory is taken as it is written to, so room for all costs nothing.
        room = [np.empty(MOST_PATTERNS, dtype=np.int64) for _ in range(3)]
        marks = np.empty(MOST_PATTERNS, dtype=np.uint64)
        n = search(self._bits, self.attribute, least, max_conditions, *room, marks)
        if n < 0:
            raise TooManyPatterns
        parents, items, counts = (array[:n].copy() for array in room)
        return parents, items, counts, marks[:n].copy()

    # Sums ------------------------------------------------------------------------------------

    def sums(self, V: NDArray[Any]) -> Floats:
        """Sum of each column over the rows inside of each pattern.

        Parameters
        ----------
        V : ndarray of shape (n_rows, k)
            Numbers; where all are 0 or 1 they are counted, which is much faster.

        Returns
        -------
        ndarray of float of shape (n_patterns, k)
            The sums. What is outside of a pattern is the sum of all rows less this.
        """
        V = np.asarray(V)
        sums = np.empty((self.n_patterns, V.shape[1]))
        if not self.n_patterns:
            return sums
        if self.compiled and (V.dtype == bool or bool(((V == 0) | (V == 1)).all())):
            from skfairtest.group._rules.kernels import count_common

            columns = np.stack([bits_of_rows(column != 0) for column in V.T])
            count_common(self._bits, self.parents, self.items, self.depths, columns, sums)
            return sums
        cells = self._different_rows()
        if V.shape[1] > COLUMNS:
            return self._products(cells, V, sums)
        codes = np.ascontiguousarray(cells.codes.T)
        attributes, values = self.attribute[self.items], self.value[self.items]
        table = _of_cells(cells, V)
        if not self.compiled:
            return _add_up_with_numpy(codes, attributes, values, self.depths, table)
        from skfairtest.group._rules.kernels import add_up

        add_up(codes, attributes, values, self.depths, table, sums)
        return sums

    def _products(self, cells: Cells, V: NDArray[Any], sums: Floats) -> Floats:
        """Sums of many columns, as products of matrices: ten times as many terms, all quick."""
        table, named = V, self.columns
        if 2 * len(cells.codes) < self.n_rows:
            table, named = _of_cells(cells, V), list(cells.codes.T)
        table = np.ascontiguousarray(table, dtype=np.float64)
        held = np.array(
            [named[j] == v for j, v in zip(self.attribute, self.value, strict=True)], dtype=bool
        )
        size = max(1, MAX_ENTRIES // len(table))
        inside = np.empty((int(self.depths.max()) + 1, len(table)), dtype=bool)
        inside[0] = True
        block = np.empty((min(size, self.n_patterns), len(table)))
        for start in range(0, self.n_patterns, size):
            stop = min(start + size, self.n_patterns)
            for pattern in range(start, stop):
                depth = self.depths[pattern]
                np.logical_and(inside[depth - 1], held[self.items[pattern]], out=inside[depth])
                block[pattern - start] = inside[depth]
            sums[start:stop] = block[: stop - start] @ table
        return sums

    def _different_rows(self) -> Cells:
        """Rows that no pattern tells apart, taken together."""
        if self._cells is None:
            # Values that no pattern names are all the same to it.
            named: list[NDArray[Any]] = []
            sizes = []
            for j, (column, size) in enumerate(zip(self.columns, self.sizes, strict=True)):
                here = self.value[self.attribute == j]
                if len(here):
                    other = np.full(size, size, dtype=np.int16)
                    other[here] = here
                    named.append(other[column])
                else:
                    named.append(np.full(len(column), size, dtype=np.int16))
                sizes.append(size)
            self._cells = Cells(named, sizes)
        return self._cells

    def subset(self, places: Ints) -> PatternSubset:
        """Some of the patterns, whose sums cost as much as so many."""
        return PatternSubset(self, places)

    def among(self, rows: Ints) -> Patterns:
        """The same patterns of some of the rows; `counts` and `marks` stay those of all rows."""
        few = copy.copy(self)
        few.columns, few.n_rows, few._cells = [c[rows] for c in self.columns], len(rows), None
        few._bits = np.stack(
            [
                bits_of_rows(few.columns[j] == v)
                for j, v in zip(self.attribute, self.value, strict=True)
            ]
        )
        return few

    # Single patterns -------------------------------------------------------------------------

    def conditions(self, patterns: Ints) -> NDArray[np.int16]:
        """Number of the value of each attribute, -1 for none; shape (n, n_attributes)."""
        table = np.full((len(patterns), len(self.columns)), -1, dtype=np.int16)
        rows = np.arange(len(patterns))
        at = np.asarray(patterns)
        while len(at):
            items = self.items[at]
            table[rows, self.attribute[items]] = self.value[items]
            further = self.parents[at] >= 0
            rows, at = rows[further], self.parents[at[further]]
        return table

    def inside(self, pattern: int) -> Bools:
        """Which rows a pattern holds for, shape (n_rows,)."""
        held = np.ones(self.n_rows, dtype=bool)
        for j, value in enumerate(self.conditions(np.array([pattern]))[0]):
            if value >= 0:
                held &= self.columns[j] == value
        return held


class PatternSubset:
    """Some patterns of many, in a given order.

    Parameters
    ----------
    whole : Patterns
        All of them.
    places : ndarray of int of shape (n_patterns,)
        Which ones.
    """

    def __init__(self, whole: Patterns, places: Ints) -> None:
        self.whole, self.places = whole, places
        held = np.zeros(whole.n_patterns, dtype=bool)
        at = places
        while len(at):  # what they extend is walked through, too
            held[at] = True
            at = np.unique(whole.parents[at])
            at = at[at >= 0]
        walked = np.flatnonzero(held)
        number = np.full(whole.n_patterns + 1, -1, dtype=np.int64)
        number[walked] = np.arange(len(walked))
        self._where = number[places]
        self._walked = copy.copy(whole)
        self._walked.parents = number[whole.parents[walked]]
        self._walked.items = whole.items[walked]
        self._walked.depths = whole.depths[walked]

    @property
    def n_patterns(self) -> int:
        """How many there are."""
        return len(self.places)

    def sums(self, V: NDArray[Any]) -> Floats:
        """Sum of each column over the rows inside of each pattern; as for `Patterns`."""
        return self._walked.sums(V)[self._where]

    def among(self, rows: Ints) -> PatternSubset:
        """The same patterns of some of the rows."""
        return PatternSubset(self.whole.among(rows), self.places)

    def inside(self, pattern: int) -> Bools:
        """Which rows a pattern holds for, shape (n_rows,)."""
        return self.whole.inside(int(self.places[pattern]))


def _frequent_items(
    columns: Sequence[NDArray[Any]], sizes: list[int], least: float
) -> tuple[Ints, Ints]:
    attribute, value, count = [], [], []
    for j, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        counts = np.bincount(column, minlength=size)
        for v in np.flatnonzero((counts >= least) & (counts < len(column))).tolist():
            attribute.append(j)
            value.append(v)
            count.append(int(counts[v]))
    order = np.argsort(np.asarray(count, dtype=np.int64), kind="stable")
    return np.asarray(attribute, np.int64)[order], np.asarray(value, np.int64)[order]


def bits_of_rows(held: Bools) -> NDArray[np.uint64]:
    """A set of rows as bits, 64 a word."""
    packed = np.packbits(held)
    words = np.zeros(-(-len(packed) // 8) * 8, dtype=np.uint8)
    words[: len(packed)] = packed
    return words.view(np.uint64)


def depths_of(parents: Ints) -> Ints:
    """Number of conditions, from patterns that come behind their parents."""
    depths = np.zeros(len(parents), dtype=np.int64)
    at, todo = parents, np.arange(len(parents))
    while len(todo):
        depths[todo] += 1
        further = at >= 0
        todo, at = todo[further], parents[at[further]]
    return depths


# Without numba ------------------------------------------------------------------------------------


def _counts_of(bits: NDArray[np.uint64]) -> Ints:
    """Bits of each row of words."""
    if hasattr(np, "bitwise_count"):  # NumPy 2
        return np.bitwise_count(bits).sum(axis=-1, dtype=np.int64)
    few = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
    return few[bits.view(np.uint8)].sum(axis=-1, dtype=np.int64)


def _search_with_numpy(
    bits: NDArray[np.uint64], attribute: Ints, least: int, max_conditions: int
) -> Found:
    """The same patterns in the same order as the compiled search."""
    found: list[tuple[int, int, int]] = []
    marks: list[int] = []

    def grow(held: NDArray[np.uint64], ahead: Ints, counts: Ints, parent: int, depth: int) -> None:
        for p, (item, count) in enumerate(zip(ahead.tolist(), counts.tolist(), strict=True)):
            if len(found) == MOST_PATTERNS:
                raise TooManyPatterns
            here = held & bits[item]
            found.append((parent, item, count))
            digest = hashlib.blake2b(here.tobytes(), digest_size=8, usedforsecurity=False)
            marks.append(int.from_bytes(digest.digest(), "little"))
            number = len(found) - 1
            others = ahead[p + 1 :]
            others = others[attribute[others] != attribute[item]]
            if depth < max_conditions and len(others):
                common = _counts_of(bits[others] & here)
                enough = common >= least
                if enough.any():
                    grow(here, others[enough], common[enough], number, depth + 1)

    everyone = np.full(bits.shape[1], np.iinfo(np.uint64).max, dtype=np.uint64)
    grow(everyone, np.arange(len(bits)), _counts_of(bits), -1, 1)
    parents, items, counts = np.array(found, dtype=np.int64).T.copy()
    return parents, items, counts, np.array(marks, dtype=np.uint64)


def _of_cells(cells: Cells, V: NDArray[Any]) -> Floats:
    """Sum of each column over the rows of each cell, shape (n_cells, k)."""
    n = len(cells.codes)
    return np.column_stack([np.bincount(cells.of_row, column, minlength=n) for column in V.T])


def _add_up_with_numpy(
    codes: NDArray[Any], attributes: Ints, values: Ints, depths: Ints, cells: Floats
) -> Floats:
    sums = np.empty((len(depths), cells.shape[1]))
    inside: list[Any] = [np.arange(len(cells))] * (int(depths.max()) + 1)
    for pattern, depth in enumerate(depths.tolist()):
        outer = inside[depth - 1]
        here = outer[codes[attributes[pattern]][outer] == values[pattern]]
        inside[depth] = here
        sums[pattern] = cells[here].sum(axis=0)
    return sums
