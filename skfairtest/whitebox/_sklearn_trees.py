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
from skfairtest.whitebox._features import Chain, Features
from skfairtest.whitebox._fitted_trees import Tree, nodes_of, parts_of
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._unsupported import OWN_CODE, Unsupported
from skfairtest.whitebox._unwrap import run_steps
from skfairtest.whitebox.graph import (
    IDENTITY,
    LOGISTIC,
    LinkedSum,
    Output,
    Part,
    Seen,
    last_rounded,
    link_of_scores,
    linked,
)
from skfairtest.whitebox.registry import Reader

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


def _tree(fitted: Any, value: Floats) -> Tree:
    """A fitted tree of scikit-learn.

    - `value` (n_nodes, n_values): what its nodes add.
    """
    tree = fitted.tree_
    threshold, missing_left = _of_rounded(tree.threshold), tree.missing_go_to_left
    return Tree(
        tree.feature, threshold, missing_left, tree.children_left, tree.children_right, value
    )


def _of_rounded(thresholds: NDArray[Any]) -> Floats:
    """Thresholds that pass the numbers which, rounded to single precision, pass the given ones."""
    singles = thresholds.astype(np.float32)
    singles = np.where(singles > thresholds, np.nextafter(singles, np.float32(-np.inf)), singles)
    return last_rounded(singles)


BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)


def check_trees(model: Any, response: str, steps: list[Any]) -> None:
    """See that a classifier has one target, and that boosting starts from a constant.

    - `model`: a tree, a forest or gradient boosting of scikit-learn, fitted or not.
    """
    # With the trees of an ensemble, and what gradient boosting starts from.
    inside = [*np.ravel(getattr(model, "estimators_", [])), getattr(model, "init_", "zero")]
    for part in (model, *(part for part in inside if not isinstance(part, str))):
        check_library_code(part, OWN_CODE)
    if response == "labels":
        return
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


def read_average(model: Any, chain: Chain, response: str) -> list[Output]:
    """A tree, or a forest: the mean of its trees."""
    check_trees(model, response, [])
    features = chain.features
    if response == "decision_function":
        raise Unsupported(
            f"{type(model).__name__} has no decision_function.",
            "Use response_method='predict_proba'.",
        )
    fitted = list(model.estimators_) if isinstance(model, FORESTS) else [model]
    if response == "regression":
        trees = [_tree(tree, tree.tree_.value[:, :, 0]) for tree in fitted]
    else:
        trees = [_tree(tree, tree.tree_.value[:, 0, :]) for tree in fitted]
    nodes = nodes_of(trees, features, type(model).__name__)
    columns = range(nodes.value.shape[1])
    if response != "regression" and len(columns) == 2:
        columns = range(1, 2)
    share = 1.0 / len(fitted)
    return [[LinkedSum(IDENTITY, 1.0, [Part(0.0, [(nodes, column, share)])])] for column in columns]


def _read_boosting(model: Any, chain: Chain, response: str) -> list[Output]:
    """GradientBoostingRegressor or GradientBoostingClassifier."""
    check_trees(model, response, [])
    features = chain.features
    n_rounds, n_sums = model.estimators_.shape
    trees = [_tree(tree, tree.tree_.value[:, 0, :1]) for tree in model.estimators_.ravel()]
    group = np.tile(np.arange(n_sums), n_rounds)
    rate = float(model.learning_rate)
    parts = parts_of(trees, group, np.zeros(n_sums), features, rate, type(model).__name__)
    for part, value in zip(parts, _start(model, features, parts), strict=True):
        part.base = float(value)
    factor = 2.0 if getattr(model, "loss", "") == "exponential" else 1.0
    link = link_of_scores(parts, response)
    return linked(parts, link, factor if link == LOGISTIC else 1.0)


def _start(model: Any, features: Features, parts: list[Part]) -> Any:
    """What the model adds to its trees, seen on one row: the first of the space's domain."""
    Z = features._encoded_origin()[None]
    table = run_steps(features.steps, features.space.decode(Z))
    is_regressor = isinstance(model, GradientBoostingRegressor)
    score = model.predict if is_regressor else model.decision_function
    scores = np.ravel(np.asarray(score(table), dtype=np.float64))
    seen = Seen(Z)
    return [scores[k] - part.evaluate(seen)[0] for k, part in enumerate(parts)]


READERS = (
    Reader(
        lambda model: isinstance(model, (*TREES, *FORESTS)),
        check_trees,
        lambda *of: [*read_average(*of)],
    ),
    Reader(lambda model: isinstance(model, BOOSTED), check_trees, _read_boosting),
)
