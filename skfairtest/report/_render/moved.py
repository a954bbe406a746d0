"""People compared with moved twins: what changes with all that goes along with an attribute."""

from __future__ import annotations

from typing import Any

from skfairtest.finding._words import ABSENT, percent
from skfairtest.report._render.blocks import (
    FigureBlock,
    ItemsBlock,
    NoticeBlock,
    Section,
    TableBlock,
    TextBlock,
    count,
    figure,
    fixed,
    table,
    with_interval,
)
from skfairtest.report._render.findings import why_not
from skfairtest.report._render.words import (
    ANY,
    isolate,
    largest_flow,
    reaches,
)

#: What a map assumes, by its name.
ASSUMES = {
    "quantile": "The quantile map gives each column the value that has the same rank in the other "
    "group, one column at a time. It assumes that ranks say what corresponds; how columns go "
    "together is kept only as far as ranks keep it.",
    "sequential": "The sequential map does so one column after the other, each given those before "
    "it. It assumes an order in which columns follow from each other.",
    "joint": "The joint map moves all columns at once, as little as possible in sum. It assumes "
    "that a short way in the scales of the columns says who corresponds to whom.",
}


def moved(report: dict[str, Any]) -> Section:
    """Twins and moved twins, how good the maps are, and what carries the change."""
    names = list(dict.fromkeys(part["attribute"] for part in report["moved"]))
    done = [part for part in report["moved"] if part["status"] == "done"]
    title = isolate(names[0]) if len(names) == 1 else "the sensitive attributes"
    blocks: list[Any] = []
    if done:
        blocks += [TextBlock(_what_it_is(names)), *_assumptions(done)]
    for name in names:
        blocks += _of_attribute(report, name)
    # The first page has what was found; the pages before the appendix are as many as before.
    heading = f"With what goes along with {title}"
    return Section("moved", heading, tuple(blocks), in_appendix=True)


def _what_it_is(names: list[str]) -> str:
    other = isolate(names[0]) if len(names) == 1 else "value of a sensitive attribute"
    return (
        f"A twin has another {other} and keeps all other columns. A moved twin has moved with what "
        "goes along with it: its columns are where people of the other group are who have the "
        "same place there. A moved twin is no counterfactual: it does not say what would have "
        "become of a person, because nobody knows which columns follow from which."
    )


def _assumptions(done: list[dict[str, Any]]) -> list[Any]:
    maps = dict.fromkeys(part["transport"] for part in done)
    texts = tuple(
        ASSUMES.get(
            name, f"{isolate(name)} is a map that was given; what it assumes it has to say itself."
        )
        for name in maps
    )
    return [ItemsBlock(texts)]


def _of_attribute(report: dict[str, Any], name: str) -> list[Any]:
    parts = [part for part in report["moved"] if part["attribute"] == name]
    done = [part for part in parts if part["status"] == "done"]
    blocks: list[Any] = []
    if done:
        first = done[0]
        blocks.append(_shares_table(report, name, done))
        blocks += [TextBlock(words) for words in _not_moved(first)]
        blocks += [NoticeBlock(words) for part in done for words in not_reached(part)]
        if first["flips"]:
            blocks.append(_figure(report, first, "moved"))
        if first["columns"]:
            blocks.append(_figure(report, first, "moved:columns"))
            blocks.append(_columns_table(first))
    if not done and len({part["reason"] for part in parts}) == 1:
        return [*blocks, *why_not(parts[0], f"Moved twins, {isolate(name)}")]
    for part in parts:
        blocks += why_not(part, f"Moved twins, {isolate(name)}, {isolate(part['transport'])} map")
    return blocks


def _not_moved(part: dict[str, Any]) -> list[str]:
    """Whom the shares are not about, and from which difference on a decision counts."""
    sentences = []
    if names := list(map(isolate, part["not_moved"])):
        few = "; ".join(names[:5])
        more = f"; and {len(names) - 5} more" if len(names) > 5 else ""
        sentences.append(f"Groups with few rows were not moved: {few}{more}.")
    if missing := part["without_value"]:
        sentences.append(
            f"{count(missing)} of {count(part['n_rows'])} people were not moved, as their value of "
            f"{isolate(part['attribute'])} is missing."
        )
    if part["counts_above"] is not None:
        sentences.append(
            "A decision counts as changed if the output differs by more than "
            f"{figure(part['counts_above'])}."
        )
    return sentences


# Shares ----------------------------------------------------------------------------------------


def _shares_table(report: dict[str, Any], name: str, done: list[dict[str, Any]]) -> TableBlock:
    """A row for the twins of today, then one for each map, group and direction."""
    rows = [[f"only {isolate(name)} (twins)", "all", *_today(report, name), ABSENT]]
    for part in done:
        rate = with_interval(part["rate"], part["low"], part["high"], percent)
        of_map = f"{isolate(part['transport'])} map"
        rows.append([of_map, "all", count(part["n"]), rate, ABSENT])
        rows += [
            [
                f"{of_map}, {isolate(flow['group'])} → {isolate(flow['to'])}",
                direction(flow),
                count(flow["n_rows"]),
                with_interval(flow["share"], flow["low"], flow["high"], percent),
                ABSENT if flow["null_share"] is None else percent(flow["null_share"]),
            ]
            for flow in part["flips"]
            if flow["direction"] != ANY
        ]
    caption = (
        f"People whose decision changes with {isolate(name)} alone, and with what goes along with "
        "it; 95% intervals"
    )
    caption += "; 'random groups' is the share under maps between random groups"
    head = ["moved", "change", "people", "share", "random groups"]
    return table(caption, head, rows, shown=20, most=300, words=[1])


def direction(flow: dict[str, Any]) -> str:
    """From what to what a decision changes."""
    return isolate(flow["direction"].replace(" -> ", " → "))


def _today(report: dict[str, Any], name: str) -> list[str]:
    """How many people were compared with twins in this attribute alone, and the share changed."""
    for search in report["searches"]:
        rows = search["rows"]
        if search["sensitive"] != [name]:
            continue
        if not search["taken"]:
            return [count(rows["n_rows"]), percent(0.0)]
        if rows["n"] and rows["changed"] is not None:
            return [count(rows["n"]), percent(rows["changed"] / rows["n"])]
    return [ABSENT, ABSENT]


def _figure(report: dict[str, Any], part: dict[str, Any], kind: str) -> FigureBlock:
    """Of one map of one attribute."""
    name = f"{isolate(part['attribute'])}, {isolate(part['transport'])} map"
    if kind == "moved":
        flips = [flow for flow in part["flips"] if flow["direction"] != ANY][:12]
        drawn = {**part, "flips": flips}
        alt = "; ".join(
            f"{isolate(flow['group'])} to {isolate(flow['to'])}, {direction(flow)}: "
            f"{percent(flow['share'])}"
            for flow in flips
        )
        return FigureBlock(
            kind,
            {**report, "moved": [drawn]},
            f"Share of each group whose decision changes ({name})",
            alt,
        )
    columns = shown_columns(part)
    drawn = {**part, "columns": columns}
    alt = "; ".join(f"{isolate(c['column'])}: {_way(c)}" for c in columns)
    caption = f"How far columns move for those whose decision changes ({name})"
    return FigureBlock(kind, {**report, "moved": [drawn]}, caption, alt)


def shown_columns(part: dict[str, Any]) -> list[dict[str, Any]]:
    """The columns of the two groups between which most decisions change, farthest first."""
    flow = largest_flow(part)
    if flow is None:
        return []
    columns: list[dict[str, Any]] = [
        column
        for column in part["columns"]
        if (column["group"], column["to"]) == (flow["group"], flow["to"])
    ]
    return columns[:8]


def _columns_table(part: dict[str, Any]) -> TableBlock:
    several = len({(c["group"], c["to"]) for c in part["columns"]}) > 1
    rows = [
        [
            (f"{isolate(c['group'])} → {isolate(c['to'])}: " if several else "")
            + isolate(c["column"]),
            ABSENT if c["share_of_flips"] is None else percent(c["share_of_flips"]),
            with_interval(c["change"], c["low"], c["high"], fixed),
            _way(c),
        ]
        for c in part["columns"]
    ]
    caption = f"Columns that carry the change ({isolate(part['transport'])} map)"
    head = ["column", "of changed decisions", "of the output", "where decisions change"]
    return table(caption, head, rows, shown=8, most=200)


def _way(column: dict[str, Any]) -> str:
    """How a column moves where decisions change: its mean, or how many get another value."""
    if column["before"] is not None and column["after"] is not None:
        return f"{figure(column['before'])} → {figure(column['after'])}"
    if column["moved"] is None:
        return ABSENT
    return f"{percent(column['moved'])} get another value"


# How good a map is -----------------------------------------------------------------------------


def not_reached(part: dict[str, Any]) -> list[str]:
    """A sentence for each two groups of which a map does not reach the other one, or may not."""
    name = isolate(part["transport"])
    unknown = [
        f"How near the {name} map brings people of {isolate(one['group'])} to those of "
        f"{isolate(one['to'])} could not be judged: there are too few of them."
        for one in part["maps"]
        if reaches(one) is None
    ]
    return unknown + [
        f"The {name} map does not reach the other group: a classifier still tells people of "
        f"{isolate(one['group'])} who were moved to {isolate(one['to'])} from those who are there "
        f"(AUC {fixed(one['auc_after'])} on rows held out; 0.5 would be not at all). The shares "
        "above are those of people who are not like any in that group."
        for one in part["maps"]
        if reaches(one) is False
    ]


def maps(report: dict[str, Any]) -> Section | None:
    """How near each map brings people to the other group, for the appendix."""
    rows = [
        [
            f"{isolate(part['attribute'])}, {isolate(part['transport'])}",
            f"{isolate(one['group'])} → {isolate(one['to'])}",
            fixed(one["auc_before"]),
            fixed(one["auc_after"]),
            figure(one["distance"]),
            ABSENT if one["out_of_range"] is None else percent(one["out_of_range"]),
        ]
        for part in report["moved"]
        if part["status"] == "done"
        for one in part["maps"]
    ]
    if not rows:
        return None
    words = (
        "A classifier tries to tell people of one group from those of the other, before they are "
        "moved and after, on rows held out. An AUC of 0.5 says that it cannot; after a good map it "
        "is near 0.5, or below it where rows of the other group are copied."
    )
    head = ["map", "moved", "AUC before", "AUC after", "distance", "out of range"]
    shown = table("How well the maps reach the other group", head, rows, words=[1], most=300)
    return Section("maps", "How good the maps are", (TextBlock(words), shown), in_appendix=True)
