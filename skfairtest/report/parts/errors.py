"""For which groups the model errs most, on the rows of the data whose truth is known."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from skfairtest._clock import Deadline
from skfairtest.group import SubgroupAuditor
from skfairtest.report._context import AuditContext
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.groups import RulesOfRowsPart, compare_rules, rules_summary
from skfairtest.report.parts.predictions import PredictionsPart, why_no_rates
from skfairtest.space._sensitive_features import rows_not_in_model


class ErrorsPart(RulesOfRowsPart, frozen=True, kw_only=True, tag="errors"):
    """For which groups the model errs most, by one metric."""


class Errors(Part):
    """Searches the rows whose truth is known for the groups for which the model errs most."""

    result = ErrorsPart
    needs = (PredictionsPart,)

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for each metric."""

        def why() -> str:
            if context.y is None:
                return "errors need y, what is true of the rows"
            return why_no_rates(context)

        for k, metric in enumerate(metrics_of(context.task, not context.why_no_favourable)):
            yield Task(
                ErrorsPart(of=metric, metric=metric),
                partial(compare_errors, context, metric),
                order=(61, k),
                share=0.5,
                why_not=why,
                refuses=(ValueError,),
            )

    def summary(self, result: ErrorsPart) -> str:
        """The largest difference."""
        return rules_summary(result)


def metrics_of(task: str, has_favourable: bool) -> tuple[str, ...]:
    """What is compared, by what the model does."""
    if task == "regression":
        return "mean_error", "mean_absolute_error"
    if task != "classification":
        return ()
    # Where nothing says which of many classes people want, an error is any other label.
    return ("false_positive_rate", "false_negative_rate") if has_favourable else ("accuracy",)


def compare_errors(context: AuditContext, metric: str, deadline: Deadline) -> ErrorsPart:
    """Look at every frequent rule over all columns."""
    X, truth = context.rows_of(context.rows)
    not_in_model = rows_not_in_model(context.not_in_model, context.rows)
    favourable = context.favourable_labels
    if context.task == "regression" or metric == "accuracy":
        favourable = None
    space = context.space
    places = space.layout.places_of(space.sensitive)
    auditor = SubgroupAuditor(
        metric=metric,
        # Columns of the table: a one-hot group has the name of none of them.
        sensitive_features=[space.layout.container.names[place] for place in places] or None,
        favourable=favourable,
    )
    blank, rows = ErrorsPart(of=metric), (X, truth, context.predicted)
    return compare_rules(context, blank, auditor, rows, deadline, not_in_model)
