"""Attacks on the readers of linear models, alone, behind products and behind mixed columns.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attacking import Attacks, dense, holds, numbers, reals, refused
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_transformer,
)
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skfairtest import CertifiedAuditor

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()


# Weights and intercepts --------------------------------------------------------------------


@attack("coefficients are an array of numbers")
def sparse_coefficients():
    X, y = numbers()
    model = SGDClassifier(loss="log_loss", penalty="l1", alpha=0.02, random_state=0)
    holds(model.fit(X, y > 0.5).sparsify(), X, response_method="decision_function")
    holds(ElasticNet(alpha=1e-3).fit(X, y), X)
    model = LogisticRegression().fit(X, y > 0.5)
    model.coef_ = sparse.csr_matrix(model.coef_)
    holds(model, X)


@attack("there is an intercept for each score")
def one_intercept_for_several_scores():
    X, y = numbers()
    labels = np.digitize(y, [0.0, 0.6])
    holds(LinearSVC(fit_intercept=False).fit(X, labels), X)
    holds(RidgeClassifier(fit_intercept=False).fit(X, labels), X)
    holds(LinearRegression(fit_intercept=False).fit(X, np.column_stack([y, y**2])), X)


@attack("coefficients are of double precision")
def coefficients_of_half_precision():
    X, y = numbers()
    for dtype in (np.float16, np.float32):
        model = Ridge().fit(X, y)
        model.coef_ = model.coef_.astype(dtype)
        holds(model, X, exact=dtype is np.float16)


@attack("a target is a vector")
def targets_of_one_column():
    X, y = numbers()
    holds(Ridge().fit(X, y[:, None]), X)
    holds(LinearRegression(positive=True).fit(X, np.column_stack([y, -y])), X)


@attack("weights are larger than rounding is")
def weights_that_cancel():
    X, y = numbers()
    model = LinearRegression().fit(X, y)
    model.coef_ = np.array([1e-9, 1e9, -1e9])
    outcome = holds(model, X, exact=False)
    assert outcome.upper < 1e-4


@attack("an output is no larger than what twins differ by")
def outputs_far_from_zero():
    X, y = numbers()
    for offset in (1e9, -1e13):
        outcome = holds(Ridge().fit(X, y + offset), X, exact=False)
        assert outcome.upper < 1


@attack("outputs are about as large as one")
def outputs_next_to_nothing():
    X, y = numbers()
    holds(Ridge().fit(X, y * 1e-14), X)
    holds(SVR(kernel="linear", epsilon=0.0).fit(X, y).set_params(), X, exact=False)


# Links -------------------------------------------------------------------------------------


@attack("classes are in the order of their scores")
def labels_in_another_order():
    X, y = numbers()
    holds(
        LogisticRegression(class_weight={"z": 9, "a": 0.1}).fit(X, np.where(y > 0.5, "a", "z")), X
    )
    holds(LogisticRegression(solver="liblinear").fit(X, np.where(y > 0.5, -3, 8)), X)


@attack("probabilities of two classes are as steep as their score")
def probabilities_at_one_end():
    X, y = numbers()
    model = LogisticRegression(C=1e6).fit(X, y > 0.5)
    for shift in (-30.0, 25.0, 700.0):  # where little is left but rounding
        model.intercept_ = model.intercept_ * 0 + shift
        holds(model, X, zero=True, exact=False)


@attack("the probabilities of a stochastic gradient are a logistic function")
def probabilities_of_another_loss():
    X, y = numbers()
    model = SGDClassifier(loss="modified_huber", random_state=0).fit(X, y > 0.5)
    refused(model, X, "probabilities of SGDClassifier are not understood")
    holds(model, X, response_method="decision_function")


@attack("several classes share one link")
def classes_that_are_fitted_one_by_one():
    X, y = numbers()
    model = SGDClassifier(loss="log_loss", random_state=0).fit(X, np.digitize(y, [0.0, 0.6]))
    refused(model, X, "SGDClassifier divides the probabilities")
    holds(model, X, response_method="decision_function")
    holds(Perceptron().fit(X, np.digitize(y, [0.0, 0.6])), X)


@attack("a machine of support vectors has weights")
def kernels_that_are_not_linear():
    X, y = numbers()
    refused(SVC(kernel="poly").fit(X, y > 0.5), X, "kernel='linear'; got 'poly'")
    refused(
        SVC(kernel="linear").fit(X, np.digitize(y, [0.0, 0.6])),
        X,
        "votes among pairs",
        response_method="decision_function",
    )


@attack("a kernel is the one that was fitted")
def a_kernel_that_is_changed_afterwards():
    X, y = numbers()
    model = SVR(kernel="rbf").fit(X, y).set_params(kernel="linear")
    holds(model, X, exact=False)


@attack("scores of two classes point to the second one")
def support_vectors_of_two_classes():
    X, y = numbers()
    model = SVC(kernel="linear", C=0.3).fit(X, np.where(y > 0.5, "a", "b"))
    holds(model, X, exact=False)
    refused(SVC(kernel="rbf").fit(X, y > 0.5), X, "got 'rbf'")


# Single precision --------------------------------------------------------------------------


@attack("a model computes in the precision of its table")
def tables_of_another_precision():
    X, y = numbers()
    double, single = X.to_numpy(np.float64), X.to_numpy(np.float32)
    holds(Ridge().fit(double, y), single, 0)
    holds(Ridge().fit(single, y), double, 0, exact=False)
    holds(LinearSVR().fit(single, y), single, 0)


def flickering(function, low, n=200_000):
    """Two numbers of single precision next to each other, at which a rising function falls."""
    x = (np.float32(low).view(np.int32) + np.arange(n, dtype=np.int32)).view(np.float32)
    seen = function(pd.DataFrame({"v": x}))["v"].to_numpy()
    falls = np.flatnonzero(np.diff(seen) < 0)
    if not len(falls):
        pytest.skip("here this function never falls")
    j = int(falls[len(falls) // 2])
    return float(x[j]), float(x[j + 1])


@attack("a rising function never falls, to the last bit")
def rising_functions_of_single_precision():
    before, high = flickering(np.cbrt, 1.04)
    low = float(np.float32(high / 2))
    rng = np.random.default_rng(0)
    v = rng.uniform(low, high, 200).astype(np.float32)
    v[:2] = low, high
    X = pd.DataFrame({"v": v, "a": rng.integers(0, 3, 200).astype(np.float32)})
    steps = make_column_transformer((FunctionTransformer(np.cbrt), ["v"]), remainder="passthrough")
    model = make_pipeline(steps, LinearSVR(C=100)).fit(X, 3 * np.cbrt(v) + X["a"])
    assert model[-1].coef_.dtype == np.float64
    wanted = {"v": [low, before, high], "a": [0.0, 1.0, 2.0]}
    holds(model, X, "v", values=wanted, exact=False)


@attack("what mixes columns computes as the model does")
def mixed_columns_of_another_precision():
    X, y = numbers()
    X = (X * 1.37).astype(np.float32)
    wanted = {name: sorted(set(X[name].tolist())) for name in X}
    model = make_pipeline(StandardScaler(), PCA(2), LinearSVR()).fit(X, y)
    assert model[-1].coef_.dtype == np.float64
    holds(model, X, values=wanted, exact=False)


# Mixed columns -----------------------------------------------------------------------------


@attack("branches are put side by side as they are")
def branches_with_weights():
    X, y = numbers()
    branches = [("p", PCA(2), ["b", "a", "s"]), ("s", "passthrough", ["s"])]
    steps = ColumnTransformer(branches, transformer_weights={"p": -3.0})
    for scale in (1.0, 1e-13):  # so small, no comparison shows a mistake
        holds(make_pipeline(steps, LinearRegression()).fit(X, y * scale), X)


@attack("branches of a union are put side by side as they are")
def unions_with_weights():
    X, y = numbers()
    union = FeatureUnion([("p", PCA(2)), ("s", StandardScaler())], transformer_weights={"p": 2.0})
    for scale in (1.0, 1e-13):
        holds(make_pipeline(union, LinearRegression()).fit(X, y * scale), X)


@attack("a scaler is an affine map")
def scalers_that_clip_what_is_mixed():
    X, y = numbers()
    few = X["b"] < 3  # what is beyond is cut off
    for scaler in (MaxAbsScaler(clip=True), MinMaxScaler(clip=True)):
        for scale in (1.0, 1e-13):
            model = make_pipeline(PCA(2), scaler, Ridge()).fit(X[few], y[few] * scale)
            refused(model, X, "comes after one that mixes columns")


@attack("scalers have a mean and a scale")
def scalers_without_their_parts():
    X, y = numbers()
    for scaler in (
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        RobustScaler(with_centering=False),
        RobustScaler(with_scaling=False),
        MaxAbsScaler(),
        MinMaxScaler((-3, 7)),
    ):
        holds(make_pipeline(TruncatedSVD(2), scaler, Ridge()).fit(X, y), X)


@attack("directions have a spread")
def whitened_directions_of_no_spread():
    X, y = numbers()
    X["c"] = X["a"] + X["b"]
    model = make_pipeline(PCA(4, whiten=True), Ridge()).fit(X, y)
    sums = [(a, b, a + b) for a in range(4) for b in range(5)]
    holds(model, X, values={("a", "b", "c"): sums}, exact=False, compares=False)


@attack("what is selected behind a mixture is all of it")
def selected_directions():
    X, y = numbers()
    model = make_pipeline(PCA(3), StandardScaler(), SelectKBest(f_regression, k=2), Ridge())
    holds(model.fit(X, y), X)


@attack("what is behind products of columns is linear in them")
def products_of_columns():
    X, y = numbers()
    for products in (PolynomialFeatures(2), PolynomialFeatures(0)):
        union = FeatureUnion([("p", products), ("s", StandardScaler())])
        for steps in (products, union):
            model = make_pipeline(steps, Ridge()).fit(X, y)
            refused(model, X, "PolynomialFeatures.* is not understood")


@attack("what is behind bends is bounded by its ends")
def splines_that_oppose_each_other():
    X, y = reals()
    bends = FeatureUnion([("f", SplineTransformer(n_knots=4)), ("g", FunctionTransformer(np.sin))])
    steps = make_column_transformer((bends, [1]), remainder="passthrough")
    model = make_pipeline(steps, LinearRegression()).fit(X, y + np.sin(9 * X[:, 1]))
    values = {1: dense(X[:, 1].min(), X[:, 1].max(), 4000)}
    outcome = holds(model, X, 1, values=values, exact=False)
    assert outcome.upper < outcome.truth * 1.01


@attack("a logistic score has a value in the middle")
def even_odds_that_no_input_has():
    X, y = numbers()
    model = LogisticRegression().fit(X, y > 0.5)
    model.coef_, model.intercept_ = np.array([[3.0, 10.0, 20.0]]), np.array([-17.5])
    outcome = holds(model, X)
    assert outcome.upper < 0.1  # were there anything between, it would be 0.9


@attack("stochastic gradients end where they began")
def averaged_weights():
    X, y = numbers()
    holds(SGDRegressor(average=5, random_state=0).fit(X, y), X)
    holds(SGDClassifier(loss="log_loss", average=True, random_state=0).fit(X, y > 0.5), X)


# Links -------------------------------------------------------------------------------------


@attack("predictions are sums")
def exponentials_of_sums():
    X, y = numbers()
    y = np.exp(y)
    for model in (PoissonRegressor(), GammaRegressor(), TweedieRegressor(power=1.5),
                  PoissonRegressor(fit_intercept=False),
                  make_pipeline(StandardScaler(), PCA(2), GammaRegressor())):  # fmt: skip
        outcome = holds(model.fit(X, y), X)
        assert outcome.upper == pytest.approx(outcome.truth, rel=1e-9)


@attack("the link follows from the power")
def links_that_are_chosen():
    X, y = numbers()
    y = np.exp(y)
    for power in (0, 1, 2.0, 3):
        for link in ("auto", "log", "identity"):
            if link != "identity" or power == 0:
                holds(TweedieRegressor(power=power, link=link).fit(X, y), X)


@attack("exponents are small")
def exponents_that_are_steep():
    X, y = numbers()
    model = PoissonRegressor().fit(X, np.exp(y))
    for coef, intercept in (([3.0, -20.0, 9.0], 0.0), ([1e-9, 40.0, 40.0], -300.0),
                            ([-50.0, 30.0, 30.0], 400.0), ([1e-12, 1.0, 1.0], -600.0)):  # fmt: skip
        model.coef_, model.intercept_ = np.array(coef), intercept
        holds(model, X, exact=False)


@attack("exponentials are of double precision")
def exponentials_of_single_precision():
    X, y = numbers()
    for model in (PoissonRegressor(), TweedieRegressor(power=0), LinearDiscriminantAnalysis()):
        target = y > 0.5 if isinstance(model, LinearDiscriminantAnalysis) else np.exp(y)
        holds(model.fit(X.astype(np.float32), target), X.astype(np.float32), exact=False)


@attack("a rising function of a sum is largest where the sum is")
def exponentials_of_columns_that_peak():
    X, y = reals()
    steps = make_column_transformer((SplineTransformer(n_knots=4), [1]), remainder="passthrough")
    model = make_pipeline(steps, PoissonRegressor(alpha=0.0)).fit(X, np.exp(y))
    values = {1: dense(X[:, 1].min(), X[:, 1].max(), 4000)}
    outcome = holds(model, X, 0, values=values, exact=False)
    assert outcome.upper < outcome.truth * (1 + 1e-6)


@attack("a discriminant has a probability of its own")
def discriminants():
    X, y = numbers()
    for labels in (y > 0.5, np.digitize(y, [0.0, 0.6])):
        for model in (LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis(n_components=1),
                      LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.4),
                      LinearDiscriminantAnalysis(solver="eigen", priors=None)):  # fmt: skip
            model.fit(X, labels)
            holds(model, X)
            holds(model, X, response_method="decision_function")


# Sums of sums ------------------------------------------------------------------------------


@attack("members of an average are bounded one by one")
def averages_of_lines_that_cancel():
    X, y = numbers()
    members = [
        ("a", Ridge(1e3)),
        ("b", make_pipeline(SplineTransformer(3), Ridge())),
        ("c", Ridge()),
    ]
    for model in (
        BaggingRegressor(Ridge(), 7, max_features=2, bootstrap_features=True, random_state=0),
        VotingRegressor(members, weights=[3.0, 1.0, -2.0]),
        StackingRegressor(members, cv=2),
        BaggingRegressor(make_pipeline(StandardScaler(), Ridge()), 5, random_state=0),
        TransformedTargetRegressor(VotingRegressor(members), transformer=StandardScaler()),
        StackingRegressor(members, final_estimator=PoissonRegressor(), cv=2),
    ):
        outcome = holds(model.fit(X, np.exp(y)), X)
        assert outcome.upper == pytest.approx(outcome.truth, rel=1e-9)
    labels = y > 0.5
    scores = [("a", LinearSVC()), ("b", RidgeClassifier())]
    for model in (
        StackingClassifier(scores, cv=2),
        CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=2),
        CalibratedClassifierCV(make_pipeline(PCA(2), LinearSVC()), ensemble=False, cv=2),
    ):
        holds(model.fit(X, labels), X)


@attack("averages round as their members do")
def averages_of_large_members():
    X, y = numbers()
    model = VotingRegressor([("a", Ridge()), ("b", Ridge(10.0))]).fit(X, y)
    model.estimators_[0].coef_ = np.array([1e9, 1e12, 3.0])
    model.estimators_[1].coef_ = np.array([-1e9, -1e12, 5.0])
    outcome = holds(model, X, exact=False)
    auditor = CertifiedAuditor(model, sensitive_features="s", random_state=0).fit(X)
    assert auditor.fairness_degree_upper_bound_ >= outcome.truth  # by looking at all inputs, too


@attack("weights that cancel leave nothing")
def mixed_columns_that_cancel():
    X, y = numbers()
    X["s"] = X["s"] * 0.1 + 0.3
    model = make_pipeline(PCA(2), Ridge()).fit(X, y)
    model[0].components_ = np.array([[0.5, 0.7, 0.1], [0.5, -0.7, 0.3]])
    model[1].coef_ = np.array([1.0, -1.0])
    holds(model, X, exact=False)


@attack.each()
def test_what_readers_of_linear_models_take_for_granted(attack):
    attack()
