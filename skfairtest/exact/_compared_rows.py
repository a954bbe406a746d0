"""Rows on which a model that was read out is compared with the model itself."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._space import InputSpace


def rows_with_ends(space: InputSpace, n: int, rng: np.random.Generator) -> Floats:
    """Random rows of codes; every fourth attribute at an end of its domain.

    Parameters
    ----------
    space : InputSpace
        The inputs that exist.
    n : int
        How many rows.
    rng : Generator
        Draws them.

    Returns
    -------
    ndarray of shape (n, n_attributes)
        Constraints are not looked at.
    """
    Z = space.draw(n, rng)
    ends = np.where(rng.random(Z.shape) < 0.5, space.low, space.high)
    return np.where(rng.random(Z.shape) < 0.25, ends, Z)
