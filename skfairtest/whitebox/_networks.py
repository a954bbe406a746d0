"""Networks of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._layers import IDENTITY, LOGISTIC, RELU, TANH, Affine, Layers
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._mixing import check_mixing, mixes_in_single, unmixed
from skfairtest.whitebox._unsupported import OWN_CODE, Unsupported
from skfairtest.whitebox.graph import Layered, Node, all_outputs
from skfairtest.whitebox.registry import Reader

MLP = (MLPClassifier, MLPRegressor)


def _layers(model: Any) -> Layers:
    out = model.out_activation_
    kinds = [RELU, TANH, LOGISTIC, IDENTITY]
    if model.activation not in kinds or out not in ("identity", "logistic", "softmax", "exp"):
        raise ValueError(
            f"{type(model).__name__} has the activation {model.activation!r} and {out!r} at the "
            f"output; expected one of {kinds}, and identity, logistic, softmax or exp."
        )
    single = model.coefs_[0].dtype == np.float32
    layers = Layers(out=out, unit=2.0**-24 if single else 2.0**-53)
    for k, (W, b) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        layers.operations.append(Affine(np.asarray(W, np.float64), np.asarray(b, np.float64)))
        if model.activation != IDENTITY and k + 1 < len(model.coefs_):
            layers.operations.append(model.activation)
    return layers


def _check(model: Any, response: str, steps: list[Any]) -> None:
    check_library_code(model, OWN_CODE)
    if response == "decision_function":
        raise Unsupported(
            f"{type(model).__name__} has no decision_function.",
            "Use response_method='predict_proba'.",
        )
    if response != "labels":
        check_mixing(steps)


def _read(model: Any, chain: Chain, response: str) -> list[Node]:
    layers = _layers(model)
    mixing = unmixed(chain)
    features = chain.features if mixing is None else mixing.chain.features
    if mixes_in_single(chain) or features.is_single:
        layers.unit = max(layers.unit, 2.0**-24)
    if mixing is not None:
        # The map of what mixes columns and that of the first layer are one.
        layers.operations.insert(0, mixing.map)
    return list(all_outputs(Layered(features, layers)))


READER = Reader(lambda model: isinstance(model, MLP), _check, _read, mixes=True)
