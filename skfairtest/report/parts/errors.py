"""For which groups the model errs most, on the rows of the data whose truth is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from skfairtest import inspection
from skfairtest._clock import Deadline
from skfairtest.group import SubgroupAuditor
from skfairtest.report._context import AuditContext
from skfairtest.report._types import Report, listed_reasons
from skfairtest.report.parts._part import Task
from skfairtest.report.parts.groups import GroupsPart
from skfairtest.report.parts.predictions import why_no_rates
from skfairtest.report.parts.rules.compare import compare_rules
from skfairtest.report.parts.rules.page import (
    RulesOfRows,
    display_rows,
    how_compared,
    picture_of_rows,
    tables_of_rows,
    tables_section,
    what_differs,
)
from skfairtest.report.parts.rules.results import RulesOfRowsPart
from skfairtest.report.render.blocks import Section, TextBlock, why_not
from skfairtest.report.render.words import metric_named
from skfairtest.space._sensitive_features import rows_not_in_model


class ErrorsPart(RulesOfRowsPart, frozen=True, kw_only=True, tag="errors"):
    """For which groups the model errs most, by one metric."""


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


def errors_display(report: Report) -> inspection.GroupScoresDisplay:
    """The groups of the first metric whose groups were compared, drawn."""
    parts = report.all_of(ErrorsPart)
    for part in parts:
        if part.rules:
            return display_rows(part)
    raise ValueError(f"The report has no errors by group to show: {listed_reasons(parts)}")


def error_blocks(report: Report, parts: Sequence[ErrorsPart]) -> Iterable[Any]:
    """What is said of each metric, and its picture."""
    if not parts:
        yield TextBlock("It is not known what an error of this model is.")
    # What holds for all metrics alike stands there once.
    is_one = len({(part.status, part.reason) for part in parts}) == 1
    if is_one:
        yield from why_not(parts[0], "Errors by group")
    groups = report.first(GroupsPart)
    told = how_compared(groups) if groups.rules else ""
    for part in parts:
        name = metric_named(part.of).capitalize()
        if not is_one:
            yield from why_not(part, name)
        if part.rules:
            how = how_compared(part)
            yield TextBlock(what_differs(part) if how == told else f"{what_differs(part)} {how}")
            told = how
            yield from picture_of_rows(part)
        elif part.status == "done":
            yield TextBlock(f"{name}: no rule holds for enough rows.")


class Errors(RulesOfRows):
    """Searches the rows whose truth is known for the groups for which the model errs most."""

    result = ErrorsPart
    place = 80
    displays = {"errors": errors_display}

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
                order=(71, k),
                share=4.0,
                why_not=why,
                refuses=(ValueError,),
            )

    def sections(self, report: Report) -> Iterable[Section]:
        """The groups for which false positives, misses or errors differ most."""
        parts = report.all_of(ErrorsPart)
        yield Section(40, "errors", "Where the model errs", tuple(error_blocks(report, parts)))
        yield tables_section(tables_of_rows(parts))
