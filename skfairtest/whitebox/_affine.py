"""Affine maps of rows."""

from __future__ import annotations

from typing import NamedTuple

from skfairtest._typing import Floats


class Affine(NamedTuple):
    """A map ``x @ weights + base``."""

    weights: Floats
    base: Floats

    def then(self, other: Affine) -> Affine:
        """The map, and another one after it."""
        return Affine(self.weights @ other.weights, self.base @ other.weights + other.base)
