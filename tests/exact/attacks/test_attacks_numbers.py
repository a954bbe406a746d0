"""Attacks by numbers and their types: ends of floating-point numbers, and columns of all dtypes.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attacking import Attacks, dense, holds, numbers, reals, refused
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skfairtest.exceptions import EstimatorFailedError

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()
BINS = {"max_iter": 3, "min_samples_leaf": 3, "early_stopping": False}


def tree(depth=6):
    return DecisionTreeRegressor(max_depth=depth, random_state=0)


def along(model, X, y, *near, bounds=None, **params):
    """A real column all along its domain, for a model that is fitted here."""
    bounds = bounds or (X[:, 1].min(), X[:, 1].max())
    holds(
        model.fit(X, y), X, 0, values={1: dense(*bounds, 600, *near)}, bounds={1: bounds}, **params
    )


# Sizes -------------------------------------------------------------------------------------


@attack("targets are of a moderate size")
def targets_at_the_ends_of_numbers():
    X, y = numbers()
    for scale in (1e300, 1e-300):
        for model in (
            RandomForestRegressor(3, max_depth=3, random_state=0),
            Ridge(),
            GradientBoostingRegressor(n_estimators=3),
        ):
            # Squares of what is so small are nothing: trees would find nothing to split by.
            model.fit(X, y)
            scaled(model, scale)
            holds(model, X, exact=False)


def scaled(model, factor):
    """Multiply what a fitted model predicts."""
    if hasattr(model, "coef_"):
        model.coef_, model.intercept_ = model.coef_ * factor, model.intercept_ * factor
        return
    for part in np.ravel(model.estimators_):
        part.tree_.value[:] *= factor
    if hasattr(model, "init_"):
        model.init_.constant_ = model.init_.constant_ * factor


@attack("a difference of numbers is one")
def targets_whose_difference_overflows():
    X, y = numbers()
    model = tree().fit(X, y)
    model.tree_.value[:] = np.sign(model.tree_.value - 0.6) * 1.7e308
    outcome = holds(model, X, exact=False)
    assert outcome.upper == np.inf and not outcome.certified


@attack("twins differ by more than single precision does")
def targets_far_from_zero():
    X, y = numbers()
    model = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    for part in model.estimators_:
        part.tree_.value[:] += 1e13
    outcome = holds(model, X, exact=False)
    assert outcome.upper < 3


@attack("a column is of a moderate size")
def columns_at_the_ends_of_numbers():
    X, y = reals()
    for scale in (1e-30, 1e13):
        along(tree(), X * [1, scale], y)
    for scale in (1e-310, 1e-300):
        along(HistGradientBoostingRegressor(**BINS), X * [1, scale], y)


@attack("a domain is about as wide as the data")
def domains_of_all_numbers():
    X, y = reals()
    largest = float(np.finfo(np.float32).max)
    for model in (tree(), make_pipeline(StandardScaler(), tree())):
        along(model, X, y, 1.0, 1e-300, bounds=(-largest / 4, largest / 4))
    along(HistGradientBoostingRegressor(**BINS), X, y, 1.0, 5e-324, bounds=(-1e308, 7e307))


@attack("numbers fit into single precision")
def domains_beyond_single_precision():
    X, y = reals()
    refused(
        tree().fit(X, y),
        X,
        "too large for dtype",
        0,
        kind=EstimatorFailedError,
        bounds={1: (0.0, 1e39)},
    )


@attack("a domain has finite ends")
def domains_without_ends():
    X, y = reals()
    refused(tree().fit(X, y), X, "finite|infinit", 0, bounds={1: (0.0, np.inf)})
    X[3, 1] = -np.inf
    refused(HistGradientBoostingRegressor(**BINS).fit(X, y), X, "contains infinity", 0)


@attack("zero has one sign")
def zeros_of_both_signs():
    X, y = reals(low=-1.0, high=1.0)
    X[:50, 1], X[50:90, 1] = 0.0, -0.0
    for model in (tree(), HistGradientBoostingRegressor(**BINS), Ridge()):
        along(model, X, y + 3 * (X[:, 1] == 0) * X[:, 0], 0.0, -0.0, 5e-324, -5e-324)


@attack("thresholds are between values")
def thresholds_that_are_values():
    X, y = numbers()
    model = tree().fit(X, y)
    low = (model.tree_.children_left >= 0) & (model.tree_.feature > 0)
    model.tree_.threshold[low] = np.floor(model.tree_.threshold[low])
    holds(model, X)
    model.tree_.threshold[low] = np.nextafter(model.tree_.threshold[low], -np.inf)
    holds(model, X)


@attack("thresholds of double precision are met by numbers of single precision")
def thresholds_that_no_number_of_the_column_meets():
    X, y = reals()
    single = X.astype(np.float32)
    for model in (tree(), HistGradientBoostingRegressor(**BINS)):
        near = [float(v) for v in np.unique(single[:, 1])[::9]]
        along(model, single, y, *near)


@attack("probabilities are far from both ends")
def probabilities_at_both_ends():
    X, y = numbers()
    model = HistGradientBoostingClassifier(learning_rate=1e4, **BINS).fit(X, y > 0.5)
    holds(model, X)
    model = HistGradientBoostingClassifier(learning_rate=1e4, **BINS)
    holds(model.fit(X, np.digitize(y, [0.0, 0.6])), X, exact=False)


# Types -------------------------------------------------------------------------------------


@attack("an array is of double precision and in the order of C")
def arrays_of_all_kinds():
    X, y = numbers()
    whole = X.to_numpy()
    for kind in ("int8", "uint8", "uint64", "float16", "longdouble", "object", ">f4", ">i2"):
        holds(tree().fit(whole, y), whole.astype(kind), 0)
    bools = np.column_stack([whole[:, 0], whole[:, 1] > 1, whole[:, 2] > 2]).astype(bool)
    holds(tree().fit(bools, y), bools, 0)
    holds(tree().fit(whole, y), np.asfortranarray(whole)[::-1], 0)
    frozen = whole.copy()
    frozen.setflags(write=False)
    holds(Ridge().fit(whole, y), frozen, 0)


@attack("types of columns hold what steps make of them")
def short_columns_behind_steps():
    X, y = numbers()
    X = X.assign(a=(X["a"] * 80).astype("uint8"), b=(X["b"] * 60 - 120).astype("int8"))
    wanted = {"a": [0, 80, 160, 240], "b": [-120, -60, 0, 60, 120]}
    for step in (
        StandardScaler(),
        FunctionTransformer(np.square),
        FunctionTransformer(np.negative),
        FunctionTransformer(np.sqrt),
        FunctionTransformer(np.invert),
    ):
        columns = make_column_transformer((step, ["b"]), ("passthrough", ["a", "s"]))
        holds(make_pipeline(columns, tree()).fit(X, y), X, values=wanted, categories=wanted)


@attack("a frame's columns are of one type")
def frames_of_all_types():
    X, y = numbers()
    X = X.assign(s=X["s"].astype(bool), a=X["a"].astype("float32"), b=X["b"].astype("UInt8"))
    X["c"] = pd.array(np.where(X["a"] > 1, 2.5, 0.5), dtype="Float32")
    wanted = {"a": [0.0, 1.0, 2.0, 3.0], "c": [0.5, 2.5]}
    for model in (tree(), HistGradientBoostingRegressor(**BINS), Ridge()):
        holds(model.fit(X, y), X, values=wanted, exact=False)


@attack("what is missing is NaN")
def missing_values_of_nullable_types():
    X, y = numbers()
    X = X.astype({"b": "Int64", "a": "Int8"})
    X.loc[::9, "b"] = pd.NA
    for model in (
        tree(),
        HistGradientBoostingRegressor(**BINS),
        BaggingRegressor(tree(), 3),
        make_pipeline(SimpleImputer(add_indicator=True), Ridge()),
    ):
        holds(model.fit(X, y), X)


@attack("a truth value is true or false")
def truth_values_that_are_missing():
    X, y = numbers()
    for name in ("s", "b"):
        some = X.assign(**{name: (X[name] > 0).astype("boolean")})
        some.loc[::9, name] = pd.NA
        for model in (tree(), HistGradientBoostingRegressor(**BINS)):
            holds(model.fit(some, y), some, zero=True)


@attack("twins have a sensitive value")
def sensitive_values_that_are_missing():
    X, y = numbers()
    some = X.astype(float)
    some.loc[::7, "s"] = np.nan
    wanted = {"s": [0.0, 1.0, np.nan], "a": [0.0, 1.0, 2.0, 3.0], "b": [*map(float, range(5))]}
    holds(tree().fit(some, y), some, values=wanted)
    holds(HistGradientBoostingRegressor(**BINS).fit(some, y), some, values=wanted)
    text = X.assign(s=X["s"].map({0: "f", 1: "m"}).astype(object))
    text.loc[::7, "s"] = None
    steps = make_column_transformer((OneHotEncoder(), ["s"]), remainder="passthrough")
    holds(make_pipeline(steps, tree()).fit(text, y), text)


@attack("categories are codes")
def categories_of_numbers_and_truth_values():
    X, y = numbers()
    for categories in ([4, 2, 0, 1, 3], [0.5, -1.5, 7.0, 2.0, 1e9]):
        some = X.assign(b=pd.Categorical.from_codes(X["b"], categories, ordered=True))
        model = HistGradientBoostingRegressor(categorical_features="from_dtype", **BINS)
        holds(model.fit(some, y), some)
        holds(tree().fit(some, y), some)


@attack("categories of the domain are those of training")
def categories_that_are_new_and_missing():
    X, y = numbers()
    X["b"] = pd.Categorical(X["b"].map("c{}".format))
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", **BINS)
    known = (X["b"] != "c4").to_numpy()
    model.fit(X[known].assign(b=X["b"][known].cat.remove_unused_categories()), y[known])
    shown = X.assign(b=X["b"].cat.reorder_categories(["c3", "c4", "c0", "c2", "c1"]))
    shown.loc[::8, "b"] = np.nan
    holds(model, shown, values={"b": [*(f"c{k}" for k in range(5)), np.nan]})


@attack("whole numbers are told apart")
def whole_numbers_beyond_single_precision():
    X, y = numbers()
    X = X.assign(b=X["b"] * 3 + 2**25 - 1, a=X["a"] + 2**40)
    wanted = {"b": sorted(set(X["b"])), "a": sorted(set(X["a"]))}
    for model in (tree(), HistGradientBoostingRegressor(**BINS)):
        holds(model.fit(X, y), X, values=wanted, categories=wanted, zero=True)


@attack("whole numbers are told apart by floats")
def whole_numbers_beyond_double_precision():
    X, y = numbers()
    X["b"] = X["b"].astype("uint64") + np.uint64(2**63)
    refused(tree().fit(X, y), X, "beyond 2..53")


@attack("a table is dense")
def sparse_tables():
    X, y = numbers()
    table = sparse.csr_matrix(X.to_numpy())
    refused(tree().fit(table, y), table, "sparse", 0, kind=TypeError)


@attack("numbers are real")
def complex_numbers():
    X, y = numbers()
    refused(tree().fit(X, y), X.to_numpy().astype(complex), "Complex data not supported", 0)


@attack("tables are of numpy or pandas")
def tables_of_polars():
    polars = pytest.importorskip("polars")
    X, y = numbers()
    table = polars.DataFrame({name: X[name].to_numpy() for name in X})
    holds(tree().fit(table, y), table)
    gone = polars.when(polars.col("a") == 2).then(None).otherwise(polars.col("b")).alias("b")
    table = table.with_columns(gone)
    holds(HistGradientBoostingRegressor(**BINS).fit(table, y), table)
    named = polars.col("s").cast(polars.String).cast(polars.Enum(["1", "0"]))
    table = table.drop("b").with_columns(named)
    steps = make_column_transformer((OneHotEncoder(), ["s"]), remainder="passthrough")
    holds(make_pipeline(steps, tree()).fit(table, y), table)


@attack.each()
def test_what_is_taken_for_granted_of_numbers(attack):
    attack()
