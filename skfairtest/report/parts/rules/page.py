"""What is said and shown of groups that rules describe, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import pandas as pd
from msgspec.structs import asdict

from skfairtest import inspection
from skfairtest.finding._words import number
from skfairtest.inspection._style import is_share
from skfairtest.report._figures import KnownFigure, real
from skfairtest.report._types import Report
from skfairtest.report.parts._part import Part
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.rules.results import ReportedRule, RulesOfRowsPart, RulesPart
from skfairtest.report.render.blocks import (
    FigureBlock,
    Section,
    TableBlock,
    TextBlock,
    count,
    figure,
    fixed,
    level,
    of_metric,
    table_of,
    with_interval,
)
from skfairtest.report.render.words import in_sample, isolate, metric_named, quoted


def rules_summary(result: RulesPart) -> str:
    """The largest difference of a list of rules."""
    if not result.rules:
        return "no rule"
    return f"largest difference {number(result.rules[0].score)} ({result.rules[0].rule})"


def largest_score(part: RulesOfRowsPart) -> KnownFigure:
    """The largest score of all groups of rows, whichever group has it in truth.

    With intervals that hold for all groups at once, the largest true score is at least the largest
    of the lower bounds and at most the largest of the upper ones.
    """
    assert part.largest is not None, "something was compared"
    n = part.n_rules
    words = (
        f"difference in {metric_named(part.metric)} between all others and the rows where "
        f"{part.largest.rule}, the largest of {n:,} group{'s' * (n != 1)} of rows"
    )
    interval = f"{level(part.confidence)} interval for all groups at once"
    return KnownFigure(words, part.largest.score, real(part.low), real(part.high), interval)


#: What each metric says of all people, in words.
METRICS = {
    "selection_rate": "{label} is predicted for {value} of all people (selection rate)",
    "mean_prediction": "the mean prediction is {value}",
    "false_positive_rate": "{label} is predicted for {value} of the people whose truth is another "
    "(false positive rate)",
    "false_negative_rate": "{label} is not predicted for {value} of the people whose truth it is "
    "(false negative rate)",
    "accuracy": "the prediction is right for {value} of all people (accuracy)",
    "mean_error": "prediction minus truth is {value} on average (mean error)",
    "mean_absolute_error": "predictions are off by {value} on average (mean absolute error)",
}


def what_differs(part: RulesOfRowsPart) -> str:
    """What was compared on rows, of how many, and how many groups differ."""
    n = f"{count(part.n_rules)} groups"
    differ = f"None of {n} shows a difference."
    if part.n_differ:
        where = "stand in a table below" if part.overall is None else "are drawn"
        differ = (
            f"{count(part.n_differ)} of {n} differ; the largest that do not repeat others {where}."
        )
    if part.overall is None:  # shares of people are left out of this file
        return f"{metric_named(part.metric).capitalize()}: {differ[:1].lower()}{differ[1:]}"
    # A mean that is 0 but for the rounding of its sum is 0.
    value = of_metric(part.metric)(0.0 if abs(part.overall) < 1e-12 else part.overall)
    label = quoted(part.favourable) if part.favourable else "the favourable answer"
    sentence = METRICS.get(part.metric, "{name}: {value}")
    sentence = sentence.format(value=value, label=label, name=part.metric)
    sample = in_sample(part.n, part.n_rows)
    return f"{sentence[:1].upper()}{sentence[1:]}{sample}. {differ}"


def how_compared(part: RulesOfRowsPart) -> str:
    """Which groups were compared, and what the intervals are about; for all metrics alike."""
    conditions = part.max_conditions
    return (
        f"Groups of {level(part.min_support)} of the rows or more, by up to "
        f"{count(conditions)} condition{'s' * (conditions != 1)}, are compared with all other "
        f"rows. {what_intervals(part)} They are about the population that the rows are a sample of."
    )


def what_intervals(part: RulesPart) -> str:
    """For what the intervals hold."""
    at = level(part.confidence)
    if part.correction == "none":
        return (
            f"Each interval holds by itself at {at}; of many intervals, some miss the true value "
            "by chance."
        )
    name = part.correction
    by = "by resampling" if name == "resampling" else name.capitalize()
    return f"The intervals hold for all of them at once at {at} ({by})."


def rule_score(rule: ReportedRule, metric: str) -> str:
    """The difference of a rule with its interval: of shares with two decimals."""
    words: Callable[[Any], str] = fixed if is_share(metric) else figure
    if rule.differs and not rule.low:
        # A step-down test may show that such a difference is above 0, and not by how much.
        return f"{words(rule.score)} (above 0, at most {words(rule.high)})"
    return with_interval(rule.score, rule.low, rule.high, words)


def display_rows(
    part: RulesOfRowsPart, rules: Sequence[ReportedRule] = ()
) -> inspection.GroupScoresDisplay:
    """The display of groups of rows; of these rules, or of all."""
    measure = metric_named(part.metric)
    if measure == "selection rate" and part.favourable:
        measure = f"share predicted {part.favourable}"
    return display_rules(part, rules or part.rules, measure)


def display_rules(
    part: RulesPart, rules: Sequence[ReportedRule], measure: str, counted: str = "rows"
) -> inspection.GroupScoresDisplay:
    """The display of rules."""
    if rules[0].value_inside is None:
        raise ValueError(
            "The figures within groups, which the display draws, were left out of this report "
            "(rows='none'). Read one that was written with rows='counts' or 'worst'."
        )
    drawn = pd.DataFrame(map(asdict, rules))
    drawn.attrs["n_groups"] = part.n_rules
    return inspection.GroupScoresDisplay(drawn, part.confidence, part.correction, measure, counted)


def picture_of_rows(part: RulesOfRowsPart) -> list[FigureBlock]:
    """The picture of groups of rows, where one is shown to differ."""
    # Where nothing is shown to differ, a picture of chance would only be read as a finding.
    rules = [rule for rule in part.rules if rule.differs][:5]
    caption = f"Difference in {metric_named(part.metric)}, within the group and outside of it"
    return picture(rules, part.metric, caption, partial(display_rows, part, rules))


def picture(
    rules: Sequence[ReportedRule], metric: str, caption: str, display: Any
) -> list[FigureBlock]:
    """The picture of rules; none where the figures within groups are left out."""
    if not rules or rules[0].value_inside is None:
        return []
    alt = "; ".join(f"{isolate(rule.rule)}: {rule_score(rule, metric)}" for rule in rules)
    return [FigureBlock(display, caption, alt, height=1.7 + 0.36 * len(rules))]


def tables_of_rows(parts: Sequence[RulesOfRowsPart]) -> list[TableBlock | TextBlock]:
    """The groups of rows that differ most, as tables, by metric."""
    return [
        block
        for part in parts
        for block in rules_table(
            f"Where {metric_named(part.metric)} differs most", part.rules, part.metric, "people"
        )
    ]


class RulesOfRows(Part):
    """What parts have in common that compare groups of rows."""

    result: ClassVar[type[RulesOfRowsPart]]
    needs = (PredictionsPart,)
    summary = staticmethod(rules_summary)

    def figures(self, report: Report) -> dict[str, KnownFigure]:
        """The largest score of each metric."""
        return {
            f"largest difference in {metric_named(part.metric)}": largest_score(part)
            for part in report.all_of(self.result)
            if part.largest is not None
        }


def tables_section(blocks: Sequence[Any]) -> Section:
    """The section of tables of groups, of which several parts have some."""
    return Section(150, "tables", "Groups in figures", tuple(blocks))


def rules_table(
    caption: str, rules: Sequence[ReportedRule], metric: str, counted: str
) -> list[TableBlock | TextBlock]:
    """The rules with their differences, and the figures within groups and outside."""
    if not rules:
        return []
    words = of_metric(metric)
    columns: dict[str, Callable[[ReportedRule], str]] = {
        "group": lambda rule: rule.rule,
        "difference": lambda rule: (
            rule_score(rule, metric) + ("" if rule.differs else " – may be none")
        ),
        f"inside, of {counted}": lambda rule: (
            f"{words(rule.value_inside)} of {count(rule.n_inside)}"
        ),
        f"outside, of {counted}": lambda rule: (
            f"{words(rule.value_outside)} of {count(rule.n_outside)}"
        ),
    }
    if rules[0].value_inside is not None:
        return [table_of(caption, rules, columns, shown=10)]
    kept = dict(list(columns.items())[:2])
    left = f"Figures and numbers of {counted} were left out of this file: rows='none'."
    return [table_of(caption, rules, kept, shown=10), TextBlock(left, quiet=True)]
