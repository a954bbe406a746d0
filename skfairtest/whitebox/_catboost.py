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

from skfairtest._typing import Floats, Ints
from skfairtest.whitebox._features import Chain, as_numbers
from skfairtest.whitebox._library_trees import (
    RawTrees,
    as_nodes,
    features_of,
    first_table,
)
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
    info = saved["features_info"]
    places = {f["feature_index"]: f["flat_feature_index"] for f in info["float_features"]}
    nan_right = {
        f["feature_index"] for f in info["float_features"] if f["nan_value_treatment"] == "AsTrue"
    }
    scale, bias = saved["scale_and_bias"]
    bases = np.ravel(np.asarray(bias, dtype=np.float64))
    bases = bases if len(bases) else np.zeros(1)
    trees = _Trees(places, nan_right, len(bases))
    for tree in saved.get("oblivious_trees", []):
        trees.add_oblivious(tree, name)
    for tree in saved.get("trees", []):
        trees.add_nested(tree, name)

    table = first_table(chain)
    plain = isinstance(table, np.ndarray) and table.dtype.kind == "f"
    reader = _Table(list(model.feature_names_))
    features, _ = features_of(chain, reader, None, plain)
    parts = []
    for k, base in enumerate(bases):
        part = Part(float(base))
        if trees.roots:
            part.trees.append((as_nodes(trees.raw(k), features, name), 0, float(scale)))
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


class _Table:
    """How the model makes numbers of a table: it finds columns of a frame by their names."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __call__(self, table: Any, marked: Ints | None) -> Floats:
        """The numbers, in the order of training; by position where names are others."""
        own = list(getattr(table, "columns", []))
        if own != self.names and set(self.names) <= set(own):
            table = table[self.names]
        return np.array(as_numbers(table))


class _Trees:
    """Nodes of all trees, one tree after another, with a value for each output."""

    def __init__(self, places: dict[int, int], nan_right: set[int], n_outputs: int) -> None:
        self.places, self.nan_right, self.n_outputs = places, nan_right, n_outputs
        self.feature: list[int] = []
        self.border: list[float] = []
        self.missing_left: list[bool] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.value: list[Any] = []
        self.roots: list[int] = []

    def raw(self, output: int) -> RawTrees:
        whole = np.intp
        n = len(self.left)
        return RawTrees(
            np.array(self.feature, dtype=whole),
            last_rounded(np.array(self.border, dtype=np.float32)),
            np.array(self.missing_left, dtype=bool),
            np.full(n, -1, dtype=whole),
            np.zeros((0, 1), dtype=bool),
            np.array(self.left, dtype=whole),
            np.array(self.right, dtype=whole),
            np.array(self.value, dtype=np.float64).reshape(n, self.n_outputs)[:, output],
            np.array(self.roots, dtype=whole),
        )

    def add_oblivious(self, tree: Any, name: str) -> None:
        """All nodes of a level have one test; the outcome of test i is bit i of the leaf."""
        splits = tree["splits"] or []
        values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(-1, self.n_outputs)

        def grow(level: int, leaf: int) -> int:
            if level < 0:
                return self._leaf(values[leaf])
            here = self._test(splits[level], name)
            self.left[here] = grow(level - 1, leaf)
            self.right[here] = grow(level - 1, leaf | (1 << level))
            return here

        self.roots.append(len(self.left))
        grow(len(splits) - 1, 0)

    def add_nested(self, tree: Any, name: str) -> None:
        """A tree of other shapes, node in node."""

        def grow(node: Any) -> int:
            if "split" not in node:
                return self._leaf(np.ravel(node["value"]))
            here = self._test(node["split"], name)
            self.left[here], self.right[here] = grow(node["left"]), grow(node["right"])
            return here

        self.roots.append(len(self.left))
        grow(tree)

    def _test(self, split: Any, name: str) -> int:
        if split["split_type"] != "FloatFeature":
            raise Unsupported(
                f"{name} has tests of the kind {split['split_type']!r}, which cannot be read.",
                "Expected columns of numbers.",
            )
        feature = split["float_feature_index"]
        missing_left = feature not in self.nan_right
        return self._add(self.places[feature], split["border"], missing_left, None)

    def _leaf(self, value: Any) -> int:
        return self._add(0, 0.0, False, value)

    def _add(self, feature: int, border: float, missing_left: bool, value: Any) -> int:
        self.feature.append(int(feature))
        self.border.append(float(border))
        self.missing_left.append(missing_left)
        self.left.append(-1)
        self.right.append(-1)
        self.value.append(np.zeros(self.n_outputs) if value is None else value)
        return len(self.left) - 1
