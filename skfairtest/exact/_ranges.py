"""Bound the outputs of models as they were read over the whole domain."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from skfairtest._typing import Floats
from skfairtest.exact._constrained import ConstrainedFamily
from skfairtest.exact._linear import LinearFamily
from skfairtest.exact._networks.family import NetworkFamily
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.whitebox._tree_model import EXPONENTIAL, IDENTITY, LOGISTIC, Output

#: How far beyond 0 and 1 rounding may carry the ends of probabilities.
NEARLY = 1e-6


def output_ranges(family: Any, response: str) -> tuple[Floats, Floats]:
    """Return lower and upper bounds of each output of a family; rounding included.

    - `family`: a model, read out.
    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of it.
    - `low, high` (n_outputs,): one entry where they are the same for all outputs.
    """
    if isinstance(family, ConstrainedFamily):
        return output_ranges(family.base, response)
    if isinstance(family, LinearFamily):
        low, high = _of_linear(family)
    elif isinstance(family, TreeFamily):
        ends = [_of_trees(output) for output in family.outputs]
        low, high = np.array([e[0] for e in ends]), np.array([e[1] for e in ends])
    elif isinstance(family, NetworkFamily):
        low, high = _of_network(family)
    elif hasattr(family, "ranges"):
        low, high = family.ranges()
    else:
        low, high = np.array([-np.inf]), np.array([np.inf])
    low, high = low - family.rounding, high + family.rounding
    if response == "predict_proba":
        # Votes with negative weights may well be no probabilities: only what rounding adds goes.
        low = np.where((low > -NEARLY) | np.isinf(low), np.maximum(low, 0.0), low)
        high = np.where((high < 1 + NEARLY) | np.isinf(high), np.minimum(high, 1.0), high)
    return low, high


def _of_linear(family: LinearFamily) -> tuple[Floats, Floats]:
    effects = family.effects
    low, high = effects.base.copy(), effects.base.copy()
    for j in (*effects.tables, *effects.continuous):
        found = effects.extremes(j)
        low, high = low + found.low, high + found.high
    if family.logistic:
        low, high = expit(family.factor * low), expit(family.factor * high)
    return low, high


def _of_trees(output: Output) -> tuple[float, float]:
    low = high = 0.0
    for group in output:
        ends = np.array([part.ends() for part in group.parts])
        if group.link == IDENTITY:
            own = ends[0]
        elif group.link == LOGISTIC:
            own = expit(ends[0])
        elif group.link == EXPONENTIAL:
            with np.errstate(over="ignore"):
                own = np.exp(ends[0]) * np.array([1 - 1e-9, 1 + 1e-9])
        else:
            own = expit(ends[0] - [logsumexp(ends[1:, 1]), logsumexp(ends[1:, 0])])
        first, second = sorted((group.weight * own[0], group.weight * own[1]))
        low, high = low + float(first), high + float(second)
    return low, high


def _of_network(family: NetworkFamily) -> tuple[Floats, Floats]:
    relaxation = family.relaxation
    last = relaxation.layers(relaxation.whole())[-1]
    low, high = np.minimum(*last.low)[0], np.maximum(*last.high)[0]
    out = family.network.out
    if out == "logistic":
        return expit(low), expit(high)
    if out == "exp":
        with np.errstate(over="ignore"):
            return np.exp(low), np.exp(high)
    if out == "softmax":
        n = len(low)
        others = [[j for j in range(n) if j != k] for k in range(n)]
        return (
            np.array([expit(low[k] - logsumexp(high[others[k]])) for k in range(n)]),
            np.array([expit(high[k] - logsumexp(low[others[k]])) for k in range(n)]),
        )
    return low, high
