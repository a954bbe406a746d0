"""XGBoost and LightGBM: what is read is what they predict, and bounds of it hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from boosting_cases import (
    NAMES,
    enumerated_degree,
    make_case,
    make_model,
    response_of,
    table,
    target,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
)

from skfairtest import CertifiedAuditor, MarginalizedRegressor, Order, RandomAuditor, certify
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._verifier import SolverLimits
from skfairtest.oracle._model import Model
from skfairtest.space._space import InputSpace

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.services("xgboost", "lightgbm")]

EVERY_LIBRARY = pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
#: What rounding may change in outputs of single precision.
SINGLE = 1e-5


def read(model, X, sensitive, response=None):
    """The verifier of a fitted model, and its space."""
    space = InputSpace().fit(X, sensitive)
    rng = np.random.default_rng(0)
    verifier, _ = read_verifier(model, space, response or response_of(model), False, rng)
    return verifier, space


def own_answers(model, space, Z):
    asked = Model(model, space, response_method="auto", n_jobs=None)
    return asked.ask(Z)[0]


def check_enumerated(library, model, X, sensitive):
    """The gap is closed, and both bounds are the largest difference that there is."""
    verifier, space = read(model, X, sensitive)
    result = verifier.solve(0.0, SolverLimits(np.inf, 1e-12))
    degree = enumerated_degree(model, space, response_of(model))
    tolerance = (SINGLE if library == "xgboost" else 1e-9) * max(1.0, degree)
    assert result.lower == pytest.approx(degree, abs=tolerance)
    assert result.upper == pytest.approx(degree, abs=tolerance)
    assert result.upper + 2 * verifier.rounding >= degree
    return degree


@pytest.mark.parametrize(("library", "name"), NAMES, ids=[f"{a} {b}" for a, b in NAMES])
def test_bounds_are_the_largest_difference(library, name):
    degrees = [check_enumerated(library, *make_case(library, name, seed)) for seed in range(3)]
    assert max(degrees) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("library", "name"), NAMES, ids=[f"{a} {b}" for a, b in NAMES])
def test_bounds_are_the_largest_difference_of_many(library, name):
    for seed in range(100, 160):
        check_enumerated(library, *make_case(library, name, seed))


@pytest.mark.parametrize(
    ("library", "name"),
    [("xgboost", "squared"), ("xgboost", "two classes"), ("xgboost", "poisson"),
     ("lightgbm", "squared"), ("lightgbm", "three classes")],
)  # fmt: skip
def test_the_auditor_certifies(library, name):
    model, X, sensitive = make_case(library, name, 6, n_estimators=6)
    auditor = CertifiedAuditor(
        model, sensitive_features=sensitive, max_queries=300, random_state=0, engine="numpy"
    ).fit(X)
    degree = enumerated_degree(model, auditor.space_, response_of(model))
    assert CertifiedAuditor.supports(model)
    assert auditor.certified_
    assert degree > 0
    assert auditor.fairness_degree_ == pytest.approx(degree, rel=SINGLE)
    assert degree <= auditor.fairness_degree_upper_bound_ <= degree * (1 + 10 * SINGLE) + SINGLE
    assert ("single precision" in auditor.stop_reason_) == (library == "xgboost")
    found = RandomAuditor(model, sensitive_features=sensitive, max_queries=50, random_state=0)
    assert certify(found.fit(X), engine="numpy").certified


# Tables --------------------------------------------------------------------------------------


def mixed_frame(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "s": rng.choice(["a", "b", "c"], n),
            "c": pd.Series(rng.choice(np.array(["u", "v", None], dtype=object), n), dtype=object),
            "k": rng.integers(0, 5, n),
            "x": rng.normal(size=n),
        }
    )
    y = (X["s"] == "a") * (X["x"] + 1) + X["k"] * (X["c"] == "u")
    return X, y.to_numpy(dtype=float)


def small(library, kind="squared", **more):
    size = {"max_depth": 4} if library == "xgboost" else {"num_leaves": 9}
    return make_model(library, kind, 3, **{"n_estimators": 6, **size, **more})[0]


def check_closed(model, X, sensitive, response=None):
    """The gap is closed, the model shows the lower bound, and no random pair shows more."""
    verifier, space = read(model, X, sensitive, response)
    result = verifier.solve(0.0, SolverLimits(np.inf, 1e-9))
    tolerance = max(verifier.single_tolerance(1.0), 1e-9)
    assert result.upper - result.lower <= tolerance
    assert result.twins is not None
    one, two = own_answers(model, space, np.stack(result.twins))
    assert np.abs(one - two).max() == pytest.approx(result.lower, abs=tolerance)
    rng = np.random.default_rng(1)
    Z, other = space.domain.draw(2000, rng), space.domain.draw(2000, rng)
    other[:, space.non_sensitive] = Z[:, space.non_sensitive]
    gaps = np.abs(own_answers(model, space, Z) - own_answers(model, space, other))
    assert gaps.max() <= result.upper + tolerance
    return verifier, space


@EVERY_LIBRARY
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [False, True], ids=["plain", "scaled"])
def test_models_behind_one_hot_encoders(library, sparse, scale):
    X, y = mixed_frame()
    rest = StandardScaler() if scale else "passthrough"
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=sparse), ["s", "c"]),
        (rest, ["k", "x"]),
        sparse_threshold=1.0 if sparse else 0.0,
    )
    model = make_pipeline(encode, small(library)).fit(X, y)
    check_closed(model, X, "s")
    finite = X.drop(columns="x")
    encode.set_params(transformers=[(a, b, c if a == "onehotencoder" else ["k"])
                                    for a, b, c in encode.transformers])  # fmt: skip
    model = make_pipeline(encode, small(library)).fit(finite, y)
    check_enumerated(library, model, finite, "s")


@EVERY_LIBRARY
def test_missing_values_behind_an_encoder(library):
    X, y = mixed_frame()
    finite = X.drop(columns="x")
    encode = make_column_transformer(
        (OrdinalEncoder(), ["s"]),
        (
            OrdinalEncoder(
                categories=[["u", "v"]], handle_unknown="use_encoded_value", unknown_value=np.nan
            ),
            ["c"],
        ),
        remainder="passthrough",
    )
    model = make_pipeline(encode, small(library)).fit(finite, y)
    assert np.isnan(np.asarray(encode.fit_transform(finite), dtype=float)).any()
    assert check_enumerated(library, model, finite, "s") > 0
    model = small(library).fit(finite.astype({"s": "category", "c": "category"}), y)
    check_enumerated(library, model, finite.astype({"s": "category", "c": "category"}), "s")


@EVERY_LIBRARY
@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "frame"])
def test_real_and_long_columns(library, kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 150), rng.normal(size=(150, 2))])
    y = X[:, 0] * (X[:, 1] > 0.3) + np.sin(3 * X[:, 2])
    if kind == "int64":
        X = (X * [1, 1e8, 3e8]).astype(np.int64)  # more digits than single precision has
    X = pd.DataFrame(X, columns=list("abc")) if kind == "frame" else X.astype(kind)
    verifier, space = check_closed(small(library).fit(X, y), X, [0])
    # Rows at the borders of cells, where "below" and "at most" differ.
    Z = verifier.rows(3000, np.random.default_rng(2))
    off = np.abs(verifier.evaluate(Z) - own_answers(small(library).fit(X, y), space, Z))
    assert off.max() <= 2 * verifier.rounding


@pytest.mark.parametrize(
    ("library", "more"), [("xgboost", {"missing": 0}), ("lightgbm", {"zero_as_missing": True})]
)
def test_a_mark_of_missing_values_inside_a_real_column(library, more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[rng.random((200, 3)) < 0.3] = 0
    X[:, 0] = rng.integers(1, 4, 200)
    y = X[:, 1] * X[:, 0] + 5 * (X[:, 1] == 0) + 3 * (X[:, 2] == 0) * X[:, 0]
    model = small(library, **more).fit(X, y)
    verifier, space = check_closed(model, X, [0])
    Z = verifier.rows(2000, rng)
    Z[rng.random(Z.shape) < 0.3] = 0
    Z = space.domain.clip(Z)
    assert (Z[:, 1:] == 0).any()
    off = np.abs(verifier.evaluate(Z) - own_answers(model, space, Z)).max()
    assert off <= 2 * verifier.rounding
    as_numbers = small(library).fit(X, y)
    assert np.abs(as_numbers.predict(X) - model.predict(X)).max() > 0.01


def test_zeros_of_sparse_splines_are_missing_where_they_are_not_stored():
    rng = np.random.default_rng(0)
    # Real columns to a tree, and few enough values to enumerate them.
    X = pd.DataFrame({"s": rng.integers(0, 2, 3000), "v": rng.integers(0, 2501, 3000)})
    X.loc[:1, "v"] = [0, 2500]
    splines = SplineTransformer(5, degree=1, sparse_output=True)
    encode = make_column_transformer(
        (splines, ["v"]), (OneHotEncoder(), ["s"]), sparse_threshold=1.0
    )
    y = X["s"] * (np.abs(X["v"] - 1250) < 300) * 2.0 + np.sin(X["v"] / 500)
    model = make_pipeline(encode, small("xgboost", n_estimators=15, max_depth=4)).fit(X, y)
    stored = encode.transform(X.drop_duplicates()).tocsr()
    assert (stored.data == 0).any()  # at knots
    check_enumerated("xgboost", model, X, ["s"])


def test_numbers_next_to_zero_in_sparse_tables():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.uniform(-1, 1, 300)])
    X[rng.random(300) < 0.3, 1] = 0
    X[0, 1] = 1  # so that numbers are divided by one
    scale = make_column_transformer(
        (MaxAbsScaler(), [1]), (OneHotEncoder(), [0]), sparse_threshold=1.0
    )
    y = X[:, 0] * (X[:, 1] >= 0) + (X[:, 1] > 0)
    model = make_pipeline(scale, small("lightgbm")).fit(X, y)
    verifier, space = check_closed(model, X, [0])
    # LightGBM makes such numbers zero in other tables, and compares them here.
    zero = float(np.float32(1e-35))
    Z = np.array([[s, x] for s in (0, 1) for x in (-2 * zero, -zero, -zero / 2, 0, zero / 2, zero)])
    Z = np.vstack([Z, np.nextafter(Z, -np.inf) * [0, 1] + Z * [1, 0]])
    np.testing.assert_allclose(verifier.evaluate(Z), own_answers(model, space, Z), atol=1e-12)


def test_columns_of_polars_with_categories():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    X = polars.DataFrame({"s": rng.integers(0, 2, 200), "c": rng.choice(list("uvw"), 200)})
    y = X["s"].to_numpy() * (X["c"] == "v").to_numpy() + 0.1 * rng.random(200)
    known = X.with_columns(polars.col("c").cast(polars.Enum(["w", "u", "v"])))
    model = small("xgboost", enable_categorical=True).fit(known, y)
    other = X.with_columns(polars.col("c").cast(polars.Enum(["u", "v", "w"])))
    for data in (known, other):
        check_enumerated("xgboost", model, data, ["s"])


def test_isotonic_calibration_of_single_precision():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 900), rng.normal(size=(900, 3)).round(1)])
    y = X[:, 0] * (X[:, 1] > 0.2) + 0.6 * rng.normal(size=900) > 0.8
    inner = small("xgboost", "two classes", n_estimators=12)
    model = CalibratedClassifierCV(inner, method="isotonic", cv=2).fit(X, y.astype(int))
    verifier, space = read(model, X, [0])
    result = verifier.solve(0.0, SolverLimits(np.inf, 0.01))
    Z = np.repeat(space.domain.draw(4000, rng), 2, axis=0)
    Z[:, 0] = np.tile([0, 1], 4000)
    outputs = own_answers(model, space, Z)
    low, high = verifier.reach(Z)
    assert ((low <= outputs) & (outputs <= high)).all()
    assert np.abs(outputs[::2] - outputs[1::2]).max() <= result.upper + 2 * verifier.rounding
    assert result.upper < 1
    # So steep that what is stated of its own rounding says nothing.
    assert verifier.rounding + 1e-9 < np.abs(outputs - verifier.evaluate(Z)).max()


@EVERY_LIBRARY
def test_categories_in_another_order_than_at_training(library):
    model, X, _ = make_case(library, "squared", 1, n_estimators=8)
    assert isinstance(X["s"].dtype, pd.CategoricalDtype)
    other = X.copy()
    for name in ("s", "c"):
        other[name] = X[name].cat.reorder_categories(list(X[name].cat.categories)[::-1])
    np.testing.assert_array_equal(model.predict(other), model.predict(X))
    one, two = (check_enumerated(library, model, data, ["s"]) for data in (X, other))
    assert one == two > 0


@EVERY_LIBRARY
def test_early_stopping_cuts_the_ensemble(library):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (200, 4)), columns=list("abcd"))
    y = X["a"] * X["b"] + rng.normal(size=200)
    model = small(library, n_estimators=60)
    settings = {"eval_set": [(X[:40], y[:40])]}
    if library == "xgboost":
        model.set_params(early_stopping_rounds=3).fit(X[40:], y[40:], verbose=False, **settings)
        n_kept, best = model.get_booster().num_boosted_rounds(), model.best_iteration + 1
    else:
        import lightgbm

        stop = lightgbm.early_stopping(3, verbose=False)
        model.fit(X[40:], y[40:], callbacks=[stop], **settings)
        n_kept, best = 60, model.best_iteration_
    assert best < n_kept
    check_enumerated(library, model, X, ["a"])


@EVERY_LIBRARY
def test_bagging_and_voting(library):
    X, y = mixed_frame()
    X = X[["k", "x"]].to_numpy()
    for model in (
        BaggingRegressor(small(library), 3, max_features=0.6, random_state=0),
        VotingRegressor([("a", small(library)), ("b", small(library, n_estimators=3))]),
    ):
        check_closed(model.fit(X, y), X, [0])
    for model in (
        BaggingClassifier(small(library, "two classes"), 3, random_state=0),
        VotingClassifier(
            [("a", small(library, "two classes")), ("b", small(library, "dart of classes"))],
            voting="soft",
        ),
    ):
        check_closed(model.fit(X, y > 1), X, [0])


@EVERY_LIBRARY
def test_wrappers_of_this_package_and_constraints(library):
    X, _ = mixed_frame()
    X = X[["k", "x"]].assign(b=np.arange(len(X)) % 3)
    y = X["x"] * X["b"] + X["b"] * X["k"]
    settings = {"sensitive_features": ["b"], "max_queries": 300, "random_state": 0}
    degrees = []
    for model in (small(library), MarginalizedRegressor(small(library), sensitive_features=["b"],
                                                        strength=0.5)):  # fmt: skip
        auditor = CertifiedAuditor(model.fit(X, y), engine="numpy", **settings).fit(X)
        assert auditor.certified_
        degrees.append(auditor.fairness_degree_)
    assert degrees[1] == pytest.approx(degrees[0] / 2, rel=SINGLE)
    valid = X[X["b"] <= X["k"]]
    order = Order("b", "<=", "k")
    auditor = CertifiedAuditor(
        small(library).fit(X, y), space=InputSpace(constraint=order), **settings
    ).fit(valid)
    assert auditor.certified_
    assert 0 < auditor.fairness_degree_ <= degrees[0]
    search = GridSearchCV(small(library), {"n_estimators": [2, 4]}, cv=2).fit(X, y)
    check_closed(search, X, ["b"])


def test_raw_scores_of_lightgbm():
    X, y = mixed_frame()
    X = X[["k", "x"]]
    for name, labels in (("two classes", y > 1), ("forest of classes", y > 1),
                         ("three classes", np.digitize(y, [0, 1]))):  # fmt: skip
        model = small("lightgbm", name).fit(X, labels)
        if not hasattr(model, "decision_function"):
            pytest.skip("this version has no decision_function")
        auditor = CertifiedAuditor(
            model, sensitive_features="k", response_method="decision_function", max_queries=300,
            random_state=0, engine="numpy",
        ).fit(X)  # fmt: skip
        assert auditor.certified_ and auditor.fairness_degree_ > 0


def test_single_precision_is_in_the_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = 1000 + X[:, 0] * X[:, 1] + 10 * (X[:, 2] > 0)
    model = small("xgboost", n_estimators=300, learning_rate=0.05, max_depth=5).fit(X, y)
    verifier, space = read(model, X, [2])
    Z = space.domain.draw(5000, rng)
    off = np.abs(verifier.evaluate(Z) - own_answers(model, space, Z)).max()
    assert 1e-6 < off <= verifier.rounding < 1e-4 * 1000
    assert verifier.single_tolerance(0.0) >= 4 * off


def test_features_that_no_tree_uses_and_models_without_trees():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 3)).astype(float)
    for model in (
        small("xgboost").fit(X, X[:, 0]),
        small("xgboost", n_estimators=0).fit(X, X[:, 0]),
        small("lightgbm").fit(X, X[:, 0]),
        small("lightgbm").fit(X, np.ones(60)),
        small("xgboost", "two classes", n_estimators=0).fit(X, X[:, 0] > 1),
    ):
        auditor = CertifiedAuditor(model, sensitive_features=[1], max_queries=100, engine="numpy")
        auditor.fit(X)
        assert auditor.certified_ and auditor.fairness_degree_upper_bound_ == 0


def test_linear_models_of_xgboost_are_refused():
    X, y = mixed_frame()
    X = X[["k", "x"]]
    import xgboost

    model = xgboost.XGBRegressor(booster="gblinear", n_estimators=3, n_jobs=1).fit(X, y)
    with pytest.raises(ValueError, match="booster='gblinear' has no trees"):
        CertifiedAuditor(model, sensitive_features="k", max_queries=99).fit(X)


# CatBoost ------------------------------------------------------------------------------------


CATBOOST = {
    "squared": ("real", {}),
    "quantile": ("real", {"loss_function": "Quantile:alpha=0.3", "grow_policy": "Depthwise"}),
    "leaf by leaf": ("real", {"grow_policy": "Lossguide"}),
    "poisson": ("positive", {"loss_function": "Poisson"}),
    "two classes": (2, {}),
    "three classes": (3, {}),
    "two of several classes": (2, {"loss_function": "MultiClass"}),
}


def cat_model(kind, **settings):
    import catboost

    cls = catboost.CatBoostRegressor if isinstance(kind, str) else catboost.CatBoostClassifier
    common = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return cls(**common, **{"n_estimators": 6, "depth": 4, "learning_rate": 0.5, **settings})


@pytest.mark.services("catboost")
@pytest.mark.parametrize("name", CATBOOST)
def test_catboost_on_numbers(name):
    kind, settings = CATBOOST[name]
    degrees = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = table(rng, text=False)
        model = cat_model(kind, **settings).fit(X, target(rng, X, kind))
        degrees.append(check_enumerated("catboost", model, X, ["s"]))
    assert max(degrees) > 0


@pytest.mark.services("catboost")
def test_catboost_behind_an_encoder_and_on_real_columns():
    X, y = mixed_frame()
    encode = make_column_transformer((OneHotEncoder(), ["s", "c"]), remainder="passthrough")
    model = make_pipeline(encode, cat_model("real")).fit(X, y)
    verifier, space = check_closed(model, X, "s")
    Z = verifier.rows(2000, np.random.default_rng(0))
    off = np.abs(verifier.evaluate(Z) - own_answers(model, space, Z)).max()
    assert off <= 2 * verifier.rounding
    finite = X.drop(columns=["x", "c"]).assign(c=np.where(X["c"].isna(), np.nan, X["k"] > 1))
    encode = make_column_transformer(
        (OrdinalEncoder(), ["s"]), (OrdinalEncoder(), ["c"]), remainder="passthrough"
    )
    model = make_pipeline(encode, cat_model("real")).fit(finite, y)
    check_closed(model, finite, "s")


@pytest.mark.services("catboost")
def test_catboost_with_categories_is_refused():
    X, y = mixed_frame()
    model = cat_model("real", cat_features=["s"]).fit(X[["s", "x"]], y)
    with pytest.raises(ValueError, match="categorical features.*statistics and hashes.*OneHot"):
        CertifiedAuditor(model, sensitive_features="s", max_queries=100).fit(X[["s", "x"]])
    model = cat_model(2, loss_function="CrossEntropy").fit(X[["k", "x"]], y > 1)
    check_closed(model, X[["k", "x"]], "k")
    model = cat_model("real", loss_function="RMSEWithUncertainty").fit(X[["k", "x"]], y)
    with pytest.raises(ValueError, match="RMSEWithUncertainty.*Expected one of"):
        CertifiedAuditor(model, sensitive_features="k", max_queries=100).fit(X[["k", "x"]])


# Refusals ------------------------------------------------------------------------------------


def fitted(library, name="squared", classes=False, **more):
    X, y = mixed_frame()
    X = X[["k", "x"]]
    return small(library, name, **more).fit(X, (y > 1).astype(int) if classes else y), X


@EVERY_LIBRARY
def test_raw_boosters_are_refused_by_the_name_of_their_wrapper(library):
    model, X = fitted(library)
    booster = model.get_booster() if library == "xgboost" else model.booster_
    wrapper = "XGBClassifier or XGBRegressor" if library == "xgboost" else "LGBMClassifier or LGBM"
    assert not CertifiedAuditor.supports(booster)
    with pytest.raises(ValueError, match=f"raw Booster of {library}.*{wrapper}"):
        CertifiedAuditor(booster, sensitive_features="k").fit(X)


@pytest.mark.parametrize(
    ("library", "name", "more", "message"),
    [
        ("xgboost", "two classes", {"objective": "binary:hinge"}, "binary:hinge.*Expected one of"),
        ("lightgbm", "squared", {"linear_tree": True}, "linear_tree, whose leaves are linear"),
        ("lightgbm", "two classes", {"pred_early_stop": True}, "with pred_early_stop"),
        ("lightgbm", "poisson", {"objective": "regression", "reg_sqrt": True}, "reg_sqrt=False"),
        (
            "lightgbm", "two classes", {"objective": "cross_entropy_lambda"},
            "cross_entropy_lambda.*response_method='decision_function'",
        ),
    ],
)  # fmt: skip
def test_settings_that_are_not_read_are_refused(library, name, more, message):
    X, _ = mixed_frame()
    X = X[["k", "x"]]
    model, kind = make_model(library, name, 3, **more)
    model.fit(X, target(np.random.default_rng(0), X, kind))
    with pytest.raises(ValueError, match=message):
        CertifiedAuditor(model, sensitive_features="k", max_queries=100).fit(X)


def test_leaves_with_vectors_and_several_targets():
    X, y = mixed_frame()
    X = X[["k", "x"]]
    both = np.column_stack([y, -(y**2)])
    model = small("xgboost", multi_strategy="multi_output_tree").fit(X, both)
    with pytest.raises(ValueError, match="one_output_per_tree"):
        CertifiedAuditor(model, sensitive_features="k", max_queries=100).fit(X)
    check_closed(small("xgboost").fit(X, both), X, "k")
    labels = (both > 1).astype(int)
    model = small("xgboost", "two classes").fit(X, labels)
    with pytest.raises(ValueError, match="2 targets; expected one for a classifier"):
        CertifiedAuditor(model, sensitive_features="k", max_queries=100).fit(X)


@EVERY_LIBRARY
def test_subclasses_rankers_and_replaced_methods_are_refused(library):
    model, X = fitted(library)
    cls = type(model)

    class Own(cls):
        def predict(self, X, **settings):
            return super().predict(X, **settings) + 1

    own = Own(**{key: v for key, v in model.get_params().items() if v is not None})
    assert not CertifiedAuditor.supports(own)
    with pytest.raises(ValueError, match="may predict otherwise than"):
        CertifiedAuditor(own.fit(X, X["x"]), sensitive_features="k", max_queries=100).fit(X)
    other, _ = fitted(library)
    booster = other.get_booster() if library == "xgboost" else other.booster_
    asked = "inplace_predict" if library == "xgboost" else "predict"
    setattr(booster, asked, getattr(booster, asked))
    with pytest.raises(ValueError, match="replaced on the instance"):
        CertifiedAuditor(other, sensitive_features="k", max_queries=100).fit(X)
    import lightgbm
    import xgboost

    ranker = xgboost.XGBRanker() if library == "xgboost" else lightgbm.LGBMRanker()
    assert not CertifiedAuditor.supports(ranker)


def test_codes_given_as_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 200), rng.integers(0, 5, 200)]).astype(float)
    y = (X[:, 1] % 2) * X[:, 0] + X[:, 1]
    coded = small("xgboost", feature_types=["q", "c"], max_cat_to_onehot=1).fit(X, y)
    light = small("lightgbm").fit(X, y, categorical_feature=[1])
    # Below zero, between whole numbers, and beyond what was seen.
    values = [-1.0, -0.5, 0.0, 0.5, 1.0, 2.7, 4.0, 40.0]
    for model in (coded, light):
        space = InputSpace(categories={1: values}).fit(X, [0])
        verifier, _ = read_verifier(model, space, "regression", False, rng)
        Z = space.domain.draw(300, rng)
        assert len(np.unique(Z[:, 1])) == len(values)
        off = np.abs(verifier.evaluate(Z) - own_answers(model, space, Z)).max()
        assert off <= 2 * verifier.rounding
        result = verifier.solve(0.0, SolverLimits(np.inf, 1e-9))
        assert result.upper == pytest.approx(enumerated_degree(model, space, "regression"))


def test_names_of_categories_beyond_ascii():
    rng = np.random.default_rng(0)
    names = np.array(["é", "zz", "ü"])
    X = pd.DataFrame({"s": pd.Categorical(rng.choice(names, 100)), "k": rng.integers(0, 3, 100)})
    y = (X["s"] == "é") * X["k"]
    model = small("xgboost").fit(X, y)
    assert check_enumerated("xgboost", model, X, "s") > 0
    other = X.assign(s=X["s"].cat.reorder_categories(["ü", "zz", "é"]))
    with pytest.raises(ValueError, match="confuses categories with non-ASCII letters"):
        read(model, other, "s")
    light = small("lightgbm").fit(X, y)
    assert check_enumerated("lightgbm", light, other, "s") > 0


def test_a_model_that_was_read_wrongly_is_refused():
    model, X = fitted("xgboost")
    # Its own trees are cut at another round than the ones it was saved with.
    model.get_booster().set_attr(best_iteration="1")
    CertifiedAuditor(model, sensitive_features="k", max_queries=100, engine="numpy").fit(X)
    import skfairtest.whitebox._xgboost as reader

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_n_predicting", lambda model, kept: len(kept["trees"]))
        with pytest.raises(ValueError, match="gives other outputs"):
            CertifiedAuditor(model, sensitive_features="k", max_queries=100).fit(X)


@EVERY_LIBRARY
def test_newer_formats_are_refused(library, monkeypatch):
    model, X = fitted(library)
    if library == "xgboost":
        import skfairtest.whitebox._xgboost as reader
    else:
        import skfairtest.whitebox._lightgbm as reader
    monkeypatch.setattr(reader, "NEWEST", 1)
    with pytest.raises(ValueError, match="not known.*Expected v?1 or older"):
        CertifiedAuditor(model, sensitive_features="k", max_queries=100).fit(X)
