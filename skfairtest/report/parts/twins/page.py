"""What the page shows of the largest difference: its pair, its bounds, and further pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from skfairtest import inspection
from skfairtest.finding._pair import Pair
from skfairtest.finding._words import number, value_text
from skfairtest.report._figures import real
from skfairtest.report._types import Report
from skfairtest.report.parts.twins.results import Twins, together, twins_of
from skfairtest.report.parts.twins.words import bound, carries, engine_sentence
from skfairtest.report.render.blocks import (
    FigureBlock,
    Section,
    TableBlock,
    TextBlock,
    TwinsBlock,
    alike,
    count,
    figure,
    table,
    why_not,
)
from skfairtest.report.render.pairs import cut, pairs_table
from skfairtest.report.render.words import isolate, isolated


def sections(report: Report) -> Iterable[Section]:
    """The worst case, and in the appendix further pairs and the largest differences known."""
    blocks = _worst_case(report)
    yield Section(20, "domain", "The worst case within the ranges of the data", tuple(blocks))
    yield Section(120, "pairs", "Further pairs", tuple(_further_pairs(report)))
    known = [twins for twins in twins_of(report) if twins.known.degree is not None]
    if known:
        title = "How the searches went"
        yield Section(140, "searches", title, (_largest_table(known),))


def _worst_case(report: Report) -> list[Any]:
    main = together(report)
    known = main.known
    if not known.taken:
        return [TextBlock("There is nothing to show: no input's answer changes with them.")]
    blocks: list[Any] = []
    person = main.rows.person
    if known.pair and person and _sides(known.pair) == _sides(person.pair):
        row = isolate(person.row)
        words = f"No two inputs are known that differ more than row {row} and its twin, see above."
        blocks.append(TextBlock(words))
    elif known.pair is not None:
        pair, left = cut(known.pair)
        blocks += [TextBlock(_where_from(main)), TwinsBlock(pair), *left]
    elif known.degree is None:
        blocks.append(TextBlock("No twins were compared."))
    elif known.degree:
        words = "The pair was left out of this file, because it is a row of people."
        blocks.append(TextBlock(words))
    else:
        what = "predictions" if report.model.task == "regression" else "labels"
        words = f"get different {what}"
        if report.threshold is not None:
            words = f"differ by more than {number(report.threshold)}"
        blocks.append(TextBlock(f"No twins were found that {words}."))
    for twins in twins_of(report):
        part = twins.search if twins.known.taken else twins.known
        blocks += why_not(part, f"Twins in {isolate(part.of)}")
    return blocks + _how_large(report)


def _sides(pair: Pair) -> set[tuple[str, ...]]:
    """The values of both twins, in words."""
    both = ((value_text(cell.first), value_text(cell.second)) for cell in pair.cells)
    return set(zip(*both, strict=True))


def _where_from(twins: Twins) -> str:
    by = f"They come from {isolate(twins.known.shown_by)}."
    words = f"These two inputs have the largest known difference. {by}"
    if twins.known.pair_has_a_row:
        return f"{words} One of them is a person of the table, the other their twin."
    if twins.known.pair_of_a_row:
        return f"{words} But for the marked columns they equal a row of the table."
    return f"{words} They are made up: nobody in the table has these values."


def _how_large(report: Report) -> list[Any]:
    known = [twins for twins in twins_of(report) if twins.known.degree is not None]
    blocks: list[Any] = [
        TextBlock(
            "A search gives a lower bound: the difference that it found exists, and a larger one "
            "may exist that it did not find. For supported kinds of models a certificate proves "
            "how large it can get at most, within the ranges of the data."
        )
    ]
    if known:
        blocks.append(_bounds_figure(known))
    if words := carries(report):
        blocks.append(TextBlock(isolated(words, report.sensitive_features)))
    for twins in twins_of(report):
        if twins.known.taken:
            blocks += why_not(twins.certificate, f"Certificate of {isolate(twins.known.of)}")
            blocks += [TextBlock(words)] if (words := engine_sentence(twins)) else []
    return blocks


def _further_pairs(report: Report) -> list[Any]:
    *alone, main = twins_of(report)
    blocks: list[Any] = []
    for twins in alone:
        if twins.known.pair is not None:
            pair, left = cut(twins.known.pair)
            words = f"Largest difference in {isolate(twins.known.of)} alone"
            caption = f"{words}: {figure(twins.known.degree)}"
            blocks += [TwinsBlock(pair, caption=caption), *left]
    search = main.search
    if search.further_pairs:
        kept = f", and kept {count(search.kept)}" if search.kept < search.found else ""
        found = (
            f"The search found {count(search.found)} inputs that the model treats differently "
            f"from a twin{kept}. These are the worst of them that differ from each other in two "
            "columns or more; report.to_json(path) writes all. Their number is no share of people, "
            "because a search looks where differences are large."
        )
        rows = [(str(place), pair) for place, pair in enumerate(search.further_pairs, start=1)]
        blocks += [TextBlock(found), pairs_table("Further pairs", "", rows)]
    return blocks or [TextBlock("No further pairs were found.")]


def _largest_table(known: Sequence[Twins]) -> TableBlock:
    figures = [
        (one.known.degree, one.search.degree, one.rows.degree, one.known.upper) for one in known
    ]
    lines = zip(*map(alike, zip(*figures, strict=True)), strict=True)
    rows = [
        [one.known.of, *three, bound(one.known, upper)]
        for one, (*three, upper) in zip(known, lines, strict=True)
    ]
    head = ["sensitive", "largest known", "by the search", "of a person", "largest possible"]
    return table("Largest difference by sensitive attribute", head, rows, most=300)


# Pictures --------------------------------------------------------------------------------------


def pair_display(report: Report) -> inspection.PairDisplay:
    """The display of the pair that differs most."""
    pair = together(report).known.pair
    if pair is None:
        raise ValueError(f"The report has no pair to show. {report.sentence}")
    return inspection.PairDisplay(pair)


def bounds_display(report: Report) -> inspection.BoundsDisplay:
    """The display of what was found and what is possible."""
    return _bounds(twins_of(report))


def _bounds(searched: Sequence[Twins]) -> inspection.BoundsDisplay:
    rows = [
        {
            "name": twins.known.of,
            "found": real(_found(twins)),
            "lower": real(twins.known.degree),
            "upper": real(twins.known.upper),
            "rows": real(twins.rows.degree),
            "certified": twins.known.certified,
        }
        for twins in searched
    ]
    return inspection.BoundsDisplay(pd.DataFrame(rows))


def _found(twins: Twins) -> float | None:
    """What was found before the certificate, which may have shown more."""
    before = twins.certificate.found
    is_certificate = twins.known.shown_by == "the certificate"
    return before if is_certificate and before is not None else twins.known.degree


def _bounds_figure(known: Sequence[Twins]) -> FigureBlock:
    alt = "; ".join(
        f"{twins.known.of}: found {figure(twins.search.degree)}, largest possible "
        f"{bound(twins.known)}, people {figure(twins.rows.degree)}"
        for twins in known[:10]
    )
    caption = (
        "The difference found, the largest difference of a person in the table, and the bound "
        "if there is one"
    )
    drawn = known[-20:]  # as many bars as one picture shows
    return FigureBlock(partial(_bounds, drawn), caption, alt, height=1.7 + 0.4 * len(drawn))
