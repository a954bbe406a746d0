"""Attacks on models around models: what is taken for granted of what they hold.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import numpy as np
import pytest
from attacking import Attacks, holds, numbers, refused
from imblearn.ensemble import BalancedBaggingClassifier, BalancedRandomForestClassifier
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from imblearn.under_sampling import RandomUnderSampler
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest import CertifiedAuditor

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()
TREE = DecisionTreeRegressor(max_depth=3, random_state=0)
FOREST = RandomForestClassifier(3, max_depth=3, random_state=0)
X, Y = numbers()
TWO, THREE = (Y > 0.5).astype(int), np.digitize(Y, [0.0, 0.6])


# Voting ------------------------------------------------------------------------------------


@attack("all members of a vote count")
def votes_of_weight_zero():
    model = VotingRegressor([("a", TREE), ("b", Ridge())], weights=[0, 2])
    holds(model.fit(X, Y), X, exact=False)
    model = VotingClassifier(
        [("a", FOREST), ("b", LogisticRegression())], voting="soft", weights=[3, 0]
    )
    holds(model.fit(X, TWO), X, exact=False)


@attack("members of a vote of numbers add to it")
def votes_against_a_member():
    deep = DecisionTreeRegressor(max_depth=5, random_state=0)
    for members in ([("a", TREE), ("b", deep)], [("a", TREE), ("b", Ridge())]):
        holds(VotingRegressor(members, weights=[-1.0, 3.0]).fit(X, Y), X, exact=False)


@attack("each member has its weight at its place")
def votes_whose_first_member_is_dropped():
    members = [("a", TREE), ("b", Ridge()), ("c", DecisionTreeRegressor(max_depth=5))]
    for dropped in "ac":
        model = VotingRegressor(members, weights=[1, 3, 5]).set_params(**{dropped: "drop"})
        holds(model.fit(X, Y), X, exact=False)


@attack("weights are those that were fitted")
def weights_that_are_changed_afterwards():
    model = VotingRegressor([("a", TREE), ("b", DecisionTreeRegressor(max_depth=5))]).fit(X, Y)
    holds(model.set_params(weights=[9.0, -2.0]), X)


@attack("a vote has as many weights as members")
def members_that_are_dropped_afterwards():
    model = VotingRegressor([("a", TREE), ("b", Ridge())], weights=[1, 3]).fit(X, Y)
    refused(model.set_params(a="drop"), X, "2 fitted members, and the weights .3.0. for")
    model = VotingRegressor([("a", TREE), ("b", clone(TREE))], weights=[1, 3]).fit(X, Y)
    refused(model.set_params(a="drop"), X, "2 fitted members, and the weights .3.0. for")


@attack("weights add up to something")
def weights_that_add_up_to_nothing():
    for other in (Ridge(), DecisionTreeRegressor(max_depth=5)):
        model = VotingRegressor([("a", TREE), ("b", other)], weights=[1, -1]).fit(X, Y)
        refused(model, X, "a sum other than zero")


@attack("a vote is a number")
def votes_by_labels():
    model = VotingClassifier([("a", FOREST), ("b", LogisticRegression())], voting="hard")
    outcome = holds(model.fit(X, TWO), X, exact=False)
    assert outcome.upper == 1


# Bagging -----------------------------------------------------------------------------------


@attack("members of a bag see each column once")
def columns_drawn_twice_before_a_line():
    model = BaggingRegressor(Ridge(), 4, bootstrap_features=True, random_state=0).fit(X, Y)
    assert any(len(set(own)) < 3 for own in model.estimators_features_)
    holds(model, X, exact=False)


@attack("members of a bag have probabilities")
def bags_that_count_labels():
    for inner in (LinearSVC(), RidgeClassifier()):
        model = BaggingClassifier(inner, 3, random_state=0).fit(X, TWO)
        refused(model, X, f"probabilities of {type(inner).__name__} are not understood")


@attack("a library's subclass predicts as its parent")
def forests_and_bags_that_balance_classes():
    model = BalancedRandomForestClassifier(
        3, max_depth=3, random_state=0, sampling_strategy="all", replacement=True, bootstrap=False
    )
    holds(model.fit(X, THREE), X)
    model = BalancedBaggingClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0)
    holds(model.fit(X, TWO), X)


@attack("all steps of a pipeline are passed through")
def samplers_between_steps():
    model = make_sampling_pipeline(StandardScaler(), RandomUnderSampler(random_state=0), FOREST)
    holds(model.fit(X, TWO), X)


class Rule(TransformerMixin, BaseEstimator):
    """Changes some rows when it predicts, and could draw others before a model is fitted."""

    def fit(self, X, y=None):
        return self

    def fit_resample(self, X, y):
        return X, y

    def transform(self, X):
        return np.where(X == X.max(), 0.0, X)


@attack("what has fit_resample is left out of predictions")
def samplers_that_transform():
    union = make_union("passthrough", Rule())
    for model in (
        make_pipeline(Rule(), FOREST),
        make_pipeline(make_pipeline(StandardScaler(), Rule()), LogisticRegression()),
        make_pipeline(union, FOREST),
        make_pipeline(make_column_transformer((Rule(), [0]), remainder="passthrough"), FOREST),
        BaggingClassifier(make_pipeline(Rule(), clone(FOREST)), 2, random_state=0),
        StackingClassifier([("f", FOREST)], make_pipeline(Rule(), LogisticRegression()), cv=2),
    ):
        assert not CertifiedAuditor.supports(model)
        refused(model.fit(X, TWO), X, "Rule")


# Calibration -------------------------------------------------------------------------------


@attack("there is a calibrator for each fold")
def one_calibrator_for_all_folds():
    for method in ("sigmoid", "isotonic"):
        model = CalibratedClassifierCV(FOREST, method=method, cv=3, ensemble=False)
        holds(model.fit(X, TWO), X, exact=False)


@attack("calibration rises")
def calibrators_that_fall():
    model = CalibratedClassifierCV(FrozenEstimator(clone(FOREST).fit(X, 1 - TWO)), method="sigmoid")
    model.fit(X, TWO)
    assert model.calibrated_classifiers_[0].calibrators[0].a_ > 0
    holds(model, X, exact=False)
    try:
        model = CalibratedClassifierCV(LogisticRegression(), method="temperature").fit(X, TWO)
    except ValueError:
        return  # not in this release of scikit-learn
    refused(model, X, "method='temperature'. cannot be certified")


@attack("a calibrator is what was fitted")
def calibrators_that_are_changed_afterwards():
    model = CalibratedClassifierCV(FOREST, method="sigmoid", cv=2).fit(X, TWO)
    model.calibrated_classifiers_[0].calibrators[0].a_ *= -30.0
    holds(model, X, exact=False)
    model.calibrated_classifiers_ = model.calibrated_classifiers_[:1]
    holds(model, X, exact=False)


@attack("a calibrator has several knots")
def calibrators_of_one_step():
    model = CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=2)
    holds(model.fit(X, TWO), X, exact=False)
    flat = CalibratedClassifierCV(FrozenEstimator(clone(FOREST).fit(X, 1 - TWO)), method="isotonic")
    holds(flat.fit(X, TWO), X, exact=False, zero=True)


@attack("calibrated classes have a sum")
def classes_that_are_all_impossible():
    model = CalibratedClassifierCV(FOREST, method="isotonic", cv=2).fit(X, THREE)
    for part in model.calibrated_classifiers_:
        for calibrator in part.calibrators:
            low = calibrator.X_thresholds_ < 0.8
            calibrator.y_thresholds_[low] = 0.0
            calibrator._build_f(calibrator.X_thresholds_, calibrator.y_thresholds_)
    refused(model, X, "CalibratedClassifierCV divides the probabilities")


# Functions of the target -------------------------------------------------------------------


@attack("a scaler of the target has a positive scale")
def targets_that_are_turned_round():
    for scaler in (StandardScaler(), MaxAbsScaler(), RobustScaler(), MinMaxScaler()):
        model = TransformedTargetRegressor(TREE, transformer=scaler).fit(X, Y)
        model.transformer_.scale_ = model.transformer_.scale_ * -0.5
        holds(model, X)


@attack("a scaler of the target clips both ways")
def scalers_that_clip_the_target():
    for scaler in (
        MinMaxScaler(clip=True),
        MaxAbsScaler(clip=True),
        RobustScaler(with_centering=False),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        RobustScaler(with_scaling=False),
    ):
        model = TransformedTargetRegressor(LinearRegression(), transformer=scaler).fit(X, Y)
        model.regressor_.intercept_ += 3.0
        holds(model, X)


@attack("predictions stay where the target was")
def predictions_beyond_the_target():
    model = TransformedTargetRegressor(LinearRegression(), transformer=PowerTransformer())
    model.fit(X, Y).regressor_.coef_ *= 1.5
    holds(model, X, exact=False)
    model = TransformedTargetRegressor(
        LinearRegression(), transformer=PowerTransformer("box-cox", standardize=False)
    ).fit(X, np.exp(Y))
    holds(model, X, exact=False)


@attack("the way back is the setting's")
def a_way_back_that_is_changed_afterwards():
    model = TransformedTargetRegressor(TREE, func=np.log, inverse_func=np.exp).fit(X, np.exp(Y))
    holds(model.set_params(func=None, inverse_func=np.negative), X, exact=False)
    model.transformer_.set_params(inverse_func=np.expm1)
    holds(model, X, exact=False)
    model.transformer_.set_params(inverse_func=np.sinh)
    refused(model, X, "inverse_func=sinh.* cannot be certified")


@attack("the way back is known from its name")
def ways_back_that_are_not_known():
    def exp(z):
        return np.exp(z) + (z > 2)

    model = TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=exp, check_inverse=False)
    refused(model.fit(X, np.exp(Y)), X, "inverse_func=exp.* cannot be certified")
    step = FunctionTransformer(np.log, np.exp, inv_kw_args={"where": True}, check_inverse=False)
    model = TransformedTargetRegressor(Ridge(), transformer=step).fit(X, np.exp(Y))
    refused(model, X, "cannot be certified")


@attack("a target has a way back from everywhere")
def powers_of_targets_that_end_somewhere():
    rng = np.random.default_rng(0)
    for sign in (1, -1):
        for inner in (LinearRegression(), GradientBoostingRegressor(random_state=0)):
            target = sign * np.exp(Y + 2 * rng.normal(size=len(Y)))
            model = TransformedTargetRegressor(inner, transformer=PowerTransformer())
            holds(model.fit(X, target), X, exact=False)


# Stacks ------------------------------------------------------------------------------------


@attack("a stack's columns are its members', in their order")
def stacks_with_dropped_members():
    members = [("a", TREE), ("b", Ridge()), ("c", DecisionTreeRegressor(max_depth=2))]
    for dropped in "ab":
        model = StackingRegressor(members, Ridge(), cv=2)
        model.set_params(**{dropped: "drop"})
        holds(model.fit(X, Y), X, exact=False)


@attack("what stands on top adds members up")
def stacks_that_subtract_members():
    model = StackingRegressor(
        [("a", TREE), ("b", DecisionTreeRegressor(max_depth=5))], LinearRegression(), cv=2
    ).fit(X, Y)
    model.final_estimator_.coef_ = np.array([-4.0, 3.5])
    holds(model, X)
    model = StackingClassifier([("f", FOREST), ("l", LogisticRegression())], cv=2).fit(X, TWO)
    model.final_estimator_.coef_ = np.array([[-6.0, 8.0]])
    holds(model, X, exact=False)


@attack("a member is asked as it was when it was fitted")
def stacks_of_members_asked_in_other_ways():
    members = [("svc", LinearSVC()), ("f", FOREST)]
    model = StackingClassifier(members, cv=2).fit(X, THREE)
    assert model.stack_method_ == ["decision_function", "predict_proba"]
    holds(model, X, exact=False)
    refused(model.set_params(passthrough=True), X, "passthrough=True. cannot be certified")
    model = StackingClassifier(members, cv=2, stack_method="predict").fit(X, TWO)
    refused(model, X, "looks at the labels of LinearSVC")


@attack("scalers on top of a stack are affine")
def stacks_under_scalers_that_clip():
    few = X["b"] < 3
    for scaler in (MinMaxScaler(clip=True), MaxAbsScaler(clip=True)):
        top = make_pipeline(scaler, Ridge())
        model = StackingRegressor([("r", Ridge()), ("t", TREE)], top, cv=2)
        refused(model.fit(X[few], 1e-13 * Y[few]), X, "comes after one that mixes columns")


@attack("members of a stack were fitted by it")
def stacks_of_fitted_members():
    members = [("a", TREE.fit(X, Y)), ("b", Ridge().fit(X, -Y))]
    holds(StackingRegressor(members, Ridge(), cv="prefit").fit(X, Y), X, exact=False)


# One model a class or a target -------------------------------------------------------------


@attack("each class has a model")
def classes_that_are_the_same_in_all_rows():
    labels = np.column_stack([TWO, np.ones(len(X), dtype=int)])
    model = OneVsRestClassifier(LogisticRegression()).fit(X, labels)
    refused(model, X, "_ConstantPredictor cannot be certified")


@attack("shares of classes have a sum")
def shares_of_trees_that_say_no():
    model = OneVsRestClassifier(DecisionTreeClassifier(max_depth=4)).fit(X, THREE)
    for part in model.estimators_:  # no class at all, in half of the leaves
        part.tree_.value[::2] = [1.0, 0.0]
    refused(model, X, "OneVsRestClassifier divides the probabilities")


@attack("one model a class has probabilities that are divided")
def scores_and_labels_of_one_model_a_class():
    holds(OneVsRestClassifier(LinearSVC()).fit(X, THREE), X, exact=False)
    holds(OneVsRestClassifier(LogisticRegression()).fit(X, TWO), X, exact=False)
    several = np.column_stack([TWO, X["b"] > 1, X["a"] > 1]).astype(int)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, several)
    holds(model, X, exact=False, response_method="decision_function")


@attack("targets are of one kind")
def targets_of_two_and_three_classes():
    model = MultiOutputClassifier(FOREST).fit(X, np.column_stack([TWO, THREE]))
    holds(model, X, exact=False)
    holds(MultiOutputClassifier(LogisticRegression()).fit(X, TWO[:, None]), X, exact=False)
    holds(MultiOutputRegressor(TREE).fit(X, np.column_stack([Y, -Y, Y * X["b"]])), X, exact=False)


@attack("a search holds the model that predicts")
def searches_that_hold_another_model():
    model = GridSearchCV(TREE, {"max_depth": [1, 3]}, cv=2).fit(X, Y)
    model.best_estimator_ = DecisionTreeRegressor(max_depth=5).fit(X, 5 * Y)
    holds(model, X)
    other = FixedThresholdClassifier(FOREST, threshold=0.9, pos_label=0).fit(X, TWO)
    holds(other, X)


@attack("a boosted model inside of others keeps its link")
def boosting_in_a_bag_in_a_vote_in_a_calibrator():
    boosted = GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)
    vote = VotingClassifier(
        [("b", BaggingClassifier(boosted, 2, random_state=0)), ("f", FOREST)],
        voting="soft",
        weights=[2, 1],
    )
    holds(CalibratedClassifierCV(vote, cv=2, ensemble=False).fit(X, TWO), X, exact=False)


@attack.each()
def test_what_readers_of_wrappers_take_for_granted(attack):
    attack()
