"""Every frequent rule: at most one condition on each attribute, found exactly, each row a bit."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skfairtest import _clock
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._rules.cells import DistinctRows
from skfairtest.workers._compiled import why_not

#: Rules beyond which nobody reads, and intervals that hold for all of them say little.
MOST_RULES = 1_000_000
#: Columns beyond which sums are products of sparse matrices.
MANY_COLUMNS = 8
#: Candidates times words of their rows that are looked at before numba is loaded: half a second.
MUCH_WORK = 2**28
#: Cells of all rules, in lists, beyond which these are made anew each time: 64 MB.
MOST_LISTED = 2**24
#: Some rules, cells of each one after the other and where they end, and whether it lacks these.
Listed = tuple[slice, NDArray[Any], NDArray[Any], Bools]
#: Parents, last conditions, counts and marks of rules.
Found = tuple[Ints, Ints, Ints, NDArray[np.uint64]]


class RuleLimitExceeded(Exception):
    """More than `MOST_RULES` are frequent; the caller knows the names of the parameters."""


class FrequentRules:
    """All rules that hold for a share of the rows, fewer conditions before more of the same.

    A rule has one condition each on one or more attributes, and a condition is a set of values of
    its attribute: a single value, a run of bins, several categories. Conditions that every row
    meets are left out, for nobody is outside.

    Parameters
    ----------
    columns : sequence of ndarray of int of shape (n_rows,)
        For each attribute the number of each row's value.
    sizes : list of int
        How many values each attribute has.
    min_support : float
        Share of the rows that a rule holds for, at least.
    max_conditions : int
        Most attributes of a rule.
    members : sequence of ndarray of bool of shape (n_conditions, n_values), default=None
        For each attribute the values that each condition names; None makes each value a condition.
    weights : ndarray of int of shape (n_rows,), default=None
        How many rows of the data each row stands for, where equal ones are taken together.
    compiled : bool, default=None
        Whether to use numba; None where it is installed and the search is long. The same rules and
        sums either way.

    Attributes
    ----------
    counts : ndarray of int of shape (n_rules,)
        Rows of the data of each rule.
    total : int
        Rows of the data.
    max_conditions : int
        Most conditions of a rule, and no more than there are attributes.
    depths : ndarray of int of shape (n_rules,)
        Conditions of each rule.
    marks : ndarray of uint64 of shape (n_rules,)
        Equal for rules of the same rows, and for no others (but by a chance of one in 10**19).

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
        members: Sequence[Bools] | None = None,
        weights: NDArray[Any] | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.columns, self.sizes, self.members = columns, sizes, members
        self.n_rows = len(columns[0])
        self.total = self.n_rows if weights is None else int(weights.sum())
        self._least = max(1.0, rows_of_share(min_support, self.total))
        #: Attribute of each condition, and its number there, rare ones first: so fewer candidates
        #: are tried.
        self.attribute, self.value = self._frequent_conditions(weights, self._least)
        self._bits: NDArray[np.uint64] = np.empty((0, 0), dtype=np.uint64)
        if len(self.attribute):
            self._bits = self._condition_bits()
        self._planes = _planes(weights, self._bits.shape[1])
        # Rows that are counted by their number are not told apart any further.
        self._cells: DistinctRows | None = None
        self._lists: list[Listed] | None = None
        self._find(max_conditions, compiled, math.inf)

    def _find(self, max_conditions: int, compiled: bool | None, deadline: float) -> None:
        """Find all rules of up to so many conditions."""
        self.max_conditions = int(min(max_conditions, len(self.columns)))
        self._lists = None
        nothing = (np.empty(0, dtype=np.int64),) * 3
        found: Found = (*nothing, np.empty(0, dtype=np.uint64))
        self.compiled = bool(compiled)
        if len(self.attribute):
            found = self._search(compiled, deadline)
        self.parents, self.last, self.counts, self.marks = found
        self.depths = depths_of(self.parents)

    def longer(self, deadline: float) -> FrequentRules:
        """All rules of up to one condition more.

        Raises
        ------
        OutOfTime
            If the deadline, by `_clock.now`, comes before all are found.
        RuleLimitExceeded
            If there are too many.
        """
        more = copy.copy(self)
        more._find(self.max_conditions + 1, self.compiled or None, deadline)
        return more

    def _frequent_conditions(self, weights: NDArray[Any] | None, least: float) -> tuple[Ints, Ints]:
        attribute, value, count = [], [], []
        for j, (column, size) in enumerate(zip(self.columns, self.sizes, strict=True)):
            counts = np.bincount(column, weights, minlength=size).astype(np.int64)
            if self.members is not None:
                counts = self.members[j].astype(np.int64) @ counts
            frequent = np.flatnonzero((counts >= least) & (counts < self.total))
            attribute.append(np.full(len(frequent), j))
            value.append(frequent)
            count.append(counts[frequent])
        order = np.argsort(np.concatenate(count), kind="stable")
        return np.concatenate(attribute)[order], np.concatenate(value)[order]

    def _condition_bits(self) -> NDArray[np.uint64]:
        """The rows of each condition as bits."""
        return np.stack(
            [bits_of_rows(self._held(condition)) for condition in range(len(self.attribute))]
        )

    def _held(self, condition: int) -> Bools:
        """Which rows a condition holds for."""
        column, value = self.columns[self.attribute[condition]], self.value[condition]
        if self.members is None:
            return np.asarray(column == value)
        return np.asarray(self.members[self.attribute[condition]][value][column])

    def _member_table(self) -> NDArray[np.uint8]:
        """Which values each condition names, shape (n_conditions, most values)."""
        table = np.zeros((len(self.attribute), max(self.sizes) + 1), dtype=np.uint8)
        if self.members is None:
            table[np.arange(len(table)), self.value] = 1
            return table
        for condition, (j, value) in enumerate(zip(self.attribute, self.value, strict=True)):
            table[condition, : self.sizes[j]] = self.members[j][value]
        return table

    @property
    def n_rules(self) -> int:
        """How many there are."""
        return len(self.last)

    @property
    def support(self) -> Floats:
        """Share of the rows that each rule holds for."""
        return self.counts / self.total

    def _search(self, compiled: bool | None, deadline: float) -> Found:
        least, most = int(self._least), self.max_conditions
        if not compiled:
            work = math.inf if compiled is False else MUCH_WORK
            arguments = (self._bits, self._planes, self.attribute, least, most, deadline)
            try:
                return _search_with_numpy(*arguments, work)
            except _MuchWork:
                # For less of it numba is not worth the second that its import takes.
                if why_not():
                    return _search_with_numpy(*arguments, math.inf)
            self.compiled = True
        from skfairtest.group._rules.kernels import search

        # Memory is taken as it is written to, so arrays for the largest number cost nothing.
        found = [np.empty(MOST_RULES, dtype=np.int64) for _ in range(3)]
        marks = np.empty(MOST_RULES, dtype=np.uint64)
        n_conditions, n_words = self._bits.shape
        held = np.full((most + 1, n_words), ~np.uint64(0))
        ahead, n_rows = (np.zeros((most + 1, n_conditions), dtype=np.int64) for _ in range(2))
        ahead[0], n_rows[0] = np.arange(n_conditions), _weigh(self._bits, self._planes)
        per_depth = np.zeros((3, most + 1), dtype=np.int64)
        per_depth[:, 0] = n_conditions, 0, -1
        at = np.zeros(2, dtype=np.int64)
        steps = MOST_RULES + 1
        if deadline < math.inf:  # some milliseconds between two looks at the clock
            steps = 1 + 2**22 // (n_conditions * n_words * (1 + len(self._planes)))
        while at[0] >= 0:
            search(
                self._bits, self._planes, self.attribute, least, most, *found, marks, held, ahead,
                n_rows, per_depth, at, steps,
            )  # fmt: skip
            if at[1] > MOST_RULES:
                raise RuleLimitExceeded
            _clock.check_time(deadline)
        n = int(at[1])
        parents, last, counts = (array[:n].copy() for array in found)
        return parents, last, counts, marks[:n].copy()

    # Sums ------------------------------------------------------------------------------------

    def sums(self, V: NDArray[Any]) -> Floats:
        """Sum of each column over the rows inside of each rule.

        Parameters
        ----------
        V : ndarray of shape (n_rows, k)
            Numbers; where all are 0 or 1 they are counted, which is much faster.

        Returns
        -------
        ndarray of float of shape (n_rules, k)
            The sums; of many columns that are counted as integers of two or four bytes. What is
            outside of a rule is the sum of all rows less this.
        """
        V = np.asarray(V)
        is_counted = V.dtype == bool or bool(((V == 0) | (V == 1)).all())
        if not self.n_rules:
            return np.empty((0, V.shape[1]))
        if V.shape[1] > MANY_COLUMNS:
            return self._products(V, is_counted)
        if is_counted:
            return self._counted(np.stack([bits_of_rows(column != 0) for column in V.T]))
        if not self.compiled:
            return self._products(V, is_counted)
        # Few columns are added up cell by cell, which looks at the rows inside of each rule alone.
        from skfairtest.group._rules.kernels import add_up

        cells, sums = self._different_rows(), np.empty((self.n_rules, V.shape[1]))
        codes, table = np.ascontiguousarray(cells.codes.T), _of_cells(cells, V)
        add_up(codes, self.attribute, self._member_table(), self.last, self.depths, table, sums)
        return sums

    def _counted(self, columns: NDArray[np.uint64]) -> Floats:
        """How many rows of each rule are in each of some sets."""
        sums = np.empty((self.n_rules, len(columns)))
        if self.compiled:
            from skfairtest.group._rules.kernels import count_common

            count_common(self._bits, self.parents, self.last, self.depths, columns, sums)
            return sums
        for some, inside, _ in self._held_by_rules(self._bits, 2**17 // self._bits.shape[1]):
            for k, column in enumerate(columns):
                sums[some, k] = _counts_of(inside & column)
        return sums

    def _held_by_rules(
        self, bits: NDArray[np.uint64], size: int
    ) -> Iterator[tuple[slice, NDArray[np.uint64], NDArray[np.uint64]]]:
        """So many rules at a time: the rows of each and of its parent as bits."""
        conditions = np.full((self.n_rules, int(self.depths.max(initial=0))), -1)
        at, todo = np.arange(self.n_rules), np.arange(self.n_rules)
        for column in conditions.T:
            column[todo] = self.last[at]
            above = self.parents[at]
            todo, at = todo[above >= 0], above[above >= 0]
        bits = np.vstack([bits, np.full((1, bits.shape[1]), ~np.uint64(0))])  # -1: no condition
        size = max(1, size)
        for start in range(0, self.n_rules, size):
            some = slice(start, min(start + size, self.n_rules))
            first, *others = conditions[some].T
            outer = bits[others[0]] if others else bits[np.full(len(first), -1)]
            for other in others[1:]:
                outer &= bits[other]
            yield some, outer & bits[first], outer

    def _products(self, V: NDArray[Any], is_counted: bool) -> Floats:
        """Sums of cells that a rule has, or of those that it lacks of its parent's: the fewer."""
        cells = self._different_rows()
        n = len(cells.codes)
        dtype: np.dtype[Any] = np.dtype(np.float64)
        if is_counted:  # small numbers are added up many at a time
            dtype = np.dtype(np.uint16 if self.n_rows < 2**16 - 1 else np.int32)
        of_cell = (np.ones(self.n_rows, dtype), cells.of_row, np.arange(self.n_rows + 1))
        table = sparse.csr_matrix(of_cell, shape=(self.n_rows, n)).T @ V.astype(dtype)
        sums = np.empty((self.n_rules, table.shape[1]), dtype=dtype)
        lacks = np.zeros(self.n_rules, dtype=bool)
        for some, places, upto, lacks[some] in self._listed():
            ones = np.ones(len(places), dtype)
            sums[some] = sparse.csr_matrix((ones, places, upto), shape=(len(upto) - 1, n)) @ table
        for depth in range(2, int(self.depths.max(initial=0)) + 1):
            here = np.flatnonzero(lacks & (self.depths == depth))
            sums[here] = sums[self.parents[here]] - sums[here]
        return sums

    def _listed(self) -> Iterator[Listed]:
        """Some rules, the cells of each that are summed, and whether these are those it lacks."""
        if self._lists is not None:
            yield from self._lists
            return
        cells, members, kept = self._different_rows(), self._member_table(), []
        n = len(cells.codes)
        bits = np.stack([
            bits_of_rows(member[cells.codes[:, j]] > 0)
            for j, member in zip(self.attribute, members, strict=True)
        ])  # fmt: skip
        n_listed = 0
        # 4 MB at a time of the matrix that says which rule sums which cell.
        for some, inside, outer in self._held_by_rules(bits, 2**22 // n):
            lacked = outer & ~inside
            lacks = (_counts_of(lacked) < _counts_of(inside)) & (self.parents[some] >= 0)
            chosen = np.where(lacks[:, None], lacked, inside).view(np.uint8)
            places = np.flatnonzero(np.unpackbits(chosen, axis=1, count=n).view(bool))
            upto = np.searchsorted(places, np.arange(len(lacks) + 1) * n)
            listed = some, (places % n).astype(np.int32), upto.astype(np.int32), lacks
            n_listed += len(places)
            if n_listed <= MOST_LISTED:
                kept.append(listed)
            yield listed
        if n_listed <= MOST_LISTED:
            self._lists = kept

    def _different_rows(self) -> DistinctRows:
        """Rows that no rule tells apart, taken together."""
        if self._cells is None:
            # Values that no rule names are all the same to it.
            named: list[NDArray[Any]] = []
            sizes = []
            table = self._member_table()
            for j, (column, size) in enumerate(zip(self.columns, self.sizes, strict=True)):
                known = table[self.attribute == j].any(axis=0)
                named.append(np.where(known, np.arange(len(known)), size).astype(np.int16)[column])
                sizes.append(size)
            self._cells = DistinctRows(named, sizes)
        return self._cells

    def subset(self, places: Ints) -> RuleSubset:
        """Some of the rules, whose sums cost as much as so many."""
        return RuleSubset(self, places)

    def among(self, rows: Ints) -> FrequentRules:
        """The same rules of some of the rows; `counts` and `marks` stay those of all rows."""
        few = copy.copy(self)
        few.columns, few.n_rows, few._cells = [c[rows] for c in self.columns], len(rows), None
        few._lists = None
        few._bits = few._condition_bits()
        return few

    # Single rules -------------------------------------------------------------------------

    def conditions(self, rules: Ints) -> NDArray[np.int16]:
        """Number of the condition on each attribute, -1 for none; shape (n, n_attributes)."""
        table = np.full((len(rules), len(self.columns)), -1, dtype=np.int16)
        rows = np.arange(len(rules))
        at = np.asarray(rules)
        while len(at):
            last = self.last[at]
            table[rows, self.attribute[last]] = self.value[last]
            further = self.parents[at] >= 0
            rows, at = rows[further], self.parents[at[further]]
        return table

    def inside(self, rule: int) -> Bools:
        """Which rows a rule holds for, shape (n_rows,)."""
        held = np.ones(self.n_rows, dtype=bool)
        while rule >= 0:
            held &= self._held(int(self.last[rule]))
            rule = int(self.parents[rule])
        return held


class RuleSubset:
    """Some rules of many, in a given order.

    Parameters
    ----------
    whole : FrequentRules
        All of them.
    places : ndarray of int of shape (n_rules,)
        Which ones.
    """

    def __init__(self, whole: FrequentRules, places: Ints) -> None:
        self.whole, self.places = whole, places
        held = np.zeros(whole.n_rules, dtype=bool)
        at = places
        while len(at):  # what they extend is walked through, too
            held[at] = True
            at = np.unique(whole.parents[at])
            at = at[at >= 0]
        walked = np.flatnonzero(held)
        number = np.full(whole.n_rules + 1, -1, dtype=np.int64)
        number[walked] = np.arange(len(walked))
        self._where = number[places]
        self._walked = copy.copy(whole)
        self._walked._lists = None
        self._walked.parents = number[whole.parents[walked]]
        self._walked.last = whole.last[walked]
        self._walked.depths = whole.depths[walked]

    @property
    def n_rules(self) -> int:
        """How many there are."""
        return len(self.places)

    def sums(self, V: NDArray[Any]) -> Floats:
        """Sum of each column over the rows inside of each rule; as for `FrequentRules`."""
        return self._walked.sums(V)[self._where]

    def among(self, rows: Ints) -> RuleSubset:
        """The same rules of some of the rows."""
        return RuleSubset(self.whole.among(rows), self.places)

    def inside(self, rule: int) -> Bools:
        """Which rows a rule holds for, shape (n_rows,)."""
        return self.whole.inside(int(self.places[rule]))


def rows_of_share(share: float, total: int) -> float:
    """Return how many of all rows are at least a share of them.

    A support of 0.05 must not fail by the last bit of 0.05 * 20.
    """
    return float(np.ceil(share * total * (1 - 1e-12)))


def bits_of_rows(held: Bools) -> NDArray[np.uint64]:
    """A set of rows as bits, 64 a word."""
    packed = np.packbits(held)
    words = np.zeros(-(-len(packed) // 8) * 8, dtype=np.uint8)
    words[: len(packed)] = packed
    return words.view(np.uint64)


def _planes(weights: NDArray[Any] | None, n_words: int) -> NDArray[np.uint64]:
    """The numbers of rows as sets of bits, the lowest first; none where each is 1."""
    if weights is None or bool((weights == 1).all()):
        return np.empty((0, n_words), dtype=np.uint64)
    numbers = weights.astype(np.int64)
    return np.stack(
        [bits_of_rows((numbers >> b) & 1 == 1) for b in range(int(numbers.max()).bit_length())]
    )


def depths_of(parents: Ints) -> Ints:
    """Number of conditions, from rules that come behind their parents."""
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


def _weigh(bits: NDArray[np.uint64], planes: NDArray[np.uint64]) -> Ints:
    """Rows of each set of cells."""
    if not len(planes):
        return _counts_of(bits)
    each = _counts_of(bits[..., None, :] & planes)
    return np.asarray(each @ (1 << np.arange(len(planes))))


def _marks_of(bits: NDArray[np.uint64], names: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number that tells sets apart, of each row of words."""
    mix = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits in no order, which mix those of others
    mixed = (bits ^ names) * mix
    mixed ^= mixed >> np.uint64(32)
    mixed *= mix
    mixed ^= mixed >> np.uint64(29)
    return np.asarray(mixed.sum(axis=1, dtype=np.uint64))


class _MuchWork(Exception):
    """The search is long, so that a compiled one is worth its start."""


def _search_with_numpy(
    bits: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    attribute: Ints,
    least: int,
    max_conditions: int,
    deadline: float,
    most_work: float,
) -> Found:
    """The same rules in the same order as the compiled search."""
    n_words = bits.shape[1]
    # The numbers name places and decide nothing: the seed is of no account.
    names: Any = np.random.default_rng(0).integers(2**64, size=n_words, dtype=np.uint64)
    parts: list[tuple[Any, ...]] = []
    found, work = 0, 0

    def grow(held: Any, paths: Ints, n_rows: Ints, parents: Ints, end: Ints) -> None:
        """Add rules in order, with those up to whose `end` they go on, and what goes on so."""
        nonlocal found, work
        numbers = np.arange(found, found + len(held))
        found += len(held)
        if found > MOST_RULES:
            raise RuleLimitExceeded
        padded = np.pad(paths, ((0, 0), (0, max_conditions - paths.shape[1])), constant_values=-1)
        parts.append((parents, padded, n_rows, _marks_of(held, names)))
        if paths.shape[1] == max_conditions:
            return
        last = paths[:, -1]
        others = end - np.arange(len(held)) - 1
        upto = np.cumsum(others)
        start = 0
        while start < len(held):
            before = upto[start] - others[start]
            stop = max(start + 1, int(np.searchsorted(upto, before + 2**18 // n_words, "right")))
            number = others[start:stop]
            first = np.repeat(np.arange(start, stop), number)
            second = first + 1 + np.arange(len(first)) - (upto[first] - others[first] - before)
            start = stop
            # What NumPy takes for a few calls is as long as for some thousands of words.
            work += 2**15 + len(first) * n_words
            if work > most_work:
                raise _MuchWork
            _clock.check_time(deadline)
            apart = attribute[last[first]] != attribute[last[second]]
            first, second = first[apart], second[apart]
            inner = held[first] & held[second]
            common = _weigh(inner, planes)
            enough = common >= least
            if enough.any():
                first, second = first[enough], second[enough]
                longer = np.column_stack([paths[first], last[second]])
                ends = np.searchsorted(first, first, "right")
                grow(inner[enough], longer, common[enough], numbers[first], ends)

    n = len(bits)
    each = _weigh(bits, planes)
    grow(bits, np.arange(n)[:, None], each, np.full(n, -1), np.full(n, n))
    parents, paths, counts, marks = (np.concatenate(part) for part in zip(*parts, strict=True))
    # A rule stands before those that go on from it, and these in the order of their conditions.
    order = np.lexsort(paths.T[::-1])
    place = np.empty(found + 1, dtype=np.int64)
    place[order], place[-1] = np.arange(found), -1
    last = paths[np.arange(found), (paths >= 0).sum(axis=1) - 1]
    return place[parents[order]], last[order], counts[order], marks[order]


def _of_cells(cells: DistinctRows, V: NDArray[Any]) -> Floats:
    """Sum of each column over the rows of each cell, shape (n_cells, k)."""
    n = len(cells.codes)
    return np.column_stack([np.bincount(cells.of_row, column, minlength=n) for column in V.T])
