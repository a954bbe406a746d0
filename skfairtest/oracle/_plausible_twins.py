"""Judge which inputs and twins look like the data, asking the detector once for each row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._row_hash import AnswerMemory, Keys, distinct
from skfairtest.space._plausible.judge import Plausibility


class PlausibleTwins:
    """Judge of plausible inputs that remembers its answers by row.

    Parameters
    ----------
    judge : Plausibility
        Judges rows.
    row_keys : callable
        Returns the keys of rows.
    """

    def __init__(self, judge: Plausibility, row_keys: Callable[[Floats], Keys]) -> None:
        self.judge, self._row_keys = judge, row_keys
        self._memory = AnswerMemory(0, megabytes=4)

    def accepts(self, rows: Floats) -> Bools:
        """Return which rows are plausible as they stand, shape (n,)."""
        return self._judged(rows, self._row_keys(rows))

    def of_twins(self, rows: Floats, keys: Keys, valid: Bools, own: Bools) -> Bools:
        """Return which twins are plausible, (n, width); none if an input lacks two valid twins.

        `valid` has the shape (n, width) of the inputs and their twins; the rows are in its order.
        `own` says which twin has the input's own sensitive values. Where that one is known to be
        plausible, and has one valid twin, the pair counts whatever that twin is: it is not judged,
        and taken for plausible.
        """
        several = valid & (valid.sum(axis=1, keepdims=True) > 1)
        known, _, labels = self._memory.find(keys)
        stands = own & several & (known & (labels == 1)).reshape(valid.shape)
        settled = stands.any(axis=1, keepdims=True) & (several.sum(axis=1, keepdims=True) == 2)
        plausible = settled & several
        places = np.flatnonzero(several & ~settled)
        plausible.ravel()[places] = self._judged(rows[places], keys[places])
        return plausible

    def _judged(self, rows: Floats, keys: Keys) -> Bools:
        known, _, labels = self._memory.find(keys)
        plausible: Bools = known & (labels == 1)
        unknown = np.flatnonzero(~known)
        if len(unknown):
            first, back = distinct(keys[unknown])
            accepted = self.judge.accepts(rows[unknown[first]])
            said = accepted.astype(np.int64)
            self._memory.store(keys[unknown[first]], np.empty((len(first), 0)), said)
            plausible[unknown] = accepted[back]
        return plausible
