"""The surrogate of the tuned search: a model of the difference between twins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit, logit

from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.individual._sbft.population import Evaluated
from skfairtest.oracle._judgement import concatenated
from skfairtest.space._space import InputSpace

#: Probabilities are learned as log-odds, and none as nearer to 0 or 1 than this.
NEAREST_TO_CERTAIN = 0.01


class Coded(NamedTuple):
    """Inputs and pairs as features, whose products are covariances."""

    columns: NDArray[np.float32]
    squares: NDArray[np.float32]
    pairs: Floats


class Covariances(NamedTuple):
    """Covariances between some pairs of twins and others.

    Attributes
    ----------
    inputs : ndarray
        Those of what both twins have in common, such as the mean of their outputs.
    pairs : ndarray
        Those of the pairs of sensitive values, which change sign when twins change places. The
        covariance of differences is the product of both.
    main : ndarray
        The part of `inputs` that is a sum over columns.
    """

    inputs: Floats
    pairs: Floats
    main: Floats


class DifferenceModel:
    """Gaussian processes of the signed difference between the outputs of twins, and of their mean.

    The covariance of inputs is a sum over columns and over pairs of columns, each with a variance
    that is learned; that of differences is this times the covariance of the pairs. Probabilities
    are modelled as log-odds, which models of many parts add up, and the difference between two of
    them follows from the difference and the mean of the log-odds: the same difference shows most
    around even odds.

    Parameters
    ----------
    space : InputSpace
        Which inputs there are.
    rows : ndarray of shape (n_rows, n_features)
        Rows of the data inside the domain, by whose quantiles numbers are cut into parts.
    most : int
        Inputs that are learned from: of more, the half that differ most and a random half.
    rng : Generator
        Source of randomness.
    probabilities : bool
        Whether the outputs are probabilities.
    """

    def __init__(
        self, space: InputSpace, rows: Floats, most: int, rng: np.random.Generator, *,
        probabilities: bool,
    ) -> None:  # fmt: skip
        self.most, self.rng, self.probabilities = most, rng, probabilities
        self.non_sensitive = [ColumnParts(space, j, rows) for j in space.non_sensitive]
        self.sensitive = [ColumnParts(space, j, rows) for j in space.sensitive]
        ends = np.cumsum([0] + [len(parts.root) for parts in self.non_sensitive])
        self.starts, self.counts = ends[:-1], np.diff(ends)
        # Variances: what all inputs share, what each column does, what nothing explains.
        self.common, self.noise = 0.5, 0.1
        self.variances = np.full(len(self.non_sensitive), 1 / max(1, len(self.non_sensitive)))
        self.n_learned = self.n_improved = 0
        self.is_informed = False
        self.known: Coded | None = None
        #: What was learned from: differences, and means of the two outputs.
        self.differences, self.means = np.empty(0), np.empty(0)

    def coded(self, Z: Floats, pairs: Floats) -> Coded:
        """Features of inputs (n, n_features) and their pairs (n, 2, n_sensitive)."""
        # In single precision, which takes half of the time.
        columns = [np.empty((len(Z), 0), dtype=np.float32)]
        squares = [np.empty((len(Z), 0), dtype=np.float32)]
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

    def covariances(self, some: Coded, others: Coded) -> Covariances:
        """Covariances between some inputs with their pairs and others."""
        variances = np.repeat(self.variances, self.counts).astype(np.float32)
        main = ((some.columns * variances) @ others.columns.T).astype(np.float64)
        squares = ((some.squares * variances**2) @ others.squares.T).astype(np.float64)
        # The sum of all products of two different columns.
        paired = (main**2 - squares) / (2 * self.variances.sum())
        return Covariances(self.common + main + paired, some.pairs @ others.pairs.T, main)

    @one_thread()
    def learn(self, judged: Evaluated) -> None:
        """Add what was seen, and condition on what is known."""
        if not len(judged):
            return
        new, differences, means = self.coded(judged.Z, judged.pairs), judged.fitness, np.zeros(0)
        if self.probabilities:
            least = NEAREST_TO_CERTAIN
            odds = logit(np.clip(judged.outputs, least, 1 - least))
            differences, means = odds[:, 0] - odds[:, 1], odds.mean(axis=1)
        if self.known is not None:
            new = concatenated([self.known, new])
        self.known = new
        self.differences = np.append(self.differences, differences)
        self.means = np.append(self.means, means)
        self.n_learned += len(judged)
        if len(self.differences) > self.most:
            self._forget()
        largest = np.abs(self.differences).max(initial=0.0)
        self.is_informed = bool(largest > 0 and self.non_sensitive)
        if not self.is_informed:
            return
        self.unit = largest * np.sqrt(np.mean((self.differences / largest) ** 2))
        self._condition()
        # Variances are improved whenever a fifth more inputs were learned from.
        if self.n_learned > 1.2 * self.n_improved:
            self.n_improved = self.n_learned
            self._improve()
            self._condition()

    def _forget(self) -> None:
        """Keep the inputs that differ most, and of the others a random part."""
        assert self.known is not None
        n_largest = self.most // 2
        order = np.argsort(-np.abs(self.differences), kind="stable")
        others = self.rng.choice(order[n_largest:], self.most - n_largest, replace=False)
        kept = np.sort(np.concatenate([order[:n_largest], others]))
        self.known = Coded(*(part[kept] for part in self.known))
        self.differences = self.differences[kept]
        self.means = self.means[kept] if self.probabilities else self.means

    def _condition(self) -> None:
        assert self.known is not None
        self.within = K = self.covariances(self.known, self.known)
        self.root = self._root(K.inputs * K.pairs)
        self.weights = cho_solve(self.root, self.differences / self.unit)
        if self.probabilities:
            self.centre, self.spread = self.means.mean(), self.means.std() or 1.0
            scaled = (self.means - self.centre) / self.spread
            self.weights_of_mean = cho_solve(self._root(K.inputs), scaled)

    def _root(self, K: Floats) -> tuple[Floats, bool]:
        """The Cholesky factor of a covariance with noise, and a little more for rounding."""
        K = K.copy()
        K[np.diag_indices_from(K)] += self.noise + 1e-6 * K.diagonal().max()
        root: tuple[Floats, bool] = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        return root

    def _improve(self) -> None:
        """Make variances more likely: a step to where the likelihood is largest."""
        assert self.known is not None
        columns, weights = self.known.columns, self.weights
        inverse = cho_solve(self.root, np.eye(len(weights)))
        of_pairs = self.within.pairs
        share = of_pairs * (1 + self.within.main / self.variances.sum())
        fit = ((share * np.outer(weights, weights)) @ columns * columns).sum(axis=0)
        cost = ((share * inverse) @ columns * columns).sum(axis=0)
        fit, cost = np.add.reduceat(fit, self.starts), np.add.reduceat(cost, self.starts)
        self.variances = self.variances * _step(fit, cost)
        # No variance is less than a fiftieth of their mean, and the noise is at least 0.001.
        self.variances = np.maximum(self.variances, 0.02 * self.variances.mean())
        self.common *= float(_step(weights @ of_pairs @ weights, (inverse * of_pairs).sum()))
        self.noise *= float(_step(weights @ weights, np.trace(inverse)))
        self.noise = max(self.noise, 1e-3)

    @one_thread()
    def hoped_for(self, Z: Floats, pairs: Floats) -> Floats:
        """The expected size of the difference of each pair, and some of its uncertainty."""
        if self.known is None or not self.is_informed:
            return np.zeros(len(Z))
        coded = self.coded(Z, pairs)
        of_inputs, of_pairs, _ = self.covariances(coded, self.known)
        K = of_inputs * of_pairs
        total = self.variances.sum()
        paired = (total**2 - (self.variances**2).sum()) / (2 * total)
        prior = (self.common + total + paired) * (coded.pairs**2).sum(axis=1)
        explained = solve_triangular(self.root[0], K.T, lower=True, check_finite=False)
        variance = prior - (explained**2).sum(axis=0)
        # What is hoped for is the expectation and one standard deviation.
        hoped = np.abs(K @ self.weights) + np.sqrt(np.maximum(variance, 0.0))
        if self.probabilities:
            mean = self.centre + self.spread * (of_inputs @ self.weights_of_mean)
            hoped = expit(mean + hoped * self.unit / 2) - expit(mean - hoped * self.unit / 2)
        # Inputs in the same parts of all columns are equal, whatever the machine's sums say.
        return np.round(hoped, 5)


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
        self.root = np.linalg.cholesky(covariance).astype(np.float32)
        self.root_of_squares = np.linalg.cholesky(covariance**2).astype(np.float32)

    def of(self, values: Floats) -> Ints:
        """The part of each value."""
        if self.is_level:
            return (values - self.low).astype(np.intp) % len(self.root)
        return np.searchsorted(self.cuts, values, side="right")
