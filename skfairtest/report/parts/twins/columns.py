"""Which columns matter for the difference of two twins."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.oracle._handle import SearchHandle
from skfairtest.space._space import InputSpace


def matters(search: SearchHandle, twins: Floats, typical: Floats) -> list[float]:
    """By how much the difference of two twins changes, with a typical value in each column.

    One value a column of the table, 0 where the twins differ; two queries a column.
    """
    space = search.space
    # What differs is left alone: sensitive attributes, and what follows from them.
    non_sensitive = np.flatnonzero((twins[0] == twins[1]) | np.isnan(twins).all(axis=0)).tolist()
    rows = np.tile(twins, (len(non_sensitive) + 1, 1))
    for number_of, j in enumerate(non_sensitive, start=1):
        rows[2 * number_of : 2 * number_of + 2, j] = typical[j]
    if search.response == "labels":
        codes = search.respond(rows)[:, 0].reshape(-1, 2)
        gaps = (codes[:, :1] != codes[:, 1:]).astype(float)
    else:
        outputs = search.respond(rows)
        gaps = outputs[0::2] - outputs[1::2]
    changes = np.abs(gaps[1:] - gaps[0]).max(axis=1)
    of_columns = np.zeros(len(space.layout.container.names))
    for j, change in zip(non_sensitive, changes.tolist(), strict=True):
        of_columns[space.layout.places[j]] = change
    return [float(change) for change in of_columns]


def typical_values(space: InputSpace) -> Floats:
    """Of each column the most frequent value of the data, of many numbers the median."""
    largest = space.domain.largest_code
    return np.array([_typical(space.data[:, j], code) for j, code in enumerate(largest)])


def _typical(encoded: Floats, largest_code: float) -> float:
    known = encoded[~np.isnan(encoded)]
    if not len(known):
        return float("nan")
    values, counts = np.unique(known, return_counts=True)
    # Numbers with more different values have a median that is typical, not a most frequent one.
    if len(values) > 20:  # those that are missing have no place among the others
        return float(np.quantile(known[known <= largest_code], 0.5, method="lower"))
    return float(values[counts.argmax()])
