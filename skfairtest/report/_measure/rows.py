"""Rows of the data against their twins: how many people, by how much, who most."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from skfairtest._statistics import wilson_interval
from skfairtest._typing import Floats, Ints
from skfairtest.finding._words import number
from skfairtest.oracle._rows import judge_rows
from skfairtest.report._measure.case import Case
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


def compare_rows(case: Case, space: InputSpace, seconds: float | None) -> dict[str, Any]:
    """Compare the rows of the data with their twins, or as many as the time allows.

    These are then a random sample of the rows.
    """
    began = time.perf_counter()
    deadline = np.inf if seconds is None else began + seconds
    oracle = case.oracle(space)
    order = np.random.default_rng(case.seed).permutation(len(space.data))
    judged = list(judge_rows(oracle, space.data[order], most=MOST_TWINS, deadline=deadline))
    case.timed(oracle, began)
    disparity = np.concatenate([part.disparity for part in judged])
    verdict = np.concatenate([part.verdict for part in judged])
    first = np.concatenate([part.first for part in judged])
    second = np.concatenate([part.second for part in judged])
    n = len(disparity)
    order = order[:n]
    regresses = oracle.response == "regression"
    rate = None if regresses and case.template.threshold is None else float(verdict.mean())
    low, high = None, None
    if rate is not None and n < len(space.data):
        low, high = wilson_interval(int(verdict.sum()), n, CONFIDENCE)
    result: dict[str, Any] = {
        "n": n,
        "n_rows": len(space.data),
        "n_twins": int(min(space.n_twins, MOST_TWINS)),
        "degree": float(disparity.max(initial=0.0)),
        "rate": rate,
        "low": low,
        "high": high,
        "spread": None,
        "above": [],
        "curve": curve(disparity),
    }
    if regresses:
        predictions = oracle.respond(space.data[order])
        # Of several outputs the differences are of the one that differs most: the widest spread.
        spread = float(np.max(np.diff(np.percentile(predictions, SPREAD, axis=0), axis=0)))
        result["spread"] = spread
        result["above"] = [
            {
                "share_of_spread": part,
                "difference": part * spread,
                "n": int((disparity > part * spread).sum()),
                "rate": float((disparity > part * spread).mean()),
            }
            for part in PARTS_OF_SPREAD
        ]
    worst = worst_places(disparity, order)
    pairs = case.pairs(
        oracle,
        space.with_sensitive(space.data[order[worst]], first[worst]),
        space.with_sensitive(space.data[order[worst]], second[worst]),
    )
    names = row_names(case.X)
    result["worst"] = [
        {"row": names(int(order[place])), "pair": pair.to_dict()}
        for place, pair in zip(worst, pairs, strict=True)
    ]
    result["queries"] = oracle.n_queries + case.take_extra()
    result["told"] = in_words(result)
    return result


def worst_places(disparity: Floats, order: Ints) -> Ints:
    """Places of the rows that differ most, in the order of the data where they differ alike."""
    places = np.lexsort((order, -disparity))[:WORST_ROWS]
    return places[disparity[places] > 0]


def curve(disparity: Floats) -> dict[str, list[float]]:
    """Share of the rows whose difference exceeds t, at up to 200 values of t."""
    values, counts = np.unique(disparity, return_counts=True)
    above = 1 - np.cumsum(counts) / max(1, len(disparity))
    if len(values) and values[0] > 0:
        values, above = np.r_[0.0, values], np.r_[1.0, above]
    if len(values) > CURVE_POINTS:
        places = np.unique(np.linspace(0, len(values) - 1, CURVE_POINTS).astype(int))
        values, above = values[places], above[places]
    # Rounding must not leave a share of -1e-17.
    return {"difference": values.tolist(), "share": np.clip(above, 0, 1).tolist()}


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
    "n": 0, "n_rows": 0, "n_twins": 0, "degree": None, "rate": None, "low": None, "high": None,
    "spread": None, "above": [], "curve": {"difference": [], "share": []}, "worst": [],
}  # fmt: skip
