"""Nets of skorch: how they make predictions, and those of plain layers as lists of operations.

Nothing here needs torch to be installed before a net is at hand: who has a net has torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.whitebox._layers import (
    LEAKY,
    LOGISTIC,
    RELU,
    TANH,
    Activation,
    Affine,
    Layers,
)
from skfairtest.whitebox._library_code import LIBRARIES, check_library_code
from skfairtest.whitebox._unsupported import Unsupported

NETS = ("NeuralNetClassifier", "NeuralNetBinaryClassifier", "NeuralNetRegressor")
#: Layers that are read, for messages.
KINDS = (
    "Linear, ReLU, LeakyReLU, Tanh, Sigmoid, Identity, Dropout, BatchNorm1d and Flatten, with "
    "Softmax, LogSoftmax or Sigmoid at the end"
)
#: What a regressor makes of its last sums, by its nonlinearity; tanh is a layer more.
OF_SUMS = {"identity": "identity", "tanh": "identity", "sigmoid": "logistic", "exp": "exp"}
#: What a classifier makes of its last sums, by what its module ends with, and its nonlinearity.
PROBABILITIES = {
    ("softmax", "identity"): "softmax",
    ("logarithms", "exp"): "softmax",
    ("logarithms", "softmax"): "softmax",
    ("", "softmax"): "softmax",
    ("", "logits"): "logistic",
}
SEARCH = "SBFTAuditor and EIDIGAuditor search with any net, without a bound."


def is_skorch_net(model: Any) -> bool:
    """Whether the model is a net of skorch, told without importing it."""
    return any(cls.__module__.split(".")[0] == "skorch" for cls in type(model).__mro__)


def criterion_of(net: Any) -> Any:
    """The net's criterion, also where torch.compile has wrapped it."""
    criterion = net.criterion_
    if net.compile and hasattr(criterion, "modules"):
        return list(criterion.modules())[-1]
    return criterion


def nonlinearity_kind(net: Any) -> str | Callable[[Any], Any]:
    """What skorch documents of the parameter predict_nonlinearity.

    - the result {"softmax", "logits", "probability", "identity"}: what is done to the module's
      outputs: logits of the second class become probabilities of both, and so does its probability.
      A callable is the user's own.
    """
    import torch

    wish = net.predict_nonlinearity
    if callable(wish):
        return wish
    kind = criterion_of(net) if wish == "auto" else None
    if isinstance(kind, torch.nn.CrossEntropyLoss):
        return "softmax"
    if isinstance(kind, torch.nn.BCEWithLogitsLoss):
        return "logits"
    if isinstance(kind, torch.nn.BCELoss):
        return "probability"
    return "identity"


# Reading ------------------------------------------------------------------------------------


def check_net(net: Any, hint: str) -> None:
    """See that a net, fitted or not, is one that is read, and predicts with skorch's own code."""
    name = type(net).__name__
    check_library_code(net, hint, (*LIBRARIES, "skorch"))
    if name not in NETS:
        raise Unsupported(
            f"{name} of skorch cannot be certified.", f"Use {' or '.join(NETS)}. {SEARCH}"
        )
    if hasattr(net, "module_"):
        read_net(net)


def read_net(net: Any) -> Layers:
    """A fitted net whose module is made of layers one after another.

    - `ValueError`: if the module, or what predictions make of its outputs, is not understood.
    """
    import torch

    weights = list(net.module_.parameters())
    kinds = {weight.dtype for weight in weights}
    if len(kinds) != 1 or not kinds <= {torch.float32, torch.float64}:
        found = sorted(str(kind) for kind in kinds) or "no weights"
        raise _refused(f"its weights are {found}; expected single or double precision throughout")
    if kinds == {torch.float32} and torch.get_float32_matmul_precision() != "highest":
        raise _refused("torch.set_float32_matmul_precision allows products of fewer digits")
    layers = Layers(unit=2.0**-24 if kinds == {torch.float32} else 2.0**-53)
    modules = list(_flat(net.module_))
    last = ""
    if modules and type(modules[-1]) in (torch.nn.Softmax, torch.nn.LogSoftmax):
        if modules[-1].dim not in (-1, 1):
            raise _refused(f"{modules[-1]!r} is not over the classes of a row")
        last = "softmax" if type(modules.pop()) is torch.nn.Softmax else "logarithms"
    for module in modules:
        layers.operations += _operation(module)
    if not layers.operations or not isinstance(layers.operations[0], Affine):
        raise _refused("its first layer is not Linear")
    layers.out = _link(net, layers, last)
    return layers


def _refused(why: str) -> Unsupported:
    return Unsupported(
        f"The net cannot be certified: {why}.",
        f"Expected a torch.nn.Sequential of {KINDS}. {SEARCH}",
    )


def _flat(module: Any) -> Iterator[Any]:
    """The layers of a module, first one first; those that change nothing are left out."""
    import torch

    nn = torch.nn
    module = getattr(module, "_orig_mod", module)  # of torch.compile
    hooks = ("_forward_hooks", "_forward_pre_hooks")
    if any(getattr(module, hook, None) for hook in hooks):
        raise _refused(f"a hook changes what {type(module).__name__} computes")
    if "forward" in vars(module):
        raise _refused(f"forward of {type(module).__name__} was replaced on the instance")
    if type(module) is nn.Sequential:
        for inner in module:
            yield from _flat(inner)
    elif type(module) not in (nn.Identity, nn.Dropout):
        yield module


def _operation(module: Any) -> list[Affine | Activation]:
    """What a layer computes in evaluation mode."""
    import torch

    nn = torch.nn
    kind = type(module)
    if kind is nn.Flatten and (module.start_dim, module.end_dim) in ((1, -1), (0, -1), (0, 0)):
        return []  # rows of numbers stay what they are
    if kind is nn.Linear:
        W = _numbers(module.weight).T
        b = np.zeros(W.shape[1]) if module.bias is None else _numbers(module.bias)
        return [Affine(W, b)]
    if kind is nn.BatchNorm1d and module.track_running_stats:
        scale = 1 / np.sqrt(_numbers(module.running_var) + module.eps)
        mean, shift = _numbers(module.running_mean), np.zeros(len(scale))
        if module.affine:
            scale, shift = scale * _numbers(module.weight), _numbers(module.bias)
        # Taken apart as libraries may compute it: rounding of the larger parts counts.
        return [Affine(np.eye(len(scale)), -mean), Affine(np.diag(scale), shift)]
    if kind is nn.ReLU:
        return [RELU]
    if kind is nn.LeakyReLU and 0 <= module.negative_slope <= 1:
        return [Activation(LEAKY, float(module.negative_slope))]
    if kind is nn.Tanh:
        return [Activation(TANH)]
    if kind is nn.Sigmoid:
        return [Activation(LOGISTIC)]
    raise _refused(f"{' '.join(repr(module).split()):.100} is not understood")


def _numbers(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().cpu().double().numpy(), dtype=np.float64)


def _link(net: Any, layers: Layers, last: str) -> str:
    """What predictions make of the last sums; a logistic layer at the end goes into it."""
    import torch

    kind = nonlinearity_kind(net)
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", type(kind).__name__)
    if callable(kind):
        known = {torch.exp: "exp", torch.sigmoid: "sigmoid", torch.tanh: "tanh"}
        kind = next((own for function, own in known.items() if function is kind), "")
    if type(net).__name__ == "NeuralNetRegressor" and not last:
        if kind == "tanh":
            layers.operations.append(Activation(TANH))
        if kind in OF_SUMS:
            return OF_SUMS[kind]
    elif (last, kind) in PROBABILITIES:
        return PROBABILITIES[last, kind]
    elif (last, kind) == ("", "probability"):
        ends = layers.operations[-1]
        if isinstance(ends, Activation) and ends.kind == LOGISTIC:
            layers.operations.pop()
            return "logistic"
    raise _refused(
        f"predict_nonlinearity is {name!r} after {last or type(net.module_).__name__}, which does "
        "not make predictions of sums in a way that is known"
    )
