"""A report as sections in their order: those of its parts, and those on the report as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from skfairtest.finding._words import ABSENT, number, value_text
from skfairtest.report._types import PartResult, Report, ReportedAttribute, ReportedModel
from skfairtest.report.parts import PARTS
from skfairtest.report.render.blocks import (
    CodeBlock,
    ItemsBlock,
    Page,
    Section,
    TableBlock,
    TermsBlock,
    TextBlock,
    count,
    seconds,
    table_of,
)
from skfairtest.report.render.first_page import finding
from skfairtest.report.render.words import isolate

NOT_SHOWN = [
    "A search finds differences but cannot rule out larger ones. Only where the page says "
    "'largest possible' is a bound proven.",
    "Made-up inputs need not look like real people. Only counts of people are about people.",
    "Twins differ in the sensitive attributes alone. Other columns may be proxies for these, as "
    "a postcode may be for a group; no pair of twins shows that.",
    "Moved twins show what changes with all that goes along with a group. They are no "
    "counterfactuals: nobody knows what would have become of a person, and another map gives other "
    "twins.",
    "Sensitive attributes that the model does not take cannot change its predictions. That "
    "twins in these attributes get equal predictions says nothing about differences between "
    "groups.",
    "How many inputs a search found depends on where it looks. It says nothing about the share "
    "of people who are affected.",
    "Whether a difference is unfair or unlawful must be judged by people who know what the "
    "prediction is used for.",
]


def model(report: Report) -> Section:
    """What was audited, and on which inputs."""
    about, data = report.model, report.data
    of = f"{about.class_}, ending in {about.final}"
    terms = [
        ("Model", about.class_ if about.class_ == about.final else of),
        ("Task", about.task),
        ("Method called", _ASKED.get(about.response, about.response)),
        ("Classes", _classes(about)),
        ("Sensitive", ", ".join(map(isolate, report.sensitive_features))),
        ("Counted as different", _counted(report)),
        ("Rows", count(data.n_rows)),
        ("Columns", count(data.n_columns)),
        ("Target", "given" if data.target_given else "not given"),
    ]
    blocks: list[Any] = [
        TermsBlock(tuple((name, words) for name, words in terms if words)),
        TextBlock("The model as Python writes it:", True),
        CodeBlock(about.repr, "model"),
        _domain_table(report.domain.attributes),
    ]
    conditions = report.domain.conditions
    if conditions:
        blocks.append(TextBlock("Inputs of the search keep to these conditions:", True))
        more = [f"and {len(conditions) - 20:,} more"] if len(conditions) > 20 else []
        blocks.append(ItemsBlock((*map(isolate, conditions[:20]), *more)))
    return Section(160, "model", "Model, data and domain", tuple(blocks))


def _counted(report: Report) -> str:
    """What of a twin is counted as different."""
    if report.threshold is not None:
        return f"outputs that differ by more than {number(report.threshold)}"
    is_regression = report.model.task == "regression"
    return "another prediction" if is_regression else "another predicted label"


_ASKED = {"labels": "predict", "regression": "predict"}


def _classes(about: ReportedModel) -> str:
    if about.n_classes is None:
        return ""
    rest = about.n_classes - len(about.classes)
    names = ", ".join(map(isolate, about.classes))
    return f"{about.n_classes}: {names}" + (f" and {rest} more" if rest > 0 else "")


def _domain_table(attributes: list[ReportedAttribute]) -> TableBlock:
    # Sensitive ones first, as a long table folds the rest.
    attributes = sorted(attributes, key=lambda attribute: not attribute.sensitive)
    columns: dict[str, Callable[[ReportedAttribute], str]] = {
        "attribute": lambda one: str(one.name),
        "role": lambda one: "sensitive" if one.sensitive else "",
        "kind": lambda one: one.kind,
        "domain": lambda one: str(one.domain),
        "step": lambda one: ABSENT if one.step is None else value_text(one.step),
        "columns": lambda one: count(one.columns),
    }
    # Columns in which all rows are the same tell nothing.
    for name, usual in (("step", ABSENT), ("columns", "1")):
        if all(columns[name](one) == usual for one in attributes):
            del columns[name]
    caption = "The domain: inputs that the search may generate"
    return table_of(caption, attributes, columns, shown=15, most=1_000, words=[1, 2, 3])


# Cost, and limits ------------------------------------------------------------------------------


def cost(report: Report) -> Section:
    """What it took, and the code that repeats it."""
    spent = report.cost
    most = "" if spent.max_time is None else f", of {seconds(spent.max_time)} at most"
    terms = [
        ("Made", report.created),
        ("Predictions", f"{count(spent.queries)} inputs given to the model"),
        ("Time", f"{seconds(spent.seconds)}{most}"),
        ("Seed", str(report.seed)),
        ("Versions", ", ".join(" ".join(one) for one in report.versions.items())),
    ]
    columns: dict[str, Callable[[PartResult], str]] = {
        "part": lambda part: part.name,
        "status": lambda part: "; ".join(
            [": ".join(filter(None, [part.status, part.reason])), *part.notes]
        ),
        "predictions": lambda part: count(part.queries),
        "time": lambda part: seconds(part.seconds),
    }
    caption = "Parts in the order they ran"
    parts = table_of(caption, report.parts, columns, shown=12, most=1_000, words=[1])
    blocks: list[Any] = [TermsBlock(tuple(terms)), parts]
    settings = tuple((str(name), str(value)) for name, value in report.settings.items())
    if settings:
        blocks.append(TermsBlock(settings))
    if report.code:
        blocks += [TextBlock("This repeats the audit:"), CodeBlock(report.code, "Python")]
    words = "report.to_json(path) writes all figures of this report as data."
    blocks.append(TextBlock(words, True))
    return Section(170, "cost", "Cost, versions and code", tuple(blocks))


def sections_of(report: Report) -> list[Section]:
    """All sections of a report: first page first, appendix last."""
    not_shown = ItemsBlock(tuple(report.not_shown))
    limits = Section(60, "limits", "What this does not show", (not_shown,))
    whole = [finding(report), limits, model(report), cost(report)]
    found: dict[str, Section] = {}
    for section in (*whole, *(one for part in PARTS for one in part.sections(report))):
        known = found.get(section.key)
        blocks = section.blocks if known is None else known.blocks + section.blocks
        found[section.key] = replace(known or section, blocks=blocks)
    return sorted(found.values(), key=lambda section: section.place)


def page_of(report: Report) -> Page:
    """A report as a page."""
    version = report.versions.get("skfairtest", "")
    return Page(title_of(report), report.created, version, tuple(sections_of(report)))


def title_of(report: Report) -> str:
    """What the report is about; no judgement."""
    return f"Audit of {report.model.final or report.model.class_ or 'a model'}"
