"""The first half of a report: the finding, the pair, how large it can get, and real rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from skfairtest.finding._pair import Cell, Pair
from skfairtest.finding._words import number, two_numbers, value_in_words
from skfairtest.report._render.blocks import (
    ABSENT,
    Fact,
    Facts,
    Figure,
    Fold,
    Lead,
    Notice,
    Section,
    Table,
    Text,
    Twins,
    count,
    figure,
    isolate,
    percent,
    seconds,
    table,
    together,
)
from skfairtest.report._render.words import beyond_domain, not_taken, twins_beside

#: Columns of a pair besides the changed ones that are shown; where there are many pairs, fewer.
MOST_CELLS, MOST_CELLS_OF_MANY = 15, 7
#: Changed columns that have a column of their own in a table of pairs.
MOST_CHANGED = 4
MADE_UP = "The two inputs are generated and need not resemble real people."
#: Bars and lines of one picture, those of the last searches, and points of one line.
MOST_BARS, MOST_LINES, MOST_POINTS = 20, 6, 400
#: A report is for those who have not read our papers.
TWINS = "Twins are two inputs that are identical but for {which}."
LOWER_BOUND = (
    "A search gives a lower bound: the difference that it found exists, and a larger one may "
    "exist that it did not find."
)


def main_search(report: dict[str, Any]) -> dict[str, Any]:
    """The search of all sensitive attributes together, which knows what the others have found."""
    search: dict[str, Any] = report["searches"][-1]
    return search


def main_rows(report: dict[str, Any]) -> dict[str, Any] | None:
    """The search whose rows are told first: the last whose rows were compared."""
    done = [search for search in report["searches"] if search["rows"]["n"]]
    return done[-1] if done else None


def why_not(part: dict[str, Any], what: str) -> list[Notice]:
    """A word on a part that is not there or not whole."""
    if part["status"] == "done":
        return []
    reason = f": {part['reason']}" if part["reason"] else ""
    return [Notice(f"{what} – {part['status']}{reason}")]


def treated_differently(report: dict[str, Any]) -> str:
    """What happens to twins that count as treated differently."""
    if report["threshold"] is not None:
        return f"differ by more than {number(report['threshold'])}"
    is_regression = report["model"]["task"] == "regression"
    return "get different predictions" if is_regression else "get different labels"


def treated(report: dict[str, Any]) -> str:
    """What happens to rows that count as treated differently."""
    threshold = report["threshold"]
    if threshold is None:
        return "get another label than a twin"
    return f"differ from a twin by more than {number(threshold)}"


# The finding -----------------------------------------------------------------------------------


def finding(report: dict[str, Any]) -> Section:
    """What was found, how sure that is, and for how many rows of data it holds."""
    blocks: list[Any] = []
    if report["status"] != "complete":
        reason = f": {report['reason']}" if report["reason"] else ""
        blocks.append(
            Notice(
                f"This audit is not complete. It {_ENDS.get(report['status'], report['status'])}"
                f"{reason}. What it had measured until then is below."
            )
        )
    sentence = report["sentence"]
    blocks.append(Lead(_with_names(sentence, report)))
    if beside := not_taken(report["searches"]):
        blocks.append(Text(_with_names(twins_beside(beside), report)))
    which = together(main_search(report)["sensitive"]) or "the sensitive attributes"
    words = TWINS.format(which=which)
    if report["threshold"] is not None or report["model"]["task"] != "regression":
        words += f" Twins that {treated_differently(report)} count as discriminatory."
    blocks.append(Text(words))
    favourable = report["favourable"]
    if favourable["words"]:
        # What groups and rates are about stands where nobody can miss it.
        told = _isolated(f"{favourable['words']}.", [favourable["labels"]])
        blocks.append((Notice if favourable["how"] == "guessed" else Text)(told))
    blocks.append(Facts(finding_facts(report)))
    if report["carries"]:
        blocks.append(Text(_with_names(report["carries"], report)))
    return Section("finding", "The finding", tuple(blocks))


def _with_names(sentence: str, report: dict[str, Any]) -> str:
    """A sentence whose names do not turn it, with a capital."""
    sentence = _isolated(sentence, report["sensitive_features"])
    return sentence[:1].upper() + sentence[1:]


def _isolated(sentence: str, names: Sequence[Any]) -> str:
    for name in map(str, names):
        if isolate(name) != name:
            sentence = sentence.replace(name, isolate(name))
    return sentence


def finding_facts(report: dict[str, Any]) -> tuple[Fact, Fact, Fact, Fact]:
    """The difference found, how large it can get, the share of real rows, and the cost."""
    return _found(report), _how_sure(report), _real_rows(report), _cost(report)


_ENDS = {
    "interrupted": "was interrupted",
    "failed": "failed",
    "ended early": "ended some parts early, because it ran out of time",
}


def _found(report: dict[str, Any]) -> Fact:
    name = "Largest difference found"
    search = main_search(report)
    if search["degree"] is None:
        return Fact(name, ABSENT, "nothing was measured")
    if not search["taken"]:
        return Fact(name, figure(0.0), "by construction, without a search")
    if beyond_domain(search):
        note = f"of a row of data outside of the domain; in the domain {figure(search['degree'])}"
        return Fact(name, figure(search["rows"]["degree"]), note)
    if search["pair"] is None:
        note = f"in {count(search['search_queries'])} queries"
        return Fact(name, figure(search["degree"]), note)
    return Fact(name, figure(search["degree"]), outputs_in_words(Pair.from_dict(search["pair"])))


def _how_sure(report: dict[str, Any]) -> Fact:
    name = "How large it can get"
    if not main_search(report)["taken"]:
        return Fact(name, figure(0.0), f"by construction: {main_search(report)['reason']}")
    bracket = main_search(report)["bracket"]
    if bracket["upper"] is None:
        return Fact(name, "unknown", f"no certificate. {LOWER_BOUND}")
    upper = figure(bracket["upper"])
    if bracket["certified"]:
        return Fact(name, upper, "certified: no larger difference exists in the domain")
    return Fact(
        name, f"at most {upper}", ("certified upper bound; the search gives the lower bound")
    )


def _real_rows(report: dict[str, Any]) -> Fact:
    search = main_rows(report)
    if not main_search(report)["taken"]:
        note = "by construction: each row and its twins are the same input to the model"
        return Fact("Real rows treated differently", "none", note)
    if search is None:
        return Fact("Real rows", ABSENT, "no rows of data were compared")
    rows = search["rows"]
    if rows["rate"] is not None:
        note = f"{_of_rows(rows, rows)}; they {treated(report)}"
        return Fact("Real rows treated differently", percent(rows["rate"]), note)
    for above in rows["above"][1:2] or rows["above"]:
        part = f"{above['share_of_spread']:.0%} of the spread of the predictions"
        note = f"{_of_rows(rows, above)}: {figure(above['difference'])}"
        return Fact(f"Real rows above {part}", percent(above["rate"]), note)
    return Fact("Real rows", figure(rows["degree"]), "largest difference of a row of data")


def _of_rows(rows: dict[str, Any], part: dict[str, Any]) -> str:
    """How many of the rows a share is of, and what it may be of all of them."""
    words = f"{count(part['rate'] * rows['n'])} of {count(rows['n'])} rows"
    is_sample = rows["n"] < rows["n_rows"]
    words += f", a sample of {count(rows['n_rows'])}" if is_sample else ": all there are"
    return words if part["low"] is None else f"{words}; of all rows {_share_ends(part)}"


def _share_ends(part: dict[str, Any]) -> str:
    if part["high"] >= 1:
        return f"at least {percent(part['low'])}"
    return f"{percent(part['low'])} to {percent(part['high'])}"


def _cost(report: dict[str, Any]) -> Fact:
    cost = report["cost"]
    note = "inputs that the model was asked for"
    return Fact("Queries", count(cost["queries"]), f"{note}, in {seconds(cost['seconds'])}")


# The pair --------------------------------------------------------------------------------------


def outputs_in_words(pair: Pair) -> str:
    """Both outputs: "probability of yes: 0.82 against 0.22"."""
    return f"{pair.output}: {_outputs(pair)}"


def _outputs(pair: Pair) -> str:
    if pair.outputs is not None:
        return " against ".join(two_numbers(*pair.outputs))
    if pair.labels is None:
        return "different for the two"
    first, second = map(value_in_words, pair.labels)
    return f"{isolate(first)} against {isolate(second)}"


def the_pair(report: dict[str, Any]) -> Section:
    """The worst pair, and what else was found."""
    title = "The pair"
    search = main_search(report)
    if search["pair"] is None:
        words = f"No twins were found that {treated_differently(report)}."
        if not search["taken"]:
            words = "There are no twins to show: to the model they are the same input."
        if search["degree"] is None:
            words = "No twins were compared."
        return Section("pair", title, (Text(words), *_states(report)))
    blocks: list[Any] = [
        Text(_where_from(search)),
        Twins(Pair.from_dict(search["pair"])),
        *_states(report),
    ]
    for other in report["searches"]:
        if other is not search and other["pair"] is not None:
            pair, left = cut(Pair.from_dict(other["pair"]), MOST_CELLS_OF_MANY)
            summary = (
                f"The pair with the largest difference of {isolate(other['label'])}: "
                f"{figure(other['degree'])}"
            )
            blocks.append(Fold(summary, (Twins(pair), *left)))
    if search["finds"]:
        found = (
            f"The search found {count(search['found'])} discriminatory inputs and kept "
            f"{count(search['kept'])}. The worst are listed here, all kept ones by "
            "report.to_json(path). Their number is not a share of people, because a search "
            "looks where differences are large."
        )
        rows = [(str(place + 1), pair) for place, pair in enumerate(search["finds"])]
        summary = f"Further pairs: {len(rows)} of {count(search['found'])} found"
        blocks.append(Fold(summary, (Text(found), pairs_table("Further pairs", "", rows))))
    return Section("pair", title, tuple(blocks))


def _where_from(search: dict[str, Any]) -> str:
    words = f"The two inputs with the largest difference that the audit knows of. {_SHOWN_BY}"
    if search["shown_by"].startswith("row "):
        return f"{words} {isolate(search['shown_by'])}, beside its twin."
    return (
        f"{words} {isolate(search['shown_by'])}. They are generated and need not resemble real "
        "people."
    )


_SHOWN_BY = "They were shown by"


def _states(report: dict[str, Any]) -> list[Notice]:
    return [
        notice
        for search in report["searches"]
        for notice in why_not(search, f"Twins in {isolate(search['label'])}")
    ]


def cut(pair: Pair, most: int) -> tuple[Pair, list[Text]]:
    """The pair without the columns that matter least, and how many these are."""
    shown, folded = pair.changed_first(most)
    words = f"More columns, equal in both twins and not listed here: {len(folded)}."
    left = [Text(words, quiet=True)] if folded else []
    return replace(pair, cells=tuple(shown)), left


def pairs_table(caption: str, first: str, named: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    """Pairs below each other: both outputs, what changed, and the columns that matter most."""
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
    others = others[:MOST_CELLS_OF_MANY]
    if left := len(names) - len(changed) - len(others):
        caption += f"; columns that matter less and are not listed: {left}"
    # What the outputs are is told once, where it is one thing.
    is_one = len({pair.output for _, pair in pairs}) == 1
    rows = [
        [
            name,
            figure(pair.difference),
            _outputs(pair) if is_one else outputs_in_words(pair),
            *_changes(pair, changed),
            *(value_in_words(pair.cells[place].first) for place in others),
        ]
        for name, pair in pairs
    ]
    outputs = pairs[0][1].output if is_one else "outputs"
    told = [f"≠ {names[place]}" for place in changed] if len(changed) <= MOST_CHANGED else ["≠"]
    head = [first or "pair", "difference", outputs, *told, *(str(names[k]) for k in others)]
    return table(caption, head, rows, words=range(2, len(head)))


def _changes(pair: Pair, changed: Sequence[int]) -> list[str]:
    """What changes in a pair: one cell a column, or one for all where these are many."""
    cells = [pair.cells[place] for place in changed]
    if len(cells) > MOST_CHANGED:
        told = [f"{isolate(cell.name)}: {_change(cell)}" for cell in cells if cell.changed]
        return ["; ".join(told)]
    return [_change(cell) for cell in cells]


def _change(cell: Cell) -> str:
    first, second = map(value_in_words, (cell.first, cell.second))
    return f"{isolate(first)} → {isolate(second)}" if cell.changed else first


# How large it can get --------------------------------------------------------------------------


def how_large(report: dict[str, Any]) -> Section:
    """What a search found, what a certificate leaves possible, and who carries it."""
    searches = [search for search in report["searches"] if search["degree"] is not None]
    blocks: list[Any] = [
        Text(
            f"{LOWER_BOUND} For supported kinds of models, a certificate gives an upper bound "
            "that no input of the domain exceeds."
        )
    ]
    if searches:
        blocks.append(_bracket_figure(searches, report))
        rows = [
            [
                search["label"],
                figure(search["degree"]),
                figure(found_by_search(search)),
                figure(search["rows"]["degree"]),
                _ends(search["bracket"]),
                count(search["search_queries"]),
                seconds(search["seconds"]),
            ]
            for search in searches
        ]
        head = ["sensitive", "largest known", "by the search", "of a row", *_COST]
        caption = "Largest difference by sensitive attribute"
        blocks.append(table(caption, head, rows, most=300))
    if report["carries"]:
        blocks.append(Text(_with_names(report["carries"], report)))
    for search in report["searches"]:
        if search["taken"]:
            blocks += why_not(search["bracket"], f"Certificate of {isolate(search['label'])}")
    courses = [search for search in searches if len(search["history"]["queries"]) > 1]
    if courses:
        alt = "; ".join(
            f"{search['label']}: {figure(search['degree'])} after "
            f"{count(search['search_queries'])} queries, {search['stop_reason']}"
            for search in courses[:10]
        )
        drawn = {**report, "searches": [_thinned(s) for s in courses[-MOST_LINES:]]}
        drawing = Figure("history", drawn, "Largest difference found so far, over queries", alt)
        blocks.append(Fold("How the searches went", (drawing,)))
    return Section("bracket", "How large it can get", tuple(blocks))


_COST = ("certified", "queries", "time")


def found_by_search(search: dict[str, Any]) -> float | None:
    """What the search itself came upon; `degree` is what any part has shown."""
    course: list[float] = search["history"]["degree"]
    return course[-1] if course else None


def _ends(bracket: dict[str, Any]) -> str:
    lower, upper = bracket["lower"], bracket["upper"]
    if upper is None:
        return ABSENT if lower is None else f"at least {number(lower)}"
    if bracket["certified"]:
        return f"exactly {number(upper)}"
    return f"at most {number(upper)}" if not lower else f"{number(lower)} to {number(upper)}"


def _thinned(search: dict[str, Any]) -> dict[str, Any]:
    """The search with as many points of its courses as a picture needs, their ends among them."""
    rows = {**search["rows"], "curve": _fewer(search["rows"]["curve"])}
    return {**search, "history": _fewer(search["history"]), "rows": rows}


def _fewer(course: dict[str, list[Any]]) -> dict[str, list[Any]]:
    n = len(next(iter(course.values())))
    if n <= MOST_POINTS:
        return course
    places = sorted({round(k * (n - 1) / (MOST_POINTS - 1)) for k in range(MOST_POINTS)})
    return {name: [values[place] for place in places] for name, values in course.items()}


def _bracket_figure(searches: list[dict[str, Any]], report: dict[str, Any]) -> Figure:
    alt = "; ".join(
        f"{search['label']}: found {figure(found_by_search(search))}, certified "
        f"{_ends(search['bracket'])}, rows of data {figure(search['rows']['degree'])}"
        for search in searches[:10]
    )
    caption = (
        "The difference found, the largest difference of a row of data, and the certified "
        "bounds if there are any"
    )
    return Figure("bracket", {**report, "searches": searches[-MOST_BARS:]}, caption, alt)


# Real rows -------------------------------------------------------------------------------------


def real_rows(report: dict[str, Any]) -> Section:
    """How many rows of data have a twin that is treated differently, and the worst of them."""
    if not main_search(report)["taken"]:
        return Section("rows", "Real rows", (*_states(report),))
    blocks: list[Any] = [
        Text(
            "Each row of the data is compared with its own twins. This shows how many rows have "
            "a difference, which a search for the worst case does not show."
        )
    ]
    done = [search for search in report["searches"] if search["rows"]["n"]]
    if done:
        if any(len(search["rows"]["curve"]["difference"]) > 1 for search in done):
            blocks.append(_curve_figure(done, report))
        blocks += _shares(report, done)
        blocks += [Text(words) for words in map(_twins_compared, done) if words]
        main = done[-1]
        if main["rows"]["worst"]:
            rows = [
                (row["row"] + ("" if row["inside"] else " (outside of the domain)"), row["pair"])
                for row in main["rows"]["worst"]
            ]
            caption = f"The rows with the largest differences ({isolate(main['label'])})"
            blocks.append(pairs_table(caption, "row", rows))
    for search in report["searches"]:
        if search["taken"]:
            blocks += why_not(search["rows"], f"Rows of data, {isolate(search['label'])}")
    return Section("rows", "Real rows", tuple(blocks))


def _shares(report: dict[str, Any], done: list[dict[str, Any]]) -> list[Table]:
    tables = []
    rated = [search for search in done if search["rows"]["rate"] is not None]
    if rated:
        rows = [
            [
                search["label"],
                _rate(search["rows"]),
                count(search["rows"]["rate"] * search["rows"]["n"]),
                count(search["rows"]["n"]),
                count(search["rows"]["n_rows"]),
                figure(search["rows"]["degree"]),
            ]
            for search in rated
        ]
        caption = f"Rows that {treated(report)}"
        head = ["sensitive", "share", "rows", "compared", "there are", "largest difference"]
        tables.append(table(caption, head, rows, most=300))
    rows = [
        [
            search["label"],
            f"{above['share_of_spread']:.0%} of the spread",
            figure(above["difference"]),
            _rate(above),
            count(above["n"]),
            count(search["rows"]["n"]),
        ]
        for search in done
        for above in search["rows"]["above"]
    ]
    if rows:
        spread = figure(done[-1]["rows"]["spread"])
        caption = (
            f"Rows whose difference exceeds a share of the spread of the predictions ({spread}, "
            "from their 5th to their 95th percentile)"
        )
        head = ["sensitive", "above", "difference", "share", "rows", "compared"]
        tables.append(table(caption, head, rows, most=300))
    return tables


def _twins_compared(search: dict[str, Any]) -> str:
    """A word on rows that were not compared with all their twins."""
    rows = search["rows"]
    n_all, n_twins = rows["n_combinations"], rows["n_twins"]
    if n_all is not None and n_all <= n_twins:
        return ""
    all_of_them = "its endlessly many twins" if n_all is None else f"its {count(n_all)} twins"
    return (
        f"{isolate(search['label'])}: each row was compared with {count(n_twins)} of "
        f"{all_of_them}, so more rows than counted here may have a twin that is treated "
        "differently."
    )


def _rate(part: dict[str, Any]) -> str:
    share = percent(part["rate"])
    return share if part["low"] is None else f"{share} ({_share_ends(part)})"


def _curve_figure(done: list[dict[str, Any]], report: dict[str, Any]) -> Figure:
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
    drawn = [_thinned(search) for search in done[-MOST_LINES:]]
    return Figure("curve", {**report, "searches": drawn}, caption, alt)
