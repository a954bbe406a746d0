"""All rule sets of a table, counted before the model is asked and compared by one pool after it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._statistics import Sides, sides_of
from skfairtest.group._ranking import Census, Ranked, Ranking, take_census
from skfairtest.group._row_groups import Cells
from skfairtest.group._rule_sets import check_size, frequent_rule_sets
from skfairtest.group._sensitive_table import SensitiveTables

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

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
) -> Counted:
    """Divide the sensitive attributes and count the frequent rule sets.

    Raises
    ------
    ValueError
        If no rule set is frequent, if all are one-sided, or if there are too many to look at.
    """
    columns = tables.divide(n_bins, binning)
    attributes = tables.attributes
    most = min(max_attributes or len(attributes), len(attributes))
    check_size(attributes, most)
    cells = Cells(columns, [attribute.n_cells for attribute in attributes])
    limits = {
        "min_count": min_support * cells.n_rows * ROUNDING,
        "min_outside": min_outside * cells.n_rows * ROUNDING,
    }
    census = take_census(cells, attributes, max_attributes=most, **limits)
    if not census.n_rule_sets:
        raise _none_frequent(tables, cells, min_support)
    if np.isnan(census.smallest):
        raise ValueError(
            f"Every one of {census.n_rule_sets} frequent rule sets is one-sided: outside of it are "
            f"at most {census.widest_outside:.4g} of the rows, and min_outside={min_outside:g} are "
            "expected. Lower min_outside, or min_support."
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
    """Rank the rule sets by the answers to one pool.

    Parameters
    ----------
    counted : Counted
        The rule sets.
    seeds : ndarray of int of shape (n_pool,)
        Row of the data that each row of the pool was made from.
    values : ndarray of shape (n_pool,)
        The answers.
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
