"""Reading HistGradientBoosting, whose trees are not public.

scikit-learn offers no public way to the trees of these models, so this file, and no other, reads
four private attributes: `_predictors` (the trees), `_baseline_prediction` (what they are added
to), `_preprocess_X` (how a table is coded before it reaches them), and `_loss`'s name through
the public parameter. What was read is compared with the model's own outputs before it is used, as
for every family; so a release that changes them ends in an error, never in a wrong bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from skfairtest.whitebox._features import Chain, Features
from skfairtest.whitebox._own_steps import OwnStep
from skfairtest.whitebox._sklearn_trees import linked
from skfairtest.whitebox._tree_model import EXPONENTIAL, Group, Nodes, Output, Part, Tests

HISTOGRAM = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
#: Losses whose predictions are exponentials of the sum of trees.
EXPONENTIAL_LOSSES = ("poisson", "gamma")
#: Categories that a set of 8 words of 32 bits holds.
N_CODES = 256


class _Preprocess(OwnStep):
    """The model's own coding of a table."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def transform(self, table: Any) -> Any:
        return self.model._preprocess_X(table, reset=False)


def read_histogram(model: Any, chain: Chain, response: str) -> list[Output]:
    """HistGradientBoostingRegressor or HistGradientBoostingClassifier.

    Parameters and result are as those of `read_ensemble`, of a fitted model.

    - `ValueError`: if this release of scikit-learn keeps its trees elsewhere.
    """
    try:
        features = chain.then(_Preprocess(model)).features
        base = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
        rounds = model._predictors
        parts = []
        for k in range(len(rounds[0]) if rounds else len(base)):
            trees = [predictors[k] for predictors in rounds]
            part = Part(float(base[k]))
            if trees:
                nodes = _read([tree.nodes for tree in trees], _sets(trees), features)
                part.trees.append((nodes, 0, 1.0))
            parts.append(part)
    except AttributeError as error:
        raise ValueError(
            f"The trees of {type(model).__name__} could not be read from this release of "
            f"scikit-learn ({error}). Use SBFTAuditor, or a release from 1.6 to 1.9."
        ) from error
    if response == "regression" and model.loss in EXPONENTIAL_LOSSES:
        return [[Group(EXPONENTIAL, 1.0, parts)]]
    return linked(parts, response)


def _sets(trees: list[Any]) -> list[NDArray[np.bool_]]:
    """Categories that go left in each categorical split of each tree, (n_splits, 256)."""
    found = []
    for tree in trees:
        words = np.asarray(tree.raw_left_cat_bitsets, dtype=np.uint32).reshape(-1, N_CODES // 32)
        bits = (words[:, :, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
        found.append(bits.reshape(-1, N_CODES).astype(bool))
    return found


def _read(records: list[Any], sets: list[NDArray[np.bool_]], features: Features) -> Nodes:
    n_nodes = np.cumsum([0] + [len(record) for record in records])
    n_sets = np.cumsum([0] + [len(s) for s in sets])
    together = np.concatenate(records)
    offset = np.repeat(n_nodes[:-1], np.diff(n_nodes))
    set_offset = np.repeat(n_sets[:-1], np.diff(n_nodes))
    leaf = together["is_leaf"].astype(bool)
    coded = together["is_categorical"].astype(bool) & ~leaf
    tests = Tests(
        np.where(leaf, 0, together["feature_idx"]).astype(np.intp),
        together["num_threshold"].astype(np.float64),
        together["missing_go_to_left"].astype(bool),
        np.where(coded, together["bitset_idx"] + set_offset, -1).astype(np.intp),
        np.concatenate(sets) if sets else np.zeros((0, N_CODES), dtype=bool),
    )
    return Nodes(
        features,
        tests,
        np.where(leaf, -1, together["left"] + offset).astype(np.intp),
        np.where(leaf, -1, together["right"] + offset).astype(np.intp),
        together["value"].astype(np.float64)[:, None],
        n_nodes[:-1],
    )
