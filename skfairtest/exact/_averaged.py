"""Bound models that average another one over some columns, by bounds of that model.

With s the strength, S the columns that are averaged over and f the model inside, the output is
(1 - s) * f(x) + s * mean over v of f(x with S set to v). For twins in columns of S alone the mean
is one and the same number, so that their outputs differ by exactly (1 - s) times what those of f
do. Twins that differ in other columns as well are refused: their means differ, too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._verifier import Attained, SolverLimits, SolverResult, Verifier, unattained
from skfairtest.space._space import InputSpace
from skfairtest.whitebox.graph import EPS, exponential_rounding


class AveragedVerifier(Verifier):
    """Model that averages another one, bounded by bounds of the inner model.

    - `share`: of the model inside, `base`; the rest is the average.

    - `rounding`: how far rounding may carry the outputs of the model itself.
    """

    def __init__(self, share: float, base: Verifier, response: str) -> None:
        self.share, self.base, self.response = share, base, response
        self.quick, self.first_queries = base.quick, base.first_queries
        # Twins that are asked about in different calls may have averages of different last bits.
        # Mixing adds a few roundings of the size of the outputs, which is below 1 for
        # probabilities; for sums of terms, the inner rounding is a multiple of that itself.
        mixing = 8 * EPS if response == "predict_proba" else base.rounding
        outputs = getattr(getattr(base, "base", base), "outputs", [])
        self.rounding = base.rounding + mixing + exponential_rounding(outputs)

    def single_tolerance(self, top: float) -> float:
        inner = self.base.single_tolerance(top)
        return inner + 4 * self.rounding if inner else 0.0

    def evaluate(self, Z: Floats) -> Floats:
        """Return outputs of the model as read, without what all twins of an input share."""
        return self.share * self.base.evaluate(Z)

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        return self.base.rows(n, rng)

    def root_bound(self) -> float:
        return self.share * self.base.root_bound() if self.share else 0.0

    def solve(self, incumbent: float, limits: SolverLimits) -> SolverResult:
        share = self.share
        if not share:
            return SolverResult(incumbent, incumbent, None, 0, "closed")

        def note(low: float, high: float, n: int, twins: Attained = unattained, /) -> None:
            limits.note(share * low, share * high, n, twins)

        found = self.base.solve(incumbent / share, limits._replace(note=note))
        upper = max(incumbent, share * found.upper)
        return found._replace(lower=max(incumbent, share * found.lower), upper=upper)

    def check(
        self,
        ask: Callable[[Floats], Floats],
        Z: Floats,
        space: InputSpace,
        rng: np.random.Generator,
    ) -> float:
        """Return how far twins in averaged columns differ from what averaging allows.

        - `ask`: outputs of the model for encoded rows, shape (n, n_outputs).
        - `Z` (n, n_features): valid rows; they get a random twin each.
        - the result: the largest deviation in excess of rounding, relative to the largest output or
          to 1.
        """
        twins = np.array(Z)
        twins[:, space.sensitive] = space.twins_.draw_sensitive(len(Z), rng)
        valid = space.valid(twins)
        Z, twins = Z[valid], twins[valid]
        if not len(Z):
            return 0.0
        outputs = ask(np.concatenate([Z, twins]))
        expected = self.share * (self.base.evaluate(Z) - self.base.evaluate(twins))
        off = np.abs(outputs[: len(Z)] - outputs[len(Z) :] - expected) - 2 * self.rounding
        return float(off.max(initial=0.0)) / max(1.0, float(np.abs(outputs).max(initial=0.0)))
