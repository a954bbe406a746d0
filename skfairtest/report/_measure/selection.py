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
    n_rows = len(case.space.data)
    n = case.affordable(seconds, n_rows)
    rows = np.arange(n_rows)
    if n < n_rows:
        rows = np.sort(np.random.default_rng(case.seed).permutation(n_rows)[:n])
    Z = case.space.data[rows]
    predicted = np.asarray(case.estimator.predict(case.space.decode(Z)))
    if predicted.ndim != 1:
        raise ValueError(
            f"the table needs one prediction a row; the model gives shape {predicted.shape}"
        )
    truth = None
    if case.y is not None:
        truth = np.asarray(case.y)[rows]
    regresses = case.task == "regression"
    classes = known_classes(case.estimator)
    if favourable is None and not regresses and classes is not None:
        favourable = classes[-1]
    table = selection_table(
        predicted,
        sensitive_features=sensitive_values(case, Z),
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
        "n": n,
        "n_rows": n_rows,
        "columns": [str(name) for name in table.columns],
        "rows": table.to_numpy(dtype=object).tolist(),
        "queries": n,
        "told": f"{len(table)} groups",
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
