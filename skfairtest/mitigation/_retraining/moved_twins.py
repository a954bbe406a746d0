"""Mitigation by moved twins: a row and the same row moved to another group, under one label."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.individual._flip_test.maps import Map, Maps
from skfairtest.individual._flip_test.share import MovedTwins, MovedValues
from skfairtest.mitigation._labelers import FoundPairs, average_label, label_pairs
from skfairtest.mitigation._retraining.metrics import unseen_share
from skfairtest.mitigation._retraining.near_rows import MOST_TWINS, joined
from skfairtest.mitigation._retraining.rounds import Measurements
from skfairtest.mitigation._retraining.training import Addition, TrainingFold
from skfairtest.mitigation._retraining.twin_strategies import TwinStrategy
from skfairtest.mitigation._shares import Measure
from skfairtest.space._space import InputSpace


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
        self.twins = twins = _twins_of(space, self.rng.spawn(1)[0], self.settings["n_jobs"])
        self.groups = twins.groups
        self.codes = np.full(len(space.data), -1)  # of rows whose group is too small to be moved
        self.codes[twins.rows] = twins.groups.codes
        self._half: Bools | None = None

    def left(self, found: Measurements, original: Measurements) -> float:
        """What is left of the original's share of rows that change when they are moved."""
        assert found.group is not None and original.group is not None, "moved twins are measured"
        return found.group.value / original.group.value if original.group.value > 0 else 0.0

    def group(
        self, models: list[Any], folds: list[TrainingFold], *, fresh: bool = False
    ) -> Measure:
        """The share of rows whose output changes when they are moved, of the model of all rows.

        A half of the rows is what rounds are chosen by; the others are fresh. There the interval is
        about people who are not in the table, for which the models of the folds are needed.
        """
        rows = self.twins.rows
        if self._half is None:
            self._half = np.isin(np.arange(len(rows)), self.rng.permutation(len(rows))[::2])
        weights = (self._half != fresh).astype(np.float64)
        if self.task.weights is not None:
            weights *= self.task.weights[rows]
        own, *of_folds = (
            self.twins.ask(model, self.settings, mean=self.measures_mean, again=not place)
            for place, model in enumerate(models if fresh else models[:1])
        )
        held = [np.isin(rows, fold.held) for fold in folds[1:]] if fresh else []
        return moved_share(own, of_folds, held, weights)

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
        known = self._known(fold)
        chosen = np.sort(fold.rng.permutation(known)[: max(1, int(share * len(known)))])
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
        chosen = self._known(fold)
        both = np.concatenate([fold.encoded[chosen][:, None, :], self._moved(fold, chosen)], axis=1)
        tables = [fold.space.decode(both[:, place]) for place in range(both.shape[1])]
        pairs = FoundPairs(
            tables[0], tables[1], True, fold.model, fold.ensemble, self.task.classes,
            tuple(tables[2:]),
        )  # fmt: skip
        labels = np.repeat(label_pairs(average_label, pairs), both.shape[1])
        flat = both.reshape(-1, both.shape[2])
        exists = fold.space.valid(flat)
        seeds = np.repeat(fold.rows[chosen], both.shape[1])[exists]
        weights = self.task.weights
        return Addition(
            fold.space.decode(flat[exists]),
            labels[exists],
            None,
            None if weights is None else weights[seeds],
        )

    def _known(self, fold: TrainingFold) -> Ints:
        """Places of the training rows whose group is moved."""
        return np.flatnonzero(self.codes[fold.rows] >= 0)

    def _moved(self, fold: TrainingFold, chosen: Ints) -> Floats:
        """Moved twins of training rows in the other groups, shape (n_chosen, n_twins, n_features).

        Of many groups a few are drawn for each row.
        """
        own = self.codes[fold.rows[chosen]]
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
            maps, known = Maps(None, self.space, self.groups), self._known(fold)
            codes = self.codes[fold.rows[known]]
            fold.kept["map"] = maps.learn(fold.encoded[known], codes)
        learned: Map = fold.kept["map"]
        return learned


def _twins_of(space: InputSpace, rng: np.random.Generator, n_jobs: int | None) -> MovedTwins:
    """The rows with their moved twins; an error where no map can be learned between groups."""
    try:
        return MovedTwins.of(None, space, None, rng, n_jobs=n_jobs)
    except ValueError as error:
        reason = str(error).split(". ")[0]
        raise ValueError(
            f"strategy='moved' cannot move rows between groups: {reason}. Put wider groups into "
            "the column, leave these rows out, or use strategy='twins'."
        ) from error


def moved_share(
    own: MovedValues, folds: list[MovedValues], held: list[Bools], weights: Floats | None,
    confidence: float = 0.95,
) -> Measure:  # fmt: skip
    """The share of moved rows whose output changes, with an interval about people like them.

    It has the map's error in it, as that of a `FlipTestAuditor`; and as a model may treat its own
    rows otherwise than others, it reaches to where that of the rows that folds hold out reaches.

    Parameters
    ----------
    own : MovedValues
        Of the model of all rows.
    folds : list of MovedValues
        Of those that were trained without some of the rows; none for an interval about the model's
        own rows.
    held : list of ndarray of bool of shape (n_moved,)
        Which rows these were trained without.
    weights : ndarray of shape (n_moved,) or None
        Of the rows; 0 leaves a row out.
    confidence : float
        Of the interval.
    """
    value, (low, high, *_) = own.interval(weights, confidence)
    if folds:
        values = [one.values for one in folds]
        people = unseen_share(own.values, held, values, weights, mean=own.mean)
        low, high = min(low, people.low), max(high, people.high)
    return Measure(value, low, high)
