"""Random ranks that belong to rows: the same row always gets the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats


class RowRanks:
    """Uniform numbers of rows, one for each purpose, that follow from the rows and a seed.

    Equal values share a rank only by chance, so that a map can move a part of them; but who asks
    twice about a row gets the same answer, in whatever table the row stands.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        The rows.
    seed : int
        Other seeds give other numbers.
    """

    def __init__(self, Z: Floats, seed: int) -> None:
        self._Z, self._seed = Z, seed
        self._made: NDArray[np.uint64] | None = None

    def of(self, rows: NDArray[np.intp]) -> RowRanks:
        """Return the numbers of some of the rows, which are not mixed again."""
        other = RowRanks(self._Z[:0], self._seed)
        other._made = self._keys[rows]
        return other

    @property
    def _keys(self) -> NDArray[np.uint64]:
        # At the first use: where nothing is equal nobody asks.
        if self._made is None:
            keys: NDArray[np.uint64] = np.full(len(self._Z), _step(self._seed))
            for j in range(self._Z.shape[1]):
                # Minus zero is zero, and one missing value is like another.
                encoded = self._Z[:, j] + 0.0
                encoded[np.isnan(encoded)] = np.nan
                keys = _mixed(keys ^ encoded.view(np.uint64))
            self._made = keys
        return self._made

    def uniform(
        self, purpose: int | NDArray[np.intp], rows: NDArray[np.intp] | slice = slice(None)
    ) -> Floats:
        """Return numbers in [0, 1), shape (n,): others for each purpose, one or one a row."""
        keys: NDArray[np.uint64] = self._keys[rows] + _step(purpose + 1)
        numbers: Floats = (_mixed(keys) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return numbers


def _step(times: int | NDArray[np.intp]) -> Any:
    """Return what SplitMix64 adds to a number in so many steps."""
    if isinstance(times, np.ndarray):
        return times.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.uint64(times * 0x9E3779B97F4A7C15 % 2**64)


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of numbers by a step of SplitMix64."""
    keys = keys + _step(1)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
