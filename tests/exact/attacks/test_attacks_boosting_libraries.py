"""Attacks on the readers of XGBoost, LightGBM and CatBoost.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from attacking import Attacks, dense, holds, numbers, reals, refused
from scipy.special import expit
from sklearn.ensemble import BaggingRegressor, VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import CertifiedAuditor
from skfairtest.exact._trees.verifier import TreeVerifier
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox.graph import LOGISTIC, LinkedSum, Part, link_rounding, sum_rounding

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()


def xgboost(kind="Regressor", **settings):
    import xgboost as library

    small = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "learning_rate": 0.5}
    return getattr(library, f"XGB{kind}")(**small | settings)


def lightgbm(kind="Regressor", **settings):
    import lightgbm as library

    small = {
        "n_estimators": 4,
        "num_leaves": 8,
        "min_child_samples": 5,
        "verbose": -1,
        "n_jobs": 1,
        "learning_rate": 0.5,
        "cat_smooth": 1,
        "cat_l2": 0,
        "min_data_per_group": 2,
        "max_cat_to_onehot": 1,
    }
    return getattr(library, f"LGBM{kind}")(**small | settings)


def catboost(kind="Regressor", **settings):
    import catboost as library

    small = {
        "iterations": 5,
        "depth": 3,
        "verbose": 0,
        "thread_count": 1,
        "learning_rate": 0.5,
        "allow_writing_files": False,
    }
    return getattr(library, f"CatBoost{kind}")(**small | settings)


def three():
    X, y = numbers()
    return X, np.digitize(y, [0.0, 0.6])


# XGBoost -----------------------------------------------------------------------------------


@attack("the base score is that of training", "xgboost")
def base_scores_far_from_the_target():
    X, y = numbers()
    holds(xgboost(base_score=7.5).fit(X, y), X)
    holds(xgboost("Classifier", base_score=0.9).fit(X, y > 0.5), X)
    # A margin of training is no part of the model.
    holds(xgboost().fit(X, y, base_margin=np.linspace(0, 3, len(X))), X)


@attack("a model predicts with all of its trees", "xgboost")
def best_iterations_that_are_set_afterwards():
    X, y = numbers()
    for settings in ({}, {"num_parallel_tree": 3}, {"booster": "dart", "rate_drop": 0.5}):
        model = xgboost(n_estimators=6, **settings).fit(X, y)
        model.get_booster().set_attr(best_iteration="2")
        holds(model, X)
    X, y = three()
    model = xgboost("Classifier", n_estimators=5, max_depth=2).fit(X, y)
    model.get_booster().set_attr(best_iteration="0")
    holds(model, X)


@attack("trees are in the order in which they were fitted, with their weights", "xgboost")
def slices_of_a_model():
    X, y = numbers()
    for settings in ({}, {"booster": "dart", "rate_drop": 0.7}):
        model = xgboost(n_estimators=8, **settings).fit(X, y)
        model._Booster = model.get_booster()[2:6:2]
        holds(model, X)


@attack("trees fitted later were fitted alike", "xgboost")
def boosting_that_goes_on_with_other_settings():
    X, y = numbers()
    before = xgboost(base_score=1.0, n_estimators=2).fit(X, np.exp(y))
    dart = xgboost(booster="dart", rate_drop=0.5, base_score=5.0, n_estimators=6)
    holds(dart.fit(X, 9 * y, xgb_model=before.get_booster()), X)
    counts = xgboost(objective="count:poisson", n_estimators=6)
    holds(counts.fit(X, np.exp(y), xgb_model=before.get_booster()), X)


@attack("the sums of trees before a logistic link are as good as exact", "xgboost")
def leaves_that_cancel_each_other_out():
    X, y = numbers()
    model = xgboost("Classifier", n_estimators=40).fit(X, y > 0.5)
    saved = json.loads(bytes(model.get_booster().save_raw("json")))
    for k, tree in enumerate(saved["learner"]["gradient_booster"]["model"]["trees"]):
        leaves = np.array(tree["left_children"]) < 0
        moved = np.float32(tree["split_conditions"]) + (100 if k < 20 else -100)
        tree["split_conditions"] = np.where(leaves, moved, tree["split_conditions"]).tolist()
    model.load_model(bytearray(json.dumps(saved).encode()))
    holds(model, X, exact=False)


@attack("what marks a missing value is what it was at training", "xgboost")
def marks_that_are_changed_afterwards():
    X, y = numbers()
    holds(xgboost().fit(X, y).set_params(missing=2), X)
    holds(xgboost(missing=2).fit(X, y).set_params(missing=np.nan), X)
    holds(xgboost(missing=np.inf).fit(X, y), X)


@attack("the mark of missing values is a number of double precision", "xgboost")
def marks_that_are_rounded():
    X, y = numbers()
    X["b"] = X["b"] * 0.1
    values = {"b": [0.0, 0.1, 0.2, 0.1 + 0.2, 0.3, 0.4]}
    holds(xgboost(missing=0.1).fit(X, y), X, values=values, categories=values)


@attack("settings are those of training", "xgboost")
def settings_that_are_changed_afterwards():
    X, y = numbers()
    model = xgboost().fit(X, y)
    model.set_params(n_estimators=1, learning_rate=9.0, base_score=3.0, objective="count:poisson")
    refused_or_held(model, X)
    model = xgboost("Classifier").fit(X, y > 0.5).set_params(objective="multi:softprob")
    refused(model, X, "does not take.*num_class", kind=Unsupported)


def refused_or_held(model, X):
    """What the library does with new settings differs between releases; no bound may be wrong."""
    try:
        holds(model, X)
    except ValueError as error:
        assert "gives other outputs" in str(error)


@attack("an objective has a link that is known", "xgboost")
def objectives_without_a_link():
    X, y = numbers()
    model = xgboost("Classifier", objective="binary:hinge").fit(X, y > 0.5)
    refused(model, X, "'binary:hinge' cannot be certified")


@attack("an output is one margin", "xgboost")
def several_quantiles():
    X, y = numbers()
    model = xgboost(objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9])
    holds(model.fit(X, y), X)


@attack("all nodes of a tree are reached", "xgboost")
def nodes_that_were_pruned():
    X, y = numbers()
    holds(xgboost(tree_method="exact", gamma=2.0, max_depth=6).fit(X, y), X)
    model = xgboost(
        grow_policy="lossguide",
        max_leaves=5,
        max_depth=0,
        monotone_constraints=(1, -1, 0),
        tree_method="approx",
    )
    holds(model.fit(X, y), X)


@attack("thresholds lie between numbers of double precision", "xgboost")
def numbers_that_are_rounded_to_thresholds():
    rng = np.random.default_rng(0)
    v = 1 + rng.integers(0, 60, 300) * 2.0**-25
    X = np.column_stack([rng.integers(0, 2, 300), v])
    y = X[:, 0] * np.sin((v - 1) * 2.0**22) + 0.1 * rng.normal(size=300)
    near = np.unique(np.float32(v)).astype(float)
    middles = (near[1:] + near[:-1]) / 2
    values = {1: dense(v.min(), v.max(), 500, *near, *middles)}
    holds(xgboost(max_depth=6, tree_method="exact").fit(X, y), X, 0, values=values)


@attack("probabilities are far from one", "xgboost")
def probabilities_that_are_one():
    X, y = numbers()
    model = xgboost("Classifier", learning_rate=50.0, reg_lambda=0, min_child_weight=0)
    outcome = holds(model.fit(X, y > 0.5), X, exact=False)
    assert outcome.upper <= 1 + 2 * outcome.verifier.rounding <= 3


@attack("there are trees", "xgboost")
def models_of_no_trees():
    X, y = numbers()
    assert holds(xgboost(n_estimators=0).fit(X, y), X, zero=True).upper == 0


@attack("columns have the type of training", "xgboost")
def tables_of_other_types():
    X, y = numbers()
    typed = X.assign(s=X.s.astype(bool), a=X.a.astype("int8"), b=X.b.astype("uint8"))
    holds(xgboost().fit(typed, y), typed)
    arrays = X.to_numpy()
    for dtype in (np.float16, np.uint8, np.int64):
        holds(xgboost().fit(arrays, y), arrays.astype(dtype), 0)
    bools = np.column_stack([X["s"], X["a"] > 1, X["b"] > 2]).astype(bool)
    holds(xgboost().fit(bools, y), bools, 0)


@attack("whole numbers are told apart", "xgboost")
def whole_numbers_beyond_single_precision():
    X, y = numbers()
    arrays = X.to_numpy() * [1, 3, 3] + [0, 2**25 - 1, 2**25 - 1]
    values = {k: [int(v) for v in np.unique(arrays[:, k])] for k in range(3)}
    holds(xgboost().fit(arrays, y), arrays, 0, values=values, categories=values)


@attack("columns stand as they did at training", "xgboost")
def columns_in_another_order():
    X, y = numbers()
    model = xgboost().fit(X[["b", "s", "a"]], y)
    refused(model, X, "feature_names mismatch", kind=EstimatorFailedError)


# LightGBM ----------------------------------------------------------------------------------


@attack("a model predicts with all of its trees", "lightgbm")
def iterations_that_are_set_or_taken_back():
    X, y = numbers()
    for settings in ({}, {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}):
        model = lightgbm(n_estimators=9, **settings).fit(X, y)
        model.booster_.best_iteration = 2
        holds(model, X)
        model.booster_.best_iteration = -1
        model.booster_.rollback_one_iter()
        holds(model, X)


@attack("predictions begin with the first tree", "lightgbm")
def predictions_of_some_trees():
    X, y = numbers()
    for settings in (
        {"start_iteration_predict": 2},
        {"num_iteration_predict": 2},
        {"predict_raw_score": True},
    ):
        holds(lightgbm("Classifier", **settings).fit(X, y > 0.5), X)


@attack("all trees add to a sum", "lightgbm")
def predictions_that_stop_early():
    X, y = numbers()
    model = lightgbm("Classifier", n_estimators=20).fit(X, y > 0.5)
    model.set_params(pred_early_stop=True, pred_early_stop_freq=1, pred_early_stop_margin=0.1)
    refused(model, X, "pred_early_stop, which skips trees")


@attack("leaves are those of training", "lightgbm")
def leaves_that_are_set_afterwards():
    X, y = numbers()
    model = lightgbm().fit(X, y)
    model.booster_.set_leaf_output(1, 0, 55.0)
    model.booster_.set_leaf_output(2, 1, -1e-300)
    holds(model, X)


@attack("a leaf is a number", "lightgbm")
def leaves_with_lines():
    X, y = numbers()
    refused(lightgbm(linear_tree=True).fit(X.astype(float), y), X, "linear_tree")
    model = lightgbm(linear_tree=True).fit(X.astype(float), y).set_params(linear_tree=False)
    refused(model, X, "linear models in its leaves")


@attack("weights of classes are no part of a model", "lightgbm")
def classes_of_uneven_weights():
    X, y = numbers()
    holds(lightgbm("Classifier", is_unbalance=True).fit(X, np.where(y > 0.5, "no", "yes")), X)
    model = lightgbm("Classifier", class_weight={0: 9, 1: 1, 2: 0.1}, n_estimators=2)
    holds(model.fit(*three()), X)


@attack("classes share one softmax", "lightgbm")
def one_model_a_class():
    X, y = three()
    model = lightgbm("Classifier", objective="multiclassova", sigmoid=2.0).fit(X, y)
    # Its probabilities are no distribution, which every tester refuses, so that none is read.
    refused(model, X, "add up to 1 in each row", kind=EstimatorFailedError)
    holds(model.set_params(sigmoid=9.0), X, response_method="decision_function")


@attack("trees are grown in one way", "lightgbm")
def trees_of_other_growth():
    X, y = numbers()
    settings = {"extra_trees": True, "path_smooth": 2.0, "monotone_constraints": [1, 0, -1]}
    holds(lightgbm(**settings).fit(X, y), X)
    holds(lightgbm(boosting_type="dart", drop_rate=0.9, xgboost_dart_mode=True).fit(X, y), X)


@attack("codes of categories are whole numbers that training saw", "lightgbm")
def codes_that_are_no_codes():
    X, y = numbers()
    arrays = X.to_numpy(dtype=float)
    codes = [-1.0, -0.5, 0.0, 0.7, 1.0, 2.3, 4.0, 9.0, 3e9]
    model = lightgbm(categorical_feature=[2]).fit(arrays, y)
    holds(model, arrays, 0, values={2: codes}, categories={2: codes})


@attack("categories are those of training, in their order", "lightgbm")
def categories_that_are_new_and_in_another_order():
    X, y = numbers()
    X["b"] = pd.Categorical(X["b"].map("c{}".format))
    seen = (X["b"] != "c3").to_numpy()
    known = X[seen].assign(b=X["b"][seen].cat.remove_unused_categories())
    model = lightgbm().fit(known, y[seen])
    holds(model, X.assign(b=X["b"].cat.reorder_categories(["c4", "c0", "c3", "c2", "c1"])))


@attack("a frame of numbers is one of double precision", "lightgbm")
def tables_of_short_types():
    X, y = numbers()
    typed = X.assign(s=X.s.astype(bool), b=X.b.astype("int8"), a=X.a.astype("float32"))
    holds(lightgbm().fit(typed, y), typed)
    arrays = X.to_numpy()
    for dtype in (np.float16, np.uint8, np.int64):
        holds(lightgbm().fit(arrays, y), arrays.astype(dtype), 0)


@attack("whole numbers of an array are told apart", "lightgbm")
def whole_numbers_that_are_rounded():
    X, y = numbers()
    arrays = X.to_numpy() * [1, 3, 3] + [0, 2**25 - 1, 2**25 - 1]
    values = {k: [int(v) for v in np.unique(arrays[:, k])] for k in range(3)}
    for table in (arrays, pd.DataFrame(arrays)):
        holds(lightgbm().fit(table, y), table, 0, values=values, categories=values)


@attack("columns stand as they did at training", "lightgbm")
def columns_by_position():
    X, y = numbers()
    holds(lightgbm().fit(X[["b", "s", "a"]], y), X)


@attack("numbers next to zero are numbers", "lightgbm")
def numbers_that_are_zero_to_the_library():
    X, y = reals(low=-1.0, high=1.0)
    X[:40, 1] = 0.0
    near = [0.0, -0.0, 1e-36, -1e-36, 1e-35, -1e-35, 1.1e-35, -1.1e-35, 5e-324]
    values = {1: dense(X[:, 1].min(), X[:, 1].max(), 1000, *near)}
    target = y + (X[:, 1] == 0) * X[:, 0]
    for settings in ({}, {"zero_as_missing": True}, {"use_missing": False}):
        holds(lightgbm(num_leaves=12, **settings).fit(X, target), X, 0, values=values)


# CatBoost ----------------------------------------------------------------------------------


@attack("an output is a sum and nothing else", "catboost")
def outputs_that_are_scaled_afterwards():
    X, y = numbers()
    model = catboost().fit(X, y)
    model.set_scale_and_bias(-2.5, 3.0)
    holds(model, X)
    model.shrink(3, ntree_start=1)
    holds(model, X)


@attack("missing values go to one side", "catboost")
def missing_values_on_both_sides():
    X, y = numbers()
    X["b"] = X["b"].astype(float)
    X.loc[::9, "b"] = np.nan
    values = {"b": [*map(float, range(5)), np.nan]}
    for mode in ("Min", "Max"):
        holds(catboost(nan_mode=mode).fit(X, y), X, values=values)


@attack("borders and leaves have one shape", "catboost")
def borders_and_trees_of_other_kinds():
    X, y = numbers()
    model = catboost(
        "Classifier",
        class_weights=[1, 9],
        feature_border_type="UniformAndQuantiles",
        border_count=3,
        grow_policy="Lossguide",
    )
    holds(model.fit(X, y > 0.5), X)
    holds(catboost(boost_from_average=False, monotone_constraints=[1, -1, 0]).fit(X, y), X)


@attack("each column has borders", "catboost")
def columns_that_are_left_out():
    X, y = numbers()
    X.insert(0, "one", 1)
    holds(catboost(ignored_features=["a"]).fit(X, y), X)


@attack("an objective has a link that is known", "catboost")
def objectives_of_several_numbers():
    X, y = numbers()
    model = catboost(loss_function="MultiRMSE").fit(X, np.column_stack([y, X["b"]]))
    refused(model, X, "'MultiRMSE' cannot be certified")
    model = catboost("Classifier", loss_function="MultiClassOneVsAll").fit(*three())
    refused(model, X, "'MultiClassOneVsAll' cannot be certified", kind=Unsupported)


@attack("probabilities are those of labels", "catboost")
def shares_as_targets():
    X, y = numbers()
    model = catboost("Classifier", loss_function="CrossEntropy")
    holds(model.fit(X, 1 / (1 + np.exp(-y))), X)


@attack("columns stand as they did at training", "catboost")
def columns_by_name():
    X, y = numbers()
    model = catboost().fit(X[["b", "s", "a"]], y)
    holds(model, X)
    X.insert(1, "w", X["b"] % 2)  # and columns that training did not have
    holds(model, X)


@attack("tables are of numpy or pandas", "catboost")
def tables_of_polars():
    polars = pytest.importorskip("polars")
    X, y = numbers()
    table = polars.DataFrame({name: X[name].to_numpy() for name in X})
    for model in (catboost(), xgboost()):
        holds(model.fit(table, y), table)


# All of them -------------------------------------------------------------------------------


@attack("missing values are NaN", "catboost")
def missing_values_of_nullable_types():
    X, y = numbers()
    X = X.astype({"b": "Int64", "a": "Float64"})
    X.loc[::9, "b"] = pd.NA
    X["a"] = X["a"] * 0.5
    values = {"a": [0.0, 0.5, 1.0, 1.5]}
    for model in (xgboost(), lightgbm(), catboost()):
        holds(model.fit(X, y), X, values=values)


@attack("members of a bag or a vote are of one library", "catboost")
def votes_of_all_libraries():
    X, y = numbers()
    members = [
        ("x", xgboost("Classifier", n_estimators=2)),
        ("l", lightgbm("Classifier", n_estimators=2)),
        ("c", catboost("Classifier", iterations=2)),
    ]
    model = VotingClassifier(members, voting="soft", weights=[3, -1, 1]).fit(X, y > 0.5)
    holds(model, X, exact=False)


@attack("a sparse zero is a zero", "xgboost")
def sparse_zeros_behind_an_encoder_in_a_bag():
    X, y = numbers()
    inner = make_pipeline(OneHotEncoder(handle_unknown="ignore"), xgboost())
    holds(BaggingRegressor(inner, 2, max_features=2, random_state=0).fit(X, y), X)


@attack.each()
def test_what_readers_of_boosting_libraries_take_for_granted(attack):
    attack()


# Rounding that is stated -----------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_rounding_counts_little_where_probabilities_are_next_to_0_and_1(weight):
    rng = np.random.default_rng(0)
    own = Part(base=0.0, trees=[], rounding=0.03)
    verifier = TreeVerifier.__new__(TreeVerifier)
    verifier.outputs = [[LinkedSum(LOGISTIC, weight, [own])]]
    verifier.rounding = link_rounding(verifier.outputs[0][0])
    off = sum_rounding(own)
    one, two = np.sort(rng.normal(scale=4, size=(2, 10_000)), axis=0)[::-1]
    attained = expit(one + off) - expit(two - off)
    bounds = np.array([verifier.with_rounding(d) for d in expit(one) - expit(two)])
    assert (attained <= bounds).all() and (bounds <= 1).all() and verifier.with_rounding(0.0) == 0
    # Where one twin is as far above a half as the other is below, nothing is lost.
    even = verifier.with_rounding(float(expit(2) - expit(-2)))
    assert even == pytest.approx(expit(2 + off) - expit(-2 - off), rel=1e-9)


def test_a_model_of_many_trees_is_certified_where_it_tells_twins_apart_most():
    pytest.importorskip("xgboost")
    X, y = numbers()
    model = xgboost("Classifier", n_estimators=400, learning_rate=0.3).fit(X, y > 0.5)
    auditor = CertifiedAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    assert auditor.certified_ and 0 < auditor.fairness_degree_upper_bound_ <= 1
    assert auditor.gap_ <= 1e-4 * auditor.fairness_degree_upper_bound_
