"""Reading gradient boosting: sums of trees behind a link."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from skfairtest.whitebox._features import Features
from skfairtest.whitebox._sklearn_trees import read_trees
from skfairtest.whitebox._tree_model import (
    IDENTITY,
    LOGISTIC,
    SOFTMAX,
    Group,
    Nodes,
    Output,
    Part,
)
from skfairtest.whitebox._unwrap import run_step

BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)


def read_boosting(model: Any, features: Features, response: str) -> list[Output]:
    """GradientBoostingRegressor or GradientBoostingClassifier.

    Parameters
    ----------
    model : estimator
        Fitted; its `init` must be a constant.
    features : Features
        What it looks at.
    response : {"regression", "predict_proba", "decision_function"}
        What is asked of it.

    Returns
    -------
    list of Output
        One a score, or one a class.

    Raises
    ------
    ValueError
        If the model starts from another model.
    """
    if not (isinstance(model.init_, (DummyClassifier, DummyRegressor)) or model.init_ == "zero"):
        raise ValueError(
            f"{type(model).__name__} with init={type(model.init_).__name__} is not understood: "
            "expected init=None or 'zero', which are constants. Use SBFTAuditor, or fit without."
        )
    columns = []
    for k in range(model.estimators_.shape[1]):
        trees = list(model.estimators_[:, k])
        columns.append(read_trees(trees, features, [t.tree_.value[:, 0, :1] for t in trees]))
    parts = [Part(0.0, [(nodes, 0, float(model.learning_rate))]) for nodes in columns]
    start = _start(model, features, parts)
    for part, value in zip(parts, start, strict=True):
        part.base = float(value)
    factor = 2.0 if getattr(model, "loss", "") == "exponential" else 1.0
    return linked(parts, response, factor)


def _start(model: Any, features: Features, parts: list[Part]) -> Any:
    """What the model adds to its trees, seen on one row: the first of the space's domain."""
    Z = features._origin_codes()[None]
    table = features.space.decode(Z)
    for step in features.steps:
        table = run_step(step, table)
    score = (
        model.predict
        if hasattr(model, "n_features_in_") and not hasattr(model, "decision_function")
        else model.decision_function
    )
    scores = np.atleast_2d(np.asarray(score(table), dtype=np.float64)).reshape(1, -1)[0]
    T = features.transform(Z)
    return [
        scores[k] - part.evaluate({id(n): n.leaves(T) for n, _, _ in part.trees}, 1)[0]
        for k, part in enumerate(parts)
    ]


def linked(parts: list[Part], response: str, factor: float = 1.0) -> list[Output]:
    """Outputs made of scores: the scores, or the probabilities that belong to them."""
    if response != "predict_proba":
        return [[Group(IDENTITY, 1.0, [part])] for part in parts]
    if len(parts) == 1:
        part = parts[0]
        scaled = [(nodes, column, f * factor) for nodes, column, f in part.trees]
        return [[Group(LOGISTIC, 1.0, [Part(part.base * factor, scaled)])]]
    return [
        [Group(SOFTMAX, 1.0, [parts[k], *parts[:k], *parts[k + 1 :]])] for k in range(len(parts))
    ]


__all__ = ["BOOSTED", "Nodes", "linked", "read_boosting"]
