"""Random models behind random steps, on domains small enough to ask about every input.

A new family, activation or wrapper is a line in a table below; `certify_models` has the rest.
"""

from __future__ import annotations

import warnings

import numpy as np
from certify_cases import certified, exhaustive_degree, small_table, solve_alone
from certify_models import ENCODERS, REGRESSORS, SEVERAL, TABLES, TWO, kinds
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest import InputSpace, MarginalizedClassifier, MarginalizedRegressor, Order

NUMBER, CLASS, CLASSES = "a number", "two classes", "three classes"
SMALL = {"n_estimators": 4, "max_depth": 3, "random_state": 0}
NET = {"hidden_layer_sizes": (3,), "solver": "lbfgs", "max_iter": 40, "random_state": 0}
#: Kinds of networks; the activations that are certified.
ACTIVATIONS = ("relu", "identity", "logistic", "tanh")

LINEAR = [
    (Ridge(), (NUMBER,)), (SVR(kernel="linear"), (NUMBER,)), (LogisticRegression(), (CLASS,)),
    (LogisticRegression(C=5.0), (CLASSES,)), (LinearSVC(), (CLASS,)),
    (SGDClassifier(loss="log_loss", random_state=0), (CLASS,)),
]  # fmt: skip
NETS = [
    (net, tasks)
    for activation in ACTIVATIONS
    for net, tasks in (
        (MLPRegressor(activation=activation, **NET), (NUMBER,)),
        (MLPClassifier(activation=activation, **NET), (CLASS, CLASSES)),
    )
]
TREES = [
    (DecisionTreeRegressor(max_depth=5), (NUMBER,)),
    (DecisionTreeClassifier(max_depth=4), (CLASS, CLASSES)),
    (RandomForestRegressor(**SMALL), (NUMBER,)), (ExtraTreesRegressor(**SMALL), (NUMBER,)),
    (RandomForestClassifier(**SMALL), (CLASS, CLASSES)),
    (GradientBoostingRegressor(**SMALL), (NUMBER,)),
    (GradientBoostingClassifier(**SMALL), (CLASS, CLASSES)),
    (HistGradientBoostingRegressor(max_iter=4, max_depth=3), (NUMBER,)),
    (HistGradientBoostingRegressor(loss="poisson", max_iter=4, max_depth=3), (NUMBER,)),
    (HistGradientBoostingClassifier(max_iter=4, max_depth=3), (CLASS, CLASSES)),
]  # fmt: skip
#: What is in the tables of tests of single wrappers, and averages of this package.
AROUND = [
    *((model, (NUMBER,)) for model in REGRESSORS.values()),
    *((model, (CLASS,)) for model in TWO.values()),
    *((model, (CLASSES,)) for model in SEVERAL.values()),
    (MarginalizedRegressor(RandomForestRegressor(**SMALL), sensitive_features=["s"], strength=0.6),
     (NUMBER,)),
    (MarginalizedClassifier(LogisticRegression(), sensitive_features=["s", "b"], strength=0.5),
     (CLASS,)),
]  # fmt: skip
FAMILIES = [LINEAR, NETS, TREES, AROUND]
#: Steps on numbers that are more than zero only.
POSITIVE = ("box-cox", "cotangents", "two ways")


def boosting():
    """Models of XGBoost and LightGBM, which have to be installed."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from xgboost import XGBClassifier, XGBRegressor

    leaves = SMALL | {"min_child_samples": 2, "verbose": -1}
    return [
        (XGBRegressor(**SMALL), (NUMBER,)), (XGBClassifier(**SMALL), (CLASS, CLASSES)),
        (LGBMRegressor(**leaves), (NUMBER,)), (LGBMClassifier(**leaves), (CLASS, CLASSES)),
    ]  # fmt: skip


def make_case(seed, families=FAMILIES):
    """A fitted model, its table, and how it is audited; None where it cannot be fitted."""
    rng = np.random.default_rng(seed)
    family = families[rng.integers(len(families))]
    model, tasks = family[rng.integers(len(family))]
    task = tasks[rng.integers(len(tasks))]
    X, y = small_table(seed, n=90)
    encoder = list(ENCODERS.values())[rng.integers(len(ENCODERS))]
    name = list(TABLES)[rng.integers(len(TABLES))]
    numbers = ["a"] if name in POSITIVE else ["a", "b"]
    columns = ColumnTransformer(
        [("text", clone(encoder), ["s", "c"]), ("numbers", clone(TABLES[name]), numbers)],
        remainder="passthrough", sparse_threshold=0,
    )  # fmt: skip
    steps = [columns]
    chance = rng.random()
    if family in (LINEAR, NETS) and chance < 0.3:
        mixing = (PCA(2), TruncatedSVD(2), make_union("passthrough", PCA(1)))[rng.integers(3)]
        steps += [StandardScaler(), mixing]
    two, three = kinds(y)
    target = {NUMBER: y - y.min() + 1, CLASS: two, CLASSES: three}[task]
    how = {"sensitive": ["s"] if rng.random() < 0.6 else ["s", "b"]}
    if hasattr(model, "strength"):  # twins may differ in nothing else than it averages over
        how["sensitive"] = model.sensitive_features
    if rng.random() < 0.15:
        how["space"] = InputSpace(constraint=Order("b", "<=", "a"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if hasattr(model, "strength"):  # it averages over columns of the table itself
                inside = make_pipeline(*steps, clone(model.estimator))
                whole = clone(model).set_params(estimator=inside)
            else:
                whole = make_pipeline(*steps, clone(model))
            return whole.fit(X, target), X, how
        except ValueError:
            return None


def check_case(fitted, X, how):
    """No bound is below the truth, and what is certified is the truth; whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        auditor = certified(fitted, X, max_queries=100, max_time=1.5, **how)
        degree = exhaustive_degree(auditor)
        # Models of single precision may be off by what their own rounding is.
        single = type(getattr(fitted, "steps", [[fitted]])[-1][-1]).__module__.startswith("xgboost")
        tolerance = 1e-5 * max(1.0, degree) if single else 1e-9 * max(1.0, degree)
        assert degree <= auditor.fairness_degree_upper_bound_ * (1 + 1e-12)
        assert auditor.fairness_degree_ <= degree + 1e-9 * max(1.0, degree)
        if auditor.certified_:
            assert abs(auditor.fairness_degree_ - degree) <= tolerance
        # The bound alone: without what a search found, and without a look at all inputs.
        result, rounding = solve_alone(auditor, 1.0)
        assert degree <= result.upper + rounding
        assert result.lower <= degree + max(rounding, tolerance)
    return bool(auditor.certified_), degree, result.upper
