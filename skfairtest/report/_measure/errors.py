"""For which groups the model errs most, on the rows of the data whose truth is known."""

from __future__ import annotations

from typing import Any

from skfairtest.finding._words import number
from skfairtest.group import SubgroupAuditor
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.groups import favourable_in_words

#: What is compared, by what the model does.
METRICS = {
    "classification": ("false_positive_rate", "false_negative_rate"),
    "regression": ("mean_error", "mean_absolute_error"),
}
#: Conditions of a rule; longer ones nobody reads.
MOST_CONDITIONS = 3
#: Rules that are listed.
MOST_RULES = 10
COLUMNS = (
    "rule", "support", "share_inside", "share_outside", "score", "low", "high", "differs",
    "n_inside", "n_outside",
)  # fmt: skip


def compare_errors(
    case: Case, metric: str, favourable: Any, seconds: float | None
) -> dict[str, Any]:
    """Look at every frequent rule on the rows of the data, or on a sample of them."""
    rows, predicted, queries = case.predictions(seconds)
    X, truth = case.rows_of(rows)
    auditor = SubgroupAuditor(
        metric=metric,
        attributes="all",
        sensitive_features=case.space.sensitive_features,
        max_conditions=MOST_CONDITIONS,
        favourable=None if case.task == "regression" else favourable,
        n_jobs=case.n_jobs,
        random_state=case.seed,
    )
    auditor.fit(X, truth, y_pred=predicted)
    case.auditors[metric] = auditor
    table = auditor.rules_.iloc[:MOST_RULES]
    told = "no rule"
    if len(table):
        told = f"largest score {number(table['score'].iloc[0])} ({table['rule'].iloc[0]})"
    return {
        "favourable": ""
        if auditor.favourable_ is None
        else favourable_in_words(auditor.favourable_),
        "overall": auditor.overall_,
        "confidence": auditor.confidence,
        "correction": auditor.correction,
        "min_support": auditor.min_support,
        "n_rule_sets": auditor.n_rule_sets_,
        "rules": table[list(COLUMNS)].to_dict("records"),
        "stop_reason": auditor.stop_reason_,
        "queries": queries,
        "told": told,
    }


NOTHING: dict[str, Any] = {
    "favourable": "", "overall": None, "confidence": None, "correction": "", "min_support": None,
    "n_rule_sets": 0, "rules": [], "stop_reason": "",
}  # fmt: skip
