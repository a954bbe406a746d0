"""Certificates of linear models behind products of columns: against enumeration, and searches."""

from __future__ import annotations

import numpy as np
import pytest
from certify_cases import (
    LONG,
    bracket_alone,
    certified,
    check_finite,
    check_real,
    exhaustive_degree,
    small_table,
)
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from tiers import slow_sample

from skfairtest import CertifiedAuditor, InputSpace, Order
from skfairtest.exact import _polynomial

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

TEXT = ("text", OneHotEncoder(sparse_output=False), ["s", "c"])


def scaled(degree, model):
    columns = ColumnTransformer([TEXT, ("n", StandardScaler(), ["a", "b"])], remainder="drop")
    return make_pipeline(columns, PolynomialFeatures(degree), StandardScaler(), model)


def branched(degree, model):
    two = make_pipeline(OneHotEncoder(drop="first", sparse_output=False),
                        PolynomialFeatures(degree, interaction_only=True))  # fmt: skip
    numbers = make_pipeline(StandardScaler(), PolynomialFeatures(degree), PCA(3))
    return make_pipeline(
        ColumnTransformer([("t", two, ["s", "c"]), ("n", numbers, ["a", "b"])]), model
    )


def everywhere(degree, model):
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["s"]), (StandardScaler(), ["b", "x", "y"])
    )
    return make_pipeline(columns, PolynomialFeatures(degree), model)


MODELS = {
    "numbers": (Ridge(), lambda y: y),
    "two classes": (LogisticRegression(), lambda y: y > 2),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("make", "degree"),
    [
        (scaled, 2),
        (branched, 3),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((branched, 2), (scaled, 3))),
    ],
)
def test_finite_domains(make, degree, kind):
    X, y = small_table(3)
    model, target = MODELS[kind]
    auditor = check_finite(make(degree, model).fit(X, target(y)), X)
    # The search in boxes, too, which is not used where all inputs can be looked at.
    bracket, rounding = bracket_alone(auditor)
    degree = exhaustive_degree(auditor)
    assert bracket.lower - 1e-9 <= degree <= bracket.upper + rounding
    assert bracket.upper <= degree + 0.02


def test_pairs_of_one_search_are_the_same_as_a_search_each(monkeypatch):
    X, y = small_table(3)
    auditor = certified(branched(2, Ridge()).fit(X, y), X)
    monkeypatch.setattr(_polynomial, "MOST_PAIRS", 0)
    bracket, rounding = bracket_alone(auditor, LONG)
    assert exhaustive_degree(auditor) <= bracket.upper + rounding
    assert bracket.upper <= exhaustive_degree(auditor) * 1.2


@slow_sample
@pytest.mark.parametrize("sensitive", ["s", pytest.param("x", marks=pytest.mark.slow)])
def test_real_columns(sensitive):
    X, y = small_table(4, real=True)
    columns = ["s", "b", "x", "y"]
    X = X[columns]
    exact = sensitive == "s"
    check_real(everywhere(2, Ridge()).fit(X, y), X, exact=exact, sensitive_features=sensitive)
    check_real(everywhere(3, Ridge()).fit(X, y), X, exact=False, sensitive_features=sensitive)
    model = everywhere(2, LogisticRegression(C=0.1)).fit(X, y > 2)
    check_real(model, X, exact=False, sensitive_features=sensitive)


def test_bends_before_products():
    X, y = small_table(4, real=True)
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["s"]),
        (KBinsDiscretizer(3, encode="onehot-dense"), ["x", "y"]),
    )
    check_real(make_pipeline(columns, PolynomialFeatures(2), Ridge()).fit(X, y), X)


def test_several_classes():
    X, y = small_table(5)
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    check_finite(scaled(2, LogisticRegression()).fit(X, classes), X)
    sigmoids = SGDClassifier(loss="log_loss", random_state=0)
    check_finite(scaled(2, sigmoids).fit(X, classes), X, exact=False)


@slow_sample
def test_constraints_hold_for_products(clock):
    X, y = small_table(6, real=True)
    model = everywhere(2, Ridge()).fit(X, y)
    free = certified(model, X)
    clock.step = 0.03  # under the constraint the bracket stays open
    held = certified(model, X, max_time=2.0, space=InputSpace(constraint=Order("y", "<=", "x")))
    assert (held.worst_case_["y"] <= held.worst_case_["x"]).all()
    assert held.fairness_degree_upper_bound_ < free.fairness_degree_
    rows = held.space_.sample(4000, np.random.default_rng(0))
    twins = [held.space_.decode(held.space_.twins_.with_sensitive(rows, code)) for code in range(3)]
    said = np.array([model.predict(table) for table in twins])
    assert np.ptp(said, axis=0).max() <= held.fairness_degree_upper_bound_ * (1 + 1e-9)


@pytest.mark.parametrize(
    "model", [RandomForestRegressor(2), MLPRegressor(hidden_layer_sizes=(2,))], ids=["trees", "net"]
)
def test_products_before_other_models_are_refused(model):
    support = CertifiedAuditor.supports(scaled(2, model))
    assert not support
    assert "Behind it, linear models can be certified" in support.nearest
