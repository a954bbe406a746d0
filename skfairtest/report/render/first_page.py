"""The first page: what was asked and found, for whom, how sure that is, and what to do next.

The page, the card of notebooks and the text of terminals say the same, from here.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from skfairtest._delegation import SITE_VARIABLE
from skfairtest.finding._words import listed, number, with_difference
from skfairtest.report import _known
from skfairtest.report._render.blocks import count, fixed, level, seconds
from skfairtest.report._render.words import (
    beyond_domain,
    compared_with,
    farthest,
    for_others,
    group_named,
    in_group,
    in_sample,
    is_beyond_chance,
    isolate,
    isolated,
    largest_possible,
    lowest_and_highest,
    moved_sentence,
    not_taken,
    of_people,
    people_change,
    quoted,
    rates_to_tell,
    twins_outside_model,
    what_groups_get,
)

#: Where the pages of the documentation are read, where no site is named.
PAGES = "https://github.com/skfairtest/skfairtest/blob/main/docs"
STATUS = {"within": "pass", "exceeded": "fail", "undecided": "undecided", "failed": "not checked"}


class Step(NamedTuple):
    """Something to do next, and the page that says how; `page` is its path in the documentation."""

    words: str
    title: str
    page: str

    @property
    def address(self) -> str:
        """Where the page is read."""
        site = os.environ.get(SITE_VARIABLE, "")
        return f"{site.rstrip('/')}/{self.page}.html" if site else f"{PAGES}/{self.page}.md"


class FirstPage(NamedTuple):
    """The answers in the order in which they are read; lists have one sentence an entry."""

    asked: str
    found: str
    limits: list[str]
    whom: list[str]
    rates: str
    moved: str
    largest: str
    sure: str
    next: list[Step]


def first_page(report: dict[str, Any]) -> FirstPage:
    """Say in a few sentences what a report holds."""
    return FirstPage(
        asked(report),
        found(report),
        limits(report),
        for_whom(report),
        rates(report),
        moved(report),
        largest(report),
        how_sure(report),
        next_steps(report),
    )


#: What the answers are called, in their order.
NAMES = {
    "asked": "Asked", "found": "Found", "limits": "Limits", "whom": "For whom", "rates": "Rates",
    "moved": "Moved", "largest": "How large", "sure": "How sure", "next": "What next",
}  # fmt: skip


def asked(report: dict[str, Any]) -> str:
    """The question, of which model, and what counts as favourable."""
    main, model = report["searches"][-1], report["model"]
    name = model["final"] or model["class"]
    people = f"the {count(report['data']['n_rows'])} people in the table"
    not_in_model = not_taken(report["searches"])
    if main["taken"]:
        names = [isolate(n) for n in main["sensitive"] if n not in not_in_model]
        asked_for = f"{people} and for made-up inputs" if main["rows"]["n"] else "made-up inputs"
        words = (
            f"Change only a person's {listed(names, 'or')}: does {name} change its answer? Asked "
            f"for {asked_for} within the ranges of the data."
        )
    else:
        them = listed(list(map(isolate, not_in_model)), "or")
        words = f"{name} is not given {them}. Do its answers differ by group, for {people}?"
    return f"{words} {favourable(report)}".rstrip()


def favourable(report: dict[str, Any]) -> str:
    """Which answers count as favourable, and how that came."""
    taken = report["favourable"]
    if not taken["words"]:
        return ""
    if report["model"]["task"] == "regression":
        what = taken["words"].replace(" taken as", " is taken as")
        return f"{what[:1].upper()}{what[1:]}."
    return f"The favourable answer is {quoted(taken['labels'])}{_HOW.get(taken['how'], '')}."


_HOW = {"inferred": ", by its name", "guessed": ", which is a guess; favourable= can say another"}


def found(report: dict[str, Any]) -> str:
    """The finding in a sentence."""
    main, names = report["searches"][-1], not_taken(report["searches"])
    sentences = [people_change(main, report)] if main["taken"] else []
    if names:
        them = listed(list(map(isolate, names)), "or")
        what = "it" if len(names) == 1 else "them"
        sentences.append(
            f"The model does not take {them}. Changing {what} alone changes no answer."
        )
    if (of := rates_to_tell(report)) and report["selection"]["rows"]:
        # The ratio follows, with its interval for all groups.
        sentences.append(what_groups_get(report["selection"], of, with_ratio=False))
    return " ".join(sentences)


def limits(report: dict[str, Any]) -> list[str]:
    """Pass, fail or undecided for each limit."""
    if report["limits"] is None:
        return ["No limits were given."]
    checks = report["limits"]["checks"]
    lines = [
        f"{STATUS[check['status']].capitalize()}: {isolate(check['words'])}." for check in checks
    ]
    return lines or ["No limits were given."]


def for_whom(report: dict[str, Any]) -> list[str]:
    """The groups with the largest shares of people who would get something else."""
    lines = []
    for search in of_one_attribute(report):
        rows, label = search["rows"], isolate(search["label"])
        groups = [group for group in rows["by_group"] if group["changed"]]
        groups.sort(key=lambda group: -group["changed"])
        shown = [
            f"of {count(group['n'])} people {in_group(group['group'], search['label'])}, "
            f"{_directions(group, rows['counts_above'])}"
            for group in groups[:3]  # the page has a table of more
        ]
        if shown:
            more = len(groups) - len(shown)
            rest = f"; and {more} more group{'s' * (more > 1)}" if more else ""
            # Of one attribute the finding has it.
            others = for_others(search) if len(report["searches"]) > 1 else ""
            others += in_sample(rows)
            lines.append(f"If only {label} were changed{others}: {'; '.join(shown)}{rest}.")
        elif rows["changed"] == 0 and rows["n"]:
            lines.append(people_change(search, report))
    missing = [s["label"] for s in report["searches"][:-1] if s["taken"] and not s["rows"]["n"]]
    if lines and missing:
        names = listed(list(map(isolate, missing)), "or")
        lines.append(f"People were not compared with twins in {names} alone.")
    return lines


def of_one_attribute(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the searches of one sensitive attribute each, as far as their rows were compared."""
    searches = report["searches"]
    alone = searches[:-1] if len(searches) > 1 else searches
    done = [s for s in alone if s["taken"] and s["rows"]["changed"] is not None]
    # All together stand in where none alone was compared.
    return done or [s for s in searches[-1:] if s["taken"] and s["rows"]["changed"] is not None]


def _directions(group: dict[str, Any], above: float | None) -> str:
    """What most people of a group would get, and the next most."""
    first, *more = group["directions"][:2]
    sentence = f"{count(first['n'])} would get {in_direction(first, above)}"
    for other in more:
        is_reverse = above is None and (other["from"], other["to"]) == (first["to"], first["from"])
        what = "the other way" if is_reverse else in_direction(other, above)
        sentence += f" and {count(other['n'])} {what}"
    return sentence


def in_direction(one: dict[str, Any], above: float | None) -> str:
    """What people would get: another label, or an output that is higher or lower."""
    if above is not None:
        more = {"higher": " more", "lower": " less"}.get(one["to"], " more or less")
        return f"over {number(above)}{more}"
    if not one["from"]:
        return "another decision"
    return f"{quoted(one['to'])} instead of {quoted(one['from'])}"


def rates(report: dict[str, Any]) -> str:
    """Rates of the groups, and the lowest impact ratio with its interval."""
    part = report["selection"]
    if not part["rows"]:
        return f"Not compared: {part['reason']}." if part["reason"] else "Not compared."
    attributes = list(dict.fromkeys(row[0] for row in part["rows"]))
    names = [name for name in report["sensitive_features"] if name in attributes] or attributes
    if "impact_ratio" not in part["columns"]:
        return what_groups_get(part, names)
    ratios = _known.impact_ratios(part)
    if not ratios:
        return what_groups_get(part, names)
    lowest = _known.smallest_ratio(part, ratios)
    of_names = [row for row in ratios if row["attribute"] in names]
    words = f"{lowest_and_highest(part, of_names)} " if of_names else ""
    ends = ""
    if lowest.low == lowest.low and lowest.high == lowest.high:
        ends = (
            f" ({fixed(lowest.low)} to {fixed(lowest.high)} at {level(part['confidence'])}, all "
            "groups at once)"
        )
    return (
        f"{words}Lowest impact ratio: {fixed(lowest.value)}{ends}, "
        f"{lowest.figure.removeprefix('impact ratio ')}."
    )


def moved(report: dict[str, Any]) -> str:
    """Decisions that change with all that goes along with an attribute; empty if nobody asked."""
    found = _known.first_maps(report["moved"])
    measured = {part["attribute"] for part in found}
    missing = {part["attribute"]: part for part in report["moved"][::-1]}
    sentences = list(map(moved_sentence, found)) + [
        f"not measured for {isolate(name)}: {isolate(part['reason'])}".rstrip(".")
        for name, part in reversed(missing.items())
        if name not in measured
    ]
    words = ". ".join(f"{one[:1].upper()}{one[1:]}" for one in sentences)
    return f"{words}.{' Moved twins are no counterfactuals.' * bool(found)}" if sentences else ""


def largest(report: dict[str, Any]) -> str:
    """The largest difference found, and the bound of all others."""
    main = report["searches"][-1]
    if not main["taken"]:
        return f"{twins_outside_model(not_taken(report['searches']))}"
    if main["degree"] is None:
        return f"Not measured: {main['reason'].rstrip('.')}."
    pair = main["pair"]
    outputs = with_difference(*pair["outputs"]) if pair and pair["outputs"] else None
    words = f"Largest difference found: {outputs[2] if outputs else number(main['degree'])}"
    if main["degree"]:
        who = "two made-up inputs"
        if main["pair_has_a_row"]:
            who = "a person of the table and their twin"
        elif main["pair_of_a_row"]:
            who = "two twins of a person of the table"
        words += f" ({who}{_against(pair, outputs)})"
    if beyond_domain(main):
        words += f"; of a person outside these ranges {number(main['rows']['degree'])}"
    return f"{words}. {largest_possible(main, outputs[2] if outputs else '')}"


def _against(pair: dict[str, Any] | None, outputs: tuple[str, str, str] | None) -> str:
    """Both outputs, or both labels where there are no outputs."""
    if pair is None:
        return ""
    if outputs is not None:
        return f", {isolate(pair['output'])}: {outputs[0]} against {outputs[1]}"
    if pair["labels"] is None:
        return ""
    return f": {' against '.join(map(quoted, pair['labels']))}"


def how_sure(report: dict[str, Any]) -> str:
    """What was compared, how long was searched, and what was cut short."""
    main = report["searches"][-1]
    clauses = []
    if main["taken"]:
        rows = main["rows"]
        if rows["n"]:
            who = f"All {count(rows['n'])} people"
            if rows["n"] < rows["n_rows"]:
                who = of_people(rows)
            were = "were" if rows["n"] > 1 else "was"
            clauses.append(", ".join(filter(None, [f"{who} {were} compared", compared_with(main)])))
    cost = report["cost"]
    clauses.append(
        f"{count(cost['queries'])} predictions in {seconds(cost['seconds'])}, seed {report['seed']}"
    )
    words = f"{'; '.join(clauses)}."
    if report["status"] == "complete":
        missing = [
            f"{isolate(part['attribute'])} ({isolate(part['transport'])} map)"
            for part in report["moved"]
            if part["status"] != "done" and part["applies"]
        ]
        but = f", but people were not moved by {listed(missing)}" if missing else ""
        return f"{words} Nothing was cut short{but}."
    return f"{words} {not_complete(report)}"


def not_complete(report: dict[str, Any]) -> str:
    """What is missing of an audit that is not complete."""
    reason = isolated(" ".join(str(report["reason"]).split()), report["sensitive_features"])
    if report["status"] == "interrupted":
        return "The audit was interrupted: what was found until then is here."
    if report["status"] == "ended early":
        parts = reason.split("; ")
        more = f", and {len(parts) - 2} more parts" if len(parts) > 3 else ""
        kept = "; ".join(parts[:2] if more else parts)
        return f"Cut short for lack of time: {kept}{more}."
    return f"Incomplete, because a part failed: {reason[:300]}".rstrip(".") + "."


# What next -----------------------------------------------------------------------------------


def next_steps(report: dict[str, Any]) -> list[Step]:
    """The two or three steps that the figures suggest, the most telling ones first."""
    steps = [
        step
        for step in (
            _say_favourable(report),
            _mitigate(report),
            _look_for_proxies(report),
            _more_rows(report),
            _more_time(report),
            _narrow(report),
            _no_bound(report),
            _set_limits(report),
        )
        if step is not None
    ]
    if len(steps) < 2:
        steps.append(Step("Let CI repeat this audit for each new model.", "A gate", "how_to/gate"))
    if len(steps) < 2:
        steps.append(
            Step("Read what no audit shows.", "What a finding does not show", "explanation/limits")
        )
    return steps[:3]


def _say_favourable(report: dict[str, Any]) -> Step | None:
    if report["favourable"]["how"] != "guessed":
        return None
    words = "Say which answer people want, favourable=: it was guessed, and all rates rest on it."
    return Step(words, "Groups", "how_to/groups")


def _mitigate(report: dict[str, Any]) -> Step | None:
    main = report["searches"][-1]
    changed = main["rows"]["changed"]
    if not main["taken"] or not (main["degree"] if changed is None else changed):
        return None  # what changes nobody's answer is not worth dropping
    alone = [s for s in report["searches"][:-1] if s["taken"] and s["degree"]]
    best = max(alone or [main], key=lambda s: (s["rows"]["changed"] or 0, s["degree"]))
    them = listed(list(map(isolate, best["sensitive"])))
    return Step(
        f"Look at what dropping {them}, or averaging it out, would cost: compare_mitigations.",
        "Mitigate",
        "how_to/mitigate",
    )


def _look_for_proxies(report: dict[str, Any]) -> Step | None:
    names = rates_to_tell(report)
    if not names or names != not_taken(report["searches"]) and not _groups_differ(report):
        return None
    them = listed(list(map(isolate, names)), "or")
    return Step(
        f"Look for columns that stand in for {them} (proxies): changing {them} alone cannot show "
        "these.",
        "Sensitive columns outside the model",
        "how_to/sensitive_columns",
    )


def _groups_differ(report: dict[str, Any]) -> bool:
    """Whether rates, or decisions of moved twins, differ by more than chance."""
    moved = _known.first_maps(report["moved"])
    high = report["selection"]["high"]
    return (high is not None and high < 1) or any(map(is_beyond_chance, moved))


def _more_rows(report: dict[str, Any]) -> Step | None:
    least = _group_of_few_rows(report)
    if least is None:
        return None
    name = group_named({**least, "n": None})
    return Step(
        f"Collect more rows of {name}: its figures rest on {count(least['n'])}.",
        "Groups",
        "how_to/groups",
    )


def _groups_alone(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the selection table for groups of one attribute."""
    rows = _known.selection_rows(report["selection"])
    return [row for row in rows if row["attribute"] in report["sensitive_features"]]


def _group_of_few_rows(report: dict[str, Any]) -> dict[str, Any] | None:
    """The group of which more rows are needed most; of a sample the table has more."""
    part, rows = report["selection"], _groups_alone(report)
    if part["n"] < part["n_rows"]:
        return None
    # Groups with fewer rows have wide intervals.
    few = [row for row in rows if row["n"] is not None and row["n"] < 100]
    return min(few, key=lambda row: row["n"], default=None)


def named_groups(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The groups of one attribute that the sentences of the page name, with their attributes."""
    rows = _groups_alone(report)
    named = [few] if (few := _group_of_few_rows(report)) else []
    for name in ("impact_ratio", "mean_prediction"):
        if known := [row for row in rows if row.get(name) is not None]:
            named += farthest(known, name)
    return [(row["attribute"], row["group"]) for row in named]


def _more_time(report: dict[str, Any]) -> Step | None:
    if report["status"] == "complete":
        return None
    if report["status"] == "failed":
        words = "See which part failed and why, in the appendix, and run the audit again."
    else:
        words = "Give the audit more time, max_time=, or a smaller budget, to run all of it."
    return Step(words, "Make a report", "how_to/make_a_report")


def _narrow(report: dict[str, Any]) -> Step | None:
    main = report["searches"][-1]
    people, degree = main["rows"]["degree"], main["degree"]
    # A worst case hardly larger than that of any person calls for no narrower domain.
    if not main["taken"] or not degree or people is None or degree <= 1.2 * people:
        return None
    return Step(
        "Narrow the domain to inputs that can exist: the worst case is far above that of any "
        "person in the table.",
        "Realistic inputs",
        "how_to/realistic_inputs",
    )


def _no_bound(report: dict[str, Any]) -> Step | None:
    main = report["searches"][-1]
    if not main["taken"] or main["degree"] is None:
        return None
    upper = main["certificate"]["upper"]
    if upper is not None and upper <= 1.1 * main["degree"]:
        return None  # a bound so near is not worth another look
    return Step(
        "Search longer, or audit a model that can be certified: larger differences are not "
        "ruled out.",
        "Certify a worst case",
        "how_to/certify",
    )


def _set_limits(report: dict[str, Any]) -> Step | None:
    if report["limits"] is not None:
        return None
    return Step(
        "Say which differences are too large, and let CI check it: report.with_limits.",
        "A gate for models",
        "how_to/gate",
    )
