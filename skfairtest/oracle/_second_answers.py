"""Non-deterministic models are refused: the first rows are asked twice.

A difference between two single answers of such a model may be noise, and a search for large
differences comes to where the noise is. So the first pairs of twins that differ are asked again,
and now and then the pair that differs most. Where there are no twins, the first rows are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exceptions import NonDeterministicModelError
from skfairtest.oracle._compare import ROUNDING_SINGLE
from skfairtest.oracle._model import Labels, Model, hash_labels

#: Share of the budget that may ask rows again, where outputs are numbers.
SHARE_AGAIN = 1 / 10
#: Queries of the first batch. The worst pair is asked again whenever the queries have doubled.
FIRST_BATCH = 64
#: What of the largest difference is too little to make one, and may be rounding in a larger batch.
NEGLIGIBLE = 1e-3


class SecondAnswers:
    """Compares second answers to rows with the first ones; an error says if they differ.

    Parameters
    ----------
    model : Model
        Gives the answers.
    max_queries : float, default=infinity
        Budget of the run.
    """

    def __init__(self, model: Model, max_queries: float = np.inf) -> None:
        self._model, self._budget = model, max_queries
        self._next_look = FIRST_BATCH
        self._n_rows = self._n_changed = 0
        self._largest = 0.0

    @property
    def _of_labels(self) -> bool:
        return self._model.response == "labels"

    @property
    def _share(self) -> float:
        """Share of the queries that may ask again.

        Labels need more: that one changes now and then shows in many rows only, and each change
        makes a false pair.
        """
        return 1 / 3 if self._of_labels else SHARE_AGAIN

    @property
    def n_left(self) -> float:
        """Queries that may still ask first rows again; 0 where these are less than a pair."""
        most = 200 if self._of_labels else 10
        left = min(most, self._share * self._budget) - self._n_asked
        return 0.0 if left < 2 * self._model.cost else left

    @property
    def _n_asked(self) -> int:
        return self._model.cost * self._n_rows

    @property
    def most_at_once(self) -> float:
        """Queries of a batch: a non-deterministic model is to be noticed early, and not at the end.

        The first batch is small, and others are as large as all before until the first pairs were
        asked again; later ones leave enough for another look.
        """
        if not self.n_left:
            # A quarter of the budget leaves enough for another look at the worst pair.
            return 1 / 4 * self._budget
        return max(min(FIRST_BATCH, SHARE_AGAIN * self._budget), self._model.n_rows)

    def first(self, disparity: Floats, queries_left: float = np.inf) -> Ints:
        """Return which of some pairs to ask again: the first that differ."""
        n_pairs = int(min(self.n_left, queries_left) // (2 * self._model.cost))
        return np.flatnonzero(disparity > 0)[: max(0, n_pairs)]

    def is_time(self) -> bool:
        """Return whether to ask the worst pair again: whenever the queries have doubled."""
        n_queries = self._model.n_rows
        too_many = self._n_asked + 2 * self._model.cost > self._share * n_queries
        if self.n_left or n_queries < self._next_look or too_many:
            return False
        self._next_look = 2 * n_queries
        return True

    def compare(
        self, before: tuple[Floats, Labels], after: tuple[Floats, Labels], least: float = 0.0
    ) -> None:
        """Compare two answers to each of some rows; no scores differ by less than `least`.

        Raises
        ------
        NonDeterministicModelError
            If an answer differs by more than rounding.
        """
        gaps = np.abs(after[0] - before[0])
        # The last digits may depend on the rows beside; of labels read off scores so may a tie.
        scale = max(float(np.abs(before[0]).max()), float(np.abs(after[0]).max()))
        changed: Bools = np.any(gaps > max(ROUNDING_SINGLE * scale, least), axis=1)
        if not self._model.infers_labels:
            changed |= before[1] != after[1]
        self._n_rows += len(changed)
        self._n_changed += int(changed.sum())
        self._largest = max(self._largest, float(gaps.max()))
        if not self._n_changed:
            return
        by = "" if self._of_labels else f", by up to {self._largest:.3g}"
        raise NonDeterministicModelError(
            "The model must give a row the same answer whenever it is asked; of the first "
            f"{self._n_rows} rows that were asked twice, {self._n_changed} got another answer the "
            f"second time{by}. Differences between people would be confused with these. Fix what "
            "the answers are drawn from (a seed, dropout that is off, a temperature of 0), or "
            'audit a model that averages several answers to a row, as the guide "Non-deterministic '
            'models" has one.'
        )


def as_answers(predicted: NDArray[Any]) -> tuple[Floats, Labels]:
    """Return what a model predicts as scores and labels, to be compared; one of them is all 0."""
    n = len(predicted)
    if predicted.dtype.kind in "biuf":
        return predicted.astype(np.float64).reshape(n, -1), np.zeros(n, dtype=np.int64)
    return np.zeros((n, 1)), hash_labels(predicted)


def n_again(max_queries: float = np.inf) -> int:
    """Return about how many rows to ask again where there are no pairs."""
    # Where there are no pairs, 100 rows are asked twice, or the smaller share of the budget.
    return int(min(100, SHARE_AGAIN * max_queries))
