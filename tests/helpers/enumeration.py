"""The true fairness degree by full enumeration of a small space; shares no code with the package.

A discrete column stands with all its values. A real column stands with one value for each cell that
the model's thresholds cut it into: candidates are data values, ends and random values, and between
two candidates that fall into different cells the border is found by bisection, through the model's
own preprocessing. For trees that is all there is to a real column; for other models it is dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from checker import MISSING, Question, ask, chosen_response, make_rows, rows_of
from sklearn.pipeline import Pipeline

#: Rows of an enumeration; beyond them a random part of the free inputs is taken.
MOST_ROWS = 40_000


@dataclass
class Truth:
    """Largest disparity of an enumeration, and whether it is that of the whole domain."""

    degree: float
    complete: bool
    pair: Any
    scale: float
    single: bool


def enumerate_degree(question: Question, model: Any, rng: np.random.Generator) -> Truth:
    """The largest difference between twins over all combinations of representatives."""
    values, complete = [], True
    for name in question.names:
        domain = question.domains[name]
        if domain.is_real:
            chosen, cells = representatives(question, model, name, rng)
            complete &= cells
            values.append([*chosen, MISSING] if domain.missing else chosen)
        else:
            values.append(domain.listed())
    free = [question.names.index(name) for name in question.non_sensitive]
    sensitive = [question.names.index(name) for name in question.sensitive]
    width = int(np.prod([len(values[j]) for j in sensitive]))
    n_free = int(np.prod([float(len(values[j])) for j in free]))
    most = max(1, MOST_ROWS // width)
    if n_free > most:
        complete = False
        picks = [[values[j][k] for k in rng.integers(len(values[j]), size=most)] for j in free]
        inputs = list(zip(*picks, strict=True))
    else:
        inputs = list(product(*(values[j] for j in free)))
    combinations = list(product(*(values[j] for j in sensitive)))
    columns: list[list[Any]] = [[] for _ in values]
    for place, j in enumerate(free):
        columns[j] = [row[place] for row in inputs for _ in combinations]
    for place, j in enumerate(sensitive):
        columns[j] = [combination[place] for combination in combinations] * len(inputs)
    rows = make_rows(question.table, columns)
    said = ask(model, rows, chosen_response(model, question.response_method))
    scores = said.scores.reshape(len(inputs), len(combinations), -1)
    admitted = question.admits(rows).reshape(len(inputs), len(combinations), 1)
    high = np.where(admitted, scores, -np.inf).max(axis=1)
    low = np.where(admitted, scores, np.inf).min(axis=1)
    spread = np.where(admitted.any(axis=1), high - low, 0.0)
    i, output = np.unravel_index(spread.argmax(), spread.shape)
    shown = np.where(admitted[i, :, 0], scores[i, :, output], np.nan)
    ends = i * len(combinations) + np.array([np.nanargmax(shown), np.nanargmin(shown)])
    pair = [[column[k] for column in columns] for k in ends]
    return Truth(float(spread[i, output]), complete, pair, float(np.abs(scores).max()), said.single)


# Cells of a real column --------------------------------------------------------------------


def representatives(
    question: Question, model: Any, name: Any, rng: np.random.Generator
) -> tuple[list[float], bool]:
    """Values of a real column, and whether they are one for each cell of a model of trees."""
    domain = question.domains[name]
    place = question.names.index(name)
    present = [row[place] for row in rows_of(question.table, question.names)]
    drawn = rng.uniform(domain.low, domain.high, 9).tolist()
    candidates = [domain.low, domain.high, *drawn]
    candidates += [value for value in present if value is not MISSING and domain.holds(value)]
    if question.constraint is not None:
        return _held(question, name, candidates), False
    cells = Cells(question, model, name)
    if cells.thresholds is None:
        return _held(question, name, candidates), False
    chosen, found = cells.cover(candidates)
    return chosen, found


def _held(question: Question, name: Any, candidates: list[float]) -> list[float]:
    """The different values that the column holds in place of the candidates, in order."""
    place = question.names.index(name)
    first = rows_of(question.table, question.names)[0]
    rows = make_rows(
        question.table,
        [candidates if j == place else [first[j]] * len(candidates) for j in range(len(first))],
    )
    return sorted({row[place] for row in rows_of(rows, question.names)})


class Cells:
    """Which thresholds of the model a value of one column lies above, through the pipeline."""

    def __init__(self, question: Question, model: Any, name: Any) -> None:
        self.question = question
        self.name = name
        self.place = question.names.index(name)
        self.first = list(rows_of(question.table, question.names)[0])
        self.steps, last = [], model
        while isinstance(last, Pipeline):
            self.steps += [step for _, step in last.steps[:-1] if hasattr(step, "transform")]
            last = last.steps[-1][1]
        seen = np.asarray(self._through(question.table), dtype=np.float64)
        self.thresholds = thresholds_of(last, seen)

    def _through(self, rows: Any) -> Any:
        for step in self.steps:
            rows = step.transform(rows)
        return rows.toarray() if hasattr(rows, "toarray") else rows

    def cells(self, values: list[float]) -> np.ndarray:
        """The cell of each value: how many thresholds of each feature lie below, in both widths."""
        columns = [[value] * len(values) for value in self.first]
        columns[self.place] = values
        seen = np.asarray(self._through(make_rows(self.question.table, columns)))
        counts = []
        for (feature, width), cuts in self.thresholds.items():
            with np.errstate(over="ignore"):
                values_seen = seen[:, feature].astype(width).astype(np.float64)
            counts.append(np.searchsorted(cuts, values_seen, side="left"))
        return np.column_stack(counts) if counts else np.zeros((len(values), 1), dtype=int)

    def cover(self, candidates: list[float], rounds: int = 70) -> tuple[list[float], bool]:
        """One value for each cell, and whether none can be missing."""
        points = _held(self.question, self.name, candidates)
        for _ in range(rounds):
            cells = self.cells(points)
            gaps = np.flatnonzero(np.abs(np.diff(cells, axis=0)).sum(axis=1) > 1)
            middles = [points[i] / 2 + points[i + 1] / 2 for i in gaps]
            held = set(_held(self.question, self.name, middles)) if middles else set()
            new = held - set(points)
            if not new:
                break
            low, high = self.question.domains[self.name].low, self.question.domains[self.name].high
            points = sorted({*points, *(value for value in new if low <= value <= high)})
        cells = self.cells(points)
        _, first = np.unique(cells, axis=0, return_index=True)
        return [points[i] for i in sorted(first)], not len(gaps) or not new


#: A feature and the width of the numbers that are compared with its cuts.
Cuts = dict[tuple[int, str], np.ndarray]


def thresholds_of(model: Any, seen: np.ndarray) -> Cuts | None:
    """Sorted cuts of each feature, for trees and what is made of them; None for other models."""
    if hasattr(model, "tree_"):
        tree = model.tree_
        inner = tree.feature >= 0
        return _merged([((int(j), "float32"), cut) for j, cut in
                        zip(tree.feature[inner], tree.threshold[inner], strict=True)])  # fmt: skip
    if type(model).__name__.startswith("HistGradientBoosting"):
        # Bins end halfway between neighbouring values of the training table.
        parts = []
        for feature in range(seen.shape[1]):
            distinct = np.unique(seen[:, feature][np.isfinite(seen[:, feature])])
            for cut in (*(distinct[:-1] * 0.5 + distinct[1:] * 0.5), *distinct):
                parts.append(((feature, "float64"), cut))
        return _merged(parts)
    if not hasattr(model, "estimators_"):
        return None
    members = np.asarray(model.estimators_, dtype=object).ravel()
    features = getattr(model, "estimators_features_", [None] * len(members))
    parts = []
    for member, chosen in zip(members, features, strict=True):
        part = seen if chosen is None else seen[:, chosen]
        cuts = None if isinstance(member, Pipeline) else thresholds_of(member, part)
        if cuts is None:
            return None
        for (feature, width), values in cuts.items():
            own = feature if chosen is None else int(chosen[feature])
            parts += [((own, width), value) for value in values]
    return _merged(parts)


def _merged(parts: list[tuple[tuple[int, str], float]]) -> Cuts:
    cuts: dict[tuple[int, str], set[float]] = {}
    for key, value in parts:
        cuts.setdefault(key, set()).add(float(value))
    return {key: np.array(sorted(values)) for key, values in cuts.items()}
