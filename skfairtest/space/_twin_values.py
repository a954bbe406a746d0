"""Values of sensitive columns that are compared if all values are too many."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._domain import Domain


def representative_values(domain: Domain, sensitive: Ints, observed: list[Floats]) -> list[Floats]:
    """Return the values of each sensitive column that are compared; small columns keep all theirs.

    Parameters
    ----------
    domain : Domain
        Values of all columns.
    sensitive : ndarray of int
        Positions of the sensitive columns.
    observed : list of ndarray
        For each sensitive column of many values those that occur in the data.

    Returns
    -------
    list of ndarray
        Encoded values, the same ones in every call.
    """
    n_values = [domain.columns[j].n_values for j in sensitive]
    chosen = [np.empty(0)] * len(n_values)
    # A thousand combinations stand in for all, of several sensitive columns; 256 values for all of
    # one column. Each column gets an equal share, as a factor, of what smaller ones left over.
    left = 1000.0
    for done, i in enumerate(np.argsort(n_values, kind="stable").tolist()):
        share = max(2, int(left ** (1 / (len(n_values) - done)) + 1e-9))
        j, n = int(sensitive[i]), min(share, 256)
        chosen[i] = _representative(domain, j, observed[i], n)
        left = max(1.0, left / len(chosen[i]))
    return chosen


def _representative(domain: Domain, j: int, observed: Floats, n: int) -> Floats:
    """Return at most n encoded values of a column."""
    column = domain.columns[j]
    if column.n_values <= n:
        return np.asarray(column.low + np.arange(column.n_values))
    steps = (column.high - column.low) / column.step + 1
    # Two thirds of the values at most are evenly spaced, if there are others in the data.
    n_even = n - min(len(observed), n // 3)
    if not column.discrete and steps <= n_even:
        even = column.grid()
    else:
        even = np.linspace(column.low, column.high, n_even, dtype=np.float64)
    # Of the values in the data, each of an equal number of neighbours stands for its like.
    places = np.linspace(0, len(observed) - 1, min(len(observed), n - len(even)))
    encoded = np.concatenate([even, observed[np.rint(places).astype(np.intp)]])
    return np.unique(domain.round_to_dtype(np.rint(encoded) if domain.discrete[j] else encoded, j))
