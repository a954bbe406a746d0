"""A network, or a linear model of several classes, as weights behind the effects of attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from skfairtest._typing import Floats, Ints
from skfairtest.exact._compared_rows import middle_row
from skfairtest.exact._networks.activation_bounds import bounded_activation
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._effects import Effects
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._layers import Layers, Network

#: Marks a variable that both twins share.
BOTH = 2


class ReadNetwork:
    """A network that was read out, with two copies of its sensitive attributes as variables.

    - `features`, `layers`: what the model is shown, and what it computes of that.

    - `weights`, `biases`: of all layers, in the normal form of `Network`.
    - `activations`: behind each layer but the last one.
    - `out` {"identity", "logistic", "softmax", "exp"}: what the output layer does to its sums.
    - `effects`: first layer, by attribute.
    - `variables`: wide attributes, each with the twin whose variable it is: 0 or 1 for the two
      copies of a sensitive attribute, `BOTH` for one that the twins share.
    - `rounding`: how far rounding may carry the outputs.
    - `single`: whether the model computes in single precision.
    """

    def __init__(self, space: InputSpace, features: Features, layers: Layers) -> None:
        self.weights, self.biases, activations, self.out = Network.of(layers)
        if self.out == "softmax" and len(self.biases[-1]) == 2:
            # A softmax of two scores is the logistic function of their difference.
            W, b = self.weights[-1], self.biases[-1]
            self.weights[-1], self.biases[-1] = W[:, 1:] - W[:, :1], b[1:] - b[:1]
            self.out = "logistic"
        self.activations = [bounded_activation(activation) for activation in activations]
        self.space, self.features = space, features
        self.effects = Effects(self.features, self.weights[0], self.biases[0])
        self._place_variables()
        self.single = layers.single
        self._layers, self._sizes = layers, features.sizes()
        self.rounding = self.error()

    def _place_variables(self) -> None:
        effects = self.effects
        sensitive = set(self.space.sensitive.tolist())
        #: Free attributes of finitely many values with one rising feature are intervals as well.
        self.listed: dict[int, Floats] = {}
        for j in sorted(set(effects.tables) - sensitive):
            ones = effects.features.of(j)
            if (
                len(ones) == 1
                and (np.diff(found := effects.features.table(int(ones[0]))) >= 0).all()
            ):
                self.listed[j] = found
        continuous = [*effects.continuous, *self.listed]
        self.names = sorted(set(effects.tables) - set(self.listed))
        stops = np.cumsum([0] + [len(effects.tables[j]) for j in self.names])
        self.spans = {j: slice(int(a), int(b)) for j, a, b in
                      zip(self.names, stops[:-1], stops[1:], strict=True)}  # fmt: skip
        self.stacked = (
            np.concatenate([effects.tables[j] for j in self.names])
            if self.names
            else np.zeros((0, len(effects.base)))
        )
        self.variables = [(j, BOTH) for j in continuous if j not in sensitive]
        self.variables += [(j, twin) for j in continuous if j in sensitive for twin in (0, 1)]
        self.interval_attributes = np.array([j for j, _ in self.variables], dtype=np.intp)
        #: Features of the interval variables, one variable after another.
        own = [effects.features.of(j) for j, _ in self.variables]
        self.interval_features = np.concatenate(own) if own else np.empty(0, dtype=np.intp)
        self.interval_weights = effects.weights[self.interval_features]
        self.interval_of = np.repeat(np.arange(len(own)), [len(o) for o in own])
        twins = np.array([twin for _, twin in self.variables], dtype=np.intp)
        #: Which of these features each twin has; of the shared ones both.
        self.has = [
            (twins[self.interval_of] == BOTH) | (twins[self.interval_of] == k) for k in (0, 1)
        ]
        self.sensitive = [j for j in self.names if j in sensitive]
        #: Tables that a box may be cut along, by attribute and twin.
        self.parts = [
            (j, twin) for j in self.names for twin in ((0, 1) if j in sensitive else (BOTH,))
        ]
        self.continuous_sensitive = [j for j in effects.continuous if j in sensitive]

    def interval_values(self, encoded: Floats) -> Floats:
        """Features of the interval variables at their encoded rows, (n, n_interval_features)."""
        if not len(self.interval_features):
            return np.empty((len(encoded), 0))
        every = encoded[:, self.interval_of]
        found = np.empty(every.shape)
        of = self.interval_attributes[self.interval_of]
        listed = np.isin(of, list(self.listed))
        for k in np.flatnonzero(listed):
            j = int(of[k])
            found[:, k] = self.listed[j][np.searchsorted(self.features.grids[j], every[:, k])]
        if not listed.all():
            seen = self.effects.features.evaluate(
                np.tile(self.interval_features[~listed], len(encoded)), every[:, ~listed].ravel()
            )
            found[:, ~listed] = seen.reshape(len(encoded), -1)
        return found

    def error(self, caps: list[Floats] | None = None) -> float:
        """How far rounding may carry the outputs; `caps` are bounds of what hidden layers give."""
        return self._layers.error(self._sizes, len(self.biases[-1]), caps)

    @property
    def depends(self) -> bool:
        """Whether the first layer sees a sensitive attribute at all."""
        return bool(self.sensitive or self.continuous_sensitive)

    # Outputs --------------------------------------------------------------------------------

    def evaluate(self, Z: Floats) -> Floats:
        """Return outputs of the model as it was read, shape (n, n_outputs)."""
        return self.outputs(self.features.transform(Z) @ self.weights[0] + self.biases[0])

    def outputs(self, scores: Floats) -> Floats:
        """Return outputs from what the first layer gets."""
        for activation, W, b in zip(
            self.activations, self.weights[1:], self.biases[1:], strict=True
        ):
            scores = activation.value(scores) @ W + b
        if self.out == "logistic":
            return np.asarray(expit(scores))
        if self.out == "exp":
            return np.exp(scores)
        if self.out == "softmax":
            return np.asarray(softmax(scores, axis=1))
        return scores

    def first_sums(self, values: Floats, places: dict[int, Ints], twin: int) -> Floats:
        """Return what the first layer gets in a twin, with positions along tables."""
        has = self.has[twin]
        sums = self.effects.base + values[:, has] @ self.interval_weights[has]
        for j, place in places.items():
            sums = sums + self.effects.tables[j][place]
        return np.asarray(sums)

    def gradient(self, sums: Floats, output: Ints) -> Floats:
        """How an output changes with what the first layer gets, (n, n_units)."""
        slopes = []
        for activation, W, b in zip(
            self.activations, self.weights[1:], self.biases[1:], strict=True
        ):
            slopes.append(activation.slope(sums))
            sums = activation.value(sums) @ W + b
        found = np.eye(sums.shape[1])[output]
        if self.out == "logistic":
            found = found * expit(sums) * expit(-sums)
        elif self.out == "exp":
            found = found * np.exp(sums)
        elif self.out == "softmax":
            probabilities = softmax(sums, axis=1)
            found = (found - probabilities) * (found * probabilities).sum(axis=1, keepdims=True)
        for W, own in zip(self.weights[:0:-1], slopes[::-1], strict=True):
            found = (found @ W.T) * own
        return np.asarray(found)

    def row_of(self, encoded: Floats, places: dict[int, Any], twin: int) -> Floats:
        """A twin's encoded row, from the interval variables' values and positions in the tables."""
        row = middle_row(self.space)
        for (j, owner), value in zip(self.variables, encoded, strict=True):
            if owner in (twin, BOTH):
                row[j] = value
        for j, place in places.items():
            row[j] = self.features.grids[j][place]
        return row
