"""For which groups the model errs most, on the rows of the data whose truth is known."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from skfairtest.finding._words import number
from skfairtest.group import SubgroupAuditor
from skfairtest.group._pattern_search import TooManyRules
from skfairtest.group._value_table import MOST_CATEGORIES
from skfairtest.oracle._favourable import in_words
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.groups import ends_of_largest_score
from skfairtest.space._containers import make_container
from skfairtest.space._sensitive_features import rows_beside

#: Conditions of a rule; longer ones nobody reads.
MOST_CONDITIONS = 3
#: Words of 64 rows that may be looked at for them, about five seconds' worth.
MOST_WORDS = 5e9
#: Rules that are listed.
MOST_RULES = 10
COLUMNS = (
    "rule", "support", "share_inside", "share_outside", "score", "low", "high", "differs",
    "n_inside", "n_outside",
)  # fmt: skip


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
) -> dict[str, Any]:
    """Look at every frequent rule on the rows of the data, or on a sample of them."""
    rows, predicted, queries = case.predictions(seconds)
    X, truth = case.rows_of(rows)
    beside = rows_beside(case.beside, rows)
    if case.task == "regression" or metric == "accuracy":
        favourable = None
    space = case.space
    places = [place for j in space.sensitive.tolist() for place in space.layout.places[j]]
    auditor = SubgroupAuditor(
        metric=metric,
        # Columns of the table: a one-hot group has the name of none of them.
        sensitive_features=[space.container.names[place] for place in places] or None,
        favourable=favourable,
        n_jobs=case.n_jobs,
        random_state=case.seed,
    )
    attributes = values_of(X, auditor.bins)
    if beside is not None:
        attributes |= values_of(beside, auditor.bins)
    auditor.set_params(attributes=list(attributes))
    for most in range(affordable_conditions(len(rows), sum(attributes.values())), 0, -1):
        try:
            auditor.set_params(max_conditions=most)
            auditor.fit(X, truth, y_pred=predicted, sensitive_features=beside)
            break
        except TooManyRules:
            if most == 1:
                raise
    case.auditors[metric] = auditor
    all_rules, listed = auditor.rules_, auditor.short_list_
    n_differ = int(all_rules["differs"].sum())
    table = listed if len(listed) else all_rules.iloc[:MOST_RULES]
    told = "no rule"
    if len(table):
        told = f"largest score {number(table['score'].iloc[0])} ({table['rule'].iloc[0]})"
    known = auditor.favourable_ is not None
    return {
        "favourable": in_words(auditor.favourable_) if known else "",
        "n": len(rows),
        "n_rows": len(case.space.data),
        "overall": auditor.overall_,
        "confidence": auditor.confidence,
        "correction": auditor.correction,
        "min_support": auditor.min_support,
        "max_conditions": auditor.max_conditions,
        "n_rule_sets": auditor.n_rule_sets_,
        "n_differ": n_differ,
        **ends_of_largest_score(auditor, all_rules),
        "rules": table[list(COLUMNS)].to_dict("records"),
        "stop_reason": auditor.stop_reason_,
        "queries": queries,
        "told": told,
        "early": case.sampled(rows),
    }


def values_of(X: Any, bins: int) -> dict[Any, int]:
    """How many values rules see in the columns that can describe a group.

    Names, texts and constants cannot. Numbers are divided into bins.
    """
    container = make_container(X)
    n_values = {}
    for place, name in enumerate(container.names):
        values = container.column_values(X, place)
        is_number, n = values.dtype.kind == "f", pd.Series(values).nunique()
        if n > 1 and (is_number or n <= MOST_CATEGORIES):
            n_values[name] = min(n, bins) if is_number else n
    return n_values


def affordable_conditions(n_rows: int, values: int) -> int:
    """How long rules over so many values may be, so that the search takes seconds."""
    words = n_rows / 64
    for most in range(MOST_CONDITIONS, 1, -1):
        if math.comb(values, most) * words <= MOST_WORDS:
            return most
    return 1


NOTHING: dict[str, Any] = {
    "favourable": "", "n": 0, "n_rows": 0, "overall": None, "confidence": None, "correction": "",
    "min_support": None, "max_conditions": None, "n_rule_sets": 0, "n_differ": 0,
    "low": None, "high": None, "rules": [], "stop_reason": "",
}  # fmt: skip
