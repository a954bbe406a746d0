"""Shares of the model that a method trains on all rows, with intervals about people like them."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.mitigation._comparison.methods import ComparisonContext
from skfairtest.mitigation._comparison.one_fold import FoldResult, Training
from skfairtest.mitigation._retraining.metrics import unseen_share
from skfairtest.mitigation._retraining.moved_twins import moved_share
from skfairtest.mitigation._shares import PLACES, Measure


def shares(
    context: ComparisonContext, trainings: list[Training], results: list[FoldResult], rows: Ints
) -> dict[str, Any]:
    """Return the columns of a method's shares.

    Parameters
    ----------
    context : ComparisonContext
        What is compared.
    trainings : list of Training
        Those on all but the rows of each fold, and at last that on all rows.
    results : list of FoldResult
        What they gave.
    rows : ndarray of int
        Those that models were asked about.
    """
    kind = "difference" if context.is_mean else "share"
    whole = results[-1]
    row: dict[str, Any] = {}
    for place in PLACES:
        # Twins in columns that no model is given are one input to it.
        measure = Measure(0.0, 0.0, 0.0)
        if context.has_twins and place == "rows":
            values = [result.judged[place].values(mean=context.is_mean) for result in results]
            measure = _of_people(context, trainings, rows, values)
        elif context.has_twins:
            measure = whole.judged[place].measure(
                mean=context.is_mean, confidence=context.settings.confidence
            )
        row |= _columns(f"{kind}_{place}", measure)
    if context.transport is not None:
        row |= _columns(f"{kind}_moved", _moved(context, trainings, results))
    return row | {
        "degree": whole.degree,
        "degree_bound": whole.bound,
        "degree_unit": whole.unit,
    }


def _columns(name: str, measure: Measure) -> dict[str, float]:
    return {name: measure.value, f"{name}_low": measure.low, f"{name}_high": measure.high}


def _of_people(
    context: ComparisonContext, trainings: list[Training], rows: Ints, values: list[Floats]
) -> Measure:
    """The mean among the rows, and an interval of that among people drawn as they were."""
    *of_folds, own = values
    people = unseen_share(own, _held(trainings, rows), of_folds, None, mean=context.is_mean)
    value = float(own.mean())
    return Measure(value, min(people.low, value), max(people.high, value))


def _moved(
    context: ComparisonContext, trainings: list[Training], results: list[FoldResult]
) -> Measure:
    """The largest share of all attributes, as a limit of an audit takes it.

    The largest true share is at least the largest of the lower bounds, and at most the largest of
    the upper ones. It is NaN where nobody could be moved.
    """
    found = []
    for name, own in results[-1].moved.items():
        if any(name not in result.moved for result in results):
            continue
        held = _held(trainings, context.moved[name].rows)
        folds = [result.moved[name] for result in results[:-1]]
        found.append(moved_share(own, folds, held, None, context.settings.confidence))
    if not found:
        return Measure(np.nan, np.nan, np.nan)
    return Measure(*np.max(np.array(found), axis=0).tolist())


def _held(trainings: list[Training], rows: Ints) -> list[Bools]:
    return [np.isin(rows, training.held) for training in trainings[:-1]]
