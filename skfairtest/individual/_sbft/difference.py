"""A model of the difference between twins, for the initial design of the tuned search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.space._space import InputSpace


class Coded(NamedTuple):
    """Inputs and pairs as features, whose products are covariances."""

    columns: Floats
    squares: Floats
    pairs: Floats


class DifferenceModel:
    """A Gaussian process of the signed difference between the outputs of two twins.

    Its covariance is that of the inputs times that of the pairs. The former is a sum over columns
    and over pairs of columns, each with a variance that is learned. Under the latter a difference
    changes its sign when the twins change places.
    """

    def __init__(self, space: InputSpace, rows: Floats) -> None:
        self.non_sensitive = [ColumnParts(space, j, rows) for j in space.non_sensitive]
        self.sensitive = [ColumnParts(space, j, rows) for j in space.sensitive]
        ends = np.cumsum([0] + [len(parts.root) for parts in self.non_sensitive])
        self.starts, self.counts = ends[:-1], np.diff(ends)
        # Variances: what all inputs share, what each column does, what nothing explains.
        self.common, self.noise = 0.5, 0.1
        self.variances = np.full(len(self.non_sensitive), 1 / max(1, len(self.non_sensitive)))
        self.n_improved = 0
        self.is_informed = False
        self.differences = np.empty(0)
        self.known: Coded | None = None

    def coded(self, Z: Floats, pairs: Floats) -> Coded:
        """Features of inputs (n, n_features) and their pairs (n, 2, n_sensitive)."""
        columns: list[Floats] = [np.empty((len(Z), 0))]
        squares: list[Floats] = [np.empty((len(Z), 0))]
        for parts in self.non_sensitive:
            place = parts.of(Z[:, parts.j])
            columns.append(parts.root[place])
            squares.append(parts.root_of_squares[place])
        sides = [
            parts.root[parts.of(pairs[:, 0, i])] - parts.root[parts.of(pairs[:, 1, i])]
            for i, parts in enumerate(self.sensitive)
        ]
        return Coded(
            np.concatenate(columns, axis=1),
            np.concatenate(squares, axis=1),
            np.concatenate(sides, axis=1) / np.sqrt(2 * len(sides)),
        )

    def covariance(self, some: Coded, others: Coded) -> tuple[Floats, Floats, Floats]:
        """Covariances of the differences; those of the pairs, and of the main effects, alone."""
        of_pairs = some.pairs @ others.pairs.T
        variances = np.repeat(self.variances, self.counts)
        main = (some.columns * variances) @ others.columns.T
        squares = (some.squares * variances**2) @ others.squares.T
        # The sum of all products of two different columns.
        paired = (main**2 - squares) / (2 * self.variances.sum())
        return of_pairs * (self.common + main + paired), of_pairs, main

    @one_thread()
    def learn(self, Z: Floats, pairs: Floats, differences: Floats) -> None:
        """Add what was seen, and condition on all that is known.

        `differences` are outputs of the first twin of each pair minus those of the second.
        """
        new = self.coded(Z, pairs)
        if self.known is not None:
            new = Coded(*map(np.concatenate, zip(self.known, new, strict=True)))
        self.known = new
        self.differences = np.append(self.differences, differences)
        largest = np.abs(self.differences).max(initial=0.0)
        self.is_informed = bool(largest > 0 and self.non_sensitive)
        if not self.is_informed:
            return
        self.scaled = self.differences / largest
        self.scaled /= np.sqrt(np.mean(self.scaled**2))
        self._condition()
        # Variances are improved whenever there are a fifth more inputs.
        if len(self.scaled) > 1.2 * self.n_improved:
            self.n_improved = len(self.scaled)
            self._improve()
            self._condition()

    def _condition(self) -> None:
        assert self.known is not None
        K, self.of_pairs, self.main = self.covariance(self.known, self.known)
        K[np.diag_indices_from(K)] += self.noise
        self.inverse = np.linalg.inv(K)
        self.weights = self.inverse @ self.scaled

    def _improve(self) -> None:
        """Make variances more likely: a step to where the likelihood is largest."""
        assert self.known is not None
        columns, weights, inverse = self.known.columns, self.weights, self.inverse
        share = self.of_pairs * (1 + self.main / self.variances.sum())
        fit = ((share * np.outer(weights, weights)) @ columns * columns).sum(axis=0)
        cost = ((share * inverse) @ columns * columns).sum(axis=0)
        fit, cost = np.add.reduceat(fit, self.starts), np.add.reduceat(cost, self.starts)
        self.variances = self.variances * _step(fit, cost)
        # No variance is less than a fiftieth of their mean, and the noise is at least 0.001.
        self.variances = np.maximum(self.variances, 0.02 * self.variances.mean())
        self.common *= float(
            _step(weights @ self.of_pairs @ weights, (inverse * self.of_pairs).sum())
        )
        self.noise *= float(_step(weights @ weights, np.trace(inverse)))
        self.noise = max(self.noise, 1e-3)

    @one_thread()
    def hoped_for(self, Z: Floats, pairs: Floats) -> Floats:
        """The expected size of the difference of each pair, and some of its uncertainty."""
        if self.known is None or not self.is_informed:
            return np.zeros(len(Z))
        coded = self.coded(Z, pairs)
        K = self.covariance(coded, self.known)[0]
        total = self.variances.sum()
        paired = (total**2 - (self.variances**2).sum()) / (2 * total)
        prior = (self.common + total + paired) * (coded.pairs**2).sum(axis=1)
        variance = prior - ((K @ self.inverse) * K).sum(axis=1)
        # What is hoped for is the expectation and one standard deviation.
        hoped = np.abs(K @ self.weights) + np.sqrt(np.maximum(variance, 0.0))
        # Inputs in the same parts of all columns are equal, whatever the machine's sums say.
        return np.round(hoped, 6)


def _step(fit: Floats, cost: Floats) -> Floats:
    ratio = np.sqrt(np.maximum(fit, 0.0) / np.maximum(cost, 1e-300))
    # In a step a variance changes by a factor of five at most.
    return np.clip(ratio, 1 / 5.0, 5.0)


class ColumnParts:
    """The parts of one column, and roots of the covariance of their effects."""

    def __init__(self, space: InputSpace, j: int, rows: Floats) -> None:
        self.j, self.low = int(j), space.domain.low[j]
        n_values = space.domain.columns[j].n_values
        self.is_level = space.domain.columns[j].is_category
        if self.is_level:
            # At most 32 categories are told apart.
            n = int(min(n_values, 32))
            covariance = np.eye(n)
        else:
            # Ten parts, between the quantiles of the data and of the domain's ends.
            values = np.sort(np.append(rows[:, j], [space.domain.low[j], space.domain.high[j]]))
            at = (np.arange(1, 10) / 10 * (len(values) - 1)).astype(int)
            self.cuts = np.unique(values[at])
            n = len(self.cuts) + 1
            apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
            # At half of the parts, the effects of two values correlate by 1 / e.
            covariance = np.exp(-apart / (0.5 * n))
        self.root: Floats = np.linalg.cholesky(covariance).astype(np.float64)
        self.root_of_squares: Floats = np.linalg.cholesky(covariance**2).astype(np.float64)

    def of(self, values: Floats) -> Ints:
        """The part of each value."""
        if self.is_level:
            return (values - self.low).astype(np.intp) % len(self.root)
        return np.searchsorted(self.cuts, values, side="right")
