"""Reading XGBoost: trees out of the JSON in which the library saves a model.

Checked against 2.1 and 3.2. XGBoost rounds numbers to single precision, sends them left where they
are below a threshold, and adds up leaves in single precision. A missing value, and in sparse tables
an entry that is not stored, goes its own way at every test.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from skfairtest._typing import Floats, Ints
from skfairtest.finding._words import message_of
from skfairtest.whitebox._boosting_libraries import library_reader
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._fitted_trees import Tree, coded_features, parts_of, sets_of
from skfairtest.whitebox._library_trees import (
    SINGLE_UNIT,
    codes_of,
    features_of,
    is_plain,
    single_rounding,
)
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
    last_rounded,
    linked,
)

#: The newest major version of the format that was checked.
NEWEST = 3
#: What an objective makes of margins.
LINKS = {
    **dict.fromkeys(
        ["reg:squarederror", "reg:linear", "reg:squaredlogerror", "reg:pseudohubererror",
         "reg:absoluteerror", "reg:quantileerror", "reg:expectileerror", "binary:logitraw"],
        IDENTITY,
    ),
    **dict.fromkeys(["binary:logistic", "reg:logistic"], LOGISTIC),
    **dict.fromkeys(["multi:softprob", "multi:softmax"], SOFTMAX),
    **dict.fromkeys(
        ["count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"], EXPONENTIAL
    ),
}  # fmt: skip
#: The number after zero.
SMALLEST = float(np.nextafter(0.0, 1.0))


class _Settings(NamedTuple):
    """What a model was fitted with, or its parameters ask for, of one margin as far as is known."""

    objective: str
    booster: str
    vectors: bool = False
    n_margins: int = 1
    n_targets: int = 1


def _settings_of(model: Any) -> _Settings:
    vectors = model.multi_strategy == "multi_output_tree"
    if getattr(model, "_Booster", None) is None:
        # Of users' own objectives the outputs are the margins.
        own = "reg:squarederror" if callable(model.objective) else model.objective
        return _Settings(own or "reg:squarederror", model.booster or "gbtree", vectors)
    try:
        saved = json.loads(model.get_booster().save_config())
    except ValueError as error:
        raise Unsupported(
            f"{type(model).__name__} has settings that XGBoost itself does not take: "
            f"{message_of(error)}.",
            "Set them back to those that it was fitted with, or fit it again.",
        ) from error
    version = saved.get("version", [0])
    if version[0] > NEWEST:
        raise Unsupported(
            f"{type(model).__name__} was fitted with XGBoost {'.'.join(map(str, version))}; it is "
            "not known how that version saves its models.",
            f"Expected {NEWEST} or older; update skfairtest.",
        )
    learner = saved["learner"]
    numbers = learner["learner_model_param"]
    n_targets = int(numbers.get("num_target", 1))
    n_margins = max(int(numbers["num_class"]), n_targets, 1)
    objective, booster = learner["objective"]["name"], learner["gradient_booster"]["name"]
    return _Settings(objective, booster, vectors and n_margins > 1, n_margins, n_targets)


def check_xgboost(model: Any, response: str) -> _Settings:
    """See that the settings of a model, fitted or not, are such that it can be read.

    - `response` {"regression", "predict_proba"}: what is asked of it.
    """
    name, settings = type(model).__name__, _settings_of(model)
    objective = settings.objective
    if objective not in LINKS:
        raise Unsupported(
            f"{name} with objective={objective!r} cannot be certified: it is not known how its "
            "outputs depend on the sums of trees.",
            f"Expected one of {sorted(LINKS)}, or an objective of your own, whose outputs are the "
            "sums themselves.",
        )
    if settings.n_targets > 1 and response != "regression":
        raise Unsupported(
            f"{name} has {settings.n_targets} targets; expected one for a classifier.",
            "Audit a classifier for each target.",
        )
    if settings.booster not in ("gbtree", "dart"):
        raise Unsupported(
            f"{name} with booster={settings.booster!r} has no trees.",
            "Expected 'gbtree' or 'dart'; Ridge and LogisticRegression are linear, too.",
        )
    if settings.vectors:
        raise _vectors_in_leaves(name)
    return settings


def _vectors_in_leaves(name: str) -> Unsupported:
    return Unsupported(
        f"{name} has trees with a vector in each leaf, which cannot be read.",
        "Expected multi_strategy='one_output_per_tree'; got 'multi_output_tree'.",
    )


def _bases(scores: str, link: str) -> Floats:
    """The margins whose outputs are the base scores of a model."""
    bases = np.array([float(part) for part in scores.strip("[]").split(",")], dtype=np.float32)
    with np.errstate(divide="ignore"):
        if link == LOGISTIC:
            bases = -np.log(np.float32(1) / bases - np.float32(1))
        elif link == EXPONENTIAL:
            bases = np.log(bases)
    return bases.astype(np.float64)


def read_xgboost(model: Any, chain: Chain, response: str) -> list[Output]:
    """XGBClassifier, XGBRegressor or one of their forests.

    - `ValueError`: if it has settings that are not understood.
    """
    name, settings = type(model).__name__, check_xgboost(model, response)
    link = LINKS[settings.objective]
    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    numbers, booster = learner["learner_model_param"], learner["gradient_booster"]
    dart = booster["name"] == "dart"
    kept = (booster["gbtree"] if dart else booster)["model"]
    n_trees = _n_predicting(model, kept)
    weights = booster["weight_drop"] if dart else np.ones(n_trees)
    kept_trees = zip(kept["trees"][:n_trees], weights, strict=False)
    trees = [_tree(tree, float(weight), name) for tree, weight in kept_trees]

    reader = _XGBoostInput(model, kept.get("cats"), coded_features(trees))
    table = chain.first_table()
    sentinel = reader.sentinel(table, int(numbers["num_feature"]))
    features = features_of(chain, reader, reader.is_plain(table), sentinel)
    # Before the first round the library takes the score itself for the margin.
    bases = _bases(numbers["base_score"], link if kept["trees"] else IDENTITY)
    bases = np.broadcast_to(bases, settings.n_margins)
    parts = parts_of(trees, kept["tree_info"][:n_trees], bases, features, 1.0, name)
    for part in parts:
        # The base itself was made in single precision, too.
        part.rounding = single_rounding(part, dart) + 4 * SINGLE_UNIT * max(1.0, abs(part.base))
    return _outputs(parts, link, response)


def _outputs(parts: list[Part], link: str, response: str) -> list[Output]:
    # A link in single precision is off by `expf` and a few more operations.
    unit = 16.0 * SINGLE_UNIT
    if link == EXPONENTIAL:
        for part in parts:
            part.rounding += unit  # an error of the link, as one of its argument
    if link == SOFTMAX and response != "predict_proba":
        link = IDENTITY
    outputs = linked(parts, link)
    for output in outputs:
        for group in output:
            group.rounding = unit if group.link in (LOGISTIC, SOFTMAX) else 0.0
    return outputs


def _n_predicting(model: Any, kept: Any) -> int:
    """How many trees the model predicts with: all, or those up to the best iteration."""
    n_trees = len(kept["trees"])
    try:
        best = int(model.best_iteration)
    except AttributeError:
        return n_trees
    starts = kept.get("iteration_indptr")
    if starts is None:
        n_rounds = max(1, int(model.get_booster().num_boosted_rounds()))
        return (best + 1) * (n_trees // n_rounds)
    return int(starts[best + 1])


def _tree(saved: Any, weight: float, name: str) -> Tree:
    """A tree; a test by category has its children exchanged.

    - `weight`: by which its leaves are multiplied.
    """
    if int(saved["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise _vectors_in_leaves(name)
    left, right = np.array(saved["left_children"]), np.array(saved["right_children"])
    condition = np.array(saved["split_conditions"], dtype=np.float32)
    category = np.full(len(left), -1)
    category[saved["categories_nodes"]] = np.arange(len(saved["categories_nodes"]))
    places = zip(saved["categories_segments"], saved["categories_sizes"], strict=True)
    # Codes in a set go right, and all others left: the other way round, as tests are kept here.
    turned = category >= 0
    return Tree(
        saved["split_indices"],
        # Strictly below a threshold is at most the number before it.
        last_rounded(np.nextafter(condition, np.float32(-np.inf))),
        np.array(saved["default_left"], dtype=bool) ^ turned,
        np.where(turned, right, left),
        np.where(turned, left, right),
        weight * condition.astype(np.float64)[:, None],
        sets_of([saved["categories"][start : start + size] for start, size in places]),
        category,
    )


class _XGBoostInput(OwnStep):
    """How the model makes numbers of a table."""

    def __init__(self, model: Any, cats: Any, coded: Ints) -> None:
        self.missing = np.float32(np.nan if model.missing is None else model.missing)
        self.levels = _levels(cats)
        self.coded = coded

    def is_plain(self, table: Any) -> bool:
        """Whether the numbers of a table are those that the model sees, but for their precision."""
        return not len(self.coded) and is_plain(table, "iuf", "iuf")

    def sentinel(self, table: Any, n_features: int) -> MissingSentinel | None:
        """The numbers that stand for a missing value, other than NaN."""
        columns = np.arange(n_features)
        if sparse.issparse(table):
            if not np.isnan(self.missing):
                raise Unsupported(
                    f"XGBoost with missing={float(self.missing):g} treats both that number and the "
                    "zeros of sparse output as missing, which cannot be read.",
                    "Expected missing=NaN, or steps with dense output.",
                )
            # What rounds to zero is stored, and is no missing value.
            return MissingSentinel(0.0, 0.0, columns)
        if np.isnan(self.missing):
            return None
        # All numbers that are rounded to it.
        before = np.nextafter(self.missing, np.float32(-np.inf))
        below, high = last_rounded(np.array([before, self.missing]))
        return MissingSentinel(float(np.nextafter(below, np.inf)), float(high), columns)

    def transform(self, table: Any) -> Floats:
        """The numbers, before they are rounded to single precision."""
        numbers = self._of_sparse(table) if sparse.issparse(table) else self._of_dense(table)
        # A code is what stands before the point once it is rounded to single precision.
        numbers[:, self.coded] = _single(numbers[:, self.coded])
        return numbers

    def _of_sparse(self, table: Any) -> Floats:
        stored = table.tocoo()
        filled = np.zeros(table.shape)
        numbers = stored.data.astype(np.float64)
        # A zero that is stored is no missing value: as the next number it passes the same tests.
        filled[stored.row, stored.col] = np.where(numbers == 0, SMALLEST, numbers)
        return filled

    def _of_dense(self, table: Any) -> Floats:
        if not hasattr(table, "columns"):
            return np.array(as_numbers(table))
        columns = []
        for k, name in enumerate(table.columns):
            column = _categories(table[name]) if hasattr(table, "select") else table.iloc[:, k]
            if isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
                columns.append(_codes(column, self.levels[k] if k < len(self.levels) else None))
            else:
                columns.append(as_numbers(column.to_frame())[:, 0])
        return np.column_stack(columns)


def _categories(column: Any) -> Any:
    """A column of polars, as one of pandas where it is an Enum."""
    if type(column.dtype).__name__ != "Enum":
        return column
    levels = column.dtype.categories.to_list()
    return pd.Series(pd.Categorical(column.to_list(), levels), name=column.name)


def _single(numbers: Floats) -> Any:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32)


#: Categories behind the codes of a column: numbers, or bytes as the library keeps them.
Levels = list[Any] | None


def _levels(cats: Any) -> list[Levels]:
    """Categories behind the codes of each column; None where the column has none, or keeps none.

    Since 3.1 a model knows the categories, and codes tables by them.
    """
    found: list[Levels] = []
    for column in (cats or {}).get("enc", []):
        values, offsets = column["values"], column.get("offsets")
        if offsets is None:
            found.append(list(values) or None)
        else:
            octets = np.asarray(values, dtype=np.int64).astype(np.uint8).tobytes()
            found.append(_cut(octets, offsets) or None)
    return found


def _cut(octets: bytes, ends: Any) -> list[bytes]:
    return [octets[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _codes(column: pd.Series, levels: Levels) -> Floats:
    """Codes of a categorical column as the model has them."""
    own = column.cat.categories
    if levels is None:
        return codes_of(column, None)
    if not isinstance(levels[0], bytes):
        return codes_of(column, levels)
    names = [str(name) for name in own]
    # The library counts characters and cuts bytes: names may lose their ends, but two equal lists
    # of them need no new codes.
    octets = "".join(names).encode()
    if _cut(octets, np.cumsum([0, *(len(name) for name in names)])) == levels:
        return codes_of(column, None)
    if not octets.isascii() or not all(level.isascii() for level in levels):
        raise Unsupported(
            "XGBoost confuses categories with non-ASCII letters if their order is not that of the "
            f"training data; got {names!r:.120} in column {column.name!r}.",
            "Give the column the categories of the training data, in their order.",
        )
    known = {level.decode(): code for code, level in enumerate(levels)}
    number = np.array([known.get(name, np.nan) for name in names] + [np.nan])
    return np.asarray(number[column.cat.codes.to_numpy()], dtype=np.float64)


WRAPPERS = ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
READER = library_reader("xgboost", WRAPPERS, "_Booster", check_xgboost, read_xgboost)
