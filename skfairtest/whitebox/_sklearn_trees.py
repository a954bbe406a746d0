"""Reading scikit-learn's trees: alone, averaged by a forest, or added up by gradient boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from skfairtest._typing import Floats
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._tree_model import (
    IDENTITY,
    LOGISTIC,
    SOFTMAX,
    Group,
    Nodes,
    Output,
    Part,
    Tests,
    last_rounded,
)
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox._unwrap import run_step

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


def read_trees(models: list[Any], features: Features, values: list[NDArray[Any]]) -> Nodes:
    """Fitted trees of scikit-learn, one after another.

    - `models`: fitted trees.
    - `values` (n_nodes, n_values): what the nodes of each tree add.
    """
    trees = [model.tree_ for model in models]
    offsets = np.cumsum([0] + [tree.node_count for tree in trees])
    left = _joined([tree.children_left for tree in trees], offsets)
    right = _joined([tree.children_right for tree in trees], offsets)
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.intp)
    tests = Tests(
        np.where(left >= 0, feature, 0),
        _of_rounded(np.concatenate([tree.threshold for tree in trees])),
        np.concatenate([tree.missing_go_to_left for tree in trees]).astype(bool),
        np.full(len(left), -1, dtype=np.intp),
        np.zeros((0, 0), dtype=bool),
    )
    return Nodes(features, tests, left, right, np.concatenate(values), offsets[:-1])


def _of_rounded(thresholds: NDArray[Any]) -> Floats:
    """Thresholds that pass the numbers which, rounded to single precision, pass the given ones."""
    singles = thresholds.astype(np.float32)
    singles = np.where(singles > thresholds, np.nextafter(singles, np.float32(-np.inf)), singles)
    return last_rounded(singles)


def _joined(children: list[NDArray[Any]], offsets: NDArray[Any]) -> NDArray[np.intp]:
    parts = [np.where(c >= 0, c + o, -1) for c, o in zip(children, offsets, strict=False)]
    return np.concatenate(parts).astype(np.intp)


BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)


def check_trees(model: Any, response: str) -> None:
    """See that a classifier has one target, and that boosting starts from a constant.

    - `model`: a tree, a forest or gradient boosting of scikit-learn, fitted or not.
    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of it.
    """
    name = type(model).__name__
    if getattr(model, "n_outputs_", 1) > 1 and response != "regression":
        raise Unsupported(
            f"{name} has {model.n_outputs_} targets; expected one for a classifier.",
            "Audit a classifier for each target.",
        )
    start = getattr(model, "init_", model.init) if isinstance(model, BOOSTED) else None
    if not (start is None or isinstance(start, (DummyClassifier, DummyRegressor, str))):
        raise Unsupported(
            f"{name} with init={type(start).__name__} is not understood: expected init=None or "
            "'zero', which are constants.",
            "Fit the model without init, or use SBFTAuditor.",
        )


def read_average(model: Any, features: Features, response: str) -> list[Output]:
    """A tree, or a forest: the mean of its trees.

    - `response` {"regression", "predict_proba"}: what is asked of it.
    - the result: one an output of a regressor; one a class, or that of the second of two classes.
    """
    trees = list(model.estimators_) if isinstance(model, FORESTS) else [model]
    check_trees(model, response)
    if response == "regression":
        values = [tree.tree_.value[:, :, 0] for tree in trees]
    else:
        values = [tree.tree_.value[:, 0, :] for tree in trees]
    nodes = read_trees(trees, features, values)
    columns = range(nodes.value.shape[1])
    if response != "regression" and len(columns) == 2:
        columns = range(1, 2)
    share = 1.0 / len(trees)
    return [[Group(IDENTITY, 1.0, [Part(0.0, [(nodes, column, share)])])] for column in columns]


def read_boosting(model: Any, features: Features, response: str) -> list[Output]:
    """GradientBoostingRegressor or GradientBoostingClassifier.

    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of it.
    - `ValueError`: if the model starts from another model.
    """
    check_trees(model, response)
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
        whole = Part(part.base * factor, scaled, factor * part.rounding)
        return [[Group(LOGISTIC, 1.0, [whole])]]
    outputs = [
        [Group(SOFTMAX, 1.0, [parts[k], *parts[:k], *parts[k + 1 :]])] for k in range(len(parts))
    ]
    return outputs[1:] if len(outputs) == 2 else outputs  # the two say the same
