"""Models around models, and steps before them, by name, for tests of certificates."""

from __future__ import annotations

import numpy as np
from scipy import special
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    VarianceThreshold,
    f_regression,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC

FOREST = RandomForestClassifier(4, max_depth=4, random_state=0)
BOOSTED = GradientBoostingClassifier(n_estimators=5, random_state=0)
LOGISTIC = LogisticRegression()


def coded(model):
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["s", "c"]), remainder="passthrough"), model
    )


def kinds(y):
    """Two and three classes of about the same size."""
    return (y > np.median(y)).astype(int), np.searchsorted(np.quantile(y, [0.35, 0.7]), y)


def calibrated(model, method):
    return CalibratedClassifierCV(model, method=method, cv=2)


TWO = {
    "sigmoid, forest": calibrated(FOREST, "sigmoid"),
    "isotonic, forest": calibrated(FOREST, "isotonic"),
    "isotonic, boosted": calibrated(BOOSTED, "isotonic"),
    "sigmoid, svm": calibrated(LinearSVC(), "sigmoid"),
    "isotonic, logistic": calibrated(LOGISTIC, "isotonic"),
    "one calibrator": CalibratedClassifierCV(LOGISTIC, method="isotonic", ensemble=False),
    "one against the rest": OneVsRestClassifier(LOGISTIC),
    "stack": StackingClassifier([("f", FOREST), ("l", LOGISTIC), ("s", LinearSVC())], cv=3),
    "vote": VotingClassifier([("f", FOREST), ("l", LOGISTIC)], voting="soft", weights=[1, 3]),
    "bag": BaggingClassifier(LOGISTIC, 4, max_features=0.7, random_state=0),
    "calibrated vote": calibrated(
        VotingClassifier([("f", FOREST), ("l", LOGISTIC)], voting="soft"), "isotonic"
    ),
}
SEVERAL = {
    "stack": StackingClassifier([("f", FOREST), ("s", LinearSVC())], cv=3),
    "vote": VotingClassifier([("f", FOREST), ("l", LOGISTIC)], voting="soft"),
}


REGRESSORS = {
    "scaled target": TransformedTargetRegressor(
        RandomForestRegressor(4, max_depth=4, random_state=0), transformer=StandardScaler()
    ),
    "logarithm": TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1),
    "logarithm, forest": TransformedTargetRegressor(
        RandomForestRegressor(4, max_depth=4, random_state=0), func=np.log, inverse_func=np.exp
    ),
    "power": TransformedTargetRegressor(Ridge(), transformer=PowerTransformer()),
    "stack": StackingRegressor(
        [("f", RandomForestRegressor(4, max_depth=4)), ("g", GradientBoostingRegressor())], cv=3
    ),
    "vote": VotingRegressor([("r", Ridge()), ("f", RandomForestRegressor(4, max_depth=3))]),
    "bag": BaggingRegressor(Ridge(), 4, random_state=0),
    "net": TransformedTargetRegressor(
        MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=50, random_state=0),
        func=np.log1p, inverse_func=np.expm1,
    ),
}  # fmt: skip


#: Steps on numbers that make a table of a finite column.
TABLES = {
    "power": PowerTransformer(),
    "box-cox": PowerTransformer("box-cox"),
    "quantiles": QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    "bins": KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"),
    "bins, sparse": KBinsDiscretizer(3, encode="onehot", strategy="uniform"),
    "bins, ordinal": KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
    "splines": SplineTransformer(n_knots=3, degree=2),
    "binary": Binarizer(threshold=2.5),
    "sine": FunctionTransformer(np.sin),
    "cotangents": make_pipeline(FunctionTransformer(np.tan), FunctionTransformer(np.reciprocal)),
    "logit": make_pipeline(MinMaxScaler((0.1, 0.9)), FunctionTransformer(special.logit)),
    "two ways": FeatureUnion([("scaled", StandardScaler()), ("log", FunctionTransformer(np.log))]),
    "union": make_union(KBinsDiscretizer(2), "passthrough"),
    "several": make_pipeline(SplineTransformer(n_knots=3), SelectKBest(f_regression, k=2)),
}


ENCODERS = {
    "drop": OneHotEncoder(drop="first"),
    "drop if binary": OneHotEncoder(drop="if_binary"),
    "rare": OneHotEncoder(min_frequency=0.1, handle_unknown="infrequent_if_exist"),
    "few": OneHotEncoder(max_categories=2, sparse_output=False),
    "target": TargetEncoder(cv=2),
    "ordinal": OrdinalEncoder(max_categories=3),
    "chosen": make_pipeline(OneHotEncoder(), VarianceThreshold(0.05)),
    "learned": make_pipeline(OneHotEncoder(), SelectFromModel(Ridge())),
    "by and by": make_pipeline(OneHotEncoder(sparse_output=False), RFE(Ridge())),
}


#: Steps that neither rise nor fall all along a real column.
BENDING = {
    "bins": KBinsDiscretizer(4, strategy="uniform"),
    "splines": SplineTransformer(n_knots=3),
    "lines": SplineTransformer(n_knots=3, degree=2, extrapolation="linear", include_bias=False),
    "steps": SplineTransformer(n_knots=4, degree=0),
    "negative": FunctionTransformer(np.negative),
    "sine": FunctionTransformer(np.sin),
    "absolute": FunctionTransformer(np.abs),
    "turned round": make_pipeline(FunctionTransformer(np.negative), KBinsDiscretizer(3)),
    "bent twice": make_pipeline(
        FunctionTransformer(np.sin), StandardScaler(), SplineTransformer(n_knots=3)
    ),
    "both": make_union(StandardScaler(), KBinsDiscretizer(3, encode="onehot-dense")),
    "weighed": FeatureUnion(
        [("one", StandardScaler()), ("two", FunctionTransformer(np.cbrt))],
        transformer_weights={"two": -2.0},
    ),
}
