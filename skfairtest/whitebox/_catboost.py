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
from skfairtest.whitebox._features import Chain, as_numbers
from skfairtest.whitebox._library_trees import (
    TreeLists,
    as_nodes,
    features_of,
    first_table,
    is_plain,
)
from skfairtest.whitebox._own_steps import OwnStep
from skfairtest.whitebox._sklearn_trees import linked
from skfairtest.whitebox._tree_model import EXPONENTIAL, Group, Output, Part, last_rounded
from skfairtest.whitebox._unsupported import Unsupported

IDENTITIES = ("RMSE", "MAE", "Quantile", "Huber", "MAPE", "LogCosh", "Expectile", "Lq")
EXPONENTIALS = ("Poisson", "Tweedie")
PROBABILITIES = ("Logloss", "CrossEntropy", "MultiClass")


def read_catboost(model: Any, chain: Chain, response: str) -> list[Output]:
    """CatBoostClassifier or CatBoostRegressor on columns of numbers.

    Parameters and result are as those of `read_ensemble`, of a fitted model.

    - `ValueError`: if `check_catboost` refuses it.
    """
    loss = check_catboost(model, response)
    name = type(model).__name__
    saved = _saved(model)
    scale, bias = saved["scale_and_bias"]
    bases = np.ravel(np.asarray(bias, dtype=np.float64))
    bases = bases if len(bases) else np.zeros(1)
    trees = _trees(saved, len(bases), name)
    table = first_table(chain)
    reader = _Table(list(model.feature_names_))
    features = features_of(chain, reader, is_plain(table, "", "f"))
    parts = []
    for k, base in enumerate(bases):
        part = Part(float(base))
        if trees.roots:
            raw = trees.raw(k)
            raw = raw._replace(threshold=last_rounded(raw.threshold.astype(np.float32)))
            part.trees.append((as_nodes(raw, features, name), 0, float(scale)))
        parts.append(part)
    if response == "regression" and loss in EXPONENTIALS:
        return [[Group(EXPONENTIAL, 1.0, [part])] for part in parts]
    return linked(parts, response)


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


class _Table(OwnStep):
    """How the model makes numbers of a table: it finds columns of a frame by their names."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def transform(self, table: Any) -> Floats:
        """The numbers, in the order of training; by position where names are others."""
        own = list(getattr(table, "columns", []))
        if own != self.names and set(self.names) <= set(own):
            table = table[self.names]
        return np.array(as_numbers(table))


def _trees(saved: Any, n_outputs: int, name: str) -> TreeLists:
    """All trees: those whose levels have one test each, and those of other shapes."""
    floats = {each["feature_index"]: each for each in saved["features_info"]["float_features"]}
    lists = TreeLists(n_outputs)

    def test(split: Any) -> None:
        if split["split_type"] != "FloatFeature":
            raise Unsupported(
                f"{name} has tests of the kind {split['split_type']!r}, which cannot be read.",
                "Expected columns of numbers.",
            )
        feature = floats[split["float_feature_index"]]
        missing_left = feature["nan_value_treatment"] != "AsTrue"
        lists.test(feature["flat_feature_index"], float(split["border"]), missing_left)

    def add_nested(node: Any) -> None:
        test(node["split"]) if "split" in node else lists.leaf(np.ravel(node["value"]))

    def nested(node: Any) -> tuple[Any, ...]:
        return (node["left"], node["right"]) if "split" in node else ()

    for tree in saved.get("oblivious_trees", []):
        splits = tree["splits"] or []
        values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(-1, n_outputs)

        def add(node: tuple[int, int], splits: Any = splits, values: Floats = values) -> None:
            test(splits[node[0]]) if node[0] >= 0 else lists.leaf(values[node[1]])

        # A node is a level and a leaf: the outcome of test i is bit i of the leaf.
        lists.grow((len(splits) - 1, 0), add, _below)
    for tree in saved.get("trees", []):
        lists.grow(tree, add_nested, nested)
    return lists


def _below(node: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    level, leaf = node
    return ((level - 1, leaf), (level - 1, leaf | 1 << level)) if level >= 0 else ()
