"""Rows of the data as inputs of the domain: their neighbours, distances, and crossings of the two.

Distances are the mean over the columns of |difference| / range, 0 or 1 for categories.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.space._domain import Domain

#: Rows among which neighbours are looked for: a larger table is cut, halves of halves, into such
#: parts.
PART = 3000

#: Scaled copies of rows, in single precision.
Points = NDArray[np.float32]


class Crossed(NamedTuple):
    """Inputs near the data, of shape (n, n_features), and the row that each is near to."""

    rows: Floats
    cluster_ids: Ints

    def part(self, chosen: Any) -> Crossed:
        """Return some of the inputs."""
        return Crossed(self.rows[chosen], self.cluster_ids[chosen])

    def and_also(self, others: Crossed) -> Crossed:
        """Return these inputs and others after them."""
        return Crossed(
            np.concatenate([self.rows, others.rows]),
            np.concatenate([self.cluster_ids, others.cluster_ids]),
        )


class Distance:
    """How far inputs are apart: the mean over the columns, for those of a domain."""

    def __init__(self, domain: Domain) -> None:
        spread = np.minimum(domain.high, domain.largest_code) - domain.low
        self.range = np.where(spread > 0, spread, 1.0)
        self._largest_code = domain.largest_code
        self._is_category = np.array([column.is_category for column in domain.columns])

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return the mean distance over the columns (the last axis), 0 or 1 for categories.

        At most 1 a column, also where a value lies outside the domain; 1 from a missing number to
        any other.
        """
        apart = np.minimum(np.abs(first - second) / self.range, 1.0)
        apart = np.where(self._is_category, first != second, apart)
        # A missing value is as far from any number as can be.
        apart = np.where((first > self._largest_code) != (second > self._largest_code), 1.0, apart)
        mean: Floats = apart.mean(axis=-1)
        return mean


class Neighbours:
    """The rows of a space's data, moved into its domain, and how near they are to each other.

    Parameters
    ----------
    domain : Domain
        The values of the attributes.
    data : ndarray of shape (n_rows, n_features)
        Encoded data.
    rng : Generator
        Chooses rows where there are too many, and values in place of missing and foreign ones.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Encoded rows.
    distance : Distance
        How far two inputs are apart.
    """

    def __init__(self, domain: Domain, data: Floats, rng: np.random.Generator) -> None:
        self._n_levels = [
            column.n_listed or 0 if column.is_category else 0 for column in domain.columns
        ]
        # Columns of the scaled copies: one for a number or a flag, and one for each category, up to
        # 24; each of more categories is a random pattern of that length.
        self._widths = [min(n, 24) if n > 2 else 1 for n in self._n_levels]
        # Of a larger table a random choice of the rows is kept, whose copies, of 4 bytes a number,
        # take a quarter of a gigabyte at most.
        most = max(1, min(100_000, 2**28 // (4 * sum(self._widths))))
        if len(data) > most:
            data = data[np.sort(rng.permutation(len(data))[:most])]
        self.rows = complete_rows(domain, data, rng)
        self.distance = Distance(domain)
        self._low = domain.low
        self._patterns: dict[int, Points] = {}
        self._scaled = self._scale(self.rows)
        self._parts: list[Ints] | None = None
        self._part_of = np.zeros(0, dtype=np.intp)
        self._searchers: dict[int, Any] = {}
        self._known: Ints = np.empty((0, 0), dtype=np.intp)

    # Crossings ------------------------------------------------------------------------------

    @property
    def n_neighbours(self) -> int:
        """Number of neighbours of a row with which it can be crossed."""
        # In small tables no more than a twentieth of the rows: the others are not near.
        most = min(30, int(np.ceil(0.05 * len(self.rows))))
        return max(1, min(most, min(PART // 2, len(self.rows)) - 1))

    def crossover(self, n: int, rng: np.random.Generator) -> Crossed:
        """Return random rows, each crossed with one of its neighbours."""
        places = rng.integers(len(self.rows), size=n)
        return Crossed(self.cross(places, rng), places)

    def cross(self, places: Ints, rng: np.random.Generator) -> Floats:
        """Cross some rows with one of their neighbours, from which half of the values are taken."""
        if len(self.rows) < 2:
            return self.rows[places].copy()
        near = self.neighbours(places)
        other = near[np.arange(len(places)), rng.integers(near.shape[1], size=len(places))]
        mask = rng.random((len(places), self.rows.shape[1])) < 0.5
        return np.where(mask, self.rows[other], self.rows[places])

    def neighbours(self, places: Ints) -> Ints:
        """Return the positions of the neighbours of some rows, (n, n_neighbours).

        They are looked up when they are first asked for, within a part of a large table.
        """
        if self._parts is None:
            # A fixed seed: which rows are neighbours is no matter of chance.
            self._parts = halves(self._scaled, PART, np.random.default_rng(0))
            self._part_of = np.empty(len(self.rows), dtype=np.intp)
            for number, part in enumerate(self._parts):
                self._part_of[part] = number
            self._known = np.full((len(self.rows), self.n_neighbours), -1, dtype=np.intp)
        unknown = np.unique(places[self._known[places, 0] < 0])
        for number in np.unique(self._part_of[unknown]):
            self._look_up(int(number), unknown[self._part_of[unknown] == number])
        return self._known[places]

    @one_thread()
    def _look_up(self, number: int, places: Ints) -> None:
        assert self._parts is not None
        part = self._parts[number]
        searcher = self._searchers.get(number)
        k = self.n_neighbours
        if searcher is None:
            from sklearn.neighbors import NearestNeighbors

            searcher = NearestNeighbors(n_neighbors=k + 1, algorithm="brute")
            self._searchers[number] = searcher.fit(self._scaled[part])
        near = part[searcher.kneighbors(self._scaled[places], return_distance=False)]
        # The row itself comes first, or among the first where others are equal to it.
        own = near == places[:, None]
        own[~own.any(axis=1), -1] = True
        self._known[places] = near[~own].reshape(len(places), k)

    # Distances ------------------------------------------------------------------------------

    @one_thread()
    def nearest(self, Z: Floats) -> tuple[Ints, Floats]:
        """Return the position of the row nearest to each input, and its distance; shapes (n,)."""
        from sklearn.neighbors import NearestNeighbors

        # Scaled copies are not exact where there are many categories: the distances of so many rows
        # that are nearest by them are measured.
        k = min(24, len(self.rows))
        searcher = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self._scaled)
        places, distances = np.empty(len(Z), dtype=np.intp), np.empty(len(Z))
        # A few thousand at a time, each with its k rows, fit in little memory.
        for start in range(0, len(Z), 2000):
            part = slice(start, start + 2000)
            near = searcher.kneighbors(self._scale(Z[part]), return_distance=False)
            apart = self.distance(self.rows[near], Z[part, None, :])
            best = apart.argmin(axis=1)
            here = np.arange(len(near))
            places[part] = near[here, best]
            distances[part] = apart[here, best]
        return places, distances

    def _scale(self, Z: Floats) -> Points:
        """Return inputs as points whose squared distances are the distances above."""
        points = np.zeros((len(Z), sum(self._widths)), dtype=np.float32)
        at = 0
        for j, (n, width) in enumerate(zip(self._n_levels, self._widths, strict=True)):
            if n > 2:
                encoded = np.clip(Z[:, j], 0, n - 1).astype(np.intp)
                points[:, at : at + width] = self._pattern(j, n, width)[encoded]
            else:
                points[:, at] = (Z[:, j] - self._low[j]) / self.distance.range[j]
            at += width
        return points

    def _pattern(self, j: int, n: int, width: int) -> Points:
        """Return a point for each category; points have distance one (of many, on average)."""
        if j not in self._patterns:
            if n == width:
                pattern = np.eye(n) * np.sqrt(0.5)
            else:
                signs = np.random.default_rng(n).integers(0, 2, size=(n, width))
                pattern = signs * np.sqrt(2 / width)
            self._patterns[j] = pattern.astype(np.float32)
        return self._patterns[j]


def complete_rows(domain: Domain, data: Floats, rng: np.random.Generator) -> Floats:
    """Return rows of data as inputs of the domain that look like the data.

    Numbers beyond the bounds go to the nearer end; in place of missing numbers and of categories
    outside the domain stands the value of another row.
    """
    rows = data.copy()
    for j, column in enumerate(domain.columns):
        values = rows[:, j]
        foreign = np.isnan(values)
        if column.is_category:
            foreign |= (values < column.low) | (values > column.high)
        if foreign.any():
            pool = values[~foreign]
            if not len(pool):
                pool = np.array([column.low])
            values[foreign] = pool[rng.integers(len(pool), size=int(foreign.sum()))]
    return domain.clip(rows)


def halves(points: Points, most: int, rng: np.random.Generator) -> list[Ints]:
    """Divide rows at the median along random directions into parts of some size."""
    waiting, parts = [np.arange(len(points))], []
    while waiting:
        part = waiting.pop()
        if len(part) <= most:
            parts.append(part)
            continue
        # Of a few directions the one along which the rows differ most.
        directions = rng.standard_normal((points.shape[1], 4)).astype(points.dtype)
        along = points[part] @ directions
        best = along[:, along.std(axis=0).argmax()]
        order = np.argsort(best, kind="stable")
        half = len(part) // 2
        waiting += [part[order[:half]], part[order[half:]]]
    return parts
