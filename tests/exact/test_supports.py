"""What `CertifiedAuditor.supports` says of settings before a model is fitted is what `fit` says."""

from __future__ import annotations

import importlib
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest import CertifiedAuditor, MarginalizedClassifier
from skfairtest.exceptions import EstimatorFailedError

NUMBER, TWO, THREE, TARGETS = "a number", "two classes", "three classes", "two targets"
TREE = DecisionTreeClassifier(max_depth=2)
HUBER = SGDClassifier(loss="modified_huber")
STACKED = [("tree", TREE)]


def data(task):
    """A table of few values, and a target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"s": rng.integers(0, 2, 90), "a": rng.integers(1, 5, 90), "b": rng.integers(0, 3, 90)}
    )
    y = (X["s"] + X["a"] + 0.3 * rng.normal(size=90) + 1).to_numpy()
    classes = np.digitize(y, np.quantile(y, [0.5] if task == TWO else [0.3, 0.6]))
    return X, {NUMBER: y, TARGETS: np.column_stack([y, -y])}.get(task, classes)


def behind(*steps):
    """Steps before a linear model."""
    return make_pipeline(*steps, Ridge())


def in_a_branch(step):
    """A step on two of the columns."""
    return ColumnTransformer([("step", step, ["a", "b"])], remainder="passthrough")


def check(model, task, method="auto", *, certified):
    """What is said before a model is fitted, after, and by `fit`, is the same."""
    X, y = data(task)
    before = CertifiedAuditor.supports(model, method)
    fitted = deepcopy(model).fit(X, y)  # a list of CatBoost's categories is not cloned
    auditor = CertifiedAuditor(
        fitted, sensitive_features="s", response_method=method, max_queries=50, max_time=0,
        random_state=0, engine="numpy",
    )  # fmt: skip
    try:
        auditor.fit(X)
        message = "supported"
    except ValueError as error:
        assert not isinstance(error, EstimatorFailedError)
        message = str(error)
    assert (message == "supported") == certified, message
    assert str(before) == message
    assert str(CertifiedAuditor.supports(fitted, method)) == message
    assert certified or (before.reason and before.nearest)


CERTIFIED = [
    (SVC(kernel="linear"), TWO, "auto"),
    (SVC(kernel="linear", probability=True), TWO, "decision_function"),
    (SGDClassifier(loss="log_loss"), TWO, "auto"),
    (HUBER, TWO, "decision_function"),
    (HUBER, THREE, "predict"),
    (GradientBoostingClassifier(n_estimators=2, init="zero"), TWO, "auto"),
    (GradientBoostingRegressor(n_estimators=2, init=DummyRegressor()), NUMBER, "auto"),
    (HistGradientBoostingRegressor(max_iter=2, loss="gamma"), NUMBER, "auto"),
    (MLPRegressor(hidden_layer_sizes=(2,), activation="logistic", max_iter=5), NUMBER, "auto"),
    (VotingClassifier([("t", TREE), ("h", HUBER)], voting="hard"), TWO, "auto"),
    (VotingClassifier([("t", TREE), ("l", LogisticRegression())], voting="soft"), TWO, "auto"),
    (BaggingClassifier(LinearSVC(), 2), TWO, "decision_function"),
    (CalibratedClassifierCV(HUBER, cv=2), TWO, "auto"),
    (OneVsRestClassifier(LinearSVC()), THREE, "auto"),
    (StackingClassifier(STACKED, cv=2), THREE, "auto"),
    (StackingClassifier([("p", Perceptron())], cv=2), TWO, "auto"),
    (StackingClassifier(STACKED, make_pipeline(PCA(1), LogisticRegression()), cv=2), TWO, "auto"),
    (StackingRegressor([("t", DecisionTreeRegressor(max_depth=2))], cv=2), NUMBER, "auto"),
    (TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp), NUMBER, "auto"),
    (behind(PCA(2), StandardScaler(), SelectKBest(f_regression, k=1)), NUMBER, "auto"),
    (behind(make_union(PCA(1), StandardScaler())), NUMBER, "auto"),
    (behind(in_a_branch(make_pipeline(PCA(1), MinMaxScaler()))), NUMBER, "auto"),
    (behind(in_a_branch(OneHotEncoder(min_frequency=0.3, drop="first"))), NUMBER, "auto"),
    (behind(in_a_branch(KBinsDiscretizer(2, strategy="uniform"))), NUMBER, "auto"),
    (behind(FunctionTransformer(np.square)), NUMBER, "auto"),
    (make_pipeline(PCA(2), BaggingRegressor(Ridge(), 2)), NUMBER, "auto"),
    (
        behind(
            FeatureUnion([("p", PCA(1)), ("s", StandardScaler())], transformer_weights={"p": 2.0})
        ),
        NUMBER,
        "auto",
    ),
]
REFUSED = [
    (SVC(), TWO, "auto"),
    (SVC(), TWO, "predict"),
    (SVR(), NUMBER, "auto"),
    (SVC(kernel="linear", probability=True), TWO, "auto"),
    (HUBER, TWO, "auto"),
    (HUBER, THREE, "auto"),
    (GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()), TWO, "auto"),
    (BaggingClassifier(LinearSVC(), 2), TWO, "auto"),
    (VotingClassifier([("t", TREE), ("h", HUBER)], voting="soft"), TWO, "auto"),
    (OneVsRestClassifier(HUBER), TWO, "auto"),
    (MarginalizedClassifier(HUBER, sensitive_features="s", strength=0.5), TWO, "auto"),
    (StackingClassifier(STACKED, HUBER, cv=2), TWO, "auto"),
    (StackingClassifier(STACKED, SVC(), cv=2), TWO, "auto"),
    (StackingClassifier(STACKED, RandomForestClassifier(2), cv=2), TWO, "auto"),
    (StackingClassifier(STACKED, cv=2, stack_method="predict"), TWO, "auto"),
    (StackingClassifier([("h", HUBER)], cv=2), TWO, "auto"),
    (
        StackingClassifier(
            STACKED, make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), cv=2
        ),
        TWO,
        "auto",
    ),
    (TransformedTargetRegressor(Ridge(), func=abs, inverse_func=abs), NUMBER, "auto"),
    (
        TransformedTargetRegressor(
            Ridge(), transformer=KBinsDiscretizer(2, encode="ordinal", strategy="uniform")
        ),
        NUMBER,
        "auto",
    ),
    (behind(PCA(2), Binarizer()), NUMBER, "auto"),
    (behind(TruncatedSVD(1), MinMaxScaler(clip=True)), NUMBER, "auto"),
    (behind(PolynomialFeatures()), NUMBER, "auto"),
    (behind(in_a_branch(make_pipeline(PCA(1), PowerTransformer()))), NUMBER, "auto"),
    (behind(in_a_branch(make_union(PCA(1), StandardScaler()))), NUMBER, "auto"),
    (
        behind(make_column_transformer(("drop", ["b"]), remainder=PCA(1)), Binarizer()),
        NUMBER,
        "auto",
    ),
    (make_pipeline(PCA(2), Binarizer(), BaggingRegressor(Ridge(), 2)), NUMBER, "auto"),
    (make_pipeline(PCA(2), StackingRegressor([("r", behind(Binarizer()))], cv=2)), NUMBER, "auto"),
    (behind(FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 1})), NUMBER, "auto"),
    (make_pipeline(PolynomialFeatures(), DecisionTreeRegressor()), NUMBER, "auto"),
]


def named(pair):
    """The settings that differ from the defaults, cut to a line."""
    return " ".join(str(pair[0]).split())[:80] + f" {pair[1]} {pair[2]}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", CERTIFIED, ids=named)
def test_settings_that_are_certified(pair):
    check(*pair, certified=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", REFUSED, ids=named)
def test_settings_that_are_refused(pair):
    check(*pair, certified=False)


SMALL = {
    "xgboost": {"n_estimators": 2, "max_depth": 2},
    "lightgbm": {"n_estimators": 2, "min_child_samples": 3, "verbose": -1},
    "catboost": {"iterations": 2, "depth": 2, "verbose": False, "allow_writing_files": False},
}
#: Library, class, parameters, task, method, and whether it is certified.
LIBRARIES = [
    ("xgboost", "XGBClassifier", {}, THREE, "auto", True),
    ("xgboost", "XGBClassifier", {"objective": "binary:hinge"}, TWO, "auto", False),
    ("xgboost", "XGBClassifier", {"objective": "binary:hinge"}, TWO, "predict", True),
    ("xgboost", "XGBRegressor", {"objective": "rank:pairwise"}, NUMBER, "auto", False),
    ("xgboost", "XGBRegressor", {"objective": "reg:gamma"}, NUMBER, "auto", True),
    ("xgboost", "XGBRegressor", {"multi_strategy": "multi_output_tree"}, TARGETS, "auto", False),
    ("xgboost", "XGBRegressor", {}, TARGETS, "auto", True),
    ("xgboost", "XGBClassifier", {"booster": "gblinear", "max_depth": None}, TWO, "auto", False),
    ("lightgbm", "LGBMClassifier", {}, THREE, "auto", True),
    ("lightgbm", "LGBMClassifier", {"linear_tree": True}, TWO, "auto", False),
    ("lightgbm", "LGBMClassifier", {"linear_trees": True}, TWO, "auto", False),
    ("lightgbm", "LGBMClassifier", {"pred_early_stop": True}, TWO, "auto", False),
    ("lightgbm", "LGBMClassifier", {"objective": "xentlambda"}, TWO, "auto", False),
    ("lightgbm", "LGBMClassifier", {"application": "xentlambda"}, TWO, "auto", False),
    ("lightgbm", "LGBMClassifier", {"objective": "xentlambda"}, TWO, "decision_function", True),
    ("lightgbm", "LGBMClassifier", {"objective": "xentropy"}, TWO, "auto", True),
    ("lightgbm", "LGBMRegressor", {"reg_sqrt": True}, NUMBER, "auto", False),
    ("lightgbm", "LGBMRegressor", {"reg_sqrt": True, "objective": "mae"}, NUMBER, "auto", False),
    ("lightgbm", "LGBMRegressor", {"reg_sqrt": True, "objective": "huber"}, NUMBER, "auto", True),
    ("lightgbm", "LGBMRegressor", {"objective": "mse"}, NUMBER, "auto", True),
    ("catboost", "CatBoostClassifier", {}, THREE, "auto", True),
    ("catboost", "CatBoostClassifier", {"cat_features": ["a"]}, TWO, "auto", False),
    (
        "catboost",
        "CatBoostRegressor",
        {"loss_function": "RMSEWithUncertainty"},
        NUMBER,
        "auto",
        False,
    ),
    ("catboost", "CatBoostRegressor", {"objective": "MultiRMSE"}, TARGETS, "auto", False),
    (
        "catboost",
        "CatBoostRegressor",
        {"loss_function": "Quantile:alpha=0.3"},
        NUMBER,
        "auto",
        True,
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("library", "kind", "params", "task", "method", "certified"),
    [
        pytest.param(*row, marks=pytest.mark.services(row[0]), id=f"{row[1]} {row[2]} {row[4]}")
        for row in LIBRARIES
    ],
)
def test_settings_of_libraries(library, kind, params, task, method, certified):
    make = getattr(importlib.import_module(library), kind)
    model = make(**SMALL[library] | params)
    check(model, task, method, certified=certified)


def test_what_depends_on_the_data_is_said_after_the_fit():
    X, y = data(THREE)
    for model, target in (
        (SVC(kernel="linear"), y),
        (StackingClassifier(STACKED, SVC(kernel="linear"), cv=2), y),
        (DecisionTreeClassifier(), np.column_stack([y, y])),
    ):
        assert CertifiedAuditor.supports(model)
        assert not CertifiedAuditor.supports(deepcopy(model).fit(X, target))


def test_an_unknown_response_method():
    with pytest.raises(ValueError, match="response_method must be one of"):
        CertifiedAuditor.supports(Ridge(), "proba")
