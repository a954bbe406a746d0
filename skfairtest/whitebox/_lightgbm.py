"""Reading LightGBM: trees out of `dump_model`, which the library offers for that.

Checked against 3.3 and 4.7. LightGBM compares and adds up in double precision: numbers go left
where they are at most a threshold, codes where they are in a set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skfairtest._typing import Floats, Ints
from skfairtest.whitebox._boosting_libraries import library_reader
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._fitted_trees import Split, coded_features, grown, parts_of
from skfairtest.whitebox._library_trees import codes_of, features_of, is_plain
from skfairtest.whitebox._own_steps import MissingSentinel, OwnStep
from skfairtest.whitebox._tables import as_numbers
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox.graph import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    SOFTMAX,
    Output,
    Part,
    linked,
)

#: The newest version of the format that was checked.
NEWEST = 4
#: Numbers up to this size are zero to the library.
ZERO = float(np.float32(1e-35))
IDENTITIES = (
    "regression", "regression_l1", "huber", "fair", "quantile", "mape", "custom", "none",
)  # fmt: skip
EXPONENTIALS = ("poisson", "gamma", "tweedie")
SIGMOIDS = ("binary", "multiclassova", "cross_entropy")
#: Further names of objectives, by the one that is saved.
OTHER_NAMES = {
    "regression": "l2 regression_l2 mse mean_squared_error rmse root_mean_squared_error l2_root",
    "regression_l1": "l1 mae mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "multiclass": "softmax",
    "multiclassova": "multiclass_ova ova ovr",
    "cross_entropy": "xentropy",
    "cross_entropy_lambda": "xentlambda",
    "none": "null custom na",
}


def read_lightgbm(model: Any, chain: Chain, response: str) -> list[Output]:
    """LGBMClassifier or LGBMRegressor.

    - `ValueError`: if it has settings that are not understood.
    """
    check_lightgbm(model, response)
    name = type(model).__name__
    saved = model.booster_.dump_model()
    version = str(saved.get("version", "v0")).lstrip("v")
    if not version.isdigit() or int(version) > NEWEST:
        raise Unsupported(
            f"{name} saves its trees in the format {saved.get('version')!r}, which is not known.",
            f"Expected v{NEWEST} or older; update skfairtest.",
        )
    table = chain.first_table()
    n_features = int(saved["max_feature_idx"]) + 1

    def read(node: Any) -> Split | Floats:
        return _split_or_leaf(node, n_features, sparse.issparse(table), name)

    trees = [grown(tree["tree_structure"], read) for tree in saved["tree_info"]]
    n_groups = int(saved["num_tree_per_iteration"])
    group = np.arange(len(trees)) % n_groups
    # Columns that tests take zero for missing in stand a second time behind all others.
    takes_zero = any((np.array(tree.feature) >= n_features).any() for tree in trees)
    reader = _LightGBMInput(saved["pandas_categorical"], coded_features(trees), takes_zero)
    copies = n_features + np.arange(n_features)
    zeros = MissingSentinel(-ZERO, ZERO, copies) if takes_zero else None
    features = features_of(chain, reader, reader.is_plain(table), zeros)

    factor = n_groups / max(1, len(trees)) if saved["average_output"] else 1.0
    if response == "decision_function":
        factor = 1.0  # raw scores of random forests are sums
    parts = parts_of(trees, group, np.zeros(n_groups), features, factor, name)
    return _outputs(parts, str(saved.get("objective", "none")).split(), response, name)


def check_lightgbm(model: Any, response: str) -> None:
    """See that the parameters of a model, fitted or not, are such that it can be read.

    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of it.
    """
    name, params = type(model).__name__, model.get_params()
    if any(params.get(key) for key in ("pred_early_stop", "linear_tree", "linear_trees")):
        raise Unsupported(
            f"{name} cannot be certified with pred_early_stop, which skips trees, nor with "
            "linear_tree, whose leaves are linear models.",
            "Fit it without these parameters.",
        )
    asked = [
        params.get(key) for key in ("objective_type", "app", "application", "loss", "objective")
    ]
    # A fitted model has chosen.
    objective = getattr(model, "objective_", next(filter(None, asked), None))
    if objective is None and response != "regression":
        return  # it chooses one that fits the classes
    objective = objective or "regression"
    kind = "none" if callable(objective) else str(objective)
    kind = next((own for own, more in OTHER_NAMES.items() if kind in more.split()), kind)
    squared = params.get("reg_sqrt") and kind in IDENTITIES and kind != "huber"
    check_objective([kind, "sqrt"] if squared else [kind], response, name)


def check_objective(objective: list[str], response: str, name: str) -> None:
    """See that it is known what an objective makes of the sums of trees.

    - `objective`: its name, and its settings as the library saves them.
    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of the model.
    - `name`: of the model's class.
    """
    kind, *settings = objective
    identity = kind in IDENTITIES and not settings and response == "regression"
    if response == "decision_function" or identity:
        return
    if kind in (*SIGMOIDS, "multiclass", *EXPONENTIALS):
        return
    more = (
        " LGBMClassifier can be asked for response_method='decision_function', its sums of trees."
        if response == "predict_proba"
        else ""
    )
    raise Unsupported(
        f"{name} with the objective {' '.join(objective)!r} cannot be certified: it is not known "
        "how its outputs depend on the sums of trees.",
        f"Expected one of {sorted((*IDENTITIES[:-2], *EXPONENTIALS))}, 'binary', 'multiclass', "
        f"'multiclassova' or 'cross_entropy', and reg_sqrt=False.{more}",
    )


def _outputs(parts: list[Part], objective: list[str], response: str, name: str) -> list[Output]:
    objective = objective or ["none"]
    check_objective(objective, response, name)
    kind, *settings = objective
    if response == "decision_function":
        return linked(parts, IDENTITY)
    sigmoid = {k: float(v) for k, _, v in (word.partition(":") for word in settings) if v}.get(
        "sigmoid", 1.0
    )
    if kind in SIGMOIDS:
        outputs = linked(parts, LOGISTIC, sigmoid)
        return outputs[1:] if len(outputs) == 2 else outputs
    if kind == "multiclass":
        return linked(parts, SOFTMAX)
    return linked(parts, EXPONENTIAL if kind in EXPONENTIALS else IDENTITY)


def _split_or_leaf(node: Any, n_features: int, is_sparse: bool, name: str) -> Split | Floats:
    """The test of a node, or the value of a leaf."""
    if "leaf_coeff" in node or "leaf_const" in node:
        raise Unsupported(
            f"{name} with linear_tree=True has linear models in its leaves, which are not read.",
            "Fit with linear_tree=False.",
        )
    if "split_feature" not in node:
        return np.array([float(node["leaf_value"])])
    feature, kind = int(node["split_feature"]), node["decision_type"]
    below = node["left_child"], node["right_child"]
    if kind == "==":
        codes = [int(code) for code in str(node["threshold"]).split("||") if code]
        return Split(feature, 0.0, False, *below, codes)
    if kind != "<=":
        raise ValueError(f"{name} has tests of the kind {kind!r}, not known.")
    threshold, missing = float(node["threshold"]), str(node["missing_type"])
    # Each test says for itself whether it takes zero for missing, as trees that were fitted later
    # on need not: those that do are shown a second copy of the column.
    feature += n_features if missing == "Zero" else 0
    # Where nothing is missing, NaN goes where zero does.
    missing_left = threshold >= 0.0 if missing == "None" else bool(node["default_left"])
    threshold = threshold if is_sparse else _clear_of_zero(threshold)
    return Split(feature, threshold, missing_left, *below)


def _clear_of_zero(threshold: float) -> float:
    """The same test of numbers of which those next to zero have not been made zero.

    The library makes them zero in tables that are not sparse.
    """
    if -ZERO <= threshold < 0:
        return float(np.nextafter(-ZERO, -np.inf))
    return ZERO if 0 <= threshold < ZERO else threshold


class _LightGBMInput(OwnStep):
    """How the model makes numbers of a table."""

    def __init__(self, levels: list[list[Any]] | None, coded: Ints, twice: bool) -> None:
        self.levels = levels or []
        self.coded = coded
        self.twice = twice  # whether all columns stand a second time behind all others

    def is_plain(self, table: Any) -> bool:
        """Whether the numbers of a table are those that the model sees."""
        return not len(self.coded) and is_plain(table, "biuf", "f")

    def transform(self, table: Any) -> Floats:
        """The numbers."""
        numbers = self._numbers(table)
        numbers = np.hstack([numbers, numbers]) if self.twice else numbers
        numbers[:, self.coded] = np.trunc(numbers[:, self.coded])
        return numbers

    def _numbers(self, table: Any) -> Floats:
        if isinstance(table, pd.DataFrame):
            return self._of_frame(table)
        if not sparse.issparse(table) and getattr(table, "dtype", np.dtype(object)).kind in "biu":
            # An array of whole numbers is handed over in single precision.
            return np.asarray(table).astype(np.float32).astype(np.float64)
        return np.array(as_numbers(table))

    def _of_frame(self, table: pd.DataFrame) -> Floats:
        columns, number = [], 0
        kinds: list[Any] = [np.float32]
        for k in range(table.shape[1]):
            column = table.iloc[:, k]
            if isinstance(column.dtype, pd.CategoricalDtype):
                levels = self.levels[number] if number < len(self.levels) else None
                number += 1
                columns.append(codes_of(column, levels))
            else:
                kinds.append(getattr(column.dtype, "type", np.float64))
                columns.append(as_numbers(column.to_frame())[:, 0])
        together = np.column_stack(columns)
        # All columns get one type, single precision where none of them needs more.
        return together.astype(np.result_type(*kinds)).astype(np.float64)


WRAPPERS = ("LGBMClassifier", "LGBMRegressor")
READER = library_reader("lightgbm", WRAPPERS, "_Booster", check_lightgbm, read_lightgbm)
