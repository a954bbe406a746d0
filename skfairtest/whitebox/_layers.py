"""Networks as lists of linear maps and activations, whatever library they come from.

The list is what the model computes, operation by operation: rounding is measured by it. For bounds
it is brought into a normal form, `Network`, of hidden layers that are linear maps followed by a
leaky ReLU or tanh: maps that follow each other are one, and a logistic function is a scaled tanh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skfairtest._typing import Floats

#: Kinds of activations. Of `LEAKY` the slope left of zero is kept with it.
LEAKY, TANH, LOGISTIC = "leaky", "tanh", "logistic"


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


class Activation(NamedTuple):
    """A function of each number by itself; `slope` is that of a leaky ReLU left of zero."""

    kind: str
    slope: float = 0.0


RELU = Activation(LEAKY, 0.0)
#: What scikit-learn calls activations.
NAMED = {"relu": RELU, "tanh": Activation(TANH), "logistic": Activation(LOGISTIC), "identity": None}


@dataclass
class Layers:
    """What a model computes, first operation first, and what it makes of the last sums.

    `out` is "identity", "logistic", "softmax" or "exp"; `unit` is the largest relative error of one
    rounding in the model's arithmetic.
    """

    operations: list[Affine | Activation] = field(default_factory=list)
    out: str = "identity"
    unit: float = 2.0**-53

    @property
    def single(self) -> bool:
        """Whether the model computes in single precision."""
        return self.unit > 2.0**-50

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
            elif operation.kind == LEAKY:
                if operation.slope != 1.0:
                    sizes = np.minimum(sizes, next(known, sizes))
                if operation.slope not in (0.0, 1.0):
                    off = off + unit * sizes
            else:
                next(known, None)
                # Both are steepest in the middle, and computed to a few digits in the last place.
                factor = 1.0 if operation.kind == TANH else 0.25
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
    activations: list[Activation]
    out: str

    @classmethod
    def of(cls, layers: Layers) -> Network:
        """The normal form of a list of operations."""
        maps: list[Affine] = []
        activations: list[Activation] = []
        width = 0
        since: Affine | None = None  # the map of all operations since the last activation
        for operation in layers.operations:
            if isinstance(operation, Affine):
                width = len(operation.base)
                since = operation if since is None else since.then(operation)
                continue
            if operation.kind == LEAKY and operation.slope == 1.0:
                continue
            before = identity(width) if since is None else since
            since = None
            if operation.kind == LOGISTIC:
                # 1 / (1 + exp(-x)) = 1/2 + tanh(x / 2) / 2
                before = Affine(before.weights / 2, before.base / 2)
                since = Affine(np.eye(width) / 2, np.full(width, 0.5))
                operation = Activation(TANH)
            maps.append(before)
            activations.append(operation)
        maps.append(identity(width) if since is None else since)
        return cls([m.weights for m in maps], [m.base for m in maps], activations, layers.out)


MLP = (MLPClassifier, MLPRegressor)


def read_mlp(model: Any) -> Layers:
    """A fitted network of scikit-learn."""
    out = model.out_activation_
    if model.activation not in NAMED or out not in ("identity", "logistic", "softmax", "exp"):
        raise ValueError(
            f"{type(model).__name__} has the activation {model.activation!r} and {out!r} at the "
            f"output; expected one of {list(NAMED)}, and identity, logistic, softmax or exp."
        )
    single = model.coefs_[0].dtype == np.float32
    layers = Layers(out=out, unit=2.0**-24 if single else 2.0**-53)
    inner = NAMED[model.activation]
    for k, (W, b) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        layers.operations.append(Affine(np.asarray(W, np.float64), np.asarray(b, np.float64)))
        if inner is not None and k + 1 < len(model.coefs_):
            layers.operations.append(inner)
    return layers
