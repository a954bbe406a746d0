"""Groups that the model favours more or less than everybody else, by TestSGD."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skfairtest.finding._words import number
from skfairtest.group._rule_attribute import MAX_LEVELS
from skfairtest.oracle._favourable import in_words
from skfairtest.report._measure.case import Case

#: Rule sets that are listed.
MOST_RULES = 20
COLUMNS = (
    "rule", "support", "share_inside", "share_outside", "score", "low", "high", "differs",
    "n_inside", "n_outside",
)  # fmt: skip


def compare_groups(case: Case, template: Any, seconds: float | None) -> dict[str, Any]:
    """Run the group auditor with as many queries as the time allows.

    Attributes of too many categories are left out, unless none is left then.
    """
    columns = [case.space.columns[j] for j in case.space.sensitive.tolist()]
    names = case.space.sensitive_features
    few = [
        name
        for name, column in zip(names, columns, strict=True)
        if column.kind != "categorical" or len(column.levels) <= MAX_LEVELS
    ]
    auditor = case.group_auditor(template, few or names)
    whole = auditor.max_queries
    auditor.set_params(max_queries=case.affordable(seconds, whole))
    case.auditors["groups"] = auditor
    auditor.fit(case.X)
    result = describe_groups(case)
    if auditor.stop_kind_ == "max_queries" and auditor.max_queries < whole:
        result["early"] = f"{auditor.n_queries_:,} of {whole:,} queries"
    if few and len(few) < len(names):
        left_out = ", ".join(str(name) for name in names if name not in few)
        result["reason"] = f"without {left_out}, of more than {MAX_LEVELS} categories"
    return result


def describe_groups(case: Case) -> dict[str, Any]:
    """What a group auditor found."""
    auditor = case.auditors["groups"]
    rules = auditor.rules_
    table = rules.iloc[:MOST_RULES]
    worst = table.iloc[0]
    return {
        "favourable": in_words(auditor.favourable_),
        "confidence": auditor.confidence,
        "correction": auditor.correction,
        "min_support": auditor.min_support,
        "n_rule_sets": auditor.n_rule_sets_,
        **ends_of_largest_score(auditor, rules),
        "rules": table[list(COLUMNS)].to_dict("records"),
        "queries": auditor.n_queries_,
        "stop_reason": auditor.stop_reason_,
        "told": f"largest score {number(worst['score'])} ({worst['rule']})",
    }


def ends_of_largest_score(auditor: Any, rules: pd.DataFrame) -> dict[str, float | None]:
    """Between which the largest score of all rules is, whichever rule has it in truth.

    With intervals that hold for all of them at once it is no less than the largest lower end and no
    more than the largest upper one.
    """
    # Rules that leave hardly anybody outside are too small a comparison to be judged.
    judged = rules[rules["ranked"]] if rules["ranked"].any() else rules
    # Rules that were not kept have smaller scores, but may have wider intervals.
    is_whole = len(rules) < auditor.max_rules
    high = float(judged["high"].max()) if is_whole else None
    return {"low": float(judged["low"].max()), "high": high}


NOTHING: dict[str, Any] = {
    "favourable": "", "confidence": None, "correction": "", "min_support": None, "n_rule_sets": 0,
    "low": None, "high": None, "rules": [], "stop_reason": "",
}  # fmt: skip
