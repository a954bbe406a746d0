"""Certificates behind the steps that people use: against enumeration, and against searches."""

from __future__ import annotations

import numpy as np
import pytest
from certify_cases import certified, check_finite, check_real, in_turn, small_table, some
from certify_models import BENDING, ENCODERS, TABLES
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_transformer,
)
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_selection import (
    VarianceThreshold,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVR
from tiers import slow_sample

from skfairtest import CertifiedAuditor, InputSpace
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._unwrap import flat_steps

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

TEXT, WHOLE, REAL = ["s", "c"], ["a", "b"], ["x", "y"]
FOREST = RandomForestRegressor(4, max_depth=4, random_state=0)


def encoded(step, columns, **settings):
    """The step on some columns, one-hot codes of text, the others as they are."""
    return ColumnTransformer(
        [("text", OneHotEncoder(), TEXT), ("step", step, columns)],
        remainder="passthrough",
        **settings,
    )


# Columns of finitely many values: tables, whatever the step --------------------------------


@pytest.mark.parametrize(("kind", "model"), in_turn(TABLES, {"forest": FOREST, "linear": Ridge()}))
def test_a_finite_column_is_a_table_behind_any_step_on_single_columns(kind, model):
    X, y = small_table(1)
    columns = ["a"] if kind in ("box-cox", "cotangents", "two ways") else WHOLE
    check_finite(make_pipeline(encoded(TABLES[kind], columns), model).fit(X, y), X)


@pytest.mark.parametrize(
    ("kind", "model"), in_turn(ENCODERS, {"forest": FOREST, "linear": LinearRegression()})
)
def test_encoders_in_all_their_ways(kind, model):
    X, y = small_table(2)
    columns = make_column_transformer((ENCODERS[kind], TEXT), remainder="passthrough")
    check_finite(make_pipeline(columns, model).fit(X, y), X)


@slow_sample
def test_unknown_categories_are_what_the_encoder_makes_of_them():
    X, y = small_table(3)
    codes = [OneHotEncoder(handle_unknown="ignore"),
             OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
             TargetEncoder(cv=2)]  # fmt: skip
    for encoder in codes:
        model = make_pipeline(
            make_column_transformer((encoder, TEXT), remainder="passthrough"), FOREST
        ).fit(X, y)
        categories = {"c": ["u", "v", "w", "z", "never seen"], "s": ["p", "q", "r", "other"]}
        auditor = check_finite(model, X, space=InputSpace(categories=categories))
        assert "other" in auditor.space_.domain.columns[0].levels


@slow_sample
def test_missing_categories_and_numbers_with_indicators():
    X, y = small_table(4)
    X["c"] = X["c"].astype(object).where(np.arange(len(X)) % 9 > 0, np.nan)
    X["a"] = X["a"].where(np.arange(len(X)) % 7 > 0)
    fill = SimpleImputer(strategy="most_frequent", add_indicator=True)
    columns = make_column_transformer(
        (make_pipeline(fill, OneHotEncoder()), ["c"]),
        (OneHotEncoder(), ["s"]),
        (SimpleImputer(add_indicator=True), ["a"]),
        remainder="passthrough",
    )
    for model in (FOREST, Ridge()):
        fitted = make_pipeline(columns, model).fit(X, y)
        auditor = check_finite(
            fitted, X, space=InputSpace(categories={"a": [1.0, 2.0, 4.0, np.nan]})
        )
        assert None in auditor.space_.domain.columns[2].levels


@slow_sample
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(kind):
    pytest.importorskip(kind)
    X, y = small_table(5)
    columns = ColumnTransformer(
        [("text", OneHotEncoder(sparse_output=False), TEXT), ("bins", KBinsDiscretizer(
            3, encode="onehot-dense", strategy="uniform"), WHOLE)]
    )  # fmt: skip
    union = make_union(StandardScaler(), FunctionTransformer(np.cbrt))
    model = make_pipeline(columns, union, VarianceThreshold(), FOREST).set_output(transform=kind)
    check_finite(model.fit(X, y), X)


@slow_sample
def test_nested_pipelines_and_networks():
    X, y = small_table(6)
    net = MLPRegressor(hidden_layer_sizes=(6,), solver="lbfgs", max_iter=100, random_state=0)
    inner = make_pipeline(encoded(make_pipeline(PowerTransformer(), StandardScaler()), WHOLE), net)
    check_finite(make_pipeline("passthrough", inner).fit(X, y), X, rtol=1e-6, exact=False)


# Steps that mix columns, before linear models and networks ---------------------------------


def behind_mixing(model):
    """The model behind PCA of all columns, of a branch, and of a union."""
    codes = ("text", OneHotEncoder(sparse_output=False), TEXT)
    scaled = make_pipeline(StandardScaler(), PCA(2, whiten=True))
    numbers = ["a", "b", "x", "y"]

    def columns(step, real):
        return ColumnTransformer([codes, ("step", step, numbers if real else WHOLE)])

    return [
        lambda real: make_pipeline(columns(StandardScaler(), real), PCA(3), MinMaxScaler(), model),
        lambda real: make_pipeline(columns(scaled, real), StandardScaler(), model),
        lambda real: make_pipeline(
            columns(PowerTransformer(), real), make_union("passthrough", PCA(1)), model
        ),
        lambda real: make_pipeline(
            columns("passthrough", real), StandardScaler(), TruncatedSVD(3), model
        ),
    ]


@slow_sample
@pytest.mark.parametrize("kind", some(range(4), (0, 1, 3)))
def test_mixed_columns_before_linear_models(kind):
    X, y = small_table(12)
    check_finite(behind_mixing(Ridge())[kind](False).fit(X, y), X, rtol=1e-8)
    check_finite(behind_mixing(LogisticRegression())[kind](False).fit(X, y > 2), X, rtol=1e-8)
    X, y = small_table(13, real=True)
    check_real(behind_mixing(SVR(kernel="linear"))[kind](True).fit(X, y), X)


@pytest.mark.parametrize("kind", some((0, 1), (1,)))
def test_mixed_columns_before_networks(kind):
    X, y = small_table(14)
    net = MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=100, random_state=0)
    model = behind_mixing(net)[kind](False).fit(X, y)
    check_finite(model, X, exact=False)


def test_mixed_columns_before_others_are_refused():
    X, y = small_table(15)
    model = behind_mixing(FOREST)[0](False).fit(X, y)
    assert (
        "behind PCA, linear models and networks can be certified"
        in CertifiedAuditor.supports(model).nearest
    )
    with pytest.raises(ValueError, match="not understood"):
        certified(model, X)
    bent = make_pipeline(encoded(StandardScaler(), WHOLE), PCA(2), PowerTransformer(), Ridge())
    with pytest.raises(ValueError, match="comes after one that mixes"):
        certified(bent.fit(X, y), X)
    around = TransformedTargetRegressor(Ridge(), transformer=StandardScaler())
    check_finite(behind_mixing(around)[0](False).fit(X, y), X)


# Real columns: what rises, and what is refused ---------------------------------------------

RISING = {
    "power": PowerTransformer(),
    "quantiles": QuantileTransformer(n_quantiles=30, output_distribution="normal"),
    "bins": KBinsDiscretizer(4, encode="ordinal"),
    "binary": Binarizer(threshold=0.5),
    "imputed, function": make_pipeline(SimpleImputer(), FunctionTransformer(np.arctan)),
    "cubic root": FunctionTransformer(np.cbrt),
    "union": make_union(StandardScaler(), FunctionTransformer(np.tanh)),
    "indicator": SimpleImputer(add_indicator=True),
    "chosen": make_pipeline(make_union(StandardScaler(), PowerTransformer()), VarianceThreshold()),
}


FAST = ("power", "imputed, function")


@slow_sample
@pytest.mark.parametrize(
    "kind",
    some(RISING, [kind for kind in RISING if kind not in FAST]),
)
def test_real_columns_behind_rising_steps(kind):
    X, y = small_table(7, real=True)
    models = [FOREST, Ridge(), HistGradientBoostingRegressor(max_iter=5, max_depth=3)]
    for model in models[:1] if kind in FAST else models:
        fitted = make_pipeline(encoded(RISING[kind], REAL, sparse_threshold=0), model).fit(X, y)
        check_real(fitted, X)


@slow_sample
@pytest.mark.parametrize("function", some((np.log1p, np.square), (np.log1p,)))
def test_functions_that_rise_where_the_column_lies(function):
    X, y = small_table(8, real=True)
    model = make_pipeline(encoded(FunctionTransformer(function), ["x"]), FOREST).fit(X, y)
    check_real(model, X)
    with pytest.raises(ValueError, match="no number.*InputSpace.bounds="):
        certified(
            model.set_params(columntransformer__step__func=np.log).fit(X, y),
            X,
            space=InputSpace(bounds={"x": (0.0, 9.0)}),
        )


@slow_sample
def test_real_sensitive_columns_behind_a_power():
    X, y = small_table(9, real=True)
    model = make_pipeline(encoded(PowerTransformer(), REAL), FOREST).fit(X, y + 3 * X["x"])
    auditor = certified(model, X, sensitive="x")
    assert auditor.certified_


SAMPLE = ("turned round",)


@slow_sample
@pytest.mark.parametrize("sensitive", some(["s", "y"], ["y"]))
@pytest.mark.parametrize("kind", some(BENDING, [kind for kind in BENDING if kind not in SAMPLE]))
def test_real_columns_behind_steps_that_bend_them(kind, sensitive):
    X, y = small_table(8, n=120, real=True)
    y = y + 2 * np.abs(X["y"]) * (X["s"] == "q")
    columns = encoded(BENDING[kind], ["y"], sparse_threshold=0)
    for model in (FOREST, Ridge()):
        fitted = make_pipeline(columns, model).fit(X, y)
        check_real(fitted, X, sensitive_features=sensitive)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BENDING)
def test_networks_and_boosting_behind_steps_that_bend_real_columns(kind):
    X, y = small_table(8, n=120, real=True)
    net = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=100, random_state=0)
    columns = encoded(BENDING[kind], ["y"], sparse_threshold=0)
    fitted = make_pipeline(columns, net).fit(X, y)
    check_real(fitted, X, exact=False)
    check_real(fitted, X, exact=False, sensitive_features="y")
    boosted = make_pipeline(columns, HistGradientBoostingRegressor(max_iter=5, max_depth=3))
    check_real(boosted.fit(X, y), X)


@pytest.mark.parametrize(
    "kind", some(BENDING, BENDING.keys() - {"negative", "bent twice", "weighed"})
)
def test_places_of_bends_are_those_of_the_step(kind):
    """Between them each number that the step gives rises or falls, on a grid as elsewhere."""
    X, y = small_table(8, n=120, real=True)
    X = X[["s", "y"]]
    space = InputSpace().fit(X, ["s"])
    fitted = ColumnTransformer([("s", OneHotEncoder(), ["s"]), ("step", BENDING[kind], ["y"])])
    fitted = make_pipeline(fitted.set_params(sparse_threshold=0)).fit(X, y)
    features = Features(space, flat_steps(fitted, "no hint"))
    j = space.feature_names.index("y")
    if kind == "negative":
        assert len(features.pieces[j]) == 1
    for first, last in zip(*features.piece_ends(j), strict=True):
        encoded = np.linspace(first, last, 200)
        moves = np.diff(features.along(j, encoded), axis=0)
        wobble = 1e-13
        assert ((moves >= -wobble).all(axis=0) | (moves <= wobble).all(axis=0)).all(), kind


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (FunctionTransformer(np.tan), "not known to rise or fall"),
        (FunctionTransformer(np.reciprocal), "not known to rise or fall"),
        (FunctionTransformer(np.sqrt), "gives no number"),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), "too many values"),
        (make_pipeline(FunctionTransformer(np.exp), MinMaxScaler((0, 1e6)),
                       FunctionTransformer(np.sin)), "more than 2000 places"),
    ],
)  # fmt: skip
def test_what_is_refused_of_real_columns(step, words):
    X, y = small_table(10, real=True)
    X["y"] = X["y"].clip(lower=0) if "sqrt" in repr(step) else X["y"].replace(0, 0.5)
    model = make_pipeline(encoded(step, ["y"]), FOREST).fit(X, y)
    with pytest.raises(ValueError, match=words):
        certified(model, X, space=InputSpace(bounds={"y": (-1.0, 2.0)}))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Normalizer(), "StandardScaler scales columns"),
        (KNNImputer(), "SimpleImputer imputes each column by itself"),
        (FunctionTransformer(lambda table: table), "Name a numpy function"),
        (FunctionTransformer(np.cumsum), "Name a numpy function"),
        (FunctionTransformer(np.frompyfunc(float, 1, 1)), "Name a numpy function"),
    ],
)
def test_steps_that_mix_columns_or_are_not_known_are_refused_with_what_works(step, words):
    X, y = small_table(11)
    model = make_pipeline(encoded(step, WHOLE), FOREST).fit(X, y)
    assert not CertifiedAuditor.supports(model)
    with pytest.raises(ValueError, match=words):
        certified(model, X)


# Casts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "known"),
    [
        (FunctionTransformer(np.float32), True),
        (FunctionTransformer(np.float64), True),
        (FunctionTransformer(np.asarray, kw_args={"dtype": "float32"}), False),
        (FunctionTransformer(lambda X: X.astype(np.float32)), False),
    ],
)
def test_casts_that_are_known(step, known):
    support = CertifiedAuditor.supports(make_pipeline(step, Ridge()))
    assert bool(support) is known
    assert known or "numpy.float32" in support.nearest
