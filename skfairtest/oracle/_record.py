"""Record of what a search has found so far, and of its course."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._archive import Archive, History
from skfairtest.oracle._compare import Comparison
from skfairtest.oracle._judgement import Worst
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
        The course.
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
        """Discriminatory inputs, the sensitive codes of their twins, disparities; worst first."""
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

    def add(
        self, Z: Floats, keys: Keys, values: Floats, shown: Comparison, verdict: Bools,
        counted: Bools,
    ) -> bool:  # fmt: skip
        """Add inputs with their comparison; return whether there is anything new.

        `values` are the sensitive codes of the twins; only the `counted` inputs were compared.
        """
        before = (self.n_inputs, self.n_found, self.degree)
        self.n_inputs += int(self._seen.add(keys[counted]).sum())
        found = verdict & counted
        twins = np.take_along_axis(values[found], shown.twins[found][:, :, None], axis=1)
        self._archive.add(Z[found], twins, shown.gap[found], keys[found])
        best = int(shown.disparity.argmax()) if len(Z) else 0
        if len(Z) and shown.disparity[best] > self.degree:
            self.degree = float(shown.disparity[best])
            first, second = values[best, shown.pair[best]]
            high, low = map(float, shown.outputs[best])
            at = (int(shown.output[best]), shown.labels[best])
            self.worst = Worst(Z[best].copy(), first, second, (high, low), *at)
        return (self.n_inputs, self.n_found, self.degree) != before

    def note(self, n_queries: int, seconds: float) -> None:
        """Add what was spent and found so far to the history."""
        self.history.add(n_queries, seconds, self.n_inputs, self.n_found, self.degree)
