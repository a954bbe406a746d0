"""Makes the selection table of the model's predictions for the rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
from msgspec.structs import replace

from skfairtest._clock import Deadline
from skfairtest.group import selection_table
from skfairtest.oracle._favourable import favourable_labels, joined_labels
from skfairtest.report._context import AuditContext
from skfairtest.report.parts.selection.results import Estimate, GroupRates, SelectionPart


def select(context: AuditContext, blank: SelectionPart, deadline: Deadline) -> SelectionPart:
    """The rates of each group, and of their intersections."""
    rows, predicted = context.rows, context.predicted
    favourable, regresses = context.favourable_labels, context.task == "regression"
    if not regresses and favourable is not None:
        given = set(predicted.tolist())
        if not any(label in given for label in favourable_labels(favourable)):
            words = joined_labels(favourable_labels(favourable))
            reason = f"no prediction is {words}, so there are no rates to compare"
            return replace(blank, status="left out", reason=reason)
    # Groups below this share of the rows are listed, without a ratio: the two percent that New
    # York's rule (6 RCNY 5-301) allows to leave out.
    confidence, min_share = 0.95, 0.02
    table = selection_table(
        predicted,
        sensitive_features=context.sensitive_values(rows),
        y_true=context.rows_of(rows)[1],
        favourable="mean" if regresses else favourable,
        confidence=confidence,
        min_share=min_share,
    )
    low, high = table.attrs["smallest_ratio"]
    labels = favourable_labels(table.attrs.get("favourable", ""))
    (metric,) = {"selection_rate", "mean_prediction"} & set(table.columns)
    return replace(
        blank,
        favourable="" if regresses else joined_labels(labels),
        confidence=confidence,
        min_share=min_share,
        n=len(rows),
        n_rows=len(context.space.data),
        low=low,
        high=high,
        metric=metric,
        groups=[_rates(row, metric) for row in table.to_dict("records")],
    )


def _rates(row: dict[Any, Any], metric: str) -> GroupRates:
    names = [name.removesuffix("_n") for name in row if name.endswith("_n")]
    return GroupRates(
        attribute=str(row["attribute"]),
        group=str(row["group"]),
        n=row["n"],
        share=row["share"],
        rate=_estimate(row, metric),
        ratio=_estimate(row, "impact_ratio"),
        errors={name: _estimate(row, name) for name in names},
        note=row["note"],
    )


def _estimate(row: dict[Any, Any], name: str) -> Estimate:
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    n = row.get(f"{name}_n")
    return Estimate(value, low, high, None if n is None or pd.isna(n) else int(n))
