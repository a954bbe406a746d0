"""Rows of the data against their twins: how many people, by how much, who most."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from skfairtest._clock import Deadline
from skfairtest._progress import tell
from skfairtest._statistics import clopper_pearson
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.finding._pair import Pair
from skfairtest.oracle._compare import disparity_curve
from skfairtest.oracle._judgement import concatenated
from skfairtest.oracle._twin_tables import TwinRows, TwinTables
from skfairtest.report._context import AskedInputs, AuditContext
from skfairtest.report.parts.rows.people import (
    RowChanges,
    beginning_with,
    count_people,
    look_at_twins,
    own_values,
    person_to_show,
)
from skfairtest.report.parts.rows.results import (
    Above,
    DifferenceCurve,
    Person,
    RowsPart,
    WorstRow,
)
from skfairtest.space._rows import take_rows
from skfairtest.space._space import InputSpace

#: Twins that a row is compared with at most.
MOST_TWINS = 100
#: Points of the curve, and rows that are listed.
CURVE_POINTS = 200
WORST_ROWS = 10
#: A regressor without a threshold: shares of the rows whose difference exceeds these parts of the
#: spread of the predictions, which is from their 5th to their 95th percentile.
PARTS_OF_SPREAD = (0.05, 0.10, 0.20)
SPREAD = (5, 95)
#: The part of the spread from which people are counted by group: a tenth.
SHOWN_PART = 1
CONFIDENCE = 0.95


def compare_rows(
    context: AuditContext,
    blank: RowsPart,
    space: InputSpace,
    kept: list[Judged],
    deadline: Deadline,
) -> RowsPart:
    """Compare the rows of the data with their twins, or as many as the time allows.

    These are then a random sample of the rows. `kept` takes what was judged, for `rescue_rows`.
    """
    before, order = context.n_queries, context.shuffled()
    comparison = context.compare(space, MOST_TWINS)
    rows = comparison.rows(take_rows(context.table, order))
    any_compared, n = False, 0
    with context.within(deadline):
        for compared in comparison.compare(rows):
            any_compared |= bool(compared.valid.any())
            context.keep_compared(order[n : n + len(compared.rows)], compared)
            n += len(compared.rows)
            tell(n / len(order), f"{n:,} of {len(order):,} rows")
            shown = Shown(compared.shown.disparity, compared.shown.verdict, compared.pair)
            kept.append((shown, look_at_twins(comparison, compared)))
    if not any_compared:
        why = "the constraint leaves no row a twin to be compared with"
        queries = context.n_queries - before
        return replace(blank, status="left out", reason=why, queries=queries)
    whole, changes = _whole(kept)
    result = counted_rows(context, blank, space, whole)
    disparity = whole.disparity
    order = order[: len(disparity)]
    if comparison.model.response == "regression":
        some_twins = result.n_twins < space.twins_.n_combinations
        result = above_spread(context, result, changes.farthest, some_twins=some_twins)
    counted = count_people(context, space, order, changes, _counts_above(context, result))
    worst = worst_places(rows, disparity, order)
    places, place = shown_places(space, disparity, order, worst), person_to_show(changes, order)
    asked = AskedInputs(comparison.of(rows), lambda pairs: comparison.answers(rows, pairs)[0])
    twins = _twins(whole, places)
    person = _person_and_twin(rows, changes, place)
    # The person and the worst rows are asked about in one call; their outputs are known.
    ends = [np.concatenate(both) for both in zip(person, twins, strict=True)]
    pairs = context.pairs(asked, *ends)
    first, pairs = pairs[: len(person[0])], pairs[len(person[0]) :]
    listed = _worst_rows(context, blank.of, space, rows, order, places, pairs, twins)
    return replace(
        result,
        **counted,
        worst=listed[: len(worst)],
        person=_person(context, space, rows, order, place, first[0]) if first else None,
        queries=context.n_queries - before,
        early=context.sampled(order),
    )


class Shown(NamedTuple):
    """What was seen of some rows: disparities, verdicts, and the two twins that differ most."""

    disparity: Floats
    verdict: Bools
    pair: Ints


#: What the comparison says of some rows, and what it means for each of them.
Judged = tuple[Shown, RowChanges]


def _whole(kept: list[Judged]) -> Judged:
    judged, changes = zip(*kept, strict=True)
    return concatenated(judged), concatenated(changes)


def _counts_above(context: AuditContext, rows: RowsPart) -> float | None:
    """From which difference of outputs a person counts; None where other labels do."""
    if context.template.threshold is not None:
        return float(context.template.threshold)
    return rows.above[SHOWN_PART].difference if rows.above else None


def _person_and_twin(
    rows: TwinRows, changes: RowChanges, place: int | None
) -> tuple[Ints, Ints]:  # fmt: skip
    """The row to show and its twin, as `_twins` has them; none where there is no place."""
    at = np.array([] if place is None else [place], dtype=np.intp)
    return np.column_stack([at, rows.own[at]]), np.column_stack([at, changes.twin[at]])


def _person(
    context: AuditContext, space: InputSpace, rows: TwinRows, order: Ints, place: Any, pair: Pair
) -> Person:
    """A row and its twin: another decision if there is one, the largest difference otherwise."""
    return Person(
        row=row_names(context.X)(int(order[place])),
        inside=bool(space.contains(space.data[order[[place]]])[0]),
        pair=beginning_with(own_values(_twice(rows, place), pair), pair),
    )


def _twice(rows: TwinRows, place: int) -> Any:
    return take_rows(rows.table, np.array([place, place]))


def rescue_rows(
    context: AuditContext, blank: RowsPart, space: InputSpace, kept: list[Judged]
) -> RowsPart:
    """What the rows show that were judged before a failure; asks nothing."""
    if not kept:
        return blank
    whole, changes = _whole(kept)
    result = counted_rows(context, blank, space, whole)
    rows = context.shuffled()[: len(whole.disparity)]
    if context.response != "regression" or context.template.threshold is not None:
        counted = count_people(context, space, rows, changes, context.template.threshold)
        result = replace(result, **counted)
    table = TwinTables(space).rows(take_rows(context.table, rows))
    worst = worst_places(table, whole.disparity, rows)
    shown = shown_places(space, whole.disparity, rows, worst)
    twins = _twins(whole, shown)
    pairs = context.pairs_unasked(table, *twins, whole.disparity[shown])
    listed = _worst_rows(context, blank.of, space, table, rows, shown, pairs, twins)
    return replace(result, worst=listed[: len(worst)])


def counted_rows(
    context: AuditContext, blank: RowsPart, space: InputSpace, judged: Shown
) -> RowsPart:
    """Counts and shares of the rows that were judged."""
    disparity, verdict = judged.disparity, judged.verdict
    n = len(disparity)
    rate = low = high = None
    some_twins = space.twins_.n_combinations > min(space.twins_.n_twins, MOST_TWINS)
    if context.response != "regression" or context.template.threshold is not None:
        rate = float(verdict.mean())
        low, high = share_ends(int(verdict.sum()), n, len(space.data), some_twins=some_twins)
    points = disparity_curve(disparity, "", CURVE_POINTS)[["difference", "share"]]
    return replace(
        blank,
        n=n,
        n_rows=len(space.data),
        n_twins=int(min(space.twins_.n_twins, MOST_TWINS)),
        n_combinations=space.twins_.n_combinations,
        degree=float(disparity.max(initial=0.0)),
        rate=rate,
        low=low,
        high=high,
        curve=DifferenceCurve(*(points[name].tolist() for name in points)),
    )


def _twins(judged: Shown, places: Ints) -> tuple[Ints, Ints]:
    """The two twins of each row that differ most."""
    first, second = judged.pair[places].T
    return np.column_stack([places, first]), np.column_stack([places, second])


def _worst_rows(
    context: AuditContext,
    label: str,
    space: InputSpace,
    rows: TwinRows,
    order: Ints,
    places: Ints,
    pairs: list[Pair],
    twins: tuple[Ints, Ints],
) -> list[WorstRow]:
    """The worst rows as the report has them; the worst inside of the domain is a finding."""
    names = row_names(context.X)
    # Where the domain was given, rows of the data may lie outside of it.
    inside = space.contains(space.data[order[places]])
    listed = []
    for k, (place, pair) in enumerate(zip(places.tolist(), pairs, strict=True)):
        name = names(int(order[place]))
        if inside[k]:
            encoded = space.encode(rows.decode(np.stack([side[k] for side in twins])))
            context.offer(label, pair, encoded, f"row {name} of the data")
        own = own_values(_twice(rows, place), pair)
        listed.append(WorstRow(name, bool(inside[k]), own, pair))
    return listed


def spread_of_predictions(context: AuditContext) -> float:
    """The spread of a regressor's predictions for the rows; of several outputs the widest."""
    if not len(context.predicted):
        raise ValueError("the rows were not predicted, so that their spread is not known")
    # Of several outputs the differences are of the one that differs most.
    predicted = context.predicted.astype(np.float64)
    return float(np.max(np.diff(np.percentile(predicted, SPREAD, axis=0), axis=0)))


def above_spread(
    context: AuditContext, rows: RowsPart, farthest: Floats, *, some_twins: bool
) -> RowsPart:
    """How many rows have a twin whose prediction is farther than parts of their spread."""
    spread = spread_of_predictions(context)
    above = []
    for part in PARTS_OF_SPREAD:
        exceeds = farthest > part * spread
        n = int(exceeds.sum())
        low, high = share_ends(n, len(farthest), rows.n_rows, some_twins=some_twins)
        above.append(Above(part, part * spread, n, float(exceeds.mean()), low, high))
    return replace(rows, spread=spread, above=above)


def share_ends(
    count: int, n: int, n_rows: int, *, some_twins: bool
) -> tuple[float | None, float | None]:
    """What the share of all rows may be, if `count` of `n` were seen; None where it is known.

    Rows that were not compared are drawn for by Clopper and Pearson's interval, each end of which
    misses for one sample in forty at most. A row that was compared with some of its twins only may
    differ from another one: what was seen is then a lower bound.
    """
    if n == n_rows and not some_twins:
        return None, None
    low = high = count / n if n else 0.0
    if n < n_rows:
        ends = clopper_pearson(count, n, 1 - CONFIDENCE)
        # Rows that were compared stay as they are, whatever the others turn out to be.
        low = max(float(ends[0]), count / n_rows)
        high = min(float(ends[1]), (count + n_rows - n) / n_rows)
    return low, 1.0 if some_twins else high


def worst_places(rows: TwinRows, disparity: Floats, order: Ints) -> Ints:
    """Places of the rows that differ most, in the order of the data where they differ alike.

    Of rows that are equal in all columns the first one stands for the others.
    """
    places = np.lexsort((order, -disparity))
    places = places[disparity[places] > 0]
    size = WORST_ROWS
    while True:
        some = places[:size]
        keys = rows.keys(np.column_stack([some, rows.own[some]]))
        _, first = np.unique(keys, return_index=True)
        if len(first) >= WORST_ROWS or size >= len(places):
            return places[np.sort(first)[:WORST_ROWS]]
        size *= 10


def shown_places(space: InputSpace, disparity: Floats, order: Ints, worst: Ints) -> Ints:
    """The worst places, and behind them the worst inside of the domain where that is another."""
    inside = np.flatnonzero(space.contains(space.data[order]) & (disparity > 0))
    first = inside[np.lexsort((order[inside], -disparity[inside]))[:1]]
    return np.concatenate([worst, np.setdiff1d(first, worst)])


def row_names(X: Any) -> Any:
    """A function from the place of a row to its name: its label in the index, or its place."""
    index = getattr(X, "index", None)
    if index is not None and hasattr(X, "iloc"):
        return lambda place: str(index[place])
    return str
