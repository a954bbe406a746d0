"""Where a model treats twins differently: on rows of the data, near them, in the whole domain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skfairtest._statistics import effective_rows, share_of_rows, wilson_interval
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._rows import RowComparison
from skfairtest.space._plausible.neighbours import Crossed
from skfairtest.space._space import InputSpace

#: Twins that an input is compared with at most.
MOST_COMPARED = 100
#: Combinations of sensitive values up to which all inputs of a sample are judged, and the fewest
#: inputs that are judged where there are more.
FEW_COMBINATIONS = 8
LEAST_INPUTS = 500
#: The places where shares are taken, from people to everything.
PLACES = ("rows", "near", "uniform")


class Measure(NamedTuple):
    """What is to be lowered, as one number that is better when smaller, and its interval."""

    value: float
    low: float
    high: float


class Judged(NamedTuple):
    """How a model treats the twins of some inputs; arrays of shape (n,).

    `cluster_ids` say which row an input is near to, where inputs are made of rows: inputs of one
    row are a cluster, and as much is known as there are rows.
    """

    differs: Bools
    disparity: Floats
    cluster_ids: Ints | None = None

    def part(self, start: int, end: int | None) -> Judged:
        """Some of the inputs."""
        cluster_ids = None if self.cluster_ids is None else self.cluster_ids[start:end]
        return Judged(self.differs[start:end], self.disparity[start:end], cluster_ids)

    def values(self, *, mean: bool) -> Floats:
        """What the mean is taken of: differences, or 0 and 1 for a share."""
        return self.disparity if mean else self.differs.astype(np.float64)

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
            if self.cluster_ids is not None:
                return Measure(
                    found / n, *share_of_rows(self.differs, self.cluster_ids, confidence)
                )
            return Measure(found / n, *wilson_interval(found, n, confidence))
        value, size = float(self.disparity.mean()), float(n)
        if self.cluster_ids is not None:
            size = effective_rows(self.disparity, self.cluster_ids, confidence)
        error = stats.norm.isf((1 - confidence) / 2) * self.disparity.std() / np.sqrt(size)
        return Measure(value, max(0.0, value - error), value + error)


def judge(
    model: Any,
    space: InputSpace,
    X: Any,
    settings: dict[str, Any],
    *,
    most: int | None = MOST_COMPARED,
) -> Judged:
    """Compare inputs, given as a table, with all their twins, or with `most` where there are more.

    Of more, each input has a draw of its own, the same for every model; what is found is then a
    lower bound of what all twins would show.
    """
    comparison = RowComparison(model, space, most=most, **settings)
    shown = [compared.shown for compared in comparison.compare(comparison.rows(X))]
    return together(
        [Judged(np.empty(0, dtype=bool), np.empty(0))]
        + [Judged(one.verdict, one.disparity) for one in shown]
    )


def affordable_inputs(space: InputSpace, n: int) -> int:
    """How many of n inputs to judge: fewer where each is compared with many twins."""
    few = FEW_COMBINATIONS / min(space.twins_.n_twins, MOST_COMPARED)
    return max(min(LEAST_INPUTS, n), int(n * min(1.0, few)))


def together(parts: list[Judged]) -> Judged:
    """Inputs judged in parts as one; rows of different parts are different rows."""
    cluster_ids, n = [], 0
    for part in parts:
        if part.cluster_ids is not None:
            cluster_ids.append(part.cluster_ids + n)
            n += int(part.cluster_ids.max(initial=-1)) + 1
    return Judged(
        np.concatenate([part.differs for part in parts]),
        np.concatenate([part.disparity for part in parts]),
        np.concatenate(cluster_ids) if len(cluster_ids) == len(parts) else None,
    )


def draw_uniform(space: InputSpace, n: int, rng: np.random.Generator) -> Floats:
    """Uniform inputs of the whole domain, plausible or not, that the constraint admits."""
    return space.without_plausibility().sample(n, rng, uniform=True)


def draw_crossings(space: InputSpace, n: int, rng: np.random.Generator) -> Crossed:
    """Inputs near the data: rows of the space's data, crossed with one of their neighbours each.

    Valid ones, and plausible ones where the space says what that is; n or fewer.
    """
    return Crossings(space).draw(n, rng)


class Crossings:
    """Draws inputs near the data of a space again and again; neighbours are looked up once."""

    def __init__(self, space: InputSpace) -> None:
        self.space = space
        self._source = space.valid_rows()

    def draw(self, n: int, rng: np.random.Generator) -> Crossed:
        """See `draw_crossings`."""
        if self.space.plausibility is not None:
            sample = self._source.sample(n, rng)
            assert sample.cluster_ids is not None  # plausible inputs are drawn near the data
            return Crossed(sample.rows, sample.cluster_ids)
        first = self._source.crossover(n, rng)
        n_first = len(first.rows)
        if not 0 < n_first < n:
            return first
        more = self._source.crossover(int(1.2 * n * n / n_first), rng)
        rows = np.concatenate([first.rows, more.rows])
        return Crossed(rows, np.concatenate([first.cluster_ids, more.cluster_ids])).part(slice(n))
