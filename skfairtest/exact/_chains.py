"""Estimators inside estimators: which steps stand before each, and what they hand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skfairtest._space import InputSpace
from skfairtest.exact._steps import HINT, Features, TakeColumns
from skfairtest.whitebox._unwrap import unwrap

__all__ = ["Chain", "TakeColumns"]


class Chain:
    """The steps before a model, and the features behind them, made once.

    Parameters
    ----------
    space : InputSpace
        The inputs that exist.
    steps : list, default=()
        First step first.
    """

    def __init__(self, space: InputSpace, steps: Any = ()) -> None:
        self.space = space
        self.steps = list(steps)
        self._features: Features | None = None

    @property
    def features(self) -> Features:
        """What a model behind the steps sees."""
        if self._features is None:
            self._features = Features(self.space, self.steps)
        return self._features

    def ending(self, last: Callable[[Any], Any]) -> Features:
        """The features where the model itself changes the table first."""
        return Features(self.space, self.steps, last)

    def then(self, *steps: Any) -> Chain:
        """A longer chain."""
        return Chain(self.space, [*self.steps, *steps])

    def open(self, estimator: Any) -> tuple[Chain, Any]:
        """Take a pipeline or a wrapper apart: the longer chain and the last step."""
        steps, model = unwrap(estimator, HINT)
        return (self.then(*steps) if steps else self), model
