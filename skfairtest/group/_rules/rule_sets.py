"""All frequent rule sets, from contingency cubes and sums along them; no row is looked at twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest.group._rules.cells import Cells
from skfairtest.group._rules.run_attribute import RuleAttribute

Rules = NDArray[np.int16]
Tables = list[NDArray[Any]]

#: Rule sets that are expanded at once: few enough that the tables stay in the processor's cache.
BLOCK = 2**17
#: Entries of a table that is on its way to be expanded.
MAX_TABLE = 2**22
#: Entries of one contingency cube; about 130 MB a table.
MAX_CUBE = 2**24
#: Candidates beyond which looking at every rule set would take hours.
MAX_CANDIDATES = 5 * 10**10


class Block:
    """Rule sets over the same attributes that share the rules of all but the last of these.

    Attributes
    ----------
    index : ndarray of int of shape (n_frequent,)
        The frequent ones, as places in a table of (rules of the last attribute, prefixes).
    """

    def __init__(
        self, attributes: tuple[int, ...], prefix: Rules, last: RuleAttribute, tables: Tables
    ) -> None:
        self.attributes = attributes
        self.prefix = prefix
        self.last = last
        self.tables = tables
        self.index = np.empty(0, dtype=np.intp)

    def find(self, min_count: float, n_rows: float) -> None:
        """Keep the frequent ones that do not hold for every row."""
        counts = self.last.expand(self.tables[0])
        held = counts >= min_count
        held &= counts < n_rows
        self.index = np.flatnonzero(held)
        self.counts = counts.ravel()[self.index]

    def sums(self, table: int, chosen: Any = slice(None)) -> NDArray[Any]:
        """Sums of a table's entries over the frequent rule sets, or the chosen ones of them."""
        rules, columns = np.divmod(self.index[chosen], len(self.prefix))
        return self.last.pick(self.tables[table], rules, columns)

    def rules(self, n_attributes: int, chosen: Any = slice(None)) -> Rules:
        """Number of the rule for each attribute, -1 for none; shape (n, n_attributes)."""
        rules, columns = np.divmod(self.index[chosen], len(self.prefix))
        table = np.full((len(rules), n_attributes), -1, dtype=np.int16)
        table[:, self.attributes[:-1]] = self.prefix[columns]
        table[:, self.attributes[-1]] = rules
        return table


def n_candidates(attributes: list[RuleAttribute], max_attributes: int) -> int:
    """How many rule sets there are, frequent or not."""
    counts = [0] * (max_attributes + 1)
    counts[0] = 1
    for attribute in attributes:
        for size in range(max_attributes, 0, -1):
            counts[size] += counts[size - 1] * attribute.n_rules
    return sum(counts) - 1


def check_size(attributes: list[RuleAttribute], max_attributes: int) -> None:
    """Raise an error for what would need too much memory or time, and say what to change."""
    sizes = sorted((attribute.n_cells for attribute in attributes), reverse=True)
    cube = prod(sizes[:max_attributes])
    candidates = n_candidates(attributes, max_attributes)
    if cube <= MAX_CUBE and candidates <= MAX_CANDIDATES:
        return
    fits = [
        most
        for most in range(1, max_attributes)
        if prod(sizes[:most]) <= MAX_CUBE and n_candidates(attributes, most) <= MAX_CANDIDATES
    ]
    widest = max(attributes, key=lambda attribute: attribute.n_rules)
    advice = f"set max_attributes={fits[-1]}, " if fits else ""
    raise ValueError(
        f"Rule sets of up to {max_attributes} of {len(attributes)} sensitive attributes need a "
        f"table of {cube:.3g} cells and have {candidates:.3g} candidates; expected at most "
        f"{MAX_CUBE:.3g} cells and {MAX_CANDIDATES:.3g} candidates. To reduce them, {advice}bin "
        f"column {widest.name!r} ({widest.n_cells} values or bins) more coarsely with n_bins=, "
        "or merge its categories."
    )


def frequent_rule_sets(
    cells: Cells,
    attributes: list[RuleAttribute],
    tables: Tables,
    *,
    min_count: float,
    max_attributes: int,
) -> Iterator[Block]:
    """Every frequent rule set, in blocks: fewer conditions first.

    Parameters
    ----------
    cells : Cells
        The rows.
    attributes : list of RuleAttribute
        The sensitive attributes.
    tables : list of ndarray of shape (n_different,)
        What to sum over each rule set; the first one counts the rows of the data.
    min_count : float
        Rows that a frequent rule set holds for, at least.
    max_attributes : int
        Most conditions of a rule set.

    Yields
    ------
    Block
        With its frequent rule sets found; it may have none.
    """
    # The attribute with most rules comes last, where only sums and no tables are left.
    order = sorted(range(len(attributes)), key=lambda j: attributes[j].n_rules)
    for size in range(1, max_attributes + 1):
        for chosen in combinations(order, size):
            parts = [attributes[j] for j in chosen]
            cubes = _cubes(cells, chosen, parts, tables)
            prefix = np.empty((1, 0), dtype=np.int16)
            for block in _grow(chosen, parts, prefix, cubes, min_count):
                block.find(min_count, cells.n_rows)
                yield block


def _cubes(
    cells: Cells, chosen: tuple[int, ...], parts: list[RuleAttribute], tables: Tables
) -> Tables:
    """The tables as cubes of the chosen attributes, with a leading axis of one prefix."""
    shape = tuple(part.n_cells for part in parts)
    codes = cells.codes[:, chosen]
    known = (codes < shape).all(axis=1)
    flat = np.ravel_multi_index(tuple(codes[known].T), shape)
    cubes = []
    for table in tables:
        if table.dtype == np.float64:
            cube = np.bincount(flat, weights=table[known], minlength=prod(shape))
        else:  # marks: sums modulo 2 ** 64, which floats do not have
            cube = np.zeros(prod(shape), dtype=table.dtype)
            np.add.at(cube, flat, table[known])
        cubes.append(cube.reshape(1, *shape))
    return cubes


def _grow(
    chosen: tuple[int, ...],
    parts: list[RuleAttribute],
    prefix: Rules,
    cubes: Tables,
    min_count: float,
) -> Iterator[Block]:
    """Expand one attribute after the other, and drop prefixes that are infrequent already.

    A rule set is never more frequent than a part of its conditions. Depth first, in slices, so that
    memory does not grow with the number of rule sets.
    """
    depth = prefix.shape[1]
    part = parts[depth]
    if depth == len(parts) - 1:
        step = max(1, BLOCK // part.n_rules)
        flat = [np.ascontiguousarray(cube.T) for cube in cubes]
        for start in range(0, len(prefix), step):
            here = slice(start, start + step)
            yield Block(chosen, prefix[here], part, [table[:, here] for table in flat])
        return
    rest = cubes[0].shape[2:]
    step = max(1, MAX_TABLE // (part.n_rules * prod(rest)))
    for start in range(0, len(prefix), step):
        here = slice(start, start + step)
        grown = [_expand_axis(part, cube[here], rest) for cube in cubes]
        kept = grown[0].reshape(len(grown[0]), -1).sum(axis=1) >= min_count
        n_here = len(prefix[here])
        longer = np.column_stack(
            [
                np.repeat(prefix[here], part.n_rules, axis=0),
                np.tile(np.arange(part.n_rules, dtype=np.int16), n_here),
            ]
        )
        if kept.any():
            yield from _grow(
                chosen, parts, longer[kept], [table[kept] for table in grown], min_count
            )


def _expand_axis(part: RuleAttribute, cube: NDArray[Any], rest: tuple[int, ...]) -> NDArray[Any]:
    """Rules instead of cells on axis 1, then both leading axes as one."""
    front = np.moveaxis(cube, 1, 0)
    expanded = part.expand(np.ascontiguousarray(front).reshape(part.n_cells, -1))
    table = np.moveaxis(expanded.reshape(part.n_rules, len(cube), *rest), 0, 1)
    return np.ascontiguousarray(table).reshape(-1, *rest)
