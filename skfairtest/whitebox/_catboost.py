"""Reading CatBoost: trees out of the JSON in which the library saves a model.

Checked against 1.2.10. Numbers are rounded to single precision and go right where they are above a
border; leaves are added up in double precision. Categories become statistics of the training's
targets, or hashes, which are no cells of the columns: models with tests of them are refused.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.whitebox._boosting_libraries import library_reader
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._fitted_trees import Split, Tree, grown, nodes_of
from skfairtest.whitebox._library_trees import features_of, is_plain
from skfairtest.whitebox._own_steps import OwnStep
from skfairtest.whitebox._tables import as_numbers
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox.graph import (
    EXPONENTIAL,
    Output,
    Part,
    last_rounded,
    link_of_scores,
    linked,
)

IDENTITIES = ("RMSE", "MAE", "Quantile", "Huber", "MAPE", "LogCosh", "Expectile", "Lq")
EXPONENTIALS = ("Poisson", "Tweedie")
PROBABILITIES = ("Logloss", "CrossEntropy", "MultiClass")


def read_catboost(model: Any, chain: Chain, response: str) -> list[Output]:
    """CatBoostClassifier or CatBoostRegressor on columns of numbers.

    - `ValueError`: if `check_catboost` refuses it.
    """
    loss = check_catboost(model, response)
    name = type(model).__name__
    saved = _saved(model)
    scale, bias = saved["scale_and_bias"]
    bases = np.ravel(np.asarray(bias, dtype=np.float64))
    bases = bases if len(bases) else np.zeros(1)
    table = chain.first_table()
    reader = _CatBoostInput(list(model.feature_names_))
    features = features_of(chain, reader, is_plain(table, "", "f"))
    trees = _trees(saved, len(bases), name)
    nodes = nodes_of(trees, features, name) if trees else None
    parts = [
        Part(float(base), [] if nodes is None else [(nodes, k, float(scale))])
        for k, base in enumerate(bases)
    ]
    if response == "regression" and loss in EXPONENTIALS:
        return linked(parts, EXPONENTIAL)
    return linked(parts, link_of_scores(parts, response))


def check_catboost(model: Any, response: str) -> str | None:
    """See that the parameters of a model, fitted or not, are such that it can be read.

    - `response` {"regression", "predict_proba"}: what is asked of it.
    """
    name, is_fitted = type(model).__name__, model.is_fitted()
    params = model.get_all_params() if is_fitted else model.get_params()
    for kind, key in (("categorical", "cat"), ("text", "text"), ("embedding", "embedding")):
        named = getattr(model, f"get_{key}_feature_indices") if is_fitted else list
        if len(named()) or params.get(f"{key}_features"):
            raise Unsupported(
                f"{name} has {kind} features: CatBoost turns them into statistics and hashes, "
                "which cannot be read as tests of the columns.",
                "Expected columns of numbers: encode text with OneHotEncoder or OrdinalEncoder "
                "before the model.",
            )
    loss = params.get("objective") or params.get("loss_function")
    if loss is None:
        return None  # it chooses one that fits the data
    loss = loss.partition(":")[0] if isinstance(loss, str) else "PythonUserDefinedPerObject"
    if loss not in (PROBABILITIES if response == "predict_proba" else (*IDENTITIES, *EXPONENTIALS)):
        raise Unsupported(
            f"{name} with loss_function={loss!r} cannot be certified: it is not known how its "
            "outputs depend on the sums of trees.",
            f"Expected one of {sorted((*IDENTITIES, *EXPONENTIALS))}, 'Logloss' or 'MultiClass'.",
        )
    return loss


def _saved(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


class _CatBoostInput(OwnStep):
    """How the model makes numbers of a table: it finds columns of a frame by their names."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def transform(self, table: Any) -> Floats:
        """The numbers, in the order of training; by position where names are others."""
        own = list(getattr(table, "columns", []))
        if own != self.names and set(self.names) <= set(own):
            table = table[self.names]
        return np.array(as_numbers(table))


def _trees(saved: Any, n_outputs: int, name: str) -> list[Tree]:
    """All trees: those whose levels have one test each, and those of other shapes."""
    floats = {each["feature_index"]: each for each in saved["features_info"]["float_features"]}

    def split(test: Any, left: Any, right: Any) -> Split:
        if test["split_type"] != "FloatFeature":
            raise Unsupported(
                f"{name} has tests of the kind {test['split_type']!r}, which cannot be read.",
                "Expected columns of numbers.",
            )
        feature = floats[test["float_feature_index"]]
        border = float(last_rounded(np.array([test["border"]], dtype=np.float32))[0])
        missing_left = feature["nan_value_treatment"] != "AsTrue"
        return Split(feature["flat_feature_index"], border, missing_left, left, right)

    def nested(node: Any) -> Split | Floats:
        if "split" in node:
            return split(node["split"], node["left"], node["right"])
        return np.ravel(node["value"])

    trees = []
    for tree in saved.get("oblivious_trees", []):
        tests = tree["splits"] or []
        values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(-1, n_outputs)

        # A node is a level and a leaf: the outcome of test i is bit i of the leaf.
        def at_level(
            node: tuple[int, int], tests: Any = tests, values: Floats = values
        ) -> Split | Floats:
            level, leaf = node
            if level < 0:
                return values[leaf]
            return split(tests[level], (level - 1, leaf), (level - 1, leaf | 1 << level))

        trees.append(grown((len(tests) - 1, 0), at_level))
    return trees + [grown(tree, nested) for tree in saved.get("trees", [])]


WRAPPERS = ("CatBoostClassifier", "CatBoostRegressor")
READER = library_reader("catboost", WRAPPERS, "_object", check_catboost, read_catboost)
