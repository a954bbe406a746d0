"""Random small models of XGBoost and LightGBM, by name, for tests of certified bounds."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd

from skfairtest.oracle._model import Model


def own_objective(y, scores):
    """Squared error, as an objective of a user's own."""
    return scores - y, np.ones_like(scores)


#: By name: library, kind of target, parameters. The number of classes is that of the target.
XGBOOST = {
    "squared": ("real", {}),
    "sets of categories": ("real", {"max_cat_to_onehot": 1}),
    "dart": ("real", {"booster": "dart", "rate_drop": 0.5}),
    "forest": ("real", {"forest": True, "num_parallel_tree": 4}),
    "poisson": ("positive", {"objective": "count:poisson"}),
    "gamma": ("positive", {"objective": "reg:gamma"}),
    "tweedie": ("positive", {"objective": "reg:tweedie"}),
    "absolute": ("positive", {"objective": "reg:absoluteerror"}),
    "huber": ("real", {"objective": "reg:pseudohubererror"}),
    "logarithm": ("positive", {"objective": "reg:squaredlogerror"}),
    "logistic regression": ("share", {"objective": "reg:logistic"}),
    "raw": ("share", {"objective": "binary:logitraw"}),
    "quantiles": ("real", {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}),
    "own objective": ("real", {"objective": own_objective}),
    "two classes": (2, {}),
    "three classes": (3, {}),
    "softmax": (3, {"objective": "multi:softmax"}),
    "softmax of two": (2, {"objective": "multi:softprob", "num_class": 2}),
    "dart of classes": (2, {"booster": "dart", "rate_drop": 0.5}),
    "forest of classes": (2, {"forest": True, "num_parallel_tree": 4}),
    "zeros are missing": ("real", {"missing": 0}),
}
LIGHTGBM = {
    "squared": ("real", {}),
    "dart": ("real", {"boosting_type": "dart", "drop_rate": 0.5}),
    "forest": ("real", {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}),
    "goss": ("real", {"data_sample_strategy": "goss"}),
    "poisson": ("positive", {"objective": "poisson"}),
    "gamma": ("positive", {"objective": "gamma"}),
    "tweedie": ("positive", {"objective": "tweedie"}),
    "quantile": ("real", {"objective": "quantile", "alpha": 0.7}),
    "huber": ("real", {"objective": "huber"}),
    "fair": ("real", {"objective": "fair"}),
    "mape": ("positive", {"objective": "mape"}),
    "absolute": ("real", {"objective": "regression_l1"}),
    "cross entropy": ("share", {"objective": "cross_entropy"}),
    "own objective": ("real", {"objective": own_objective}),
    "two classes": (2, {}),
    "steep": (2, {"sigmoid": 2.5}),
    "softmax of two": (2, {"objective": "multiclass", "num_class": 2}),
    "one against the rest of two": (2, {"objective": "multiclassova", "num_class": 2}),
    "three classes": (3, {}),
    "dart of classes": (3, {"boosting_type": "dart", "drop_rate": 0.5}),
    "forest of classes": (2, {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}),
    "zeros are missing": ("real", {"zero_as_missing": True}),
}
NAMES = [("xgboost", name) for name in XGBOOST] + [("lightgbm", name) for name in LIGHTGBM]


def make_model(library, name, seed, **more):
    """An unfitted model, and the kind of its target."""
    rng = np.random.default_rng(seed)
    kind, own = (XGBOOST if library == "xgboost" else LIGHTGBM)[name]
    common = {"n_estimators": int(rng.integers(1, 9)), "n_jobs": 1, "random_state": seed}
    params = {**common, **own, **more}
    if library == "xgboost":
        import xgboost

        forest = params.pop("forest", False)
        params = {"max_depth": int(rng.integers(1, 5)), "enable_categorical": True, **params}
        if not forest:
            params = {"learning_rate": 0.5, **params}
        last = "Regressor" if isinstance(kind, str) else "Classifier"
        return getattr(xgboost, f"XGB{'RF' if forest else ''}{last}")(**params), kind
    import lightgbm

    small = {"min_child_samples": 3, "cat_smooth": 1, "cat_l2": 1, "min_data_per_group": 2}
    params = {"num_leaves": int(rng.integers(2, 9)), "verbose": -1, **small, **params}
    params = {"learning_rate": 0.5, **params}
    if isinstance(kind, str):
        return lightgbm.LGBMRegressor(**params), kind
    return lightgbm.LGBMClassifier(**params), kind


def table(rng, *, text, n=80):
    """A frame of few values, so that all rows of its domain can be listed."""
    X = pd.DataFrame(
        {
            "s": rng.permutation(np.arange(n) % 3),
            "age": rng.integers(0, 5, n),
            "b": rng.integers(0, 2, n),
            "k": rng.integers(-2, 4, n),
        }
    )
    if text:
        X["c"] = pd.Categorical(rng.choice(["u", "v", "w", "x"], n))
        X["s"] = pd.Categorical(np.array(["p", "q", "r"])[X["s"]])
    return X


def target(rng, X, kind):
    """A target of a kind that depends on all columns."""
    codes = X.apply(lambda column: pd.factorize(column)[0]).to_numpy(dtype=float)
    W = rng.normal(size=(codes.shape[1], 2))
    y = codes @ W[:, 0] + codes[:, 0] * np.sin(codes @ W[:, 1])
    if kind == "positive":
        return np.exp(y / np.abs(y).max())
    if kind == "share":
        return 1 / (1 + np.exp(-y))
    if kind == "real":
        return y
    return np.digitize(y, np.quantile(y, np.linspace(0, 1, kind + 1)[1:-1]))


def make_case(library, name, seed, **more):
    """A fitted model, its table and the sensitive columns."""
    rng = np.random.default_rng(seed)
    model, kind = make_model(library, name, seed, **more)
    X = table(rng, text=rng.random() < 0.6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, target(rng, X, kind))
    return model, X, ["s"] if rng.random() < 0.6 else ["s", "b"]


def response_of(model):
    """What is asked of a model, as an auditor would choose."""
    return "predict_proba" if hasattr(model, "predict_proba") else "regression"


def enumerated_degree(model, space, response):
    """The largest difference between twins in a finite domain, by the model's own answers."""
    grids = [
        np.arange(space.domain.low[j], space.domain.high[j] + 1) for j in range(space.n_features)
    ]
    order = [*space.non_sensitive, *space.sensitive]
    rows = np.array(list(itertools.product(*[grids[j] for j in order])))
    Z = np.empty_like(rows)
    Z[:, order] = rows
    asked = Model(model, space, response_method="auto", n_jobs=None)
    asked.response = response
    answers = asked.ask(Z)[0]
    n_twins = int(np.prod([len(grids[j]) for j in space.sensitive]))
    answers = answers.reshape(len(Z) // n_twins, n_twins, -1)
    return float((answers.max(axis=1) - answers.min(axis=1)).max())
