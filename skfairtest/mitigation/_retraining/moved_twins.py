"""Mitigation by moved twins: a row and the same row moved to another group, under one label."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.maps import Map, Maps
from skfairtest.individual._flip_test.rate import changes_of
from skfairtest.mitigation._labelers import FoundPairs, average_label, label_pairs
from skfairtest.mitigation._retraining.metrics import unseen_share
from skfairtest.mitigation._retraining.near_rows import MOST_TWINS, joined
from skfairtest.mitigation._retraining.rounds import Measurements
from skfairtest.mitigation._retraining.training import Addition, TrainingFold
from skfairtest.mitigation._retraining.twin_strategies import TwinStrategy
from skfairtest.mitigation._shares import Judged, Measure
from skfairtest.oracle._model import Model
from skfairtest.transports._base import warn_of_single_values


class MovedRetraining(TwinStrategy):
    """Rows and their moved twins under one label, so that a model learns to treat both alike.

    A model that is given the sensitive columns can learn what a map does: that the same rank in
    another group means the same. One that is not given them cannot tell a row from a moved twin of
    another row.

    The first round adds a moved twin of each row with the row's own target; of half or a quarter of
    the rows, where that costs too much. Further rounds add the rows and their moved twins under the
    average of what the latest model says to them.
    """

    measured = "moved"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        space = self.space.with_encoded(self.space.encode(self.task.X))
        self.groups = groups = _groups_of(space)
        moving = np.setdiff1d(np.arange(space.data.shape[1]), groups.columns)
        warn_of_single_values(space.layout, space.data, groups.codes, groups.labels, moving)
        self._halves: list[Ints] = []

    def left(self, found: Measurements, original: Measurements) -> float:
        """What is left of the original's share of rows that change when they are moved."""
        assert found.group is not None and original.group is not None, "moved twins are measured"
        return found.group.value / original.group.value if original.group.value > 0 else 0.0

    def group(
        self, models: list[Any], folds: list[TrainingFold], *, fresh: bool = False
    ) -> Measure:
        """The share of rows whose output changes when they are moved, of the model of all rows.

        A half of the rows is what rounds are chosen by; the others are fresh. There the share is
        that among people who are not in the table, for which the models of the folds are needed.
        """
        if not self._halves:
            order = self.rng.permutation(len(self.task.y))
            self._halves = [np.sort(half) for half in np.array_split(order, 2)]
        rows = self._halves[int(fresh)]
        own, *of_folds = (
            self._judge(model, fold, rows, folds[0].encoded)
            for model, fold in zip(models if fresh else models[:1], folds, strict=fresh)
        )
        if not fresh:
            return own.measure(mean=self.measures_mean)
        values = [one.values(mean=self.measures_mean) for one in (own, *of_folds)]
        held = [np.isin(rows, fold.held) for fold in folds[1:]]
        weights = None if self.task.weights is None else self.task.weights[rows]
        return unseen_share(values[0], held, values[1:], weights, mean=self.measures_mean)

    def _judge(self, model: Any, fold: TrainingFold, rows: Ints, encoded: Floats) -> Judged:
        """Say how a fold's model treats rows, under the fold's map."""
        asked = Model(
            model,
            self.space,
            response_method=self.settings["response_method"],
            n_jobs=self.settings["n_jobs"],
        )
        moved = self._map(fold).move_all(encoded[rows], self.groups.codes[rows])
        changes = changes_of(asked, encoded[rows], moved, self.settings["threshold"])
        return Judged(changes.differs, changes.disparity)

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """Begin anew from the original as long as no round was kept."""
        if not self._any_kept:
            for fold in folds:
                fold.model = fold.kept.setdefault("original", fold.model)
                fold.kept["parts"] = []
        return None

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """All rows of the run so far, with those of this round."""
        parts = fold.kept["parts"]
        if self._any_kept:
            parts.append(self._under_average(fold))
        else:
            parts.append(self._under_own(fold, 0.5 ** (number - 1)))
        return joined(parts)

    def goes_on(self, kept: bool) -> bool:
        """Whether less of the rows may cost less, or another round may leave less."""
        return self.is_patient(kept)

    def _under_own(self, fold: TrainingFold, share: float) -> Addition:
        """Moved twins of a share of the rows, with the targets of these."""
        n = len(fold.rows)
        chosen = np.sort(fold.rng.permutation(n)[: max(1, int(share * n))])
        moved = self._moved(fold, chosen)
        exists = fold.space.valid(moved.reshape(-1, moved.shape[2]))
        seeds = np.repeat(fold.rows[chosen], moved.shape[1])[exists]
        weights = self.task.weights
        return Addition(
            fold.space.decode(moved.reshape(-1, moved.shape[2])[exists]),
            self.task.y[seeds],
            None,
            None if weights is None else weights[seeds],
        )

    def _under_average(self, fold: TrainingFold) -> Addition:
        """Rows and their moved twins, under the average of what the latest model says to them."""
        chosen = np.arange(len(fold.rows))
        both = np.concatenate([fold.encoded[:, None, :], self._moved(fold, chosen)], axis=1)
        tables = [fold.space.decode(both[:, place]) for place in range(both.shape[1])]
        pairs = FoundPairs(
            tables[0], tables[1], True, fold.model, fold.ensemble, self.task.classes,
            tuple(tables[2:]),
        )  # fmt: skip
        labels = np.repeat(label_pairs(average_label, pairs), both.shape[1])
        flat = both.reshape(-1, both.shape[2])
        exists = fold.space.valid(flat)
        seeds = np.repeat(fold.rows, both.shape[1])[exists]
        weights = self.task.weights
        return Addition(
            fold.space.decode(flat[exists]),
            labels[exists],
            None,
            None if weights is None else weights[seeds],
        )

    def _moved(self, fold: TrainingFold, chosen: Ints) -> Floats:
        """Moved twins of training rows in the other groups, shape (n_chosen, n_twins, n_features).

        Of many groups a few are drawn for each row.
        """
        own = self.groups.codes[fold.rows[chosen]]
        others = len(self.groups) - 1
        k = min(MOST_TWINS, others)
        start = fold.rng.integers(others, size=len(own)) if k < others else np.zeros(len(own), int)
        moved = np.empty((len(own), k, fold.encoded.shape[1]))
        for place in range(k):
            step = 1 + (start + place * others // k) % others
            target = (own + step) % len(self.groups)
            moved[:, place] = self._map(fold).move(fold.encoded[chosen], own, target)
        return moved

    def _map(self, fold: TrainingFold) -> Map:
        """The map between groups that a fold's training rows show."""
        if "map" not in fold.kept:
            maps = Maps(None, self.space, self.groups)
            fold.kept["map"] = maps.learn(fold.encoded, self.groups.codes[fold.rows])
        learned: Map = fold.kept["map"]
        return learned


def _groups_of(space: Any) -> Groups:
    """The groups of the rows; an error where no map can be learned between them."""
    try:
        groups = Groups.of(space, None)
    except ValueError as error:
        reason = str(error).split(". ")[0]
        raise ValueError(
            f"strategy='moved' cannot move rows between groups: {reason}. Put wider groups into "
            "the column, leave these rows out, or use strategy='twins'."
        ) from error
    counts = np.bincount(groups.codes)
    # Each row is moved to other groups, and every fold learns a map from some rows of each group.
    most, least = 12, 20
    if len(groups) > most or counts.min() < least:
        them = " and ".join(str(name) for name in groups.names)
        raise ValueError(
            f"strategy='moved' moves rows between up to {most} groups of {least} "
            f"rows or more; the values of {them} form {len(groups)} groups, the smallest of "
            f"{counts.min()} rows. Put wider groups into the column, or use strategy='twins'."
        )
    return groups
