"""Where the gradient testers take their gradients from: differences, a model, or the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.individual._gradient.analytic import AnalyticGradient
from skfairtest.individual._gradient.two_phase import GUARD, Gradient
from skfairtest.oracle._handle import SearchHandle
from skfairtest.space._space import InputSpace


class ZeroOrderGradient:
    """Algorithm 2: differences of the model's outputs, one step of each attribute away.

    Forward, and backward where forward would leave the domain (or break the constraint). Whole
    numbers move by whole steps.
    """

    def __init__(self, search: SearchHandle) -> None:
        self.search, self.space = search, search.space
        delta = self.space.domain.steps
        self.delta = np.where(self.space.domain.discrete, np.maximum(1.0, np.rint(delta)), delta)

    def __call__(self, Z: Floats, scores: Floats, column: Ints) -> Floats:
        """Change per step of the chosen output, or of the one-hot predicted class for labels."""
        n, free = len(Z), self.space.non_sensitive
        rows, moved = self.one_step_away(Z)
        g = np.zeros((n, len(free)))
        used = moved != 0
        if used.any():
            answers = self.search.respond(rows[used])
            owner = np.repeat(np.arange(n), len(free)).reshape(used.shape)[used]
            if self.search.response == "labels":
                change = (answers[:, 0] == scores[owner, 0]) - 1.0
            else:
                own = column[owner]
                change = answers[np.arange(len(own)), own] - scores[owner, own]
            g[used] = change / moved[used]
        full = np.zeros(Z.shape)
        full[:, free] = g * self.space.domain.steps[free]
        return full

    def one_step_away(self, Z: Floats) -> tuple[Floats, Floats]:
        """The rows to ask about, one for each row and free attribute, and how far each moved."""
        space, order = self.space, np.arange(len(self.space.non_sensitive))
        delta = self.delta[space.non_sensitive]
        rows = np.repeat(Z[:, None, :], len(order), axis=1)
        here = Z[:, space.non_sensitive]
        largest = space.domain.largest_code[space.non_sensitive]
        forward = here + delta <= np.minimum(space.domain.high[space.non_sensitive], largest)
        there = np.where(
            forward, here + delta, np.maximum(here - delta, space.domain.low[space.non_sensitive])
        )
        # From a missing value nothing rises or falls.
        there = np.where(here > largest, here, there)
        rows[:, order, space.non_sensitive] = there
        rows = self._clip(rows)
        if space.constraints_:
            valid = self._valid(rows)
            back = rows.copy()
            back[:, order, space.non_sensitive] = np.maximum(
                here - delta, space.domain.low[space.non_sensitive]
            )
            rows = np.where(valid[:, :, None], rows, self._clip(back))
            rows[~valid & ~self._valid(rows)] = np.nan
        moved = rows[:, order, space.non_sensitive] - here
        return rows, np.where(np.isnan(moved), 0.0, moved)

    def _clip(self, rows: Floats) -> Floats:
        return self.space.domain.clip(rows.reshape(-1, rows.shape[2])).reshape(rows.shape)

    def _valid(self, rows: Floats) -> NDArray[np.bool_]:
        return self.space.valid(rows.reshape(-1, rows.shape[2])).reshape(rows.shape[:2])


class LossGradient:
    """Gradient of the log-loss of the predicted class, with the sign of the confidence."""

    def __init__(self, search: SearchHandle, output: Gradient) -> None:
        self.output = output
        self.is_loss = search.response == "predict_proba" and search.threshold is None

    def __call__(self, Z: Floats, scores: Floats, column: Ints) -> Floats:
        """Change per step, shape (n, n_features)."""
        g = self.output(Z, scores, column)
        if not self.is_loss:
            return g
        binary = scores.shape[1] == 1
        p = np.maximum(scores, 1 - scores)[:, 0] if binary else scores.max(axis=1)
        return g / np.maximum(p, GUARD)[:, None]


class CallableGradient:
    """The user's own gradient."""

    def __init__(self, gradient: Callable[[Any], Any], space: InputSpace) -> None:
        self.gradient, self.space = gradient, space

    def __call__(self, Z: Floats, scores: Floats, column: Ints) -> Floats:
        """Change per step, shape (n, n_features)."""
        g = np.asarray(self.gradient(self.space.decode(Z)), dtype=np.float64)
        shape = (len(Z), len(self.space.layout.container.names))
        if g.shape != shape or not np.isfinite(g).all():
            n_bad = int((~np.isfinite(g)).sum())
            raise ValueError(
                f"gradient= must return finite numbers of shape {shape}, one for each row and "
                f"column; got shape {g.shape} with {n_bad} not finite. Fix the callable."
            )
        return self.space.layout.pull_back(Z, g) * self.space.domain.steps


def white_box_gradient(search: SearchHandle, gradient: Any) -> Gradient:
    """The user's gradient, or the analytic one; an error where the model has none."""
    if callable(gradient):
        return CallableGradient(gradient, search.space)
    return AnalyticGradient(search.estimator, search.space, search.response)
