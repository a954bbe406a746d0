"""Write the page that says which models can be certified, from models that are certified.

    python docs/make_support.py

fits every combination of a model, a step and a wrapper whose libraries are installed, certifies it
on small tables, then certifies larger models with a clock, and writes the answers to
`reference/support.json` and the page to `reference/support.md`. With words behind it, it does so
for those combinations and models that have one of these words in their names. The others, and
those whose libraries are not installed, keep what the file says of them. `--answers` leaves the
larger models out, and `--seconds` measures these alone: for figures that mean something, on a
machine that does nothing else.
`tests/exact/test_support.py` fails where an answer is another one than that of the file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest import (
    CertifiedAuditor,
    FairnessRetrainer,
    MarginalizedClassifier,
    MarginalizedRegressor,
    RandomAuditor,
)
from skfairtest.exact._dispatch import read_verifier
from skfairtest.whitebox._steps import HINT
from skfairtest.whitebox._unsupported import SEARCH
from skfairtest.whitebox.graph import NetworkOutput, WeightedSum

HERE = Path(__file__).parent / "reference"
STORED, PAGE = HERE / "support.json", HERE / "support.md"
EXACT, BOUNDS, REFUSED = "exact", "bounds", "no"


class Family(NamedTuple):
    """A kind of model: a regressor and a classifier, made when asked for.

    `exact` is False where small models may close their gaps, and others would not.
    """

    regressor: Callable[[], Any]
    classifier: Callable[[], Any]
    needs: str = "sklearn"
    exact: bool = True


def _of(module: str, name: str, **settings: Any) -> Callable[[], Any]:
    """Makes an estimator of a library that may not be there."""
    return lambda: getattr(importlib.import_module(module), name)(**settings)


def _small(model: Any) -> Callable[[], Any]:
    return lambda: clone(model)


_SMALL_BOOSTERS = {"n_estimators": 3, "max_depth": 2}
_SMALL_EBM = {"outer_bags": 2, "max_rounds": 50, "interactions": 1, "n_jobs": 1, "random_state": 0}
_NO_PAIRS = {"interactions": 0}
FAMILIES = {
    "linear": Family(_small(Ridge()), _small(LogisticRegression())),
    "forest": Family(
        _small(RandomForestRegressor(3, max_depth=3, random_state=0)),
        _small(RandomForestClassifier(3, max_depth=3, random_state=0)),
    ),
    "histogram boosting": Family(
        _small(HistGradientBoostingRegressor(max_iter=3, max_depth=2)),
        _small(HistGradientBoostingClassifier(max_iter=3, max_depth=2)),
    ),
    "network": Family(
        _small(MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", max_iter=30, random_state=0)),
        _small(MLPClassifier(hidden_layer_sizes=(3,), solver="lbfgs", max_iter=30, random_state=0)),
        exact=False,
    ),
    "XGBoost": Family(
        _of("xgboost", "XGBRegressor", **_SMALL_BOOSTERS),
        _of("xgboost", "XGBClassifier", **_SMALL_BOOSTERS),
        "xgboost",
    ),
    "LightGBM": Family(
        _of("lightgbm", "LGBMRegressor", min_child_samples=3, verbose=-1, **_SMALL_BOOSTERS),
        _of("lightgbm", "LGBMClassifier", min_child_samples=3, verbose=-1, **_SMALL_BOOSTERS),
        "lightgbm",
    ),
    "CatBoost": Family(
        _of("catboost", "CatBoostRegressor", iterations=3, depth=2, verbose=False,
            allow_writing_files=False),
        _of("catboost", "CatBoostClassifier", iterations=3, depth=2, verbose=False,
            allow_writing_files=False),
        "catboost",
    ),
}  # fmt: skip


def _own(table: Any) -> Any:
    return table


#: Steps on two columns; what they need, where that is not scikit-learn.
STEPS: dict[str, tuple[Callable[[], Any], str]] = {
    "`StandardScaler` and other scalers": (StandardScaler, ""),
    "`PowerTransformer`": (PowerTransformer, ""),
    "`QuantileTransformer`": (lambda: QuantileTransformer(n_quantiles=9), ""),
    "`Binarizer`": (lambda: Binarizer(threshold=1.5), ""),
    "`KBinsDiscretizer(encode=\"ordinal\")`": (
        lambda: KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), ""),
    "`KBinsDiscretizer(encode=\"onehot\")`": (
        lambda: KBinsDiscretizer(3, strategy="uniform"), ""),
    "`SplineTransformer`": (lambda: SplineTransformer(n_knots=3), ""),
    "`PolynomialFeatures`": (PolynomialFeatures, ""),
    "`OneHotEncoder`": (lambda: OneHotEncoder(drop="first"), ""),
    "`OneHotEncoder` of rare categories": (
        lambda: OneHotEncoder(min_frequency=0.3, handle_unknown="infrequent_if_exist"), ""),
    "`OrdinalEncoder`": (
        lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ""),
    "`TargetEncoder`": (lambda: TargetEncoder(cv=2), ""),
    "`SimpleImputer(add_indicator=True)`": (lambda: SimpleImputer(add_indicator=True), ""),
    "`TableVectorizer` of skrub": (_of("skrub", "TableVectorizer"), "skrub"),
    "`SquashingScaler` of skrub": (_of("skrub", "SquashingScaler"), "skrub"),
    "`SelectKBest` and other selectors": (lambda: SelectKBest(f_regression, k=1), ""),
    "`FunctionTransformer(numpy.log1p)`": (
        lambda: make_pipeline(FunctionTransformer(np.exp), FunctionTransformer(np.log1p)), ""),
    "`FunctionTransformer(numpy.negative)`": (lambda: FunctionTransformer(np.negative), ""),
    "`FunctionTransformer(numpy.square)`": (lambda: FunctionTransformer(np.square), ""),
    "`FunctionTransformer(numpy.sin)`": (lambda: FunctionTransformer(np.sin), ""),
    "`FunctionTransformer` of an own function": (lambda: FunctionTransformer(_own), ""),
    "`FeatureUnion` of these": (lambda: make_union(StandardScaler(), PowerTransformer()), ""),
    "`PCA`": (lambda: PCA(1), ""),
    "`Normalizer`": (Normalizer, ""),
    "`KNNImputer`": (KNNImputer, ""),
}  # fmt: skip


def _final() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


#: Wrappers: what is asked of the family, and what is made of it.
CLASS, NUMBER, SEVERAL, TARGETS, MANY = "class", "number", "several", "targets", "many labels"
AROUND: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "alone, a number": (NUMBER, lambda m: m),
    "alone, two classes": (CLASS, lambda m: m),
    "alone, several classes": (SEVERAL, lambda m: m),
    "`CalibratedClassifierCV(method=\"sigmoid\")`": (
        CLASS, lambda m: CalibratedClassifierCV(m, cv=2)),
    "`CalibratedClassifierCV(method=\"isotonic\")`": (
        CLASS, lambda m: CalibratedClassifierCV(m, method="isotonic", cv=2)),
    "`CalibratedClassifierCV`, several classes": (
        SEVERAL, lambda m: CalibratedClassifierCV(m, cv=2)),
    "`TransformedTargetRegressor(transformer=StandardScaler())`": (
        NUMBER, lambda m: TransformedTargetRegressor(m, transformer=StandardScaler())),
    "`TransformedTargetRegressor(func=numpy.log, ...)`": (
        NUMBER, lambda m: TransformedTargetRegressor(m, func=np.log, inverse_func=np.exp)),
    "`StackingRegressor`": (NUMBER, lambda m: StackingRegressor([("m", m)], cv=2)),
    "`StackingClassifier`": (CLASS, lambda m: StackingClassifier([("m", m)], cv=2)),
    "`StackingClassifier` with a scaler on top": (
        CLASS, lambda m: StackingClassifier([("m", m)], _final(), cv=2)),
    "`VotingRegressor` with a linear model": (
        NUMBER, lambda m: VotingRegressor([("m", m), ("l", LinearRegression())])),
    "`VotingClassifier(voting=\"soft\")` with a linear model": (
        CLASS, lambda m: VotingClassifier([("m", m), ("l", LogisticRegression())], voting="soft")),
    "`BaggingRegressor`": (NUMBER, lambda m: BaggingRegressor(m, 2, random_state=0)),
    "`BaggingClassifier`": (CLASS, lambda m: BaggingClassifier(m, 2, random_state=0)),
    "`OneVsRestClassifier`": (SEVERAL, OneVsRestClassifier),
    "`OneVsOneClassifier`": (SEVERAL, OneVsOneClassifier),
    "`MultiOutputRegressor`": (TARGETS, MultiOutputRegressor),
    "`MultiOutputClassifier`": (MANY, MultiOutputClassifier),
    "`FixedThresholdClassifier`, by probability": (
        CLASS, lambda m: FixedThresholdClassifier(m, threshold=0.3)),
    "`TunedThresholdClassifierCV`, by probability": (
        CLASS, lambda m: TunedThresholdClassifierCV(m, cv=2)),
    "`FrozenEstimator`": ("fitted", FrozenEstimator),
    "`GridSearchCV`": (NUMBER, lambda m: GridSearchCV(m, {}, cv=2)),
    "`FairnessRetrainer`": (CLASS, lambda m: FairnessRetrainer(
        m, auditor=RandomAuditor(sensitive_features="s", max_queries=30), max_rounds=1,
        random_state=0)),
    "`MarginalizedRegressor`": (
        NUMBER, lambda m: MarginalizedRegressor(m, sensitive_features="s", strength=0.5)),
    "`MarginalizedClassifier`": (
        CLASS, lambda m: MarginalizedClassifier(m, sensitive_features="s", strength=0.5)),
}  # fmt: skip

#: Further models, each alone, with what they need and the task.
OTHERS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "`LinearSVC` by its score": (LinearSVC, "sklearn", CLASS),
    "`SGDClassifier(loss=\"log_loss\")`": (
        lambda: SGDClassifier(loss="log_loss", random_state=0), "sklearn", CLASS),
    "`SVC(kernel=\"linear\")` by its score": (lambda: SVC(kernel="linear"), "sklearn", CLASS),
    "`SVC(kernel=\"rbf\")`": (SVC, "sklearn", CLASS),
    "`DecisionTreeClassifier`": (
        lambda: DecisionTreeClassifier(max_depth=3), "sklearn", SEVERAL),
    "`ExtraTreesRegressor`": (
        lambda: ExtraTreesRegressor(3, max_depth=3, random_state=0), "sklearn", NUMBER),
    "`GradientBoostingClassifier`": (
        lambda: GradientBoostingClassifier(n_estimators=3, max_depth=2), "sklearn", CLASS),
    "`AdaBoostClassifier`": (AdaBoostClassifier, "sklearn", CLASS),
    "`IsolationForest`": (IsolationForest, "sklearn", NUMBER),
    "`GaussianNB`": (GaussianNB, "sklearn", CLASS),
    "`KNeighborsClassifier`": (KNeighborsClassifier, "sklearn", CLASS),
    "`GaussianProcessRegressor`": (GaussianProcessRegressor, "sklearn", NUMBER),
    "`PoissonRegressor`, `GammaRegressor`": (PoissonRegressor, "sklearn", NUMBER),
    "`TweedieRegressor`": (lambda: TweedieRegressor(power=1.5), "sklearn", NUMBER),
    "`LinearDiscriminantAnalysis`": (LinearDiscriminantAnalysis, "sklearn", CLASS),
    "`LinearDiscriminantAnalysis`, several classes": (
        LinearDiscriminantAnalysis, "sklearn", SEVERAL),
    "`BaggingClassifier` of 10 `LogisticRegression`": (
        lambda: BaggingClassifier(LogisticRegression(), random_state=0), "sklearn", CLASS),
    "`XGBRFRegressor`": (
        _of("xgboost", "XGBRFRegressor", n_estimators=3, max_depth=2), "xgboost", NUMBER),
    "`XGBRegressor(booster=\"dart\")`": (
        _of("xgboost", "XGBRegressor", booster="dart", **_SMALL_BOOSTERS), "xgboost", NUMBER),
    "`XGBRegressor(booster=\"gblinear\")`": (
        _of("xgboost", "XGBRegressor", booster="gblinear"), "xgboost", NUMBER),
    "`XGBRegressor(objective=\"count:poisson\")`": (
        _of("xgboost", "XGBRegressor", objective="count:poisson", **_SMALL_BOOSTERS),
        "xgboost", NUMBER),
    "`XGBClassifier(objective=\"binary:hinge\")`": (
        _of("xgboost", "XGBClassifier", objective="binary:hinge", **_SMALL_BOOSTERS),
        "xgboost", CLASS),
    "`LGBMRegressor(boosting_type=\"dart\")`": (
        _of("lightgbm", "LGBMRegressor", boosting_type="dart", verbose=-1, min_child_samples=3,
            **_SMALL_BOOSTERS), "lightgbm", NUMBER),
    "`LGBMRegressor(linear_tree=True)`": (
        _of("lightgbm", "LGBMRegressor", linear_tree=True, verbose=-1, min_child_samples=3,
            **_SMALL_BOOSTERS), "lightgbm", NUMBER),
    "`ExplainableBoostingRegressor` of InterpretML": (
        _of("interpret.glassbox", "ExplainableBoostingRegressor", **_SMALL_EBM), "interpret", NUMBER
    ),
    "`ExplainableBoostingClassifier`, two classes": (
        _of("interpret.glassbox", "ExplainableBoostingClassifier", **_SMALL_EBM), "interpret", CLASS
    ),
    "`ExplainableBoostingClassifier`, several classes": (
        _of("interpret.glassbox", "ExplainableBoostingClassifier", **_SMALL_EBM | _NO_PAIRS),
        "interpret", SEVERAL),
}  # fmt: skip


class Case(NamedTuple):
    """One cell: how it is called, what it needs, and how to fit it."""

    key: str
    needs: tuple[str, ...]
    make: Callable[[], tuple[Any, pd.DataFrame]]
    exact: bool = True


def table(*, real: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """A small table, with two columns of few values or two real ones besides, and a target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.permutation(np.arange(90) % 3)})
    X["a"] = rng.normal(1.0, 1.0, 90) if real else rng.integers(1, 5, 90)
    X["b"] = rng.gamma(2.0, 1.0, 90) if real else rng.permutation(np.arange(90) % 3)
    y = X["s"] * (1 + 0.5 * (X["b"] > 1)) + X["a"] + 0.2 * rng.normal(size=90)
    return X, (y - y.min() + 1).to_numpy()


def fitted(make: Callable[[], Any], wrap: Callable[[Any], Any], task: str, *, real: bool) -> Any:
    """A fitted model and its table."""
    X, y = table(real=real)
    two, three = (y > np.median(y)).astype(int), np.digitize(y, np.quantile(y, [0.35, 0.7]))
    target = {
        NUMBER: y, CLASS: two, SEVERAL: three, "fitted": y, TARGETS: np.column_stack([y, -y]),
        MANY: np.column_stack([two, 1 - two]),
    }[task]  # fmt: skip
    model = make()
    if task == "fitted":
        return wrap(model.fit(X, target)), X
    return wrap(model).fit(X, target), X


def cases() -> Iterator[Case]:
    """All combinations."""
    for name, family in FAMILIES.items():
        needs = (family.needs,)
        for around, (task, wrap) in AROUND.items():
            make = family.classifier if task in (CLASS, SEVERAL, MANY) else family.regressor
            yield Case(
                f"{around} | {name}", needs,
                lambda m=make, w=wrap, t=task: fitted(m, w, t, real=True), family.exact,
            )  # fmt: skip
        for step, (made, also) in STEPS.items():
            for real in (False, True):

                def behind(model: Any, made: Any = made) -> Any:
                    columns = [("step", made(), ["a", "b"])]
                    return make_pipeline(
                        ColumnTransformer(columns, remainder="passthrough", sparse_threshold=0),
                        model,
                    )

                yield Case(
                    f"{step}, {'real' if real else 'finite'} | {name}",
                    (*needs, also) if also else needs,
                    lambda m=family.regressor, w=behind, r=real: fitted(m, w, NUMBER, real=r),
                    family.exact,
                )  # fmt: skip
    for name, (model, library, task) in OTHERS.items():
        yield Case(name, (library,), lambda m=model, t=task: fitted(m, lambda x: x, t, real=True))


# Seconds and ratios ------------------------------------------------------------------------------

#: Limit of time of a certificate in the table of seconds, in seconds.
TIME_LIMIT = 30.0
#: Models in the table of seconds, at their defaults: how to make one for two classes and one for a
#: number, and what they need.
AT_DEFAULTS: dict[str, tuple[Callable[[], Any], Callable[[], Any], str]] = {
    "linear": (_small(LogisticRegression(max_iter=1000)), _small(Ridge()), "sklearn"),
    "decision tree": (
        _small(DecisionTreeClassifier(random_state=0)),
        _small(DecisionTreeRegressor(random_state=0)),
        "sklearn",
    ),
    "random forest": (
        _small(RandomForestClassifier(random_state=0)),
        _small(RandomForestRegressor(random_state=0)),
        "sklearn",
    ),
    "gradient boosting": (
        _small(GradientBoostingClassifier(random_state=0)),
        _small(GradientBoostingRegressor(random_state=0)),
        "sklearn",
    ),
    "histogram boosting": (
        _small(HistGradientBoostingClassifier(random_state=0)),
        _small(HistGradientBoostingRegressor(random_state=0)),
        "sklearn",
    ),
    "histogram boosting, calibrated": (
        _small(CalibratedClassifierCV(HistGradientBoostingClassifier(random_state=0), cv=3)),
        _small(TransformedTargetRegressor(HistGradientBoostingRegressor(random_state=0),
                                          transformer=StandardScaler())),
        "sklearn",
    ),
    "XGBoost": (_of("xgboost", "XGBClassifier"), _of("xgboost", "XGBRegressor"), "xgboost"),
    "LightGBM": (
        _of("lightgbm", "LGBMClassifier", verbose=-1),
        _of("lightgbm", "LGBMRegressor", verbose=-1),
        "lightgbm",
    ),
    "CatBoost": (
        _of("catboost", "CatBoostClassifier", verbose=False, allow_writing_files=False),
        _of("catboost", "CatBoostRegressor", verbose=False, allow_writing_files=False),
        "catboost",
    ),
    "network, one layer of 20": (
        _small(MLPClassifier(hidden_layer_sizes=(20,), max_iter=300, random_state=0)),
        _small(MLPRegressor(hidden_layer_sizes=(20,), max_iter=300, random_state=0)),
        "sklearn",
    ),
    "network, layers of 32 and 16": (
        _small(MLPClassifier(hidden_layer_sizes=(32, 16), max_iter=300, random_state=0)),
        _small(MLPRegressor(hidden_layer_sizes=(32, 16), max_iter=300, random_state=0)),
        "sklearn",
    ),
    "linear, behind splines": (
        lambda: make_pipeline(SplineTransformer(), LogisticRegression(max_iter=1000)),
        lambda: make_pipeline(SplineTransformer(), Ridge()),
        "sklearn",
    ),
    "linear and random forest, stacked": (
        lambda: StackingClassifier(
            [("l", LogisticRegression(max_iter=1000)),
             ("f", RandomForestClassifier(max_depth=6, random_state=0))], cv=3),
        lambda: StackingRegressor(
            [("l", Ridge()), ("f", RandomForestRegressor(max_depth=6, random_state=0))], cv=3),
        "sklearn",
    ),
}  # fmt: skip


def larger_table() -> tuple[pd.DataFrame, np.ndarray]:
    """A table of 3,000 rows and 12 mixed columns, `s` sensitive, and a number as target."""
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame({"s": rng.integers(0, 2, n), "a": rng.integers(0, 8, n)})
    X["b"], X["c"] = rng.integers(18, 80, n), rng.integers(0, 40, n)
    for k in range(8):
        X[f"x{k}"] = rng.normal(size=n).round(3)
    y = X.iloc[:, 4:].to_numpy() @ rng.normal(size=8) + 2 * np.sin(X["b"] / 10)
    y += 1.5 * (X["a"] == 3) + X["s"] * (X["x1"] > 0) + 0.3 * rng.normal(size=n)
    return X, y.to_numpy()


def compile_all() -> None:
    """Certify small models of trees, so that compiling is in no figure."""
    X, y = larger_table()
    limits = {"max_time": 5.0, "engine": "numba"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("forest", "histogram boosting"):
            made = FAMILIES[name]
            for model, target in ((made.regressor(), y), (made.classifier(), y > np.median(y))):
                CertifiedAuditor(model.fit(X, target), sensitive_features="s", **limits).fit(X)


def timed(name: str) -> dict[str, Any]:
    """Certify a larger model for two classes, and one for a number: seconds and ratios."""
    X, y = larger_table()
    measured: dict[str, Any] = {}
    targets = {"classes": (y > np.median(y)).astype(int), "number": y}
    for make, (task, target) in zip(AT_DEFAULTS[name][:2], targets.items(), strict=True):
        columns = [(StandardScaler(), [column for column in X if column != "s"])]
        scale = make_column_transformer(*columns, remainder="passthrough")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(scale, make()).fit(X, target)
            limits = {"max_time": TIME_LIMIT, "random_state": 0}
            auditor = CertifiedAuditor(model, sensitive_features="s", **limits)
            began = time.perf_counter()
            auditor.fit(X)
            seconds = time.perf_counter() - began
        bound = auditor.fairness_degree_upper_bound_
        measured[task] = {
            "closed": bool(auditor.certified_),
            "seconds": round(seconds, 1),
            "ratio": round(float(auditor.fairness_degree_ / bound), 4) if bound else 1.0,
        }
    return measured


def is_there(library: str) -> bool:
    """Whether a library can be imported."""
    try:
        importlib.import_module(library)
    except ImportError:
        return False
    return True


def measure(case: Case) -> dict[str, str]:
    """Fit and certify a model: what became of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X = case.make()
        # What is not exact for larger models has bounds no less where those of a small one meet.
        limits = {"max_queries": 200, "max_time": 60.0 if case.exact else 0.5}
        try:
            auditor = CertifiedAuditor(
                model, sensitive_features="s", random_state=0, engine="numpy", rtol=1e-6, **limits
            ).fit(X)  # fmt: skip
        except ValueError as error:
            support = CertifiedAuditor.supports(model)
            found = (support.reason, support.nearest) if not support else _parts_of(error)
            return {"answer": REFUSED, "reason": found[0], "nearest": found[1]}
        exact = case.exact and auditor.certified_ and _attains(auditor)
    return {"answer": EXACT if exact else BOUNDS}


def _attains(auditor: Any) -> bool:
    """Whether the bound is attained whatever the numbers are, not by the luck of a small model.

    Bounds of several models inside of one add up, though no pair need be the worst for all.
    """
    verifier, _ = read_verifier(
        auditor.estimator_, auditor.space_, auditor.response_, False, np.random.default_rng(0)
    )
    return all(_is_affine(node) for node in getattr(verifier, "nodes", []))


def _is_affine(node: Any) -> bool:
    """Whether a number is an affine function of one output that is bounded by itself."""
    if isinstance(node, WeightedSum):
        return len(node.of) == 1 and _is_affine(node.of[0])
    return isinstance(node, (list, NetworkOutput))


def _parts_of(error: ValueError) -> tuple[str, str]:
    return getattr(error, "reason", str(error)), getattr(error, "nearest", "")


# The page --------------------------------------------------------------------------------------

TOP = """\
# What can be certified

These tables say which models have [a certificate](../how_to/certify.md), and of what kind. Every
cell was measured: `python docs/make_support.py` fitted and certified a small model.
`CertifiedAuditor.supports(model)` says the same about a model of yours, fitted or not. How long
larger models take, and how far apart their bounds stay, stands [further down](#seconds-and-ratios).

- **exact**: with enough time the bound is attained, and `certified_` is true.
- **bounds**: the degree lies between what was found and the bound; small models may close it.
- **no**: refused, for the reason in the note with that number.

If the domain is finite and has at most 100,000 inputs, all of them are looked at in the model as it
was read, so that bounds are exact there. Steps of the second and third table stand before a
regressor. Searches, such as `SBFTAuditor`, work with every model, without a bound.
"""
END = """\
## What comes next

[Certify a worst case](../how_to/certify.md) says what the figures mean, and
[Lower and upper bounds](../explanation/bounds.md) how they come about.
"""


def page(stored: dict[str, Any]) -> str:
    """The page, from what is stored."""
    notes: list[str] = []

    def cell(key: str) -> str:
        found = stored["answers"].get(key)
        if found is None:
            return "not tried"
        if found["answer"] != REFUSED:
            return found["answer"]
        note = f"{found['reason']} {found['nearest']}"
        for general in (HINT, SEARCH, "SBFTAuditor searches with any estimator."):
            note = note.replace(general, "")
        note = note.strip()
        if note not in notes:
            notes.append(note)
        return f"no [{notes.index(note) + 1}](#notes)"

    def rows(names: list[str], first: str) -> list[str]:
        head = [f"| {first} | " + " | ".join(FAMILIES) + " |", "| --- " * (1 + len(FAMILIES)) + "|"]
        return head + [
            f"| {name} | " + " | ".join(cell(f"{name} | {family}") for family in FAMILIES) + " |"
            for name in names
        ]

    parts = [TOP, "## Models, alone and inside others\n"]
    parts += ["Two of the columns are real.\n", *rows(list(AROUND), "Wrapper"), ""]
    parts += ["## Behind steps, on columns of finitely many values\n"]
    parts += [*rows([f"{step}, finite" for step in STEPS], "Step"), ""]
    parts += ["## Behind steps, on real columns\n"]
    parts += [*rows([f"{step}, real" for step in STEPS], "Step"), ""]
    parts += ["## Other models, alone\n", "| Model | |", "| --- | --- |"]
    parts += [f"| {name} | {cell(name)} |" for name in OTHERS]
    parts += ["", *_timed_part(stored["timed"], stored["machine"]), "", "## Notes\n"]
    parts += [f"{k}. {_as_text(note)}" for k, note in enumerate(notes, 1)]
    parts += ["", END]
    return "\n".join(parts).replace(", finite |", " |").replace(", real |", " |")


def _timed_part(measured: dict[str, Any], machine: str) -> list[str]:
    """The part about seconds and ratios."""

    def cells(found: dict[str, Any]) -> list[str]:
        if found["closed"]:
            return [f"{found['seconds']:g} s", "1"]
        ratio = f"{found['ratio']:.3f}" if found["ratio"] < 0.9995 else "above 0.999"
        return [f"open, {found['seconds']:g} s", ratio]

    parts = [
        "## Seconds and ratios\n",
        f"""\
Models as their libraries set them, on one table of 3,000 rows and 12 mixed columns with a sensitive
column of two values, behind a scaler, with `max_time={TIME_LIMIT:g}` and the compiled engine. The
seconds are those of the whole audit until the bounds met; where they did not, the cell says
"open". The ratio is the degree that was found, divided by the bound: 1 means that nothing worse is
left to find. Measured once, on a machine with {machine}.
""",
        "| Model | two classes | ratio | a number | ratio |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in AT_DEFAULTS:
        if name in measured:
            row = [*cells(measured[name]["classes"]), *cells(measured[name]["number"])]
            parts.append(f"| {name} | {' | '.join(row)} |")
    return parts


def _machine() -> str:
    """What the seconds were measured on."""
    cores = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    # Where there is such a figure: other work makes seconds longer, and answers hardly different.
    load = f", load before {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return cores + load


def _as_text(note: str) -> str:
    """A message as a line of Markdown."""
    return " ".join(note.split()).replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_")


def read() -> dict[str, Any]:
    """What is stored: `answers` by combination, `timed` by model, and the `machine` of these."""
    found: dict[str, Any] = json.loads(STORED.read_text("utf-8"))
    return found


def write(stored: dict[str, Any]) -> None:
    """Store the answers, and the page."""
    STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(page(stored), "utf-8")


def main() -> None:
    """Measure what the command line asks for, and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("words", nargs="*", help="only what has one of these in its name")
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument("--answers", action="store_true", help="leave the larger models out")
    alone.add_argument("--seconds", action="store_true", help="measure the larger models alone")
    asked = parser.parse_args()

    def wanted(name: str, needs: tuple[str, ...]) -> bool:
        named = not asked.words or any(word in name for word in asked.words)
        return named and all(map(is_there, needs))

    stored = read() if STORED.exists() else {"answers": {}, "timed": {}, "machine": ""}
    answers, measured = stored["answers"], stored["timed"]
    every = list(cases())
    try:
        for one in [] if asked.seconds else every:
            if wanted(one.key, one.needs):
                found = measure(one)
                if found != answers.get(one.key):
                    print(one.key, found, file=sys.stderr, flush=True)
                answers[one.key] = found
        larger = [] if asked.answers else AT_DEFAULTS
        larger = [name for name in larger if wanted(name, AT_DEFAULTS[name][2:])]
        if larger:
            compile_all()
        for name in larger:
            measured[name] = timed(name)
            stored["machine"] = _machine()
            print(name, measured[name], file=sys.stderr, flush=True)
    finally:
        stored["answers"] = {one.key: answers[one.key] for one in every if one.key in answers}
        stored["timed"] = {name: measured[name] for name in AT_DEFAULTS if name in measured}
        write(stored)


if __name__ == "__main__":
    main()
