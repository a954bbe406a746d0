"""Certificates of models around other models: against enumeration, and against searches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from certify_cases import (
    certified,
    check_finite,
    check_real,
    exhaustive_degree,
    small_table,
    solve_alone,
    some,
)
from certify_models import (
    BOOSTED,
    FOREST,
    LOGISTIC,
    REGRESSORS,
    SEVERAL,
    TWO,
    calibrated,
    coded,
    kinds,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from tiers import slow_sample

from skfairtest import (
    CertifiedAuditor,
    FairnessRetrainer,
    InputSpace,
    MarginalizedRegressor,
    Order,
    RandomAuditor,
    SBFTAuditor,
)
from skfairtest.exact._composition import rising_gap

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


SLOW = (
    "sigmoid", "stack", "scaled target", "scaled", "sigmoid, forest", "sigmoid, svm",
    "isotonic, boosted", "isotonic, logistic", "one calibrator", "one against the rest",
    "calibrated vote", "isotonic", "power", "net", "bag", "logarithm, forest",
)  # fmt: skip


def check_bounds_apart(model, X, exact=True, **params):
    """The bound of the parts, too, which is not used where all inputs can be looked at."""
    auditor = check_finite(model, X, exact=exact, **params)
    result, rounding = solve_alone(auditor)
    assert exhaustive_degree(auditor) <= result.upper + rounding
    assert result.lower <= auditor.fairness_degree_ * (1 + 1e-9)
    return auditor


@pytest.mark.parametrize("kind", some(TWO, SLOW))
def test_two_classes(kind):
    X, y = small_table(1, n=120)
    check_bounds_apart(coded(TWO[kind]).fit(X, kinds(y)[0]), X)


@slow_sample
def test_steps_inside_and_outside():
    X, y = small_table(1, n=120)
    model = CalibratedClassifierCV(coded(FOREST), method="isotonic", cv=2)
    check_bounds_apart(model.fit(X, kinds(y)[0]), X)


@slow_sample
@pytest.mark.parametrize("kind", some(SEVERAL, SLOW))
def test_several_classes(kind):
    X, y = small_table(2, n=120)
    model = coded(SEVERAL[kind]).fit(X, kinds(y)[1])
    check_bounds_apart(model, X)


ON_TOP = {
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "chosen": make_pipeline("passthrough", StandardScaler(), PCA(1), LogisticRegression()),
}


@slow_sample
@pytest.mark.parametrize("kind", some(ON_TOP, SLOW))
def test_steps_on_top_of_a_stack(kind):
    X, y = small_table(12, n=120)
    stack = StackingClassifier([("f", FOREST), ("l", LOGISTIC)], ON_TOP[kind], cv=2)
    check_bounds_apart(coded(stack).fit(X, kinds(y)[0]), X)


@slow_sample
@pytest.mark.parametrize("several", some((False, True), (True,)), ids=["one", "several"])
def test_several_targets_of_a_classifier(several):
    X, y = small_table(13, n=120)
    two, three = kinds(y)
    targets = np.column_stack([two, three, 1 - two]) if several else two[:, None]
    model = coded(MultiOutputClassifier(BOOSTED)).fit(X, targets)
    check_bounds_apart(model, X)


@pytest.mark.parametrize("kind", some(REGRESSORS, SLOW))
def test_regressors(kind):
    X, y = small_table(4)
    model = coded(REGRESSORS[kind]).fit(X, y - y.min() + 1)
    check_bounds_apart(model, X, max_time=3.0, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*TWO, *SEVERAL])
def test_real_columns(kind):
    X, y = small_table(5, real=True)
    for model, target in ((TWO.get(kind), kinds(y)[0]), (SEVERAL.get(kind), kinds(y)[1])):
        if model is not None:
            check_real(coded(model).fit(X, target), X, exact=False)


@slow_sample
def test_a_real_column_behind_a_scaled_target():
    X, y = small_table(5, real=True)
    model = coded(TransformedTargetRegressor(Ridge(), transformer=StandardScaler())).fit(X, y)
    check_real(model, X)
    check_real(coded(TWO["isotonic, logistic"]).fit(X, kinds(y)[0]), X, exact=False)


JOINED = {
    "sigmoid": (calibrated(FOREST, "sigmoid"), True),
    "sigmoid, boosted": (calibrated(BOOSTED, "sigmoid"), True),
    "stack": (StackingClassifier([("f", FOREST)], LOGISTIC, cv=2), True),
    "stack of numbers": (StackingRegressor(
        [("f", RandomForestRegressor(3, max_depth=3, random_state=0)),
         ("g", GradientBoostingRegressor(n_estimators=4))], LinearRegression(), cv=2), False),
    "logarithm": (REGRESSORS["logarithm, forest"], False),
}  # fmt: skip


@slow_sample
@pytest.mark.parametrize(
    "kind", some(JOINED, ("sigmoid", "sigmoid, boosted", "stack", "stack of numbers"))
)
def test_sums_of_trees_are_bounded_as_one(kind):
    X, y = small_table(5, real=True)
    model, of_classes = JOINED[kind]
    fitted = coded(model).fit(X, kinds(y)[0] if of_classes else y - y.min() + 1)
    auditor = certified(fitted, X, rtol=1e-8)
    assert auditor.certified_, auditor.stop_reason_
    settings = {"max_queries": 500, "random_state": 1, "sensitive_features": "s"}
    found = SBFTAuditor(fitted, **settings).fit(X)
    assert found.fairness_degree_ <= auditor.fairness_degree_upper_bound_


@slow_sample
def test_constraints_hold_for_the_models_inside():
    X, y = small_table(10)
    model = coded(TWO["isotonic, forest"]).fit(X, kinds(y)[0])
    free = certified(model, X)
    bound = certified(model, X, space=InputSpace(constraint=Order("b", "<=", "a")))
    assert bound.certified_
    assert (bound.worst_case_["b"] <= bound.worst_case_["a"]).all()
    assert exhaustive_degree(bound) == pytest.approx(bound.fairness_degree_, rel=1e-9)
    result, rounding = solve_alone(bound)
    assert bound.fairness_degree_ <= result.upper + rounding
    assert bound.fairness_degree_ <= free.fairness_degree_


@slow_sample
def test_forests_among_the_members_are_members():
    X, y = small_table(11)
    forest = RandomForestRegressor(2, max_depth=3, random_state=0)
    for model in (BaggingRegressor(forest, 2, random_state=0), MultiOutputRegressor(forest)):
        several = isinstance(model, MultiOutputRegressor)
        check_finite(coded(model).fit(X, np.column_stack([y, -y]) if several else y), X)


@slow_sample
def test_several_targets():
    X, y = small_table(6)
    model = coded(MultiOutputRegressor(GradientBoostingRegressor(n_estimators=5)))
    check_finite(model.fit(X, np.column_stack([y, -2 * y, np.sin(y)])), X)


@slow_sample
def test_wrappers_predict_with_what_they_hold():
    X, y = small_table(7, n=80)
    two = kinds(y)[0]
    fitted = coded(BOOSTED).fit(X, two)
    plain = check_finite(fitted, X).fairness_degree_
    for wrapped in (
        FrozenEstimator(fitted), FixedThresholdClassifier(FrozenEstimator(fitted), threshold=0.3),
        TunedThresholdClassifierCV(fitted, cv="prefit", refit=False),
        RandomAuditor(fitted, sensitive_features="s", max_queries=20).fit(X),
        GridSearchCV(coded(BOOSTED), {"gradientboostingclassifier__n_estimators": [5]}, cv=2),
    ):  # fmt: skip
        assert CertifiedAuditor.supports(wrapped)
        wrapped = wrapped if isinstance(wrapped, RandomAuditor) else wrapped.fit(X, two)
        auditor = certified(wrapped, X, response_method="predict_proba", max_queries=30)
        assert auditor.certified_
        assert auditor.fairness_degree_ == pytest.approx(plain, rel=1e-12)


@slow_sample
def test_what_is_retrained_is_read():
    X, y = small_table(7, n=80)
    two = kinds(y)[0]
    X = X.apply(lambda column: pd.factorize(column)[0])
    retrained = FairnessRetrainer(
        BOOSTED, auditor=RandomAuditor(sensitive_features="s", max_queries=50),
        max_rounds=1, random_state=0,
    )  # fmt: skip
    assert CertifiedAuditor.supports(retrained)
    retrained.fit(X, two)
    own = check_finite(retrained.estimator_, X).fairness_degree_
    assert certified(retrained, X).fairness_degree_ == pytest.approx(own, rel=1e-12)


@pytest.mark.slow
def test_other_searches_are_read():
    X, y = small_table(7, n=80)
    wishes = {"gradientboostingclassifier__n_estimators": [5]}
    search = RandomizedSearchCV(coded(BOOSTED), wishes, n_iter=1, cv=2)
    assert CertifiedAuditor.supports(search)
    check_finite(search.fit(X, kinds(y)[0]), X)


# The parts ---------------------------------------------------------------------------------


def test_windows_of_rising_functions():
    rng = np.random.default_rng(0)
    for _ in range(40):
        knots = np.sort(rng.normal(size=6))
        heights = np.sort(rng.random(6))

        def bent(x, knots=knots, heights=heights):
            return np.interp(x, knots, heights)

        low, width, gap = rng.normal() - 1, rng.random() * 3, rng.random()
        high = low + width
        starts = np.linspace(low, max(low, high - gap), 20_001)
        true = float((bent(np.minimum(starts + gap, high)) - bent(starts)).max())
        bound = rising_gap(bent, gap, low, high)
        assert true <= bound + 1e-15
        assert bound <= true + 1e-3
    assert rising_gap(np.exp, 0.0, 0.0, 1.0) == 0.0


@pytest.mark.parametrize(
    "model",
    [
        calibrated(FOREST, "sigmoid"),
        OneVsRestClassifier(LOGISTIC),
        SGDClassifier(loss="log_loss", random_state=0),
        StackingClassifier([("f", FOREST)], SGDClassifier(loss="log_loss", random_state=0), cv=2),
    ],
)
def test_shares_of_several_classes_are_refused(model):
    X, y = small_table(2, n=120)
    two, three = kinds(y)
    several = coded(model).fit(X, three)
    assert "divides the probabilities" in CertifiedAuditor.supports(several).reason
    with pytest.raises(ValueError, match="divides the probabilities of several classes"):
        certified(several, X)
    assert CertifiedAuditor.supports(coded(model).fit(X, two))


# What is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (CalibratedClassifierCV(KNeighborsClassifier()), "KNeighborsClassifier cannot"),
        (StackingRegressor([("r", Ridge())], RandomForestRegressor(2)), "expected a linear model"),
        (OneVsOneClassifier(LogisticRegression()), "OneVsOneClassifier cannot"),
        (VotingRegressor([("k", KNeighborsRegressor())]), "KNeighborsRegressor cannot"),
        (TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=lambda z: np.exp(z) - 1,
                                    check_inverse=False), "numpy.expm1"),
        (TransformedTargetRegressor(Ridge(), func=np.sqrt, inverse_func=np.square), "numpy.expm1"),
        (TransformedTargetRegressor(Ridge(), transformer=QuantileTransformer(n_quantiles=9)),
         "Expected a scaler, PowerTransformer"),
        (StackingRegressor([("r", Ridge())], passthrough=True), "passthrough=False"),
        (MultiOutputRegressor(MarginalizedRegressor(Ridge(), sensitive_features=[0])),
         "Marginalize the whole"),
    ],
)  # fmt: skip
def test_what_is_refused_before_it_is_fitted(model, words):
    assert not CertifiedAuditor.supports(model)
    X = np.random.default_rng(0).random((40, 3)).round(1)
    y = (X[:, 0] > 0.5).astype(int)
    y = np.column_stack([y, y]) if isinstance(model, MultiOutputRegressor) else y
    with pytest.raises(ValueError, match=words):
        certified(model.fit(X, y), X, sensitive=[0])


def test_settings_that_are_seen_once_it_is_fitted():
    X, y = small_table(8)
    votes = StackingClassifier([("r", RidgeClassifier())], stack_method="predict", cv=2)
    with pytest.raises(ValueError, match="stack_method="):
        certified(coded(votes).fit(X, kinds(y)[0]), X)


def test_a_stack_of_models_of_other_classes_is_refused_in_words():
    X, y = small_table(8)
    two, several = kinds(y)
    for inside, outside in ((several, two), (two, several)):
        members = [("l", coded(LogisticRegression()).fit(X, inside))]
        stack = StackingClassifier(members, cv="prefit").fit(X, outside)
        with pytest.raises(ValueError, match="fitted on the same classes as the stack"):
            certified(stack, X)


@slow_sample
def test_classes_of_a_softmax_inside_are_counted_once():
    """Each output of the stack is a function of all three shares of both members."""
    X, y = small_table(3, n=120)
    several = kinds(y)[1]
    members = [("l", coded(LogisticRegression())), ("d", coded(LinearDiscriminantAnalysis()))]
    stack = StackingClassifier(members, cv=2).fit(X, several)
    check_bounds_apart(stack, X, exact=False)


@slow_sample
def test_boosting_that_calibrates_raw_scores():
    X, y = small_table(9)
    model = coded(calibrated(HistGradientBoostingClassifier(max_iter=5, max_depth=3), "sigmoid"))
    check_finite(model.fit(X, kinds(y)[0]), X)
