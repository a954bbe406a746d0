"""Reading HistGradientBoosting, whose trees are not public.

scikit-learn offers no public way to the trees of these models, so this file, and no other, reads
four private attributes: `_predictors` (the trees), `_baseline_prediction` (what they are added
to), `_preprocess_X` (how a table is coded before it reaches them), and `_loss`'s name through
the public parameter. What was read is compared with the model's own outputs before it is used, as
for every model; so a release that changes them ends in an error, never in a wrong bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._fitted_trees import Tree, parts_of
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._own_steps import OwnStep
from skfairtest.whitebox._unsupported import OWN_CODE
from skfairtest.whitebox.graph import EXPONENTIAL, Output, link_of_scores, linked
from skfairtest.whitebox.registry import Reader

HISTOGRAM = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
#: Losses whose predictions are exponentials of the sum of trees.
EXPONENTIAL_LOSSES = ("poisson", "gamma")


class _Preprocess(OwnStep):
    """The model's own coding of a table."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def transform(self, table: Any) -> Any:
        return self.model._preprocess_X(table, reset=False)


def _read(model: Any, chain: Chain, response: str) -> list[Output]:
    """HistGradientBoostingRegressor or HistGradientBoostingClassifier.

    - `ValueError`: if this release of scikit-learn keeps its trees elsewhere.
    """
    try:
        features = chain.then(_Preprocess(model)).features
        bases = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
        rounds = model._predictors
        trees = [_tree(predictor) for predictors in rounds for predictor in predictors]
        group = np.tile(np.arange(len(bases)), len(rounds))
        parts = parts_of(trees, group, bases, features, 1.0, type(model).__name__)
    except AttributeError as error:
        raise ValueError(
            f"The trees of {type(model).__name__} could not be read from this release of "
            f"scikit-learn ({error}). Use SBFTAuditor, or a release from 1.6 to 1.9."
        ) from error
    if response == "regression" and model.loss in EXPONENTIAL_LOSSES:
        return linked(parts, EXPONENTIAL)
    return linked(parts, link_of_scores(parts, response))


def _tree(predictor: Any) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    # Of 256 categories those that go left in each categorical split, a bit each.
    words = np.asarray(predictor.raw_left_cat_bitsets, dtype=np.uint32).reshape(-1, 8)
    bits = (words[:, :, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    return Tree(
        nodes["feature_idx"],
        nodes["num_threshold"],
        nodes["missing_go_to_left"],
        np.where(leaf, -1, nodes["left"].astype(np.intp)),
        np.where(leaf, -1, nodes["right"].astype(np.intp)),
        nodes["value"][:, None],
        bits.reshape(-1, 256).astype(bool),
        np.where(nodes["is_categorical"], nodes["bitset_idx"].astype(np.intp), -1),
    )


READER = Reader(
    lambda model: isinstance(model, HISTOGRAM),
    lambda model, response, steps: check_library_code(model, OWN_CODE),
    _read,
)
