"""Reading single trees, and the forests that average them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from skfairtest.exact._trees.threshold_cells import Tests
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._tree_model import IDENTITY, Group, Nodes, Output, Part

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


def read_trees(models: list[Any], features: Features, values: list[NDArray[Any]]) -> Nodes:
    """Fitted trees of scikit-learn, one after another.

    Parameters
    ----------
    models : list of DecisionTreeRegressor or DecisionTreeClassifier
        Fitted trees.
    features : Features
        What they look at.
    values : list of ndarray of shape (n_nodes, n_values)
        What the nodes of each tree add.

    Returns
    -------
    Nodes
        All of them.
    """
    trees = [model.tree_ for model in models]
    offsets = np.cumsum([0] + [tree.node_count for tree in trees])
    left = _joined([tree.children_left for tree in trees], offsets)
    right = _joined([tree.children_right for tree in trees], offsets)
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.intp)
    tests = Tests(
        np.where(left >= 0, feature, 0),
        np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
        np.concatenate([tree.missing_go_to_left for tree in trees]).astype(bool),
        np.full(len(left), -1, dtype=np.intp),
        np.zeros((0, 0), dtype=bool),
        single=True,
    )
    return Nodes(features, tests, left, right, np.concatenate(values), offsets[:-1])


def _joined(children: list[NDArray[Any]], offsets: NDArray[Any]) -> NDArray[np.intp]:
    parts = [np.where(c >= 0, c + o, -1) for c, o in zip(children, offsets, strict=False)]
    return np.concatenate(parts).astype(np.intp)


def read_average(model: Any, features: Features, response: str) -> list[Output]:
    """A tree, or a forest: the mean of its trees.

    Parameters
    ----------
    model : estimator
        A fitted tree, random forest or extra-trees model.
    features : Features
        What it looks at.
    response : {"regression", "predict_proba"}
        What is asked of it.

    Returns
    -------
    list of Output
        One an output of a regressor; one a class, or that of the second of two classes.
    """
    trees = list(model.estimators_) if isinstance(model, FORESTS) else [model]
    if getattr(model, "n_outputs_", 1) > 1 and response != "regression":
        raise ValueError(
            f"{type(model).__name__} has {model.n_outputs_} targets; expected one for a "
            "classifier. Audit a classifier for each target."
        )
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
