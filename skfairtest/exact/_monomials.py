"""Products of powers of features, and their ranges in a box of codes.

A monomial is a product of *factors*, one an attribute: what is made of that attribute's features.
Of an attribute of finitely many values a factor is a table; of another one its range over an
interval follows from those of features that rise or fall. A box gives each attribute some values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.whitebox._features import Features

#: Places in the grid of a finite attribute, or the ends of an interval of codes.
Values = Ints | tuple[float, float]
#: What each attribute may be.
Box = dict[int, Values]

#: Features of single codes that are kept.
MOST_KNOWN = 500_000


class Ranges(NamedTuple):
    """Smallest and largest values."""

    low: Floats
    high: Floats


class Monomials:
    """Products of powers of features, by attribute.

    Parameters
    ----------
    features : Features
        What the powers are of.
    powers : ndarray of int of shape (n_monomials, n_features)
        Exponents.

    Attributes
    ----------
    attributes : list of int
        Those that any monomial depends on.
    factor : dict of int to ndarray of shape (n_monomials,)
        By attribute, which of its factors each monomial has; number 0 is 1 everywhere.
    scale : ndarray of shape (n_monomials,)
        The part of features that are the same everywhere.
    """

    def __init__(self, features: Features, powers: Ints) -> None:
        self.features, self.space = features, features.space
        constant = np.flatnonzero(features.source < 0)
        self.scale = np.prod(features.origin[constant] ** powers[:, constant], axis=1)
        self.attributes: list[int] = []
        self.factor: dict[int, Ints] = {}
        self._own: dict[int, Ints] = {}
        self._exponents: dict[int, Ints] = {}
        self._tables: dict[int, Floats] = {}
        self._known: dict[tuple[int, float], Floats] = {}
        for j in range(self.space.n_features):
            own = features.of(j)
            if not len(own) or not powers[:, own].any():
                continue
            rows = np.vstack([np.zeros((1, len(own)), dtype=np.intp), powers[:, own]])
            exponents, which = np.unique(rows, axis=0, return_inverse=True)
            self.attributes.append(j)
            self.factor[j] = which.ravel()[1:]  # the row of zeros is the first one of all
            self._own[j], self._exponents[j] = own, exponents
            if not features.continuous[j]:
                values = np.stack([features.table(int(t)) for t in own], axis=1)
                self._tables[j] = self._factors(j, values)

    def whole(self) -> Box:
        """Return the box of the whole domain."""
        space = self.space
        return {
            j: np.arange(len(self._tables[j])) if j in self._tables
            else (float(space.domain.low[j]), float(space.domain.high[j]))
            for j in self.attributes
        }  # fmt: skip

    def codes(self, attribute: int, values: Values) -> Floats:
        """Return codes of an attribute: all if they are few, else the ends and the middle."""
        if not isinstance(values, tuple):
            return np.asarray(self.features.grids[attribute][values])
        low, high = values
        middle = (low + high) / 2
        if self.space.domain.discrete[attribute]:
            middle = float(np.floor(middle))
        if self.space.domain.single[attribute]:
            middle = float(np.float32(middle))
        first, last = self.features.piece_ends(attribute)
        inner = np.concatenate([first, last])
        return np.concatenate([[low, middle, high], inner[(inner > low) & (inner < high)]])

    def at(self, attribute: int, codes: Floats) -> Floats:
        """Return the factors of an attribute at some codes, (n_codes, n_factors)."""
        if attribute in self._tables:
            grid = self.features.grids[attribute]
            return self._tables[attribute][np.searchsorted(grid, codes)]
        return self._factors(attribute, self._seen(attribute, codes))

    def _seen(self, attribute: int, codes: Floats) -> Floats:
        """Return the features of a continuous attribute at some codes, (n_codes, n_own)."""
        own, known = self._own[attribute], self._known
        new = sorted({code for code in codes.tolist() if (attribute, code) not in known})
        if new:
            if len(known) > MOST_KNOWN:
                known.clear()
                new = codes.tolist()
            found = self.features.along(attribute, np.array(new))[:, own]
            known.update({(attribute, code): row for code, row in zip(new, found, strict=True)})
        return np.array([known[attribute, code] for code in codes.tolist()])

    def _factors(self, attribute: int, values: Floats) -> Floats:
        return np.asarray(np.prod(values[:, None, :] ** self._exponents[attribute], axis=2))

    def ranges(self, attribute: int, values: Values) -> Ranges:
        """Return the range of each factor of an attribute, (n_factors,)."""
        if not isinstance(values, tuple):
            table = self._tables[attribute][values]
            return Ranges(table.min(axis=0), table.max(axis=0))
        low, high = values
        first, last = self.features.piece_ends(attribute)
        inner = np.concatenate([first, last])
        codes = np.concatenate([[low, high], inner[(inner > low) & (inner < high)]])
        seen = self._seen(attribute, codes)
        # Features rise or fall between these codes.
        ends = Ranges(seen.min(axis=0), seen.max(axis=0))
        found = Ranges(np.ones(len(self._exponents[attribute])), np.ones(1))
        for t, exponents in enumerate(self._exponents[attribute].T):
            found = product(found, _power(ends.low[t], ends.high[t], exponents))
        return found

    def products(self, box: Box) -> Ranges:
        """Return the ranges of monomials in a box, as far as its attributes matter."""
        n = len(self.scale)
        found = Ranges(np.ones(n), np.ones(n))
        for j, values in box.items():
            own = self.ranges(j, values)
            which = self.factor[j]
            found = product(found, Ranges(own.low[which], own.high[which]))
        return found


def _power(low: float, high: float, exponents: Ints) -> Ranges:
    """Return the range of powers of a number in an interval."""
    ends = np.array([low, high])[:, None] ** exponents
    least = ends.min(axis=0)
    if low < 0 < high:
        least = np.where((exponents % 2 == 0) & (exponents > 0), 0.0, least)
    return Ranges(least, ends.max(axis=0))


def product(one: Ranges, two: Ranges) -> Ranges:
    """Return the range of products of numbers from two ranges."""
    corners = [a * b for a in one for b in two]
    return Ranges(
        np.minimum.reduce(np.broadcast_arrays(*corners)),
        np.maximum.reduce(np.broadcast_arrays(*corners)),
    )
