"""Examine all inputs of a small finite domain by the model as it was read."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._bracket import Bracket
from skfairtest.space._space import InputSpace


def all_inputs(space: InputSpace, most: int) -> Floats | None:
    """Return all inputs of a finite domain, with the twins of an input in consecutive rows.

    Parameters
    ----------
    space : InputSpace
        The inputs that exist.
    most : int
        How many there may be.

    Returns
    -------
    ndarray of shape (n, n_attributes) or None
        None where there are more.
    """
    sizes = np.where(space.domain.discrete, space.domain.high - space.domain.low + 1, np.inf)
    sizes = np.where(space.domain.high > space.domain.low, sizes, 1)
    if not np.prod(sizes) <= most:
        return None
    order = [*space.free.tolist(), *space.sensitive.tolist()]
    grids = [space.domain.low[j] + np.arange(int(sizes[j])) for j in order]
    rows = np.array(list(itertools.product(*grids)))
    back = np.empty_like(rows)
    back[:, order] = rows
    return back


def look_at(
    rows: Floats, space: InputSpace, evaluate: Callable[[Floats], Floats], known: float
) -> Bracket:
    """Return the largest difference between valid twins, by examining all inputs.

    Parameters
    ----------
    rows : ndarray
        All inputs, as `all_inputs` gives them.
    space : InputSpace
        The inputs that exist.
    evaluate : callable
        Gives the outputs of rows, shape (n, n_outputs).
    known : float
        A difference that is attained.
    """
    valid = space.valid(rows)
    said = evaluate(rows)
    n_twins = int(np.prod((space.domain.high - space.domain.low + 1)[space.sensitive]))
    shape = (-1, n_twins, said.shape[1])
    high = np.where(valid[:, None], said, -np.inf).reshape(shape)
    low = np.where(valid[:, None], said, np.inf).reshape(shape)
    spread = high.max(axis=1) - low.min(axis=1)
    i, o = np.unravel_index(spread.argmax(), spread.shape)
    upper = max(known, float(spread[i, o]))
    if spread[i, o] <= known:
        return Bracket(known, upper, None, len(rows), "closed")
    twins = rows.reshape(-1, n_twins, rows.shape[1])[i]
    pair: tuple[Any, Any] = (twins[high[i, :, o].argmax()], twins[low[i, :, o].argmin()])
    return Bracket(upper, upper, pair, len(rows), "closed")
