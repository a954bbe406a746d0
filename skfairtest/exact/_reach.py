"""Which sums of one value from each of several sets come nearest to a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Sums that are listed for each half of the sets.
MOST_SUMS = 300_000


class Reached(NamedTuple):
    """How near a target sums can come.

    No sum is nearer than `distance`. `places` are positions in the sets of a sum that is that near,
    or nearly so where there are very many sums; `left` is what the intervals have to add to it.
    """

    distance: float
    places: dict[int, int]
    left: float


def nearest_sum(
    target: float, sets: dict[int, Floats], intervals: list[tuple[float, float]]
) -> Reached:
    """The sum nearest to the target of one value from every set and every interval.

    Parameters
    ----------
    target : float
        Where to come near to.
    sets : dict of int to ndarray
        Values to choose from.
    intervals : list of (low, high)
        Values may be anything between.

    Returns
    -------
    Reached
        Exact where the sums of the sets are at most 9e10; else `distance` is a lower bound.
    """
    halves: list[list[int]] = [[], []]
    sizes = [1, 1]
    rest = []
    for j in sorted(sets, key=lambda j: len(sets[j])):
        half = 0 if sizes[0] <= sizes[1] else 1
        if sizes[half] * len(sets[j]) > MOST_SUMS:
            rest.append(j)
            continue
        halves[half].append(j)
        sizes[half] *= len(sets[j])
    low = sum(end[0] for end in intervals)
    high = sum(end[1] for end in intervals)
    # Sets beyond are taken as whole intervals, which can only come nearer.
    loose_low = low + sum(float(sets[j].min()) for j in rest)
    loose_high = high + sum(float(sets[j].max()) for j in rest)
    one, two = _sums([sets[j] for j in halves[0]]), _sums([sets[j] for j in halves[1]])
    order = np.argsort(two, kind="stable")
    distance, a, b = _nearest(target, one, two[order], loose_low, loose_high)
    places = _unpack(a, halves[0], sets) | _unpack(int(order[b]), halves[1], sets)
    left = target - float(one[a]) - float(two[order[b]])
    for k, j in enumerate(rest):
        # What the sets behind it and the intervals cannot make up, this one has to.
        behind = [sets[i] for i in rest[k + 1 :]]
        reach = (
            low + sum(float(s.min()) for s in behind),
            high + sum(float(s.max()) for s in behind),
        )
        off = left - sets[j]
        places[j] = int(np.maximum(off - reach[1], reach[0] - off).argmin())
        left -= float(sets[j][places[j]])
    return Reached(distance, places, left)


def _sums(sets: list[Floats]) -> Floats:
    total = np.zeros(1)
    for values in sets:
        total = (total[:, None] + values).ravel()
    return total


def _unpack(place: int, names: list[int], sets: dict[int, Floats]) -> dict[int, int]:
    if not names:
        return {}
    found = np.unravel_index(place, [len(sets[j]) for j in names])
    return {j: int(p) for j, p in zip(names, found, strict=True)}


def _nearest(
    target: float, one: Floats, two: Floats, low: float, high: float
) -> tuple[float, int, int]:
    """Distance of the target from a + b + [low, high], and the places of a and the sorted b."""
    wanted = target - one
    after = np.clip(np.searchsorted(two, wanted - high), 0, len(two) - 1)
    before = np.clip(after - 1, 0, len(two) - 1)
    best = (np.inf, 0, 0)
    for b in (after, before):
        off = wanted - two[b]
        away = np.maximum(np.maximum(low - off, off - high), 0.0)
        a = int(away.argmin())
        if away[a] < best[0]:
            best = (float(away[a]), a, int(b[a]))
    return best
