"""The box of encoded values that contains all inputs; it draws rows, and moves rows into it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats
from skfairtest.space._columns import MISSING_SHARE
from skfairtest.space._layout import Layout


def values_at(shares: Floats, low: Floats, high: Floats, discrete: Bools) -> Floats:
    """Return the encoded values at shares, from 0 to below 1, of the way from `low` to `high`.

    Discrete ones are whole numbers, each of an equal part of the way: uniform shares give uniform
    encoded values.
    """
    encoded: Floats = low + np.where(
        discrete, np.floor(shares * (high - low + 1)), shares * (high - low)
    )
    return encoded


class Domain:
    """The values that each attribute can take, encoded.

    Parameters
    ----------
    layout : Layout
        The attributes of a table.

    Attributes
    ----------
    columns : list of Column
        The attributes.
    low, high, steps : ndarray of shape (n_features,)
        Ends of the closed domains and the length of one step, in encoded values.
    discrete : ndarray of bool of shape (n_features,)
        Which attributes have whole encoded values only.
    largest_code : ndarray of shape (n_features,)
        Encoded values beyond these mean missing, in attributes that have a missing value.
    single : ndarray of bool of shape (n_features,)
        Which attributes are numbers of single precision in the table.
    """

    def __init__(self, layout: Layout) -> None:
        self.columns = columns = layout.columns
        self.low = np.array([column.low for column in columns])
        self.high = np.array([column.high for column in columns])
        self.steps = np.array([column.step for column in columns])
        self.discrete = np.array([column.discrete for column in columns])
        self.largest_code = np.array([column.largest_code for column in columns])
        self._has_missing = any(column.has_missing for column in columns)
        # Draws of a column of many values would come upon the missing one too seldom.
        self._seldom = np.array(
            [j for j, c in enumerate(columns) if c.has_missing and 1 / MISSING_SHARE < c.n_values
             and c.discrete and not c.is_category], dtype=np.intp
        )  # fmt: skip
        # Encoded values of numbers are rounded as the numbers are, positions and steps are not.
        self._rounds_to = [column.rounds_to for column in columns]
        self.single = np.array([dtype == "float32" for dtype in self._rounds_to])

    @property
    def n_features(self) -> int:
        """Number of attributes."""
        return len(self.columns)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw uniform encoded values from the closed domains, shape (n, n_features).

        Numbers that may be missing are missing in a tenth of the rows, at least.
        """
        U = rng.random((n, self.n_features))
        Z = values_at(U, self.low, self.high, self.discrete)
        return self.clip(self.draw_missing(Z, rng))

    def draw_missing(self, Z: Floats, rng: np.random.Generator) -> Floats:
        """Replace a tenth of the draws by missing, in place, in columns of many whole numbers.

        Of other columns it is so already: of real ones a tenth of the encoded values mean missing,
        and of few values each is drawn as often.
        """
        if len(self._seldom):
            gone = rng.random((len(Z), len(self._seldom))) < MISSING_SHARE
            Z[:, self._seldom] = np.where(gone, self.high[self._seldom], Z[:, self._seldom])
        return Z

    def clip(self, Z: Floats) -> Floats:
        """Return the nearest values inside the domains, whole ones if the column is discrete.

        What is beyond the domain is no missing value, but a number too large: it goes to the
        largest one.
        """
        if self._has_missing:
            beyond = (self.high < Z) | (self.discrete & (self.largest_code < Z) & (Z < self.high))
            Z = np.where(beyond, self.largest_code, Z)
        Z = np.clip(Z, self.low, self.high)
        if self.discrete.all():
            np.rint(Z, out=Z)
        elif self.discrete.any():
            np.rint(Z, out=Z, where=self.discrete)
        # What the model will see is a float32, say; two values that it cannot tell apart are one.
        for dtype in {name for name in self._rounds_to if name is not None}:
            rounded = [j for j, name in enumerate(self._rounds_to) if name == dtype]
            Z[:, rounded] = Z[:, rounded].astype(dtype)
        return np.where(self.largest_code < Z, self.high, Z) if self._has_missing else Z

    def contains(self, Z: Floats) -> NDArray[np.bool_]:
        """Return which rows `clip` would leave as they are, shape (n,)."""
        return np.asarray((self.clip(Z) == Z).all(axis=1))

    def round_to_dtype(self, encoded: Floats, j: int) -> Floats:
        """Return an encoded column as the table can store it, with one value for missing."""
        dtype = self._rounds_to[j]
        if dtype is not None:
            encoded = encoded.astype(dtype).astype(np.float64)
        if not self._has_missing:
            return encoded
        return np.where(self.largest_code[j] < encoded, self.high[j], encoded)

    def move_inside(self, Z: Floats, rng: np.random.Generator) -> Floats:
        """Move rows of data into the domain; missing or unknown values are drawn anew.

        Numbers beyond the bounds go to the nearer end; missing numbers, and categories outside the
        domain, have no nearest and are drawn.
        """
        categorical = np.array([not column.is_open for column in self.columns])
        foreign = np.isnan(Z) | (categorical & ((self.low > Z) | (self.high < Z)))
        if foreign.any():
            Z = np.where(foreign, self.draw(len(Z), rng), Z)
        return self.clip(Z)

    def neighbours(self, Z: Floats, attributes: NDArray[np.intp]) -> Floats:
        """Return all rows one step away in one attribute, (n, 2 * n_attributes, n_features).

        Steps are -1 and +1 of the attribute's own granularity (the neighbouring category of a
        categorical one), clipped to the domain: at its end a neighbour is the row itself.
        """
        moves = np.zeros((2 * len(attributes), self.n_features))
        order = np.arange(len(attributes))
        moves[2 * order, attributes] = -self.steps[attributes]
        moves[2 * order + 1, attributes] = self.steps[attributes]
        moved = np.asarray(Z)[:, None, :] + moves
        return self.clip(moved.reshape(-1, self.n_features)).reshape(moved.shape)
