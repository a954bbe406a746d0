"""Attacks on steps before a model: what each is taken to do to a column.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from attacking import Attacks, dense, holds, numbers, reals, refused
from scipy import special
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest.exceptions import EstimatorFailedError

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()


def tree(depth=6):
    return DecisionTreeRegressor(max_depth=depth, random_state=0)


def behind(step, X, y, last=None):
    """A model that sees a real column through a step, and the sensitive one as it is."""
    columns = ColumnTransformer([("v", step, [1])], remainder="passthrough")
    return make_pipeline(columns, tree() if last is None else last).fit(X, y)


def real(step, *near, bounds=None, low=0.0, high=4.0, last=None, **params):
    """A real column behind a step, all along its domain."""
    X, y = reals(low=low, high=high)
    bounds = bounds or (X[:, 1].min(), X[:, 1].max())
    space = {"bounds": {1: bounds}} if bounds else {}
    values = {1: dense(*bounds, 700, *near)}
    return holds(behind(step, X, y, last), X, 0, values=values, **space, **params)


def refused_real(step, words, *, low=0.0, high=4.0, bounds=None, **params):
    X, y = reals(low=low, high=high)
    space = {"bounds": {1: bounds}} if bounds else {}
    refused(behind(step, X, y), X, words, 0, **space, **params)


def text(seed=0):
    """Text instead of numbers in one column."""
    X, y = numbers(seed)
    X["b"] = X["b"].map("c{}".format)
    return X, y


def encoded(encoder, X, y, last=None, column="b"):
    steps = make_column_transformer((encoder, [column]), remainder="passthrough")
    return make_pipeline(steps, tree() if last is None else last).fit(X, y)


# Scalers -----------------------------------------------------------------------------------


@attack("a scale is positive")
def scales_that_are_turned_round():
    X, y = reals()
    values = {1: dense(X[:, 1].min(), X[:, 1].max(), 1500)}
    for scaler in (StandardScaler(), MinMaxScaler(), RobustScaler()):
        model = make_pipeline(scaler, tree()).fit(X, y)
        model[0].scale_[1] *= -2.0
        holds(model, X, 0, values=values)


@attack("a scale is not zero")
def columns_without_spread():
    X, y = numbers()
    X["k"] = 7
    wanted = {"k": [7]}
    for scaler in (
        StandardScaler(),
        RobustScaler(quantile_range=(49, 51)),
        MinMaxScaler(),
        MaxAbsScaler(),
        PowerTransformer(),
    ):
        holds(make_pipeline(scaler, tree()).fit(X, y), X, values=wanted)


@attack("what a scaler gives goes on beyond its data")
def scalers_that_clip():
    for scaler in (MinMaxScaler(clip=True), MaxAbsScaler(clip=True)):
        real(scaler, 0.0, bounds=(-3.0, 9.0))


@attack("a scaler rises by more than rounding")
def columns_that_a_scaler_makes_constant():
    X, y = reals()
    X[:, 1] = 1e9 + np.round(X[:, 1] * 8) * 2.0**-22  # as narrow as numbers are there
    model = make_pipeline(StandardScaler(with_std=False), MaxAbsScaler(), tree()).fit(X, y)
    values = {1: dense(X[:, 1].min(), X[:, 1].max(), 300)}
    holds(model, X, 0, values=values)
    model[0].mean_[1] = -1e9  # now two of three become one
    holds(model, X, 0, values=values, zero=True)


@attack("settings of a scaler are those of training")
def scalers_that_are_changed_afterwards():
    X, y = numbers()
    model = make_pipeline(StandardScaler(), MinMaxScaler(), Ridge()).fit(X, y)
    model[0].set_params(with_mean=False)
    model[1].set_params(clip=True)
    model[1].min_ = model[1].min_ - 0.4
    holds(model, X)


# Functions ---------------------------------------------------------------------------------


@attack("a function has two branches at most")
def functions_after_each_other():
    real(make_pipeline(FunctionTransformer(np.sin), FunctionTransformer(np.square)), np.pi / 2)
    real(make_pipeline(FunctionTransformer(np.square), FunctionTransformer(np.cos)), 1.7, low=-2.0)
    real(FunctionTransformer(np.floor), 1.0, 2.0)
    real(FunctionTransformer(special.erfc), low=-2.0)


@attack("a function of a scaled column turns where the column does")
def functions_that_turn_behind_a_scaler():
    X, _ = reals()
    at = float(X[:, 1].mean())
    real(
        make_pipeline(
            FunctionTransformer(np.negative), MinMaxScaler((-1, 2)), FunctionTransformer(np.square)
        ),
        at,
    )


@attack("a function gives numbers")
def functions_without_a_number():
    refused_real(
        make_pipeline(MinMaxScaler((-1, 1)), FunctionTransformer(np.reciprocal)), "not known to"
    )
    refused_real(FunctionTransformer(np.log1p), "no number|infinity", bounds=(-1.0, 3.0))
    refused_real(FunctionTransformer(np.exp), "no number|too large", bounds=(0.0, 800.0))
    refused_real(
        FunctionTransformer(np.arccosh), "no number|NaN", low=1.0, high=2.0, bounds=(0.5, 2.0)
    )


@attack("a ufunc of one number has a direction")
def functions_without_a_direction():
    for function in (np.spacing, np.signbit, np.isnan, np.conjugate):
        refused_real(FunctionTransformer(function), "not known to rise or fall")


@attack("a function of few values is what it is called")
def functions_of_few_values():
    X, y = numbers()
    X = (X - 2.0) * [1, 0.5, 1]
    wanted = {name: sorted(set(X[name])) for name in X}
    for function in (np.spacing, np.signbit, np.tan, np.isnan):
        steps = make_column_transformer(
            (FunctionTransformer(function), ["a", "b"]), remainder="passthrough"
        )
        holds(make_pipeline(steps, tree()).fit(X, y), X, values=wanted)


@attack("what looks like a cast is one")
def functions_written_like_a_cast():
    X, y = numbers()

    def twice(T):
        return np.float32(T) * 2

    scale = 3.0
    for function in (
        twice,
        lambda T: np.float32(T) + scale,
        functools.partial(np.asarray, dtype=int),
        lambda T, scale=2: T.astype(np.float32),
        lambda *T: np.float32(T[0]),
    ):
        refused(make_pipeline(FunctionTransformer(function), tree()).fit(X, y), X, "not understood")
    pretending = {"np": type("np", (), {"float32": staticmethod(lambda T: T * T)})}
    model = make_pipeline(FunctionTransformer(eval("lambda X: np.float32(X)", pretending)), tree())
    refused(model.fit(X, y), X, "not understood")


@attack("arguments of a function change nothing")
def functions_with_arguments():
    X, y = reals()
    for function, arguments in (
        (np.asarray, {"dtype": np.float64}),
        (np.exp, {"where": True}),
        (np.array, {"dtype": "f4", "ndmin": 2}),
    ):
        step = FunctionTransformer(function, kw_args=arguments)
        refused(behind(step, X, y), X, "not understood", 0)


@attack("a function is the one that was fitted")
def functions_that_are_changed_afterwards():
    X, y = reals()
    model = behind(FunctionTransformer(np.exp), X, y)
    model[0].named_transformers_["v"].set_params(func=np.cos, inverse_func=np.log, validate=True)
    holds(model, X, 0, values={1: dense(X[:, 1].min(), X[:, 1].max(), 1500, np.pi)})


# Bins, splines, quantiles ------------------------------------------------------------------


@attack("edges of bins are of the column's precision")
def bins_of_single_precision():
    X, y = reals()
    step = KBinsDiscretizer(4, encode="onehot-dense", dtype=np.float32, strategy="kmeans")
    model = behind(step, X, y)
    edges = model[0].named_transformers_["v"].bin_edges_[0]
    values = {
        1: dense(X[:, 1].min(), X[:, 1].max(), 1000, *edges, *np.float32(edges).astype(float))
    }
    holds(model, X, 0, values=values)


@attack("edges of bins rise, and are those of training")
def bins_that_are_changed_afterwards():
    X, y = reals()
    for encode in ("ordinal", "onehot-dense"):
        model = behind(KBinsDiscretizer(4, encode=encode, strategy="uniform"), X, y)
        model[0].named_transformers_["v"].bin_edges_[0][2] = 0.7
        holds(model, X, 0, values={1: dense(X[:, 1].min(), X[:, 1].max(), 1000, 0.7)})


@attack("splines are of degree three and end where the data do")
def splines_of_all_kinds():
    for step in (
        SplineTransformer(n_knots=4, degree=5),
        SplineTransformer(n_knots=3, degree=1),
        SplineTransformer(n_knots=4, degree=4),
        SplineTransformer(n_knots=4, degree=2, extrapolation="linear", order="F"),
    ):
        real(step, bounds=(-1.0, 5.0))
    for way in ("continue", "periodic"):
        refused_real(SplineTransformer(n_knots=4, extrapolation=way), "is not understood")
    refused_real(
        SplineTransformer(n_knots=4, extrapolation="error"),
        "beyond the limits",
        bounds=(-1.0, 5.0),
        kind=EstimatorFailedError,
    )


@attack("splines of what is missing are missing")
def splines_of_missing_values():
    X, y = reals()
    X[::5, 1] = np.nan
    step = SplineTransformer(n_knots=4, handle_missing="zeros")
    values = {1: [*dense(np.nanmin(X[:, 1]), np.nanmax(X[:, 1]), 1000), np.nan]}
    holds(behind(step, X, y), X, 0, values=values)


@attack("quantiles are told apart")
def quantiles_that_repeat():
    X, y = reals()
    X[:120, 1] = X[0, 1]
    at = float(X[0, 1])
    near = [at - 2e-7, at - 1e-7, at + 1e-7, at + 2e-7]
    for output in ("uniform", "normal"):
        step = QuantileTransformer(n_quantiles=9, output_distribution=output)
        values = {1: dense(-1.0, 5.0, 1000, at, *near)}
        holds(behind(step, X, y), X, 0, values=values, bounds={1: (-1.0, 5.0)})


@attack("powers are those of the data")
def powers_beyond_the_data():
    real(PowerTransformer(standardize=False), bounds=(-50.0, 60.0))
    refused_real(
        PowerTransformer("box-cox"),
        "strictly positive",
        low=1.0,
        bounds=(-1.0, 4.0),
        kind=EstimatorFailedError,
    )


@attack("powers are moderate")
def powers_that_are_changed_afterwards():
    X, y = reals(low=-2.0)
    for power in (-7.0, 2.0, 9.0):
        model = behind(PowerTransformer(standardize=False), X, y)
        model[0].named_transformers_["v"].lambdas_[:] = power
        holds(model, X, 0, values={1: dense(X[:, 1].min(), X[:, 1].max(), 1000, 0.0)}, zero=True)


@attack("a threshold is inside of the column")
def thresholds_at_the_ends():
    X, _ = reals()
    for at in (float(X[:, 1].max()), float(X[:, 1].min()), 1.0, -9.0):
        real(Binarizer(threshold=at), at, zero=True)


# Missing values ----------------------------------------------------------------------------


@attack("what marks a missing value is no number of the column")
def marks_inside_of_a_real_column():
    X, _ = reals()
    at = float(X[7, 1])
    refused_real(SimpleImputer(missing_values=at), "is not understood")
    refused_real(MissingIndicator(missing_values=at, features="all"), "is not understood")


@attack("columns of missing values alone are left out")
def columns_that_are_all_missing():
    X, y = numbers()
    X = X.astype(float)
    X["e"] = np.nan
    for keep in (True, False):
        imputer = SimpleImputer(keep_empty_features=keep, add_indicator=True)
        model = make_pipeline(imputer, tree()).fit(X, y)
        shown = X.assign(e=np.where(X["a"] > 1, 3.0, 4.0))
        wanted = {"s": [0.0, 1.0], "a": [0.0, 1.0, 2.0, 3.0], "b": [*map(float, range(5))]}
        holds(model, shown, values=wanted | {"e": [3.0, 4.0]})


@attack("an imputed value is one of the data")
def imputed_values_that_are_changed_afterwards():
    X, y = numbers()
    X = X.astype(float)
    X.loc[::5, "b"] = np.nan
    model = make_pipeline(SimpleImputer(), tree()).fit(X, y)
    model[0].statistics_[2] = -40.0
    holds(
        model,
        X,
        values={"s": [0.0, 1.0], "a": [0.0, 1.0, 2.0, 3.0], "b": [*map(float, range(5)), np.nan]},
    )


# Encoders ----------------------------------------------------------------------------------


@attack("an encoder knows all categories")
def categories_that_encoders_do_not_know():
    X, y = text()
    few = ["c0", "zz", "c3"]
    for encoder in (
        OneHotEncoder(handle_unknown="ignore", drop="first"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3),
        OneHotEncoder(handle_unknown="warn", min_frequency=0.3),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-7),
        TargetEncoder(cv=2),
    ):
        holds(encoded(encoder, X, y), X, values={"b": few}, categories={"b": few})
    refused(
        encoded(OneHotEncoder(), X, y),
        X,
        "unknown categories",
        kind=EstimatorFailedError,
        categories={"b": few},
    )


@attack("codes are in the order of categories")
def categories_in_an_order_of_their_own():
    X, y = text()
    order = ["c3", "c0", "c4", "c1", "c2"]
    holds(encoded(OrdinalEncoder(categories=[order], dtype=np.int8), X, y), X)
    model = encoded(OrdinalEncoder(), X, y)
    model[0].named_transformers_["ordinalencoder"].categories_[0][:] = sorted(order)[::-1]
    holds(model, X, zero=True)


@attack("a column of codes is one column")
def encoders_of_several_classes():
    X, y = text()
    model = encoded(
        TargetEncoder(cv=2, smooth=0.0),
        X,
        np.digitize(y, [0.0, 0.6]),
        DecisionTreeClassifier(max_depth=4),
    )
    holds(model, X)


@attack("missing text is a category")
def missing_text():
    X, y = text()
    X["b"] = X["b"].astype(object)
    X.loc[::7, "b"] = None
    X.loc[3::7, "b"] = np.nan
    for encoder in (OneHotEncoder(), OneHotEncoder(min_frequency=0.2, sparse_output=False)):
        holds(encoded(encoder, X, y), X, values={"b": [f"c{k}" for k in range(5)] + [None]})


@attack("an encoded column has few values")
def encoders_of_real_columns():
    rounded = make_pipeline(FunctionTransformer(np.rint), OneHotEncoder(handle_unknown="ignore"))
    refused_real(rounded, "too many values to be listed")
    refused_real(make_pipeline(FunctionTransformer(np.rint), OrdinalEncoder()), "too many values")


# Containers of steps -----------------------------------------------------------------------


@attack("a step's columns are named by their names")
def columns_named_in_other_ways():
    X, y = numbers()
    for named in (
        [-2, -1],
        slice("a", "b"),
        slice(1, None),
        [False, True, True],
        make_column_selector("[ab]"),
        pd.Index(["a", "b"]),
    ):
        steps = ColumnTransformer([("n", StandardScaler(), named)], remainder=MinMaxScaler())
        holds(make_pipeline(steps, tree(4)).fit(X, y), X)


@attack("each column goes through one branch, in order")
def columns_that_are_left_out_doubled_and_turned():
    X, y = numbers()
    branches = [
        ("z", "passthrough", ["b"]),
        ("d", "drop", ["a"]),
        ("again", StandardScaler(), ["b", "s"]),
        ("none", StandardScaler(), []),
        ("s", FunctionTransformer(), ["s"]),
    ]
    steps = ColumnTransformer(branches, transformer_weights={"z": -2.0, "s": 0.5}, remainder="drop")
    for last in (tree(), LinearRegression()):
        holds(make_pipeline(steps, last).fit(X, y), X)


@attack("a pipeline is flat")
def pipelines_in_pipelines_that_pass_on():
    X, y = text()
    inner = Pipeline(
        [
            ("p", "passthrough"),
            ("e", OneHotEncoder(drop="if_binary")),
            ("n", None),
            ("v", VarianceThreshold(0.01)),
        ]
    )
    union = FeatureUnion(
        [("e", inner), ("d", "drop"), ("o", OrdinalEncoder())], transformer_weights={"o": 0.25}
    )
    steps = make_column_transformer((union, ["b"]), ("passthrough", ["s", "a"]))
    model = Pipeline([("0", "passthrough"), ("1", Pipeline([("c", steps)])), ("2", tree())])
    holds(model.fit(X, y), X)


@attack("columns that were chosen stay chosen")
def choices_that_are_changed_afterwards():
    X, y = numbers()
    model = make_pipeline(SelectKBest(f_regression, k=2), StandardScaler(), Ridge()).fit(X, y)
    model[0].scores_ = model[0].scores_[::-1].copy()
    holds(model, X, zero=True)


@attack("columns of a frame come in the order of training")
def frames_in_another_order():
    X, y = numbers()
    steps = make_column_transformer((StandardScaler(), ["a", "s"]), ("passthrough", ["b"]))
    model = make_pipeline(steps, tree()).fit(X[["b", "s", "a"]], y)
    holds(model, X)
    X["w"] = X["b"] % 2
    holds(model, X)


@attack("two features of a column rise together, to the last bit")
def features_that_rise_up_to_rounding():
    """A leaf that only a number has at which the cubic root falls where its column rises."""
    low = np.float64(1.3).view(np.int64)
    x = (low + np.arange(20_000)).view(np.float64)
    roots = np.cbrt(x)
    falls = np.flatnonzero(np.diff(roots) < 0)
    if not len(falls):
        pytest.skip("here cubic roots never fall")
    X, y = reals(low=1.0, high=2.0)
    last = HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=1, early_stopping=False)
    for first, sign in ((FunctionTransformer(np.negative), -1), (FunctionTransformer(), 1)):
        union = FeatureUnion([("v", first), ("c", FunctionTransformer(np.cbrt))])
        model = behind(union, X, y, last)
        for j in falls[100:500:100]:
            before, after = float(x[j]), float(x[j + 1])
            # At the first of the two a root above that of the second, or the other way round.
            second = float(np.nextafter(-after, -9)) if sign < 0 else before
            grow(model[-1], second, float(roots[j + 1]), right=sign < 0)
            holds(model, X, 0, values={1: [1.0, before, after, 2.0]}, exact=False)


def grow(model, second, third, *, right):
    """One tree: s > 0.5, then v > second, then 1000 where cbrt(v) > third, or where it is not."""
    predictor = model._predictors[0][0]
    nodes = predictor.nodes[:7].copy()
    for k, (feature, threshold) in enumerate([(2, 0.5), (0, second), (1, third)]):
        inner, leaf = nodes[2 * k : 2 * k + 1], nodes[2 * k + 1 : 2 * k + 2]
        inner["is_leaf"], inner["is_categorical"], inner["feature_idx"] = 0, 0, feature
        inner["num_threshold"], inner["left"], inner["right"] = threshold, 2 * k + 1, 2 * k + 2
        leaf["is_leaf"], leaf["value"] = 1, 0.0
    nodes[6:7]["is_leaf"], nodes[6:7]["value"] = 1, 0.0
    nodes[6 if right else 5 :][:1]["value"] = 1000.0
    predictor.nodes = nodes


@attack.each()
def test_what_is_taken_for_granted_of_steps(attack):
    attack()
