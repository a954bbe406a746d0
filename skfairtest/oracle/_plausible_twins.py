"""Judge which inputs and twins look like the data, asking the detector once for each row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._row_hash import Keys, KeySet, distinct
from skfairtest.space._plausible.plausibility import Plausibility

#: Rows of either answer that are remembered; once there are more, memory begins anew.
MOST_REMEMBERED = 100_000


class PlausibleTwins:
    """Plausibility of inputs that remembers its answers by row.

    It forgets none of the latest: a detector takes nearly as long for a few rows that are asked
    again in each batch as for the batch.

    Parameters
    ----------
    plausibility : Plausibility
        Judges rows.
    row_keys : callable
        Returns the keys of rows.
    """

    def __init__(self, plausibility: Plausibility, row_keys: Callable[[Floats], Keys]) -> None:
        self.plausibility, self._row_keys = plausibility, row_keys
        self._accepted, self._refused = KeySet(), KeySet()

    def accepts(self, rows: Floats) -> Bools:
        """Return which rows are plausible as they stand, shape (n,)."""
        keys = self._row_keys(rows)
        known, plausible = self._remembered(keys)
        self._judge_more(rows, keys, ~known, plausible)
        return plausible

    def of_twins(self, rows: Floats, keys: Keys, valid: Bools, own: Bools) -> Bools:
        """Return which twins are plausible, (n, width); none if an input lacks two valid twins.

        `valid` has the shape (n, width) of the inputs and their twins; the rows are in its order.
        `own` says which twin has the input's own sensitive values. Where that one is known to be
        plausible, and has one valid twin, the pair counts whatever that twin is: it is not judged,
        and taken for plausible.
        """
        several = valid & (valid.sum(axis=1, keepdims=True) > 1)
        known, plausible = self._remembered(keys)
        stands = own & several & plausible.reshape(valid.shape)
        settled = stands.any(axis=1, keepdims=True) & (several.sum(axis=1, keepdims=True) == 2)
        self._judge_more(rows, keys, (several & ~settled).ravel() & ~known, plausible)
        return several & (settled | plausible.reshape(valid.shape))

    def _remembered(self, keys: Keys) -> tuple[Bools, Bools]:
        """Return which rows were judged before, and which of them are plausible."""
        plausible = self._accepted.contains(keys)
        return plausible | self._refused.contains(keys), plausible

    def _judge_more(self, rows: Floats, keys: Keys, chosen: Bools, plausible: Bools) -> None:
        """Judge the chosen rows, and write which are plausible."""
        places = np.flatnonzero(chosen)
        if len(places):
            first, back = distinct(keys[places])
            accepted = self.plausibility.accepts(rows[places[first]])
            asked = keys[places[first]]
            self._accepted = with_more(self._accepted, asked[accepted])
            self._refused = with_more(self._refused, asked[~accepted])
            plausible[places] = accepted[back]


def with_more(known: KeySet, keys: Keys) -> KeySet:
    """Return a set of keys with others added, or the others alone where it was full."""
    known = KeySet() if known.size > MOST_REMEMBERED else known
    known.add(keys)
    return known
