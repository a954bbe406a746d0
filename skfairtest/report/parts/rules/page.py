"""Pictures and tables of groups that rules describe."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
from msgspec.structs import asdict

from skfairtest.inspection import GroupScoresDisplay
from skfairtest.report.parts.rules.results import ReportedRule, RulesOfRowsPart, RulesPart
from skfairtest.report.parts.rules.words import rule_score
from skfairtest.report.render.blocks import (
    FigureBlock,
    Section,
    TableBlock,
    TextBlock,
    count,
    of_metric,
    table,
)
from skfairtest.report.render.words import isolate, metric_named


def display_rows(part: RulesOfRowsPart, rules: Sequence[ReportedRule] = ()) -> GroupScoresDisplay:
    """The display of groups of rows; of these rules, or of all."""
    measure = metric_named(part.metric)
    if measure == "selection rate" and part.favourable:
        measure = f"share predicted {part.favourable}"
    return display_rules(part, rules or part.rules, measure)


def display_rules(
    part: RulesPart, rules: Sequence[ReportedRule], measure: str, counted: str = "rows"
) -> GroupScoresDisplay:
    """The display of rules."""
    if rules[0].value_inside is None:
        raise ValueError(
            "The figures within groups, which the display draws, were left out of this report "
            "(rows='none'). Read one that was written with rows='counts' or 'worst'."
        )
    drawn = pd.DataFrame(map(asdict, rules))
    drawn.attrs["n_groups"] = part.n_rules
    return GroupScoresDisplay(drawn, part.confidence, part.correction, measure, counted)


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


def tables_section(blocks: Sequence[Any]) -> Section:
    """The section of tables of groups, of which several parts have some."""
    return Section(150, "tables", "Groups in figures", tuple(blocks))


def rules_table(
    caption: str, rules: Sequence[ReportedRule], metric: str, counted: str
) -> list[TableBlock | TextBlock]:
    """The rules with their differences, and the figures within groups and outside."""
    if not rules:
        return []
    scores = [
        rule_score(rule, metric) + ("" if rule.differs else " – may be none") for rule in rules
    ]
    names = [rule.rule for rule in rules]
    if rules[0].value_inside is None:
        head, cells = ["group", "difference"], list(zip(names, scores, strict=True))
        left = f"Figures and numbers of {counted} were left out of this file: rows='none'."
        return [table(caption, head, cells, shown=10), TextBlock(left, quiet=True)]
    words = of_metric(metric)
    rows = [
        [
            name,
            score,
            f"{words(rule.value_inside)} of {count(rule.n_inside)}",
            f"{words(rule.value_outside)} of {count(rule.n_outside)}",
        ]
        for name, score, rule in zip(names, scores, rules, strict=True)
    ]
    head = ["group", "difference", f"inside, of {counted}", f"outside, of {counted}"]
    return [table(caption, head, rows, shown=10)]
