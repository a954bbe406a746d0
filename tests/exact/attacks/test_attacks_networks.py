"""Attacks on the reader of scikit-learn's networks and on their bounds.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import numpy as np
import pytest
from attacking import Attacks, dense, holds, numbers, reals, refused
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()
NET = {"hidden_layer_sizes": (3,), "solver": "lbfgs", "max_iter": 40, "random_state": 0}


def net(**settings):
    X, y = numbers()
    return MLPRegressor(**NET | settings).fit(X, y), X


@attack("the activation is the one that was fitted")
def an_activation_that_is_changed_afterwards():
    for before, after in (("relu", "tanh"), ("tanh", "logistic"), ("logistic", "identity")):
        model, X = net(activation=before)
        holds(model.set_params(activation=after), X)


@attack("the output follows from the loss")
def an_output_that_is_changed_afterwards():
    model, X = net()
    model.out_activation_ = "logistic"
    holds(model, X)
    model.out_activation_ = "relu"
    refused(model, X, "'relu' at the output; expected one of")


@attack("a regressor's output is a sum")
def exponentials_of_sums():
    X, y = numbers()
    model = MLPRegressor(loss="poisson", **NET | {"max_iter": 15}).fit(X, np.exp(y))
    assert model.out_activation_ == "exp"
    holds(model, X, exact=False)


@attack("there is a hidden layer")
def networks_without_hidden_layers():
    model, X = net(hidden_layer_sizes=())
    holds(model, X)
    model, X = net(hidden_layer_sizes=(1, 1, 1))
    holds(model, X)


@attack("units see something")
def units_of_no_weight():
    model, X = net()
    model.coefs_[0][:, 1] = 0.0
    model.coefs_[1][2] = 0.0
    holds(model, X)
    model.coefs_[0][:] = 0.0
    assert holds(model, X, zero=True).upper == 0


@attack("units are open somewhere")
def units_that_are_always_shut():
    model, X = net()
    model.intercepts_[0][:] = -1e3
    assert holds(model, X, zero=True).upper <= 1e-9


@attack("activations bend at zero and no input is there")
def units_whose_bend_is_at_inputs():
    model, X = net()
    model.coefs_[0][:] = np.array([[1.0, -2.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 0.0]])
    model.intercepts_[0][:] = [0.0, -1.0, -0.0]
    holds(model, X)


@attack("sums are of a size in which rounding is small")
def sums_that_cancel():
    model, X = net(activation="tanh")
    model.coefs_[0][:] = np.array([[1.0, 1.0, 1.0], [1e8, 1e8, -1e8], [-1e8, 1e8, 1e8]])
    holds(model, X, exact=False, zero=True)
    model, X = net()
    model.intercepts_[-1] = model.intercepts_[-1] + 1e12
    holds(model, X, exact=False)


@attack("activations are not saturated")
def saturated_units():
    for activation in ("tanh", "logistic"):
        model, X = net(activation=activation)
        model.coefs_[0] *= 40
        model.intercepts_[0] *= 40
        holds(model, X, exact=False)


@attack("weights and table are of one precision")
def networks_of_single_precision():
    X, y = numbers()
    single = X.to_numpy(np.float32)
    model = MLPRegressor(**NET | {"solver": "adam"}).fit(single, y)
    assert model.coefs_[0].dtype == np.float32
    holds(model, single, 0)
    holds(model, X.to_numpy(np.float64), 0)
    holds(MLPRegressor(**NET).fit(X.to_numpy(np.float64), y), single, 0)


@attack("what mixes columns computes as the network does")
def mixed_columns_of_single_precision():
    X, y = numbers()
    single = X.to_numpy(np.float32)
    model = make_pipeline(StandardScaler(), PCA(2), MLPRegressor(**NET)).fit(single, y)
    holds(model, single, 0, exact=False)


@attack("probabilities of two classes are one output")
def labels_in_another_order():
    X, y = numbers()
    model = MLPClassifier(**NET | {"activation": "tanh", "max_iter": 15})
    holds(model.fit(X, np.where(y > 0.5, "a", "b")), X, exact=False)


@attack("probabilities of classes add up to one")
def several_labels_at_once():
    X, y = numbers()
    labels = np.column_stack([y > 0.5, X["b"] > 2]).astype(int)
    model = MLPClassifier(**NET).fit(X, labels)
    holds(model, X, exact=False)


@attack("the best epoch is the last one")
def networks_that_stopped_early():
    X, y = numbers()
    model = MLPClassifier(
        (4,), early_stopping=True, n_iter_no_change=3, max_iter=60, random_state=0
    ).fit(X, np.digitize(y, [0.0, 0.6]))
    holds(model, X, exact=False)


@attack("a function of a column keeps its precision and its order")
def bends_before_a_network():
    X, y = reals(low=-2.0)
    steps = make_column_transformer((FunctionTransformer(np.square), [1]), remainder="passthrough")
    model = make_pipeline(steps, MLPRegressor(**NET)).fit(X, y)
    values = {1: dense(X[:, 1].min(), X[:, 1].max(), 3000, 0.0)}
    for sensitive in (0, 1):
        holds(model, X, sensitive, values=values, exact=False)


@attack("a probability is asked for where a score would do")
def a_network_has_no_scores():
    X, y = numbers()
    model = MLPClassifier(**NET).fit(X, y > 0.5)
    refused(model, X, "does not have", kind=TypeError, response_method="decision_function")


@attack("labels have a bound")
def labels_alone():
    X, y = numbers()
    model = MLPClassifier(**NET).fit(X, y > 0.5)
    outcome = holds(model, X, exact=False, response_method="predict")
    assert outcome.upper == 1


@attack.each()
def test_what_the_reader_of_networks_takes_for_granted(attack):
    attack()
