"""What a model has answered to the rows of a table, so that none is asked again."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._model import Labels, Model


class RowAnswers:
    """Answers to the rows of a table by their places, as far as they are known.

    Parameters
    ----------
    n : int
        Rows of the table.

    Attributes
    ----------
    scores, labels : ndarray of shape (n, n_outputs) and (n,)
        What `Model.ask` gave the rows that `is_asked`; `scores` is None before the first answer.
    predicted : ndarray of shape (n,)
        Codes of the labels that `predict` gave the rows that `is_predicted`.
    is_asked, is_predicted : ndarray of bool of shape (n,)
        Which rows are known.
    """

    def __init__(self, n: int) -> None:
        self.scores: Floats | None = None
        self.labels, self.predicted = np.zeros((2, n), dtype=np.int64)
        self.is_asked, self.is_predicted = np.zeros((2, n), dtype=bool)

    def keep(self, places: Ints, scores: Floats, labels: Labels) -> None:
        """Keep what `Model.ask` gave; what is known already stays."""
        if self.scores is None:
            self.scores = np.empty((len(self.labels), scores.shape[1]))
        new = ~self.is_asked[places]
        self.scores[places[new]], self.labels[places[new]] = scores[new], labels[new]
        self.is_asked[places] = True

    def keep_predicted(self, places: Ints, labels: Labels) -> None:
        """Keep the codes of the labels that `predict` gave."""
        self.predicted[places] = labels
        self.is_predicted[places] = True

    def ask(self, model: Model, Z: Floats, places: Ints) -> tuple[Floats, Labels]:
        """Scores and labels of the rows `Z` at some places; the model is asked about new ones."""
        is_new = ~self.is_asked[places]
        new, Z, labels = places[is_new], Z[is_new], None
        if model.response == "labels" or model.cost == 2:
            unknown = ~self.is_predicted[new]
            if unknown.any():
                self.keep_predicted(new[unknown], model.labels(Z[unknown]))
            labels = self.predicted[new]
        if len(new):
            self.keep(new, *model.ask(Z, labels))
        assert self.scores is not None
        return self.scores[places], self.labels[places]

    def part(self, places: Ints, usable: Bools) -> RowAnswers:
        """The answers to some of the rows, without those that are not `usable`."""
        other, own = RowAnswers(len(places)), np.flatnonzero(usable)
        other._copy(self, own, places[own])
        return other

    def learn(self, other: RowAnswers, places: Ints, usable: Bools) -> None:
        """Keep what was answered to a `part` of the rows."""
        theirs = np.flatnonzero(usable)
        self._copy(other, places[theirs], theirs)

    def _copy(self, other: RowAnswers, own: Ints, theirs: Ints) -> None:
        """Keep what another object knows of rows, the places of which are `theirs` there."""
        known = other.is_asked[theirs]
        if other.scores is not None:
            at = theirs[known]
            self.keep(own[known], other.scores[at], other.labels[at])
        known = other.is_predicted[theirs]
        self.keep_predicted(own[known], other.predicted[theirs[known]])
