"""The people in the table: what each would get if only the sensitive values were changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.finding._pair import Pair, make_pair
from skfairtest.group._rules.sensitive_groups import UNKNOWN, sensitive_attributes
from skfairtest.oracle._model import Labels, named_labels
from skfairtest.oracle._rows import ComparedRows, RowComparison
from skfairtest.report._context import AuditContext
from skfairtest.report.parts.rows.results import Direction, PeopleOfGroup
from skfairtest.space._space import InputSpace


class RowChanges(NamedTuple):
    """What the twins of each row get, and the row itself; arrays of length n."""

    #: Codes of the row's own label, and of the label of a twin that has another one.
    label: Labels
    other: Labels
    #: By how much the output of a twin is at most above and below that of the row itself. Of
    #: several outputs both are the distance in the one that differs most.
    up: Floats
    down: Floats
    #: Whether a twin gets another label.
    flips: Bools
    #: The twin with another label, or else any twin, whose output is farthest from the row's.
    twin: Ints

    @property
    def farthest(self) -> Floats:
        """Return by how much the output of a twin differs from that of the row itself."""
        return np.maximum(self.up, self.down)


def look_at_twins(comparison: RowComparison, compared: ComparedRows) -> RowChanges:
    """Compare rows that were just judged with their twins, one direction at a time.

    `ComparedRows.pair` says which two twins of a row differ most; the row itself need not be one of
    the two.
    """
    rows, n = compared.rows, len(compared.rows)
    found = RowChanges(
        np.full(n, -1),
        np.full(n, -1),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, dtype=bool),
        rows.own.copy(),
    )
    part = np.flatnonzero(compared.shown.disparity > 0)
    if not len(part):
        return found
    # A person exists, whatever the conditions say.
    scores, labels = comparison.answers(rows, np.column_stack([part, rows.own[part]]))
    gaps = compared.scores[part] - scores[:, None]
    there = compared.valid[part]
    distance = np.where(there, np.abs(gaps).max(axis=2), -1.0)
    differs = there & (compared.labels[part] != labels[:, None])
    response = comparison.model.response
    if comparison.threshold is None and response != "regression":
        # `predict` has confirmed the verdict.
        differs &= compared.shown.verdict[part, None]
    if response == "labels":
        distance = np.where(there, differs.astype(np.float64), -1.0)
    flips = differs.any(axis=1)
    chosen = np.where(flips[:, None] & ~differs, -1.0, distance).argmax(axis=1)
    at = np.arange(len(part))
    found.label[part] = labels
    found.other[part] = compared.labels[part[at], chosen]
    found.flips[part] = flips
    found.twin[part] = compared.twins[part[at], chosen]
    if gaps.shape[2] == 1 and response != "labels":
        found.up[part] = np.where(there, gaps[:, :, 0], 0.0).max(axis=1, initial=0.0)
        found.down[part] = np.where(there, -gaps[:, :, 0], 0.0).max(axis=1, initial=0.0)
    else:
        found.up[part] = found.down[part] = distance.max(axis=1, initial=0.0)
    return found


def count_people(
    context: AuditContext, space: InputSpace, rows: Ints, changes: RowChanges, above: float | None
) -> dict[str, Any]:
    """Count rows by group and by what they would get instead.

    `above` is the difference of outputs from which a row counts; None counts other labels.
    """
    has_sides = bool((changes.up != changes.down).any())
    if above is None:
        changed = changes.flips
        names = _names(context, np.concatenate([changes.label[changed], changes.other[changed]]))
        n = int(changed.sum())
        labels = [("", "another")] * n
        if names is not None:
            labels = list(zip(names[:n], names[n:], strict=True))
        directions: list[list[tuple[str, str]]] = [[] for _ in rows]
        for place, one in zip(np.flatnonzero(changed).tolist(), labels, strict=True):
            directions[place].append(one)
    else:
        higher, lower = changes.up > above, changes.down > above
        changed = higher | lower
        sides = [(higher, "higher"), (lower, "lower")] if has_sides else [(changed, "another")]
        directions = [
            [("", word) for mask, word in sides if mask[place]] for place in range(len(rows))
        ]
    return {
        "counts_above": above,
        "changed": int(changed.sum()),
        "by_group": _by_group(context, space, rows, changed, directions),
    }


def _names(context: AuditContext, codes: Labels) -> list[str] | None:
    """Return the labels of codes, which are positions in `classes_` or hashes."""
    classes = getattr(context.estimator, "classes_", None)
    if context.model.infers_labels:
        if not isinstance(classes, np.ndarray) or classes.ndim != 1:
            return None
        return [str(name) for name in classes[codes].tolist()]
    named = named_labels(codes, context.estimator) if len(codes) else np.empty(0)
    return None if named is None else [str(name) for name in named.tolist()]


def _by_group(
    context: AuditContext,
    space: InputSpace,
    rows: Ints,
    changed: Bools,
    directions: list[list[tuple[str, str]]],
) -> list[PeopleOfGroup]:
    names = [str(space.domain.columns[j].name) for j in space.sensitive.tolist()]
    values = context.sensitive_values(rows)[names]
    crossed = [tuple(names)] if len(names) > 1 else False
    try:
        attribute = sensitive_attributes(values, len(rows), crossed)[-1]
    except ValueError:  # thousands of groups: numbers of people, not groups of them
        return []
    codes = np.where(attribute.codes < 0, len(attribute.groups), attribute.codes)
    counted = []
    for place, group in enumerate([*attribute.groups, UNKNOWN]):
        inside = np.flatnonzero(codes == place)
        if len(inside):
            by_direction = Counter(one for k in inside.tolist() for one in directions[k])
            listed = sorted(by_direction.items(), key=lambda item: (-item[1], item[0]))
            counts = [Direction(before, after, n) for (before, after), n in listed]
            counted.append(PeopleOfGroup(group, len(inside), int(changed[inside].sum()), counts))
    return counted


def person_to_show(changes: RowChanges, order: Ints) -> int | None:
    """Return the place of the row to show: a changed label first, then the largest difference."""
    farthest = changes.farthest
    if not (farthest > 0).any():
        return None
    return int(np.lexsort((order, -farthest, ~changes.flips))[0])


def own_values(row: Any, pair: Pair) -> list[Any]:
    """Return what a row, given twice as a table, has in the columns in which two twins differ."""
    own = make_pair(row, outputs=None, output="", difference=0.0, threshold=None)
    both = zip(own.cells, pair.cells, strict=True)
    return [own.first for own, cell in both if cell.changed]


def beginning_with(own: list[Any], pair: Pair) -> Pair:
    """Return the pair with the person first, whose values in the changed columns are `own`."""
    if [cell.first for cell in pair.cells if cell.changed] == own:
        return pair
    return replace(
        pair,
        cells=tuple(replace(cell, first=cell.second, second=cell.first) for cell in pair.cells),
        outputs=None if pair.outputs is None else pair.outputs[::-1],
        labels=None if pair.labels is None else pair.labels[::-1],
    )
