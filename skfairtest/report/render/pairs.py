"""Pairs of twins in words and in tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from skfairtest.finding._pair import Cell, Pair
from skfairtest.finding._words import at_decimals, value_text, with_difference
from skfairtest.report.render.blocks import TableBlock, TextBlock, alike, table
from skfairtest.report.render.words import isolate


def outputs_text(pair: Pair) -> str:
    """Both outputs: "probability of yes: 0.82 against 0.22"."""
    return f"{pair.output}: {_outputs(pair)}"


def _outputs(pair: Pair) -> str:
    if pair.outputs is not None:
        return " against ".join(with_difference(*pair.outputs)[:2])
    if pair.labels is None:
        return "different for the two"
    return " against ".join(isolate(value_text(label)) for label in pair.labels)


def cut(pair: Pair) -> tuple[Pair, list[TextBlock]]:
    """The pair with what changes and eight other columns that matter, and how many are left."""
    shown, folded = pair.changed_first(8)
    words = f"More columns, equal in both twins and not listed here: {len(folded)}."
    left = [TextBlock(words, quiet=True)] if folded else []
    return replace(pair, cells=tuple(shown)), left


def pairs_table(
    caption: str, first: str, named: Sequence[tuple[str, Pair]], own: Sequence[Sequence[Any]] = ()
) -> TableBlock:
    """Pairs below each other: both outputs, what changed, and the columns that matter most.

    `own` has for each pair what the row itself has in the changed columns.
    """
    pairs = [pair for _, pair in named]
    changed = [
        place
        for place, cells in enumerate(zip(*(pair.cells for pair in pairs), strict=True))
        if any(cell.changed for cell in cells)
    ]
    # By place, since names may repeat.
    cells = pairs[0].cells
    others = [place for place in range(len(cells)) if place not in changed]
    others.sort(key=lambda place: -(cells[place].matters or 0.0))
    others = others[:3]  # fewer than of one pair: the table is as wide as they are
    if left := len(cells) - len(changed) - len(others):
        caption += f"; columns that matter less and are not listed: {left}"
    is_wide = len(changed) > 4  # what changes then stands in one column
    heads = ["≠"] if is_wide else [f"≠ {cells[place].name}" for place in changed]
    # What the outputs are stands in the head, where it is one thing.
    is_one = len({pair.output for pair in pairs}) == 1
    rows = []
    rounded = alike([pair.difference for pair in pairs])
    outputs_of = _with_differences(pairs)
    told = [outputs_text(pair) for pair in pairs]
    if is_one:
        told = [" against ".join(one[:2]) for one in outputs_of] or list(map(_outputs, pairs))
    for k, (name, pair) in enumerate(named):
        changes = _changes([pair.cells[place] for place in changed], own[k] if own else ())
        if is_wide:
            both = zip(changed, changes, strict=True)
            cell_words = [
                f"{isolate(cells[place].name)}: {words}"
                for place, words in both
                if pair.cells[place].changed
            ]
            changes = ["; ".join(cell_words)]
        rows.append([
            name,
            outputs_of[k][2] if outputs_of else rounded[k],
            told[k],
            *changes,
            *(value_text(pair.cells[place].first) for place in others),
        ])  # fmt: skip
    outputs = pairs[0].output if is_one else "outputs"
    head = [first or "pair", "difference", outputs, *heads]
    head += [str(cells[place].name) for place in others]
    return table(caption, head, rows, words=range(2, len(head)))


def _with_differences(pairs: Sequence[Pair]) -> list[tuple[str, str, str]]:
    """Outputs and differences of a column, with equally many decimals; none without outputs."""
    outputs = [pair.outputs for pair in pairs if pair.outputs is not None]
    words = [with_difference(*both) for both in outputs]
    if len(outputs) < len(pairs) or any("e" in one for triple in words for one in triple):
        return []
    decimals = max(len(one.partition(".")[2]) for triple in words for one in triple)
    return [at_decimals(*both, decimals) for both in outputs]


def _changes(cells: Sequence[Cell], own: Sequence[Any]) -> list[str]:
    """Both values of each cell, of changed ones with what the row itself has."""
    left = iter(own)
    return [_change(cell, *islice(left, int(cell.changed))) for cell in cells]


def _change(cell: Cell, *own: Any) -> str:
    """Both values; that of the person is marked, and added where it is neither."""
    if not cell.changed:
        return value_text(cell.first)
    both = (cell.first, cell.second)
    words = " → ".join(f"{isolate(value_text(one))}{' (own)' * (one in own)}" for one in both)
    neither = [isolate(value_text(one)) for one in own if one not in both]
    return "; own value ".join([words, *neither])
