"""The limit of the smallest impact ratio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skfairtest.group._rules.sensitive_groups import FEWEST_ROWS, TIMES
from skfairtest.report._figures import KnownFigure, real
from skfairtest.report._limit_checks import at_least, checked, first_of, in_its_interval, unchecked
from skfairtest.report._types import LimitCheck, Report
from skfairtest.report.parts.selection.results import GroupRates, SelectionPart
from skfairtest.report.parts.selection.words import named, smallest_of, smallest_ratio
from skfairtest.report.render.words import group_named


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
        few = first_of([group.group for group in small])
        words += f"; not checked{where}: {len(small)} group{'s' * (len(small) > 1)} ({few})"
    alone = not_compared(part.groups, ratios)
    words = "; ".join([words, *alone])
    status = "undecided" if alone and status == "within" else status
    left_out = [": ".join(filter(None, (named(group), group.note))) for group in small]
    few_people = "; ".join(
        f"{group.group} has {group.n} rows"
        for group in told
        if group.n is not None and group.n < FEWEST_ROWS
    )
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
    single = [
        name for name in names if TIMES not in name or not names.issuperset(name.split(TIMES))
    ]
    few = sorted(name for name in single if counts[name] < 2)
    return [f"{name}: fewer than two groups that can be compared" for name in few]
