"""Attacks on the readers of scikit-learn's trees: what they take for granted, broken on purpose.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import numpy as np
import pytest
from attacking import Attacks, dense, holds, numbers, reals, refused
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()
BINS = {"max_iter": 4, "min_samples_leaf": 3, "early_stopping": False}


# Single trees and their averages -----------------------------------------------------------


@attack("a node's value is what its own samples say")
def values_held_by_monotonic_constraints():
    X, y = numbers()
    model = DecisionTreeRegressor(max_depth=5, monotonic_cst=[1, -1, 0]).fit(X, y)
    holds(model, X, zero=True)
    model = DecisionTreeClassifier(max_depth=5, monotonic_cst=[0, 1, 0]).fit(X, y > 0.5)
    holds(model, X)


@attack("the shares of classes in a leaf are counts")
def leaves_of_weighted_classes():
    X, y = numbers()
    weights = np.random.default_rng(0).gamma(0.3, size=len(X))
    model = DecisionTreeClassifier(max_depth=5, class_weight={False: 1e-3, True: 50.0})
    holds(model.fit(X, y > 0.5, sample_weight=weights), X)


@attack("the second class is the larger one, and classes are numbers")
def names_of_classes_in_another_order():
    X, y = numbers()
    model = RandomForestClassifier(3, max_depth=4, random_state=0)
    holds(model.fit(X, np.where(y > 0.5, "a", "b")), X)


@attack("there are at least two classes")
def a_single_class():
    X, y = numbers()
    outcome = holds(DecisionTreeClassifier().fit(X, np.zeros(len(X))), X, zero=True)
    assert outcome.upper == 0 and outcome.certified


@attack("a tree has tests")
def a_tree_of_one_leaf():
    X, y = numbers()
    outcome = holds(DecisionTreeRegressor(max_depth=5, ccp_alpha=1e9).fit(X, y), X, zero=True)
    assert outcome.upper == 0 and outcome.certified


@attack("a regressor has one target")
def several_targets_of_a_tree():
    X, y = numbers()
    holds(ExtraTreeRegressor(max_depth=5, random_state=0).fit(X, np.column_stack([y, -9 * y])), X)


@attack("probabilities are one table, not one a target")
def several_targets_of_a_classifier():
    X, y = numbers()
    model = DecisionTreeClassifier(max_depth=3).fit(X, np.column_stack([y > 0.5, X["b"] > 2]))
    refused(model, X, "2 targets; expected one for a classifier")


@attack("all members of a forest see all rows")
def forests_of_few_rows_each():
    X, y = numbers()
    model = ExtraTreesClassifier(
        6, bootstrap=True, max_samples=0.05, random_state=0, class_weight="balanced_subsample"
    )
    holds(model.fit(X, np.digitize(y, [0.0, 0.6])), X)


@attack("thresholds lie between two numbers of single precision")
def thresholds_next_to_numbers():
    rng = np.random.default_rng(0)
    # Steps of a quarter of what single precision tells apart, so that most columns are rounded.
    v = 1 + rng.integers(0, 60, 300) * 2.0**-25
    X = np.column_stack([rng.integers(0, 2, 300), v])
    y = X[:, 0] * np.sin((v - 1) * 2.0**22) + 0.1 * rng.normal(size=300)
    near = np.unique(np.float32(v)).astype(float)
    middles = (near[1:] + near[:-1]) / 2
    model = DecisionTreeRegressor(max_depth=8, random_state=0).fit(X, y)
    holds(model, X, 0, values={1: dense(v.min(), v.max(), 500, *near, *middles)})


@attack("missing values go where most of the samples went, seen or not")
def missing_values_that_training_did_not_see():
    X, y = numbers()
    X = X.astype(float)
    X.loc[::6, "a"] = np.nan
    model = RandomForestRegressor(3, max_depth=5, random_state=0).fit(X, y)
    # Each of the columns may be missing in the domain, and only one was in training.
    shown = X.copy()
    shown.loc[1::6, "b"] = np.nan
    wanted = {
        "s": [0.0, 1.0],
        "a": [0.0, 1.0, 2.0, 3.0, np.nan],
        "b": [*map(float, range(5)), np.nan],
    }
    holds(model, shown, values=wanted)


@attack("a tree that never saw a missing value is shown none")
def missing_values_of_a_tree_that_saw_none():
    X, y = numbers()
    model = DecisionTreeRegressor(max_depth=4).fit(X.astype(float), y)
    shown = X.astype(float)
    shown.loc[::6, "b"] = np.nan
    wanted = {"s": [0.0, 1.0], "a": [0.0, 1.0, 2.0, 3.0], "b": [*map(float, range(5)), np.nan]}
    holds(model, shown, values=wanted)


# Boosting ----------------------------------------------------------------------------------


@attack("boosting starts from a mean")
def boosting_from_other_constants():
    X, y = numbers()
    for init in (
        "zero",
        DummyRegressor(strategy="quantile", quantile=0.9),
        DummyRegressor(strategy="constant", constant=-70.0),
    ):
        holds(GradientBoostingRegressor(n_estimators=4, init=init).fit(X, y), X)


@attack("what a dummy starts from is a constant")
def boosting_from_a_draw():
    X, y = numbers()
    rare = (np.arange(len(X)) == 3).astype(int)  # of 200 rows one is drawn as a rule
    start = DummyClassifier(strategy="stratified", random_state=0)
    model = GradientBoostingClassifier(n_estimators=3, init=start).fit(X, rare)
    refused(model, X, "gives other outputs|is not understood")


@attack("boosting starts from a constant")
def boosting_from_a_model():
    X, y = numbers()
    model = GradientBoostingRegressor(n_estimators=3, init=Ridge()).fit(X, y)
    refused(model, X, "init=Ridge is not understood")


@attack("probabilities are the logistic function of the sum")
def twice_the_sum_behind_an_exponential_loss():
    X, y = numbers()
    model = GradientBoostingClassifier(n_estimators=3, loss="exponential", max_depth=2)
    outcome = holds(model.fit(X, y > 0.5), X)
    assert outcome.truth > 0.05
    holds(model, X, response_method="decision_function")


@attack("early stopping and subsamples leave nothing behind")
def boosting_that_stopped_early():
    X, y = numbers()
    model = GradientBoostingClassifier(
        n_estimators=40, n_iter_no_change=1, subsample=0.4, random_state=0, max_depth=1
    ).fit(X, y > 0.5)
    assert model.n_estimators_ < 40
    holds(model, X)


@attack("trees fitted later were fitted alike")
def boosting_that_goes_on_with_other_settings():
    X, y = numbers()
    model = GradientBoostingRegressor(n_estimators=3, warm_start=True, learning_rate=0.5).fit(X, y)
    model.set_params(n_estimators=6, learning_rate=0.1, max_depth=1, loss="huber").fit(X, y)
    holds(model, X)


# Histogram boosting ------------------------------------------------------------------------


@attack("columns reach the trees in their order")
def categories_stand_before_numbers():
    X, y = numbers()
    for places in ([2], [1, 2]):
        model = HistGradientBoostingRegressor(categorical_features=places, **BINS).fit(X, y)
        holds(model, X)


@attack("all codes of a domain were seen in training")
def codes_below_zero_and_beyond_the_last():
    X, y = numbers()
    codes = [-3, 0, 2, 4, 77, 300]
    model = HistGradientBoostingRegressor(categorical_features=["b"], **BINS).fit(X, y)
    holds(model, X, values={"b": codes}, categories={"b": codes})


@attack("a column that is tested by category has few values")
def categories_of_a_long_column():
    X, y = numbers()
    model = HistGradientBoostingRegressor(categorical_features=["b"], **BINS).fit(X, y)
    refused(model, X, "narrow its domain by InputSpace", bounds={"b": (0, 9_000)})


@attack("a category that a validation part alone holds is known")
def categories_that_no_tree_saw():
    X, y = numbers(n=120)
    X["b"] = np.where(np.arange(120) % 60 == 0, 9, X["b"])
    model = HistGradientBoostingClassifier(
        max_iter=6,
        categorical_features=["b"],
        min_samples_leaf=3,
        early_stopping=True,
        validation_fraction=0.4,
        random_state=1,
    ).fit(X, y > 0.5)
    codes = [0, 1, 2, 3, 4, 9]
    holds(model, X, values={"b": codes}, categories={"b": codes})


@attack("leaves are what gradients say")
def histograms_with_constraints():
    X, y = numbers()
    model = HistGradientBoostingClassifier(
        monotonic_cst={"a": 1},
        interaction_cst=[{0, 1}, {2}],
        max_leaf_nodes=5,
        l2_regularization=3.0,
        **BINS,
    )
    holds(model.fit(X, y > 0.5), X)


@attack("thresholds are finite")
def thresholds_for_what_is_missing_alone():
    X, y = numbers()
    X = X.astype(float)
    X.loc[::3, "b"] = np.nan
    target = X["b"].isna() * (3.0 + X["s"])
    model = HistGradientBoostingRegressor(**BINS).fit(X, target)
    thresholds = [t.nodes["num_threshold"] for round in model._predictors for t in round]
    assert np.isinf(np.concatenate(thresholds)).any()
    holds(
        model,
        X,
        values={"s": [0.0, 1.0], "a": [0.0, 1.0, 2.0, 3.0], "b": [*map(float, range(5)), np.nan]},
    )


@attack("predictions are sums")
def exponentials_of_sums():
    X, y = numbers()
    for loss in ("poisson", "gamma"):
        model = HistGradientBoostingRegressor(loss=loss, learning_rate=0.9, **BINS)
        holds(model.fit(X, np.exp(2 * y)), X)


# Bagging of trees --------------------------------------------------------------------------


@attack("members see each column once, in order")
def columns_drawn_twice():
    X, y = numbers()
    model = BaggingRegressor(
        DecisionTreeRegressor(max_depth=4),
        5,
        bootstrap_features=True,
        max_features=1.0,
        random_state=0,
    ).fit(X, y)
    assert any(len(set(own)) < 3 for own in model.estimators_features_)
    holds(model, X)


@attack("members know all classes")
def members_that_know_few_classes():
    X, y = numbers()
    labels = np.digitize(y, [-0.2, 0.4, 1.2])
    # Where a member takes no weights of samples, it is shown its own alone.
    inner = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3))
    model = BaggingClassifier(inner, 6, max_samples=4, random_state=3).fit(
        X, np.array(["k", "z", "a", "m"])[labels]
    )
    assert len({len(part.classes_) for part in model.estimators_}) > 1
    holds(model, X)


@attack("members of a bag stand alone")
def bags_of_pipelines_of_boosting():
    X, y = numbers()
    inner = make_pipeline(
        StandardScaler(), "passthrough", GradientBoostingRegressor(n_estimators=3)
    )
    holds(BaggingRegressor(inner, 3, max_features=2, random_state=0).fit(X, y), X)


@attack("a real sensitive column has a value in each cell")
def real_sensitive_columns():
    X, y = reals()
    low, high = X[:, 1].min(), X[:, 1].max()
    for model in (
        RandomForestRegressor(3, max_depth=5, random_state=0),
        HistGradientBoostingRegressor(**BINS),
    ):
        holds(model.fit(X, y), X, 1, values={1: dense(low, high, 1500)})


@attack.each()
def test_what_readers_of_trees_take_for_granted(attack):
    attack()
