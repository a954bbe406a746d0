"""Score how much inputs look like rows of the data, by a classifier of real and made-up rows.

A density of mixed columns is hard to estimate; telling rows that were seen from rows that were put
together of their parts is easy, and needs no distance. What it is trained against decides what it
sees: crossings of two rows at random and rows with a few foreign values have every column right by
itself and the ties between the columns wrong, uniform inputs are wrong in everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.space._domain import Domain


class RealVsSyntheticClassifier:
    """Classifiers of real and made-up rows, which score how much inputs look like real rows.

    The rows are halved, and each half is scored by a classifier that learned from the other one,
    twice over. A new input is scored by one classifier of each halving: a row that was not learned
    from is then scored just as the rows were, and ranks mean what they say.

    Parameters
    ----------
    domain : Domain
        The values of the attributes.
    rows : ndarray of shape (n_rows, n_features)
        Real encoded rows.
    rng : Generator
        Makes up the inputs that rows are separated from.

    Attributes
    ----------
    of_rows : ndarray
        Scores of real rows by classifiers that have not seen them, sorted.
    """

    @one_thread()
    def __init__(self, domain: Domain, rows: Floats, rng: np.random.Generator) -> None:
        self.domain = domain
        rows = rows[rng.permutation(len(rows))[:20_000]]  # more rows take longer than they help
        scores = np.zeros(len(rows))
        self._models = []
        for _ in range(2):
            half = rng.permutation(len(rows)) % 2
            first, second = (self._fit(rows[half == side], rng) for side in (0, 1))
            scores[half == 1] += first.decision_function(rows[half == 1])
            scores[half == 0] += second.decision_function(rows[half == 0])
            self._models.append(first)
        self.of_rows: Floats = np.sort(scores / len(self._models))

    @one_thread()
    def score(self, Z: Floats) -> Floats:
        """Return the log-odds that an input is a real row, of one to about three; shape (n,)."""
        if not len(Z):
            return np.empty(0)
        score: Floats = np.mean([model.decision_function(Z) for model in self._models], axis=0)
        return score

    def _fit(self, rows: Floats, rng: np.random.Generator) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        # Three made-up inputs for each row; for a few rows enough to learn from.
        made_up = self._make_up(max(3 * len(rows), 3_000), rows, rng)
        Z = np.concatenate([rows, made_up])
        is_row = np.arange(len(Z)) < len(rows)
        # Without weights, with which scikit-learn takes several times as long to find bins: they
        # would add a constant to all scores.
        # Encoded values of categories as numbers: as good here, and half as long to ask.
        # Few bins: wide tables of measurements take most of their time for bins.
        # Few large trees: as good as three times as many small ones, and half as long to ask. A
        # tree looks at few columns, so that wide tables need more. The learning rate is such that
        # all of them together learn as much, however many there are.
        n_trees = int(np.clip(rows.shape[1] / 2, 20, 60))
        model = HistGradientBoostingClassifier(
            max_iter=n_trees, learning_rate=10.0 / n_trees, max_leaf_nodes=63,
            l2_regularization=2.0, max_bins=63, early_stopping=False,
            random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        return model.fit(Z, is_row)

    def _make_up(self, n: int, rows: Floats, rng: np.random.Generator) -> Floats:
        n_crossed = n_foreign = int(0.4 * n)  # the rest are uniform
        return np.concatenate(
            [
                cross_rows(rows, n_crossed, rng),
                with_foreign_values(rows, n_foreign, rng),
                self.domain.draw(n - n_crossed - n_foreign, rng),
            ]
        )


def cross_rows(rows: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Cross two random rows, taking half of the values from either."""
    first, second = rows[rng.integers(len(rows), size=(2, n))]
    crossed: Floats = np.where(rng.random(first.shape) < 0.5, first, second)
    return crossed


def with_foreign_values(rows: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return random rows with up to three values from other rows, one from each."""
    made: Floats = rows[rng.integers(len(rows), size=n)]
    here: Ints = np.arange(n)
    for _ in range(min(3, rows.shape[1])):
        column = rng.integers(rows.shape[1], size=n)
        made[here, column] = rows[rng.integers(len(rows), size=n), column]
    return made
