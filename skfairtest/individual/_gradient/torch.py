"""Gradients of torch modules in skorch nets, by automatic differentiation.

Nothing here needs torch to be installed before a net is at hand: who has a net has torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.finding._words import message_of

#: Rows that are differentiated at once: a graph keeps what every layer returned for them.
ROWS = 4096

EXTRA = "skfairtest[torch]"
HINT = "Give gradient= a callable, or use MAFTAuditor, which asks any model for its outputs alone."


def is_skorch_net(model: Any) -> bool:
    """Whether the model is a net of skorch, seen without importing it."""
    return any(cls.__module__.split(".")[0] == "skorch" for cls in type(model).__mro__)


def holds_module(model: Any) -> bool:
    """Whether the model is a torch module, or an object that keeps one."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    parts = [model, *getattr(model, "__dict__", {}).values()]
    return any(isinstance(part, torch.nn.Module) for part in parts)


def how_to_wrap(model: Any) -> str:
    """What to do with a torch module outside skorch."""
    return (
        f"{type(model).__name__} is, or keeps, a torch module: wrap the module in skorch's "
        "NeuralNetClassifier, NeuralNetBinaryClassifier or NeuralNetRegressor, whose gradient is "
        f"known (pip install '{EXTRA}')."
    )


class TorchGradient:
    """Gradient of a net's outputs with respect to the rows that the net is shown."""

    def __init__(self, net: Any, response: str) -> None:
        self.net, self.response = net, response
        self.nonlinearity = _nonlinearity(net)
        self.checked = self.second_alone = False

    def __call__(self, T: Floats, column: Ints) -> Floats:
        """Gradient of the chosen outputs, shape (n, p)."""
        parts = [
            self._differentiate(T[start : start + ROWS], column[start : start + ROWS])[1]
            for start in range(0, len(T), ROWS)
        ]
        return np.concatenate(parts)

    def check(self, T: Floats, scores: Floats, column: Ints) -> None:
        """See, once, that what is differentiated is what the net returns.

        A net may have a predict_proba of its own, which does something else to the outputs.
        """
        self.second_alone = scores.shape[1] == 1
        if self.checked:
            return
        # On 64 rows, of which nine in ten have to agree.
        T, scores, column = T[:64], scores[:64], column[:64]
        got = self._differentiate(T, column)[0]
        expected = scores[np.arange(len(T)), column]
        scale = 1.0 if self.response == "predict_proba" else np.abs(expected).max(initial=0.0)
        close = np.abs(got - expected) <= 1e-3 * scale  # in single precision
        if close.mean() < 0.9:
            worst = int(np.abs(got - expected).argmax())
            raise ValueError(
                f"gradient='auto' expects a net that predicts predict_nonlinearity of what its "
                f"module returns; {type(self.net).__name__} gives {expected[worst]:.6g} where "
                f"that is {got[worst]:.6g}. Set predict_nonlinearity to what makes predictions of "
                f"outputs. {HINT}"
            )
        self.checked = True

    def _differentiate(self, T: Floats, column: Ints) -> tuple[Floats, Floats]:
        """The chosen outputs, shape (n,), and their gradients, shape (n, p)."""
        import torch

        try:
            with _evaluating(self.net), torch.enable_grad():
                X = torch.tensor(T, **_kind(self.net)).requires_grad_()
                # The outputs' device is named: torch has a default that users may have changed.
                chosen = self._choose(self.net.infer(X), torch.as_tensor(column, device="cpu"))
                # Not backward(), which would add to the gradients of the net's weights.
                (g,) = torch.autograd.grad(chosen.sum(), X)
        except Exception as error:
            raise ValueError(
                f"gradient='auto' expects a torch module that takes one tensor of numbers, here of "
                f"shape {T.shape}, and can be differentiated by it; that of "
                f"{type(self.net).__name__} raised {type(error).__name__}: {message_of(error)}. To "
                "a net a frame is one tensor a column: put a step before it that makes one array. "
                f"{HINT}"
            ) from error
        gradient = np.asarray(g.cpu().double().numpy(), dtype=np.float64)
        if not np.isfinite(gradient).all():
            n_bad = int((~np.isfinite(gradient)).sum())
            raise ValueError(
                f"The gradient of the torch module in {type(self.net).__name__} must be finite; "
                f"got {n_bad} NaN or infinite values in {len(T)} rows. Exclude such rows by "
                f"InputSpace(bounds=...) or InputSpace(constraint=...). {HINT}"
            )
        return chosen.detach().double().numpy(), gradient

    def _choose(self, out: Any, column: Any) -> Any:
        """Choose the outputs that are followed from what the module returns, shape (n,)."""
        out = out[0] if isinstance(out, tuple) else out
        # As skorch does: first to where the rows come from, then the nonlinearity, which a
        # regressor's outputs go through, too.
        out = self.nonlinearity(out.cpu()).reshape(len(column), -1)
        if self.second_alone and out.shape[1] == 2:
            column = column + 1  # of two classes the search shows the second one alone
        return out.gather(1, column[:, None])[:, 0]


def _kind(net: Any) -> dict[str, Any]:
    """Type and device of the net's weights, which are those that its rows must have."""
    import torch

    weights = [weight for weight in net.module_.parameters() if weight.is_floating_point()]
    # skorch takes device=None as "wherever the module is".
    device = net.device if net.device is not None or not weights else weights[0].device
    return {"dtype": weights[0].dtype if weights else torch.float32, "device": device}


@contextmanager
def _evaluating(net: Any) -> Iterator[None]:
    """Put all modules of the net in evaluation mode, and afterwards back in their own."""
    import torch

    # A net may have more modules than module_; each of them is an attribute.
    roots = [part for part in vars(net).values() if isinstance(part, torch.nn.Module)]
    modes = [(module, module.training) for root in roots for module in root.modules()]
    try:
        for root in roots:
            root.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _nonlinearity(net: Any) -> Callable[[Any], Any]:
    """The function that skorch documents for predict_nonlinearity; `check` sees that it holds."""
    import torch

    wish = net.predict_nonlinearity
    if callable(wish):
        return wish
    kind = _criterion(net) if wish == "auto" else None
    if isinstance(kind, torch.nn.CrossEntropyLoss):
        return lambda out: torch.softmax(out, dim=-1)
    if isinstance(kind, torch.nn.BCEWithLogitsLoss):
        return lambda out: _two(torch.sigmoid(out))
    if isinstance(kind, torch.nn.BCELoss):
        return _two
    return lambda out: out


def _criterion(net: Any) -> Any:
    """The net's criterion, also where torch.compile has wrapped it."""
    criterion = net.criterion_
    if net.compile and hasattr(criterion, "modules"):
        return list(criterion.modules())[-1]
    return criterion


def _two(p: Any) -> Any:
    """Probabilities of both classes, made of those of the second one."""
    import torch

    return torch.stack((1 - p, p), dim=1)
