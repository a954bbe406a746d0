"""Rates of favourable predictions by group, as a part of the audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from skfairtest.finding._words import listed
from skfairtest.group._rules.sensitive_groups import FEWEST_ROWS, TIMES
from skfairtest.report._context import AuditContext
from skfairtest.report._figures import (
    KnownFigure,
    at_least,
    checked,
    first_of,
    in_its_interval,
    real,
    unchecked,
)
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts._part import Part, Sentence, Step, Task
from skfairtest.report.parts.moved.results import first_maps
from skfairtest.report.parts.predictions import PredictionsPart, why_no_rates
from skfairtest.report.parts.selection.page import (
    groups_at_once,
    rates_blocks,
    rates_tables,
    selection_display,
)
from skfairtest.report.parts.selection.results import GroupRates, SelectionPart, select
from skfairtest.report.parts.selection.within import (
    check_within,
    like_with_like,
    smallest_known,
    strata_tables,
    within_blocks,
)
from skfairtest.report.parts.selection.words import (
    group_of_few_rows,
    most_stays,
    named,
    rates,
    rates_to_tell,
    ratio_is_low,
    rest_on,
    smallest_of,
    smallest_ratio,
    what_groups_get,
)
from skfairtest.report.parts.twins.results import not_in_model
from skfairtest.report.render.blocks import Section, count
from skfairtest.report.render.words import group_named, isolate


def check_ratio(report: Report, limit: float, estimates_decide: bool) -> LimitCheck:
    """Check that no group's rate is below so much of the highest one."""
    name, part = "min_impact_ratio", report.first(SelectionPart)
    unknown = KnownFigure("smallest impact ratio")
    if not part.has_ratios:
        reason = part.reason or "the predictions have no rates of favourable labels"
        return unchecked(name, limit, unknown, reason, failed=part.status == "failed")
    small = [group for group in part.groups if group.ratio.value is None]
    ratios = part.with_ratio
    if estimates_decide:
        if part.without_people:
            reason = "which groups are small was left out of this report (rows='none')"
            return unchecked(name, limit, unknown, reason)
        # Rates of small groups are mostly chance. Their intervals tell that, estimates do not.
        small += [group for group in ratios if group.note]
        ratios = [group for group in ratios if not group.note]
    if not ratios:
        reason = "no attribute has two groups that can be compared"
        return unchecked(name, limit, unknown, reason)
    known = smallest_ratio(part, ratios, _name)
    status = at_least(known, limit, estimates_decide)
    side = "below" if known.value < limit else "not below"
    words = in_its_interval(known, limit, status, side)
    widest = min(ratios, key=lambda group: real(group.ratio.low))
    worst, highest, _ = smallest_of(part, ratios)
    told = [worst, highest]
    if status == "undecided" and widest != worst:
        words += f", because little is known of {_name(widest)}"
        told += [widest] if widest != highest else []
    if small:
        where = "" if part.without_people else ", as noted in the selection table"
        names = first_of([group.group for group in small])
        words += f"; not checked{where}: {len(small)} group{'s' * (len(small) > 1)} ({names})"
    alone = not_compared(part.groups, ratios)
    words = "; ".join([words, *alone])
    status = "undecided" if alone and status == "within" else status
    left_out = [": ".join(filter(None, (named(group), group.note))) for group in small]
    few = [one for one in told if one.n is not None and one.n < FEWEST_ROWS]
    few_people = "; ".join(f"{group.group} has {group.n} rows" for group in few)
    return checked(name, limit, status, known, words, [*left_out, *alone], few_people)


def _name(group: GroupRates, *, alone: bool = False) -> str:
    """A group without the number of its people, which files may leave out."""
    return group_named(group.group, group.attribute, alone=alone)


def not_compared(every: Sequence[GroupRates], comparable: Sequence[GroupRates]) -> list[str]:
    """Say of which attributes fewer than two groups can be compared: nobody knows what they hide.

    Intersections may have small groups alone, and are no attributes.
    """
    names = {group.attribute for group in every}
    counts = Counter(group.attribute for group in comparable)
    few = sorted(name for name in names if counts[name] < 2)
    return [
        f"{name}: fewer than two groups that can be compared"
        for name in few
        if TIMES not in name or not names.issuperset(name.split(TIMES))
    ]


class Selection(Part):
    """Counts favourable predictions by group."""

    result = SelectionPart
    place = 60
    needs = (PredictionsPart,)
    limits = {"min_impact_ratio": check_ratio, "min_impact_ratio within strata": check_within}
    displays = {"selection": selection_display}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One task."""
        blank = SelectionPart()
        yield Task(
            blank,
            partial(select, context, blank),
            order=(20,),
            share=0.5,
            at_least=0.3,
            why_not=lambda: why_no_rates(context) or context.why_no_favourable,
        )

    def summary(self, result: SelectionPart) -> str:
        """How many groups there are."""
        return f"{len(result.groups)} groups"

    def figures(self, report: Report) -> Mapping[str, KnownFigure]:
        """The smallest impact ratio."""
        part = report.first(SelectionPart)
        ratios = part.with_ratio
        figures = {"smallest impact ratio": smallest_ratio(part, ratios)} if ratios else {}
        if part.smallest_within is not None:
            figures["smallest impact ratio within strata"] = smallest_known(part)
        return figures

    def sentences(self, report: Report) -> Iterable[Sentence]:
        """What groups get, where twins show nothing of it, and all rates."""
        part, names = report.first(SelectionPart), rates_to_tell(report)
        if names:
            yield Sentence("headline", what_groups_get(part, names))
            if part.groups:  # the ratio follows, with its interval for all groups
                yield Sentence("found", what_groups_get(part, names, with_ratio=False))
        yield Sentence("rates", rates(report))
        if words := like_with_like(report):
            yield Sentence("rates", words)
        if part.groups:
            yield Sentence("sure", rest_on(part))

    def answers(self, report: Report) -> Mapping[str, Sequence[Any]]:
        """The groups of each attribute at once."""
        blocks = groups_at_once(report)
        return {"whom": blocks} if blocks else {}

    def steps(self, report: Report) -> Iterable[Step]:
        """Look for proxies of what twins do not show, for other models, and for more rows."""
        names = rates_to_tell(report)
        if names and (names == not_in_model(report) or _groups_differ(report)):
            them = listed(list(map(isolate, names)), "or")
            yield Step(
                30,
                f"Look for columns that stand in for {them} (proxies): changing {them} alone "
                "cannot show these.",
                "Sensitive columns outside the model",
                "how_to/sensitive_columns",
            )
        if ratio_is_low(report) and most_stays(report):
            yield Step(
                35,
                "Search for a model that is as good and treats groups more alike: "
                "AlternativesSearchCV.",
                "A less discriminatory alternative",
                "tutorials/less_discriminatory_alternative",
            )
        few = group_of_few_rows(report)
        if few is not None:
            name = group_named(few.group, few.attribute)
            words = f"Collect more rows of {name}: its figures rest on {count(few.n)}."
            yield Step(40, words, "Groups", "how_to/groups")

    def sections(self, report: Report) -> Iterable[Section]:
        """The rates with a picture, and tables of them."""
        for part in report.all_of(SelectionPart):
            yield Section(30, "groups", "Groups", tuple(rates_blocks(part)))
            tables = (*rates_tables(part), *within_blocks(part), *strata_tables(report))
            yield Section(150, "tables", "Groups in figures", tables)


def _groups_differ(report: Report) -> bool:
    """Whether rates, or decisions of moved twins, differ by more than chance."""
    high = report.first(SelectionPart).high
    flips = [flow for part in first_maps(report) for flow in part.flips]
    return (high is not None and high < 1) or any((flow.beyond_low or 0) > 0 for flow in flips)
