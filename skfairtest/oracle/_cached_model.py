"""Model with a cache: each distinct row costs one query, and a known row costs none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._model import Labels, Model, hash_labels
from skfairtest.oracle._row_hash import AnswerMemory, Keys, combine_keys, distinct, row_keys
from skfairtest.space._space import InputSpace


class CachedModel:
    """Model with a cache of its outputs by row.

    Parameters
    ----------
    model : Model
        Gives the predictions.
    space : InputSpace
        Which columns are sensitive.
    took : callable
        Told after each call of the model how many queries it was, and how many seconds it took.
    """

    def __init__(self, model: Model, space: InputSpace, took: Callable[[int, float], None]) -> None:
        self.model = model
        self.space = space
        self._took = took
        self._memory: AnswerMemory | None = None
        self._predicted = AnswerMemory(0, megabytes=4)

    def twins(
        self, Z: Floats, values: Floats, inputs: Keys | None = None
    ) -> tuple[Keys, Floats, Keys, Bools]:
        """Return keys of the inputs, and encoded values, keys and validity of all their twins.

        `values` are the encoded sensitive values of each input's twins, (n, width, n_sensitive);
        `inputs` the keys of the inputs where they are known.
        """
        n, width = values.shape[:2]
        inputs = self.input_keys(Z) if inputs is None else inputs
        twins = self.space.twins_
        rows = twins.of_each(Z, values)
        if twins.descendants is None:
            # Where all inputs have the same twins, one array stands for all.
            some = values[:1] if values.strides[0] == 0 else values
            own = row_keys(some.reshape(-1, values.shape[2])).reshape(-1, width)
            keys = combine_keys(
                np.repeat(inputs, width), np.broadcast_to(own, (n, width)).ravel()
            )  # fmt: skip
        else:  # twins differ elsewhere, too
            keys = self.row_keys(rows)
        return inputs, rows, keys, self.space.valid(rows).reshape(n, width)

    def input_keys(self, Z: Floats) -> Keys:
        """Return the keys of inputs, sensitive values left out."""
        return row_keys(Z[:, self.space.non_sensitive])

    def row_keys(self, rows: Floats) -> Keys:
        """Return the keys of whole rows, sensitive values included."""
        free, sensitive = rows[:, self.space.non_sensitive], rows[:, self.space.sensitive]
        return combine_keys(row_keys(free), row_keys(sensitive))

    def n_new(self, keys: Keys, allowed: Bools) -> Ints:
        """Return how many rows of each input are not known yet, (n,); equal rows count once."""
        new = allowed.ravel()
        if self._memory is not None:
            new = new & ~self._memory.find(keys.ravel())[0]
        first = np.zeros(len(new), dtype=bool)
        first[np.unique(np.where(new, keys.ravel(), 0), return_index=True)[1]] = True
        return np.asarray((new & first).reshape(keys.shape).sum(axis=1))

    def ask(self, rows: Any, keys: Keys) -> tuple[Floats, Labels]:
        """Scores (n, n_outputs) and label codes (n,) of the rows."""
        known = np.zeros(len(rows), dtype=bool)
        if self._memory is not None:
            known, scores, labels = self._memory.find(keys)
        unknown = np.flatnonzero(~known)
        if len(unknown):
            first, back = distinct(keys[unknown])
            asked = unknown[first]
            began = _clock.now()
            new_scores, new_labels = self.model.ask(
                rows if len(asked) == len(rows) else rows[asked]
            )
            self._took(len(asked) * self.model.cost, _clock.now() - began)
            if self._memory is None:
                self._memory = AnswerMemory(new_scores.shape[1])
                scores = np.empty((len(rows), new_scores.shape[1]))
                labels = np.empty(len(rows), dtype=np.int64)
            self._memory.store(keys[asked], new_scores, new_labels)
            scores[unknown] = new_scores[back]
            labels[unknown] = new_labels[back]
        return scores, labels

    def probe(self, Z: Floats) -> None:
        """Test on a few rows how the model has to be asked; see `Model.probe`."""
        began, before = _clock.now(), self.model.n_rows
        self.model.probe(Z)
        self._took(self.model.n_rows - before, _clock.now() - began)

    def ask_again(self, rows: Floats) -> tuple[Floats, Labels]:
        """Scores and label codes of the rows as the model answers now, not as it did before."""
        began = _clock.now()
        answer = self.model.ask(rows)
        self._took(len(rows) * self.model.cost, _clock.now() - began)
        return answer

    def labels(self, rows: Any, keys: Keys) -> Labels:
        """Return the codes of the labels that `predict` gives the rows, shape (n,)."""
        known, _, labels = self._predicted.find(keys)
        unknown = np.flatnonzero(~known)
        if len(unknown):
            first, back = distinct(keys[unknown])
            asked = unknown[first]
            new = self.model.predict(rows if len(asked) == len(rows) else rows[asked])
            codes = hash_labels(new)
            self._predicted.store(keys[asked], np.empty((len(first), 0)), codes)
            labels[unknown] = codes[back]
        return labels


def at_wanted(wanted: Bools, scores: Floats, labels: Labels) -> tuple[Floats, Labels]:
    """Put answers to the wanted ones of some rows in their places; the others have 0."""
    every = np.zeros((len(wanted), scores.shape[1])), np.zeros(len(wanted), dtype=np.int64)
    every[0][wanted], every[1][wanted] = scores, labels
    return every
