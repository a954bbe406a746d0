"""Rows of the data against their twins: how many people, by how much, who most."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest import _clock
from skfairtest._statistics import wilson_interval
from skfairtest._typing import Floats, Ints
from skfairtest.finding._pair import Pair
from skfairtest.finding._words import number
from skfairtest.inspection._curve_display import disparity_curve
from skfairtest.oracle._judgement import Judgement, joined
from skfairtest.oracle._rows import judge_rows
from skfairtest.report._measure.case import QUERIES_A_PAIR, Case
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
CONFIDENCE = 0.95


def compare_rows(
    case: Case, label: str, space: InputSpace, kept: list[Judgement], seconds: float | None
) -> dict[str, Any]:
    """Compare the rows of the data with their twins, or as many as the time allows.

    These are then a random sample of the rows. `kept` takes what was judged, for `rescue_rows`.
    """
    began, before = _clock.now(), case.n_queries
    deadline = np.inf if seconds is None else began + seconds
    oracle = case.oracle(space)
    order = shuffled(case)
    for judged in judge_rows(oracle, space.data[order], most=MOST_TWINS, deadline=deadline):
        kept.append(judged)
    case.timed(began, case.n_queries - before)
    whole = joined(kept)
    result = told_rows(case, space, whole)
    disparity = whole.disparity
    order = order[: len(disparity)]
    if oracle.response == "regression":
        result |= above_spread(disparity, oracle.respond(space.data[order]))
    worst = worst_places(disparity, order)
    if np.isfinite(deadline):
        left = max(0.0, deadline - _clock.now())
        worst = worst[
            : max(1, case.affordable(left, QUERIES_A_PAIR * len(worst)) // QUERIES_A_PAIR)
        ]
    first, second = _twins(space, order[worst], whole, worst)
    pairs = case.pairs(oracle, first, second)
    result["worst"] = _worst_rows(case, label, space, order[worst], pairs, (first, second))
    result["queries"] = case.n_queries - before
    result["told"] = in_words(result)
    if result["n"] < result["n_rows"]:
        result["early"] = f"{result['n']:,} of {result['n_rows']:,} rows"
    return result


def rescue_rows(case: Case, label: str, space: InputSpace, kept: list[Judgement]) -> dict[str, Any]:
    """What the rows show that were judged before a failure; asks nothing."""
    if not kept:
        return {**NOTHING, "n_rows": len(space.data)}
    whole = joined(kept)
    result = told_rows(case, space, whole)
    rows = shuffled(case)[: len(whole.disparity)]
    worst = worst_places(whole.disparity, rows)
    twins = _twins(space, rows[worst], whole, worst)
    pairs = case.pairs_unasked(space, *twins, whole.disparity[worst])
    result["worst"] = _worst_rows(case, label, space, rows[worst], pairs, twins)
    return result


def told_rows(case: Case, space: InputSpace, judged: Judgement) -> dict[str, Any]:
    """Counts and shares of the rows that were judged."""
    result: dict[str, Any] = {**NOTHING, "n_rows": len(space.data)}
    disparity, verdict = judged.disparity, judged.verdict
    n = len(disparity)
    rate = None
    if case.response != "regression" or case.template.threshold is not None:
        rate = float(verdict.mean())
    if rate is not None and n < len(space.data):
        result["low"], result["high"] = wilson_interval(int(verdict.sum()), n, CONFIDENCE)
    points = disparity_curve(disparity, "", CURVE_POINTS)[["difference", "share"]]
    return {
        **result,
        "n": n,
        "n_twins": int(min(space.n_twins, MOST_TWINS)),
        "n_combinations": space.n_combinations,
        "degree": float(disparity.max(initial=0.0)),
        "rate": rate,
        "curve": points.to_dict("list"),
    }


def _twins(space: InputSpace, rows: Ints, judged: Judgement, places: Ints) -> tuple[Floats, Floats]:
    """The two twins of each row that differ most."""
    first = space.with_sensitive(space.data[rows], judged.first[places])
    return first, space.with_sensitive(space.data[rows], judged.second[places])


def _worst_rows(
    case: Case,
    label: str,
    space: InputSpace,
    rows: Ints,
    pairs: list[Pair],
    twins: tuple[Floats, Floats],
) -> list[dict[str, Any]]:
    """The worst rows as the report has them; the worst inside of the domain is a finding."""
    names, Z = row_names(case.X), space.data[rows]
    # Where the domain was given, rows of the data may lie outside of it.
    inside = ((Z >= space.low) & (Z <= space.high)).all(axis=1) & space.valid(Z)
    listed = []
    for place, (row, pair) in enumerate(zip(rows.tolist(), pairs, strict=True)):
        if inside[place]:
            codes = np.stack([side[place] for side in twins])
            case.offer(label, pair, codes, f"row {names(row)} of the data")
        listed.append({"row": names(row), "inside": bool(inside[place]), "pair": pair.to_dict()})
    return listed


def shuffled(case: Case) -> Ints:
    """Places of the rows in the order in which they are compared."""
    return np.random.default_rng(case.seed).permutation(len(case.space.data))


def above_spread(disparity: Floats, predictions: Floats) -> dict[str, Any]:
    """How many rows exceed parts of the spread of the predictions."""
    # Of several outputs the differences are of the one that differs most: the widest spread.
    spread = float(np.max(np.diff(np.percentile(predictions, SPREAD, axis=0), axis=0)))
    return {
        "spread": spread,
        "above": [
            {
                "share_of_spread": part,
                "difference": part * spread,
                "n": int((disparity > part * spread).sum()),
                "rate": float((disparity > part * spread).mean()),
            }
            for part in PARTS_OF_SPREAD
        ],
    }


def worst_places(disparity: Floats, order: Ints) -> Ints:
    """Places of the rows that differ most, in the order of the data where they differ alike."""
    places = np.lexsort((order, -disparity))[:WORST_ROWS]
    return places[disparity[places] > 0]


def row_names(X: Any) -> Any:
    """A function from the place of a row to its name: its label in the index, or its place."""
    index = getattr(X, "index", None)
    if index is not None and hasattr(X, "iloc"):
        return lambda place: str(index[place])
    return str


def in_words(rows: dict[str, Any]) -> str:
    """What the rows show, for a line of progress."""
    of_rows = f"{rows['n']:,} rows"
    if rows["n"] < rows["n_rows"]:
        of_rows += f" (a sample of {rows['n_rows']:,})"
    if rows["rate"] is None:
        return f"largest difference {number(rows['degree'])} on {of_rows}"
    return f"{rows['rate']:.1%} of {of_rows}, largest difference {number(rows['degree'])}"


NOTHING: dict[str, Any] = {
    "n": 0, "n_rows": 0, "n_twins": 0, "n_combinations": 0, "degree": None, "rate": None,
    "low": None, "high": None, "spread": None, "above": [],
    "curve": {"difference": [], "share": []}, "worst": [],
}  # fmt: skip
