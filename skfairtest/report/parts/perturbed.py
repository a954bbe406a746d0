"""Groups of perturbed inputs, by TestSGD: a question of its own, answered where it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace
from sklearn.base import clone

from skfairtest._clock import Deadline
from skfairtest.group._rules.attribute import MAX_LEVELS
from skfairtest.oracle._favourable import joined_labels
from skfairtest.report._context import AuditContext
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.groups import RulesPart, rules_summary, what_was_compared
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.space._sensitive_features import not_taken

#: What the auditor is called among those of the report.
NAME = "groups of perturbed inputs"


class PerturbedGroupsPart(RulesPart, frozen=True, kw_only=True, tag="perturbed groups"):
    """Rules over perturbed inputs near the rows, by TestSGD.

    Their n_inside and n_outside count perturbed inputs, not rows.
    """


class PerturbedGroups(Part):
    """Runs the TestSGDAuditor that was given: a question of its own, answered where it is asked."""

    result = PerturbedGroupsPart
    needs = (PredictionsPart,)
    option = "groups"

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One task, where a group auditor was given."""
        if isinstance(context.options.groups, (bool, str)):
            return
        outside = "" if context.taken else not_taken(context.twins[-1].names)
        yield Task(
            PerturbedGroupsPart(),
            partial(compare_perturbed, context),
            order=(60,),
            share=2.0,
            why_not=partial(str, outside),
            rescue=partial(describe_perturbed, context),
            refuses=(ValueError,),
        )

    def summary(self, result: PerturbedGroupsPart) -> str:
        """The largest difference."""
        return rules_summary(result)


def compare_perturbed(context: AuditContext, deadline: Deadline) -> PerturbedGroupsPart:
    """Run the group auditor with as many queries as the time allows.

    Attributes of too many categories are left out, unless none is left then.
    """
    columns = [context.space.domain.columns[j] for j in context.space.sensitive.tolist()]
    names = context.space.sensitive_features
    few = [
        name
        for name, column in zip(names, columns, strict=True)
        if not column.is_category or column.n_listed <= MAX_LEVELS
    ]
    template = clone(context.options.groups).set_params(favourable=context.favourable_labels)
    auditor = context.group_auditor(template, few or names)
    whole = auditor.max_queries
    auditor.set_params(max_queries=context.affordable(deadline.left, whole))
    context.auditors[NAME] = auditor
    auditor.fit(context.X)
    result = describe_perturbed(context)
    if auditor.stop_kind_ == "max_queries" and auditor.max_queries < whole:
        result = replace(result, early=f"{auditor.n_queries_:,} of {whole:,} queries")
    if few and len(few) < len(names):
        left_out = ", ".join(str(name) for name in names if name not in few)
        reason = f"without {left_out}, of more than {MAX_LEVELS} categories"
        result = replace(result, reason=reason)
    return result


def describe_perturbed(context: AuditContext) -> PerturbedGroupsPart:
    """What the group auditor found."""
    auditor = context.auditors[NAME]
    listed = auditor.short_list_
    # A report lists twenty rule sets.
    table = listed if len(listed) else auditor.rules_.iloc[:20]
    return PerturbedGroupsPart(
        **what_was_compared(auditor, table),
        favourable=joined_labels(auditor.favourable_),
        queries=auditor.n_queries_,
    )
