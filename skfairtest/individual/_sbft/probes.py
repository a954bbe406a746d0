"""Values that the tuned search tries: along one column, and of the sensitive attributes."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._space import InputSpace

#: Values that a coordinate probe tries along one column, at most.
PROBE = 6
#: Candidates for them: values spread over those of the data, values of elites, and both ends of the
#: domain, each with a chance: models often are largest there.
SPREAD, FROM_ELITES, TRY_END = 4, 2, 0.3
MOST_CANDIDATES = SPREAD + FROM_ELITES + 2
#: Share of the spread values that are drawn from the domain, not from the data: a model may change
#: where the data have no value.
FOREIGN = 0.2
#: Weight of what was seen of a column before, with each value that is tried along it.
VALUE_MEMORY = 0.97
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
        self.domain = domain = space.domain
        self.spread = domain.high - domain.low
        ends = np.stack([domain.low, domain.high])
        known = [np.unique(np.append(rows[:, j], ends[:, j])) for j in range(domain.n_features)]
        # Values of the data, column after column: those of column j begin at first_known[j].
        self.known, self.n_known = np.concatenate(known), np.array([len(one) for one in known])
        self.first_known = np.cumsum(self.n_known) - self.n_known
        # The order of categories means nothing, so that those of the data are not spread in it.
        self.is_level = np.array([column.is_category for column in domain.columns])
        self.has_few = domain.discrete & (self.spread < MOST_CANDIDATES)
        #: Share of the values tried along each column that changed the disparity, lately.
        self.activity = np.ones(domain.n_features)

    def learn(self, columns: Ints, changed: Bools) -> None:
        """Learn which of the tried values, by their columns, changed the disparity."""
        n_tried = np.bincount(columns, minlength=self.domain.n_features)
        n_changed = np.bincount(columns[changed], minlength=self.domain.n_features)
        share = n_changed / np.maximum(1, n_tried)
        kept = VALUE_MEMORY**n_tried
        self.activity = kept * self.activity + (1 - kept) * share

    def values(
        self, Z: Floats, columns: Ints, elites: Floats, rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """Values to try along one column of each of n inputs, other than the input's own.

        These are all values where they are few. Otherwise some are spread over the values of the
        data or over the domain, some are those that elites have, and some are the ends of the
        domain. Of a column that seldom changes anything there are fewer. Returned are, for each
        value, which of the inputs it is for, in their order, and the value.
        """
        n, few = len(columns), self.has_few[columns]
        low, high = self.domain.low[columns, None], self.domain.high[columns, None]
        # A row of candidates for each input, NaN where there is none.
        found = np.full((n, MOST_CANDIDATES), np.nan)
        found[:, :SPREAD] = self._spread(columns, rng)
        if len(elites):
            chosen = rng.integers(0, len(elites), (n, FROM_ELITES))
            found[:, SPREAD : SPREAD + FROM_ELITES] = elites[chosen, columns[:, None]]
        tries_end = rng.random((n, 2)) < TRY_END
        found[:, -2:] = np.where(tries_end, np.hstack([low, high]), np.nan)
        found[few] = low[few] + np.arange(MOST_CANDIDATES)
        found[found > high] = np.nan
        # Of a real column a tenth of the codes mean missing, which is one value.
        found = np.where(found > self.domain.top[columns, None], high, found)
        found.sort(axis=1)
        found[:, 1:][found[:, 1:] == found[:, :-1]] = np.nan
        found[found == Z[np.arange(n), columns, None]] = np.nan
        # As many of them, at random, as the column is worth.
        share = np.minimum(1.0, ACTIVE * self.activity[columns, None])
        most = np.maximum(FEWEST, np.ceil(PROBE * share))
        place = np.where(np.isnan(found), np.inf, rng.random(found.shape)).argsort(axis=1)
        found = np.take_along_axis(found, place, axis=1)[:, :PROBE]
        taken = ~np.isnan(found) & (np.arange(PROBE) < most)
        return np.nonzero(taken)[0], found[taken]

    def _spread(self, columns: Ints, rng: np.random.Generator) -> Floats:
        """One value of each of equal parts of the values in the data, or of the domain."""
        place = (np.arange(SPREAD) + rng.random((len(columns), SPREAD))) / SPREAD
        of_data = self.known[
            self.first_known[columns, None] + (place * self.n_known[columns, None]).astype(np.intp)
        ]
        width, whole = self.spread[columns, None], self.domain.discrete[columns, None]
        of_domain = np.where(whole, np.floor(place * (width + 1)), place * width)
        of_domain += self.domain.low[columns, None]
        foreign = self.is_level[columns, None] | (rng.random(place.shape) < FOREIGN)
        return np.where(foreign, of_domain, of_data)


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
