"""Keeps the worst of any number of rule sets, each group once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._statistics import Sides, sides_of
from skfairtest._typing import Floats, Ints
from skfairtest.group._rules.cells import Cells
from skfairtest.group._rules.chunked_rows import ChunkedRows
from skfairtest.group._rules.rule_sets import Block, check_size, frequent_rule_sets
from skfairtest.group._rules.run_attribute import RuleAttribute
from skfairtest.group._rules.sensitive_table import SensitiveTables

#: Groups that are told apart before the predictions are known; beyond, each rule set counts as one.
MAX_DISTINCT = 2_000_000
#: Rule sets that wait to be compared with the kept ones; sorting each block would take longer.
WAITING = 2**18


class Census(NamedTuple):
    """Counts of the frequent rule sets before the model is asked.

    `n_groups` counts equal groups once where `exact`, else it is `n_rule_sets`. `smallest` is the
    share of rows on the smaller side, over the rule sets whose both sides are large enough to be
    ranked; NaN without any.
    """

    n_rule_sets: int
    n_groups: int
    exact: bool
    smallest: float
    widest_outside: float


def take_census(
    cells: Cells,
    attributes: list[RuleAttribute],
    *,
    min_count: float,
    min_outside: float,
    max_attributes: int,
) -> Census:
    """Count the frequent rule sets and the groups that they describe."""
    marks: list[NDArray[np.uint64]] = []
    n_rule_sets = 0
    smallest, widest = np.inf, 0.0
    tables = [cells.count, cells.marks]
    for block in frequent_rule_sets(
        cells, attributes, tables, min_count=min_count, max_attributes=max_attributes
    ):
        if not len(block.index):
            continue
        n_rule_sets += len(block.index)
        if n_rule_sets <= MAX_DISTINCT:
            marks.append(block.sums(1))
        outside = cells.n_rows - block.counts
        widest = max(widest, float(outside.max()))
        sides = np.minimum(block.counts, outside)[outside >= min_outside]
        smallest = min(smallest, float(sides.min(initial=np.inf)))
    exact = n_rule_sets <= MAX_DISTINCT
    n_groups = len(pd.unique(np.concatenate(marks))) if exact and marks else n_rule_sets
    share = smallest / cells.n_rows if np.isfinite(smallest) else np.nan
    return Census(n_rule_sets, n_groups, exact, share, widest / cells.n_rows)


class Ranked(NamedTuple):
    """Rule sets, worst first; arrays of length n_kept.

    `support` is in rows; `n`, `total` and `squares` are sums over the pool rows inside; `ranked`
    says whether both sides are large enough to be compared with others.
    """

    rules: NDArray[np.int16]
    support: Floats
    n: Floats
    total: Floats
    squares: Floats
    ranked: NDArray[np.bool_]
    marks: NDArray[np.uint64]
    rank: Floats
    complexity: NDArray[np.intp]


class Ranking:
    """Keeps the rule sets with the largest scores while blocks of them go by.

    Parameters
    ----------
    attributes : list of RuleAttribute
        The sensitive attributes.
    most : int
        Rule sets to keep.
    n_rows, min_outside : float
        Rows of the data, and how many of them a ranked rule set leaves outside, at least.
    everyone : tuple of float
        Number of pool rows, the sum of their predictions and of the squares of these.
    """

    def __init__(
        self,
        attributes: list[RuleAttribute],
        most: int,
        *,
        n_rows: float,
        min_outside: float,
        everyone: tuple[float, float, float],
    ) -> None:
        self.attributes = attributes
        self.most = most
        self.n_rows = n_rows
        self.min_outside = min_outside
        self.everyone = everyone
        self.parts: list[Ranked] = []
        self.n_waiting = 0
        self.least = -np.inf

    def add(self, block: Block) -> None:
        """Take the block's rule sets whose score is among the largest so far."""
        if not len(block.index):
            return
        n, total = block.sums(2), block.sums(3)
        rank, ranked = self._rank(block.counts, n, total)
        chosen = np.flatnonzero(rank > self.least)
        if not len(chosen):
            return
        rules = block.rules(len(self.attributes), chosen)
        # Predictions of 0 and 1 are their own squares.
        squares = block.sums(4, chosen) if len(block.tables) > 4 else total[chosen]
        part = Ranked(
            rules,
            block.counts[chosen],
            n[chosen],
            total[chosen],
            squares,
            ranked[chosen],
            block.sums(1, chosen),
            rank[chosen],
            self._complexity(rules),
        )
        self.parts.append(part)
        self.n_waiting += len(chosen)
        if self.n_waiting > 8 * self.most + WAITING:
            self.finish()

    def _rank(self, counts: Floats, n: Floats, total: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Scores of those that are ranked; numbers below 0, in the same order, for the others."""
        n_pool, everything, _ = self.everyone
        with np.errstate(invalid="ignore", divide="ignore"):
            score = np.abs(total / n - (everything - total) / (n_pool - n))
        ranked = (self.n_rows - counts >= self.min_outside) & np.isfinite(score)
        if ranked.all():
            return score, ranked
        others = np.where(np.isfinite(score), -1 / (1 + score), -2.0)
        return np.where(ranked, score, others), ranked

    def _complexity(self, rules: NDArray[np.int16]) -> NDArray[np.intp]:
        """Fewer conditions are simpler, then fewer bounds and values to read."""
        total = np.zeros(len(rules), dtype=np.intp)
        for j, attribute in enumerate(self.attributes):
            held = rules[:, j] >= 0
            total[held] += 10_000 + attribute.complexity[rules[held, j]]
        return total

    def finish(self) -> Ranked:
        """The kept rule sets: worst first, simplest first among equal scores, each group once."""
        merged = Ranked._make(np.concatenate(arrays) for arrays in zip(*self.parts, strict=True))
        # A group and everyone else have one score; the smaller of the two is told of first.
        simple = np.lexsort((merged.support, merged.complexity))
        first = ~pd.Series(merged.marks[simple]).duplicated().to_numpy()
        simple = simple[first]
        # Equal scores may differ in their last bits; rounded, the simpler rule set comes first.
        scale = float(np.abs(merged.rank).max()) or 1.0
        order = simple[np.argsort(-np.round(merged.rank[simple] / scale, 12), kind="stable")]
        kept = Ranked._make(array[order[: self.most]] for array in merged)
        if len(order) > self.most:
            self.least = float(kept.rank[-1])
        self.parts = [kept]
        self.n_waiting = len(kept.rank)
        return kept


#: A support of 0.05 must not fail by the last bit of 0.05 * 20.
ROUNDING = 1 - 1e-12


class Counted(NamedTuple):
    """The rows of a table by their sensitive cells, and what rule sets there are."""

    tables: SensitiveTables
    cells: Cells
    census: Census
    min_count: float
    min_outside: float
    max_attributes: int


def count_rule_sets(
    tables: SensitiveTables,
    *,
    n_bins: Any,
    binning: str,
    min_support: float,
    min_outside: float,
    max_attributes: int | None,
    chunked: ChunkedRows | None = None,
) -> Counted:
    """Divide the sensitive attributes and count the frequent rule sets.

    With `chunked` rows are those of a table in chunks, of which `tables` knows a sample.

    Raises
    ------
    ValueError
        If no rule set is frequent, if all are one-sided, or if there are too many to look at.
    """
    columns = tables.divide(n_bins, binning)
    attributes = tables.attributes
    most = min(max_attributes or len(attributes), len(attributes))
    check_size(attributes, most)
    sizes = [attribute.n_cells for attribute in attributes]
    cells = Cells(columns, sizes) if chunked is None else chunked.cells(tables, sizes)
    limits = {
        "min_count": min_support * cells.n_rows * ROUNDING,
        "min_outside": min_outside * cells.n_rows * ROUNDING,
    }
    census = take_census(cells, attributes, max_attributes=most, **limits)
    if not census.n_rule_sets:
        raise _none_frequent(tables, cells, min_support)
    if np.isnan(census.smallest):
        raise ValueError(
            f"Each of the {census.n_rule_sets} frequent rule sets holds for nearly all rows: at "
            f"most {census.widest_outside:.4g} of the rows are outside of one, but at least "
            f"{min_outside:g} are needed. Lower min_support."
        )
    return Counted(tables, cells, census, max_attributes=most, **limits)


def _none_frequent(tables: SensitiveTables, cells: Cells, min_support: float) -> ValueError:
    largest = 0.0
    # No rule set has more support than its most frequent single condition.
    for block in frequent_rule_sets(
        cells, tables.attributes, [cells.count], min_count=1, max_attributes=1
    ):
        largest = max(largest, float(block.counts.max(initial=0)))
    return ValueError(
        f"No rule set over {tables.names!r} holds for min_support={min_support:g} of "
        f"{cells.n_rows} rows and not for all of them. The largest support of one is "
        f"{largest / cells.n_rows:.4g}: set min_support to that or less, or give other sensitive "
        "columns."
    )


def compare_rule_sets(
    counted: Counted, seeds: Ints, values: Floats, *, binary: bool, max_rules: int
) -> tuple[Ranked, Sides]:
    """Rank the rule sets by the predictions for one pool.

    Parameters
    ----------
    counted : Counted
        The rule sets.
    seeds : ndarray of int of shape (n_pool,)
        Row of the data that each row of the pool was made from.
    values : ndarray of shape (n_pool,)
        The predictions.
    binary : bool
        Whether they are 0 or 1.
    max_rules : int
        Rule sets to keep.

    Returns
    -------
    Ranked
        The kept rule sets, worst first.
    Sides
        What was observed on both sides of each.
    """
    cells, attributes = counted.cells, counted.tables.attributes
    # Sums of squares of large numbers lose the small ones: means are taken about the middle.
    middle = 0.0 if binary else float(values.mean())
    values = values - middle
    sums = [cells.count, cells.marks, cells.sums(seeds), cells.sums(seeds, values)]
    everyone = (float(len(values)), float(values.sum()), float((values**2).sum()))
    if not binary:
        sums.append(cells.sums(seeds, values**2))
    ranking = Ranking(
        attributes,
        max_rules,
        n_rows=cells.n_rows,
        min_outside=counted.min_outside,
        everyone=everyone,
    )
    for block in frequent_rule_sets(
        cells,
        attributes,
        sums,
        min_count=counted.min_count,
        max_attributes=counted.max_attributes,
    ):
        ranking.add(block)
    kept = ranking.finish()
    sides = sides_of(kept.n, kept.total, kept.squares, everyone, binary)
    return kept, sides._replace(mean=sides.mean + middle, mean_out=sides.mean_out + middle)
