"""Models that are not what they seem: an error that says so, or a bound that holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from certify_cases import certified, check_finite, small_table
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample

from skfairtest import CertifiedAuditor, InputSpace, RandomAuditor, certify
from skfairtest.exceptions import EstimatorFailedError, NonDeterministicModelError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

FOREST = RandomForestRegressor(3, max_depth=3, random_state=0)


def numbers(seed=0, n=90):
    """A table of numbers of few values, and a target."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.integers(0, 4, n) for name in ("s", "a", "b", "unused")})
    return X, X["s"] * (X["a"] > 1) + 0.5 * X["b"] + 0.01 * rng.normal(size=n)


def behind_codes(model):
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["s", "c"]), (OrdinalEncoder(), ["a"]),
        ("passthrough", ["b"]), verbose_feature_names_out=False,
    )  # fmt: skip
    return make_pipeline(columns, model)


@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_a_model_that_was_changed_after_it_was_fitted_is_named(kind):
    X, y = numbers()
    if kind == "svc":
        model = SVC(kernel="linear").fit(X, y > 1)
    else:
        model = SVR(kernel="linear").fit(X, y)
    assert certified(model, X).certified_
    model.intercept_ = model.intercept_ + 1.0  # it predicts with a copy of its own
    if kind == "svc":
        with pytest.raises(ValueError, match="SVC was read out.*gives other outputs"):
            certified(model, X)
    else:
        with pytest.raises(ValueError, match="SVR was read out.*gives other outputs"):
            certified(model, X)


def test_a_model_that_was_fitted_anew_is_what_it_is_now():
    X, y = numbers()
    model = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, y)
    before = check_finite(model, X).fairness_degree_
    model.fit(X, 2 * y)
    assert check_finite(model, X).fairness_degree_ == pytest.approx(2 * before)


@pytest.mark.parametrize(
    "model", [Ridge(), DecisionTreeRegressor(max_depth=3), LogisticRegression()]
)
def test_a_pair_that_is_not_reproduced_is_refused(model):
    """A model that was fitted anew in place is not the one of which the pair was found."""
    X, y = numbers()
    y = y > np.median(y) if isinstance(model, LogisticRegression) else y
    model.fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=["s"], max_queries=200, random_state=0).fit(X)
    assert certify(auditor).found_share <= 1
    for other in (y[::-1], y ^ (X["s"] > 0) if y.dtype == bool else y + 5.0 * X["s"]):
        model.fit(X, other)
        with pytest.raises(NonDeterministicModelError, match="fitted again or changed after"):
            certify(auditor)
    model.fit(X, y)
    certificate = certify(auditor)
    assert certificate.fairness_degree >= auditor.fairness_degree_ * (1 - 1e-12)
    assert certificate.certified == (
        certificate.gap <= 1e-9 * certificate.fairness_degree_upper_bound
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("everywhere", [True, False])
def test_leaves_that_are_no_numbers(value, everywhere):
    X, y = numbers()
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    tree = model.tree_
    leaves = np.flatnonzero(tree.children_left < 0)
    # The leaf that the fewest rows reach may be met by no row that the model is asked about.
    rare = leaves[tree.n_node_samples[leaves].argmin()]
    tree.value[leaves if everywhere else [rare]] = value
    with pytest.raises((ValueError, EstimatorFailedError), match="finite|no number|NaN|infinite"):
        certified(model, X)


def test_coefficients_that_are_no_numbers():
    X, y = numbers()
    for model in (Ridge().fit(X, y), make_pipeline(PCA(2), Ridge()).fit(X, y)):
        last = model[-1] if hasattr(model, "steps") else model
        last.coef_ = np.where(np.arange(len(last.coef_)) == 1, np.nan, last.coef_)
        with pytest.raises((ValueError, EstimatorFailedError)):
            certified(model, X)


@slow_sample
@pytest.mark.parametrize(
    "model", [FOREST, Ridge(), HistGradientBoostingRegressor(max_iter=3, max_depth=2)],
    ids=["forest", "linear", "boosting"],
)  # fmt: skip
def test_columns_in_another_order(model):
    X, y = small_table(1)
    fitted = behind_codes(model).fit(X, y)
    plain = check_finite(fitted, X)
    turned = check_finite(fitted, X[["b", "c", "a", "s"]])
    assert turned.fairness_degree_ == pytest.approx(plain.fairness_degree_, rel=1e-12)
    numeric, y = numbers()
    with pytest.raises((ValueError, EstimatorFailedError), match="feature names"):
        certified(model.fit(numeric, y), numeric[["unused", "b", "a", "s"]])


@pytest.mark.parametrize("model", [FOREST, Ridge()], ids=["forest", "linear"])
def test_categories_that_were_not_there_at_training(model):
    X, y = small_table(2)
    fitted = behind_codes(model).fit(X, y)
    more = {"c": ["u", "v", "w", "z", "new"], "s": ["p", "q", "r", "other"]}
    check_finite(fitted, X, space=InputSpace(categories=more))
    with pytest.raises(EstimatorFailedError, match="unknown categories|exclude them"):
        certified(fitted, X, space=InputSpace(bounds={"a": (1, 9)}))


def test_columns_that_the_model_does_not_use():
    X, y = numbers()
    for model in (
        DecisionTreeRegressor(max_depth=1).fit(X, X["a"] > 1),
        GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(X, 1.0 * (X["a"] > 1)),
    ):
        auditor = certified(model, X, sensitive="unused")
        assert auditor.certified_
        assert auditor.fairness_degree_ == auditor.fairness_degree_upper_bound_ == 0


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(2), GradientBoostingRegressor(n_estimators=2),
        HistGradientBoostingRegressor(max_iter=2), Ridge(), DecisionTreeRegressor(),
        MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", max_iter=0),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_models_without_anything_inside(model):
    """Of a constant target nothing is learned: there is no tree, or none that asks anything."""
    X, _ = numbers()
    if isinstance(model, MLPRegressor):
        model = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", max_iter=20, random_state=0)
        model.fit(X, np.ones(len(X)))
        model.coefs_ = [np.zeros_like(W) for W in model.coefs_]
    else:
        model.fit(X, np.ones(len(X)))
    auditor = certified(model, X)
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(0, abs=1e-12)
    assert auditor.fairness_degree_upper_bound_ == pytest.approx(0, abs=1e-9)


def test_no_boosting_at_all():
    X, y = numbers()
    model = HistGradientBoostingClassifier(max_iter=3, max_depth=2).fit(X, y > 1)
    model._predictors = []
    auditor = certified(model, X)
    assert auditor.certified_
    assert auditor.fairness_degree_upper_bound_ == 0


def test_what_supports_says_is_what_fit_says():
    X, y = numbers()
    for model in (
        make_pipeline(PolynomialFeatures(2), RandomForestRegressor(2)),
        SVC(), LogisticRegression(), Ridge(),
    ):  # fmt: skip
        support = CertifiedAuditor.supports(model)
        target = y > 1 if isinstance(model, (SVC, LogisticRegression)) else y
        model.fit(X, target)
        if support:
            certified(model, X)
            assert str(support) == "supported"
        else:
            with pytest.raises(ValueError) as raised:
                certified(model, X)
            assert str(support) == str(raised.value)
            assert support.reason and support.nearest
