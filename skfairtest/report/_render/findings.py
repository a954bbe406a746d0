"""The first half of a report: the first page, the people in the table, and the domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from skfairtest.finding._pair import Cell, Pair
from skfairtest.finding._words import ABSENT, listed, percent, value_text, with_difference
from skfairtest.report import _known
from skfairtest.report._render.blocks import (
    AnswersBlock,
    FigureBlock,
    LeadBlock,
    LinkBlock,
    NoticeBlock,
    Section,
    TableBlock,
    TextBlock,
    TwinsBlock,
    alike,
    count,
    figure,
    fixed,
    rate_of,
    seconds,
    table,
    with_interval,
)
from skfairtest.report._render.first_page import (
    NAMES,
    first_page,
    in_direction,
    named_groups,
    not_complete,
    of_one_attribute,
)
from skfairtest.report._render.words import (
    bound,
    compared_with,
    engine_sentence,
    for_others,
    group_named,
    isolate,
    isolated,
    quoted,
    share_text,
    treated,
    treated_differently,
)

#: Changed columns that have a column of their own in a table of pairs.
MOST_CHANGED = 4
#: People that are listed before the appendix, which has all that the report knows.
MOST_PEOPLE = 5
LOWER_BOUND = (
    "A search gives a lower bound: the difference that it found exists, and a larger one may "
    "exist that it did not find."
)


def main_search(report: dict[str, Any]) -> dict[str, Any]:
    """The search of all sensitive attributes together, which knows what the others have found."""
    search: dict[str, Any] = report["searches"][-1]
    return search


def why_not(part: dict[str, Any], what: str) -> list[NoticeBlock]:
    """A word on a part that is not there or not whole."""
    if part["status"] == "done":
        return []
    reason = f": {part['reason']}" if part["reason"] else ""
    return [NoticeBlock(f"{what} – {part['status']}{reason}")]


# The first page --------------------------------------------------------------------------------


def finding(report: dict[str, Any]) -> Section:
    """What is read alone: the question, the answers, how sure they are, and what comes next."""
    page = first_page(report)
    blocks: list[Any] = [TextBlock(page.asked), LeadBlock(page.found)]
    if report["status"] in ("interrupted", "failed"):  # of lack of time "How sure" tells
        blocks.append(NoticeBlock(f"This audit is not complete. {not_complete(report)}"))
    answers: list[tuple[str, tuple[Any, ...]]] = [
        (NAMES["limits"], tuple(map(TextBlock, page.limits))),
    ]
    of_groups = _groups_at_once(report)
    whom: list[Any] = [] if of_groups is not None else list(map(TextBlock, page.whom))
    if of_groups is not None:
        whom.append(of_groups)
    if whom:
        answers.append((NAMES["whom"], tuple(whom)))
    links = tuple(LinkBlock(step.words, step.title, step.address) for step in page.next)
    answers += [
        (NAMES["rates"], (TextBlock(page.rates),)),
        *([(NAMES["moved"], (TextBlock(page.moved),))] if page.moved else []),
        (NAMES["largest"], (TextBlock(page.largest),)),
        (NAMES["sure"], (TextBlock(page.sure),)),
        (NAMES["next"], links),
    ]
    blocks.append(AnswersBlock(tuple(answers)))
    return Section("finding", "The finding", tuple(blocks))


def _groups_at_once(report: dict[str, Any]) -> TableBlock | None:
    """The groups of each attribute: their people, their rates, and who would get something else."""
    part = report["selection"]
    rates = {
        (row["attribute"], row["group"]): row
        for row in _known.selection_rows(part)
        if row["attribute"] in report["sensitive_features"]
    }
    counted = {
        (search["label"], group["group"]): (search, group)
        for search in of_one_attribute(report)
        for group in search["rows"]["by_group"]
    }
    keys = list(dict.fromkeys([*rates, *counted]))
    if not keys:
        return None
    named = named_groups(report)
    kept = _most_concerned(keys, rates, counted, report["sensitive_features"], named)
    columns = _directions(counted)
    several = len({attribute for attribute, _ in keys}) > 1
    rate = rate_of(part["columns"]) if rates else ""
    has_ratio = "impact_ratio" in part["columns"]
    lines = []
    for key in kept:
        attribute, name = key
        row = rates.get(key)
        n = row["n"] if row else counted[key][1]["n"]
        whose = group_named({"group": name, "attribute": attribute}) if several else str(name)
        cells = [whose, count(n)]
        if rate:
            cells.append(_in_interval(row, rate) if row else ABSENT)
        if has_ratio:
            cells.append(ABSENT if row is None else fixed(row["impact_ratio"]))
        if counted:
            cells += _would_get(counted.get(key), columns, n)
        lines.append(cells)
    head = _heads_of_groups(part, rate, columns if counted else None)
    caption = "Each group, with 95% intervals"
    if counted:
        which = "only this attribute" if several else "only that"
        caption += f"; who would get something else if {which} were changed"
    if left := len(keys) - len(kept):
        caption += f"; {left} more groups stand further below"
    return table(caption, head, lines)


def _directions(counted: Any) -> list[str]:
    """What people would get if the attribute were changed, the commonest first.

    Of many labels there are many directions: there are none then, and the table counts people.
    """
    directions = Counter()  # type: Counter[str]
    for search, group in counted.values():
        for one in group["directions"]:
            directions[in_direction(one, search["rows"]["counts_above"])] += one["n"]
    columns = sorted(directions, key=lambda name: -directions[name])
    return columns if len(columns) <= 2 else []


def _heads_of_groups(part: dict[str, Any], rate: str, columns: list[str] | None) -> list[str]:
    """The heads of the table of groups; None for `columns` where no people were counted."""
    head = ["group", "people"]
    if rate:
        what = rate.replace("_", " ")
        head.append(f"{quoted(part['favourable'])} predicted" if part["favourable"] else what)
    if "impact_ratio" in part["columns"]:
        head.append("ratio to the highest")
    if columns is not None:
        head += [f"would get {name}" for name in columns] or ["would get something else"]
    return head


def _most_concerned(
    keys: list[Any], rates: Any, counted: Any, attributes: list[Any], named: list[Any]
) -> list[Any]:
    """The groups with most people who would get something else, then the largest ones, in order.

    `named` are those that the page names, which come before all others.
    """
    most = 8  # more groups than that nobody reads on a first page
    if len(keys) <= most:
        return keys

    def weight(key: Any) -> tuple[bool, int, int]:
        changed = counted[key][1]["changed"] if key in counted else 0
        return (
            key not in named,
            -changed,
            -(rates[key]["n"] if key in rates else counted[key][1]["n"]),
        )

    kept = sorted(keys, key=weight)[:most]
    order = {name: place for place, name in enumerate(attributes)}
    return sorted(kept, key=lambda key: (order.get(key[0], len(order)), keys.index(key)))


def _in_interval(row: dict[str, Any], rate: str) -> str:
    words = percent if rate.endswith("_rate") else figure
    return with_interval(row[rate], row.get(f"{rate}_low"), row.get(f"{rate}_high"), words)


def _would_get(
    found: tuple[dict[str, Any], dict[str, Any]] | None, columns: list[str], n: Any
) -> list[str]:
    """How many people of a group would get each, or anything else."""
    if found is None:
        return [ABSENT] * max(1, len(columns))
    search, group = found
    of = "" if group["n"] == n else f" of {count(group['n'])}"
    if not columns:
        return [f"{count(group['changed'])}{of}"]
    above = search["rows"]["counts_above"]
    by_name = {in_direction(one, above): one["n"] for one in group["directions"]}
    return [f"{count(by_name.get(name, 0))}{of}" for name in columns]


# Pairs -----------------------------------------------------------------------------------------


def outputs_text(pair: Pair, of_first: str = " against ", of_second: str = "") -> str:
    """Both outputs: "probability of yes: 0.82 against 0.22"."""
    return f"{pair.output}: {_outputs(pair, of_first)}{of_second}"


def _outputs(pair: Pair, between: str = " against ") -> str:
    if pair.outputs is not None:
        return between.join(with_difference(*pair.outputs)[:2])
    if pair.labels is None:
        return "different for the two"
    first, second = map(value_text, pair.labels)
    return f"{isolate(first)}{between}{isolate(second)}"


def further_pairs(report: dict[str, Any]) -> Section:
    """What else the searches found, and the worst pair of each attribute alone."""
    main, blocks = main_search(report), []
    for other in report["searches"]:
        if other is not main and other["pair"] is not None:
            pair, left = cut(Pair.from_dict(other["pair"]))
            words = f"Largest difference in {isolate(other['label'])} alone"
            caption = f"{words}: {figure(other['degree'])}"
            blocks += [TwinsBlock(pair, caption=caption), *left]
    if main["further_pairs"]:
        kept = f", and kept {count(main['kept'])}" if main["kept"] < main["found"] else ""
        found = (
            f"The search found {count(main['found'])} inputs that the model treats differently "
            f"from a twin{kept}. These are the worst of them that differ from each other in two "
            "columns or more; report.to_json(path) writes all. Their number is no share of people, "
            "because a search looks where differences are large."
        )
        rows = [(str(place + 1), pair) for place, pair in enumerate(main["further_pairs"])]
        blocks += [TextBlock(found), pairs_table("Further pairs", "", rows)]
    if not blocks:
        blocks.append(TextBlock("No further pairs were found."))
    return Section("pairs", "Further pairs", tuple(blocks), in_appendix=True)


def domain(report: dict[str, Any]) -> Section:
    """The largest difference of any two inputs within the ranges, and what bounds it."""
    search = main_search(report)
    blocks: list[Any] = []
    if search["pair"] is not None and _is_shown_above(search):
        row = isolate(search["rows"]["person"]["row"])
        words = f"No two inputs are known that differ more than row {row} and its twin, see above."
        blocks.append(TextBlock(words))
    elif search["pair"] is not None:
        pair, left = cut(Pair.from_dict(search["pair"]))
        blocks += [TextBlock(_where_from(search)), TwinsBlock(pair), *left]
    elif not search["taken"]:
        blocks.append(TextBlock("There is nothing to show: no input's answer changes with them."))
    elif search["degree"] is None:
        blocks.append(TextBlock("No twins were compared."))
    elif search["degree"]:
        blocks.append(
            TextBlock("The pair was left out of this file, because it is a row of people.")
        )
    else:
        blocks.append(TextBlock(f"No twins were found that {treated_differently(report)}."))
    if search["taken"]:
        blocks += [*_states(report), *how_large(report)]
    return Section("domain", "The worst case within the ranges of the data", tuple(blocks))


def _is_shown_above(search: dict[str, Any]) -> bool:
    """Whether the pair of the domain is that of the person who is shown with the people."""
    person = search["rows"]["person"]
    if person is None:
        return False
    one, two = (Pair.from_dict(pair) for pair in (search["pair"], person["pair"]))
    return {_side(one, 0), _side(one, 1)} == {_side(two, 0), _side(two, 1)}


def _side(pair: Pair, place: int) -> tuple[str, ...]:
    """The values of one of both twins, in words."""
    return tuple(value_text((cell.first, cell.second)[place]) for cell in pair.cells)


def _where_from(search: dict[str, Any]) -> str:
    words = "These two inputs have the largest known difference."
    by = f"They come from {isolate(search['shown_by'])}."
    if search["pair_has_a_row"]:
        return f"{words} {by} One of them is a person of the table, the other their twin."
    if search["pair_of_a_row"]:
        return f"{words} {by} But for the marked columns they equal a row of the table."
    return f"{words} {by} They are made up: nobody in the table has these values."


def _states(report: dict[str, Any]) -> list[NoticeBlock]:
    return [
        notice
        for search in report["searches"]
        for notice in why_not(search, f"Twins in {isolate(search['label'])}")
    ]


def cut(pair: Pair) -> tuple[Pair, list[TextBlock]]:
    """The pair with what changes and eight other columns that matter, and how many are left."""
    shown, folded = pair.changed_first(8)
    words = f"More columns, equal in both twins and not listed here: {len(folded)}."
    left = [TextBlock(words, quiet=True)] if folded else []
    return replace(pair, cells=tuple(shown)), left


def pairs_table(
    caption: str,
    first: str,
    named: Sequence[tuple[str, dict[str, Any]]],
    own: Sequence[Sequence[Any]] = (),
) -> TableBlock:
    """Pairs below each other: both outputs, what changed, and the columns that matter most.

    `own` has for each pair what the row itself has in the changed columns.
    """
    pairs = [(name, Pair.from_dict(values)) for name, values in named]
    changed = [
        place
        for place, cells in enumerate(zip(*(pair.cells for _, pair in pairs), strict=True))
        if any(cell.changed for cell in cells)
    ]
    # By place, since names may repeat.
    cells = pairs[0][1].cells
    names = [cell.name for cell in cells]
    others = [place for place in range(len(cells)) if place not in changed]
    others.sort(key=lambda place: -(cells[place].matters or 0.0))
    others = others[:3]  # fewer than of one pair: the table is as wide as they are
    if left := len(names) - len(changed) - len(others):
        caption += f"; columns that matter less and are not listed: {left}"
    # What the outputs are stands in the head, where it is one thing.
    is_one = len({pair.output for _, pair in pairs}) == 1
    rounded = alike([pair.difference for _, pair in pairs])
    differences = [
        difference if pair.outputs is None else with_difference(*pair.outputs)[2]
        for difference, (_, pair) in zip(rounded, pairs, strict=True)
    ]
    rows = [
        [
            name,
            difference,
            _outputs(pair) if is_one else outputs_text(pair),
            *_changes(pair, changed, own[k] if own else None),
            *(value_text(pair.cells[place].first) for place in others),
        ]
        for k, ((name, pair), difference) in enumerate(zip(pairs, differences, strict=True))
    ]
    outputs = pairs[0][1].output if is_one else "outputs"
    heads = [f"≠ {names[place]}" for place in changed] if len(changed) <= MOST_CHANGED else ["≠"]
    head = [first or "pair", "difference", outputs, *heads, *(str(names[k]) for k in others)]
    return table(caption, head, rows, words=range(2, len(head)))


def _changes(pair: Pair, changed: Sequence[int], own: Sequence[Any] | None) -> list[str]:
    """What changes in a pair: one cell a column, or one for all where these are many."""
    cells = [pair.cells[place] for place in changed]
    values = iter(own or ())
    texts = [_change(cell, next(values, MISSING) if cell.changed else MISSING) for cell in cells]
    if len(cells) > MOST_CHANGED:
        both = zip(cells, texts, strict=True)
        return ["; ".join(f"{isolate(cell.name)}: {w}" for cell, w in both if cell.changed)]
    return texts


#: Where a row has no value of its own.
MISSING = object()


def _change(cell: Cell, own: Any = MISSING) -> str:
    """Both values; that of the person is marked, and added where it is neither."""
    if not cell.changed:
        return value_text(cell.first)
    sides = [
        f"{isolate(value_text(value))}{OWN * (own is not MISSING and value == own)}"
        for value in (cell.first, cell.second)
    ]
    words = " → ".join(sides)
    if own is MISSING or own in (cell.first, cell.second):
        return words
    return f"{words}; own value {isolate(value_text(own))}"


OWN = " (own)"


# How large it can get --------------------------------------------------------------------------


def how_large(report: dict[str, Any]) -> list[Any]:
    """What a search found, what a certificate leaves possible, and who carries it."""
    searches = [search for search in report["searches"] if search["degree"] is not None]
    blocks: list[Any] = [
        TextBlock(
            f"{LOWER_BOUND} For supported kinds of models a certificate proves how large it can "
            "get at most, within the ranges of the data."
        )
    ]
    if searches:
        blocks.append(_bounds_figure(searches, report))
    if report["carries"]:
        words = isolated(report["carries"], report["sensitive_features"])
        blocks.append(TextBlock(words[:1].upper() + words[1:]))
    for search in report["searches"]:
        if search["taken"]:
            blocks += why_not(search["certificate"], f"Certificate of {isolate(search['label'])}")
            blocks += [TextBlock(words)] if (words := engine_sentence(search)) else []
    return blocks


def _largest_table(searches: list[dict[str, Any]]) -> TableBlock:
    rows = [
        [
            search["label"],
            known,
            by_search,
            of_row,
            possible,
        ]
        for search, known, by_search, of_row, possible in zip(
            searches,
            alike([search["degree"] for search in searches]),
            alike([found_by_search(search) for search in searches]),
            alike([search["rows"]["degree"] for search in searches]),
            _bounds(searches),
            strict=True,
        )
    ]
    head = ["sensitive", "largest known", "by the search", "of a person", "largest possible"]
    caption = "Largest difference by sensitive attribute"
    return table(caption, head, rows, most=300)


def how_searches_went(report: dict[str, Any]) -> Section:
    """How the searches went, and what they cost."""
    known = [search for search in report["searches"] if search["degree"] is not None]
    searches = [s for s in report["searches"] if len(s["history"]["queries"]) > 1]
    blocks: list[Any] = [_largest_table(known)] if known else []
    if searches:
        rows = [
            [
                search["label"],
                figure(search["degree"]),
                count(search["search_queries"]),
                seconds(search["seconds"]),
                search["stop_reason"],
            ]
            for search in searches
        ]
        head = ["sensitive", "largest known", "predictions", "time", "ended"]
        alt = "; ".join(
            f"{search['label']}: {figure(search['degree'])} after "
            f"{count(search['search_queries'])} queries, {search['stop_reason']}"
            for search in searches[:10]
        )
        drawn = {**report, "searches": _drawn(searches)}
        blocks += [
            FigureBlock("history", drawn, "Largest difference found so far, over predictions", alt),
            table("The searches", head, rows, most=300, words=[4]),
        ]
    else:
        blocks.append(TextBlock("No search ran."))
    return Section("searches", "How the searches went", tuple(blocks), in_appendix=True)


def found_by_search(search: dict[str, Any]) -> float | None:
    """What the search itself came upon; `degree` is what any part has shown."""
    degrees: list[float] = search["history"]["degree"]
    return degrees[-1] if degrees else None


def _bounds(searches: Sequence[dict[str, Any]]) -> list[str]:
    """The bounds of several searches, with equally many decimals."""
    bounds_of_all = [search["certificate"] for search in searches]
    uppers = alike([bounds["upper"] for bounds in bounds_of_all])
    return [bound(bounds, upper) for bounds, upper in zip(bounds_of_all, uppers, strict=True)]


def _drawn(searches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last searches, as many as one picture has lines, with the points that lines need."""
    return [
        {
            **search,
            "history": _thinned(search["history"]),
            "rows": {**search["rows"], "curve": _thinned(search["rows"]["curve"])},
        }
        for search in searches[-6:]
    ]


def _thinned(line: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """At most 400 points of a line, the first and the last among them."""
    n, most = len(next(iter(line.values()))), 400
    if n <= most:
        return line
    places = sorted({round(k * (n - 1) / (most - 1)) for k in range(most)})
    return {name: [values[place] for place in places] for name, values in line.items()}


def _bounds_figure(searches: list[dict[str, Any]], report: dict[str, Any]) -> FigureBlock:
    alt = "; ".join(
        f"{search['label']}: found {figure(found_by_search(search))}, largest possible "
        f"{bound(search['certificate'])}, people {figure(search['rows']['degree'])}"
        for search in searches[:10]
    )
    caption = (
        "The difference found, the largest difference of a person in the table, and the bound "
        "if there is one"
    )
    return FigureBlock("bounds", {**report, "searches": searches[-20:]}, caption, alt)


# Real rows -------------------------------------------------------------------------------------


def people(report: dict[str, Any]) -> Section:
    """The person whose answer changes most, how many others there are, and by how much."""
    title = "The people in the table"
    if not main_search(report)["taken"]:
        words = (
            "The model does not take the sensitive columns: nobody's answer changes with them "
            "alone."
        )
        return Section("people", title, (TextBlock(words),))
    if report["rows_of_people"] == "none":
        words = "Rows of people and their counts were left out of this file: rows='none'."
        return Section("people", title, (TextBlock(words),))
    blocks: list[Any] = []
    done = [search for search in report["searches"] if search["rows"]["n"]]
    main = done[-1] if done else None
    if main is not None and main["rows"]["person"] is not None:
        blocks += _the_person(main["rows"]["person"], report)
    if done:
        if any(len(search["rows"]["curve"]["difference"]) > 1 for search in done):
            blocks.append(_curve_figure(done, report))
        blocks += _shares(report, done)
        remarks = map(compared_with, done)
        blocks += [TextBlock(f"People were compared {words}.") for words in remarks if words]
    if main is not None:
        blocks += _worst_people(main, MOST_PEOPLE)
    if report["rows_of_people"] == "counts":
        blocks.append(TextBlock("Rows of people were left out of this file: rows='counts'.", True))
    for search in report["searches"]:
        if search["taken"]:
            blocks += why_not(search["rows"], f"People, {isolate(search['label'])}")
    return Section("people", title, tuple(blocks))


def _worst_people(search: dict[str, Any], most: int | None) -> list[TableBlock]:
    """The rows with the largest differences, and what of both twins each person has."""
    worst = search["rows"]["worst"][:most]
    if not worst:
        return []
    rows = [
        (row["row"] + ("" if row["inside"] else " (outside of the ranges)"), row["pair"])
        for row in worst
    ]
    caption = "The people with the largest differences; (own) marks what the person has"
    return [pairs_table(caption, "row", rows, [row["own"] for row in worst])]


def _the_person(person: dict[str, Any], report: dict[str, Any]) -> list[Any]:
    whole = Pair.from_dict(person["pair"])
    pair, left = cut(whole)
    names = listed([isolate(cell.name) for cell in whole.cells if cell.changed])
    flips = whole.labels is not None and whole.labels[0] != whole.labels[1]
    of = "Of the people who would get another decision" if flips else "Of all people"
    row = isolate(person["row"])
    words = (
        f"{of}, row {row} of the table has the largest difference. Beside it stands the same row "
        f"with another {names}; all else is equal."
    )
    caption = "A real row of the table and its twin; the marked columns differ"
    return [TextBlock(words), TwinsBlock(pair, "this person", "the twin", caption), *left]


def groups_of_people(report: dict[str, Any]) -> Section:
    """All groups with what they would get, also of several attributes at once."""
    blocks: list[Any] = []
    for search in report["searches"]:
        rows = search["rows"]
        if not rows["by_group"]:
            continue
        cells = [
            [
                group["group"],
                count(group["n"]),
                count(group["changed"]),
                percent(group["changed"] / group["n"]),
                "; ".join(
                    f"{count(one['n'])} {in_direction(one, rows['counts_above'])}"
                    for one in group["directions"][:3]
                )
                or ABSENT,
            ]
            for group in rows["by_group"]
        ]
        head = ["group", "people", "would change", "share", "they would get"]
        others = for_others(search)
        caption = f"People by group, if only {isolate(search['label'])} were changed{others}"
        blocks.append(table(caption, head, cells, most=300, words=[4]))
    blocks += _by_attribute(report)
    done = [search for search in report["searches"] if search["rows"]["n"]]
    if done and len(done[-1]["rows"]["worst"]) > MOST_PEOPLE:
        blocks += _worst_people(done[-1], None)
    if not blocks:
        blocks.append(TextBlock("No people were compared with twins."))
    return Section("by-group", "People by group", tuple(blocks), in_appendix=True)


def _by_attribute(report: dict[str, Any]) -> list[TableBlock]:
    """Shares of the rows of each search that has a threshold or labels."""
    rated = [s for s in report["searches"] if s["rows"]["n"] and s["rows"]["rate"] is not None]
    if not rated:
        return []
    degrees = alike([search["rows"]["degree"] for search in rated])
    rows = [
        [
            search["label"],
            share_text(search["rows"]),
            count(search["rows"]["rate"] * search["rows"]["n"]),
            f"{count(search['rows']['n'])} of {count(search['rows']['n_rows'])}",
            degree,
        ]
        for search, degree in zip(rated, degrees, strict=True)
    ]
    head = ["sensitive", "share", "people", "compared", "largest difference"]
    return [table(f"People {treated(report)}", head, rows, most=300)]


def _shares(report: dict[str, Any], done: list[dict[str, Any]]) -> list[TableBlock]:
    """Of a regressor without a threshold: shares above parts of the spread of its predictions."""
    parts = [(search, above) for search in done for above in search["rows"]["above"]]
    if not parts:
        return []
    differences = alike([above["difference"] for _, above in parts])
    rows = [
        [
            search["label"],
            f"{above['share_of_spread']:.0%} of the spread",
            difference,
            share_text(above),
            f"{count(above['n'])} of {count(search['rows']['n'])}",
        ]
        for (search, above), difference in zip(parts, differences, strict=True)
    ]
    caption = (
        "People whose prediction would change by more than a share of the spread "
        f"({figure(done[-1]['rows']['spread'])}, from the 5th to the 95th percentile of the "
        "predictions) if only the sensitive columns were changed"
    )
    head = ["sensitive", "more than", "difference", "share", "people"]
    return [table(caption, head, rows, most=300)]


def _curve_figure(done: list[dict[str, Any]], report: dict[str, Any]) -> FigureBlock:
    alt = "; ".join(
        f"{search['label']}: largest difference of a row {figure(search['rows']['degree'])}"
        + (
            f", {percent(search['rows']['rate'])} of rows treated differently"
            if search["rows"]["rate"] is not None
            else ""
        )
        for search in done[:10]
    )
    caption = "Share of the rows whose difference exceeds each value"
    return FigureBlock("curve", {**report, "searches": _drawn(done)}, caption, alt)
