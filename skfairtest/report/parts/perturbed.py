"""Groups of perturbed inputs, by TestSGD: a question of its own, answered where it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace
from sklearn.base import clone

from skfairtest import inspection
from skfairtest._clock import Deadline
from skfairtest.group._rules.attribute import MAX_LEVELS
from skfairtest.oracle._favourable import joined_labels
from skfairtest.report._context import AuditContext
from skfairtest.report._types import Report, listed_reasons
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.rules.compare import what_was_compared
from skfairtest.report.parts.rules.page import (
    display_rules,
    picture,
    rules_summary,
    rules_table,
    tables_section,
    what_intervals,
)
from skfairtest.report.parts.rules.results import ReportedRule, RulesPart
from skfairtest.report.render.blocks import Section, TextBlock, count, why_not
from skfairtest.report.render.words import isolate
from skfairtest.space._sensitive_features import not_taken

#: What the auditor is called among those of the report.
NAME = "groups of perturbed inputs"


class PerturbedGroupsPart(RulesPart, frozen=True, kw_only=True, tag="perturbed_groups"):
    """Rules over perturbed inputs near the rows, by TestSGD.

    Their n_inside and n_outside count perturbed inputs, not rows.
    """

    @property
    def metric(self) -> str:
        """What is compared."""
        return "mean_prediction" if self.favourable == "mean" else "selection_rate"


def compare_perturbed(context: AuditContext, deadline: Deadline) -> PerturbedGroupsPart:
    """Run the group auditor for as long as the time allows.

    Attributes of too many categories are left out, unless none is left then.
    """
    columns = [context.space.domain.columns[j] for j in context.space.sensitive.tolist()]
    names = context.space.sensitive_features
    few = [
        name
        for name, column in zip(names, columns, strict=True)
        if not column.is_category or column.n_listed <= MAX_LEVELS
    ]
    auditor = clone(context.options.groups).set_params(
        estimator=context.estimator,
        sensitive_features=few or names,
        space=context.template.space,
        favourable=context.favourable_labels,
        n_jobs=context.n_jobs,
        random_state=context.seed,
    )
    own = auditor.max_time
    auditor.set_params(max_time=deadline.sooner(own))
    context.auditors[NAME] = auditor
    auditor.fit(context.X)
    result = describe_perturbed(context)
    if auditor.stop_kind_ == "max_time" and auditor.max_time != own:
        result = replace(result, early=auditor.stop_reason_)
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


def perturbed_display(report: Report) -> inspection.GroupScoresDisplay:
    """The groups of perturbed inputs, drawn."""
    parts = report.all_of(PerturbedGroupsPart)
    if not any(part.rules for part in parts):
        why = listed_reasons(parts) or "give audit(groups=TestSGDAuditor())"
        raise ValueError(f"The report has no groups of perturbed inputs to show: {why}")
    return _display(parts[0], parts[0].rules)


def _display(
    part: PerturbedGroupsPart, rules: Sequence[ReportedRule]
) -> inspection.GroupScoresDisplay:
    is_mean = part.metric == "mean_prediction"
    words = "mean prediction" if is_mean else f"share predicted {part.favourable}"
    return display_rules(part, rules, words, "perturbed inputs")


def perturbed_blocks(part: PerturbedGroupsPart) -> Iterable[Any]:
    """What was compared, and a picture of it."""
    yield from why_not(part, "Groups of perturbed inputs")
    if not part.rules:
        return
    is_mean = part.metric == "mean_prediction"
    what = "mean prediction" if is_mean else f"share of {isolate(part.favourable)}"
    yield TextBlock(
        "This compares predictions near the rows, not for the rows themselves: as in TestSGD, each "
        "input is a row with one attribute moved, and need not resemble real people. Each of "
        f"{count(part.n_rules)} rules is compared with all other inputs by its {what}. "
        f"{what_intervals(part)} They hold for such inputs and say nothing about numbers of people."
    )
    rules = part.rules[:10]
    caption = f"Difference of the {what} of perturbed inputs, within the group and outside"
    yield from picture(rules, part.metric, caption, partial(_display, part, rules))


class PerturbedGroups(Part):
    """Runs the TestSGDAuditor that was given: a question of its own, answered where it is asked."""

    result = PerturbedGroupsPart
    place = 90
    needs = (PredictionsPart,)
    option = "groups"
    displays = {"perturbed_groups": perturbed_display}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One task, where a group auditor was given."""
        if isinstance(context.options.groups, (bool, str)):
            return
        outside = "" if context.taken else not_taken(context.twins[-1].names)
        yield Task(
            PerturbedGroupsPart(),
            partial(compare_perturbed, context),
            order=(72,),
            share=2.0,
            why_not=partial(str, outside),
            rescue=partial(describe_perturbed, context),
            refuses=(ValueError,),
        )

    summary = staticmethod(rules_summary)

    def sections(self, report: Report) -> Iterable[Section]:
        """What was compared, with a picture of it and a table."""
        for part in report.all_of(PerturbedGroupsPart):
            title = "Groups of perturbed inputs (TestSGD)"
            yield Section(50, "perturbed", title, tuple(perturbed_blocks(part)))
            caption = "Groups of perturbed inputs"
            yield tables_section(rules_table(caption, part.rules, part.metric, "inputs"))
