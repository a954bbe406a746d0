"""Groups that the model favours more or less than everybody else, on the rows of the data."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pandas as pd

from skfairtest._typing import is_real
from skfairtest.finding._words import number
from skfairtest.group import SubgroupAuditor
from skfairtest.group._rules.attribute import MOST_CATEGORIES
from skfairtest.group._rules.rule_search import TooManyRules
from skfairtest.oracle._favourable import joined_labels
from skfairtest.report._data import GroupsOfRowsPart, Largest, ReportedRule
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.selection import sensitive_values
from skfairtest.space._containers import make_container


def metric_of(case: Case) -> str:
    """What is compared: how often people get what they want; of a regressor, how much."""
    if case.task != "regression":
        return "selection_rate"
    least = None if case.favourable is None else case.favourable.labels
    return "selection_rate" if is_real(least) else "mean_prediction"


def compare_groups(case: Case, favourable: Any, seconds: float | None) -> GroupsOfRowsPart:
    """Look at every frequent group that sensitive attributes describe."""
    metric, predicted = metric_of(case), case.predicted
    if case.task == "regression" and metric == "selection_rate":
        predicted, favourable = (predicted >= favourable).astype(int), [1]
    auditor = SubgroupAuditor(
        metric=metric, favourable=None if metric == "mean_prediction" else favourable
    )
    values = sensitive_values(case, case.rows)
    result = compare_rows(case, "groups", auditor, values, None, predicted)
    if metric == "selection_rate" and case.favourable is not None:
        result = replace(result, favourable=labels_text(case))
    if not result.rules:
        least = f"{auditor.min_support:.0%} of the rows"
        words = f"no group that a sensitive attribute describes has {least} inside and outside"
        result = replace(result, status="left out", reason=words)
    return result


def labels_text(case: Case) -> str:
    """What a favourable prediction is: a label, some, or outputs of at least so much."""
    assert case.favourable is not None
    words = joined_labels(case.favourable.labels)
    return f"at least {words}" if case.task == "regression" else words


def compare_rows(
    case: Case,
    name: str,
    auditor: Any,
    X: Any,
    truth: Any,
    predicted: Any,
    not_in_model: Any = None,
) -> GroupsOfRowsPart:
    """Look at every frequent rule over columns of the rows of the data that were predicted.

    Columns outside of the model are those of `not_in_model`.
    Rules are as long as can be looked at in seconds. The auditor is kept by this name.
    """
    container = make_container(X)
    sensitive = auditor.sensitive_features
    if isinstance(sensitive, str):
        sensitive = list(container.names)
    auditor.set_params(sensitive_features=sensitive, n_jobs=case.n_jobs, random_state=case.seed)
    attributes = values_of(X, auditor.bins)
    if not_in_model is not None:
        attributes |= values_of(not_in_model, auditor.bins)
    if not attributes:
        raise ValueError("there is no column whose values tell groups of rows apart")
    auditor.set_params(attributes=list(attributes))
    for most in range(affordable_conditions(len(case.rows), sum(attributes.values())), 0, -1):
        try:
            auditor.set_params(max_conditions=most)
            auditor.fit(X, truth, y_pred=predicted, sensitive_features=not_in_model)
            break
        except TooManyRules:
            if most == 1:
                raise
    case.auditors[name] = auditor
    all_rules, listed = auditor.rules_, auditor.short_list_
    # A report lists ten rules.
    table = listed if len(listed) else all_rules[all_rules["ranked"]].iloc[:10]
    known = auditor.favourable_ is not None and auditor.favourable_ != "mean"
    return GroupsOfRowsPart(
        **what_was_compared(auditor, table),
        metric=auditor.metric,
        favourable=joined_labels(auditor.favourable_) if known else "",
        n=len(case.rows),
        n_rows=len(case.space.data),
        overall=auditor.overall_,
        max_conditions=auditor.max_conditions,
        n_differ=int(all_rules["differs"].sum()),
    )


def what_was_compared(auditor: Any, table: pd.DataFrame) -> dict[str, Any]:
    """What a fitted group auditor has compared, of which these rules are listed."""
    names = [field.name for field in fields(ReportedRule)]
    score = auditor._largest_score()
    summary = "no rule"
    if len(table):
        summary = f"largest difference {number(table['score'].iloc[0])} ({table['rule'].iloc[0]})"
    return {
        "confidence": auditor.confidence,
        "correction": auditor.correction,
        "min_support": auditor.min_support,
        "n_rules": auditor.n_rules_,
        **score,
        "largest": None if score["largest"] is None else Largest(**score["largest"]),
        "rules": [ReportedRule(*row) for row in table[names].itertuples(index=False)],
        "stop_reason": auditor.stop_reason_,
        "summary": summary,
    }


def values_of(X: Any, bins: int) -> dict[Any, int]:
    """How many values rules see in the columns that can describe a group.

    Names, texts and constants cannot. Numbers are divided into bins.
    """
    container = make_container(X)
    n_values = {}
    for place, name in enumerate(container.names):
        values = container.column_values(X, place)
        is_number, n = values.dtype.kind == "f", pd.Series(values).nunique(dropna=False)
        if n > 1 and (is_number or n <= MOST_CATEGORIES):
            n_values[name] = min(n, bins) if is_number else n
    return n_values


def affordable_conditions(n_rows: int, values: int) -> int:
    """How long rules over so many values may be, so that the search takes seconds."""
    words = n_rows / 64
    # At most three conditions: longer rules nobody reads.
    for most in range(3, 1, -1):
        # About five seconds' worth of words of 64 rows that are looked at.
        if math.comb(values, most) * words <= 5e9:
            return most
    return 1
