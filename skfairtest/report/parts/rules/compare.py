"""Compares the groups that rules describe on the rows of the data, by SubgroupAuditor."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import pandas as pd
from msgspec.structs import replace

from skfairtest._clock import Deadline
from skfairtest.group import SubgroupAuditor
from skfairtest.group._rules.attribute import MOST_CATEGORIES
from skfairtest.oracle._favourable import joined_labels
from skfairtest.report._context import AuditContext
from skfairtest.report.parts.rules.results import Largest, ReportedRule, RulesOfRowsPart
from skfairtest.space._containers import make_container

Result = TypeVar("Result", bound=RulesOfRowsPart)


def compare_rules(
    context: AuditContext,
    blank: Result,
    auditor: SubgroupAuditor,
    rows: tuple[Any, Any, Any],
    deadline: Deadline,
    not_in_model: Any = None,
) -> Result:
    """Look at every frequent rule over columns of the rows of the data that were predicted.

    `rows` are the table, what is true of them, and what is predicted. Columns outside of the model
    are those of `not_in_model`. Rules are as long as can be looked at until the deadline. The
    auditor is kept by the name of the part.
    """
    X, truth, predicted = rows
    sensitive = auditor.sensitive_features
    if isinstance(sensitive, str):
        sensitive = list(make_container(X).names)
    names = describing(X)
    if not_in_model is not None:
        names += describing(not_in_model)
    if not names:
        raise ValueError("there is no column whose values tell groups of rows apart")
    auditor.set_params(
        attributes=names,
        sensitive_features=sensitive,
        max_conditions=3,  # longer rules nobody reads
        max_time=deadline.sooner(math.inf),  # without one, too many rules would be an error
        n_jobs=context.n_jobs,
        random_state=context.seed,
    )
    auditor.fit(X, truth, y_pred=predicted, sensitive_features=not_in_model)
    is_late = auditor.stop_kind_ == "max_time" and deadline < math.inf
    context.auditors[blank.of or blank.part] = auditor
    all_rules, listed = auditor.rules_, auditor.short_list_
    # A report lists ten rules.
    table = listed if len(listed) else all_rules[all_rules["ranked"]].iloc[:10]
    known = auditor.favourable_ is not None and auditor.favourable_ != "mean"
    return replace(
        blank,
        **what_was_compared(auditor, table),
        metric=auditor.metric,
        favourable=joined_labels(auditor.favourable_) if known else "",
        n=len(context.rows),
        n_rows=len(context.space.data),
        overall=auditor.overall_,
        max_conditions=auditor.max_conditions_,
        n_differ=int(all_rules["differs"].sum()),
        early=auditor.stop_reason_ if is_late else "",
    )


def what_was_compared(auditor: Any, table: pd.DataFrame) -> dict[str, Any]:
    """What a fitted group auditor has compared, of which these rules are listed."""
    names, score = list(ReportedRule.__struct_fields__), auditor._largest_score()
    return {
        "confidence": auditor.confidence,
        "correction": auditor.correction,
        "min_support": auditor.min_support,
        "n_rules": auditor.n_rules_,
        **score,
        "largest": None if score["largest"] is None else Largest(**score["largest"]),
        "rules": [ReportedRule(*row) for row in table[names].itertuples(index=False)],
        "stop_reason": auditor.stop_reason_,
    }


def describing(X: Any) -> list[Any]:
    """The columns that can describe a group: names, texts and constants cannot."""
    container = make_container(X)
    names = []
    for place, name in enumerate(container.names):
        values = container.column_values(X, place)
        n = pd.Series(values).nunique(dropna=False)
        if n > 1 and (values.dtype.kind == "f" or n <= MOST_CATEGORIES):
            names.append(name)
    return names
