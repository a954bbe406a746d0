"""Which columns carry the change between rows and their moved twins: sums that add up to it."""

from __future__ import annotations

from collections.abc import Callable
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


class Again(NamedTuple):
    """Rows of a pair of groups whose columns are looked at again, moved by a map learned again.

    Attributes
    ----------
    place : ndarray of int of shape (n_drawn,)
        Which of the rows that are looked at again these are.
    rows, Z : ndarray of shape (n_drawn, n_features)
        The rows, and their moved twins.
    before, after : Outputs
        For both.
    weights : ndarray of shape (n_drawn,)
        How often each row was drawn.
    """

    place: Ints
    rows: Floats
    Z: Floats
    before: Outputs
    after: Outputs
    weights: Floats

    @classmethod
    def of(cls, Z: Floats, part: ComparedGroup, kept: Ints, counts: Ints) -> Again:
        """Keep of a pair moved again those rows, by their places among all, that are looked at."""
        place = np.searchsorted(kept, part.rows)
        here = np.flatnonzero(kept[np.minimum(place, len(kept) - 1)] == part.rows)
        rows, outputs = part.rows[here], (part.before.at(here), part.after.at(here))
        return cls(place[here], Z[rows], part.Z[here], *outputs, counts[rows].astype(np.float64))


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
    kept : ndarray of int
        Those of its rows that are looked at again for intervals.
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
    again : list of ndarray of shape (2, n_columns)
        What columns carry on average under maps that were learned again.
    """

    def __init__(
        self, judge: Judge, Z: Floats, part: ComparedGroup, kept: Ints, order: list[int] | None,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.judge, self.order = judge, order
        self.again: list[Floats] = []
        rows = Z[part.rows]
        self.columns = np.flatnonzero(differs(rows, part.Z).any(axis=0))
        change = (part.after.scores - part.before.scores).mean(axis=0)
        self.output = int(np.abs(change).argmax())
        n, d = len(rows), len(self.columns)
        self.orders = self._one_order(len(kept), rng)
        values = _Values(judge, rows, part.Z, part.before, part.after, self.columns, self.output)
        if order is not None:
            self.carried = along(values, self._one_order(n, rng))
        elif d <= MOST_EXACT and n * 2**d <= MOST_QUERIES:
            self.carried = shapley(values, d)
        else:
            self.carried = sampled(values, d, rng)
        # What chance makes of rows that are looked at in one order each.
        few = np.searchsorted(part.rows, kept)
        self._few = Carried(*(one[few] for one in self.carried))
        if order is None and len(few):
            of_few = _Values(judge, rows[few], part.Z[few], part.before.at(few),
                             part.after.at(few), self.columns, self.output)  # fmt: skip
            self._few = along(of_few, self.orders)

    def _one_order(self, n: int, rng: np.random.Generator) -> Ints:
        """Return an order of the columns for each row, shape (n, n_columns)."""
        d = len(self.columns)
        if self.order is None:
            return rng.random((n, d)).argsort(axis=1)
        place = np.argsort(np.asarray(self.order))[self.columns]
        return np.tile(np.argsort(place), (n, 1))

    def look_again(self, of: Again) -> None:
        """Note what columns carry on average in rows drawn again, under a map learned from them."""
        means = np.full((2, len(self.columns)), np.nan)
        if len(of.place):
            values = _Values(
                self.judge, of.rows, of.Z, of.before, of.after, self.columns, self.output
            )
            carried = along(values, self.orders[of.place])
            means = np.stack([np.average(one, axis=0, weights=of.weights) for one in carried])
        self.again.append(means)

    def errors(self) -> Floats:
        """Return the standard errors of what columns carry, shape (2, n_columns).

        Those of fewer rows, in one order each, are corrected for what this adds.
        """
        n, d = len(self.carried.output), len(self.columns)
        if len(self.again) < 2 or not d:
            return np.full((2, d), np.nan)
        variance = np.nanvar(np.stack(self.again), axis=0, ddof=1)
        own = np.stack([one.var(axis=0, ddof=1) / n for one in self.carried])
        few = np.stack([one.var(axis=0, ddof=1) / len(one) for one in self._few])
        return np.sqrt(np.maximum(variance - few + own, own))


class _Values:
    """Outputs of rows of which some columns have changed to those of their moved twins.

    Attributes
    ----------
    changes : ndarray of bool of shape (n_rows, n_columns)
        Which columns a moved twin has another value in: the model is asked about no others.
    """

    def __init__(
        self, judge: Judge, rows: Floats, moved: Floats, before: Outputs, after: Outputs,
        columns: Ints, output: int,
    ) -> None:  # fmt: skip
        self.judge, self.rows, self.columns, self.output = judge, rows, columns, output
        self.before, self.after = before, after
        self.own, self.moved = rows[:, columns], moved[:, columns]
        self.changes = differs(self.own, self.moved)

    def __len__(self) -> int:
        return len(self.rows)

    def of_changed(self, rows: Ints, mask_of: Callable[[slice], Bools]) -> Floats:
        """Return outputs and flips of rows with some columns changed, shape (n, 2).

        Parameters
        ----------
        rows : ndarray of int of shape (n,)
            Which rows, each as often as it is asked about.
        mask_of : callable
            Returns for a slice of these which columns have changed, shape (n, n_columns).

        Notes
        -----
        Where a row breaks the constraint with these columns alone, they change nothing.
        """
        found = np.empty((len(rows), 2))
        # A million values at once, which with all that is made of them take some ten megabytes.
        size = max(1, 2**20 // max(1, self.rows.shape[1]))
        for start in range(0, len(rows), size):
            _clock.check_ending()
            here = slice(start, start + size)
            own = rows[here]
            Z = self.rows[own]
            Z[:, self.columns] = np.where(mask_of(here), self.moved[own], self.own[own])
            before = self.before.at(own)
            found[here] = self.read(self.judge.ask_where_valid(Z, before), before)
        return found

    def ends(self) -> tuple[Floats, Floats]:
        """Return outputs and flips of rows as they are, and of their moved twins."""
        return self.read(self.before, self.before), self.read(self.after, self.before)

    def read(self, outputs: Outputs, before: Outputs) -> Floats:
        """Return outputs and flips from what the model gave."""
        flips = self.judge.compare(before, outputs).verdict.astype(np.float64)
        if self.judge.model.response == "labels":
            return np.column_stack([flips, flips])
        return np.column_stack([outputs.scores[:, self.output], flips])


def along(values: _Values, orders: Ints) -> Carried:
    """Return what each column carries where they change one after the other, in these orders."""
    n, d = orders.shape
    found = np.zeros((n, d, 2))
    if d:
        first, end = values.ends()
        # Row by row, the steps at which something changes. After the last one a row is its twin.
        rows, steps = np.nonzero(np.take_along_axis(values.changes, orders, axis=1))
        is_last = np.diff(rows, append=n) > 0
        rank, asked = np.argsort(orders, axis=1), np.flatnonzero(~is_last)
        of_asked, until = rows[asked], steps[asked, None]
        here = end[rows]
        here[asked] = values.of_changed(of_asked, lambda part: rank[of_asked[part]] <= until[part])
        last = np.concatenate([first[rows[:1]], here[:-1]])
        is_first = np.diff(rows, prepend=-1) > 0
        last[is_first] = first[rows[is_first]]
        found[rows, orders[rows, steps]] = here - last
    return Carried(found[:, :, 0], found[:, :, 1])


def shapley(values: _Values, d: int) -> Carried:
    """Return the mean over all orders, from all subsets of the columns."""
    n = len(values)
    subsets, rows = np.arange(2**d), np.arange(n)
    members = (subsets[:, None] >> np.arange(d)) & 1 == 1
    # Of a row, subsets are told apart by the columns that change in it.
    whole = values.changes @ (1 << np.arange(d))
    every = np.empty((2**d, n, 2))
    every[0], every[whole, rows] = values.ends()
    is_asked = (subsets[:, None] & ~whole == 0) & (subsets[:, None] != whole)
    is_asked[0] = False
    asked, own = np.nonzero(is_asked)
    every[asked, own] = values.of_changed(own, lambda part: members[asked[part]])
    every = every[subsets[:, None] & whole, rows]
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
    explained: dict[tuple[int, int], Explained], labels: Any, names: list[Any],
    outputs: list[Any], confidence: float,
) -> pd.DataFrame:  # fmt: skip
    """Return what each column carries in each pair of groups, with intervals."""
    lines = []
    for (own, to), one in explained.items():
        errors = one.errors()
        t = float(stats.t.isf((1 - confidence) / 2, max(1, len(one.again) - 1)))
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
