"""Groups that the model favours more or less than everybody else, on the rows of the data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from msgspec.structs import replace

from skfairtest import inspection
from skfairtest._clock import Deadline
from skfairtest._typing import is_real
from skfairtest.group import SubgroupAuditor
from skfairtest.group._rules.sensitive_groups import UNKNOWN
from skfairtest.oracle._favourable import joined_labels
from skfairtest.report._context import AuditContext
from skfairtest.report._figures import (
    KnownFigure,
    at_most,
    checked,
    first_of,
    in_its_interval,
    unchecked,
)
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts._part import Task
from skfairtest.report.parts.predictions import why_no_rates
from skfairtest.report.parts.rules.compare import compare_rules
from skfairtest.report.parts.rules.page import (
    RulesOfRows,
    display_rows,
    how_compared,
    largest_score,
    picture_of_rows,
    tables_of_rows,
    tables_section,
    what_differs,
)
from skfairtest.report.parts.rules.results import RulesOfRowsPart
from skfairtest.report.parts.selection import not_compared
from skfairtest.report.parts.selection.results import SelectionPart
from skfairtest.report.render.blocks import Section, TextBlock, level, why_not


class GroupsPart(RulesOfRowsPart, frozen=True, kw_only=True, tag="groups"):
    """Groups of rows that sensitive attributes describe, by favourable or by mean predictions."""


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


def groups_display(report: Report) -> inspection.GroupScoresDisplay:
    """The groups that differ most, drawn."""
    part = report.first(GroupsPart)
    if not part.rules:
        raise ValueError(f"The report has no groups to show: {part.reason}")
    return display_rows(part)


def check_groups(report: Report, limit: float, estimates_decide: bool) -> LimitCheck:
    """Check that no group differs by more than the limit."""
    name, part, selection = "max_group_score", report.first(GroupsPart), report.first(SelectionPart)
    if part.largest is None:
        known, failed = KnownFigure("largest group score"), part.status == "failed"
        return unchecked(name, limit, known, part.reason, failed=failed)
    known = largest_score(part)
    status = at_most(known, limit, estimates_decide)
    # Intervals tell how little few rows say, estimates do not.
    compared = [
        group
        for group in selection.groups
        if group.group != UNKNOWN and not (estimates_decide and group.note)
    ]
    alone = not_compared(selection.groups, compared)
    if estimates_decide and selection.without_people:
        alone.append("which groups are small was left out of this report (rows='none')")
    small = f"groups under {part.min_support:.0%} of the rows were not compared"
    # The search does not list what it leaves out; of known groups the selection table does.
    left_out = small_groups(report)
    few_rows = f"of few rows: {first_of(left_out)}" if left_out else ""
    side = "above" if known.value > limit else "within"
    words = "; ".join([in_its_interval(known, limit, status, side), small, *alone])
    status = "undecided" if alone and status == "within" else status
    return checked(name, limit, status, known, words, [small, *left_out, *alone], few_rows)


def which_are_small(report: Report) -> list[TextBlock]:
    """Which groups of the selection table are not among those that are compared."""
    small = small_groups(report)
    if not small:
        return []
    words = (
        f"Groups of less than {level(report.first(GroupsPart).min_support)} of the rows are not "
        f"among the groups that are compared with all other rows: {first_of(small)}."
    )
    return [TextBlock(words)]


def small_groups(report: Report) -> list[str]:
    """The groups of the selection table that have too few rows to be compared with all others."""
    least = report.first(GroupsPart).min_support or 0.0
    groups = report.first(SelectionPart).groups
    return [
        f"{group.attribute} = {group.group}"
        for group in groups
        if group.share is not None and group.share < least
    ]


class SensitiveGroups(RulesOfRows):
    """Searches the rows for the groups that differ most from all other rows."""

    result = GroupsPart
    place = 70
    option = "groups"
    limits = {"max_group_score": check_groups}
    displays = {"groups": groups_display}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One task."""

        def why() -> str:
            if context.options.groups is False:
                return "groups=False"
            return why_no_rates(context) or context.why_no_favourable

        run, refuses = partial(compare_groups, context), (ValueError,)
        yield Task(GroupsPart(), run, order=(70,), share=2.0, why_not=why, refuses=refuses)

    def sections(self, report: Report) -> Iterable[Section]:
        """The groups whose shares or means differ most from all others'."""
        for part in report.all_of(GroupsPart):
            blocks: list[Any] = list(why_not(part, "Differences between groups"))
            if part.rules:
                blocks.append(TextBlock(f"{what_differs(part)} {how_compared(part)}"))
            yield Section(30, "groups", "Groups", (*blocks, *picture_of_rows(part)))
            yield tables_section([*which_are_small(report), *tables_of_rows([part])])
