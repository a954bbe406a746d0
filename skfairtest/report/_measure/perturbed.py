"""Groups of perturbed inputs, by TestSGD: a question of its own, answered where it is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skfairtest.group._rules.attribute import MAX_LEVELS
from skfairtest.oracle._favourable import joined_labels
from skfairtest.report._data import PerturbedGroupsPart
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.groups import what_was_compared

#: What the part and its auditor are called.
NAME = "groups of perturbed inputs"


def compare_perturbed(case: Case, template: Any, seconds: float | None) -> PerturbedGroupsPart:
    """Run the group auditor with as many queries as the time allows.

    Attributes of too many categories are left out, unless none is left then.
    """
    columns = [case.space.domain.columns[j] for j in case.space.sensitive.tolist()]
    names = case.space.sensitive_features
    few = [
        name
        for name, column in zip(names, columns, strict=True)
        if not column.is_category or column.n_listed <= MAX_LEVELS
    ]
    auditor = case.group_auditor(template, few or names)
    whole = auditor.max_queries
    auditor.set_params(max_queries=case.affordable(seconds, whole))
    case.auditors[NAME] = auditor
    auditor.fit(case.X)
    result = describe_perturbed(case)
    if auditor.stop_kind_ == "max_queries" and auditor.max_queries < whole:
        result = replace(result, early=f"{auditor.n_queries_:,} of {whole:,} queries")
    if few and len(few) < len(names):
        left_out = ", ".join(str(name) for name in names if name not in few)
        reason = f"without {left_out}, of more than {MAX_LEVELS} categories"
        result = replace(result, reason=reason)
    return result


def describe_perturbed(case: Case) -> PerturbedGroupsPart:
    """What the group auditor found."""
    auditor = case.auditors[NAME]
    listed = auditor.short_list_
    # A report lists twenty rule sets.
    table = listed if len(listed) else auditor.rules_.iloc[:20]
    return PerturbedGroupsPart(
        **what_was_compared(auditor, table),
        favourable=joined_labels(auditor.favourable_),
        queries=auditor.n_queries_,
    )
