"""Rule that lists the combinations of values that some columns may take."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._constraints.rules import Boxes, Rule
from skfairtest.space._domain import Domain


class _Index:
    """The combinations sorted by columns in one order, to look rows up column by column.

    Rows that agree in the first columns stand side by side, so that a row that is in no combination
    finds those that agree with it in as many columns as possible.
    """

    def __init__(self, rows: Floats) -> None:
        order = np.lexsort(rows.T[::-1])
        self.rows = rows[order]
        group = np.zeros(len(rows), dtype=np.int64)
        self.levels: list[tuple[Floats, Ints, Ints, Ints]] = []
        for column in self.rows.T:
            values, place = np.unique(column, return_inverse=True)
            pairs = group * len(values) + place.ravel()
            keys, first, group = np.unique(pairs, return_index=True, return_inverse=True)
            group = group.ravel()
            counts = np.bincount(group)
            self.levels.append((values, keys, first, counts))

    def find(self, Z: Floats) -> tuple[Ints, Ints, Ints]:
        """Return how many columns of each row match a combination, and which combinations match."""
        n = len(Z)
        depth = np.zeros(n, dtype=np.intp)
        start, count = np.zeros(n, dtype=np.intp), np.full(n, len(self.rows), dtype=np.intp)
        group, open_ = np.zeros(n, dtype=np.int64), np.arange(n)
        for i, (values, keys, first, counts) in enumerate(self.levels):
            encoded = Z[open_, i]
            place = np.minimum(np.searchsorted(values, encoded), len(values) - 1)
            pairs = group[open_] * len(values) + place
            key = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
            known = (values[place] == encoded) & (keys[key] == pairs)
            open_, key = open_[known], key[known]
            if not len(open_):
                break
            depth[open_], group[open_] = i + 1, key
            start[open_], count[open_] = first[key], counts[key]
        return depth, start, count


class _Dense:
    """Which of all combinations of whole encoded values are listed, as one array."""

    def __init__(self, rows: Floats) -> None:
        self.low = rows.min(axis=0)
        self.size = (rows.max(axis=0) - self.low + 1).astype(np.intp)
        self.listed = np.zeros(int(np.prod(self.size)), dtype=bool)
        self.stride = np.append(np.cumprod(self.size[:0:-1])[::-1], 1).astype(np.intp)
        self.listed[(rows - self.low).astype(np.intp) @ self.stride] = True

    @staticmethod
    def fits(rows: Floats) -> bool:
        """Return whether combinations are whole and not too many."""
        if not len(rows) or not np.isfinite(rows).all() or (rows != np.floor(rows)).any():
            return False
        # Up to so many combinations of whole values, listed or not, each has a place in one array.
        return bool(np.prod(rows.max(axis=0) - rows.min(axis=0) + 1) <= 2_000_000)

    def find(self, Z: Floats) -> Bools:
        """Return which rows are listed."""
        place = Z - self.low
        # A missing value is in no range.
        inside = ((place >= 0) & (place < self.size) & (place == np.floor(place))).all(axis=1)
        if not inside.all():
            place = np.where(inside[:, None], place, 0.0)
        return np.asarray(inside & self.listed[place.astype(np.intp) @ self.stride])


def _comparable(encoded: Floats) -> Floats:
    """Return encoded values in which a missing value is a value of its own that equals itself."""
    return np.where(np.isnan(encoded), np.inf, encoded)


class TableRule(Rule):
    """Rule that the combination of some columns is, or is not, one of those listed.

    Parameters
    ----------
    columns : list of int
        Positions.
    rows : ndarray of shape (n_combinations, n_columns)
        Encoded values; NaN is a missing value, and a value like any other.
    excluded : bool, default=False
        The listed combinations are those that cannot be.
    whole : bool, default=False
        Whether the encoded values of all columns are whole numbers.
    """

    def __init__(
        self, columns: list[int], rows: Floats, excluded: bool = False, whole: bool = False
    ) -> None:
        self.order, self.whole = list(columns), whole
        self.columns = frozenset(columns)
        self.excluded = excluded
        rows = np.asarray(rows, dtype=np.float64).reshape(-1, len(columns))
        self.rows = np.unique(_comparable(rows), axis=0)
        self._indices: dict[tuple[int, ...], _Index] = {}
        self._indices_inside: dict[tuple[int, ...], _Index] = {}
        self._inside_of: tuple[float, ...] = ()
        self._dense = _Dense(self.rows) if _Dense.fits(self.rows) else None

    def _index(self, order: tuple[int, ...]) -> _Index:
        """Return the combinations in an order of places among the columns."""
        if order not in self._indices:
            self._indices[order] = _Index(self.rows[:, list(order)])
        return self._indices[order]

    def valid(self, Z: Floats) -> Bools:
        """Return which rows are listed."""
        if not len(self.rows):
            return np.full(len(Z), self.excluded)
        if self._dense is not None:
            return self._dense.find(Z[:, self.order]) != self.excluded
        plain = tuple(range(len(self.order)))
        depth, _, _ = self._index(plain).find(_comparable(Z[:, self.order]))
        return np.asarray((depth == len(plain)) != self.excluded)

    def negated(self) -> Rule:
        """Return the combinations that are not listed."""
        return TableRule(self.order, self.rows, not self.excluded, self.whole)

    def repair(self, Z: Floats, movable: Bools, domain: Domain, rng: np.random.Generator) -> Floats:
        """Move rows to a listed combination, changing only movable columns, as few as possible."""
        fixed = [i for i, j in enumerate(self.order) if not movable[j]]
        movable_places = [i for i, j in enumerate(self.order) if movable[j]]
        if not movable_places or (not len(self.rows) and not self.excluded):
            return Z
        Z = Z.copy()
        if self.excluded:
            # Nearly anything else is right: one column anew.
            chosen = np.array(self.order)[
                np.array(movable_places)[rng.integers(len(movable_places), size=len(Z))]
            ]
            Z[np.arange(len(Z)), chosen] = domain.draw(len(Z), rng)[np.arange(len(Z)), chosen]
            return Z
        # Which of the columns leads is a matter of chance: each is kept in some rows.
        lead = rng.integers(len(movable_places), size=len(Z))
        for turn in range(len(movable_places)):
            some = np.flatnonzero(lead == turn)
            if not len(some):
                continue
            order = (*fixed, *movable_places[turn:], *movable_places[:turn])
            index = self._inside(order, domain)
            if not len(index.rows):
                continue
            depth, start, count = index.find(
                _comparable(Z[some][:, [self.order[i] for i in order]])
            )
            chosen = index.rows[start + (rng.random(len(some)) * count).astype(np.intp)]
            fits = np.flatnonzero(depth >= len(fixed))
            for place, i in enumerate(order):
                if i in movable_places:
                    Z[some[fits], self.order[i]] = chosen[fits, place]
        return Z

    def _inside(self, order: tuple[int, ...], domain: Domain) -> _Index:
        """Repair rows by the combinations that lie in the domain."""
        inside = self.inside(domain.low, domain.high)
        if len(inside) == len(self.rows):
            return self._index(order)
        ends = tuple(np.concatenate([domain.low[self.order], domain.high[self.order]]).tolist())
        if self._inside_of != ends:  # of the latest domain alone, as there may be many
            self._inside_of, self._indices_inside = ends, {}
        if order not in self._indices_inside:
            self._indices_inside[order] = _Index(inside[:, list(order)])
        return self._indices_inside[order]

    def inside(self, low: Floats, high: Floats) -> Floats:
        """Return the combinations within a box."""
        own = self.rows
        fits = ((own >= low[self.order]) & (own <= high[self.order])).all(axis=1)
        return np.asarray(own[fits])

    def narrow(self, boxes: Boxes) -> Bools:
        """Narrow boxes to the combinations that lie in them."""
        alive = ~boxes.empty
        if self.excluded:
            return self._narrow_excluded(boxes, alive)
        # Boxes of one go: with the combinations, four million bits of memory for each column.
        most = max(1, 4_000_000 // max(1, len(self.rows)))
        for begin in range(0, len(alive), most):
            part = slice(begin, begin + most)
            fits = np.ones((len(alive[part]), len(self.rows)), dtype=bool)
            for i, j in enumerate(self.order):
                encoded = self.rows[:, i]
                fits &= (boxes.low[part, j, None] <= encoded) & (
                    encoded <= boxes.high[part, j, None]
                )
                if j in boxes.sets:
                    fits &= _in_sets(boxes.sets[j][part], encoded)
            alive[part] &= fits.any(axis=1)
            for i, j in enumerate(self.order):
                encoded = self.rows[:, i]
                if j in boxes.sets:
                    self._keep_values(boxes, part, j, encoded, fits)
                    continue
                low = np.where(fits, encoded, np.inf).min(axis=1, initial=np.inf)
                high = np.where(fits, encoded, -np.inf).max(axis=1, initial=-np.inf)
                boxes.low[part, j] = np.maximum(boxes.low[part, j], low)
                boxes.high[part, j] = np.minimum(boxes.high[part, j], high)
        return alive & ~boxes.empty

    @staticmethod
    def _keep_values(boxes: Boxes, part: slice, j: int, encoded: Floats, fits: Bools) -> None:
        view = Boxes(boxes.low[part], boxes.high[part], {j: boxes.sets[j][part]})
        wanted = np.zeros_like(view.sets[j])
        for value in np.unique(encoded):
            if 0 <= value < wanted.shape[1]:
                wanted[:, int(value)] = fits[:, encoded == value].any(axis=1)
        view.keep(j, wanted)

    def _narrow_excluded(self, boxes: Boxes, alive: Bools) -> Bools:
        """Remove excluded values of a single column; of several, only boxes of one listed row."""
        if len(self.order) == 1 and self.order[0] in boxes.sets:
            j = self.order[0]
            wanted = np.ones_like(boxes.sets[j])
            listed = self.rows[(self.rows[:, 0] >= 0) & (self.rows[:, 0] < wanted.shape[1]), 0]
            wanted[:, listed.astype(np.intp)] = False
            boxes.keep(j, wanted)
            return alive & ~boxes.empty
        own = self.order
        if len(own) == 1 and self.whole:
            self._shave(boxes, own[0])
            return alive & ~boxes.empty
        single = (boxes.low[:, own] == boxes.high[:, own]).all(axis=1)
        if single.any():
            alive[single] &= self.valid(boxes.low[single])
        return alive

    def _shave(self, boxes: Boxes, j: int) -> None:
        """Move the ends of intervals of whole encoded values inwards, past the listed ones."""
        listed = self.rows[:, 0]
        for _ in range(len(listed)):
            low, high = np.isin(boxes.low[:, j], listed), np.isin(boxes.high[:, j], listed)
            if not (low.any() or high.any()):
                break
            boxes.low[low, j] += 1
            boxes.high[high, j] -= 1


def _in_sets(sets: Bools, encoded: Floats) -> Bools:
    """Return which of the encoded values (m,) are in each set (n, n_values); shape (n, m)."""
    known = (encoded >= 0) & (encoded < sets.shape[1])
    place = np.where(known, encoded, 0).astype(np.intp)
    return np.asarray(sets[:, place] & known)
