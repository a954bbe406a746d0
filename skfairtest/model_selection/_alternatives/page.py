"""The page of a search for alternatives, and the same as text and as a card."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from skfairtest.finding._card import findings_card, numbers_table
from skfairtest.finding._words import ABSENT, percent
from skfairtest.inspection import ParetoDisplay
from skfairtest.model_selection._alternatives.result import (
    Alternative,
    Figures,
    FoundAlternatives,
    GroupChange,
    Interval,
    named,
    with_bounds,
)
from skfairtest.model_selection._alternatives.words import (
    answers_of,
    change_of,
    ended,
    not_shown,
    rate_name,
    steps_of,
    title_of,
    told,
)
from skfairtest.report.render.blocks import (
    AnswersBlock,
    FigureBlock,
    ItemsBlock,
    LeadBlock,
    LinkBlock,
    NoticeBlock,
    Page,
    Section,
    TableBlock,
    TermsBlock,
    TextBlock,
    count,
    figure,
    level,
    seconds,
    table_of,
)
from skfairtest.report.render.first_page import address, paragraphs
from skfairtest.report.render.words import group_named, isolate, quoted


def text_of(found: FoundAlternatives, more: str = "save_html(path)") -> str:
    """The answers for a terminal; `more` is where the reader finds the rest."""
    return "\n".join(paragraphs([*answers_of(found).items(), ("More", more)]))


def card_of(found: FoundAlternatives) -> str:
    """The answers as a card for a notebook; needs neither jinja2 nor matplotlib."""
    answers = answers_of(found)
    head = ["", found.settings.score]
    head += [named(name, False) for name in found.settings.disparity]
    rows = [
        [one.name, with_bounds(one.judged.score_change),
         *(with_bounds(one.judged.gain.get(name, Interval())) for name in found.settings.disparity)]
        for one in found.judged
    ]  # fmt: skip
    words = range(1, len(head))
    caption = "Changes for the better against the original, of those judged"
    return findings_card(
        title_of(found),
        answers.pop("Verdict"),
        table=numbers_table(head, rows, caption, words=words, marked=found.best) if rows else "",
        facts=[(name, words) for name, words in answers.items() if name != "Asked"],
        note=not_shown(found)[0] + " " + not_shown(found)[1],
    )


def without_values(found: FoundAlternatives) -> FoundAlternatives:
    """The same without what errors say, which may quote a value of a row."""
    return replace(found, alternatives=[
        replace(one, note=_without_quotes(one.note)) for one in found.alternatives
    ])  # fmt: skip


def _without_quotes(note: str) -> str:
    if "undefined: " in note:  # our own words
        return note
    error = re.match(r"(\w*(?:Error|Exception|Warning)):", note)
    return f"{error[1]}, whose words are left out here" if error else note


def page_of(found: FoundAlternatives) -> Page:
    """All of it as a page."""
    found = without_values(found)
    settings = found.settings
    sections = [_finding(found), _front(found), _who(found), _limits(found),
                _candidates(found), _how(found)]  # fmt: skip
    version = settings.versions.get("skfairtest", "")
    return Page(title_of(found), settings.created, version, tuple(filter(None, sections)))


def _finding(found: FoundAlternatives) -> Section:
    answers = answers_of(found)
    blocks: list[Any] = [LeadBlock(answers.pop("Verdict"))]
    if ended(found):
        words = "This search is not complete. What was found until it was ended is here."
        blocks.append(NoticeBlock(words))
    rows = [(name, (TextBlock(words),)) for name, words in answers.items()]
    links = tuple(LinkBlock(one.words, one.title, address(one)) for one in steps_of(found))
    blocks.append(AnswersBlock((*rows, ("What next", links))))
    return Section(0, "finding", "The finding", tuple(blocks))


# The front -------------------------------------------------------------------------------------


def _front(found: FoundAlternatives) -> Section | None:
    settings = found.settings
    compared = [one for one in found.alternatives if one.status in ("screened", "judged")]
    if not compared:
        return None
    score, first = named(settings.score, False), named(settings.disparity[0], False)
    blocks: list[Any] = [
        FigureBlock(
            lambda: ParetoDisplay.from_alternatives(found),
            "Changes against the original. Grey: compared by the search, where the best owe part "
            "of their lead to luck. In colour: judged on rows that played no part, at the end of a "
            "dotted line from where the search saw them. In the shaded part lie alternatives.",
            f"Gains in {first} and changes of {score} of {len(compared) - 1} candidates against "
            "the original; the figures are in the tables.",
            height=5.2,
        )
    ]
    if found.judged:
        caption = (
            f"Judged on {count(settings.n_judge)} rows that played no part, means of "
            f"{settings.n_trainings} trainings; changes with intervals at "
            f"{level(settings.confidence)}"
        )
        judged = [found.alternatives[0], *found.judged]
        blocks.append(_figures_table(found, caption, judged, lambda one: one.judged))
    front = [one for one in compared[1:] if one.on_front]
    caption = (
        f"The front as the search saw it, on {count(settings.n_search)} rows out of fold; no other "
        "candidate beats these in both"
    )
    kept = [compared[0], *front]
    blocks.append(_figures_table(found, caption, kept, lambda one: one.screened, shown=12))
    return Section(20, "front", "The front", tuple(blocks))


def _figures_table(
    found: FoundAlternatives,
    caption: str,
    rows: list[Alternative],
    figures_of: Callable[[Alternative], Figures],
    more: dict[str, Callable[[Alternative], str]] | None = None,
    shown: int = 25,
) -> TableBlock:
    """Scores and disparities of candidates, with their changes."""
    settings = found.settings
    columns: dict[str, Callable[[Alternative], str]] = {
        "candidate": lambda one: one.name, **(more or {}),
        named(settings.score, False): lambda one: figure(figures_of(one).score, 4),
        "change": lambda one: _change(one, figures_of(one).score_change),
    }  # fmt: skip
    for name in settings.disparity:
        words = named(name, False)

        def value(one: Alternative, name: str = name) -> str:
            return figure(figures_of(one).disparity.get(name), 4)

        def gain(one: Alternative, name: str = name) -> str:
            return _change(one, figures_of(one).gain.get(name, Interval()))

        columns |= {words: value, f"gain in {words}": gain}
    places = range(1, 1 + len(more or {}))
    return table_of(caption, rows, columns, shown=shown, words=list(places))


def _change(one: Alternative, interval: Interval) -> str:
    return ABSENT if one.kind == "original" or interval.value is None else with_bounds(interval)


# Who gains and who loses -----------------------------------------------------------------------


def _who(found: FoundAlternatives) -> Section | None:
    first = told(found)
    shown = [one for one in found.judged if one.groups]
    if first is None or not shown:
        return None
    shown.sort(key=lambda one: one.name != first.name)
    blocks: list[Any] = [
        TextBlock(
            f"The {rate_name(found)} of each group with the original, and how far each judged "
            "candidate changes it. The intervals hold for all groups of a candidate at once."
        )
    ]
    blocks += [_groups_table(found, one) for one in shown]
    return Section(40, "who", "Who gains and who loses", tuple(blocks))


def _groups_table(found: FoundAlternatives, one: Alternative) -> TableBlock:
    is_mean = rate_name(found) == "mean prediction"
    columns: dict[str, Callable[[GroupChange], str]] = {
        "group": lambda group: group_named(group.group, group.attribute, group.n, alone=True),
        "attribute": lambda group: group.attribute,
        "rows": lambda group: count(group.n),
        "original": lambda group: (figure if is_mean else percent)(group.original),
        "change": lambda group: change_of(found, group),
    }
    caption = f"{rate_name(found)} with {quoted(one.name)}"
    return table_of(caption[:1].upper() + caption[1:], one.groups, columns, shown=12, words=[1])


# What it does not show, and how it was done ----------------------------------------------------


def _limits(found: FoundAlternatives) -> Section:
    items = ItemsBlock(tuple(not_shown(found)))
    return Section(60, "limits", "What this does not show", (items,))


def _candidates(found: FoundAlternatives) -> Section:
    """All candidates by what is known of them best."""
    more: dict[str, Callable[[Alternative], str]] = {
        "kind": lambda one: one.kind,
        "status": lambda one: ": ".join(filter(None, [one.status, one.note])),
    }
    caption = "All candidates in the order in which they were tried, by what is known of them best"
    table = _figures_table(found, caption, found.alternatives, lambda one: one.figures, more)
    text = TextBlock(
        "Candidates that were judged have figures of the rows that judge, others of those that "
        "search: these are not on the same rows.", True,
    )  # fmt: skip
    return Section(110, "candidates", "All candidates", (text, table))


def _how(found: FoundAlternatives) -> Section:
    settings = found.settings
    terms = [
        ("Model", settings.model),
        ("Task", settings.task),
        ("Sensitive", ", ".join(map(isolate, settings.sensitive_features))),
        ("Groups", ", ".join(map(isolate, settings.groups))),
        ("Too small", ", ".join(map(isolate, settings.left_out))),
        ("Favourable", isolate(settings.favourable)),
        ("Score", f"{settings.score}, which may fall by {settings.margin:g}"),
        ("Disparity", ", ".join(settings.disparity)),
        ("Rows", f"{count(settings.n_rows)}: {count(settings.n_search)} search, "
                 f"{count(settings.n_judge)} judge ({settings.held_out:g} held out)"),
        ("Folds", count(settings.n_folds)),
        ("Trainings", f"{settings.n_trainings} of each judged candidate"),
        ("Sampler", settings.sampler),
        ("Confidence", level(settings.confidence)),
        ("Ended", settings.stop_reason),
        ("Made", settings.created),
        ("Time", seconds(settings.seconds)),
        ("Versions", ", ".join(" ".join(one) for one in settings.versions.items())),
    ]  # fmt: skip
    blocks: list[Any] = [TermsBlock(tuple((name, words) for name, words in terms if words))]
    if settings.asked:
        blocks += [
            TextBlock("AlternativesSearchCV was given:", True),
            TermsBlock(tuple(settings.asked.items())),
        ]
    blocks.append(TextBlock("to_json(path) writes all figures of this page as data.", True))
    return Section(160, "search", "How was searched", tuple(blocks))
