"""Look at all inputs of a small finite domain by the model as it was read.

That is exact, whatever the model and the constraint are, where bounds of boxes are not: these know
nothing of a constraint that is a callable, and leave open what parts of a model have in common. It
takes time in proportion to the inputs, so that the verifier's own search goes first for as long.
"""

from __future__ import annotations

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.exact._verifier import NO_ENGINE, SolverLimits, SolverResult, Twins, Verifier
from skfairtest.space._space import InputSpace
from skfairtest.whitebox.graph import exponential_rounding

#: Inputs of a domain up to which all of them are looked at, twins included, and those at a time.
MOST_INPUTS, AT_A_TIME = 100_000, 4_096


def solve_whole(
    verifier: Verifier, space: InputSpace, incumbent: float, limits: SolverLimits
) -> SolverResult:
    """Bound the largest difference, of a small domain by looking at all inputs.

    - `verifier`: the model, read out for this space, or for one with more twins.
    - `space`: the inputs that exist; what its constraint excludes is left out.
    - `incumbent`: a difference that is attained.
    - `limits`: when to stop, and the relative gap that is narrow enough.
    """
    n_rows = space.n_inputs * space.twins_.n_combinations
    if n_rows > MOST_INPUTS or _innermost(verifier).vague:
        return verifier.solve(incumbent, limits)
    inputs = _AllInputs(verifier, space, incumbent)
    result, seconds = None, 0.0
    if not verifier.quick:
        began = _clock.now()
        inputs.look(AT_A_TIME)
        seconds = (_clock.now() - began) * inputs.left
    if seconds > limits.by(0.5) - _clock.now():
        return verifier.solve(incumbent, limits)
    # Looking at all of them for less than half a second is not worth another search.
    if verifier.quick or seconds > 0.5:
        until = min(limits.deadline, _clock.now() + seconds) if seconds else limits.deadline
        result = verifier.solve(incumbent, limits._replace(deadline=until))
        if result.upper * (1 - limits.rtol) <= result.lower and inputs.holds(result):
            return result
    while inputs.left and not limits.is_late:
        inputs.look(AT_A_TIME)
        limits.note(inputs.incumbent, np.inf, 0, inputs.attained)
    return inputs.result(result)


def input_of(space: InputSpace, first: Floats, second: Floats) -> Floats:
    """Return the input whose twins two rows are; what follows from one's value is the other's."""
    twin = space.twins_.with_sensitive(second[None], first[space.sensitive])[0]
    return np.where(twin == first, second, first)


def _innermost(verifier: Verifier) -> Verifier:
    """Return the verifier whose `evaluate` those around it hand on."""
    while isinstance(inner := getattr(verifier, "base", None), Verifier):
        verifier = inner
    return verifier


class _AllInputs:
    """The inputs of a finite domain, one after another, and the largest difference so far.

    - `left`: inputs that are left, as a multiple of those of the last look.
    """

    def __init__(self, verifier: Verifier, space: InputSpace, incumbent: float) -> None:
        self.verifier, self.space, self.incumbent = verifier, space, incumbent
        self.encoded = space.twins_.sensitive_values
        self.n_inputs, self.done, self.left = int(space.n_inputs), 0, 1.0
        self.twins: Twins | None = None
        self.rounding = exponential_rounding(getattr(_innermost(verifier), "outputs", []))

    def look(self, n_rows: int) -> None:
        """Look at the next inputs, about so many with their twins."""
        space, k = self.space, len(self.encoded)
        n = min(max(1, n_rows // k), self.n_inputs - self.done)
        rows = self._rows(n)
        every = space.twins_.of_each(rows, self.encoded)
        valid = space.valid(every)
        self.done += n
        self.left = (self.n_inputs - self.done) / n
        if not valid.any():
            return
        outputs = self.verifier.evaluate(every[valid])
        high, low = np.full((2, n * k, outputs.shape[1]), -np.inf)
        high[valid], low[valid] = outputs, -outputs
        high, low = high.reshape(n, k, -1), low.reshape(n, k, -1)
        spread = high.max(axis=1) + low.max(axis=1)
        i, o = np.unravel_index(spread.argmax(), spread.shape)
        if spread[i, o] > self.incumbent:
            twins = every.reshape(n, k, -1)[i]
            self.incumbent = float(spread[i, o])
            self.twins = twins[high[i, :, o].argmax()], twins[low[i, :, o].argmax()]

    def attained(self) -> Twins | None:
        """Return the twins that differ most so far."""
        return self.twins

    def _rows(self, n: int) -> Floats:
        """Return the next inputs, with the lowest sensitive values."""
        domain, free = self.space.domain, self.space.non_sensitive
        sizes = [int(domain.columns[j].n_values) for j in free]
        rows = np.repeat(domain.low[None], n, axis=0)
        if sizes:
            places = np.unravel_index(np.arange(self.done, self.done + n), sizes)
            rows[:, free] += np.stack(places, axis=1)
        return rows

    def holds(self, result: SolverResult) -> bool:
        """Return whether the pair of a result is one of valid twins of this space."""
        if result.twins is None:
            return True
        both = np.stack(result.twins)
        z = input_of(self.space, *result.twins)
        twins = self.space.twins_.of_each(z[None], both[:, self.space.sensitive])
        return bool(np.array_equal(twins, both) and self.space.valid(both).all())

    def result(self, other: SolverResult | None) -> SolverResult:
        """Return what is known, with what another search has found."""
        n = self.done * len(self.encoded)
        upper, reason = self.incumbent + 2 * self.rounding, "closed"
        root = self.verifier.root_bound()
        if self.left:
            upper, reason = root, "time"
        elif root < 1e-300:
            upper = max(upper, root)  # where weights cancel, only the model's rounding is left
        lower, twins, engine = self.incumbent, self.twins, NO_ENGINE
        if other is not None:
            engine = other.engine if self.left else NO_ENGINE
            n, upper = n + other.n_boxes, max(lower, min(upper, other.upper))
            if other.lower > lower and self.holds(other):
                lower, twins = other.lower, other.twins
        return SolverResult(lower, max(lower, upper), twins, n, reason, engine)
