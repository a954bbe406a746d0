"""Record of what a search has found so far, and of its history."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._archive import Archive, History
from skfairtest.oracle._judgement import Judgement, Worst
from skfairtest.oracle._row_hash import Keys, KeySet, distinct


class Record:
    """Record of distinct and discriminatory inputs, and of the largest disparity.

    Parameters
    ----------
    n_features, n_sensitive : int
        Columns, and sensitive ones among them.

    Attributes
    ----------
    n_inputs : int
        Distinct inputs so far.
    degree : float
        The largest disparity so far.
    worst : Worst or None
        The pair that shows it.
    history : History
        What was found with how many queries.
    """

    def __init__(self, n_features: int, n_sensitive: int) -> None:
        self.n_inputs = 0
        self.degree = 0.0
        self.worst: Worst | None = None
        self.history = History()
        self._archive = Archive(n_features, n_sensitive)
        self._seen = KeySet()

    @property
    def n_found(self) -> int:
        """Unique discriminatory inputs, kept or not."""
        return self._archive.n_found

    def found(self) -> tuple[Floats, Floats, Floats]:
        """Discriminatory inputs, values of their twins (encoded), disparities; worst first."""
        return self._archive.rows()

    def keys(self) -> tuple[Keys, Keys, Keys]:
        """Return the keys of the inputs of `found`, of all that discriminate, and of all inputs."""
        return self._archive.keys(), self._archive.known.keys(), self._seen.keys()

    def is_new(self, keys: Keys, *, may_differ_elsewhere: bool) -> Bools:
        """Return which inputs are not known yet, by key; equal inputs count once.

        Known are those that were judged or, where an input that was judged may still differ in
        another pair of twins, those that discriminate.
        """
        new = np.zeros(len(keys), dtype=bool)
        new[distinct(keys)[0]] = True
        known = self._archive.known if may_differ_elsewhere else self._seen
        return new & ~known.contains(keys)

    def add(self, Z: Floats, judged: Judgement) -> bool:
        """Add inputs with what they show; return whether there is anything new."""
        before = (self.n_inputs, self.n_found, self.degree)
        counted, found = judged.counted, judged.verdict & judged.counted
        self.n_inputs += int(self._seen.add(judged.keys[counted]).sum())
        self._archive.add(Z[found], judged.twins[found], judged.gap[found], judged.keys[found])
        best = int(judged.disparity.argmax()) if len(Z) else 0
        if len(Z) and judged.disparity[best] > self.degree:
            self.degree = float(judged.disparity[best])
            high, low = map(float, judged.outputs[best])
            self.worst = Worst(
                Z[best].copy(), judged.first[best], judged.second[best], (high, low),
                int(judged.output[best]), judged.labels[best],
            )  # fmt: skip
        return (self.n_inputs, self.n_found, self.degree) != before
