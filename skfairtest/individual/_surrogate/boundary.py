"""The boundary of two labels: how far outputs are from it, and moves of inputs onto it."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.individual._surrogate.memory import Parents
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement


class Boundary:
    """Where the label of a classifier of two classes changes, and moves of inputs to there.

    Where discriminatory inputs are rare, they lie in a thin layer: the outputs for twins differ
    little, and the boundary has to pass between them. So one number of an input near the layer is
    changed by what is missing, as a linear model of the latest inputs tells.

    Parameters
    ----------
    search : SearchHandle
        Says how the model is asked, and which inputs there are.
    """

    def __init__(self, search: SearchHandle) -> None:
        self.space = search.space
        domain, free = self.space.domain, self.space.non_sensitive
        self._are_shares = search.response == "predict_proba"
        has_one = self._are_shares or search.response == "decision_function"
        self._is_there = has_one and search.threshold is None
        #: The largest output known below the boundary, and the smallest above it.
        self._below, self._above = -np.inf, np.inf
        levels = np.array([column.is_category for column in domain.columns])
        self._numbers = free[(~levels & (domain.high > domain.low))[free]]
        self._low = domain.low[self._numbers]
        self._width = domain.high[self._numbers] - self._low
        self._rounding = np.where(domain.discrete[self._numbers], 1 / self._width, 0.0)
        # Of the latest inputs: themselves, the margins of their twins, and those to be moved.
        self._Z: Floats = np.empty((0, self.space.n_features))
        self._margins: Floats = np.empty((0, 2))
        self._near = Parents(self._Z, np.empty((0, 2, len(self.space.sensitive))))
        self._chosen = np.empty(0, dtype=np.intp)

    def margins(self, judged: Judgement) -> Floats | None:
        """How far the outputs for the two twins are from the boundary, shape (n, 2).

        None means that there is no boundary: with more than two classes, or where a threshold or a
        regressor's outputs decide.
        """
        self._is_there &= not judged.output.any()
        if not self._is_there or not len(judged.output):
            return None
        outputs = judged.outputs
        if self._are_shares:
            # Log-odds do not bend where probabilities end.
            shares = outputs.clip(1e-6, 1 - 1e-6)
            outputs = np.log(shares / (1 - shares))
        # It is at even odds, or at 0, unless labels show that it is elsewhere.
        above = judged.labels == judged.labels.ravel()[outputs.argmax()]
        if not above.all():
            self._below = max(self._below, outputs[~above].max())
            self._above = min(self._above, outputs[above].min())
        return outputs - np.clip(0.0, self._below, self._above)

    def learn(self, Z: Floats, judged: Judgement, margins: Floats | None) -> None:
        """Remember the latest inputs, and which of them are to be moved."""
        self._near = self._near._replace(Z=Z[:0])
        if margins is None or self.space.near_data or not len(self._numbers):
            return
        # Those that discriminate are there already, and where twins are alike there is no layer. Of
        # the others, the nearer half of the inputs is moved.
        away = np.abs(margins.mean(axis=1))
        may = (away <= np.median(away)) & ~judged.verdict & (judged.disparity > 0)
        chosen = np.flatnonzero(may)
        pairs = np.stack([judged.first, judged.second], axis=1)
        self._near = Parents(Z[chosen], pairs[chosen])
        self._Z, self._margins, self._chosen = Z, margins, chosen

    @property
    def is_open(self) -> bool:
        """Whether there are inputs to move."""
        return len(self._near.Z) > 0

    def moved(self, n: int, rng: np.random.Generator) -> Parents:
        """Move n of the latest inputs onto the boundary, each along one column."""
        shares = (self._Z[:, self._numbers] - self._low) / self._width
        middle = self._margins.mean(axis=1)
        X = np.column_stack([shares, np.ones(len(shares))])
        slopes = np.linalg.lstsq(X, middle, rcond=None)[0][:-1]
        drawn = rng.integers(len(self._chosen), size=n)
        Z, pairs, at = self._near.Z[drawn], self._near.pairs[drawn], self._chosen[drawn]
        slopes = np.where(slopes == 0, 1e-300, slopes)
        to = shares[at] - np.clip(middle[at, None] / slopes, -2, 2)
        # Twins whose probabilities are both as good as certain have one margin.
        thick = np.maximum(self._margins[at, 0] - self._margins[at, 1], 1e-200)[:, None]
        # A move along whole numbers ends beside the layer, unless this is thicker than a step. So a
        # column is drawn by its chance, among those in which there is room.
        chance = thick / np.maximum(thick, np.abs(slopes) * self._rounding)
        waiting = rng.exponential(size=to.shape) / chance
        place = np.where((to >= 0) & (to <= 1), waiting, np.inf).argmin(axis=1)
        to = to[np.arange(n), place].clip(0, 1)
        Z[np.arange(n), self._numbers[place]] = self._low[place] + self._width[place] * to
        return Parents(Z, pairs)
