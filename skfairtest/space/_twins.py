"""Twins: all combinations of sensitive values, and rows that differ in nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.space._descendants import DescendantRule, apply_function, apply_rules, read_rules
from skfairtest.space._domain import Domain
from skfairtest.space._layout import Layout
from skfairtest.space._twin_values import representative_values

#: `sensitive_values` builds no table longer than this; `combination_values` has no limit.
MAX_TABLE = 1_000_000
#: Numbers of combinations that NumPy's generators and `unravel_index` can handle.
MAX_NUMBERED = 2**62


class Twins:
    """Twins of an input: rows that differ only in the sensitive attributes and their descendants.

    Parameters
    ----------
    layout : Layout
        The attributes of the table.
    domain : Domain
        Their values.
    sensitive : list of int
        Positions of the sensitive attributes.
    data : ndarray of shape (n_rows, n_features)
        Encoded data.
    descendants : mapping, callable or None
        What else follows from a sensitive value.

    Attributes
    ----------
    sensitive, free : ndarray of int
        Positions of the sensitive attributes, and of the others.
    n_combinations : int or float
        Number of combinations of sensitive values; infinite with a real sensitive column.
    descendants : mapping, callable or None
        As it was given.
    rules : list of DescendantRule
        What a mapping says, in encoded values.
    descendants : list of int
        Positions of attributes that follow from sensitive values, as far as a mapping says so.
    """

    rules: list[DescendantRule]

    def __init__(
        self, layout: Layout, domain: Domain, sensitive: list[int], data: Floats, descendants: Any
    ) -> None:
        self.layout, self.domain, self.descendants = layout, domain, descendants
        self.sensitive = np.array(sensitive, dtype=np.intp)
        self.non_sensitive = np.setdiff1d(np.arange(domain.n_features), self.sensitive)
        n_values = [domain.columns[j].n_values for j in sensitive]
        self.n_combinations: int | float = math.prod(
            int(n) if np.isfinite(n) else n for n in n_values
        )
        # Sensitive values that occur in the data, which draws prefer where a domain is too large
        # to be gone through; empty for other columns.
        self._observed = [self._values_in_data(j, data) for j in sensitive]
        self.rules = []
        if isinstance(descendants, Mapping):
            self.rules = read_rules(descendants, domain.columns, sensitive, layout.one_hot)
        self.descendant_columns = sorted({rule.column for rule in self.rules})

    def _values_in_data(self, j: int, data: Floats) -> Floats:
        domain = self.domain
        if domain.columns[j].n_values <= MAX_TABLE:
            return np.empty(0)
        inside = (domain.low[j] <= data[:, j]) & (data[:, j] <= domain.high[j])
        return np.unique(np.append(data[inside, j], [domain.low[j], domain.high[j]]))

    @property
    def is_enumerable(self) -> bool:
        """Whether all combinations of sensitive values can be listed."""
        return self.n_combinations <= MAX_TABLE

    @property
    def n_twins(self) -> int:
        """Length of `twin_values`."""
        if self.is_enumerable:
            return int(self.n_combinations)
        return math.prod(
            len(encoded)
            for encoded in representative_values(self.domain, self.sensitive, self._observed)
        )

    @property
    def compares_all(self) -> bool:
        """Whether a search compares all twins of an input, as they are few; otherwise two."""
        return self.n_combinations <= 8

    @property
    def n_compared(self) -> int:
        """Number of twins of an input that a search compares."""
        return int(self.n_combinations) if self.compares_all else 2

    @property
    def sensitive_values(self) -> Floats:
        """Encoded values of all sensitive combinations, shape (n_combinations, n_sensitive)."""
        if not self.is_enumerable:
            raise ValueError(
                f"{self.n_combinations} combinations of sensitive values are too many for a table. "
                "Take twin_values, which represent them, draw some with draw_sensitive, or narrow "
                "the domains by InputSpace(bounds=...) or InputSpace(categories=...)."
            )
        return self.combination_values(np.arange(self.n_combinations))

    @property
    def twin_values(self) -> Floats:
        """Encoded sensitive values that an input is compared by, (n_twins, n_sensitive).

        These are all combinations if they can be listed. Otherwise they are some values of each
        column: evenly spaced ones with both ends of the domain, and some that occur in the data.
        """
        if self.is_enumerable:
            return self.sensitive_values
        grid = np.meshgrid(
            *representative_values(self.domain, self.sensitive, self._observed), indexing="ij"
        )
        return np.column_stack([encoded.ravel() for encoded in grid])

    def combination_values(self, combinations: Any) -> Floats:
        """Encode numbered combinations, with n_sensitive as an additional last axis."""
        sizes = [int(self.domain.columns[j].n_values) for j in self.sensitive]
        places = np.unravel_index(combinations, sizes)
        return np.stack(
            [self.domain.low[j] + place for j, place in zip(self.sensitive, places, strict=True)],
            axis=-1,
        )

    def draw_sensitive(self, n: int, rng: np.random.Generator) -> Floats:
        """Return random encoded values of the sensitive columns, shape (n, n_sensitive).

        They are uniform for categories and integers. For a real column half come from the closed
        interval, and half are values that occur in the data.
        """
        if self.n_combinations <= MAX_NUMBERED:
            return self.combination_values(rng.integers(0, int(self.n_combinations), size=n))
        return np.column_stack([self._draw_column(i, n, rng) for i in range(len(self.sensitive))])

    def _draw_column(self, i: int, n: int, rng: np.random.Generator) -> Floats:
        j, observed = int(self.sensitive[i]), self._observed[i]
        spread = self.domain.high[j] - self.domain.low[j]
        U = rng.random(n)
        if self.domain.discrete[j]:
            return self.domain.round_to_dtype(
                self.domain.low[j] + np.minimum(np.floor(U * (spread + 1)), spread), j
            )
        encoded = self.domain.round_to_dtype(self.domain.low[j] + U * spread, j)
        if not len(observed):  # a column of one value
            return encoded
        return np.where(rng.random(n) < 0.5, encoded, observed[rng.integers(len(observed), size=n)])

    def draw_sensitive_pairs(self, n: int, rng: np.random.Generator) -> Floats:
        """Return random encoded values of two twins of each of n inputs, shape (n, 2, n_sensitive).

        The two differ; in a domain that cannot be numbered they are equal with a small chance.
        """
        if self.n_combinations <= MAX_NUMBERED:
            count = int(self.n_combinations)
            first = rng.integers(0, count, size=n)
            other = rng.integers(0, count - 1, size=n)
            return self.combination_values(np.column_stack([first, other + (other >= first)]))
        first_values, second_values = (self.draw_sensitive(n, rng) for _ in range(2))
        return np.stack([first_values, second_values], axis=1)

    def with_sensitive(self, Z: Floats, encoded: Any, *, in_place: bool = False) -> Floats:
        """Return the inputs with their sensitive attributes set.

        `encoded` are those of the sensitive columns: one row for all inputs, or one for each. Rows
        are copied, unless they are floats that nobody else needs (`in_place`).
        """
        if not in_place:
            Z = np.array(Z, dtype=np.float64)
        Z[:, self.sensitive] = encoded
        return self.apply_descendants(Z)

    def of_each(self, Z: Floats, values: Floats) -> Floats:
        """Return the twins of each input, one after the other, shape (n * k, n_features).

        `values` are the encoded sensitive values of the k twins of each input, (n, k, n_sensitive),
        or of all inputs, (k, n_sensitive).
        """
        n, (k, n_sensitive) = len(Z), values.shape[-2:]
        encoded = np.broadcast_to(values, (n, k, n_sensitive)).reshape(n * k, n_sensitive)
        rows = np.repeat(np.asarray(Z, dtype=np.float64), k, axis=0)
        return self.with_sensitive(rows, encoded, in_place=True)

    def apply_descendants(self, Z: Floats) -> Floats:
        """Set the values that follow from the rows' sensitive values; rows may change in place."""
        if self.rules:
            return apply_rules(Z, self.rules)
        if self.descendants is not None and len(Z):
            return apply_function(Z, self.descendants, self.layout, self.sensitive)
        return Z

    def clip_sensitive(self, encoded: Floats) -> Floats:
        """Return the nearest encoded values inside the sensitive columns' domains."""
        low, high, largest = (
            ends[self.sensitive]
            for ends in (self.domain.low, self.domain.high, self.domain.largest_code)
        )
        encoded = np.clip(np.where(high < encoded, largest, encoded), low, high)
        for i, j in enumerate(self.sensitive):
            if self.domain.discrete[j]:
                encoded[..., i] = np.rint(encoded[..., i])
            encoded[..., i] = self.domain.round_to_dtype(encoded[..., i], j)
        return encoded
