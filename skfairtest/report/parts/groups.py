"""Groups that the model favours more or less than everybody else, on the rows of the data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from skfairtest._clock import Deadline
from skfairtest._typing import is_real
from skfairtest.finding._words import number
from skfairtest.group import SubgroupAuditor
from skfairtest.group._rules.attribute import MOST_CATEGORIES
from skfairtest.oracle._favourable import joined_labels
from skfairtest.report._context import AuditContext
from skfairtest.report._redact import count_of_people, neither
from skfairtest.report._types import Figure, PartResult, Words
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.predictions import PredictionsPart, why_no_rates
from skfairtest.space._containers import make_container


class ReportedRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A group of rows, or of perturbed inputs, compared with all others."""

    rule: Words
    support: Annotated[
        float | None, count_of_people("Share of the rows of the data that the rule holds for.")
    ] = None
    value_inside: Annotated[float | None, count_of_people()] = None
    value_outside: Annotated[float | None, count_of_people()] = None
    score: Figure = None
    low: Figure = None
    high: Figure = None
    differs: Annotated[
        bool, neither("Whether the simultaneous interval excludes no difference.")
    ] = False
    n_inside: Annotated[
        int | None,
        count_of_people("Rows that count inside; of perturbed_groups, perturbed inputs."),
    ] = None
    n_outside: Annotated[
        int | None,
        count_of_people("Rows that count outside; of perturbed_groups, perturbed inputs."),
    ] = None


class Largest(Struct, frozen=True, forbid_unknown_fields=True):
    """The rule with the largest score of all, as measured."""

    rule: Words
    score: Annotated[float, neither()]


class RulesPart(PartResult, frozen=True, kw_only=True):
    """Groups, each compared with everything else."""

    favourable: Words = ""
    confidence: Figure = None
    correction: Words = ""
    min_support: Figure = None
    n_rules: Annotated[int, neither()] = 0
    low: Annotated[float | None, neither("The largest score of all is at least this.")] = None
    high: Annotated[
        float | None,
        neither("The largest score of all is at most this; null where not all of them were kept."),
    ] = None
    largest: Annotated[Largest | None, neither("Null where nothing was compared.")] = None
    rules: Annotated[list[ReportedRule], neither(max_length=20)] = []
    stop_reason: Words = ""


class RulesOfRowsPart(RulesPart, frozen=True, kw_only=True):
    """Groups of rows of the data, by SubgroupAuditor.

    Intervals are about people like them, and hold for all groups at once.
    """

    metric: Annotated[
        str, neither("What is compared, as SubgroupAuditor names it; empty where nothing was.")
    ] = ""
    n: Annotated[int, neither("Rows of the data that were compared: all, or a random sample.")] = 0
    n_rows: Annotated[int, neither("Rows of the data.")] = 0
    overall: Annotated[float | None, count_of_people("The metric of all rows that count.")] = None
    max_conditions: Annotated[int | None, neither("Most conditions of a rule.")] = None
    n_differ: Annotated[
        int,
        neither(
            "Rules that are kept and differ; the list has those that do not repeat each other."
        ),
    ] = 0


class GroupsPart(RulesOfRowsPart, frozen=True, kw_only=True, tag="groups"):
    """Groups of rows that sensitive attributes describe, by favourable or by mean predictions."""


class SensitiveGroups(Part):
    """Searches the rows for the groups that differ most from all other rows."""

    result = GroupsPart
    needs = (PredictionsPart,)
    option = "groups"

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One task."""

        def why() -> str:
            if context.options.groups is False:
                return "groups=False"
            return why_no_rates(context) or context.why_no_favourable

        yield Task(
            GroupsPart(),
            lambda deadline: compare_groups(context, deadline),
            order=(30,),
            share=0.5,
            why_not=why,
            refuses=(ValueError,),
        )

    def summary(self, result: GroupsPart) -> str:
        """The largest difference."""
        return rules_summary(result)


def rules_summary(result: RulesPart) -> str:
    """The largest difference of a list of rules."""
    if not result.rules:
        return "no rule"
    return f"largest difference {number(result.rules[0].score)} ({result.rules[0].rule})"


def metric_of(context: AuditContext) -> str:
    """What is compared: how often people get what they want; of a regressor, how much."""
    if context.task != "regression":
        return "selection_rate"
    least = None if context.favourable is None else context.favourable.labels
    return "selection_rate" if is_real(least) else "mean_prediction"


def compare_groups(context: AuditContext, deadline: Deadline) -> GroupsPart:
    """Look at every frequent group that sensitive attributes describe."""
    metric, predicted = metric_of(context), context.predicted
    favourable = context.favourable_labels
    if context.task == "regression" and metric == "selection_rate":
        predicted, favourable = (predicted >= favourable).astype(int), [1]
    auditor = SubgroupAuditor(
        metric=metric, favourable=None if metric == "mean_prediction" else favourable
    )
    values = context.sensitive_values(context.rows)
    result = compare_rules(context, GroupsPart(), auditor, (values, None, predicted), deadline)
    if metric == "selection_rate" and context.favourable is not None:
        result = replace(result, favourable=labels_text(context))
    if not result.rules:
        least = f"{auditor.min_support:.0%} of the rows"
        words = f"no group that a sensitive attribute describes has {least} inside and outside"
        result = replace(result, status="left out", reason=words)
    return result


def labels_text(context: AuditContext) -> str:
    """What a favourable prediction is: a label, some, or outputs of at least so much."""
    assert context.favourable is not None
    words = joined_labels(context.favourable.labels)
    return f"at least {words}" if context.task == "regression" else words


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
        max_time=deadline.seconds,
        n_jobs=context.n_jobs,
        random_state=context.seed,
    )
    auditor.fit(X, truth, y_pred=predicted, sensitive_features=not_in_model)
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
        max_conditions=auditor.n_conditions_,
        n_differ=int(all_rules["differs"].sum()),
        early=auditor.stop_reason_ if auditor.stop_kind_ == "max_time" else "",
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
