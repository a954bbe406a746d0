"""Random small models on random small tables, for the tests of certified bounds."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

SCALERS = [StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler]


def table(rng, *, real, n=60):
    """A frame with a sensitive column `s`, maybe a second one, and others of all kinds."""
    k = rng.integers(2, 5)
    frame = pd.DataFrame({"s": rng.permutation(np.arange(n) % k)})
    if rng.random() < 0.5:
        frame["s"] = pd.Series(
            np.array(["p", "q", "r", "t"], dtype=object)[frame["s"]], dtype=object
        )
    frame["age"] = rng.integers(0, rng.integers(2, 6), n)
    frame["c"] = pd.Series(
        rng.choice(np.array(["u", "v", "w", None], dtype=object), n), dtype=object
    )
    frame["one"] = 3
    frame["b"] = rng.integers(0, 2, n)
    if real:
        scale = 10.0 ** rng.integers(-3, 6)
        frame["x"] = rng.normal(size=n) * scale + rng.choice([0.0, 7 * scale])
        frame["y"] = rng.choice([0.1, 0.2, 0.3, 0.7], n) + (rng.random(n) < 0.5) * rng.random(n)
        if rng.random() < 0.3:
            frame["y"] = frame["y"].astype(np.float32)
    sensitive = ["s"] if rng.random() < 0.6 else ["s", "b"]
    return frame, sensitive


def target(rng, frame):
    codes = frame.apply(lambda column: pd.factorize(column)[0]).to_numpy(dtype=float, copy=True)
    if "x" in frame:
        x = frame["x"].to_numpy()
        codes[:, list(frame).index("x")] = (x - x.mean()) / x.std()
    W = rng.normal(size=(codes.shape[1], 2))
    y = codes @ W[:, 0] + codes[:, 0] * np.sin(codes @ W[:, 1])
    return y + 0.1 * rng.normal(size=len(y))


def encoded(rng, frame, model, y):
    """The model behind encoders and scalers of random kinds."""
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    numbers = [name for name in frame if name not in texts]
    kind = rng.integers(3)
    if kind == 0:
        encode = OneHotEncoder(
            handle_unknown="ignore",
            sparse_output=bool(rng.integers(2)),
            drop=[None, "first", "if_binary"][rng.integers(3)],
        )
    elif kind == 1:
        encode = OrdinalEncoder(encoded_missing_value=-1)
    else:
        encode = make_pipeline(
            SimpleImputer(missing_values=None, strategy="most_frequent"),
            OneHotEncoder(min_frequency=int(rng.integers(1, 25)), handle_unknown="ignore"),
        )
    scale = SCALERS[rng.integers(len(SCALERS))]()
    if rng.random() < 0.3:
        scale = make_pipeline(SimpleImputer(), scale)
    if rng.random() < 0.2:
        scale = "passthrough"
    columns = make_column_transformer((encode, texts), (scale, numbers))
    return make_pipeline(columns, model).fit(frame, y)


def tree_models(rng, seed):
    """Models of trees, for regression and for classification."""
    depth = int(rng.integers(1, 6))
    n = int(rng.integers(1, 8))
    leafy = {"max_leaf_nodes": int(rng.integers(2, 20))} if rng.random() < 0.3 else {}
    small = {"max_depth": depth, "random_state": seed, **leafy}
    regressors = [
        DecisionTreeRegressor(**small),
        RandomForestRegressor(n, **small),
        ExtraTreesRegressor(n, **small),
        GradientBoostingRegressor(n_estimators=n, learning_rate=0.5, **small),
        HistGradientBoostingRegressor(max_iter=n, min_samples_leaf=3, max_depth=depth),
        HistGradientBoostingRegressor(loss="poisson", max_iter=n, min_samples_leaf=3),
        BaggingRegressor(DecisionTreeRegressor(**small), n, max_features=0.8, random_state=seed),
        VotingRegressor(
            [
                ("tree", DecisionTreeRegressor(**small)),
                ("boosted", GradientBoostingRegressor(n_estimators=n, **small)),
            ],
            weights=[1, 3],
        ),
    ]
    classifiers = [
        DecisionTreeClassifier(**small),
        RandomForestClassifier(n, **small),
        GradientBoostingClassifier(n_estimators=n, learning_rate=0.7, **small),
        GradientBoostingClassifier(n_estimators=n, loss="exponential", **small),
        HistGradientBoostingClassifier(max_iter=n, min_samples_leaf=3),
        BaggingClassifier(DecisionTreeClassifier(**small), n, random_state=seed),
        VotingClassifier(
            [
                ("forest", RandomForestClassifier(n, **small)),
                ("boosted", GradientBoostingClassifier(n_estimators=n, **small)),
            ],
            voting="soft",
        ),
    ]
    return regressors, classifiers


def flat_models(rng, seed):
    """Linear models and networks."""
    units = tuple(int(u) for u in rng.integers(1, 6, size=rng.integers(1, 3)))
    quick = {"max_iter": 30, "random_state": seed}
    regressors = [
        LinearRegression(),
        Ridge(),
        ElasticNet(alpha=0.01),
        LinearSVR(random_state=seed),
        MLPRegressor(hidden_layer_sizes=units, **quick),
    ]
    classifiers = [
        LogisticRegression(),
        RidgeClassifier(),
        LinearSVC(random_state=seed),
        SGDClassifier(loss="log_loss", random_state=seed),
        MLPClassifier(units, **quick),
    ]
    return regressors, classifiers


def make_case(seed, *, family, real):
    """A fitted model, its table and the sensitive columns."""
    rng = np.random.default_rng(seed)
    frame, sensitive = table(rng, real=real)
    y = target(rng, frame)
    regressors, classifiers = (tree_models if family == "trees" else flat_models)(rng, seed)
    pool = regressors if rng.random() < 0.5 else classifiers
    model = pool[rng.integers(len(pool))]
    if pool is classifiers:
        n_classes = 2 if rng.random() < 0.7 or "exponential" in repr(model) else 3
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
    elif "poisson" in repr(model):
        y = np.exp(y / np.abs(y).max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = "Hist" in repr(model) and rng.random() < 0.5
        if plain and "HistGradientBoosting" in type(model).__name__:
            for name in frame:
                if not pd.api.types.is_numeric_dtype(frame[name]):
                    frame[name] = frame[name].astype("category")
            return model.fit(frame, y), frame, sensitive
        return encoded(rng, frame, model, y), frame, sensitive
