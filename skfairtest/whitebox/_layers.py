"""Networks as lists of linear maps and activations.

The list is what the model computes, operation by operation: rounding is measured by it. For bounds
it is brought into a normal form, `Network`, of hidden layers that are linear maps followed by a
ReLU or tanh: maps that follow each other are one, and a logistic function is a scaled tanh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from skfairtest._typing import Floats

#: Activations, as scikit-learn calls them; the identity is none.
RELU, TANH, LOGISTIC, IDENTITY = "relu", "tanh", "logistic", "identity"


class Affine(NamedTuple):
    """A map ``x @ weights + base``."""

    weights: Floats
    base: Floats

    def then(self, other: Affine) -> Affine:
        """The map, and another one after it."""
        return Affine(self.weights @ other.weights, self.base @ other.weights + other.base)


def identity(n: int) -> Affine:
    """The map that changes nothing."""
    return Affine(np.eye(n), np.zeros(n))


@dataclass
class Layers:
    """What a model computes, first operation first, and what it makes of the last sums.

    `out` is "identity", "logistic", "softmax" or "exp"; `unit` is the largest relative error of one
    rounding in the model's arithmetic.
    """

    operations: list[Affine | str] = field(default_factory=list)
    out: str = "identity"
    unit: float = 2.0**-53

    @property
    def single(self) -> bool:
        """Whether the model computes in single precision."""
        return self.unit > 2.0**-50

    @property
    def n_outputs(self) -> int:
        """How many outputs there are: of a softmax of two classes, that of the second."""
        width = next(len(op.base) for op in self.operations[::-1] if isinstance(op, Affine))
        return 1 if self.out == "softmax" and width == 2 else width

    def evaluate(self, X: Floats) -> Floats:
        """Outputs of rows of features, (n, n_outputs)."""
        functions = {RELU: lambda x: np.maximum(x, 0.0), TANH: np.tanh, LOGISTIC: expit}
        for operation in self.operations:
            if isinstance(operation, Affine):
                X = X @ operation.weights + operation.base
            else:
                X = np.asarray(functions[operation](X))
        if self.out == "logistic":
            return np.asarray(expit(X))
        if self.out == "exp":
            return np.exp(X)
        if self.out == "softmax":
            return np.asarray(softmax(X, axis=1))[:, -self.n_outputs :]
        return X

    def error(self, sizes: Floats, n_outputs: int, caps: list[Floats] | None = None) -> float:
        """How far rounding may carry the outputs of two twins.

        - `sizes` (n_features,): largest absolute values of what the model is shown.
        - `n_outputs`: width of the last layer.
        - `caps`: largest absolute values of what each layer of the normal form gives, where known.
        """
        # What was read rounds, too: in double precision as much as the model.
        unit = 1.01 * self.unit if self.single else 2 * self.unit
        known = iter(caps or [])
        off = np.zeros(len(sizes))
        for operation in self.operations:
            if isinstance(operation, Affine):
                W = np.abs(operation.weights)
                sums = sizes @ W + np.abs(operation.base)
                terms = (W > 0).sum(axis=0) + 3
                off = off @ W * (1 + unit * terms) + unit * terms * sums
                sizes = sums
            elif operation == RELU:
                sizes = np.minimum(sizes, next(known, sizes))
            else:
                next(known, None)
                # Both are steepest in the middle, and computed to a few digits in the last place.
                factor = 1.0 if operation == TANH else 0.25
                off, sizes = factor * off + 8 * unit, np.ones_like(sizes)
        score = float(off.max(initial=0.0))
        if self.out in ("logistic", "softmax"):
            # No probability changes faster than by p (1 - p), once or, in a softmax, twice.
            steep = 0.25 if self.out == "logistic" else 0.5
            return min(1.0, steep * score + (16 + 2 * n_outputs) * unit)
        if self.out == "exp":
            largest = float(sizes.max(initial=0.0))
            return float(np.exp(min(largest, 700.0))) * (np.expm1(min(score, 700.0)) + 8 * unit)
        return score


class Network(NamedTuple):
    """The normal form: linear maps, and the activation behind each but the last one."""

    weights: list[Floats]
    biases: list[Floats]
    activations: list[str]
    out: str

    @classmethod
    def of(cls, layers: Layers) -> Network:
        """The normal form of a list of operations."""
        maps: list[Affine] = []
        activations: list[str] = []
        since: list[Affine] = []  # the last activation
        for operation in layers.operations:
            if isinstance(operation, Affine):
                since.append(operation)
                continue
            before, since = reduce(Affine.then, since), []
            if operation == LOGISTIC:
                # 1 / (1 + exp(-x)) = 1/2 + tanh(x / 2) / 2
                before, operation = Affine(before.weights / 2, before.base / 2), TANH
                width = len(before.base)
                since = [Affine(np.eye(width) / 2, np.full(width, 0.5))]
            maps.append(before)
            activations.append(operation)
        maps.append(reduce(Affine.then, since))
        return cls([m.weights for m in maps], [m.base for m in maps], activations, layers.out)
