"""Which columns carry the change between rows and their moved twins: sums that add up to it."""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from skfairtest import _clock
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.individual._flip_test.judge import ComparedGroup, Judge, Outputs
from skfairtest.individual._flip_test.maps import differs
from skfairtest.transports._quantile import is_missing

ATTRIBUTIONS = ("shapley", "order")
#: Columns up to which all subsets are asked about.
MOST_EXACT = 12
#: Queries for the columns of one pair of groups; fewer rows or orders are taken where they need it.
MOST_QUERIES = 400_000
#: Of so many repetitions one looks at the columns, too: their intervals are of Student's t.
COLUMNS_EVERY = 4


class Carried(NamedTuple):
    """What each column carries in each row.

    Attributes
    ----------
    output : ndarray of shape (n_rows, n_columns)
        Change of the output; sums over the columns to the whole change.
    flips : ndarray of shape (n_rows, n_columns)
        Change of whether the row flips; sums to 1 where it does and to 0 where it does not.
    """

    output: Floats
    flips: Floats


class Explained:
    """Which columns carry the change of one pair of groups.

    Parameters
    ----------
    judge : Judge
        Asks the model.
    Z : ndarray of shape (n_rows, n_features)
        All rows.
    part : ComparedGroup
        Those of the pair, moved.
    order : list of int or None
        Positions of all columns in the order in which they change; None takes the mean over all
        orders (Shapley values).
    rng : Generator
        Draws orders.

    Attributes
    ----------
    columns : ndarray of int
        Positions of the columns that change in some row.
    output : int
        The output that is looked at: of several the one whose mean changes most.
    carried : Carried
        By row.
    """

    def __init__(
        self, judge: Judge, Z: Floats, part: ComparedGroup, order: list[int] | None,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.judge, self.order = judge, order
        rows = Z[part.rows]
        self.columns = np.flatnonzero(differs(rows, part.Z).any(axis=0))
        change = (part.after.scores - part.before.scores).mean(axis=0)
        self.output = int(np.abs(change).argmax())
        n, d = len(rows), len(self.columns)
        # Intervals come from the columns of 200 rows of a group, which are looked at again.
        self.n_again = min(n, 200)
        self.again = np.sort(rng.permutation(n)[: self.n_again])
        self.orders = self._one_order(self.n_again, rng)
        values = _Values(judge, rows, part.Z, part.before, part.after, self.columns, self.output)
        if d == 0:
            self.carried = Carried(np.zeros((n, 0)), np.zeros((n, 0)))
        elif order is not None:
            self.carried = along(values, self._one_order(n, rng))
        elif d <= MOST_EXACT and n * 2**d <= MOST_QUERIES:
            self.carried = shapley(values, d)
        else:
            self.carried = sampled(values, d, rng)
        of_few = _Values(judge, rows[self.again], part.Z[self.again], part.before.at(self.again),
                         part.after.at(self.again), self.columns, self.output)  # fmt: skip
        # What chance makes of rows that are looked at in one order each.
        few = self.carried
        if d and n > 1 and (order is None or self.n_again < n):
            few = along(of_few, self.orders)
        self._few = few

    def _one_order(self, n: int, rng: np.random.Generator) -> Ints:
        """Return an order of the columns for each row, shape (n, n_columns)."""
        d = len(self.columns)
        if self.order is None:
            return rng.random((n, d)).argsort(axis=1)
        place = np.argsort(np.asarray(self.order))[self.columns]
        return np.tile(np.argsort(place), (n, 1))

    def means_again(self, Z: Floats, part: ComparedGroup, kept: Ints, weights: Floats) -> Any:
        """Return what columns carry on average in rows drawn again, under a map learned from them.

        Parameters
        ----------
        Z : ndarray of shape (n_drawn, n_features)
            Different rows that were drawn.
        part : ComparedGroup
            Those of the pair, moved.
        kept : ndarray of int of shape (n_rows of the pair in part,)
            Position of each row among all rows of its group.
        weights : ndarray
            How often each was drawn.

        Returns
        -------
        ndarray of shape (2, n_columns)
            Of the output, and of flips.
        """
        d = len(self.columns)
        place = np.searchsorted(self.again, kept)
        inside = place < self.n_again
        inside[inside] = self.again[place[inside]] == kept[inside]
        if not inside.any() or not d:
            return np.full((2, d), np.nan)
        rows = np.flatnonzero(inside)
        values = _Values(self.judge, Z[part.rows[rows]], part.Z[rows], part.before.at(rows),
                         part.after.at(rows), self.columns, self.output)  # fmt: skip
        carried = along(values, self.orders[place[rows]])
        return np.stack([np.average(one, axis=0, weights=weights[rows]) for one in carried])

    def errors(self, again: list[Any]) -> Floats:
        """Return the standard errors of what columns carry, shape (2, n_columns).

        Those of fewer rows, in one order each, are corrected for what this adds.
        """
        n, d = len(self.carried.output), len(self.columns)
        if len(again) < 2 or not d:
            return np.full((2, d), np.nan)
        variance = np.nanvar(np.stack(again), axis=0, ddof=1)
        own = np.stack([one.var(axis=0, ddof=1) / n for one in self.carried])
        few = np.stack([one.var(axis=0, ddof=1) / len(one) for one in self._few])
        return np.sqrt(np.maximum(variance - few + own, own))


class _Values:
    """Outputs of rows of which some columns have changed to those of their moved twins."""

    def __init__(
        self, judge: Judge, rows: Floats, moved: Floats, before: Outputs, after: Outputs,
        columns: Ints, output: int,
    ) -> None:  # fmt: skip
        self.judge, self.rows, self.moved = judge, rows, moved
        self.before, self.after, self.columns, self.output = before, after, columns, output

    def __len__(self) -> int:
        return len(self.rows)

    def of_each(self, masks: list[Bools]) -> list[Floats]:
        """Return outputs and flips of rows with some columns changed, shape (n, 2), for each mask.

        The model is asked once about all of them. Where a row breaks the constraint with these
        columns alone, they change nothing.
        """
        if not masks:
            return []
        n = len(self)
        Z = np.tile(self.rows, (len(masks), 1))
        moved, own = self.moved[:, self.columns], self.rows[:, self.columns]
        for k, mask in enumerate(masks):
            Z[k * n : (k + 1) * n, self.columns] = np.where(mask, moved, own)
        instead = self.before.at(np.tile(np.arange(n), len(masks)))
        outputs = self.judge.ask_where_valid(Z, instead)
        return [self.read(outputs.at(slice(k * n, (k + 1) * n))) for k in range(len(masks))]

    def ends(self) -> tuple[Floats, Floats]:
        """Return outputs and flips of rows as they are, and of their moved twins."""
        return self.read(self.before), self.read(self.after)

    def read(self, outputs: Outputs) -> Floats:
        """Return outputs and flips from what the model gave."""
        flips = self.judge.compare(self.before, outputs).verdict.astype(np.float64)
        if self.judge.model.response == "labels":
            return np.column_stack([flips, flips])
        return np.column_stack([outputs.scores[:, self.output], flips])


def along(values: _Values, orders: Ints) -> Carried:
    """Return what each column carries where they change one after the other, in these orders."""
    n, d = orders.shape
    rank = np.argsort(orders, axis=1)
    found = np.zeros((n, d, 2))
    rows = np.arange(n)
    last, end = values.ends()
    # The model is asked about 50,000 rows with changed columns at once, and about fewer where
    # they have many columns.
    at_once = max(1, min(50_000, 2**23 // max(1, d)) // max(1, n))
    for start in range(0, d, at_once):
        _clock.check_ending()
        steps = range(start, min(d, start + at_once))
        asked = values.of_each([rank <= step for step in steps if step < d - 1])
        for step, here in zip(steps, [*asked, end], strict=False):
            found[rows, orders[:, step]] = here - last
            last = here
    return Carried(found[:, :, 0], found[:, :, 1])


def shapley(values: _Values, d: int) -> Carried:
    """Return the mean over all orders, from all subsets of the columns."""
    n = len(values)
    first, last = values.ends()
    every = np.empty((2**d, n, 2))
    every[0], every[-1] = first, last
    members = (np.arange(2**d)[:, None] >> np.arange(d)) & 1 == 1
    for k in range(1, 2**d - 1):
        _clock.check_ending()
        (every[k],) = values.of_each([members[k]])
    sizes = members.sum(axis=1)
    found = np.zeros((n, d, 2))
    for j in range(d):
        without = np.flatnonzero(~members[:, j])
        weights = np.array([1 / (d * comb(d - 1, int(size))) for size in sizes[without]])
        found[:, j] = np.tensordot(weights, every[without | 1 << j] - every[without], axes=1)
    return Carried(found[:, :, 0], found[:, :, 1])


def sampled(values: _Values, d: int, rng: np.random.Generator) -> Carried:
    """Return the mean over orders that are drawn for each row, each with its reverse."""
    n = len(values)
    # At most 32 orders of the columns, 16 and their reverses, are drawn for each row.
    pairs = int(np.clip(MOST_QUERIES // (2 * n * max(1, d - 1)), 1, 16))
    output, flips = np.zeros((n, d)), np.zeros((n, d))
    for _ in range(pairs):
        orders = rng.random((n, d)).argsort(axis=1)
        for own in (orders, orders[:, ::-1]):
            carried = along(values, own)
            output += carried.output
            flips += carried.flips
    return Carried(output / (2 * pairs), flips / (2 * pairs))


def column_table(
    explained: dict[tuple[int, int], Explained], again: dict[tuple[int, int], list[Any]],
    labels: Any, names: list[Any], outputs: list[Any], confidence: float,
) -> pd.DataFrame:  # fmt: skip
    """Return what each column carries in each pair of groups, with intervals."""
    lines = []
    for (own, to), one in explained.items():
        replicates = again.get((own, to), [])
        errors = one.errors(replicates)
        t = float(stats.t.isf((1 - confidence) / 2, max(1, len(replicates) - 1)))
        change, flips = one.carried.output.mean(axis=0), one.carried.flips.mean(axis=0)
        total = flips.sum()
        for place in np.argsort(-np.abs(change), kind="stable"):
            half = t * errors[:, place]
            lines.append(
                {
                    "group": labels[own],
                    "to": labels[to],
                    "column": names[one.columns[place]],
                    "output": outputs[one.output] if one.output < len(outputs) else None,
                    "change": change[place],
                    "low": change[place] - half[0],
                    "high": change[place] + half[0],
                    "flips": flips[place],
                    "flips_low": flips[place] - half[1],
                    "flips_high": flips[place] + half[1],
                    "share_of_flips": flips[place] / total if total > 0 else np.nan,
                }
            )
    return pd.DataFrame(lines, columns=list(COLUMNS))


#: Columns of the table.
COLUMNS = (
    "group", "to", "column", "output", "change", "low", "high", "flips", "flips_low", "flips_high",
    "share_of_flips",
)  # fmt: skip


def moved_columns(auditor: Any) -> pd.DataFrame:
    """Return how columns move in the rows that flip, beside what each of them carries.

    Parameters
    ----------
    auditor : FlipTestAuditor
        A fitted auditor.

    Returns
    -------
    DataFrame
        `columns_` with `before`, `after`, `spread` and `moved`.
    """
    state, space = auditor._state, auditor.space_
    places = {column.name: j for j, column in enumerate(space.layout.columns)}
    cases, carried = pd.DataFrame(state["cases"]), auditor.columns_
    found = []
    for line in carried.itertuples():
        j = places[line.column]
        flips = ((cases["group"] == line.group) & (cases["to"] == line.to)).to_numpy(dtype=bool)
        rows, twins = state["flip_rows"][flips, j], state["flip_twins"][flips, j]
        same = (rows == twins) | (np.isnan(rows) & np.isnan(twins))
        column = space.layout.columns[j]
        means = [_of_numbers(column, encoded, np.mean) for encoded in (rows, twins)]
        spread = _of_numbers(column, space.data[:, j], np.std)
        found.append([*means, spread, 1 - same.mean() if len(same) else np.nan])
    table = pd.DataFrame(found, columns=["before", "after", "spread", "moved"], index=carried.index)
    return pd.concat([carried, table.astype(float)], axis=1)


def _of_numbers(column: Any, encoded: Any, function: Any) -> float:
    """Return a figure of the numbers among encoded values; NaN if they are none."""
    present = encoded[~is_missing(column, encoded)]
    if column.is_category or column.dates is not None or not len(present):
        return np.nan
    return float(function(np.asarray(column.take(present), dtype=float)))
