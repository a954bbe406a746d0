"""Rates of favourable predictions by group, on the rows of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Ints
from skfairtest.group import selection_table
from skfairtest.oracle._favourable import favourable_labels, joined_labels
from skfairtest.report._data import SelectionPart
from skfairtest.report._measure.case import Case
from skfairtest.space._sensitive_features import rows_not_in_model


def select(case: Case, favourable: Any, seconds: float | None) -> SelectionPart:
    """The selection table of the model's predictions for the rows."""
    rows, predicted = case.rows, case.predicted
    _, truth = case.rows_of(rows)
    regresses = case.task == "regression"
    if not regresses and favourable is not None:
        given = set(predicted.tolist())
        if not any(label in given for label in favourable_labels(favourable)):
            words = joined_labels(favourable_labels(favourable))
            reason = (
                f"none of {len(rows):,} predictions is {words}, so there are no rates to compare"
            )
            return SelectionPart(status="left out", reason=reason)
    # Groups below this share of the rows are listed, without a ratio: the two percent that New
    # York's rule (6 RCNY 5-301) allows to leave out.
    confidence, min_share = 0.95, 0.02
    table = selection_table(
        predicted,
        sensitive_features=sensitive_values(case, rows),
        y_true=truth,
        favourable="mean" if regresses else favourable,
        confidence=confidence,
        min_share=min_share,
    )
    low, high = table.attrs["smallest_ratio"]
    counted = table.attrs.get("favourable", "")
    labels = "" if regresses else joined_labels(favourable_labels(counted))
    return SelectionPart(
        favourable=labels,
        confidence=confidence,
        min_share=min_share,
        n=len(rows),
        n_rows=len(case.space.data),
        low=low,
        high=high,
        columns=[str(name) for name in table.columns],
        rows=table.to_numpy(dtype=object).tolist(),
        summary=f"{len(table)} groups",
    )


def sensitive_values(case: Case, rows: Ints) -> pd.DataFrame:
    """The sensitive attributes of rows of the data, one column each; a one-hot group is one."""
    values, Z = {}, case.space.data[rows]
    for j in case.space.sensitive.tolist():
        column, encoded = case.space.domain.columns[j], Z[:, j]
        taken = np.full(len(encoded), None, dtype=object)
        known = ~np.isnan(encoded)
        taken[known] = column.shown(encoded[known])
        values[str(column.name)] = pd.Series(taken).infer_objects()
    not_in_model = rows_not_in_model(case.not_in_model, rows)
    if not_in_model is not None:
        values |= {str(name): not_in_model[name] for name in not_in_model}
    return pd.DataFrame(values)
