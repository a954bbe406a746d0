"""The first page: what was asked and found, for whom, how sure that is, and what to do next.

It puts together what the parts say. The page, the card of notebooks and the text of terminals say
the same, from here.
"""

from __future__ import annotations

import os
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from skfairtest._delegation import SITE_VARIABLE
from skfairtest.report._types import Report
from skfairtest.report.parts import PARTS
from skfairtest.report.parts._part import Step
from skfairtest.report.render.blocks import (
    AnswersBlock,
    LeadBlock,
    LinkBlock,
    NoticeBlock,
    Section,
    TextBlock,
    VerdictBlock,
    count,
    seconds,
)
from skfairtest.report.render.words import isolate, isolated, quoted

#: Where the pages of the documentation are read, where no site is named.
PAGES = "https://github.com/skfairtest/skfairtest/blob/main/docs"
VERDICTS = {"within": "pass", "exceeded": "fail", "undecided": "undecided", "failed": "not checked"}
#: What the answers are called, in their order.
NAMES = {
    "asked": "Asked", "found": "Found", "limits": "Limits", "performance": "Model",
    "whom": "For whom", "rates": "Rates", "moved": "Moved", "largest": "How large",
    "sure": "How sure", "next": "What next",
}  # fmt: skip


class FirstPage(NamedTuple):
    """The answers by the keys of `NAMES`, a sentence an entry, and what to do next."""

    answers: dict[str, list[str]]
    limits: list[VerdictBlock]
    steps: list[Step]

    def lines(self) -> list[tuple[str, str]]:
        """The answers under their names, without breaks of lines."""
        limits = [f"{one.status.capitalize()}: {one.words}" for one in self.limits]
        found = {**self.answers, "limits": limits or self.answers["limits"]}
        found["next"] = [f"({k}) {step.words}" for k, step in enumerate(self.steps, 1)]
        lines = [(NAMES[key], " ".join(" ".join(found.get(key, [])).split())) for key in NAMES]
        return [(name, words) for name, words in lines if words]


def headline(report: Report) -> str:
    """What is read first, and what a report calls its sentence."""
    return " ".join(_said(report)["headline"])


def first_page(report: Report) -> FirstPage:
    """Say in a few sentences what a report holds."""
    said = _said(report)
    said["asked"].append(_favourable(report))
    cost = report.cost
    spent = f"{count(cost.queries)} predictions in {seconds(cost.seconds)}, seed {report.seed}"
    words = "; ".join(filter(None, [*(one.rstrip(".") for one in said["sure"]), spent]))
    said["sure"] = [f"{words[:1].upper()}{words[1:]}.", whole_or_not(report)]
    said["limits"] = ["No limits were given."]
    checks = [] if report.limits is None else report.limits.checks
    limits = [VerdictBlock(VERDICTS[one.status], f"{isolate(one.sentence)}.") for one in checks]
    return FirstPage(said, limits, next_steps(report))


def finding(report: Report) -> Section:
    """What is read alone: the question, the answers, how sure they are, and what comes next."""
    page = first_page(report)
    said = {key: " ".join(filter(None, words)) for key, words in page.answers.items()}
    blocks: list[Any] = [TextBlock(said["asked"]), LeadBlock(said["found"])]
    if report.status in ("interrupted", "failed"):  # of lack of time "How sure" tells
        blocks.append(NoticeBlock(f"This audit is not complete. {whole_or_not(report)}"))
    shown: dict[str, Any] = {}
    for part in PARTS:
        shown |= part.answers(report)
    shown["limits"] = page.limits or [TextBlock(said["limits"])]
    shown["next"] = [LinkBlock(step.words, step.title, address(step)) for step in page.steps]
    whole = {"performance", "rates", "moved", "largest", "sure"}  # a paragraph each
    answers = []
    for key, name in NAMES.items():
        if key not in shown:
            texts = [said.get(key, "")] if key in whole else page.answers.get(key, [])
            shown[key] = [TextBlock(words) for words in texts if words]
        if shown[key] and key not in ("asked", "found"):
            answers.append((name, tuple(shown[key])))
    blocks.append(AnswersBlock(tuple(answers)))
    return Section(0, "finding", "The finding", tuple(blocks))


def _said(report: Report) -> dict[str, list[str]]:
    said = defaultdict[str, list[str]](list)
    for part in PARTS:
        for place, words in part.sentences(report):
            said[place].append(words)
    return said


def _favourable(report: Report) -> str:
    taken = report.favourable
    if not taken.words:
        return ""
    if report.model.task == "regression":
        what = taken.words.replace(" taken as", " is taken as")
        return f"{what[:1].upper()}{what[1:]}."
    return f"The favourable answer is {quoted(taken.labels)}{_HOW.get(taken.how, '')}."


_HOW = {"inferred": ", by its name", "guessed": ", which is a guess; favourable= can say another"}


def whole_or_not(report: Report) -> str:
    """What is missing, if the audit is not complete."""
    if report.status == "complete":
        return "Nothing was cut short."
    reason = isolated(" ".join(report.reason.split()), report.sensitive_features)
    if report.status == "interrupted":
        return "The audit was interrupted: what was found until then is here."
    if report.status == "ended early":
        parts = reason.split("; ")
        more = f", and {len(parts) - 2} more parts" if len(parts) > 3 else ""
        kept = "; ".join(parts[:2] if more else parts)
        return f"Cut short for lack of time: {kept}{more}."
    return f"Incomplete, because a part failed: {reason[:300]}".rstrip(".") + "."


# What next -----------------------------------------------------------------------------------


def next_steps(report: Report) -> list[Step]:
    """The two or three steps that the figures suggest, the most telling ones first."""
    steps = [*_own_steps(report), *(step for part in PARTS for step in part.steps(report))]
    steps.sort(key=lambda step: step.order)
    if len(steps) < 2:
        gate = Step(90, "Let CI repeat this audit for each new model.", "A gate", "how_to/gate")
        steps.append(gate)
    if len(steps) < 2:
        words = "Read what no audit shows."
        steps.append(Step(91, words, "What a finding does not show", "explanation/limits"))
    return steps[:3]


def _own_steps(report: Report) -> Iterable[Step]:
    if report.favourable.how == "guessed":
        words = (
            "Say which answer people want, favourable=: it was guessed, and all rates rest on it."
        )
        yield Step(10, words, "Groups", "how_to/groups")
    if report.status == "failed":
        words = "See which part failed and why, in the appendix, and run the audit again."
        yield Step(50, words, "Make a report", "how_to/make_a_report")
    elif report.status != "complete":
        words = "Give the audit more time, max_time=, or a smaller budget, to run all of it."
        yield Step(50, words, "Make a report", "how_to/make_a_report")
    if report.limits is None:
        words = "Say which differences are too large, and let CI check it: report.with_limits."
        yield Step(80, words, "A gate for models", "how_to/gate")


def address(step: Step) -> str:
    """Where the page of a step is read."""
    site = os.environ.get(SITE_VARIABLE, "")
    return f"{site.rstrip('/')}/{step.page}.html" if site else f"{PAGES}/{step.page}.md"


def render_text(report: Report, more: str = "report.save_html(path)") -> str:
    """The first page in twelve paragraphs at most; `more` is where the reader finds the rest."""
    return "\n".join(paragraphs([*first_page(report).lines(), ("More", more)]))


def render_so_far(report: Report, width: int) -> list[str]:
    """Of an audit that runs, the paragraphs of the first page that tell what has ended."""
    last = {NAMES[key] for key in ("limits", "sure", "next")}  # these are of all parts
    answers = [one for one in first_page(report).lines() if one[0] not in last]
    return paragraphs(answers, min(width, WIDTH))


#: Characters of a line: what a terminal shows, and a page without scrolling.
WIDTH = 88


def paragraphs(answers: Sequence[tuple[str, str]], width: int = WIDTH) -> list[str]:
    """Answers below each other, each under its name."""
    hang = 2 + max(map(len, NAMES.values()))
    return [
        textwrap.fill(
            f"{name:<{hang}}{words}",
            max(width, 2 * hang),
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, words in answers
    ]
