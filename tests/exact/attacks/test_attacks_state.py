"""Attacks on what a model is at the moment of reading, and on what two calls share.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from attacking import Attacks, every_input, holds, largest, numbers, outputs, refused
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from skfairtest import CertifiedAuditor, InputSpace, RandomAuditor, certify
from skfairtest.exceptions import EstimatorFailedError, NonDeterministicModelError
from skfairtest.whitebox import _linear_models

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()


def tree(depth=5):
    return DecisionTreeRegressor(max_depth=depth, random_state=0)


class Shifted(DecisionTreeRegressor):
    """A tree whose own code is in a method that has no public name."""

    def _validate_X_predict(self, X, check_input):
        return np.where(super()._validate_X_predict(X, check_input) == 4, np.float32(0), X)


# Code that is not the library's own ---------------------------------------------------------


@attack("only public methods make predictions")
def subclasses_with_methods_of_their_own():
    X, y = numbers()
    refused(Shifted(max_depth=5).fit(X, y), X, "Shifted is a class of")
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    forest.estimators_[1] = Shifted(max_depth=5).fit(X, y)
    refused(forest, X, "Shifted is a class of")
    boosted = GradientBoostingRegressor(n_estimators=2, max_depth=5).fit(X, y)
    boosted.estimators_[1, 0] = Shifted(max_depth=5).fit(X, y)
    refused(boosted, X, "Shifted is a class of")


@attack("an object is of the class that it was made of")
def objects_of_another_class():
    X, y = numbers()
    model = tree().fit(X, y)
    model.__class__ = Shifted
    refused(model, X, "Shifted is a class of")
    forest = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    forest.__class__ = ExtraTreesRegressor
    holds(forest, X)


@attack("methods are those of the class")
def methods_of_an_object_of_its_own():
    X, y = numbers()
    for name in ("predict", "_validate_X_predict"):
        model = tree().fit(X, y)
        setattr(model, name, getattr(model, name))
        refused(model, X, f"method {name} that was replaced on the instance")
    scaler = StandardScaler().fit(X)
    scaler.transform = lambda table: table * 2
    refused(
        make_pipeline(scaler, tree().fit(X, y)), X, "transform that was replaced on the instance"
    )


@attack("methods of a class stay what they were")
def methods_that_are_replaced_on_the_class():
    X, y = numbers()
    model = Ridge().fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ridge, "predict", lambda self, table: np.zeros(len(table)), raising=False)
        refused(model, X, "predict that was replaced on the class")
    holds(model, X)


# Fitted attributes that were changed -------------------------------------------------------


@attack("leaves and tests are those of training")
def trees_that_are_changed_afterwards():
    X, y = numbers()
    model = tree().fit(X, y)
    model.tree_.value[::2] *= -7
    inner = np.flatnonzero(model.tree_.children_left >= 0)
    model.tree_.threshold[inner[1:]] += 0.3
    model.tree_.children_left[inner[-1]] = model.tree_.children_right[inner[-1]] = -1
    holds(model, X)


@attack("a forest has as many trees as it was told")
def trees_that_are_taken_out_or_doubled():
    X, y = numbers()
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, y)
    model.estimators_ = model.estimators_[1:3] * 2 + model.estimators_[:1]
    holds(model.set_params(n_estimators=100), X)
    boosted = GradientBoostingRegressor(n_estimators=6).fit(X, y)
    boosted.estimators_ = boosted.estimators_[::-2]
    holds(boosted, X)


@attack("the learning rate is that of training")
def a_learning_rate_that_is_changed_afterwards():
    X, y = numbers()
    for rate in (-3.0, 0.0, 1e6):
        model = GradientBoostingRegressor(n_estimators=3).fit(X, y).set_params(learning_rate=rate)
        holds(model, X, zero=True)


@attack("what boosting starts from is that of training")
def a_start_that_is_changed_afterwards():
    X, y = numbers()
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y + 50)
    model.init_.constant_ = model.init_.constant_ - 1e4
    holds(model, X)
    model.init_ = "zero"
    holds(model, X)


@attack("a setting that is changed has no effect")
def losses_that_are_changed_afterwards():
    """Refused, as the library's own copy of the loss is what predicts."""
    X, y = numbers()
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y > 0.5)
    refused(model.set_params(loss="exponential"), X, "gives other outputs")
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, y).set_params(loss="poisson")
    refused(model, X, "gives other outputs")


@attack("a support vector machine predicts with the weights that it shows")
def weights_of_which_a_copy_predicts():
    X, y = numbers()
    model = SVR(kernel="linear").fit(X, y)
    model.dual_coef_ = model.dual_coef_ * 5
    holds(model, X, exact=False)
    model._dual_coef_ = model._dual_coef_ * 5
    holds(model, X, exact=False)


@attack("weights are finite")
def weights_that_are_no_numbers():
    X, y = numbers()
    model = LinearRegression().fit(X, y)
    model.coef_[1] = np.nan
    refused(model, X, "finite numbers", kind=EstimatorFailedError)
    net = MLPRegressor(hidden_layer_sizes=(2,), max_iter=5).fit(X, y)
    net.coefs_[0][0, 0] = np.inf
    refused(net, X, "finite|NaN", kind=(EstimatorFailedError, ValueError))


@attack("leaves are finite")
def leaves_that_are_no_numbers():
    X, y = numbers()
    model = tree().fit(X, y)
    leaf = int(np.flatnonzero(model.tree_.children_left < 0)[-1])
    model.tree_.value[leaf] = np.inf
    refused(model, X, "finite", kind=(EstimatorFailedError, ValueError))


@attack("classes are those of training, in their order")
def classes_that_are_renamed_afterwards():
    X, y = numbers()
    model = RandomForestClassifier(3, max_depth=4, random_state=0).fit(
        X, np.digitize(y, [0.0, 0.6])
    )
    model.classes_ = np.array(["z", "k", "a"])
    holds(model, X)


@attack("a model knows its columns")
def columns_that_are_forgotten_afterwards():
    X, y = numbers()
    for model in (tree().fit(X, y), make_pipeline(StandardScaler(), Ridge()).fit(X, y)):
        part = model[0] if hasattr(model, "steps") else model
        del part.feature_names_in_
        holds(model, X)
    model = tree().fit(X, y)
    model.feature_names_in_ = model.feature_names_in_[::-1]
    refused(model, X, "feature names", kind=EstimatorFailedError)


@attack("outputs are about as large as one, and about as far apart")
def mistakes_that_are_small_beside_the_outputs():
    """One weight of three is read wrongly by a tenth, of outputs of all sizes."""
    X, y = numbers()
    exact = _linear_models.linear_map

    def wrongly(*asked):
        own = exact(*asked)
        return own._replace(weights=own.weights * [[1.1], [1.0], [1.0]])

    for factor, base in ((1.0, 0.0), (1e-13, 0.0), (1e13, 0.0), (1.0, 1e11), (1.0, -1e9)):
        model = LinearRegression().fit(X, factor * y)
        model.intercept_ = model.intercept_ + base
        holds(model, X, exact=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_linear_models, "linear_map", wrongly)
            refused(model, X, "gives other outputs")


# What two calls share ----------------------------------------------------------------------


@attack("a step belongs to one pipeline")
def steps_that_two_pipelines_share():
    X, y = numbers()
    scaler = StandardScaler()
    first = make_pipeline(scaler, tree()).fit(X, y)
    second = make_pipeline(scaler, tree(3)).fit(X * 3 + 1, y)  # which fits the step anew
    holds(first, X, zero=True)
    holds(second, X, zero=True)


@attack("members are different objects")
def one_object_in_several_places():
    X, y = numbers()
    labels = (y > 0.5).astype(int)
    one = LogisticRegression().fit(X, labels)
    for methods in ("predict_proba", "decision_function"):
        model = StackingClassifier([("a", one), ("b", one)], cv="prefit", stack_method=methods)
        holds(model.fit(X, labels), X, exact=False)
    vote = VotingRegressor([("a", tree()), ("b", tree(3))], weights=[1.0, 3.0]).fit(X, y)
    vote.estimators_[1] = vote.estimators_[0]
    holds(vote, X)


@attack("a space belongs to one table")
def spaces_that_two_tables_share():
    X, y = numbers()
    space = InputSpace().fit(X, ["s"])
    few = X[X["b"] < 2]
    model = tree().fit(X, y)
    auditor = CertifiedAuditor(
        model, sensitive_features="s", space=space, max_queries=40, engine="numpy", random_state=0
    ).fit(few)
    table, width = every_input(X, "s", {})  # the domain of the space, not that of the table
    truth = largest(outputs(model, table, "regression"), width)
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(truth, rel=1e-9)


@attack("a model is the same when it is certified")
def models_that_are_fitted_anew_before_they_are_certified():
    X, y = numbers()
    model = tree().fit(X, y)
    auditor = RandomAuditor(model, sensitive_features="s", max_queries=60, random_state=0)
    auditor.fit(X)
    auditor.estimator_.fit(X, 5 * y)
    with pytest.raises(NonDeterministicModelError, match="Fit the auditor again"):
        certify(auditor, engine="numpy", max_time=30)


@attack("two reads of one model are one")
def copies_of_a_model():
    X, y = numbers()
    model = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    first = holds(model, X)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit(X, y)):
        assert holds(other, X)[:4] == first[:4]


@attack("steps hand on arrays")
def containers_that_are_set_for_all():
    X, y = numbers()
    steps = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["b"]),
        (StandardScaler(), ["a"]),
        remainder="passthrough",
    )
    model = make_pipeline(steps, tree())
    for output in ("pandas", "polars"):
        with sklearn.config_context(transform_output=output):
            holds(model.fit(X, y), X)
    holds(model, X)  # fitted on one kind of table, and shown another


@attack("rows are named by their numbers")
def tables_with_an_index():
    X, y = numbers()
    X.index = pd.Index(np.random.default_rng(0).choice(9, len(X)), name="s")
    holds(make_pipeline(StandardScaler(), tree()).fit(X, y), X)


@attack("columns are named by text")
def names_of_columns_of_other_kinds():
    X, y = numbers()
    X.columns = [7, 3, 5]
    holds(tree().fit(X, y), X, 7)
    X.columns = ["s", "a b", "a.b[1]"]
    holds(tree().fit(X, y), X)


@attack.each()
def test_what_is_taken_for_granted_of_the_state_of_a_model(attack):
    attack()
