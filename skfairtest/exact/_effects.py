"""Linear maps of what a model sees, taken apart by attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfairtest.exact._steps import Features

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Effects:
    """The part of each attribute in ``features @ weights + base``.

    Parameters
    ----------
    features : Features
        What the model sees, each a function of one attribute.
    weights : ndarray of shape (n_features, n_sums)
        The map.
    base : ndarray of shape (n_sums,)
        What is added.

    Attributes
    ----------
    tables : dict of int to ndarray of shape (n_values, n_sums)
        Parts of attributes of finitely many values, along their grids.
    wide : list of int
        The other attributes that the map depends on.
    base : ndarray of shape (n_sums,)
        What does not depend on any attribute.
    size : float
        Sum of the largest absolute values of all terms: what rounding is measured by.
    """

    def __init__(self, features: Features, weights: Floats, base: Floats) -> None:
        self.features, self.weights = features, weights
        self.space = features.space
        constant = np.flatnonzero(features.source < 0)
        self.base = base + features.origin[constant] @ weights[constant]
        self.tables: dict[int, Floats] = {}
        self.wide: list[int] = []
        self.size = float(np.abs(base).max(initial=0.0))
        for j in range(self.space.n_features):
            own = features.of(j)
            if not len(own) or not weights[own].any():
                continue
            if features.wide[j]:
                self.wide.append(j)
                ends = np.array([[self.space.low[j]], [self.space.high[j]]])
                largest = np.abs(self.at(j, ends)).max(axis=(0, 1))
            else:
                terms = np.stack([features.table(int(t)) for t in own], axis=1)
                self.tables[j] = terms @ weights[own]
                largest = np.abs(terms) @ np.abs(weights[own])
            self.size += float(largest.max(initial=0.0))
        self.size += float(np.abs(self.base).max(initial=0.0))

    def values(self, attribute: int, codes: Floats) -> Floats:
        """Features of a wide attribute at some codes, (n, n_own)."""
        own = self.features.of(attribute)
        flat = np.repeat(codes, len(own))
        return self.features.evaluate(np.tile(own, len(codes)), flat).reshape(len(codes), -1)

    def at(self, attribute: int, codes: Floats) -> Floats:
        """Terms of a wide attribute at some codes, (n, n_own, n_sums)."""
        own = self.features.of(attribute)
        return self.values(attribute, codes.ravel())[:, :, None] * self.weights[own][None]

    def limits(self, attribute: int) -> tuple[Floats, Floats]:
        """Smallest and largest part of an attribute in each sum, (n_sums,) each.

        Features of a wide attribute are nondecreasing, so their extremes are at its ends.
        """
        if attribute in self.tables:
            table = self.tables[attribute]
            return table.min(axis=0), table.max(axis=0)
        ends = np.array([self.space.low[attribute], self.space.high[attribute]])
        terms = self.at(attribute, ends)
        return terms.min(axis=0).sum(axis=0), terms.max(axis=0).sum(axis=0)
