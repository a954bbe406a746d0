"""Where a model treats twins differently: on rows of the data, near them, in the whole domain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skfairtest._audit_results import audit_table
from skfairtest._statistics import wilson_interval
from skfairtest._typing import Bools, Floats
from skfairtest.oracle._oracle import Oracle
from skfairtest.space._space import InputSpace
from skfairtest.space._valid_rows import ValidRows

#: Twins that an input is compared with at most, and inputs that are compared at once.
MOST_COMPARED = 100
COMPARED_AT_ONCE = 200
#: The places where shares are taken, from people to everything.
PLACES = ("rows", "near", "uniform")


class Measure(NamedTuple):
    """What is to be lowered, as one number that is better when smaller, and its interval."""

    value: float
    low: float
    high: float


class Judged(NamedTuple):
    """How a model treats the twins of some inputs; arrays of shape (n,)."""

    differs: Bools
    disparity: Floats

    def part(self, start: int, end: int | None) -> Judged:
        """Some of the inputs."""
        return Judged(self.differs[start:end], self.disparity[start:end])

    def measure(self, *, mean: bool, confidence: float = 0.95) -> Measure:
        """Share of the inputs whose twins are treated differently, or mean of their difference.

        The mean is for regressors without a threshold: there twins whose predictions differ at all
        are nearly all inputs, and the share tells nothing.
        """
        n = len(self.differs)
        if not n:
            return Measure(np.nan, np.nan, np.nan)
        if not mean:
            found = int(self.differs.sum())
            return Measure(found / n, *wilson_interval(found, n, confidence))
        value = float(self.disparity.mean())
        error = stats.norm.isf((1 - confidence) / 2) * self.disparity.std() / np.sqrt(n)
        return Measure(value, max(0.0, value - error), value + error)


def judge(model: Any, space: InputSpace, Z: Floats, settings: dict[str, Any]) -> Judged:
    """Compare inputs, given as codes, with all their twins, or with `MOST_COMPARED` of them.

    Where there are more, each input has a draw of its own, the same for every model; what is found
    is then a lower bound of what all twins would show.
    """
    if space.n_twins <= MOST_COMPARED or not len(Z):
        audit = audit_table(model, space, Z, settings)
        return Judged(audit.is_discriminatory, audit.disparities)
    rng = np.random.default_rng(0)
    oracle = Oracle(model, space, clip=False, **settings)
    oracle.begin(Z, rng)
    judged = []
    for start in range(0, len(Z), COMPARED_AT_ONCE):
        part = Z[start : start + COMPARED_AT_ONCE]
        drawn = rng.integers(space.n_twins, size=(len(part), MOST_COMPARED - 1))
        own = part[:, None, space.sensitive]
        judged.append(
            oracle.disparity(part, np.concatenate([own, space.twin_codes[drawn]], axis=1))
        )
    return Judged(
        np.concatenate([found.verdict for found in judged]),
        np.concatenate([found.disparity for found in judged]),
    )


def together(parts: list[Judged]) -> Judged:
    """Inputs judged in parts as one."""
    return Judged(
        np.concatenate([part.differs for part in parts]),
        np.concatenate([part.disparity for part in parts]),
    )


def draw_uniform(space: InputSpace, n: int, rng: np.random.Generator) -> Floats:
    """Uniform inputs of the whole domain, plausible or not, that the constraint admits."""
    return space.whole().sample(n, rng, uniform=True)


def draw_crossings(space: InputSpace, n: int, rng: np.random.Generator) -> Floats:
    """Inputs near the data: rows of the space's data, crossed with one of their neighbours each.

    Valid ones, and plausible ones where the space says what that is; n or fewer.
    """
    return Crossings(space).draw(n, rng)


class Crossings:
    """Draws inputs near the data of a space again and again; neighbours are looked up once."""

    def __init__(self, space: InputSpace) -> None:
        self.space = space
        self._source = ValidRows(space)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """See `draw_crossings`."""
        if self.space.plausibility is not None:
            return self._source.sample(n, rng).rows
        kept = [self._source.crossings(n, rng)]
        if 0 < len(kept[0]) < n:
            kept.append(self._source.crossings(int(1.2 * n * n / len(kept[0])), rng))
        return np.concatenate(kept)[:n]
