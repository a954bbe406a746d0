"""Attacks on constraints and spaces: what bounds take for granted of the inputs that exist.

Each attack stands below the assumption that it breaks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attacking import (
    Attacks,
    bounded,
    dense,
    every_input,
    holds,
    largest,
    numbers,
    outputs,
    reals,
    refused,
)
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeRegressor

from skfairtest import Allowed, Implies, InputSpace, Is, Linear, Order

pytestmark = pytest.mark.filterwarnings("ignore")
attack = Attacks()
NET = MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", max_iter=40, random_state=0)


def tree(depth=6):
    return DecisionTreeRegressor(max_depth=depth, random_state=0)


def kinds():
    """A model of each verifier."""
    return [
        tree(),
        LinearRegression(),
        NET,
    ]


def constrained(constraint, valid, models=None, **params):
    X, y = numbers()
    shown = [
        holds(
            model.fit(X, y), X, constraint=constraint, valid=valid, exact=False, zero=True, **params
        ).truth
        for model in models or (tree(), LinearRegression(), kinds()[-1])
    ]
    assert np.count_nonzero(np.array(shown) > 0) > len(shown) / 2


def grouped():
    """A group of one-hot columns, and its values; others are none of them."""
    X, y = numbers()
    X = pd.DataFrame(
        {"s": X["s"], "r_a": X["b"] == 0, "r_b": X["b"] == 1, "r_c": X["b"] > 1}
    ).astype(int)
    return X, y, {("r_a", "r_b", "r_c"): [(1, 0, 0), (0, 1, 0), (0, 0, 1)]}


# Domains -----------------------------------------------------------------------------------


@attack("the domain is where the data are")
def domains_wider_and_narrower_than_the_data():
    X, y = numbers()
    for model in kinds():
        model.fit(X, y)
        holds(model, X, values={"b": range(-3, 9)}, bounds={"b": (-3, 8)}, exact=False)
        holds(
            model,
            X,
            values={"b": [3, 4], "a": [2]},
            bounds={"b": (3, 4), "a": (2, 2)},
            exact=False,
            zero=True,
        )


@attack("twins have the sensitive values of the data")
def sensitive_domains_beyond_the_data():
    X, y = numbers()
    for model in kinds():
        holds(
            model.fit(X, y), X, "b", values={"b": range(-4, 10)}, bounds={"b": (-4, 9)}, exact=False
        )


@attack("there is one sensitive column")
def all_columns_but_one_are_sensitive():
    X, y = numbers()
    for model in kinds():
        holds(model.fit(X, y), X, ["s", "b"], exact=False)


@attack("a real sensitive column has few values")
def real_sensitive_columns():
    X, y = reals()
    values = {1: dense(X[:, 1].min(), X[:, 1].max(), 400)}
    for model in (tree(), LinearRegression(), NET):
        holds(model.fit(X, y), X, 1, values=values, exact=False)


@attack("numbers that are listed are next to each other")
def numbers_that_are_listed():
    X, y = numbers()
    for model in kinds():
        holds(
            model.fit(X, y),
            X,
            values={"b": [-1, 4, 900]},
            categories={"b": [-1, 4, 900]},
            exact=False,
        )


@attack("a step is what the numbers are multiples of")
def numbers_in_steps():
    X, y = numbers()
    X = X.assign(a=np.round(X["a"] * 0.1 + 0.2, 1), b=X["b"] * 2.5)
    values = {"a": [0.2, 0.3, 0.4, 0.5], "b": [0.0, 2.5, 5.0, 7.5, 10.0]}
    for model in kinds():
        holds(model.fit(X, y), X, values=values, exact=False)
    wider = values | {"a": [round(0.05 * k, 2) for k in range(2, 13)]}
    holds(tree().fit(X, y), X, values=wider, bounds={"a": (0.1, 0.6)}, steps={"a": 0.05})


@attack("a step begins at the lower end")
def whole_numbers_in_bounds_that_are_none():
    X, y = numbers()
    holds(tree().fit(X, y), X, values={"b": [1, 2, 3]}, bounds={"b": (1, 3)}, steps={"b": 1})
    refused(tree().fit(X, y), X, "bounds", bounds={"b": (3, 1)})


@attack("dates are numbers")
def dates_as_categories():
    X, y = numbers()
    X["b"] = pd.Timestamp("2020-01-30") + pd.to_timedelta(X["b"], "D")
    for encoder, last in ((OrdinalEncoder(), tree()), (OneHotEncoder(), Ridge())):
        steps = make_column_transformer((encoder, ["b"]), remainder="passthrough")
        for sensitive in ("s", "b"):
            holds(make_pipeline(steps, last).fit(X, y), X, sensitive)


@attack("a truth value is a number")
def truth_values():
    X, y = numbers()
    X = X.assign(s=X["s"].astype(bool), a=X["a"] > 1)
    for model in kinds():
        if model is not NET:
            holds(model.fit(X, y), X, exact=False)


# Groups ------------------------------------------------------------------------------------


@attack("columns vary by themselves")
def groups_of_columns():
    X, y, values = grouped()
    for model in kinds():
        holds(model.fit(X, y), X, values=values, exact=False)


@attack("a sensitive attribute is a column")
def sensitive_groups():
    X, y, values = grouped()
    for model in kinds():
        holds(model.fit(X, y), X, ["r_b"], values=values, exact=False)


@attack("one column of a group is one")
def groups_of_which_no_column_is_one():
    X, y, values = grouped()
    X.loc[::5, ["r_a", "r_b", "r_c"]] = 0
    (names,) = values
    wanted = {names: [*values[names], (0, 0, 0)]}
    for model in kinds():
        holds(model.fit(X, y), X, values=wanted, one_hot={"r": list(names)}, exact=False)


@attack("columns that look like a group are one")
def groups_that_are_none():
    X, y, _ = grouped()
    for model in kinds():
        holds(model.fit(X, y), X, one_hot=None, exact=False)


@attack("a group's columns hold zero and one")
def groups_of_truth_values():
    X, y, values = grouped()
    X = X.astype({"r_a": bool, "r_b": bool, "r_c": bool})
    (names,) = values
    wanted = {names: [tuple(map(bool, row)) for row in values[names]]}
    holds(tree().fit(X, y), X, values=wanted)


# Constraints -------------------------------------------------------------------------------


@attack("all inputs of the domain exist")
def orders_of_columns():
    constrained(Order("a", "<=", "b"), lambda q: q["a"] <= q["b"])
    constrained(Order("a", ">", "b"), lambda q: q["a"] > q["b"])


@attack("constraints speak of what twins share")
def constraints_on_sensitive_values():
    constrained(Order("s", "<", "a"), lambda q: q["s"] < q["a"])
    constrained(Implies({"s": 1}, {"a": 3}), lambda q: (q["s"] != 1) | (q["a"] == 3))
    constrained(lambda q: q["a"] + q["s"] != 3, lambda q: q["a"] + q["s"] != 3)


@attack("what is valid is a box")
def sums_that_are_tight():
    constrained(Linear({"a": 1, "b": 1}, "==", 4), lambda q: q["a"] + q["b"] == 4)
    constrained(Linear({"a": 2, "b": -1}, "<=", -2), lambda q: 2 * q["a"] - q["b"] <= -2)


@attack("a constraint leaves several inputs")
def one_input_that_is_left():
    constrained({"a": 2, "b": 4}, lambda q: (q["a"] == 2) & (q["b"] == 4))
    constrained(
        [Is("a", 1), Linear({"a": 1, "b": 1}, ">=", 5)], lambda q: (q["a"] == 1) & (q["b"] == 4)
    )


@attack("parts of a domain are cut by numbers")
def columns_of_which_few_combinations_exist():
    pairs = [(0, 4), (3, 1), (2, 2)]
    constrained(
        Allowed(pd.DataFrame(pairs, columns=["a", "b"])),
        lambda q: np.array([pair in pairs for pair in zip(q["a"], q["b"], strict=True)]),
    )


@attack("a callable says what it narrows")
def constraints_that_are_functions():
    constrained(lambda q: (q["a"] * q["b"]) % 3 == 1, lambda q: (q["a"] * q["b"]) % 3 == 1)


@attack("a group and a constraint speak of the same columns")
def groups_that_are_constrained():
    X, y, values = grouped()
    X["a"] = numbers()[0]["a"]
    for model in kinds():
        holds(
            model.fit(X, y),
            X,
            values=values,
            exact=False,
            constraint=Implies({"r": "b"}, {"a": 0}),
            valid=lambda q: (q["r_b"] != 1) | (q["a"] == 0),
        )


@attack("real columns are cut between numbers")
def real_columns_in_order():
    X, y = reals()
    X = pd.DataFrame({"s": X[:, 0], "v": X[:, 1], "w": X[::-1, 1]})
    among = [float(v) for v in np.linspace(X["v"].min(), X["v"].max(), 40)]
    least = float(X["v"].min() + X["w"].min() + 0.5)
    for constraint, valid in (
        (Order("v", "<=", "w"), lambda q: q["v"] <= q["w"]),
        (Linear({"v": 1, "w": 1}, "<=", least), lambda q: q["v"] + q["w"] <= least),
    ):
        for model in (tree(4), LinearRegression()):
            holds(
                model.fit(X, y),
                X,
                values={"v": among, "w": among},
                constraint=constraint,
                valid=valid,
                exact=False,
            )


@attack("what is missing breaks no order")
def constraints_on_what_is_missing():
    X, y = numbers()
    X = X.astype(float)
    X.loc[::5, "b"] = np.nan
    wanted = {"s": [0.0, 1.0], "a": [0.0, 1.0, 2.0, 3.0], "b": [*map(float, range(5)), np.nan]}
    holds(
        RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y),
        X,
        values=wanted,
        constraint=Order("a", "<=", "b"),
        valid=lambda q: ~(q["a"] > q["b"]),
        exact=False,
    )


# Twins -------------------------------------------------------------------------------------


def followed(model, X, follow, twins, **space):
    """The bound with columns that follow from sensitive values, against what the model says."""
    closed, _, search, _ = bounded(model, X, "s", "auto", 5.0, InputSpace(twins=twins, **space))
    table, width = every_input(X, "s", {})
    shown = outputs(model, follow(table), search.response)
    truth = largest(shown, width)
    assert 0 < truth <= closed.bounds.upper * (1 + 1e-12)


@attack("twins differ in sensitive columns alone")
def columns_that_follow():
    def none_of_b(table):
        return table.assign(b=np.where(table["s"] == 1, 0, table["b"]))

    X, y = numbers()
    for model in kinds():
        followed(model.fit(X, y), X, none_of_b, {"s": {1: {"b": 0}}})


@attack("what follows is the same for all values")
def columns_that_follow_from_each_value():
    def other(table):
        a = np.where(table["s"] == 1, 3, 0)
        return table.assign(a=a, b=np.where(table["s"] == 0, 4, table["b"]))

    X, y = numbers()
    for model in (tree(), LogisticRegression()):
        model.fit(X, y > 0.5 if isinstance(model, LogisticRegression) else y)
        followed(model, X, other, {"s": {0: {"a": 0, "b": 4}, 1: {"a": 3}}})


@attack("what follows is known")
def functions_of_tables():
    X, y = numbers()
    refused(
        tree().fit(X, y),
        X,
        "needs InputSpace.twins=.* to be a mapping",
        twins=lambda table: table.assign(b=0),
    )


@attack.each()
def test_what_bounds_take_for_granted_of_inputs(attack):
    attack()
