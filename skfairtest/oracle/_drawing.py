"""Draw inputs, and choose which of their twins are compared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._stop import StopReason
from skfairtest.oracle._stopping import StoppingRules
from skfairtest.space._space import InputSpace
from skfairtest.space._valid_rows import DrawnRows, ValidRows

#: Up to this many combinations of sensitive values all twins of an input are compared; beyond it,
#: two.
FEW_COMBINATIONS = 8


class Draws:
    """Draws inputs of a space, and twins of them, within max_time.

    Parameters
    ----------
    space : InputSpace
        The inputs that exist.
    valid_rows : ValidRows
        Knows where the valid ones are: what one draw learns about the constraint, the next knows.
    stopping : StoppingRules
        Of the run.
    accepts : callable or None
        Says which inputs are plausible as they stand, asking the detector once for each row. An
        input then counts with its own sensitive values, and is compared with a drawn twin.
    """

    def __init__(
        self, space: InputSpace, valid_rows: ValidRows, stopping: StoppingRules, *,
        accepts: Callable[[Floats], Bools] | None,
    ) -> None:  # fmt: skip
        self.space, self.valid_rows = space, valid_rows
        self._stopping, self.accepts = stopping, accepts

    def sample(self, n: int, rng: np.random.Generator, *, uniform: bool = False) -> DrawnRows:
        """Draw valid inputs; return them, and which of them are fresh draws."""
        deadline = self._stopping.budget.deadline
        sample = self.valid_rows.sample(
            n, rng, uniform=uniform, deadline=deadline, accepts=self.accepts
        )
        if len(sample.rows) < n:
            self._stopping.stop(StopReason.MAX_TIME)
        return sample

    def crossings(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw valid crossings of data rows with neighbours, shape (n or fewer, n_features).

        They need not be plausible: for searches that choose among many and ask the detector about
        few.
        """
        Z = self.valid_rows.crossings(n, rng, self._stopping.budget.deadline).rows
        self._stopping.check_time()
        return Z

    @property
    def compares_all(self) -> bool:
        """Whether all twins of an input are compared, as they are few."""
        return self.space.twins_.n_combinations <= FEW_COMBINATIONS

    @property
    def n_compared(self) -> int:
        """Twins of an input that are compared."""
        return int(self.space.twins_.n_combinations) if self.compares_all else 2

    def twins(self, Z: Floats, rng: np.random.Generator) -> Floats | None:
        """Return the sensitive codes of the two twins to compare; None if all are compared.

        Where sensitive values cannot be listed an input counts with its own, and is compared with a
        drawn one, so that rows of data are judged as the people that they are. So does an input
        that has to be plausible.
        """
        space = self.space
        if self.compares_all:
            return None
        if space.twins_.is_enumerable and self.accepts is None:
            return space.twins_.draw_sensitive_pairs(len(Z), rng)
        own = space.twins_.clip_sensitive(Z[:, space.sensitive])
        if not space.twins_.is_enumerable:
            return np.stack([own, space.twins_.draw_sensitive(len(Z), rng)], axis=1)
        pairs = space.twins_.draw_sensitive_pairs(len(Z), rng)
        same = (pairs[:, 0] == own).all(axis=1)
        return np.stack([own, np.where(same[:, None], pairs[:, 1], pairs[:, 0])], axis=1)
