"""Rates of favourable predictions by group, on the rows of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest.group import selection_table
from skfairtest.oracle._favourable import favourable_labels, known_classes
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.groups import favourable_in_words

CONFIDENCE = 0.95
#: Groups below this share of the rows are listed, without a ratio: the two percent that New York's
#: rule (6 RCNY 5-301) allows to leave out.
MIN_SHARE = 0.02


def select(case: Case, favourable: Any, seconds: float | None) -> dict[str, Any]:
    """The selection table of the model's predictions for the rows, or for a sample of them.

    A sample where predictions for all rows take too long.
    """
    rows, predicted, queries = case.predictions(seconds)
    _, truth = case.rows_of(rows)
    regresses = case.task == "regression"
    classes = known_classes(case.estimator)
    if favourable is None and not regresses and classes is not None:
        favourable = classes[-1]
    if not regresses and favourable is not None:
        given = set(predicted.tolist())
        if not any(label in given for label in favourable_labels(favourable)):
            words = favourable_in_words(favourable_labels(favourable))
            reason = (
                f"none of {len(rows):,} predictions is {words}, so there are no rates to compare"
            )
            return {"status": "left out", "reason": reason, "queries": queries}
    table = selection_table(
        predicted,
        sensitive_features=sensitive_values(case, case.space.data[rows]),
        y_true=truth,
        favourable="mean" if regresses else favourable,
        confidence=CONFIDENCE,
        min_share=MIN_SHARE,
    )
    counted = table.attrs.get("favourable", "")
    labels = "" if regresses else favourable_in_words(favourable_labels(counted))
    return {
        "favourable": labels,
        "confidence": CONFIDENCE,
        "min_share": MIN_SHARE,
        "n": len(rows),
        "n_rows": len(case.space.data),
        "columns": [str(name) for name in table.columns],
        "rows": table.to_numpy(dtype=object).tolist(),
        "queries": queries,
        "told": f"{len(table)} groups",
        "early": case.sampled(rows),
    }


def sensitive_values(case: Case, Z: Any) -> pd.DataFrame:
    """The sensitive attributes of rows of codes, one column each; a one-hot group is one."""
    values = {}
    for j in case.space.sensitive.tolist():
        column, codes = case.space.columns[j], Z[:, j]
        taken = np.full(len(codes), None, dtype=object)
        known = ~np.isnan(codes)
        taken[known] = column.take(codes[known])
        values[str(column.name)] = pd.Series(taken).infer_objects()
    return pd.DataFrame(values)


NOTHING: dict[str, Any] = {
    "favourable": "", "confidence": None, "min_share": None, "n": 0, "n_rows": 0,
    "columns": [], "rows": [],
}  # fmt: skip
