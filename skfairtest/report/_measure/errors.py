"""For which groups the model errs most, on the rows of the data whose truth is known."""

from __future__ import annotations

from typing import Any

from skfairtest.group import SubgroupAuditor
from skfairtest.report._data import GroupsOfRowsPart
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.groups import compare_rows
from skfairtest.space._sensitive_features import rows_not_in_model


def metrics_of(task: str, has_favourable: bool) -> tuple[str, ...]:
    """What is compared, by what the model does."""
    if task == "regression":
        return "mean_error", "mean_absolute_error"
    if task != "classification":
        return ()
    # Where nothing says which of many classes people want, an error is any other label.
    return ("false_positive_rate", "false_negative_rate") if has_favourable else ("accuracy",)


def compare_errors(
    case: Case, metric: str, favourable: Any, seconds: float | None
) -> GroupsOfRowsPart:
    """Look at every frequent rule over all columns."""
    X, truth = case.rows_of(case.rows)
    not_in_model = rows_not_in_model(case.not_in_model, case.rows)
    if case.task == "regression" or metric == "accuracy":
        favourable = None
    space = case.space
    places = space.layout.places_of(space.sensitive)
    auditor = SubgroupAuditor(
        metric=metric,
        # Columns of the table: a one-hot group has the name of none of them.
        sensitive_features=[space.layout.container.names[place] for place in places] or None,
        favourable=favourable,
    )
    return compare_rows(case, metric, auditor, X, truth, case.predicted, not_in_model)
