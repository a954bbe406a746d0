"""Values that the tuned search tries: along one column, and of the sensitive attributes."""

from __future__ import annotations

import math

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._space import InputSpace

#: Values that a coordinate probe tries along one column.
PROBE = 6
#: Of these, values of other elites.
FROM_ELITES = 2
#: Chance that a probe tries an end of the domain: models often are largest there.
TRY_END = 0.3
#: Share of the other values that are drawn from the domain, not from the data: a model may change
#: where the data have no value.
FOREIGN = 0.2
#: Weight of what was seen of a column before, in each update.
MEMORY = 0.9
#: Fewest values that are tried along a column that seldom changes anything. The share of PROBE that
#: is tried is so many times the share of values that changed something, lately.
FEWEST, ACTIVE = 2, 2.5
#: Sensitive combinations that an input is compared by at once, at most.
MOST_COMBINATIONS = 32


class CoordinateProbes:
    """Values to try along each column.

    Parameters
    ----------
    space : InputSpace
        Which values there are.
    rows : ndarray of shape (n_rows, n_features)
        Rows of the data inside the domain: their values come first.
    """

    def __init__(self, space: InputSpace, rows: Floats) -> None:
        self.space = space
        ends = np.stack([space.domain.low, space.domain.high])
        # Lists, since of a handful of numbers Python is quicker than arrays are.
        self.known = {j: np.unique(np.append(rows[:, j], ends[:, j])).tolist() for j in space.free}
        self.is_level = {j: space.domain.columns[j].is_category for j in space.free}
        #: Share of the values tried along each column that changed the disparity, lately.
        self.activity = dict.fromkeys(space.free.tolist(), 1.0)

    def learn(self, columns: list[int], changed: list[bool]) -> None:
        """Learn which of the tried values, by their columns, changed the disparity.

        A column of -1 stands for a change of the pair, from which there is nothing to learn.
        """
        by_column: dict[int, list[bool]] = {}
        for j, change in zip(columns, changed, strict=True):
            if j >= 0:
                by_column.setdefault(j, []).append(change)
        for j, changes in by_column.items():
            share = sum(changes) / len(changes)
            self.activity[j] = MEMORY * self.activity[j] + (1 - MEMORY) * share

    def values(self, z: Floats, j: int, elites: Floats, rng: np.random.Generator) -> list[float]:
        """Some values of column j that differ from that of the input z.

        These are all values where they are few. For a categorical column they are random ones, as
        codes have no order. For a numeric column they are spread over the values of the data; some
        are of the domain, and some are values that elites have. Of a column that seldom changes
        anything there are fewer.
        """
        domain = self.space.domain
        low, high = float(domain.low[j]), float(domain.high[j])
        if domain.discrete[j] and high - low <= PROBE + 2:
            found = [low + k for k in range(int(high - low) + 1)]
        elif self.is_level[j]:
            found = (low + rng.permutation(int(high - low) + 1)[:PROBE]).tolist()
        else:
            borrowed = []
            if len(elites):
                borrowed = elites[rng.integers(0, len(elites), FROM_ELITES), j].tolist()
            tries_low, tries_high = (rng.random(2) < TRY_END).tolist()
            found = borrowed + [low] * tries_low + [high] * tries_high
            found += self._spread(j, PROBE - len(borrowed), rng)
            inside = {min(max(value, low), high) for value in found}
            found = sorted({float(round(one)) for one in inside} if domain.discrete[j] else inside)
        found = [value for value in found if value != z[j]]
        n = max(FEWEST, math.ceil(PROBE * min(1.0, ACTIVE * self.activity[j])))
        return [found[k] for k in rng.permutation(len(found))[:n]] if n < len(found) else found

    def _spread(self, j: int, n: int, rng: np.random.Generator) -> list[float]:
        """One value from each of n equal parts of the values in the data, or of the domain."""
        known = self.known[j]
        low, high = float(self.space.domain.low[j]), float(self.space.domain.high[j])
        places = [(k + within) / n for k, within in enumerate(rng.random(n).tolist())]
        foreign = (rng.random(n) < FOREIGN).tolist()
        return [
            low + place * (high - low) if of_domain else known[int(place * len(known))]
            for place, of_domain in zip(places, foreign, strict=True)
        ]


def move_sensitive(codes: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Sensitive codes (n, n_sensitive) moved to others of the domain.

    Where all combinations can be listed, all codes are drawn anew. Otherwise half of them step from
    where they are, by a third of the domain down to a thousandth, and one in ten goes to an end.
    """
    drawn = space.twins_.draw_sensitive(len(codes), rng)
    if space.twins_.is_enumerable:
        return drawn
    low, high = space.domain.low[space.sensitive], space.domain.high[space.sensitive]
    length = (high - low) * 10.0 ** rng.uniform(-3, -0.5, size=codes.shape)
    stepped = codes + rng.standard_normal(codes.shape) * length
    ends = np.where(rng.random(codes.shape) < 0.5, low, high)
    kind = rng.random(codes.shape)
    return space.twins_.clip_sensitive(
        np.where(kind < 0.4, drawn, np.where(kind < 0.5, ends, stepped))
    )


def moved_sides(pairs: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Pairs of sensitive codes (n, 2, n_sensitive) with one side drawn anew or moved.

    A pair stays as it was where that would leave two equal twins.
    """
    rows = np.arange(len(pairs))
    side = rng.integers(0, 2, size=len(pairs))
    drawn = move_sensitive(pairs[rows, side], space, rng)
    change = (drawn != pairs[rows, 1 - side]).any(axis=1)
    moved = pairs.copy()
    moved[rows[change], side[change]] = drawn[change]
    return moved


def many_values(pair: Floats, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Many sensitive codes to compare an input by, the pair's among them; (n, n_sensitive)."""
    if space.twins_.is_enumerable:
        chosen = rng.permutation(int(space.twins_.n_combinations))[:MOST_COMBINATIONS]
        return np.concatenate([space.twins_.combination_codes(chosen), pair])
    # Near to the pair as well as anywhere.
    near = move_sensitive(np.tile(pair, (MOST_COMBINATIONS // 4, 1)), space, rng)
    return np.concatenate(
        [space.twins_.draw_sensitive(MOST_COMBINATIONS - len(near), rng), near, pair]
    )


def weighted_order(columns: Ints, weight: Floats, rng: np.random.Generator) -> list[int]:
    """The columns in random order, those of a large weight early."""
    share = weight[columns] + 0.02 * weight[columns].mean() + 1e-12
    # The earliest of exponential waiting times: a draw without replacement in proportion.
    return columns[np.argsort(rng.exponential(size=len(columns)) / share)].tolist()
